/* What the parts of vendor_match share.  Private to profile/vendor/match*.c. */
#ifndef TS_PROFILE_MATCH_IMPL_H
#define TS_PROFILE_MATCH_IMPL_H
#include "profile/vendor/vendor.h"

#define MATCH_MAX_NODES 24

struct match {
    const struct graph *g;
    struct vendor_problem *p;
    unsigned used;                        /* bit i: node i is part of the problem */
    struct err *why;                      /* of the last refusal */
};

/* What a node's body reads, from left to right. */
#define MATCH_MAX_LOADS 16
struct loads { int n; const struct val *at[MATCH_MAX_LOADS]; };
struct loads match_loads(const struct node *n);

/* Adds tensor t of the graph, plain, in its own shape.  NULL: it is computed by the graph, or there
 * are too many. */
struct vendor_tensor *match_tensor(struct match *m, enum vendor_role role, int t);
/* The same as an operand of a function of tensors like `shape`: 1 where it is repeated. */
struct vendor_tensor *match_operand(struct match *m, enum vendor_role role, const struct node *n,
                                    const struct val *load);
/* Row-major strides of a shape. */
void match_plain(struct vendor_tensor *t, int rank, const int64_t *shape);
/* Appends to p->text. */
void match_say(struct match *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Node i and those before it that belong to the same operator.  The result is not added yet: its
 * shape is in *out.  False with m->why. */
typedef bool match_head(struct match *m, int node, struct vendor_tensor *out);
match_head match_window, match_matmul, match_norm, match_softmax, match_reduce, match_move;
#endif
