#include <locale.h>
#include <signal.h>
#include <unistd.h>

#include "app/cli.h"

/* A broken invariant ends in abort(): for scripts that is exit code 70, a bug in tilescope. */
static void on_abort(int sig)
{
    (void)sig;
    _exit(EXIT_BUG);
}

int main(int argc, char **argv)
{
    setlocale(LC_CTYPE, "");            /* not the numbers: files and JSON need the dot */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);           /* `ulimit -f`: a write that fails can say so */
    signal(SIGABRT, on_abort);
    return cli_main(argc, argv);
}
