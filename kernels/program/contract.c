#include "kernels/program/contract.h"

#include <string.h>
#include "kernels/base/arena.h"
#include "kernels/layout/layout.h"

static bool is_callers(const struct tensor *t)
{
    return t->role == TENSOR_INPUT || t->role == TENSOR_OUTPUT;
}

bool contract_is_plain(const struct program *p)
{
    for (int t = 0; t < p->graph->n_tensors; t++)
        if (is_callers(&p->graph->tensor[t]) && p->layout[t]->n_prims > 0)
            return false;
    return true;
}

/* Returns the caller's name for tensor t of p->graph, which conversions can have renamed. */
static const char *name_of(const struct program *p, int t)
{
    return p->base->tensor[program_base_tensor(p, t)].name;
}

/* Appends the notation of a layout, without blanks if each part is one letter ("NHWI").  If the
 * layout has no notation, appends its physical dims. */
static void print_layout(struct str *out, const struct layout *l)
{
    struct str text = {0};
    bool letters = true;
    if (!layout_notation(l, &text)) {
        str_clear(&text);
        for (int d = 0; d < l->rank; d++)
            str_printf(&text, "%s%s=%lld", d ? " " : "", l->dim[d], (long long)l->shape[d]);
    }
    const char *s = str_text(&text);
    for (size_t i = 1; i < text.len; i += 2)
        letters = letters && s[i] == ' ';
    letters = letters && text.len % 2 == 1;
    for (size_t i = 0; letters && i < text.len; i += 2)
        str_add_char(out, s[i]);
    if (!letters)
        str_add(out, s);
    str_free(&text);
}

static void print_role(struct str *out, const struct program *p, enum tensor_role role)
{
    const char *between = "";
    for (int t = 0; t < p->graph->n_tensors; t++) {
        if (p->graph->tensor[t].role != role)
            continue;
        str_printf(out, "%s%s ", between, name_of(p, t));
        print_layout(out, p->layout[t]);
        between = ", ";
    }
}

void contract_print(struct str *out, const struct program *p)
{
    if (contract_is_plain(p)) {
        str_add(out, "as the caller has it");
        return;
    }
    print_role(out, p, TENSOR_INPUT);
    str_add(out, " -> ");
    print_role(out, p, TENSOR_OUTPUT);
}

void contract_print_packed(struct str *out, const struct program *p)
{
    for (int t = 0; t < p->graph->n_tensors; t++) {
        const struct tensor *tensor = &p->graph->tensor[t];
        if (tensor->role != TENSOR_CONST || p->layout[t]->n_prims == 0)
            continue;
        str_printf(out, "; %s packed as ", tensor->name);
        print_layout(out, p->layout[t]);
    }
}

/* Returns the tensor of q that has the role and the caller's name of tensor t of p, or -1. */
static int counterpart(const struct program *p, int t, const struct program *q)
{
    for (int k = 0; k < q->graph->n_tensors; k++)
        if (q->graph->tensor[k].role == p->graph->tensor[t].role
            && streq(name_of(q, k), name_of(p, t)))
            return k;
    return -1;
}

/* Whether both layouts have the same primitives and are therefore equal. */
static bool same_prims(const struct layout *a, const struct layout *b)
{
    return a->n_prims == b->n_prims
        && (a->n_prims == 0
            || memcmp(a->prims, b->prims, sizeof *a->prims * (size_t)a->n_prims) == 0);
}

/* Like layout_memory_equal, for layouts of two different pools. Does not change the pools. */
static bool same_memory(const struct layout *a, const struct layout *b)
{
    struct arena *pass = arena_new();
    struct exprs *pool = exprs_new(pass);
    const struct layout *x, *y;
    struct err ignored;
    bool same = layout_apply_all(pool, a->tensor, a->prims, a->n_prims, &x, &ignored)
             && layout_apply_all(pool, a->tensor, b->prims, b->n_prims, &y, &ignored)
             && layout_memory_equal(pool, x, y);
    arena_free(pass);
    return same;
}

bool contract_difference(struct str *out, const struct program *p, const struct program *q)
{
    bool differs = false;
    for (int t = 0; t < p->graph->n_tensors; t++) {
        const struct tensor *tensor = &p->graph->tensor[t];
        int other = is_callers(tensor) ? counterpart(p, t, q) : -1;
        struct str mine = {0}, theirs = {0};
        if (other < 0 || same_prims(p->layout[t], q->layout[other])
            || same_memory(p->layout[t], q->layout[other]))
            continue;
        print_layout(&mine, p->layout[t]);
        print_layout(&theirs, q->layout[other]);
        bool alike = streq(str_text(&mine), str_text(&theirs));
        str_printf(out, "%s%s %s as %s instead of %s", differs ? "; " : "", name_of(p, t),
                   tensor->role == TENSOR_INPUT ? "arrives" : "leaves", str_text(&mine),
                   alike ? "another layout with the same dims" : str_text(&theirs));
        differs = true;
        str_free(&mine);
        str_free(&theirs);
    }
    return differs;
}
