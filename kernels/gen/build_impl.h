/* The state of the first pass, which build.c (loops) and build_store.c (statements) share. */
#ifndef TS_GEN_BUILD_IMPL_H
#define TS_GEN_BUILD_IMPL_H
#include "kernels/gen/gen_impl.h"

#define N_SITES 256

struct site_key {
    const struct expr *const *idx;
    int buffer, id;
    bool is_store;
    struct site_key *next;
};

/* One side of a select. other: false for the side where cond is 1, true where cond is 0. */
struct select_side { const struct expr *cond; bool other; };

struct unit_build {
    struct unit *u;
    struct env *env;
    struct err *e;
    bool failed;
    bool in_bound;                        /* whether a FOR around this place is a bound loop */
    int n_statements;                     /* statements of the outermost open unrolled loop */
    VEC(const struct tree *) open;        /* enclosing unrolled and vector loops */
    VEC(struct code *) picks;             /* PICKs that this statement needs before it, in order */
    VEC(struct code *) had;  /* PICKs that earlier statements have added to the block had_in */
    const struct block *had_in;
    int n_picks;                          /* number of PICKs so far, for their names */
    VEC(struct select_side) sides;        /* the selects around the term that is being built */
    struct site_key *sites[N_SITES];
    const struct tree *statement;         /* the store that is being built */
    const struct expr *lane;              /* variable of the loop bound to thread.x, or NULL */
};

/* build_store.c */
/* Returns the site of an access; adds it to the unit when it is new. */
int build_site(struct unit_build *b, int buffer, int rank, const struct expr *const *idx,
               bool is_store);
/* Appends the store t.  If one statement cannot do all lanes, halves the lanes until one statement
 * can do each part.  If the store reads or writes a local buffer, cuts it into single lanes
 * instead, because half a register has no name. */
void build_store(struct unit_build *b, const struct tree *t, struct block *out);
#endif
