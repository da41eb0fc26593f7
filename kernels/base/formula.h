/* Formulas over names, in --assert, studies, experts and event sets.
 *
 *     or = and { "||" and }        and = not { "&&" not }       not = "!" not | compare
 *     compare = sum [ < <= > >= == != sum ]
 *     sum = term { + - term }      term = unary { * / unary }   unary = - unary | atom
 *     atom = number | "text" | true | false | name | ( or ) | function ( sum { , sum } )
 *     name = word { . word or digits }
 *     function = min | max | mean | geomean (of 1 to 64 numbers) | floor | ceil | log | abs
 *
 * Types are strict: a number is no truth value.  When the left side of && or || decides, the names
 * of the right side are not looked up, so that
 *     !counters.perf.available || counters.perf.cycles < 1e9
 * holds on a machine without counters.  Every error has the column and width of what is wrong. */
#ifndef TS_BASE_FORMULA_H
#define TS_BASE_FORMULA_H
#include <stddef.h>
#include "kernels/base/err.h"

enum formula_type { FORMULA_NUMBER, FORMULA_TRUTH, FORMULA_TEXT };

struct formula_value {
    enum formula_type type;
    double number;
    bool truth;
    const char *text; size_t n;  /* TEXT: n bytes, in the formula or owned by ctx */
    int from, to;                        /* position in the formula, set by the evaluator */
};

/* Sets *out to the value of a name. Returns false with *e, without a position, if the name is
 * unknown. */
typedef bool formula_names(void *ctx, const char *name, struct formula_value *out, struct err *e);

/* Evaluate expr. ERR_SYNTAX: malformed. ERR_TYPE: a value has the wrong type. ERR_RANGE: a division
 * by 0, a result too large, log or geomean of a number not above 0. An error of `names` is passed
 * on. */
bool formula_number(const char *expr, formula_names *names, void *ctx, double *out, struct err *e);
bool formula_truth(const char *expr, formula_names *names, void *ctx, bool *out, struct err *e);
/* Checks only the syntax.  If `names` is not NULL, it is asked whether each name exists. */
bool formula_check(const char *expr, formula_names *names, void *ctx, struct err *e);

/* Whether c is a letter, a digit or _. */
bool formula_name_char(char c);
/* Whether text is a name without dots that begins with a letter. */
bool formula_is_word(const char *text);
#endif
