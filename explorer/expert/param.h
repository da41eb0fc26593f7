/* Parameters by name, grids of parameters, and texts with {expressions} over parameters, for
 * experts and studies. */
#ifndef TS_EXPLORER_PARAM_H
#define TS_EXPLORER_PARAM_H
#include <stdint.h>
#include "kernels/base/arena.h"
#include "kernels/base/formula.h"

struct param_value { const char *name, *value; };        /* a number or a word, as written */
/* If several items have the same name, the last one counts. */
struct param_set { int n; const struct param_value *item; };
struct param_axis { const char *name; int n; const char *const *value; };
struct param_grid { int n; const struct param_axis *axis; };

/* Returns the value of a parameter; NULL: no parameter has this name. */
const char *param_get(const struct param_set *s, const char *name);
/* Returns a new set, in arena a: the items of *x, followed by the items of *y. */
struct param_set param_join(struct arena *a, const struct param_set *x, const struct param_set *y);
/* Returns the set as text in arena a: "a=1, b=2". */
const char *param_text(struct arena *a, const struct param_set *s);
/* Whether a value is a number; *out is then the number. */
bool param_is_number(const char *value, double *out);

/* Returns the number of combinations of a grid.  A grid without axes has one, the empty one. */
int64_t param_grid_size(const struct param_grid *g);
struct param_set param_grid_at(struct arena *a, const struct param_grid *g, int64_t i);

/* Looks up a name for a formula; ctx is a const struct param_set.  ERR_NAME suggests a name. */
bool param_names(void *ctx, const char *name, struct formula_value *out, struct err *e);
/* Sets *out to the text with every {...} replaced: a name by its value as written, an expression by
 * its number.  Errors name the column in `text`. */
bool param_expand(struct arena *a, const char *text, const struct param_set *s, const char **out,
                  struct err *e);
#endif
