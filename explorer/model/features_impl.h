/* Shared by the files that compute features: the statements of a function with the loops around
 * them, and the memory that they touch. */
#ifndef TS_EXPLORER_MODEL_FEATURES_IMPL_H
#define TS_EXPLORER_MODEL_FEATURES_IMPL_H
#include <math.h>

#include "explorer/model/features.h"
#include "kernels/base/vec.h"

#define LINE_BYTES 64

/* The interval of the values of an index expression; lo and hi are included. */
struct span { int64_t lo, hi; };

/* A loop of the tree, called a level. */
struct feature_level {
    const struct tree *loop;
    double trips;  /* mean trip count over all iterations of outer loops; if literal, the largest */
    int depth;  /* number of outer loops with more than one iteration; -1: this loop has only one */
    int site, end;                        /* the statements inside: nest.site[s], site <= s < end */
    /* bytes: number of bytes that the whole loop touches.  once: sum of the element sizes of the
     * buffers that it touches. */
    double bytes, once;
};

/* The number of operations of each class in one execution of a statement (feature_ops.c). */
enum op_class { OP_MAD, OP_ADDSUB, OP_MUL, OP_DIVMOD, OP_CMP, OP_MATH, OP_OTHER, OP_CLASSES };
struct op_counts { int real[OP_CLASSES], integer[OP_CLASSES], bools, selects; };

/* All accesses of one statement to one buffer. */
struct feature_access {
    int buffer;
    int bytes;                            /* bytes of an element */
    bool reads, writes;
    int n;                                /* number of accesses with different indices */
    const struct expr *const **idx;       /* per access: its indices, one for each dim */
    /* touched[d]: number of elements that all iterations of loop d touch, while the outer loops do
     * not move.  touched[n_loops]: number of elements that one execution touches. */
    double *touched;
    int64_t *box;                         /* per dim: the extent that all loops together touch */
};

/* A statement. */
struct feature_site {
    const struct tree *store;
    int n_loops, n_all;
    /* the loops around it, outermost first, as indices in nest.level: `loop` has those with more
     * than one iteration, `all` has all */
    const int *loop;
    const int *all;
    /* prod: number of its executions; work: prod * (its operations + number of buffers accessed) */
    double prod, work;
    double total;                         /* number of executions of all pieces of the statement */
    /* number of executions of the scope that allocates the stored buffer; 0: it is not local */
    double alloc_prod;
    struct op_counts ops;
    int group;  /* index in nest.site of the first piece of the statement, perhaps this one */
    int n_accesses;
    struct feature_access *access;  /* the first one is to the buffer that is stored */
};

struct nest {
    struct arena *a;
    const struct func *f;
    bool literal;
    VEC(struct feature_level) level;
    VEC(struct feature_site) site;
    struct span *span;   /* per variable of the pool: the interval of its values; see span_of */
    int64_t *value;      /* per variable of the pool: its value where expressions are evaluated */
    /* for `sharers` in feature_access.c.  mark: number of its call; seen[group]: number of the last
     * call that counted the group */
    int *seen, mark;
};

/* Returns an interval that contains all values of e, if every variable is in its interval n->span.
 * The interval of an operation is never wider than e->lo to e->hi. */
struct span span_of(const struct nest *n, const struct expr *e);
/* Sets n->span of a loop's variable, from the spans of the variables of outer loops. */
void span_bind(struct nest *n, const struct tree *loop);
/* Returns the mean trip count of a loop over all iterations of the levels outer[n_outer] around it.
 * In literal mode, returns the largest trip count.  The spans of all these loops must be set. */
double feature_mean_trips(struct nest *n, const struct tree *loop, const int *outer, int n_outer);

void feature_count_ops(const struct nest *n, const struct tree *store, struct op_counts *out);
double feature_ops_of(const struct op_counts *c);  /* number of float operations; a mad is two */

/* Sets `group` and `total` of every statement.  Where a loop is cut at borders, each piece of the
 * loop has its own copy of a statement; the copies differ only in bounds and guards. */
void feature_group_pieces(struct nest *n);

/* feature_accesses fills s->access, except for the members bytes, touched and box.
 * feature_touched sets these. */
void feature_accesses(struct nest *n, struct feature_site *s);
void feature_touched(struct nest *n, struct feature_site *s);
/* Sets the members bytes and once of every level.  Call feature_touched for all sites before. */
void feature_level_bytes(struct nest *n);

/* Returns sgn(x) * log2(|x| + 1). */
static inline float feature_scale(double x)
{
    return (float)(x < 0 ? -log2(1 - x) : log2(x + 1));
}

/* Fills the columns of the code; see feature_work.c. */
void feature_work_columns(const struct func *f, const struct feature_opts *o, float *row);

struct buffer_columns { double lines, bytes; float x[FEATURES_PER_BUFFER]; };
/* Computes the 18 columns of a buffer that a statement accesses.  They are not log-scaled yet.
 * Also sets lines and bytes, by which the buffers of a row are sorted. */
void feature_buffer_columns(struct nest *n, const struct feature_site *s,
                            const struct feature_access *x, struct buffer_columns *out);
#endif
