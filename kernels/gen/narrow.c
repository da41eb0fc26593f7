/* Helpers that convert between float and the 16 bits of f16 and bf16, rounding to nearest, ties to
 * even.
 *
 * There are three implementations, which give the same bits for every number (a NaN remains a NaN):
 * instructions of x86 (F16C), instructions of a GPU (PTX, which needs no header of the toolkit),
 * and plain C where the others do not exist.  In the texts, @ is the narrow type and $ the number
 * of lanes.  The type h$ has lanes of 16 bits, g$ is h$ at any address, and w$ has lanes of 32
 * bits.  The instruction vcvtneps2bf16 is not used: it takes subnormal numbers for zero. */
#include "kernels/gen/emit.h"

#include <string.h>

static const char bf16_get[] =
    "static inline float from_bf16(bf16 h)\n{\n"
    "    union { unsigned bits; float value; } x = { (unsigned)h << 16 };\n"
    "    return x.value;\n}\n";

static const char bf16_put[] =
    "static inline bf16 to_bf16(float value)\n{\n"
    "    union { float value; unsigned bits; } x = { value };\n"
    "    unsigned even = x.bits + 0x7fff + (x.bits >> 16 & 1);\n"
    "    return (bf16)((value == value ? even : x.bits | 0x400000) >> 16);\n}\n";
static const char bf16_put_gpu[] =
    "static inline bf16 to_bf16(float value)\n{\n"
    "    bf16 h;\n"
    "    asm(\"cvt.rn.bf16.f32 %0, %1;\" : \"=h\"(h) : \"f\"(value));\n"
    "    return h;\n}\n";

static const char bf16_load[] =
    "static inline v$ bf16_load$(const bf16 *p)\n{\n"
    "    return (v$)(__builtin_convertvector(*(const g$ *)p, w$) << 16);\n}\n";

static const char bf16_pack[] =
    "static inline h$ bf16_pack$(v$ x)\n{\n"
    "    w$ bits = (w$)x, number = (w$)(x == x);\n"
    "    w$ even = bits + 0x7fff + (bits >> 16 & 1);\n"
    "    bits = (even & number) | ((bits | 0x400000) & ~number);\n"
    "    return __builtin_convertvector(bits >> 16, h$);\n}\n";

/* The factor 0x1p112f is 2^(127 - 15): 127 and 15 are the exponent biases of float and f16. */
static const char f16_get[] =
    "static inline float from_f16(f16 h)\n{\n"
    "    union { unsigned bits; float value; } x = { (unsigned)(h & 0x7fff) << 13 };\n"
    "    x.value = x.value * 0x1p112f;\n"
    "    x.bits |= (h & 0x7c00) == 0x7c00 ? 0x7f800000 : 0;\n"
    "    x.bits |= (unsigned)(h & 0x8000) << 16;\n"
    "    return x.value;\n}\n";
static const char f16_get_x86[] =
    "static inline float from_f16(f16 h)\n{\n"
    "    typedef short h8 __attribute__((vector_size(16)));\n"
    "    return __builtin_ia32_vcvtph2ps((h8){ (short)h })[0];\n}\n";
static const char f16_get_gpu[] =
    "static inline float from_f16(f16 h)\n{\n"
    "    float value;\n"
    "    asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(value) : \"h\"(h));\n"
    "    return value;\n}\n";

/* A number below 2^-14 is rounded by an addition to 0.5: the last bit of the sum is 2^-24, the
 * smallest f16. */
static const char f16_put[] =
    "static inline f16 to_f16(float value)\n{\n"
    "    union { float value; unsigned bits; } x = { value }, small;\n"
    "    unsigned sign = x.bits >> 16 & 0x8000, size = x.bits & 0x7fffffff;\n"
    "    unsigned even = size - (112u << 23) + 0xfff + (size >> 13 & 1);\n"
    "    small.value = (value < 0 ? -value : value) + 0.5f;\n"
    "    return (f16)(sign | (size > 0x7f800000    ? 0x7e00 | (size >> 13 & 0x3ff)\n"
    "                         : size >= 0x477ff000 ? 0x7c00\n"
    "                         : size < 0x38800000  ? small.bits - 0x3f000000\n"
    "                                              : even >> 13));\n}\n";
static const char f16_put_x86[] =
    "static inline f16 to_f16(float value)\n{\n"
    "    typedef float f4 __attribute__((vector_size(16)));\n"
    "    return (f16)__builtin_ia32_vcvtps2ph((f4){ value }, 0)[0];\n}\n";
static const char f16_put_gpu[] =
    "static inline f16 to_f16(float value)\n{\n"
    "    f16 h;\n"
    "    asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(h) : \"f\"(value));\n"
    "    return h;\n}\n";

static const char f16_load[] =
    "static inline v$ f16_load$(const f16 *p)\n{\n"
    "    w$ h = __builtin_convertvector(*(const g$ *)p, w$), sign = (h & 0x8000) << 16;\n"
    "    v$ x = (v$)((h & 0x7fff) << 13) * 0x1p112f;\n"
    "    w$ endless = (w$)((h & 0x7c00) == 0x7c00) & 0x7f800000;\n"
    "    return (v$)((w$)x | endless | sign);\n}\n";

static const char f16_pack[] =
    "static inline h$ f16_pack$(v$ x)\n{\n"
    "    w$ sign = (w$)x >> 16 & 0x8000, size = (w$)x & 0x7fffffff;\n"
    "    w$ even = (size - (112u << 23) + 0xfff + (size >> 13 & 1)) >> 13;\n"
    "    w$ small = (w$)((v$)size + 0.5f) - 0x3f000000;\n"
    "    w$ is_small = (w$)(size < 0x38800000), is_large = (w$)(size >= 0x477ff000);\n"
    "    w$ is_nan = (w$)(size > 0x7f800000), nan = 0x200 | (size >> 13 & 0x3ff);\n"
    "    w$ h = (small & is_small) | (even & ~is_small & ~is_large);\n"
    "    h |= (is_large & 0x7c00) | (is_nan & nan);\n"
    "    return __builtin_convertvector(sign | h, h$);\n}\n";

/* The instructions convert 4, 8 or 16 lanes.  Their narrow operand is in memory, because 4 elements
 * of 16 bits fill only half a register. */
static const char f16_load_x86[] =
    "static inline v$ f16_load$(const f16 *p)\n{\n"
    "    v$ x;\n"
    "    __asm__(\"vcvtph2ps %1, %0\" : \"=v\"(x) : \"m\"(*(const g$ *)p));\n"
    "    return x;\n}\n";
static const char f16_store_x86[] =
    "static inline void f16_store$(f16 *p, v$ x)\n{\n"
    "    __asm__(\"vcvtps2ph %2, %1, %0\" : \"=m\"(*(g$ *)p) : \"v\"(x), \"i\"(0));\n}\n";

static const char store_text[] =
    "static inline void @_store$(@ *p, v$ x) { *(g$ *)p = @_pack$(x); }\n";

/* More placeholders: ` is the number of bytes of the vector.  & is the macro that compilers define
 * if the CPU has movntdq for such a vector; ^ is the suffix of gcc's builtin for it. */
static const char stream_text[] =
    "/* Past the caches, to an address that is a multiple of `. */\n"
    "static inline void @_stream$(@ *p, v$ x)\n{\n"
    "    h$ h = @_pack$(x);\n"
    "#if defined __clang__\n"
    "    __builtin_nontemporal_store(h, (h$ *)p);\n"
    "#elif defined &\n"
    "    typedef long long q$ __attribute__((vector_size(`)));\n"
    "    __builtin_ia32_movntdq^((q$ *)p, (q$)h);\n"
    "#else\n"
    "    *(h$ *)p = h;\n"
    "#endif\n}\n";

/* The code of a helper in plain C, with instructions of x86, and for a GPU; NULL: no such code. */
struct helper { const char *text, *x86, *gpu; };
static const struct narrow_text {
    const struct elem_type *type;
    struct helper get, put, load, store;
    const char *pack;                     /* a helper that store and stream need */
} texts[] = {
    { &type_f16, { f16_get, f16_get_x86, f16_get_gpu }, { f16_put, f16_put_x86, f16_put_gpu },
      { f16_load, f16_load_x86, NULL }, { store_text, f16_store_x86, NULL }, f16_pack },
    { &type_bf16, { bf16_get, NULL, NULL }, { bf16_put, NULL, bf16_put_gpu },
      { bf16_load, NULL, NULL }, { store_text, NULL, NULL }, bf16_pack },
};

static const char pair_text[] =
    "/* Stores two elements at once, at an address that is a multiple of 4. */\n"
    "static inline void store_pair(@ *p, float x, float y)\n{\n"
    "    *(unsigned *)p = to_@(x) | (unsigned)to_@(y) << 16;\n}\n";
static const char pair_twin[] =
    "static inline void store_pair(@ *p, float x, float y)\n{\n"
    "    p[0] = to_@(x);\n    p[1] = to_@(y);\n}\n";

static void put_text(struct str *out, const char *text, const struct elem_type *type, int lanes)
{
    const int bytes = type->bytes * lanes;
    for (; *text; text++)
        if (*text == '$')
            str_printf(out, "%d", lanes);
        else if (*text == '@')
            str_add(out, type->name);
        else if (*text == '`')
            str_printf(out, "%d", bytes);
        else if (*text == '^')
            str_add(out, bytes == 16 ? "" : bytes == 32 ? "256" : "512");
        else if (text[0] == '&' && text[1] == '\n')
            str_add(out, bytes == 16 ? "__SSE2__" : bytes == 32 ? "__AVX__" : "__AVX512F__");
        else
            str_add_char(out, *text);
}

/* Emits helper h for this number of lanes. first: text that must stand before the plain C of h, or
 * "". */
static void put_helper(struct str *out, const struct narrow_text *x, const struct helper *h,
                       const char *first, int lanes, bool gpu)
{
    const char *other = gpu ? h->gpu : lanes == 1 || (lanes >= 4 && lanes <= 16) ? h->x86 : NULL;
    if (other) {
        str_printf(out, "#if defined %s\n", gpu           ? "__CUDACC__"
                                            : lanes == 16 ? "__AVX512F__" : "__F16C__");
        put_text(out, other, x->type, lanes);
        str_add(out, "#else\n");
    }
    put_text(out, first, x->type, lanes);
    put_text(out, h->text, x->type, lanes);
    str_add(out, other ? "#endif\n" : "");
}

static void put_vectors(struct str *out, const struct narrow_text *x, const struct needs *n,
                        int lanes)
{
    const struct elem_type *type = x->type;
    bool store = n->narrow.store[lanes], stream = n->narrow.stream[lanes];
    if (!n->narrow.load[lanes] && !store && !stream)
        return;
    str_printf(out, "typedef unsigned short h%d __attribute__((vector_size(%d)));\n", lanes,
               type->bytes * lanes);
    str_printf(out, "typedef unsigned short g%d __attribute__((vector_size(%d), aligned(%d), "
                    "may_alias));\n", lanes, type->bytes * lanes, type->bytes);
    str_printf(out, "typedef unsigned w%d __attribute__((vector_size(%d)));\n", lanes,
               type->sum->bytes * lanes);
    if (n->narrow.load[lanes])
        put_helper(out, x, &x->load, "", lanes, false);
    if (stream) {
        put_text(out, x->pack, type, lanes);
        put_text(out, stream_text, type, lanes);
    }
    if (store)
        put_helper(out, x, &x->store, stream ? "" : x->pack, lanes, false);
}

const char *narrow_type_prefix(const struct emit *m, const struct elem_type *type)
{
    return type_is_narrow(type) ? arena_printf(m->u->arena, "%s_", type->name) : "";
}

const char *narrow_prefix(const struct emit *m, int buffer)
{
    return narrow_type_prefix(m, m->u->func->buffer[buffer].type);
}

void narrow_helpers(struct emit *m, struct str *out)
{
    const struct narrow_text *x = texts;
    if (!m->u->narrow)
        return;
    while (x->type != m->u->narrow)
        x++;
    str_printf(out, "typedef unsigned short %s;    /* the bits of a %s */\n", x->type->name,
               x->type->title);
    if (m->needs.narrow.get)
        put_helper(out, x, &x->get, "", 1, m->gpu);
    if (m->needs.narrow.put)
        put_helper(out, x, &x->put, "", 1, m->gpu);
    if (m->needs.store_pair)
        put_text(out, m->twin ? pair_twin : pair_text, x->type, 1);
    for (int l = 2; l <= GEN_MAX_LANES; l *= 2)
        put_vectors(out, x, &m->needs, l);
}
