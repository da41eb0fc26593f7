#include "kernels/onnx/onnx_wire.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_DEPTH = 32,                       /* deepest nesting of messages */
    MAX_PARTS = 1 << 20                   /* most messages, texts and unknown fields of a file */
};
/* Unpacking a file of n bytes may take 16 n bytes of memory plus SPARE_BYTES. */
#define SPARE_BYTES ((size_t)64 << 20)

/* Counts the parts of a message.  The unpacker recurses and allocates for each part, so depth and
 * number are checked on the bytes first. */

struct wire_walk { int parts; };

static bool varint(const uint8_t **p, const uint8_t *end, uint64_t *v)
{
    *v = 0;
    for (int shift = 0; shift < 64 && *p < end; shift += 7) {
        uint8_t byte = *(*p)++;
        *v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

/* Skips the value after the key of a field: from *p on, *len bytes; 0 for a number. */
static bool skip(int wire, const uint8_t **p, const uint8_t *end, uint64_t *len)
{
    uint64_t number;
    *len = wire == 1 ? 8 : wire == 5 ? 4 : 0;
    if (wire == 0)
        return varint(p, end, &number);
    if ((wire == 2 && !varint(p, end, len)) || wire == 3 || wire == 4 || wire > 5)
        return false;
    return *len <= (uint64_t)(end - *p);
}

static bool walk(struct wire_walk *w, const ProtobufCMessageDescriptor *d, const uint8_t *p,
                 const uint8_t *end, int depth)
{
    if (depth > MAX_DEPTH)
        return false;
    while (p < end && w->parts <= MAX_PARTS) {
        uint64_t key, len;
        if (!varint(&p, end, &key) || !skip((int)(key & 7), &p, end, &len))
            return false;
        const ProtobufCFieldDescriptor *f = NULL;
        if (key >> 3 <= UINT32_MAX)
            f = protobuf_c_message_descriptor_get_field(d, (unsigned)(key >> 3));
        bool message = f && f->type == PROTOBUF_C_TYPE_MESSAGE;
        w->parts += !f || message || f->type == PROTOBUF_C_TYPE_STRING ||
                    f->type == PROTOBUF_C_TYPE_BYTES;
        if (message && (key & 7) == 2 && !walk(w, f->descriptor, p, p + len, depth + 1))
            return false;
        p += len;
    }
    return true;
}

/* An allocator with a limit.  Each block stores its size, which is given back to the limit when the
 * block is freed. */

enum { BLOCK_HEAD = 16 };

static void *take(void *ctx, size_t size)
{
    struct wire_memory *m = ctx;
    if (size > SIZE_MAX / 2 || size + 2 * BLOCK_HEAD > m->limit - m->used) {
        m->refused = true;
        return NULL;
    }
    size_t *block = malloc(size + BLOCK_HEAD);
    if (!block)
        return NULL;
    *block = size + 2 * BLOCK_HEAD;       /* counts malloc's header too */
    m->used += *block;
    return (char *)block + BLOCK_HEAD;
}

static void give_back(void *ctx, void *p)
{
    struct wire_memory *m = ctx;
    if (!p)
        return;
    size_t *block = (size_t *)(void *)((char *)p - BLOCK_HEAD);
    m->used -= *block;
    free(block);
}

void *wire_unpack(const ProtobufCMessageDescriptor *d, const char *what, const void *data, size_t n,
                  struct wire_memory *m, struct err *e)
{
    const uint8_t *p = data;
    struct wire_walk w = { 0 };
    void *message = NULL;
    *m = (struct wire_memory){ .limit = 16 * n + SPARE_BYTES };
    m->allocator = (ProtobufCAllocator){ take, give_back, m };
    bool sound = n > 0 && walk(&w, d, p, p + n, 0);
    if (w.parts > MAX_PARTS) {
        err_set(e, ERR_RANGE, "%s has more than %d nodes, tensors, attributes and names", what,
                MAX_PARTS);
        return NULL;
    }
    if (sound)
        message = protobuf_c_message_unpack(d, &m->allocator, n, p);
    if (message)
        return message;
    if (m->refused) {
        err_set(e, ERR_RANGE, "%s needs more than %zu MiB of memory to unpack", what,
                m->limit >> 20);
        return NULL;
    }
    err_set(e, ERR_SYNTAX, "%s is not an ONNX %s", what, strcmp(d->short_name, "ModelProto") == 0
            ? "model" : "tensor");
    err_fix(e, "the file is damaged, truncated, or of another kind");
    return NULL;
}

void wire_free(void *message, struct wire_memory *m)
{
    protobuf_c_message_free_unpacked(message, &m->allocator);
}
