#include "tests/unit/fork_child.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

void end_with_parent(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)              /* it ended before: so do we, and in the same way */
        raise(SIGKILL);
}

pid_t fork_child(void)
{
    pid_t parent = getpid(), child = fork();
    if (child == 0)
        end_with_parent(parent);
    return child;
}
