#include <langinfo.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "app/cli/cli.h"
#include "kernels/base/str.h"

#define STACK_BYTES ((rlim_t)8 << 20)             /* stack of a thread, and of a compiler */
#define LEAST_STACK_BYTES ((rlim_t)2 << 20)       /* kernels have up to 1 MiB of local buffers */
#define FILES 256
#define LEAST_FILES 20

/* Runs when a broken invariant calls abort(). Scripts then see exit code 70, which means a bug in
 * tilescope. */
static void on_abort(int sig)
{
    (void)sig;
    _exit(EXIT_BUG);
}

/* Raises the limit `what` of this process to `want`, or to the hard limit if that is lower. Returns
 * false, after it has printed an error, when the limit stays below `least`. */
static bool allow(__rlimit_resource_t what, rlim_t want, rlim_t least, const char *needed)
{
    struct rlimit l;
    if (getrlimit(what, &l) != 0 || l.rlim_cur >= want)
        return true;
    rlim_t had = l.rlim_cur;
    l.rlim_cur = l.rlim_max < want ? l.rlim_max : want;
    if (setrlimit(what, &l) != 0)
        l.rlim_cur = had;
    if (l.rlim_cur >= least)
        return true;
    struct err e;
    struct str text = {0};
    err_set(&e, ERR_ENV, "%s", needed);
    err_fix(&e, "raise `ulimit %s`", what == RLIMIT_STACK ? "-s" : "-n");
    err_print(&text, &e);
    fputs(str_text(&text), stderr);
    str_free(&text);
    return false;
}

/* Raises the default stack size of new threads, if it is below LEAST_STACK_BYTES. glibc has taken
 * it from the limit at program start, so `allow` does not change it. */
static void enlarge_threads(void)
{
    pthread_attr_t attr;
    size_t bytes = STACK_BYTES;
    if (pthread_getattr_default_np(&attr) != 0)
        return;
    pthread_attr_getstacksize(&attr, &bytes);
    if (bytes < LEAST_STACK_BYTES && pthread_attr_setstacksize(&attr, STACK_BYTES) == 0)
        pthread_setattr_default_np(&attr);
    pthread_attr_destroy(&attr);
}

/* Takes only the encoding from the user's locale, UTF-8 or not. Everything else stays as in the
 * locale "C": names of tensors and dims need ASCII case rules (in Turkish, the small letter of I is
 * not i), and files and JSON need the decimal point. */
static void set_locale(void)
{
    setlocale(LC_CTYPE, "");
    if (!streq(nl_langinfo(CODESET), "UTF-8"))
        setlocale(LC_CTYPE, "C");
    else
        setlocale(LC_CTYPE, "C.UTF-8");
}

int main(int argc, char **argv)
{
    /* With lower limits tilescope or a compiler would crash or fail without a clear message. */
    if (!allow(RLIMIT_STACK, STACK_BYTES, LEAST_STACK_BYTES,
               "the limit of the stack is below 2 MiB")
        || !allow(RLIMIT_NOFILE, FILES, LEAST_FILES, "the limit of open files is below 20"))
        return EXIT_LACKS;
    enlarge_threads();
    set_locale();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);  /* `ulimit -f`: a write then fails instead of killing this process */
    signal(SIGABRT, on_abort);
    return cli_main(argc, argv);
}
