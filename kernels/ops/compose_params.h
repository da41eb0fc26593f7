/* Parameters of the operators in compose_ops.c: NAME=VALUE words behind a call. */
#ifndef TS_OPS_COMPOSE_PARAMS_H
#define TS_OPS_COMPOSE_PARAMS_H
#include "kernels/ops/build.h"

/* A call in a graph of its own: the arguments are its inputs, params its text "axis=1 eps=1e-5". */
struct call {
    struct graph *g;
    const char *op, *params;
    int n_in, in[64];
    struct err *e;
};

/* Is the word of n bytes among `words`, which blanks separate? */
bool words_have(const char *words, const char *word, size_t n);
/* The first word of params that is none of `names`, or NULL. */
const char *params_unknown(const char *names, const char *params);

/* Every word is one of `names`, once, with a value of the kind that this parameter takes.  Errors
 * have the column and width of the word in c->params. */
bool params_check(const struct call *c, const char *names);

/* The values, when params_check held; `otherwise` where the parameter is not given. */
bool param_given(const struct call *c, const char *name);
double param_float(const struct call *c, const char *name, double otherwise);
int64_t param_int(const struct call *c, const char *name, int64_t otherwise);
/* How many numbers are in the list, at most MAX_RANK; 0: it is not given. */
int param_list(const struct call *c, const char *name, int64_t *out);
#endif
