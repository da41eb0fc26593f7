/* Convolutions, transposed convolutions and pools, with the padding in front of them. */
#include "profile/vendor/match_impl.h"

#include <math.h>
#include <string.h>

struct window_op { const char *prefix; enum vendor_kind kind; };
static const struct window_op ops[] = {
    { "conv", VENDOR_CONV }, { "dwconv", VENDOR_CONV }, { "tconv", VENDOR_TCONV },
    { "maxpool", VENDOR_POOL_MAX }, { "avgpool", VENDOR_POOL_AVG },
};

static const struct window_op *find_op(const char *name)
{
    for (int i = 0; i < COUNT_OF(ops); i++)
        if (strncmp(name, ops[i].prefix, strlen(ops[i].prefix)) == 0)
            return &ops[i];
    return NULL;
}

/* If a pad node computes tensor *x, sets *x to the operand of the pad node. Stores in before[i] the
 * number of padding elements at the start of axis i. value: the number with which the library
 * pads. */
static bool unpad(struct match *m, double value, int *x, int64_t *before)
{
    const struct tensor *t = &m->g->tensor[*x];
    const struct node *n = t->producer >= 0 ? &m->g->node[t->producer] : NULL;
    memset(before, 0, VENDOR_MAX_AXES * sizeof *before);
    if (!n || !streq(n->op, "pad"))
        return true;
    m->used |= 1u << t->producer;
    const struct tensor *from = &m->g->tensor[n->data_in];
    if (n->params.alpha != value)
        return err_set(m->why, ERR_NAME, "libraries pad with %g here, but the graph pads with %g",
                       value,
                       n->params.alpha);
    if (from->shape[0] != t->shape[0] || from->shape[1] != t->shape[1])
        return err_set(m->why, ERR_NAME, "libraries do not pad batches and channels");
    for (int i = 0; i + 2 < t->rank; i++)
        before[i] = n->params.before[2 + i];
    *x = n->data_in;
    return true;
}

/* Returns the distance from the first to the last element of a window along axis i. */
static int64_t reach(const struct vendor_problem *p, int i)
{
    return p->dilation[i] * (p->kernel[i] - 1);
}

/* Whether `before` is the padding that a transposed convolution needs at the start of axis i when
 * it is computed as a gather (conv.h). */
static bool is_gather_padding(const struct vendor_problem *p, int i, int64_t before)
{
    int64_t q = reach(p, i) - p->before[i];
    return before == (q > 0 ? (q + p->step[i] - 1) / p->step[i] : 0);
}

/* Computes the window parameters of node n over tensor x. n reads the tensor `padded`, which is x
 * with its padding. before: the padding at the start of each axis. */
static bool fit_axes(struct match *m, const struct node *n, int x, int padded,
                     const int64_t *before)
{
    const struct tensor *in = &m->g->tensor[x], *out = &m->g->tensor[n->out];
    struct vendor_problem *p = m->p;
    for (int i = 0; i < p->n_axes; i++) {
        int64_t size = in->shape[2 + i], result = out->shape[2 + i];
        p->step[i] = n->params.stride[i];
        p->dilation[i] = n->params.dilation[i];
        if (p->step[i] < 1 || p->dilation[i] < 1)
            return err_set(m->why, ERR_BUG, "operator %s has no recorded stride or dilation",
                           n->op);
        if (p->kind == VENDOR_TCONV) {
            p->before[i] = n->params.before[i];
            p->after[i] = (size - 1) * p->step[i] + reach(p, i) + 1 - p->before[i] - result;
            if (!is_gather_padding(p, i, before[i]))
                return err_set(m->why, ERR_NAME,
                               "libraries have no transposed convolution of a padded tensor");
        } else {
            p->before[i] = before[i];
            p->after[i] = m->g->tensor[padded].shape[2 + i] - size - before[i];
        }
    }
    return true;
}

static void say_axes(struct match *m, const char *what, const int64_t *v, const char *between,
                     int64_t usual)
{
    bool same = true, plain = true;
    for (int i = 0; i < m->p->n_axes; i++) {
        same = same && v[i] == v[0];
        plain = plain && v[i] == usual;
    }
    if (plain)
        return;
    match_say(m, "%s%lld", what, (long long)v[0]);
    for (int i = 1; i < m->p->n_axes && (!same || usual < 0); i++)
        match_say(m, "%s%lld", between, (long long)v[i]);
}

static void say_window(struct match *m)
{
    static const char *const name[] = {
#define VENDOR_KIND(id, name) name,
#include "profile/vendor/problem.def"
#undef VENDOR_KIND
    };
    match_say(m, "%s", name[m->p->kind]);
    say_axes(m, " ", m->p->kernel, "x", -1);
    say_axes(m, ", stride ", m->p->step, "x", 1);
    say_axes(m, ", dilation ", m->p->dilation, "x", 1);
    if (m->p->groups > 1)
        match_say(m, ", %d groups", m->p->groups);
}

/* Adds the weights with the dims [G], O, I, K... (struct vendor_tensor).  Their dims in the graph:
 *     convolution: O, I, K...
 *     depthwise convolution: C, K...
 *     transposed convolution: I, O, K... */
static bool add_weights(struct match *m, int t)
{
    struct vendor_problem *p = m->p;
    const struct tensor *ker = &m->g->tensor[t];
    struct vendor_tensor *w = match_tensor(m, ROLE_WEIGHTS, t);
    if (!w)
        return false;
    struct vendor_tensor plain = *w;
    int lead = ker->rank - p->n_axes, at = 0;
    int64_t groups = p->groups, channels = w->stride[0];
    if (groups > 1) {
        w->shape[at] = groups;
        w->stride[at++] = plain.shape[0] / groups * channels;
    }
    if (lead == 1) {                      /* depthwise: one filter per channel */
        w->shape[at] = w->shape[at + 1] = 1;
        w->stride[at] = w->stride[at + 1] = channels;
    } else {
        bool transposed = p->kind == VENDOR_TCONV;
        w->shape[at] = plain.shape[transposed] / groups;
        w->stride[at] = plain.stride[transposed];
        w->shape[at + 1] = plain.shape[!transposed];
        w->stride[at + 1] = plain.stride[!transposed];
    }
    for (int i = 0; i < p->n_axes; i++) {
        w->shape[at + 2 + i] = plain.shape[lead + i];
        w->stride[at + 2 + i] = plain.stride[lead + i];
    }
    w->rank = at + 2 + p->n_axes;
    return true;
}

static int64_t channel_groups(const struct match *m, enum vendor_kind kind, int x, int ker)
{
    const struct tensor *w = &m->g->tensor[ker];
    int64_t channels = m->g->tensor[x].shape[1];
    if (kind != VENDOR_CONV)
        return 1;
    return w->rank + 1 == m->g->tensor[x].rank ? channels : channels / w->shape[1];
}

/* Whether the node divides a pool's sum by its count. It is then the last of the nodes padding,
 * sum, count and quotient. */
static bool is_inside_mean(struct match *m, int node)
{
    const struct graph *g = m->g;
    struct loads l = match_loads(&g->node[node]);
    if (!streq(g->node[node].op, "divide") || l.n != 2)
        return false;
    int sum = g->tensor[l.at[0]->source].producer, count = g->tensor[l.at[1]->source].producer;
    if (sum < 0 || count < 0 || !streq(g->node[sum].op, "avgpool")
        || !streq(g->node[count].op, "count"))
        return false;
    m->used |= 1u << sum | 1u << count;
    return true;
}

bool match_window(struct match *m, int node, struct vendor_tensor *out)
{
    struct vendor_problem *p = m->p;
    bool inside = is_inside_mean(m, node);
    const struct node *n = &m->g->node[inside ? node - 1 : node];
    if (inside)
        n = &m->g->node[m->g->tensor[m->g->node[node].data_in].producer];
    const struct window_op *op = find_op(n->op);
    struct loads l = match_loads(n);
    if (!op || l.n < 1)
        return false;
    int x = l.at[0]->source, padded = x;
    int64_t before[VENDOR_MAX_AXES];
    bool has_weights = op->kind == VENDOR_CONV || op->kind == VENDOR_TCONV;
    if (l.n != 1 + has_weights)
        return err_set(m->why, ERR_NAME, "libraries have no window that reads %d tensors", l.n);
    if (m->g->tensor[x].rank > 2 + VENDOR_MAX_AXES)
        return err_set(m->why, ERR_NAME, "libraries have no window over more than %d axes",
                       VENDOR_MAX_AXES);
    p->kind = inside ? VENDOR_POOL_INSIDE : op->kind;
    p->n_axes = m->g->tensor[x].rank - 2;
    for (int i = 0; i < p->n_axes; i++)
        p->kernel[i] = n->reduce[n->n_reduce - p->n_axes + i]->hi + 1;
    if (!unpad(m, op->kind == VENDOR_POOL_MAX ? -INFINITY : 0, &x, before)
        || !fit_axes(m, n, x, padded, before))
        return false;
    p->groups = has_weights ? (int32_t)channel_groups(m, op->kind, x, l.at[1]->source) : 1;
    say_window(m);
    match_plain(out, m->g->tensor[n->out].rank, m->g->tensor[n->out].shape);
    return match_tensor(m, ROLE_DATA, x) && (!has_weights || add_weights(m, l.at[1]->source));
}
