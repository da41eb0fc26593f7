/* `tilescope import`, and ONNX models that cannot be opened as a session. */
#include <stdio.h>

#include "app/cli/cli.h"
#include "kernels/base/file.h"
#include "kernels/onnx/onnx.h"

static bool list_nodes(const char *path, struct str *out, int *missing, struct err *e)
{
    struct onnx_model *m;
    struct onnx_graph g;
    if (!onnx_load(path, &m, e))
        return false;
    bool ok = onnx_import(m, NULL, 0, &g, e);
    if (ok) {
        *missing = g.n_unsupported;
        onnx_print(out, m, &g);
        onnx_graph_free(&g);
    }
    onnx_free(m);
    return ok;
}

bool cli_onnx_shown(const struct cli *c, int *code)
{
    struct str out = {0};
    struct err e = {0};
    int missing = 0;
    if (c->args->word.len != 1 || !str_ends(c->args->word.data[0], ".onnx"))
        return false;
    bool ok = list_nodes(c->args->word.data[0], &out, &missing, &e);
    if (!ok)
        *code = cli_fail(c, &e);
    else if (missing)
        cli_put(&out);
    if (ok && missing)
        *code = c->args->cmd == CMD_SHOW ? EXIT_FINE : EXIT_LACKS;
    str_free(&out);
    return !ok || missing;
}

int cmd_import(const struct cli *c)
{
    const char *to = args_value(c->args, OPT_OUTPUT);
    struct session *s;
    struct err e = {0};
    int code = EXIT_FINE;
    if (c->args->word.len != 1)
        return cli_usage(c, "which model? one .onnx file");
    if (cli_onnx_shown(c, &code))
        return code;
    if (!session_from_onnx(c->args->word.data[0], &s, &e))
        return cli_fail(c, &e);
    struct str out = {0};
    session_yaml_in(s, to && !streq(to, "-") ? to : NULL, &out);
    if (!to || streq(to, "-"))
        cli_put(&out);
    else if (!file_write_atomic(to, str_text(&out), out.len, &e))
        code = cli_fail(c, &e);
    str_free(&out);
    session_free(s);
    return code;
}
