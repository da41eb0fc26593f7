/* One C file that stands alone.  Kernel and reference come from the generators; the rest is fixed
 * text around the few functions and calls that depend on the tensors. */
#include "sessions/export.h"

#include <string.h>
#include "kernels/base/rng.h"
#include "profile/oracle.h"
#include "sessions/export_data.h"

#define TOLERANCE 1e-4                    /* of f32, as in profile/measure.c */

struct export {
    const struct session *session;
    const struct program *program;
    const struct func *func;
    struct target target;
    uint64_t seed;                        /* of the data */
    bool parallel;
};

static const char includes_text[] =
    "#define _POSIX_C_SOURCE 199309L\n"
    "#include <math.h>\n"
    "#include <stdint.h>\n"
    "#include <stdio.h>\n"
    "#include <stdlib.h>\n"
    "#include <string.h>\n"
    "#include <time.h>\n"
    "\n"
    "/* Vectors wider than the machine's are lowered by the compiler; they never cross a call. */\n"
    "#pragma GCC diagnostic ignored \"-Wpsabi\"\n"
    "\n";

/* xoshiro256** and splitmix64 as in kernels/base/rng.c: the same data as in tilescope. */
static const char data_text[] =
    "static void *allocate(long n, long size)\n"
    "{\n"
    "    size_t bytes = ((size_t)n * (size_t)size + 63) / 64 * 64;\n"
    "    void *p = aligned_alloc(64, bytes);\n"
    "    if (!p) {\n"
    "        fprintf(stderr, \"out of memory\\n\");\n"
    "        exit(1);\n"
    "    }\n"
    "    memset(p, 0xff, bytes);             /* NaN: what is never written shows */\n"
    "    return p;\n"
    "}\n"
    "\n"
    "/* n floats, uniform in [-1, 1) (xoshiro256**, Blackman and Vigna 2018). */\n"
    "static void fill(double *to, long n, uint64_t seed)\n"
    "{\n"
    "    uint64_t s[4];\n"
    "    for (int i = 0; i < 4; i++) {\n"
    "        uint64_t z = (seed += 0x9e3779b97f4a7c15u);\n"
    "        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;\n"
    "        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;\n"
    "        s[i] = z ^ (z >> 31);\n"
    "    }\n"
    "    for (long i = 0; i < n; i++) {\n"
    "        uint64_t x = s[1] * 5, t = s[1] << 17;\n"
    "        x = ((x << 7) | (x >> 57)) * 9;\n"
    "        s[2] ^= s[0];\n"
    "        s[3] ^= s[1];\n"
    "        s[1] ^= s[2];\n"
    "        s[0] ^= s[3];\n"
    "        s[2] ^= t;\n"
    "        s[3] = (s[3] << 45) | (s[3] >> 19);\n"
    "        to[i] = (float)(x >> 40) * 0x1p-23f - 1.0f;\n"
    "    }\n"
    "}\n"
    "\n"
    "/* The largest |got - want| / max(|want|, rms(want)). */\n"
    "static double relative_error(const double *got, const double *want, long n)\n"
    "{\n"
    "    double sum = 0, worst = 0;\n"
    "    for (long i = 0; i < n; i++)\n"
    "        sum += want[i] * want[i];\n"
    "    double rms = sqrt(sum / (double)n);\n"
    "    for (long i = 0; i < n; i++) {\n"
    "        double scale = fabs(want[i]) > rms ? fabs(want[i]) : rms;\n"
    "        double error = got[i] == want[i] ? 0 : fabs(got[i] - want[i]) / scale;\n"
    "        if (!(error < INFINITY))\n"
    "            return INFINITY;\n"
    "        worst = error > worst ? error : worst;\n"
    "    }\n"
    "    return worst;\n"
    "}\n"
    "\n"
    "static double now_ms(void)\n"
    "{\n"
    "    struct timespec t;\n"
    "    clock_gettime(CLOCK_MONOTONIC, &t);\n"
    "    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;\n"
    "}\n"
    "\n"
    "static int ascending(const void *a, const void *b)\n"
    "{\n"
    "    double x = *(const double *)a, y = *(const double *)b;\n"
    "    return (x > y) - (x < y);\n"
    "}\n"
    "\n";

/* the head comment */

/* Text inside a comment must not end it. */
static void add_commented(struct str *out, const char *text)
{
    for (const char *c = text; *c; c++) {
        str_add_char(out, (unsigned char)*c < 0x20 ? ' ' : *c);
        if (c[0] == '*' && c[1] == '/')
            str_add_char(out, ' ');
    }
}

static void add_head(struct str *out, const struct export *x)
{
    const struct program *p = x->program;
    str_add(out, "/* ");
    if (x->session->title[0]) {
        add_commented(out, x->session->title);
        str_add(out, "\n *\n * ");
    }
    str_printf(out, "Operator:\n *     %s\n * Steps:\n", p->base->spec);
    for (int i = 0; i < p->n_steps; i++) {
        str_add(out, " *     ");
        add_commented(out, p->steps[i]);
        str_add_char(out, '\n');
    }
    str_add(out, p->n_steps ? "" : " *     none\n");
    str_add(out, " *\n * Compile and run:\n *     cc");
    for (const char *const *f = gen_cflags(&x->target, true); *f; f++)
        str_printf(out, " %s", *f);
    str_printf(out, "%s kernel.c -o kernel -lm && ./kernel\n", x->parallel ? " -fopenmp" : "");
    str_add(out, " *\n"
                 " * It checks the kernel against a reference in double precision, then times it.\n"
                 " * Exit code 1: the results differ.  Written by tilescope. */\n");
}

static void add_title(struct str *out, const char *text)
{
    str_printf(out, "/* ---- %s ---- */\n\n", text);
}

/* The kernel without the entry point that only tilescope calls, and with OpenMP pragmas only where
 * OpenMP is on: elsewhere they are warnings. */
static void add_kernel(struct str *out, const char *code)
{
    for (const char *line = code; *line && !str_starts(line, "void ts_entry(");) {
        size_t n = strnlen(line, strcspn(line, "\n") + 1);
        bool pragma = str_starts(line + strspn(line, " "), "#pragma omp");
        str_add(out, pragma ? "#ifdef _OPENMP\n" : "");
        str_add_n(out, line, n);
        str_add(out, pragma ? "#endif\n" : "");
        line += n;
    }
}

/* main() */

/* The parameter that holds a tensor, or NULL when the kernel keeps it to itself. */
static const struct buffer *param_of(const struct export *x, int tensor)
{
    for (int i = 0; i < x->func->n_params; i++)
        if (x->func->buffer[i].tensor == tensor)
            return &x->func->buffer[i];
    return NULL;
}

static bool is_given(const struct tensor *t)
{
    return t->producer < 0;
}

static void add_layout_functions(struct str *out, const struct export *x)
{
    const struct program *p = x->program;
    struct str text = {0};
    for (int t = 0; t < p->graph->n_tensors; t++) {
        const struct tensor *tensor = &p->graph->tensor[t];
        if (is_given(tensor) && param_of(x, t))
            export_pack(&text, p->pool, p->layout[t]);
        if (p->host[t] >= 0)
            export_place(&text, p->pool, p->layout[t]);
        if (tensor->role == TENSOR_OUTPUT)
            export_unpack(&text, p->pool, p->layout[t]);
    }
    export_index_helpers(out, str_text(&text));
    str_add(out, str_text(&text));
    str_free(&text);
}

static void add_tensors(struct str *out, const struct export *x)
{
    const struct graph *g = x->program->graph;
    for (int t = 0; t < g->n_tensors; t++) {
        const char *name = g->tensor[t].name;
        long long n = tensor_elems(&g->tensor[t]);
        const struct buffer *b = param_of(x, t);
        str_printf(out, "    double *%s_exact = allocate(%lld, sizeof(double));\n", name, n);
        if (b)
            str_printf(out, "    float *%s_stored = allocate(%lld, sizeof(float));\n", name,
                       (long long)b->elems);
        if (is_given(&g->tensor[t])) {
            int base = oracle_base_tensor(x->program, t);
            const char *original = x->program->base->tensor[base].name;
            uint64_t seed = hash_bytes(original, strlen(original), x->seed);
            str_printf(out, "    fill(%s_exact, %lld, 0x%016llxu);\n", name, n,
                       (unsigned long long)seed);
            if (b)
                str_printf(out, "    pack_%s(%s_exact, %s_stored);\n", name, name, name);
        }
    }
    for (int t = 0; t < g->n_tensors; t++)
        if (x->program->host[t] >= 0)
            str_printf(out, "    place_%s(%s_exact, %s_stored);\n", g->tensor[t].name,
                       g->tensor[t].name, g->tensor[x->program->host[t]].name);
}

static void add_call(struct str *out, const struct export *x, const char *indent)
{
    str_printf(out, "%skernel(", indent);
    for (int i = 0; i < x->func->n_params; i++)
        str_printf(out, "%s%s_stored", i ? ", " : "",
                   x->program->graph->tensor[x->func->buffer[i].tensor].name);
    str_add(out, ");\n");
}

static void add_check(struct str *out, const struct export *x)
{
    const struct graph *g = x->program->graph;
    str_add(out, "    reference(");
    for (int t = 0; t < g->n_tensors; t++)
        str_printf(out, "%s%s_exact", t ? ", " : "", g->tensor[t].name);
    str_add(out, ");\n");
    add_call(out, x, "    ");
    str_add(out, "    double worst = 0;\n");
    for (int t = 0; t < g->n_tensors; t++) {
        const char *name = g->tensor[t].name;
        long long n = tensor_elems(&g->tensor[t]);
        if (g->tensor[t].role != TENSOR_OUTPUT)
            continue;
        str_printf(out, "    double *%s_got = allocate(%lld, sizeof(double));\n", name, n);
        str_printf(out, "    unpack_%s(%s_stored, %s_got);\n", name, name, name);
        str_printf(out, "    worst = fmax(worst, relative_error(%s_got, %s_exact, %lld));\n", name,
                   name, n);
    }
    str_printf(out, "    int wrong = !(worst <= %g);\n", TOLERANCE);
    str_add(out, "    printf(\"max rel err %.1e: %s\\n\", worst, wrong ? \"WRONG\" : \"ok\");\n"
                 "    if (wrong)\n"
                 "        return 1;\n\n");
}

static void add_timing(struct str *out, const struct export *x)
{
    str_add(out, "    static double ms[1000];\n"
                 "    int runs = 0;\n"
                 "    double start = now_ms();\n"
                 "    while (runs < 1000 && (runs < 5 || now_ms() - start < 300)) {\n"
                 "        double before = now_ms();\n");
    add_call(out, x, "        ");
    str_add(out, "        ms[runs++] = now_ms() - before;\n"
                 "    }\n"
                 "    qsort(ms, (size_t)runs, sizeof *ms, ascending);\n");
    str_printf(out, "    printf(\"min %%.3f ms  median %%.3f ms  %%.1f GFLOP/s\\n\", ms[0],\n"
                    "           ms[runs / 2], %.0f / ms[0] * 1e-6);\n", x->program->base->flops);
}

static void add_frees(struct str *out, const struct export *x)
{
    const struct graph *g = x->program->graph;
    for (int t = 0; t < g->n_tensors; t++) {
        str_printf(out, "    free(%s_exact);\n", g->tensor[t].name);
        if (param_of(x, t))
            str_printf(out, "    free(%s_stored);\n", g->tensor[t].name);
        if (g->tensor[t].role == TENSOR_OUTPUT)
            str_printf(out, "    free(%s_got);\n", g->tensor[t].name);
    }
}

static void add_main(struct str *out, const struct export *x)
{
    str_add(out, "int main(void)\n{\n");
    add_tensors(out, x);
    str_add_char(out, '\n');
    add_check(out, x);
    add_timing(out, x);
    add_frees(out, x);
    str_add(out, "    return 0;\n}\n");
}

bool export_c(const struct session *s, struct str *out, struct err *e)
{
    const struct state *here = history_current(s->history);
    struct export x = { .session = s, .program = here->program, .target = target_host() };
    struct str kernel = {0};
    if (here->measured)
        x.seed = here->measured->seed;
    struct gen_opts opts = { .target = x.target, .name = "kernel", .openmp = true };
    if (!program_lower(x.program, &x.func, e) || !gen_c(x.func, &opts, &kernel, e)) {
        str_free(&kernel);
        return false;
    }
    x.parallel = strstr(str_text(&kernel), "#pragma omp") != NULL;
    add_head(out, &x);
    str_add(out, includes_text);
    add_title(out, "the kernel");
    add_kernel(out, str_text(&kernel));
    add_title(out, "the reference: the operator as it is defined, in double precision");
    gen_reference(x.program->graph, "reference", out);
    str_add_char(out, '\n');
    add_title(out, "data: how each tensor is stored for the kernel");
    add_layout_functions(out, &x);
    str_add(out, data_text);
    add_main(out, &x);
    str_free(&kernel);
    return true;
}
