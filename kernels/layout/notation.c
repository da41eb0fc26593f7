/* Reads the short notation (grammar in layout.h): words -> items -> primitives.
 *
 * A divided dim "D/Q:c p_1 ... p_m" of extent N has S = Q / (p_1 * ... * p_{m-1}) and becomes
 *     split   [N/Q, p_1, ..., p_m]                                       when p_m = S
 *     unfold  tile=p_m stride=S, tile index split [., p_1, ..., p_{m-1}] when p_m > S or c != N/Q
 * (SPEC D.4: two levels are one unfold and a split of the tile index, never nested unfolds). */
#include "kernels/layout/layout_impl.h"
#include <ctype.h>
#include <string.h>

enum item_kind { ITEM_WHOLE, ITEM_OUTER, ITEM_INNER };

struct item {
    enum item_kind kind;
    int dim;  /* dim of the tensor; -1: a bare number without a dim yet */
    int64_t size;                         /* OUTER: Q; INNER: its p_j */
    int64_t count;                        /* OUTER: the given number of tiles; 0: not given */
    int part;                             /* position among the parts of its dim; WHOLE, OUTER: 0 */
    int col, len;
};

struct notation_group { int first, n; };           /* the items of one pair of parentheses */

struct notation_reader {
    const struct tensor *t;
    const char *text;
    struct err *e;
    int n_items;
    struct item item[MAX_DIMS];
    int n_groups;
    struct notation_group group[MAX_DIMS];
    int outer[MAX_RANK];                  /* per dim: the index of its WHOLE or OUTER item */
    int n_parts[MAX_RANK];                /* per dim: the number of its INNER items */
    int inner[MAX_RANK][MAX_DIMS];        /* per dim: the indices of its INNER items */
};

static bool point_at(const struct notation_reader *r, int col, int len)
{
    err_where(r->e, "", 1, col, r->text);
    return err_at(r->e, col, len);
}

/* Sets the error and its place in the text. Returns false. */
#define reject(r, col, len, ...) (err_set((r)->e, __VA_ARGS__), point_at(r, col, len))

static bool fix_tensor_dims(const struct notation_reader *r)
{
    struct str s = {0};
    for (int k = 0; k < r->t->rank; k++)
        str_printf(&s, "%s%s(%lld)", k ? " " : "", r->t->dim[k], (long long)r->t->shape[k]);
    err_fix(r->e, "the dimensions of %s are %s", r->t->name, str_text(&s));
    str_free(&s);
    return false;
}

/* Returns the dim whose name is name[0..n), in any case, or -1. */
static int find_dim(const struct tensor *t, const char *name, int n)
{
    for (int k = 0; k < t->rank; k++)
        if ((int)strlen(t->dim[k]) == n && strncasecmp(t->dim[k], name, (size_t)n) == 0)
            return k;
    return -1;
}

static bool add_item(struct notation_reader *r, struct item item)
{
    if (r->n_items == MAX_DIMS) {
        reject(r, item.col, item.len, ERR_RANK, "the notation makes more than %d dimensions",
               MAX_DIMS);
        return err_fix(r->e, "divide fewer dimensions");
    }
    r->item[r->n_items++] = item;
    return true;
}

/* Reads the number at *at and moves *at after it.  Returns -1 when it is not in [1, 2^40]. */
static int64_t read_number(const char **at)
{
    int64_t n = 0;
    for (; isdigit((unsigned char)**at); (*at)++)
        if (n <= LAYOUT_MAX_ELEMS)
            n = 10 * n + (**at - '0');
    return n >= 1 && n <= LAYOUT_MAX_ELEMS ? n : -1;
}

static bool unknown_name(const struct notation_reader *r, const char *name, int col, int len)
{
    int n = 0, one = -1;  /* one: in NHWI, the place of the first letter that names no dim */
    for (; n < len && isupper((unsigned char)name[n]); n++)
        one = one < 0 && find_dim(r->t, name + n, 1) < 0 ? n : one;
    bool letter = n == len && len > 1 && one > 0;
    reject(r, col, len, ERR_NAME, "%s has no dimension %.*s", r->t->name, letter ? 1 : len,
           letter ? name + one : name);
    return fix_tensor_dims(r);
}

/* Reads an outer part, "O/16" or "H/8:28". */
static bool read_outer(struct notation_reader *r, const char *word, int n_name, struct item item)
{
    const char *at = word + n_name + 1, *end = word + item.len;
    item.kind = ITEM_OUTER;
    item.size = isdigit((unsigned char)*at) ? read_number(&at) : -1;
    bool ok = item.size > 0;
    if (ok && at < end && *at == ':') {
        at++;
        item.count = isdigit((unsigned char)*at) ? read_number(&at) : -1;
        ok = item.count > 0;
    }
    if (!ok || at != end) {
        reject(r, item.col, item.len, ERR_SYNTAX, "%.*s is not understood", item.len, word);
        if (ok && isdigit((unsigned char)at[-1]) && end - at > 1)
            return err_fix(r->e, "blanks separate the parts: \"N O/16 H W 16o\"");
        return err_fix(
            r->e, "%s/16 divides %s by tiles of 16; %s/16:4 says that there are 4 tiles",
            r->t->dim[item.dim], r->t->dim[item.dim], r->t->dim[item.dim]);
    }
    return add_item(r, item);
}

/* Reads an inner part, "16o" or "16". */
static bool read_inner(struct notation_reader *r, const char *word, struct item item)
{
    const char *at = word;
    item.kind = ITEM_INNER;
    item.size = read_number(&at);
    if (item.size < 0) {
        reject(r, item.col, item.len, ERR_RANGE, "the size in %.*s is not between 1 and 2^40",
               item.len, word);
        return err_fix(r->e, "16o is a tile of 16 elements of dimension O");
    }
    const int n_name = item.len - (int)(at - word);
    item.dim = n_name ? find_dim(r->t, at, n_name) : -1;
    if (n_name && item.dim < 0)
        return unknown_name(r, at, item.col + (int)(at - word), n_name);
    return add_item(r, item);
}

/* Reads whole dims: "N", "KH", or one-letter names in a row, "NHWO". */
static bool read_names(struct notation_reader *r, const char *word, struct item item)
{
    item.kind = ITEM_WHOLE;
    item.dim = find_dim(r->t, word, item.len);
    if (item.dim >= 0)
        return add_item(r, item);
    const int len = item.len;
    for (int j = 0; j < len; j++)
        if (len == 1 || find_dim(r->t, word + j, 1) < 0)
            return unknown_name(r, word, item.col, len);
    item.len = 1;
    for (int j = 0; j < len; j++, item.col++) {
        item.dim = find_dim(r->t, word + j, 1);
        if (!add_item(r, item))
            return false;
    }
    return true;
}

/* Returns the length of the longest dimension name at w, or 0 if no name starts there.  small:
 * whether w must have the name in lower case; else w must have it as the tensor does. */
static int name_at(const struct tensor *t, const char *w, int len, bool small)
{
    int longest = 0;
    for (int k = 0; k < t->rank; k++) {
        int n = (int)strlen(t->dim[k]), same = 0;
        while (n <= len && same < n
               && w[same] == (small ? tolower((unsigned char)t->dim[k][same]) : t->dim[k][same]))
            same++;
        longest = same == n && n > longest ? n : longest;
    }
    return longest;
}

/* Returns the length of the first part of w, a word that joins parts without blanks: the length of
 * KH, O/64, H/8:4 or 64o, for example.  Returns 0 if w does not begin with a part. */
static int part_at(const struct tensor *t, const char *w, int len)
{
    static const char digits[] = "0123456789";
    int n = (int)strspn(w, digits);
    if (n > 0)
        return n < len && name_at(t, w + n, len - n, true) ? n + name_at(t, w + n, len - n, true)
                                                           : 0;
    n = name_at(t, w, len, false);
    if (n == 0 || n == len || w[n] != '/')
        return n;
    int size = (int)strspn(w + n + 1, digits), end = n + 1 + size;
    if (size > 0 && end < len && w[end] == ':')
        end += 1 + (int)strspn(w + end + 1, digits);
    return size > 0 ? end : 0;
}

/* Whether a word joins several parts without blanks, as "O/64KHKWI64o" does.  False if all parts
 * are names of one letter, which read_names reads. */
static bool is_joined(const struct tensor *t, const char *w, int len)
{
    int at = 0, parts = 0, n;
    for (; at < len && (n = part_at(t, w + at, len - at)) > 0; at += n)
        parts++;
    return at == len && parts > 1 && parts < len;
}

static bool read_word(struct notation_reader *r, const char *word, int len)
{
    while (is_joined(r->t, word, len)) {
        int n = part_at(r->t, word, len);
        if (!read_word(r, word, n))
            return false;
        word += n;
        len -= n;
    }
    struct item item = { .dim = -1, .col = (int)(word - r->text) + 1, .len = len };
    if (isdigit((unsigned char)*word))
        return read_inner(r, word, item);
    const char *slash = memchr(word, '/', (size_t)len);
    const int n_name = slash ? (int)(slash - word) : len;
    if (!slash)
        return read_names(r, word, item);
    item.dim = find_dim(r->t, word, n_name);
    if (item.dim < 0)
        return unknown_name(r, word, item.col, n_name);
    return read_outer(r, word, n_name, item);
}

/* Reads the parenthesis at `at`. *open: the column of the ( that is open; 0: none is. */
static bool read_paren(struct notation_reader *r, const char *at, int *open)
{
    const int col = (int)(at - r->text) + 1;
    if ((*at == '(') == (*open > 0)) {
        reject(r, col, 1, ERR_SYNTAX, *open ? "parentheses cannot be nested" : ") without (");
        return err_fix(r->e, "(H W) makes one dim of H and W");
    }
    *open = *open ? 0 : col;
    if (*open) {
        r->group[r->n_groups] = (struct notation_group){ .first = r->n_items };
        return true;
    }
    struct notation_group *g = &r->group[r->n_groups];
    g->n = r->n_items - g->first;
    if (g->n == 0) {
        reject(r, col, 1, ERR_SYNTAX, "there is no dimension between ( and )");
        return err_fix(r->e, "(H W) makes one dim of H and W");
    }
    r->n_groups += g->n > 1;
    return true;
}

static bool read_items(struct notation_reader *r)
{
    int open = 0;
    const char *at = r->text;
    while (*at) {
        if (isspace((unsigned char)*at)) {
            at++;
        } else if (*at == '(' || *at == ')') {
            if (!read_paren(r, at++, &open))
                return false;
        } else {
            const int len = (int)strcspn(at, " \t\r\n\v\f()");
            if (!read_word(r, at, len))
                return false;
            at += len;
        }
    }
    if (open) {
        reject(r, open, 1, ERR_SYNTAX, "this ( has no matching )");
        return err_fix(r->e, "(H W) makes one dim of H and W");
    }
    return true;
}

/* Checks that every dim occurs exactly once, as a whole or as an outer part. */
static bool find_outers(struct notation_reader *r)
{
    for (int k = 0; k < r->t->rank; k++)
        r->outer[k] = -1;
    for (int i = 0; i < r->n_items; i++) {
        const struct item *it = &r->item[i];
        if (it->kind == ITEM_INNER)
            continue;
        if (r->outer[it->dim] >= 0) {
            reject(r, it->col, it->len, ERR_SYNTAX, "dimension %s is named twice",
                   r->t->dim[it->dim]);
            return err_fix(r->e, "to name a tile, write its size first: 16%c",
                           tolower(r->t->dim[it->dim][0]));
        }
        r->outer[it->dim] = i;
    }
    for (int k = 0; k < r->t->rank; k++) {
        if (r->outer[k] < 0) {
            reject(r, (int)strlen(r->text) + 1, 1, ERR_SYNTAX,
                   "dimension %s is missing in the notation", r->t->dim[k]);
            return fix_tensor_dims(r);
        }
    }
    return true;
}

static int64_t parts_product(const struct notation_reader *r, int dim)
{
    int64_t n = 1;
    for (int i = 0; i < r->n_items; i++) {
        const struct item *it = &r->item[i];
        if (it->kind == ITEM_INNER && it->dim == dim && __builtin_mul_overflow(n, it->size, &n))
            return INT64_MAX;
    }
    return n;
}

static bool lacks_part(const struct notation_reader *r, int dim)
{
    const struct item *outer = &r->item[r->outer[dim]];
    if (outer->kind != ITEM_OUTER)
        return false;
    for (int i = 0; i < r->n_items; i++)
        if (r->item[i].kind == ITEM_INNER && r->item[i].dim == dim)
            return parts_product(r, dim) < outer->size;
    return true;
}

/* Assigns bare numbers in turn to the divided dims that need an inner part, in the order in which
 * the dims are written. */
static bool place_bare_numbers(struct notation_reader *r)
{
    int turn = -1;
    for (int i = 0; i < r->n_items; i++) {
        struct item *it = &r->item[i];
        if (it->kind != ITEM_INNER || it->dim >= 0)
            continue;
        int tried = 0;
        do
            turn = (turn + 1) % r->n_items;
        while ((r->item[turn].kind != ITEM_OUTER || !lacks_part(r, r->item[turn].dim))
               && ++tried < r->n_items);
        if (tried == r->n_items) {
            reject(r, it->col, it->len, ERR_SYNTAX, "no divided dimension needs a tile of %lld",
                   (long long)it->size);
            return err_fix(r->e, "divide a dimension first: O/16 goes with 16 or 16o");
        }
        it->dim = r->item[turn].dim;
    }
    return true;
}

static bool number_parts(struct notation_reader *r)
{
    for (int i = 0; i < r->n_items; i++) {
        struct item *it = &r->item[i];
        if (it->kind != ITEM_INNER)
            continue;
        if (r->item[r->outer[it->dim]].kind != ITEM_OUTER) {
            reject(r, it->col, it->len, ERR_SYNTAX,
                   "there is a tile of %lld of dimension %s, which is not divided",
                   (long long)it->size, r->t->dim[it->dim]);
            return err_fix(r->e, "write %s/%lld in the place of its outer part", r->t->dim[it->dim],
                           (long long)it->size);
        }
        r->inner[it->dim][r->n_parts[it->dim]++] = i;
        it->part = r->n_parts[it->dim];
    }
    return true;
}

/* --- Items to primitives ---------------------------------------------------------------------- */

struct notation_writer { struct exprs *p; const struct layout *l; };

/* Applies pr to w->l. An error gets the position of item `at`. */
static bool write_prim(const struct notation_reader *r, struct notation_writer *w,
                       const struct item *at, const struct prim *pr)
{
    if (layout_apply(w->p, w->l, pr, &w->l, r->e))
        return true;
    const struct err why = *r->e;
    reject(r, at->col, at->len, why.code, "%s", why.text);
    return err_fix(r->e, "%s", why.fix);
}

static bool reject_parts(const struct notation_reader *r, int k)
{
    const struct item *outer = &r->item[r->outer[k]];
    const char *dim = r->t->dim[k];
    if (r->n_parts[k] == 0) {
        reject(r, outer->col, outer->len, ERR_SYNTAX,
               "%s/%lld needs an inner part: the notation does not say where the %lld elements of "
               "a block of %s are", dim, (long long)outer->size, (long long)outer->size, dim);
        return err_fix(r->e, "add %lld%c at the place of those %lld elements",
                       (long long)outer->size, tolower(dim[0]), (long long)outer->size);
    }
    reject(r, outer->col, outer->len, ERR_FACTOR,
           "the inner parts of %s have %lld elements together, but %s is divided into blocks of "
           "%lld", dim, (long long)parts_product(r, k), dim, (long long)outer->size);
    return err_fix(r->e, "write %s/%lld, or change the tiles", dim, (long long)parts_product(r, k));
}

/* Writes the unfold of dim k, with a tile of `tile` elements every `stride` elements, and the split
 * of the tile index.  `groups` tiles make one step of the outer part. */
static bool write_unfold(const struct notation_reader *r, struct notation_writer *w, int k,
                         int64_t tile, int64_t stride, int64_t groups)
{
    const struct item *outer = &r->item[r->outer[k]];
    const int64_t size = r->t->shape[k], natural = prim_tiles(size, tile, stride);
    struct prim unfold = { .kind = PRIM_UNFOLD, .dim = k, .tile = tile, .stride = stride };
    int64_t n = natural;
    if (outer->count && (__builtin_mul_overflow(outer->count, groups, &n) || n > natural)) {
        const char *times = groups > 1 ? arena_printf(exprs_arena(w->p), "%lld times ",
                                                      (long long)outer->count) : "";
        reject(r, outer->col, outer->len, ERR_UNFOLD,
               "%s%lld tiles of %s are too many: %lld hold all of %s", times,
               (long long)(groups > 1 ? groups : outer->count), r->t->dim[k], (long long)natural,
               r->t->dim[k]);
        return err_fix(r->e, "write %s/%lld without a number of tiles", r->t->dim[k],
                       (long long)outer->size);
    }
    if (n < natural)
        unfold.size = stride * (n - 1) + tile;
    if (!write_prim(r, w, outer, &unfold))
        return false;
    struct prim split = { .kind = PRIM_SPLIT, .dim = k, .n = r->n_parts[k] };
    for (int j = 0; j < r->n_parts[k] - 1; j++)
        split.factor[j + 1] = r->item[r->inner[k][j]].size;
    return split.n == 1 || write_prim(r, w, outer, &split);
}

static bool write_dim(const struct notation_reader *r, struct notation_writer *w, int k)
{
    const struct item *outer = &r->item[r->outer[k]];
    const int m = r->n_parts[k];
    if (outer->kind == ITEM_WHOLE)
        return true;
    if (m == 0)
        return reject_parts(r, k);
    const int64_t last = r->item[r->inner[k][m - 1]].size;
    int64_t groups = 1, blocks;
    for (int j = 0; j < m - 1; j++)
        if (__builtin_mul_overflow(groups, r->item[r->inner[k][j]].size, &groups))
            return reject_parts(r, k);
    if (outer->size % groups || last < outer->size / groups)
        return reject_parts(r, k);
    const bool is_exact =
        !__builtin_mul_overflow(outer->count, outer->size, &blocks) && blocks == r->t->shape[k];
    if (last > outer->size / groups || (outer->count && !is_exact))
        return write_unfold(r, w, k, last, outer->size / groups, groups);
    struct prim split = { .kind = PRIM_SPLIT, .dim = k, .n = m + 1 };
    for (int j = 0; j < m; j++)
        split.factor[j + 1] = r->item[r->inner[k][j]].size;
    if (write_prim(r, w, outer, &split))
        return true;
    if (r->e->code == ERR_NONDIV && m == 1) {
        const struct err why = *r->e;
        err_fix(r->e, "%s; here that is %s/%lld:%lld", why.fix, r->t->dim[k], (long long)last,
                (long long)((r->t->shape[k] - 1) / last + 1));
    }
    return false;
}

static bool write_order(const struct notation_reader *r, struct notation_writer *w)
{
    int first[MAX_RANK], next = 0;
    for (int k = 0; k < r->t->rank; k++) {
        first[k] = next;
        next += 1 + r->n_parts[k];
    }
    struct prim reorder = { .kind = PRIM_REORDER, .n = r->n_items };
    bool is_identity = true;
    for (int i = 0; i < r->n_items; i++) {
        reorder.perm[i] = first[r->item[i].dim] + r->item[i].part;
        is_identity = is_identity && reorder.perm[i] == i;
    }
    if (!is_identity && !write_prim(r, w, &r->item[0], &reorder))
        return false;
    for (int g = r->n_groups - 1; g >= 0; g--) {
        const struct notation_group *in = &r->group[g];
        const struct prim fuse = { .kind = PRIM_FUSE, .dim = in->first, .n = in->n };
        if (!write_prim(r, w, &r->item[fuse.dim], &fuse))
            return false;
    }
    return true;
}

bool layout_from_notation(struct exprs *p, const struct tensor *t, const char *text,
                          struct prim *out, int *n, struct err *e)
{
    struct notation_reader r = { .t = t, .text = text, .e = e };
    struct notation_writer w = { p, layout_identity(p, t) };
    if (!read_items(&r) || !find_outers(&r) || !place_bare_numbers(&r) || !number_parts(&r))
        return false;
    for (int k = t->rank - 1; k >= 0; k--)
        if (!write_dim(&r, &w, k))
            return false;
    if (!write_order(&r, &w))
        return false;
    for (int i = 0; i < w.l->n_prims; i++)
        out[i] = w.l->prims[i];
    *n = w.l->n_prims;
    return true;
}
