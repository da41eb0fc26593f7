/* Fills struct sim_detail during a simulation, by observing every touch of a line and every
 * iteration of the marked loops. */
#ifndef TS_PROFILE_SIMDETAIL_H
#define TS_PROFILE_SIMDETAIL_H
#include "profile/sim/cachesim.h"
#include "profile/sim/sim_result.h"

struct simdetail;
/* heat: per tensor, the address at which cell 0 of its heat map begins.  Touches outside of [first,
 * end) are not counted. */
struct detail_opts {
    const struct cache_level *l1;
    const int *tensor;                    /* per site: index of its tensor in sim_detail.tensor */
    const unsigned long long *heat;
    uint64_t first, end;
    double iterations;                    /* iterations of all marked loops together */
};
/* Clears the counts of *d and watches s from now on.  The caller owns *d, and must have set
 * n_tensors, tensor[].bytes, n_loops and loop[] in it. */
struct simdetail *simdetail_open(struct cachesim *s, const struct detail_opts *o,
                                 struct sim_detail *d);
/* To be called when an iteration of marked loop `loop` begins, and with -1 when a marked loop has
 * ended. */
void simdetail_mark(struct simdetail *w, int loop);
void simdetail_close(struct simdetail *w);             /* completes *d; frees w */
#endif
