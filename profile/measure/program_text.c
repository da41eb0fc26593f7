#include "profile/measure/program_text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/vec.h"
#include "profile/build/build.h"
#include "profile/build/nvrtc.h"
#include "profile/build/sass.h"
#include "profile/measure/asm_loops.h"

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
                       bool *openmp, struct gen_work *work, struct err *e)
{
    const struct module *m;
    const struct gen_opts o = { .target = t, .openmp = true, .work = work };
    if (work)
        *work = (struct gen_work){0};
    if (!program_text_module(p, &m, e))
        return false;
    *openmp = module_is_parallel(m);
    return module_c(m, &o, text, e);
}

/* Adds to the header the instruction set, and the command line that compiles the text with the
 * flags of a measurement. */
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

/* Adds the code in a form that plain `gcc -O2 -Wall` also compiles without a warning. */
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

/* Adds the operator and the steps. */
static void add_steps(struct str *header, const struct program *p)
{
    str_add(header, p->base->spec);
    for (int i = 0; i < p->n_steps; i++)
        str_printf(header, "\n    %s", p->steps[i]);
}

/* Appends the C of p. lines: NULL, or where to store the loop of each line of C. */
static bool text_c(struct arena *a, const struct program *p, const struct target *t,
                   struct str *out, struct code_lines *lines, struct err *e)
{
    const struct module *m;
    struct gen_opts o = { .target = target_or_host(t), .openmp = true, .marks = lines != NULL };
    struct str header = {0};
    if (!program_text_module(p, &m, e))
        return false;
    add_steps(&header, p);
    add_compile_line(&header, o.target, target_lanes(o.target, p->graph->type),
                     module_is_parallel(m));
    o.header = str_text(&header);
    struct str text = {0};
    bool ok = module_c(m, &o, &text, e);
    if (ok)
        add_portable(out, str_text(&text));
    if (ok && lines)
        gen_take_marks(a, out, lines);
    str_free(&text);
    str_free(&header);
    return ok;
}

bool program_text_c(const struct program *p, const struct target *t, struct str *out,
                    struct err *e)
{
    return text_c(NULL, p, t, out, NULL, e);
}

#define GPU_ARCH "sm_90"

static bool text_cuda(const struct program *p, const char *header, bool marks, struct str *out,
                      struct gen_launches *launches, struct err *e)
{
    const struct gen_opts o = { .target = target_named("cuda"), .header = header, .marks = marks };
    const struct func *f;
    return program_lower(p, &f, e) && gen_cuda(f, &o, out, launches, e);
}

/* Prints a comment: the registers and memory of each kernel, or the reason why they are unknown. */
static void print_resources(struct str *out, const char *cuda, const struct gen_launches *l)
{
    struct arena *a = arena_new();
    struct gpu_build b;
    struct err why;
    if (!nvrtc_build(a, cuda, GPU_ARCH, &b, &why)) {
        str_printf(out, "\n/* %s: %s */\n",
                   why.code == ERR_COMPILE ? "It does not compile" : "Not compiled", why.text);
        arena_free(a);
        return;
    }
    gpu_build_launches(a, &b, l);
    str_printf(out, "/* NVRTC %s, %s:\n", b.version, GPU_ARCH);
    for (int i = b.n - 1; i >= 0; i--) {                 /* a cubin lists the last kernel first */
        const struct gpu_kernel *k = &b.kernel[i];
        str_printf(out, " *   %s: %d registers, %lld bytes of stack, %lld of shared memory;"
                   " occupancy %.0f %%\n", k->name, k->registers, (long long)k->stack,
                   (long long)k->shared,
                   100 * gpu_occupancy(&gpu_sm_90, k));
    }
    str_add(out, " */\n");
    arena_free(a);
}

static bool text_cuda_resources(struct arena *a, const struct program *p, struct str *out,
                                struct code_lines *lines, struct err *e)
{
    struct str header = {0}, text = {0};
    add_steps(&header, p);
    struct gen_launches launches;
    bool ok = text_cuda(p, str_text(&header), lines != NULL, &text, &launches, e);
    if (ok && lines)
        gen_take_marks(a, &text, lines);
    if (ok) {
        str_add(out, str_text(&text));
        print_resources(out, str_text(&text), &launches);
    }
    str_free(&text);
    str_free(&header);
    return ok;
}

bool program_text_cuda(const struct program *p, struct str *out, struct err *e)
{
    return text_cuda_resources(NULL, p, out, NULL, e);
}

bool program_build_cuda(struct arena *a, const struct program *p, struct gpu_build *out,
                        struct err *e)
{
    struct str text = {0};
    struct gen_launches launches;
    bool ok = text_cuda(p, NULL, false, &text, &launches, e)
           && nvrtc_build(a, str_text(&text), GPU_ARCH, out, e);
    if (ok)
        gpu_build_launches(a, out, &launches);
    str_free(&text);
    return ok;
}

bool program_text_ptx(const struct program *p, struct str *out, struct err *e)
{
    struct arena *a = arena_new();
    struct gpu_build b;
    bool ok = program_build_cuda(a, p, &b, e);
    if (ok)
        str_add(out, b.ptx);
    arena_free(a);
    return ok;
}

/* Stores the text of each line of the C or CUDA C, for loops_of_c_lines. */
static void keep_source(struct arena *a, const struct str *text, struct code_lines *lines)
{
    const char **source = ARENA_ARRAY(a, const char *, lines->n + 1);
    const char *at = str_text(text);
    for (int i = 0; i < lines->n; i++) {
        size_t n = strcspn(at, "\n");
        source[i] = arena_strndup(a, at, n);
        at += n + (at[n] == '\n');
    }
    lines->source = source;
}

/* Compiles the code of m. lines: NULL, or where to store the loops of the C lines; the object then
 * has the compiler's line table. */
static bool build_for_listing(struct arena *a, const struct module *m, const struct target *t,
                              const char *compiler, const struct cancel *c, struct build *b,
                              struct code_lines *lines, struct err *e)
{
    static const char *const line_table[] = { "-g1", NULL };
    const struct gen_opts o = { .target = t, .openmp = true, .marks = lines != NULL };
    struct compiler cc;
    struct str text = {0};
    bool ok = compiler_find(compiler, &cc, e) && module_c(m, &o, &text, e);
    if (ok && lines) {
        gen_take_marks(a, &text, lines);
        keep_source(a, &text, lines);
    }
    ok = ok && build_shared_with(&cc, str_text(&text), t, module_is_parallel(m),
                                 lines ? line_table : NULL, c, b, e);
    str_free(&text);
    return ok;
}

/* A scalar or vector variable that line `at` of the C loads. The compiler made no instruction from
 * this line: for example, the load `float inp0 = inp[0];` becomes a part of the instruction that
 * uses inp0. */
struct folded_load { char name[40]; int at; };
typedef VEC(struct folded_load) folded_loads;

/* Reads the name from a line like "float inp0 = inp[0];". */
static bool is_load(const char *line, char name[40])
{
    int end = 0;
    return sscanf(line, " %*s %39[a-z0-9_] = %n", name, &end) == 1 && end > 0
        && isdigit((unsigned char)name[strlen(name) - 1]) && strpbrk(line + end, "[(");
}

static void find_folded_loads(const struct c_lines *line, const struct code_lines *lines,
                              folded_loads *out)
{
    bool *has = xcalloc((size_t)lines->n + 1, sizeof *has);
    struct folded_load load;
    for (int i = 0; i < line->len; i++)
        if (line->data[i] > 0 && line->data[i] <= lines->n)
            has[line->data[i] - 1] = true;
    for (load.at = 0; load.at < lines->n; load.at++)
        if (!has[load.at] && is_load(lines->source[load.at], load.name))
            vec_push(out, load);
    free(has);
}

/* Returns the text of C line `at` for an instruction that reads or writes memory, with the lines of
 * the loads that were folded into it. */
static const char *with_folded_loads(struct arena *a, const struct code_lines *lines, int at,
                                     const folded_loads *loads)
{
    const char *text = lines->source[at], *all = text;
    size_t n;
    for (int i = 0; i < loads->len && loads->data[i].at < at; i++)
        if (str_find_name(text, loads->data[i].name, "", &n))
            all = arena_printf(a, "%s\n%s", all, lines->source[loads->data[i].at]);
    return all;
}

/* Whether a line of assembly has an operand in memory, but not on the stack. */
static bool touches_memory(const char *text)
{
    size_t n = strcspn(text, "[\n");
    return text[n] == '[' && strncmp(text + n, "[rsp", 4) != 0 && strncmp(text + n, "[rbp", 4) != 0;
}

/* Sets lines->of and lines->source to the loop and the text of the C line of each instruction. An
 * instruction of a helper function, whose C line is one of the first `helpers` lines and in no
 * loop, gets the loop of the previous instruction. A line of assembly without a C line gets -1. */
static void loops_of_c_lines(struct arena *a, const char *text, const struct c_lines *line,
                             int helpers, struct code_lines *lines)
{
    folded_loads loads = {0};
    find_folded_loads(line, lines, &loads);
    int *of = ARENA_ARRAY(a, int, line->len + 1), last = -1;
    const char **source = ARENA_ARRAY(a, const char *, line->len + 1);
    for (int i = 0; i < line->len; i++) {
        int at = line->data[i] - 1;
        bool known = at >= 0 && at < lines->n;
        source[i] = !known ? NULL : touches_memory(text)
                  ? with_folded_loads(a, lines, at, &loads) : lines->source[at];
        text += strcspn(text, "\n");
        text += *text == '\n';
        if (line->data[i] == 0)
            last = -1;
        else if (at < lines->n && (lines->of[at] >= 0 || at >= helpers))
            last = lines->of[at];
        of[i] = last;
    }
    vec_free(&loads);
    lines->n = line->len;
    lines->of = of;
    lines->source = source;
}

static bool text_asm(struct arena *a, const struct program *p, const struct target *t,
                     const char *compiler, const struct cancel *c, struct str *out,
                     struct code_lines *lines, struct err *e)
{
    const struct module *m;
    struct build b;
    struct c_lines c_lines = {0};
    if (!program_text_module(p, &m, e)
        || !build_for_listing(a, m, target_or_host(t), compiler, c, &b, lines, e))
        return false;
    bool ok = true;
    for (int k = 0; k < m->n_kernels && ok; k++) {
        struct str name = {0};
        module_symbol(m, k, &name);
        ok = build_disassemble(b.so_path, str_text(&name), c, out, lines ? &c_lines : NULL, e);
        str_free(&name);
    }
    if (ok && lines) {
        loops_of_c_lines(a, str_text(out), &c_lines, lines->n, lines);
        asm_loops_find(a, str_text(out), lines);
    }
    vec_free(&c_lines);
    return ok;
}

bool program_text_sass(struct arena *a, const struct program *p, const struct cancel *c,
                       struct str *out, struct code_lines *lines, struct err *e)
{
    struct gpu_build b;
    struct gen_launches launches;
    struct str text = {0};
    struct c_lines c_lines = {0};
    bool ok = text_cuda(p, NULL, true, &text, &launches, e);
    if (ok) {
        gen_take_marks(a, &text, lines);
        keep_source(a, &text, lines);
    }
    ok = ok && nvrtc_build_lines(a, str_text(&text), GPU_ARCH, &b, e)
      && sass_disassemble(&b, SASS_LIMIT_S, c, out, &c_lines, e);
    int helpers = 0;                      /* they stand before the kernels */
    while (ok && helpers < lines->n && lines->of[helpers] < 0)
        helpers++;
    if (ok)
        loops_of_c_lines(a, str_text(out), &c_lines, helpers, lines);
    vec_free(&c_lines);
    str_free(&text);
    return ok;
}

bool program_text_asm(const struct program *p, const struct target *t, const char *compiler,
                      const struct cancel *c, struct str *out, struct err *e)
{
    return text_asm(NULL, p, t, compiler, c, out, NULL, e);
}

bool program_text_asm_lines(struct arena *a, const struct program *p, const struct target *t,
                            const char *compiler, const struct cancel *c, struct str *out,
                            struct code_lines *lines, struct err *e)
{
    return text_asm(a, p, t, compiler, c, out, lines, e);
}

const struct target *program_text_target(const struct program *p, const struct target *t)
{
    return t || !program_is_bound(p) ? target_or_host(t) : target_named("cuda");
}

bool program_text_is_gpu(const struct program *p, const struct target *t)
{
    return (t && t->gpu) || program_is_bound(p);
}

bool program_text_source(struct arena *a, const struct program *p, const struct target *t,
                         struct str *out, struct code_lines *lines, struct err *e)
{
    return program_text_is_gpu(p, t) ? text_cuda_resources(a, p, out, lines, e)
                                     : text_c(a, p, t, out, lines, e);
}

bool program_text_machine(struct arena *a, const struct program *p, const struct target *t,
                          const char *compiler, const struct cancel *c, struct str *out,
                          struct code_lines *lines, struct err *e)
{
    if (!program_text_is_gpu(p, t))
        return text_asm(a, p, t, compiler, c, out, lines, e);
    *lines = (struct code_lines){0};
    return program_text_ptx(p, out, e);
}
