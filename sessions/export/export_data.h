/* The data functions of an exported file: plain index loops that copy tensors between their logical
 * form and the kernel's layout, whose elements have type ELEM. */
#ifndef TS_SESSIONS_EXPORT_DATA_H
#define TS_SESSIONS_EXPORT_DATA_H
#include "kernels/layout/layout.h"

/* Each function adds to *helpers a bit for each helper that its index expressions call. */
/* Adds "static void pack_Inp(const double *logical, ELEM *stored) {...}"; padding becomes 0. */
void export_pack(struct str *out, struct exprs *p, const struct layout *l, unsigned *helpers);
/* Adds "static void place_Bias(const double *logical, ELEM *stored) {...}" for a tensor under
 * store_at. It writes into the buffer of the enclosing tensor. */
void export_place(struct str *out, struct exprs *p, const struct layout *l, unsigned *helpers);
/* Adds "static void unpack_Conv(const ELEM *stored, double *logical) {...}". */
void export_unpack(struct str *out, struct exprs *p, const struct layout *l, unsigned *helpers);
/* Adds "static const double values_Eps[1] = {1e-12};" with n float32 values: one per element, or
 * one value for all. */
void export_values(struct str *out, const char *name, const f32 *data, int64_t n);
/* Adds the helper functions whose bits are set. */
void export_index_helpers(struct str *out, unsigned helpers);
#endif
