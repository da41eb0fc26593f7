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
    int depth;  /* number of outer loops with more than one iteration; -1: this loop has only one */
    int site, end;                        /* the statements inside: nest.site[s], site <= s < end */
    /* bytes: bytes that the whole loop touches; once: sum of the element sizes of its buffers */
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
    const struct expr *const **idx;  /* the different lists of indices of the accesses, n of them */
    /* touched[d]: elements that all iterations of loop d touch; touched[n_loops]: one execution */
    double *touched;
    int64_t *box;                         /* per dim: the extent that all loops touch */
};

struct feature_site {
    const struct tree *store;
    int n_loops, n_all;
    const int *loop;                      /* levels with more than one iteration, outermost first */
    const int *all;                       /* all levels, outermost first */
    double prod, work;  /* prod: executions; work: prod times (operations + buffers accessed) */
    double total;                         /* executions of all pieces of the same statement */
    double alloc_prod;  /* executions of the scope that allocates the buffer; 0: it is not local */
    struct op_counts ops;
    /* index of the first piece, if a statement was cut into pieces; else its own index */
    int group;
    int n_accesses;
    struct feature_access *access;  /* the first one is to the buffer that is stored */
};

struct nest {
    struct arena *a;
    const struct func *f;
    bool literal;
    VEC(struct feature_level) level;
    VEC(struct feature_site) site;
    /* Per variable of the pool: the interval of its values in the region that is computed now, and
     * a value at which expressions are evaluated. */
    struct span *span;
    int64_t *value;
    /* mark: number of the present search; seen[group]: the last search that met the group */
    int *seen, mark;
};

/* Returns the interval of the values of e while every variable is in its interval (n->span).  It is
 * never wider than the bounds of e itself. */
struct span span_of(const struct nest *n, const struct expr *e);
/* Sets the span of the variable of a loop from the spans of the outer loops' variables. */
void span_bind(struct nest *n, const struct tree *loop);
/* Returns the mean trip count of a loop inside the given levels, whose spans are set; literal:
 * the largest. */
double feature_mean_trips(struct nest *n, const struct tree *loop, const int *outer, int n_outer);

void feature_count_ops(const struct nest *n, const struct tree *store, struct op_counts *out);
double feature_ops_of(const struct op_counts *c); /* float operations; a mad is two */

/* Sets group and total of every statement.  Where a loop is cut at borders, its pieces contain
 * copies of a statement that differ only in bounds and guards. */
void feature_group_pieces(struct nest *n);

/* Fills s->access, except for bytes, touched and box, which feature_touched sets. */
void feature_accesses(struct nest *n, struct feature_site *s);
void feature_touched(struct nest *n, struct feature_site *s);
/* Computes bytes and once of every level.  Call this after feature_touched of all sites. */
void feature_level_bytes(struct nest *n);

/* Returns sgn(x) * log2(|x| + 1). */
static inline float feature_scale(double x)
{
    return (float)(x < 0 ? -log2(1 - x) : log2(x + 1));
}

/* Fills the columns of the code; see feature_work.c. */
void feature_work_columns(const struct func *f, const struct feature_opts *o, float *row);

struct buffer_columns { double lines, bytes; float x[FEATURES_PER_BUFFER]; };
/* Computes the 18 columns of an access, not log-scaled, and the lines and bytes by which buffers
 * are sorted. */
void feature_buffer_columns(struct nest *n, const struct feature_site *s,
                            const struct feature_access *x, struct buffer_columns *out);
#endif
