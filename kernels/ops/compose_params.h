/* Parameters of the operators in compose_ops.c: the NAME=VALUE words after a call. */
#ifndef TS_OPS_COMPOSE_PARAMS_H
#define TS_OPS_COMPOSE_PARAMS_H
#include "kernels/ops/build.h"

/* One call, built in a graph of its own. in: the tensors of that graph that stand for the
 * arguments; params: the text of the parameters, like "axis=1 eps=1e-5". */
struct call {
    struct graph *g;
    const char *op, *params;
    int n_in, in[64];
    struct err *e;
};

/* Whether the word of n bytes is in the list `words`, which is separated by blanks. */
bool words_have(const char *words, const char *word, size_t n);
/* Returns the first word of params that is not in `names`, or NULL. */
const char *params_unknown(const char *names, const char *params);

/* Checks that every word of the call is one of `names`, occurs once, and has a value of the right
 * kind.  An error has the column and width of the word in c->params. */
bool params_check(const struct call *c, const char *names);

/* Return the value of a parameter, or `otherwise` when it is not given.  Call them only after
 * params_check has succeeded. */
double param_float(const struct call *c, const char *name, double otherwise);
int64_t param_int(const struct call *c, const char *name, int64_t otherwise);
/* The value is the name of a function.  Returns its index in act_words, or `otherwise`. */
int param_word(const struct call *c, const char *name, int otherwise);
/* Sets out[MAX_RANK] to a list of numbers.  Returns its length; 0 when the parameter is not
 * given. */
int param_list(const struct call *c, const char *name, int64_t *out);
#endif
