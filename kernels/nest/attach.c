/* Checks whether one node may be computed inside a loop of another (compute_at; fusion-conflict
 * rule of SPEC B, Fig. 6 and 7), and the other rules that concern several nodes: for inlined and
 * streamed results, and for operands that are cached or prefetched. */
#include "kernels/nest/lower_impl.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/ir/simplify.h"

static const char *name_of(const struct lowering *in, int node)
{
    return in->graph->tensor[in->graph->node[node].out].name;
}

/* Whether layouts a and b have the same physical shape and inverse map, so that position L' of a
 * loop nest means the same element in both. */
static bool aligned(const struct layout *a, const struct layout *b)
{
    if (a->rank != b->rank || a->tensor->rank != b->tensor->rank || a->guard != b->guard)
        return false;
    for (int d = 0; d < a->rank; d++)
        if (a->shape[d] != b->shape[d] || a->phys[d] != b->phys[d])
            return false;
    for (int d = 0; d < a->tensor->rank; d++)
        if (a->phi[d] != b->phi[d])
            return false;
    return true;
}

/* Whether a node reads, directly or through inlined nodes, the result of stage `at` or of a stage
 * that is computed at `axis` of `at`. */
static bool reads_chain(const struct lowering *in, int node, int at, const char *axis)
{
    for (int t = 0; t < in->graph->n_tensors; t++) {
        int from = in->graph->tensor[t].producer;
        const struct stage *s = from >= 0 ? in->stage[from] : NULL;
        if (s && graph_reads(in->graph, node, t)
            && (from == at || (s->attach == at && streq(s->attach_axis, axis))
                || (s->inlined && reads_chain(in, from, at, axis))))
            return true;
    }
    return false;
}

/* A check of what `node`, computed at an axis of stage `at`, reads directly and through inlined
 * nodes.  late: a tensor it reads that is not computed yet at the axis; -1: none.  elsewhere: a
 * tensor of which it reads an element that another iteration computes; -1: none. */
struct readiness {
    const struct lowering *in;
    int at;
    const char *axis;
    /* inlined: the inlined node whose body is examined, at position idx; NULL: the body of `node`
     * is examined */
    const struct node *node, *inlined;
    const struct expr *const *idx;
    int late, elsewhere;
};

static void check_ready(void *ctx, const struct val *load);

static void check_ready_inlined(struct readiness *r, const struct node *n,
                                const struct expr *const *idx)
{
    struct readiness inner = *r;
    inner.inlined = n;
    inner.idx = idx;
    val_each_load(n->body, check_ready, &inner);
    r->late = inner.late;
    r->elsewhere = inner.elsewhere;
}

/* Whether idx is the position that node n computes. A dim of one element has only one position. */
static bool same_place(const struct node *n, const struct expr *const *idx, int rank)
{
    bool same = rank == n->n_spatial;
    for (int d = 0; same && d < rank; d++)
        same = idx[d] == n->spatial[d] || n->spatial[d]->hi == 0;
    return same;
}

static void check_ready(void *ctx, const struct val *load)
{
    struct readiness *r = ctx;
    struct exprs *pool = r->in->pool;
    const struct node *n = r->inlined;
    const struct expr *idx[MAX_RANK];
    int p = r->in->graph->tensor[load->source].producer;
    for (int d = 0; d < load->rank; d++)
        idx[d] = n ? expr_simplify(pool, expr_subst(pool, load->idx[d], n->spatial, r->idx,
                                                    n->n_spatial))
                   : load->idx[d];
    if (p < 0)
        return;
    const struct stage *s = r->in->stage[p];
    if (s->inlined)
        check_ready_inlined(r, &r->in->graph->node[p], idx);
    else if (p == r->at || (s->attach == r->at && p > r->at && streq(s->attach_axis, r->axis)))
        r->elsewhere = same_place(r->node, idx, load->rank) ? r->elsewhere : load->source;
    else if ((s->attach >= 0 ? s->attach : p) >= r->at)
        r->late = load->source;
}

static bool check_operands(const struct lowering *in, int node, int at, const char *axis,
                           struct err *e)
{
    const struct tensor *t = in->graph->tensor;
    struct readiness r = { in, at, axis, &in->graph->node[node], NULL, NULL, -1, -1 };
    val_each_load(in->graph->node[node].body, check_ready, &r);
    if (r.late >= 0) {
        err_set(e, ERR_STEP, "cannot compute %s at %s: it reads %s, which is computed after %s",
                name_of(in, node), name_of(in, at), t[r.late].name, name_of(in, at));
        return err_fix(e, "%s needs all of %s first", name_of(in, node), t[r.late].name);
    }
    if (r.elsewhere >= 0) {
        err_set(e, ERR_STEP, "cannot compute %s at %s: it reads elements of %s that later "
                "iterations produce", name_of(in, node), name_of(in, at), t[r.elsewhere].name);
        return err_fix(e, "%s needs all of %s first", name_of(in, node), t[r.elsewhere].name);
    }
    return true;
}

/* Refuses a consumer whose layout is not that of its producer.  The usual cause is that only the
 * output got a layout. */
static bool refuse_layouts(const struct lowering *in, int node, int at, struct err *e)
{
    const char *me = name_of(in, node), *producer = in->stage[at]->name;
    struct str mine = {0}, theirs = {0};
    const struct graph *g = in->graph;
    err_set(e, ERR_STEP,
            "cannot compute %s at %s: their layouts differ, so their loops do not line up", me,
            producer);
    if (layout_notation(in->layout[g->node[node].out], &mine)
        && layout_notation(in->layout[g->node[at].out], &theirs))
        err_fix(e, "give both one layout: `layout set %s \"%s\"` or `layout set %s \"%s\"`",
                producer, str_text(&mine), me, str_text(&theirs));
    else
        err_fix(e, "give %s the layout of %s (set propagate on, or layout set %s ...)", me,
                producer, me);
    str_free(&mine);
    str_free(&theirs);
    return false;
}

static bool check_consumer(const struct lowering *in, int node, int at, const char *axis,
                           struct err *e)
{
    const struct graph *g = in->graph;
    const struct node *n = &g->node[node];
    const struct stage *outer = in->stage[at];
    const char *me = name_of(in, node);
    if (!n->elementwise) {
        err_set(
            e, ERR_STEP,
            "cannot compute %s at %s: %s is not element-wise, it needs elements of %s that later "
            "iterations produce",
            me, outer->name, n->op, outer->name);
        return err_fix(
            e, "only element-wise consumers (bias, relu, ...) follow their producer's loops");
    }
    if (!reads_chain(in, node, at, axis)) {
        const char *via = g->tensor[n->data_in].name;
        err_set(e, ERR_STEP, "cannot compute %s at %s: %s reads %s, which is not computed there",
                me, outer->name, me, via);
        return err_fix(e, "first: loop compute_at %s %s %s", via, outer->name, axis);
    }
    if (!aligned(in->layout[n->out], in->layout[g->node[at].out]))
        return refuse_layouts(in, node, at, e);
    if (!check_operands(in, node, at, axis, e))
        return false;
    int pos = stage_axis(outer, axis);
    for (int i = 0; i <= pos; i++)
        if (outer->axis[i].reduce) {
            err_set(e, ERR_STEP,
                    "cannot compute %s at loop %s of %s: %s is only complete after its reduction "
                    "loop %s",
                    me, axis, outer->name, outer->name, outer->axis[i].name);
            return i == 0 ? err_fix(e, "move a loop of the output outside of %s first",
                                    outer->axis[i].name)
                          : err_fix(e, "compute it at %s, or move %s inside of %s",
                                    outer->axis[i - 1].name, outer->axis[i].name, axis);
        }
    return true;
}

static bool check_producer(const struct lowering *in, int node, int at, const char *axis,
                           struct err *e)
{
    const struct graph *g = in->graph;
    const struct node *n = &g->node[node];
    const char *me = name_of(in, node);
    if (n->complex) {
        err_set(e, ERR_STEP, "cannot compute %s at %s: %s is a reduction of its own", me,
                name_of(in, at), me);
        return err_fix(e, "only simple producers (pad, convert, ...) are recomputed inside their "
                          "consumer's loops");
    }
    if (!graph_reads(g, at, n->out))
        return err_set(e, ERR_STEP, "cannot compute %s at %s: %s does not read %s", me,
                       name_of(in, at), name_of(in, at), me);
    for (int c = 0; c < g->n_nodes; c++)
        if (c != at && graph_reads(g, c, n->out))
            return err_set(e, ERR_STEP, "cannot compute %s at %s: %s reads it as well", me,
                           name_of(in, at), name_of(in, c));
    if (g->tensor[n->out].role == TENSOR_OUTPUT)
        return err_set(e, ERR_STEP, "cannot compute %s at %s: it is an output", me,
                       name_of(in, at));
    const struct stage *outer = in->stage[at];
    for (int i = 0; i <= stage_axis(outer, axis); i++)
        if (outer->axis[i].ann == LOOP_VECTORIZE) {
            err_set(e, ERR_STEP, "cannot compute %s at loop %s of %s: the lanes of the vectorized "
                    "loop %s cannot share the tile of %s", me, axis, outer->name,
                    outer->axis[i].name, me);
            return err_fix(e, "compute it at a loop outside of %s", outer->axis[i].name);
        }
    return true;
}

bool lower_attach_check(const struct lowering *in, int node, int at, const char *axis,
                        struct err *e)
{
    const struct stage *outer = in->stage[at], *own = in->stage[node];
    if (node == at)
        return err_set(e, ERR_STEP, "cannot compute %s inside itself", outer->name);
    if (stage_axis(outer, axis) < 0) {
        struct str axes = { 0 };
        stage_print_axes(&axes, outer);
        err_set(e, ERR_NAME, "%s has no loop %s", outer->name, axis);
        err_fix(e, "its loops: %s", str_text(&axes));
        str_free(&axes);
        return false;
    }
    if (outer->attach >= 0) {
        err_set(e, ERR_STEP, "cannot compute %s at %s: %s is itself computed at %s", own->name,
                outer->name, outer->name, name_of(in, outer->attach));
        return err_fix(e, "loop compute_at %s %s %s", own->name, name_of(in, outer->attach),
                       outer->attach_axis);
    }
    if (outer->inlined || own->inlined)
        return err_set(e, ERR_STEP, "%s is inlined: it has no loops",
                       outer->inlined ? outer->name : own->name);
    if (own->n_steps > 0 || own->cache_at) {
        err_set(e, ERR_STEP, "cannot compute %s at %s: %s already has a schedule of its own",
                own->name, outer->name, own->name);
        return err_fix(e, "undo the loop steps of %s; computed at %s it follows the loops there",
                       own->name, outer->name);
    }
    for (int i = 0; i < in->graph->n_nodes; i++)
        if (in->stage[i]->attach == node)
            return err_set(e, ERR_STEP, "cannot compute %s at %s: %s is computed at %s", own->name,
                           outer->name, name_of(in, i), own->name);
    return node > at ? check_consumer(in, node, at, axis, e)
                     : check_producer(in, node, at, axis, e);
}

bool lower_stream_check(const struct lowering *in, int node, struct err *e)
{
    const struct stage *s = in->stage[node];
    if (s->inlined || !low_lives_in_memory(in, in->graph->node[node].out))
        return err_set(e, ERR_STEP,
                       "cannot stream %s: it is not stored in memory, because its reader computes "
                       "it", s->name);
    return lower_streamed_check(in, node, e);
}

bool lower_streamed_check(const struct lowering *in, int node, struct err *e)
{
    const struct stage *s = in->stage[node];
    if (s->attach >= 0 || in->graph->node[node].n_reduce == 0)
        return true;
    int depth = stage_tile_depth(s);
    if (depth < 0) {
        err_set(e, ERR_STEP,
                "cannot stream %s: its partial sums are stored in memory and read again",
                s->name);
        return err_fix(e, "keep the partial sums in a tile first: loop cache_write %s", s->name);
    }
    for (int i = 0; i < depth; i++)
        if (s->axis[i].reduce && !axis_is_fixed(&s->axis[i])) {
            err_set(e, ERR_STEP, "cannot stream %s: its partial sums are stored in memory across "
                    "loop %s and read again", s->name, s->axis[i].name);
            return err_fix(e, "keep the partial sums in a tile outside of loop %s: loop "
                           "cache_write %s", s->axis[i].name, s->name);
        }
    return true;
}

/* --- How much inlining multiplies work -------------------------------------------------------- */

#define MOST_LOADS 4096  /* most loads of one element; real chains have far fewer */

static int64_t loads_of(const struct lowering *in, int node, int also, int64_t *known);

/* Counts the loads of a value in which the bodies of inlined nodes, and of node `also`, replace the
 * loads of their results. */
static int64_t loads_in(const struct lowering *in, const struct val *v, int also, int64_t *known)
{
    if (!v)
        return 0;
    if (v->kind == VAL_LOAD) {
        int p = in->graph->tensor[v->source].producer;
        return p >= 0 && (in->stage[p]->inlined || p == also) ? loads_of(in, p, also, known) : 1;
    }
    int64_t n = loads_in(in, v->a, also, known) + loads_in(in, v->b, also, known);
    return n < MOST_LOADS + 1 ? n : MOST_LOADS + 1;
}

static int64_t loads_of(const struct lowering *in, int node, int also, int64_t *known)
{
    if (known[node] < 0)
        known[node] = loads_in(in, in->graph->node[node].body, also, known);
    return known[node];
}

/* Checks the growth by inlining: every reader repeats an inlined value.  In a chain of nodes x + x,
 * for example, the loads double with each node. */
static bool check_growth(const struct lowering *in, int node, struct err *e)
{
    const struct graph *g = in->graph;
    int64_t *known = xmalloc(sizeof *known * (size_t)g->n_nodes);
    bool ok = true;
    for (int i = 0; i < g->n_nodes; i++)
        known[i] = -1;
    for (int i = 0; ok && i < g->n_nodes; i++)
        if (loads_of(in, i, node, known) > MOST_LOADS) {
            ok = err_set(e, ERR_STEP, "cannot inline %s: %s would then read more than %d elements"
                         " for each of its own", name_of(in, node), name_of(in, i), MOST_LOADS);
            err_fix(e, "keep one of the tensors between them in memory");
        }
    free(known);
    return ok;
}

bool lower_inline_check(const struct lowering *in, int node, struct err *e)
{
    const struct graph *g = in->graph;
    const struct node *n = &g->node[node];
    const struct stage *s = in->stage[node];
    const char *me = name_of(in, node);
    if (n->complex || n->n_reduce > 0) {
        err_set(e, ERR_STEP,
                "cannot inline %s: it is a reduction, and every reader would repeat it",
                me);
        return err_fix(e, "only nodes without a reduction (pad, bias, relu, ...) can be inlined");
    }
    if (g->tensor[n->out].role == TENSOR_OUTPUT) {
        err_set(e, ERR_STEP, "cannot inline %s: it is an output", me);
        return err_fix(e, "only a stage that another one reads can be inlined");
    }
    for (int i = 0; i < g->n_nodes; i++)
        if (in->stage[i]->attach == node) {
            err_set(e, ERR_STEP, "cannot inline %s: %s is computed inside its loops", me,
                    name_of(in, i));
            return err_fix(e, "first: loop compute_root %s", name_of(in, i));
        }
    for (int i = 0; i < g->n_nodes; i++)
        for (int r = 0; r < in->stage[i]->n_reads; r++)
            if (streq(in->stage[i]->read[r].tensor, me))
                return err_set(e, ERR_STEP, "cannot inline %s: %s copies it by cache_read", me,
                               name_of(in, i));
    if (s->n_steps > 0) {
        err_set(e, ERR_STEP, "cannot inline %s: it already has a schedule of its own", me);
        return err_fix(e, "undo the loop steps of %s", me);
    }
    return check_growth(in, node, e);
}

static bool refuse_unread(const struct lowering *in, int node, const char *tensor, struct err *e)
{
    const struct graph *g = in->graph;
    struct str list = { 0 };
    for (int i = 0; i < g->n_tensors; i++)
        if (graph_reads(g, node, i))
            str_printf(&list, "%s%s", list.len ? ", " : "", g->tensor[i].name);
    err_set(e, ERR_NAME, "%s does not read %s", name_of(in, node), tensor);
    err_fix(e, "it reads %s", str_text(&list));
    str_free(&list);
    return false;
}

bool lower_read_check(const struct lowering *in, int node, const char *tensor, struct err *e)
{
    const struct graph *g = in->graph;
    int t = graph_tensor(g, tensor);
    if (t < 0 || !graph_reads(g, node, t))
        return refuse_unread(in, node, tensor, e);
    int p = g->tensor[t].producer;
    for (int i = 0; in->held_in && i < g->n_tensors; i++)
        if (in->held_in[i] >= 0 && (i == t || in->held_in[i] == t))
            return err_set(e, ERR_STEP,
                           "%s is stored in one buffer with %s and cannot be cached alone",
                           g->tensor[t].name, g->tensor[i == t ? in->held_in[i] : i].name);
    if (p >= 0 && (in->stage[p]->inlined || in->stage[p]->attach == node)) {
        err_set(e, ERR_STEP, "%s is not stored in memory and cannot be copied: it is %s",
                g->tensor[t].name,
                in->stage[p]->inlined ? "inlined" : "computed inside these loops");
        return err_fix(e, "first: loop compute_root %s", g->tensor[t].name);
    }
    return true;
}

/* How a tensor is read. moves: per axis of s, whether the element that is read depends on it. */
struct attach_reading { const struct stage *s; int tensor; bool found, *moves; };

static void note_axes(void *ctx, const struct val *load)
{
    struct attach_reading *r = ctx;
    if (load->source != r->tensor)
        return;
    r->found = true;
    for (int i = 0; i < r->s->n_axes; i++)
        for (int d = 0; d < load->rank; d++)
            r->moves[i] |= expr_uses(load->idx[d], r->s->axis[i].var);
}

/* Returns the innermost loop that can prefetch and that moves the element read; NULL: no such
 * loop. */
static const char *moving_loop(const struct attach_reading *r)
{
    for (int i = r->s->n_axes - 1; i >= 0; i--)
        if (r->moves[i] && r->s->axis[i].ann == LOOP_SERIAL && r->s->axis[i].extent > 1)
            return r->s->axis[i].name;
    return NULL;
}

bool lower_prefetch_check(const struct lowering *in, int node, const char *tensor, const char *axis,
                          struct err *e)
{
    const struct graph *g = in->graph;
    const struct stage *s = in->stage[node];
    const struct expr *guard = NULL;
    int t = graph_tensor(g, tensor), p = t >= 0 ? g->tensor[t].producer : -1;
    struct attach_reading r = { s, t, false, ARENA_ARRAY(exprs_arena(in->pool), bool, s->n_axes) };
    if (t >= 0 && !(p >= 0 && in->stage[p]->inlined))
        val_each_load(lower_access(in, node, s, &guard), note_axes, &r);
    else if (t >= 0 && graph_reads(g, node, t))
        return err_set(e, ERR_STEP,
                       "%s is not stored in memory and cannot be prefetched: it is inlined",
                       g->tensor[t].name);
    if (!r.found)
        return refuse_unread(in, node, tensor, e);
    if (!low_lives_in_memory(in, t)) {
        err_set(e, ERR_STEP, "%s cannot be prefetched: it is computed inside these loops",
                g->tensor[t].name);
        return err_fix(e, "first: loop compute_root %s", g->tensor[t].name);
    }
    for (int i = 0; i < s->n_reads; i++)
        if (streq(s->read[i].tensor, g->tensor[t].name) &&
            stage_axis(s, s->read[i].axis) < stage_axis(s, axis)) {
            err_set(e, ERR_STEP, "loop %s of %s reads %s from the tile of a cache_read at %s, not "
                    "from memory, so there is nothing to prefetch", axis, s->name,
                    g->tensor[t].name, s->read[i].axis);
            return err_fix(e, "prefetch it at %s", s->read[i].axis);
        }
    if (r.moves[stage_axis(s, axis)])
        return true;
    err_set(e, ERR_STEP, "there is nothing to prefetch: %s is read at the same places in every "
            "iteration of loop %s of %s", g->tensor[t].name, axis, s->name);
    return moving_loop(&r) ? err_fix(e, "prefetch it at %s", moving_loop(&r)) : false;
}
