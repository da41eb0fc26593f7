/* Shared by the files of the oneDNN plugin (C API of version 2). */
#ifndef TS_PROFILE_ONEDNN_IMPL_H
#define TS_PROFILE_ONEDNN_IMPL_H
#include "profile/vendor/vendor.h"

#include <oneapi/dnnl/dnnl.h>

/* The layout of the data tensors.  ANY: oneDNN chooses it.  AUTO: oneDNN also chooses the
 * algorithm, for example Winograd.  FIRST, LAST: channels first, channels last.  BLOCKED: blocks of
 * 16 channels.  B_TRANSPOSED: the second matrix of a product column by column. */
enum form { FORM_ANY, FORM_AUTO, FORM_FIRST, FORM_LAST, FORM_BLOCKED, FORM_B_TRANSPOSED };

/* A request to the library. pool: compute a reduction as a pool. sum: compute the first
 * post-operation, which adds a tensor, by accumulating into the result.  The tensor is copied into
 * the result only before the run whose result is read. */
struct choice { enum form form; bool pool, sum; };

/* The descriptors that one candidate requests. The library may choose others (onednn_wants). */
struct wish {
    const struct vendor_problem *p;
    struct choice how;
    dnnl_memory_desc_t md[VENDOR_MAX_TENSORS];
    dnnl_engine_t engine;
};

const struct vendor_tensor *onednn_find(const struct vendor_problem *p, enum vendor_role role);
/* Describes the tensor in its row-major buffer. */
dnnl_status_t onednn_plain(const struct vendor_tensor *t, dnnl_memory_desc_t *md);
/* Fills the descriptors w->md for the layout. */
dnnl_status_t onednn_wish(struct wish *w);
/* Makes the descriptor of the operator with its post-operations. An operand of a post-operation
 * gets the layout of the result if it has the shape of the result. */
dnnl_status_t onednn_describe(struct wish *w, dnnl_primitive_desc_t *out);
/* Returns the descriptor that the primitive expects for a tensor; NULL: it expects w->md[tensor].
 * Stores the number of the argument by which the tensor is passed to the primitive. */
const dnnl_memory_desc_t *onednn_wants(const struct wish *w, dnnl_primitive_desc_t pd, int tensor,
                                       int *arg);
/* Prints the name of a layout, "nhwc" or "OIhw16i16o": the dims in the order of their strides,
 * then the blocks. A layout without strides is "winograd" or "opaque". */
void onednn_layout_name(const dnnl_memory_desc_t *md, const char *letters, char *out, size_t n);
/* Returns the letters of the dims of a tensor: "nchw", "goihw", "abc". */
const char *onednn_letters(const struct vendor_problem *p, const struct vendor_tensor *t);
#endif
