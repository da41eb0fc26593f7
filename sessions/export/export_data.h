/* The data half of an exported file: functions that move tensors between their logical form and the
 * way the kernel stores them, elements of type ELEM, as plain index loops. */
#ifndef TS_SESSIONS_EXPORT_DATA_H
#define TS_SESSIONS_EXPORT_DATA_H
#include "kernels/layout/layout.h"

/* *helpers gains a bit for each function that the index expressions call. */
/* "static void pack_Inp(const double *logical, ELEM *stored) {...}": padding becomes 0. */
void export_pack(struct str *out, struct exprs *p, const struct layout *l, unsigned *helpers);
/* "static void place_Bias(const double *logical, ELEM *stored) {...}": store_at, into the buffer
 * of the tensor that it is stored inside. */
void export_place(struct str *out, struct exprs *p, const struct layout *l, unsigned *helpers);
/* "static void unpack_Conv(const ELEM *stored, double *logical) {...}" */
void export_unpack(struct str *out, struct exprs *p, const struct layout *l, unsigned *helpers);
/* "static const double values_Eps[1] = {1e-12};": one for all elements, or one each; floats. */
void export_values(struct str *out, const char *name, const f32 *data, int64_t n);
/* These functions. */
void export_index_helpers(struct str *out, unsigned helpers);
#endif
