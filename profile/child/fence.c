#include "profile/child/fence_impl.h"

#include "kernels/base/arena.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FENCE_BYTES ((size_t)16 << 20)
#define MOVE_BYTES (FENCE_BYTES / 4)
#define ALIGN_BYTES 64
#define HUGE_BYTES ((size_t)2 << 20)
#define CANARY 0x7ffd7ffdu                /* a quiet NaN, as BUFFER_POISON is */
#define SPOILT 64                         /* words of a buffer that are drawn */

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

static size_t page_bytes(const struct shared *sh)
{
    return sh->huge_pages ? HUGE_BYTES : (size_t)sysconf(_SC_PAGESIZE);
}

/* Asks for huge pages. A refusal is ignored; fence_pages says how many there are. */
static void ask_for_huge_pages(const struct fence *f, const struct yard *y)
{
    if (f->shared->huge_pages)
        (void)madvise(y->room, y->room_bytes, MADV_HUGEPAGE);
}

bool fence_open(struct shared *sh, struct fence **out, struct err *e)
{
    size_t page = page_bytes(sh);
    size_t total = FENCE_BYTES + page;
    const struct shared_buffer *listed = shared_buffers(sh);
    struct fence *f = xcalloc(1, sizeof *f);
    f->shared = sh;
    f->n = sh->n_buffers;
    f->yard = xcalloc((size_t)f->n + 1, sizeof *f->yard);
    f->data = xcalloc((size_t)f->n + 1, sizeof *f->data);
    f->page = page;
    for (int i = 0; i < f->n; i++) {
        struct yard *y = &f->yard[i];
        y->data_bytes = (size_t)listed[i].bytes;
        y->room_bytes = round_up(y->data_bytes, page);
        y->written = listed[i].written;
        total += y->room_bytes + FENCE_BYTES;
    }
    f->map_bytes = total;
    f->map = mmap(NULL, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (f->map == MAP_FAILED) {
        f->map_bytes = 0;
        fence_close(f);
        return err_set(e, ERR_ENV, "no memory for buffers of %zu MiB: %s", total >> 20,
                       strerror(errno));
    }
    char *at = f->map + FENCE_BYTES;
    at += -(uintptr_t)at % page;
    for (int i = 0; i < f->n; i++) {
        f->yard[i].slot = f->yard[i].room = at;
        ask_for_huge_pages(f, &f->yard[i]);
        at += f->yard[i].room_bytes + FENCE_BYTES;
    }
    *out = f;
    return true;
}

bool fence_reopen(struct fence *f, struct shared *sh)
{
    const struct shared_buffer *listed = shared_buffers(sh);
    if (f->n != sh->n_buffers || f->page != page_bytes(sh))
        return false;
    for (int i = 0; i < f->n; i++)
        if (f->yard[i].room_bytes != round_up((size_t)listed[i].bytes, f->page))
            return false;
    f->shared = sh;
    for (int i = 0; i < f->n; i++) {
        struct yard *y = &f->yard[i];
        y->data = NULL;
        y->data_bytes = (size_t)listed[i].bytes;
        y->written = listed[i].written;
    }
    return true;
}

void fence_close(struct fence *f)
{
    if (!f)
        return;
    if (f->map_bytes > 0)
        munmap(f->map, f->map_bytes);
    free(f->yard);
    free(f->data);
    free(f);
}

void *const *fence_data(const struct fence *f)
{
    return f->data;
}

/* The copy of a buffer in the file. */
static void *copy_of(const struct fence *f, int i)
{
    return (char *)f->shared + shared_buffers(f->shared)[i].at;
}

static void paint(char *from, char *to)
{
    for (uint32_t *p = (uint32_t *)(void *)from; p < (uint32_t *)(void *)to; p++)
        *p = CANARY;
}

bool fence_place(struct fence *f, bool at_end, struct err *e)
{
    return fence_place_some(f, 0, f->n, at_end, e);
}

bool fence_place_some(struct fence *f, int first, int n, bool at_end, struct err *e)
{
    for (int i = first; i < first + n; i++) {
        struct yard *y = &f->yard[i];
        size_t slack = y->room_bytes - y->data_bytes;
        char *at = y->room + (at_end ? slack / ALIGN_BYTES * ALIGN_BYTES : 0);
        if (y->data == at && !y->written)  /* unchanged, since nobody could write to it */
            continue;
        if (mprotect(y->room, y->room_bytes, PROT_READ | PROT_WRITE) != 0)
            return err_set(e, ERR_ENV, "no memory for a buffer of %zu MiB: %s", y->room_bytes >> 20,
                           strerror(errno));
        y->data = at;
        f->data[i] = y->data;
        paint(y->room, y->data);
        memcpy(y->data, copy_of(f, i), y->data_bytes);
        paint(y->data + y->data_bytes, y->room + y->room_bytes);
        if (!y->written && mprotect(y->room, y->room_bytes, PROT_READ) != 0)
            return err_set(e, ERR_ENV, "mprotect: %s", strerror(errno));
    }
    return true;
}

bool fence_drop(struct fence *f, int first, int n, struct rng *move, struct err *e)
{
    for (int i = first; i < first + n; i++) {
        struct yard *y = &f->yard[i];
        if (madvise(y->room, y->room_bytes, MADV_DONTNEED) != 0)
            return err_set(e, ERR_ENV, "madvise: %s", strerror(errno));
        y->data = NULL;
        if (!move)
            continue;
        if (mprotect(y->room, y->room_bytes, PROT_NONE) != 0)
            return err_set(e, ERR_ENV, "mprotect: %s", strerror(errno));
        y->room = y->slot + (size_t)rng_range(move, 0, (int64_t)(MOVE_BYTES / f->page)) * f->page;
        ask_for_huge_pages(f, y);
    }
    return true;
}

/* Returns the bytes from `from` to the first overwritten word in [from, to), or -1. */
static int64_t first_damage(const char *from, const char *to)
{
    const uint32_t *p = (const uint32_t *)(const void *)from;
    for (size_t i = 0; i < (size_t)(to - from) / sizeof *p; i++)
        if (p[i] != CANARY)
            return (int64_t)(i * sizeof *p);
    return -1;
}

static int64_t last_damage(const char *from, const char *to)
{
    const uint32_t *p = (const uint32_t *)(const void *)to;
    for (size_t i = 1; i <= (size_t)(to - from) / sizeof *p; i++)
        if (p[-(ptrdiff_t)i] != CANARY)
            return (int64_t)(i * sizeof *p);
    return -1;
}

bool fence_whole(const struct fence *f, struct fault *damage)
{
    for (int i = 0; i < f->n; i++) {
        const struct yard *y = &f->yard[i];
        if (!y->data)
            continue;
        int64_t behind = first_damage(y->data + y->data_bytes, y->room + y->room_bytes);
        int64_t before = last_damage(y->room, y->data);
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

void fence_collect(struct fence *f, int first, int n)
{
    for (int i = first; i < first + n; i++)
        if (f->yard[i].written)
            memcpy(copy_of(f, i), f->yard[i].data, f->yard[i].data_bytes);
}

bool fence_same(const struct fence *f, int first, int n)
{
    bool same = true;
    for (int i = first; i < first + n && same; i++)
        if (shared_buffers(f->shared)[i].result)
            same = memcmp(copy_of(f, i), f->yard[i].data, f->yard[i].data_bytes) == 0;
    return same;
}

/* Overwrites a few random elements.  Elements that the kernel never writes, such as the padding
 * of a layout, are not changed: they are poison in the copy. */
static void spoil_few(uint32_t *data, const uint32_t *copy, size_t words, struct rng *few)
{
    for (int k = 0; words > 0 && k < SPOILT; k++) {
        size_t at = (size_t)rng_range(few, 0, (int64_t)words - 1);
        if (copy[at] != BUFFER_POISON)
            data[at] = BUFFER_POISON;
    }
}

void fence_spoil(struct fence *f, int first, int n, struct rng *few)
{
    for (int i = first; i < first + n; i++) {
        const struct yard *y = &f->yard[i];
        uint32_t *data = (uint32_t *)(void *)y->data;
        size_t words = y->data_bytes / sizeof *data;
        if (!y->written)
            continue;
        if (few)
            spoil_few(data, copy_of(f, i), words, few);
        else
            for (size_t k = 0; k < words; k++)
                data[k] = BUFFER_POISON;
    }
}

/* Locates an address. An address between two buffers belongs to the nearer one. */
void fence_locate(const struct fence *f, uint64_t address, struct fault *out)
{
    uint64_t map = (uint64_t)(uintptr_t)f->map, best = UINT64_MAX;
    out->where = address < 65536 ? FAULT_NULL : FAULT_ELSEWHERE;
    if (address < map || address >= map + f->map_bytes)
        return;
    for (int i = 0; i < f->n; i++) {
        const struct yard *y = &f->yard[i];
        uint64_t start = (uint64_t)(uintptr_t)(y->data ? y->data : y->room);
        uint64_t end = start + y->data_bytes;
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
