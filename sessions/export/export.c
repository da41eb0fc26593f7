/* Writes one self-contained C file.  The generators (gen.h) write the kernel and the reference.
 * The rest is fixed text, and a few functions and calls that depend on the tensors. */
#include "sessions/export/export.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/base/rng.h"
#include "kernels/onnx/weights.h"
#include "kernels/ops/winograd.h"
#include "profile/build/build.h"
#include "profile/measure/oracle.h"
#include "profile/measure/program_text.h"
#include "sessions/export/export_code.h"
#include "sessions/export/export_command.h"
#include "sessions/export/export_data.h"

#define MAX_WEIGHTS ((int64_t)1 << 19)    /* most elements of weights that the file lists: 7 MB of
                                           * text */

struct export {
    const struct session *session;
    const struct program *program;
    const struct func *func;
    const struct target *target;
    uint64_t seed;                        /* seed of the data */
    int threads;
    bool parallel;
    bool stand_ins;                       /* whether random numbers replace the weights in files */
    struct err why;                       /* the reason for stand_ins */
    f32 **weights;                        /* per tensor: its data, read from a file; or NULL */
};

/* This text must come after the kernel in the file, so that no macro of a header clashes with the
 * user's names in the kernel. */
static const char includes_text[] =
    "#define _POSIX_C_SOURCE 200112L\n"
    "#include <math.h>\n"
    "#include <stdint.h>\n"
    "#include <stdio.h>\n"
    "#include <stdlib.h>\n"
    "#include <string.h>\n"
    "#include <time.h>\n"
    "\n";

static const char allocate_text[] =
    "static void *allocate(long n, long size)\n"
    "{\n"
    "    size_t bytes = ((size_t)n * (size_t)size + 63) / 64 * 64;\n"
    "    void *p;\n"
    "    if (posix_memalign(&p, 64, bytes)) {\n"
    "        fprintf(stderr, \"out of memory\\n\");\n"
    "        exit(1);\n"
    "    }\n"
    "    memset(p, 0xff, bytes);             /* NaN: what is never written shows */\n"
    "    return p;\n"
    "}\n"
    "\n";

static const char give_text[] =
    "/* Stores n floats: value[0] .. value[n-1], or value[0] n times if count is 1. */\n"
    "static void give(double *to, long n, const double *value, long count)\n"
    "{\n"
    "    for (long i = 0; i < n; i++)\n"
    "        to[i] = (float)value[count == 1 ? 0 : i];\n"
    "}\n"
    "\n";

/* xoshiro256** and splitmix64 as in kernels/base/rng.c, so that the data are those of tilescope. */
static const char fill_text[] =
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
    "\n";

static const char check_text[] =
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
    "/* Prints a time in ms, us or ns, whichever suits its size. */\n"
    "static void print_time(const char *what, double ms)\n"
    "{\n"
    "    double v = ms >= 0.1 ? ms : ms >= 1e-4 ? 1e3 * ms : 1e6 * ms;\n"
    "    printf(\"%s %.3f %s  \", what, v, ms >= 0.1 ? \"ms\" : ms >= 1e-4 ? \"us\" : \"ns\");\n"
    "}\n"
    "\n"
    "static int ascending(const void *a, const void *b)\n"
    "{\n"
    "    double x = *(const double *)a, y = *(const double *)b;\n"
    "    return (x > y) - (x < y);\n"
    "}\n"
    "\n";

/* --- The head comment ------------------------------------------------------------------------- */

/* Adds text to a comment.  If the text has a comment's end mark, puts a blank into the mark. */
static void add_commented(struct str *out, const char *text)
{
    for (const char *c = text; *c; c++) {
        str_add_char(out, (unsigned char)*c < 0x20 ? ' ' : *c);
        if (c[0] == '*' && c[1] == '/')
            str_add_char(out, ' ');
    }
}

static void add_head(struct str *out, const struct export *x, const char *command)
{
    const struct program *p = x->program;
    str_add(out, "/* ");
    if (x->session->title[0]) {
        add_commented(out, x->session->title);
        str_add(out, "\n *\n * ");
    }
    str_add(out, "Operator:\n *     ");
    add_commented(out, p->base->spec);
    str_add(out, "\n * Steps:\n");
    for (int i = 0; i < p->n_steps; i++) {
        str_add(out, " *     ");
        add_commented(out, p->steps[i]);
        str_add_char(out, '\n');
    }
    str_add(out, p->n_steps ? "" : " *     none\n");
    if (x->stand_ins) {
        str_add(out, " *\n * Random numbers stand in for the weights: ");
        add_commented(out, x->why.text);
        str_add(out, ".\n");
    }
    str_add(out, " *\n * Compile and run, in the folder of this file:\n *     ");
    add_commented(out, command);
    str_add(out, "\n *\n"
                 " * It checks the kernel against a reference in double precision, then times it.\n"
                 " * Exit code 1: the results differ.  Written by tilescope. */\n");
}

static void add_title(struct str *out, const char *text)
{
    str_printf(out, "/* ---- %s ---- */\n\n", text);
}

/* --- main() ----------------------------------------------------------------------------------- */

/* Returns the parameter of the kernel that holds a tensor; NULL: no parameter does. */
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
    unsigned helpers = 0;
    for (int t = 0; t < p->graph->n_tensors; t++) {
        const struct tensor *tensor = &p->graph->tensor[t];
        if (tensor->winograd)
            winograd_print_c(&text, tensor);
        if (is_given(tensor) && param_of(x, t))
            export_pack(&text, p->pool, p->layout[t], &helpers);
        if (p->held_in[t] >= 0)
            export_place(&text, p->pool, p->layout[t], &helpers);
        if (tensor->role == TENSOR_OUTPUT)
            export_unpack(&text, p->pool, p->layout[t], &helpers);
    }
    export_index_helpers(out, helpers);
    str_add(out, str_text(&text));
    str_free(&text);
}

/* Returns the tensor of the original operator that corresponds to this tensor. */
static const struct tensor *original(const struct export *x, int tensor)
{
    return &x->program->base->tensor[program_base_tensor(x->program, tensor)];
}

/* Returns the graph of the reference, which is the operator's definition even if the kernel uses
 * another algorithm. */
static const struct graph *defined(const struct export *x)
{
    return x->program->n_algorithms > 0 ? x->program->base : x->program->graph;
}

/* Returns the name that an input, constant or output has in the graph of the reference. */
static const char *exact_name(const struct export *x, int tensor)
{
    const struct tensor *t = &x->program->graph->tensor[tensor];
    return x->program->n_algorithms > 0 ? original(x, tensor)->name : t->name;
}

/* Returns how many values of a tensor the C file lists; 0: none, because the tensor is filled with
 * random numbers. */
static int64_t n_values(const struct export *x, int tensor)
{
    const struct tensor_source *s = original(x, tensor)->source;
    return !s ? 0 : s->n > 0 ? s->n : x->weights[tensor] ? tensor_elems(original(x, tensor)) : 0;
}

static void add_values(struct str *out, const struct export *x)
{
    const struct graph *g = x->program->graph;
    bool any = false;
    for (int t = 0; t < g->n_tensors; t++) {
        int64_t n = is_given(&g->tensor[t]) ? n_values(x, t) : 0;
        const f32 *own = n > 0 ? original(x, t)->source->value : NULL;
        if (n > 0)
            export_values(out, g->tensor[t].name, own ? own : x->weights[t], n);
        any = any || n > 0;
    }
    str_add(out, any ? "\n" : "");
    str_add(out, any ? give_text : "");
}

static bool has_random(const struct export *x)
{
    const struct graph *g = x->program->graph;
    bool any = false;
    for (int t = 0; t < g->n_tensors; t++)
        any = any || (is_given(&g->tensor[t]) && n_values(x, t) == 0);
    return any;
}

static void add_data(struct str *out, const struct export *x, int t)
{
    const char *name = exact_name(x, t), *first = original(x, t)->name;
    long long n = tensor_elems(original(x, t)), values = n_values(x, t);
    if (values > 0)
        str_printf(out, "    give(exact_%s, %lld, values_%s, %lld);\n", name, n,
                   x->program->graph->tensor[t].name, values);
    else
        str_printf(out, "    fill(exact_%s, %lld, 0x%016llxu);\n", name, n,
                   (unsigned long long)hash_bytes(first, strlen(first), x->seed));
}

/* Adds the call that packs the data of tensor t.  If t holds the transformed weights of a Winograd
 * convolution, first adds the call that transforms the weights. */
static void add_pack(struct str *out, const struct export *x, int t)
{
    const struct tensor *tensor = &x->program->graph->tensor[t];
    const char *name = tensor->name, *exact = exact_name(x, t);
    if (!tensor->winograd) {
        str_printf(out, "    pack_%s(exact_%s, stored_%s);\n", name, exact, name);
        return;
    }
    str_printf(out, "    double *made_%s = allocate(%lld, sizeof(double));\n", name,
               (long long)tensor_elems(tensor));
    str_printf(out, "    transform_%s(exact_%s, made_%s);\n", name, exact, name);
    str_printf(out, "    pack_%s(made_%s, stored_%s);\n    free(made_%s);\n", name, name, name,
               name);
}

static void add_tensors(struct str *out, const struct export *x)
{
    const struct graph *g = x->program->graph, *def = defined(x);
    for (int t = 0; t < def->n_tensors; t++)
        str_printf(out, "    double *exact_%s = allocate(%lld, sizeof(double));\n",
                   def->tensor[t].name, (long long)tensor_elems(&def->tensor[t]));
    for (int t = 0; t < g->n_tensors; t++) {
        const char *name = g->tensor[t].name;
        const struct buffer *b = param_of(x, t);
        if (b)
            str_printf(out, "    %s *stored_%s = allocate(%lld, sizeof(%s));\n", b->type->c, name,
                       (long long)b->elems, b->type->c);
        if (is_given(&g->tensor[t])) {
            add_data(out, x, t);
            if (b)
                add_pack(out, x, t);
        }
    }
    for (int t = 0; t < g->n_tensors; t++)
        if (x->program->held_in[t] >= 0)
            str_printf(out, "    place_%s(exact_%s, stored_%s);\n", g->tensor[t].name,
                       exact_name(x, t), g->tensor[x->program->held_in[t]].name);
}

static void add_call(struct str *out, const struct export *x, const char *indent)
{
    str_printf(out, "%skernel(", indent);
    for (int i = 0; i < x->func->n_params; i++)
        str_printf(out, "%sstored_%s", i ? ", " : "",
                   x->program->graph->tensor[x->func->buffer[i].tensor].name);
    str_add(out, ");\n");
}

static void add_check(struct str *out, const struct export *x)
{
    const struct graph *g = x->program->graph, *def = defined(x);
    str_add(out, "    reference(");
    for (int t = 0; t < def->n_tensors; t++)
        str_printf(out, "%sexact_%s", t ? ", " : "", def->tensor[t].name);
    str_add(out, ");\n");
    add_call(out, x, "    ");
    str_add(out, "    double worst = 0;\n");
    for (int t = 0; t < g->n_tensors; t++) {
        const char *name = g->tensor[t].name;
        long long n = tensor_elems(&g->tensor[t]);
        if (g->tensor[t].role != TENSOR_OUTPUT)
            continue;
        str_printf(out, "    double *got_%s = allocate(%lld, sizeof(double));\n", name, n);
        str_printf(out, "    unpack_%s(stored_%s, got_%s);\n", name, name, name);
        str_printf(out, "    worst = fmax(worst, relative_error(got_%s, exact_%s, %lld));\n", name,
                   exact_name(x, t), n);
    }
    str_printf(out, "    int wrong = !(worst <= %g);\n", oracle_tolerance(x->program));
    str_add(out, "    printf(\"max rel err %.1e: %s\\n\", worst, wrong ? \"WRONG\" : \"ok\");\n"
                 "    if (wrong)\n"
                 "        return 1;\n\n");
}

/* Adds the timing loop.  A sample times a batch of calls that together take at least 50 us. */
static void add_timing(struct str *out, const struct export *x)
{
    str_add(out, "    static double ms[1000];\n"
                 "    int runs = 0;\n"
                 "    long batch = 1;\n"
                 "    double start = now_ms();\n"
                 "    while (runs < 1000 && (runs < 5 || now_ms() - start < 300)) {\n"
                 "        double before = now_ms();\n"
                 "        for (long i = 0; i < batch; i++)\n");
    add_call(out, x, "            ");
    str_add(out, "        double took = now_ms() - before;\n"
                 "        if (took < 0.05 && batch < 1000000)\n"
                 "            batch *= 2;                 /* too short to measure: no sample */\n"
                 "        else\n"
                 "            ms[runs++] = took / (double)batch;\n"
                 "    }\n"
                 "    qsort(ms, (size_t)runs, sizeof *ms, ascending);\n"
                 "    print_time(\"min\", ms[0]);\n"
                 "    print_time(\"median\", ms[runs / 2]);\n");
    str_printf(out, "    printf(\"%%.1f GFLOP/s\\n\", %.0f / ms[0] * 1e-6);\n",
               x->program->base->flops);
}

static void add_frees(struct str *out, const struct export *x)
{
    const struct graph *g = x->program->graph, *def = defined(x);
    for (int t = 0; t < def->n_tensors; t++)
        str_printf(out, "    free(exact_%s);\n", def->tensor[t].name);
    for (int t = 0; t < g->n_tensors; t++) {
        if (param_of(x, t))
            str_printf(out, "    free(stored_%s);\n", g->tensor[t].name);
        if (g->tensor[t].role == TENSOR_OUTPUT)
            str_printf(out, "    free(got_%s);\n", g->tensor[t].name);
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

/* Reads the weights from their files.  If they are too large, or if reading fails, sets
 * x->stand_ins and reads none. */
static void read_weights(struct export *x)
{
    const struct graph *g = x->program->graph;
    int64_t elems = 0;
    x->weights = xcalloc((size_t)g->n_tensors, sizeof *x->weights);
    for (int t = 0; t < g->n_tensors && !x->stand_ins; t++) {
        const struct tensor *from = is_given(&g->tensor[t]) ? original(x, t) : NULL;
        if (!from || !from->source || !from->source->file)
            continue;
        elems += tensor_elems(from);
        if (elems > MAX_WEIGHTS) {
            err_set(&x->why, ERR_RANGE, "there are more than %lld, in %.200s",
                    (long long)MAX_WEIGHTS, from->source->file);
            x->stand_ins = true;
            break;
        }
        x->weights[t] = xmalloc_elems((size_t)tensor_elems(from), sizeof **x->weights);
        x->stand_ins = !weights_tensor_data(from, x->seed, x->weights[t], &x->why);
    }
    for (int t = 0; t < g->n_tensors && x->stand_ins; t++) {
        free(x->weights[t]);
        x->weights[t] = NULL;
    }
}

/* Fills in *x, except `weights`, and generates the code of the kernel. */
static bool prepare(const struct session *s, const struct export_opts *o, struct export *x,
                    struct str *kernel, struct err *e)
{
    const struct state *here = history_current(s->history);
    *x = (struct export){ .session = s, .program = here->program,
                          .target = target_or_host(o->target), .threads = 1 };
    if (here->measured)
        x->seed = here->measured->seed;
    if (here->measured && here->measured->threads > 1)
        x->threads = here->measured->threads;
    struct gen_opts opts = { .target = x->target, .name = "kernel", .openmp = true };
    if (type_is_narrow(x->program->base->type)) {
        err_set(e, ERR_TYPE, "the exported file would check itself in float32, and this operator "
                "is in %s", x->program->base->type->title);
        return err_fix(e, "show --what c prints the kernel itself");
    }
    if (!program_lower(x->program, &x->func, e) || !gen_c(x->func, &opts, kernel, e))
        return false;
    x->parallel = strstr(str_text(kernel), "#pragma omp") != NULL;
    return true;
}

/* Checks that the schedule and the file's name are for a CPU.  Compilers take a .cu file for CUDA
 * C, and an exported C file runs on a CPU. */
static bool is_for_cpu(const struct session *s, const struct export_opts *o, struct err *e)
{
    bool gpu = program_text_is_gpu(history_current(s->history)->program, o->target);
    if (gpu) {
        err_set(e, ERR_STEP, "this schedule is for a GPU, and a C file runs on a CPU");
        return err_fix(e, "a name that ends in .cu gets its CUDA C, like show --what cuda -o "
                       "FILE.cu");
    }
    if (!o->file || !str_ends(o->file, ".cu"))
        return true;
    err_set(e, ERR_STEP, "%.200s: this schedule is for a CPU, and a .cu file has CUDA C", o->file);
    return err_fix(e, "use a name that ends in .c, or take a GPU schedule from expert --target "
                   "cuda");
}

static bool add_command(struct str *out, const struct export *x, const struct export_opts *o,
                        bool beside, struct err *e)
{
    struct export_command how = { o->file, o->compiler, x->target, x->program->autovectorize,
                                  x->parallel ? x->threads : 0, beside };
    return export_put_command(out, &how, e);
}

bool export_is_cuda(const struct session *s, const struct export_opts *o)
{
    return o->file && str_ends(o->file, ".cu")
        && program_text_is_gpu(history_current(s->history)->program, o->target);
}

bool export_command(const struct session *s, const struct export_opts *o, struct str *out,
                    struct err *e)
{
    struct export x;
    struct str kernel = {0};
    if (export_is_cuda(s, o)) {
        str_add(out, "nvcc -c ");
        export_put_word(out, o->file);
        return true;
    }
    bool ok = prepare(s, o, &x, &kernel, e) && add_command(out, &x, o, false, e);
    str_free(&kernel);
    return ok;
}

static void add_file(struct str *out, const struct export *x, const char *command,
                     const char *kernel)
{
    add_head(out, x, command);
    export_language(out);
    add_title(out, "the kernel");
    export_optimize(out, x->target);
    export_kernel(out, kernel);
    add_title(out, "the reference: the operator as it is defined, in double precision");
    gen_reference(defined(x), "reference", out);
    str_add_char(out, '\n');
    add_title(out, "data: how each tensor is stored for the kernel");
    add_layout_functions(out, x);
    add_title(out, "the check and the clock");
    str_add(out, includes_text);
    add_values(out, x);
    str_add(out, allocate_text);
    str_add(out, has_random(x) ? fill_text : "");
    str_add(out, check_text);
    add_main(out, x);
}

bool export_c(const struct session *s, const struct export_opts *o, struct str *out, struct err *e)
{
    struct export x;
    struct str kernel = {0}, command = {0};
    if (export_is_cuda(s, o))
        return program_text_cuda(history_current(s->history)->program, out, e);
    if (!is_for_cpu(s, o, e))
        return false;
    bool ok = prepare(s, o, &x, &kernel, e) && add_command(&command, &x, o, true, e);
    if (ok) {
        read_weights(&x);
        add_file(out, &x, str_text(&command), str_text(&kernel));
        for (int t = 0; t < x.program->graph->n_tensors; t++)
            free(x.weights[t]);
        free(x.weights);
    }
    str_free(&kernel);
    str_free(&command);
    return ok;
}
