/* Counts the bytes of the buffers' pages, and flushes the buffers from the caches. */
#include "profile/child/guarded_impl.h"

#include <stdio.h>
#include <string.h>
#if defined __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

#define LINE_BYTES 64

#if defined __x86_64__
/* Whether this CPU has clflushopt: CPUID leaf 7, EBX bit 23. */
static bool has_clflushopt(void)
{
    unsigned a, b = 0, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b >> 23 & 1;
}

__attribute__((target("clflushopt"))) static void flush_weakly(char *from, const char *to)
{
    for (char *p = from; p < to; p += LINE_BYTES)
        _mm_clflushopt(p);
}

/* clflush and clflushopt flush a line from every cache of every core. Every x86-64 CPU has clflush;
 * clflushopt is faster. */
bool guarded_flush(const struct guarded *f, int first, int n)
{
    bool weakly = has_clflushopt();
    _mm_mfence();
    for (int i = first; i < first + n; i++) {
        const struct guarded_buffer *y = &f->buffer[i];
        if (weakly)
            flush_weakly(y->data, y->data + y->data_bytes);
        else
            for (char *p = y->data; p < y->data + y->data_bytes; p += LINE_BYTES)
                _mm_clflush(p);
    }
    _mm_mfence();
    return true;
}
#else
bool guarded_flush(const struct guarded *f, int first, int n)
{
    (void)f;
    (void)first;
    (void)n;
    return false;
}
#endif

/* Sums AnonHugePages over the mappings that lie inside the guarded buffers. */
void guarded_pages(const struct guarded *f, int64_t *bytes, int64_t *huge)
{
    unsigned long long from, to, kib, low = (uintptr_t)f->map, high = low + f->map_bytes;
    char line[400];
    bool inside = false;
    FILE *in = f->shared->huge_pages ? fopen("/proc/self/smaps", "re") : NULL;
    *bytes = *huge = 0;
    for (int i = 0; i < f->n; i++)
        *bytes += (int64_t)f->buffer[i].room_bytes;
    while (in && fgets(line, sizeof line, in)) {
        if (sscanf(line, "%llx-%llx ", &from, &to) == 2)
            inside = from >= low && to <= high;
        else if (inside && sscanf(line, "AnonHugePages: %llu kB", &kib) == 1)
            *huge += (int64_t)(kib << 10);
    }
    if (in)
        fclose(in);
}
