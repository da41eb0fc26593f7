/* Shared by the files of vendor_match. Private to profile/vendor/match*.c. */
#ifndef TS_PROFILE_MATCH_IMPL_H
#define TS_PROFILE_MATCH_IMPL_H
#include "profile/vendor/vendor.h"

#define MATCH_MAX_NODES 24

struct match {
    const struct graph *g;
    struct vendor_problem *p;
    unsigned used;                        /* bit i: node i is part of the head */
    struct err *why;                      /* reason of the last refusal */
};

/* The loads of the body of a node, from left to right.  n counts all of them; only the first
 * MATCH_MAX_LOADS are in `at`. */
#define MATCH_MAX_LOADS 16
struct loads { int n; const struct val *at[MATCH_MAX_LOADS]; };
struct loads match_loads(const struct node *n);

/* Adds tensor t of the graph to the problem, row-major and in its own shape.  Returns NULL if t is
 * an operand that the graph computes, or if there are too many tensors. */
struct vendor_tensor *match_tensor(struct match *m, enum vendor_role role, int t);
/* Like match_tensor, for an operand of the element-wise node n. The tensor gets the rank of n, with
 * extent 1 in the dimensions in which it is broadcast. */
struct vendor_tensor *match_operand(struct match *m, enum vendor_role role, const struct node *n,
                                    const struct val *load);
/* Sets shape and row-major strides. */
void match_plain(struct vendor_tensor *t, int rank, const int64_t *shape);
/* Appends to the description p->text. */
void match_say(struct match *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Matches a head: the operator that ends at node `node`, with the earlier nodes that belong to the
 * operator.  Stores the shape of the result in *out, but does not add *out to the tensors of the
 * problem.  Returns false if the nodes are no such operator; m->why may then have the reason. */
typedef bool match_head(struct match *m, int node, struct vendor_tensor *out);
match_head match_window, match_matmul, match_norm, match_softmax, match_reduce, match_move;
#endif
