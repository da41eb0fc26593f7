/* Parameters by name, grids of parameters, and texts with {expressions} over parameters, for
 * experts and studies. */
#ifndef TS_EXPLORER_PARAM_H
#define TS_EXPLORER_PARAM_H
#include <stdint.h>
#include "kernels/base/arena.h"
#include "kernels/base/formula.h"

struct param_value { const char *name, *value; };        /* value: a number or a word, as written */
/* A set of parameters.  If several items have the same name, the last of them counts. */
struct param_set { int n; const struct param_value *item; };
/* A parameter with the n values that it can have, and all combinations of such parameters. */
struct param_axis { const char *name; int n; const char *const *value; };
struct param_grid { int n; const struct param_axis *axis; };

/* Returns the value of a parameter; NULL: no parameter has this name. */
const char *param_get(const struct param_set *s, const char *name);
/* Returns a new set, in arena a: the items of *x, followed by the items of *y. */
struct param_set param_join(struct arena *a, const struct param_set *x, const struct param_set *y);
/* Returns the set as text in arena a: "a=1, b=2". */
const char *param_text(struct arena *a, const struct param_set *s);
/* Whether a value is a finite number.  If it is, sets *out to the number. */
bool param_is_number(const char *value, double *out);

/* Returns the number of combinations of a grid, at most INT64_MAX.  A grid without axes has one
 * combination, which is empty. */
int64_t param_grid_size(const struct param_grid *g);
/* Returns combination i of a grid, in arena a.  The last axis changes fastest. */
struct param_set param_grid_at(struct arena *a, const struct param_grid *g, int64_t i);

/* A formula_names that looks up names in a set; ctx: a const struct param_set.  ERR_NAME: there is
 * no such parameter; the fix names others. */
bool param_names(void *ctx, const char *name, struct formula_value *out, struct err *e);
/* Sets *out to a copy of the text, in arena a, in which every {...} is replaced: a name by its
 * value as written, an expression by its number.  The column of an error is a column of `text`. */
bool param_expand(struct arena *a, const char *text, const struct param_set *s, const char **out,
                  struct err *e);
#endif
