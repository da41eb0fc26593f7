/* Runners that are programs of a test. */
#ifndef TS_TESTS_OWN_RUNNER_H
#define TS_TESTS_OWN_RUNNER_H
#include <stdbool.h>

#define OWN_RUNNER_PATH 300
/* Compiles C source with these options in a folder of its own.  path: the program. */
bool own_runner(const char *source, const char *options, char path[OWN_RUNNER_PATH]);
#endif
