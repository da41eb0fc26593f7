/* Applies the step `algorithm`: another algorithm computes a convolution.  The parts of the
 * algorithm are ordinary nodes of the derived graph (winograd.h). */
#include "kernels/program/program_impl.h"

#include "kernels/ops/winograd.h"

static double error_of(const struct algorithm *x)
{
    return x->m == 2 ? WINOGRAD_ERROR_2 : WINOGRAD_ERROR_4;
}

#define TF32_ERROR (2 * TF32_ROUNDOFF)    /* largest relative error of a product in tf32 */

void program_set_tf32(struct program *draft, bool on)
{
    draft->tf32 = on;
    draft->form = graph_with_factors(draft->arena, draft->form, on ? TF32_ROUNDOFF : 0);
}

bool program_accurate(const struct program *draft, struct err *e)
{
    if (draft->tf32 && TF32_ERROR > draft->accuracy) {
        err_set(e, ERR_STEP, "products in tf32 have a relative error of about %.0e, more than the "
                "accuracy of %g that was set", TF32_ERROR, draft->accuracy);
        return err_fix(e, "set multiply f32, or set accuracy %.0e", TF32_ERROR);
    }
    for (int i = 0; i < draft->n_algorithms; i++) {
        const struct algorithm *x = &draft->algorithm[i];
        if (error_of(x) <= draft->accuracy)
            continue;
        err_set(e, ERR_STEP, "winograd with m=%d has a relative error of about %.0e, more than the "
                "accuracy of %g that was set", x->m, error_of(x), draft->accuracy);
        return WINOGRAD_ERROR_2 <= draft->accuracy
                   ? err_fix(e, "use m=2, or apply: set accuracy %.0e", error_of(x))
                   : err_fix(e, "compute %s directly, or apply: set accuracy %.0e", x->tensor,
                             error_of(x));
    }
    return true;
}

/* Checks that no earlier step has set the layout of the convolution's weights, stored them in
 * another constant, or factored a reduction of the convolution.  The algorithm replaces the
 * weights and the convolution. */
static bool check_unused(const struct program *d, const struct step *s, struct err *e)
{
    const struct graph *g = d->graph;
    int node = graph_node_of(g, s->target);
    for (int t = 0; t < g->n_tensors; t++) {
        if (g->tensor[t].role != TENSOR_CONST || !graph_reads(g, node, t)
            || (d->source[t] == LAYOUT_PLAIN && d->held_in[t] < 0))
            continue;
        err_set(e, ERR_STEP, "%s already has a layout, and winograd replaces it by transformed "
                "weights", g->tensor[t].name);
        return err_fix(e, "apply the algorithm before the layouts: undo, or layout reset %s",
                       g->tensor[t].name);
    }
    for (int i = 0; i < d->n_rfactors; i++)
        if (strcaseeq(d->rfactor[i].tensor, s->target)) {
            err_set(e, ERR_STEP, "a reduction of %s is factored already", s->target);
            return err_fix(e, "undo to before the rfactor, then apply this");
        }
    return true;
}

bool program_algorithm_step(struct program *draft, const struct step *s, struct err *e)
{
    const struct graph *g = draft->form;
    int node = graph_node_of(g, s->target);
    if (node < 0) {
        err_set(e, ERR_NAME, "no node computes a tensor %s", s->target);
        err_fix(e, "name the result of a convolution: %s",
                g->tensor[g->node[g->main_node].out].name);
        return blame_target(e, s);
    }
    if (!streq(s->arg[0].text, "winograd")) {
        err_set(e, ERR_NAME, "there is no algorithm %s", s->arg[0].text);
        err_fix(e, "the algorithms are: winograd");
        return blame_word(e, &s->arg[0]);
    }
    int64_t m = s->opt[0].value;
    if (!winograd_check(g, node, m, e) || !check_unused(draft, s, e))
        return blame_target(e, s);
    struct algorithm *list = ARENA_ARRAY(draft->arena, struct algorithm, draft->n_algorithms + 1);
    for (int i = 0; i < draft->n_algorithms; i++)
        list[i] = draft->algorithm[i];
    list[draft->n_algorithms++] = (struct algorithm){ g->tensor[g->node[node].out].name, (int)m };
    draft->algorithm = list;
    draft->form = graph_with_winograd(draft->arena, g, node, (int)m);
    if (draft->tf32)
        program_set_tf32(draft, true);
    return program_accurate(draft, e) || blame_target(e, s);
}

void program_print_algorithms(struct str *out, const struct program *p)
{
    for (int i = 0; i < p->n_algorithms; i++)
        str_printf(out, "%s%s: winograd m=%d", i ? ", " : "", p->algorithm[i].tensor,
                   p->algorithm[i].m);
    if (p->tf32)
        str_printf(out, "%sproducts in tf32", p->n_algorithms ? ", " : "");
}
