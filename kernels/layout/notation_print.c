/* Prints a layout in the short notation, and a primitive as a step line. */
#include "kernels/layout/layout_impl.h"
#include <ctype.h>

/* A physical dim as a part of its logical dim, made by `depth` divisions, one after the other.
 * path[j]: which part of division j contains the physical dim. */
struct leaf {
    int dim;                              /* index of the logical dim */
    int64_t size;
    int depth;
    int path[MAX_DIMS];
    const struct division *unfold;        /* the unfold of the logical dim, or NULL */
};

static bool covers_exactly(const struct division *d)
{
    int64_t n = 1;
    for (int j = 0; j < d->n; j++)
        n *= d->size[j];
    return n == d->of->size;
}

/* Finds the leaf of a dim. Returns false when the notation cannot express how the dim was made. */
static bool find_leaf(const struct lineage *line, struct leaf *leaf)
{
    int part[MAX_DIMS], depth = 0;
    leaf->size = line->size;
    leaf->unfold = NULL;
    for (; line->kind == LINE_PART; line = line->division->of) {
        const struct division *d = line->division;
        const bool is_offset = d->unfold && line->part == 1;
        if (depth == MAX_DIMS || (is_offset && depth > 0))
            return false;
        if (d->unfold ? d->of->kind != LINE_LOGICAL : !covers_exactly(d))
            return false;
        leaf->unfold = d->unfold ? d : leaf->unfold;
        part[depth++] = line->part;
    }
    leaf->dim = line->logical;
    leaf->depth = depth;
    for (int j = 0; j < depth; j++)
        leaf->path[j] = part[depth - 1 - j];
    return line->kind == LINE_LOGICAL;
}

static bool is_outermost(const struct leaf *l)
{
    for (int j = 0; j < l->depth; j++)
        if (l->path[j])
            return false;
    return true;
}

static bool is_inside(const struct leaf *inner, const struct leaf *outer)
{
    for (int j = 0; j < inner->depth && j < outer->depth; j++)
        if (inner->path[j] != outer->path[j])
            return inner->path[j] > outer->path[j];
    return false;
}

struct leaves { int n; struct leaf leaf[MAX_DIMS]; };

/* Adds the leaves of a dim, or of all dims that were fused into it. */
static bool add_leaves(const struct lineage *line, struct leaves *out)
{
    if (line->kind == LINE_FUSED) {
        for (int j = 0; j < line->n_kids; j++)
            if (!add_leaves(line->kid[j], out))
                return false;
        return true;
    }
    return out->n < MAX_DIMS && find_leaf(line, &out->leaf[out->n++]);
}

/* Whether the inner parts of each dim are in the layout in the order that the notation needs, from
 * the outermost part to the innermost. */
static bool in_order(const struct leaves *all)
{
    for (int i = 0; i < all->n; i++)
        for (int j = i + 1; j < all->n; j++) {
            const struct leaf *a = &all->leaf[i], *b = &all->leaf[j];
            if (a->dim == b->dim && !is_outermost(a) && !is_outermost(b) && !is_inside(b, a))
                return false;
        }
    return true;
}

/* Whether each trimmed dim was trimmed by its own unfold.  The number of tiles in the notation then
 * tells how much of the dim is stored. */
static bool tells_trimming(const struct layout *l, const struct leaves *all)
{
    for (int k = 0; k < l->tensor->rank; k++) {
        bool told = l->stored[k] == l->tensor->shape[k];
        for (int i = 0; i < all->n; i++) {
            const struct leaf *leaf = &all->leaf[i];
            if (leaf->dim == k && leaf->unfold)
                told = told || leaf->unfold->covered == l->stored[k];
        }
        if (!told)
            return false;
    }
    return true;
}

/* Prints an outer part: "O/16", "H/8", "H/8:28". */
static void print_outer(struct str *out, const struct layout *l, const struct leaves *all,
                        const struct leaf *leaf)
{
    const struct division *u = leaf->unfold;
    int64_t divisor = u ? u->stride : 1;
    for (int i = 0; i < all->n; i++) {
        const struct leaf *other = &all->leaf[i];
        const bool is_offset = other->unfold && other->path[0] == 1;
        if (other->dim == leaf->dim && !is_outermost(other) && !is_offset)
            divisor *= other->size;
    }
    str_printf(out, "%s/%lld", l->tensor->dim[leaf->dim], (long long)divisor);
    if (!u)
        return;
    const int64_t n = u->size[0], tile = u->size[1], size = u->of->size;
    if (n != prim_tiles(size, tile, u->stride) || (tile == u->stride && n * tile != size))
        str_printf(out, ":%lld", (long long)leaf->size);
}

static void print_leaf(struct str *out, const struct layout *l, const struct leaves *all,
                       const struct leaf *leaf)
{
    if (leaf->depth == 0) {
        str_add(out, l->tensor->dim[leaf->dim]);
    } else if (is_outermost(leaf)) {
        print_outer(out, l, all, leaf);
    } else {
        str_printf(out, "%lld", (long long)leaf->size);
        for (const char *c = l->tensor->dim[leaf->dim]; *c; c++)
            str_add_char(out, (char)tolower((unsigned char)*c));
    }
}

static int count_leaves(const struct lineage *line)
{
    int n = line->kind == LINE_FUSED ? 0 : 1;
    for (int j = 0; line->kind == LINE_FUSED && j < line->n_kids; j++)
        n += count_leaves(line->kid[j]);
    return n;
}

bool layout_notation(const struct layout *l, struct str *out)
{
    struct leaves all = { .n = 0 };
    for (int j = 0; j < l->rank; j++)
        if (!add_leaves(l->line[j], &all))
            return false;
    if (!in_order(&all) || !tells_trimming(l, &all))
        return false;
    for (int j = 0, next = 0; j < l->rank; j++) {
        const int n = count_leaves(l->line[j]);
        str_add(out, j ? " " : "");
        str_add(out, n > 1 ? "(" : "");
        for (int i = 0; i < n; i++) {
            str_add(out, i ? " " : "");
            print_leaf(out, l, &all, &all.leaf[next++]);
        }
        str_add(out, n > 1 ? ")" : "");
    }
    return true;
}

/* --- Primitives ------------------------------------------------------------------------------- */

static void print_option(struct str *out, const char *key, int64_t value, bool shown)
{
    if (shown)
        str_printf(out, " %s=%lld", key, (long long)value);
}

void prim_print(struct str *out, const struct layout *before, const struct prim *pr)
{
    str_add(out, prim_name[pr->kind]);
    const bool lists = pr->kind == PRIM_REORDER || pr->kind == PRIM_FUSE;
    const int n_dims = lists ? pr->n : pr->kind == PRIM_FOLD ? 2 : 1;
    for (int j = 0; j < n_dims; j++)
        str_printf(out, " %s", before->dim[pr->kind == PRIM_REORDER ? pr->perm[j] : pr->dim + j]);
    for (int j = 0; pr->kind == PRIM_SPLIT && j < pr->n; j++)
        str_printf(out, " %lld", (long long)pr->factor[j]);
    const bool tiled = pr->kind == PRIM_UNFOLD || pr->kind == PRIM_FOLD;
    const bool padded = pr->kind == PRIM_PAD || pr->kind == PRIM_UNPAD;
    print_option(out, "allow_pad", 1, pr->kind == PRIM_SPLIT && pr->allow_pad);
    print_option(out, "tile", pr->tile, pr->kind == PRIM_UNFOLD);
    print_option(out, "size", pr->size, pr->kind == PRIM_FOLD && pr->size);
    print_option(out, "stride", pr->stride, tiled && pr->stride);
    print_option(out, "size", pr->size, pr->kind == PRIM_UNFOLD && pr->size);
    print_option(out, "before", pr->before, padded && pr->before);
    print_option(out, "after", pr->after, padded && (pr->after || !pr->before));
}
