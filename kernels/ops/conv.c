/* Builds convolutions over any number of axes (conv.h). */
#include "kernels/ops/conv.h"

struct node conv_node(struct graph *g, struct conv *c, const int64_t *v, const char *prefix,
                      const struct tensor_def *lead)
{
    bool depthwise = param_row(c->f, "c") >= 0;
    const char *dims_ker[MAX_RANK], *dims_out[MAX_RANK] = { "N", depthwise ? "C" : "O" };
    int64_t shape_ker[MAX_RANK], shape_out[MAX_RANK];
    c->inp = window_input(g, c->f, v, c->n_axes, c->w, 0);
    shape_out[0] = g->tensor[c->inp].shape[0];
    shape_out[1] = param_value(c->f, v, depthwise ? "c" : "o", 1);
    for (int d = 0; d < lead->rank; d++) {
        dims_ker[d] = lead->dims[d];
        shape_ker[d] = lead->shape[d];
    }
    for (int i = 0; i < c->n_axes; i++) {
        dims_ker[lead->rank + i] = c->w[i].k_dim;
        shape_ker[lead->rank + i] = c->w[i].k;
        dims_out[2 + i] = c->w[i].dim;
        shape_out[2 + i] = c->w[i].out;
    }
    struct tensor_def ker = { "Ker", lead->rank + c->n_axes, dims_ker, shape_ker, TENSOR_CONST };
    struct tensor_def out = { "Conv", 2 + c->n_axes, dims_out, shape_out, TENSOR_INTER };
    c->ker = graph_add_tensor(g, &ker);
    struct node n = { .op = arena_printf(exprs_arena(g->pool), "%sconv%dd", prefix, c->n_axes),
                      .combine = COMBINE_SUM, .complex = true, .data_in = c->inp };
    node_spatial(g, &n, graph_add_tensor(g, &out));
    windows_note(&n, c->n_axes, c->w);
    return n;
}

/* Extents of the channels O and I, and the number of groups (1: not grouped). */
struct channels { int64_t o, i, groups; };

static bool read_channels(const struct op_family *f, const int64_t *v, struct channels *ch,
                          struct err *e)
{
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

/* Returns the input channel (o / (O/g))*(I/g) + i. */
static const struct expr *group_channel(struct exprs *p, const struct channels *ch,
                                        const struct expr *o, const struct expr *i)
{
    const struct expr *group = expr_divc(p, o, ch->o / ch->groups);
    return expr_add(p, expr_mulc(p, group, ch->i / ch->groups), i);
}

bool conv_build(struct graph *g, const struct op_family *f, const int64_t *v, struct err *e)
{
    struct conv c = { .f = f };
    struct channels ch;
    c.n_axes = windows_read(f, v, c.w);
    if (!read_channels(f, v, &ch, e) || !windows_fit(f, v, c.n_axes, c.w, e))
        return false;
    bool depthwise = param_row(f, "c") >= 0;
    const char *const dims[] = { depthwise ? "C" : "O", "I" };
    const int64_t shape[] = { depthwise ? param_value(f, v, "c", 1) : ch.o, ch.i / ch.groups };
    const struct expr *at_inp[MAX_RANK], *at_ker[MAX_RANK];
    int lead = depthwise ? 1 : 2;
    struct node n = conv_node(g, &c, v, depthwise ? "dw" : "",
                              &(struct tensor_def){ .rank = lead, .dims = dims, .shape = shape });
    at_inp[0] = n.spatial[0];
    at_inp[1] = at_ker[0] = n.spatial[1];
    if (!depthwise) {
        at_ker[1] = node_reduce(g, &n, "I", shape[1]);
        at_inp[1] = group_channel(g->pool, &ch, n.spatial[1], at_ker[1]);
    }
    for (int i = 0; i < c.n_axes; i++) {
        at_ker[lead + i] = node_reduce(g, &n, c.w[i].k_dim, c.w[i].k);
        at_inp[2 + i] = window_at(g, &c.w[i], n.spatial[2 + i], at_ker[lead + i]);
    }
    n.body = build_product(g, c.inp, at_inp, c.ker, at_ker);
    graph_add_node(g, &n);
    finish_with(g, n.out, 1, f, v);
    return true;
}
