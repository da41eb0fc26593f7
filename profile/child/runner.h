/* The interface to a runner, the place where kernels run. child.h has two kinds of runner: a child
 * process whose kernels run on the CPU of this machine, and one whose kernels run on its GPU. A
 * runner gets compiled kernels and buffers, and knows nothing about programs. After any failure
 * except a refused load, the caller must close the runner. */
#ifndef TS_PROFILE_RUNNER_H
#define TS_PROFILE_RUNNER_H
#include "profile/child/sampling.h"

/* Values of `written`: 0 when the kernel only reads the buffer, 1 when it writes it, or
 * BUFFER_RESULT. */
#define BUFFER_RESULT 2  /* written by the kernel and compared with the reference */
struct runner_buffer {
    const char *name;
    const struct elem_type *type;
    int64_t bytes;
    int written;
};

struct runner_opts {
    const char *path;                     /* child: path of tilescope-runner; NULL = find it */
    int threads;                          /* threads of OpenMP teams; at least 1 */
    bool huge_pages;                      /* ask Linux for huge pages for the buffers */
    double limit_s;                       /* limit of one kernel call, in seconds */
    int64_t memory_bytes;                 /* memory limit beyond the buffers; 0 = 1 GiB */
    int n_buffers;                        /* number of parameters of all kernels together */
    /* Only runner_open and runner_renew read the arrays `buffer` and `first`. The names of the
     * buffers must outlive the runner. */
    const struct runner_buffer *buffer;
    /* n_contenders: number of contenders (kernels that are timed against each other), at most
     * PROTOCOL_MAX_CONTENDERS; 0 means one kernel with all buffers.  Contender i has the buffers
     * from first[i] up to first[i + 1] (not included).  The last contender has all buffers from its
     * first[i] on. */
    int n_contenders;
    const int *first;
    const struct trace_table *trace;      /* of the instrumented kernel; NULL: no such kernel */
    int n_trace_buffers;
    bool sim_detail;                      /* reserve memory for struct sim_detail */
    const struct cancel *cancel;          /* may be NULL; polled about every 20 ms */
    /* Receives the progress of the current command: 0..1, then 1..2 while it samples a second
     * time, and so on.  May be NULL. */
    void (*tick)(void *ctx, double done);
    void *ctx;
};

/* What to sample, and how. contenders: bit i stands for contender i. append: add to the samples
 * of the last call. as_is: do not repeat noisy samples. give_up_s: stop after one to three rounds
 * if every contender takes longer than this (0 = do not stop early). */
struct sampled {
    unsigned contenders;
    /* Bit i: runner_run has left the result of contender i in the shared file, and that result was
     * found right.  A different result ends the sampling. */
    unsigned steady;
    bool ceiling, cold, append, as_is;
    double time_s, give_up_s;
    int min_runs, epochs;               /* as in struct request; see sampling_run */
    int64_t walk_bytes;                   /* cold: bytes to read to empty the caches */
};
/* The samples, in seconds per call; the index is an enum series.  The requested contenders have
 * samples.  If the ceiling was requested and the samples are not cold, the ceiling has samples too,
 * and with several threads also the ceiling on one core.  Any other series has sample[.] = NULL and
 * a summary of zeros.  sample[.][i] was taken in round i; block[k] is the first round of epoch k.
 *
 * Unless as_is is set, sampling is repeated while the spread of a contender exceeds STATS_NOISY, up
 * to three times, and not after 5 s or limit_s in all.  Repeated samples are added to the first
 * ones.  The arrays are valid until the runner times again or is closed. */
struct samples {
    int rounds, n_blocks;
    const double *sample[SERIES_COUNT];
    struct summary of[SERIES_COUNT];
    int block[PROTOCOL_MAX_EPOCHS];
    bool flushed;  /* cold: caches were flushed line by line instead of by reading other data */
    /* The contender that left a different result after differs_after calls; -1: none did.  Sampling
     * then ended early, so the samples are of no use, and runner_data has the different result. */
    int differs;
    int64_t differs_after;
    int64_t huge_bytes, room_bytes;       /* as in struct shared */
    double others;                   /* share of the CPUs that other work took; NAN: unknown */
};
/* How to simulate the instrumented kernel. base: an address for each buffer, a multiple of the
 * line size. */
struct simulated {
    const struct cache_config *cache;
    const unsigned long long *base;
    const int *tensor;  /* per site: index of its tensor in detail; NULL: no detail */
    double budget;  /* number of accesses above which only a sample is simulated */
    uint64_t seed;
    struct sim_detail *detail;  /* the caller sets the ranges of its heat maps; NULL: not wanted */
    const unsigned long long *heat;  /* with detail, per tensor: the address where cell 0 begins */
    unsigned long long first, end;        /* with detail: all buffers lie in [first, end) */
};
/* count: an entry for each site. runs: for each block, how often it runs. The caller provides both
 * arrays. */
struct simulation {
    struct site_count *count;
    int64_t *runs;
    struct level_count level[CACHE_LEVELS];
    int n_levels;  /* number of levels simulated; a sample simulates L1 alone */
    double fraction, error, seconds;      /* as in struct sim_result */
    char how[SIM_HOW];  /* why more was simulated than the budget allows, or "" */
};

struct vendor_choice { char implementation[160], layout[80]; };

/* The functions of one kind of runner. Member NAME does what runner_NAME below says.  load_ceiling,
 * load_vendor, time, count and simulate may be NULL: runner_NAME then fails with ERR_ENV.  `renew`
 * may be NULL: runner_renew then opens a new runner. */
struct runner;
struct runner_kind {
    const char *name;                     /* "child" */
    bool (*open)(const struct runner_opts *o, struct runner **out, struct err *e);
    void (*close)(struct runner *r);
    bool (*renew)(struct runner *r, const struct runner_opts *o, struct err *e);
    int64_t (*bytes)(const struct runner *r);
    void *(*data)(struct runner *r, int buffer);
    bool (*load)(struct runner *r, enum slot slot, const char *so_path, const char *entry,
                 struct err *e);
    bool (*load_ceiling)(struct runner *r, const char *so_path, struct err *e);
    bool (*load_vendor)(struct runner *r, int contender, const char *plugin,
                        enum vendor_library library, const struct vendor_problem *problem,
                        struct vendor_choice *out, struct err *e);
    bool (*run)(struct runner *r, int contender, double *seconds, struct err *e);
    bool (*time)(struct runner *r, const struct sampled *what, struct samples *out,
                 struct err *e);
    bool (*count)(struct runner *r, int meter, const struct event *event, int n,
                  struct counts *out, double *seconds, struct err *e);
    bool (*simulate)(struct runner *r, const struct simulated *what, struct simulation *out,
                     struct err *e);
};

/* The first member of every kind's own struct. */
struct runner { const struct runner_kind *kind; };

/* Opens a runner. ERR_ENV: it does not start, or lacks memory. ERR_RANGE: too many contenders.
 * ERR_CANCEL: o->cancel was raised.  For this function and those below, ERR_KILLED means that a
 * signal such as SIGKILL or SIGTERM ended the runner, and that tilescope did not send it.  Linux
 * sends SIGKILL when memory runs out. */
bool runner_open(const struct runner_kind *kind, const struct runner_opts *o, struct runner **out,
                 struct err *e);
void runner_close(struct runner *r);      /* stops its work; NULL is allowed */
/* Gives an idle runner new buffers and limits, and unloads its kernels.  This is cheaper than a new
 * runner, but safe only after trusted kernels.  o->threads must be the same as when the runner was
 * opened, and the runner must not have loaded a vendor library.  If its kind has no `renew`, the
 * runner is closed and a new one is opened. */
bool runner_renew(struct runner **r, const struct runner_opts *o, struct err *e);
/* Returns the bytes shared with the runner. The runner's own buffers take about as much again. */
int64_t runner_bytes(const struct runner *r);

/* Returns the copy of a buffer in this process.  Fill it before runner_run, which copies it into
 * the runner and copies the result back.  After the first run, do not change a buffer that the
 * kernel only reads: the runner does not copy it for each run.  The kernel gets its own buffer at a
 * multiple of 64 bytes. */
void *runner_data(struct runner *r, int buffer);

/* Loads a kernel from an object. slot: SLOT_TRACE, or SLOT_KERNEL + i for contender i. entry: the
 * name of the function of a contender; "" = ts_entry.  ERR_COMPILE when the kernel cannot be
 * loaded. */
bool runner_load(struct runner *r, enum slot slot, const char *so_path, const char *entry,
                 struct err *e);
/* Loads the FMA ceiling of this object into a process of its own.  Call this at most once.
 * ERR_COMPILE: the object cannot be loaded.  ERR_ENV: the process does not start. */
bool runner_load_ceiling(struct runner *r, const char *so_path, struct err *e);
/* Makes a primitive of a vendor library a contender.  The contender's buffers are the tensors of
 * the problem, in order; the caller must fill them before this call. plugin: path of the shared
 * object of the plugin.  *out says which implementation and layout the library chose.  ERR_ENV has
 * the library's reason. */
bool runner_load_vendor(struct runner *r, int contender, const char *plugin,
                        enum vendor_library library, const struct vendor_problem *problem,
                        struct vendor_choice *out, struct err *e);

/* Runs a contender once.  Fails with ERR_CRASH, ERR_TIMEOUT or ERR_WRONG.  ERR_WRONG: the contender
 * wrote outside of a buffer (the text names the buffer), or a host twin reported an error. */
bool runner_run(struct runner *r, int contender, double *seconds, struct err *e);
bool runner_time(struct runner *r, const struct sampled *what, struct samples *out, struct err *e);
/* Counts these events per call of contender 0 by a meter (enum meter_id), on all its threads.
 * *seconds: seconds per call while counting.  If an event has no count, *out has the reason. */
bool runner_count(struct runner *r, int meter, const struct event *event, int n,
                  struct counts *out, double *seconds, struct err *e);
bool runner_simulate(struct runner *r, const struct simulated *what, struct simulation *out,
                     struct err *e);
#endif
