/* The data of constants: in the text of a graph, in the file of its model, in what is made of
 * them. */
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/base/file.h"
#include "kernels/base/rng.h"
#include "kernels/gen/gen.h"
#include "kernels/onnx/onnx.h"
#include "kernels/onnx/weights.h"
#include "kernels/ops/source.h"
#include "profile/measure/measure.h"
#include "profile/measure/oracle.h"
#include "sessions/export/export.h"
#include "sessions/file/model_path.h"
#include "tests/unit/onnx_build.h"
#include "tests/unit/run_program.h"
#include "tests/unit/temp_dir.h"
#undef fail                               /* ours; cmocka has its own */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* The weights w (20 elements) and an odd name; k becomes floats by a Cast. */
#define MODEL \
    "in x:20; const w:20; const w%s:4,5; ints k:1,2,3,4,5,6,7,8,9,8,7,6,5,4,3,2,1,2,3,4; " \
    "ints s:20,; node Cast k > f to=1; node Mul x w > a; node Reshape w%s s > v; " \
    "node Add a v > b; node Mul b f > y; out y"
#define ODD "\x1b ;#\"'%\xe2\x82\xac"

static const char *folder;
static struct arena *perm;

static char *in_folder(const char *name)
{
    return arena_printf(perm, "%s/%s", folder, name);
}

static const char *small_model(const char *name)
{
    const char *path = in_folder(name);
    if (!onnx_build_file(path, 13, "in x:20; const w:20; node Add x w > y; out y"))
        fail_msg("cannot write %s", path);
    return path;
}

static const struct program *program_of(const char *spec, const char *steps)
{
    const struct program *p;
    struct err e;
    char *copy = arena_strdup(perm, steps), *save;
    if (!program_new(perm, spec, &p, &e))
        fail_msg("%s: %s", spec, e.text);
    for (char *s = strtok_r(copy, ";", &save); s; s = strtok_r(NULL, ";", &save))
        if (!program_apply_line(p, s, &p, &e))
            fail_msg("%s: %s", s, e.text);
    return p;
}

static const struct tensor *tensor_of(const struct graph *g, const char *name)
{
    int t = graph_tensor(g, name);
    if (t < 0)
        fail_msg("no tensor %s", name);
    return &g->tensor[t];
}

/* A constant of 20 elements in file `path`, as words. */
static const char *spec_in(const char *path, const char *tensor, uint64_t hash, int n)
{
    struct tensor_source s = { .file = path, .tensor = tensor, .hash = hash };
    struct str out = { 0 };
    str_printf(&out, "x = input n=%d; w = const n=%d", n, n);
    source_print(&out, &s);
    str_add(&out, "; y = mul(x, w)");
    const char *spec = arena_strdup(perm, str_text(&out));
    str_free(&out);
    return spec;
}

static uint64_t hash_of_quarters(int n)
{
    float w[32];
    for (int i = 0; i < n; i++)
        w[i] = (float)i / 4;
    return tensor_hash(w, n);
}

static void values_read_back_to_the_same_float(void **state)
{
    (void)state;
    static const float odd[] = { 0.0f, -0.0f, 1e-12f, 1.41421354f, 3.40282347e+38f, -1e-45f,
                                 16777217.0f, 0.1f, -INFINITY, INFINITY };
    struct rng r = rng_seed(1);
    float v[16], got[16];
    for (int round = 0; round < 500; round++) {
        struct str text = { 0 };
        struct err e;
        for (int i = 0; i < 16; i++) {
            uint32_t bits = (uint32_t)rng_u64(&r);
            memcpy(&v[i], &bits, sizeof bits);
            if (isnan(v[i]) || rng_range(&r, 0, 3) == 0)
                v[i] = odd[rng_range(&r, 0, COUNT_OF(odd) - 1)];
        }
        str_add(&text, "c = const n=16");
        source_print(&text, &(struct tensor_source){ .n = 16, .value = v });
        str_add(&text, "; y = relu(c)");
        const struct program *p = program_of(str_text(&text), "");
        assert_true(weights_tensor_data(tensor_of(p->graph, "c"), 1, got, &e));
        if (memcmp(v, got, sizeof v) != 0)
            fail_msg("%s reads back as something else", str_text(&text));
        str_free(&text);
    }
    const struct program *p = program_of("c = const n=3 value=nan; y = relu(c)", "");
    struct err e;
    assert_true(weights_tensor_data(tensor_of(p->graph, "c"), 1, got, &e) && isnan(got[0]) &&
                isnan(got[2]));
}

static void short_ones_stand_in_the_text(void **state)
{
    (void)state;
    float v[100];
    struct tensor_source s;
    for (int i = 0; i < 100; i++)
        v[i] = i < 50 ? 7 : -0.0f;
    assert_true(source_short(v, 50, &s) && s.n == 1);
    assert_true(source_short(v + 42, 16, &s) && s.n == 16);
    assert_false(source_short(v + 42, 17, &s));
    v[50] = 0;                            /* equal to -0, and yet another float */
    assert_true(source_short(v + 50, 2, &s) && s.n == 2);
}

/* Steps that rebuild the graph keep what a constant holds: the result is the same. */
static void steps_keep_the_values(void **state)
{
    (void)state;
    static const char *const steps[] = {
        "", "layout set c.Inp \"M/4 K 4m\"", "layout pad w K after=3;layout set b KN",
        "loop rfactor c K 2", "layout store_at bias b K;layout set y \"M/2 N 2m\"",
    };
    static const char spec[] =
        "x = input m=4 k=4; w = const k=4 value=1,2,3,4; b = const k=4 n=6 value=0.5; "
        "bias = const n=6 value=1,0,0,0,0,-1; z = mul(x, w); c = gmm(z, b) n=6; y = add(c, bias)";
    for (int i = 0; i < COUNT_OF(steps); i++) {
        const struct program *p = program_of(spec, steps[i]);
        float got[6];
        struct err e;
        double d = program_interpret_of_bound(p, 1);
        if (!(d <= 1))
            fail_msg("%s: %g", steps[i], d);
        assert_true(weights_tensor_data(tensor_of(p->graph, "bias"), 1, got, &e));
        assert_true(got[0] == 1 && got[4] == 0 && got[5] == -1);
        assert_true(weights_tensor_data(tensor_of(p->graph, "w"), 1, got, &e) && got[3] == 4);
    }
}

/* What is computed is what the values say, whichever the seed. */
static void values_are_what_is_computed_with(void **state)
{
    (void)state;
    const struct program *p =
        program_of("x = const n=4 value=1,2,3,-4; d = const n=1 value=8; y = div(x, d)", "");
    const struct oracle *o;
    float y[4] = { 0.125f, 0.25f, 0.375f, -0.5f };
    struct deviation worst = { 0 };
    struct err e;
    for (uint64_t seed = 1; seed < 4; seed++) {
        assert_true(oracle_acquire(p->base, seed, NULL, &o, &e));
        assert_true(oracle_compare(o, p, graph_tensor(p->graph, "y"), y, NULL, &worst, &e));
        assert_true(worst.rel_err == 0);
        oracle_release(o);
    }
}

/* The error names the unsupported nodes, and not those that only depend on their results. */
static void refused_models_name_the_causes(void **state)
{
    (void)state;
    const char *path = in_folder("causes.onnx");
    struct session *s;
    struct err e = { 0 };
    assert_true(onnx_build_file(path, 13,
                                "in x:2; node Frob x > a; node Relu a > b; node Relu b > c; "
                                "node Knob x > d; node Add c d > y; out y"));
    assert_false(session_from_onnx(path, NULL, NULL, &s, &e));
    assert_non_null(strstr(e.text, "Frob "));
    assert_non_null(strstr(e.text, "Knob "));
    assert_null(strstr(e.text, "Relu "));
}

/* Every constant of an imported file has the model's data, whatever it is called. */
static void weights_are_those_of_the_model(void **state)
{
    (void)state;
    const char *path = in_folder("odd " ODD ".onnx");
    const char *model = arena_printf(perm, MODEL, "odd", "odd");
    char *at;
    while ((at = strstr(model, "wodd")))
        memcpy(at, "w\x1b\"'", 4);
    assert_true(onnx_build_file(path, 13, model));
    struct onnx_model *m;
    struct onnx_graph g;
    struct err e;
    int n = 0;
    assert_true(onnx_load(path, &m, &e));
    assert_true(onnx_import(m, NULL, 0, &g, &e));
    if (g.n_unsupported)
        fail_msg("%s", g.reason[0]);
    const struct program *p = program_of(str_text(&g.text), "");
    for (int i = 0; i < g.input.len; i++) {
        const struct onnx_binding *b = &g.input.data[i];
        float got[20];
        if (!b->data)
            continue;
        n++;
        assert_non_null(tensor_of(p->graph, b->tensor)->source);
        if (!weights_tensor_data(tensor_of(p->graph, b->tensor), 1, got, &e))
            fail_msg("%s: %s", b->tensor, e.text);
        assert_memory_equal(got, b->data->f, sizeof got);
    }
    assert_int_equal(n, 3);               /* w, the odd one in another shape, the cast */
    assert_true(program_interpret_of_bound(p, 1) <= 1);
    onnx_graph_free(&g);
    onnx_free(m);
}

struct wrong { const char *path, *tensor; uint64_t hash; int n; const char *says; };

static void check_wrong(const struct wrong *w)
{
    const struct program *p = program_of(spec_in(w->path, w->tensor, w->hash, w->n), "");
    float got[32];
    struct err e;
    const struct oracle *o;
    if (weights_tensor_data(tensor_of(p->graph, "w"), 1, got, &e) || !strstr(e.text, w->says) ||
        !strstr(e.text, w->path) || !strstr(e.text, "w"))
        fail_msg("%s: %s", w->says, e.text);
    assert_false(oracle_acquire(p->base, 1, NULL, &o, &e));
    assert_non_null(strstr(e.text, w->says));
}

static void what_is_wrong_with_a_file_is_said(void **state)
{
    (void)state;
    uint64_t right = hash_of_quarters(20);
    const char *good = small_model("good.onnx"), *fifo = in_folder("fifo.onnx"),
               *bad = in_folder("bad.onnx");
    struct err e;
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_true(file_write_atomic(bad, "none", 4, &e));
    const struct wrong wrong[] = {
        { in_folder("gone.onnx"), "w", right, 20, "No such file" },
        { folder, "w", right, 20, "no regular file" },
        { fifo, "w", right, 20, "no regular file" },
        { bad, "w", right, 20, "is not an ONNX model" },
        { good, "v", right, 20, "has no float constant v" },
        { good, "x", right, 20, "has no float constant x" },
        { good, "w", right, 10, "w has 10 elements, but w of" },
        { good, "w", right + 1, 20, "have changed: the hash of" },
    };
    for (int i = 0; i < COUNT_OF(wrong); i++)
        check_wrong(&wrong[i]);
}

/* A missing file stops what needs the data and nothing else. */
static void a_missing_file_stops_measuring_only(void **state)
{
    (void)state;
    const char *path = in_folder("absent.onnx");
    struct session *s;
    const struct func *f;
    struct str c = { 0 };
    struct measurement m;
    struct err e;
    if (!session_open(spec_in(path, "w", 1, 20), NULL, &s, &e))
        fail_msg("%s", e.text);
    const struct program *p = history_current(s->history)->program;
    assert_true(program_apply_line(p, "layout pad w N after=12", &p, &e));
    assert_true(program_lower(p, &f, &e));
    assert_true(gen_c(f, &(struct gen_opts){ .target = target_host() }, &c, &e));
    str_clear(&c);
    assert_true(export_c(s, &(struct export_opts){ .file = "-" }, &c, &e));
    assert_non_null(strstr(str_text(&c), "Random numbers stand in for the weights"));
    assert_non_null(strstr(str_text(&c), path));
    struct measure_opts o = { .meters = METER_CLOCK, .seed = 1, .time_s = 0.01, .min_runs = 3 };
    assert_false(measure_program(p, &o, NULL, NULL, &m, &e) && m.outcome == OUTCOME_OK);
    assert_int_equal(m.outcome, OUTCOME_ENV);
    assert_non_null(strstr(m.reason, path));
    str_free(&c);
    session_free(s);
}

/* Fills the file with zeros, and leaves its size and times as they were. */
static void spoil(const char *path)
{
    struct stat before;
    assert_int_equal(stat(path, &before), 0);
    char *zeros = arena_alloc(perm, (size_t)before.st_size);
    memset(zeros, 0, (size_t)before.st_size);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(write(fd, zeros, (size_t)before.st_size), (ssize_t)before.st_size);
    assert_int_equal(futimens(fd, (struct timespec[]){ before.st_atim, before.st_mtim }), 0);
    close(fd);
}

static void an_imported_model_is_not_read_again(void **state)
{
    (void)state;
    const char *path = small_model("imported.onnx");
    struct session *s;
    struct err e;
    float got[20];
    assert_true(session_from_onnx(path, NULL, NULL, &s, &e));
    spoil(path);
    const struct graph *g = history_state(s->history, 0)->program->graph;
    assert_true(weights_tensor_data(tensor_of(g, "w"), 1, got, &e) && got[19] == 4.75f);
    session_free(s);
}

/* A file that changed is read again; one that did not is not. */
static void files_are_read_once(void **state)
{
    (void)state;
    const char *path = small_model("once.onnx");
    const struct tensor *w =
        tensor_of(program_of(spec_in(path, "w", hash_of_quarters(20), 20), "")->graph, "w");
    float got[20];
    struct err e;
    assert_true(weights_tensor_data(w, 1, got, &e) && got[19] == 4.75f);
    spoil(path);
    assert_true(weights_tensor_data(w, 1, got, &e) && got[19] == 4.75f);
    assert_int_equal(utimensat(AT_FDCWD, path, NULL, 0), 0);
    assert_false(weights_tensor_data(w, 1, got, &e));
    assert_non_null(strstr(e.text, "is not an ONNX model"));
    small_model("once.onnx");
    assert_true(weights_tensor_data(w, 1, got, &e));
}

/* Data in a file beside the model are read again when that file changes, and not else. */
static void external_data_may_change(void **state)
{
    (void)state;
    const char *path = in_folder("apart.onnx"), *apart = in_folder("apart.bin");
    float w[20], got[20];
    struct err e;
    for (int i = 0; i < 20; i++)
        w[i] = (float)i / 4;
    assert_true(file_write_atomic(apart, (char *)w, sizeof w, &e));
    assert_true(onnx_build_file(path, 13,
                                "in x:20; const w:20@apart.bin; node Add x w > y; out y"));
    const struct tensor *t =
        tensor_of(program_of(spec_in(path, "w", hash_of_quarters(20), 20), "")->graph, "w");
    if (!weights_tensor_data(t, 1, got, &e))
        fail_msg("%s", e.text);
    assert_true(got[19] == 4.75f);
    spoil(apart);
    assert_true(weights_tensor_data(t, 1, got, &e) && got[19] == 4.75f);
    w[19] = 7;
    assert_true(file_write_atomic(apart, (char *)w, sizeof w, &e));
    assert_false(weights_tensor_data(t, 1, got, &e));
    assert_non_null(strstr(e.text, "have changed: the hash of"));
    w[19] = 4.75f;
    assert_true(file_write_atomic(apart, (char *)w, sizeof w, &e));
    assert_true(weights_tensor_data(t, 1, got, &e) && got[19] == 4.75f);
    assert_int_equal(unlink(apart), 0);
    assert_false(weights_tensor_data(t, 1, got, &e));
}

static void *read_often(void *ctx)
{
    float got[20];
    struct err e;
    for (int i = 0; i < 200; i++) {
        const struct tensor *t = ((const struct tensor **)ctx)[i % 6];
        if (!weights_tensor_data(t, 1, got, &e) || got[19] != 4.75f)
            return ctx;
    }
    return NULL;
}

/* More files than are kept, from several threads. */
static void any_thread_may_read(void **state)
{
    (void)state;
    const struct tensor *t[6];
    pthread_t thread[4];
    for (int i = 0; i < 6; i++) {
        const char *path = small_model(arena_printf(perm, "thread%d.onnx", i));
        const char *spec = spec_in(path, "w", hash_of_quarters(20), 20);
        t[i] = tensor_of(program_of(spec, "")->graph, "w");
    }
    for (int i = 0; i < COUNT_OF(thread); i++)
        assert_int_equal(pthread_create(&thread[i], NULL, read_often, t), 0);
    for (int i = 0; i < COUNT_OF(thread); i++) {
        void *wrong;
        pthread_join(thread[i], &wrong);
        assert_null(wrong);
    }
}

/* Paths in session files. */

static void assert_mapped(bool to_file, const char *path, const char *session, const char *want)
{
    struct str out = { 0 }, text = { 0 };
    str_printf(&text, "x = input file=2; w = const n=2 file=%s tensor=t", path);
    (to_file ? model_paths_to_file : model_paths_from_file)(&out, str_text(&text), session);
    const char *got = strstr(str_text(&out), "const n=2 file=");
    if (!got || !str_starts(got + 15, want) || !str_ends(got, " tensor=t") ||
        strlen(got) != 15 + strlen(want) + 9 || !str_starts(str_text(&out), "x = input file=2; "))
        fail_msg("%s in %s: %s, not %s", path, session, str_text(&out), want);
    str_free(&out);
    str_free(&text);
}

static void paths_are_relative_to_the_session(void **state)
{
    (void)state;
    char here[4096];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(mkdir("sub", 0700) | mkdir("sub/deep", 0700) | mkdir("other", 0700), 0);
    assert_mapped(true, "m.onnx", "s.yaml", "m.onnx");
    assert_mapped(true, "sub/m.onnx", "sub/s.yaml", "m.onnx");
    assert_mapped(true, "sub/deep/m.onnx", "sub/s.yaml", "deep/m.onnx");
    assert_mapped(true, "./sub/../m%20x.onnx", in_folder("s.yaml"), "m%20x.onnx");
    assert_mapped(true, in_folder("sub/m.onnx"), "s.yaml", "sub/m.onnx");
    assert_mapped(true, "sub/m.onnx", "other/s.yaml", in_folder("sub/m.onnx"));
    assert_mapped(true, "m.onnx", "sub/s.yaml", in_folder("m.onnx"));
    assert_mapped(true, "gone/m.onnx", "s.yaml", "gone/m.onnx");
    assert_mapped(true, "gone/m.onnx", "sub/s.yaml", in_folder("gone/m.onnx"));
    assert_mapped(false, "m.onnx", "s.yaml", "m.onnx");
    assert_mapped(false, "deep/m.onnx", "sub/s.yaml", "sub/deep/m.onnx");
    assert_mapped(false, "/m.onnx", "sub/s.yaml", "/m.onnx");
    assert_mapped(false, "m%zz.onnx", "sub/s.yaml", "m%zz.onnx");   /* an error later */
    assert_int_equal(chdir(here), 0);
}

static struct session *must_load(const char *path)
{
    struct session *s;
    struct err e;
    if (!session_load(path, &s, &e)) {
        struct str out = { 0 };
        err_print(&out, &e);
        fail_msg("%s", str_text(&out));
    }
    return s;
}

/* A folder with model and session can move; numbers stay, since the weights are the same. */
static void a_session_moves_with_its_model(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in_folder("from"), 0700), 0);
    small_model("from/m.onnx");
    struct session *s;
    struct err e;
    struct str text = { 0 };
    struct measurement m = { .outcome = OUTCOME_OK, .verified = true };
    m.latency.runs = 3;
    m.latency.min_ms = m.latency.median_ms = m.latency.max_ms = 1;
    assert_true(session_from_onnx(in_folder("from/m.onnx"), NULL, NULL, &s, &e));
    history_set_measured(s->history, 0, &m);
    assert_true(session_save(s, in_folder("from/s.yaml"), &e));
    session_free(s);
    assert_true(file_read(in_folder("from/s.yaml"), 1 << 20, &text, &e));
    assert_non_null(strstr(str_text(&text), "file=m.onnx tensor=w hash="));
    assert_int_equal(rename(in_folder("from"), in_folder("to")), 0);
    s = must_load(in_folder("to/s.yaml"));
    const struct state *first = history_state(s->history, 0);
    assert_non_null(strstr(history_spec(s->history), in_folder("to/m.onnx")));
    assert_non_null(first->measured);
    assert_true(program_interpret_of_bound(first->program, 1) <= 1);
    assert_true(session_autosave(s, &e));
    session_free(s);
    str_free(&text);
}

/* The column of an error is that of the file, not of the text with its paths rewritten. */
static void errors_are_where_the_file_has_them(void **state)
{
    (void)state;
    static const char text[] = "tilescope: 1\noperator: |\n  x = input n=4\n"
                               "  w = const n=4 file=m.onnx tensor=w hash=12\n  y = mul(x, w)\n";
    const char *path = in_folder("wrong.yaml");
    struct session *s;
    struct err e;
    assert_true(file_write_atomic(path, text, strlen(text), &e));
    assert_false(session_load(path, &s, &e));
    assert_non_null(strstr(e.text, "16 hexadecimal digits"));
    assert_int_equal(e.at.line, 4);
    assert_int_equal(e.at.col, 38);
}

static void exported_files_have_the_weights(void **state)
{
    (void)state;
    struct session *s;
    struct str c = { 0 };
    struct err e;
    assert_true(session_from_onnx(small_model("export.onnx"), NULL, NULL, &s, &e));
    assert_true(export_c(s, &(struct export_opts){ .file = "-" }, &c, &e));
    assert_non_null(strstr(str_text(&c), "values_w[20] = {\n    0, 0.25, 0.5, 0.75, 1, 1.25,\n"));
    assert_null(strstr(str_text(&c), "stand in"));
    str_free(&c);
    session_free(s);
}

static void no_path_ends_the_head_of_an_exported_file(void **state)
{
    (void)state;
    struct session *s;
    struct str c = { 0 };
    struct err e;
    if (!session_open("x = input n=20; w = const n=20 file=/none*/w.onnx tensor=w "
                      "hash=0123456789abcdef; y = mul(x, w)", NULL, &s, &e))
        fail_msg("%s", e.text);
    assert_true(export_c(s, &(struct export_opts){ .file = "-" }, &c, &e));
    const char *end = strstr(str_text(&c), "*/"), *last = strstr(str_text(&c), "Written by tile");
    assert_true(end && last && last < end);
    str_free(&c);
    session_free(s);
}

/* Long graphs and weights do not fill the screen. */
static void headings_are_brief(void **state)
{
    (void)state;
    struct str spec = { 0 }, out = { 0 };
    spec_print_brief(&out, "c2d n=1 i=4 h=8 w=8 o=4 k=3");
    assert_string_equal(str_text(&out), "c2d n=1 i=4 h=8 w=8 o=4 k=3");
    str_clear(&out);
    spec_print_brief(&out, spec_in("m.onnx", "w", 1, 20));
    assert_string_equal(str_text(&out),
                        "x = input n=20; w = const n=20 file=m.onnx; y = mul(x, w)");
    str_add(&spec, "t0 = input n=2");
    for (int i = 1; i < 100; i++)
        str_printf(&spec, "; t%d = relu(t%d)", i, i - 1);
    str_clear(&out);
    spec_print_brief(&out, str_text(&spec));
    assert_string_equal(str_text(&out),
                        "t0 = input n=2; t1 = relu(t0); t2 = relu(t1); t3 = relu(t2); "
                        "t4 = relu(t3); t5 = relu(t4); ... (92 more); t98 = relu(t97); "
                        "t99 = relu(t98)");
    str_free(&spec);
    str_free(&out);
}

static int setup(void **state)
{
    (void)state;
    perm = arena_new();
    folder = temp_dir("XDG_STATE_HOME");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_free(perm);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_read_back_to_the_same_float),
        cmocka_unit_test(short_ones_stand_in_the_text),
        cmocka_unit_test(steps_keep_the_values),
        cmocka_unit_test(values_are_what_is_computed_with),
        cmocka_unit_test(weights_are_those_of_the_model),
        cmocka_unit_test(what_is_wrong_with_a_file_is_said),
        cmocka_unit_test(a_missing_file_stops_measuring_only),
        cmocka_unit_test(files_are_read_once),
        cmocka_unit_test(external_data_may_change),
        cmocka_unit_test(any_thread_may_read),
        cmocka_unit_test(paths_are_relative_to_the_session),
        cmocka_unit_test(a_session_moves_with_its_model),
        cmocka_unit_test(an_imported_model_is_not_read_again),
        cmocka_unit_test(errors_are_where_the_file_has_them),
        cmocka_unit_test(refused_models_name_the_causes),
        cmocka_unit_test(exported_files_have_the_weights),
        cmocka_unit_test(no_path_ends_the_head_of_an_exported_file),
        cmocka_unit_test(headings_are_brief),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
