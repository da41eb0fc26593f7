/* Recognises the one operator that a graph computes: a head (an operator of one or several nodes,
 * with its padding), and nodes after it that are post-operations.  The parameters that builders
 * recorded (struct node_params) tell the operator; index expressions tell the positions of the
 * operands. */
#include "profile/vendor/match_impl.h"

#include <stdio.h>
#include <string.h>

const char *const vendor_name[] = {
#define VENDOR(id, name, title, plugin) name,
#include "profile/vendor/vendor.def"
#undef VENDOR
};
/* --- Shared by heads and posts ---------------------------------------------------------------- */

static void add_load(void *ctx, const struct val *load)
{
    struct loads *l = ctx;
    if (l->n < MATCH_MAX_LOADS)
        l->at[l->n] = load;
    l->n++;
}

struct loads match_loads(const struct node *n)
{
    struct loads l = { 0 };
    val_each_load(n->body, add_load, &l);
    return l;
}

void match_say(struct match *m, const char *fmt, ...)
{
    size_t n = strlen(m->p->text);
    va_list args;
    va_start(args, fmt);
    vsnprintf(m->p->text + n, sizeof m->p->text - n, fmt, args);
    va_end(args);
}

void match_plain(struct vendor_tensor *t, int rank, const int64_t *shape)
{
    int64_t stride = 1;
    t->rank = rank;
    t->offset = 0;
    for (int d = rank - 1; d >= 0; d--) {
        t->shape[d] = shape[d];
        t->stride[d] = stride;
        stride *= shape[d];
    }
    t->elems = stride;
}

struct vendor_tensor *match_tensor(struct match *m, enum vendor_role role, int t)
{
    const struct tensor *x = &m->g->tensor[t];
    if (m->p->n_tensors == VENDOR_MAX_TENSORS) {
        err_set(m->why, ERR_RANGE, "more than %d tensors", VENDOR_MAX_TENSORS);
        return NULL;
    }
    if (role != ROLE_OUT && x->producer >= 0) {
        err_set(m->why, ERR_NAME, "the graph computes the operand %s", x->name);
        return NULL;
    }
    struct vendor_tensor *v = &m->p->tensor[m->p->n_tensors++];
    *v = (struct vendor_tensor){ .role = role, .tensor = t };
    match_plain(v, x->rank, x->shape);
    return v;
}

struct vendor_tensor *match_operand(struct match *m, enum vendor_role role, const struct node *n,
                                    const struct val *load)
{
    struct vendor_tensor *v = match_tensor(m, role, load->source);
    if (!v)
        return NULL;
    struct vendor_tensor own = *v;
    v->rank = n->n_spatial;
    for (int d = 0; d < v->rank; d++) {
        v->shape[d] = v->stride[d] = 1;
        for (int k = 0; k < own.rank; k++)
            if (load->idx[k] == n->spatial[d]) {
                v->shape[d] = own.shape[k];
                v->stride[d] = own.stride[k];
            }
    }
    return v;
}

/* --- Functions -------------------------------------------------------------------------------- */

static const char *const unary_names[] = {
#define VENDOR_UNARY(id, name) name,
#include "profile/vendor/problem.def"
#undef VENDOR_UNARY
};
static const char *const binary_names[] = {
#define VENDOR_BINARY(id, name) name,
#include "profile/vendor/problem.def"
#undef VENDOR_BINARY
};

/* Finds the function that the builder of the node recorded. relu6, neg, identity and affine become
 * clip or linear. */
static bool find_unary(const struct node *n, struct vendor_post *post)
{
    static const struct { const char *name; enum vendor_unary as; double alpha, beta; } also[] = {
        { "relu6", UNARY_CLIP, 0, 6 }, { "neg", UNARY_LINEAR, -1, 0 },
        { "identity", UNARY_LINEAR, 1, 0 },
    };
    const char *name = n->params.function;
    if (!name)
        return false;
    *post = (struct vendor_post){ .tensor = -1, .alpha = n->params.alpha, .beta = n->params.beta };
    for (int i = 0; i < COUNT_OF(also); i++)
        if (streq(name, also[i].name)) {
            *post = (struct vendor_post){ also[i].as, -1, also[i].alpha, also[i].beta };
            return true;
        }
    if (streq(name, "affine"))
        name = unary_names[UNARY_LINEAR];
    for (post->function = 0; post->function < UNARY_COUNT; post->function++)
        if (streq(name, unary_names[post->function]))
            return true;
    return false;
}

static int binary_of(enum val_kind kind)
{
    static const enum val_kind kinds[] = { VAL_ADD, VAL_SUB, VAL_MUL, VAL_DIV, VAL_MAX, VAL_MIN };
    for (int i = 0; i < COUNT_OF(kinds); i++)          /* kinds: in the order of vendor_binary */
        if (kinds[i] == kind)
            return i;
    return -1;
}

static bool commutes(int binary)
{
    return binary != BINARY_SUB && binary != BINARY_DIV;
}

/* Whether v is a load of tensor x at the indices at which node n writes its result. */
static bool is_here(const struct node *n, const struct val *v, int x)
{
    if (v->kind != VAL_LOAD || v->source != x || v->rank != n->n_spatial)
        return false;
    for (int d = 0; d < v->rank; d++)
        if (v->idx[d] != n->spatial[d] && n->spatial[d]->hi > 0)
            return false;
    return true;
}

/* Adds v = ((x OP y) OP z)... as post-operations, one for each OP, the innermost first. */
static bool add_binaries(struct match *m, const struct node *n, const struct val *v, int x)
{
    struct vendor_problem *p = m->p;
    if (is_here(n, v, x))
        return true;
    int f = binary_of(v->kind);
    const struct val *chain = v->a, *other = v->b;
    if (f >= 0 && commutes(f) && chain->kind == VAL_LOAD && !is_here(n, chain, x)) {
        chain = v->b;
        other = v->a;
    }
    bool number = other && other->kind == VAL_CONST && (f == BINARY_ADD || f == BINARY_MUL);
    if (f < 0 || !(number || other->kind == VAL_LOAD) || !add_binaries(m, n, chain, x)
        || p->n_posts == VENDOR_MAX_POSTS)
        return false;
    struct vendor_post *post = &p->post[p->n_posts];
    if (number) {
        bool mul = f == BINARY_MUL;
        *post = (struct vendor_post){ UNARY_LINEAR, -1, mul ? other->value : 1,
                                      mul ? 0 : other->value };
        match_say(m, ", linear");
    } else {
        *post = (struct vendor_post){ .function = f, .tensor = p->n_tensors };
        if (!match_operand(m, ROLE_POST, n, other))
            return false;
        match_say(m, ", %s", binary_names[f]);
    }
    p->n_posts++;
    return true;
}

/* --- Element-wise heads ----------------------------------------------------------------------- */

static bool match_unary(struct match *m, int node, struct vendor_tensor *out)
{
    const struct node *n = &m->g->node[node];
    struct vendor_post f;
    if (!n->elementwise || !find_unary(n, &f))
        return false;
    m->p->kind = VENDOR_UNARY;
    m->p->function = f.function;
    m->p->alpha = f.alpha;
    m->p->beta = f.beta;
    match_say(m, "%s", n->params.function);
    match_plain(out, n->n_spatial, m->g->tensor[n->out].shape);
    return match_tensor(m, ROLE_DATA, n->data_in);
}

static bool match_binary(struct match *m, int node, struct vendor_tensor *out)
{
    const struct node *n = &m->g->node[node];
    int f = binary_of(n->body->kind);
    if (n->combine != COMBINE_NONE || f < 0)
        return false;
    const struct val *x = n->body->a, *y = n->body->b;
    if (x->kind != VAL_LOAD || y->kind != VAL_LOAD)
        return false;
    if (commutes(f) && !is_here(n, x, x->source)) {
        x = n->body->b;
        y = n->body->a;
    }
    if (!is_here(n, x, x->source))
        return err_set(m->why, ERR_NAME, "both operands are broadcast, which no library supports");
    m->p->kind = VENDOR_BINARY;
    m->p->function = f;
    match_say(m, "%s", binary_names[f]);
    match_plain(out, n->n_spatial, m->g->tensor[n->out].shape);
    return match_tensor(m, ROLE_DATA, x->source) && match_operand(m, ROLE_WEIGHTS, n, y);
}

/* --- The whole -------------------------------------------------------------------------------- */

static bool can_have_bias(const struct match *m)
{
    return m->p->kind == VENDOR_CONV || m->p->kind == VENDOR_TCONV || m->p->kind == VENDOR_MATMUL;
}

/* Adds node i as a bias or as post-operations. x: the tensor with the result so far, which the node
 * reads; rank: the rank of this result. */
static bool add_post(struct match *m, int i, int x, int rank)
{
    const struct node *n = &m->g->node[i];
    struct vendor_post *post = &m->p->post[m->p->n_posts];
    if (n->combine != COMBINE_NONE || n->n_spatial != rank)
        return err_set(m->why, ERR_NAME, "no library can compute %s and then %s in one call",
                       m->p->text, n->op);
    if (streq(n->op, "bias") && m->p->n_posts == 0 && can_have_bias(m)
        && match_loads(n).at[1]->rank == 1) {      /* a matmul may add a tensor of higher rank */
        match_say(m, ", bias");
        return match_tensor(m, ROLE_BIAS, match_loads(n).at[1]->source);
    }
    if (n->elementwise && n->data_in == x && m->p->n_posts < VENDOR_MAX_POSTS
        && find_unary(n, post)) {
        m->p->n_posts++;
        match_say(m, ", %s", n->params.function);
        return true;
    }
    if (!add_binaries(m, n, n->body, x)) {
        if (m->why->code == ERR_NONE)
            err_set(m->why, ERR_NAME, "no library can compute %s and then %s in one call",
                    m->p->text, n->op);
        return false;
    }
    return true;
}

/* Adds every node after the head (add_post), and then the result as a tensor of the problem. head:
 * the last node of the head; out: the shape of its result. */
static bool add_posts(struct match *m, int head, struct vendor_tensor *out)
{
    int x = m->g->node[head].out;
    for (int i = head + 1; i < m->g->n_nodes; i++) {
        if (m->g->tensor[x].role == TENSOR_OUTPUT || !graph_reads(m->g, i, x))
            return err_set(m->why, ERR_NAME, "%s cannot be a post-operation of the operator",
                           m->g->node[i].op);
        if (!add_post(m, i, x, out->rank))
            return false;
        x = m->g->node[i].out;
    }
    out->role = ROLE_OUT;
    out->tensor = x;
    if (m->p->n_tensors == VENDOR_MAX_TENSORS)
        return err_set(m->why, ERR_RANGE, "more than %d tensors", VENDOR_MAX_TENSORS);
    m->p->tensor[m->p->n_tensors++] = *out;
    return true;
}

/* Tries whether nodes 0 to i are the head, and all nodes after node i its post-operations. */
static bool try_head(struct match *m, match_head *head, int i)
{
    struct vendor_tensor out = { 0 };
    memset(m->p, 0, sizeof *m->p);
    m->used = 1u << i;
    m->why->code = ERR_NONE;
    return head(m, i, &out) && m->used == (2u << i) - 1 && add_posts(m, i, &out);
}

static void refuse_graph(const struct graph *g, struct err *why)
{
    struct str ops = { 0 };
    for (int i = 0; i < g->n_nodes && i < 6; i++)
        str_printf(&ops, "%s%s", i ? ", " : "", g->node[i].op);
    if (g->n_nodes == 1)
        err_set(why, ERR_NAME, "no library has an operator for %s", str_text(&ops));
    else
        err_set(why, ERR_NAME,
                "libraries take one operator at a time; this graph has %d (%s%s)",
                g->n_nodes, str_text(&ops), g->n_nodes > 6 ? ", ..." : "");
    str_free(&ops);
}

/* Tries every kind of head at every node. The last node is tried first, because otherwise the first
 * node of a softmax would match as a reduction. */
bool vendor_match(const struct graph *g, struct vendor_problem *out, struct err *why)
{
    static match_head *const heads[] = {
        match_window, match_matmul, match_softmax, match_norm, match_reduce, match_move,
        match_unary, match_binary,
    };
    struct vendor_problem p;
    struct err ignored, posts = { .code = ERR_NONE };
    struct match m = { .g = g, .p = &p, .why = &ignored };
    int type = 0;
    while (type < TYPE_COUNT && type_get(type) != g->type)
        type++;
    if (type == TYPE_COUNT)
        return err_set(why, ERR_NAME, "there are no baselines for tensors of %s", g->type->title);
    for (int i = g->n_nodes <= MATCH_MAX_NODES ? g->n_nodes - 1 : -1; i >= 0; i--)
        for (int h = 0; h < COUNT_OF(heads); h++) {
            if (try_head(&m, heads[h], i)) {
                *out = p;
                out->type = type;
                return true;
            }
            /* A head matches nodes 0 to i, and a later node is refused: its reason says more. */
            if (m.used == (2u << i) - 1 && m.why->code != ERR_NONE)
                posts = *m.why;
        }
    if (posts.code != ERR_NONE)
        *why = posts;
    else
        refuse_graph(g, why);
    return false;
}
