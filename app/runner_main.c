#include <signal.h>

#include "profile/child/server.h"

int main(int argc, char **argv)
{
    signal(SIGXFSZ, SIG_IGN);           /* as in tilescope itself */
    return server_main(argc, argv);
}
