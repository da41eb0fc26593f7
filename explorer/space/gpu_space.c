/* Makes the space of a GPU: axes and operands of the main node, knobs, and the nodes around it. */
#include "explorer/space/gpu_space.h"

#include <string.h>

#include "explorer/expert/draft.h"
#include "kernels/base/number.h"
#include "kernels/nest/lower.h"

#define MOST_VTHREADS 4
#define MOST_THREADS 128                  /* most threads along one axis */
#define MOST_TILE 8                       /* elements of a register tile along one axis */
#define MOST_REDUCED 64                   /* steps of a reduction between two copies */
#define MOST_VALUES 80
#define MOST_STAGES 4

struct gpu_builder {
    struct arena *a;
    const struct program *p;
    const struct node *node;
    const struct stage *stage;
    struct loop_space *s;
    struct loop_knob *knob;
    struct gpu_nest *g;
};

/* --- Knobs ------------------------------------------------------------------------------------ */

static int add_knob(struct gpu_builder *b, enum knob_kind kind, const char *name,
                    const char *const *choice, int n)
{
    if (n < 2)
        return -1;
    b->knob[b->s->n] = (struct loop_knob){ .kind = kind, .name = name, .n_choices = n,
                                           .choice = ARENA_DUP(b->a, choice, n), .size = n };
    b->s->size *= n;
    return b->s->n++;
}

/* Makes the knob of a part.  The knob offers sizes of at most `most`: powers of two, which fill
 * warps and banks, and divisors of the extent, which leave no remainder.  dividing: whether it
 * offers only divisors.  Even then it offers powers of two if no number from 2 to `most`, except
 * the extent itself, is a divisor. */
static struct gpu_part part_knob(struct gpu_builder *b, enum knob_kind kind, const char *what,
                                 const struct gpu_axis *x, int64_t most, bool dividing)
{
    const char *choice[MOST_VALUES];
    int64_t *value = ARENA_ARRAY(b->a, int64_t, MOST_VALUES);
    int n = 0;
    bool prime = dividing;
    for (int64_t v = 2; v <= most && v < x->extent && prime; v++)
        prime = x->extent % v != 0;
    for (int64_t v = 1; v <= most && v <= x->extent && n < MOST_VALUES; v++) {
        bool power = is_power_of_two(v) && (!dividing || prime);
        if (x->extent % v && !power)
            continue;
        choice[n] = arena_printf(b->a, "%lld", (long long)v);
        value[n++] = v;
    }
    const char *name = arena_printf(b->a, "%s %s", what, x->name);
    return (struct gpu_part){ add_knob(b, kind, name, choice, n), value };
}

static void axis_knobs(struct gpu_builder *b, struct gpu_axis *x)
{
    static const struct gpu_part one = { -1, NULL };
    x->vthread = x->thread = x->tile = one;
    if (x->extent == 1)
        return;
    if (x->reduce) {
        x->tile = part_knob(b, KNOB_REDUCE, "steps", x, MOST_REDUCED, x->extent <= MOST_TILE);
        return;
    }
    x->thread = part_knob(b, KNOB_PARALLEL, "threads", x, MOST_THREADS, false);
    x->tile = part_knob(b, KNOB_SPATIAL, "tile", x, MOST_TILE, false);
    x->vthread = part_knob(b, KNOB_ORDER, "vthreads", x, MOST_VTHREADS, true);
}

/* --- Operands --------------------------------------------------------------------------------- */

/* Notes how the index of a load depends on the axes. */
static void see_index(struct gpu_builder *b, struct gpu_operand *o, const struct val *load)
{
    o->known = true;
    o->rank = load->rank;
    for (int d = 0; d < load->rank; d++) {
        o->shape[d] = b->p->layout[load->source]->shape[d];
        for (int i = 0; i < b->g->n_axes; i++) {
            const struct expr *var = b->stage->axis[i].var;
            if (!expr_uses(load->idx[d], var))
                continue;
            o->axes |= 1u << i;
            o->known = o->known && expr_coef(b->p->pool, load->idx[d], var, &o->coef[d][i]);
        }
    }
}

static void see_load(void *ctx, const struct val *load)
{
    struct gpu_builder *b = ctx;
    const struct graph *g = b->p->graph;
    int t = load->source, data = t == b->node->data_in;
    struct gpu_operand *o = &b->g->operand[data ? OPERAND_DATA : OPERAND_WEIGHTS];
    if (o->name)                          /* an operand that is read twice has one tile */
        return;
    o->name = g->tensor[t].name;
    o->bytes = g->tensor[t].type->bytes;
    see_index(b, o, load);
}

/* Whether the node that makes the operand, such as a padding, can be computed in this nest. */
static bool is_padding(const struct gpu_builder *b, const char *name)
{
    const struct graph *g = b->p->graph;
    int readers = 0, n = b->node->data_in >= 0 ? g->tensor[b->node->data_in].producer : -1;
    if (n < 0 || !streq(g->tensor[b->node->data_in].name, name))
        return false;
    for (int i = 0; i < g->n_nodes; i++)
        readers += graph_reads(g, i, b->node->data_in);
    const struct stage *s = b->p->stage[n];
    return readers == 1 && !g->node[n].complex && g->node[n].n_reduce == 0 && s->n_steps == 0
        && s->attach < 0 && !s->inlined;
}

static void find_operands(struct gpu_builder *b)
{
    static const char *const from[] = { "global", "shared", "padded", "swizzled" };
    struct lowering in = { .pool = b->p->pool, .graph = b->p->graph, .layout = b->p->layout,
                           .stage = b->p->stage, .held_in = b->p->held_in };
    const struct expr *guard;
    val_each_load(lower_access(&in, b->stage->node, b->stage, &guard), see_load, b);
    for (int i = 0; i < OPERANDS; i++) {
        struct gpu_operand *o = &b->g->operand[i];
        o->knob = -1;
        if (!o->name)
            continue;
        o->padding = is_padding(b, o->name);
        o->knob = add_knob(b, KNOB_CACHE_READ, arena_printf(b->a, "from %s", o->name), from,
                           o->padding ? FROM_SHARED_SWIZZLE : GPU_FROMS);
    }
}

static bool any_stored(const struct gpu_nest *g)
{
    bool any = false;
    for (int i = 0; i < OPERANDS; i++)
        any = any || gpu_is_stored(g, &g->operand[i]);
    return any;
}

/* --- The nodes around ------------------------------------------------------------------------- */

/* Finds the element-wise consumers that can be computed, one after the other, in the loops of the
 * main node: each must be the only reader of the one before. */
static void find_chain(struct gpu_builder *b)
{
    const struct graph *g = b->p->graph;
    const char **chain = ARENA_ARRAY(b->a, const char *, g->n_nodes + 1);
    const struct program *p = b->p;
    for (int t = b->node->out; t >= 0;) {
        int reader = -1, readers = 0;
        struct err e;
        for (int n = 0; n < g->n_nodes; n++)
            if (graph_reads(g, n, t)) {
                reader = n;
                readers++;
            }
        if (readers != 1 || p->stage[reader]->n_steps > 0
            || !program_apply_line(p, arena_printf(b->a, "loop compute_at %s %s %s",
                                                   p->stage[reader]->name, b->stage->name,
                                                   b->stage->axis[0].name), &p, &e))
            break;
        chain[b->g->n_chain++] = p->stage[reader]->name;
        t = g->node[reader].out;
    }
    b->g->chain = chain;
}

static bool is_chained(const struct gpu_builder *b, const char *name)
{
    for (int i = 0; i < b->g->n_chain; i++)
        if (streq(b->g->chain[i], name))
            return true;
    return streq(b->stage->name, name);
}

/* Writes lines that bind the loops of the nodes which this nest does not compute: a thread for each
 * element. */
static void bind_rest(struct gpu_builder *b)
{
    const struct gpu_operand *data = &b->g->operand[OPERAND_DATA];
    struct draft d = { .a = b->a, .p = b->p };
    for (int n = 0; n < b->p->graph->n_nodes; n++) {
        const struct stage *s = b->p->stage[n];
        struct err none;
        if (!is_chained(b, s->name) && !(data->padding && streq(data->name, s->name))
            && s->attach < 0 && !s->inlined && s->n_steps == 0)
            (void)draft_bind(&d, n, &none);
    }
    b->g->n_rest = d.line.len;
    b->g->rest = d.line.len > 0 ? ARENA_DUP(b->a, d.line.data, d.line.len) : NULL;
    vec_free(&d.line);
}

bool gpu_space_fill(struct arena *a, const struct program *p, int node, struct loop_space *s,
                    struct err *e)
{
    static const char *const unroll[] = { "tile", "tile+1" };
    static const char *const stages[MOST_STAGES] = { "1", "2", "3", "4" };
    struct gpu_builder b = { .a = a, .p = p, .node = &p->graph->node[node],
                             .stage = p->stage[node], .s = s, .g = ARENA_NEW(a, struct gpu_nest),
                             .knob = ARENA_ARRAY(a, struct loop_knob, LOOP_KNOBS) };
    const struct stage *stage = b.stage;
    if (stage->n_axes > GPU_AXES)
        return err_set(e, ERR_RANK, "%s has %d loops, but a loop space of a GPU has at most %d",
                       stage->name, stage->n_axes, GPU_AXES);
    if (stage->n_steps > 0) {
        err_set(e, ERR_STEP, "%s has loop steps, and the loop space of a GPU begins without any",
                stage->name);
        return err_fix(e, "undo them, or pin layout steps only");
    }
    b.g->name = stage->name;
    b.g->bytes = p->graph->type->bytes;
    bool reduces = false;
    for (int i = 0; i < stage->n_axes; i++) {
        struct gpu_axis *x = &b.g->axis[b.g->n_axes++];
        *x = (struct gpu_axis){ .name = stage->axis[i].name, .extent = stage->axis[i].extent,
                                .reduce = stage->axis[i].reduce };
        b.g->n_output += !x->reduce;
        reduces = reduces || (x->reduce && x->extent > 1);
        axis_knobs(&b, x);
    }
    find_operands(&b);
    b.g->k_unroll = reduces ? add_knob(&b, KNOB_UNROLL, "unroll", unroll, 2) : -1;
    b.g->k_stages = reduces && any_stored(b.g) ? add_knob(&b, KNOB_PREFETCH, "stages", stages,
                                                          MOST_STAGES) : -1;
    find_chain(&b);
    bind_rest(&b);
    s->knob = b.knob;
    s->gpu = b.g;
    return true;
}
