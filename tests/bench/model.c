/* How well the cost model orders programs that it has not seen.
 *
 *     make bench-model [MODEL="-n 200 -s 1 -f FILE -l"]
 *
 * For each of two convolutions of ResNet-18: random schedules (register tiles in random layouts,
 * the shipped experts' schedules, and edits of both) are verified and timed; a model learns from
 * some of them and orders the others.  -f keeps what was measured in a file (a line each: time,
 * operator, steps) and reads it when it is there; -l adds the columns of the layout.
 *
 * Many schedules reach the machine's peak and differ by less than the clock can tell, so besides
 * all pairs and recall@8 there are the pairs whose times differ by more than 3 %, and how much
 * slower than the fastest of all the fastest of the eight that the model would measure is. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "explorer/model/cost_model.h"
#include "explorer/model/rank.h"
#include "kernels/base/file.h"
#include "kernels/base/rng.h"
#include "kernels/base/vec.h"
#include "profile/measure/measure.h"
#include "sessions/file/expert_file.h"

static struct feature_opts columns;      /* -l: those of the layout, too */
static const char *const specs[] = { "c2d n=1 i=64 h=56 w=56 o=64 k=3 p=1",
                                     "c2d n=1 i=128 h=28 w=28 o=256 k=3 s=2 p=1" };

struct sample { const char *spec; int n; const char **line; double ms; struct features f; };
struct samples { VEC(struct sample) v; };

/* --- Random programs ------------------------------------------------------------------------- */

static int64_t divisor(struct rng *r, int64_t n, int64_t most)
{
    int64_t d;
    do
        d = rng_range(r, 1, n < most ? n : most);
    while (n % d);
    return d;
}

static void shuffled(struct rng *r, const char **word, int n)
{
    for (int i = n - 1; i > 0; i--) {
        int k = (int)rng_range(r, 0, i);
        const char *swap = word[i];
        word[i] = word[k];
        word[k] = swap;
    }
}

#define ADD(...) vec_push(line, arena_printf(a, __VA_ARGS__))

/* A direct convolution with a register tile of wt pixels by ob channels, over random layouts and in
 * a random order of the outer and of the reduction loops. */
static void draw_tiled(struct arena *a, struct rng *r, const struct program *p, struct sample *s)
{
    static const char *const inputs[] = { "N H W I", "N I H W", "N I/16 H W 16i", "N H I W" };
    static const char *const kernels[] = { "O/%d KH KW I %do", "O/%d I KH KW %do",
                                           "KH KW I O/%d %do" };
    const struct tensor *out = &p->graph->tensor[p->graph->node[p->graph->main_node].out];
    struct { char **data; int len, cap; } buffer = { 0 }, *line = &buffer;
    int64_t ob = (int64_t)8 << rng_range(r, 0, 3), wt = divisor(r, out->shape[3], 28);
    const char *outer[] = { "O.0", "H", "W.0" }, *inner[] = { "KH", "KW", "I" };
    bool blocked = rng_range(r, 0, 1);
    ADD("set input_layout given");
    ADD("layout set Inp_in \"%s\"", inputs[rng_range(r, 0, 3)]);
    char *kernel = arena_strdup(a, kernels[rng_range(r, 0, 2)]);
    char *at = strstr(kernel, "%d"), *last = strstr(at + 2, "%d");
    ADD("layout set Ker \"%.*s%d%.*s%d%s\"", (int)(at - kernel), kernel, (int)ob,
        (int)(last - at - 2), at + 2, (int)ob, last + 2);
    if (blocked)
        ADD("layout set Conv \"N O/%d H W %do\"", (int)ob, (int)ob);
    else
        ADD("layout set Conv \"N H W O\"");
    if (rng_range(r, 0, 4))
        ADD("loop inline Inp");
    if (!blocked)
        ADD("loop split Conv O %d", (int)ob);
    ADD("loop split Conv W %d", (int)wt);
    shuffled(r, outer, 3);
    shuffled(r, inner, 3);
    ADD("loop reorder Conv N %s %s %s %s %s %s W.1 O.1", outer[0], outer[1], outer[2], inner[0],
        inner[1], inner[2]);
    if (rng_range(r, 0, 5))
        ADD("loop cache_write Conv at=%s", outer[2]);
    if (rng_range(r, 0, 5))
        ADD("loop unroll Conv W.1");
    if (rng_range(r, 0, 3) == 0)
        ADD("loop unroll Conv %s", inner[2][0] == 'K' ? inner[2] : "KW");
    if (rng_range(r, 0, 9))
        ADD("loop vectorize Conv O.1");
    s->n = line->len;
    s->line = ARENA_DUP(a, line->data, line->len);
    vec_free(line);
}

/* One line out, or two neighbours swapped. */
static void edit(struct arena *a, struct rng *r, struct sample *s)
{
    s->line = ARENA_DUP(a, s->line, s->n);
    int at = (int)rng_range(r, 0, s->n - 1);
    if (rng_range(r, 0, 1) || at + 1 == s->n) {
        memmove(s->line + at, s->line + at + 1, (size_t)(s->n - at - 1) * sizeof *s->line);
        s->n--;
    } else {
        const char *swap = s->line[at];
        s->line[at] = s->line[at + 1];
        s->line[at + 1] = swap;
    }
}

static bool legal(struct arena *a, struct sample *s)
{
    struct arena *scratch = arena_new();
    const struct program *p;
    const struct func *f;
    struct err e;
    int bad;
    bool ok = program_replay(scratch, s->spec, s->line, s->n, &p, &bad, &e) &&
              program_lower(p, &f, &e) && features_of(a, f, &columns, &s->f, &e);
    arena_free(scratch);
    return ok;
}

static bool known(const struct samples *all, const struct sample *s)
{
    for (int i = 0; i < all->v.len; i++)
        if (streq(all->v.data[i].spec, s->spec) &&
            features_hash(&all->v.data[i].f) == features_hash(&s->f))
            return true;
    return false;
}

static void draw(struct arena *a, uint64_t seed, const char *spec, int n, struct samples *all)
{
    struct rng r = rng_seed(seed);
    struct experts experts;
    struct expert_schedule *schedule = ARENA_ARRAY(a, struct expert_schedule, 400);
    const struct program *p;
    struct err e;
    int n_schedules, have = 0;
    if (!expert_file_all(a, &experts, &e) || !program_new(a, spec, &p, &e) ||
        !expert_schedules(a, &experts, spec, NULL, 1, 400, schedule, &n_schedules, &e))
        fail("%s", e.text);
    for (int tries = 0; have < n && tries < 100 * n; tries++) {
        struct sample s = { .spec = spec };
        if (rng_range(&r, 0, 2)) {
            draw_tiled(a, &r, p, &s);
        } else {
            const struct expert_schedule *x = &schedule[rng_range(&r, 0, n_schedules - 1)];
            s.n = x->n;
            s.line = ARENA_DUP(a, x->step, x->n);
        }
        if (rng_range(&r, 0, 3) == 0)
            edit(a, &r, &s);
        if (!legal(a, &s) || known(all, &s))
            continue;
        vec_push(&all->v, s);
        have++;
    }
}

/* --- Measuring ------------------------------------------------------------------------------- */

static void measure(struct samples *all)
{
    struct measure_opts o = { .meters = METER_CLOCK, .time_s = 0.03, .min_runs = 5, .limit_s = 2 };
    for (int i = 0; i < all->v.len; i++) {
        struct sample *s = &all->v.data[i];
        struct arena *a = arena_new();
        const struct program *p;
        struct measurement m;
        struct err e;
        int bad;
        if (!program_replay(a, s->spec, s->line, s->n, &p, &bad, &e) ||
            !measure_program(p, &o, NULL, NULL, &m, &e))
            fail("%s", e.text);
        s->ms = m.outcome == OUTCOME_OK ? m.latency.min_ms : INFINITY;
        fprintf(stderr, "\r%d of %d measured ", i + 1, all->v.len);
        arena_free(a);
    }
    fprintf(stderr, "\r%30s\r", "");
}

static void write_samples(const char *path, const struct samples *all)
{
    struct str s = { 0 };
    struct err e;
    for (int i = 0; i < all->v.len; i++) {
        const struct sample *x = &all->v.data[i];
        str_printf(&s, "%.6g\t%s", x->ms, x->spec);
        for (int k = 0; k < x->n; k++)
            str_printf(&s, "\t%s", x->line[k]);
        str_add_char(&s, '\n');
    }
    if (!file_write_atomic(path, s.data, s.len, &e))
        fail("%s", e.text);
    str_free(&s);
}

static bool read_samples(struct arena *a, const char *path, struct samples *all)
{
    struct str text = { 0 };
    struct err e;
    char *rest, *field;
    if (access(path, R_OK) != 0)
        return false;
    if (!file_read(path, 64 << 20, &text, &e))
        fail("%s", e.text);
    for (char *line = strtok_r(arena_strdup(a, str_text(&text)), "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        struct sample s = { .ms = strtod(strtok_r(line, "\t", &field), NULL) };
        const char *spec = strtok_r(NULL, "\t", &field), *word;
        for (int i = 0; i < COUNT_OF(specs); i++)
            if (spec && streq(specs[i], spec))
                s.spec = specs[i];
        s.line = ARENA_ARRAY(a, const char *, 64);
        while ((word = strtok_r(NULL, "\t", &field)) && s.n < 64)
            s.line[s.n++] = word;
        if (s.spec && legal(a, &s))
            vec_push(&all->v, s);
    }
    str_free(&text);
    return true;
}

/* --- Judging --------------------------------------------------------------------------------- */

static struct cost_model *learned(struct sample *const *s, int n, uint64_t seed)
{
    struct cost_model_opts o = { .seed = seed };
    struct cost_model *m;
    struct err e;
    if (!cost_model_new(&o, &m, &e))
        fail("%s (%s)", e.text, e.fix);
    for (int i = 0; i < n; i++)
        cost_model_add(m, &s[i]->f, s[i]->ms);
    if (!cost_model_train_now(m, NULL, &e))
        fail("%s", e.text);
    return m;
}

struct verdict_of { double order, order_apart, recall, lost; };

/* Of the pairs with times that differ by more than 3 %. */
static double order_apart(const double *score, const double *ms, int n)
{
    double right = 0, pairs = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            if (ms[i] * 1.03 < ms[k]) {
                pairs++;
                right += score[i] > score[k] ? 1 : score[i] < score[k] ? 0 : 0.5;
            }
    return pairs > 0 ? right / pairs : NAN;
}

/* The fastest of the eight with the highest scores, over the fastest of all. */
static double lost_by_eight(const double *score, const double *ms, int n)
{
    double best = INFINITY, of_eight = INFINITY;
    for (int i = 0; i < n; i++) {
        int before = 0;
        for (int k = 0; k < n; k++)
            before += score[k] > score[i] || (score[k] == score[i] && k < i);
        best = fmin(best, ms[i]);
        of_eight = before < 8 ? fmin(of_eight, ms[i]) : of_eight;
    }
    return of_eight / best;
}

static struct verdict_of judge(struct cost_model *m, struct sample *const *s, int n)
{
    struct verdict_of v;
    double *score = xcalloc((size_t)n + 1, sizeof *score), *ms = xcalloc((size_t)n + 1, sizeof *ms);
    for (int i = 0; i < n; i++) {
        cost_model_predict(m, &s[i]->f, 1, &score[i]);
        ms[i] = s[i]->ms;
    }
    v.order = rank_pair_order(score, ms, n);
    v.recall = rank_recall(score, ms, n, 8);
    v.order_apart = order_apart(score, ms, n);
    v.lost = lost_by_eight(score, ms, n);
    free(score);
    free(ms);
    return v;
}

/* Mean over several ways to choose the samples to learn from; the others are ordered. */
static void row(struct sample **s, int n, int learn, uint64_t seed)
{
    struct verdict_of sum = { 0 };
    struct cost_model_stats stats = { 0 };
    struct rng r = rng_seed(seed);
    int ways = 5, trees = 0;
    double train_s = 0;
    for (int w = 0; w < ways; w++) {
        for (int i = n - 1; i > 0; i--) {
            int k = (int)rng_range(&r, 0, i);
            struct sample *swap = s[i];
            s[i] = s[k];
            s[k] = swap;
        }
        struct cost_model *m = learned(s, learn, seed);
        struct verdict_of v = judge(m, s + learn, n - learn);
        stats = cost_model_stats(m);
        sum.order += v.order / ways;
        sum.order_apart += v.order_apart / ways;
        sum.lost += v.lost / ways;
        sum.recall += v.recall / ways;
        trees += stats.trees;
        train_s += stats.last_train_s / ways;
        cost_model_free(m);
    }
    printf("  %6d %6d %8.3f %12.3f %9.3f (%.3f) %10.3f %6d %8.0f\n", learn, n - learn, sum.order,
           sum.order_apart, sum.recall, 8.0 / (n - learn), sum.lost, trees / ways, 1e3 * train_s);
}

/* What a model costs whose tuner measures 1000 programs: as many as there are, again and again, and
 * trained whenever that is due. */
static void time_thousand(struct sample *const *s, int n, uint64_t seed)
{
    struct cost_model_opts o = { .seed = seed };
    struct cost_model *m;
    struct features *f = xcalloc(1000, sizeof *f);
    double *score = xcalloc(1000, sizeof *score);
    struct err e;
    int rows = 0;
    if (!cost_model_new(&o, &m, &e))
        fail("%s (%s)", e.text, e.fix);
    double start = clock_s();
    for (int i = 0; i < 1000; i++) {
        f[i] = s[i % n]->f;
        rows += f[i].rows;
        cost_model_add(m, &f[i], s[i % n]->ms);
        if (!cost_model_train(m, NULL, &e))
            fail("%s", e.text);
    }
    double all = clock_s() - start;
    if (!cost_model_train_now(m, NULL, &e))
        fail("%s", e.text);
    struct cost_model_stats stats = cost_model_stats(m);
    start = clock_s();
    cost_model_predict(m, f, 1000, score);
    printf("  1000 samples (%d rows): %d trainings, %.2f s with all else; the last %d trees in "
           "%.2f s; scores of 1000 in %.1f ms\n", rows, stats.trainings - 1, all, stats.trees,
           stats.last_train_s, 1e3 * (clock_s() - start));
    cost_model_free(m);
    free(f);
    free(score);
}

static void time_features(struct sample *const *s, int n)
{
    double replay = 0, features = 0, worst = 0;
    for (int i = 0; i < n; i++) {
        struct arena *a = arena_new();
        const struct program *p;
        const struct func *f;
        struct features x;
        struct err e;
        int bad;
        double start = clock_s();
        if (!program_replay(a, s[i]->spec, s[i]->line, s[i]->n, &p, &bad, &e) ||
            !program_lower(p, &f, &e))
            fail("%s", e.text);
        double middle = clock_s(), took = INFINITY;
        for (int k = 0; k < 3; k++) {     /* the least: the scheduler is not the program's fault */
            double from = clock_s();
            if (!features_of(a, f, &columns, &x, &e))
                fail("%s", e.text);
            took = fmin(took, clock_s() - from);
        }
        replay += middle - start;
        features += took;
        worst = took > worst ? took : worst;
        arena_free(a);
    }
    printf("  features: mean %.3f ms, slowest %.3f ms; replay and lowering: mean %.3f ms\n",
           1e3 * features / n, 1e3 * worst, 1e3 * replay / n);
}

static void report(const struct samples *all, const char *spec, uint64_t seed)
{
    struct sample **s = xcalloc((size_t)all->v.len + 1, sizeof *s);
    int n = 0, failed = 0;
    double best = INFINITY, worst = 0;
    for (int i = 0; i < all->v.len; i++)
        if (all->v.data[i].spec == spec) {
            s[n++] = &all->v.data[i];
            failed += !isfinite(s[n - 1]->ms);
            best = fmin(best, s[n - 1]->ms);
            worst = isfinite(s[n - 1]->ms) ? fmax(worst, s[n - 1]->ms) : worst;
        }
    printf("\n%s: %d programs, %.3f to %.3f ms, %d failed\n", spec, n, best, worst, failed);
    if (n >= 32) {
        printf("  learns orders    pairs   3 %% apart  recall@8 (chance) best of 8  trees train "
               "ms\n");
        for (int learn = 32; learn < n / 2; learn *= 2)
            row(s, n, learn, seed);
        row(s, n, n / 2, seed);
        time_features(s, n);
        time_thousand(s, n, seed);
    }
    free(s);
}

int main(int argc, char **argv)
{
    struct arena *a = arena_new();
    struct samples all = { 0 };
    uint64_t seed = 1;
    const char *path = NULL;
    int n = 200, option;
    while ((option = getopt(argc, argv, "n:s:f:l")) != -1) {
        if (option == 'n')
            n = atoi(optarg);
        else if (option == 's')
            seed = strtoull(optarg, NULL, 10);
        else if (option == 'f')
            path = optarg;
        else if (option == 'l')
            columns.layout = true;
        else
            return 2;
    }
    if (!path || !read_samples(a, path, &all)) {
        for (int i = 0; i < COUNT_OF(specs); i++)
            draw(a, seed + (uint64_t)i, specs[i], n, &all);
        measure(&all);
        if (path)
            write_samples(path, &all);
    }
    for (int i = 0; i < COUNT_OF(specs); i++)
        report(&all, specs[i], seed);
    vec_free(&all.v);
    arena_free(a);
    return 0;
}
