#include <stdlib.h>
#include "kernels/ops/graph.h"
#include "kernels/onnx/onnx.h"
#include "tests/fuzz/fuzz.h"

#define SMALL_ELEMS 20000
#define SMALL_TENSORS 60

static bool small(const struct graph *g)
{
    for (int t = 0; t < g->n_tensors; t++)
        if (tensor_elems(&g->tensor[t]) > SMALL_ELEMS)
            return false;
    return g->n_tensors <= SMALL_TENSORS;
}

/* What the importer wrote is a graph that has what the bindings name; a small one is checked like
 * any other text: canonical, its loop nest, both references. */
static void check_text(const struct onnx_graph *o)
{
    struct arena *a = arena_new();
    const char *text = str_text(&o->text);
    const struct graph *g;
    struct err e = {0};
    if (!graph_from_spec(a, text, &g, &e))
        fail("the imported \"%s\" is refused: %s", text, e.text);
    for (int i = 0; i < o->input.len; i++)
        FUZZ_CHECK(graph_tensor(g, o->input.data[i].tensor) >= 0, "no input %s in \"%s\"",
                   o->input.data[i].tensor, text);
    FUZZ_CHECK(o->output.len > 0, "no outputs");
    for (int i = 0; i < o->output.len; i++)
        FUZZ_CHECK(graph_tensor(g, o->output.data[i].tensor) >= 0, "no output %s in \"%s\"",
                   o->output.data[i].tensor, text);
    if (small(g))
        fuzz_spec((const uint8_t *)text, o->text.len);
    arena_free(a);
}

static void check_reasons(const struct onnx_graph *o)
{
    int with = 0;
    for (int i = 0; i < o->n_nodes; i++)
        with += o->reason[i] != NULL;
    FUZZ_CHECK(with >= 1 && o->n_unsupported >= 1, "%d reasons, %d nodes not supported", with,
               o->n_unsupported);
    FUZZ_CHECK(o->text.len == 0, "a text in spite of nodes that are not supported");
}

int fuzz_onnx(const uint8_t *data, size_t n)
{
    struct onnx_model *m = NULL;
    struct onnx_graph o;
    struct str out = {0};
    struct err e = {0};
    if (!onnx_read("fuzz.onnx", data, n, &m, &e)) {
        FUZZ_CHECK(!m, "a model with an error");
        fuzz_error(&e);
        return 0;
    }
    if (onnx_import(m, NULL, 0, &o, &e)) {
        onnx_print(&out, m, &o);
        FUZZ_CHECK(out.len > 0, "no list of nodes");
        fuzz_say(str_text(&out));
        fuzz_say(str_text(&o.text));
        if (o.n_unsupported)
            check_reasons(&o);
        else
            check_text(&o);
        onnx_graph_free(&o);
    } else {
        FUZZ_CHECK(e.code != ERR_BUG, "%s", e.text);
        fuzz_error(&e);
    }
    str_free(&out);
    onnx_free(m);
    return 0;
}
