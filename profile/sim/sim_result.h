/* What the cache simulator tells of one kernel: struct sim_result, always, and struct sim_detail,
 * when a place for it is given (measure_opts.detail).  Plain values without pointers to the inside,
 * so both can be copied as they are.
 *
 * Counts of accesses are exact.  Misses and what follows from them are exact when fraction is 1;
 * else they are estimates from a sample (SPEC: never silently), with relative standard errors. */
#ifndef TS_PROFILE_SIM_RESULT_H
#define TS_PROFILE_SIM_RESULT_H
#include <stdbool.h>
#include <stdint.h>
#include "profile/sim/cache_config.h"

#define MEASURE_MAX_TENSORS 16
#define MEASURE_MAX_SITES 32
#define SIM_HOW 160

/* What the simulator counts by itself. */

/* Lines that an access of the kernel did not find, per level. */
struct site_count { int64_t misses[CACHE_LEVELS]; };

/* accesses: of the level above's misses (L1: not known here, the twin keeps hits back); prefetches:
 * lines that a prefetcher brought into this level; useful: those of L1 that the kernel then used.
 * Prefetches are neither accesses nor misses.  straddled: misses of L1 beyond the first of one
 * access, which lay across lines that were both missing. */
struct level_count { int64_t accesses, misses, writebacks, prefetches, useful, straddled; };

/* What is made of it. */

/* By tensor; tiles count for the tensor that they hold.  Beyond MEASURE_MAX_TENSORS: "others". */
struct tensor_count { char tensor[48]; int64_t loads, stores, l1_misses, l2_misses, l3_misses; };

/* accesses: demands of the kernel that reached this level (a vector access is one); misses: lines
 * that were not there; writebacks: dirty lines that it wrote below; prefetches: lines that a
 * prefetcher brought into it, useful: those of L1 that the kernel then used. */
struct sim_level {
    int64_t accesses, misses, writebacks, prefetches, useful;
};

/* A place in the code, worst first; tensor is an index into by_tensor.  Those that do not fit are
 * one last entry, "others", whose tensor is n. */
struct sim_site {
    char text[112]; int tensor; bool is_store;
    int64_t accesses, l1_misses, l2_misses, l3_misses;
};

struct sim_detail;
struct sim_result {
    bool available; char reason[256];
    struct cache_config cache;             /* what was simulated (of a sample: L1) */
    int64_t loads, stores, l1_misses, writebacks;          /* the last two: of L1 */
    /* L1 misses beyond the first of one access, across lines that were both missing: what
     * cachegrind calls a miss is l1_misses - straddled. */
    int64_t straddled;
    int64_t streamed_bytes;                /* stored past all caches (loop stream) */
    struct sim_level level[CACHE_LEVELS];
    int n; struct tensor_count by_tensor[MEASURE_MAX_TENSORS];
    int n_sites; struct sim_site site[MEASURE_MAX_SITES];
    double fraction;                       /* of the accesses that were simulated and counted */
    double error;                          /* relative standard error of l1_misses; 0: exact */
    char how[SIM_HOW];                     /* beyond the budget: what was simulated, and why */
    double seconds;
    /* NULL: not asked for.  Else the struct that measure_opts.detail pointed to, and its owner's:
     * whoever keeps a measurement for longer copies it (history_set_measured does). */
    const struct sim_detail *detail;
};

/* Bytes between level k (0: L1) and the next one below it: lines fetched, lines written back and
 * what is streamed past both. */
int64_t sim_bytes_below(const struct sim_result *r, int k);

/* --- Detail ----------------------------------------------------------------------------------- */

#define SIM_CELLS 256                      /* of a heat map or the time line, at most */
#define SIM_REUSE_BUCKETS 40
#define SIM_MAX_LOOPS 16

struct sim_heat { int64_t accesses, misses; };         /* of L1 */

/* L1 misses by cause, as in Hill's model: compulsory: the first touch of the line; capacity: a
 * fully associative LRU cache of L1's size misses it, too; conflict: that one would have had it. */
struct sim_classes { int64_t compulsory, capacity, conflict; };

/* Touches of lines by reuse distance, the number of different lines touched since the same one:
 * bucket 0: distance 0; bucket b: 2^(b-1) up to 2^b - 1.  first: never touched before. */
struct sim_reuse { int64_t first, bucket[SIM_REUSE_BUCKETS]; };

/* Entry i is tensor i of sim_result.by_tensor.  cell[c] of n_cells is the c-th part of the memory
 * of its largest buffer, bytes long: cell_lines lines each, the last one perhaps fewer. */
struct sim_tensor_detail {
    struct sim_classes classes;
    struct sim_reuse reuse;
    int64_t bytes, cell_lines;
    int n_cells; struct sim_heat cell[SIM_CELLS];
};

/* In program order: iterations [first, first + n) of a loop of sim_detail.loop. */
struct sim_moment { int loop; int64_t first, n, accesses, misses; };

/* reason: "" or why there is none.  Accesses here are touches of lines: an access across two lines
 * is two. */
struct sim_detail {
    char reason[128];
    struct sim_classes classes;
    struct sim_reuse reuse;
    int n_tensors; struct sim_tensor_detail tensor[MEASURE_MAX_TENSORS];
    int64_t n_sets;                        /* of L1; cell c of n_set_cells is an equal part */
    int n_set_cells; struct sim_heat set[SIM_CELLS];
    int n_loops; struct { char axes[64]; int64_t iterations; } loop[SIM_MAX_LOOPS];
    int n_moments; struct sim_moment moment[SIM_CELLS];
};
#endif
