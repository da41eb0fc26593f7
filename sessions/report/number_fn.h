/* Functions of numbers in the expressions of --assert and of studies. */
#ifndef TS_SESSIONS_NUMBER_FN_H
#define TS_SESSIONS_NUMBER_FN_H

/* From FN_FLOOR on: of one number. */
enum number_fn { FN_MIN, FN_MAX, FN_MEAN, FN_GEOMEAN, FN_FLOOR, FN_CEIL, FN_LOG, FN_ABS, FN_COUNT };
extern const char *const number_fn_name[FN_COUNT];

/* n >= 1; numbers above 0 for FN_GEOMEAN and FN_LOG. */
double number_fn(enum number_fn f, const double *x, int n);
#endif
