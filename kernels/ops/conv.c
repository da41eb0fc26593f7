/* Convolutions over any number of axes (conv.h). */
#include "kernels/ops/conv.h"

/* Channels O and I, and the number of groups; 1 when there are none. */
struct channels { int64_t o, i, groups; };

static bool read_channels(const struct conv *c, const int64_t *v, struct channels *ch,
                          struct err *e)
{
    const struct op_family *f = c->family;
    *ch = (struct channels){ param_value(f, v, "o", 1), param_value(f, v, "i", 1),
                             param_value(f, v, "g", 1) };
    const struct { const char *name, *what; int64_t n; } part[] = {
        { "i", "input", ch->i }, { "o", "output", ch->o },
    };
    for (int k = 0; k < COUNT_OF(part); k++)
        if (part[k].n % ch->groups) {
            err_set(e, ERR_RANGE, "g=%lld groups do not divide the %lld %s channels",
                    (long long)ch->groups, (long long)part[k].n, part[k].what);
            return err_fix(e, "make %s= a multiple of %lld", part[k].name, (long long)ch->groups);
        }
    return true;
}

/* Adds Ker and Conv, after the data. */
static void add_tensors(struct graph *g, const struct conv *c, const struct channels *ch, int inp,
                        const struct window *w, int *ker, int *out)
{
    const char *dims_ker[MAX_RANK] = { "O", "I" }, *dims_out[MAX_RANK] = { "N", "O" };
    int64_t shape_ker[MAX_RANK] = { ch->o, ch->i / ch->groups };
    int64_t shape_out[MAX_RANK] = { g->tensor[inp].shape[0], ch->o };
    int lead = c->depthwise ? 1 : 2;
    if (c->depthwise) {
        dims_ker[0] = dims_out[1] = "C";
        shape_ker[0] = shape_out[1] = g->tensor[inp].shape[1];
    }
    for (int i = 0; i < c->n_axes; i++) {
        dims_ker[lead + i] = w[i].k_dim;
        shape_ker[lead + i] = w[i].k;
        dims_out[2 + i] = w[i].dim;
        shape_out[2 + i] = w[i].out;
    }
    *ker = graph_add_tensor(g, &(struct tensor_def){ "Ker", lead + c->n_axes, dims_ker, shape_ker,
                                                     TENSOR_CONST });
    *out = graph_add_tensor(g, &(struct tensor_def){ "Conv", 2 + c->n_axes, dims_out, shape_out,
                                                     TENSOR_INTER });
}

/* (o / (O/g))*(I/g) + i */
static const struct expr *group_channel(struct exprs *p, const struct channels *ch,
                                        const struct expr *o, const struct expr *i)
{
    const struct expr *group = expr_divc(p, o, ch->o / ch->groups);
    return expr_add(p, expr_mulc(p, group, ch->i / ch->groups), i);
}

static void conv_node(struct graph *g, const struct conv *c, const struct channels *ch,
                      const struct window *w, int inp, int ker, int out)
{
    struct node n = { .op = c->op, .combine = COMBINE_SUM, .complex = true, .data_in = inp };
    const struct expr *at_inp[MAX_RANK], *at_ker[MAX_RANK];
    int lead = 1;
    node_spatial(g, &n, out);
    windows_note(&n, c->n_axes, w);
    at_inp[0] = n.spatial[0];
    at_inp[1] = at_ker[0] = n.spatial[1];
    if (!c->depthwise) {
        at_ker[lead++] = node_reduce(g, &n, "I", ch->i / ch->groups);
        at_inp[1] = group_channel(g->pool, ch, n.spatial[1], at_ker[1]);
    }
    for (int i = 0; i < c->n_axes; i++) {
        at_ker[lead + i] = node_reduce(g, &n, w[i].k_dim, w[i].k);
        at_inp[2 + i] = window_at(g, &w[i], n.spatial[2 + i], at_ker[lead + i]);
    }
    n.body = val_bin(exprs_arena(g->pool), VAL_MUL, graph_load_at(g, inp, at_inp),
                     graph_load_at(g, ker, at_ker));
    graph_add_node(g, &n);
}

bool conv_build(struct graph *g, const struct conv *c, const int64_t *v, struct err *e)
{
    const struct op_family *f = c->family;
    struct window w[MAX_AXES];
    struct channels ch;
    int64_t before[MAX_AXES], after[MAX_AXES];
    windows_read(f, v, c->n_axes, w);
    if (!read_channels(c, v, &ch, e) || !windows_fit(f, v, c->n_axes, w, e))
        return false;
    for (int i = 0; i < c->n_axes; i++) {
        before[i] = w[i].before;
        after[i] = w[i].after;
    }
    struct window_data data = { param_value(f, v, "n", 1), ch.i, "I", 0 };
    if (c->depthwise) {
        data.channels = param_value(f, v, "c", 1);
        data.channel_dim = "C";
    }
    int ker, out, inp = window_input(g, &data, c->n_axes, w, before, after);
    add_tensors(g, c, &ch, inp, w, &ker, &out);
    conv_node(g, c, &ch, w, inp, ker, out);
    finish_with(g, out, 1, f, v);
    return true;
}
