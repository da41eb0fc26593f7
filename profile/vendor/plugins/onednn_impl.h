/* What the parts of the oneDNN plugin share (C API of version 2). */
#ifndef TS_PROFILE_ONEDNN_IMPL_H
#define TS_PROFILE_ONEDNN_IMPL_H
#include "profile/vendor/vendor.h"

#include <oneapi/dnnl/dnnl.h>

/* Where the data tensors stand.  AUTO is ANY with an algorithm of oneDNN's choice (Winograd). */
enum form { FORM_ANY, FORM_AUTO, FORM_FIRST, FORM_LAST, FORM_BLOCKED, FORM_B_TRANSPOSED };

/* How the library is asked.  pool: a reduction as a pool; sum: the first post adds its operand by
 * accumulating into the result, which holds it beforehand. */
struct choice { enum form form; bool pool, sum; };

/* Descriptors that one candidate asks for; the library answers with its own. */
struct wish {
    const struct vendor_problem *p;
    struct choice how;
    dnnl_memory_desc_t md[VENDOR_MAX_TENSORS];
    dnnl_engine_t engine;
};

const struct vendor_tensor *onednn_find(const struct vendor_problem *p, enum vendor_role role);
/* The tensor as it lies in its row-major buffer. */
dnnl_status_t onednn_plain(const struct vendor_tensor *t, dnnl_memory_desc_t *md);
/* Fills md for the form. */
dnnl_status_t onednn_wish(struct wish *w);
/* The descriptor of the operator with its post-ops, whose operands take the result's layout. */
dnnl_status_t onednn_describe(struct wish *w, dnnl_primitive_desc_t *out);
/* What the primitive takes for this tensor, and its argument number; NULL: as in w->md. */
const dnnl_memory_desc_t *onednn_wants(const struct wish *w, dnnl_primitive_desc_t pd, int tensor,
                                       int *arg);
/* "nhwc", "OIhw16i16o": dims in the order of their strides, then blocks. */
void onednn_layout_name(const dnnl_memory_desc_t *md, const char *letters, char *out, size_t n);
/* Letters of a tensor's dims: "nchw", "goihw", "abc". */
const char *onednn_letters(const struct vendor_problem *p, const struct vendor_tensor *t);
#endif
