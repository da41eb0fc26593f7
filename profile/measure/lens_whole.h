/* Private to lens*.c: the misses of a whole run by sets and time, and by site. */
#ifndef TS_PROFILE_LENS_WHOLE_H
#define TS_PROFILE_LENS_WHOLE_H
#include "kernels/gen/walk.h"
#include "profile/sim/cache_config.h"

/* A run to simulate. first_set: the set of line first_line; n_lines: number of lines from
 * first_line on. all: accesses of the run; iterations, accesses: per marked loop, as from
 * walk_count. */
struct lens_path {
    struct walk *walk;
    const unsigned long long *base;
    const struct cache_config *cache;
    int n_sets, ways, first_set;
    int64_t first_line, n_lines;
    double all, iterations[GEN_MAX_MARKS], accesses[GEN_MAX_MARKS];
};
/* Misses of an access. conflict: number of conflict misses; first: number of misses on lines that
 * were never touched before. */
struct lens_site_count { double misses, conflict, first; };
/* The result, in the arena. n_columns, cell, simulated: as in struct lens. site: the misses of each
 * site. all: every access was simulated, so that site[].first is known. */
struct lens_cells {
    int n_columns; const double *cell; double simulated;
    const struct lens_site_count *site;
    bool all;
};

/* Simulates the run and fills in *out, or leaves it empty when the simulation takes too long or is
 * cancelled. False: ERR_RANGE. */
bool lens_whole(struct arena *a, const struct lens_path *path, const struct cancel *c,
                struct lens_cells *out, struct err *e);
#endif
