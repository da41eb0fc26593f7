#include <signal.h>

#include "profile/measure/measure.h"

int main(int argc, char **argv)
{
    signal(SIGXFSZ, SIG_IGN);           /* as tilescope itself */
    return runner_main(argc, argv);
}
