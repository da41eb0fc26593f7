/* Translates Einsum of one or two tensors.  Two tensors x and y become a product of batches of
 * matrices.  Dims whose letter is neither in the other tensor nor in the result are summed first.
 * That leaves three kinds of letters: batch (in x, y and the result), summed (in x and y only), and
 * kept (in one of x and y, and in the result).  Dims are then moved into this order:
 *
 *     x: batch, kept of x, summed     y: batch, summed, kept of y
 *     result: batch, kept of x, kept of y */
#include "kernels/onnx/onnx_impl.h"

#include <ctype.h>
#include <string.h>

/* The letters of a tensor, one per dim. */
struct labels { int n; char at[ONNX_MAX_RANK]; };

static bool has(const struct labels *l, char c)
{
    return l->n > 0 && memchr(l->at, c, (size_t)l->n);
}

static int place_of(const struct labels *l, char c)
{
    return (int)((const char *)memchr(l->at, c, (size_t)l->n) - l->at);
}

static void add(struct labels *l, char c)
{
    if (l->n < ONNX_MAX_RANK)
        l->at[l->n++] = c;
}

/* Reads the letters of one term, which ends at a comma, a - or the end of the text.  Refuses a term
 * with a repeated letter, another character (as in "..."), or more than MAX_RANK letters. */
static bool read_term(struct imp *im, const char **s, struct labels *out)
{
    out->n = 0;
    for (; **s && **s != ',' && **s != '-'; ++*s) {
        if (isspace((unsigned char)**s))
            continue;
        if (!isalpha((unsigned char)**s) || has(out, **s) || out->n == MAX_RANK)
            return onnx_refuse(im, "attribute equation: \"%s\" is not supported", *s);
        add(out, **s);
    }
    return true;
}

/* Sets the letters of the result for an equation without ->: the letters that occur in one of the
 * n inputs only, capitals first, in alphabetical order. */
static void implicit(const struct labels *in, int n, struct labels *out)
{
    out->n = 0;
    for (int c = 'A'; c <= 'z'; c++) {
        int times = 0;
        for (int i = 0; i < n; i++)
            times += has(&in[i], (char)c);
        if (times == 1)
            add(out, (char)c);
    }
}

/* Sums x over the dims whose letters are in neither a nor b (b may be NULL), and removes these
 * letters from *l. */
static int sum_others(struct imp *im, int x, struct labels *l, const struct labels *a,
                      const struct labels *b)
{
    struct labels left = { 0 };
    unsigned gone = 0;
    for (int d = 0; d < l->n; d++)
        if (has(a, l->at[d]) || (b && has(b, l->at[d])))
            add(&left, l->at[d]);
        else
            gone |= 1u << d;
    *l = left;
    return gone ? onnx_emit_reduce(im, "reduce_sum", x, gone, false) : x;
}

static int permute(struct imp *im, int x, const struct labels *from, const struct labels *to)
{
    int perm[ONNX_MAX_RANK] = { 0 };
    for (int d = 0; d < to->n; d++)
        perm[d] = place_of(from, to->at[d]);
    return from->n > 1 ? onnx_emit_transpose(im, x, perm) : x;
}

/* Appends the letters of *l to *out that pass two tests: they are in *a exactly if in_a is set, and
 * in *b exactly if in_b is set.  Returns the product of the sizes of these letters. *s: the shape
 * of the tensor with the letters *l. */
static int64_t take(struct labels *out, const struct labels *l, const struct shape *s,
                    const struct labels *a, bool in_a, const struct labels *b, bool in_b)
{
    int64_t size = 1;
    for (int d = 0; d < l->n; d++)
        if (has(a, l->at[d]) == in_a && has(b, l->at[d]) == in_b) {
            add(out, l->at[d]);
            size *= s->dim[d];
        }
    return size;
}

static bool product(struct imp *im, const int *in, const struct labels *l,
                    const struct labels *result, int *out)
{
    struct labels order[2] = { { 0 } }, made = { 0 };
    struct shape sx = *onnx_shape_of(im, in[0]), sy = *onnx_shape_of(im, in[1]), s = { 0 };
    int64_t batch = take(&order[0], &l[0], &sx, &l[1], true, result, true);
    order[1] = made = order[0];
    int64_t m = take(&order[0], &l[0], &sx, &l[1], false, result, true);
    struct labels summed = { 0 };
    int64_t k = take(&summed, &l[0], &sx, &l[1], true, result, false);
    for (int d = 0; d < summed.n; d++) {
        add(&order[0], summed.at[d]);
        add(&order[1], summed.at[d]);
    }
    int64_t n = take(&order[1], &l[1], &sy, &l[0], false, result, true);
    (void)take(&made, &l[0], &sx, &l[1], false, result, true);
    (void)take(&made, &l[1], &sy, &l[0], false, result, true);
    int x = permute(im, in[0], &l[0], &order[0]), y = permute(im, in[1], &l[1], &order[1]);
    if (!onnx_emit_reshape(im, x, &(struct shape){ 3, { batch, m, k } }, &x) ||
        !onnx_emit_reshape(im, y, &(struct shape){ 3, { batch, k, n } }, &y))
        return false;
    struct shape all = { 3, { batch, m, n } };
    x = onnx_emit(im, "matmul", (int[]){ x, y }, 2, &all, "%s", "");
    for (int d = 0; d < made.n; d++)
        s.dim[s.rank++] = has(&l[0], made.at[d]) ? sx.dim[place_of(&l[0], made.at[d])]
                                                 : sy.dim[place_of(&l[1], made.at[d])];
    if (!onnx_emit_reshape(im, x, &s, &x))
        return false;
    *out = permute(im, x, &made, result);
    return true;
}

/* Checks that every input has as many dims as letters, and that a letter of two inputs has the same
 * size in both. */
static bool sizes_fit(struct imp *im, const int *in, const struct labels *l, int n)
{
    for (int i = 0; i < n; i++) {
        const struct shape *s = onnx_shape_of(im, in[i]);
        if (onnx_in_value(im, i)->shape.rank != l[i].n || s->rank != l[i].n)
            return onnx_refuse(im, "input %d has %d dimensions, but its term has %d letters", i,
                               onnx_in_value(im, i)->shape.rank, l[i].n);
        for (int d = 0; i > 0 && d < l[i].n; d++)
            if (has(&l[0], l[i].at[d]) &&
                onnx_shape_of(im, in[0])->dim[place_of(&l[0], l[i].at[d])] != s->dim[d])
                return onnx_refuse(im, "letter %c has two sizes", l[i].at[d]);
    }
    return true;
}

static bool einsum(struct imp *im)
{
    const char *s = onnx_attr_text(im, "equation");
    struct labels l[2], result;
    int in[2], n = 0, y;
    do {
        if (n == im->n->n_in)
            return onnx_refuse(im, "attribute equation has more than %d terms for %d inputs", n, n);
        if (n == 2)
            return onnx_refuse(im, "an equation of %d tensors is not supported; use one or two",
                               im->n->n_in);
        if (!onnx_in_stmt(im, n, &in[n]) || !read_term(im, &s, &l[n]))
            return false;
        n++;
    } while (*s == ',' && s++);
    if (n != im->n->n_in)
        return onnx_refuse(im, "attribute equation has %d terms for %d inputs", n, im->n->n_in);
    implicit(l, n, &result);
    bool arrow = str_starts(s, "->");
    s += arrow ? 2 : 0;
    if (arrow && !read_term(im, &s, &result))
        return false;
    if (*s)
        return onnx_refuse(im, "attribute equation: \"%s\" is not valid here", s);
    for (int d = 0; d < result.n; d++)
        if (!has(&l[0], result.at[d]) && !(n == 2 && has(&l[1], result.at[d])))
            return onnx_refuse(im, "letter %c is in no input", result.at[d]);
    if (!sizes_fit(im, in, l, n))
        return false;
    for (int i = 0; i < n; i++)
        in[i] = sum_others(im, in[i], &l[i], &result, n == 2 ? &l[1 - i] : NULL);
    if (n == 1)
        y = permute(im, in[0], &l[0], &result);
    else if (!product(im, in, l, &result, &y))
        return false;
    struct shape shape = *onnx_shape_of(im, y);
    shape.rank = result.n ? shape.rank : 0;
    onnx_set_out(im, 0, im->stmt.data[y].n_in ? y : onnx_emit1(im, "identity", y), &shape);
    return true;
}

const struct handler onnx_einsum_ops[] = { { "Einsum", einsum }, { NULL, NULL } };
