/* A CUDA driver without a GPU, for tests: memory is the host's, and modules are shared objects of
 * the fake NVRTC (nvrtc.c), whose kernels run thread by thread.
 *
 * $FAKE_CUDA is a script, "FUNCTION ACTION [CALL]": at that call of the function (from 1; 0 = every
 * one) the driver fails in a certain way: hang, abort, segv, exit, code=N (an error; from 700 on it
 * sticks), or a lie that only this function knows. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <elf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "profile/cuda/driver.h"

struct CUfunc_st {
    void (*kernel)(void);
    void (*launch)(void (*)(void), const unsigned *, void **, unsigned);
    unsigned shared;                      /* allowed by cuFuncSetAttribute */
};
struct CUevent_st { double at; };
struct CUmod_st { void *object; };

static CUresult stuck;
static char lie[32];                      /* the action of this call, when it is a lie */

/* Acts as the script says at this call.  Returns an error code, or 0. */
static CUresult act(const char *function, int *calls)
{
    char name[64] = "", action[32] = "";
    int at = 0;
    const char *script = getenv("FAKE_CUDA");
    lie[0] = '\0';
    ++*calls;
    if (stuck || !script || sscanf(script, "%63s %31s %d", name, action, &at) < 2
        || strcmp(name, function) != 0 || (at && at != *calls))
        return stuck;
    if (strcmp(action, "hang") == 0)
        for (;;)
            pause();
    if (strcmp(action, "abort") == 0)
        abort();
    if (strcmp(action, "segv") == 0)
        raise(SIGSEGV);
    if (strcmp(action, "exit") == 0)
        _exit(0);
    if (strncmp(action, "code=", 5) == 0) {
        CUresult code = atoi(action + 5);
        stuck = code >= 700 ? code : 0;
        return code;
    }
    memcpy(lie, action, sizeof lie);
    return 0;
}

#define ACT() \
    do { \
        static int calls; \
        CUresult code = act(__func__, &calls); \
        if (code) \
            return code; \
    } while (0)
#define LIES(what) (strcmp(lie, what) == 0)

#define FN(function, parameters) CUresult function parameters;
#include "profile/cuda/driver.def"

CUresult cuInit(unsigned flags)
{
    (void)flags;
    ACT();
    return 0;
}

CUresult cuDriverGetVersion(int *version)
{
    ACT();
    *version = 13000;
    return 0;
}

CUresult cuGetErrorName(CUresult code, const char **name)
{
    static const struct { CUresult code; const char *name; } list[] = {
        { 1, "CUDA_ERROR_INVALID_VALUE" }, { 2, "CUDA_ERROR_OUT_OF_MEMORY" },
        { 34, "CUDA_ERROR_STUB_LIBRARY" }, { 209, "CUDA_ERROR_NO_BINARY_FOR_GPU" },
        { 700, "CUDA_ERROR_ILLEGAL_ADDRESS" }, { 702, "CUDA_ERROR_LAUNCH_TIMEOUT" },
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (list[i].code == code) {
            *name = list[i].name;
            return 0;
        }
    return 1;
}

CUresult cuDeviceGetCount(int *n)
{
    ACT();
    *n = LIES("none") ? 0 : LIES("two") ? 2 : 1;
    return 0;
}

CUresult cuDeviceGet(CUdevice *device, int i)
{
    ACT();
    *device = i;
    return 0;
}

CUresult cuDeviceGetName(char *name, int n, CUdevice device)
{
    (void)device;
    ACT();
    if (LIES("garbage"))
        memset(name, '\n', (size_t)n);
    else
        snprintf(name, (size_t)n, LIES("escape") ? "Fake\033[2JGPU" : "Fake GPU 1");
    return 0;
}

CUresult cuDeviceGetAttribute(int *out, CUdevice_attribute attribute, CUdevice device)
{
    (void)device;
    ACT();
    *out = attribute == CUDA_ATTRIBUTE_MAJOR ? 9
         : attribute == CUDA_ATTRIBUTE_MULTIPROCESSORS ? 4
         : attribute == CUDA_ATTRIBUTE_CLOCK ? 1000000
         : attribute == CUDA_ATTRIBUTE_MEMORY_CLOCK ? 500000
         : attribute == CUDA_ATTRIBUTE_L2 ? 1 << 20
         : attribute == CUDA_ATTRIBUTE_SHARED_OPTIN ? (LIES("small") ? 99 << 10 : 227 << 10) : 0;
    return 0;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    (void)device;
    ACT();
    *bytes = (size_t)1 << 30;
    return 0;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    (void)device;
    ACT();
    static char primary;
    *context = (CUcontext)(void *)&primary;
    return 0;
}

CUresult cuCtxSetCurrent(CUcontext context)
{
    (void)context;
    ACT();
    return 0;
}

CUresult cuCtxSynchronize(void)
{
    ACT();
    return 0;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    const Elf64_Ehdr *head = image;
    char path[64];
    ACT();
    if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0)
        return 200;
    size_t n = head->e_shoff + (size_t)head->e_shentsize * head->e_shnum;
    int fd = memfd_create("module", 0);
    if (fd < 0 || write(fd, image, n) != (ssize_t)n)
        return 2;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    *module = malloc(sizeof **module);
    /* fd stays open: dlopen tells objects apart by their path, and a closed number comes again. */
    (*module)->object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return (*module)->object ? 0 : 209;
}

CUresult cuModuleUnload(CUmodule module)
{
    ACT();
    free(module);
    return 0;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    ACT();
    void *kernel = dlsym(module->object, name), *run = dlsym(module->object, "fake_launch");
    if (!kernel || !run)
        return 500;
    *function = malloc(sizeof **function);
    (*function)->shared = 48 << 10;
    memcpy(&(*function)->kernel, &kernel, sizeof kernel);
    memcpy(&(*function)->launch, &run, sizeof run);
    return 0;
}

CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t bytes)
{
    ACT();
    void *p = aligned_alloc(256, (bytes + 255) / 256 * 256);
    *out = (CUdeviceptr)(uintptr_t)p;
    return p ? 0 : 2;
}

CUresult cuMemFree_v2(CUdeviceptr p)
{
    ACT();
    free((void *)(uintptr_t)p);
    return 0;
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t n)
{
    ACT();
    if (!LIES("skip"))
        memcpy((void *)(uintptr_t)to, from, n);
    return 0;
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t n)
{
    ACT();
    memcpy(to, (const void *)(uintptr_t)from, n);
    return 0;
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t n)
{
    ACT();
    memset((void *)(uintptr_t)to, value, n);
    return 0;
}

/* Lies: skip allows nothing. */
CUresult cuFuncSetAttribute(CUfunction f, CUfunction_attribute attribute, int value)
{
    ACT();
    if (attribute != CUDA_FUNCTION_DYNAMIC_SHARED || value < 0 || value > 227 << 10)
        return 1;
    f->shared = LIES("skip") ? f->shared : (unsigned)value;
    return 0;
}

/* Refuses more shared memory than the kernel was allowed, as the hardware does.
 * Lies: skip does nothing, wrong changes an element of the last result, behind and before write
 * outside of the last argument's buffer (of 4096 bytes), twice is correct but for the order. */
CUresult cuLaunchKernel(CUfunction f, unsigned bx, unsigned by, unsigned bz, unsigned tx,
                        unsigned ty, unsigned tz, unsigned shared, CUstream stream,
                        void **argument, void **extra)
{
    const unsigned size[] = { bx, by, bz, tx, ty, tz };
    (void)stream;
    (void)extra;
    ACT();
    if (tx * ty * tz > 1024 || shared > f->shared)
        return 1;
    uint32_t *last = *(uint32_t **)argument[2];
    if (!LIES("skip"))
        f->launch(f->kernel, size, argument, LIES("less") ? shared / 2 : shared);
    if (LIES("wrong"))
        last[3] ^= 1u << 30;
    if (LIES("behind"))
        last[1024] = 7;
    if (LIES("before"))
        last[-2] = 7;
    return 0;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    (void)flags;
    ACT();
    *event = calloc(1, sizeof **event);
    return 0;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    (void)stream;
    ACT();
    event->at = now();
    return 0;
}

CUresult cuEventSynchronize(CUevent event)
{
    (void)event;
    ACT();
    return 0;
}

CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent stop)
{
    ACT();
    *ms = (float)(1e3 * (stop->at - start->at));
    *ms = LIES("zero") ? 0 : LIES("tiny") ? 1e-9f : LIES("nan") ? 0.0f / 0.0f : LIES("minus") ? -*ms
        : LIES("huge") ? 1e6f : *ms;
    return 0;
}
