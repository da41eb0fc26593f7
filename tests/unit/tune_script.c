#include "tests/unit/tune_script.h"

#include <math.h>
#include <stdlib.h>

#include "kernels/base/rng.h"

static const char *const family[SCRIPT_ARMS] = {
    "M N", "N/16 M 16n", "M/8 N/16 8m 16n", "N M", "M/4 N/32 4m 32n", "N/32 M 32n",
    "M/8 N/16 8m 16n",                   /* of another operand's layout */
    "M/16 N/8 16m 8n", "N/8 M 8n",
};

static double latency(struct rng *r, int arm, double done)
{
    double base = 0.4 + 0.25 * ((arm * 5 + 3) % SCRIPT_ARMS);
    double draw = (double)rng_range(r, 0, 1000) / 1000;
    return round(1e3 * base * (1 + 6 * draw * (1 - 0.8 * done))) / 1e3;
}

static void fail_some(struct arena *a, struct rng *r, struct tune_candidate *c)
{
    static const struct { enum outcome outcome; const char *why; } kind[] = {
        { OUTCOME_WRONG, "C[3][17] is 4.1, not 3.9" }, { OUTCOME_TIMEOUT, "longer than 2 s" },
        { OUTCOME_COMPILE, "gcc: the unrolled body is too large" },
    };
    int k = (int)rng_range(r, 0, 2);
    c->outcome = kind[k].outcome;
    c->reason = arena_strdup(a, kind[k].why);
    c->ms = INFINITY;
}

static struct tune_candidate *draw(struct tune_script *s, struct rng *r, int i, int joint, int n)
{
    const char **line = ARENA_ARRAY(s->mem, const char *, 2);
    int arm = i == 0 ? 0 : i < joint ? 1 + i / 8 % (SCRIPT_ARMS - 1) : 2;
    struct tune_candidate c = {
        .arm = arm, .trial = i, .seed = i < 2,
        .stage = i < 2 ? STAGE_SEEDS : i < joint ? STAGE_JOINT : STAGE_LOOPS,
        .outcome = OUTCOME_OK, .spread = 0.01 * (i % 7), .reason = "",
        .explored = i % 20 == 3, .n_lines = i == 0 ? 0 : 2, .line = line,
        .ms = i == 0 ? 5.04 : latency(r, arm, (double)i / n),
    };
    line[0] = arena_printf(s->mem, "loop split C M %d", 1 << (1 + i % 6));
    line[1] = i % 2 ? "loop reorder C N K" : "loop parallel C M.0";
    c.text = arena_printf(s->mem, "%s\n%s\n", line[0], line[1]);
    if (i > 1 && rng_range(r, 0, 11) == 0)
        fail_some(s->mem, r, &c);
    return ARENA_DUP(s->mem, &c, 1);
}

static void count(struct tune_script *s, struct tune_candidate *c)
{
    struct tune_view *v = &s->view;
    struct tune_arm *a = &s->arm[c->arm];
    vec_push(&s->trial, c);
    a->trials++;
    a->ok += c->outcome == OUTCOME_OK;
    if (c->outcome != OUTCOME_OK)
        v->failed[c->outcome]++;
    if (c->ms < a->best_ms) {
        a->best_ms = c->ms;
        a->best = c->trial;
    }
    if (c->ms < v->best_ms) {
        v->best_ms = c->ms;
        v->best = c->trial;
    }
    c->best_ms = v->best_ms;
}

struct tune_script *script_new(uint64_t seed, int n, int budget)
{
    struct tune_script *s = xcalloc(1, sizeof *s);
    struct rng r = rng_seed(seed);
    int joint = budget * 3 / 10;
    s->mem = arena_new();
    s->view = (struct tune_view){
        .strategy = "ppo", .seed = 1, .doing = "measuring", .budget = budget, .done = n, .best = -1,
        .stage = n < 2 ? STAGE_SEEDS : n < joint ? STAGE_JOINT : STAGE_LOOPS, .illegal = n / 9,
        .stage_budget = n < joint ? joint : budget - joint,
        .stage_done = n < joint ? n : n - joint, .n_trials = n, .n_arms = SCRIPT_ARMS,
        .arm = s->arm, .best_ms = INFINITY, .start_ms = n > 0 ? 5.04 : INFINITY,
        .left_s = n > 0 ? 0.4 * (budget - n) : NAN,
        .times = { 0.4 * n, 0.16 * n, 0.18 * n, 0.02 * n, 0.04 * n },
        .accuracy = { n >= 64, 0.78, 0.625, 8 }, .agents = { n >= 64, 1.22, 0.81, 0.1, n / 16 },
    };
    for (int i = 0; i < SCRIPT_ARMS; i++)
        s->arm[i] = (struct tune_arm){ .family = family[i], .best = -1, .best_ms = INFINITY };
    for (int i = 0; i < n; i++)
        count(s, draw(s, &r, i, joint, n));
    s->view.trial = s->trial.data;
    return s;
}

void script_free(struct tune_script *s)
{
    vec_free(&s->trial);
    arena_free(s->mem);
    free(s);
}
