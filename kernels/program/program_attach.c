/* Applies store_at and decouple_at: stores a constant in the buffer of another one (SPEC A.7). */
#include "kernels/program/program_impl.h"

#include <string.h>

/* Finds the constant `name`. */
static bool constant(const struct program *p, const char *name, int *t, struct err *e)
{
    *t = graph_tensor(p->graph, name);
    if (*t < 0)
        return err_set(e, ERR_NAME, "there is no tensor %s", name);
    return program_is_constant(p, *t, e);
}

bool program_is_constant(const struct program *p, int tensor, struct err *e)
{
    if (p->graph->tensor[tensor].role == TENSOR_CONST)
        return true;
    err_set(e, ERR_ATTACH, "%s is not a constant", p->graph->tensor[tensor].name);
    return err_fix(e,
                   "only constants can share a buffer, because they are packed before the kernel "
                   "runs");
}

static int attached_index(const struct program *p, const char *src)
{
    for (int i = 0; i < p->n_attached; i++)
        if (strcaseeq(p->attached[i].src, src))
            return i;
    return -1;
}

/* Removes from draft->attached the constant src, and all constants stored inside dst.  src or dst
 * may be NULL. */
static void keep_all_but(struct program *draft, const char *src, const char *dst)
{
    struct attached *list = ARENA_ARRAY(draft->arena, struct attached, draft->n_attached);
    int n = 0;
    for (int i = 0; i < draft->n_attached; i++)
        if (!(src && streq(draft->attached[i].src, src)) &&
            !(dst && streq(draft->attached[i].dst, dst)))
            list[n++] = draft->attached[i];
    draft->attached = list;
    draft->n_attached = n;
}

void program_detach_from(struct program *draft, const char *dst)
{
    keep_all_but(draft, NULL, dst);
}

/* Applies store_at for tensor src.  already: the index of src in draft->attached if src is stored
 * inside another constant now, or -1. */
static bool store_at(struct program *draft, const struct step *s, int src, int already,
                     struct err *e)
{
    const struct graph *g = draft->graph;
    int dst;
    if (!constant(draft, s->arg[0].text, &dst, e))
        return blame_word(e, &s->arg[0]);
    const struct tensor *from = &g->tensor[src], *to = &g->tensor[dst];
    const struct layout *l = draft->layout[dst], *with_slice, *unused;
    if (src == dst) {
        err_set(e, ERR_ATTACH, "%s cannot be stored inside itself", from->name);
        return err_fix(e, "store it in the buffer of another constant");
    }
    if (draft->source[src] != LAYOUT_PLAIN) {
        err_set(e, ERR_ATTACH, "%s has a layout of its own", from->name);
        return err_fix(e, "layout reset %s", from->name);
    }
    if (attached_index(draft, to->name) >= 0) {
        err_set(e, ERR_ATTACH, "%s: %s is itself stored inside another tensor", from->name,
                to->name);
        return err_fix(e, "layout decouple_at %s", to->name);
    }
    if (from->winograd) {
        err_set(e, ERR_ATTACH, "%s is computed from weights when its buffer is filled", from->name);
        return err_fix(e, "store another constant in its buffer");
    }
    if (already >= 0) {
        err_set(e, ERR_ATTACH, "%s is already stored inside %s", from->name,
                draft->attached[already].dst);
        return err_fix(e, "first: layout decouple_at %s", from->name);
    }
    struct prim prims[MAX_PRIMS + 1];
    int n = l->n_prims, dim = layout_dim(l, s->arg[1].text);
    if (dim < 0) {
        err_set(e, ERR_NAME, "%s has no dimension %s", to->name, s->arg[1].text);
        return blame_word(e, &s->arg[1]);
    }
    if (n >= MAX_PRIMS)
        return err_set(e, ERR_RANK, "%s already has %d layout primitives, which is the most",
                       to->name, n);
    if (n > 0)
        memcpy(prims, l->prims, sizeof *prims * (size_t)n);
    prims[n] = (struct prim){ .kind = PRIM_PAD, .dim = dim, .after = 1 };
    if (!layout_apply(draft->pool, l, &prims[n], &with_slice, e) ||
        !layout_store_at(draft->pool, with_slice, dim, from, &unused, e))
        return blame_word(e, &s->arg[1]);
    struct attached *list = ARENA_ARRAY(draft->arena, struct attached, draft->n_attached + 1);
    for (int i = 0; i < draft->n_attached; i++)
        list[i] = draft->attached[i];
    list[draft->n_attached++] = (struct attached){ from->name, to->name, n };
    draft->attached = list;
    program_set_choice(draft, to->name, prims, n + 1);
    return true;
}

/* Undoes store_at for entry i of draft->attached: the layout of the enclosing tensor loses the
 * primitive that adds the slice.  Fails when a later primitive no longer applies. */
static bool decouple(struct program *draft, int i, struct err *e)
{
    struct attached x = draft->attached[i];
    const struct layout_choice *c = program_choice(draft, x.dst);
    const struct layout *unused;
    struct prim prims[MAX_PRIMS];
    int n = 0;
    for (int k = 0; k < c->n; k++)
        if (k != x.at)
            prims[n++] = c->prims[k];
    int dst = graph_tensor(draft->graph, x.dst);
    struct err why;
    if (!layout_apply_all(draft->pool, &draft->graph->tensor[dst], prims, n, &unused, &why)) {
        err_set(e, ERR_NOINV, "without %s, the layout of %s would not apply: %s", x.src, x.dst,
                why.text);
        return err_fix(e, "undo, or layout reset %s", x.dst);
    }
    keep_all_but(draft, x.src, NULL);
    struct attached *list = ARENA_DUP(draft->arena, draft->attached, draft->n_attached);
    for (int k = 0; k < draft->n_attached; k++)
        if (streq(list[k].dst, x.dst) && list[k].at > x.at)
            list[k].at--;
    draft->attached = list;
    program_set_choice(draft, x.dst, prims, n);
    return true;
}

bool program_attach_step(struct program *draft, const struct step *s, struct err *e)
{
    int src;
    if (!constant(draft, s->target, &src, e))
        return blame_target(e, s);
    if (!program_own_layouts(draft, s, e))
        return false;
    int i = attached_index(draft, draft->graph->tensor[src].name);
    if (s->kind == STEP_LAYOUT_STORE_AT)
        return store_at(draft, s, src, i, e) || (!e->at.col && blame_target(e, s));
    if (i >= 0)
        return decouple(draft, i, e) || blame_target(e, s);
    err_set(e, ERR_ATTACH, "%s is not stored inside another tensor", s->target);
    return blame_target(e, s);
}
