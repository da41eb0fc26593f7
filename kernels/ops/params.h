/* Parameters that families share: rows of their tables by name, canonical forms, and what may
 * follow the main node.  Only kernels/ops includes this. */
#ifndef TS_OPS_PARAMS_H
#define TS_OPS_PARAMS_H
#include "kernels/ops/build.h"

#define MAX_SIZE (1 << 20)
#define MAX_STEP 4096                     /* strides, dilations, paddings */

/* A value that was given, or has a default. */
static inline bool param_is_set(int64_t v)
{
    return v != OP_REQUIRED && v != OP_UNSET;
}

/* The row called name; -1: the family has none. */
int param_row(const struct op_family *f, const char *name);
/* Its value; `otherwise` when there is no such row, or it is not set. */
int64_t param_value(const struct op_family *f, const int64_t *v, const char *name,
                    int64_t otherwise);

/* One common parameter and its parts, by row.  Canonical: the common one when the parts are equal,
 * else the parts that are not at the default; `apart` says that parts of parts differ. */
struct param_group { int all, n; const int *part; bool apart; };
bool param_collapse(const struct op_family *f, int64_t *v, const struct param_group *group,
                    struct err *e);
/* ERR_SYNTAX: row `part` was given beside row `all`. */
bool param_clash(const struct op_family *f, const int64_t *v, int part, int all, struct err *e);

#define ROW_SIZE(name, text) { name, OP_REQUIRED, 1, MAX_SIZE, text, NULL }
#define ROW_PART_OF(name, text) { name, OP_UNSET, 1, MAX_SIZE, text, NULL }
/* A tensor Inp with dims N C H W X, the last ones only if they are given: rows (h: OP_UNSET or
 * OP_REQUIRED), data_params, canonical form, the tensor. */
#define ROWS_DIMS(h) \
    { "n", OP_UNSET, 1, MAX_SIZE, "batch, 1 unless given", NULL }, \
    ROW_SIZE("c", "channels"), { "h", h, 1, MAX_SIZE, "rows", NULL }, \
    ROW_PART_OF("w", "columns"), ROW_PART_OF("x", "a fifth dimension")
extern const char *const dims_params[];
bool dims_canonical(const struct op_family *f, int64_t *v, struct err *e);
int dims_input(struct graph *g, const struct op_family *f, const int64_t *v);
/* The same with dims M N K L, for what works on the last of them. */
#define ROWS_LINES \
    ROW_SIZE("m", "rows"), ROW_SIZE("n", "columns"), ROW_PART_OF("k", "a third dimension"), \
    ROW_PART_OF("l", "a fourth dimension")
extern const char *const lines_params[];
bool lines_canonical(const struct op_family *f, int64_t *v, struct err *e);
int lines_input(struct graph *g, const struct op_family *f, const int64_t *v);
/* Rows of every family that ends with a bias and an activation. */
#define ROW_BIAS(what) { "bias", 0, 0, 1, what, NULL }
#define ROW_RELU { "relu", 0, 0, 1, "1: finish with max(x, 0); the same as act=relu", NULL }
#define ROW_ACT { "act", ACT_NONE, 0, ACT_COUNT - 1, "finish with this function", act_words }
/* act=relu is relu=1. */
bool finish_canonical(const struct op_family *f, int64_t *v, struct err *e);
/* The bias and the function that are wanted after tensor x; the last tensor becomes the graph's
 * output. */
void finish_with(struct graph *g, int x, int channel_dim, const struct op_family *f,
                 const int64_t *v);
#endif
