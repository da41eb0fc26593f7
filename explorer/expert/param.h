/* Parameters by name, grids of them, and texts with {expressions} over them: what experts and
 * studies are made of. */
#ifndef TS_EXPLORER_PARAM_H
#define TS_EXPLORER_PARAM_H
#include <stdint.h>
#include "kernels/base/arena.h"
#include "kernels/base/formula.h"

struct param_value { const char *name, *value; };        /* a number or a word, as written */
struct param_set { int n; const struct param_value *item; };      /* of one name, the last counts */
struct param_axis { const char *name; int n; const char *const *value; };
struct param_grid { int n; const struct param_axis *axis; };

/* NULL: there is none of that name. */
const char *param_get(const struct param_set *s, const char *name);
/* x, then y; both stay as they are. */
struct param_set param_join(struct arena *a, const struct param_set *x, const struct param_set *y);
/* "a=1, b=2" */
const char *param_text(struct arena *a, const struct param_set *s);
/* Does a value look like a number? */
bool param_is_number(const char *value, double *out);

/* Combinations of a grid: the first axis varies slowest.  No axis: one, that is empty. */
int64_t param_grid_size(const struct param_grid *g);
struct param_set param_grid_at(struct arena *a, const struct param_grid *g, int64_t i);

/* For formulas; ctx is a const struct param_set.  ERR_NAME with the nearest name. */
bool param_names(void *ctx, const char *name, struct formula_value *out, struct err *e);
/* The text with every {...} replaced: a name by its value as written, an expression by its number.
 * Errors have the column in the text. */
bool param_expand(struct arena *a, const char *text, const struct param_set *s, const char **out,
                  struct err *e);
#endif
