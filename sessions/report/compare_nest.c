#include "sessions/report/compare_nest.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/base/arena.h"
#include "kernels/base/str.h"
#include "kernels/base/vec.h"

#define BLOCKS_MOST 400  /* most blocks of a body; a body with more is compared line by line */
#define SAME_TENSOR 1.0                   /* score of two nests that write the same tensor */
#define SAME_SIZE 2.0                     /* additional score if they also run equally often */
#define SAME_BEGIN 0.5  /* additional score if they also begin with the same line */

/* A statement, or a loop with its body: lines from .. from + n - 1. */
struct nest_block { int from, n; };
struct text_lines { const char *const *line; int n; };

/* A part of both texts: lines from[k] .. end[k] - 1 of side k.  The loops around them have outer[k]
 * iterations in all. */
struct nest_part { int from[2], end[2]; double outer[2]; };

struct nest_diff {
    struct text_lines side[2];
    struct diff_row *row;
    int rows;
};

static int indent_of(const char *line)
{
    return (int)strspn(line, " ");
}

/* Lists the blocks in lines from .. end - 1; returns their number, or BLOCKS_MOST + 1 if there are
 * more than BLOCKS_MOST. */
static int blocks_of(const struct text_lines *x, int from, int end, struct nest_block *out)
{
    int n = 0, indent = from < end ? indent_of(x->line[from]) : 0;
    for (int i = from; i < end; i++)
        indent = indent_of(x->line[i]) < indent ? indent_of(x->line[i]) : indent;
    for (int i = from; i < end; i++) {
        if (n > 0 && i > from && indent_of(x->line[i]) > indent) {
            out[n - 1].n++;
            continue;
        }
        if (n == BLOCKS_MOST)
            return BLOCKS_MOST + 1;
        out[n++] = (struct nest_block){ i, 1 };
    }
    return n;
}

/* --- How alike two blocks are ----------------------------------------------------------------- */

/* Returns the iterations of a line that begins loops: 192 for "for m, n.0 in range(64, 3):", 224
 * for "for h in range(3, 227):"; 1 for other lines. */
static double trips_of(const char *line)
{
    const char *p = line + indent_of(line), *in = strstr(p, " in ");
    const char *at = in ? strchr(in, '(') : NULL;
    double product = 1, last = 0, first = 0;
    int names = 1, numbers = 0;
    if (!str_starts(p, "for ") || !at)
        return 1;
    for (; p < in; p++)
        names += *p == ',';
    for (char *end; at && isdigit((unsigned char)at[1 + strspn(at + 1, " ")]); at = end) {
        last = strtod(at + 1, &end);
        first = numbers == 0 ? last : first;
        product *= last;
        numbers++;
        if (*end != ',')
            break;
    }
    return names == 1 && numbers == 2 ? last - first : product;
}

/* Returns the length of the name that a statement writes; 0: the line writes no tensor. */
static size_t written(const char *line, const char **name)
{
    const char *p = line + indent_of(line);
    size_t n = strcspn(p, "[ ");
    *name = p;
    return p[n] == '[' && strstr(p, "= ") && !str_starts(p, "for ") ? n : 0;
}

/* The work of a block: the tensor that it writes last, and how many statements it executes. */
struct block_work { const char *name; size_t len; double statements; };

static struct block_work work_of(const struct text_lines *x, struct nest_block b)
{
    struct block_work w = { "", 0, 0 };
    double trips[64] = { 1 };
    int depth = 0, indent[64] = { -1 };
    for (int i = b.from; i < b.from + b.n; i++) {
        const char *line = x->line[i], *name;
        while (depth > 0 && indent_of(line) <= indent[depth])
            depth--;
        size_t len = written(line, &name);
        if (len > 0) {
            w.name = name;
            w.len = len;
            w.statements += trips[depth];
        } else if (depth + 1 < COUNT_OF(trips)) {
            trips[depth + 1] = trips[depth] * trips_of(line);
            indent[++depth] = indent_of(line);
        }
    }
    return w;
}

static double alike(const struct nest_diff *d, const struct nest_part *in, struct nest_block a,
                    struct nest_block b)
{
    struct block_work x = work_of(&d->side[0], a), y = work_of(&d->side[1], b);
    bool same = a.n == b.n;
    for (int i = 0; same && i < a.n; i++)
        same = streq(d->side[0].line[a.from + i], d->side[1].line[b.from + i]);
    if (same)
        return SAME_TENSOR + SAME_SIZE + 2 * SAME_BEGIN;
    if (x.len == 0 || x.len != y.len || strncmp(x.name, y.name, x.len) != 0)
        return 0;
    double n = x.statements * in->outer[0], m = y.statements * in->outer[1];
    double most = n > m ? n : m, least = n > m ? m : n;
    bool begins = streq(d->side[0].line[a.from], d->side[1].line[b.from]);
    return SAME_TENSOR + SAME_SIZE * (most > 0 ? least / most : 1) + (begins ? SAME_BEGIN : 0);
}

/* --- Alignment -------------------------------------------------------------------------------- */

static void put_only(struct nest_diff *d, int side, int from, int n)
{
    for (int i = from; i < from + n; i++)
        d->row[d->rows++] = side == 0 ? (struct diff_row){ i, -1 } : (struct diff_row){ -1, i };
}

static void put_lines(struct nest_diff *d, const struct nest_part *in)
{
    struct diff_row *row;
    int a = in->from[0], b = in->from[1];
    int n = diff_lines(d->side[0].line + a, in->end[0] - a, d->side[1].line + b, in->end[1] - b,
                       &row);
    for (int i = 0; i < n; i++)
        d->row[d->rows++] = (struct diff_row){ row[i].a < 0 ? -1 : row[i].a + a,
                                               row[i].b < 0 ? -1 : row[i].b + b };
    free(row);
}

static void align(struct nest_diff *d, const struct nest_part *in);

/* Puts two blocks beside each other: their first lines, then their bodies. */
static void put_pair(struct nest_diff *d, const struct nest_part *in, struct nest_block a,
                     struct nest_block b)
{
    struct nest_part inside = { { a.from + 1, b.from + 1 }, { a.from + a.n, b.from + b.n },
                           { in->outer[0] * trips_of(d->side[0].line[a.from]),
                             in->outer[1] * trips_of(d->side[1].line[b.from]) } };
    if (streq(d->side[0].line[a.from], d->side[1].line[b.from])) {
        d->row[d->rows++] = (struct diff_row){ a.from, b.from };
    } else {
        put_only(d, 0, a.from, 1);
        put_only(d, 1, b.from, 1);
    }
    align(d, &inside);
}

/* Returns an array `best` (the caller frees it): best[i * (m + 1) + j] is the highest sum of scores
 * with which blocks x[i] .. x[n - 1] can be paired with blocks y[j] .. y[m - 1] in their order. */
static double *best_sums(const struct nest_diff *d, const struct nest_part *in,
                         const struct nest_block *x, int n, const struct nest_block *y, int m)
{
    double *best = xcalloc((size_t)(n + 1) * (size_t)(m + 1), sizeof *best);
    for (int i = n - 1; i >= 0; i--)
        for (int j = m - 1; j >= 0; j--) {
            double score = alike(d, in, x[i], y[j]), *at = &best[i * (m + 1) + j];
            double without = at[m + 1] > at[1] ? at[m + 1] : at[1];
            double with = score > 0 ? score + at[m + 2] : 0;
            *at = with > without ? with : without;
        }
    return best;
}

/* Aligns the blocks of two bodies in their order.  Between two pairs of blocks, the unpaired blocks
 * of A come before those of B. */
static void align(struct nest_diff *d, const struct nest_part *in)
{
    struct nest_block x[BLOCKS_MOST + 1], y[BLOCKS_MOST + 1];
    int n = blocks_of(&d->side[0], in->from[0], in->end[0], x);
    int m = blocks_of(&d->side[1], in->from[1], in->end[1], y);
    if (n > BLOCKS_MOST || m > BLOCKS_MOST || n == 0 || m == 0) {
        put_lines(d, in);
        return;
    }
    double *best = best_sums(d, in, x, n, y, m);
    int i = 0, j = 0, from = 0;
    while (i < n && j < m) {
        double here = best[i * (m + 1) + j];
        if (here == best[(i + 1) * (m + 1) + j]) {
            put_only(d, 0, x[i].from, x[i].n);
            i++;
        } else if (here == best[i * (m + 1) + j + 1]) {
            j++;  /* block j is put later, after the blocks of A that come before the next pair */
        } else {
            for (; from < j; from++)
                put_only(d, 1, y[from].from, y[from].n);
            put_pair(d, in, x[i++], y[j++]);
            from = j;
        }
    }
    for (; i < n; i++)
        put_only(d, 0, x[i].from, x[i].n);
    for (; from < m; from++)
        put_only(d, 1, y[from].from, y[from].n);
    free(best);
}

int compare_nest_rows(const char *const *a, int n, const char *const *b, int m,
                      struct diff_row **out)
{
    struct nest_diff d = { { { a, n }, { b, m } }, NULL, 0 };
    d.row = xcalloc((size_t)(n + m) + 1, sizeof *d.row);
    align(&d, &(struct nest_part){ { 0, 0 }, { n, m }, { 1, 1 } });
    *out = d.row;
    return d.rows;
}
