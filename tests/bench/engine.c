/* How fast the engine is: what applying one step, with everything derived and lowered anew, costs.
 *
 *     make bench-engine
 *
 * Per program: the median and the slowest step of the fastest replay out of several (the machine's
 * noise is not the engine's), and the time of one lowering of the finished program and of its
 * features for the cost model. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explorer/model/features.h"
#include "kernels/base/subprocess.h"
#include "sessions/file/session.h"

#define REPLAYS 15
#define MAX_STEPS 256

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* One replay; the time of every step. */
static const struct program *replay(struct arena *a, const char *spec, const char *const *steps,
                                    int n, double *took)
{
    const struct program *p;
    struct err e;
    if (!program_new(a, spec, &p, &e))
        fail("%s: %s", spec, e.text);
    for (int i = 0; i < n; i++) {
        double start = clock_s();
        if (!program_apply_line(p, steps[i], &p, &e))
            fail("%s: %s", steps[i], e.text);
        took[i] = clock_s() - start;
    }
    return p;
}

static void bench(const char *name, const char *spec, const char *const *steps, int n)
{
    double best[MAX_STEPS], took[MAX_STEPS], lowering = 1e9, features = 1e9;
    int nodes = 0;
    for (int r = 0; r < REPLAYS; r++) {
        struct arena *a = arena_new();
        const struct func *f;
        struct features x;
        struct err e;
        const struct program *p = replay(a, spec, steps, n, took);
        double start = clock_s();
        if (!program_lower(p, &f, &e))
            fail("%s", e.text);
        double once = clock_s() - start;
        lowering = once < lowering ? once : lowering;
        start = clock_s();
        if (!features_of(a, f, NULL, &x, &e))
            fail("%s", e.text);
        once = clock_s() - start;
        features = once < features ? once : features;
        nodes = p->graph->n_nodes;
        for (int i = 0; i < n; i++)
            best[i] = r == 0 || took[i] < best[i] ? took[i] : best[i];
        arena_free(a);
    }
    qsort(best, (size_t)n, sizeof *best, ascending);
    printf("%-28s %5d %5d  %9.3f %9.3f %9.3f %9.3f\n", name, nodes, n, 1e3 * best[n / 2],
           1e3 * best[n - 1], 1e3 * lowering, 1e3 * features);
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
    printf("%-28s %5s %5s  %9s %9s %9s %9s\n", "milliseconds", "nodes", "steps", "median",
           "slowest", "lowering", "features");
    for (int i = 1; i < argc; i++)
        bench_session(argv[i]);
    bench_chain();
    return 0;
}
