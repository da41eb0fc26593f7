/* XGBoost 1.7 through its C API.  The library is loaded when it is first used.  If it were linked,
 * the start of tilescope would take 3.1 ms instead of 1.1 and 5.8 MB more memory, and tilescope
 * could not run on a machine without XGBoost.
 *
 * XGBoost always gets one thread: after a process has trained on several threads, a forked child
 * that trains hangs (libgomp). */
#ifndef TS_EXPLORER_MODEL_XGB_H
#define TS_EXPLORER_MODEL_XGB_H
#include "kernels/base/err.h"
#include "kernels/base/subprocess.h"

/* Whether the library can be loaded.  False: ERR_ENV, whose fix names the package to install. */
bool xgb_available(struct err *e);

/* A gradient-boosted ensemble of trees. */
struct xgb;
void xgb_free(struct xgb *b);            /* NULL is allowed */

struct xgb_param { const char *name, *value; };  /* an array of these ends with a NULL name */

/* A callback that is called before each round.  It gets the prediction for each row (0 before the
 * first round), and computes gradient and hessian of each row.  If it returns false, training
 * ends. */
struct xgb_objective {
    void *ctx;
    bool (*gradient)(void *ctx, const float *predicted, float *gradient, float *hessian);
};

/* Trains an ensemble of at most `rounds` trees on x[rows][columns], which must be finite.
 * ERR_CANCEL: it was cancelled.  ERR_ENV: the library is missing or refuses. */
bool xgb_train(const float *x, int rows, int columns, const struct xgb_param *params, int rounds,
               const struct xgb_objective *o, const struct cancel *c, struct xgb **out,
               struct err *e);
/* Stores a prediction for each row of x[rows][columns], which must be finite.  ERR_ENV: the library
 * is missing or refuses. */
bool xgb_predict(const struct xgb *b, const float *x, int rows, int columns, float *out,
                 struct err *e);
#endif
