/* One measurement at work: what its parts share.  measure.c and batch.c call the parts in order,
 * each fills its share of struct measurement or stops it. */
#ifndef TS_PROFILE_JOB_H
#define TS_PROFILE_JOB_H
#include "profile/build/build.h"
#include "profile/child/child.h"
#include "profile/measure/measurement.h"
#include "profile/measure/oracle.h"

/* The baselines that take part: contender `contender` + i has the buffers from first[i] on. */
struct entrants {
    struct arena *arena;                 /* of the plain program; NULL = nobody takes part */
    const struct program *plain;         /* the operator without steps: row-major tensors */
    struct vendor_problem problem;
    int n, contender, first[VENDOR_COUNT];
    enum vendor_library library[VENDOR_COUNT];
    char plugin[VENDOR_COUNT][600];
    int killed;                          /* children that somebody else killed */
};

/* Everything one measurement needs; arrays are the program's arena's or freed in finish(). */
struct measure_job {
    const struct program *program;
    struct measure_opts opts;
    const struct progress *progress;
    const struct cancel *cancel;
    struct measurement *m;
    struct compiler cc;
    const struct target *target;
    const struct func *func;
    struct build kernel, ceiling, twin;
    char entry[32];                      /* of the kernel in its object; "" = the usual one */
    bool has_ceiling, has_twin;
    double ceiling_flops;
    struct trace_table trace;            /* of the twin */
    const struct oracle *oracle;         /* the caller's; NULL = look for one, or make it */
    struct child *child;                 /* shared by the jobs of a comparison */
    double first_call_s;                 /* what the call took that was checked */
    int differed;                        /* how often a later result was another right one */
    bool refused;                        /* of a comparison: this one ended the timing */
    int contender, first;                /* in it: which one this is; its first buffer */
    struct entrants entrants;            /* of the first job */
    char doing[40];
    double since;                        /* when that began */
    const struct machine *machine;       /* this one */
};

/* Says what is being done now, and (begin) that nobody knows how much of it is done. */
void measure_report(const struct measure_job *j, const char *what, double fraction);
void measure_begin(struct measure_job *j, const char *what);
void measure_tick(void *ctx, double done);            /* of struct child_opts; ctx is the job */

/* measure_code.c: lower, generate, compile.  The ceiling and the twin can be missing (has_...),
 * with the reason in m->sim. */
bool measure_build(struct measure_job *j, struct err *e);
/* The part of it that takes no compiler.  measure_check_tensors: no more of all together than a
 * child can have. */
bool measure_lower(struct measure_job *j, struct err *e);
bool measure_check_tensors(struct measure_job *const *j, int n, struct err *e);
bool measure_build_kernel(struct measure_job *j, struct err *e);
/* measure_check.c: a child with room for the buffers of these jobs (the first one's, if it has one:
 * a child that is idle), and their kernels in it as its contenders; the result of one of them
 * compared with the reference. */
bool measure_open_child(struct measure_job *const *j, int n, struct err *e);
bool measure_check(struct measure_job *j, struct err *e);
/* Another result than that one, after so many calls, which lies in the child's buffers now. */
bool measure_check_again(struct measure_job *j, int64_t calls, struct err *e);
/* measure_time.c: the clock, in hot caches and in cold ones.  s holds the samples until the next
 * use of the child. */
bool measure_time(struct measure_job *const *j, int n, int sittings, struct samples *s,
                  struct err *e);
bool measure_time_cold(struct measure_job *const *j, int n, struct err *e);
/* Instead of it, where nobody asked for the clock: a few more calls of a short kernel, compared. */
bool measure_again(struct measure_job *j, struct err *e);
/* The parts of it: samples as asked for, of these jobs, with their results compared again; what one
 * of them says about the kernel, false when no kernel can be so fast.  An error about one job's
 * results has `refused` set in that job. */
bool measure_sample(struct measure_job *const *j, int n, struct sampled *what, struct samples *s,
                    struct err *e);
bool measure_take(struct measure_job *j, const struct samples *s, struct err *e);
/* A job for a program with the defaults of the options filled in; a failure as its
 * outcome. */
bool measure_start(struct measure_job *j, const struct program *p, const struct measure_opts *o,
                   struct measurement *m, struct err *e);
void measure_end(struct measure_job *j, bool ok, const struct err *e);
/* A program's own fault, which ends only itself. */
bool measure_is_result(const struct err *e);
/* When its process was killed a second time, the kernel is the one who does it: ERR_CRASH. */
void measure_blame(struct err *e);
struct latency measure_latency(const struct samples *s, int series);
/* measure_vendor.c: who of the baselines that were asked for can take part (else m->baseline says
 * why not); their buffers, behind the *n of `contenders` kernels; in the child, compared with the
 * reference; their samples.  measure_vendor_load is false on a cancel, and when a library took the
 * child with it: it takes no more part then, and the child must be opened again. */
bool measure_vendor_match(struct measure_job *j, struct err *e);
void measure_vendor_buffers(struct measure_job *j, int contenders, struct child_buffer *buffer,
                            int *n);
int64_t measure_vendor_bytes(const struct measure_job *j);
bool measure_vendor_load(struct measure_job *j, struct err *e);
unsigned measure_vendor_contenders(const struct measure_job *j);
void measure_vendor_take(struct measure_job *j, const struct samples *s);
void measure_vendor_finish(struct measure_job *j);
/* measure_sim.c: the twin through the simulator.  A count that cannot be had is a reason in m->sim;
 * the measurement stands.  False only on a cancel. */
bool measure_sim(struct measure_job *j, struct err *e);
bool measure_sim_refused(struct measure_job *j, const struct err *e);
/* Where the simulator and cachegrind have the buffers (locals too): page after page in buffer
 * order, so that counts do not depend on where memory happens to be.  Where the last page ends. */
unsigned long long measure_place_buffers(const struct func *f, unsigned long long *base);
/* measure_code.c: how the kernel's code is generated. */
struct gen_opts measure_code_opts(const struct measure_job *j);
/* measure_check.c: what a twin of the kernel computed, against the reference.  data: a buffer per
 * parameter. */
bool measure_is_right(struct measure_job *j, void *const *data, struct err *e);
#endif
