/* `tilescope export` writes kernels as C files and networks as C libraries; `tilescope import`
 * reads ONNX models. */
#include "app/cli/cli_network.h"

#include <stdio.h>
#include <sys/stat.h>

#include "kernels/base/file.h"
#include "sessions/export/export.h"
#include "sessions/file/session_network.h"

/* Whether path is a regular file and no device. After an export to /dev/stdout, a message on stdout
 * would become a part of the exported text. */
static bool is_plain_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && !str_starts(path, "/dev/");
}

static bool write_export(const struct cli *c, const struct opened *o, struct err *e)
{
    const char *path = args_value(c->args, OPT_OUTPUT);
    struct export_opts opts = { path, args_value(c->args, OPT_COMPILER), NULL };
    struct str out = {0}, command = {0};
    bool ok = args_target(c->args, &opts.target, e) && export_c(o->session, &opts, &out, e) &&
              export_command(o->session, &opts, &command, e);
    if (ok && (!path || streq(path, "-"))) {
        cli_put(&out);
    } else if (ok) {
        ok = file_write_atomic(path, str_text(&out), out.len, e);
        if (ok && is_plain_file(path))
            printf("%s: %s\n%s\n", path, export_is_cuda(o->session, &opts)
                   ? "its kernels and how to launch them; compile it with"
                   : "compile and run it with", str_text(&command));
    }
    str_free(&out);
    str_free(&command);
    return ok;
}

/* Whether a session that opens as a network is still exported as one C file: it is a graph that is
 * no model and no network file, and -o names a .c file or stdout, or is not given. */
static bool wants_file(const struct cli *c, const struct session *s)
{
    const char *path = args_value(c->args, OPT_OUTPUT);
    return !s->of_model && !s->network && (!path || streq(path, "-") || str_ends(path, ".c"));
}

int cli_export(const struct cli *c)
{
    struct opened o;
    struct err e = {0};
    int code = cli_open(c, &o);
    if (code != EXIT_FINE)
        return code;
    if (session_opens_as_network(o.session) && !wants_file(c, o.session))
        code = cli_network_export(c, &o);
    else if (!write_export(c, &o, &e))
        code = cli_fail(c, &e);
    cli_close(&o);
    return code;
}

/* --- import, and ONNX models that cannot be opened as a session ------------------------------- */

int cli_onnx_fail(const struct cli *c, struct str *nodes, const struct err *e)
{
    if (!nodes || nodes->len == 0)
        return cli_fail(c, e);
    cli_put(nodes);
    return c->args->cmd == CMD_SHOW ? EXIT_FINE : EXIT_LACKS;
}

int cli_import(const struct cli *c)
{
    const char *to = args_value(c->args, OPT_OUTPUT);
    struct session *s;
    struct err e = {0};
    struct str out = {0}, list = {0};
    int code = EXIT_FINE;
    if (c->args->word.len != 1)
        return cli_usage(c, "which model? one .onnx file");
    const char *dims = args_joined(c->args, OPT_DIM, &list);
    bool ok = session_from_onnx(c->args->word.data[0], dims, &out, &s, &e);
    str_free(&list);
    if (!ok) {
        code = cli_onnx_fail(c, &out, &e);
        str_free(&out);
        return code;
    }
    session_yaml_in(s, to && !streq(to, "-") ? to : NULL, &out);
    if (!to || streq(to, "-"))
        cli_put(&out);
    else if (!file_write_atomic(to, str_text(&out), out.len, &e))
        code = cli_fail(c, &e);
    str_free(&out);
    session_free(s);
    return code;
}
