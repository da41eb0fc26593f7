/* The landscape: latency = (1 + sum of squared distances from a best value, which depends on the
 * layout) * a factor for the layout. */
#include "tests/unit/tune_landscape.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const int64_t divisors[] = { 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96 };

static uint64_t mix(const struct landscape *l, const void *data, size_t n)
{
    return hash_bytes(data, n, l->seed * 0x9e3779b97f4a7c15u + 1);
}

static double layout_cost(const struct landscape *l, const int64_t *factor)
{
    double cost = 1;
    for (int i = 0; i < LAND_LAYOUT; i++) {
        double want = 1 + (double)(mix(l, &i, sizeof i) % 5);
        double x = log2((double)factor[i]) - want;
        cost += 0.2 * x * x;
    }
    return cost;
}

double landscape_ms(const struct landscape *l, int arm, const struct land_point *p)
{
    double sum = 0;
    for (int i = 0; i < LAND_KNOBS; i++) {
        int64_t key[2] = { i, l->arm[arm].factor[i % LAND_LAYOUT] };
        int want = (int)(mix(l, key, sizeof key) % (uint64_t)l->values);
        sum += (p->v[i] - want) * (p->v[i] - want);
    }
    return layout_cost(l, l->arm[arm].factor) * (0.1 + 0.02 * sum);
}

static bool fails(const struct landscape *l, uint64_t text)
{
    return l->failures && mix(l, &text, sizeof text) % 13 == 0;
}

double landscape_best(struct landscape *l)
{
    double best = INFINITY;
    int64_t factor[TUNE_MAX_LAYOUT_KNOBS] = {0};
    if (l->fixed)
        return 0.1 * layout_cost(l, l->arm[0].factor);
    for (bool more = l->problem.layout_next(l, factor, true); more;
         more = l->problem.layout_next(l, factor, false))
        best = fmin(best, 0.1 * layout_cost(l, factor));
    return best;
}

double landscape_best_of_all(struct landscape *l)
{
    double best = INFINITY;
    int64_t factor[TUNE_MAX_LAYOUT_KNOBS] = {0};
    for (bool more = l->problem.layout_next(l, factor, true); more;
         more = l->problem.layout_next(l, factor, false)) {
        int arm = l->problem.arm_open(l, factor);
        struct land_point p = {0};
        do
            best = fmin(best, landscape_ms(l, arm, &p));
        while (l->problem.point_next(l, arm, &p));
    }
    return best;
}

static void layout_decode(void *ctx, const double *action, int n_done, int64_t *factor)
{
    const struct landscape *l = ctx;
    for (int i = 0; i < LAND_LAYOUT; i++) {
        factor[i] = l->extent;
        if (i >= n_done)
            continue;
        for (int k = 0; k < COUNT_OF(divisors); k++) {
            double x = action[i] * (double)l->extent;
            if (l->extent % divisors[k] == 0 &&
                fabs((double)divisors[k] - x) <= fabs((double)factor[i] - x))
                factor[i] = divisors[k];
        }
    }
}

static bool layout_next(void *ctx, int64_t *factor, bool first)
{
    const struct landscape *l = ctx;
    for (int i = 0; i < LAND_LAYOUT; i++) {
        if (first) {
            factor[i] = 1;
            continue;
        }
        for (int64_t f = factor[i] + 1; f <= l->extent; f++)
            if (l->extent % f == 0) {
                factor[i] = f;
                return true;
            }
        factor[i] = 1;
    }
    return first;
}

static void layout_state(void *ctx, const int64_t *factor, float out[TUNE_LAYOUT_STATE])
{
    (void)ctx;
    memset(out, 0, TUNE_LAYOUT_STATE * sizeof *out);
    for (int i = 0; i < LAND_LAYOUT; i++)
        out[i] = (float)(log2((double)factor[i]) / 16);
}

static int arm_open(void *ctx, const int64_t *factor)
{
    struct landscape *l = ctx;
    int at = l->n_alike;
    for (int i = 0; i < l->n_arms; i++)
        if (memcmp(l->arm[i].factor + at, factor + at, sizeof l->arm[i].factor - (size_t)at *
                   sizeof *factor) == 0)
            return i;
    if (l->n_arms == COUNT_OF(l->arm))
        return -1;
    memcpy(l->arm[l->n_arms].factor, factor, sizeof l->arm[0].factor);
    return l->n_arms++;
}

static void arm_close(void *ctx, int arm) { (void)ctx; (void)arm; }
static int n_arms(void *ctx) { return ((struct landscape *)ctx)->n_arms; }
static const char *arm_family(void *ctx, int arm) { (void)ctx; (void)arm; return "family"; }

static void point_first(void *ctx, int arm, void *point)
{
    (void)ctx; (void)arm;
    memset(point, 0, sizeof(struct land_point));
}

static int point_starts(void *ctx, int arm, void *points, int most)
{
    point_first(ctx, arm, points);
    return most > 0;
}

static void point_draw(void *ctx, int arm, struct rng *r, void *point)
{
    struct land_point *p = point;
    (void)arm;
    for (int i = 0; i < LAND_KNOBS; i++)
        p->v[i] = (int)rng_range(r, 0, ((struct landscape *)ctx)->values - 1);
}

static void point_mutate(void *ctx, int arm, struct rng *r, void *point)
{
    struct landscape *l = ctx;
    struct land_point *p = point;
    l->n_foreign += l->watched_arm > 0 && arm != l->watched_arm &&
                    memcmp(p, &l->watched, sizeof *p) == 0;
    p->v[rng_range(r, 0, LAND_KNOBS - 1)] =
        (int)rng_range(r, 0, ((struct landscape *)ctx)->values - 1);
}

static void point_cross(void *ctx, int arm, struct rng *r, const void *a, const void *b, void *out)
{
    struct land_point *p = out;
    (void)ctx; (void)arm;
    *p = *(const struct land_point *)a;
    for (int i = 0; i < LAND_KNOBS; i++)
        if (rng_u64(r) & 1)
            p->v[i] = ((const struct land_point *)b)->v[i];
}

static bool point_next(void *ctx, int arm, void *point)
{
    struct land_point *p = point;
    (void)arm;
    for (int i = 0; i < LAND_KNOBS; i++) {
        if (++p->v[i] < ((struct landscape *)ctx)->values)
            return true;
        p->v[i] = 0;
    }
    return false;
}

static int n_knobs(void *ctx, int arm) { (void)ctx; (void)arm; return LAND_KNOBS; }
static int knob_kind(void *ctx, int arm, int knob) { (void)ctx; (void)arm; return knob % 2; }
static int directions(void *ctx, int arm, int knob)
{
    (void)ctx; (void)arm; (void)knob;
    return 3;
}

static void point_move(void *ctx, int arm, void *point, int knob, int direction)
{
    struct land_point *p = point;
    int n = ((struct landscape *)ctx)->values;
    (void)arm;
    p->v[knob] = (p->v[knob] + (direction == 1 ? 1 : direction == 2 ? n - 1 : 0)) % n;
}

static void point_state(void *ctx, int arm, const void *point, float out[TUNE_POINT_STATE])
{
    const struct land_point *p = point;
    (void)ctx; (void)arm;
    memset(out, 0, TUNE_POINT_STATE * sizeof *out);
    for (int i = 0; i < LAND_KNOBS; i++)
        out[i] = (float)p->v[i] / 8;
}

static bool point_lines(void *ctx, int arm, const void *point, struct arena *a,
                        const char *const **line, int *n)
{
    const struct landscape *l = ctx;
    const struct land_point *p = point;
    const char **text = ARENA_ARRAY(a, const char *, 1 + LAND_KNOBS);
    uint64_t key = mix(l, p, sizeof *p);
    if (l->failures && key % 17 == 0)
        return false;
    text[0] = arena_printf(a, "layout %d", arm);
    for (int i = 0; i < LAND_KNOBS; i++)
        text[1 + i] = arena_printf(a, "knob %d %d", i, p->v[i]);
    *line = text;
    *n = 1 + LAND_KNOBS;
    return true;
}

static bool ranks(void *ctx)
{
    const struct landscape *l = ctx;
    return l->model && l->n_learned >= l->learn_after;
}

static void score(void *ctx, struct arena *a, struct tune_candidate **c, int n)
{
    const struct landscape *l = ctx;
    (void)a;
    for (int i = 0; i < n; i++) {
        double noise = 1 + l->noise * ((double)(c[i]->hash % 1000) / 1000 - 0.5);
        c[i]->illegal = l->failures && c[i]->hash % 19 == 0;
        c[i]->score = c[i]->point ? 0.05 * noise / landscape_ms(l, c[i]->arm, c[i]->point) : 0;
    }
}

static void learn(void *ctx, struct tune_candidate **c, int n, const struct cancel *cancel)
{
    (void)c; (void)cancel;
    ((struct landscape *)ctx)->n_learned += n;
}

static bool measure(void *ctx, struct tune_candidate **c, int n, tune_measured_fn done,
                    void *done_ctx, const struct cancel *cancel, struct err *e)
{
    struct landscape *l = ctx;
    l->batch[l->n_batches++ % LAND_MAX_BATCHES] = n;
    for (int i = 0; i < n; i++) {
        if (l->lack_after > 0 && l->n_measured >= l->lack_after)
            return err_set(e, ERR_ENV, "no compiler");
        if (l->cancel_after > 0 && l->n_measured >= l->cancel_after)
            atomic_store(&l->cancel.raised, 1);
        if (cancelled(cancel))
            return err_set(e, ERR_CANCEL, "cancelled");
        l->n_measured++;
        if (l->killed_each > 0 && l->n_measured % l->killed_each == 0) {
            c[i]->outcome = OUTCOME_ENV;
            c[i]->reason = "its compiler was killed";
            done(done_ctx, c[i]);
            continue;
        }
        bool bad = fails(l, c[i]->hash);
        c[i]->outcome = !bad ? OUTCOME_OK : c[i]->hash & 1 ? OUTCOME_WRONG : OUTCOME_CRASH;
        c[i]->reason = bad ? "made to fail" : "";
        c[i]->ms = c[i]->point ? landscape_ms(l, c[i]->arm, c[i]->point) : 1000;
        done(done_ctx, c[i]);
    }
    return true;
}

void landscape_open(struct landscape *l)
{
    l->problem = (struct tune_problem){
        .ctx = l, .point_bytes = sizeof(struct land_point),
        .n_actions = l->fixed ? 0 : LAND_LAYOUT, .layout_decode = layout_decode,
        .layout_next = layout_next, .layout_state = layout_state, .arm_open = arm_open,
        .arm_close = arm_close, .n_arms = n_arms, .arm_family = arm_family,
        .point_starts = point_starts, .point_draw = point_draw, .point_mutate = point_mutate,
        .point_cross = point_cross, .point_first = point_first, .point_next = point_next,
        .n_knobs = n_knobs, .knob_kind = knob_kind, .directions = directions,
        .point_move = point_move, .point_state = point_state, .point_lines = point_lines,
        .ranks = ranks, .score = l->model ? score : NULL, .learn = learn, .measure = measure,
    };
    if (l->fixed && l->n_arms == 0)
        for (int i = 0; i < LAND_LAYOUT; i++)
            l->arm[l->n_arms = 0].factor[i] = l->extent;
    if (l->fixed)
        l->n_arms = 1;
}
