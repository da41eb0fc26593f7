/* How much a test does: `make test` the usual, `make test-long` and `make test-cuda` more. */
#ifndef TS_TESTS_FROM_ENV_H
#define TS_TESTS_FROM_ENV_H
#include <stdlib.h>

static inline int from_env(const char *name, int usual)
{
    const char *text = getenv(name);
    return text ? atoi(text) : usual;
}
#endif
