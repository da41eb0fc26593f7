/* The picture of a layout in memory.
 *
 *     Conv = N O/16 H W 16o
 *     1 x 4 x 56 x 56 x 16 = 200704 floats, 784.0 KiB; bijective, expansion 1.00
 *       dim          N    O.0     H   W  O.1
 *       extent       1      4    56  56   16
 *       stride  200704  50176   896  16    1
 *       neighbours: o+1 at +1, h+1 at +896, w+1 at +16 (floats from element 0)
 *     letter: the index that grew since the element before
 *       line 0  .ooooooooooooooo  n0 o0..15 h0 w0
 *       line 1  wooooooooooooooo  n0 o0..15 h0 w1
 *       ... 12542 more lines
 *
 * A line of the picture is a cache line: a strip with one letter per element, then the indices of
 * these elements, in runs along one logical index.  A letter names the index that grew since the
 * element before, padding aside; '.': the first element; '<': no index grew; '-': padding.  A
 * capital letter, or a '*' after a run, marks a copy: the canonical place of the element is
 * elsewhere. */
#include "kernels/layout/layout_impl.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 64, LEAST_PROSE = 40 };

enum cell_kind { CELL_DATA, CELL_COPY, CELL_PADDING };

struct cell { enum cell_kind kind; int64_t idx[MAX_RANK]; };

struct picture {
    struct str *out;
    const struct layout *l;
    int width, line_elems;
    int64_t *env;                         /* scratch for expr_eval: the values of the variables */
    char letter[MAX_RANK];
    /* whether the drawn lines show padding, copies, steps without a growing index */
    bool has_padding, has_copies, has_jumps;
    struct cell last;                     /* the last cell drawn that is not padding */
    bool has_last;
};

/* Appends s as one line, cut to the width of the picture. */
static void put_line(struct picture *pic, struct str *s)
{
    while (s->len > 0 && s->data[s->len - 1] == ' ')
        s->data[--s->len] = '\0';
    if ((int)s->len > pic->width) {
        const int keep = pic->width > 2 ? pic->width - 2 : 0;
        str_add_n(pic->out, str_text(s), (size_t)keep);
        str_add(pic->out, "..");
    } else {
        str_add(pic->out, str_text(s));
    }
    str_add_char(pic->out, '\n');
    str_clear(s);
}

/* Appends s as prose, broken at blanks to the width of the picture.  In a picture that is too
 * narrow for words, cuts s to one line. */
static void put_prose(struct picture *pic, struct str *s)
{
    if (pic->width < LEAST_PROSE) {
        put_line(pic, s);
        return;
    }
    str_wrap(pic->out, str_text(s), pic->width, 4);
    str_clear(s);
}

/* Chooses a letter for each logical dim: the first letter of its name that is free, or else a
 * digit. */
static void choose_letters(struct picture *pic)
{
    bool taken[128] = { false };
    for (int k = 0; k < pic->l->tensor->rank; k++) {
        pic->letter[k] = (char)('1' + k);
        for (const char *c = pic->l->tensor->dim[k]; *c; c++) {
            const int letter = tolower((unsigned char)*c);
            if (letter < 'a' || letter > 'z' || taken[letter])
                continue;
            taken[letter] = true;
            pic->letter[k] = (char)letter;
            break;
        }
    }
}

/* --- Heads above the lines -------------------------------------------------------------------- */

static void draw_title(struct picture *pic, struct str *s)
{
    const struct layout *l = pic->l;
    str_printf(s, "%s = ", l->tensor->name);
    const size_t start = s->len;
    if (!layout_notation(l, s)) {
        s->len = start;
        s->data[start] = '\0';
        const struct layout **chain = layout_chain(l);
        for (int i = 0; i < l->n_prims; i++) {
            str_add(s, i ? "; " : "");
            prim_print(s, chain[i], &l->prims[i]);
        }
        free(chain);
    }
    put_prose(pic, s);
}

static void add_bytes(struct str *s, int64_t bytes)
{
    static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    double n = (double)bytes;
    int u = 0;
    while (n >= 1024 && u < COUNT_OF(unit) - 1) {
        n /= 1024;
        u++;
    }
    str_printf(s, u ? "%.1f %s" : "%.0f %s", n, unit[u]);
}

/* Adds the plural of the element type: "floats", or "f16 elements" for a narrow type. */
static void add_elements(struct str *s, const struct elem_type *type)
{
    str_printf(s, type_is_narrow(type) ? "%s elements" : "%ss", type->c);
}

static void draw_size(struct picture *pic, struct str *s)
{
    static const char *const class_name[] = { "bijective", "padded", "duplicating" };
    const struct layout *l = pic->l;
    for (int j = 0; l->rank > 1 && j < l->rank; j++)
        str_printf(s, "%lld %s", (long long)l->shape[j], j + 1 < l->rank ? "x " : "= ");
    str_printf(s, "%lld ", (long long)l->elems);
    add_elements(s, l->tensor->type);
    str_add(s, ", ");
    add_bytes(s, layout_bytes(l));
    str_printf(s, "; %s, expansion %.2f", class_name[l->klass], l->expansion);
    put_prose(pic, s);
    int n = 0;
    for (int k = 0; k < l->tensor->rank; k++)
        if (l->stored[k] < l->tensor->shape[k])
            str_printf(s, "%s%s 0..%lld of 0..%lld", n++ ? ", " : "trimmed: only ",
                       l->tensor->dim[k], (long long)l->stored[k] - 1,
                       (long long)l->tensor->shape[k] - 1);
    if (n)
        put_prose(pic, s);
}

static int digits_of(int64_t n)
{
    int width = 1;
    for (; n >= 10; n /= 10)
        width++;
    return width;
}

static void draw_dims(struct picture *pic, struct str *s)
{
    const struct layout *l = pic->l;
    static const char *const row_name[] = { "dim", "extent", "stride" };
    int64_t stride[MAX_DIMS];
    layout_strides(l, stride);
    for (int row = 0; row < COUNT_OF(row_name); row++) {
        str_printf(s, "  %-6s", row_name[row]);
        for (int j = 0; j < l->rank; j++) {
            int width = (int)strlen(l->dim[j]);
            width = digits_of(l->shape[j]) > width ? digits_of(l->shape[j]) : width;
            width = digits_of(stride[j]) > width ? digits_of(stride[j]) : width;
            if (row == 0)
                str_printf(s, "  %*s", width, l->dim[j]);
            else
                str_printf(s, "  %*lld", width, (long long)(row == 1 ? l->shape[j] : stride[j]));
        }
        put_line(pic, s);
    }
}

static int64_t flat_at(const struct picture *pic, const int64_t *idx)
{
    const struct layout *l = pic->l;
    int64_t flat = 0;
    for (int k = 0; k < l->tensor->rank; k++)
        pic->env[l->logical[k]->var] = idx[k];
    for (int j = 0; j < l->rank; j++)
        flat = flat * l->shape[j] + expr_eval(l->rho[j], pic->env);
    return flat;
}

static void add_lower(struct str *s, const char *name)
{
    for (; *name; name++)
        str_add_char(s, (char)tolower((unsigned char)*name));
}

static void draw_neighbours(struct picture *pic, struct str *s)
{
    const struct layout *l = pic->l;
    int64_t idx[MAX_RANK] = { 0 };
    const int64_t origin = flat_at(pic, idx);
    int n = 0;
    str_add(s, "  neighbours: ");
    for (int k = l->tensor->rank - 1; k >= 0; k--) {
        if (l->stored[k] == 1)
            continue;
        idx[k] = 1;
        str_add(s, n++ ? ", " : "");
        add_lower(s, l->tensor->dim[k]);
        str_printf(s, "+1 at %+lld", (long long)(flat_at(pic, idx) - origin));
        idx[k] = 0;
    }
    str_add(s, " (");
    add_elements(s, pic->l->tensor->type);
    str_add(s, " from element 0)");
    if (n)
        put_prose(pic, s);
    str_clear(s);
}

/* --- The lines -------------------------------------------------------------------------------- */

static struct cell cell_at(const struct picture *pic, int64_t flat)
{
    const struct layout *l = pic->l;
    struct cell c = { .kind = CELL_PADDING };
    int64_t rest = flat;
    for (int j = l->rank - 1; j >= 0; j--) {
        pic->env[l->phys[j]->var] = rest % l->shape[j];
        rest /= l->shape[j];
    }
    if (l->guard && expr_eval(l->guard, pic->env) == 0)
        return c;
    for (int k = 0; k < l->tensor->rank; k++)
        c.idx[k] = expr_eval(l->phi[k], pic->env);
    c.kind = flat_at(pic, c.idx) == flat ? CELL_DATA : CELL_COPY;
    return c;
}

static char strip_letter(struct picture *pic, const struct cell *c)
{
    pic->has_padding = pic->has_padding || c->kind == CELL_PADDING;
    pic->has_copies = pic->has_copies || c->kind == CELL_COPY;
    if (c->kind == CELL_PADDING)
        return '-';
    if (!pic->has_last)
        return '.';
    for (int k = 0; k < pic->l->tensor->rank; k++)
        if (c->idx[k] > pic->last.idx[k])
            return c->kind == CELL_COPY ? (char)toupper(pic->letter[k]) : pic->letter[k];
    pic->has_jumps = true;
    return '<';
}

/* Returns the only index in which b differs from a; or -1 when none or several differ. */
static int single_change(const struct cell *a, const struct cell *b, int rank)
{
    int changed = -1;
    for (int k = 0; k < rank; k++) {
        if (a->idx[k] == b->idx[k])
            continue;
        if (changed >= 0)
            return -1;
        changed = k;
    }
    return changed;
}

struct draw_run { int first, n, dim; int64_t step; };      /* dim = -1: a single cell, or padding */

/* Finds the longest run that starts at cell `first`. */
static struct draw_run find_run(const struct cell *c, int first, int n, int rank)
{
    struct draw_run r = { first, 1, -1, 0 };
    for (int i = first + 1; i < n && c[i].kind == c[first].kind; i++, r.n++) {
        if (c[i].kind == CELL_PADDING)
            continue;
        const int dim = single_change(&c[i - 1], &c[i], rank);
        if (dim < 0
            || (r.dim >= 0 && (dim != r.dim || c[i].idx[dim] - c[i - 1].idx[dim] != r.step)))
            break;
        r.dim = dim;
        r.step = c[i].idx[dim] - c[i - 1].idx[dim];
    }
    return r;
}

/* Appends run r as "n0 o0..15 h0 w1".  If `before`, the run before r in the line, is NULL, prints
 * all indices.  Else prints the indices that differ between the starts of the two runs, and those
 * along which one of the two goes. */
static void add_run(struct str *s, const struct picture *pic, const struct cell *cells,
                    const struct draw_run *r, const struct draw_run *before)
{
    const struct cell *c = &cells[r->first];
    if (c->kind == CELL_PADDING) {
        str_printf(s, "pad(%d)", r->n);
        return;
    }
    int n = 0;
    for (int k = 0; k < pic->l->tensor->rank; k++) {
        if (before && r->dim != k && before->dim != k && cells[before->first].idx[k] == c->idx[k])
            continue;
        str_add(s, n++ ? " " : "");
        add_lower(s, pic->l->tensor->dim[k]);
        str_printf(s, "%lld", (long long)c->idx[k]);
        if (r->dim != k)
            continue;
        str_printf(s, "..%lld", (long long)(c->idx[k] + r->step * (r->n - 1)));
        if (r->step != 1)
            str_printf(s, " by %lld", (long long)r->step);
    }
    str_add(s, c->kind == CELL_COPY ? "*" : "");
}

static void draw_line(struct picture *pic, struct str *s, int64_t line, int number_width)
{
    struct cell cell[LINE_BYTES];
    const int64_t start = line * pic->line_elems, left = pic->l->elems - start;
    const int n = left < pic->line_elems ? (int)left : pic->line_elems;
    str_printf(s, "  line %*lld  ", number_width, (long long)line);
    for (int i = 0; i < n; i++) {
        cell[i] = cell_at(pic, start + i);
        str_add_char(s, strip_letter(pic, &cell[i]));
        if (cell[i].kind == CELL_PADDING)
            continue;
        pic->last = cell[i];
        pic->has_last = true;
    }
    str_repeat(s, ' ', pic->line_elems - n + 2);
    struct draw_run kept, *before = NULL;
    for (int i = 0; i < n;) {
        const struct draw_run r = find_run(cell, i, n, pic->l->tensor->rank);
        str_add(s, i ? " | " : "");
        add_run(s, pic, cell, &r, before);
        if (cell[i].kind != CELL_PADDING) {
            kept = r;
            before = &kept;
        }
        i += r.n;
    }
    put_line(pic, s);
}

/* Draws the lines. The legend only explains what the lines show, so the lines are drawn first. */
static void draw_lines(struct picture *pic, struct str *s, int max_lines)
{
    const int64_t all = (pic->l->elems + pic->line_elems - 1) / pic->line_elems;
    const int64_t n = all < max_lines ? all : max_lines;
    struct str lines = {0}, *out = pic->out;
    if (n <= 0)
        return;
    pic->out = &lines;
    for (int64_t i = 0; i < n; i++)
        draw_line(pic, s, i, digits_of(n - 1));
    pic->out = out;
    str_add(s, "letter: the index that grew since the element before");
    str_add(s, pic->has_jumps ? "; <: none grew" : "");
    str_add(s, pic->has_copies ? "; capital, *: a copy" : "");
    str_add(s, pic->has_padding ? "; -: padding" : "");
    put_prose(pic, s);
    str_add(out, str_text(&lines));
    str_free(&lines);
    if (all > n) {
        str_printf(s, "  ... %lld more line%s", (long long)(all - n), all - n > 1 ? "s" : "");
        put_line(pic, s);
    }
}

void layout_draw(struct str *out, struct exprs *p, const struct layout *l, int width, int max_lines)
{
    struct picture pic = { .out = out, .l = l, .width = width,
                           .line_elems = LINE_BYTES / l->tensor->type->bytes };
    struct str s = {0};
    pic.env = xcalloc((size_t)exprs_n_vars(p), sizeof *pic.env);
    choose_letters(&pic);
    draw_title(&pic, &s);
    draw_size(&pic, &s);
    draw_dims(&pic, &s);
    draw_neighbours(&pic, &s);
    draw_lines(&pic, &s, max_lines);
    free(pic.env);
    str_free(&s);
}
