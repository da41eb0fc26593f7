#include <signal.h>

#include "profile/child/server.h"

int main(int argc, char **argv)
{
    signal(SIGXFSZ, SIG_IGN);           /* a write beyond a limit fails instead */
    return server_main(argc, argv);
}
