/* An estimate of the vector registers that the local tiles of a nest need.  It agrees with gcc for
 * the tiles of products and convolutions (tests/unit/test_spill.c counts the compiled code). */
#ifndef TS_GEN_TILE_REGISTERS_H
#define TS_GEN_TILE_REGISTERS_H
#include "kernels/base/str.h"
#include "kernels/gen/target.h"

/* Returns the registers that hold the tile `buffer`, which a SCOPE of f declares, on target t.
 * 0: the loops over the tile are not all unrolled or in lanes, so it stays in memory anyway. */
int64_t tile_registers(const struct func *f, int buffer, const struct target *t);
/* A tile for which t has too few registers.  operands: what else is live in its loop, registers for
 * loaded and broadcast values; 0: the tile alone is too large. */
struct tile_spill { int tile; int64_t registers, operands; };
/* Whether the compiler must spill a tile.  A tile that may fit is judged by the generated code. */
bool tile_that_spills(const struct func *f, const struct target *t, struct tile_spill *out);
/* Returns the name of that tile and adds "spills: takes 32 of 16 vector registers" to *out; NULL:
 * no tile spills. */
const char *tile_spill_note(const struct func *f, const struct target *t, struct str *out);
/* Returns the name of a tile that lies in registers in `than`, but not in f; NULL: none does. */
const char *tile_that_leaves(const struct func *f, const struct func *than,
                             const struct target *t);
#endif
