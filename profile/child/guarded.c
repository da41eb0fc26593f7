#include "profile/child/guarded_impl.h"

#include "kernels/base/arena.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define GUARD_BYTES ((size_t)16 << 20)
#define MOVE_BYTES (GUARD_BYTES / 4)
#define ALIGN_BYTES 64
#define HUGE_BYTES ((size_t)2 << 20)
/* This pattern of 16 bits fills the space around the data in a buffer's pages; a changed value
 * shows a stray store.  Like BUFFER_POISON, it reads as a quiet NaN in floating point types of 2, 4
 * and 8 bytes. */
#define CANARY 0x7ffdu
#define POISONED 64                         /* number of random words that poison_few tries */

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

static size_t page_bytes(const struct shared *sh)
{
    return sh->huge_pages ? HUGE_BYTES : (size_t)sysconf(_SC_PAGESIZE);
}

/* Asks for huge pages. A refusal is ignored; guarded_pages tells how many the system gave. */
static void ask_for_huge_pages(const struct guarded *g, const struct guarded_buffer *b)
{
    if (g->shared->huge_pages)
        (void)madvise(b->room, b->room_bytes, MADV_HUGEPAGE);
}

bool guarded_open(struct shared *sh, struct guarded **out, struct err *e)
{
    size_t page = page_bytes(sh);
    size_t total = GUARD_BYTES + page;
    const struct shared_buffer *listed = shared_buffers(sh);
    struct guarded *g = xcalloc(1, sizeof *g);
    g->shared = sh;
    g->n = sh->n_buffers;
    g->buffer = xcalloc((size_t)g->n + 1, sizeof *g->buffer);
    g->data = xcalloc((size_t)g->n + 1, sizeof *g->data);
    g->page = page;
    for (int i = 0; i < g->n; i++) {
        struct guarded_buffer *b = &g->buffer[i];
        b->data_bytes = (size_t)listed[i].bytes;
        b->room_bytes = round_up(b->data_bytes, page);
        b->written = listed[i].written;
        total += b->room_bytes + GUARD_BYTES;
    }
    g->map_bytes = total;
    g->map = mmap(NULL, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (g->map == MAP_FAILED) {
        g->map_bytes = 0;
        guarded_close(g);
        return err_set(e, ERR_ENV, "no memory for buffers of %zu MiB: %s", total >> 20,
                       strerror(errno));
    }
    char *at = g->map + GUARD_BYTES;
    at += -(uintptr_t)at % page;
    for (int i = 0; i < g->n; i++) {
        g->buffer[i].slot = g->buffer[i].room = at;
        ask_for_huge_pages(g, &g->buffer[i]);
        at += g->buffer[i].room_bytes + GUARD_BYTES;
    }
    *out = g;
    return true;
}

bool guarded_reopen(struct guarded *g, struct shared *sh)
{
    const struct shared_buffer *listed = shared_buffers(sh);
    if (g->n != sh->n_buffers || g->page != page_bytes(sh))
        return false;
    for (int i = 0; i < g->n; i++)
        if (g->buffer[i].room_bytes != round_up((size_t)listed[i].bytes, g->page))
            return false;
    g->shared = sh;
    for (int i = 0; i < g->n; i++) {
        struct guarded_buffer *b = &g->buffer[i];
        b->data = NULL;
        b->data_bytes = (size_t)listed[i].bytes;
        b->written = listed[i].written;
    }
    return true;
}

void guarded_close(struct guarded *g)
{
    if (!g)
        return;
    if (g->map_bytes > 0)
        munmap(g->map, g->map_bytes);
    free(g->buffer);
    free(g->data);
    free(g);
}

void *const *guarded_data(const struct guarded *g)
{
    return g->data;
}

/* Returns the copy of a buffer in the file. */
static void *copy_of(const struct guarded *g, int i)
{
    return (char *)g->shared + shared_buffers(g->shared)[i].at;
}

static void paint(char *from, char *to)
{
    for (uint16_t *p = (uint16_t *)(void *)from; p < (uint16_t *)(void *)to; p++)
        *p = CANARY;
}

bool guarded_place(struct guarded *g, int first, int n, bool at_end, struct err *e)
{
    for (int i = first; i < first + n; i++) {
        struct guarded_buffer *b = &g->buffer[i];
        size_t slack = b->room_bytes - b->data_bytes;
        char *at = b->room + (at_end ? slack / ALIGN_BYTES * ALIGN_BYTES : 0);
        if (b->data == at && !b->written)  /* unchanged, because its pages are read-only */
            continue;
        if (mprotect(b->room, b->room_bytes, PROT_READ | PROT_WRITE) != 0)
            return err_set(e, ERR_ENV, "no memory for a buffer of %zu MiB: %s", b->room_bytes >> 20,
                           strerror(errno));
        b->data = at;
        g->data[i] = b->data;
        paint(b->room, b->data);
        memcpy(b->data, copy_of(g, i), b->data_bytes);
        paint(b->data + b->data_bytes, b->room + b->room_bytes);
        if (!b->written && mprotect(b->room, b->room_bytes, PROT_READ) != 0)
            return err_set(e, ERR_ENV, "mprotect: %s", strerror(errno));
    }
    return true;
}

bool guarded_in_place(const struct guarded *g, int first, int n)
{
    bool all = true;
    for (int i = first; i < first + n; i++)
        all = all && g->buffer[i].data == g->buffer[i].room;
    return all;
}

bool guarded_drop(struct guarded *g, int first, int n, struct rng *move, struct err *e)
{
    for (int i = first; i < first + n; i++) {
        struct guarded_buffer *b = &g->buffer[i];
        if (madvise(b->room, b->room_bytes, MADV_DONTNEED) != 0)
            return err_set(e, ERR_ENV, "madvise: %s", strerror(errno));
        b->data = NULL;
        if (!move)
            continue;
        if (mprotect(b->room, b->room_bytes, PROT_NONE) != 0)
            return err_set(e, ERR_ENV, "mprotect: %s", strerror(errno));
        b->room = b->slot + (size_t)rng_range(move, 0, (int64_t)(MOVE_BYTES / g->page)) * g->page;
        ask_for_huge_pages(g, b);
    }
    return true;
}

/* Returns the bytes from `from` to the first overwritten half of a word in [from, to); -1: nothing
 * there is overwritten. */
static int64_t first_damage(const char *from, const char *to)
{
    const uint16_t *p = (const uint16_t *)(const void *)from;
    for (size_t i = 0; i < (size_t)(to - from) / sizeof *p; i++)
        if (p[i] != CANARY)
            return (int64_t)(i * sizeof *p);
    return -1;
}

static int64_t last_damage(const char *from, const char *to)
{
    const uint16_t *p = (const uint16_t *)(const void *)to;
    for (size_t i = 1; i <= (size_t)(to - from) / sizeof *p; i++)
        if (p[-(ptrdiff_t)i] != CANARY) {
            /* damage to both halves is damage to the whole word */
            i += i % 2 && p[-(ptrdiff_t)i - 1] != CANARY;
            return (int64_t)(i * sizeof *p);
        }
    return -1;
}

bool guarded_whole(const struct guarded *g, struct fault *damage)
{
    for (int i = 0; i < g->n; i++) {
        const struct guarded_buffer *b = &g->buffer[i];
        if (!b->data)
            continue;
        int64_t behind = first_damage(b->data + b->data_bytes, b->room + b->room_bytes);
        int64_t before = last_damage(b->room, b->data);
        if (behind < 0 && before < 0)
            continue;
        *damage = (struct fault){
            .where = behind >= 0 ? FAULT_BEHIND : FAULT_BEFORE, .access = ACCESS_WRITE, .buffer = i,
            .distance = behind >= 0 ? behind : before,
        };
        return false;
    }
    return true;
}

void guarded_collect(struct guarded *g, int first, int n)
{
    for (int i = first; i < first + n; i++)
        if (g->buffer[i].written)
            memcpy(copy_of(g, i), g->buffer[i].data, g->buffer[i].data_bytes);
}

bool guarded_same(const struct guarded *g, int first, int n)
{
    bool same = true;
    for (int i = first; i < first + n && same; i++)
        if (shared_buffers(g->shared)[i].result)
            same = memcmp(copy_of(g, i), g->buffer[i].data, g->buffer[i].data_bytes) == 0;
    return same;
}

/* Overwrites a few random words. Words that are poison in the copy are not changed: the kernel
 * never writes them, for example the padding of a layout. */
static void poison_few(uint32_t *data, const uint32_t *copy, size_t words, struct rng *few)
{
    for (int k = 0; words > 0 && k < POISONED; k++) {
        size_t at = (size_t)rng_range(few, 0, (int64_t)words - 1);
        if (copy[at] != BUFFER_POISON)
            data[at] = BUFFER_POISON;
    }
}

void guarded_poison(struct guarded *g, int first, int n, struct rng *few)
{
    for (int i = first; i < first + n; i++) {
        const struct guarded_buffer *b = &g->buffer[i];
        uint16_t *half = (uint16_t *)(void *)b->data;
        if (!b->written)
            continue;
        if (few)
            poison_few((uint32_t *)(void *)half, copy_of(g, i),
                       b->data_bytes / sizeof(uint32_t), few);
        else
            for (size_t k = 0; k < b->data_bytes / sizeof *half; k++)
                half[k] = (uint16_t)BUFFER_POISON;
    }
}

/* An address between two buffers is reported for the nearer one. */
void guarded_locate(const struct guarded *g, uint64_t address, struct fault *out)
{
    uint64_t map = (uint64_t)(uintptr_t)g->map, best = UINT64_MAX;
    out->where = address < 65536 ? FAULT_NULL : FAULT_ELSEWHERE;
    if (address < map || address >= map + g->map_bytes)
        return;
    for (int i = 0; i < g->n; i++) {
        const struct guarded_buffer *b = &g->buffer[i];
        uint64_t start = (uint64_t)(uintptr_t)(b->data ? b->data : b->room);
        uint64_t end = start + b->data_bytes;
        int where = address < start ? FAULT_BEFORE : address < end ? FAULT_INSIDE : FAULT_BEHIND;
        uint64_t distance = where == FAULT_BEFORE ? start - address
                          : where == FAULT_BEHIND ? address - end : 0;
        if (distance >= best)
            continue;
        best = distance;
        out->where = where;
        out->buffer = i;
        out->distance = (int64_t)(where == FAULT_INSIDE ? address - start : distance);
    }
}
