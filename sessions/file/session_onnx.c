/* Opens ONNX files as sessions. */
#include "sessions/file/session.h"

#include <stdio.h>
#include <string.h>

#include "kernels/onnx/onnx.h"
#include "kernels/onnx/weights.h"

static bool unsupported(const struct onnx_model *m, const struct onnx_graph *g, const char *path,
                        struct err *e)
{
    struct str names = { 0 };
    int shown = 0;
    for (int i = 0; i < m->n_nodes; i++) {
        if (!g->reason[i] || str_starts(g->reason[i], ONNX_DEPENDS) || shown++ >= 3)
            continue;
        str_printf(&names, "%s%.60s %.60s: %.120s", shown > 1 ? "; " : "", m->node[i].op,
                   m->node[i].name, g->reason[i]);
    }
    err_set(e, ERR_ENV, "%.120s: %d of %d nodes cannot be computed here: %s%s", path,
            g->n_unsupported, m->n_nodes, str_text(&names), shown > 3 ? "; ..." : "");
    str_free(&names);
    return err_fix(e, "tilescope show %.200s --what graph lists every node", path);
}

static void describe(struct session *s, const char *path, const struct onnx_graph *g)
{
    const char *base = strrchr(path, '/');
    s->of_model = true;
    snprintf(s->model, sizeof s->model, "%s", strlen(path) < sizeof s->model ? path : "");
    const char *title = base ? base + 1 : path;
    const struct graph *graph = history_current(s->history)->program->base;
    snprintf(s->title, sizeof s->title, "%.*s", (int)utf8_fit(title, 200), title);
    str_add(&s->note, str_text(&g->notes));
    for (int i = 0; i < g->input.len + g->output.len; i++) {
        const struct onnx_binding *b = i < g->input.len ? &g->input.data[i]
                                                        : &g->output.data[i - g->input.len];
        int t = graph_tensor(graph, b->tensor);
        if (t >= 0 && graph->tensor[t].role != TENSOR_CONST)
            session_add_port(s, b->tensor, b->value);
    }
}

bool session_from_onnx(const char *path, const char *dims, struct str *nodes,
                       struct session **out, struct err *e)
{
    struct weights *w = weights_load(path, e);
    struct onnx_graph g;
    if (!w)
        return false;
    struct onnx_model *m = weights_model(w);
    bool ok = (!dims || onnx_set_dims(m, dims, e)) && onnx_import(m, NULL, 0, &g, e);
    if (ok) {
        ok = g.n_unsupported ? unsupported(m, &g, path, e)
                             : session_new(str_text(&g.text), out, e);
        if (ok)
            describe(*out, path, &g);
        else if (nodes && g.n_unsupported)
            onnx_print(nodes, m, &g);
        onnx_graph_free(&g);
    }
    if (ok)
        weights_keep(w);
    else
        weights_free(w);
    return ok;
}
