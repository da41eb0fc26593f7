/* Shared by the files that compute features: the statements of a function with the loops around
 * them, and the memory that they touch. */
#ifndef TS_EXPLORER_MODEL_FEATURES_IMPL_H
#define TS_EXPLORER_MODEL_FEATURES_IMPL_H
#include <math.h>

#include "explorer/model/features.h"
#include "kernels/base/vec.h"

#define LINE_BYTES 64

/* Values of an index expression, both ends included. */
struct span { int64_t lo, hi; };

/* A loop of the tree. */
struct feature_level {
    const struct tree *loop;
    double trips;  /* mean trip count over the outer loops; literal: the largest */
    int depth;                            /* number of outer loops with more than one iteration */
    int site, end;                        /* the statements inside: site <= s < end */
    /* bytes: touched by the whole loop; once: the sum of the sizes of one element of each buffer */
    double bytes, once;
};

/* Operations per execution of a statement; see feature_ops.c. */
enum op_class { OP_MAD, OP_ADDSUB, OP_MUL, OP_DIVMOD, OP_CMP, OP_MATH, OP_OTHER, OP_CLASSES };
struct op_counts { int real[OP_CLASSES], integer[OP_CLASSES], bools, selects; };

/* All accesses of one statement to one buffer. */
struct feature_access {
    int buffer;
    int bytes;                            /* bytes of an element */
    bool reads, writes;
    int n;
    const struct expr *const **idx;       /* indices of each access */
    double *touched;  /* elements touched by all iterations of loop d and the loops inside it */
    int64_t *box;                         /* extent touched by all loops, per dim */
};

struct feature_site {
    const struct tree *store;
    int n_loops, n_all;
    const int *loop;                      /* levels with more than one iteration, outermost first */
    const int *all;                       /* all levels, outermost first */
    double prod, work;                    /* prod: executions; work: executions times operations */
    double total;                         /* executions of all pieces of the same statement */
    double alloc_prod;  /* executions of the scope of its buffer; 0: the buffer is not local */
    struct op_counts ops;
    int group;  /* index of the first of the pieces that one statement was cut into */
    int n_accesses;
    struct feature_access *access;                /* the accesses; the first is the store's */
};

struct nest {
    struct arena *a;
    const struct func *f;
    bool literal;
    VEC(struct feature_level) level;
    VEC(struct feature_site) site;
    /* Per variable of the pool: the interval of its values in the current region, and a sample
     * value. */
    struct span *span;
    int64_t *value;
    /* mark: number of the present search; seen[group]: the last search that met the group */
    int *seen, mark;
};

/* Returns the interval of e when every variable is in its own interval; never wider than e's
 * bounds. */
struct span span_of(const struct nest *n, const struct expr *e);
/* Sets the span of the variable of a loop from the spans of the outer loops' variables. */
void span_bind(struct nest *n, const struct tree *loop);
/* Returns the mean trip count of a loop inside the given levels, whose spans are set; literal:
 * the largest. */
double feature_mean_trips(struct nest *n, const struct tree *loop, const int *outer, int n_outer);

void feature_count_ops(const struct nest *n, const struct tree *store, struct op_counts *out);
double feature_ops_of(const struct op_counts *c); /* float operations; a mad is two */

/* Sets group and total of every statement.  Borders make copies of a statement that differ only
 * in bounds and guards. */
void feature_group_pieces(struct nest *n);

/* Fills s->access, except for `touched` and `box`. */
void feature_accesses(struct nest *n, struct feature_site *s);
void feature_touched(struct nest *n, struct feature_site *s);
/* Computes bytes and once of every level, after feature_touched of all sites. */
void feature_level_bytes(struct nest *n);

/* Returns sgn(x) * log2(|x| + 1). */
static inline float feature_scale(double x)
{
    return (float)(x < 0 ? -log2(1 - x) : log2(x + 1));
}

/* Fills the columns of the code; see feature_work.c. */
void feature_work_columns(const struct func *f, const struct feature_opts *o, float *row);

struct buffer_columns { double lines, bytes; float x[FEATURES_PER_BUFFER]; };
/* Computes the 18 columns of an access, not log-scaled, and the values by which buffers are
 * sorted. */
void feature_buffer_columns(struct nest *n, const struct feature_site *s,
                            const struct feature_access *x, struct buffer_columns *out);
#endif
