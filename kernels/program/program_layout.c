/* Applies layout steps: translates names to dims and factors, and appends one primitive to the
 * sequence of a tensor, or replaces the sequence (set, reset). */
#include "kernels/program/program_impl.h"

#include <stdio.h>
#include <string.h>

const struct layout_choice *program_choice(const struct program *p, const char *tensor)
{
    for (int i = 0; i < p->n_choices; i++)
        if (strcaseeq(p->choice[i].tensor, tensor))
            return &p->choice[i];
    return NULL;
}

/* Whether the tensor can take the layout of its producer's operand (SPEC C.2).  If so, the plain
 * layout is a choice that must be recorded like any other. */
static bool may_follow(const struct graph *g, const char *tensor)
{
    int t = graph_tensor(g, tensor);
    return t >= 0 && g->tensor[t].producer >= 0 && g->node[g->tensor[t].producer].elementwise;
}

void program_set_choice(struct program *draft, const char *tensor, const struct prim *prims, int n)
{
    struct layout_choice *list =
        ARENA_ARRAY(draft->arena, struct layout_choice, draft->n_choices + 1);
    int count = 0;
    for (int i = 0; i < draft->n_choices; i++)
        if (!strcaseeq(draft->choice[i].tensor, tensor))
            list[count++] = draft->choice[i];
    if (n > 0 || (prims && may_follow(draft->graph, tensor)))
        list[count++] = (struct layout_choice){ tensor, n, ARENA_DUP(draft->arena, prims, n) };
    draft->choice = list;
    draft->n_choices = count;
}

/* Finds the data operand that s->target names, for example "c2.Inp" for that of node c2.  Sets *t
 * to the operand, and *key to the name of the operand in a struct layout_choice. */
static bool find_operand(const struct program *p, const struct step *s, int *t, const char **key,
                         struct err *e)
{
    int node = program_operand_node(p->graph, s->target);
    if (node < 0) {
        err_set(e, ERR_NAME, "there is no operand %s", s->target);
        err_fix(e, "NODE.Inp means the first operand of a node, for example %s.Inp",
                p->graph->tensor[p->graph->node[p->graph->main_node].out].name);
        return blame_target(e, s);
    }
    *t = p->graph->node[node].data_in;
    *key = arena_printf(p->arena, "%s.Inp", p->graph->tensor[p->graph->node[node].out].name);
    return true;
}

int program_layout_tensor(const struct graph *g, const char *line)
{
    int from = 0, to = 0;
    struct str name = {0};
    sscanf(line, "layout %*s %n%*s%n", &from, &to);
    if (to > from)
        str_add_n(&name, line + from, (size_t)(to - from));
    int t = graph_tensor(g, str_text(&name));
    str_free(&name);
    return t;
}

bool program_layout_is_free(const struct program *p, int tensor, struct err *e)
{
    const struct graph *g = p->graph;
    const struct tensor *x = &g->tensor[tensor];
    bool complex = false;
    const char *reader = NULL;
    for (int n = 0; n < g->n_nodes; n++)
        if (graph_reads(g, n, tensor)) {
            complex = complex || g->node[n].complex;
            reader = g->tensor[g->node[n].out].name;
        }
    if (x->role != TENSOR_INPUT || p->input_given || complex || !reader)
        return true;
    err_set(e, ERR_STEP, "%s belongs to the caller, who chooses its layout", x->name);
    return err_fix(e,
                   "set the layout of %s, which is computed from it, or apply: set input_layout "
                   "given, then this again", reader);
}

static bool find_tensor(const struct program *p, const struct step *s, int *t, const char **key,
                        struct err *e)
{
    const struct graph *g = p->graph;
    if (strchr(s->target, '.'))
        return find_operand(p, s, t, key, e);
    *t = graph_tensor(g, s->target);
    *key = *t >= 0 ? g->tensor[*t].name : NULL;
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
    return program_layout_is_free(p, *t, e) || blame_target(e, s);
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

/* Parses a whole number of 64 bits. layout_apply checks later whether it is a legal factor. */
static bool find_number(const struct step_word *w, int64_t *out, struct err *e)
{
    long long v;
    if (!str_to_int64(w->text, INT64_MIN, INT64_MAX, &v))
        return blame_factor(e, w);
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

/* Parses the option allow_pad=0 or allow_pad=1. */
static bool find_allow_pad(const struct step *s, bool *out, struct err *e)
{
    for (int i = 0; i < s->n_opts; i++)
        if (streq(s->opt[i].key, "allow_pad") && s->opt[i].value != 0 && s->opt[i].value != 1) {
            struct step_word w = { s->opt[i].text, s->opt[i].col, s->opt[i].len, false };
            err_set(e, ERR_RANGE, "allow_pad is 0 or 1, not %lld", (long long)s->opt[i].value);
            return blame_word(e, &w);
        }
    *out = option(s, "allow_pad", 0) == 1;
    return true;
}

static bool prim_split(const struct layout *l, const struct step *s, struct prim *p, struct err *e)
{
    p->kind = PRIM_SPLIT;
    if (!find_allow_pad(s, &p->allow_pad, e))
        return false;
    if (s->n_args - 1 > MAX_DIMS - 1)
        return err_set(e, ERR_RANK, "the split has too many factors");
    if (!find_dim(l, &s->arg[0], &p->dim, e))
        return false;
    if (s->n_args == 2)
        p->n++; /* a single factor F means N/F x F: factor[0] stays 0 (inferred) */
    for (int i = 1; i < s->n_args; i++)
        if (!find_number(&s->arg[i], &p->factor[p->n++], e))
            return false;
    return true;
}

/* Finds the dims of a reorder. The step must name each dim once. */
static bool prim_reorder(const struct layout *l, const struct step *s, struct prim *p,
                         struct err *e)
{
    p->kind = PRIM_REORDER;
    p->n = s->n_args;
    if (s->n_args != l->rank) {
        err_set(e, ERR_PERM, "%s has %d dimensions, but the new order names %d", l->tensor->name,
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

/* Finds the dims of a fuse or fold. They must be adjacent, in this order. */
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

bool program_own_layouts(const struct program *p, const struct step *s, struct err *e)
{
    if (p->variant != VARIANT_OL)
        return true;
    err_set(e, ERR_STEP, "variant ol fixes every layout, so this step cannot change any");
    err_fix(e, "apply `set variant alt` first");
    return blame_target(e, s);
}

bool program_layout_step(struct program *draft, const struct step *s, struct err *e)
{
    int t = 0, n = 0;
    struct prim prims[MAX_PRIMS + 1];
    if (s->kind == STEP_LAYOUT_STORE_AT || s->kind == STEP_LAYOUT_DECOUPLE_AT)
        return program_attach_step(draft, s, e);
    const char *name = NULL;
    if (!find_tensor(draft, s, &t, &name, e))
        return false;
    const struct layout *l = draft->layout[t], *next;
    if (draft->held_in[t] >= 0) {
        err_set(e, ERR_ATTACH, "%s is stored inside %s and has no layout of its own", name,
                draft->graph->tensor[draft->held_in[t]].name);
        err_fix(e, "set the layout of %s, or apply: layout decouple_at %s",
                draft->graph->tensor[draft->held_in[t]].name, name);
        return blame_target(e, s);
    }
    if (s->kind == STEP_LAYOUT_RESET || s->kind == STEP_LAYOUT_SET)
        program_detach_from(draft, draft->graph->tensor[t].name);
    else if (!program_own_layouts(draft, s, e))
        return false;
    if (s->kind == STEP_LAYOUT_RESET) {
        program_set_choice(draft, name, NULL, 0);
        return true;
    }
    if (s->kind == STEP_LAYOUT_SET) {
        if (!layout_from_notation(draft->pool, l->tensor, s->arg[0].text, prims, &n, e)) {
            int col = e->at.col > 0 ? e->at.col : 1;
            e->source[0] = '\0'; /* the column now refers to the step line, not to the notation */
            return err_at(e, s->arg[0].col + col - (s->arg[0].quoted ? 0 : 1), e->at.len);
        }
        program_set_choice(draft, name, prims, n);
        return true;
    }
    if (l->n_prims >= MAX_PRIMS)
        return err_set(e, ERR_RANK, "%s already has %d layout primitives, which is the most", name,
                       l->n_prims);
    if (l->n_prims > 0)
        memcpy(prims, l->prims, sizeof *prims * (size_t)l->n_prims);
    n = l->n_prims;
    if (!prim_from_step(l, s, &prims[n], e))
        return false;
    if (!layout_apply(draft->pool, l, &prims[n], &next, e))
        return s->n_args ? blame_word(e, &s->arg[0]) : blame_target(e, s);
    program_set_choice(draft, name, prims, n + 1);
    return true;
}
