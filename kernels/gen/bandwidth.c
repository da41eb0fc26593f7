/* Generates loops that measure how fast memory can be read and copied.  They load vectors from a
 * buffer of the calling thread.  The reading loop adds them to enough independent sums that latency
 * does not matter; the copying loop stores them. */
#include "kernels/gen/gen_impl.h"

#define UNROLL 16                         /* vectors that one iteration of a loop loads */
#define SUMS 8                            /* additions in flight: latency 4 cycles, 2 units */
#define CALL_BYTES ((int64_t)16 << 20)    /* a call moves at least this many bytes */

/* Emits the declarations of a thread's memory, and take_memory(), which allocates and clears it in
 * this thread.  If the allocation fails, the generated code traps. */
static void put_memory(struct str *out, const struct target *t, const struct elem_type *type,
                       int64_t vectors)
{
    gen_vector(t, type, out);
    str_printf(out, "void *aligned_alloc(unsigned long align, unsigned long size);\n"
                    "enum { VECTORS = %lld };\n"
                    "static _Thread_local vec *mine;\n\n"
                    "static void take_memory(void)\n{\n"
                    "    unsigned long pages = (VECTORS * sizeof(vec) + 4095) / 4096;\n"
                    "    mine = aligned_alloc(4096, 4096 * pages);\n"
                    "    if (!mine)\n        __builtin_trap();\n"
                    "    for (long i = 0; i < VECTORS; i++)\n"
                    "        mine[i] = (vec){0};\n}\n\n", (long long)vectors);
}

/* Returns the number of vectors in `bytes`, rounded down to whole iterations, at least one
 * iteration. */
static int64_t whole_vectors(int vector_bytes, int64_t bytes)
{
    int64_t turn = (int64_t)UNROLL * vector_bytes;
    return (bytes > turn ? bytes / turn : 1) * UNROLL;
}

static long passes_of(int64_t bytes)
{
    return bytes >= CALL_BYTES ? 1 : (long)((CALL_BYTES + bytes - 1) / bytes);
}

double gen_load(const struct target *t, const struct elem_type *type, int64_t bytes,
                struct str *out)
{
    int each = type->bytes * target_lanes(t, type);
    int64_t vectors = whole_vectors(each, bytes), size = vectors * each;
    long passes = passes_of(size);
    str_printf(out, "/* Sums %lld bytes: how fast vector loads can be. */\n", (long long)size);
    put_memory(out, t, type, vectors);
    str_printf(out, "_Thread_local vec ts_sink;\n\n"
                    "void ts_entry(%s *const *buffers)\n{\n"
                    "    (void)buffers;\n    if (!mine)\n        take_memory();\n", type->c);
    for (int i = 0; i < SUMS; i++)
        str_printf(out, "    vec s%d = {0};\n", i);
    str_printf(out, "    for (long r = 0; r < %ld; r++) {\n"
                    "        const vec *p = mine, *end = mine + VECTORS;\n"
                    "        for (; p < end; p += %d) {\n", passes, UNROLL);
    for (int i = 0; i < UNROLL; i++)
        str_printf(out, "            s%d += p[%d];\n", i % SUMS, i);
    str_add(out, "        }\n    }\n    ts_sink = s0");
    for (int i = 1; i < SUMS; i++)
        str_printf(out, " + s%d", i);
    str_add(out, ";\n}\n");
    return (double)size * (double)passes;
}

/* Generates the copying loop. An empty asm statement keeps the compiler from replacing the loop by
 * memcpy. */
double gen_copy(const struct target *t, const struct elem_type *type, int64_t bytes,
                struct str *out)
{
    int each = type->bytes * target_lanes(t, type);
    int64_t half = whole_vectors(each, bytes / 2), size = 2 * half * each;
    long passes = passes_of(size);
    str_printf(out, "/* Copies %lld bytes to as many others. */\n", (long long)size / 2);
    put_memory(out, t, type, 2 * half);
    str_printf(out, "void ts_entry(%s *const *buffers)\n{\n"
                    "    (void)buffers;\n    if (!mine)\n        take_memory();\n"
                    "    for (long r = 0; r < %ld; r++) {\n"
                    "        const vec *p = mine, *end = mine + VECTORS / 2;\n"
                    "        for (vec *q = mine + VECTORS / 2; p < end; p += %d, q += %d) {\n"
                    "            __asm__ volatile(\"\" ::: \"memory\");\n", type->c, passes, UNROLL,
               UNROLL);
    for (int i = 0; i < UNROLL; i++)
        str_printf(out, "            q[%d] = p[%d];\n", i, i);
    str_add(out, "        }\n    }\n}\n");
    return (double)size * (double)passes;
}
