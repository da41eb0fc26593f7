/* A point of a layout template as the short notation, and as a key for memory-equality. */
#include "explorer/space/layout_space_impl.h"

#include <ctype.h>

struct dim_parts template_parts(const struct template_dim *d, const int64_t *factor)
{
    int64_t inner = d->inner >= 0 ? factor[d->inner] : d->fixed ? d->fixed : 0;
    int64_t middle = d->middle >= 0 ? factor[d->middle] : 1;
    int64_t extent = d->window ? d->window->out : d->extent;
    bool padded = inner > 0 && !d->window && extent % (inner * middle) != 0;
    if (inner == 0 || (padded && !d->pads))
        return (struct dim_parts){ { 1, 1, extent } };
    if (padded)
        return (struct dim_parts){ { (extent - 1) / inner + 1, 1, inner } };
    return (struct dim_parts){ { extent / (inner * middle), middle, inner } };
}

/* A tiled dim as it is stored: in ordinary parts, or as tiles of `tile` elements that begin every
 * `stride` elements. */
struct stored {
    int64_t part[3];                      /* outer, middle and inner part; 1: no such part */
    /* unfold: whether the dim is stored as such tiles; count: whether the notation must give their
     * number, as in "H/4:7" */
    bool unfold, count;
    int64_t tile, stride;
};

static void store_window(struct stored *s, const struct tile_window *w)
{
    int i = 0;
    int64_t t = s->part[2], tiles = s->part[0] * s->part[1];
    while (i + 1 < w->n && w->t[i] != t)
        i++;
    s->tile = w->tile[i];
    s->stride = w->stride[i];
    if (tiles == 1) {
        s->part[2] = w->size;
        return;
    }
    bool exact = s->tile == s->stride && w->size == s->stride * tiles;
    int64_t rest = w->size - s->tile, natural = rest <= 0 ? 1 : (rest - 1) / s->stride + 2;
    s->part[2] = s->tile;
    s->unfold = !exact;
    s->count = s->unfold && (natural != tiles || s->tile == s->stride);
}

static struct stored stored_as(const struct template_dim *d, const int64_t *factor)
{
    struct dim_parts p = template_parts(d, factor);
    struct stored s = { .part = { p.part[0], p.part[1], p.part[2] } };
    if (d->window)
        store_window(&s, d->window);
    else if (p.part[0] * p.part[1] * p.part[2] > d->extent) {
        s.tile = s.stride = p.part[2];    /* tiles that do not overlap; the last one is padded */
        s.unfold = s.count = true;
    }
    return s;
}

/* --- Text ------------------------------------------------------------------------------------- */

static bool is_there(const struct stored *s, int level)
{
    return s->part[level] > 1 || (s->unfold && level != 1);
}

/* Appends "O/16" for the first part of a dim, "16o" for a later part, "O" for the only part. */
static void write_part(struct str *out, const struct template_dim *d, const struct stored *s,
                       int level)
{
    int first = 0, n = 0;
    int64_t below = 1;
    for (int l = 2; l >= 0; l--)
        if (is_there(s, l)) {
            first = l;
            n++;
        }
    if (n == 0 ? level != 0 : !is_there(s, level))
        return;
    str_add(out, out->len ? " " : "");
    for (int l = level + 1; l < 3; l++)
        below *= l == 2 && s->unfold ? s->stride : s->part[l];
    if (n <= 1)
        str_add(out, d->name);
    else if (level == first)
        str_printf(out, "%s/%lld", d->name, (long long)below);
    else
        str_printf(out, "%lld%c", (long long)s->part[level], tolower((unsigned char)*d->name));
    if (level == first && s->count)
        str_printf(out, ":%lld", (long long)s->part[0]);
}

/* Returns the i-th part in physical order.  The knob t->flip can exchange the first two outer
 * parts. */
static const struct template_part *part_at(const struct template_tensor *t, int i,
                                           const int64_t *factor)
{
    int lead = 0;
    while (t->part[lead].level == PART_WHOLE)
        lead++;
    if (t->flip >= 0 && factor[t->flip] == 2 && (i == lead || i == lead + 1))
        return &t->part[2 * lead + 1 - i];
    return &t->part[i];
}

/* Merges adjacent parts of the same dim, such as N/32 32n in an output whose rows are not tiled.
 * Merged or not, every element has the same address, and loops over the whole dim can do everything
 * that loops over its parts can. */
static void join_parts(const struct template_tensor *t, const int64_t *factor, struct stored *s)
{
    int last = -1, level = -1;            /* the dim and the level of the last stored part */
    for (int i = 0; i < t->n_parts; i++) {
        const struct template_part *p = part_at(t, i, factor);
        int l = p->level == PART_WHOLE ? -1 : (int)(p->level - PART_OUTER);
        struct stored *x = &s[p->dim];
        if (l >= 0 && (x->part[l] == 1 && !x->unfold))
            continue;
        if (l >= 0 && last == p->dim && level >= 0 && !x->unfold) {
            x->part[l] *= x->part[level];
            x->part[level] = 1;
        }
        last = p->dim;
        level = l;
    }
}

void template_notation(struct str *out, const struct template_tensor *t, const int64_t *factor)
{
    struct stored s[MAX_RANK];
    for (int d = 0; d < t->rank; d++)
        s[d] = stored_as(&t->dim[d], factor);
    join_parts(t, factor, s);
    for (int i = 0; i < t->n_parts; i++) {
        const struct template_part *p = part_at(t, i, factor);
        const struct template_dim *d = &t->dim[p->dim];
        if (p->level == PART_WHOLE)
            str_printf(out, "%s%s", out->len ? " " : "", d->name);
        else
            write_part(out, d, &s[p->dim], p->level - PART_OUTER);
    }
}

/* --- Key -------------------------------------------------------------------------------------- */

/* A digit of a physical index: (i_dim / step) % extent, where i_dim is the index of a dim.  If the
 * dim is unfolded, the digit is taken from the number of a tile or from the offset in it. */
enum digit_of { DIGIT_INDEX, DIGIT_TILE, DIGIT_OFFSET };
struct digit { int64_t dim, of, step, extent, tile, stride; };

/* Appends a digit.  Merges it with the last digit if both together are one digit of a dim (SPEC
 * A.0): step s e' and extent e, followed by step s and extent e', is step s and extent e e'. */
static int push_digit(struct digit *list, int n, struct digit x)
{
    struct digit *last = n ? &list[n - 1] : NULL;
    if (x.extent == 1)
        return n;
    if (last && last->dim == x.dim && last->of == x.of && x.of != DIGIT_OFFSET &&
        last->tile == x.tile && last->stride == x.stride && last->step == x.step * x.extent) {
        last->step = x.step;
        last->extent *= x.extent;
        return n;
    }
    list[n] = x;
    return n + 1;
}

static struct digit digit_of(const struct stored *s, int dim, int level)
{
    int64_t step = 1;
    for (int l = level + 1; l < (s->unfold ? 2 : 3); l++)
        step *= s->part[l];
    struct digit x = { dim, DIGIT_INDEX, step, s->part[level], 0, 0 };
    if (s->unfold) {
        x.of = level == 2 ? DIGIT_OFFSET : DIGIT_TILE;
        x.tile = s->tile;
        x.stride = s->stride;
    }
    return x;
}

uint64_t template_key(const struct template_tensor *t, const int64_t *factor, uint64_t seed)
{
    struct digit list[MAX_DIMS];
    int n = 0;
    for (int i = 0; i < t->n_parts; i++) {
        const struct template_part *p = part_at(t, i, factor);
        const struct template_dim *d = &t->dim[p->dim];
        if (p->level == PART_WHOLE) {
            n = push_digit(list, n, (struct digit){ p->dim, DIGIT_INDEX, 1, d->extent, 0, 0 });
        } else {
            struct stored s = stored_as(d, factor);
            n = push_digit(list, n, digit_of(&s, p->dim, p->level - PART_OUTER));
        }
    }
    return hash_bytes(list, sizeof *list * (uint64_t)n, seed);
}
