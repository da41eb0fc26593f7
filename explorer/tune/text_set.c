/* A hash table with open addressing, at most half full. */
#include "explorer/tune/text_set.h"

#include <stdlib.h>
#include <string.h>

static int place(const struct text_set *s, const char *text, uint64_t hash)
{
    int mask = s->cap - 1, i = (int)(hash & (uint64_t)mask);
    while (s->slot[i] && (s->slot[i]->hash != hash || strcmp(s->slot[i]->text, text) != 0))
        i = (i + 1) & mask;
    return i;
}

struct tune_candidate *text_set_find(const struct text_set *s, const char *text, uint64_t hash)
{
    return s->cap > 0 ? s->slot[place(s, text, hash)] : NULL;
}

static void grow(struct text_set *s)
{
    struct text_set wider = { .cap = s->cap > 0 ? 2 * s->cap : 256, .n = s->n };
    wider.slot = xcalloc((size_t)wider.cap, sizeof *wider.slot);
    for (int i = 0; i < s->cap; i++)
        if (s->slot[i])
            wider.slot[place(&wider, s->slot[i]->text, s->slot[i]->hash)] = s->slot[i];
    free(s->slot);
    *s = wider;
}

void text_set_add(struct text_set *s, struct tune_candidate *c)
{
    if (2 * (s->n + 1) > s->cap)
        grow(s);
    s->slot[place(s, c->text, c->hash)] = c;
    s->n++;
}

void text_set_clear(struct text_set *s)
{
    if (s->n > 0)
        memset(s->slot, 0, (size_t)s->cap * sizeof *s->slot);
    s->n = 0;
}

void text_set_free(struct text_set *s)
{
    free(s->slot);
    *s = (struct text_set){0};
}
