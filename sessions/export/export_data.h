/* The data functions of an exported file: plain index loops that copy tensors between their logical
 * form (doubles) and the kernel's layout (elements of type ELEM). */
#ifndef TS_SESSIONS_EXPORT_DATA_H
#define TS_SESSIONS_EXPORT_DATA_H
#include "kernels/layout/layout.h"

/* In all functions below, *helpers gets a bit for each helper function that the index expressions
 * call; export_index_helpers adds these functions. */
/* Adds "static void pack_Inp(const double *logical, ELEM *stored) {...}"; it sets padding to 0. */
void export_pack(struct str *out, struct exprs *p, const struct layout *l, unsigned *helpers);
/* Adds "static void place_Bias(const double *logical, ELEM *stored) {...}" for a tensor that
 * store_at has put into the buffer of another one.  The function writes into that buffer. */
void export_place(struct str *out, struct exprs *p, const struct layout *l, unsigned *helpers);
/* Adds "static void unpack_Conv(const ELEM *stored, double *logical) {...}". */
void export_unpack(struct str *out, struct exprs *p, const struct layout *l, unsigned *helpers);
/* Adds "static const double values_Eps[1] = {1e-12};" with n float32 values: one for each element,
 * or one for all elements. */
void export_values(struct str *out, const char *name, const f32 *data, int64_t n);
/* Adds the helper functions whose bits are set in `helpers`. */
void export_index_helpers(struct str *out, unsigned helpers);
#endif
