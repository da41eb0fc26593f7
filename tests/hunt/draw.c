#include "tests/hunt/draw.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/vec.h"

static int64_t pick(struct rng *r, const int64_t *from, int n)
{
    return from[rng_range(r, 0, n - 1)];
}

/* Extents with many divisors, and odd ones. */
static int64_t small_extent(struct rng *r)
{
    static const int64_t extents[] = { 1, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 10, 11, 12, 13, 16, 17 };
    return pick(r, extents, COUNT_OF(extents));
}

/* Values of a parameter: sizes for what must be given, small numbers near the minimum for the
 * rest. */
static int64_t param_value(struct rng *r, const struct op_param *p)
{
    int64_t v = p->def == OP_REQUIRED && strlen(p->name) == 1 && *p->name != 'k' ?
                    small_extent(r) : p->min + rng_range(r, 0, 2);
    if (p->def == OP_REQUIRED && *p->name == 'k')
        v = p->name[1] ? rng_range(r, 1, 3) : small_extent(r);
    return v < p->min ? p->min : v > p->max ? p->max : v;
}

/* One statement that reads one or two of the n tensors t0 .. */
static void statement(struct rng *r, struct str *s, int n)
{
    static const char *const unary[] = { "relu", "sigmoid", "exp", "abs", "neg", "tanh", "floor",
                                         "sin", "atan" };
    static const char *const binary[] = { "add", "mul", "max", "sub", "less", "equal" };
    static const char *const perms[] = { "0,1,3,2", "1,0", "0,2,3,1", "0,2,1,3", "1,0,2,3" };
    int x = (int)rng_range(r, n > 2 && rng_range(r, 0, 1) ? n - 2 : 0, n - 1);
    int y = (int)rng_range(r, 0, n - 1), k = (int)rng_range(r, 1, 3), p = (int)rng_range(r, 0, 1);
    if (rng_range(r, 0, 15) == 0) {       /* computed indices would depend on the last bit */
        str_printf(s, "t%d_i = const i=%d; t%d = gather(t%d, t%d_i) axis=%d", n, k, n, x, n, p);
        return;
    }
    str_printf(s, "t%d = ", n);
    switch (rng_range(r, 0, 16)) {
    case 0: case 1: case 2:
        str_printf(s, "c2d(t%d) o=%d k=%d p=%d s=%d bias=%d relu=%d", x, (int)rng_range(r, 1, 6), k,
                   p, (int)rng_range(r, 0, 4) ? 1 : 2, (int)rng_range(r, 0, 1),
                   (int)rng_range(r, 0, 1));
        return;
    case 3: case 4:
        str_printf(s, "gmm(t%d) n=%d bias=%d relu=%d", x, (int)rng_range(r, 1, 6),
                   (int)rng_range(r, 0, 1), (int)rng_range(r, 0, 1));
        return;
    case 5: str_printf(s, "dep(t%d) k=%d p=%d", x, k, p); return;
    case 6: str_printf(s, "%s(t%d) k=%d p=%d", p ? "maxpool" : "avgpool", x, k, k / 2); return;
    case 7: case 8: str_printf(s, "%s(t%d)", unary[rng_range(r, 0, 8)], x); return;
    case 9: case 10: str_printf(s, "%s(t%d, t%d)", binary[rng_range(r, 0, 5)], x, y); return;
    case 11: str_printf(s, "transpose(t%d) perm=%s", x, perms[rng_range(r, 0, 4)]); return;
    case 12: str_printf(s, "concat(t%d, t%d) axis=%d", x, y, p); return;
    case 13:
        str_printf(s, "slice(t%d) axis=%d from=%d to=%d", x, (int)rng_range(r, 0, 3), p, p + k);
        return;
    case 14: str_printf(s, "softmax(t%d) axis=%d", x, p); return;
    case 15: str_printf(s, "where(t%d, t%d, t%d)", x, y, (int)rng_range(r, 0, n - 1)); return;
    default: str_printf(s, "matmul(t%d, t%d)", x, y);
    }
}

/* Operators in a row or side by side: statements are drawn until a few are legal.  Now and then a
 * tensor has a name that a derived one would like to have. */
static const char *graph_spec(struct arena *a, struct rng *r)
{
    static const char *const odd[] = { "t1_Ker", "t0_in", "t1_rf", "t2_Inp", "t1_out", "t1_Bias",
                                       "t1_Conv_Inp", "t2_in", "t1_C" };
    struct str s = { 0 };
    int n = 1, most = (int)rng_range(r, 2, 5);
    if (rng_range(r, 0, 2))
        str_printf(&s, "t0 = input n=%d i=%d h=%d w=%d", (int)rng_range(r, 1, 2),
                   (int)rng_range(r, 1, 5), (int)rng_range(r, 3, 8), (int)rng_range(r, 3, 8));
    else
        str_printf(&s, "t0 = input m=%d k=%d", (int)rng_range(r, 1, 9), (int)rng_range(r, 1, 9));
    for (int i = 0; i < 4 * most && n < most; i++) {
        const struct graph *unused;
        struct err e;
        size_t len = s.len;
        if (rng_range(r, 0, 19) == 0)
            str_printf(&s, "; %s = const n=3 m=2", odd[rng_range(r, 0, COUNT_OF(odd) - 1)]);
        str_add(&s, "; ");
        statement(r, &s, n);
        if (graph_from_spec(a, str_text(&s), &unused, &e)) {
            n++;
        } else {
            s.len = len;
            s.data[len] = '\0';
        }
    }
    if (rng_range(r, 0, 3) == 0)
        str_printf(&s, "; output t%d t%d", (int)rng_range(r, 1, n - 1 > 1 ? n - 1 : 1), n - 1);
    const char *spec = arena_strdup(a, str_text(&s));
    str_free(&s);
    return spec;
}

const char *draw_spec(struct arena *a, struct rng *r)
{
    if (rng_range(r, 0, 1))
        return graph_spec(a, r);
    const struct op_family *f = ops_get((int)rng_range(r, 0, ops_count() - 1));
    struct str s = { 0 };
    bool window = false;
    str_add(&s, f->name);
    for (int i = 0; i < f->n_params; i++)
        window = window || streq(f->params[i].name, "kh");
    for (int i = 0; i < f->n_params; i++) {
        const struct op_param *p = &f->params[i];
        if (p->def != OP_REQUIRED && rng_range(r, 0, 2))
            continue;
        int64_t v = param_value(r, p);
        if (window && *p->name == 'k')
            v = rng_range(r, 1, 4);
        if (p->words)
            str_printf(&s, " %s=%s", p->name, p->words[v - p->min]);
        else
            str_printf(&s, " %s=%lld", p->name, (long long)v);
    }
    const char *spec = arena_strdup(a, str_text(&s));
    str_free(&s);
    return spec;
}

double program_points(const struct program *p)
{
    double all = 0;
    for (int n = 0; n < p->graph->n_nodes; n++) {
        const struct node *x = &p->graph->node[n];
        double points = (double)p->layout[x->out]->elems;
        for (int i = 0; i < x->n_reduce; i++)
            points *= (double)(x->reduce[i]->hi + 1);
        all += points;
    }
    for (int t = 0; t < p->graph->n_tensors; t++)
        all += (double)p->layout[t]->elems;
    return all;
}

/* A number to split or tile n by: mostly a divisor, else anything up to n or a little more. */
static long long factor(struct rng *r, int64_t n)
{
    if (rng_range(r, 0, 9) == 0)
        return rng_range(r, 0, n + 2);
    if (rng_range(r, 0, 2) == 0)
        return rng_range(r, 1, n);
    int64_t f;
    do
        f = rng_range(r, 1, n);
    while (n % f);
    return f;
}

static void layout_split(struct rng *r, struct str *s, const char *name, const struct layout *l,
                         int d)
{
    str_printf(s, "layout split %s %s", name, l->dim[d]);
    int n = (int)rng_range(r, 1, 3);
    int64_t left = l->shape[d];
    for (int i = 0; i < n; i++) {
        long long f = i == n - 1 && n > 1 && rng_range(r, 0, 1) ? left : factor(r, left);
        str_printf(s, " %lld", f);
        left = f > 0 ? (left + f - 1) / f : left;
    }
    if (rng_range(r, 0, 2) == 0)
        str_printf(s, " allow_pad=%d", (int)rng_range(r, 0, 1));
}

static void layout_reorder(struct rng *r, struct str *s, const char *name, const struct layout *l)
{
    int order[MAX_DIMS], n = l->rank;
    for (int i = 0; i < n; i++)
        order[i] = i;
    for (int k = (int)rng_range(r, 1, 3); k > 0; k--) {
        int i = (int)rng_range(r, 0, n - 1), j = (int)rng_range(r, 0, n - 1), t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
    str_printf(s, "layout reorder %s", name);
    for (int i = 0; i < n; i++)
        str_printf(s, " %s", l->dim[order[i]]);
}

static void layout_fuse(struct rng *r, struct str *s, const char *name, const struct layout *l,
                        int d, const char *verb)
{
    int n = streq(verb, "fold") ? 2 : (int)rng_range(r, 2, 3);
    str_printf(s, "layout %s %s", verb, name);
    for (int i = 0; i < n; i++)
        str_printf(s, " %s", l->dim[d + i < l->rank ? d + i : 0]);
}

/* "N O/4 H W 4o", with blocks drawn per dim. */
static void layout_notation_line(struct rng *r, struct str *s, const char *name,
                                 const struct tensor *t)
{
    struct str tail = { 0 };
    int order[MAX_RANK];
    for (int d = 0; d < t->rank; d++)
        order[d] = d;
    for (int k = 0; k < 2; k++) {
        int i = (int)rng_range(r, 0, t->rank - 1), j = (int)rng_range(r, 0, t->rank - 1);
        int x = order[i];
        order[i] = order[j];
        order[j] = x;
    }
    str_printf(s, "layout set %s \"", name);
    for (int i = 0; i < t->rank; i++) {
        int d = order[i];
        str_printf(s, "%s%s", i ? " " : "", t->dim[d]);
        if (rng_range(r, 0, 2))
            continue;
        long long f = factor(r, t->shape[d]);
        bool unfold = rng_range(r, 0, 3) == 0;
        str_printf(s, "/%lld", f);
        str_printf(&tail, " %lld%s", unfold ? f + rng_range(r, 0, 3) : f, t->dim[d]);
    }
    str_printf(s, "%s\"", str_text(&tail));
    str_free(&tail);
}

const char *draw_layout_step(struct arena *a, struct rng *r, const struct program *p)
{
    const struct graph *g = p->graph;
    static const char *const sets[] = { "propagate on", "propagate off", "output_layout original",
                                        "output_layout propagated", "input_layout given",
                                        "input_layout original", "variant alt", "variant wp",
                                        "variant ol", "variant fp", "variant bp", "variant alt" };
    int t = (int)rng_range(r, 0, g->n_tensors - 1);
    const struct layout *l = p->layout[t];
    const char *name = g->tensor[t].name;
    int d = l->rank ? (int)rng_range(r, 0, l->rank - 1) : 0;
    struct str s = { 0 };
    if (l->rank == 0)
        return "set propagate on";
    if (g->tensor[t].producer >= 0 && rng_range(r, 0, 4) == 0) {
        int in = g->node[g->tensor[t].producer].data_in;
        name = arena_printf(a, "%s.Inp", name);
        l = in >= 0 ? p->layout[in] : l;
        d = l->rank ? (int)rng_range(r, 0, l->rank - 1) : 0;
    }
    switch (rng_range(r, 0, 17)) {
    case 16: {
        int c[2] = { t, (int)rng_range(r, 0, g->n_tensors - 1) };
        for (int i = 0; i < g->n_tensors && rng_range(r, 0, 3); i++)
            if (g->tensor[i].role == TENSOR_CONST)
                c[g->tensor[i].rank == 1 ? 0 : 1] = i;
        l = p->layout[c[1]];
        str_printf(&s, "layout store_at %s %s %s", g->tensor[c[0]].name, g->tensor[c[1]].name,
                   l->dim[rng_range(r, 0, l->rank - 1)]);
        break;
    }
    case 17:
        for (int i = 0; i < g->n_tensors; i++)
            if (p->held_in[i] >= 0)
                name = g->tensor[i].name;
        str_printf(&s, "layout decouple_at %s", name);
        break;
    case 0: case 1: case 2: layout_split(r, &s, name, l, d); break;
    case 3: case 4: layout_reorder(r, &s, name, l); break;
    case 5: layout_fuse(r, &s, name, l, d, "fuse"); break;
    case 6: layout_fuse(r, &s, name, l, d, "fold"); break;
    case 7: case 8:
        str_printf(&s, "layout unfold %s %s tile=%d stride=%d", name, l->dim[d],
                   (int)rng_range(r, 1, 6), (int)rng_range(r, 1, 5));
        if (rng_range(r, 0, 3) == 0)
            str_printf(&s, " size=%d", (int)rng_range(r, 1, l->shape[d] + 1));
        break;
    case 9: case 10:
        str_printf(&s, "layout %s %s %s", rng_range(r, 0, 4) ? "pad" : "unpad", name, l->dim[d]);
        if (rng_range(r, 0, 1))
            str_printf(&s, " before=%d", (int)rng_range(r, 0, 2));
        str_printf(&s, " after=%d", (int)rng_range(r, 0, 3));
        break;
    case 11: case 12: layout_notation_line(r, &s, name, l->tensor); break;
    case 13: str_printf(&s, "layout reset %s", name); break;
    case 14: str_printf(&s, "set %s", sets[rng_range(r, 0, COUNT_OF(sets) - 1)]); break;
    default: {
        int n = g->tensor[t].producer;
        const struct node *x = n >= 0 ? &g->node[n] : &g->node[g->main_node];
        const char *of = n >= 0 ? name : g->tensor[x->out].name;
        int i = x->n_reduce ? (int)rng_range(r, 0, x->n_reduce - 1) : 0;
        str_printf(&s, "loop rfactor %s %s %lld", of, x->n_reduce ? x->reduce_dim[i] : "K",
                   x->n_reduce ? factor(r, x->reduce[i]->hi + 1) : 2);
    }
    }
    const char *line = arena_strdup(a, str_text(&s));
    str_free(&s);
    return line;
}

static void loop_split(struct rng *r, struct str *s, const struct stage *st, int i)
{
    int n = (int)rng_range(r, 1, 3);
    int64_t left = st->axis[i].extent;
    str_printf(s, "loop split %s %s", st->name, st->axis[i].name);
    for (int k = 0; k < n; k++) {
        long long f = k == n - 1 && n > 1 && rng_range(r, 0, 1) ? left : factor(r, left);
        str_printf(s, " %lld", f);
        left = f > 0 ? (left + f - 1) / f : left;
    }
}

static void loop_reorder(struct rng *r, struct str *s, const struct stage *st)
{
    int n = (int)rng_range(r, 2, 4);
    str_printf(s, "loop reorder %s", st->name);
    for (int k = 0; k < n; k++) {
        int i = (int)rng_range(r, 0, st->n_axes - 1);
        if (!strstr(str_text(s), st->axis[i].name) || rng_range(r, 0, 9) == 0)
            str_printf(s, " %s", st->axis[i].name);
    }
}

/* Loops from the inside are what is vectorized and unrolled. */
static const char *inner_axis(struct rng *r, const struct stage *st)
{
    int back = (int)rng_range(r, 0, 2);
    return st->axis[st->n_axes - 1 - (back < st->n_axes ? back : 0)].name;
}

static const char *any_axis(struct rng *r, const struct stage *st)
{
    return st->axis[rng_range(r, 0, st->n_axes - 1)].name;
}

static void one_loop_step(struct rng *r, struct str *s, const struct program *p,
                          const struct stage *st)
{
    const struct graph *g = p->graph;
    const struct stage *other = p->stage[rng_range(r, 0, g->n_nodes - 1)];
    int i = (int)rng_range(r, 0, st->n_axes - 1);
    switch (rng_range(r, 0, 19)) {
    case 0: case 1: case 2: loop_split(r, s, st, i); return;
    case 3: case 4: loop_reorder(r, s, st); return;
    case 5: case 6:
        str_printf(s, "loop fuse %s %s %s", st->name, st->axis[i].name,
                   st->axis[i + 1 < st->n_axes ? i + 1 : 0].name);
        if (i + 2 < st->n_axes && rng_range(r, 0, 4) == 0)
            str_printf(s, " %s", st->axis[i + 2].name);
        return;
    case 7: case 8:
        str_printf(s, "loop vectorize %s %s", st->name, inner_axis(r, st));
        return;
    case 9: case 10: str_printf(s, "loop unroll %s %s", st->name, inner_axis(r, st)); return;
    case 11: case 12:
        str_printf(s, "loop parallel %s %s", st->name, st->axis[i / 2].name);
        return;
    case 13:
        if (rng_range(r, 0, 2) == 0)
            str_printf(s, "loop prefetch %s %s at=%s ahead=%d", st->name,
                       g->tensor[rng_range(r, 0, g->n_tensors - 1)].name, any_axis(r, st),
                       (int)rng_range(r, 1, 4));
        else if (rng_range(r, 0, 1))
            str_printf(s, "loop stream %s", st->name);
        else
            str_printf(s, "loop serial %s %s", st->name, any_axis(r, st));
        return;
    case 14: case 15:
        str_printf(s, "loop cache_write %s", st->name);
        if (rng_range(r, 0, 3))
            str_printf(s, " at=%s", any_axis(r, st));
        return;
    case 16: case 17:
        str_printf(s, "loop cache_read %s %s", st->name,
                   g->tensor[rng_range(r, 0, g->n_tensors - 1)].name);
        if (rng_range(r, 0, 3))
            str_printf(s, " at=%s", any_axis(r, st));
        return;
    case 18:
        str_printf(s, "loop compute_at %s %s %s", other->name, st->name, any_axis(r, st));
        return;
    default:
        str_printf(s, "loop %s %s", rng_range(r, 0, 1) ? "inline" : "compute_root", other->name);
    }
}

const char *draw_loop_step(struct arena *a, struct rng *r, const struct program *p)
{
    struct str s = { 0 };
    const struct stage *st = p->stage[rng_range(r, 0, p->graph->n_nodes - 1)];
    if (rng_range(r, 0, 1))
        st = p->stage[p->graph->main_node];
    one_loop_step(r, &s, p, st);
    const char *line = arena_strdup(a, str_text(&s));
    str_free(&s);
    return line;
}

const char *draw_mutation(struct arena *a, struct rng *r, const char *line)
{
    static const char *const words[] = { "0", "-1", "1", "7", "1099511627776", "Conv", "N", "O.0",
                                         "at=", "at=N", "tile=3", "\"", "#", "9223372036854775807",
                                         "C", "before=-1", "x=1", "Inp_in", "4294967296" };
    size_t n = strlen(line), at = (size_t)rng_range(r, 0, (int64_t)n);
    const char *word = words[rng_range(r, 0, COUNT_OF(words) - 1)];
    while (at > 0 && line[at - 1] != ' ')
        at--;
    size_t end = at + strcspn(line + at, " ");
    switch (rng_range(r, 0, 3)) {
    case 0: return arena_printf(a, "%.*s%s%s", (int)at, line, word, line + end);
    case 1: return arena_printf(a, "%.*s%s %s", (int)at, line, word, line + at);
    case 2: return arena_printf(a, "%s %s", line, word);
    default: return arena_printf(a, "%.*s%s", (int)at, line, line + (line[end] ? end + 1 : end));
    }
}

/* All loops of st in a random order, the spatial ones mostly last. */
static void shuffle(struct rng *r, struct str *s, const struct stage *st)
{
    int order[64], n = st->n_axes, kept = 0;
    for (int i = 0; i < n; i++)
        order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int j = (int)rng_range(r, 0, i), t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
    str_printf(s, "loop reorder %s", st->name);
    bool sorted = rng_range(r, 0, 3) > 0;
    int inner = (int)rng_range(r, 1, 3);
    for (int pass = 0; pass < 3; pass++)
        for (int i = 0, spatial = 0; i < n; i++) {
            const struct axis *x = &st->axis[order[i]];
            int want = !sorted ? 0 : x->reduce ? 1 : spatial++ < inner ? 2 : 0;
            if (want == pass && ++kept)
                str_printf(s, " %s", x->name);
        }
}

/* An axis of the output outside of all reductions, mostly the last of them. */
static const char *outer_axis(struct rng *r, const struct stage *st)
{
    int n = 0;
    while (n < st->n_axes && !st->axis[n].reduce)
        n++;
    if (n == 0 || rng_range(r, 0, 9) == 0)
        return any_axis(r, st);
    return st->axis[rng_range(r, 0, 1) ? n - 1 : rng_range(r, 0, n - 1)].name;
}

const char *draw_recipe_step(struct arena *a, struct rng *r, const struct program *p, int k)
{
    const struct graph *g = p->graph;
    const struct stage *st = p->stage[g->main_node];
    const struct stage *other = p->stage[rng_range(r, 0, g->n_nodes - 1)];
    const char *at = st->cache_at ? st->cache_at : outer_axis(r, st);
    struct str s = { 0 };
    if (k < 4)
        loop_split(r, &s, st, (int)rng_range(r, 0, st->n_axes - 1));
    else if (k == 4)
        shuffle(r, &s, st);
    else if (k == 5)
        str_printf(&s, "loop vectorize %s %s", st->name, st->axis[st->n_axes - 1].name);
    else if (k == 6 || k == 7)
        str_printf(&s, "loop unroll %s %s", st->name, inner_axis(r, st));
    else if (k == 8)
        str_printf(&s, "loop cache_write %s at=%s", st->name, outer_axis(r, st));
    else if (k == 9 || k == 10)
        str_printf(&s, "loop compute_at %s %s %s", p->stage[g->n_nodes - 11 + k > g->main_node ?
                   g->n_nodes - 11 + k : g->n_nodes - 1]->name, st->name, at);
    else if (k == 11)
        str_printf(&s, "loop cache_read %s %s at=%s", st->name,
                   g->tensor[rng_range(r, 0, g->n_tensors - 1)].name,
                   rng_range(r, 0, 1) ? any_axis(r, st) : at);
    else if (k == 12 && rng_range(r, 0, 1))
        str_printf(&s, "loop inline %s", other->name);
    else if (k == 12)
        str_printf(&s, "loop compute_at %s %s %s", other->name, st->name, any_axis(r, st));
    else
        str_printf(&s, "loop parallel %s %s", st->name, st->axis[k - 13 < st->n_axes ? k - 13 :
                   0].name);
    const char *line = arena_strdup(a, str_text(&s));
    str_free(&s);
    return line;
}

/* Races: the iterations of a parallel loop (with those that one team shares, a perfect nest) must
 * not touch an element of a buffer from outside of the loop when one of them writes it. */
struct cell { long region, writer, reader; };
struct shadow {
    const struct func *f;
    struct cell **cell;                   /* per buffer */
    int *opened;                          /* per buffer: inside how many parallel regions (0, 1) */
    int64_t *vals;
    long region, iteration;               /* 0: outside */
    int in_team;                          /* parallel loops below that belong to the same team */
    struct str *what;
    bool ok;
};

static void touch(struct shadow *s, int buffer, int rank, const struct expr *const *idx, bool write)
{
    const struct buffer *b = &s->f->buffer[buffer];
    int64_t flat = 0;
    if (!s->iteration || s->opened[buffer])
        return;
    for (int d = 0; d < rank; d++)
        flat = flat * b->shape[d] + expr_eval(idx[d], s->vals);
    struct cell *c = &s->cell[buffer][flat];
    if (c->region != s->region)
        *c = (struct cell){ .region = s->region };
    bool other_writer = c->writer && c->writer != s->iteration;
    bool other_reader = c->reader && c->reader != s->iteration;
    if (s->ok && (other_writer || (write && other_reader))) {
        str_printf(s->what, "iterations of a parallel loop race on %s[%lld]", b->name,
                   (long long)flat);
        s->ok = false;
    }
    if (write)
        c->writer = s->iteration;
    else
        c->reader = c->reader && c->reader != s->iteration ? -1 : s->iteration;
}

static void touch_val(struct shadow *s, const struct val *v)
{
    if (v->kind == VAL_LOAD)
        touch(s, v->source, v->rank, v->idx, false);
    if (v->kind == VAL_SELECT) {
        touch_val(s, expr_eval(v->cond, s->vals) ? v->a : v->b);
        return;
    }
    if (v->a)
        touch_val(s, v->a);
    if (v->b)
        touch_val(s, v->b);
}

static void walk(struct shadow *s, const struct tree *t);

static void walk_kids(struct shadow *s, const struct tree *t)
{
    for (int i = 0; i < t->n_kids; i++)
        walk(s, t->kid[i]);
}

/* Parallel loops that start a perfect nest at t. */
static int team_of(const struct tree *t)
{
    int n = 0;
    while (t->kind == TREE_LOOP && (t->ann == LOOP_PARALLEL || t->extent == 1)) {
        n += t->ann == LOOP_PARALLEL;
        if (t->n_kids != 1)
            break;
        t = t->kid[0];
    }
    return n;
}

static void walk_loop(struct shadow *s, const struct tree *t)
{
    int64_t begin = t->begin ? expr_eval(t->begin, s->vals) : 0;
    int64_t end = t->end ? expr_eval(t->end, s->vals) : t->extent;
    bool opens = t->ann == LOOP_PARALLEL && !s->iteration;
    bool shares = opens || (t->ann == LOOP_PARALLEL && s->in_team > 0);
    static long next = 1;
    int team = s->in_team;
    if (opens) {
        s->region = next++;
        team = team_of(t);
    }
    for (int64_t x = begin; x < end; x++) {
        s->vals[t->var->var] = x;
        if (shares)
            s->iteration = next++;
        s->in_team = shares ? team - 1 : t->extent == 1 ? team : 0;
        walk_kids(s, t);
    }
    s->in_team = opens ? 0 : team;
    if (opens)
        s->iteration = 0;
}

static void walk(struct shadow *s, const struct tree *t)
{
    if (t->kind == TREE_LOOP) {
        walk_loop(s, t);
    } else if (t->kind == TREE_SCOPE) {
        s->opened[t->buffer] = s->iteration != 0;
        s->in_team = 0;
        walk_kids(s, t);
    } else if (!t->guard || expr_eval(t->guard, s->vals)) {
        touch_val(s, t->value);
        if (t->how != STORE_SET)
            touch(s, t->buffer, t->rank, t->idx, false);
        touch(s, t->buffer, t->rank, t->idx, true);
    }
}

bool tree_no_race(const struct func *f, struct str *what)
{
    struct shadow s = { .f = f, .what = what, .ok = true };
    s.cell = xcalloc((size_t)f->n_buffers, sizeof *s.cell);
    s.opened = xcalloc((size_t)f->n_buffers, sizeof *s.opened);
    s.vals = xcalloc((size_t)exprs_n_vars(f->pool) + 1, sizeof *s.vals);
    for (int b = 0; b < f->n_buffers; b++)
        s.cell[b] = xcalloc((size_t)f->buffer[b].elems, sizeof **s.cell);
    for (int i = 0; i < f->n_roots; i++)
        walk(&s, f->root[i]);
    for (int b = 0; b < f->n_buffers; b++)
        free(s.cell[b]);
    free(s.cell);
    free(s.opened);
    free(s.vals);
    return s.ok;
}
