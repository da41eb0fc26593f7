/* The interface of the measuring process to its child, tilescope-runner.  There is one child per
 * measurement, or one for many measurements of a batch.  It knows shared objects and buffers, but
 * nothing of programs.  After any failure except a refused load, the child is dead and can only
 * be closed. */
#ifndef TS_PROFILE_CHILD_H
#define TS_PROFILE_CHILD_H
#include "profile/child/sampling.h"

/* Values of `written`: 0 when the kernel only reads the buffer, 1 when it writes it, or
 * BUFFER_RESULT. */
#define BUFFER_RESULT 2  /* written by the kernel and compared with the reference */
struct child_buffer {
    const char *name;
    const struct elem_type *type;
    int64_t bytes;
    int written;
};

struct child_opts {
    const char *runner;                   /* path of tilescope-runner; NULL = find it */
    int threads;                          /* threads of OpenMP teams; at least 1 */
    bool huge_pages;                      /* ask Linux for huge pages for the buffers */
    double limit_s;                       /* limit of one kernel call, in seconds */
    int64_t memory_bytes;                 /* memory limit beyond the buffers; 0 = 1 GiB */
    int n_buffers;  /* the parameters of the kernel, at most PROTOCOL_MAX_BUFFERS */
    const struct child_buffer *buffer;    /* names must outlive the child */
    /* Kernels that are timed against each other, at most PROTOCOL_MAX_CONTENDERS.  Contender i
     * has the buffers from first[i] up to the first of the next one. 0 = one kernel, with all the
     * buffers. */
    int n_contenders;
    const int *first;
    const struct trace_table *trace;      /* table of the instrumented kernel; NULL = none */
    int n_trace_buffers;
    bool sim_detail;                      /* reserve memory for struct sim_detail */
    const struct cancel *cancel;          /* may be NULL; polled at least every 20 ms */
    /* may be NULL.  Progress of the current command: 0..1, then 1..2 when it is sampled a second
     * time, and so on */
    void (*tick)(void *ctx, double done);
    void *ctx;
};

/* Finds the runner: `want`, else $TILESCOPE_RUNNER, else beside this executable or one folder
 * up.  ERR_ENV. */
bool child_find_runner(const char *want, char *path, size_t n, struct err *e);

struct child;
/* Starts a child.  ERR_ENV: no runner, or no memory.  ERR_CANCEL.  Here and below, ERR_KILLED
 * means that a signal not sent by this program killed the child; the kernel may have sent it. */
bool child_open(const struct child_opts *o, struct child **out, struct err *e);
void child_close(struct child *c);        /* kills the child; NULL is allowed */
/* Gives an idle child new buffers and limits, and no kernel.  That is cheaper than a new child,
 * but safe only after kernels that can be trusted.  The runner, threads and pages remain.  Not
 * for a child that has loaded a library. */
bool child_renew(struct child *c, const struct child_opts *o, struct err *e);
/* Bytes of memory shared with the child. Its own buffers take as much again. */
int64_t child_shared_bytes(const struct child *c);

/* The copy of a buffer in this process.  Fill it before child_check; after child_check it holds
 * the result.  A later change may not reach the kernel. */
void *child_data(struct child *c, int buffer);

/* Loads an object. ERR_COMPILE when that fails. SLOT_KERNEL + i is contender i. */
bool child_load(struct child *c, enum slot slot, const char *so_path, struct err *e);
/* child_load for an object with several kernels: loads the one of this name ("" = the usual
 * name). */
bool child_load_entry(struct child *c, enum slot slot, const char *so_path, const char *entry,
                      struct err *e);

/* Starts the process that samples the FMA ceiling in this object and never loads anything else.
 * Call it once for a child.  ERR_COMPILE when the object cannot be loaded; ERR_ENV. */
bool child_load_ceiling(struct child *c, const char *so_path, struct err *e);

/* Makes a primitive of a vendor library a contender.  Its buffers are the tensors of the problem,
 * in order, and must be filled before. plugin: path of its shared object.  *out says which
 * implementation and layout the library chose.  ERR_ENV with the reason of the library. */
struct vendor_choice { char implementation[160], layout[80]; };
bool child_load_vendor(struct child *c, int contender, const char *plugin,
                       enum vendor_library library, const struct vendor_problem *problem,
                       struct vendor_choice *out, struct err *e);

/* Runs a contender once.  ERR_CRASH, ERR_TIMEOUT or ERR_WRONG (it wrote outside of a buffer),
 * with a sentence that names the buffer. */
bool child_check(struct child *c, int contender, double *seconds, struct err *e);

/* What to sample, and how. contenders: bit i stands for contender i. append: add to the samples
 * of the last call. as_is: do not repeat noisy samples. give_up_s: one or two rounds are enough
 * when every contender is slower than this (0 = never). */
struct sampled {
    unsigned contenders;
    /* Bit i: child_check has left the result of contender i in the shared file, and it was found
     * right.  A different result ends the sampling. */
    unsigned steady;
    bool ceiling, cold, append, as_is;
    double time_s, give_up_s;
    int min_runs, sittings;               /* as in struct request; sampling.h has the rules */
    int64_t walk_bytes;                   /* cold: bytes to read, more than the last cache holds */
};
/* Seconds per call, by enum series: of the contenders and the ceiling that were asked for, and of
 * the ceiling on one core when there are several threads (all others are 0 and NULL).
 * sample[.][i] were taken in round i; block[k] is the first round of epoch k.  When the spread of
 * a contender is above STATS_NOISY, sampling is repeated, for up to 3 times as long in all, and
 * all samples count.  Valid until the child is timed again or closed. */
struct samples {
    int rounds, n_blocks;
    const double *sample[SERIES_COUNT];
    struct summary of[SERIES_COUNT];
    int block[PROTOCOL_MAX_SITTINGS];
    bool flushed;  /* cold: caches were flushed line by line, not by reading other data */
    /* The contender that gave a different result after so many calls; child_data has that result,
     * and there are no samples. -1: none. */
    int differs;
    int64_t differs_after;
    int64_t huge_bytes, room_bytes;  /* bytes of the buffers' pages in huge pages, and in all */
};
bool child_time(struct child *c, const struct sampled *what, struct samples *out, struct err *e);

/* Counts these events per call by a meter (enum meter_id), on all threads that the kernel uses.
 * *seconds: the time of such a call.  An event that cannot be counted gets a reason in *out. */
bool child_count(struct child *c, int meter, const struct event *event, int n, struct counts *out,
                 double *seconds, struct err *e);

/* How to simulate the instrumented kernel. base: an address for each buffer, a multiple of the
 * line size. */
struct simulated {
    const struct cache_config *cache;
    const unsigned long long *base;
    const int *tensor;                    /* per site: index of its tensor in detail; or NULL */
    double budget;  /* number of accesses above which only a sample is simulated */
    uint64_t seed;
    struct sim_detail *detail;            /* NULL, or the ranges of the heat maps are set */
    const unsigned long long *heat;  /* with detail, per tensor: the address where cell 0 begins */
    unsigned long long first, end;        /* with detail: all buffers lie in [first, end) */
};
/* count: one per site; runs: one per block. The caller provides both arrays. */
struct simulation {
    struct site_count *count;
    int64_t *runs;
    struct level_count level[CACHE_LEVELS];
    int n_levels;  /* number of levels simulated; a sample simulates L1 alone */
    double fraction, error, seconds;
    char how[SIM_HOW];  /* why more was simulated than the budget allows; "" when it was not */
};
bool child_simulate(struct child *c, const struct simulated *what, struct simulation *out,
                    struct err *e);
#endif
