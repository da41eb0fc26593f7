/* The buffers of a child as arrays of float32. */
#ifndef TS_TESTS_CHILD_FLOATS_H
#define TS_TESTS_CHILD_FLOATS_H
#include "profile/child/child.h"

static inline float *child_floats(struct child *c, int buffer)
{
    return child_data(c, buffer);
}
#endif
