/* From an expert and an operator to step lines. */
#include "explorer/expert/expert.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/base/vec.h"
#include "kernels/gen/gen.h"
#include "profile/host/machine.h"

#define MOST_TRIED 400                    /* most combinations whose steps are applied per call */

typedef VEC(struct param_value) param_list;

static void put(struct arena *a, param_list *p, const char *name, int64_t value)
{
    for (int i = 0; i < p->len; i++)
        if (streq(p->data[i].name, name))
            return;
    struct param_value x = { name, arena_printf(a, "%lld", (long long)value) };
    vec_push(p, x);
}

/* --- What an expert may know of the operator ------------------------------------------------- */

static int64_t extent_of(const struct tensor *t, const char *dim)
{
    for (int d = 0; d < t->rank; d++)
        if (streq(t->dim[d], dim))
            return t->shape[d];
    return 0;
}

static void put_extents(struct arena *a, param_list *p, const struct graph *g)
{
    static const char *const others[] = { "N", "O", "D", "H", "W", "I", "KD", "KH", "KW", "C", "M",
                                          "K", "B" };
    const struct node *n = &g->node[g->main_node];
    const struct tensor *out = &g->tensor[n->out];
    for (int d = 0; d < out->rank; d++)
        put(a, p, out->dim[d], out->shape[d]);
    for (int r = 0; r < n->n_reduce; r++)
        put(a, p, n->reduce_dim[r], n->reduce[r]->hi - n->reduce[r]->lo + 1);
    const struct tensor *in = &g->tensor[n->data_in];
    for (int d = 0; d < in->rank; d++)
        put(a, p, arena_printf(a, "in_%s", in->dim[d]), in->shape[d]);
    int64_t inputs = extent_of(in, "I"), own = 0;
    for (int r = 0; r < n->n_reduce; r++)
        if (streq(n->reduce_dim[r], "I"))
            own = n->reduce[r]->hi - n->reduce[r]->lo + 1;
    put(a, p, "G", own > 0 && inputs > 0 ? inputs / own : 1);
    for (int i = 0; i < COUNT_OF(others); i++)
        put(a, p, others[i], 1);
}

/* Adds strides and dilations of the axes D, H, W, of which W is the last; 1: no such axis. */
static void put_windows(struct arena *a, param_list *p, const struct graph *g)
{
    static const char *const stride[] = { "sd", "sh", "sw" }, *const dilation[] = { "dd", "dh",
                                                                                    "dw" };
    const struct node_params *w = &g->node[g->main_node].params;
    int n = 0;
    while (n < MAX_SPATIAL && w->stride[n] > 0)
        n++;
    for (int i = 0; i < n; i++) {
        put(a, p, stride[MAX_SPATIAL - n + i], w->stride[i]);
        put(a, p, dilation[MAX_SPATIAL - n + i], w->dilation[i] > 0 ? w->dilation[i] : 1);
    }
    for (int i = 0; i < MAX_SPATIAL; i++) {
        put(a, p, stride[i], 1);
        put(a, p, dilation[i], 1);
    }
}

static void put_machine(struct arena *a, param_list *p, const struct graph *g,
                        const struct target *t, int threads)
{
    t = target_or_host(t);
    put(a, p, "lanes", target_lanes(t, g->type));
    put(a, p, "registers", t->registers);
    put(a, p, "threads", threads);
}

/* Puts the sizes of operand and result, and whether to stream.  A streaming store saves reading the
 * line first and keeps the operands in the caches; it loses if the next reader of the result would
 * have found it there.  A result of half the last cache never stays in it; a result of a quarter
 * does not stay if the result and the operand together exceed that cache. */
static void put_data(struct arena *a, param_list *p, const struct graph *g)
{
    const struct tensor *result = &g->tensor[g->node[g->n_nodes - 1].out];
    const struct tensor *data = &g->tensor[g->node[g->main_node].data_in];
    int64_t r = tensor_bytes(result), operand = tensor_bytes(data);
    struct machine m;
    machine_read(&m);
    int64_t last = machine_last_cache(&m);
    put(a, p, "last_cache", last);
    put(a, p, "operand_bytes", operand);
    put(a, p, "stream", 2 * r >= last || (4 * r >= last && r + operand >= last));
    struct param_value name = { "result", result->name };
    vec_push(p, name);
}

static struct param_set facts_of(struct arena *a, const struct graph *g,
                                 const struct target *target, int threads)
{
    param_list p = {0};
    put_extents(a, &p, g);
    put_windows(a, &p, g);
    put(a, &p, "padded", graph_tensor(g, "Inp_in") >= 0);
    put_machine(a, &p, g, target, threads);
    put_data(a, &p, g);
    struct param_set s = { p.len, ARENA_DUP(a, p.data, p.len) };
    vec_free(&p);
    return s;
}

/* --- Expressions ----------------------------------------------------------------------------- */

static bool in_expert(const struct expert *x, const char *what, struct err *e)
{
    char text[sizeof e->text];
    snprintf(text, sizeof text, "expert %s, %s: %.200s", x->id, what, e->text);
    snprintf(e->text, sizeof e->text, "%s", text);
    return false;
}

/* Evaluates the condition expr into *holds; NULL holds always. False with *e naming `what`. */
static bool truth(const struct expert *x, const char *what, const char *expr,
                  const struct param_set *known, bool *holds, struct err *e)
{
    *holds = true;
    return !expr || formula_truth(expr, param_names, (void *)known, holds, e)
        || in_expert(x, what, e);
}

static bool number(const struct expert *x, const char *what, const char *expr,
                   const struct param_set *known, double *value, struct err *e)
{
    return formula_number(expr, param_names, (void *)known, value, e) || in_expert(x, what, e);
}

/* Adds the values of `let`, computed one after the other, to *known. */
static bool with_lets(struct arena *a, const struct expert *x, struct param_set *known,
                      struct err *e)
{
    for (int i = 0; i < x->n_lets; i++) {
        double value;
        if (!number(x, x->let[i].name, x->let[i].value, known, &value, e))
            return false;
        struct param_value one = { x->let[i].name, arena_printf(a, "%.17g", value) };
        struct param_set more = { 1, &one };
        *known = param_join(a, known, &more);
    }
    return true;
}

/* --- Schedules ------------------------------------------------------------------------------- */

struct tiling { const struct expert *x; struct param_set chosen, known; double score; int at; };
typedef VEC(struct tiling) tiling_list;

static int by_score(const void *p, const void *q)
{
    const struct tiling *x = p, *y = q;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return x->at - y->at;
}

static bool is_for(const struct expert *x, const char *family)
{
    for (int i = 0; i < x->n_families; i++)
        if (streq(x->family[i], family))
            return true;
    return false;
}

bool experts_for(const struct experts *all, const char *family)
{
    for (int i = 0; i < all->n; i++)
        if (is_for(all->item[i], family))
            return true;
    return false;
}

static bool add_tilings(struct arena *a, const struct expert *x, const struct param_set *facts,
                        tiling_list *out, struct err *e)
{
    bool holds;
    if (!truth(x, "when", x->when, facts, &holds, e))
        return false;
    int64_t size = holds ? param_grid_size(&x->choose) : 0;
    for (int64_t i = 0; i < size; i++) {
        struct tiling c = { .x = x, .chosen = param_grid_at(a, &x->choose, i), .at = out->len };
        c.known = param_join(a, facts, &c.chosen);
        if (!with_lets(a, x, &c.known, e) || !truth(x, "only", x->only, &c.known, &holds, e))
            return false;
        if (!holds)
            continue;
        if (x->prefer && !number(x, "prefer", x->prefer, &c.known, &c.score, e))
            return false;
        vec_push(out, c);
    }
    return true;
}

static bool add_line(struct arena *a, const struct tiling *c, const char *text,
                     const struct program **p, struct expert_schedule *out, struct err *e)
{
    const char *line;
    if (!param_expand(a, text, &c->known, &line, e))
        return in_expert(c->x, text, e);
    if (!program_apply_line(*p, line, p, e))
        return false;
    ((const char **)out->step)[out->n++] = line;
    return true;
}

/* Applies a `for: epilogue` line once for each element-wise node after the main one. */
static bool add_epilogue(struct arena *a, const struct tiling *c, const char *text,
                         const struct program **p, struct expert_schedule *out, struct err *e)
{
    const struct graph *g = (*p)->base;
    for (int i = g->main_node + 1; i < g->n_nodes; i++) {
        struct tiling with = *c;
        struct param_value one = { "epilogue", g->tensor[g->node[i].out].name };
        struct param_set more = { 1, &one };
        with.known = param_join(a, &c->known, &more);
        if (!add_line(a, &with, text, p, out, e))
            return false;
    }
    return true;
}

/* Applies the steps of a tiling. False with *e: a step is illegal, or the expert has an error. */
static bool build(struct arena *a, const struct tiling *c, const struct program *bare,
                  struct expert_schedule *out, struct err *e)
{
    const struct program *p = bare;
    int most = c->x->n_steps * (bare->base->n_nodes + 1);
    *out = (struct expert_schedule){ .expert = c->x, .chosen = c->chosen, .score = c->score,
                                     .step = ARENA_ARRAY(a, const char *, most + 1) };
    for (int i = 0; i < c->x->n_steps; i++) {
        const struct expert_step *s = &c->x->step[i];
        bool holds;
        if (!truth(c->x, s->text, s->condition, &c->known, &holds, e))
            return false;
        if (holds && !(s->per_epilogue ? add_epilogue : add_line)(a, c, s->text, &p, out, e))
            return false;
    }
    return true;
}

/* Adds to *e which families have experts, each once. */
static void no_expert(const struct experts *all, struct err *e)
{
    struct str known = {0};
    for (int i = 0; i < all->n; i++)
        for (int k = 0; k < all->item[i]->n_families; k++) {
            bool named = false;
            for (int before = 0; before < i && !named; before++)
                named = is_for(all->item[before], all->item[i]->family[k]);
            if (!named)
                str_printf(&known, "%s%s", known.len ? ", " : "", all->item[i]->family[k]);
        }
    err_fix(e, "there are experts for %.400s; for others --steps FILE takes your own steps",
            str_text(&known));
    str_free(&known);
}

/* Adds to *e that no tiling makes a legal program, and why the last one does not. */
static void refused(struct err *e, const struct err *why)
{
    err_fix(e, "its tilings are refused, the last one since: %.300s. `tilescope tune` searches"
               " one, --steps FILE takes your own", why->text);
}

bool expert_schedules(struct arena *a, const struct experts *all, const char *spec,
                      const struct target *target, int threads, int max,
                      struct expert_schedule *out, int *n, struct err *e)
{
    const struct program *bare;
    tiling_list list = {0};
    struct err why = {0};
    bool ok = program_new(a, spec, &bare, e), for_family = false;
    *n = 0;
    struct param_set facts = ok ? facts_of(a, bare->base, target, threads) : (struct param_set){0};
    for (int i = 0; i < all->n && ok; i++)
        if (is_for(all->item[i], bare->base->op)) {
            for_family = true;
            ok = add_tilings(a, all->item[i], &facts, &list, e);
        }
    if (list.len > 0)
        qsort(list.data, (size_t)list.len, sizeof *list.data, by_score);
    for (int i = 0; ok && i < list.len && i < MOST_TRIED && *n < max; i++)
        *n += build(a, &list.data[i], bare, &out[*n], &why);
    if (ok && *n == 0) {
        ok = err_set(e, ERR_NAME, "no expert has a schedule for %.200s", spec);
        if (list.len > 0)
            refused(e, &why);
        else if (for_family)
            err_fix(e,
                    "no tiling of the experts for %s fits these sizes: `tilescope tune` searches "
                    "a schedule, --steps FILE applies your own", bare->base->op);
        else if (streq(bare->base->op, "graph"))
            err_fix(e, "an expert schedules one operator, but this is a graph of several");
        else
            no_expert(all, e);
    }
    vec_free(&list);
    return ok;
}

const char *expert_chosen_text(struct arena *a, const struct expert_schedule *s)
{
    return param_text(a, &s->chosen);
}

struct counted { const struct progress *pr; int i, n; };

static void report_one(void *ctx, const char *what, double fraction)
{
    const struct counted *k = ctx;
    char text[64];
    (void)fraction;
    snprintf(text, sizeof text, "%d of %d, %.40s", k->i + 1, k->n, what);
    if (k->pr && k->pr->report)
        k->pr->report(k->pr->ctx, text, (double)k->i / k->n);
}

bool expert_fastest(const char *spec, const struct expert_schedule *s, int n,
                    const struct measure_opts *o, const struct progress *pr,
                    const struct cancel *c, int *best, struct measurement *m, struct err *e)
{
    struct counted k = { pr, 0, n };
    struct progress each = { report_one, &k };
    struct measurement *one = xcalloc(1, sizeof *one);
    bool ok = true;
    *best = -1;
    for (; k.i < n && ok; k.i++) {
        int at;
        struct arena *a = arena_new();
        const struct program *p;
        ok = program_replay(a, spec, s[k.i].step, s[k.i].n, &p, &at, e)
          && measure_program(p, o, &each, c, one, e);
        if (ok && one->outcome == OUTCOME_OK
            && (*best < 0 || one->latency.min_ms < m->latency.min_ms)) {
            *m = *one;
            *best = k.i;
        } else if (ok && *best < 0) {
            *m = *one;
        }
        arena_free(a);
    }
    free(one);
    return ok && (*best >= 0 || err_set(e, ERR_WRONG, "no schedule of an expert works: %.300s",
                                        m->reason));
}
