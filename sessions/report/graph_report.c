#include "sessions/report/graph_report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/program/contract.h"
#include "profile/machine/roofline.h"
#include "sessions/file/json.h"

const char *const graph_change_name[] = { "", "new", "layout", "loops" }; /* ORDER graph_change */

/* Returns the node whose loops compute node n: the one that n is attached to or inlined into, or
 * n. */
static int nest_of(const struct program *p, int n)
{
    const struct graph *g = p->graph;
    const struct stage *s = p->stage[n];
    if (s->attach >= 0)
        return nest_of(p, s->attach);
    for (int reader = n + 1; s->inlined && reader < g->n_nodes; reader++)
        if (graph_reads(g, reader, g->node[n].out))
            return nest_of(p, reader);
    return n;
}

/* Whether the lowered program f has a buffer with the whole tensor. */
static bool is_stored(const struct func *f, const struct program *p, int tensor)
{
    for (int i = 0; i < f->n_buffers; i++)
        if (f->buffer[i].tensor == tensor
            && streq(f->buffer[i].name, p->graph->tensor[tensor].name))
            return true;
    return false;
}

/* Whether a tensor is read by some node in the nest of node `of` (inside = true), or by some node
 * outside that nest (inside = false). */
static bool is_read(const struct program *p, const int *nest, int of, int tensor, bool inside)
{
    for (int n = 0; n < p->graph->n_nodes; n++)
        if ((nest[n] == of) == inside && graph_reads(p->graph, n, tensor))
            return true;
    return false;
}

/* Sets the FLOPs and moved bytes of a row to those of all nodes in the nest of row->node. */
static void add_nest(const struct program *p, const int *nest, struct graph_row *row)
{
    const struct graph *g = p->graph;
    for (int n = 0; n < g->n_nodes; n++)
        if (nest[n] == row->node)
            row->flops += g->node[n].flops;
    for (int t = 0; t < g->n_tensors; t++) {
        const struct tensor *x = &g->tensor[t];
        bool here = x->producer >= 0 && nest[x->producer] == row->node;
        bool leaves = here && (x->role == TENSOR_OUTPUT || is_read(p, nest, row->node, t, false));
        bool comes = !here && is_read(p, nest, row->node, t, true);
        if (leaves || comes)
            row->moved += (double)layout_bytes(p->layout[t]);
    }
}

static double bound_of(const struct graph_row *row, const struct machine_model *model,
                       const struct measurement *m)
{
    struct measurement *as = xcalloc(1, sizeof *as);
    struct roofline r;
    as->threads = m && m->threads > 1 ? m->threads : 1;
    snprintf(as->isa, sizeof as->isa, "%s", m ? m->isa : "");
    /* a nest without arithmetic gets one operation, so that only its bytes count */
    double flops = fmax(row->flops, 1);
    roofline_of(model, flops, row->moved, as, &r);
    free(as);
    return r.bound > 0 ? 1e-9 * flops / r.bound : 0;
}


static bool same_layout(const struct program *p, int t, const struct program *q, int u)
{
    struct str a = {0}, b = {0};
    graph_layout_text(&a, p, t);
    graph_layout_text(&b, q, u);
    bool same = streq(str_text(&a), str_text(&b)) && layout_bytes(p->layout[t])
                                                     == layout_bytes(q->layout[u]);
    str_free(&a);
    str_free(&b);
    return same;
}

static const char *or_none(const char *text)
{
    return text ? text : "";
}

static bool same_tile(const char *tensor, const char *axis, const char *other, const char *at)
{
    return streq(tensor, other) && streq(axis, at);
}

/* Returns the name of the stage to which node n is attached; "": to none. */
static const char *computed_in(const struct program *p, int n)
{
    int at = p->stage[n]->attach;
    return at < 0 ? "" : p->stage[at]->name;
}

/* Whether node n of p is computed by the same loops as node k of q. */
static bool same_loops(const struct program *p, int n, const struct program *q, int k)
{
    const struct stage *s = p->stage[n], *r = q->stage[k];
    bool same = s->n_axes == r->n_axes && s->inlined == r->inlined && s->stream == r->stream
             && streq(computed_in(p, n), computed_in(q, k)) && s->n_reads == r->n_reads
             && s->n_ahead == r->n_ahead
             && streq(or_none(s->attach_axis), or_none(r->attach_axis))
             && streq(or_none(s->cache_at), or_none(r->cache_at));
    for (int i = 0; same && i < s->n_axes; i++)
        same = streq(s->axis[i].name, r->axis[i].name) && s->axis[i].extent == r->axis[i].extent
            && s->axis[i].ann == r->axis[i].ann;
    for (int i = 0; same && i < s->n_reads; i++)
        same = same_tile(s->read[i].tensor, s->read[i].axis, r->read[i].tensor, r->read[i].axis);
    for (int i = 0; same && i < s->n_ahead; i++)
        same = same_tile(s->ahead[i].tensor, s->ahead[i].axis, r->ahead[i].tensor,
                         r->ahead[i].axis) && s->ahead[i].by == r->ahead[i].by;
    return same;
}

static enum graph_change change_of(const struct program *p, const struct graph_row *row,
                                   const struct program *before)
{
    const char *name = p->graph->tensor[row->tensor].name;
    int t = before ? graph_tensor(before->graph, name) : -1;
    if (!before)
        return GRAPH_SAME;
    if (t < 0)
        return GRAPH_NEW;
    if (!same_layout(p, row->tensor, before, t))
        return GRAPH_LAYOUT;
    int n = before->graph->tensor[t].producer;
    if (row->node < 0 || n < 0)
        return GRAPH_SAME;
    return same_loops(p, row->node, before, n) ? GRAPH_SAME : GRAPH_LOOPS;
}

/* --- The rows ------------------------------------------------------------------------------- */

static struct graph_row row_of(const struct program *p, const struct func *f, int tensor)
{
    struct graph_row row = { .tensor = tensor, .node = p->graph->tensor[tensor].producer,
                             .nest = -1 };
    if (row.node < 0 || !f || is_stored(f, p, tensor))
        row.bytes = (double)layout_bytes(p->layout[tensor]);
    return row;
}

struct graph_rows graph_rows(struct arena *a, const struct program *p, const struct program *before,
                             const struct machine_model *model, const struct measurement *m)
{
    const struct graph *g = p->graph;
    const struct func *f;
    struct err e;
    struct graph_rows r = { .row = ARENA_ARRAY(a, struct graph_row, g->n_tensors) };
    int *nest = ARENA_ARRAY(a, int, g->n_nodes);
    if (!program_lower(p, &f, &e))
        f = NULL;
    double needed = f && g->flops > 0 ? func_needed(f, g->flops) / g->flops : 1;
    for (int n = 0; n < g->n_nodes; n++)
        nest[n] = nest_of(p, n);
    for (int t = 0; t < g->n_tensors; t++)
        if (g->tensor[t].producer < 0)
            r.row[r.n++] = row_of(p, f, t);
    for (int n = 0; n < g->n_nodes; n++) {
        struct graph_row row = row_of(p, f, g->node[n].out);
        row.nest = nest[n];
        if (row.nest == n)
            add_nest(p, nest, &row);
        row.flops *= needed;
        if (row.nest == n && model)
            row.bound_s = bound_of(&row, model, m);
        r.bound_s += row.bound_s;
        r.row[r.n++] = row;
    }
    for (int i = 0; i < r.n; i++)
        r.row[i].change = change_of(p, &r.row[i], before);
    return r;
}

void graph_layout_text(struct str *out, const struct program *p, int tensor)
{
    const struct layout *l = p->layout[tensor];
    struct str notation = {0};
    if (layout_notation(l, &notation))
        str_add(out, str_text(&notation));
    for (int i = 0; i < l->rank && !notation.len; i++)
        str_printf(out, "%s%s:%lld", i ? " " : "", l->dim[i], (long long)l->shape[i]);
    str_free(&notation);
}

void graph_layout_origin(struct str *out, const struct program *p, int tensor)
{
    if (p->source[tensor] == LAYOUT_EXPLICIT)
        str_add(out, p->variant == VARIANT_OL ? "fixed by variant ol" : "set by a step");
    if (p->source[tensor] == LAYOUT_PROPAGATED)
        str_printf(out, "from %s", p->graph->tensor[p->source_tensor[tensor]].name);
}

/* --- JSON ----------------------------------------------------------------------------------- */

static const char *tensor_name(const struct program *p, int node)
{
    return p->graph->tensor[p->graph->node[node].out].name;
}

static json_t *row_json(const struct program *p, const struct graph_row *row, double whole)
{
    const struct graph *g = p->graph;
    const struct layout *l = p->layout[row->tensor];
    struct str layout = {0}, origin = {0};
    json_t *reads = json_array();
    graph_layout_text(&layout, p, row->tensor);
    graph_layout_origin(&origin, p, row->tensor);
    for (int t = 0; row->node >= 0 && t < g->n_tensors; t++)
        if (graph_reads(g, row->node, t))
            json_array_append_new(reads, JSON(g->tensor[t].name));
    bool own = row->node >= 0 && row->nest == row->node;
    json_t *o = json_make(
        "tensor", JSON(g->tensor[row->tensor].name),
        "role", JSON(tensor_role_name[g->tensor[row->tensor].role]),
        "operator", JSON_OR_NULL(row->node >= 0 ? g->node[row->node].op : NULL), "reads", reads,
        "layout", JSON(str_text(&layout)), "layout_from", JSON_OR_NULL(str_text(&origin)),
        "expansion", JSON(l->expansion),
        "bytes", row->bytes > 0 ? json_of_count(row->bytes) : json_null(),
        "nest", JSON_OR_NULL(row->node >= 0 ? tensor_name(p, row->nest) : NULL));
    json_put(o, "flops", own ? json_of_count(row->flops) : json_null(),
             "moved_bytes", own ? json_of_count(row->moved) : json_null(),
             "bound_ms", JSON_OR_NULL(1e3 * row->bound_s),
             "share", JSON_OR_NULL(whole > 0 ? row->bound_s / whole : 0),
             "changed", JSON_OR_NULL(graph_change_name[row->change]),
             "stops", JSON_OR_NULL(row->node >= 0 ? p->stop[row->node] : NULL));
    str_free(&layout);
    str_free(&origin);
    return o;
}

void graph_report_json(struct str *out, const struct program *p, const struct graph_rows *rows,
                       const struct measurement *m)
{
    struct str contract = {0};
    json_t *list = json_array();
    contract_print(&contract, p);
    for (int i = 0; i < rows->n; i++)
        json_array_append_new(list, row_json(p, &rows->row[i], rows->bound_s));
    bool timed = m && m->latency.runs > 0;
    json_print(out, json_make("format", JSON(1), "contract", JSON(str_text(&contract)),
                              "conversions", JSON(p->n_conversions),
                              "latency_ms", JSON_IF(timed, timed ? m->latency.min_ms : 0.0),
                              "bound_ms", JSON_OR_NULL(1e3 * rows->bound_s), "tensors", list), 6);
    str_free(&contract);
}
