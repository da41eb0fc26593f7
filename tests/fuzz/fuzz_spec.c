#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/module/simplify.h"
#include "kernels/onnx/weights.h"
#include "kernels/ops/reference.h"
#include "kernels/program/program.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/graph_print.h"
#include "tests/unit/reference_slow.h"

#define TINY_ELEMS 2000
#define TINY_FLOPS 40000

/* Data in files are none of the text; sums of huge values depend on their order. */
static bool tame(const struct tensor_source *s)
{
    for (int64_t i = 0; s && i < s->n; i++)
        if (!(fabsf(s->value[i]) < 1e3f))
            return false;
    return !s || s->n > 0;
}

static bool tiny(const struct graph *g)
{
    for (int t = 0; t < g->n_tensors; t++)
        if (tensor_elems(&g->tensor[t]) > TINY_ELEMS || !tame(g->tensor[t].source))
            return false;
    return g->flops <= TINY_FLOPS && g->n_tensors <= 40;
}

static double **new_data(struct arena *a, const struct graph *g)
{
    double **data = ARENA_ARRAY(a, double *, g->n_tensors);
    for (int t = 0; t < g->n_tensors; t++) {
        int64_t n = tensor_elems(&g->tensor[t]);
        float *values = ARENA_ARRAY(a, float, n);
        data[t] = ARENA_ARRAY(a, double, n);
        struct err e;
        FUZZ_CHECK(weights_tensor_data(&g->tensor[t], 1, values, &e), "%s", e.text);
        for (int64_t i = 0; i < n && g->tensor[t].producer < 0; i++)
            data[t][i] = (double)values[i];
    }
    return data;
}

/* Infinities and what is no number (the root of -1) are the same in both. */
static bool same_value(double x, double y)
{
    if (!isfinite(x) || !isfinite(y))
        return isnan(x) ? isnan(y) : x == y;
    return fabs(x - y) <= 1e-9 * (1 + fabs(y));
}

static void check_references(const struct graph *g)
{
    struct arena *a = arena_new();
    double **fast = new_data(a, g), **slow = new_data(a, g);
    struct err e = {0};
    FUZZ_CHECK(reference_eval(g, fast, NULL, &e), "%s", e.text);
    reference_eval_slow(g, slow);
    for (int t = 0; t < g->n_tensors; t++)
        for (int64_t i = 0; i < tensor_elems(&g->tensor[t]); i++) {
            double x = fast[t][i], y = slow[t][i];
            FUZZ_CHECK(same_value(x, y), "%s[%lld]: %g, not %g",
                       g->tensor[t].name, (long long)i, x, y);
        }
    arena_free(a);
}

/* The canonical text of g is canonical, and the same graph. */
static void check_canonical(struct arena *a, const struct graph *g)
{
    const struct graph *again;
    struct str text = {0}, text_again = {0};
    struct err e = {0};
    if (!graph_from_spec(a, g->spec, &again, &e))
        fail("the canonical \"%s\" is refused: %s", g->spec, e.text);
    graph_print(&text, g);
    graph_print(&text_again, again);
    fuzz_say(g->spec);
    fuzz_say(str_text(&text));
    FUZZ_CHECK(streq(g->spec, again->spec), "\"%s\" is not canonical", g->spec);
    FUZZ_CHECK(streq(str_text(&text), str_text(&text_again)), "\"%s\" is another graph", g->spec);
    str_free(&text);
    str_free(&text_again);
}

/* Simplified, the graph has the same inputs and outputs. */
static void check_simplified(struct arena *a, const struct graph *g)
{
    const struct graph *simple;
    struct err e = {0};
    unsigned all = (1u << simplify_n_passes()) - 1;
    FUZZ_CHECK(simplify_graph(a, g, all, &simple, NULL, &e), "\"%s\": %s", g->spec, e.text);
    fuzz_say(simple->spec);
    for (int t = 0; t < g->n_tensors; t++) {
        const struct tensor *x = &g->tensor[t];
        if (x->role != TENSOR_INPUT && x->role != TENSOR_OUTPUT)
            continue;
        int s = graph_tensor(simple, x->name);
        FUZZ_CHECK(s >= 0 && simple->tensor[s].role == x->role &&
                   tensor_elems(&simple->tensor[s]) == tensor_elems(x),
                   "\"%s\" lost %s: \"%s\"", g->spec, x->name, simple->spec);
    }
}

static void check_program(struct arena *a, const char *spec)
{
    const struct program *p;
    const struct func *f;
    struct str out = {0};
    struct err e = {0};
    if (!program_new(a, spec, &p, &e))
        fail("\"%s\" makes a graph, but no program: %s", spec, e.text);
    if (!program_lower(p, &f, &e))
        fail("\"%s\" has no loop nest: %s", spec, e.text);
    program_print_access(&out, p);
    func_print(&out, f);
    fuzz_say(str_text(&out));
    str_free(&out);
}

int fuzz_spec(const uint8_t *data, size_t n)
{
    char *text = fuzz_text(data, n);
    struct arena *a = arena_new();
    const struct graph *g = NULL;
    struct err e = {0};
    if (graph_from_spec(a, text, &g, &e)) {
        check_canonical(a, g);
        check_simplified(a, g);
        check_program(a, g->spec);
        if (tiny(g))
            check_references(g);
    } else {
        FUZZ_CHECK(!g, "a graph with an error");
        fuzz_error(&e);
    }
    arena_free(a);
    free(text);
    return 0;
}
