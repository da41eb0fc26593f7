/* The data and references of one operator and seed. oracle.c makes them, and oracle_judge.c
 * compares with them. */
#ifndef TS_PROFILE_ORACLE_IMPL_H
#define TS_PROFILE_ORACLE_IMPL_H
#include "profile/measure/oracle.h"

#include <pthread.h>

struct oracle {
    char *spec;
    const struct elem_type *type;
    uint64_t seed;
    int n_tensors;
    void **given;                        /* data of inputs and constants; NULL for other tensors */
    /* Per tensor of the base graph: for outputs, the results of reference_eval and reference_error;
     * NULL for all others. `error` itself is NULL in an oracle that oracle_of makes for a program
     * with a chosen algorithm. */
    double **data, **error;
    double *rms;  /* per output: root mean square of the elements that the type can hold */
    int64_t bytes;
    int users;  /* number of references; the list of kept oracles holds one */
    /* Made under the lock when an output is beyond its bound; NULL = not made yet. single: the
     * result in the type of the tensors. moved: how far the reference moves when the inputs change
     * by a roundoff; the inputs are changed twice, and the larger distance counts. Whole numbers
     * that decide an index or a condition stay unchanged. */
    pthread_mutex_t lock;
    double **single, **moved;
    struct form_error *forms;            /* made under the lock, at the first request */
};

/* The error bounds of all programs that chose `algorithms` (program_print_algorithms), per tensor
 * of the base graph; NULL for all but outputs. */
struct form_error { struct form_error *next; char *algorithms; double **error; };

/* Stores in *out the error bounds for p, which depend on the arithmetic of its algorithms. */
bool oracle_error(const struct oracle *o, const struct program *p, const struct cancel *c,
                  double *const **out, struct err *e);

/* Evaluates the outputs on the data of the oracle: in float64, in the type of the tensors, or in
 * float64 on inputs changed by a roundoff. *error gets the error bounds; `error` must be NULL
 * except for ORACLE_EXACT. The caller frees *out and *error with oracle_free_tensors. */
enum oracle_how { ORACLE_EXACT, ORACLE_SINGLE, ORACLE_MOVED, ORACLE_MOVED_AGAIN };
bool oracle_evaluate(const struct oracle *o, const struct graph *g, enum oracle_how how,
                     const struct cancel *c, double ***out, double ***error, struct err *e);
void oracle_free_tensors(double **of, int n);            /* NULL is allowed */
#endif
