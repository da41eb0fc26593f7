#include "profile/vendor/gpu_vendor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/arena.h"

int gpu_vendor_find(const struct vendor_problem *p, enum vendor_role role)
{
    for (int i = 0; i < p->n_tensors; i++)
        if (p->tensor[i].role == (int32_t)role)
            return i;
    return -1;
}

static size_t bytes_of(const struct vendor_problem *p, int i)
{
    return (size_t)(p->tensor[i].elems * type_get(p->type)->bytes);
}

CUdeviceptr gpu_vendor_memory(const struct vendor_handle *h, int64_t bytes, struct err *e)
{
    CUdeviceptr at = 0;
    CUresult code = h->driver.cuMemAlloc_v2(&at, bytes > 0 ? (size_t)bytes : 1);
    return cuda_ok(&h->driver, code, "cuMemAlloc", e) ? at : 0;
}

static bool upload(struct vendor_handle *h, void *const *buffers, struct err *e)
{
    for (int i = 0; i < h->p.n_tensors; i++) {
        h->host[i] = buffers[i];
        h->data[i] = gpu_vendor_memory(h, (int64_t)bytes_of(&h->p, i), e);
        if (!h->data[i]
            || !cuda_ok(&h->driver, h->driver.cuMemcpyHtoD_v2(h->data[i], buffers[i],
                                                            bytes_of(&h->p, i)),
                        "cuMemcpyHtoD", e))
            return false;
    }
    return true;
}

struct vendor_handle *gpu_vendor_open(const struct vendor_problem *p, const struct gpu_library *l,
                                      void *const *buffers, char *why, size_t n)
{
    struct vendor_handle *h = xcalloc(1, sizeof *h);
    struct err e;
    h->p = *p;
    h->library = l;
    bool ok = cuda_driver_open(&h->driver, &e);
    if (!ok)
        h->driver = (struct cuda_driver){ .cuInit = NULL };
    if (ok && upload(h, buffers, &e) && l->open(h, &e))
        return h;
    snprintf(why, n, "%s", e.text);
    gpu_vendor_close(h);
    return NULL;
}

bool gpu_vendor_run(struct vendor_handle *h)
{
    return h->library->run(h);
}

bool gpu_vendor_output(struct vendor_handle *h)
{
    int out = gpu_vendor_find(&h->p, ROLE_OUT);
    return (!h->library->finish || h->library->finish(h)) && h->driver.cuCtxSynchronize() == 0
        && h->driver.cuMemcpyDtoH_v2(h->host[out], h->data[out], bytes_of(&h->p, out)) == 0;
}

const char *gpu_vendor_implementation(const struct vendor_handle *h)
{
    return h->implementation;
}

const char *gpu_vendor_layout(const struct vendor_handle *h)
{
    return h->layout;
}

void gpu_vendor_close(struct vendor_handle *h)
{
    if (!h)
        return;
    if (h->own)
        h->library->close(h);
    for (int i = 0; i < h->p.n_tensors; i++)
        if (h->data[i])
            h->driver.cuMemFree_v2(h->data[i]);
    free(h);
}
