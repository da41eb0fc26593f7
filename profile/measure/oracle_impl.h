/* The data and references of one operator and seed: oracle.c makes them, oracle_judge.c compares
 * with them. */
#ifndef TS_PROFILE_ORACLE_IMPL_H
#define TS_PROFILE_ORACLE_IMPL_H
#include "profile/measure/oracle.h"

#include <pthread.h>

struct oracle {
    char *spec;
    const struct elem_type *type;
    uint64_t seed;
    int n_tensors;
    void **given;                         /* inputs and constants, elements of the type */
    /* Per tensor of the base graph; NULL but for outputs. */
    double **data, **error;               /* reference_eval, reference_error */
    double *rms;                          /* of what the type can hold */
    int64_t bytes;
    int users;                            /* the list of those that are kept is one */
    /* Made when an output is off, under the lock: the type's own result, and how far two changes of
     * the inputs by a rounding move the reference; NULL = not yet. */
    pthread_mutex_t lock;
    double **single, **moved;
};

/* The outputs on the oracle's data: exact, as the type computes them, on moved inputs.  *error, if
 * wanted: of EXACT. */
enum oracle_how { ORACLE_EXACT, ORACLE_SINGLE, ORACLE_MOVED, ORACLE_MOVED_AGAIN };
bool oracle_evaluate(const struct oracle *o, const struct graph *g, enum oracle_how how,
                     const struct cancel *c, double ***out, double ***error, struct err *e);
void oracle_free_tensors(double **of, int n);            /* NULL is fine */
#endif
