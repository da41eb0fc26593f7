/* An estimate of the vector registers that the local tiles of a nest need.  It agrees with gcc for
 * the tiles of products and convolutions (tests/unit/test_spill.c counts the compiled code). */
#ifndef TS_GEN_TILE_REGISTERS_H
#define TS_GEN_TILE_REGISTERS_H
#include "kernels/base/str.h"
#include "kernels/gen/target.h"

/* Returns the number of registers that hold the tile `buffer`, which a SCOPE of f declares, on
 * target t.  Returns 0 if t is a GPU, if the tile is shared, and if it stays in memory anyway,
 * because it is large or because loops over it are neither unrolled nor in lanes. */
int64_t tile_registers(const struct func *f, int buffer, const struct target *t);
/* A tile for which t has too few registers.  registers: the number that the tile takes.  operands:
 * the number that loaded and broadcast values take in the same loop; 0: the tile alone is too
 * large. */
struct tile_spill { int tile; int64_t registers, operands; };
/* Whether the compiler must spill a tile; if so, stores the tile in *out.  If the estimate does not
 * decide this, generates the code and counts its registers. */
bool tile_that_spills(const struct func *f, const struct target *t, struct tile_spill *out);
/* Returns the name of a tile that spills, and appends "spills: takes 32 of 16 vector registers" to
 * *out. Returns NULL if no tile spills. */
const char *tile_spill_note(const struct func *f, const struct target *t, struct str *out);
/* Returns the name of a tile that fits in registers in the code of `than` and lies in memory in the
 * code of f; NULL: there is none.  A tile of f does not count if some code of f works on a part
 * of it in registers. */
const char *tile_that_leaves(const struct func *f, const struct func *than,
                             const struct target *t);
#endif
