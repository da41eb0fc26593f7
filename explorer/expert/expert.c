/* Makes schedules, which are step lines, from experts and an operator. */
#include "explorer/expert/draft.h"
#include "explorer/expert/expert.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/base/vec.h"
#include "kernels/gen/gen.h"
#include "profile/host/machine.h"

#define MOST_TRIED 400  /* expert_schedules tries to apply at most this many combinations */

typedef VEC(struct param_value) param_list;

static void put(struct arena *a, param_list *p, const char *name, int64_t value)
{
    for (int i = 0; i < p->len; i++)
        if (streq(p->data[i].name, name))
            return;
    struct param_value x = { name, arena_printf(a, "%lld", (long long)value) };
    vec_push(p, x);
}

static void put_word(param_list *p, const char *name, const char *word)
{
    struct param_value x = { name, word };
    vec_push(p, x);
}


/* The operator that an expert schedules: a whole graph, or one statement of it.  family: its
 * family.  main: its main node. */
struct subject { const struct graph *g; const char *family; int main; };

/* Considers the nodes in [first, first + n) that reduce an operand.  Returns the one with the most
 * operations; if there is none, `first`. */
static int busiest(const struct graph *g, int first, int n)
{
    int best = first;
    double most = 0;
    for (int i = first; i < first + n; i++)
        if (g->node[i].n_reduce > 0 && g->node[i].data_in >= 0 && g->node[i].flops > most) {
            best = i;
            most = g->node[i].flops;
        }
    return best;
}

/* Considers the statements whose operator has an expert.  Returns the one whose main node has the
 * most operations; if there is none, the whole graph. */
static struct subject subject_of(const struct experts *all, const struct graph *g,
                                 const struct target *target)
{
    struct subject s = { g, g->op, g->main_node };
    double most = -1;
    for (int i = 0; i < g->n_statements; i++) {
        const struct graph_statement *st = &g->statement[i];
        int main = busiest(g, st->node, st->n_nodes);
        if (experts_for(all, st->op, target) && g->node[main].flops > most) {
            s = (struct subject){ g, st->op, main };
            most = g->node[main].flops;
        }
    }
    return s;
}

/* Returns an array that tells of each node whether it belongs to the epilogue: it continues the
 * main node element by element. */
static bool *followers(struct arena *a, const struct subject *s)
{
    const struct graph *g = s->g;
    const struct tensor *out = &g->tensor[g->node[s->main].out];
    bool *follows = ARENA_ARRAY(a, bool, g->n_nodes);
    for (int i = s->main + 1; i < g->n_nodes; i++) {
        const struct node *n = &g->node[i];
        bool reads = graph_reads(g, i, g->node[s->main].out);
        for (int k = s->main + 1; k < i && !reads; k++)
            reads = follows[k] && graph_reads(g, i, g->node[k].out);
        follows[i] = n->elementwise && reads
                  && tensor_elems(&g->tensor[n->out]) == tensor_elems(out);
    }
    return follows;
}


static int64_t extent_of(const struct tensor *t, const char *dim)
{
    for (int d = 0; d < t->rank; d++)
        if (streq(t->dim[d], dim))
            return t->shape[d];
    return 0;
}

static void put_extents(struct arena *a, param_list *p, const struct subject *s)
{
    static const char *const others[] = { "N", "O", "D", "H", "W", "I", "KD", "KH", "KW", "C", "M",
                                          "K", "B" };
    const struct graph *g = s->g;
    const struct node *n = &g->node[s->main];
    const struct tensor *out = &g->tensor[n->out];
    for (int d = 0; d < out->rank; d++)
        put(a, p, out->dim[d], out->shape[d]);
    for (int r = 0; r < n->n_reduce; r++)
        put(a, p, n->reduce_dim[r], n->reduce[r]->hi - n->reduce[r]->lo + 1);
    const struct tensor *in = n->data_in < 0 ? out : &g->tensor[n->data_in];
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

/* Adds strides and dilations of the axes D, H, W.  An operator with two axes has H and W; an
 * operator with one axis has W.  The values of axes that it lacks are 1. */
static void put_windows(struct arena *a, param_list *p, const struct subject *s)
{
    static const char *const stride[] = { "sd", "sh", "sw" }, *const dilation[] = { "dd", "dh",
                                                                                    "dw" };
    const struct node_params *w = &s->g->node[s->main].params;
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
    put(a, p, "elem_bytes", g->type->bytes);
    put(a, p, "registers", t->registers);
    put(a, p, "threads", threads);
}

bool expert_streams(const struct machine *m, int64_t result, int64_t operand)
{
    int64_t last = machine_last_cache(m);
    bool known = m->l2.size_bytes > 0 || m->l3.size_bytes > 0;
    return known && (2 * result >= last || (4 * result >= last && result + operand >= last));
}

/* Adds the sizes of the last cache and of the operand, and whether to stream the result. */
static void put_data(struct arena *a, param_list *p, const struct subject *s)
{
    const struct graph *g = s->g;
    const struct tensor *result = &g->tensor[g->node[g->n_nodes - 1].out];
    int data = g->node[s->main].data_in;
    int64_t operand = data < 0 ? 0 : tensor_bytes(&g->tensor[data]);
    struct machine m;
    machine_read(&m);
    put(a, p, "last_cache", machine_last_cache(&m));
    put(a, p, "operand_bytes", operand);
    put(a, p, "stream", expert_streams(&m, tensor_bytes(result), operand));
    put_word(p, "result", result->name);
}

/* Whether the main node n reduces all dims of its operand `data` but the first two. */
static bool reduces_images(const struct node *n, const struct tensor *data)
{
    int64_t reduced = 1, image = 1;
    for (int r = 0; r < n->n_reduce; r++)
        reduced *= n->reduce[r]->hi + 1;
    for (int d = 2; d < data->rank; d++)
        image *= data->shape[d];
    return data->rank > 2 && n->n_reduce == data->rank - 2 && reduced == image;
}

/* Adds the names of the main node's result, of its operand, and of the operand's dims. */
static void put_names(struct arena *a, param_list *p, const struct subject *s)
{
    const struct node *n = &s->g->node[s->main];
    put_word(p, "main", s->g->tensor[n->out].name);
    if (n->data_in < 0)
        return;
    const struct tensor *data = &s->g->tensor[n->data_in];
    put_word(p, "operand", data->name);
    put(a, p, "in_rank", data->rank);
    put(a, p, "images", reduces_images(n, data));
    for (int d = 0; d < data->rank; d++)
        put_word(p, arena_printf(a, "dim_%d", d), data->dim[d]);
}

/* Adds the name of the result of the last epilogue node; without epilogue, of the main node. */
static void put_last(struct arena *a, param_list *p, const struct subject *s)
{
    const bool *follows = followers(a, s);
    int last = s->main;
    for (int i = s->main + 1; i < s->g->n_nodes; i++)
        last = follows[i] ? i : last;
    put_word(p, "last", s->g->tensor[s->g->node[last].out].name);
}

/* Whether a pad node makes the operand of the main node from Inp_in. */
static bool is_padded(const struct subject *s)
{
    const struct graph *g = s->g;
    int data = g->node[s->main].data_in, pad = data < 0 ? -1 : g->tensor[data].producer;
    return pad >= 0 && streq(g->node[pad].op, "pad")
        && strcaseeq(g->tensor[g->node[pad].data_in].name, "Inp_in");
}

static struct param_set facts_of(struct arena *a, const struct subject *s,
                                 const struct target *target, int threads, double accuracy)
{
    param_list p = {0};
    put_word(&p, "accuracy", arena_printf(a, "%.9g", accuracy));
    put_last(a, &p, s);
    put_extents(a, &p, s);
    put_windows(a, &p, s);
    put(a, &p, "padded", is_padded(s));
    put_machine(a, &p, s->g, target, threads);
    put_data(a, &p, s);
    put_names(a, &p, s);
    struct param_set facts = { p.len, ARENA_DUP(a, p.data, p.len) };
    vec_free(&p);
    return facts;
}

/* --- Expressions ----------------------------------------------------------------------------- */

static bool in_expert(const struct expert *x, const char *what, struct err *e)
{
    char text[sizeof e->text];
    snprintf(text, sizeof text, "expert %s, %s: %.200s", x->id, what, e->text);
    snprintf(e->text, sizeof e->text, "%s", text);
    return false;
}

/* Sets *holds to the value of the condition `expr`; to true if expr is NULL.  After an error,
 * returns false with *e, which names `what`. */
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

/* Computes the values of `let` in order, and adds each of them to *known. */
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

/* A combination of an expert's `choose`.  known: the values of all names that its expressions and
 * steps can use.  at: its place in the order of the files. */
struct tiling { const struct expert *x; struct param_set chosen, known; double score; int at; };
typedef VEC(struct tiling) tiling_list;

static int by_score(const void *p, const void *q)
{
    const struct tiling *x = p, *y = q;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return x->at - y->at;
}

/* Whether an expert is for this family of operators on this target.  All CPUs share experts; a GPU
 * has its own. */
static bool is_for(const struct expert *x, const char *family, const struct target *target)
{
    if (x->target ? !streq(x->target, target->isa) : target->gpu)
        return false;
    for (int i = 0; i < x->n_families; i++)
        if (streq(x->family[i], family))
            return true;
    return false;
}

bool experts_for(const struct experts *all, const char *family, const struct target *target)
{
    target = target_or_host(target);
    for (int i = 0; i < all->n; i++)
        if (is_for(all->item[i], family, target))
            return true;
    return false;
}

/* Appends the combinations of an expert that its conditions allow. */
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

/* Appends the text.  Replaces each name of a dim of `from` by the name of the same dim of `to`. */
static void renamed_dims(struct str *out, const char *text, const struct tensor *from,
                         const struct tensor *to)
{
    while (*text) {
        size_t n = 0;
        int d = 0;
        while (isalpha((unsigned char)text[n]) || (n > 0 && isdigit((unsigned char)text[n])))
            n++;
        while (d < from->rank && (strlen(from->dim[d]) != n || strncasecmp(text, from->dim[d], n)))
            d++;
        if (n > 0 && d < from->rank)
            str_add(out, to->dim[d]);
        else
            str_add_n(out, text, n ? n : 1);
        text += n ? n : 1;
    }
}

/* A schedule in the making: its draft, the operator, and per node whether it is in the epilogue. */
struct making { struct draft d; const struct subject *s; const bool *follows; };

/* Whether tensor t is another operand of the epilogue with the shape of the main result: an
 * epilogue node reads it, but neither the main node nor an epilogue node computes it. */
static bool beside(const struct making *m, int t)
{
    const struct graph *g = m->s->g;
    const struct tensor *x = &g->tensor[t], *out = &g->tensor[g->node[m->s->main].out];
    bool read = false, like = x->rank == out->rank;
    for (int d = 0; like && d < x->rank; d++)
        like = x->shape[d] == out->shape[d];
    for (int i = 0; i < g->n_nodes; i++)
        read |= m->follows[i] && graph_reads(g, i, t);
    return read && like && !(x->producer >= 0
                             && (x->producer == m->s->main || m->follows[x->producer]));
}

/* If the line sets the layout of the main result, sets the same layout for the other operands of
 * the epilogue that have the same shape (beside), so that the epilogue reads whole vectors of
 * them. */
static bool repeat_layout(struct making *m, const char *line, struct err *e)
{
    const struct graph *g = m->s->g;
    const struct tensor *out = &g->tensor[g->node[m->s->main].out];
    char verb[32], name[128];
    int rest = 0;
    if (sscanf(line, "layout %31s %127s %n", verb, name, &rest) != 2 || !streq(name, out->name))
        return true;
    for (int t = 0; t < g->n_tensors; t++) {
        if (!beside(m, t))
            continue;
        struct str text = {0};
        str_printf(&text, "layout %s %s ", verb, g->tensor[t].name);
        renamed_dims(&text, line + rest, out, &g->tensor[t]);
        bool ok = draft_line(&m->d, str_text(&text), e);
        str_free(&text);
        if (!ok)
            return false;
    }
    return true;
}

static bool add_line(struct making *m, const struct tiling *c, const char *text, struct err *e)
{
    const char *line;
    if (!param_expand(m->d.a, text, &c->known, &line, e))
        return in_expert(c->x, text, e);
    return draft_line(&m->d, line, e) && repeat_layout(m, line, e);
}

/* Applies a step with `for:` (expert.h), once for each of its nodes.  In a graph of statements, an
 * epilogue node can need more loops than the main node.  Its line is then illegal and left out, so
 * that the node gets loops of its own. */
static bool add_epilogue(struct making *m, const struct tiling *c, const struct expert_step *s,
                         struct err *e)
{
    const struct graph *g = m->s->g;
    const char *last = param_get(&c->known, "last");
    bool fused = streq(s->each, "fused");
    for (int i = m->s->main + !fused; i < g->n_nodes; i++) {
        struct tiling with = *c;
        struct param_value one = { s->each, g->tensor[g->node[i].out].name };
        struct param_set more = { 1, &one };
        bool taken = fused ? (i == m->s->main || m->follows[i]) && !streq(one.value, last)
                           : m->follows[i];
        with.known = param_join(m->d.a, &c->known, &more);
        if (taken && !add_line(m, &with, s->text, e)
            && (fused || g->n_statements == 0 || e->code != ERR_STEP))
            return false;
    }
    return true;
}

/* Applies the steps of a tiling.  Returns false with *e if a step is illegal, or if the expert has
 * an error. */
static bool steps_of(struct making *m, const struct tiling *c, struct err *e)
{
    for (int i = 0; i < c->x->n_steps; i++) {
        const struct expert_step *s = &c->x->step[i];
        bool holds;
        if (!truth(c->x, s->text, s->condition, &c->known, &holds, e))
            return false;
        if (holds && !(s->each ? add_epilogue(m, c, s, e) : add_line(m, c, s->text, e)))
            return false;
    }
    return true;
}

/* Makes the schedule of a tiling.  Nodes that the expert does not schedule get a plain schedule. */
static bool build(struct arena *a, const struct tiling *c, const struct subject *s,
                  const struct program *bare, const struct draft_machine *machine,
                  struct expert_schedule *out, struct err *e)
{
    struct making m = { { a, bare, {0} }, s, followers(a, s) };
    bool ok = steps_of(&m, c, e);
    if (ok)
        draft_rest(&m.d, machine);
    *out = (struct expert_schedule){ .expert = c->x, .chosen = c->chosen, .score = c->score,
                                     .n = m.d.line.len,
                                     .step = ARENA_DUP(a, m.d.line.data, m.d.line.len) };
    vec_free(&m.d.line);
    return ok;
}

/* The expert for operators without an expert.  It has no steps, so all nodes get a plain
 * schedule. */
static const struct expert plain = {
    .id = "plain", .path = "", .title = "Vector loops over what is contiguous",
    .note = "Every node has loops of its own, or is computed where it is read.",
};

/* Sets *e to an error that says: no tiling makes a legal program, and the last one fails because of
 * `why`.  Returns false. */
static bool refused(const char *spec, struct err *e, const struct err *why)
{
    err_set(e, ERR_NAME, "no expert has a schedule for %.200s: none of the experts' tilings is "
            "legal; the last one fails because: %.300s", spec, why->text);
    return err_fix(e, "search a schedule with `tilescope tune`, or give your own with --steps "
                   "FILE");
}

bool expert_schedules(struct arena *a, const struct experts *all, const char *spec,
                      const struct target *target, int threads, int max,
                      struct expert_schedule *out, int *n, struct err *e)
{
    const struct program *bare;
    tiling_list list = {0};
    struct err why = {0};
    *n = 0;
    if (!program_new(a, spec, &bare, e))
        return false;
    const struct target *t = target_or_host(target);
    const struct subject s = subject_of(all, bare->base, t);
    const struct param_set facts = facts_of(a, &s, t, threads, all->accuracy);
    const struct draft_machine machine = { target_lanes(t, bare->base->type), t->registers,
                                           threads, t->gpu };
    bool ok = true;
    for (int i = 0; i < all->n && ok; i++)
        if (is_for(all->item[i], s.family, t))
            ok = add_tilings(a, all->item[i], &facts, &list, e);
    if (list.len > 0)
        qsort(list.data, (size_t)list.len, sizeof *list.data, by_score);
    for (int i = 0; ok && i < list.len && i < MOST_TRIED && *n < max; i++)
        *n += build(a, &list.data[i], &s, bare, &machine, &out[*n], &why);
    if (ok && *n == 0 && list.len > 0 && bare->base->n_statements == 0)
        ok = refused(spec, e, &why);
    else if (ok && *n == 0 && max > 0)
        *n += build(a, &(struct tiling){ .x = &plain }, &s, bare, &machine, out, &why);
    vec_free(&list);
    return ok;
}

const char *expert_chosen_text(struct arena *a, const struct expert_schedule *s)
{
    return param_text(a, &s->chosen);
}

/* The progress of schedule i of n. */
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
          && measure_program(p, o, &each, c, one, e)
          && (one->outcome != OUTCOME_CANCEL || err_set(e, ERR_CANCEL, "cancelled"));
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
