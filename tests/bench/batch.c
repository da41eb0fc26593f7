/* `make bench-batch`: what compiling costs by kernels a compiler call, candidates a second, and
 * whether a batch and measure_program say the same.
 *
 *     bench-batch [-n CANDIDATES] [-t THREADS] [-r RUNS] [OPERATOR...]
 *
 * -r: instead, runs of eight random points of the layout and loop spaces each, as a search that
 * knows nothing measures them: what became of them, and what a thousand would take.
 *
 * The candidates are the schedules of the shipped experts whose code differs; the object cache is a
 * new folder each time, so that everything is compiled.  CPU time is that of all processes of the
 * compiler, so it stays when the cores are busy with other things. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "explorer/space/layout_space.h"
#include "explorer/space/loop_space.h"
#include "kernels/base/arena.h"
#include "kernels/base/vec.h"
#include "profile/measure/batch.h"
#include "profile/measure/program_text.h"
#include "sessions/file/expert_file.h"

#define MOST 256
#define COMPARED 6

static const char *const default_spec[] = {
    "c2d n=1 i=64 h=56 w=56 o=64 k=3 p=1 bias=1 relu=1",
    "gmm m=512 n=512 k=512",
    "dep n=1 c=144 h=56 w=56 k=3 p=1",
};

struct load { const struct program *p[MOST]; int n; };

/* What compilers used: cores can be busy with other things. */
static double children_cpu_s(void)
{
    struct rusage u;
    getrusage(RUSAGE_CHILDREN, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec)
         + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* Schedules whose C differs: the compiler would make one function of equal ones. */
static void candidates(struct arena *a, const char *spec, int threads, int most, struct load *out)
{
    static struct expert_schedule s[MOST];
    static char *seen[MOST];
    struct experts all;
    struct err e;
    int n = 0, bad;
    out->n = 0;
    if (!expert_file_all(a, &all, &e) ||
        !expert_schedules(a, &all, spec, NULL, threads, MOST, s, &n, &e))
        fail("%s", e.text);
    for (int i = 0; i < n && out->n < most; i++) {
        struct str text = {0};
        const struct program *p;
        bool known = false;
        if (!program_replay(a, spec, s[i].step, s[i].n, &p, &bad, &e)
            || !program_text_c(p, NULL, &text, &e))
            continue;
        const char *code = strchr(str_text(&text), '/');
        code = strstr(code, "*/");                        /* behind the steps */
        for (int k = 0; k < out->n && !known; k++)
            known = streq(seen[k], code);
        if (!known) {
            seen[out->n] = arena_strdup(a, code);
            out->p[out->n++] = p;
        }
        str_free(&text);
    }
}

static void new_cache(char *folder)
{
    snprintf(folder, 64, "/tmp/tilescope-bench-XXXXXX");
    if (!mkdtemp(folder) || setenv("XDG_CACHE_HOME", folder, 1) != 0)
        fail("no folder in /tmp");
}

static void remove_cache(const char *folder)
{
    const char *argv[] = { "rm", "-rf", folder, NULL };
    struct subprocess_result res;
    struct err e;
    if (subprocess_run(argv, 60, NULL, &res, &e))
        str_free(&res.out);
}

static struct batch_item item[MOST];

static struct batch_stats run(const struct load *l, const struct batch_opts *o, double *cpu_s)
{
    struct batch *b;
    struct err e;
    char folder[64];
    new_cache(folder);
    if (!batch_new(l->p[0], o, NULL, &b, &e))
        fail("%s", e.text);
    for (int i = 0; i < l->n; i++)
        item[i] = (struct batch_item){ .p = l->p[i] };
    double before = children_cpu_s();
    if (!batch_run(b, item, l->n, NULL, NULL, &e))
        fail("%s", e.text);
    *cpu_s = children_cpu_s() - before;           /* the runner has not ended yet */
    struct batch_stats s = batch_stats(b);
    batch_free(b);
    remove_cache(folder);
    return s;
}

/* Latencies of the last run over those of the same kernels measured alone. */
static void compare(const struct load *l, int threads)
{
    double least = INFINITY, most = 0;
    int n = 0;
    for (int i = 0; i < l->n && n < COMPARED; i++) {
        struct measure_opts o = { .meters = METER_CLOCK, .seed = 1, .threads = threads };
        struct measurement m;
        struct err e;
        if (item[i].given_up || item[i].m.outcome != OUTCOME_OK)
            continue;
        if (!measure_program(l->p[i], &o, NULL, NULL, &m, &e))
            fail("%s", e.text);
        double ratio = item[i].m.latency.min_ms / m.latency.min_ms;
        least = fmin(least, ratio);
        most = fmax(most, ratio);
        n++;
    }
    printf("  minimum latency of %d of them over measure_program's: %.3f to %.3f\n", n, least,
           most);
}

static void bench(struct arena *a, const char *spec, int threads, int most)
{
    static const int per_call[] = { 1, 4, 8, 16 };
    struct load l;
    double cpu_s = 0;
    struct batch_stats s = {0};
    candidates(a, spec, threads, most, &l);
    printf("%s: %d kernels, %d thread%s\n", spec, l.n, threads, threads > 1 ? "s" : "");
    printf("  kernels a call   calls   compiling each: CPU ms   ms   measuring each: ms"
           "   candidates/s\n");
    for (int i = 0; i < COUNT_OF(per_call); i++) {
        struct batch_opts o = { .measure = { .threads = threads, .seed = 1 },
                                .per_call = per_call[i] };
        s = run(&l, &o, &cpu_s);
        printf("  %14d %7d %24.1f %6.1f %19.1f %14.1f\n", per_call[i], s.compiler_calls,
               1e3 * cpu_s / l.n, 1e3 * s.compile_s / l.n, 1e3 * s.measure_s / l.n,
               l.n / (s.compile_s + s.measure_s));
    }
    printf("  of the last: %d ok (%d given up), %d wrong, %d crashed, %d timeouts, %d not"
           " compiled; %d child%s\n", s.of[OUTCOME_OK], s.given_up, s.of[OUTCOME_WRONG],
           s.of[OUTCOME_CRASH], s.of[OUTCOME_TIMEOUT], s.of[OUTCOME_COMPILE], s.children,
           s.children == 1 ? "" : "ren");
    compare(&l, threads);
}

/* --- Random points ---------------------------------------------------------------------------- */

#define A_RUN 8
typedef VEC(const char *) lines;

static void add_lines(lines *all, const char *const *line, int n)
{
    for (int i = 0; i < n; i++)
        vec_push(all, line[i]);
}

/* Layouts and loops drawn, both sound; NULL: these do not go together. */
static const struct program *draw(struct arena *a, const char *spec, int threads, struct rng *r)
{
    struct loop_opts lo = { .threads = threads };
    const struct layout_space *layouts;
    const struct loop_space *loops;
    const char *const *line;
    const struct program *p = NULL;
    const struct func *f;
    struct loop_point point;
    int64_t factor[LAYOUT_KNOBS];
    lines all = {0};
    struct err e;
    int n, bad;
    if (!layout_space_new(a, spec, NULL, 0, NULL, &layouts, &e))
        fail("%s", e.text);
    layout_space_random(layouts, r, factor);
    if (!layout_space_lines(layouts, a, factor, &line, &n, NULL, &e))
        fail("%s", e.text);
    add_lines(&all, line, n);
    if (loop_space_new(a, spec, all.data, all.len, &lo, &loops, &e)) {
        loop_point_random(loops, r, &point);
        if (loop_point_lines(loops, a, &point, &line, &n, &e)) {
            add_lines(&all, line, n);
            if (!program_replay(a, spec, all.data, all.len, &p, &bad, &e)
                || !program_lower(p, &f, &e) || !loop_code_sound(loops, f, &e))
                p = NULL;
        }
    }
    vec_free(&all);
    return p;
}

static void bench_random(const char *spec, int threads, int runs)
{
    struct rng r = rng_seed(1);
    struct arena *a = arena_new();
    struct batch *b = NULL;
    struct batch_opts o = { .measure = { .threads = threads, .seed = 1 } };
    struct err e;
    char folder[64];
    double drawing_s = 0, cpu_s = 0;
    new_cache(folder);
    for (int k = 0; k < runs; k++) {
        double start = clock_s();
        for (int n = 0; n < A_RUN;) {
            const struct program *p = draw(a, spec, threads, &r);
            if (p)
                item[n++].p = p;
        }
        drawing_s += clock_s() - start;
        if (!b && !batch_new(item[0].p, &o, NULL, &b, &e))
            fail("%s", e.text);
        double before = children_cpu_s();
        if (!batch_run(b, item, A_RUN, NULL, NULL, &e))
            fail("%s", e.text);
        cpu_s += children_cpu_s() - before;
        arena_reset(a);
    }
    struct batch_stats s = batch_stats(b);
    int n = runs * A_RUN;
    printf("%s: %d random points, %d thread%s\n", spec, n, threads, threads > 1 ? "s" : "");
    printf("  %d ok (%d given up), %d wrong, %d crashed, %d timeouts, %d not compiled,"
           " %d too large; %d children\n", s.of[OUTCOME_OK], s.given_up, s.of[OUTCOME_WRONG],
           s.of[OUTCOME_CRASH], s.of[OUTCOME_TIMEOUT], s.of[OUTCOME_COMPILE], s.of[OUTCOME_LIMIT],
           s.children);
    printf("  each: %.1f ms compiling (%.1f CPU ms), %.1f ms measuring, %.1f ms drawing;"
           " a thousand: %.0f s\n", 1e3 * s.compile_s / n, 1e3 * cpu_s / n,
           1e3 * s.measure_s / n, 1e3 * drawing_s / n, 1e3 * (s.compile_s + s.measure_s) / n);
    batch_free(b);
    remove_cache(folder);
    arena_free(a);
}

int main(int argc, char **argv)
{
    struct arena *a = arena_new();
    int n = 32, threads = 1, runs = 0, c;
    while ((c = getopt(argc, argv, "n:t:r:")) != -1) {
        if (c == '?')
            return 2;
        *(c == 'n' ? &n : c == 't' ? &threads : &runs) = atoi(optarg);
    }
    n = n < 1 ? 1 : n > MOST ? MOST : n;
    int n_specs = optind < argc ? argc - optind : COUNT_OF(default_spec);
    for (int i = 0; i < n_specs; i++) {
        const char *spec = optind < argc ? argv[optind + i] : default_spec[i];
        if (runs > 0)
            bench_random(spec, threads, runs);
        else
            bench(a, spec, threads, n);
    }
    arena_free(a);
    return 0;
}
