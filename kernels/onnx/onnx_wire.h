/* Unpacks protobuf messages from untrusted files.  The memory for this has a limit that grows with
 * the size of the file: an empty message takes two bytes in the file, but two hundred as a struct.
 *
 * The raw data of tensors are not copied: a field raw_data holds the number of a span of the file
 * (wire_raw), and only the rest of the file is unpacked. */
#ifndef TS_ONNX_WIRE_H
#define TS_ONNX_WIRE_H
#include <protobuf-c/protobuf-c.h>

#include "kernels/base/err.h"
#include "kernels/base/vec.h"

struct wire_span { uint8_t *data; size_t len; };

struct wire_memory {
    ProtobufCAllocator allocator;
    size_t used, limit;
    bool refused;                         /* unpacking needed more memory than the limit */
    VEC(struct wire_span) spans;
};

/* Unpacks a message.  Returns NULL with an error about `what` on failure.  The caller frees the
 * message with wire_free and the same *m. */
void *wire_unpack(const ProtobufCMessageDescriptor *d, const char *what, void *data, size_t n,
                  struct wire_memory *m, struct err *e);
/* Returns the bytes of a field raw_data, which lie in the data given to wire_unpack.  If there are
 * more than 127 of them, at least 3 bytes of the same field precede them. */
struct wire_span wire_raw(const struct wire_memory *m, const ProtobufCBinaryData *field);
void wire_free(void *message, struct wire_memory *m);
/* Copies a text of the file, which may contain any bytes.  Bytes that a terminal should not
 * receive are written as \xNN (and a backslash as two), so that different names remain different.
 */
const char *wire_text(struct arena *a, const char *s, size_t n);
#endif
