/* The measuring process's side of tilescope-runner: one child per measurement, or for many of a
 * batch, which knows shared objects and buffers and nothing of programs.  After any failure but a
 * refused load the child is dead and can only be closed. */
#ifndef TS_PROFILE_CHILD_H
#define TS_PROFILE_CHILD_H
#include "profile/child/sampling.h"

/* written: by the kernel; 0: only read. */
#define BUFFER_RESULT 2                   /* written, and compared with the reference */
struct child_buffer { const char *name; int64_t bytes; int written; };

struct child_opts {
    const char *runner;                   /* path of tilescope-runner; NULL = find it */
    int threads;                          /* of OpenMP teams; at least 1 */
    bool huge_pages;                      /* ask the kernel for them, for the buffers */
    double limit_s;                       /* of one kernel call */
    int64_t memory_bytes;                 /* beyond the buffers; 0 = 1 GiB */
    int n_buffers;                        /* its parameters, at most PROTOCOL_MAX_BUFFERS */
    const struct child_buffer *buffer;    /* names must outlive the child */
    /* Kernels to be timed against each other, at most PROTOCOL_MAX_CONTENDERS: contender i has the
     * buffers from first[i] up to the next one's first.  0 = one, with all the buffers. */
    int n_contenders;
    const int *first;
    const struct trace_table *trace;      /* of the tracing twin; NULL = none */
    int n_trace_buffers;
    bool sim_detail;                      /* room for it is wanted */
    const struct cancel *cancel;          /* may be NULL; polled at least every 20 ms */
    void (*tick)(void *ctx, double done); /* may be NULL: progress 0..1 of the command at work,
                                           * 1..2 when it is sampled a second time, and so on */
    void *ctx;
};

/* Where the runner is: `want`, else $TILESCOPE_RUNNER, else beside this executable or one folder
 * up.  ERR_ENV. */
bool child_find_runner(const char *want, char *path, size_t n, struct err *e);

struct child;
/* ERR_ENV: no runner, no memory.  ERR_CANCEL.  Here and below ERR_KILLED: its process was killed,
 * and not by us; a kernel can have done that as well. */
bool child_open(const struct child_opts *o, struct child **out, struct err *e);
void child_close(struct child *c);        /* kills it; NULL is fine */
/* The idle child has these buffers and limits from now on, and no kernel: cheaper than a new one,
 * and only for who trusts what ran in it.  The runner, threads and pages stay as they are.  Not for
 * a child with a library in it. */
bool child_renew(struct child *c, const struct child_opts *o, struct err *e);
/* What is shared with it; its own buffers take as much again. */
int64_t child_shared_bytes(const struct child *c);

/* The copy of a buffer that this process sees: filled before child_check, holding the result
 * after it.  A change after that may not reach the kernel. */
float *child_data(struct child *c, int buffer);

/* ERR_COMPILE when the object cannot be loaded.  SLOT_KERNEL + i is contender i. */
bool child_load(struct child *c, enum slot slot, const char *so_path, struct err *e);
/* Of an object with several kernels, the one of this name ("" = the usual one). */
bool child_load_entry(struct child *c, enum slot slot, const char *so_path, const char *entry,
                      struct err *e);

/* Starts the process that samples the FMA ceiling in this object, which never loads anything else;
 * once for a child.  ERR_COMPILE when it cannot be loaded, ERR_ENV. */
bool child_load_ceiling(struct child *c, const char *so_path, struct err *e);

/* A contender that is a library's primitive: its buffers are the problem's tensors, in their order,
 * and must have been filled before.  plugin: path of its shared object.  Implementation and layout
 * are what the library chose.  ERR_ENV with its reason. */
struct vendor_choice { char implementation[160], layout[80]; };
bool child_load_vendor(struct child *c, int contender, const char *plugin,
                       enum vendor_library library, const struct vendor_problem *problem,
                       struct vendor_choice *out, struct err *e);

/* Runs a contender once.  ERR_CRASH, ERR_TIMEOUT, ERR_WRONG (wrote beside a buffer), with a
 * sentence that names the buffer. */
bool child_check(struct child *c, int contender, double *seconds, struct err *e);

/* What to sample, and how.  contenders: bit i for contender i.  append: the samples of the last
 * time count as well.  as_is: not again when they are noisy.  give_up_s: one or two rounds are
 * enough when every contender is slower than that (0 = never). */
struct sampled {
    unsigned contenders;
    /* Contenders whose right results are in the file: child_check left them there, and they were
     * compared.  Other results end the sampling. */
    unsigned steady;
    bool ceiling, cold, append, as_is;
    double time_s, give_up_s;
    int min_runs, sittings;               /* as of struct request; sampling.h has the rules */
    int64_t walk_bytes;                   /* cold: more than the last cache holds */
};
/* Seconds a call, by enum series: of the contenders and the ceiling that were asked for, and of the
 * ceiling on one core when there are several threads (else all 0 and NULL).  sample[.][i] were all
 * taken in round i; block[k] is the first round of sitting k.  When a contender's spread is above
 * STATS_NOISY they are sampled again, up to 3 times as long, and all of it counts.  Valid until the
 * child is timed again or closed. */
struct samples {
    int rounds, n_blocks;
    const double *sample[SERIES_COUNT];
    struct summary of[SERIES_COUNT];
    int block[PROTOCOL_MAX_SITTINGS];
    bool flushed;                         /* cold: lines by address, not by a walk */
    /* Contender whose result was another one after so many calls: child_data has it, and there are
     * no samples.  -1: none. */
    int differs;
    int64_t differs_after;
    int64_t huge_bytes, room_bytes;       /* how much of the buffers' pages is in huge ones */
};
bool child_time(struct child *c, const struct sampled *what, struct samples *out, struct err *e);

/* Counts per call of these events by a meter (enum meter_id), on all threads that the kernel uses;
 * *seconds: of such a call.  What cannot be counted is a reason in *out. */
bool child_count(struct child *c, int meter, const struct event *event, int n, struct counts *out,
                 double *seconds, struct err *e);

/* Runs the twin through a cache.  base: an address per buffer, a multiple of the line. */
struct simulated {
    const struct cache_config *cache;
    const unsigned long long *base;
    const int *tensor;                    /* per site: index of its tensor in detail; or NULL */
    double budget;                        /* accesses beyond which a sample stands for all */
    uint64_t seed;
    struct sim_detail *detail;            /* NULL, or with the heat maps' ranges set */
    const unsigned long long *heat;       /* with detail, per tensor: where cell 0 begins */
    unsigned long long first, end;        /* with detail: every buffer lies in between */
};
/* count: per site; runs: per block; arrays are the caller's. */
struct simulation {
    struct site_count *count;
    int64_t *runs;
    struct level_count level[CACHE_LEVELS];
    int n_levels;                         /* that were simulated: a sample is of L1 alone */
    double fraction, error, seconds;
    char how[SIM_HOW];                    /* why the budget was exceeded; "" when it was not */
};
bool child_simulate(struct child *c, const struct simulated *what, struct simulation *out,
                    struct err *e);
#endif
