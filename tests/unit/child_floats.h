/* The buffers of a child as arrays of float32. */
#ifndef TS_TESTS_CHILD_FLOATS_H
#define TS_TESTS_CHILD_FLOATS_H
#include "profile/child/child.h"

static inline float *child_floats(struct runner *c, int buffer)
{
    return runner_data(c, buffer);
}
#endif
