#include "kernels/onnx/onnx_wire.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/base/str.h"

enum {
    MAX_DEPTH = 32,                       /* deepest nesting of messages */
    MAX_PARTS = 1 << 20  /* most messages, texts, byte fields and unknown fields of a file */
};
/* Unpacking n bytes, raw data excluded, may take 16 n bytes of memory plus SPARE_BYTES. */
#define SPARE_BYTES ((size_t)64 << 20)

/* Counts the parts of a message.  The unpacker of protobuf-c recurses for nested messages, and
 * allocates for each part.  Depth and number of parts are therefore checked first, on the bytes. */

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

/* Finds the value of a field of type `wire`; *p is the end of the field's key.  Moves *p to the
 * value, and sets *len to the value's length in bytes.  If the value is a varint, moves *p behind
 * it, and sets *len to 0. */
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

/* Copying messages without the raw data of tensors. */

static void put_varint(struct str *out, uint64_t v)
{
    for (; v > 0x7f; v >>= 7)
        str_add_char(out, (char)(v | 0x80));
    str_add_char(out, (char)v);
}

/* Appends the message [p, end), which must have passed walk(), to out.  The value of each raw_data
 * becomes its index in m->spans. */
static void thin_out(struct wire_memory *m, const ProtobufCMessageDescriptor *d, uint8_t *p,
                     uint8_t *end, struct str *out)
{
    while (p < end) {
        const uint8_t *at = p;
        uint8_t *start = p;
        uint64_t key = 0, len = 0;
        varint(&at, end, &key);
        skip((int)(key & 7), &at, end, &len);
        uint8_t *value = start + (at - start);
        p = value + len;
        const ProtobufCFieldDescriptor *f = NULL;
        if (key >> 3 <= UINT32_MAX)
            f = protobuf_c_message_descriptor_get_field(d, (unsigned)(key >> 3));
        bool raw = f && f->type == PROTOBUF_C_TYPE_BYTES && strcmp(f->name, "raw_data") == 0;
        if ((key & 7) != 2 || !f || (f->type != PROTOBUF_C_TYPE_MESSAGE && !raw)) {
            str_add_n(out, (const char *)start, (size_t)(p - start));
            continue;
        }
        struct str inner = { 0 };
        uint64_t number = (uint64_t)m->spans.len;
        if (raw) {
            vec_push(&m->spans, (struct wire_span){ value, (size_t)len });
            str_add_n(&inner, (const char *)&number, sizeof number);
        } else {
            thin_out(m, f->descriptor, value, p, &inner);
        }
        put_varint(out, key);
        put_varint(out, inner.len);
        str_add_n(out, str_text(&inner), inner.len);
        str_free(&inner);
    }
}

struct wire_span wire_raw(const struct wire_memory *m, const ProtobufCBinaryData *field)
{
    uint64_t number;
    if (field->len != sizeof number)
        fail("a field raw_data that is no number");
    memcpy(&number, field->data, sizeof number);
    return m->spans.data[number];
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

void *wire_unpack(const ProtobufCMessageDescriptor *d, const char *what, void *data, size_t n,
                  struct wire_memory *m, struct err *e)
{
    uint8_t *p = data;
    struct str thin = { 0 };
    struct wire_walk w = { 0 };
    void *message = NULL;
    *m = (struct wire_memory){ .used = 0 };
    m->allocator = (ProtobufCAllocator){ take, give_back, m };
    bool sound = n > 0 && walk(&w, d, p, p + n, 0);
    if (w.parts > MAX_PARTS) {
        err_set(e, ERR_RANGE, "%s has more than %d nodes, tensors, attributes and names", what,
                MAX_PARTS);
        return NULL;
    }
    if (sound) {
        thin_out(m, d, p, p + n, &thin);
        m->limit = 16 * thin.len + SPARE_BYTES;
        message = protobuf_c_message_unpack(d, &m->allocator, thin.len,
                                            (const uint8_t *)str_text(&thin));
        str_free(&thin);
    }
    if (message)
        return message;
    vec_free(&m->spans);
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
    vec_free(&m->spans);
}

const char *wire_text(struct arena *a, const char *s, size_t n)
{
    struct str out = { 0 };
    size_t plain = 0, bad = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (i == plain)                   /* find the end of the valid UTF-8 that begins at i */
            plain = utf8_valid(s + i, n - i, &bad) ? n : i + bad;
        bool c1 = c == 0xc2 && i + 1 < plain && (unsigned char)s[i + 1] < 0xa0;
        if (i >= plain || c < ' ' || c == 0x7f || c1) {
            str_printf(&out, "\\x%02x", (unsigned)c);
            plain = i >= plain ? i + 1 : plain;
            if (c1)
                str_printf(&out, "\\x%02x", (unsigned)(unsigned char)s[++i]);
        } else {
            str_add_n(&out, "\\", c == '\\');
            str_add_char(&out, s[i]);
        }
    }
    const char *text = arena_strndup(a, str_text(&out), out.len);
    str_free(&out);
    return text;
}
