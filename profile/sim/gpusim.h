/* The memory of a GPU, simulated by accesses of warps (SPEC N): sectors of global memory, conflicts
 * in the banks of shared memory, and an L1 for each multiprocessor in front of one L2.
 *
 * Both caches have tags for lines and fetch single sectors.  L1 keeps what was loaded; stores go
 * through it to L2, except those to local memory, which it keeps until the line leaves it.  L2
 * writes back, and a store to it fetches nothing.  Blocks run one after the other, block b on
 * multiprocessor b modulo their number. */
#ifndef TS_PROFILE_GPUSIM_H
#define TS_PROFILE_GPUSIM_H
#include "kernels/nest/tree.h"
#include "profile/sim/gpu_device.h"

#define GPU_WARP 32
#define GPU_SYSTEM_SHARED 1024            /* bytes of shared memory that each block gives away */
#define GPU_MOST_BYTES 64                 /* of one access of one thread */
#define GPU_MOST_SECTORS (GPU_WARP * (GPU_MOST_BYTES / 4 + 1))

/* Returns the bytes of shared memory that one block may have. */
static inline int64_t gpu_block_shared(const struct gpu_device *d)
{
    return d->shared * 1024 - GPU_SYSTEM_SHARED;
}

/* --- One access of a warp: pure functions ----------------------------------------------------- */

/* The sectors that an access touches, each once, in order of the threads.  ideal: as few as the
 * different bytes would fit into. */
struct gpu_sectors { int n, ideal; uint64_t sector[GPU_MOST_SECTORS]; };
/* addr[t] is accessed if bit t of active is set; bytes: of each thread, at most GPU_MOST_BYTES. */
void gpu_count_sectors(const struct gpu_device *d, uint32_t active, const unsigned long long *addr,
                       int bytes, struct gpu_sectors *out);
/* An access to shared memory takes a turn for each of its degree's words: degree is the most
 * different words in one bank.  Accesses of 8 and 16 bytes run in phases of 16 and 8 threads, of
 * which degree is the worst one and turns are the sum; phases: those with a thread. */
struct gpu_banks { int degree, turns, phases; };
struct gpu_banks gpu_count_banks(const struct gpu_device *d, uint32_t active,
                                 const unsigned long long *addr, int bytes);

/* --- The simulator ---------------------------------------------------------------------------- */

/* base: the address of its buffer.  thread_bytes: of local memory, the bytes of the buffer in a
 * thread.  The simulator spreads such an array, so that threads of a warp have their words side by
 * side. */
struct gpu_site { enum memory_scope memory; bool is_store; uint64_t base, thread_bytes; };

/* Counts of a site.  They are weighted, so they are not whole numbers.  requests: accesses of
 * warps; turns, conflicts: of shared memory, conflicts being the turns beyond one of each phase;
 * l1_misses, l2_misses: sectors that a load did not find; stride: bytes from thread to thread,
 * the same for `run` threads, after which a warp jumps; run 0: it is not always the same. */
struct gpu_count {
    double requests, sectors, ideal, turns, conflicts, l1_misses, l2_misses;
    int degree, run;
    bool seen;
    int64_t stride;
};
/* Sectors of all sites.  l1_asked, l2_asked: that reached the cache; written: of stores that L1
 * sent to L2, back: that L2 wrote to DRAM; cycles: clocks in which the L1s were busy. */
struct gpu_traffic { double l1_asked, l1_misses, written, l2_asked, l2_misses, back, cycles; };

struct gpusim;
/* first, end: the addresses of all buffers, from a multiple of a page on.  ERR_RANGE when there are
 * more of them than can be simulated. */
bool gpusim_open(const struct gpu_device *d, int n_sites, const struct gpu_site *site,
                 uint64_t first, uint64_t end, struct gpusim **out, struct err *e);
void gpusim_close(struct gpusim *s);
/* Begins a kernel with empty L1s.  Each block has so many warps, and shared memory that L1 gives
 * up for all blocks that a multiprocessor can hold. */
void gpusim_kernel(struct gpusim *s, int warps, int64_t shared_bytes);
/* Begins a block; what it does counts `weight` times. */
void gpusim_block(struct gpusim *s, int64_t block, double weight);
void gpusim_access(struct gpusim *s, int warp, uint32_t active, const unsigned long long *addr,
                   unsigned site, unsigned bytes);
const struct gpu_count *gpusim_counts(const struct gpusim *s);           /* array of n_sites */
const struct gpu_traffic *gpusim_traffic(const struct gpusim *s);
#endif
