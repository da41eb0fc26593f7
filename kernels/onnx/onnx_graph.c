/* Translates an ONNX model to statements: keeps values and names, and visits nodes in order. */
#include "kernels/onnx/onnx_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/rng.h"

bool onnx_refuse(struct imp *im, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    im->reason = arena_vprintf(im->a, fmt, ap);
    va_end(ap);
    return false;
}

/* --- Finding values by name ------------------------------------------------------------------- */

struct value *onnx_find_value(struct imp *im, const char *name)
{
    int *head = &im->bucket[hash_text(name) % (uint64_t)im->n_buckets];
    for (int i = *head; i >= 0; i = im->value.data[i]->next)
        if (streq(im->value.data[i]->name, name))
            return im->value.data[i];
    return NULL;
}

static struct value *add_value(struct imp *im, const char *name)
{
    int *head = &im->bucket[hash_text(name) % (uint64_t)im->n_buckets];
    struct value *v = ARENA_NEW(im->a, struct value);
    *v = (struct value){ .name = name, .stmt = -1, .port = -1, .blocked = -1, .next = *head };
    vec_push(&im->value, v);
    *head = im->value.len - 1;
    return v;
}

static void index_values(struct imp *im)
{
    const struct onnx_model *m = im->m;
    int most = m->n_init + m->n_in;
    for (int i = 0; i < m->n_nodes; i++)
        most += m->node[i].n_out;
    im->n_buckets = most + 1;
    im->bucket = ARENA_ARRAY(im->a, int, im->n_buckets);
    for (int i = 0; i < im->n_buckets; i++)
        im->bucket[i] = -1;
}

static void take_constant(struct value *v, const struct onnx_tensor *t)
{
    v->data = t;
    v->type = t->type;
    v->shape.rank = t->rank;
    memcpy(v->shape.dim, t->dims, sizeof t->dims);
}

void onnx_add_constant(struct imp *im, const struct onnx_tensor *t)
{
    take_constant(add_value(im, t->name), t);
}

static bool add_constant(struct imp *im, const struct onnx_tensor *t, struct err *e)
{
    if (onnx_find_value(im, t->name))
        return err_set(e, ERR_NAME, "initializer %.80s is defined twice", t->name);
    onnx_add_constant(im, t);
    return true;
}

static bool add_input(struct imp *im, int i, const struct onnx_tensor *const *given, int n_given,
                      struct err *e)
{
    const struct onnx_port *p = &im->m->in[i];
    if (onnx_find_value(im, p->name))
        return err_set(e, ERR_NAME, "input %.80s is defined twice", p->name);
    struct value *v = add_value(im, p->name);
    v->port = i;
    v->type = p->type;
    v->shape.rank = p->rank;
    memcpy(v->shape.dim, p->dims, sizeof p->dims);
    for (int d = 0; d < p->rank; d++)
        if (p->dims[d] < 0 && d == 0) {
            v->shape.dim[d] = 1;
            str_printf(&im->out->notes, "The first dimension of %.200s (%.60s) is open: taken as 1."
                       "\n", p->name, p->dim_name[d]);
        } else if (p->dims[d] < 0) {
            v->shape.rank = -1;
        }
    for (int k = 0; k < n_given; k++)
        if (given[k] && streq(given[k]->name, p->name) && given[k]->type == p->type) {
            v->shape.rank = given[k]->rank;
            memcpy(v->shape.dim, given[k]->dims, sizeof given[k]->dims);
            v->data = given[k]->i ? given[k] : NULL;
            v->given = given[k];
        }
    return true;
}

static bool add_outputs(struct imp *im, struct err *e)
{
    const struct onnx_node *n = im->n;
    for (int k = 0; k < n->n_out; k++)
        if (n->out[k][0]) {
            if (onnx_find_value(im, n->out[k]))
                return err_set(e, ERR_NAME, "node %.80s (%.40s): output %.80s is computed twice",
                               n->name, n->op, n->out[k]);
            add_value(im, n->out[k]);
        }
    return true;
}

/* --- Results ---------------------------------------------------------------------------------- */

static struct value *out_value(struct imp *im, int k)
{
    return k < im->n->n_out && im->n->out[k][0] ? onnx_find_value(im, im->n->out[k]) : NULL;
}

bool onnx_wants_out(const struct imp *im, int k)
{
    return k < im->n->n_out && im->n->out[k][0];
}

void onnx_set_out(struct imp *im, int k, int s, const struct shape *shape)
{
    struct value *v = out_value(im, k);
    if (!v)
        return;
    if (onnx_shape_elems(shape) > ONNX_MAX_RESULT)
        onnx_refuse(im, "its result would have the shape %s, which is too large",
                    onnx_shape_text(im, shape, "x"));
    v->type = im->type;
    v->stmt = s;
    v->shape = *shape;
    if (!im->stmt.data[s].want)
        im->stmt.data[s].want = v->name;
}

/* A result of shape 1 becomes a scalar if all inputs are scalars. */
bool onnx_done(struct imp *im, int s)
{
    struct shape shape = *onnx_shape_of(im, s);
    bool scalars = shape.rank == 1 && shape.dim[0] == 1;
    for (int i = 0; i < im->n->n_in && scalars; i++) {
        const struct value *v = onnx_has_in(im, i) ? onnx_in_value(im, i) : NULL;
        scalars = !v || v->shape.rank == 0;
    }
    shape.rank = scalars ? 0 : shape.rank;
    onnx_set_out(im, 0, s, &shape);
    return true;
}

void onnx_set_const(struct imp *im, int k, const struct onnx_tensor *t)
{
    struct value *v = out_value(im, k);
    if (v)
        take_constant(v, t);
}

/* --- Nodes ------------------------------------------------------------------------------------ */

static const struct handler *find_handler(const struct onnx_node *n)
{
    const struct handler *const tables[] = { onnx_window_ops, onnx_math_ops, onnx_move_ops,
                                             onnx_logic_ops, onnx_index_ops, onnx_resize_ops,
                                             onnx_einsum_ops };
    if (n->domain[0])
        return NULL;
    for (int t = 0; t < COUNT_OF(tables); t++)
        for (const struct handler *h = tables[t]; h->op; h++)
            if (streq(h->op, n->op))
                return h;
    return NULL;
}

static bool reads(const struct onnx_node *n, const char *name)
{
    for (int i = 0; i < n->n_in; i++)
        if (streq(n->in[i], name))
            return true;
    return false;
}

/* Whether `name` is a result of node `from`, or of a later node that depends on `from`. */
static bool in_cycle(const struct imp *im, int from, const char *name)
{
    const struct onnx_model *m = im->m;
    bool *found = ARENA_ARRAY(im->a, bool, m->n_nodes);
    int *queue = ARENA_ARRAY(im->a, int, m->n_nodes), n = 1;
    queue[0] = from;
    for (int q = 0; q < n; q++)
        for (int k = 0; k < m->node[queue[q]].n_out; k++) {
            const char *out = m->node[queue[q]].out[k];
            if (streq(out, name))
                return true;
            for (int j = from + 1; j < m->n_nodes && out[0]; j++)
                if (!found[j] && reads(&m->node[j], out)) {
                    found[j] = true;
                    queue[n++] = j;
                }
        }
    return false;
}

/* Checks that the inputs exist.  Sets *blocked to an unsupported node on which an input depends, or
 * to -1. */
static bool check_inputs(struct imp *im, int *blocked, struct err *e)
{
    const struct onnx_node *n = im->n;
    *blocked = -1;
    for (int i = 0; i < n->n_in; i++) {
        const struct value *v = n->in[i][0] ? onnx_find_value(im, n->in[i]) : NULL;
        if (n->in[i][0] && !v) {
            err_set(e, ERR_NAME,
                    "node %.80s (%.40s): no earlier node, input or initializer gives its input "
                    "%.80s", n->name, n->op, n->in[i]);
            if (in_cycle(im, im->node, n->in[i]))
                return err_fix(e, "the nodes form a cycle: %.80s depends on the result of %.80s",
                               n->in[i], n->name);
            return err_fix(e, "order the nodes so that each comes after those that it reads");
        }
        if (v && v->blocked >= 0)
            *blocked = v->blocked;
    }
    return true;
}

static void block_outputs(struct imp *im, int by)
{
    for (int k = 0; k < im->n->n_out; k++) {
        struct value *v = out_value(im, k);
        if (v)
            v->blocked = by;
    }
}

/* Blocks the outputs that the handler left unset (the indices of a MaxPool): their readers are
 * unsupported. */
static void settle_outputs(struct imp *im)
{
    for (int k = 0; k < im->n->n_out; k++) {
        struct value *v = out_value(im, k);
        if (v && v->stmt < 0 && !v->data)
            v->blocked = im->node;
    }
}

/* Whether the shapes of all inputs are known; if not, sets the reason.  An open dim other than the
 * first leaves the shape unknown, unless data are given for the input (add_input). */
static bool shapes_known(struct imp *im)
{
    for (int i = 0; i < im->n->n_in; i++) {
        const struct value *v = onnx_has_in(im, i) ? onnx_in_value(im, i) : NULL;
        if (v && v->shape.rank < 0)
            return onnx_shape_unknown(im, v);
    }
    return true;
}

static void run_node(struct imp *im, int blocked)
{
    struct onnx_graph *g = im->out;
    const struct handler *h = find_handler(im->n);
    const struct value *in = onnx_has_in(im, 0) ? onnx_in_value(im, 0) : NULL;
    im->reason = NULL;
    im->type = in && onnx_is_number(in->type) ? in->type : TYPE_FLOAT;
    if (blocked >= 0) {
        block_outputs(im, blocked);
        g->reason[im->node] = arena_printf(im->a, ONNX_DEPENDS "%.200s that is not supported",
                                           im->m->node[blocked].name);
        return;
    }
    bool ok = im->stmt.len > MAX_STATEMENTS
                  ? onnx_refuse(im, "the model needs more than %d statements", MAX_STATEMENTS)
                  : shapes_known(im) && onnx_fold(im, h);
    if (!ok && !im->reason)
        ok = h ? h->run(im)
               : onnx_refuse(im, im->n->domain[0] ? "operators of other domains are not supported"
                                             : "no statement for this operator");
    if (ok && !im->reason) {
        settle_outputs(im);
        const struct value *v = out_value(im, 0);
        if (v && v->blocked < 0)
            g->shape[im->node] = onnx_shape_text(im, &v->shape, "x");
        return;
    }
    g->reason[im->node] = im->reason;
    g->n_unsupported++;
    block_outputs(im, im->node);
}

static int by_name(const void *name, const void *declared)
{
    return strcmp(name, ((const struct onnx_declared *)declared)->name);
}

static bool same_dims(const struct shape *is, int rank, const int64_t *dims)
{
    bool same = rank == is->rank;
    for (int d = 0; same && d < rank; d++)
        same = dims[d] < 0 || dims[d] == is->dim[d];
    return same;
}

/* Checks the results of the node against the shapes that the model declares for them. */
static bool check_declared(struct imp *im, struct err *e)
{
    const struct onnx_model *m = im->m;
    for (int k = 0; k < im->n->n_out; k++) {
        const struct value *v = out_value(im, k);
        const struct onnx_declared *x =
            v ? bsearch(v->name, m->declared, (size_t)m->n_declared, sizeof *x, by_name) : NULL;
        if (!x || v->blocked >= 0 || v->shape.rank < 0 || same_dims(&v->shape, x->rank, x->dims))
            continue;
        struct shape said = { .rank = x->rank };
        memcpy(said.dim, x->dims, sizeof *x->dims * (size_t)x->rank);
        err_set(e, ERR_RANGE, "node %.80s (%.40s): its result %.80s is declared as %s, but the "
                "node computes %s", im->n->name, im->n->op, v->name,
                onnx_shape_text(im, &said, "x"), onnx_shape_text(im, &v->shape, "x"));
        return err_fix(e, "drop the model's value_info, or let onnx.shape_inference write it anew");
    }
    return true;
}

static void mark_live(struct imp *im)
{
    for (int i = im->stmt.len - 1; i >= 0; i--)
        for (int k = 0; im->stmt.data[i].live && k < im->stmt.data[i].n_in; k++)
            im->stmt.data[im->stmt.data[i].in[k]].live = true;
}

/* Whether the statements make a graph with the shapes that the importer expects. */
static bool compose(struct imp *im, struct err *e)
{
    struct arena *a = arena_new();
    const struct graph *g;
    bool ok = graph_from_spec(a, str_text(&im->out->text), &g, e);
    for (int i = 0; ok && i < im->stmt.len; i++) {
        const struct stmt *s = &im->stmt.data[i];
        int t = s->live ? graph_tensor(g, s->name) : -1;
        bool same = t < 0 || g->tensor[t].rank == s->shape.rank;
        for (int d = 0; same && t >= 0 && d < s->shape.rank; d++)
            same = g->tensor[t].shape[d] == s->shape.dim[d];
        if (!same)
            ok = err_set(e, ERR_BUG, "node %.80s (%.40s): %s does not have the expected shape",
                         im->m->node[s->node].name, im->m->node[s->node].op, s->name);
    }
    arena_free(a);
    return ok;
}

/* Marks a node as unsupported because of *e: the node whose statement is at the line of *e. */
static void blame(struct imp *im, const struct err *e)
{
    int line = 0;
    for (int i = 0; i < im->stmt.len; i++) {
        const struct stmt *s = &im->stmt.data[i];
        line += s->live;
        if (s->live && line == e->at.line) {
            im->out->reason[s->node] = arena_strdup(im->a, e->text);
            im->out->n_unsupported++;
            break;
        }
    }
    str_clear(&im->out->text);
}

/* Marks the statements of the model's outputs live, unless a node is unsupported.  Copies an output
 * that is an input or a constant. */
static bool end_outputs(struct imp *im, struct err *e)
{
    for (int k = 0; k < im->m->n_out; k++) {
        struct value *v = onnx_find_value(im, im->m->out[k].name);
        const struct onnx_port *p = &im->m->out[k];
        if (!v)
            return err_set(e, ERR_NAME, "no node computes output %.80s", p->name);
        if (v->blocked >= 0 || im->out->n_unsupported)
            continue;
        im->reason = NULL;
        int s;
        if (!onnx_value_stmt(im, v, &s)) {
            err_set(e, ERR_ENV, "output %.80s: %s", p->name, im->reason);
            return false;
        }
        if (p->rank >= 0 && !same_dims(&v->shape, p->rank, p->dims))
            return err_set(e, ERR_RANGE,
                           "output %.80s: its declared shape is wrong, the nodes compute %s",
                           p->name,
                           onnx_shape_text(im, &v->shape, "x"));
        if (im->stmt.data[s].n_in == 0) {
            v->stmt = s = onnx_emit1(im, "identity", s);
            im->stmt.data[s].want = v->name;
        }
        im->stmt.data[s].live = true;
    }
    return true;
}

static bool finish(struct imp *im, struct err *e)
{
    if (!end_outputs(im, e))
        return false;
    if (im->out->n_unsupported)
        return true;
    bool any = false;
    for (int k = 0; k < im->m->n_out; k++) {
        const struct value *v = onnx_find_value(im, im->m->out[k].name);
        any = true;
        if (v->blocked >= 0)
            return err_set(e, ERR_ENV, "output %.80s: node %.80s does not compute it in inference",
                           v->name, im->m->node[v->blocked].name);
    }
    if (!any)
        return err_set(e, ERR_SYNTAX, "the graph has no outputs");
    mark_live(im);
    onnx_print_text(im, false);
    bool ok = compose(im, e);
    if (!ok && e->code == ERR_NAME) {
        onnx_print_text(im, true);
        ok = compose(im, e);
    }
    if (!ok)
        blame(im, e);
    return ok || im->out->n_unsupported;
}

static bool run_nodes(struct imp *im, struct err *e)
{
    for (int i = 0; i < im->m->n_nodes; i++) {
        int blocked;
        im->n = &im->m->node[i];
        im->node = i;
        if (!check_inputs(im, &blocked, e) || !add_outputs(im, e))
            return false;
        run_node(im, blocked);
        if (!check_declared(im, e))
            return false;
    }
    return true;
}

static bool run_all(struct imp *im, const struct onnx_tensor *const *given, int n_given,
                    struct err *e)
{
    bool ok = true;
    index_values(im);
    for (int i = 0; ok && i < im->m->n_init; i++)
        ok = add_constant(im, &im->m->init[i], e);
    for (int i = 0; ok && i < im->m->n_in; i++)
        ok = add_input(im, i, given, n_given, e);
    return ok && run_nodes(im, e);
}

static struct imp begin(const struct onnx_model *m, struct onnx_graph *out)
{
    *out = (struct onnx_graph){ .arena = arena_new(), .n_nodes = m->n_nodes };
    out->reason = ARENA_ARRAY(out->arena, const char *, m->n_nodes);
    out->shape = ARENA_ARRAY(out->arena, const char *, m->n_nodes);
    return (struct imp){ .m = m, .a = out->arena, .out = out };
}

static void end(struct imp *im)
{
    vec_free(&im->stmt);
    vec_free(&im->value);
}

bool onnx_import(const struct onnx_model *m, const struct onnx_tensor *const *given, int n_given,
                 struct onnx_graph *out, struct err *e)
{
    struct imp im = begin(m, out);
    str_printf(&out->notes, "ONNX model %.200s, opset %lld%s%.200s.\n",
               m->name[0] ? m->name : "without name", (long long)m->opset,
               m->producer[0] ? ", made by " : "", m->producer);
    bool ok = run_all(&im, given, n_given, e) && finish(&im, e);
    end(&im);
    if (!ok)
        onnx_graph_free(out);
    return ok;
}

static const struct onnx_tensor *copy_floats(struct arena *a, const struct onnx_tensor *t)
{
    struct onnx_tensor *copy = arena_copy(a, t, sizeof *t);
    copy->f = arena_copy(a, t->f, sizeof *t->f * (size_t)t->elems);
    return copy;
}

/* Visits all nodes of m again, and copies the data of value `name`, which they compute from
 * constants, into the arena of the model.  Returns NULL when there are no such data. */
static const struct onnx_tensor *computed(const struct onnx_model *m, const char *name)
{
    struct onnx_graph g;
    struct err e;
    double bad;
    struct imp im = begin(m, &g);
    const struct value *v = run_all(&im, NULL, 0, &e) ? onnx_find_value(&im, name) : NULL;
    const struct onnx_tensor *t = NULL;
    if (v && v->data && (v->data->f || v->data->i) && !v->data->one)
        t = onnx_as_floats(im.a, v->data, &bad);
    t = t ? copy_floats(m->arena, t) : NULL;
    end(&im);
    onnx_graph_free(&g);
    return t;
}

/* An initializer is found without visiting nodes.  In NAME?DIMS, NAME and DIMS may contain a '?',
 * too: each '?' is tried as the separator, the last one first.  A value without DIMS may also have
 * a name with a '?': at the end, the whole text is tried as the name. */
const struct onnx_tensor *onnx_constant(struct onnx_model *m, const char *name)
{
    const struct onnx_tensor *t = NULL;
    struct err e;
    double bad;
    for (int i = 0; i < m->n_init; i++)
        if (streq(m->init[i].name, name))
            return m->init[i].f || m->init[i].i ? onnx_as_floats(m->arena, &m->init[i], &bad)
                                                : NULL;
    struct onnx_model with = *m;  /* a copy: other sessions use *m with other dims (weights.c) */
    with.in = ARENA_DUP(m->arena, m->in, m->n_in);
    with.out = ARENA_DUP(m->arena, m->out, m->n_out);
    for (size_t n = strlen(name); n > 0 && !t; n--) {
        if (name[n] != '?' || name[n + 1] == '\0')
            continue;
        onnx_open_dims(&with);
        if (onnx_set_dims(&with, name + n + 1, &e))
            t = computed(&with, arena_strndup(m->arena, name, n));
    }
    onnx_open_dims(&with);
    return t ? t : computed(&with, name);
}

void onnx_graph_free(struct onnx_graph *g)
{
    str_free(&g->text);
    str_free(&g->notes);
    vec_free(&g->input);
    vec_free(&g->output);
    arena_free(g->arena);
    *g = (struct onnx_graph){ 0 };
}
