/* Fills struct sim_detail while a simulation runs: watches every touch of a line and every
 * iteration of the marked loops. */
#ifndef TS_PROFILE_SIMDETAIL_H
#define TS_PROFILE_SIMDETAIL_H
#include "profile/sim/cachesim.h"
#include "profile/sim/sim_result.h"

struct simdetail;
/* heat: per tensor, the address of its map's first
 * byte; d->tensor[].bytes is set.  Every line lies in [first, end). */
struct detail_opts {
    const struct cache_level *l1;
    const int *tensor;                    /* per site: an index into d->tensor */
    const unsigned long long *heat;
    uint64_t first, end;
    double iterations;                    /* of all marked loops together */
};
/* Clears the counts of *d, which is the caller's, and watches s from now on. */
struct simdetail *simdetail_open(struct cachesim *s, const struct detail_opts *o,
                                 struct sim_detail *d);
void simdetail_mark(struct simdetail *w, int loop);    /* an iteration begins; -1: behind a loop */
void simdetail_close(struct simdetail *w);             /* the counts are complete */
#endif
