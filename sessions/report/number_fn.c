#include "sessions/report/number_fn.h"

#include <math.h>

const char *const number_fn_name[FN_COUNT] = { "min", "max", "mean", "geomean", "floor", "ceil",
                                               "log", "abs" };

double number_fn(enum number_fn f, const double *x, int n)
{
    double result = f == FN_GEOMEAN || f == FN_MEAN ? 0 : x[0];
    for (int i = 0; i < n; i++)
        result = f == FN_MIN ? fmin(result, x[i]) : f == FN_MAX ? fmax(result, x[i])
               : f == FN_MEAN ? result + x[i] / n : f == FN_GEOMEAN ? result + log(x[i]) / n
               : result;
    switch (f) {
    case FN_GEOMEAN: return exp(result);
    case FN_FLOOR: return floor(result);
    case FN_CEIL: return ceil(result);
    case FN_LOG: return log(result);
    case FN_ABS: return fabs(result);
    case FN_MIN: case FN_MAX: case FN_MEAN: case FN_COUNT: break;
    }
    return result;
}
