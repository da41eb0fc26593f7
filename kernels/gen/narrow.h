/* Loads and stores of buffers of a narrow type (type_is_narrow): the code computes with the wider
 * type of its registers, and converts.  Private to gen/. */
#ifndef TS_GEN_NARROW_H
#define TS_GEN_NARROW_H
#include "kernels/gen/emit.h"

/* Returns what the names of helpers for this buffer begin with: "bf16_", or "". */
const char *narrow_prefix(const struct emit *m, int buffer);
/* Appends the typedef and the helpers that m->needs lists for the narrow type of the unit. */
void narrow_helpers(struct emit *m, struct str *out);
#endif
