/* Formulas of event sets: names, numbers, + - * / and parentheses. */
#ifndef TS_PROFILE_FORMULA_H
#define TS_PROFILE_FORMULA_H
#include "kernels/base/err.h"
#include <stddef.h>

enum formula_value {
    FORMULA_VALUE,                       /* here it is */
    FORMULA_ABSENT,                      /* nothing was counted, or a division by zero */
    FORMULA_WRONG                        /* malformed, or a name that does not exist */
};

/* What a name of n bytes stands for. */
typedef enum formula_value formula_lookup(void *ctx, const char *name, size_t n, double *value);

/* Evaluates text.  ABSENT as soon as a part of it is absent, and when the result is not finite.
 * WRONG fills *e, with the column (err_at). */
enum formula_value formula_eval(const char *text, formula_lookup *lookup, void *ctx,
                                double *value, struct err *e);
#endif
