/* The machine model: the peak rates of this machine's floating point units and memories. They are
 * measured by generated loops in a child, on one core and, where the buffers fit, on all cores at
 * once. */
#ifndef TS_PROFILE_MACHINE_MODEL_H
#define TS_PROFILE_MACHINE_MODEL_H
#include "profile/build/build.h"
#include "profile/host/machine.h"
#include "profile/measure/measurement.h"

/* A rate from short samples: the best sample (other processes and low clock rates only make samples
 * slower), the median, and the spread (p75 - p25) / median. runs == 0: not measured. */
struct rate { double best, median, spread; int runs; };
struct rates { struct rate one, all; };  /* rate of one core; total rate of all cores at once */

/* The levels of memory, innermost first (ORDER MODEL_LEVEL). */
enum model_level { MODEL_L1, MODEL_L2, MODEL_L3, MODEL_DRAM, MODEL_LEVELS };
extern const char *const model_level_name[MODEL_LEVELS];           /* "L1" ... "DRAM" */

#define MODEL_ISAS 5
struct isa_peak { char isa[16]; int vector_floats; struct rates gflops; };

/* The bandwidth of a level in GB/s (1e9). capacity: size of the cache; 0 when unknown, and for
 * DRAM. bytes: size of the buffer of each core, at most half of the cache; for DRAM at least twice
 * the last cache.  A level that cannot be measured has no rates, and `reason` says why. */
struct level_bandwidth {
    int64_t capacity, bytes;
    struct rates load, copy;             /* copy: bytes read and written; only for DRAM */
    char reason[96];
};

struct machine_model {
    char fingerprint[384];  /* machine_model_fingerprint of the measured machine */
    char date[32];                       /* UTC, "2026-11-21T02:30:00Z" */
    char compiler[128];
    int cores;
    double seconds;                      /* seconds that measuring took */
    int n_isa;
    struct isa_peak isa[MODEL_ISAS];     /* widest vectors first */
    struct level_bandwidth level[MODEL_LEVELS];
};

/* Prints the fingerprint of a machine for models: machine_fingerprint, L2 and L3, and the hash of
 * the CPU features. */
void machine_model_fingerprint(struct str *out, const struct machine *m);

struct progress;
/* Measures the model.  This takes about `seconds` for sampling, and the time for compiling each
 * loop.  The errors are those of build_shared and of the runner. */
bool machine_model_measure(const struct compiler *cc, const struct machine *m, double seconds,
                           const struct progress *pr, const struct cancel *c,
                           struct machine_model *out, struct err *e);

/* Finds rates that an undisturbed machine cannot have: all cores slower than one core, wider
 * vectors slower than narrower ones, an outer level of memory faster than an inner one, most
 * samples far below the best. With `before` (an undisturbed model of the same machine, or NULL),
 * also finds rates far below the rates of that model. Appends the findings to out, separated by
 * semicolons. Returns the number of doubts: a rate with two faults counts twice. */
int machine_model_doubts(const struct machine_model *m, const struct machine_model *before,
                         struct str *out);
/* Compares the rates of m with those of `before`, an earlier model of the same machine. Appends the
 * names of the rates that are now far lower: "avx2, L1". Returns the number of these names. */
int machine_model_less(const struct machine_model *m, const struct machine_model *before,
                       struct str *out);
/* Merges the measurement *from into *to.  Both are of the same machine.  Each rate in *to becomes
 * the better of the two, since disturbances only make rates lower.  A level that only *from could
 * measure is copied from there.  An instruction set that only *from has is ignored. */
void machine_model_merge(struct machine_model *to, const struct machine_model *from);

/* Returns the size of each core's buffer for measuring the bandwidth of a level. Returns 0, with
 * the reason, when this level cannot be measured. memory_bytes: memory that is available now. */
int64_t machine_model_bytes(const struct machine *m, enum model_level level, int64_t memory_bytes,
                            char *reason, size_t n);

/* Returns the best rate of `threads` threads on a machine with `cores` cores; 0 = unknown.  For
 * fewer threads than cores: threads * (rate of one core), but at most the rate of all cores. */
double machine_model_rates(const struct rates *r, int threads, int cores);
/* Returns the peak of `threads` threads in GFLOP/s, for the instruction set with the highest one;
 * 0 = unknown. */
double machine_model_peak(const struct machine_model *m, int threads);
#endif
