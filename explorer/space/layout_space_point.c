/* Points of a layout space: drawing and enumerating them, their step lines and their state. */
#include "explorer/space/layout_space_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define BLOCK 32  /* channels of a block of weights in a start point: two vectors of 16 */
#define FEW 4     /* channels of a block if lanes are pixels; they share the loads of the data */

enum { OP_O = 2, OP_G = 9 };  /* indices of the numbers for O and groups in layout_space.op */

/* Whether factor f of knob k is legal with the factors of the knobs before k.  A factor of 0 means
 * that it is not chosen yet. */
static bool fits(const struct layout_space *s, int k, const int64_t *factor, int64_t f)
{
    const struct layout_knob *x = &s->knob[k];
    return x->inner < 0 || factor[x->inner] == 0 || x->extent / factor[x->inner] % f == 0;
}

int64_t layout_factor(const struct layout_space *s, int k, const int64_t *factor, double action)
{
    const struct layout_knob *x = &s->knob[k];
    int64_t extent = x->inner >= 0 ? x->extent / factor[x->inner] : x->extent, list[512];
    int n = 0;
    for (int i = 0; i < x->n_divisors && n < COUNT_OF(list); i++)
        if (fits(s, k, factor, x->divisor[i]))
            list[n++] = x->divisor[i];
    return factor_nearest(list, n, (double)extent * action);
}

void layout_space_random(const struct layout_space *s, struct rng *r, int64_t *factor)
{
    for (int k = 0; k < s->n; k++)
        factor[k] = layout_factor(s, k, factor, rng_unit(r));
}

/* Returns the factor of a knob at a start point; the caller rounds it to a legal factor. */
static double start_factor(const struct layout_knob *x, enum start_layout which, int lanes)
{
    bool channels = streq(x->name, "o_t") || streq(x->name, "c_t") || streq(x->name, "i_t");
    if (x->inner >= 0 || streq(x->name, "order_B") || streq(x->name, "m_t"))
        return 1;
    if (streq(x->name, "n_t") || (streq(x->name, "o_t'") && which != START_PLANES))
        return BLOCK;
    if (which == START_BLOCKS && (channels || streq(x->name, "c_t'")))
        return lanes;
    if (which == START_PLANES && streq(x->name, "o_t'"))
        return FEW;
    if (which == START_PLANES && (channels || strchr(x->name, '\'')))
        return 1;
    return (double)x->extent;
}

bool layout_space_start(const struct layout_space *s, enum start_layout which, int lanes,
                        int64_t *factor)
{
    bool conv = false;
    double group = exp2(s->op[OP_O] - s->op[OP_G]);
    for (int k = 0; k < s->n; k++) {
        const struct layout_knob *x = &s->knob[k];
        conv = conv || (!streq(x->name, "m_t") && !streq(x->name, "n_t") && x->name[0] != 'k');
        factor[k] = layout_factor(s, k, factor, start_factor(x, which, lanes) / (double)x->extent);
    }
    return which == START_LAST || (conv && (which == START_BLOCKS || group < lanes));
}

void layout_space_first(const struct layout_space *s, int64_t *factor)
{
    for (int k = 0; k < s->n; k++)
        factor[k] = s->knob[k].divisor[0];
}

bool layout_space_next(const struct layout_space *s, int64_t *factor)
{
    for (int k = s->n - 1; k >= 0; k--) {
        const struct layout_knob *x = &s->knob[k];
        for (int i = 0; i < x->n_divisors; i++)
            if (x->divisor[i] > factor[k] && fits(s, k, factor, x->divisor[i])) {
                factor[k] = x->divisor[i];
                return true;
            }
        factor[k] = x->divisor[0];
    }
    return false;
}

static bool check_factors(const struct layout_space *s, const int64_t *factor, struct err *e)
{
    for (int k = 0; k < s->n; k++) {
        const struct layout_knob *x = &s->knob[k];
        bool legal = false;
        struct str list = { 0 };
        for (int i = 0; i < x->n_divisors; i++)
            if (fits(s, k, factor, x->divisor[i])) {
                legal = legal || x->divisor[i] == factor[k];
                str_printf(&list, " %lld", (long long)x->divisor[i]);
            }
        if (!legal) {
            err_set(e, ERR_FACTOR, "%s=%lld of %s is not a factor of %lld in its template",
                    x->name, (long long)factor[k], x->tensor, (long long)x->extent);
            err_fix(e, "it may be%s", str_text(&list));
        }
        str_free(&list);
        if (!legal)
            return false;
    }
    return true;
}

bool layout_space_lines(const struct layout_space *s, struct arena *a, const int64_t *factor,
                        const char *const **line, int *n, uint64_t *key, struct err *e)
{
    const struct layout_template *t = s->t;
    if (!check_factors(s, factor, e))
        return false;
    const char **list = ARENA_ARRAY(a, const char *, t->n_tensors + 1);
    uint64_t hash = 0;
    *n = 0;
    if (t->set_given)
        list[(*n)++] = "set input_layout given";
    for (int i = t->n_tensors - 1; i >= 0; i--) {
        struct str text = { 0 };
        template_notation(&text, &t->tensor[i], factor);
        list[(*n)++] = arena_printf(a, "layout set %s \"%s\"", t->tensor[i].name, str_text(&text));
        hash = template_key(&t->tensor[i], factor, hash + (uint64_t)i + 1);
        str_free(&text);
    }
    if (key)
        *key = hash;
    *line = list;
    return true;
}

const char *layout_space_family(const struct layout_space *s, struct arena *a,
                                const int64_t *factor)
{
    struct str text = { 0 };
    if (s->t->n_tensors > 0)
        template_notation(&text, &s->t->tensor[0], factor);
    const char *kept = arena_strdup(a, str_text(&text));
    str_free(&text);
    return kept;
}

/* --- Recognising a point ---------------------------------------------------------------------- */

#define MOST_LOOKS 20000  /* most comparisons of layouts before the search gives up */

struct point_finder {
    const struct layout_space *s;
    const struct program *p;
    int64_t *factor;
    /* looks: comparisons so far; reached: number of tensors, from the first on, for which factors
     * were found */
    int looks, reached;
};

/* Whether the layout of tensor t in f->p is the one that the template gives for f->factor.  An
 * inlined tensor is not stored, so any layout of it counts as the same. */
static bool same_layout(struct point_finder *f, const struct template_tensor *t)
{
    const struct program *p = f->p;
    int at = graph_tensor(p->graph, t->name), n;
    struct prim prims[MAX_NOTATION_PRIMS];
    const struct layout *l;
    struct str text = { 0 };
    struct err e;
    if (at < 0 || f->looks++ > MOST_LOOKS)
        return false;
    if (program_is_inlined(p, at))
        return true;
    template_notation(&text, t, f->factor);
    bool same = layout_from_notation(p->pool, p->layout[at]->tensor, str_text(&text), prims, &n,
                                     &e) &&
                layout_apply_all(p->pool, p->layout[at]->tensor, prims, n, &l, &e) &&
                layout_memory_equal(p->pool, l, p->layout[at]);
    str_free(&text);
    return same;
}

static bool uses_knob(const struct template_tensor *t, int k)
{
    for (int d = 0; d < t->rank; d++)
        if (t->dim[d].inner == k || t->dim[d].middle == k)
            return true;
    return t->flip == k;
}

/* Finds values for the knobs k, k + 1, ... that affect this tensor, except the `chosen` ones, which
 * affect an earlier tensor too.  Then does the same for the next tensor.  Several values can give a
 * tensor the same layout; therefore, if no values fit the later tensors, tries further values for
 * this one.  Tries large factors first, because the largest one leaves a dim whole. */
static bool find_tensor(struct point_finder *f, int tensor, int k, const bool *chosen)
{
    const struct layout_space *s = f->s;
    f->reached = tensor > f->reached ? tensor : f->reached;
    if (tensor == s->t->n_tensors)
        return true;
    const struct template_tensor *t = &s->t->tensor[tensor];
    while (k < s->n && (chosen[k] || !uses_knob(t, k)))
        k++;
    if (k == s->n) {
        bool now[LAYOUT_KNOBS];
        for (int i = 0; i < s->n; i++)
            now[i] = chosen[i] || uses_knob(t, i);
        return same_layout(f, t) && find_tensor(f, tensor + 1, 0, now);
    }
    for (int i = s->knob[k].n_divisors - 1; i >= 0; i--) {
        f->factor[k] = s->knob[k].divisor[i];
        if (fits(s, k, f->factor, f->factor[k]) && find_tensor(f, tensor, k + 1, chosen))
            return true;
    }
    return false;
}

/* Reports the first tensor whose layout no factors of its template give. */
static void say_tensor(const struct point_finder *f, struct point_why *why)
{
    const struct template_tensor *t = &f->s->t->tensor[f->reached];
    int at = graph_tensor(f->p->graph, t->name);
    struct str text = { 0 };
    if (at < 0 || !layout_notation(f->p->layout[at], &text))
        str_add(&text, "by other steps than the notation has");
    *why = (struct point_why){ .step = "layout" };
    snprintf(why->text, sizeof why->text, "%s is stored %s, which no factors of its template give",
             t->name, str_text(&text));
    str_free(&text);
}

bool layout_space_find(const struct layout_space *s, const char *const *line, int n,
                       int64_t *factor, struct point_why *why)
{
    struct arena *a = arena_new();
    struct point_finder f = { .s = s, .factor = factor };
    bool chosen[LAYOUT_KNOBS] = { false };
    struct err e;
    int bad;
    layout_space_first(s, factor);
    bool valid = program_replay(a, s->spec, line, n, &f.p, &bad, &e);
    bool found = valid && find_tensor(&f, 0, 0, chosen);
    if (why)
        *why = (struct point_why){ .step = valid ? "" : "layout" };
    if (why && valid && !found)
        say_tensor(&f, why);
    arena_free(a);
    return found;
}

/* --- State for the agents --------------------------------------------------------------------- */

/* Stores the state of a dim and returns how many numbers it has.  A dim whose factors are not
 * chosen yet counts as not tiled: [1, extent]. */
static int dim_state(const struct layout_space *s, const struct template_dim *d,
                     const int64_t *factor, float out[3])
{
    int64_t now[LAYOUT_KNOBS];
    for (int k = 0; k < s->n; k++)
        now[k] = factor[k] ? factor[k] : s->knob[k].inner >= 0 ? 1 : s->knob[k].extent;
    if (d->inner >= 0 && factor[d->inner] == 0 && d->middle >= 0)
        now[d->middle] = 1;
    struct dim_parts p = template_parts(d, now);
    int n = 0;
    int64_t t = p.part[2];
    if (d->window && p.part[0] * p.part[1] > 1)
        for (int i = 0; i < d->window->n; i++)
            if (d->window->t[i] == t)
                p.part[2] = d->window->tile[i];
    if (d->window && p.part[0] * p.part[1] == 1)
        p.part[2] = d->window->size;
    for (int l = 0; l < 3; l++)
        if (l != 1 || d->middle >= 0)
            out[n++] = (float)log2((double)p.part[l]) / 16;
    return n;
}

void layout_space_state(const struct layout_space *s, const int64_t *factor,
                        float out[LAYOUT_STATE])
{
    int n = 0;
    memset(out, 0, sizeof *out * LAYOUT_STATE);
    for (int i = 0; i < s->t->n_states; i++)
        n += dim_state(s, &s->t->state[i].dim, factor, out + n);
}
