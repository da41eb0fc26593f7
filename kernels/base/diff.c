#include "kernels/base/diff.h"

#include <stdlib.h>
#include <string.h>
#include "kernels/base/arena.h"
#include "kernels/base/str.h"
#include "kernels/base/vec.h"

/* The lists without their common beginning (`skip` lines) and end.  Diagonal k, from -d to d, pairs
 * line i of `a` with line i - k of `b`.  path[d][k + d] is the furthest line of `a` on diagonal k
 * that d differences reach. */
struct diff {
    const char *const *a, *const *b;
    int n, m, skip;
    VEC(int *) path;
};

static int furthest(const struct diff *x, int d, int k)
{
    return x->path.data[d][k + d];
}

/* Whether the d-th difference on the best way to diagonal k is a line that only `b` has. */
static bool comes_down(const struct diff *x, int d, int k)
{
    return k == -d || (k != d && furthest(x, d - 1, k - 1) < furthest(x, d - 1, k + 1));
}

static int start_of(const struct diff *x, int d, int k)
{
    if (d == 0)
        return 0;
    return comes_down(x, d, k) ? furthest(x, d - 1, k + 1) : furthest(x, d - 1, k - 1) + 1;
}

/* Fills path. Returns the number of differences, or -1 if there are more than DIFF_MOST. */
static int search(struct diff *x)
{
    for (int d = 0; d <= DIFF_MOST; d++) {
        vec_push(&x->path, xcalloc((size_t)(2 * d + 1), sizeof(int)));
        for (int k = -d; k <= d; k += 2) {
            int i = start_of(x, d, k);
            while (i < x->n && i - k < x->m && i - k >= 0 && streq(x->a[i], x->b[i - k]))
                i++;
            x->path.data[d][k + d] = i;
            if (k == x->n - x->m && i >= x->n)
                return d;
        }
    }
    return -1;
}

/* Follows the path with d differences from its end to its start, and writes its rows, the last row
 * first.  Returns the number of rows. */
static int trace(const struct diff *x, int d, struct diff_row *row)
{
    int n = 0, i = x->n, j = x->m;
    for (; d >= 0; d--) {
        int k = i - j, start = start_of(x, d, k);
        bool down = d > 0 && comes_down(x, d, k);
        for (; i > start; n++)
            row[n] = (struct diff_row){ --i + x->skip, --j + x->skip };
        if (d > 0 && down)
            row[n++] = (struct diff_row){ -1, --j + x->skip };
        else if (d > 0)
            row[n++] = (struct diff_row){ --i + x->skip, -1 };
    }
    return n;
}

/* Puts the lines of `a` before the lines of `b` within each difference. */
static void order(struct diff_row *row, int n)
{
    for (int from = 0, to; from < n; from = to) {
        for (to = from; to < n && (row[to].a < 0 || row[to].b < 0); to++)
            for (int i = to; i > from && row[i].b < 0 && row[i - 1].a < 0; i--) {
                struct diff_row t = row[i];
                row[i] = row[i - 1];
                row[i - 1] = t;
            }
        to += to == from;
    }
}

int diff_lines(const char *const *a, int n, const char *const *b, int m, struct diff_row **out)
{
    struct diff x = { .a = a, .b = b, .n = n, .m = m };
    struct diff_row *row = xcalloc((size_t)(n + m) + 1, sizeof *row);
    int rows = 0;
    for (; x.skip < n && x.skip < m && streq(a[x.skip], b[x.skip]); rows++, x.skip++)
        row[rows] = (struct diff_row){ x.skip, x.skip };
    x.a += x.skip;
    x.b += x.skip;
    x.n -= x.skip;
    x.m -= x.skip;
    int tail = 0;
    for (; x.n > 0 && x.m > 0 && streq(x.a[x.n - 1], x.b[x.m - 1]); tail++, x.n--, x.m--)
        ;
    int d = search(&x), from = rows;
    if (d >= 0) {
        int k = trace(&x, d, row + from);
        rows += k;
        for (int i = 0; i < k / 2; i++) {
            struct diff_row t = row[from + i];
            row[from + i] = row[rows - 1 - i];
            row[rows - 1 - i] = t;
        }
    }
    for (int i = 0; d < 0 && i < x.n; i++)
        row[rows++] = (struct diff_row){ i + x.skip, -1 };
    for (int i = 0; d < 0 && i < x.m; i++)
        row[rows++] = (struct diff_row){ -1, i + x.skip };
    order(row, rows);
    for (int i = 0; i < tail; i++, rows++)
        row[rows] = (struct diff_row){ x.skip + x.n + i, x.skip + x.m + i };
    for (int i = 0; i < x.path.len; i++)
        free(x.path.data[i]);
    vec_free(&x.path);
    *out = row;
    return rows;
}
