/* Layout steps, and what follows from layouts: conversions of graph inputs, propagation to
 * element-wise consumers. */
#include "kernels/program/program_impl.h"

#include <string.h>

static const struct layout_choice *choice_of(const struct program *p, const char *tensor)
{
    for (int i = 0; i < p->n_choices; i++)
        if (strcaseeq(p->choice[i].tensor, tensor))
            return &p->choice[i];
    return NULL;
}

static void set_choice(struct program *draft, const char *tensor, const struct prim *prims, int n)
{
    struct layout_choice *list =
        ARENA_ARRAY(draft->arena, struct layout_choice, draft->n_choices + 1);
    int count = 0;
    for (int i = 0; i < draft->n_choices; i++)
        if (!strcaseeq(draft->choice[i].tensor, tensor))
            list[count++] = draft->choice[i];
    if (n > 0)
        list[count++] = (struct layout_choice){ tensor, n, ARENA_DUP(draft->arena, prims, n) };
    draft->choice = list;
    draft->n_choices = count;
}

/* SPEC A.8: inputs with a layout of their own get a conversion in front, unless they arrive that
 * way; an output with one gets a conversion behind it when the caller wants the original. */
static const struct graph *with_conversions(struct program *draft)
{
    const struct graph *g = draft->base;
    draft->n_conversions = 0;
    for (int i = 0; i < draft->n_rfactors; i++) {
        const struct rfactor *f = &draft->rfactor[i];
        int node = graph_node_of(g, f->tensor);
        g = graph_with_rfactor(draft->arena, g, node, node_reduction(&g->node[node], f->dim),
                               f->factor);
    }
    for (int i = 0; i < draft->n_choices; i++) {
        int t = graph_tensor(g, draft->choice[i].tensor);
        if (t < 0)
            continue;
        enum tensor_role role = g->tensor[t].role;
        if ((role == TENSOR_INPUT && !draft->input_given) ||
            (role == TENSOR_OUTPUT && draft->output_original)) {
            g = graph_with_conversion(draft->arena, g, t);
            draft->n_conversions++;
        }
    }
    return g;
}

/* SPEC C.2 for one tensor: an element-wise node's output takes the sequence of its data input, when
 * that has no non-trivial advanced primitive and no consumer is complex. */
static bool takes_layout(const struct program *draft, const struct graph *g, int node,
                         const struct layout *from)
{
    const struct node *n = &g->node[node];
    const struct tensor *t = &g->tensor[n->out], *src = from->tensor;
    if (!draft->propagate || !n->elementwise || from->n_prims == 0 || from->advanced ||
        t->rank != src->rank)
        return false;
    if (t->role == TENSOR_OUTPUT && draft->output_original)
        return false;
    for (int d = 0; d < t->rank; d++)
        if (t->shape[d] != src->shape[d] || !streq(t->dim[d], src->dim[d]))
            return false;
    for (int c = 0; c < g->n_nodes; c++)
        if (g->node[c].complex && graph_reads(g, c, n->out))
            return false;
    return true;
}

/* A trimmed layout must still hold everything that is read, and all of an output (layout_covers).
 */
struct coverage {
    const struct layout *const *layout;
    bool ok;
    struct err *e;
};

static void check_load(void *ctx, const struct val *load)
{
    struct coverage *c = ctx;
    c->ok = c->ok && layout_covers(c->layout[load->source], load->idx, c->e);
}

static bool all_covered(const struct graph *g, const struct layout *const *layout, struct err *e)
{
    struct coverage c = { layout, true, e };
    for (int n = 0; n < g->n_nodes && c.ok; n++) {
        val_each_load(g->node[n].body, check_load, &c);
        int out = g->node[n].out;
        if (c.ok && g->tensor[out].role == TENSOR_OUTPUT)
            c.ok = layout_covers(layout[out], g->node[n].spatial, e);
    }
    return c.ok;
}

bool program_derive(struct program *draft, struct err *e)
{
    const struct graph *g = with_conversions(draft);
    struct arena *a = draft->arena;
    const struct layout **layout = ARENA_ARRAY(a, const struct layout *, g->n_tensors);
    enum layout_source *source = ARENA_ARRAY(a, enum layout_source, g->n_tensors);
    int *from = ARENA_ARRAY(a, int, g->n_tensors);
    const struct stage **stage = ARENA_ARRAY(a, const struct stage *, g->n_nodes);
    draft->graph = g;
    for (int t = 0; t < g->n_tensors; t++) {
        const struct layout_choice *c = choice_of(draft, g->tensor[t].name);
        from[t] = -1;
        source[t] = c ? LAYOUT_EXPLICIT : LAYOUT_PLAIN;
        if (!layout_apply_all(draft->pool, &g->tensor[t], c ? c->prims : NULL, c ? c->n : 0,
                              &layout[t], e))
            return false;
    }
    for (int n = 0; n < g->n_nodes; n++) {
        int t = g->node[n].out, s = g->node[n].data_in;
        if (source[t] == LAYOUT_PLAIN && s >= 0 && takes_layout(draft, g, n, layout[s])) {
            if (!layout_apply_all(draft->pool, &g->tensor[t], layout[s]->prims, layout[s]->n_prims,
                                  &layout[t], e))
                return false;
            source[t] = LAYOUT_PROPAGATED;
            from[t] = s;
        }
        stage[n] = stage_new(draft->pool, g, n, layout[t]);
    }
    if (!all_covered(g, layout, e))
        return false;
    draft->layout = layout;
    draft->source = source;
    draft->source_tensor = from;
    draft->stage = stage;
    return true;
}

static bool find_tensor(const struct program *p, const struct step *s, int *t, struct err *e)
{
    const struct graph *g = p->graph;
    *t = graph_tensor(g, s->target);
    if (*t < 0) {
        const char *names[64];
        int n = 0;
        struct str list = { 0 };
        for (; n < g->n_tensors && n < COUNT_OF(names); n++) {
            names[n] = g->tensor[n].name;
            str_printf(&list, "%s%s", n ? ", " : "", names[n]);
        }
        const char *near = str_nearest(s->target, names, n);
        err_set(e, ERR_NAME, "there is no tensor %s", s->target);
        err_fix(e, near ? "did you mean %s? The tensors are %s" : "the tensors are %s%s",
                near ? near : str_text(&list), near ? str_text(&list) : "");
        str_free(&list);
        return blame_target(e, s);
    }
    const struct tensor *x = &g->tensor[*t];
    if (x->role == TENSOR_INPUT && !p->input_given) {
        bool complex = false;
        const char *reader = NULL;
        for (int n = 0; n < g->n_nodes; n++)
            if (graph_reads(g, n, *t)) {
                complex = complex || g->node[n].complex;
                reader = g->tensor[g->node[n].out].name;
            }
        if (!complex && reader) {
            err_set(e, ERR_STEP, "%s is the caller's tensor, its layout is given", x->name);
            err_fix(e, "lay out %s, which is computed from it, or: set input_layout given", reader);
            return blame_target(e, s);
        }
    }
    return true;
}

static bool find_dim(const struct layout *l, const struct step_word *w, int *dim, struct err *e)
{
    *dim = layout_dim(l, w->text);
    if (*dim >= 0)
        return true;
    struct str list = { 0 };
    for (int d = 0; d < l->rank; d++)
        str_printf(&list, "%s%s(%lld)", d ? " " : "", l->dim[d], (long long)l->shape[d]);
    err_set(e, ERR_NAME, "%s has no dimension %s", l->tensor->name, w->text);
    err_fix(e, "its dimensions are %s", str_text(&list));
    str_free(&list);
    return blame_word(e, w);
}

/* Any number: layout_apply says which factors are legal (E_FACTOR, E_OVERFLOW). */
static bool find_number(const struct step_word *w, int64_t *out, struct err *e)
{
    long long v;
    if (!str_to_int64(w->text, INT64_MIN, INT64_MAX, &v)) {
        err_set(e, ERR_TYPE, "a factor is a whole number, not %s", w->text);
        return blame_word(e, w);
    }
    *out = v;
    return true;
}

static int64_t option(const struct step *s, const char *key, int64_t otherwise)
{
    for (int i = 0; i < s->n_opts; i++)
        if (streq(s->opt[i].key, key))
            return s->opt[i].value;
    return otherwise;
}

static bool prim_split(const struct layout *l, const struct step *s, struct prim *p, struct err *e)
{
    p->kind = PRIM_SPLIT;
    p->allow_pad = option(s, "allow_pad", 0) != 0;
    if (s->n_args - 1 > MAX_DIMS - 1)
        return err_set(e, ERR_RANK, "too many factors");
    if (!find_dim(l, &s->arg[0], &p->dim, e))
        return false;
    if (s->n_args == 2)
        p->n++; /* one factor F means N/F x F */
    for (int i = 1; i < s->n_args; i++)
        if (!find_number(&s->arg[i], &p->factor[p->n++], e))
            return false;
    return true;
}

/* The dims of a reorder: each once. */
static bool prim_reorder(const struct layout *l, const struct step *s, struct prim *p,
                         struct err *e)
{
    p->kind = PRIM_REORDER;
    p->n = s->n_args;
    if (s->n_args != l->rank) {
        err_set(e, ERR_PERM, "%s has %d dimensions, the new order names %d", l->tensor->name,
                l->rank, s->n_args);
        struct str list = { 0 };
        for (int d = 0; d < l->rank; d++)
            str_printf(&list, "%s%s", d ? " " : "", l->dim[d]);
        err_fix(e, "name each of %s once", str_text(&list));
        str_free(&list);
        return blame_target(e, s);
    }
    for (int i = 0; i < s->n_args; i++) {
        if (!find_dim(l, &s->arg[i], &p->perm[i], e))
            return false;
        for (int j = 0; j < i; j++)
            if (p->perm[j] == p->perm[i]) {
                err_set(e, ERR_PERM, "dimension %s is named twice", s->arg[i].text);
                return blame_word(e, &s->arg[i]);
            }
    }
    return true;
}

/* Adjacent dims for fuse and fold. */
static bool prim_adjacent(const struct layout *l, const struct step *s, enum prim_kind kind,
                          struct prim *p, struct err *e)
{
    p->kind = kind;
    p->n = s->n_args;
    for (int i = 0; i < s->n_args; i++) {
        int d;
        if (!find_dim(l, &s->arg[i], &d, e))
            return false;
        if (i == 0)
            p->dim = d;
        if (d != p->dim + i) {
            err_set(e, ERR_DIM, "dimensions %s and %s are not adjacent in this order",
                    s->arg[i - 1].text, s->arg[i].text);
            err_fix(e, "reorder first: layout reorder %s ...", l->tensor->name);
            return blame_word(e, &s->arg[i]);
        }
    }
    return true;
}

static bool prim_from_step(const struct layout *l, const struct step *s, struct prim *p,
                           struct err *e)
{
    *p = (struct prim){ .tile = option(s, "tile", 0),
                        .stride = option(s, "stride", 0),
                        .size = option(s, "size", 0),
                        .before = option(s, "before", 0),
                        .after = option(s, "after", 0) };
    if (s->kind == STEP_LAYOUT_SPLIT)
        return prim_split(l, s, p, e);
    if (s->kind == STEP_LAYOUT_REORDER)
        return prim_reorder(l, s, p, e);
    if (s->kind == STEP_LAYOUT_FUSE)
        return prim_adjacent(l, s, PRIM_FUSE, p, e);
    if (s->kind == STEP_LAYOUT_FOLD)
        return prim_adjacent(l, s, PRIM_FOLD, p, e);
    p->kind = s->kind == STEP_LAYOUT_UNFOLD ? PRIM_UNFOLD
              : s->kind == STEP_LAYOUT_PAD  ? PRIM_PAD
                                            : PRIM_UNPAD;
    return find_dim(l, &s->arg[0], &p->dim, e);
}

bool program_layout_step(struct program *draft, const struct step *s, struct err *e)
{
    int t, n = 0;
    struct prim prims[MAX_PRIMS + 1];
    if (!find_tensor(draft, s, &t, e))
        return false;
    const struct layout *l = draft->layout[t], *next;
    const char *name = draft->graph->tensor[t].name;
    if (s->kind == STEP_LAYOUT_RESET) {
        set_choice(draft, name, NULL, 0);
        return true;
    }
    if (s->kind == STEP_LAYOUT_SET) {
        if (!layout_from_notation(draft->pool, l->tensor, s->arg[0].text, prims, &n, e)) {
            int col = e->at.col > 0 ? e->at.col : 1;
            e->source[0] = '\0'; /* the column is one of the line from here on */
            return err_at(e, s->arg[0].col + col - (s->arg[0].quoted ? 0 : 1), e->at.len);
        }
        set_choice(draft, name, prims, n);
        return true;
    }
    if (l->n_prims >= MAX_PRIMS)
        return err_set(e, ERR_RANK, "%s has %d layout primitives already", name, l->n_prims);
    if (l->n_prims > 0)
        memcpy(prims, l->prims, sizeof *prims * (size_t)l->n_prims);
    n = l->n_prims;
    if (!prim_from_step(l, s, &prims[n], e))
        return false;
    if (!layout_apply(draft->pool, l, &prims[n], &next, e))
        return s->n_args ? blame_word(e, &s->arg[0]) : blame_target(e, s);
    set_choice(draft, name, prims, n + 1);
    return true;
}
