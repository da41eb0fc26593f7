/* Checks the preconditions of each primitive (SPEC A.1 to A.6, error codes of A.0), and computes
 * the resulting dims. Most errors say what would be legal. */
#include "kernels/layout/layout_impl.h"

/* Names of the primitives, by enum prim_kind (ORDER PRIM). */
const char *const prim_name[] = { "split", "reorder", "fuse", "unfold", "fold", "pad", "unpad" };

/* Most tiles that are searched for data that they share with the tile before. */
#define PROBE_LIMIT 4096

struct check {
    struct exprs *p;
    struct arena *a;
    const struct layout *l;
    struct reshape *r;
    struct err *e;
};

__attribute__((format(printf, 3, 4)))
static bool refuse(const struct check *c, enum err_code code, const char *fmt, ...)
{
    const struct prim *pr = &c->r->prim;
    struct str s = {0};
    str_printf(&s, "primitive %d (%s", c->l->n_prims + 1, prim_name[pr->kind]);
    if (pr->kind != PRIM_REORDER && pr->dim >= 0 && pr->dim < c->l->rank)
        str_printf(&s, " %s", c->l->dim[pr->dim]);
    str_add(&s, "): ");
    va_list ap;
    va_start(ap, fmt);
    str_vprintf(&s, fmt, ap);
    va_end(ap);
    err_set(c->e, code, "%s", str_text(&s));
    str_free(&s);
    return false;
}

/* Sets a fix that names the dims of the layout. */
static bool fix_dims(const struct check *c, const char *what)
{
    struct str s = {0};
    layout_print_dims(&s, c->l);
    err_fix(c->e, "%s%s", what, str_text(&s));
    str_free(&s);
    return false;
}

/* Appends " = 2^3*7". Appends nothing for primes and 1. */
static void print_factors(struct str *out, int64_t n)
{
    int64_t rest = n;
    int parts = 0;
    struct str s = {0};
    for (int64_t f = 2; f * f <= rest; f++) {
        int power = 0;
        for (; rest % f == 0; rest /= f)
            power++;
        if (power)
            str_printf(&s, power > 1 ? "%s%lld^%d" : "%s%lld", parts++ ? "*" : "", (long long)f,
                       power);
    }
    if (rest > 1 && parts)
        str_printf(&s, "*%lld", (long long)rest);
    if (parts)
        str_printf(out, " = %s", str_text(&s));
    str_free(&s);
}

/* Appends "14 or 28 do": the nearest divisors of n below and above the factor `wish`. */
static void print_divisors(struct str *out, int64_t n, int64_t wish)
{
    int64_t below = 0, above = n;
    for (int64_t f = 1; f * f <= n; f++) {
        if (n % f)
            continue;
        const int64_t pair[2] = { f, n / f };
        for (int j = 0; j < 2; j++) {
            if (pair[j] <= wish && pair[j] > below)
                below = pair[j];
            if (pair[j] >= wish && pair[j] < above)
                above = pair[j];
        }
    }
    if (below && below != above)
        str_printf(out, "%lld or %lld do", (long long)below, (long long)above);
    else
        str_printf(out, "%lld does", (long long)above);
}

/* --- Split ------------------------------------------------------------------------------------ */

/* Returns the product of all factors but the first; -1: it exceeds LAYOUT_MAX_ELEMS. */
static int64_t inner_product(const struct prim *pr)
{
    int64_t q = 1;
    for (int j = 1; j < pr->n; j++)
        if (__builtin_mul_overflow(q, pr->factor[j], &q) || q > LAYOUT_MAX_ELEMS)
            return -1;
    return q;
}

/* Sets the fix for factors that do not divide the extent.  From the innermost factor on, each must
 * divide what is left of the extent; the fix names the first that does not, and divisors near it.
 * If all but the first factor divide, the fix names the right first factor. */
static bool fix_division(const struct check *c, int64_t size, int64_t inner)
{
    const struct prim *pr = &c->r->prim;
    int64_t rest = size;
    int j = pr->n - 1;
    while (j > 0 && rest % pr->factor[j] == 0)
        rest /= pr->factor[j--];
    struct str s = {0};
    if (j > 0) {
        str_printf(&s, "%lld", (long long)rest);
        print_factors(&s, rest);
        str_printf(&s, ": %lld does not divide it; ", (long long)pr->factor[j]);
        print_divisors(&s, rest, pr->factor[j]);
        struct prim padded = *pr;
        padded.factor[0] = (size + inner - 1) / inner;
        padded.allow_pad = true;
        str_add(&s, "; or `");
        prim_print(&s, c->l, &padded);
        str_printf(&s, "`, which stores %lld for %lld", (long long)(padded.factor[0] * inner),
                   (long long)size);
    } else {
        str_printf(&s, "use a first factor of %lld (0 infers it)", (long long)rest);
    }
    err_fix(c->e, "%s", str_text(&s));
    str_free(&s);
    return false;
}

static bool refuse_factors(const struct check *c, int64_t total, int64_t inner)
{
    const struct prim *pr = &c->r->prim;
    const int64_t size = c->l->shape[pr->dim];
    struct str s = {0};
    for (int j = 0; j < pr->n; j++)
        str_printf(&s, "%s%lld", j ? " x " : "", (long long)pr->factor[j]);
    const bool is_empty = total > size && pr->allow_pad;
    if (is_empty)
        refuse(c, ERR_EMPTY,
               "%s: the last tile of %lld would be only padding, since the dimension has %lld "
               "elements",
               str_text(&s), (long long)inner, (long long)size);
    else
        refuse(c, total < size ? ERR_FACTOR : ERR_NONDIV,
               total < size ? "%s is less than the %lld elements of the dimension"
                            : "%s is not %lld, the extent of the dimension",
               str_text(&s),
               (long long)size);
    str_free(&s);
    if (is_empty)
        return err_fix(c->e, "use a first factor of %lld (0 infers it)",
                       (long long)((size + inner - 1) / inner));
    return fix_division(c, size, inner);
}

/* Checks the number of factors, and that each is at least 1 (the first may be 0). */
static bool check_each_factor(const struct check *c)
{
    const struct prim *pr = &c->r->prim;
    const char *dim = c->l->dim[pr->dim];
    if (pr->n < 2 || pr->n > MAX_DIMS) {
        refuse(c, ERR_FACTOR, "a split into %d factors; it takes 2 to %d", pr->n, MAX_DIMS);
        return err_fix(c->e, "0 as the first factor is inferred: 0 F makes %s/F x F", dim);
    }
    for (int j = 0; j < pr->n; j++) {
        if (pr->factor[j] < (j ? 1 : 0)) {
            refuse(c, ERR_FACTOR, "factor %d is %lld, which is not allowed", j + 1,
                   (long long)pr->factor[j]);
            return err_fix(c->e,
                           "use factors of 1 or more; only the first may be 0 (it is inferred)");
        }
    }
    return true;
}

static bool check_factors(const struct check *c)
{
    struct prim *pr = &c->r->prim;
    const int64_t size = c->l->shape[pr->dim];
    if (!check_each_factor(c))
        return false;
    const int64_t inner = inner_product(pr);
    if (inner > 0 && pr->factor[0] == 0)
        pr->factor[0] = (size + inner - 1) / inner;
    int64_t total;
    if (inner < 0 || __builtin_mul_overflow(inner, pr->factor[0], &total)
        || total > LAYOUT_MAX_ELEMS)
        return refuse(c, ERR_OVERFLOW, "the product of the factors is more than 2^40");
    const bool is_padded = total > size && (pr->factor[0] - 1) * inner < size;
    if (total == size || (is_padded && pr->allow_pad))
        return true;
    return refuse_factors(c, total, inner);
}

/* Whether the split pr undoes the fuse that made this dim. */
static bool splits_fused(const struct lineage *of, const struct prim *pr)
{
    if (of->kind != LINE_FUSED || of->n_kids != pr->n)
        return false;
    for (int j = 0; j < pr->n; j++)
        if (of->kid[j]->size != pr->factor[j])
            return false;
    return true;
}

static struct division *new_division(const struct check *c, int n, const int64_t *size)
{
    struct division *d = ARENA_NEW(c->a, struct division);
    d->of = c->l->line[c->r->prim.dim];
    d->n = n;
    d->size = ARENA_DUP(c->a, size, n);
    return d;
}

static bool check_split(const struct check *c, const struct lineage **line)
{
    const struct prim *pr = &c->r->prim;
    if (!check_factors(c))
        return false;
    const struct lineage *of = c->l->line[pr->dim];
    if (splits_fused(of, pr)) {
        for (int j = 0; j < pr->n; j++)
            line[j] = of->kid[j];
        return true;
    }
    const struct division *d = new_division(c, pr->n, pr->factor);
    for (int j = 0; j < pr->n; j++)
        line[j] = lineage_part(c->a, d, j);
    return true;
}

/* --- Reorder, fuse ---------------------------------------------------------------------------- */

static bool check_reorder(const struct check *c, const struct lineage **line)
{
    const struct prim *pr = &c->r->prim;
    const struct layout *l = c->l;
    bool seen[MAX_DIMS] = { false };
    if (pr->n != l->rank) {
        refuse(c, ERR_PERM, "the order names %d dimensions, but the layout has %d", pr->n, l->rank);
        return fix_dims(c, "name each of these once: ");
    }
    for (int j = 0; j < pr->n; j++) {
        const int old = pr->perm[j];
        if (old < 0 || old >= l->rank || seen[old]) {
            refuse(c, ERR_PERM,
                   old < 0 || old >= l->rank
                       ? "place %d of the order names dimension %d, which does not exist"
                       : "place %d of the order names dimension %d a second time",
                   j + 1, old + 1);
            return fix_dims(c, "name each of these once: ");
        }
        seen[old] = true;
        line[j] = l->line[old];
    }
    return true;
}

static bool check_fuse(const struct check *c, const struct lineage **line)
{
    const struct prim *pr = &c->r->prim;
    const struct layout *l = c->l;
    if (pr->n < 2 || pr->n > l->rank - pr->dim) {
        refuse(c, ERR_DIM,
               "cannot fuse %d dimensions from %s on; fuse takes 2 or more adjacent ones", pr->n,
               l->dim[pr->dim]);
        return fix_dims(c, "the dimensions in order are ");
    }
    int64_t size = 1;
    for (int j = 0; j < pr->n; j++)
        size *= l->shape[pr->dim + j];
    line[0] = lineage_fuse(c->a, l->line + pr->dim, pr->n, size);
    return true;
}

/* --- Unfold, fold ----------------------------------------------------------------------------- */

int64_t prim_tiles(int64_t size, int64_t tile, int64_t stride)
{
    return size <= tile ? 1 : (size - tile + stride - 1) / stride + 1;
}

static bool check_tile(const struct check *c)
{
    const struct prim *pr = &c->r->prim;
    const int64_t size = c->l->shape[pr->dim];
    if (pr->tile < 1 || pr->stride < 1) {
        refuse(c, ERR_UNFOLD, "tile=%lld and stride=%lld are not both positive",
               (long long)pr->tile, (long long)pr->stride);
        return err_fix(c->e, "use a tile and a stride of 1 or more");
    }
    if (pr->stride > pr->tile) {
        refuse(c, ERR_UNFOLD,
               "stride=%lld is larger than tile=%lld: the elements between the tiles would be lost",
               (long long)pr->stride, (long long)pr->tile);
        return err_fix(c->e, "use stride=%lld or less", (long long)pr->tile);
    }
    if (pr->tile > LAYOUT_MAX_ELEMS)
        return refuse(c, ERR_OVERFLOW, "tile=%lld is more than 2^40", (long long)pr->tile);
    if (pr->size < 0 || pr->size > size) {
        refuse(c, ERR_UNFOLD, "size=%lld is not possible: %s has %lld elements",
               (long long)pr->size, c->l->dim[pr->dim],
               (long long)size);
        return err_fix(c->e, "use 1 to %lld, or leave size= out to keep the whole dimension",
                       (long long)size);
    }
    return true;
}

/* Checks that a dim may be trimmed to [0, covered): only padding or the end of one logical dim
 * may be removed.  Copies must remain, because window-aligned accesses read them. */
static bool check_trim(const struct check *c, int64_t covered)
{
    const struct layout *l = c->l;
    const int dim = c->r->prim.dim;
    const struct expr *at = l->rho[dim];
    if (at->hi < covered
        && (!l->n_overlaps || layout_is_padding(c->p, l, dim, covered, l->shape[dim] - 1)))
        return true;
    const struct lineage *line = l->line[dim];
    const int64_t shift = line->kind == LINE_RESIZED ? line->before : 0;
    const struct lineage *base = line->kind == LINE_RESIZED ? line->base : line;
    if (base->kind == LINE_LOGICAL && shift < covered) {
        c->r->trimmed = base->logical;
        c->r->stored = covered - shift;
        return true;
    }
    refuse(c, ERR_UNFOLD,
           "size=%lld would drop elements of %s that are not the last ones of a dimension",
           (long long)c->r->prim.size, l->tensor->name);
    return err_fix(c->e, "unfold the dimension before you split or fuse it, or leave size= out");
}

/* Whether two tiles share a data element; shared padding does not count.  Returns true if this is
 * undecided. */
static bool tiles_overlap(const struct check *c, int64_t n)
{
    const struct prim *pr = &c->r->prim;
    const int64_t size = c->l->shape[pr->dim], shared = pr->tile - pr->stride;
    if (n < 2 || shared == 0)
        return false;
    if (!c->l->guard)
        return true;
    for (int64_t t = 1; t < n && t <= PROBE_LIMIT; t++) {
        const int64_t lo = pr->stride * t, end = lo + shared;
        if (!layout_is_padding(c->p, c->l, pr->dim, lo, (end < size ? end : size) - 1))
            return true;
    }
    return n - 1 > PROBE_LIMIT;
}

static bool check_unfold(const struct check *c, const struct lineage **line)
{
    struct prim *pr = &c->r->prim;
    if (!check_tile(c))
        return false;
    const int64_t size = c->l->shape[pr->dim];
    const int64_t n = prim_tiles(pr->size ? pr->size : size, pr->tile, pr->stride);
    const int64_t reach = pr->stride * (n - 1) + pr->tile, covered = reach < size ? reach : size;
    if (covered == size)
        pr->size = 0;
    else if (!check_trim(c, covered))
        return false;
    const int64_t extent[2] = { n, pr->tile };
    struct division *d = new_division(c, 2, extent);
    d->unfold = true;
    d->stride = pr->stride;
    d->covered = covered;
    d->overlaps = tiles_overlap(c, n);
    c->r->overlaps = d->overlaps ? 1 : 0;
    line[0] = lineage_part(c->a, d, 0);
    line[1] = lineage_part(c->a, d, 1);
    return true;
}

static bool check_fold(const struct check *c, const struct lineage **line)
{
    struct prim *pr = &c->r->prim;
    const struct layout *l = c->l;
    if (pr->dim + 1 >= l->rank) {
        refuse(c, ERR_DIM,
               "%s is the last dimension; fold takes the two dimensions that unfold made",
               l->dim[pr->dim]);
        return fix_dims(c, "the dimensions in order are ");
    }
    const struct division *d = lineage_unfold(l, pr->dim);
    if (!d) {
        refuse(c, ERR_NOINV, "%s and %s are not the two dimensions that an unfold made",
               l->dim[pr->dim], l->dim[pr->dim + 1]);
        return err_fix(c->e, "fold works while both are adjacent and unchanged; "
                             "fuse joins other dimensions");
    }
    if ((pr->size && pr->size != d->covered) || (pr->stride && pr->stride != d->stride)) {
        refuse(c, ERR_NOINV, "size=%lld or stride=%lld differs from that of the unfold",
               (long long)(pr->size ? pr->size : d->covered),
               (long long)(pr->stride ? pr->stride : d->stride));
        return err_fix(c->e, "use size=%lld stride=%lld, or leave both out", (long long)d->covered,
                       (long long)d->stride);
    }
    pr->size = d->covered;
    pr->stride = d->stride;
    c->r->overlaps = d->overlaps ? -1 : 0;
    line[0] = lineage_resize(c->a, d->of, 0, d->covered - d->of->size);
    return true;
}

/* --- Pad, unpad ------------------------------------------------------------------------------- */

static bool check_amounts(const struct check *c)
{
    const struct prim *pr = &c->r->prim;
    if (pr->before >= 0 && pr->after >= 0)
        return true;
    refuse(c, ERR_PAD, "before=%lld after=%lld: a padding cannot be negative",
           (long long)pr->before, (long long)pr->after);
    return err_fix(c->e, "use 0 or more; %s removes padding", prim_name[PRIM_UNPAD]);
}

static bool check_pad(const struct check *c, const struct lineage **line)
{
    const struct prim *pr = &c->r->prim;
    if (!check_amounts(c))
        return false;
    if (pr->before > LAYOUT_MAX_ELEMS || pr->after > LAYOUT_MAX_ELEMS)
        return refuse(c, ERR_OVERFLOW, "the padding is more than 2^40 elements");
    line[0] = lineage_resize(c->a, c->l->line[pr->dim], pr->before, pr->after);
    return true;
}

/* Returns how much padding unpad could remove from one end of the dim, by bisection. */
static int64_t padding_at(const struct check *c, bool end)
{
    const int dim = c->r->prim.dim;
    const int64_t size = c->l->shape[dim];
    int64_t is = 0, is_not = size;
    while (is + 1 < is_not) {
        const int64_t n = is + (is_not - is) / 2;
        const bool padding = end ? layout_is_padding(c->p, c->l, dim, size - n, size - 1)
                                 : layout_is_padding(c->p, c->l, dim, 0, n - 1);
        if (padding)
            is = n;
        else
            is_not = n;
    }
    return is;
}

static bool check_unpad(const struct check *c, const struct lineage **line)
{
    const struct prim *pr = &c->r->prim;
    const struct layout *l = c->l;
    if (!check_amounts(c))
        return false;
    const int64_t size = l->shape[pr->dim];
    if (pr->before >= size || pr->after >= size - pr->before
        || !layout_is_padding(c->p, l, pr->dim, 0, pr->before - 1)
        || !layout_is_padding(c->p, l, pr->dim, size - pr->after, size - 1)) {
        refuse(c, ERR_NOINV, "before=%lld after=%lld would remove data, not only padding",
               (long long)pr->before, (long long)pr->after);
        return err_fix(c->e, "the padding of %s is before=%lld after=%lld", l->dim[pr->dim],
                       (long long)padding_at(c, false), (long long)padding_at(c, true));
    }
    line[0] = lineage_resize(c->a, l->line[pr->dim], -pr->before, -pr->after);
    return true;
}

/* --- All primitives --------------------------------------------------------------------------- */

/* Copies only the fields that the kind uses, so that equal primitives are equal structs. */
static struct prim clean_prim(const struct prim *pr)
{
    struct prim c = { .kind = pr->kind, .dim = pr->dim };
    switch (pr->kind) {
    case PRIM_SPLIT:
        c.n = pr->n;
        c.allow_pad = pr->allow_pad;
        for (int j = 0; j < pr->n && j < MAX_DIMS; j++)
            c.factor[j] = pr->factor[j];
        break;
    case PRIM_REORDER:
        c.dim = 0;
        c.n = pr->n;
        for (int j = 0; j < pr->n && j < MAX_DIMS; j++)
            c.perm[j] = pr->perm[j];
        break;
    case PRIM_FUSE: c.n = pr->n; break;
    case PRIM_UNFOLD:
        c.tile = pr->tile;
        c.stride = pr->stride;
        c.size = pr->size;
        break;
    case PRIM_FOLD:
        c.stride = pr->stride;
        c.size = pr->size;
        break;
    case PRIM_PAD:
    case PRIM_UNPAD:
        c.before = pr->before;
        c.after = pr->after;
        break;
    default: UNREACHABLE();
    }
    return c;
}

static bool (*const check_kind[])(const struct check *c, const struct lineage **line) = {
    [PRIM_SPLIT] = check_split, [PRIM_REORDER] = check_reorder, [PRIM_FUSE] = check_fuse,
    [PRIM_UNFOLD] = check_unfold, [PRIM_FOLD] = check_fold, [PRIM_PAD] = check_pad,
    [PRIM_UNPAD] = check_unpad,
};

int prim_dims(const struct prim *pr, bool after)
{
    switch (pr->kind) {
    case PRIM_SPLIT: return after ? pr->n : 1;
    case PRIM_UNFOLD: return after ? 2 : 1;
    case PRIM_FOLD: return after ? 1 : 2;
    case PRIM_FUSE: return after ? 1 : pr->n;
    case PRIM_PAD: case PRIM_UNPAD: case PRIM_REORDER: default: return 1;
    }
}

/* Computes the dims after the primitive: from r->prim.dim on, n_in dims become the n_out dims of
 * `line`. */
static bool place_dims(const struct check *c, int n_in, const struct lineage *const *line,
                       int n_out)
{
    struct reshape *r = c->r;
    const struct layout *l = c->l;
    const int k = r->prim.kind == PRIM_REORDER ? 0 : r->prim.dim;
    r->rank = l->rank - n_in + n_out;
    if (r->rank > MAX_DIMS) {
        refuse(c, ERR_RANK, "%d dimensions are too many; a tensor has at most %d", r->rank,
               MAX_DIMS);
        return err_fix(c->e, "fuse dimensions first");
    }
    int64_t elems = 1;
    for (int j = 0; j < r->rank; j++) {
        r->line[j] = j < k ? l->line[j] : j < k + n_out ? line[j - k] : l->line[j - n_out + n_in];
        r->shape[j] = r->line[j]->size;
        if (__builtin_mul_overflow(elems, r->shape[j], &elems) || elems > LAYOUT_MAX_ELEMS)
            return refuse(c, ERR_OVERFLOW,
                          "the tensor would have more than 2^40 elements in memory");
    }
    return true;
}

bool prim_check(struct exprs *p, const struct layout *l, const struct prim *prim, struct reshape *r,
                struct err *e)
{
    const struct check c = { p, exprs_arena(p), l, r, e };
    const struct lineage *line[MAX_DIMS];
    *r = (struct reshape){ .prim = clean_prim(prim), .trimmed = -1 };
    if (prim->kind != PRIM_REORDER && (prim->dim < 0 || prim->dim >= l->rank)) {
        refuse(&c, ERR_DIM, "dimension %d does not exist", prim->dim + 1);
        return fix_dims(&c, "the dimensions in order are ");
    }
    if (prim->kind == PRIM_SPLIT && prim->n >= 2 && l->rank - 1 + prim->n > MAX_DIMS) {
        refuse(&c, ERR_RANK, "%d dimensions are too many; a tensor has at most %d",
               l->rank - 1 + prim->n, MAX_DIMS);
        return err_fix(e, "split into fewer parts, or fuse dimensions first");
    }
    if (!check_kind[prim->kind](&c, line))
        return false;
    return prim->kind == PRIM_REORDER
        ? place_dims(&c, l->rank, line, l->rank)
        : place_dims(&c, prim_dims(prim, false), line, prim_dims(prim, true));
}
