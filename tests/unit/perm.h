/* An arena for what lives as long as the tests of a group. */
#ifndef TS_TESTS_PERM_H
#define TS_TESTS_PERM_H
#include "kernels/base/arena.h"

static struct arena *perm;

static int perm_setup(void **state)
{
    (void)state;
    perm = arena_new();
    return 0;
}

static int perm_teardown(void **state)
{
    (void)state;
    arena_free(perm);
    return 0;
}
#endif
