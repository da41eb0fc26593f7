#include "explorer/model/xgb.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xgboost/c_api.h>

#include "kernels/base/arena.h"

#define LIBRARY "libxgboost.so.0"
#define PACKAGE "libxgboost0"
#define BEST_LIMIT 0                      /* use all trees */

#define FUNCTIONS(X) \
    X(XGBGetLastError) X(XGBSetGlobalConfig) X(XGDMatrixCreateFromMat) X(XGDMatrixFree) \
    X(XGBoosterCreate) X(XGBoosterFree) X(XGBoosterSetParam) X(XGBoosterBoostOneIter) \
    X(XGBoosterPredict) X(XGBoosterPredictFromDense)

static struct {
#define MEMBER(name) __typeof__(&name) name;
    FUNCTIONS(MEMBER)
#undef MEMBER
} api;

struct xgb { BoosterHandle handle; };

/* --- Loading --------------------------------------------------------------------------------- */

static char refusal[256];

static void load(void)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(refusal, sizeof refusal, "XGBoost is missing: %.150s", dlerror());
        return;
    }
#define FIND(name) \
    { \
        void *symbol = dlsym(library, #name); \
        memcpy(&api.name, &symbol, sizeof symbol); \
        if (!symbol) \
            snprintf(refusal, sizeof refusal, "%s lacks %s", LIBRARY, #name); \
    }
    FUNCTIONS(FIND)
#undef FIND
}

bool xgb_available(struct err *e)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (!refusal[0])
        return true;
    err_set(e, ERR_ENV, "no cost model: %s", refusal);
    return err_fix(e, "install the Debian package %s", PACKAGE);
}

/* Sets the error from the library: its first line, without the call stack. */
static bool refuse(struct err *e, const char *doing)
{
    const char *text = api.XGBGetLastError();
    const char *end = text + strcspn(text, "\n"), *line = text;
    for (const char *p = text; p < end; p++)             /* "[10:42:01] file.cc:7: [..] text" */
        line = *p == ']' ? p + 1 : line;
    line += *line == ' ';
    return err_set(e, ERR_ENV, "XGBoost cannot %s: %.*s", doing, (int)(end - line), line);
}

/* Loads XGBoost if needed, and turns off the warnings that it prints, for the calling thread. */
static bool enter(struct err *e)
{
    if (!xgb_available(e))
        return false;
    return api.XGBSetGlobalConfig("{\"verbosity\": 0}") == 0 || refuse(e, "start");
}

/* --- Training -------------------------------------------------------------------------------- */

void xgb_free(struct xgb *b)
{
    if (!b)
        return;
    api.XGBoosterFree(b->handle);
    free(b);
}

static bool new_booster(DMatrixHandle *matrix, const struct xgb_param *params, struct xgb **out,
                        struct err *e)
{
    BoosterHandle handle;
    if (api.XGBoosterCreate(matrix, 1, &handle) != 0)
        return refuse(e, "start");
    bool ok = api.XGBoosterSetParam(handle, "nthread", "1") == 0;
    for (; params->name; params++)
        ok = ok && api.XGBoosterSetParam(handle, params->name, params->value) == 0;
    if (!ok) {
        refuse(e, "take its parameters");
        api.XGBoosterFree(handle);
        return false;
    }
    *out = xcalloc(1, sizeof **out);
    (*out)->handle = handle;
    return true;
}

/* Trains one tree.  Sets *more to false when the objective asks to stop. */
static bool train_round(struct xgb *b, DMatrixHandle matrix, int rows,
                        const struct xgb_objective *o, float *derivative, bool *more,
                        struct err *e)
{
    bst_ulong n;
    const float *predicted;
    if (api.XGBoosterPredict(b->handle, matrix, 1, BEST_LIMIT, 1, &n, &predicted) != 0)
        return refuse(e, "predict");
    *more = o->gradient(o->ctx, predicted, derivative, derivative + rows);
    if (*more && api.XGBoosterBoostOneIter(b->handle, matrix, derivative, derivative + rows,
                                           (bst_ulong)rows) != 0)
        return refuse(e, "train");
    return true;
}

bool xgb_train(const float *x, int rows, int columns, const struct xgb_param *params, int rounds,
               const struct xgb_objective *o, const struct cancel *c, struct xgb **out,
               struct err *e)
{
    DMatrixHandle matrix;
    struct xgb *b = NULL;
    bool more = true;
    if (!enter(e))
        return false;
    if (api.XGDMatrixCreateFromMat(x, (bst_ulong)rows, (bst_ulong)columns, -1e30f, &matrix) != 0)
        return refuse(e, "take the samples");
    float *derivative = xcalloc(2 * (size_t)rows, sizeof *derivative);
    bool ok = new_booster(&matrix, params, &b, e);
    for (int i = 0; i < rounds && ok && more; i++)
        ok = cancelled(c) ? err_set(e, ERR_CANCEL, "training was cancelled")
                          : train_round(b, matrix, rows, o, derivative, &more, e);
    free(derivative);
    api.XGDMatrixFree(matrix);
    if (ok)
        *out = b;
    else
        xgb_free(b);
    return ok;
}

bool xgb_predict(const struct xgb *b, const float *x, int rows, int columns, float *out,
                 struct err *e)
{
    char values[160];
    const bst_ulong *shape;
    bst_ulong dims;
    const float *predicted;
    if (!enter(e))
        return false;
    snprintf(values, sizeof values,
             "{\"data\": [%llu, true], \"shape\": [%d, %d], \"typestr\": \"<f4\", \"version\": 3}",
             (unsigned long long)(uintptr_t)x, rows, columns);
    if (api.XGBoosterPredictFromDense(b->handle, values,
                                      "{\"type\": 1, \"training\": false, \"iteration_begin\": 0, "
                                      "\"iteration_end\": 0, \"strict_shape\": false, "
                                      "\"cache_id\": 0, \"missing\": -1e30}",
                                      NULL, &shape, &dims, &predicted) != 0)
        return refuse(e, "predict");
    memcpy(out, predicted, (size_t)rows * sizeof *out);
    return true;
}
