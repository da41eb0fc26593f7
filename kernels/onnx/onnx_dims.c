/* Sets the open dims of a model that has been read. */
#include <stdio.h>
#include <string.h>

#include "kernels/onnx/onnx.h"

/* Sets the open dims whose name is the first n bytes of `name`.  Returns how many it has set. */
static int set_dim(struct onnx_port *port, int n_ports, const char *name, size_t n, int64_t size)
{
    int found = 0;
    for (int i = 0; i < n_ports; i++)
        for (int d = 0; d < port[i].rank; d++) {
            const char *have = port[i].dim_name[d];
            if (!have || strlen(have) != n || memcmp(have, name, n) != 0)
                continue;
            port[i].dims[d] = size;
            found++;
        }
    return found;
}

void onnx_open_dims(struct onnx_model *m)
{
    for (int i = 0; i < m->n_in + m->n_out; i++) {
        struct onnx_port *p = i < m->n_in ? &m->in[i] : &m->out[i - m->n_in];
        for (int d = 0; d < p->rank; d++)
            p->dims[d] = p->dim_name[d] ? -1 : p->dims[d];
    }
    m->dims = NULL;
}

/* Sets the error for `name`, n bytes long, which no open dim of an input has. */
static bool no_such_dim(const struct onnx_model *m, const char *name, int n, struct err *e)
{
    struct str names = { 0 };
    for (int i = 0; i < m->n_in; i++)
        for (int d = 0; d < m->in[i].rank; d++)
            if (m->in[i].dim_name[d])
                str_printf(&names, "%s%.60s", names.len ? ", " : "", m->in[i].dim_name[d]);
    err_set(e, ERR_NAME, "the model has no open dimension \"%.*s\"", n < 60 ? n : 60, name);
    if (names.len)
        err_fix(e, "its open dimensions: %.150s", str_text(&names));
    else
        err_fix(e, "all dimensions of its inputs have numbers; leave --dim out");
    str_free(&names);
    return false;
}

bool onnx_set_dims(struct onnx_model *m, const char *dims, struct err *e)
{
    for (const char *s = dims; *s;) {
        size_t word = strcspn(s, ","), n = strcspn(s, "=,");
        char number[24];
        long long size;
        snprintf(number, sizeof number, "%.*s", n < word ? (int)(word - n - 1) : 0, s + n + 1);
        if (n == 0 || n == word || !str_to_int64(number, 1, 1 << 30, &size)) {
            err_set(e, ERR_SYNTAX, "\"%.*s\" is not of the form NAME=SIZE",
                    word < 60 ? (int)word : 60, s);
            return err_fix(e, "--dim batch=1");
        }
        if (set_dim(m->in, m->n_in, s, n, size) == 0)
            return no_such_dim(m, s, (int)n, e);
        set_dim(m->out, m->n_out, s, n, size);
        s += word + (s[word] == ',');
    }
    m->dims = arena_strdup(m->arena, dims);
    return true;
}
