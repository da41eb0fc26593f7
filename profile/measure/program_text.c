/* Generates the C and the assembly of a program, for measuring and for showing. */
#include "profile/measure/program_text.h"

#include <string.h>

#include "profile/build/build.h"

enum { HEADER_COLUMNS = 88 };

bool program_text_module(const struct program *p, const struct module **out, struct err *e)
{
    const struct func *f;
    if (!program_lower(p, &f, e))
        return false;
    *out = module_of(f);
    return true;
}

bool program_text_code(const struct program *p, const struct target *t, struct str *text,
                       bool *openmp, struct err *e)
{
    const struct module *m;
    const struct gen_opts o = { .target = t, .openmp = true };
    if (!program_text_module(p, &m, e))
        return false;
    *openmp = module_is_parallel(m);
    return module_c(m, &o, text, e);
}

/* Adds the ISA of the text, and the command line that compiles it with the same flags. */
static void add_compile_line(struct str *header, const struct target *t, int lanes, bool openmp)
{
    struct str line = {0};
    str_printf(header, "\nFor %s (%d lane%s), compiled with", t->isa, lanes, lanes == 1 ? "" : "s");
    str_add(&line, "    gcc");
    for (const char *const *f = target_flags(t, false); *f; f++) {
        if (line.len + strlen(*f) > HEADER_COLUMNS) {
            str_printf(header, "\n%s", str_text(&line));
            str_clear(&line);
            str_add(&line, "       ");
        }
        str_printf(&line, " %s", *f);
    }
    str_printf(header, "\n%s%s", str_text(&line), openmp ? " -fopenmp" : "");
    str_free(&line);
}

/* Adds the code so that it also compiles without a warning by plain `gcc -O2 -Wall`. */
static void add_portable(struct str *out, const char *code)
{
    bool first = true;
    for (const char *line = code; *line;) {
        if (first && str_starts(line, "typedef ")) {
            str_add(out, "/* Vectors never cross a call: their ABI does not matter. */\n"
                         "#pragma GCC diagnostic ignored \"-Wpsabi\"\n");
            first = false;
        }
        if (gen_macro(out, line, &line))
            continue;
        size_t n = strnlen(line, strcspn(line, "\n") + 1);
        str_add_n(out, line, n);
        line += n;
    }
}

bool program_text_c(const struct program *p, const struct target *t, struct str *out,
                    struct err *e)
{
    const struct module *m;
    struct gen_opts o = { .target = target_or_host(t), .openmp = true };
    struct str header = {0};
    if (!program_text_module(p, &m, e))
        return false;
    str_add(&header, p->base->spec);
    for (int i = 0; i < p->n_steps; i++)
        str_printf(&header, "\n    %s", p->steps[i]);
    add_compile_line(&header, o.target, target_lanes(o.target, p->graph->type),
                     module_is_parallel(m));
    o.header = str_text(&header);
    struct str text = {0};
    bool ok = module_c(m, &o, &text, e);
    if (ok)
        add_portable(out, str_text(&text));
    str_free(&text);
    str_free(&header);
    return ok;
}

bool program_text_asm(const struct program *p, const struct target *t, const char *compiler,
                      const struct cancel *c, struct str *out, struct err *e)
{
    const struct module *m;
    struct compiler cc;
    struct build b;
    struct str text = {0};
    if (!compiler_find(compiler, &cc, e) || !program_text_module(p, &m, e))
        return false;
    const struct gen_opts o = { .target = target_or_host(t), .openmp = true };
    bool ok = module_c(m, &o, &text, e)
           && build_shared(&cc, str_text(&text), o.target, module_is_parallel(m), c, &b, e);
    str_free(&text);
    for (int k = 0; k < m->n_kernels && ok; k++) {
        struct str name = {0};
        module_symbol(m, k, &name);
        ok = build_disassemble(b.so_path, str_text(&name), c, out, e);
        str_free(&name);
    }
    return ok;
}
