/* The parts of one measurement, shared by the files that make measurements. A function that makes a
 * part fills its members of struct measurement, or stops the measurement. */
#ifndef TS_PROFILE_JOB_H
#define TS_PROFILE_JOB_H
#include "kernels/module/module.h"
#include "profile/build/build.h"
#include "profile/child/runner.h"
#include "profile/cuda/device.h"
#include "profile/measure/measurement.h"
#include "profile/measure/oracle.h"

#define MEASURE_COMPARE_S 1.0             /* seconds of sampling of a comparison */
#define MEASURE_BOOTSTRAP_SEED 1          /* seed of stats_ratio */

struct measure_job;

/* The n baselines of a measurement. Baseline i is contender number `contender` + i, and its buffers
 * begin at number first[i]. */
struct libraries {
    struct arena *arena;  /* arena of the unscheduled program; NULL = no baseline */
    const struct program *plain;         /* the operator without steps: row-major tensors */
    struct vendor_problem problem;
    int n, contender, first[VENDOR_COUNT];
    enum vendor_library library[VENDOR_COUNT];
    char plugin[VENDOR_COUNT][600];
    /* number of children that another process killed while they ran a baseline */
    int killed;
};

/* A network that a job measures instead of one program. asked_flops: FLOPs of the operators'
 * definitions; needed_flops: FLOPs that the results need (func_needed); result_bytes: bytes of the
 * outputs. Slow functions: bounding: returns how many of needed_flops bound the time
 * (func_bounding); sums: returns how many values the reductions accumulate (func_sums). check:
 * whether the results in the runner are right. */
struct measure_many {
    double asked_flops, needed_flops, result_bytes;
    double (*bounding)(const struct measure_job *j);
    double (*sums)(const struct measure_job *j);
    bool (*check)(struct measure_job *j, struct err *e);
    void *ctx;
};

/* All data of one measurement.  measure_vendor_finish frees what libraries.arena has; func, module
 * and trace are in the arena of the program. */
struct measure_job {
    const struct program *program;
    const struct measure_many *many;     /* NULL: the job measures `program` */
    struct measure_opts opts;            /* meters and baselines: those of the present phase */
    unsigned asked, asked_baselines;     /* all meters and baselines that the caller asked for */
    const struct progress *progress;
    const struct cancel *cancel;
    struct measurement *m;
    struct compiler cc;
    const struct target *target;
    const struct func *func;             /* the program, lowered */
    const struct module *module;         /* kernels of the lowered program */
    struct build kernel, ceiling, instrumented;
    char entry[32];                      /* name of the kernel in its object; "" = the usual one */
    uint64_t source;                     /* hash of the kernel's source; 0: not generated */
    bool has_ceiling, has_instrumented;
    double ceiling_flops;
    struct trace_table trace;            /* sites, blocks, marks of the instrumented kernel */
    const struct oracle *oracle;         /* given by the caller; NULL = find or make one */
    struct runner *runner;                 /* shared by the jobs of a comparison */
    double first_call_s;                 /* time of the call that was checked */
    int differed;  /* how often a later result had other bits than the first one */
    /* whether this kernel is at fault: it alone needs too much memory, it cannot be loaded, or the
     * timing ended because its result or time cannot be right */
    bool refused;
    int contender, first;  /* the job's number in the runner; number of its first buffer */
    struct libraries libraries;            /* baselines; only in the first job */
    char doing[40];                      /* name of the current phase */
    double since;                        /* start of the current phase */
    const struct machine *machine;       /* the machine where the runner runs */
    /* the GPU that runs and times the kernel; NULL: there is no such GPU, the clock was not asked
     * for, or the kernel is not for a GPU */
    const struct cuda_info *device;
    struct cuda_info device_info;
    bool on_device;  /* kernel and runner are those of the GPU, and not of the CPU or host twin */
};

/* measure_report reports the phase and its progress. measure_begin starts a phase with unknown
 * progress. */
void measure_report(const struct measure_job *j, const char *what, double fraction);
void measure_begin(struct measure_job *j, const char *what);
void measure_tick(void *ctx, double done);  /* callback for struct runner_opts; ctx is the job */

/* measure_code.c: lowers the program, and compiles the kernel, the ceiling for the clock and, for a
 * CPU, the instrumented kernel for the simulator. If the ceiling fails to compile, has_ceiling is
 * false. If the instrumented kernel fails, has_instrumented is false, and m->sim has the reason. */
bool measure_build(struct measure_job *j, struct err *e);
/* Lowers the program, the first part of measure_build: fills in func and module. */
bool measure_lower(struct measure_job *j, struct err *e);
/* Generates and compiles the kernel, the part of measure_build that follows measure_lower; if
 * on_device, for the GPU. */
bool measure_build_kernel(struct measure_job *j, struct err *e);
/* measure_check.c. measure_open_runner: opens a child with the buffers of these jobs (or reuses the
 * idle child of the first job), and loads their kernels as its contenders. measure_check: runs one
 * contender and compares its result with the reference. */
bool measure_open_runner(struct measure_job *const *j, int n, struct err *e);
bool measure_check(struct measure_job *j, struct err *e);
/* Checks the result that the buffers of the child hold after `calls` calls, when its bits differ
 * from those of the first call's result. ERR_WRONG, ERR_ILL. */
bool measure_check_again(struct measure_job *j, int64_t calls, struct err *e);
/* measure_time.c. measure_time: times the kernels of n jobs in turns, with hot caches;
 * measure_time_cold: the same with cold caches. epochs: as in struct sampled. *s is valid until the
 * child is used again. */
bool measure_time(struct measure_job *const *j, int n, int epochs, struct samples *s,
                  struct err *e);
bool measure_time_cold(struct measure_job *const *j, int n, struct err *e);
/* Makes a few more calls of a short kernel and compares the results.  This replaces measure_time
 * when the clock was not asked for. */
bool measure_again(struct measure_job *j, struct err *e);
/* Parts of measure_time. measure_sample: takes samples for these jobs and checks their results
 * again; sets `refused` in a job whose result is wrong. measure_take: fills in the times of a job;
 * sets `refused` and returns false when they are impossibly short. */
bool measure_sample(struct measure_job *const *j, int n, struct sampled *what, struct samples *s,
                    struct err *e);
bool measure_take(struct measure_job *j, const struct samples *s, struct err *e);
/* job.c. measure_start: makes a job with the defaults of the options filled in. measure_end: stores
 * the outcome, and a reason for each requested result that is missing. */
bool measure_start(struct measure_job *j, const struct program *p, const struct measure_opts *o,
                   struct measurement *m, struct err *e);
void measure_end(struct measure_job *j, bool ok, const struct err *e);
/* Clears the times of the kernel, and what was noted when they were taken. */
void measure_drop_times(struct measurement *m);
/* Whether the program caused an error, and not a cancel or the environment. */
bool measure_is_result(const struct err *e);
enum outcome measure_outcome(enum err_code code);
/* Returns the bytes that these jobs need in one child: each parameter three times (in this process,
 * in the child, and as a logical copy), the baselines, and the float64 references. A job with an
 * oracle needs no reference; jobs with the operator of the first job share one. The error bounds of
 * chosen algorithms are computed for one job after the other, so only the largest ones count.
 * Memory that the idle child of the first job has already is not counted. */
double measure_need(struct measure_job *const *j, int n);
/* Fails with ERR_RANGE if `need` bytes are more than a measurement may take of the free memory. */
bool measure_memory(double need, struct err *e);
/* Turns ERR_KILLED into ERR_CRASH of the kernel.  Call it when the process of a kernel was killed
 * a second time. */
void measure_blame(struct err *e);
struct latency measure_latency(const struct samples *s, int series);
/* Returns the times of a summary of seconds, without a ceiling. */
struct latency measure_latency_of(const struct summary *seconds, int runs);
/* measure_vendor.c, in the order of use. match: finds which requested baselines are possible
 * (m->baseline has the reasons for the others). buffers: appends their buffers after those of the
 * `contenders` kernels. load: loads them into the child and compares them with the reference;
 * returns false on a cancel, or when the child ended, which must then be opened again. The library
 * that ended the child is excluded, unless another process killed the child for the first time.
 * take: fills in the times of the baselines. */
bool measure_vendor_match(struct measure_job *j, struct err *e);
void measure_vendor_buffers(struct measure_job *j, int contenders, struct runner_buffer *buffer,
                            int *n);
int64_t measure_vendor_bytes(const struct measure_job *j);
bool measure_vendor_load(struct measure_job *j, struct err *e);
unsigned measure_vendor_contenders(const struct measure_job *j);
void measure_vendor_take(struct measure_job *j, const struct samples *s);
void measure_vendor_finish(struct measure_job *j);
/* Opens a runner with the kernel and the vendor libraries, and checks all of them. When the runner
 * ends while it loads or runs a library, opens another one (measure_vendor_load). */
bool measure_open_checked(struct measure_job *j, struct err *e);
/* measure_device.c. measure_find_device: finds the device that can run and time the kernel; if
 * there is none, m->device has the reason. measure_on_device: runs a kernel on the device after its
 * host twin has passed the check (with opts.twin_later, without a twin). It compares the result
 * with the reference, times the kernel, and compares again. If the device lacks something
 * (ERR_ENV) and there is a twin, only stores the reason: the measurement remains the twin's.
 * measure_build_device: compiles the kernel for the GPU. */
void measure_find_device(struct measure_job *j);
bool measure_on_device(struct measure_job *j, struct err *e);
bool measure_build_device(struct measure_job *j, struct err *e);
/* The two steps that prepare a job for a comparison on the device. measure_twin: builds and checks
 * the host twin in a runner of its own. measure_move_to_device: turns a job whose twin is right
 * into a job for the device. */
bool measure_twin(struct measure_job *j, struct err *e);
bool measure_move_to_device(struct measure_job *j, struct err *e);
/* Returns the FLOPs per second that no kernel of the device can exceed. */
double measure_device_peak(const struct measure_job *j);
/* measure_sim.c: runs the instrumented kernel through the simulator. If the simulator cannot
 * count, m->sim has the reason and the measurement goes on. Returns false only on a cancel.
 * measure_sim_refused stores the text of *e as the reason. */
bool measure_sim(struct measure_job *j, struct err *e);
bool measure_sim_refused(struct measure_job *j, const struct err *e);
/* Stores the counts of n sites, by site and by tensor. all: one entry per site, with its counts;
 * this function fills in the other members. */
void measure_take_sites(struct sim_result *r, const struct func *f, const struct site *site,
                        struct sim_site *all, int n);
/* Stores the addresses of the buffers (local ones too) for the simulator and cachegrind:
 * consecutive pages in the order of the buffers, so that counts do not depend on the real
 * addresses.  Returns the end of the last page. */
unsigned long long measure_place_buffers(const struct func *f, unsigned long long *base);
/* measure_check.c: compares the results of a variant of the kernel with the reference. data: the
 * buffer of each parameter.  ERR_WRONG, ERR_ILL. */
bool measure_is_right(struct measure_job *j, void *const *data, struct err *e);
#endif
