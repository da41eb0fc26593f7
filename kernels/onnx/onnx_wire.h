/* Unpacks protobuf messages from untrusted files.  The memory for it is limited by the size of
 * the file, since an empty message of two bytes becomes a struct of two hundred. */
#ifndef TS_ONNX_WIRE_H
#define TS_ONNX_WIRE_H
#include <protobuf-c/protobuf-c.h>

#include "kernels/base/err.h"

struct wire_memory {
    ProtobufCAllocator allocator;
    size_t used, limit;
    bool refused;                         /* whether more memory than the limit was asked for */
};

/* Unpacks a message.  Returns NULL with an error about `what` on failure.  The caller frees the
 * message with wire_free and the same *m. */
void *wire_unpack(const ProtobufCMessageDescriptor *d, const char *what, const void *data, size_t n,
                  struct wire_memory *m, struct err *e);
void wire_free(void *message, struct wire_memory *m);
#endif
