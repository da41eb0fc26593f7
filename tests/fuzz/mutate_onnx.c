/* Mutations of ONNX models that stay models: one field, somewhere in the nested messages, is
 * changed, doubled or dropped, and the lengths around it follow.  A quarter of the mutations are
 * libFuzzer's own. */
#include <stdlib.h>
#include <string.h>
#include "kernels/base/rng.h"
#include "tests/fuzz/fuzz.h"

#define FIELDS_MAX 512
#define GROWTH 24

size_t LLVMFuzzerMutate(uint8_t *data, size_t n, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t max, unsigned seed);

/* A field: the bytes of its key, then (wire type 2: after their length) of its value. */
struct field { const uint8_t *key, *value, *end; int wire; };

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

static bool next_field(const uint8_t **p, const uint8_t *end, struct field *f)
{
    uint64_t key, len = 0;
    f->key = *p;
    if (!varint(p, end, &key) || key < 8)
        return false;
    f->wire = (int)(key & 7);
    f->value = *p;
    if (f->wire == 0)
        f->end = *p;
    if (f->wire == 0 ? !varint(&f->end, end, &len) : f->wire == 2 && !varint(p, end, &len))
        return false;
    if (f->wire == 2)
        f->value = *p;
    else if (f->wire == 1 || f->wire == 5)
        len = f->wire == 1 ? 8 : 4;
    else if (f->wire != 0)
        return false;
    if (f->wire != 0) {
        if (len > (uint64_t)(end - f->value))
            return false;
        f->end = f->value + len;
    }
    *p = f->end;
    return true;
}

/* How many fields these bytes are; 0 when they are no message. */
static int fields_of(const uint8_t *p, size_t n, struct field *out)
{
    const uint8_t *end = p + n;
    int k = 0;
    while (p < end)
        if (k == FIELDS_MAX || !next_field(&p, end, &out[k++]))
            return 0;
    return k;
}

static void put(struct str *out, const uint8_t *from, const uint8_t *end)
{
    for (; from < end; from++)
        str_add_char(out, (char)*from);
}

static void put_length(struct str *out, size_t n)
{
    for (; n >= 0x80; n >>= 7)
        str_add_char(out, (char)((n & 0x7f) | 0x80));
    str_add_char(out, (char)n);
}

static void change_bytes(struct str *out, const uint8_t *from, size_t n)
{
    uint8_t *copy = xmalloc(n + GROWTH);
    if (n > 0)
        memcpy(copy, from, n);
    size_t len = LLVMFuzzerMutate(copy, n, n + GROWTH);
    put(out, copy, copy + len);
    free(copy);
}

static void change(struct str *out, struct rng *r, const uint8_t *from, size_t n, int depth);

static void change_field(struct str *out, struct rng *r, const struct field *f, int depth)
{
    struct str value = {0};
    size_t n = (size_t)(f->end - f->value);
    if (f->wire == 2)
        change(&value, r, f->value, n, depth + 1);
    else if (f->wire == 0)                /* mostly small: dims, attributes, types */
        put_length(&value, (size_t)rng_range(r, 0, rng_range(r, 0, 7) ? 8 : 400));
    else
        change_bytes(&value, f->value, n);
    if (f->wire == 1 || f->wire == 5)
        for (size_t k = value.len; k < n; k++)
            str_add_char(&value, '\0');
    const uint8_t *bytes = (const uint8_t *)str_text(&value);
    uint64_t key;
    const uint8_t *at = f->key;
    varint(&at, f->value, &key);
    put(out, f->key, at);
    if (f->wire == 2)
        put_length(out, value.len);
    put(out, bytes, bytes + (f->wire == 1 || f->wire == 5 ? n : value.len));
    str_free(&value);
}

static void change(struct str *out, struct rng *r, const uint8_t *from, size_t n, int depth)
{
    struct field *f = xcalloc(FIELDS_MAX, sizeof *f);
    int k = depth > 12 ? 0 : fields_of(from, n, f);
    int at = k ? (int)rng_range(r, 0, k - 1) : 0;
    int64_t what = rng_range(r, 0, 11);
    if (k == 0)
        change_bytes(out, from, n);
    for (int i = 0; i < k; i++) {
        if (i != at || what == 0)         /* 0: doubled (and changed); 1: dropped */
            put(out, f[i].key, f[i].end);
        if (i == at && what != 1)
            change_field(out, r, &f[i], depth);
    }
    free(f);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t max, unsigned seed)
{
    struct rng r = rng_seed(seed);
    struct str out = {0};
    if (n == 0 || rng_range(&r, 0, 3) == 0)
        return LLVMFuzzerMutate(data, n, max);
    change(&out, &r, data, n, 0);
    n = out.len < max ? out.len : max;
    memcpy(data, str_text(&out), n);
    str_free(&out);
    return n;
}
