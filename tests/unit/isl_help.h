/* Our expressions and layouts as isl's piecewise affine functions and maps: the independent oracle
 * of test_isl.c.
 *
 * Every question has a budget of isl operations.  When isl gives up, its functions return NULL (or
 * isl_bool_error) and take NULL from then on, so a question is written without looking; whoever
 * asked finds out at the end, from oracle_decided. */
#ifndef TS_TEST_ISL_HELP_H
#define TS_TEST_ISL_HELP_H
#include "kernels/layout/layout.h"
#ifdef TS_ISL                             /* the Makefile found it */
#include <isl/aff.h>
#include <isl/ctx.h>
#include <isl/ilp.h>
#include <isl/map.h>
#include <isl/set.h>

isl_ctx *oracle_new(unsigned long max_operations);
void oracle_free(isl_ctx *ctx);           /* complains when isl objects are left */
void oracle_ask(isl_ctx *ctx);            /* a new question: the whole budget */
/* False when isl gave up on the question.  Any other error of isl fails the test. */
bool oracle_decided(isl_ctx *ctx);

/* A box of integer points: variable i ranges over [lo, hi] of var[i]. */
struct box { isl_ctx *ctx; isl_set *points; int n; const struct expr *const *var; };
struct box box_of(isl_ctx *ctx, const struct expr *const *var, int n);
void box_free(struct box *b);

/* e over the points of b, with isl's own floor, mod, min and max. */
isl_pw_aff *box_aff(const struct box *b, const struct expr *e);
/* The least and the greatest value of a. */
void aff_extremes(isl_pw_aff *a, isl_val **lo, isl_val **hi);
/* Where the condition e is not 0; all of b for NULL. */
isl_set *box_where(const struct box *b, const struct expr *e);
/* The points of b to the values of e[0..n). */
isl_map *box_map(const struct box *b, const struct expr *const *e, int n);

/* rho: the logical box to the physical one. */
struct maps { struct box logical, physical; isl_map *rho, *phi; };
struct maps maps_of(isl_ctx *ctx, const struct layout *l);
void maps_free(struct maps *m);
#endif
#endif
