/* A CUDA driver without a GPU, for the tests.  $FAKE_CUDA scripts it: nothing, it has one device; "two",
 * "none", "stub" (cuInit fails), "hang", "die", "exit", "noise" (it prints, and its device has a name
 * of odd bytes).  Functions that it does not need answer with an error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OK = 0, FAKE_ERROR = 34 };

static int is(const char *script)
{
    const char *own = getenv("FAKE_CUDA");
    return own && strcmp(own, script) == 0;
}

int cuInit(unsigned flags)
{
    if (is("hang"))
        sleep(1000);
    if (is("die"))
        abort();
    if (is("exit"))
        exit(0);
    if (is("noise"))
        puts("driver: hello");
    return is("stub") ? FAKE_ERROR : OK;
}

int cuDriverGetVersion(int *version)
{
    *version = 13000;
    return OK;
}

int cuGetErrorName(int code, const char **name)
{
    *name = "CUDA_ERROR_FAKE";
    return OK;
}

int cuDeviceGetCount(int *n)
{
    *n = is("none") ? 0 : is("two") ? 2 : 1;
    return OK;
}

int cuDeviceGet(int *device, int i)
{
    *device = i;
    return OK;
}

int cuDeviceGetName(char *name, int n, int device)
{
    snprintf(name, (size_t)n, is("noise") ? "NVIDIA Fa\xc3\x28\n\033ke" : "NVIDIA Fake");
    return OK;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    *value = attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 16 ? 132 : 1;
    return OK;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    *bytes = (size_t)80 << 30;
    return OK;
}

#define REFUSED(name) int name(void) { return FAKE_ERROR; }
REFUSED(cuDevicePrimaryCtxRetain)
REFUSED(cuCtxSetCurrent)
REFUSED(cuCtxSynchronize)
REFUSED(cuModuleLoadData)
REFUSED(cuModuleUnload)
REFUSED(cuModuleGetFunction)
REFUSED(cuMemAlloc_v2)
REFUSED(cuMemFree_v2)
REFUSED(cuMemcpyHtoD_v2)
REFUSED(cuMemcpyDtoH_v2)
REFUSED(cuMemsetD8_v2)
REFUSED(cuLaunchKernel)
REFUSED(cuEventCreate)
REFUSED(cuEventRecord)
REFUSED(cuEventSynchronize)
REFUSED(cuEventElapsedTime)
