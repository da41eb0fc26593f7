#include "tests/unit/unit_check.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/interp.h"
#include "tests/unit/kernel_run.h"
#include "tests/unit/targets.h"
#include "tests/unit/touch.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

struct gen_opts unit_options(int lanes)
{
    return (struct gen_opts){ .target = target_with(lanes, target_host()->registers),
                              .openmp = true, .name = "ts_entry_kernel" };
}

const char *unit_c(struct arena *a, const struct unit *u)
{
    struct gen_opts o = unit_options(u->lanes);
    struct str out = { 0 };
    struct err e;
    if (!gen_c(u->f, &o, &out, &e))
        fail_msg("%s: %s", u->what, e.text);
    const char *text = arena_strdup(a, str_text(&out));
    str_free(&out);
    return text;
}

/* Whether x is y, or, of functions of vectors, which differ from those of the library by an ulp or
 * two (test_functions.c), near it. */
static bool same_value(double x, double y, bool functions)
{
    return x == y || (functions && fabs(x - y) <= 1e-6 * fmax(1, fabs(y)));
}

/* Runs fn and the interpreter on equal data; fails at the first difference. */
static void check_equal(const struct unit *u, void *fn, bool functions, uint64_t seed)
{
    struct arena *a = arena_new();
    const struct func *f = u->f;
    void **got = kernel_buffers(a, f, seed), **want = kernel_buffers(a, f, seed);
    void (*entry)(void *const *) = NULL;
    memcpy(&entry, &fn, sizeof entry);
    entry(got);
    func_interpret(f, want);
    for (int b = 0; b < f->n_params; b++) {
        const struct elem_type *type = f->buffer[b].type;
        for (int64_t i = 0; i < f->buffer[b].elems; i++) {
            const char *g = (char *)got[b] + i * type->bytes;
            const char *w = (char *)want[b] + i * type->bytes;
            double x, y;
            type->read(g, 1, &x);
            type->read(w, 1, &y);
            if (memcmp(g, w, (size_t)type->bytes) && !same_value(x, y, functions))
                fail_msg("%s: %s[%lld] is %g, not %g", u->what, f->buffer[b].name, (long long)i, x,
                         y);
        }
        free(got[b]);
        free(want[b]);
    }
    arena_free(a);
}

void unit_check_values(struct arena *a, const char *cc, const struct unit *u, int n,
                       uint64_t seed)
{
    const char **source = ARENA_ARRAY(a, const char *, n);
    void **fn = ARENA_ARRAY(a, void *, n);
    const struct target *host = target_host();
    if (!kernel_compiler(cc))
        skip();
    for (int i = 0; i < n; i++)
        source[i] = unit_c(a, &u[i]);
    kernel_compile_joined(cc, host, source, n, fn);
    for (int i = 0; i < n; i++)
        check_equal(&u[i], fn[i], strstr(source[i], " pick") != NULL, seed);
}

/* Every buffer of f.  Locals of one name are one: the text does not tell them apart. */
static void **all_buffers(struct arena *a, const struct func *f, uint64_t seed)
{
    void **params = kernel_buffers(a, f, seed), **all = ARENA_ARRAY(a, void *, f->n_buffers);
    for (int b = 0; b < f->n_buffers; b++) {
        int64_t elems = f->buffer[b].elems;
        all[b] = b < f->n_params ? params[b] : NULL;
        for (int c = f->n_params; c < f->n_buffers && !all[b]; c++) {
            if (c < b && streq(f->buffer[c].name, f->buffer[b].name))
                all[b] = all[c];
            else if (streq(f->buffer[c].name, f->buffer[b].name) && f->buffer[c].elems > elems)
                elems = f->buffer[c].elems;
        }
        if (!all[b])
            all[b] = arena_alloc(a, (size_t)(elems * f->buffer[b].type->bytes));
    }
    return all;
}

static int by_place(const void *x, const void *y)
{
    const struct touch *a = x, *b = y;
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    return (int)a->bytes - (int)b->bytes;
}

/* Which of the loads between two stores comes first is the compiler's choice. */
static void sort_loads(struct touch *t, long n)
{
    for (long i = 0, from = 0; i <= n; i++)
        if (i == n || t[i].is_store) {
            qsort(t + from, (size_t)(i - from), sizeof *t, by_place);
            from = i + 1;
        }
}

#define MAX_TOUCHES (1 << 20)
#define MAX_SITES 1024
struct trace_log {
    struct ts_sim hooks;                  /* first */
    struct touch *to;
    long n;
    const struct trace_table *table;
    long of_site[MAX_SITES], iterations[MAX_SITES];        /* seen; by mark */
};

static void log_touch(struct ts_sim *ts, unsigned long long addr, unsigned site, unsigned bytes)
{
    struct trace_log *log = (struct trace_log *)ts;
    assert_true((int)site < log->table->n_sites && site < MAX_SITES);
    struct touch t = { .is_store = log->table->site[site].is_store, .bytes = bytes };
    memcpy(&t.at, &addr, sizeof t.at);
    if (log->n < MAX_TOUCHES)
        log->to[log->n] = t;
    log->n++;
    log->of_site[site]++;
}

static int log_mark(struct ts_sim *ts, int mark)
{
    struct trace_log *log = (struct trace_log *)ts;
    assert_true(mark >= -1 && mark < log->table->n_marks && mark < MAX_SITES);
    if (mark >= 0)
        log->iterations[mark]++;
    return 0;
}

typedef void trace_fn(const unsigned long long *base, struct ts_sim *ts);
typedef void count_fn(long long *exec);

/* What ts_count says must be what ts_trace did. */
static void check_counts(const struct unit *u, const struct trace_log *log, count_fn *count)
{
    const struct trace_table *t = log->table;
    long long *exec = xcalloc((size_t)t->n_blocks + 1, sizeof *exec);
    long of_site[MAX_SITES] = { 0 };
    count(exec);
    for (int i = 0; i < t->n_uses; i++)
        if (!t->use[i].streamed)
            of_site[t->use[i].site] += (long)(t->use[i].n * exec[t->use[i].block]);
    for (int i = 0; i < t->n_sites; i++)
        if (of_site[i] != log->of_site[i])
            fail_msg("%s: %ld accesses counted at %s, not %ld", u->what, of_site[i],
                     t->site[i].text, log->of_site[i]);
    for (int i = 0; i < t->n_marks; i++)
        if (exec[t->mark[i].block] != log->iterations[i])
            fail_msg("%s: %lld iterations counted along %s, not %ld", u->what,
                     exec[t->mark[i].block], t->mark[i].loops, log->iterations[i]);
    free(exec);
}

/* A slot that never holds a line lets every access through. */
static long run_trace(const struct unit *u, trace_fn *fn, count_fn *count,
                      const struct trace_table *table, void *const *data, struct touch *to)
{
    static const unsigned long long never;
    const struct func *f = u->f;
    unsigned long long *base = xcalloc((size_t)f->n_buffers + 1, sizeof *base);
    struct trace_log log = { .hooks = { &never, 0, log_touch, log_mark }, .to = to,
                             .table = table };
    for (int b = 0; b < f->n_buffers; b++)
        base[b] = (unsigned long long)(uintptr_t)data[b];
    fn(base, &log.hooks);
    check_counts(u, &log, count);
    free(base);
    return log.n;
}

static void check_trace(const struct unit *u, trace_fn *trace, count_fn *count,
                        const struct trace_table *table, touch_fn *run, uint64_t seed)
{
    static struct touch want[MAX_TOUCHES], got[MAX_TOUCHES];
    struct arena *a = arena_new();
    void **data = all_buffers(a, u->f, seed);
    long n_got = run_trace(u, trace, count, table, data, got);
    bool fits = n_got <= MAX_TOUCHES;
    if (!fits)
        print_message("%s: too many accesses to compare\n", u->what);
    long n_want = fits ? run(data, want) : 0;
    if (fits && n_got != n_want)
        fail_msg("%s: %ld records for %ld accesses", u->what, n_got, n_want);
    sort_loads(want, n_want);
    sort_loads(got, n_want);
    for (long i = 0; i < n_want; i++)
        if (by_place(&want[i], &got[i]) || want[i].is_store != got[i].is_store)
            fail_msg("%s: record %ld differs", u->what, i);
    for (int b = 0; b < u->f->n_params; b++)
        free(data[b]);
    arena_free(a);
}

/* One symbol for both functions of a twin: units of one object must not clash. */
static const char pick_names[] = "#define ts_trace ts_pick_trace\n#define ts_count ts_pick_count\n";
static const char pick[] = "void *ts_pick(int which)\n{\n"
                           "    return which ? (void *)ts_count : (void *)ts_trace;\n}\n";
typedef void *pick_fn(int which);

static const char *trace_text(struct arena *a, const struct unit *u, struct trace_table *table)
{
    struct gen_opts o = unit_options(u->lanes);
    struct str out = { 0 };
    struct err e;
    if (!gen_trace(u->f, &o, 64, &out, table, &e))
        fail_msg("%s: %s", u->what, e.text);
    const char *text = arena_printf(a, "%s%s%s", pick_names, str_text(&out), pick);
    str_free(&out);
    return text;
}

static bool val_picks_index(const struct val *v)
{
    return v && (v->kind == VAL_PICK || val_picks_index(v->a) || val_picks_index(v->b));
}

static bool picks(const struct tree *t)
{
    bool found = t->kind == TREE_STORE && val_picks_index(t->value);
    for (int i = 0; i < t->n_kids; i++)
        found = found || picks(t->kid[i]);
    return found;
}

/* Whether an index comes from data, which the instrumented kernel does not have. */
static bool func_picks(const struct func *f)
{
    bool found = false;
    for (int i = 0; i < f->n_roots; i++)
        found = found || picks(f->root[i]);
    return found;
}

void unit_check_traces(struct arena *a, const struct unit *all, int n_all, uint64_t seed)
{
    struct unit *u = ARENA_ARRAY(a, struct unit, n_all);
    int n = 0;
    for (int i = 0; i < n_all; i++)
        if (!func_picks(all[i].f))
            u[n++] = all[i];
    struct str cpp = { 0 };
    const char **trace = ARENA_ARRAY(a, const char *, n);
    struct trace_table *table = ARENA_ARRAY(a, struct trace_table, n);
    void **symbol = ARENA_ARRAY(a, void *, n);
    touch_fn **run = ARENA_ARRAY(a, touch_fn *, n);
    const struct target *host = target_host();
    if (!kernel_compiler("gcc") || !kernel_compiler("g++"))
        skip();
    str_add(&cpp, touch_prologue);
    for (int i = 0; i < n; i++) {
        touch_unit(&cpp, u[i].f, unit_c(a, &u[i]), i);
        trace[i] = trace_text(a, &u[i], &table[i]);
    }
    touch_compile("g++", str_text(&cpp), n, run);
    kernel_compile_quick("gcc", host, trace, n, "ts_pick", symbol);
    for (int i = 0; i < n; i++) {
        trace_fn *fn;
        count_fn *count;
        pick_fn *pick_of;
        memcpy(&pick_of, &symbol[i], sizeof pick_of);
        void *found[] = { pick_of(0), pick_of(1) };
        memcpy(&fn, &found[0], sizeof fn);
        memcpy(&count, &found[1], sizeof count);
        check_trace(&u[i], fn, count, &table[i], run[i], seed);
    }
    str_free(&cpp);
}
