#include <signal.h>

#include "profile/child/runner.h"

int main(int argc, char **argv)
{
    signal(SIGXFSZ, SIG_IGN);           /* as tilescope itself */
    return runner_main(argc, argv);
}
