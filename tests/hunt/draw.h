/* Random operators and random step lines of every kind, legal and illegal ones, for tests that
 * compare what becomes of them.  Everything is drawn from the given generator. */
#ifndef TS_TESTS_DRAW_H
#define TS_TESTS_DRAW_H
#include "kernels/base/rng.h"
#include "kernels/program/program.h"

/* A program and how it came about. */
struct fuzz_case {
    struct arena *arena;
    const char *spec;
    const struct program *p;
    const char **line;                    /* all that were tried */
    int n_lines, n_applied;
};

/* A random operator of any family, small enough to interpret; some are refused by
 * graph_from_spec. */
const char *draw_spec(struct arena *a, struct rng *r);
/* A step line about p. */
const char *draw_layout_step(struct arena *a, struct rng *r, const struct program *p);
const char *draw_loop_step(struct arena *a, struct rng *r, const struct program *p);
/* Step k of a usual schedule of the main node (0 to 14), drawn at random: splits, order, lanes,
 * tiles, fused consumers, threads. */
const char *draw_recipe_step(struct arena *a, struct rng *r, const struct program *p, int k);
/* The line with a word, a number or a character changed: mostly nonsense. */
const char *draw_mutation(struct arena *a, struct rng *r, const char *line);

/* Points that all nodes of p compute: what interpreting it costs. */
double program_points(const struct program *p);

/* Does any parallel loop of f race?  Walks f with a shadow of every buffer. False, and *what says
 * where. */
bool tree_no_race(const struct func *f, struct str *what);
#endif
