/* Layouts from text, and their maps at points: shared by the layout tests. */
#ifndef TS_TESTS_LAYOUT_UTIL_H
#define TS_TESTS_LAYOUT_UTIL_H
#include "kernels/layout/layout.h"

/* "Inp N=1 I=3 H=230 W=230" */
const struct tensor *tensor_from(struct arena *a, const char *text);
/* "split O 4 16; reorder N O.0 H W O.1": what prim_print writes, applied to l one by one. */
bool apply_text(struct exprs *p, const struct layout *l, const char *text,
                const struct layout **out, struct err *e);
/* One primitive of such a text, against the dims of l. */
struct prim prim_from(const struct layout *l, const char *text);
/* The same from the identity of "Inp N=1 ..."; a failure ends the test. */
const struct layout *layout_of(struct exprs *p, const char *tensor, const char *text);
/* The layout of a notation; a failure ends the test. */
const struct layout *layout_noted(struct exprs *p, const char *tensor, const char *notation);

/* The arguments that make layout_of return l: "Inp N=1 I=3", "split I 3 1", with their quotes. */
void layout_text(struct str *out, const struct layout *l);

/* rho at idx: physical indices; returns the flat offset. */
int64_t rho_at(struct exprs *p, const struct layout *l, const int64_t *idx, int64_t *out);
/* phi at a physical point: false for padding. */
bool phi_at(struct exprs *p, const struct layout *l, const int64_t *point, int64_t *out);
/* The next point of a box in row-major order; false after the last one. */
bool step_point(int64_t *point, const int64_t *shape, int rank);
void assert_shape(const struct layout *l, const char *shape);    /* "1x28x7x4x4x16x16" */
void assert_dims(const struct layout *l, const char *dims);      /* "N O.0 H W O.1" */
#endif
