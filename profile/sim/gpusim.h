/* The memory of a GPU, simulated by accesses of warps (SPEC N): sectors of global and local memory,
 * conflicts in the banks of shared memory, and an L1 for each multiprocessor in front of one L2.
 *
 * Both caches have tags for lines and fetch single sectors.  L1 keeps what was loaded. A store to
 * global memory goes to L2 and changes nothing in L1; a store to local memory stays in L1 until L1
 * evicts the line.  L2 writes back, and a store to L2 fetches nothing.  Blocks run one after the
 * other: block b on multiprocessor b modulo the number of multiprocessors. */
#ifndef TS_PROFILE_GPUSIM_H
#define TS_PROFILE_GPUSIM_H
#include "kernels/nest/tree.h"
#include "profile/sim/gpu_device.h"

#define GPU_WARP 32
#define GPU_SYSTEM_SHARED 1024            /* bytes that the system takes for each block */
#define GPU_MOST_BYTES 64                 /* most bytes of one access of one thread */
#define GPU_MOST_SECTORS (GPU_WARP * (GPU_MOST_BYTES / 4 + 1))

/* Returns the bytes of shared memory that one block may have. */
static inline int64_t gpu_block_shared(const struct gpu_device *d)
{
    return d->shared * 1024 - GPU_SYSTEM_SHARED;
}

/* --- One access of a warp: pure functions ----------------------------------------------------- */

/* The sectors that an access of a warp touches, each once, in order of the threads.  ideal: the
 * fewest sectors into which the bytes of all different addresses would fit. */
struct gpu_sectors { int n, ideal; uint64_t sector[GPU_MOST_SECTORS]; };
/* Thread t accesses addr[t] if bit t of `active` is set. bytes: how many bytes one thread accesses,
 * at most GPU_MOST_BYTES. */
void gpu_count_sectors(const struct gpu_device *d, uint32_t active, const unsigned long long *addr,
                       int bytes, struct gpu_sectors *out);
/* The bank conflicts of an access to shared memory.  An access of n words per thread runs in n
 * phases of 32 / n threads: with words of 4 bytes, 8 bytes take 2 phases and 16 bytes 4.  The
 * degree of a phase is the most different words that the phase needs from one bank; the phase takes
 * as many turns.  degree: the degree of the worst phase; turns: the turns of all phases together;
 * phases: how many phases have an active thread. */
struct gpu_banks { int degree, turns, phases; };
struct gpu_banks gpu_count_banks(const struct gpu_device *d, uint32_t active,
                                 const unsigned long long *addr, int bytes);

/* --- The simulator ---------------------------------------------------------------------------- */

/* base: the address of the site's buffer.  thread_bytes: for local memory, the size of the buffer
 * that each thread has.  The simulator interleaves the buffers of the threads of a warp: their
 * words (4 bytes) of the same index lie side by side. */
struct gpu_site { enum memory_scope memory; bool is_store; uint64_t base, thread_bytes; };

/* Counts of a site.  The doubles are weighted, so they need not be whole numbers.  requests:
 * accesses of warps; turns: turns of accesses to shared memory; conflicts: turns beyond one for
 * each phase; l1_misses, l2_misses: sectors that loads did not find; degree: the worst bank
 * conflict.  stride: bytes from thread to thread.  `run` threads in a row have this stride, then
 * the address jumps; run GPU_WARP: there is no jump; run 0: stride or run varies between accesses.
 * seen: whether there was an access with two neighbouring threads, so that stride and run are
 * set. */
struct gpu_count {
    double requests, sectors, ideal, turns, conflicts, l1_misses, l2_misses;
    int degree, run;
    bool seen;
    int64_t stride;
};
/* Weighted numbers of sectors, summed over all sites.  l1_asked: sectors that the kernel loads or
 * stores in global and local memory; l2_asked: sectors loaded from or written to L2; l1_misses,
 * l2_misses: sectors that loads did not find; written: sectors written to L2, by stores or by
 * evictions of L1; back: sectors that L2 wrote to DRAM.  cycles: clocks in which the L1s were busy,
 * also with shared memory. */
struct gpu_traffic { double l1_asked, l1_misses, written, l2_asked, l2_misses, back, cycles; };

struct gpusim;
/* All buffers must lie in [first, end), and `first` must be a multiple of a page.  ERR_RANGE: this
 * range is too large to simulate. */
bool gpusim_open(const struct gpu_device *d, int n_sites, const struct gpu_site *site,
                 uint64_t first, uint64_t end, struct gpusim **out, struct err *e);
void gpusim_close(struct gpusim *s);
/* Begins a kernel with empty L1s. warps, shared_bytes: the warps and the bytes of shared memory of
 * each block. The shared memory of all blocks that a multiprocessor holds is taken from its L1. */
void gpusim_kernel(struct gpusim *s, int warps, int64_t shared_bytes);
/* Begins a block. Each of its accesses is counted `weight` times. */
void gpusim_block(struct gpusim *s, int64_t block, double weight);
void gpusim_access(struct gpusim *s, int warp, uint32_t active, const unsigned long long *addr,
                   unsigned site, unsigned bytes);
const struct gpu_count *gpusim_counts(const struct gpusim *s);           /* array of n_sites */
const struct gpu_traffic *gpusim_traffic(const struct gpusim *s);
#endif
