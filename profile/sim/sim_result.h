/* The results of the cache simulator for one kernel: struct sim_result always, and struct
 * sim_detail when the caller provides one (measure_opts.detail).  Both contain no pointers into
 * themselves and can be copied.
 *
 * For a CPU, the kernel's loads and stores are counted exactly.  All other counts, and all counts
 * for a GPU, are exact if sim_result's `fraction` is 1.  Else they are estimates from a sample, and
 * `error` is the relative standard error of the L1 misses. */
#ifndef TS_PROFILE_SIM_RESULT_H
#define TS_PROFILE_SIM_RESULT_H
#include <stdbool.h>
#include <stdint.h>
#include "profile/sim/cache_config.h"

#define MEASURE_MAX_TENSORS 16
#define MEASURE_MAX_SITES 32
#define SIM_HOW 160

/* What the simulator counts. */

/* misses: per level, the lines that accesses of the kernel did not find there. */
struct site_count { int64_t misses[CACHE_LEVELS]; };

/* accesses: the misses of the level above (0 for L1: unknown, since the instrumented kernel filters
 * hits). prefetches: lines that a prefetcher brought into this level; useful, of L1 only: how many
 * of them the kernel used later.  Prefetches are neither accesses nor misses. straddled, of L1
 * only: when one access touches several lines, its misses beyond the first one. */
struct level_count { int64_t accesses, misses, writebacks, prefetches, useful, straddled; };

/* The results in a measurement. */

/* The cost of the accesses of a tensor or of a site. l1_misses to l3_misses: lines that were absent
 * from the level; on a GPU, sectors that loads did not find there.
 *
 * The next members are for a GPU, where the threads of a warp make one access together. sectors:
 * the sectors that accesses of global and local memory touched; ideal_sectors: the fewest sectors
 * into which the bytes of these accesses fit; bank_conflicts: additional passes of shared memory
 * accesses, because threads needed different words of one bank. */
struct access_cost {
    int64_t l1_misses, l2_misses, l3_misses, sectors, ideal_sectors, bank_conflicts;
};

/* Counts of one tensor; a tile counts for the tensor that it holds.  If there are more than
 * MEASURE_MAX_TENSORS tensors, the last entry, "others", is the sum of the tensors without an
 * entry. */
struct tensor_count {
    char tensor[48];
    int64_t loads, stores;
    struct access_cost cost;
};

/* accesses: demand accesses of the kernel that reached this level (a vector access is one); misses:
 * lines that were absent; writebacks: dirty lines that this level wrote to the one below (of a
 * GPU's L1: all sectors written to L2); prefetches: lines that a prefetcher brought into this
 * level; useful, of L1 only: how many of them the kernel used later. */
struct sim_level {
    int64_t accesses, misses, writebacks, prefetches, useful;
};

/* A place in the code that accesses memory. Sites are sorted by misses, most first. tensor: an
 * index into by_tensor. If there are more than MEASURE_MAX_SITES sites, the last entry, "others",
 * is the sum of the sites without an entry; its tensor is sim_result.n. into, operand: as in struct
 * site, the same in every schedule. `into` is "" for "others" and for sites that an older version
 * measured.
 *
 * The members from `memory` to `stride` are for a GPU. memory: "global", "local" or "shared".
 * degree: the worst bank conflict of one access (2: 2-way). bytes: bytes that one thread accesses.
 * stride: bytes from thread to thread. `run` threads in a row have this stride, then the address
 * jumps; run 0: the stride varies. */
struct sim_site {
    char text[112]; int tensor; bool is_store;
    int64_t accesses; struct access_cost cost;
    char memory[8]; int degree, bytes, run; int64_t stride;
    char into[48]; int operand;
};

#define SIM_NOT_ASKED "not asked for"     /* the reason if the simulator was not requested */

struct sim_detail;
struct sim_result {
    bool available; char reason[256];
    struct cache_config cache;             /* the simulated cache; a sample simulates only its L1 */
    int64_t loads, stores, l1_misses, writebacks;          /* writebacks: of L1 */
    /* When one access touches several lines: its L1 misses beyond the first one. Cachegrind does
     * not count these, so its misses are l1_misses - straddled. */
    int64_t straddled;
    int64_t streamed_bytes;                /* bytes of non-temporal stores (loop stream) */
    struct sim_level level[CACHE_LEVELS];
    int n; struct tensor_count by_tensor[MEASURE_MAX_TENSORS];
    int n_sites; struct sim_site site[MEASURE_MAX_SITES];
    double fraction;  /* share of the accesses that were simulated and counted */
    double error;                          /* relative standard error of l1_misses; 0: exact */
    char how[SIM_HOW];  /* if more than the budget was simulated: what, and why; else "" */
    /* gpu: the simulated GPU (gpu_device.h); all levels then count in sectors of sector_bytes. For
     * a CPU, "" and 0. */
    char gpu[64]; int sector_bytes;
    int64_t sectors, ideal_sectors, bank_conflicts;        /* sums over all tensors */
    int64_t shared_bytes;                  /* most shared memory of a block of any kernel */
    /* Nanoseconds that each part of the GPU needs at its full rate: the FMA units with the tensor
     * cores, the L1s with shared memory, L2, and DRAM. Each is a lower bound of the time. */
    double fma_ns, l1_ns, l2_ns, dram_ns;
    bool of_source;  /* whether the compiler was free to reorder the loops (set autovectorize on):
                      * the counts are then those of the nest, not of the code that ran */
    /* whether the schedule has prefetches; they are not simulated: an access that a prefetch serves
     * on the machine counts as a miss */
    bool skips_prefetches;
    double seconds;
    /* The struct that measure_opts.detail points to, which the caller owns; NULL: not asked for.
     * Code that keeps the measurement longer must copy the struct (history_set_measured does). */
    const struct sim_detail *detail;
};

/* Returns the bytes moved between level k (0: L1) and the level below: fetched lines, lines that
 * were written back, and non-temporal stores. */
int64_t sim_bytes_below(const struct sim_result *r, int k);

/* --- Detail ----------------------------------------------------------------------------------- */

#define SIM_CELLS 256                      /* most cells of a heat map or time line */
#define SIM_REUSE_BUCKETS 40
#define SIM_MAX_LOOPS 16

struct sim_heat { int64_t accesses, misses; };         /* counts of L1 */

/* L1 misses by cause, as in the model of Hill. compulsory: the first touch of the line. capacity:
 * a fully associative LRU cache of the size of L1 would miss too. conflict: that cache would hit.
 */
struct sim_classes { int64_t compulsory, capacity, conflict; };

/* Touches of lines by reuse distance (the number of different lines touched since the last touch
 * of the line).  Bucket 0: distance 0; bucket b: 2^(b-1) to 2^b - 1. first: the line was never
 * touched before. */
struct sim_reuse { int64_t first, bucket[SIM_REUSE_BUCKETS]; };

/* Detail of tensor i of sim_result.by_tensor. The heat map divides the largest buffer of the
 * tensor, which has `bytes` bytes, into n_cells parts; cell[c] is part c. Each part has cell_lines
 * lines, the last one perhaps fewer. */
struct sim_tensor_detail {
    struct sim_classes classes;
    struct sim_reuse reuse;
    int64_t bytes, cell_lines;
    int n_cells; struct sim_heat cell[SIM_CELLS];
};

/* A part of the time line: the accesses and misses of n iterations of sim_detail.loop[loop], the
 * first of which has the number `first`.  Moments are in program order. */
struct sim_moment { int loop; int64_t first, n, accesses, misses; };

/* reason: "", or why there is no detail.  Accesses are touches of lines here: an access that
 * crosses two lines counts twice. */
struct sim_detail {
    char reason[128];
    struct sim_classes classes;
    struct sim_reuse reuse;
    int n_tensors; struct sim_tensor_detail tensor[MEASURE_MAX_TENSORS];
    int64_t n_sets;  /* number of sets of L1; set[] divides them into n_set_cells equal parts */
    int n_set_cells; struct sim_heat set[SIM_CELLS];
    int n_loops; struct { char axes[64]; int64_t iterations; } loop[SIM_MAX_LOOPS];
    int n_moments; struct sim_moment moment[SIM_CELLS];
};
#endif
