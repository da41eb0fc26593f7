/* What the measuring process and its child, tilescope-runner, say to each other.
 *
 * Two descriptors are inherited: a socket on which a request is answered by one reply, and a
 * memory file that both map.  The file begins with struct shared, then come trace addresses, site
 * tables and the exchange copies of the kernel's buffers.  Once a kernel has run, nothing in the
 * file can be trusted: the parent checks what it reads. */
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
#define RUNNER_CEILING_FD 5               /* to the FMA ceiling's process (struct ceiling_ask) */
#define PROTOCOL_MAGIC 0x74735232u
#define BUFFER_POISON 0x7fcbadadu         /* elements that nobody has written: a NaN */
#define PROTOCOL_MAX_CONTENDERS 6
#define PROTOCOL_MAX_BUFFERS 256
#define PROTOCOL_MAX_SAMPLES 16384
#define PROTOCOL_MAX_SITTINGS 128

/* Kernels that are timed against each other, SLOT_KERNEL + i the i-th of them; the first kernel's
 * tracing twin. */
enum slot { SLOT_KERNEL, SLOT_TRACE = PROTOCOL_MAX_CONTENDERS, SLOT_COUNT };

/* What is timed: the contenders, numbered like their slots, the ceiling on as many threads as they
 * have, and on one. */
enum series {
    SERIES_KERNEL, SERIES_CEILING = PROTOCOL_MAX_CONTENDERS, SERIES_ONE_CORE, SERIES_COUNT
};

enum runner_command {
    COMMAND_LOAD = 1, COMMAND_LOAD_VENDOR, COMMAND_CHECK, COMMAND_TIME, COMMAND_COUNT,
    COMMAND_SIMULATE,
    COMMAND_RENEW                         /* the file lists other buffers: fence those, no kernel */
};

struct request {
    uint32_t command, slot;               /* slot: LOAD; LOAD_VENDOR, CHECK: a contender */
    char path[512];                       /* LOAD, LOAD_VENDOR */
    char entry[32];                       /* LOAD: the function's name; "" = ts_entry */
    int32_t library;                      /* LOAD_VENDOR: enum vendor_library */
    struct vendor_problem problem;        /* LOAD_VENDOR: its tensors are the slot's buffers */
    uint32_t contenders;                  /* TIME: bit i = sample contender i */
    uint32_t steady;                      /* TIME: bit i = its results stay those in the file */
    bool ceiling, append;                 /* TIME: sample the ceiling; keep what is there */
    bool has_ceiling;                     /* TIME: its process is there to be asked */
    double time_s, most_s;                /* TIME: for time_s, and never beyond most_s */
    double give_up_s;                     /* TIME: few rounds are enough for what is slower */
    int32_t min_runs, sittings;           /* TIME: how often the buffers get new pages; 0 = once */
    bool cold;                            /* TIME: single calls, with nothing in the caches */
    int64_t walk_bytes;                   /* TIME, cold: where lines cannot be flushed by address */
    int32_t meter, n_events;              /* COUNT: enum meter_id, and what it counts */
    struct event event[EVENTS_MAX];
};

struct reply {
    int32_t ok, code;                     /* enum err_code when not ok */
    char text[480];                       /* why not; LOAD_VENDOR: the implementation */
    char layout[80];                      /* LOAD_VENDOR */
    double seconds;
};

/* The runner asks the process of the ceiling: each of `team` threads makes `batch` calls, on `cpu`
 * if there is one thread (-1: anywhere).  The answer is a double, seconds a call. */
struct ceiling_ask { int32_t team, cpu; int64_t batch; };

/* Where a fault lies, as seen from the kernel's buffers. */
enum fault_where {
    FAULT_ELSEWHERE, FAULT_NULL, FAULT_STACK, FAULT_INSIDE, FAULT_BEFORE, FAULT_BEHIND
};
enum fault_access { ACCESS_UNKNOWN, ACCESS_READ, ACCESS_WRITE };
struct fault {
    int32_t signal;                       /* 0 = none happened */
    int32_t where, access, buffer;
    int64_t distance;                     /* bytes from the start, before it, behind the end */
    uint64_t address;
};

struct shared {
    uint32_t magic, bytes;                /* PROTOCOL_BYTES: a stale runner is noticed */
    int32_t parent, threads;
    int32_t n_buffers, n_contenders;
    int64_t file_bytes, sim_at;           /* sim_at: of struct shared_sim in the file */
    int64_t memory_bytes;                 /* that the runner may still map; 0 = unlimited */
    int64_t cpu_s;                        /* RLIMIT_CPU; 0 = unlimited */
    int32_t huge_pages;                   /* ask for them for the buffers */
    cpu_set_t cpus;                       /* that the parent may run on; none = unknown */
    struct { int64_t at, bytes; int32_t written, result; } buffer[PROTOCOL_MAX_BUFFERS];
    struct { int32_t first, n; } contender[PROTOCOL_MAX_CONTENDERS];    /* whose buffers they are */
    /* Written by the runner. */
    atomic_int permille;                  /* of the command in progress */
    struct fault fault;
    /* Seconds a call; sample[.][i] were all taken in round i.  0 samples: not asked for. */
    int32_t n_samples[SERIES_COUNT];
    double sample[SERIES_COUNT][PROTOCOL_MAX_SAMPLES];
    int32_t n_sittings, sitting[PROTOCOL_MAX_SITTINGS];    /* the first round of each */
    int32_t flushed;                      /* cold: by address, not by walking walk_bytes */
    /* TIME ended early: after so many calls this contender (-1: none) left another result, which
     * lies in the file now. */
    int32_t differs;
    int64_t differs_after;
    int64_t huge_bytes, room_bytes;       /* of the buffers' pages, after TIME; huge: if asked */
    struct counts counts;
};

/* Of a site, a block and a mark of the twin (gen.h). */
struct shared_site { int32_t is_store, tensor; struct site_count count; };
struct shared_block { int32_t mark, accesses; long long runs; };
struct shared_mark { int32_t block, reserved; };

/* What COMMAND_SIMULATE works on; arrays lie at these offsets from it. */
struct shared_sim {
    struct cache_config cache;
    double budget;                        /* accesses beyond which a sample is simulated */
    uint64_t seed;                        /* of the sample */
    int32_t n_sites, n_blocks, n_marks, n_buffers;
    int64_t site_at, block_at, mark_at, base_at;
    int64_t detail_at;                    /* struct sim_detail; 0 = not wanted */
    /* Written by the runner; counts are of the sites and these. */
    struct level_count level[CACHE_LEVELS];
    int32_t n_levels;                     /* that were simulated: 1 of a sample */
    double fraction, error;
    char how[SIM_HOW];                    /* why the budget was exceeded */
};

/* heat: per tensor, the address of its map's first byte; every buffer lies in [first, end). */
struct shared_detail {
    unsigned long long heat[MEASURE_MAX_TENSORS], first, end;
    struct sim_detail detail;
};

/* Of all that both sides must lay out alike. */
#define PROTOCOL_BYTES ((uint32_t)(sizeof(struct shared) + sizeof(struct request)              \
                                   + sizeof(struct reply) + sizeof(struct shared_sim)          \
                                   + sizeof(struct shared_detail) + sizeof(struct shared_site) \
                                   + sizeof(struct shared_block) + sizeof(struct shared_mark)))

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
