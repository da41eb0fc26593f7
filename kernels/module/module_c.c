/* Prints the C of a module. */
#include "kernels/module/module.h"

#include <stdlib.h>

#include "kernels/base/arena.h"

/* The kinds of entries. ALL: ts_apart, and ts_entry of a module without a plan. PLANNED: ts_entry
 * of a module with a plan. TIMED: ts_timed. */
enum entry { ENTRY_ALL, ENTRY_PLANNED, ENTRY_TIMED };

/* Returns how many of the first n buffers the caller passes to this kind of entry. */
static int callers(const struct module *m, enum entry kind, int n)
{
    int count = 0;
    for (int i = 0; i < n; i++)
        count += kind == ENTRY_ALL || m->plan->at[i] < 0;
    return count;
}

/* Prints the argument for buffer b: a buffer that the caller passes, or a place in the block of
 * memory, which the caller passes after its buffers. */
static void print_buffer(const struct module *m, enum entry kind, int b, struct str *out)
{
    if (kind == ENTRY_ALL || m->plan->at[b] < 0)
        str_printf(out, "buffers[%d]", callers(m, kind, b));
    else
        str_printf(out, "buffers[%d] + %lld", callers(m, kind, m->n_buffers),
                   (long long)(m->plan->at[b] / m->buffer[b].is->type->bytes));
}

/* Whether any kernel of the module has a buffer of a narrow type.  The entry of the module then
 * takes void pointers. */
static bool any_narrow(const struct module *m)
{
    for (int k = 0; k < m->n_kernels; k++)
        if (func_is_narrow(m->kernel[k].func))
            return true;
    return false;
}

/* Prints a function that calls the entries of the kernels, ts_entry_0, ts_entry_1, ... (gen_join).
 * An ENTRY_TIMED first makes a run that it does not time: the caches are then as in the middle of
 * many runs. */
static void print_calls(const struct module *m, const char *name, enum entry kind,
                        struct str *out)
{
    const char *type = m->buffer[0].is->type->c;
    str_printf(out, "\nvoid %s(%s *const *buffers)\n{\n", name, any_narrow(m) ? "void" : type);
    if (kind == ENTRY_TIMED)
        str_printf(out, "    %s *seconds = buffers[%d];\n    ts_entry(buffers);\n"
                   "    double since = ts_now();\n", type, callers(m, kind, m->n_buffers) + 1);
    for (int i = 0; i < m->n_calls; i++) {
        const struct module_call *call = &m->call[i];
        const struct func *f = m->kernel[call->kernel].func;
        str_printf(out, "    ts_entry_%d((%s *const[]){ ", call->kernel,
                   func_is_narrow(f) ? "void" : f->buffer[0].type->c);
        for (int p = 0; p < f->n_params; p++) {
            str_add(out, p ? ", " : "");
            print_buffer(m, kind, call->buffer[p], out);
        }
        str_add(out, " });\n");
        if (kind == ENTRY_TIMED)
            str_printf(out, "    since = ts_lap(since, &seconds[%d]);\n", i);
    }
    str_add(out, "}\n");
}

/* Prints the three entries of a module with a plan. */
static void print_planned(const struct module *m, struct str *out)
{
    const char *type = m->buffer[0].is->type->c;
    print_calls(m, "ts_apart", ENTRY_ALL, out);
    print_calls(m, "ts_entry", ENTRY_PLANNED, out);
    str_printf(out, "\n#include <time.h>\n\nstatic double ts_now(void)\n{\n"
               "    struct timespec t;\n    clock_gettime(CLOCK_MONOTONIC, &t);\n"
               "    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;\n}\n\n"
               "/* Lowers *least to the seconds since then, and returns now. */\n"
               "static double ts_lap(double since, %s *least)\n{\n"
               "    double now = ts_now();\n    %s seconds = (%s)(now - since);\n"
               "    if (!(*least <= seconds))\n        *least = seconds;\n"
               "    return ts_now();\n}\n", type, type, type);
    print_calls(m, "ts_timed", ENTRY_TIMED, out);
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
    if (m->n_kernels == 1 && !m->plan)
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
        gen_join(source, m->n_kernels, 0, out);
        if (m->plan)
            print_planned(m, out);
        else
            print_calls(m, "ts_entry", ENTRY_ALL, out);
    }
    for (int k = 0; k < m->n_kernels; k++)
        str_free(&text[k]);
    free(text);
    free(source);
    return ok;
}
