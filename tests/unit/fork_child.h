/* Children of tests, which are killed when the test's process ends, however it ends: a test that was
 * killed for taking too long leaves nothing behind that takes a core from the next ones. */
#ifndef TS_TESTS_FORK_CHILD_H
#define TS_TESTS_FORK_CHILD_H
#include <sys/types.h>

/* fork(), for which the same holds as for it. */
pid_t fork_child(void);
/* The same for a child that something else forked: first thing in it. */
void end_with_parent(pid_t parent);
#endif
