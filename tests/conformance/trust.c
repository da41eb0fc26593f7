/* Part of `make trust`: the nine families of ALT 7.1 under random layouts and schedules; every
 * kernel must be verified.
 *
 *     trust [SEED [KERNELS]]             (1 and 45; needs $TILESCOPE_RUNNER) */
#include "tests/hunt/draw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/measure/measure.h"
#include "tests/unit/random_ops.h"

static const char *const family[] = { "c2d", "grp", "dep", "dil", "c3d", "c1d", "gmm", "t2d",
                                      "t3d" };
#define ATTEMPTS 200                      /* draws of one kernel that fits and compiles */

static int apply(struct arena *a, struct rng *r, const struct program **p)
{
    struct err e;
    int n = 0;
    for (int i = (int)rng_range(r, 0, 3); i > 0; i--)
        n += program_apply_line(*p, draw_layout_step(a, r, *p), p, &e);
    for (int k = 0; k < 15; k++)
        n += program_apply_line(*p, draw_recipe_step(a, r, *p, k), p, &e);
    return n;
}

static void print_row(const char *good, const struct program *p, const struct measurement *m)
{
    char steps[32];
    snprintf(steps, sizeof steps, "%d steps", p->n_steps);
    printf("%-4s %-16s %-34.34s %-13s ", good, steps, p->base->spec, outcome_name[m->outcome]);
    if (m->verified)
        printf("%.3g of the bound\n", m->error_of_bound);
    else
        printf("%.70s\n", m->reason);
}

/* 1: verified, 0: not, -1: nothing to judge. */
static int try_one(struct rng *r, const struct op_family *f, uint64_t seed)
{
    struct arena *a = arena_new();
    const struct program *p;
    struct measure_opts o = { .seed = seed };
    struct measurement m;
    struct err e;
    int good = -1;
    if (program_new(a, random_operator(a, r, f), &p, &e) && apply(a, r, &p) >= 4
        && program_points(p) < 2e6 && measure_program(p, &o, NULL, NULL, &m, &e)
        && m.outcome != OUTCOME_LIMIT) {
        good = m.verified;
        print_row(good ? "ok" : "BAD", p, &m);
        for (int i = 0; i < p->n_steps && !good; i++)
            printf("         %s\n", p->steps[i]);
    }
    arena_free(a);
    return good;
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    int n = argc > 2 ? atoi(argv[2]) : 45, bad = 0;
    struct rng r = rng_seed(seed);
    printf("random schedules, seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < n; i++) {
        int good = -1;
        for (int k = 0; k < ATTEMPTS && good < 0; k++)
            good = try_one(&r, ops_find(family[i % COUNT_OF(family)]), seed + (uint64_t)i);
        bad += good != 1;
    }
    return bad > 0;
}
