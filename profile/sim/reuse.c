#include "profile/sim/reuse.h"

#include "kernels/base/arena.h"

#include <stdlib.h>
#include <string.h>

struct reuse {
    int64_t n_lines, last;                /* last: the line touched last; -1: no touch yet */
    uint32_t now, moments;                /* now: the next point in time; moments: 64 * words */
    uint32_t *when;  /* per line: 1 + the time of its last touch; 0: never touched */
    uint32_t *who;                        /* per point in time: the line touched */
    uint64_t *bits;  /* a bit per point in time: whether it is the last touch of its line */
    uint32_t *tree, words;                /* Fenwick tree over the words of bits */
    uint32_t alive;                       /* number of set bits */
};

struct reuse *reuse_open(int64_t n_lines)
{
    struct reuse *r = xcalloc(1, sizeof *r);
    r->n_lines = n_lines;
    r->last = -1;
    r->words = (uint32_t)(2 * n_lines / 64 + 16);
    r->moments = 64 * r->words;
    r->when = xcalloc((size_t)n_lines + 1, sizeof *r->when);
    r->who = xcalloc(r->moments, sizeof *r->who);
    r->bits = xcalloc(r->words, sizeof *r->bits);
    r->tree = xcalloc(r->words + 1, sizeof *r->tree);
    return r;
}

void reuse_close(struct reuse *r)
{
    if (!r)
        return;
    free(r->when);
    free(r->who);
    free(r->bits);
    free(r->tree);
    free(r);
}

static void add(struct reuse *r, uint32_t moment, int n)
{
    r->bits[moment / 64] ^= 1ull << moment % 64;
    for (uint32_t i = moment / 64 + 1; i <= r->words; i += i & -i)
        r->tree[i] += (uint32_t)n;
}

/* Returns the number of set bits up to `moment`, which is included. */
static uint32_t up_to(const struct reuse *r, uint32_t moment)
{
    uint64_t mask = ~0ull >> (63 - moment % 64);
    uint32_t n = (uint32_t)__builtin_popcountll(r->bits[moment / 64] & mask);
    for (uint32_t i = moment / 64; i > 0; i -= i & -i)
        n += r->tree[i];
    return n;
}

/* Renumbers the points in time whose bit is set, from 0 on and in order. */
static void renumber(struct reuse *r)
{
    uint32_t to = 0;
    for (uint32_t m = 0; m < r->moments; m++)
        if (r->bits[m / 64] >> m % 64 & 1) {
            r->who[to] = r->who[m];
            r->when[r->who[to]] = to + 1;
            to++;
        }
    memset(r->bits, 0, r->words * sizeof *r->bits);
    memset(r->tree, 0, (r->words + 1) * sizeof *r->tree);
    for (uint32_t m = 0; m < to; m++)
        add(r, m, 1);
    r->now = to;
}

int64_t reuse_touch(struct reuse *r, int64_t line)
{
    if (line == r->last)
        return 0;
    r->last = line;
    if (r->now == r->moments)
        renumber(r);
    int64_t distance = -1;
    if (r->when[line]) {
        uint32_t then = r->when[line] - 1;
        distance = r->alive - up_to(r, then);
        add(r, then, -1);
    } else {
        r->alive++;
    }
    add(r, r->now, 1);
    r->who[r->now] = (uint32_t)line;
    r->when[line] = ++r->now;
    return distance;
}
