/* Runs the passes of simplify.h. */
#include "kernels/module/simplify_impl.h"

/* The passes in the order in which they run: later passes match the results of earlier ones. */
static const struct simplify_row {
    struct simplify_pass is;
    bool (*run)(struct rewrite *r, int i);
} table[] = {
    { { "numbers", "arithmetic with one number: affine, clip", true }, pass_numbers },
    { { "identity", "removes no-ops; merges chains of reshapes and of transposes", true },
      pass_identity },
    { { "functions", "spellings of GELU, SiLU, HardSwish, ReLU6 and others", true },
      pass_functions },
    { { "softmax", "spellings of softmax", true }, pass_softmax },
    { { "layernorm", "spellings of layer normalisation", true }, pass_layernorm },
    { { "gemm", "gemm with constant weights to matmul", true }, pass_gemm },
    { { "channels", "batchnorm, factors and summands per channel into weights and bias", true },
      pass_channels },
    { { "scale", "a factor before a product to a factor after it", true }, pass_scale },
    { { "pad", "zeros around the input of a convolution into its own padding", true }, pass_pad },
    { { "act", "a function into the convolution or product before it", true }, pass_act },
    { { "projections", "products of one tensor with several matrices to one product", false },
      pass_projections },
};
_Static_assert(COUNT_OF(table) <= SIMPLIFY_MAX_PASSES, "counts of callers have room for all");

int simplify_n_passes(void)
{
    return COUNT_OF(table);
}

const struct simplify_pass *simplify_pass(int i)
{
    return &table[i].is;
}

unsigned simplify_default(void)
{
    unsigned set = 0;
    for (int i = 0; i < COUNT_OF(table); i++)
        set |= (unsigned)table[i].is.on << i;
    return set;
}

/* Whether passes may rewrite statement i.  Statements over constants stay as they are, since they
 * are computed once. */
static bool is_open(const struct rewrite *r, int i)
{
    const struct rewrite_stmt *s = rewrite_at(r, i);
    return s->live && !s->fixed && !s->constant;
}

/* Runs a pass over all statements. Returns the number of changes that it made. */
static int run_pass(struct rewrite *r, const struct simplify_row *pass)
{
    int changes = 0;
    for (int i = 0; i < r->stmt.len; i++)
        while (is_open(r, i) && pass->run(r, i)) {
            changes++;
            rewrite_refresh(r);
        }
    return changes;
}

/* Runs the passes again and again until none changes anything. */
static void run_passes(struct rewrite *r, unsigned passes, int *counts)
{
    int changes;
    do {
        changes = 0;
        for (int i = 0; i < COUNT_OF(table); i++) {
            int n = passes >> i & 1 ? run_pass(r, &table[i]) : 0;
            changes += n;
            counts[i] += n;
        }
    } while (changes > 0);
}

/* Runs the passes, and composes a graph from the resulting statements. */
static bool rewritten(struct rewrite *r, unsigned passes, int *counts, const struct graph **out,
                      struct err *e)
{
    struct str text = { 0 };
    for (int i = 0; i < COUNT_OF(table); i++)
        counts[i] = 0;
    run_passes(r, passes, counts);
    rewrite_print(r, &text);
    bool ok = graph_from_spec(r->a, str_text(&text), out, e);
    str_free(&text);
    return ok;
}

/* An operator that a pass writes can have an inner tensor with the name of another statement.
 * Composing the graph then fails with ERR_NAME. The next attempt does not rewrite the statements
 * that can have such an inner tensor. */
bool simplify_graph(struct arena *a, const struct graph *g, unsigned passes,
                    const struct graph **out, int *counts, struct err *e)
{
    VEC(const char *) kept = { 0 };
    int own[SIMPLIFY_MAX_PASSES];
    if (type_is_narrow(g->type)) {
        err_set(e, ERR_TYPE, "networks are computed in float32, and this graph is in %s",
                g->type->title);
        return err_fix(e, "leave out type=%s, or open the graph as a single program instead of a "
                       "network", g->type->name);
    }
    bool ok = g->n_statements == 0, again = true;
    for (int i = 0; counts && i < COUNT_OF(table); i++)
        counts[i] = 0;
    if (ok)
        *out = g;
    while (!ok && again) {
        struct rewrite r;
        rewrite_read(&r, a, g);
        for (int i = 0; i < kept.len; i++)
            again = rewrite_fix(&r, kept.data[i]);
        ok = again && rewritten(&r, passes, counts ? counts : own, out, e);
        again = again && !ok && e->code == ERR_NAME;
        if (again)
            vec_push(&kept, arena_strndup(a, e->source, strcspn(e->source, " =")));
        rewrite_free(&r);
    }
    vec_free(&kept);
    return ok;
}
