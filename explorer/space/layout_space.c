/* Makes the template of a node: the knobs that tile each dim, and the windows that tiles read. */
#include "explorer/space/layout_space_impl.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct layout_builder {
    struct arena *a;
    struct layout_opts opts;
    const struct program *p;              /* the program with the pinned lines applied */
    const struct graph *g;                /* the graph before conversions */
    const struct node *node;
    int inp, ker;                         /* tensors of g */
    struct layout_knob *knob;
    int n;
    struct layout_template *t;
};


struct layout_operand { int tensor; bool other; const struct val *load; };

static void see_operand(void *ctx, const struct val *load)
{
    struct layout_operand *o = ctx;
    if ((load->source == o->tensor) != o->other && !o->load)
        o->load = load;
}

/* Returns the first load of `tensor` (other = false) or of any other tensor (other = true); NULL:
 * the node has no such load. */
static const struct val *find_load(const struct node *n, int tensor, bool other)
{
    struct layout_operand o = { tensor, other, NULL };
    val_each_load(n->body, see_operand, &o);
    return o.load;
}

static int find_dim(const struct tensor *t, const char *name)
{
    for (int d = 0; d < t->rank; d++)
        if (streq(t->dim[d], name))
            return d;
    return -1;
}

/* Returns the axis of the weights whose index is this loop of the convolution.  The name of an axis
 * does not identify it, because a graph can choose any names. */
static int weight_axis(const struct layout_builder *b, const struct expr *loop)
{
    const struct val *load = find_load(b->node, b->ker, false);
    for (int d = 0; d < b->g->tensor[b->ker].rank; d++)
        if (load->idx[d] == loop)
            return d;
    fail("%s: no axis of the weights is indexed by %s", b->g->spec, loop->name);
}

static int weight_out(const struct layout_builder *b)
{
    return weight_axis(b, b->node->spatial[1]);
}

static int weight_in(const struct layout_builder *b)
{
    int r = node_reduction(b->node, "I");
    return r >= 0 ? weight_axis(b, b->node->reduce[r]) : -1;
}

/* Returns the axis of the operand that corresponds to an axis of the output: the one with the same
 * name, or else at the same place. */
static int operand_axis(const struct layout_builder *b, int out_axis)
{
    int d = find_dim(&b->g->tensor[b->inp], b->g->tensor[b->node->out].dim[out_axis]);
    return d >= 0 ? d : out_axis;
}

/* --- Knobs ------------------------------------------------------------------------------------ */

static bool legal_factor(const struct layout_knob *k, int64_t f)
{
    bool whole = f == k->extent || f % k->multiple == 0;
    return whole && (k->group == 0 || k->group % f == 0 || f % k->group == 0);
}

/* Adds a knob and fills in its factors; returns its index. */
static int add_knob(struct layout_builder *b, struct layout_knob k)
{
    int all;
    const int64_t *list = k.pads ? factor_blocks(b->a, k.extent, &all)
                                 : factor_divisors(b->a, k.extent, &all);
    int64_t *legal = ARENA_ARRAY(b->a, int64_t, all);
    k.multiple = k.multiple ? k.multiple : 1;
    for (int i = 0; i < all; i++)
        if (legal_factor(&k, list[i]))
            legal[k.n_divisors++] = list[i];
    k.divisor = legal;
    if (b->n == LAYOUT_KNOBS)
        fail("a layout template with more than %d knobs", LAYOUT_KNOBS);
    b->knob[b->n] = k;
    return b->n++;
}

/* Adds the knob of a dim's inner part and, for two levels, that of its middle part.  They are
 * called "h_t" and "h_m" for the name "h"; "o_t'" and "o_m'" for the name "o'" of the weights. */
static void add_named_knobs(struct layout_builder *b, struct template_dim *d, const char *tensor,
                            const char *name, struct layout_knob k)
{
    k.name = arena_printf(b->a, "%c_t%s", name[0], name + 1);
    k.tensor = tensor;
    k.inner = -1;
    d->inner = add_knob(b, k);
    if (b->opts.levels < 2)
        return;
    struct layout_knob m = { .name = arena_printf(b->a, "%c_m%s", name[0], name + 1),
                             .tensor = tensor, .extent = k.extent, .inner = d->inner };
    d->middle = add_knob(b, m);
}

static void add_dim_knobs(struct layout_builder *b, struct template_dim *d, const char *tensor,
                          struct layout_knob k)
{
    char name[2] = { (char)tolower((unsigned char)d->name[0]) };
    add_named_knobs(b, d, tensor, name, k);
}

/* --- Tensors ---------------------------------------------------------------------------------- */

static bool is_pinned(const struct layout_builder *b, const char *name)
{
    int t = graph_tensor(b->p->graph, name);
    return t >= 0 && b->p->source[t] == LAYOUT_EXPLICIT;
}

/* Whether blocks of these weights, or of this operand of a product, may be padded. */
static bool may_pad(const struct layout_builder *b, const struct tensor *x)
{
    return b->opts.pad && b->opts.levels < 2 && x->producer < 0;
}

static void whole_dims(struct template_tensor *t, const struct tensor *x)
{
    *t = (struct template_tensor){ .name = x->name, .rank = x->rank, .flip = -1 };
    for (int d = 0; d < x->rank; d++)
        t->dim[d] = (struct template_dim){ x->dim[d], x->shape[d], -1, -1, 0, NULL, false };
}

static void add_part(struct template_tensor *t, int dim, enum part_level level)
{
    t->part[t->n_parts++] = (struct template_part){ dim, level };
}

/* Orders the parts: [whole dims] [outer parts] [middle parts] [inner parts], tiled dims in the
 * given order. */
static void order_blocks(struct template_tensor *t, const int *tiled, int n)
{
    for (int d = 0; d < t->rank; d++) {
        bool is_tiled = false;
        for (int i = 0; i < n; i++)
            is_tiled = is_tiled || tiled[i] == d;
        if (!is_tiled)
            add_part(t, d, PART_WHOLE);
    }
    for (enum part_level l = PART_OUTER; l <= PART_INNER; l++)
        for (int i = 0; i < n; i++)
            add_part(t, tiled[i], l);
}

/* Returns the tile of a dim in a pinned layout: its last part if it is split into two parts, else
 * the whole extent. */
static int64_t pinned_tile(const struct layout_builder *b, const char *tensor, const char *dim,
                           int64_t extent)
{
    const struct layout *l = b->p->layout[graph_tensor(b->p->graph, tensor)];
    const char *inner = arena_printf(b->a, "%s.1", dim);
    int at = layout_dim(l, inner);
    return at >= 0 && layout_dim(l, arena_printf(b->a, "%s.2", dim)) < 0 &&
           extent % l->shape[at] == 0 ? l->shape[at] : extent;
}

static void add_states(struct layout_builder *b, const struct template_tensor *t, const int *tiled,
                       int n)
{
    for (int i = 0; i < n; i++)
        b->t->state[b->t->n_states++].dim = t->dim[tiled[i]];
}

/* Adds the tensor to the template, unless its layout is pinned. */
static void add_tensor(struct layout_builder *b, const struct template_tensor *t)
{
    if (!is_pinned(b, t->name))
        b->t->tensor[b->t->n_tensors++] = *t;
}

/* --- Convolutions ----------------------------------------------------------------------------- */

/* The index e of an access as a function of the variables x and k; k may be NULL.  env: the values
 * of all variables, which are 0 between two calls of access_at. */
struct layout_access { const struct expr *e, *x, *k; int64_t *env; };

static int64_t access_at(const struct layout_access *a, int64_t x, int64_t k)
{
    a->env[a->x->var] = x;
    if (a->k)
        a->env[a->k->var] = k;
    int64_t at = expr_eval(a->e, a->env);
    a->env[a->x->var] = 0;
    if (a->k)
        a->env[a->k->var] = 0;
    return at;
}

/* Computes the window of each of n tile sizes t: its length B = e(t - 1, K - 1) + 1 and its stride
 * S = e(t, 0) - e(0, 0).  The index e(x, k) is V x + d k in SPEC A.4, and (x + d k + b) / V in SPEC
 * D.3.  Windows never leave out elements: if the stride is larger than the window (K < V), a window
 * is as long as the stride. */
static void fill_window(struct layout_builder *b, struct tile_window *w,
                        const struct layout_access *at, const int64_t *t, int n)
{
    int64_t *tile = ARENA_ARRAY(b->a, int64_t, n), *stride = ARENA_ARRAY(b->a, int64_t, n);
    int64_t last = at->k ? at->k->hi : 0;
    for (int i = 0; i < n; i++) {
        stride[i] = access_at(at, t[i], 0) - access_at(at, 0, 0);
        tile[i] = access_at(at, t[i] - 1, last) + 1;
        if (tile[i] < stride[i])
            tile[i] = stride[i];
    }
    w->n = n;
    w->t = t;
    w->tile = tile;
    w->stride = stride;
}

/* Returns what tiles of output dim o read along axis d of the operand.  out: how dim o is tiled. */
static const struct tile_window *window_of(struct layout_builder *b, const struct template_dim *out,
                                           int o, int d)
{
    const struct tensor *inp = &b->g->tensor[b->inp];
    struct tile_window *w = ARENA_NEW(b->a, struct tile_window);
    int r = node_reduction(b->node, arena_printf(b->a, "K%s", out->name));
    struct layout_access at = { find_load(b->node, b->inp, false)->idx[d], b->node->spatial[o],
                                r >= 0 && b->node->reduce[r]->kind == EXPR_VAR ? b->node->reduce[r]
                                                                               : NULL,
                                xcalloc((size_t)exprs_n_vars(b->g->pool), sizeof(int64_t)) };
    w->size = inp->shape[d];
    w->out = out->extent;
    if (out->inner >= 0)
        fill_window(b, w, &at, b->knob[out->inner].divisor, b->knob[out->inner].n_divisors);
    else
        fill_window(b, w, &at, ARENA_DUP(b->a, &out->fixed, 1), 1);
    free(at.env);
    return w;
}

/* Returns the number of which tile sizes of output dim o must be multiples.  In a transposed
 * convolution, this is the stride, because tiles must begin at multiples of the stride (SPEC D.3).
 * axis: the number of the spatial axis. */
static int64_t tile_multiple(const struct layout_builder *b, int o, int axis)
{
    int d = operand_axis(b, o);
    const struct val *load = find_load(b->node, b->inp, false);
    return load->idx[d]->has_divmod ? b->node->params.stride[axis] : 1;
}

static int axes_of(const struct tensor *t, int *axis)
{
    static const char *const names[] = { "D", "H", "W" };
    int n = 0;
    for (int i = 0; i < COUNT_OF(names); i++)
        if (find_dim(t, names[i]) >= 0)
            axis[n++] = find_dim(t, names[i]);
    return n;
}

static int64_t groups_of(const struct layout_builder *b)
{
    int r = node_reduction(b->node, "I");
    return r >= 0 ? b->g->tensor[b->inp].shape[1] / (b->node->reduce[r]->hi + 1) : 1;
}

/* Returns a knob for blocks of channels.  A block is a part of a group, or several whole groups. */
static struct layout_knob in_groups(const struct layout_builder *b, int64_t channels)
{
    int64_t groups = groups_of(b);
    return (struct layout_knob){ .extent = channels, .group = groups > 1 ? channels / groups : 0 };
}

/* Describes the output.  tiled: its n tiled dims, which are the spatial axes and then the
 * channels. */
static void conv_output(struct layout_builder *b, struct template_tensor *t, int *tiled, int n)
{
    const struct tensor *x = &b->g->tensor[b->node->out];
    bool pinned = is_pinned(b, x->name);
    whole_dims(t, x);
    for (int i = 0; i < n; i++) {
        struct template_dim *d = &t->dim[tiled[i]];
        struct layout_knob k = { .extent = d->extent };
        if (i < n - 1)
            k.multiple = tile_multiple(b, tiled[i], i);
        else
            k = in_groups(b, d->extent);
        if (pinned)
            d->fixed = pinned_tile(b, x->name, d->name, d->extent);
        else
            add_dim_knobs(b, d, x->name, k);
    }
    order_blocks(t, tiled, n);
    add_tensor(b, t);
    add_states(b, t, tiled, n);
}

/* Describes the operand: its spatial axes are stored as the windows of the output's tiles, and its
 * channels are tiled.  In a depthwise convolution, the channels have the same tile as those of the
 * output. */
static void conv_input(struct layout_builder *b, const struct template_tensor *out, const int *axis,
                       int n_axes, struct template_tensor *t)
{
    const struct tensor *x = &b->g->tensor[b->inp];
    int r = node_reduction(b->node, "I"), tiled[MAX_RANK], n = 0, channel = 1;
    whole_dims(t, x);
    for (int i = 0; i < n_axes; i++) {
        const struct template_dim *o = &out->dim[axis[i]];
        int d = operand_axis(b, axis[i]);
        t->dim[d].window = window_of(b, o, axis[i], d);
        t->dim[d].inner = o->inner;
        t->dim[d].middle = o->middle;
        t->dim[d].fixed = o->fixed;
        tiled[n++] = d;
    }
    tiled[n++] = channel;
    if (r < 0) {
        t->dim[channel].inner = out->dim[1].inner;
        t->dim[channel].middle = out->dim[1].middle;
        t->dim[channel].fixed = out->dim[1].fixed;
    } else if (!is_pinned(b, x->name)) {
        add_named_knobs(b, &t->dim[channel], x->name, "i", in_groups(b, x->shape[channel]));
    }
    order_blocks(t, tiled, n);
    add_tensor(b, t);
    add_states(b, t, tiled, n);
}

/* Describes the weights.  Physical order: outer parts of O and I, their middle parts, the whole
 * dims (KH KW), inner parts of I and O.  With one level: O/o_t' I/i_t' KH KW i_t' o_t'. */
static void conv_weights(struct layout_builder *b)
{
    const struct tensor *x = &b->g->tensor[b->ker];
    struct template_tensor t;
    int o = weight_out(b), i = weight_in(b);
    int tiled[2] = { i >= 0 ? i : o, o }, n = i >= 0 ? 2 : 1;
    whole_dims(&t, x);
    if (!is_pinned(b, x->name)) {
        if (i >= 0)
            add_named_knobs(b, &t.dim[i], x->name, "i'",
                            (struct layout_knob){ .extent = x->shape[i] });
        struct layout_knob out = in_groups(b, x->shape[o]);
        t.dim[o].pads = out.pads = i >= 0 && out.group == 0 && may_pad(b, x);
        add_named_knobs(b, &t.dim[o], x->name, i >= 0 ? "o'" : "c'", out);
    }
    for (enum part_level l = PART_OUTER; l <= PART_MIDDLE; l++)
        for (int k = n - 1; k >= 0; k--)
            add_part(&t, tiled[k], l);
    for (int d = 0; d < x->rank; d++)
        if (d != o && d != i)
            add_part(&t, d, PART_WHOLE);
    for (int k = 0; k < n; k++)
        add_part(&t, tiled[k], PART_INNER);
    add_tensor(b, &t);
    add_states(b, &t, tiled, n);
}

/* Describes the input of a padding: its channels have the same blocks as those of the padded
 * tensor. */
static void caller_input(struct layout_builder *b, const struct template_tensor *inp)
{
    int pad = b->g->tensor[b->inp].producer;
    if (pad < 0 || !streq(b->g->node[pad].op, "pad"))
        return;
    const struct tensor *x = &b->g->tensor[b->g->node[pad].data_in];
    if (x->role != TENSOR_INPUT || is_pinned(b, x->name))
        return;
    struct template_tensor t;
    int channel = 1;
    whole_dims(&t, x);
    t.dim[channel].inner = inp->dim[channel].inner;
    t.dim[channel].middle = inp->dim[channel].middle;
    t.dim[channel].fixed = inp->dim[channel].fixed;
    add_part(&t, 0, PART_WHOLE);
    add_part(&t, channel, PART_OUTER);
    add_part(&t, channel, PART_MIDDLE);
    for (int d = 2; d < x->rank; d++)
        add_part(&t, d, PART_WHOLE);
    add_part(&t, channel, PART_INNER);
    add_tensor(b, &t);
}

static void conv_template(struct layout_builder *b)
{
    const struct tensor *x = &b->g->tensor[b->node->out];
    struct template_tensor out, inp;
    int tiled[MAX_RANK], n = axes_of(x, tiled), n_axes = n;
    tiled[n++] = 1;
    conv_output(b, &out, tiled, n);
    conv_input(b, &out, tiled, n_axes, &inp);
    conv_weights(b);
    if (b->t->set_given)
        caller_input(b, &inp);
}

/* --- Matrix products -------------------------------------------------------------------------- */

static void share_dim(struct template_dim *d, const struct template_dim *from)
{
    d->inner = from->inner;
    d->middle = from->middle;
    d->fixed = from->fixed;
}

/* Describes the layouts of a product: C is "M/m N/n m n", A is "M/m K/k m k", B is "K/k N/n k n".
 * A leading batch dim is not tiled. */
static void gmm_template(struct layout_builder *b)
{
    const struct tensor *x[3] = { &b->g->tensor[b->node->out], &b->g->tensor[b->inp],
                                  &b->g->tensor[b->ker] };
    struct template_tensor c, m, w;
    int r = x[0]->rank;
    int tiled[2] = { r - 2, r - 1 };
    struct template_dim *k = NULL;
    whole_dims(&c, x[0]);
    whole_dims(&m, x[1]);
    whole_dims(&w, x[2]);
    int at_m[2] = { x[1]->rank - 2, x[1]->rank - 1 }, at_w[2] = { x[2]->rank - 2, x[2]->rank - 1 };
    if (is_pinned(b, c.name)) {
        for (int i = 0; i < 2; i++)
            c.dim[tiled[i]].fixed = pinned_tile(b, c.name, c.dim[tiled[i]].name,
                                                c.dim[tiled[i]].extent);
    } else {
        add_dim_knobs(b, &c.dim[tiled[0]], c.name,
                      (struct layout_knob){ .extent = c.dim[tiled[0]].extent,
                                            .pads = may_pad(b, x[1]) });
    }
    if (!is_pinned(b, m.name) || !is_pinned(b, w.name)) {
        k = &m.dim[at_m[1]];
        add_named_knobs(b, k, m.name, "k", (struct layout_knob){ .extent = k->extent });
        w.dim[at_w[0]].inner = k->inner;
        w.dim[at_w[0]].middle = k->middle;
    }
    if (!is_pinned(b, c.name))
        add_dim_knobs(b, &c.dim[tiled[1]], c.name,
                      (struct layout_knob){ .extent = c.dim[tiled[1]].extent,
                                            .pads = may_pad(b, x[2]) });
    share_dim(&m.dim[at_m[0]], &c.dim[tiled[0]]);
    share_dim(&w.dim[at_w[1]], &c.dim[tiled[1]]);
    m.dim[at_m[0]].pads = may_pad(b, x[1]);
    w.dim[at_w[1]].pads = may_pad(b, x[2]);
    if (b->opts.split_k && !is_pinned(b, m.name) && !is_pinned(b, w.name)) {
        add_named_knobs(b, &w.dim[at_w[0]], w.name, "k'",
                        (struct layout_knob){ .extent = w.dim[at_w[0]].extent });
        w.flip = add_knob(b, (struct layout_knob){ .name = "order_B", .tensor = w.name,
                                                   .extent = 2, .inner = -1 });
    }
    order_blocks(&c, tiled, 2);
    order_blocks(&m, at_m, 2);
    order_blocks(&w, at_w, 2);
    add_tensor(b, &c);
    add_tensor(b, &m);
    add_tensor(b, &w);
    add_states(b, &c, tiled, 2);
    add_states(b, &m, at_m, 2);
    add_states(b, &w, at_w, 2);
}

/* --- The space -------------------------------------------------------------------------------- */

/* Whether the node reads an input of the caller, directly or padded. */
static bool reads_caller(const struct layout_builder *b)
{
    int pad = b->g->tensor[b->inp].producer;
    if (pad >= 0 && streq(b->g->node[pad].op, "pad"))
        return b->g->tensor[b->g->node[pad].data_in].role == TENSOR_INPUT;
    return pad < 0 && b->g->tensor[b->inp].role == TENSOR_INPUT;
}

static bool pins_input(const char *const *line, int n)
{
    for (int i = 0; i < n; i++)
        if (str_starts(line[i], "set input_layout"))
            return true;
    return false;
}

static float log2_of(int64_t x)
{
    return x > 0 ? (float)log2((double)x) : 0;
}

static int64_t extent_of(const struct tensor *t, const char *dim)
{
    int d = find_dim(t, dim);
    return d >= 0 ? t->shape[d] : 1;
}

static int64_t reduce_extent(const struct node *n, const char *dim)
{
    int r = node_reduction(n, dim);
    return r >= 0 ? n->reduce[r]->hi + 1 : 1;
}

/* Fills in log2 of N, I, O, H, W, KH, KW, stride, dilation and groups.  For a product, H, I and O
 * are the extents of M, K and N. */
static void op_features(const struct layout_builder *b, float out[OP_FEATURES])
{
    const struct tensor *x = &b->g->tensor[b->node->out];
    bool product = streq(b->node->op, "matmul");
    int last = 0;
    while (last + 1 < MAX_SPATIAL && b->node->params.stride[last + 1] > 0)
        last++;
    int64_t i = reduce_extent(b->node, product ? "K" : "I");
    int64_t o = product ? extent_of(x, "N") : x->shape[1];
    const int64_t f[] = { product ? 1 : x->shape[0], i, o,
                          extent_of(x, product ? "M" : "H"), extent_of(x, "W"),
                          reduce_extent(b->node, "KH"), reduce_extent(b->node, "KW"),
                          product ? 1 : b->node->params.stride[last],
                          product ? 1 : b->node->params.dilation[last],
                          product ? 1 : b->g->tensor[b->inp].shape[1] / i };
    for (int k = 0; k < COUNT_OF(f); k++)
        out[k] = log2_of(f[k]);
}

/* Counts points.  Knobs of different dims are independent.  The choices of a middle part depend on
 * the inner part of the same dim, whose knob is the one before. */
static double count_points(const struct layout_knob *knob, int n)
{
    double size = 1;
    for (int i = 0; i < n; i++) {
        bool has_middle = i + 1 < n && knob[i + 1].inner == i;
        double here = 0;
        for (int j = 0; has_middle && j < knob[i].n_divisors; j++)
            here += (double)factor_count_divisors(knob[i].extent / knob[i].divisor[j]);
        size *= has_middle ? here : knob[i].inner >= 0 ? 1 : knob[i].n_divisors;
    }
    return size;
}

static bool open_node(struct layout_builder *b, struct err *e)
{
    b->node = &b->g->node[b->g->main_node];
    const struct val *other = find_load(b->node, b->node->data_in, true);
    b->inp = b->node->data_in;
    b->ker = other ? other->source : -1;
    bool conv = strstr(b->node->op, "conv") && !streq(b->node->op, "convert");
    bool product = streq(b->node->op, "matmul");
    if (b->node->complex && b->ker >= 0 && (product || conv))
        return true;
    err_set(e, ERR_NAME,
            "%s has no layout template: %s is neither a convolution nor a matrix product",
            b->g->op, streq(b->g->op, "graph") ? b->node->op : b->g->op);
    return err_fix(e, "the operators with a template are c1d c2d c3d grp dep dil t2d t3d gmm bmm");
}

bool layout_space_new(struct arena *a, const char *spec, const char *const *pinned, int n_pinned,
                      const struct layout_opts *opts, const struct layout_space **out,
                      struct err *e)
{
    struct layout_builder b = { .a = a, .opts = opts ? *opts : (struct layout_opts){ 0 } };
    struct layout_space *s = ARENA_NEW(a, struct layout_space);
    int bad;
    if (!program_replay(a, spec, pinned, n_pinned, &b.p, &bad, e))
        return false;
    b.g = b.p->base;
    if (!open_node(&b, e))
        return false;
    b.knob = ARENA_ARRAY(a, struct layout_knob, LAYOUT_KNOBS);
    b.t = ARENA_NEW(a, struct layout_template);
    b.t->set_given = !pins_input(pinned, n_pinned) && reads_caller(&b);
    if (streq(b.node->op, "matmul"))
        gmm_template(&b);
    else
        conv_template(&b);
    s->spec = arena_strdup(a, spec);
    s->n = b.n;
    s->knob = b.knob;
    s->size = count_points(b.knob, b.n);
    s->t = b.t;
    op_features(&b, s->op);
    *out = s;
    return true;
}
