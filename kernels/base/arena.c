#include "kernels/base/arena.h"

#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kernels/base/sanitized.h"

/* Under AddressSanitizer, unallocated memory is poisoned, and a gap follows each allocation. */
#if SANITIZED
#include <sanitizer/asan_interface.h>
#define GAP ALIGN
#else
#define ASAN_POISON_MEMORY_REGION(at, n) ((void)(at), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(at, n) ((void)(at), (void)(n))
#define GAP ((size_t)0)
#endif

#define ALIGN ((size_t)16)
#define FIRST_BLOCK_BYTES ((size_t)64 * 1024)
#define MAX_BLOCK_BYTES ((size_t)4 * 1024 * 1024)
#define HUGE_BYTES ((size_t)2 << 20)
#define MANY_BYTES ((size_t)8 << 20)
#define NO_MEMORY "out of memory: free some, or raise `ulimit -v` "

/* A block of memory. The newest block is the head of the list, the oldest its tail. */
struct arena_block {
    struct arena_block *older;
    size_t cap, used;
    _Alignas(16) unsigned char data[];
};

struct arena {
    struct arena_block *head;
    size_t older_used;      /* bytes used in all blocks except the head */
};

static struct arena_block *block_new(size_t cap, struct arena_block *older)
{
    struct arena_block *b = xmalloc(sizeof *b + cap);
    b->older = older;
    b->cap = cap;
    b->used = 0;
    ASAN_POISON_MEMORY_REGION(b->data, cap);
    return b;
}

struct arena *arena_new(void)
{
    struct arena *a = xcalloc(1, sizeof *a);
    a->head = block_new(FIRST_BLOCK_BYTES, NULL);
    return a;
}

void arena_reset(struct arena *a)
{
    while (a->head->older) {
        struct arena_block *older = a->head->older;
        free(a->head);
        a->head = older;
    }
    ASAN_POISON_MEMORY_REGION(a->head->data, a->head->cap);
    a->head->used = 0;
    a->older_used = 0;
}

void arena_free(struct arena *a)
{
    if (!a)
        return;
    arena_reset(a);
    free(a->head);
    free(a);
}

size_t arena_used_bytes(const struct arena *a)
{
    return a->older_used + a->head->used;
}

static void grow(struct arena *a, size_t need)
{
    size_t cap = 2 * a->head->cap;
    if (cap > MAX_BLOCK_BYTES)
        cap = MAX_BLOCK_BYTES;
    if (cap < need)
        cap = need;
    a->older_used += a->head->used;
    a->head = block_new(cap, a->head);
}

void *arena_alloc(struct arena *a, size_t size_bytes)
{
    if (size_bytes > SIZE_MAX / 2)
        fail("out of memory");
    size_t need = ((size_bytes + ALIGN - 1) & ~(ALIGN - 1)) + GAP;
    if (need > a->head->cap - a->head->used)
        grow(a, need);
    void *p = a->head->data + a->head->used;
    a->head->used += need;
    ASAN_UNPOISON_MEMORY_REGION(p, size_bytes);
    memset(p, 0, size_bytes);
    return p;
}

void *arena_copy(struct arena *a, const void *from, size_t size_bytes)
{
    void *p = arena_alloc(a, size_bytes);
    if (size_bytes)
        memcpy(p, from, size_bytes);
    return p;
}

char *arena_bytes(struct arena *a, const char *data, size_t n)
{
    char *p = arena_alloc(a, n + 1);
    if (n > 0)
        memcpy(p, data, n);
    return p;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    return arena_bytes(a, s, n > 0 ? strnlen(s, n) : 0);
}

char *arena_strdup(struct arena *a, const char *s)
{
    return arena_strndup(a, s, strlen(s));
}

char *arena_vprintf(struct arena *a, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    if (n < 0)
        fail("vsnprintf refused \"%s\"", fmt);
    char *p = arena_alloc(a, (size_t)n + 1);
    vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return p;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *p = arena_vprintf(a, fmt, ap);
    va_end(ap);
    return p;
}

void *xmalloc(size_t size_bytes)
{
    void *p = malloc(size_bytes ? size_bytes : 1);
    if (!p)
        fail(NO_MEMORY "(%zu bytes)", size_bytes);
    return p;
}

/* Under AddressSanitizer, sizes are exact, so that accesses beyond the last element are found. */
void *xmalloc_elems(size_t n, size_t size_bytes)
{
    if (n > SIZE_MAX / 2 / size_bytes)
        fail(NO_MEMORY "(%zu times %zu bytes)", n, size_bytes);
    const size_t bytes = n * size_bytes, room = (bytes + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
    void *p = bytes < MANY_BYTES || GAP > 0 ? NULL : aligned_alloc(HUGE_BYTES, room);
    if (!p)
        return xmalloc(bytes);
    (void)madvise(p, room, MADV_HUGEPAGE);                /* if this fails, small pages are used */
    return p;
}

/* glibc gives an array above a threshold its own pages, and unmaps them when the array is freed.
 * The threshold grows with the sizes of freed arrays, up to 32 MiB.  The first call of mallopt
 * stops this growth; memory_give_back therefore sets the threshold to 32 MiB. */
void memory_keep(void)
{
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, -1);
}

void memory_give_back(void)
{
    mallopt(M_MMAP_MAX, 1 << 16);
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
    malloc_trim(0);
}

void *xcalloc(size_t n, size_t size_bytes)
{
    void *p = calloc(n ? n : 1, size_bytes ? size_bytes : 1);
    if (!p)
        fail(NO_MEMORY "(%zu times %zu bytes)", n, size_bytes);
    return p;
}

void *xrealloc(void *p, size_t size_bytes)
{
    void *q = realloc(p, size_bytes ? size_bytes : 1);
    if (!q)
        fail(NO_MEMORY "(%zu bytes)", size_bytes);
    return q;
}

char *xstrdup(const char *s)
{
    size_t n = strlen(s) + 1;
    return memcpy(xmalloc(n), s, n);
}

static void (*fail_hook)(void);

void fail_set_hook(void (*hook)(void))
{
    fail_hook = hook;
}

/* Clears the hook before calling it, so that a failure in the hook does not recurse. */
void fail_at(const char *file, int line, const char *fmt, ...)
{
    void (*hook)(void) = fail_hook;
    fail_hook = NULL;
    if (hook)
        hook();
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "tilescope: fatal: %s:%d: ", file, line);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    abort();
}
