/* An estimate of the vector registers that the local tiles of a nest need. */
#ifndef TS_GEN_TILE_REGISTERS_H
#define TS_GEN_TILE_REGISTERS_H
#include "kernels/base/str.h"
#include "kernels/gen/target.h"

/* Returns the registers that hold the tile `buffer`, which a SCOPE of f declares, on target t.
 * 0: the loops over the tile are not all unrolled or in lanes, so it stays in memory anyway. */
int64_t tile_registers(const struct func *f, int buffer, const struct target *t);
/* Returns the first tile that needs more registers than t has beside two operands, so that the
 * compiler must spill; -1: none.  *needs: its registers. */
int tile_that_spills(const struct func *f, const struct target *t, int64_t *needs);
/* Returns the name of that tile and adds "spills: takes 32 of 16 vector registers" to *out; NULL:
 * no tile spills. */
const char *tile_spill_note(const struct func *f, const struct target *t, struct str *out);
#endif
