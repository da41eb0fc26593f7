/* The protocol between the measuring process and its child, tilescope-runner.
 *
 * The child inherits a socket on which each request gets one reply, a memory file that both map,
 * and a socket to the process of the ceiling.  The file begins with struct shared; the list of the
 * buffers, the tables of the simulator and copies of the buffers follow.  A kernel can overwrite
 * all of the file, so the parent checks what it reads. */
#ifndef TS_PROFILE_PROTOCOL_H
#define TS_PROFILE_PROTOCOL_H
#include "profile/sim/cachesim.h"
#include "profile/counters/counting.h"
#include "profile/sim/sim_result.h"
#include "profile/vendor/vendor.h"

#include <sched.h>
#include <stdatomic.h>

#define RUNNER_SOCKET_FD 3
#define RUNNER_MEMORY_FD 4
#define RUNNER_CEILING_FD 5  /* socket to the process of the FMA ceiling (struct ceiling_ask) */
#define PROTOCOL_MAGIC 0x74735232u
/* A runner of another version is refused.  The version changes with the layout of any struct that
 * both sides share; tests/golden/protocol.txt lists the layouts. */
#define PROTOCOL_VERSION 1u
#define BUFFER_POISON 0x7ffb7ffbu         /* fills buffers before a kernel writes them: a quiet NaN
                                           * in floating point types of 2, 4 and 8 bytes */
#define PROTOCOL_MAX_CONTENDERS 6
#define PROTOCOL_MAX_SAMPLES 16384
#define PROTOCOL_MAX_EPOCHS 128

/* SLOT_KERNEL + i is contender i, one of the kernels that are timed against each other; SLOT_TRACE
 * is the instrumented kernel of contender 0. */
enum slot { SLOT_KERNEL, SLOT_TRACE = PROTOCOL_MAX_CONTENDERS, SLOT_COUNT };

/* The things that are timed: contenders, numbered like their slots; the ceiling on the threads of
 * the runner; and the ceiling on one thread. */
enum series {
    SERIES_KERNEL, SERIES_CEILING = PROTOCOL_MAX_CONTENDERS, SERIES_ONE_CORE, SERIES_COUNT
};

enum server_command {
    COMMAND_LOAD = 1, COMMAND_LOAD_VENDOR, COMMAND_RUN, COMMAND_TIME, COMMAND_COUNT,
    COMMAND_SIMULATE,
    COMMAND_RENEW  /* unloads all kernels and allocates the new buffers that the file lists */
};

struct request {
    uint32_t version;                     /* PROTOCOL_VERSION; first in requests and replies */
    uint32_t command, slot;  /* slot: for LOAD an enum slot; for LOAD_VENDOR, RUN a contender */
    char path[512];                       /* LOAD, LOAD_VENDOR */
    char entry[32];                       /* LOAD: name of the function; "" = ts_entry */
    int32_t library;                      /* LOAD_VENDOR: enum vendor_library */
    struct vendor_problem problem;        /* LOAD_VENDOR: tensor i is buffer i of the slot */
    uint32_t contenders;                  /* TIME: bit i = sample contender i */
    uint32_t steady;  /* TIME: bit i = contender i must leave the result that is in the file */
    /* TIME. ceiling: sample the ceiling too; append: keep the earlier samples */
    bool ceiling, append;
    bool has_ceiling;                     /* TIME: the process of the ceiling is running */
    double time_s, most_s;                /* TIME: sample for time_s seconds, at most for most_s */
    double give_up_s;  /* TIME: stop after a few rounds if all kernels are slower than this */
    /* TIME. min_runs: least number of rounds; epochs: number of epochs (0 means 1), each with new
     * pages for the buffers */
    int32_t min_runs, epochs;
    bool cold;                            /* TIME: time single calls with empty caches */
    /* TIME, cold: bytes of other data to read where lines cannot be flushed by address */
    int64_t walk_bytes;
    int32_t meter, n_events;              /* COUNT: enum meter_id, and the number of events */
    struct event event[EVENTS_MAX];
};

struct reply {
    uint32_t version;
    int32_t ok, code;                     /* code: enum err_code when ok is 0 */
    char text[480];                       /* the error, or after LOAD_VENDOR the implementation */
    char layout[80];                      /* LOAD_VENDOR: the layout that the library chose */
    double seconds;  /* RUN, COUNT: of one call; TIME, SIMULATE: of the whole command */
};

/* Request of the runner to the process of the ceiling: each of `team` threads makes `batch` calls.
 * A single thread runs on `cpu` (-1: on any).  The answer is a double, seconds per call. */
struct ceiling_ask { int32_t team, cpu; int64_t batch; };

/* The text of ERR_WRONG when a kernel wrote outside of a buffer; struct fault then has the place.
 * Any other text of ERR_WRONG is an error that a host twin reports (ts_fault). */
#define WROTE_OUTSIDE "wrote outside"

/* The place of a fault relative to the buffers of the kernel. */
enum fault_where {
    FAULT_ELSEWHERE, FAULT_NULL, FAULT_STACK, FAULT_INSIDE, FAULT_BEFORE, FAULT_BEHIND
};
enum fault_access { ACCESS_UNKNOWN, ACCESS_READ, ACCESS_WRITE };
struct fault {
    int32_t signal;                       /* number of the signal; 0 = no fault happened */
    int32_t where, access, buffer;        /* buffer: number of the nearest one */
    /* FAULT_INSIDE: bytes from the buffer's start to the address; FAULT_BEFORE and FAULT_BEHIND:
     * bytes between the buffer and the address */
    int64_t distance;
    uint64_t address;
};

struct shared {
    uint32_t magic, version;
    int32_t parent, threads;              /* parent: process id of the parent */
    int32_t n_buffers, n_contenders;
    /* file_bytes: size of the file; buffer_at, sim_at: offsets in the file of struct
     * shared_buffer[n_buffers] and of struct shared_sim */
    int64_t file_bytes, buffer_at, sim_at;
    int64_t memory_bytes;                 /* memory that the runner may still map; 0 = unlimited */
    int64_t cpu_s;  /* limit of CPU time (RLIMIT_CPU) in seconds; 0 = unlimited */
    int32_t huge_pages;                   /* not 0: ask for huge pages for the buffers */
    cpu_set_t cpus;  /* CPUs that the parent may run on; empty if they are unknown */
    /* each contender has n buffers in a row; buffer number `first` is its first one */
    struct { int32_t first, n; } contender[PROTOCOL_MAX_CONTENDERS];
    /* The runner writes the members below. */
    atomic_int permille;                  /* progress of the current command */
    struct fault fault;
    /* n_samples: number of samples of each series; 0: the series was not requested.  sample:
     * seconds per call; sample[.][i] was taken in round i. */
    int32_t n_samples[SERIES_COUNT];
    double sample[SERIES_COUNT][PROTOCOL_MAX_SAMPLES];
    int32_t n_epochs, epoch[PROTOCOL_MAX_EPOCHS];    /* first round of each epoch */
    int32_t flushed;  /* cold samples: 1 if caches were flushed by address, 0 if by reading data */
    /* The contender whose result changed; -1: no result changed.  The change was seen after
     * differs_after calls of it.  TIME then ended early, and the file holds the changed result. */
    int32_t differs;
    int64_t differs_after;
    /* After TIME.  room_bytes: bytes of all pages of the buffers; huge_bytes: how many of these are
     * in huge pages (0 unless huge_pages is set). */
    int64_t huge_bytes, room_bytes;
    struct counts counts;
};

/* A buffer of a kernel. at: offset of its copy in the file; written: whether the kernel writes it;
 * result: whether it is compared with the reference. */
struct shared_buffer { int64_t at, bytes; int32_t written, result; };

/* Entries of the tables of the instrumented kernel (gen.h): for a site, a block and a mark.
 * accesses: number of accesses in one run of the block; runs: how often the block runs. */
struct shared_site { int32_t is_store, tensor; struct site_count count; };
struct shared_block { int32_t mark, accesses; long long runs; };
struct shared_mark { int32_t block, reserved; };

/* The data of COMMAND_SIMULATE. Arrays follow the struct; each ..._at is the offset of an array in
 * bytes from the start of the struct. */
struct shared_sim {
    struct cache_config cache;
    double budget;                        /* accesses beyond which a sample is simulated */
    uint64_t seed;                        /* seed of the sample */
    int32_t n_sites, n_blocks, n_marks, n_buffers;
    int64_t site_at, block_at, mark_at, base_at;
    int64_t detail_at;                    /* offset of struct shared_detail; 0 = no detail */
    /* The runner writes the members below, and the counts of the sites. */
    struct level_count level[CACHE_LEVELS];
    int32_t n_levels;                     /* number of levels that were simulated; 1 for a sample */
    double fraction, error;               /* as in struct sim_result */
    char how[SIM_HOW];  /* why more accesses were simulated than the budget allows */
};

/* heat: per tensor, the address at which cell 0 of its heat map begins.  Every buffer lies in
 * [first, end). */
struct shared_detail {
    unsigned long long heat[MEASURE_MAX_TENSORS], first, end;
    struct sim_detail detail;
};

static inline struct shared_buffer *shared_buffers(struct shared *sh)
{
    return (void *)((char *)sh + sh->buffer_at);
}
static inline struct shared_sim *shared_sim(struct shared *sh)
{
    return (void *)((char *)sh + sh->sim_at);
}
static inline struct shared_site *sim_sites(struct shared_sim *s)
{
    return (void *)((char *)s + s->site_at);
}
static inline struct shared_block *sim_blocks(struct shared_sim *s)
{
    return (void *)((char *)s + s->block_at);
}
static inline struct shared_mark *sim_marks(struct shared_sim *s)
{
    return (void *)((char *)s + s->mark_at);
}
static inline unsigned long long *sim_bases(struct shared_sim *s)
{
    return (void *)((char *)s + s->base_at);
}
static inline struct shared_detail *sim_detail_of(struct shared_sim *s)
{
    return (void *)((char *)s + s->detail_at);
}
#endif
