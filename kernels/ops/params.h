/* Parameters that operator families share: rows of their tables, canonical forms, the input, and
 * the bias and function that may follow the main node.  Only kernels/ops includes this. */
#ifndef TS_OPS_PARAMS_H
#define TS_OPS_PARAMS_H
#include "kernels/ops/build.h"

#define MAX_SIZE (1 << 20)
#define MAX_STEP 4096                     /* largest stride, dilation or padding */

/* Whether the parameter was given or has a default. */
static inline bool param_is_set(int64_t v)
{
    return v != OP_REQUIRED && v != OP_UNSET;
}

/* Returns the row called `name`, or -1 when the family has none. */
int param_row(const struct op_family *f, const char *name);
/* Returns the value of row `name`, or `otherwise` when there is no such row or it is not set. */
int64_t param_value(const struct op_family *f, const int64_t *v, const char *name,
                    int64_t otherwise);

/* The rows of a common parameter (`all`: k) and of its parts (kh, kw).  The canonical form has the
 * common parameter when all parts are equal, else the parts that differ from the default. apart:
 * some part has two different sides (ph0, ph1), so the common parameter is not used. */
struct param_group { int all, n; const int *part; bool apart; };
bool param_collapse(const struct op_family *f, int64_t *v, const struct param_group *group,
                    struct err *e);
/* Sets the error (ERR_SYNTAX) that row `part` was given together with row `all`.  Returns false. */
bool param_clash(const struct op_family *f, const int64_t *v, int part, int all, struct err *e);

/* The rows of a family, as members of its struct. */
#define PARAMS(...) \
    .params = (const struct op_param[]){ __VA_ARGS__, ROW_TYPE }, \
    .n_params = COUNT_OF(((const struct op_param[]){ __VA_ARGS__, ROW_TYPE }))
#define ROW_TYPE \
    { "type", 0, 0, TYPE_COUNT - 1, "how elements are stored; f16 and bf16 are summed up in f32", \
      type_words }
#define ROW_SIZE(name, text) { name, OP_REQUIRED, 1, MAX_SIZE, text, NULL }
#define ROW_PART_OF(name, text) { name, OP_UNSET, 1, MAX_SIZE, text, NULL }
/* Rows and data_params for operators on a tensor Inp with dims N C H W X.  The last dims exist only
 * if they are given. h: default of the row h, OP_UNSET or OP_REQUIRED. */
#define ROWS_DIMS(h) \
    { "n", OP_UNSET, 1, MAX_SIZE, "batch, 1 unless given", NULL }, \
    ROW_SIZE("c", "channels"), { "h", h, 1, MAX_SIZE, "rows", NULL }, \
    ROW_PART_OF("w", "columns"), ROW_PART_OF("x", "a fifth dimension")
#define DATA_DIMS { "n", "c", "h", "w", "x" }
/* Rows and data_params for dims M N K L, of operators that work on the last of these dims. */
#define ROWS_LINES \
    ROW_SIZE("m", "rows"), ROW_SIZE("n", "columns"), ROW_PART_OF("k", "a third dimension"), \
    ROW_PART_OF("l", "a fourth dimension")
#define DATA_LINES { "m", "n", "k", "l" }
/* Adds Inp with those dims of data_params that are given; the first two always exist.  Returns the
 * tensor. */
int family_input(struct graph *g, const struct op_family *f, const int64_t *v);
/* Fails with ERR_SYNTAX when a parameter of data_params is given without the one before it. */
bool params_without_gaps(const struct op_family *f, const int64_t *v, struct err *e);
/* Rows of families that end with a bias and an activation. */
#define ROW_BIAS(what) { "bias", 0, 0, 1, what, NULL }
#define ROW_RELU { "relu", 0, 0, 1, "1: finish with max(x, 0); the same as act=relu", NULL }
#define ROW_ACT { "act", ACT_NONE, 0, ACT_COUNT - 1, "finish with this function", act_words }
/* Turns act=relu into relu=1, in families that have both.  Fails with ERR_SYNTAX when relu=1 is
 * given with another act=. */
bool finish_canonical(const struct op_family *f, int64_t *v, struct err *e);
/* Adds the bias to tensor x and applies the function, if the parameters ask for them.  The result
 * becomes the output of the graph. */
void finish_with(struct graph *g, int x, int channel_dim, const struct op_family *f,
                 const int64_t *v);
#endif
