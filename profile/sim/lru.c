#include "profile/sim/lru.h"

#include "kernels/base/arena.h"

#include <stdlib.h>

/* A ring of the held lines in order of use, as entries of `at`. Entry `head` is no line: the most
 * recently used line is after it, the least recently used line before it.  Entry at[line] has
 * next = -1 while that line is not held. */
struct link { int32_t next, before; };
struct lru { struct link *at; int32_t head; int64_t held, room; };

struct lru *lru_open(int64_t room, int64_t n_lines)
{
    struct lru *r = xcalloc(1, sizeof *r);
    *r = (struct lru){ xmalloc(sizeof *r->at * (size_t)(n_lines + 1)), (int32_t)n_lines, 0, room };
    for (int64_t i = 0; i < n_lines; i++)
        r->at[i].next = -1;
    r->at[r->head] = (struct link){ r->head, r->head };
    return r;
}

void lru_close(struct lru *r)
{
    if (r)
        free(r->at);
    free(r);
}

static void take_out(struct lru *r, int32_t line)
{
    struct link l = r->at[line];
    r->at[l.before].next = l.next;
    r->at[l.next].before = l.before;
    r->at[line].next = -1;
}

bool lru_touch(struct lru *r, int64_t line)
{
    int32_t it = (int32_t)line, head = r->head;
    bool held = r->at[it].next >= 0;
    if (r->at[head].next == it)
        return true;
    if (held)
        take_out(r, it);
    else if (r->held == r->room)
        take_out(r, r->at[head].before);
    else
        r->held++;
    int32_t first = r->at[head].next;
    r->at[it] = (struct link){ first, head };
    r->at[first].before = it;
    r->at[head].next = it;
    return held;
}
