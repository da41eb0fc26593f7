/* The C and the assembly of a program as they are shown. */
#include "profile/measure/program_text.h"

#include <string.h>

#include "profile/build/build.h"

enum { HEADER_COLUMNS = 88 };

static bool has_parallel(int n, const struct tree *const *t)
{
    for (int i = 0; i < n; i++)
        if ((t[i]->kind == TREE_LOOP && t[i]->ann == LOOP_PARALLEL)
            || has_parallel(t[i]->n_kids, t[i]->kid))
            return true;
    return false;
}

/* After the operator: the complex node or the only one, else the family (a softmax begins with a
 * maximum).  Not after functions of C: the compiler knows those, or the C library, or the file that
 * the text is pasted into. */
static const char *kernel_name(const struct graph *g)
{
    const struct node *main = &g->node[g->main_node];
    const char *op = main->complex || g->n_nodes == 1 ? main->op : g->op;
    bool of_c = streq(op, "abs") || streq(op, "div");
    for (int k = 0; k < VAL_KIND_COUNT; k++)
        of_c = of_c || (val_is_function((enum val_kind)k) && streq(op, val_name((enum val_kind)k)));
    return of_c ? "kernel" : op;
}

struct gen_opts program_text_opts(const struct program *p, const struct func *f,
                                 const struct target *t)
{
    return (struct gen_opts){
        .target = t,
        .name = kernel_name(p->base),
        .openmp = has_parallel(f->n_roots, f->root),
    };
}

bool program_text_code(const struct program *p, const struct target *t, struct str *text,
                       bool *openmp, struct err *e)
{
    const struct func *f;
    if (!program_lower(p, &f, e))
        return false;
    struct gen_opts o = program_text_opts(p, f, t);
    *openmp = o.openmp;
    return gen_c(f, &o, text, e);
}

/* The ISA that the text is for, and the line that compiles it as here. */
static void add_compile_line(struct str *header, const struct gen_opts *o, int lanes)
{
    struct str line = {0};
    str_printf(header, "\nFor %s (%d lane%s), compiled with", o->target->isa,
               lanes, lanes == 1 ? "" : "s");
    str_add(&line, "    gcc");
    for (const char *const *f = target_flags(o->target, false); *f; f++) {
        if (line.len + strlen(*f) > HEADER_COLUMNS) {
            str_printf(header, "\n%s", str_text(&line));
            str_clear(&line);
            str_add(&line, "       ");
        }
        str_printf(&line, " %s", *f);
    }
    str_printf(header, "\n%s%s", str_text(&line), o->openmp ? " -fopenmp" : "");
    str_free(&line);
}

/* What is shown compiles without a warning by other flags too: a plain `gcc -O2 -Wall`. */
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
    const struct func *f;
    struct str header = {0};
    if (!program_lower(p, &f, e))
        return false;
    struct gen_opts o = program_text_opts(p, f, target_or_host(t));
    str_add(&header, p->base->spec);
    for (int i = 0; i < p->n_steps; i++)
        str_printf(&header, "\n    %s", p->steps[i]);
    add_compile_line(&header, &o, target_lanes(o.target, p->graph->type));
    o.header = str_text(&header);
    struct str text = {0};
    bool ok = gen_c(f, &o, &text, e);
    if (ok)
        add_portable(out, str_text(&text));
    str_free(&text);
    str_free(&header);
    return ok;
}

bool program_text_asm(const struct program *p, const struct target *t, const char *compiler,
                      const struct cancel *c, struct str *out, struct err *e)
{
    const struct func *f;
    struct compiler cc;
    struct build b;
    struct str text = {0};
    if (!compiler_find(compiler, &cc, e) || !program_lower(p, &f, e))
        return false;
    struct gen_opts o = program_text_opts(p, f, target_or_host(t));
    bool ok = gen_c(f, &o, &text, e)
           && build_shared(&cc, str_text(&text), o.target, o.openmp, c, &b, e)
           && build_disassemble(b.so_path, o.name, c, out, e);
    str_free(&text);
    return ok;
}
