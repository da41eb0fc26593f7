/* How fast the engine is: what applying one step and showing the result costs, and a replay.
 *
 *     make bench-engine
 *
 * Per program: the median and the slowest step of the fastest session out of several (the machine's
 * noise is not the engine's), the most lowerings that a step took, and the memory of the session;
 * the time and the lowerings of a replay, the time of one lowering of the finished program and of
 * its features for the cost model. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explorer/model/features.h"
#include "kernels/base/subprocess.h"
#include "kernels/nest/lower.h"
#include "sessions/file/session.h"

#define REPLAYS 15
#define MAX_STEPS 256

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct cost {
    double step[MAX_STEPS], replay, lowering, features;           /* seconds */
    long most_lowerings, replay_lowerings;
    size_t bytes;
    int nodes;
};

static void must(bool ok, const char *what, const struct err *e)
{
    if (!ok)
        fail("%s: %s", what, e->text);
}

/* Step after step, each applied and lowered for a view. */
static void run_session(const char *spec, const char *const *steps, int n, struct cost *c)
{
    struct arena *a = arena_new();
    const struct program *p;
    const struct func *f;
    struct err e;
    must(program_new(a, spec, &p, &e), spec, &e);
    for (int i = 0; i < n; i++) {
        long before = lower_calls();
        double start = clock_s();
        must(program_apply_line(p, steps[i], &p, &e) && program_lower(p, &f, &e), steps[i], &e);
        c->step[i] = clock_s() - start;
        long lowerings = lower_calls() - before;
        c->most_lowerings = lowerings > c->most_lowerings ? lowerings : c->most_lowerings;
    }
    c->bytes = arena_used_bytes(a);
    arena_free(a);
}

static void run_replay(const char *spec, const char *const *steps, int n, struct cost *c)
{
    struct arena *a = arena_new();
    const struct program *p;
    const struct func *f;
    struct features x;
    struct err e;
    int bad;
    long before = lower_calls();
    double start = clock_s();
    must(program_replay(a, spec, steps, n, &p, &bad, &e) && program_lower(p, &f, &e), spec, &e);
    c->replay = clock_s() - start;
    c->replay_lowerings = lower_calls() - before;
    struct lowering in = { .pool = p->pool, .graph = p->graph, .layout = p->layout,
                           .stage = p->stage, .held_in = p->held_in };
    start = clock_s();
    must(lower(&in, &f, &e), spec, &e);
    c->lowering = clock_s() - start;
    start = clock_s();
    must(features_of(a, f, NULL, &x, &e), spec, &e);
    c->features = clock_s() - start;
    c->nodes = p->graph->n_nodes;
    arena_free(a);
}

static void keep_least(double *best, double x)
{
    *best = *best == 0 || x < *best ? x : *best;
}

static void bench(const char *name, const char *spec, const char *const *steps, int n)
{
    struct cost best = { 0 }, c = { 0 };
    for (int r = 0; r < REPLAYS; r++) {
        run_session(spec, steps, n, &c);
        run_replay(spec, steps, n, &c);
        for (int i = 0; i < n; i++)
            keep_least(&best.step[i], c.step[i]);
        keep_least(&best.replay, c.replay);
        keep_least(&best.lowering, c.lowering);
        keep_least(&best.features, c.features);
    }
    qsort(best.step, (size_t)n, sizeof *best.step, ascending);
    printf("%-28s %5d %5d  %8.3f %8.3f %7ld %6zu  %8.3f %7ld  %8.3f %8.3f\n", name, c.nodes, n,
           1e3 * best.step[n / 2], 1e3 * best.step[n - 1], c.most_lowerings, c.bytes >> 10,
           1e3 * best.replay, c.replay_lowerings, 1e3 * best.lowering, 1e3 * best.features);
}

static void bench_session(const char *path)
{
    struct session *s;
    struct err e;
    const char *steps[MAX_STEPS];
    if (!session_load(path, &s, &e))
        fail("%s: %s", path, e.text);
    const struct program *p = history_current(s->history)->program;
    int n = p->n_steps < MAX_STEPS ? p->n_steps : MAX_STEPS;
    for (int i = 0; i < n; i++)
        steps[i] = p->steps[i];
    const char *name = strrchr(path, '/');
    bench(name ? name + 1 : path, p->base->spec, steps, n);
    session_free(s);
}

/* A chain of 34 convolutions with pad and ReLU: 102 nodes. */
static void bench_chain(void)
{
    static const char *const steps[] = {
        "layout set c1_Conv NHWO",   "layout set c17_Conv \"N O/16 H W 16o\"",
        "layout set c17_Inp NHWI",   "layout set c34_Ker \"O/16 I KH KW 16o\"",
        "loop split c17_Conv O.1 4", "loop reorder c1_Conv N H W I KH KW O",
        "loop vectorize c1_Conv O",  "loop compute_at c1 c1_Conv W",
    };
    struct str spec = { 0 };
    str_add(&spec, "x = input n=1 i=16 h=14 w=14");
    for (int i = 1; i <= 34; i++)
        str_printf(&spec, "; c%d = c2d(%s%d) o=16 k=3 p=1 relu=1", i, i > 1 ? "c" : "x", i - 1);
    char *first = strstr(spec.data, "(x0)");
    memmove(first + 2, first + 3, strlen(first + 3) + 1);
    bench("chain of 34 convolutions", str_text(&spec), steps, COUNT_OF(steps));
    str_free(&spec);
}

int main(int argc, char **argv)
{
    printf("%-28s %5s %5s  %-32s  %-16s\n", "milliseconds", "nodes", "steps",
           "a step, applied and shown", "a replay");
    printf("%-28s %5s %5s  %8s %8s %7s %6s  %8s %7s  %8s %8s\n", "", "", "", "median", "slowest",
           "lowered", "KiB", "", "lowered", "lowering", "features");
    for (int i = 1; i < argc; i++)
        bench_session(argv[i]);
    bench_chain();
    return 0;
}
