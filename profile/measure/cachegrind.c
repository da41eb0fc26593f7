#include "profile/measure/cachegrind.h"

#include "profile/measure/once.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/number.h"
#include "kernels/base/sanitized.h"

#define SOURCE_FILE "tilescope-kernel.c"
#define LEAST_LINE_BYTES 32              /* cachegrind splits accesses longer than a line */
#define LAST_ADDRESS 0x58000000ull       /* valgrind's own memory begins here */
#define DEFAULT_LL ((struct cache_geometry){ 8 << 20, 16, 64 })

/* --- Probe ------------------------------------------------------------------------------------ */

/* Writes the version of valgrind, "valgrind-3.19.0". ERR_ENV when valgrind does not run. */
static bool find_version(char *out, size_t n, struct err *e)
{
    const char *argv[] = { "valgrind", "--version", NULL };
    struct subprocess_result res;
    if (!subprocess_find("valgrind", NULL))
        return err_set(e, ERR_ENV, "valgrind is not installed: apt-get install valgrind");
    if (!subprocess_run(argv, 10, NULL, &res, e))
        return false;
    const char *text = str_text(&res.out);
    int line = (int)strcspn(text, "\r\n");
    bool ok = res.exit_code == 0 && str_starts(text, "valgrind-");
    if (ok)
        snprintf(out, n, "%.*s", line, text);
    else
        err_set(e, ERR_ENV, "valgrind does not work: signal %d, exit code %d: %.*s", res.signal,
                res.exit_code, line < 120 ? line : 120, text);
    str_free(&res.out);
    return ok;
}

void cachegrind_probe(struct counts *out)
{
    char version[40];
    struct err e;
    out->available = find_version(version, sizeof version, &e);
    if (!out->available)
        counts_refuse(out, "%.255s", e.text);
    else if (SANITIZED)
        counts_refuse(out, "valgrind cannot run what was built with address sanitizer");
}

/* --- The caches ------------------------------------------------------------------------------- */

static int64_t sets_of(const struct cache_geometry *g)
{
    return g->size_bytes / ((int64_t)g->ways * g->line_bytes);
}

bool cachegrind_geometry(const struct cache_geometry *g, struct err *e)
{
    if (!cache_geometry_check(g, e))
        return false;
    if (g->line_bytes < LEAST_LINE_BYTES)
        return err_set(e, ERR_RANGE,
                       "cachegrind cannot simulate lines of %d bytes; it needs at least %d",
                       g->line_bytes, LEAST_LINE_BYTES);
    if (!is_power_of_two(sets_of(g)))
        return err_set(e, ERR_RANGE, "cachegrind needs a number of sets that is a power of two, "
                       "but this L1 has %lld", (long long)sets_of(g));
    return true;
}

/* Returns the last cache level of m, or DEFAULT_LL if it is unknown, reduced to a power of two of
 * sets. */
static struct cache_geometry last_level(const struct machine *m, int line_bytes)
{
    struct cache_geometry g = m->l3.size_bytes > 0 ? m->l3 : m->l2;
    struct err ignored;
    if (g.size_bytes <= 0 || !cache_geometry_check(&g, &ignored))
        g = DEFAULT_LL;
    int64_t sets = 1;
    while (2 * sets <= sets_of(&g))
        sets *= 2;
    g.line_bytes = line_bytes > g.line_bytes ? line_bytes : g.line_bytes;
    g.size_bytes = sets * g.ways * g.line_bytes;
    return g;
}

/* --- The output file -------------------------------------------------------------------------- */

static bool ends_with(const char *line, size_t len, const char *end)
{
    size_t n = strlen(end);
    return len >= n && memcmp(line + len - n, end, n) == 0;
}

static void read_events(const char *line, size_t len, struct cachegrind_sums *out)
{
    const char *p = line, *end = line + len;
    while (out->n < CACHEGRIND_EVENTS) {
        while (p < end && *p == ' ')
            p++;
        size_t n = 0;
        while (p + n < end && p[n] != ' ')
            n++;
        if (n == 0)
            return;
        snprintf(out->event[out->n], sizeof out->event[0], "%.*s", (int)n, p);
        out->n++;
        p += n;
    }
}

/* Reads a line "120 8 0 0 2 1 1": a line number, then a count per event. */
static void add_line(const char *line, struct cachegrind_sums *out)
{
    char *end;
    (void)strtoull(line, &end, 10);
    for (int i = 0; i < out->n && *end == ' '; i++)
        out->sum[i] += (double)strtoull(end, &end, 10);
}

/* Sums the functions of a source file. A line fl= names a file, and the following lines, up to the
 * next fl=, belong to its functions. */
int cachegrind_sum(const char *text, const char *source_file, struct cachegrind_sums *out)
{
    bool ours = false, seen = false;
    *out = (struct cachegrind_sums){ .n = 0 };
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t len = strcspn(line, "\n");
        if (str_starts(line, "events:")) {
            read_events(line + 7, len - 7, out);
        } else if (str_starts(line, "fl=")) {
            ours = ends_with(line, len, source_file);
            seen = seen || ours;
        } else if (ours && isdigit((unsigned char)*line)) {
            add_line(line, out);
        }
    }
    return seen ? out->n : 0;
}

static double sum_of(const struct cachegrind_sums *s, const char *event)
{
    for (int i = 0; i < s->n; i++)
        if (streq(s->event[i], event))
            return s->sum[i];
    return -1;
}

static bool take_sums(const char *text, struct counts *out)
{
    static const struct { const char *name, *event, *plus; } row[] = {
        { "instructions", "Ir", NULL }, { "loads", "Dr", NULL }, { "stores", "Dw", NULL },
        { "d1_load_misses", "D1mr", NULL }, { "d1_store_misses", "D1mw", NULL },
        { "d1_misses", "D1mr", "D1mw" }, { "ll_misses", "DLmr", "DLmw" },
    };
    struct cachegrind_sums s;
    if (cachegrind_sum(text, SOURCE_FILE, &s) == 0)
        return false;
    for (int i = 0; i < COUNT_OF(row); i++) {
        double value = sum_of(&s, row[i].event), plus = row[i].plus ? sum_of(&s, row[i].plus) : 0;
        if (value < 0 || plus < 0)
            return false;
        counts_add(out, row[i].name, value + plus);
    }
    return true;
}

/* --- The run ---------------------------------------------------------------------------------- */

struct cg_run {
    struct once once;
    struct build variant;
    const struct target *target;
    struct cache_geometry d1, ll;
};

/* Returns the target to compile for: t, or the target that valgrind runs instead (valgrind 3.19
 * does not support AVX-512); sse if this CPU does not run that target. */
static const struct target *target_of(const struct target *t)
{
    while (t->emulated)
        t = target_named(t->emulated);
    return t->runs_here() ? t : target_named("sse");
}

/* Aligns the arrays of the kernel to pages, as in the simulator: their addresses decide which
 * cache sets they share with the buffers. */
static void align_arrays(struct str *out, const char *text)
{
    static const char from[] = "__attribute__((aligned(64)))";
    for (const char *at; (at = strstr(text, from)) != NULL; text = at + sizeof from - 1) {
        str_add_n(out, text, (size_t)(at - text));
        str_add(out, "__attribute__((aligned(4096)))");
    }
    str_add(out, text);
}

/* Builds the variant with debug lines of a special file name, by which its functions are
 * recognised. */
static bool build_variant(struct cg_run *r, struct err *e)
{
    static const char *const debug[] = { "-g", NULL };
    const struct measure_job *j = r->once.job;
    const struct gen_opts o = { .target = r->target };
    struct str code = {0}, text = {0};
    str_add(&text, "#line 1 \"" SOURCE_FILE "\"\n");
    bool ok = module_c(j->module, &o, &code, e);
    if (ok)
        align_arrays(&text, str_text(&code));
    str_free(&code);
    ok = ok && build_shared_with(&j->cc, str_text(&text), o.target, false,
                                debug, j->cancel, &r->variant, e);
    str_free(&text);
    return ok;
}

static char *geometry_arg(struct arena *a, const char *name, const struct cache_geometry *g)
{
    return arena_printf(a, "--%s=%lld,%d,%d", name, (long long)g->size_bytes, g->ways,
                        g->line_bytes);
}

static bool run_valgrind(struct cg_run *r, struct err *e)
{
    struct arena *a = arena_new();
    const struct cache_geometry i1 = { 32 << 10, 8, r->d1.line_bytes };
    const struct once_call call = { .so_path = r->variant.so_path,
                                    .cache_bytes = r->d1.size_bytes };
    char out[64];
    once_out_path(&r->once, out, sizeof out);
    const char *tool[ONCE_TOOL_ARGS] = {
        "valgrind", "-q", "--tool=cachegrind", "--cache-sim=yes", "--branch-sim=no",
        geometry_arg(a, "I1", &i1), geometry_arg(a, "D1", &r->d1), geometry_arg(a, "LL", &r->ll),
        arena_printf(a, "--cachegrind-out-file=%s", out),
    };
    bool ok = once_run(&r->once, tool, &call, e);
    if (!ok && e->code == ERR_TIMEOUT)
        err_set(e, ERR_TIMEOUT, "stopped after %.3g s under valgrind (tilescope run --limit"
                " SECONDS allows more)", r->once.job->opts.limit_s);
    arena_free(a);
    return ok;
}

static bool read_counts(const struct cg_run *r, struct counts *out, struct err *e)
{
    struct str text = {0};
    bool ok = once_output(&r->once, &text, e)
           && (take_sums(str_text(&text), out)
               || err_set(e, ERR_ENV, "cachegrind's output has nothing about the kernel"));
    str_free(&text);
    return ok;
}

static void say_source(const struct cg_run *r, struct counts *out)
{
    char version[40] = "valgrind";
    struct str d1 = {0}, ll = {0};
    struct err ignored;
    find_version(version, sizeof version, &ignored);
    cache_geometry_print(&d1, &r->d1);
    cache_geometry_print(&ll, &r->ll);
    snprintf(out->source, sizeof out->source, "%s, %s variant, 1 thread, D1 %s, LL %s", version,
             r->target->isa, str_text(&d1), str_text(&ll));
    str_free(&d1);
    str_free(&ll);
}

bool cachegrind_count(struct measure_job *j, struct counts *out, struct err *e)
{
    struct cache_geometry l1 = j->opts.cache.level[0].geometry;
    struct cg_run r = { .target = target_of(j->target), .d1 = l1,
                        .ll = last_level(j->machine, l1.line_bytes),
                        .once = { .data_fd = -1, .out_fd = -1 } };
    bool ok = cachegrind_geometry(&r.d1, e) && once_open(&r.once, j, LAST_ADDRESS, e)
           && build_variant(&r, e) && run_valgrind(&r, e) && measure_is_right(j, r.once.data, e)
           && read_counts(&r, out, e);
    once_close(&r.once);
    if (ok && r.once.seconds > 0)
        counts_add(out, "seconds", r.once.seconds);
    if (ok)
        say_source(&r, out);
    return ok;
}
