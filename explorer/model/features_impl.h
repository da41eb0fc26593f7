/* Shared by the files that make features: the statements of a function with the loops around them,
 * and what they touch. */
#ifndef TS_EXPLORER_MODEL_FEATURES_IMPL_H
#define TS_EXPLORER_MODEL_FEATURES_IMPL_H
#include "explorer/model/features.h"
#include "kernels/base/vec.h"

#define LINE_BYTES 64

/* Values of an index expression, both ends included. */
struct span { int64_t lo, hi; };

/* A loop of the tree, each once. */
struct level {
    const struct tree *loop;
    double trips;                         /* mean over the outer loops; literal: the most */
    int depth;                            /* among the loops with more than one iteration */
    int site, end;                        /* the statements inside: site <= s < end */
    double bytes, once;                   /* touched by the whole loop; Sum of element sizes */
};

/* Each operation per execution of a statement; see feature_ops.c. */
enum op_class { OP_MAD, OP_ADDSUB, OP_MUL, OP_DIVMOD, OP_CMP, OP_MATH, OP_OTHER, OP_CLASSES };
struct op_counts { int real[OP_CLASSES], integer[OP_CLASSES], bools, selects; };

/* All accesses of one statement to one buffer. */
struct access {
    int buffer;
    int bytes;                            /* of an element */
    bool reads, writes;
    int n;
    const struct expr *const **idx;       /* of each access */
    double *touched;                      /* elements, by all iterations of loops d and inside */
    int64_t *box;                         /* touched by all loops, per dim */
};

struct site {
    const struct tree *store;
    int n_loops, n_all;
    const int *loop;                      /* levels with more than one iteration, outermost first */
    const int *all;                       /* and all levels */
    double prod, work;                    /* executions; and times what one computes */
    double total;                         /* executions of all pieces of its group */
    double alloc_prod;                    /* executions of the scope of its buffer; 0 = none */
    struct op_counts ops;
    int group;                            /* the first statement of which this is a piece */
    int n_accesses;
    struct access *access;                /* the store's buffer first */
};

struct nest {
    struct arena *a;
    const struct func *f;
    bool literal;
    VEC(struct level) level;
    VEC(struct site) site;
    /* Per variable of the pool: its values in the region at hand, and one of them. */
    struct span *span;
    int64_t *value;
    int *seen, mark;                      /* per group: the last search that met it */
};

/* The values that e takes where every variable is in its span; never wider than e's own bounds. */
struct span span_of(const struct nest *n, const struct expr *e);
/* Sets the span of the loop's variable from those of the loops outside. */
void span_bind(struct nest *n, const struct tree *loop);
/* Mean trips of a loop inside the given levels, whose spans are set; literal: the most. */
double mean_trips(struct nest *n, const struct tree *loop, const int *outer, int n_outer);

void count_ops(const struct nest *n, const struct tree *store, struct op_counts *out);
double ops_of(const struct op_counts *c); /* float operations; a mad is two */

/* Gives every statement its group and total: borders make copies that differ in bounds
 * and guards. */
void group_pieces(struct nest *n);

/* Fills s->access, but for what is touched. */
void find_accesses(struct nest *n, struct site *s);
void find_touched(struct nest *n, struct site *s);
/* After find_touched of all sites: bytes and once of every level. */
void find_level_bytes(struct nest *n);

struct buffer_columns { double lines, bytes; float x[FEATURES_PER_BUFFER]; };
/* The 18 columns of an access, not log-scaled, and what they are sorted by. */
void buffer_columns(struct nest *n, const struct site *s, const struct access *x,
                    struct buffer_columns *out);
#endif
