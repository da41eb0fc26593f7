/* A set of candidates by their text: a hash table that is cleared as a whole. */
#ifndef TS_EXPLORER_TUNE_TEXT_SET_H
#define TS_EXPLORER_TUNE_TEXT_SET_H
#include "explorer/tune/problem.h"

struct text_set { struct tune_candidate **slot; int n, cap; };       /* zero-initialise */

struct tune_candidate *text_set_find(const struct text_set *s, const char *text, uint64_t hash);
/* Adds c (BORROWS).  The text of c must not be in the set yet. */
void text_set_add(struct text_set *s, struct tune_candidate *c);
void text_set_clear(struct text_set *s);
void text_set_free(struct text_set *s);
#endif
