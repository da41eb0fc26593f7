/* Children of tests, which are killed when the test's process ends, however it ends: a test that
 * was killed for taking too long leaves nothing behind that takes a core from the next ones. */
#ifndef TS_TESTS_FORK_CHILD_H
#define TS_TESTS_FORK_CHILD_H
#include <sys/types.h>

/* fork() of such a child. */
pid_t fork_child(void);
/* For a child that something else forked: the first thing that it does. */
void end_with_parent(pid_t parent);
#endif
