/* tilescope-runner --once: one call of a kernel in a process that does little else, for tools that
 * watch a whole process (cachegrind).  Prints the seconds of the call.  The process has no socket
 * and no guard pages, because the kernel has been checked before. */
#include "profile/child/server_impl.h"

#include "kernels/base/subprocess.h"

#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define STACK_ALIGN 65536

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/* Writes a block as large as the cache, so that nothing else of this process remains in the cache.
 * The buffers are not in the cache: nothing has accessed them yet. */
static void empty_cache(size_t bytes)
{
    volatile char *block = malloc(bytes + 1);
    for (size_t i = 0; block && i < bytes; i += 16)
        block[i] = 1;
}

/* Calls the kernel on an aligned stack.  Arguments and environment lie above the stack and move it.
 * On a stack that begins at a multiple of STACK_ALIGN, spills share the same cache sets with the
 * buffers in every run. */
static void run_aligned(kernel_fn *run, void *const *buffer)
{
    char *here = __builtin_frame_address(0);
    volatile char *pad = alloca((uintptr_t)here % STACK_ALIGN + 64);
    pad[0] = 0;
    run(buffer);
}

static bool map_buffers(const char *path, unsigned long long address, unsigned long long bytes)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *want = (void *)(uintptr_t)address;
    void *got = fd < 0 ? MAP_FAILED : mmap(want, (size_t)bytes, PROT_READ | PROT_WRITE,
                                           MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
    if (got == want)
        return true;
    fprintf(stderr, "no room for %llu MiB of buffers at 0x%llx: %s\n", bytes >> 20, address,
            got == MAP_FAILED ? strerror(errno) : "something is there");
    return false;
}


/* Returns the number of nops in the padding [p, end); a jump over the rest counts as one. -1: it
 * contains another instruction. */
static int64_t count_nops(const unsigned char *p, const unsigned char *end)
{
    int64_t n = 0;
    while (p < end) {
        while (p < end && (*p == 0x66 || *p == 0x2e))
            p++;
        if (p < end && *p == 0x90) {                      /* a nop of one byte */
            p++;
        } else if (p + 2 < end && p[0] == 0x0f && p[1] == 0x1f) {
            int mode = p[2] >> 6;  /* a nop with an operand: skip sib and offset */
            p += 3 + ((p[2] & 7) == 4) + (mode == 1 ? 1 : mode == 2 ? 4 : 0);
        } else if (p < end && *p == 0xeb) {
            return n + 1;
        } else {
            return -1;
        }
        n++;
    }
    return p == end ? n : -1;
}

/* Writes to a file how often each block ran, then the number of nops in each piece of padding. */
static bool write_counts(void *counting, const char *padding, const char *path)
{
    int64_t *(*blocks)(void) = NULL, *(*pads)(void) = NULL;
    void *h = dlopen(padding, RTLD_NOW | RTLD_LOCAL), *symbol = dlsym(counting, "ts_blocks");
    memcpy(&blocks, &symbol, sizeof symbol);
    symbol = h ? dlsym(h, "ts_pads") : NULL;
    memcpy(&pads, &symbol, sizeof symbol);
    FILE *out = blocks && pads ? fopen(path, "wb") : NULL;
    if (!out)
        return false;
    int64_t *block = blocks(), *pad = pads();
    fwrite(block + 1, sizeof *block, (size_t)block[0], out);
    for (int64_t i = 0; i < pad[0]; i++) {
        int64_t n = count_nops((void *)(uintptr_t)pad[1 + 2 * i],
                               (void *)(uintptr_t)pad[2 + 2 * i]);
        fwrite(&n, sizeof n, 1, out);
    }
    return fclose(out) == 0;
}

int server_once(int argc, char **argv)
{
    enum { SO, FILE_PATH, BYTES, CACHE_BYTES, PADDING, OUT, PARENT, FIRST };
    int n = argc - FIRST;
    if (n < 1) {
        fprintf(stderr, "tilescope-runner is started by tilescope, which measures in it\n");
        return 2;
    }
    /* The process ends with its parent, even if the parent ended before this line. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != atoi(argv[PARENT]))
        return 2;
    void **buffer = xcalloc((size_t)n, sizeof *buffer);
    for (int i = 0; i < n; i++)
        buffer[i] = (void *)(uintptr_t)strtoull(argv[FIRST + i], NULL, 0);
    if (!map_buffers(argv[FILE_PATH], (uintptr_t)buffer[0], strtoull(argv[BYTES], NULL, 0)))
        return 2;
    void *h = dlopen(argv[SO], RTLD_NOW | RTLD_LOCAL);
    void *symbol = h ? dlsym(h, "ts_entry") : NULL;
    if (!symbol) {
        fprintf(stderr, "the compiled kernel cannot be loaded: %s\n", dlerror());
        return 2;
    }
    kernel_fn *run;
    memcpy(&run, &symbol, sizeof run);
    empty_cache(strtoull(argv[CACHE_BYTES], NULL, 0));
    double start = clock_s();
    run_aligned(run, buffer);
    double seconds = clock_s() - start;
    if (!streq(argv[PADDING], "-") && !write_counts(h, argv[PADDING], argv[OUT])) {
        fprintf(stderr, "cannot write the counts of the blocks\n");
        return 2;
    }
    printf("seconds %.6f\n", seconds);
    fflush(stdout);
    _exit(0);
}
