/* Random small changes of a text, as a hurried or hostile writer makes them. */
#ifndef TS_TESTS_SPOIL_H
#define TS_TESTS_SPOIL_H
#include "kernels/base/rng.h"
#include "kernels/base/str.h"

/* Changes a line, a word, a number or a character, or cuts the text off. */
void spoil(struct str *text, struct rng *r);
/* Changes some bytes, or cuts off the end. */
void spoil_bytes(struct str *data, struct rng *r);
#endif
