/* Prints the C of a module. */
#include "kernels/module/module.h"

#include <stdlib.h>

#include "kernels/base/arena.h"

/* Prints calls of the entries, which gen_join has numbered. Each kernel gets its own buffers. */
static void print_calls(const struct module *m, struct str *out)
{
    const char *type = m->buffer[0].is->type->c;
    str_printf(out, "\nvoid ts_entry(%s *const *buffers)\n{\n", type);
    for (int i = 0; i < m->n_calls; i++) {
        const struct module_call *call = &m->call[i];
        str_printf(out, "    ts_entry_%d((%s *const[]){ ", call->kernel, type);
        for (int p = 0; p < m->kernel[call->kernel].func->n_params; p++)
            str_printf(out, "%sbuffers[%d]", p ? ", " : "", call->buffer[p]);
        str_add(out, " });\n");
    }
    str_add(out, "}\n");
}

void module_symbol(const struct module *m, int k, struct str *out)
{
    str_add(out, m->kernel[k].name);
    if (m->n_kernels > 1)
        str_printf(out, "_%d", k);
}

static bool print_kernel(const struct module *m, int k, struct gen_opts o, struct str *out,
                         struct err *e)
{
    o.name = m->kernel[k].name;
    return gen_c(m->kernel[k].func, &o, out, e);
}

bool module_c(const struct module *m, const struct gen_opts *o, struct str *out, struct err *e)
{
    if (m->n_kernels == 1)
        return print_kernel(m, 0, *o, out, e);
    struct gen_opts plain = *o;
    struct str *text = xcalloc((size_t)m->n_kernels, sizeof *text);
    const char **source = xcalloc((size_t)m->n_kernels, sizeof *source);
    bool ok = true;
    for (int k = 0; k < m->n_kernels && ok; k++) {
        plain.header = k == 0 ? o->header : NULL;
        ok = print_kernel(m, k, plain, &text[k], e);
        source[k] = str_text(&text[k]);
    }
    if (ok) {
        gen_join(source, m->n_kernels, out);
        print_calls(m, out);
    }
    for (int k = 0; k < m->n_kernels; k++)
        str_free(&text[k]);
    free(text);
    free(source);
    return ok;
}
