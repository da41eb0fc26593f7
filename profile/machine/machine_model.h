/* The machine model: what this machine's floating point units and memories can do at best, measured
 * by generated loops in the measuring child, on one core and on all of them at once. */
#ifndef TS_PROFILE_MACHINE_MODEL_H
#define TS_PROFILE_MACHINE_MODEL_H
#include "profile/build/build.h"
#include "profile/host/machine.h"
#include "profile/measure/measurement.h"

/* Of short samples: the best (neighbours and clock rates only make a sample slower), the median,
 * and (p75 - p25) / median.  runs == 0: not measured. */
struct rate { double best, median, spread; int runs; };
struct rates { struct rate one, all; };  /* one core; all cores at once, together */

/* ORDER MODEL_LEVEL: inwards first. */
enum model_level { MODEL_L1, MODEL_L2, MODEL_L3, MODEL_DRAM, MODEL_LEVELS };
extern const char *const model_level_name[MODEL_LEVELS];           /* "L1" ... "DRAM" */

#define MODEL_ISAS 5
struct isa_peak { char isa[16]; int vector_floats; struct rates gflops; };

/* capacity: of the cache; 0: unknown, or DRAM.  bytes: of each core's own buffer, half of the level
 * at most.  The rates are in GB/s (1e9); a level that is missing or unknown has none, and reason
 * says why. */
struct level_bandwidth {
    int64_t capacity, bytes;
    struct rates load, copy;             /* copy: read and written; of DRAM only */
    char reason[96];
};

struct machine_model {
    char fingerprint[384];               /* machine_model_fingerprint of where it was measured */
    char date[32];                       /* UTC, "2026-11-21T02:30:00Z" */
    char compiler[128];
    int cores;
    double seconds;                      /* what measuring took */
    int n_isa;
    struct isa_peak isa[MODEL_ISAS];     /* the widest first */
    struct level_bandwidth level[MODEL_LEVELS];
};

/* What a model belongs to: machine_fingerprint, all caches, the CPU's features. */
void machine_model_fingerprint(struct str *out, const struct machine *m);

struct progress;
/* Takes about `seconds` of sampling and a compilation of each loop.  ERR_ENV, ERR_COMPILE,
 * ERR_CANCEL. */
bool machine_model_measure(const struct compiler *cc, const struct machine *m, double seconds,
                           const struct progress *pr, const struct cancel *c,
                           struct machine_model *out, struct err *e);

/* What cannot be so on a machine that was left alone: cores together slower than one of them, an
 * outer level of memory faster than an inner one, most samples far below the best; with `before`
 * (may be NULL), an undisturbed model of the same machine: rates far below that one's.  Appends
 * what, "; " between; how many rates are doubtful. */
int machine_model_doubts(const struct machine_model *m, const struct machine_model *before,
                         struct str *out);
/* Two measurements of one machine: of each rate the better one, since disturbance only slows. */
void machine_model_merge(struct machine_model *to, const struct machine_model *from);

/* How large a buffer each core has for a level's bandwidth on this machine; 0 with the reason. */
int64_t machine_model_bytes(const struct machine *m, enum model_level level, int64_t memory_bytes,
                            char *reason, size_t n);

/* The best rate of `threads` threads: of one core, of all cores, or for a number between what so
 * many single ones make as long as that is not more than all; 0 = unknown. */
double rates_of(const struct rates *r, int threads, int cores);
/* The highest peak, in GFLOP/s; 0 = unknown. */
double machine_model_peak(const struct machine_model *m, int threads);
#endif
