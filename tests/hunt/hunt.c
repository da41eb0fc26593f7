/* `make hunt`: random operators and graphs under random schedules, for as long as asked.  Every
 * program must lower, equal the float64 reference in the interpreter, and have no race in a
 * parallel loop; now and then its generated C is compiled, run and checked as `run` does it.
 * Prints the seed of a failure and everything that leads to it; exit code 1.
 *
 *     hunt [SECONDS [SEED]] */
#include "tests/hunt/draw.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "profile/measure/measure.h"
#include "tests/unit/run_program.h"

#define MOST_POINTS 2e5
#define COMPILED_OF 40                    /* one in so many is compiled */

static long applied, refused, interpreted, compiled;

static void step(struct arena *a, struct rng *r, struct fuzz_case *c, const char *line)
{
    const struct func *unused;
    struct err e;
    c->line[c->n_lines++] = line;
    if (rng_range(r, 0, 49) == 0) {
        const struct program *p;
        if (program_apply_line(c->p, draw_mutation(a, r, line), &p, &e))
            (void)program_lower(p, &unused, &e);
    }
    if (program_apply_line(c->p, line, &c->p, &e) && program_lower(c->p, &unused, &e))
        applied++;
    else
        refused++;
}

enum { MOST_STEPS = 64 };

static bool draw_case(struct arena *a, struct rng *r, struct fuzz_case *c)
{
    struct err e;
    *c = (struct fuzz_case){ .arena = a, .spec = draw_spec(a, r),
                             .line = ARENA_ARRAY(a, const char *, MOST_STEPS) };
    if (!program_new(a, c->spec, &c->p, &e))
        return false;
    for (int i = (int)rng_range(r, 0, 5); i > 0; i--)
        step(a, r, c, draw_layout_step(a, r, c->p));
    if (rng_range(r, 0, 1))
        for (int k = 0; k < 15; k++)
            step(a, r, c, draw_recipe_step(a, r, c->p, k));
    for (int i = (int)rng_range(r, 0, 10); i > 0; i--)
        step(a, r, c, draw_loop_step(a, r, c->p));
    return program_points(c->p) <= MOST_POINTS;
}

/* A few outputs that cancel can be off by more than the tolerance in float; wrong code is wrong for
 * other data as well. */
static double error_of(const struct program *p, uint64_t seed)
{
    double least = program_interpret_of_bound(p, seed);
    for (int i = 1; i < 4 && !(least <= 1); i++) {
        double error = program_interpret_of_bound(p, seed + (uint64_t)i);
        least = error < least || least != least ? error : least;
    }
    return least;
}

/* NULL when all is well. */
static const char *wrong(const struct fuzz_case *c, struct rng *r, uint64_t seed, struct str *what)
{
    const struct func *f;
    struct err e;
    if (!program_lower(c->p, &f, &e)) {
        str_add(what, e.text);
        return "lowering fails";
    }
    double error = error_of(c->p, seed);
    interpreted++;
    if (!(error <= 1)) {
        str_printf(what, "error %g of the bound", error);
        return "the interpreter disagrees with the reference";
    }
    if (!tree_no_race(f, what))
        return "a parallel loop races";
    if (rng_range(r, 0, COMPILED_OF - 1))
        return NULL;
    struct measurement m;
    struct measure_opts o = { .seed = seed, .limit_s = 20 };
    compiled++;
    if (!measure_program(c->p, &o, NULL, NULL, &m, &e) || m.outcome == OUTCOME_LIMIT)
        return NULL;                      /* too large to unroll, say: told, not wrong */
    str_printf(what, "%s: %s", outcome_name[m.outcome], m.reason);
    return m.outcome == OUTCOME_OK ? NULL : "the generated C is wrong";
}

static void tell(const struct fuzz_case *c, uint64_t seed, const char *why, const char *what)
{
    struct str nest = { 0 };
    printf("\nFAILED, seed %llu: %s: %s\n%s\n", (unsigned long long)seed, why, what, c->spec);
    for (int i = 0; i < c->p->n_steps; i++)
        printf("    %s\n", c->p->steps[i]);
    program_print_nest(&nest, c->p);
    printf("%s\n", str_text(&nest));
    str_free(&nest);
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 60, start = clock_s(), said = start;
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL), seed = first;
    bool only = argc > 2 && seconds <= 0;
    printf("seed %llu\n", (unsigned long long)first);
    do {
        struct arena *a = arena_new();
        struct rng r = rng_seed(seed);
        struct fuzz_case c;
        struct str what = { 0 };
        const char *why = draw_case(a, &r, &c) ? wrong(&c, &r, seed, &what) : NULL;
        if (why) {
            tell(&c, seed, why, str_text(&what));
            return 1;
        }
        str_free(&what);
        arena_free(a);
        seed++;
        if (clock_s() - said > 10) {
            said = clock_s();
            printf("%.0f s: %ld programs, %ld compiled\n", said - start, interpreted, compiled);
            fflush(stdout);
        }
    } while (!only && clock_s() - start < seconds);
    printf("%ld programs interpreted, %ld compiled and run, %ld steps applied, %ld refused,"
           " 0 wrong\n", interpreted, compiled, applied, refused);
    return 0;
}
