#include "tests/unit/onnx_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/file.h"
#include "kernels/base/rng.h"
#include "kernels/onnx/onnx.h"
#include "kernels/onnx/weights.h"
#include "kernels/ops/reference.h"
#include "tests/unit/onnx_build.h"
#include "tests/unit/random_steps.h"
#include "tests/unit/run_program.h"

enum { MAX_FILES = 64, MAX_SETS = 16 };

struct test {
    struct onnx_case *c;
    struct arena *a;
    const char *folder;
    struct onnx_model *m;
    struct onnx_graph g;
    const struct onnx_tensor *in[MAX_FILES], *out[MAX_FILES];
    int n_in, n_out;
    bool with_inputs;                     /* whether the import was told their data */
};

static enum onnx_result say(struct test *t, enum onnx_result r, const char *text)
{
    str_clear(&t->c->why);
    str_add(&t->c->why, text);
    return r;
}

/* input_0.pb ...: named after the model's inputs, in order, where they have no name. */
static bool read_files(struct test *t, int set, const char *kind, const struct onnx_tensor **out,
                       int *n, struct err *e)
{
    for (*n = 0; *n < MAX_FILES; ++*n) {
        char path[1024];
        snprintf(path, sizeof path, "%s/test_data_set_%d/%s_%d.pb", t->folder, set, kind, *n);
        if (!file_exists(path))
            return true;
        const struct onnx_tensor *x;
        if (!onnx_tensor_load(t->a, path, &x, e))
            return false;
        struct onnx_tensor named = *x;
        if (streq(kind, "input") && *n < t->m->n_in)
            named.name = t->m->in[*n].name;
        out[*n] = arena_copy(t->a, &named, sizeof named);
    }
    return true;
}

/* The data of an input; NULL when the file has another type. */
static const struct onnx_tensor *given(const struct test *t, const char *name)
{
    for (int i = 0; i < t->n_in; i++)
        if (streq(t->in[i]->name, name))
            return i >= t->m->n_in || t->in[i]->type == t->m->in[i].type ? t->in[i] : NULL;
    return NULL;
}

/* The tensor of p->graph that holds the data of `name`: conversions move them to a
 * neighbour. */
static int outer_tensor(const struct program *p, const char *name, bool output)
{
    int t = graph_tensor(p->graph, name);
    const struct tensor *x = p->graph->tensor;
    while (output ? x[t].role != TENSOR_OUTPUT : x[t].producer >= 0)
        t += output ? 1 : -1;
    return t;
}

static bool fill_inputs(const struct test *t, const struct program *p, float **logical)
{
    for (int i = 0; i < t->g.input.len; i++) {
        const struct onnx_binding *b = &t->g.input.data[i];
        const struct onnx_tensor *x = given(t, b->value);
        int to = outer_tensor(p, b->tensor, false);
        struct err e;
        if (b->data && t->with_inputs) {  /* it may depend on them, so no file has it */
            for (int64_t k = 0; k < b->data->elems; k++)
                logical[to][k] = b->data->f[b->data->one ? 0 : k];
            continue;
        }
        if (b->data) {
            if (!weights_tensor_data(&p->graph->tensor[to], 1, logical[to], &e))
                fail("%s", e.text);
            continue;
        }
        if (!x || !(x->f || x->i) || x->elems != tensor_elems(&p->graph->tensor[to]))
            return false;
        for (int64_t k = 0; k < x->elems; k++)
            logical[to][k] = x->f ? x->f[k] : (float)x->i[k];
    }
    return true;
}

static bool close_enough(float got, float want)
{
    if (isnan(want) || isinf(want))
        return isnan(want) ? isnan(got) : got == want;
    return fabsf(got - want) <= 1e-5f + 1e-3f * fabsf(want);
}

static bool compare(struct test *t, const struct program *p, float **logical)
{
    for (int i = 0; i < t->g.output.len && i < t->n_out; i++) {
        const struct onnx_tensor *want = t->out[i];
        int from = outer_tensor(p, t->g.output.data[i].tensor, true);
        if (!(want->f || want->i) || want->elems != tensor_elems(&p->graph->tensor[from])) {
            say(t, ONNX_FAILED, "another number of elements");
            return false;
        }
        for (int64_t k = 0; k < want->elems; k++) {
            float value = want->f ? want->f[k] : (float)want->i[k];
            if (want->f ? close_enough(logical[from][k], value) : logical[from][k] == value)
                continue;
            str_clear(&t->c->why);
            str_printf(&t->c->why, "%s[%lld] is %g, expected %g", want->name, (long long)k,
                       (double)logical[from][k], (double)value);
            return false;
        }
    }
    return true;
}

static enum onnx_result run(struct test *t, const struct program *p)
{
    const struct graph *g = p->graph;
    struct err e;
    float **logical = xcalloc((size_t)g->n_tensors, sizeof *logical);
    for (int i = 0; i < g->n_tensors; i++)
        logical[i] = xcalloc((size_t)tensor_elems(&g->tensor[i]), sizeof(float));
    enum onnx_result r = ONNX_PASSED;
    if (!fill_inputs(t, p, logical))
        r = say(t, ONNX_SKIPPED, "no test data for an input");
    else if (!program_interpret(p, logical, &e))
        r = say(t, ONNX_FAILED, e.text);
    else if (!compare(t, p, logical))
        r = ONNX_FAILED;
    for (int i = 0; i < g->n_tensors; i++)
        free(logical[i]);
    free(logical);
    return r;
}

/* Points of all loops. */
static double work(const struct graph *g)
{
    double sum = 0;
    for (int i = 0; i < g->n_nodes; i++) {
        double points = (double)tensor_elems(&g->tensor[g->node[i].out]);
        for (int r = 0; r < g->node[i].n_reduce; r++)
            points *= (double)(g->node[i].reduce[r]->hi + 1);
        sum += points;
    }
    return sum;
}

static enum onnx_result run_random(struct test *t, const struct program *p, struct rng *r)
{
    struct err e;
    int layouts = (int)rng_range(r, 1, 6), loops = (int)rng_range(r, 0, 10);
    for (int i = 0; i < layouts + loops; i++) {
        const char *line = i < layouts ? random_layout_step(p->arena, r, p)
                                       : random_loop_step(p->arena, r, p);
        t->c->steps += program_apply_line(p, line, &p, &e);
    }
    enum onnx_result result = run(t, p);
    if (result != ONNX_FAILED)
        return result;
    for (int i = 0; i < p->n_steps; i++)
        str_printf(&t->c->why, "%s%s", i ? "; " : " after ", p->steps[i]);
    return result;
}

static enum onnx_result run_all(struct test *t)
{
    struct arena *a = arena_new();
    const struct program *p;
    struct rng r = rng_seed(t->c->seed);
    struct err e;
    enum onnx_result result = ONNX_PASSED;
    if (!program_new(a, str_text(&t->g.text), &p, &e))
        result = say(t, ONNX_FAILED, e.text);
    else if (work(p->graph) > t->c->most_work)
        result = say(t, ONNX_SKIPPED, "too large to interpret");
    else
        result = run(t, p);
    for (int i = 0; i < t->c->random && result == ONNX_PASSED; i++)
        result = run_random(t, p, &r);
    arena_free(a);
    return result;
}

static const char *first_reason(const struct test *t)
{
    for (int i = 0; i < t->g.n_nodes; i++)
        if (t->g.reason[i])
            return arena_printf(t->a, "%s: %s", t->m->node[i].op, t->g.reason[i]);
    return "";
}

/* Imports the model; with the data of its inputs, if it needs them (the shape of a Reshape). */
static bool import(struct test *t, struct err *e)
{
    t->with_inputs = false;
    if (onnx_import(t->m, NULL, 0, &t->g, e)) {
        if (!t->g.n_unsupported)
            return true;
        onnx_graph_free(&t->g);
    }
    t->with_inputs = true;
    return onnx_import(t->m, t->in, t->n_in, &t->g, e);
}

static enum onnx_result run_set(struct test *t, int set)
{
    struct err e;
    if (!read_files(t, set, "input", t->in, &t->n_in, &e) ||
        !read_files(t, set, "output", t->out, &t->n_out, &e))
        return say(t, ONNX_SKIPPED, "no tensors in the test data");
    if (!import(t, &e))
        return say(t, e.code == ERR_ENV ? ONNX_SKIPPED : ONNX_FAILED, e.text);
    enum onnx_result r = t->g.n_unsupported ? say(t, ONNX_SKIPPED, first_reason(t)) : run_all(t);
    onnx_graph_free(&t->g);
    return r;
}

enum onnx_result onnx_case_run(const char *folder, struct onnx_case *c)
{
    struct test t = { .c = c, .a = arena_new(), .folder = folder };
    struct err e;
    char path[1024];
    enum onnx_result r = ONNX_PASSED;
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    if (!onnx_load(path, &t.m, &e))
        r = say(&t, ONNX_SKIPPED, e.text);
    for (int set = 0; set < MAX_SETS && r == ONNX_PASSED; set++) {
        snprintf(path, sizeof path, "%s/test_data_set_%d", folder, set);
        if (set == 0 || file_exists(arena_printf(t.a, "%s/output_0.pb", path)))
            r = run_set(&t, set);
    }
    onnx_free(t.m);
    arena_free(t.a);
    return r;
}

/* --- Models from text ------------------------------------------------------------------------- */

/* Fills the data of input i from lists like "1,2;3": one list per input of the model.  Element k of
 * an input without a list is k. */
static void fill_list(double *data, int64_t n, const char *lists, int i)
{
    for (; i > 0; i--) {
        lists += strcspn(lists, ";");
        lists += *lists == ';';
    }
    bool given = *lists && *lists != ';';
    for (int64_t k = 0; k < n; k++) {
        char *end = NULL;
        data[k] = given ? strtod(lists, &end) : (double)k;
        lists = given ? end + (*end == ',') : lists;
    }
}

static int input_of(const struct onnx_model *m, const char *name)
{
    for (int i = 0; i < m->n_in; i++)
        if (streq(m->in[i].name, name))
            return i;
    fail("no input %s", name);
}

/* Prints a tensor like "2x3: 0 1 2 3 4 5". */
static void print_tensor(struct str *out, const struct tensor *t, const double *data)
{
    for (int d = 0; d < t->rank; d++)
        str_printf(out, "%s%lld", d ? "x" : "", (long long)t->shape[d]);
    str_add(out, ":");
    for (int64_t k = 0; k < tensor_elems(t); k++)
        if (isnan(data[k]))
            str_add(out, " nan");
        else
            str_printf(out, " %.6g", data[k] + 0.0);                          /* -0 as 0 */
}

/* Prints the outputs of the imported model, computed from these inputs, separated by "; ". */
static void print_outputs(struct arena *a, const struct onnx_model *m, const struct onnx_graph *g,
                          const char *lists, struct str *out)
{
    const struct graph *q;
    struct err e = { 0 };
    if (!graph_from_spec(a, str_text(&g->text), &q, &e))
        fail("%s: %s", str_text(&g->text), e.text);
    double **data = ARENA_ARRAY(a, double *, q->n_tensors);
    for (int t = 0; t < q->n_tensors; t++)
        data[t] = ARENA_ARRAY(a, double, tensor_elems(&q->tensor[t]));
    for (int i = 0; i < g->input.len; i++) {
        const struct onnx_binding *b = &g->input.data[i];
        int t = graph_tensor(q, b->tensor);
        int64_t n = tensor_elems(&q->tensor[t]);
        if (!b->data)
            fill_list(data[t], n, lists, input_of(m, b->value));
        for (int64_t k = 0; b->data && k < n; k++)
            data[t][k] = (double)b->data->f[b->data->one ? 0 : k];
    }
    if (!reference_eval(q, data, NULL, &e))
        fail("%s", e.text);
    for (int i = 0; i < g->output.len; i++) {
        int t = graph_tensor(q, g->output.data[i].tensor);
        str_add(out, i ? "; " : "");
        print_tensor(out, &q->tensor[t], data[t]);
    }
}

const char *onnx_outputs(struct arena *a, int opset, const char *text, const char *lists)
{
    uint8_t *data;
    struct onnx_model *m;
    struct onnx_graph g;
    struct str out = { 0 };
    struct err e = { 0 };
    size_t n = onnx_build(a, opset, text, &data);
    if (!onnx_read("m.onnx", data, n, &m, &e))
        return arena_strdup(a, e.text);
    if (onnx_import(m, NULL, 0, &g, &e)) {
        for (int i = 0; i < m->n_nodes; i++)
            if (g.reason[i])
                str_printf(&out, "%s%s", out.len ? " / " : "", g.reason[i]);
        if (!out.len)
            print_outputs(a, m, &g, lists, &out);
        onnx_graph_free(&g);
    } else {
        str_add(&out, e.text);
    }
    onnx_free(m);
    const char *result = arena_strdup(a, str_text(&out));
    str_free(&out);
    return result;
}
