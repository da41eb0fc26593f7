/* 2-D convolution with strides, zero padding and dilation, over tensors N I H W and O I KH KW:
 *
 *     Conv[n][o][h][w] = sum over i, kh, kw of
 *                        Inp[n][i][sh*h + dh*kh][sw*w + dw*kw] * Ker[o][i][kh][kw]
 *
 * Inp is what is convolved: with padding, a pad node writes it from the caller's Inp_in. */
#include "kernels/ops/build.h"

/* ORDER C2D: the enum numbers the rows of the table; in each of the families K, S, P and D the
 * common value comes first, then the one of rows, then the one of columns. */
enum {
    P_N, P_I, P_H, P_W, P_O, P_K, P_KH, P_KW, P_S, P_SH, P_SW, P_P, P_PH, P_PW, P_D, P_DH, P_DW,
    P_BIAS, P_RELU, N_PARAMS
};

#define MAX_SIZE (1 << 20)
#define MAX_STEP 4096                     /* strides, dilations, paddings */

static const struct op_param params[N_PARAMS] = {
    [P_N]    = { "n", OP_UNSET, 1, MAX_SIZE, "batch, 1 unless given" },
    [P_I]    = { "i", OP_REQUIRED, 1, MAX_SIZE, "input channels" },
    [P_H]    = { "h", OP_REQUIRED, 1, MAX_SIZE, "input rows, before padding" },
    [P_W]    = { "w", OP_UNSET, 1, MAX_SIZE, "input columns, before padding; as h unless given" },
    [P_O]    = { "o", OP_REQUIRED, 1, MAX_SIZE, "output channels" },
    [P_K]    = { "k", OP_REQUIRED, 1, MAX_SIZE, "kernel size, both kh and kw" },
    [P_KH]   = { "kh", OP_UNSET, 1, MAX_SIZE, "kernel rows" },
    [P_KW]   = { "kw", OP_UNSET, 1, MAX_SIZE, "kernel columns" },
    [P_S]    = { "s", 1, 1, MAX_STEP, "stride, both sh and sw" },
    [P_SH]   = { "sh", OP_UNSET, 1, MAX_STEP, "stride over rows" },
    [P_SW]   = { "sw", OP_UNSET, 1, MAX_STEP, "stride over columns" },
    [P_P]    = { "p", 0, 0, MAX_STEP, "zeros on every side, both ph and pw" },
    [P_PH]   = { "ph", OP_UNSET, 0, MAX_STEP, "zero rows above and below" },
    [P_PW]   = { "pw", OP_UNSET, 0, MAX_STEP, "zero columns left and right" },
    [P_D]    = { "d", 1, 1, MAX_STEP, "dilation, both dh and dw" },
    [P_DH]   = { "dh", OP_UNSET, 1, MAX_STEP, "dilation over rows" },
    [P_DW]   = { "dw", OP_UNSET, 1, MAX_STEP, "dilation over columns" },
    [P_BIAS] = { "bias", 0, 0, 1, "1: add a bias per output channel" },
    [P_RELU] = { "relu", 0, 0, 1, "1: finish with max(x, 0)" },
};

static bool is_set(int64_t v)
{
    return v != OP_REQUIRED && v != OP_UNSET;
}

/* Canonical form of one common parameter `all` and its two parts: the common one when the parts are
 * equal, else the parts that are not at the default. */
static bool collapse(int64_t *v, int all, struct err *e)
{
    int64_t def = params[all].def, *h = &v[all + 1], *w = &v[all + 2];
    if (!is_set(*h) && !is_set(*w))
        return true;
    if (v[all] != def) {
        const struct op_param *part = &params[is_set(*h) ? all + 1 : all + 2];
        err_set(e, ERR_SYNTAX, "%s= sets what %s=%lld sets already", part->name, params[all].name,
                (long long)v[all]);
        return err_fix(e, "give either %s= or %s= and %s=", params[all].name, params[all + 1].name,
                       params[all + 2].name);
    }
    if (def == OP_REQUIRED && (!is_set(*h) || !is_set(*w))) {
        int have = is_set(*h) ? all + 1 : all + 2, lack = is_set(*h) ? all + 2 : all + 1;
        err_set(e, ERR_SYNTAX, "%s= needs %s= too", params[have].name, params[lack].name);
        return err_fix(e, "give both, or %s= for equal ones", params[all].name);
    }
    int64_t vh = is_set(*h) ? *h : def, vw = is_set(*w) ? *w : def;
    v[all] = vh == vw ? vh : def == OP_REQUIRED ? OP_UNSET : def;
    *h = vh == vw || vh == def ? OP_UNSET : vh;
    *w = vh == vw || vw == def ? OP_UNSET : vw;
    return true;
}

static bool canonical(int64_t *v, struct err *e)
{
    static const int commons[] = { P_K, P_S, P_P, P_D };
    if (v[P_N] == OP_UNSET)
        v[P_N] = 1;
    if (v[P_W] == OP_UNSET && is_set(v[P_H]))
        v[P_W] = v[P_H];
    for (int i = 0; i < COUNT_OF(commons); i++)
        if (!collapse(v, commons[i], e))
            return false;
    return true;
}

/* One spatial axis: rows or columns. */
struct side { int64_t in, k, stride, pad, dilation, out; };

/* The parameter that says part 1 (rows) or 2 (columns) of a common one, in canonical values. */
static int word_of(const int64_t *v, int all, int which)
{
    return is_set(v[all + which]) ? all + which : all;
}

static int64_t part(const int64_t *v, int all, int which)
{
    return v[word_of(v, all, which)];
}

/* out = floor((in + 2*pad - span) / stride) + 1, span = dilation*(k - 1) + 1 */
static bool side_of(const int64_t *v, int which, struct side *s, struct err *e)
{
    *s = (struct side){ .in = v[P_H + which - 1],
                        .k = part(v, P_K, which),
                        .stride = part(v, P_S, which),
                        .pad = part(v, P_P, which),
                        .dilation = part(v, P_D, which) };
    int64_t room = s->in + 2 * s->pad, span = s->dilation * (s->k - 1) + 1;
    if (span <= room) {
        s->out = (room - span) / s->stride + 1;
        return true;
    }
    bool dilated = s->k <= room;          /* without dilation it would fit */
    int blamed = word_of(v, dilated ? P_D : P_K, which), pad = word_of(v, P_P, which);
    const char *name = params[blamed].name, *what = which == 1 ? "rows" : "columns";
    int64_t fits = dilated ? (room - 1) / (s->k - 1) : (room - 1) / s->dilation + 1;
    err_set(e, ERR_RANGE,
            "%s=%lld makes the kernel span %lld %s, but the padded input has %lld "
            "(%s=%lld + 2*%lld)",
            name, (long long)(dilated ? s->dilation : s->k), (long long)span, what, (long long)room,
            params[P_H + which - 1].name, (long long)s->in, (long long)s->pad);
    return err_fix(e, "%s=%lld is the largest that fits; or pad more: %s=%lld", name,
                   (long long)fits, params[pad].name, (long long)(s->pad + (span - room + 1) / 2));
}

/* Inp as the convolution reads it. */
static int data_tensor(struct graph *g, const int64_t *v, const struct side *h,
                       const struct side *w)
{
    static const char *const dims[] = { "N", "I", "H", "W" };
    const int64_t shape[] = { v[P_N], v[P_I], h->in, w->in }, pad[] = { 0, 0, h->pad, w->pad };
    bool padded = h->pad || w->pad;
    int in = graph_add_tensor(g, &(struct tensor_def){ padded ? "Inp_in" : "Inp", 4, dims, shape,
                                                       TENSOR_INPUT });
    return padded ? pad_node(g, in, "Inp", pad, pad) : in;
}

/* stride*x + dilation*k */
static const struct expr *window(struct graph *g, const struct side *s, const struct expr *x,
                                 const struct expr *k)
{
    return expr_add(g->pool, expr_mulc(g->pool, x, s->stride), expr_mulc(g->pool, k, s->dilation));
}

static bool build(struct graph *g, const int64_t *v, struct err *e)
{
    static const char *const dims_ker[] = { "O", "I", "KH", "KW" };
    static const char *const dims_out[] = { "N", "O", "H", "W" };
    struct side h, w;
    if (!side_of(v, 1, &h, e) || !side_of(v, 2, &w, e))
        return false;
    const int64_t shape_ker[] = { v[P_O], v[P_I], h.k, w.k };
    const int64_t shape_out[] = { v[P_N], v[P_O], h.out, w.out };
    int inp = data_tensor(g, v, &h, &w);
    struct tensor_def def_ker = { "Ker", 4, dims_ker, shape_ker, TENSOR_CONST };
    struct tensor_def def_out = { "Conv", 4, dims_out, shape_out, TENSOR_INTER };
    int ker = graph_add_tensor(g, &def_ker), conv = graph_add_tensor(g, &def_out);

    struct node n = { .op = "conv2d", .combine = COMBINE_SUM, .complex = true, .data_in = inp };
    node_spatial(g, &n, conv);
    const struct expr *const *out = n.spatial;
    const struct expr *i = node_reduce(g, &n, "I", v[P_I]);
    const struct expr *kh = node_reduce(g, &n, "KH", h.k), *kw = node_reduce(g, &n, "KW", w.k);
    const struct expr *at_inp[] = { out[0], i, window(g, &h, out[2], kh),
                                    window(g, &w, out[3], kw) };
    const struct expr *at_ker[] = { out[1], i, kh, kw };
    n.body = val_bin(exprs_arena(g->pool), VAL_MUL, load_at(g, inp, at_inp),
                     load_at(g, ker, at_ker));
    graph_add_node(g, &n);
    finish_with(g, conv, 1, v[P_BIAS], v[P_RELU]);
    return true;
}

static const char *const data_params[] = { "n", "i", "h", "w", NULL };

const struct op_family c2d_family = {
    .data_params = data_params,
    .name = "c2d",
    .title = "2-D convolution",
    .example = "c2d n=1 i=64 h=56 w=56 o=64 k=3 p=1",
    .help = "Conv[n][o][h][w] = sum over i, kh, kw of "
            "Inp[n][i][sh*h + dh*kh][sw*w + dw*kw] * Ker[o][i][kh][kw].  "
            "The input is N I H W, Ker (O I KH KW) a constant, the output N O H W with "
            "H = (h + 2*ph - dh*(kh - 1) - 1) / sh + 1.  With padding the caller's tensor is "
            "Inp_in and a pad node writes Inp.  bias=1 adds Bias (O), relu=1 finishes with ReLU.",
    .n_params = N_PARAMS,
    .params = params,
    .build = build,
    .canonical = canonical,
};
