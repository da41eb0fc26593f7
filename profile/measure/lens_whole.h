/* Private to lens.c: the misses of a whole run by sets and time, and by site. */
#ifndef TS_PROFILE_LENS_WHOLE_H
#define TS_PROFILE_LENS_WHOLE_H
#include "kernels/gen/walk.h"
#include "profile/sim/cache_config.h"

/* A run.  first_set: the set of line first_line; n_lines: the lines from there on.  all: its
 * accesses; iterations, accesses: per marked loop, as walk_count has them. */
struct lens_path {
    struct walk *walk;
    const unsigned long long *base;
    const struct cache_config *cache;
    int n_sets, ways, first_set;
    int64_t first_line, n_lines;
    double all, iterations[GEN_MAX_MARKS], accesses[GEN_MAX_MARKS];
};
/* Misses of an access. first: first touches of a line. */
struct lens_site_count { double misses, conflict, first; };
/* As in struct lens; cell and site are in the arena.  all: every access was simulated, so that the
 * first touches of lines are known. */
struct lens_cells {
    int n_columns; const double *cell; double simulated;
    const struct lens_site_count *site;
    bool all;
};

/* Leaves *out empty when it takes too long.  False: ERR_RANGE. */
bool lens_whole(struct arena *a, const struct lens_path *path, const struct cancel *c,
                struct lens_cells *out, struct err *e);
#endif
