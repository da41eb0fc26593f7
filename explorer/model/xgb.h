/* XGBoost 1.7 through its C API, loaded when it is first used.  Linking it would slow the start of
 * tilescope from 1.1 to 3.1 ms and take 5.8 MB more memory; and tilescope could not run on a
 * machine without XGBoost.
 *
 * We always let it use one thread: after training on several threads, a forked child that trains
 * hangs (libgomp). */
#ifndef TS_EXPLORER_MODEL_XGB_H
#define TS_EXPLORER_MODEL_XGB_H
#include "kernels/base/err.h"
#include "kernels/base/subprocess.h"

/* Whether the library can be loaded. ERR_ENV names the package to install. */
bool xgb_available(struct err *e);

/* A gradient-boosted ensemble of trees. */
struct xgb;
void xgb_free(struct xgb *b);            /* NULL is allowed */

struct xgb_param { const char *name, *value; };  /* an array of these ends with a NULL name */

/* A callback before each round.  From the predictions for every row (0 at first), it computes
 * gradient and hessian of each row, or returns false to stop. */
struct xgb_objective {
    void *ctx;
    bool (*gradient)(void *ctx, const float *predicted, float *gradient, float *hessian);
};

/* Trains on rows x columns finite numbers, for at most `rounds` trees. ERR_CANCEL, ERR_ENV. */
bool xgb_train(const float *x, int rows, int columns, const struct xgb_param *params, int rounds,
               const struct xgb_objective *o, const struct cancel *c, struct xgb **out,
               struct err *e);
/* Stores a prediction for each row in out[rows]; all x must be finite.  ERR_ENV. */
bool xgb_predict(const struct xgb *b, const float *x, int rows, int columns, float *out,
                 struct err *e);
#endif
