/* Vendor libraries of a GPU: cuBLAS and cuDNN.  They are built-in plugins (vendor.h): they load
 * their library at run time, so nothing links it.
 *
 * The driver's context must be current.  `open` copies the buffers to the device; `run` only queues
 * its work on the default stream, as a launch of a kernel does, and the caller waits and measures;
 * `output` waits and copies the result back. */
#ifndef TS_VENDOR_GPU_VENDOR_H
#define TS_VENDOR_GPU_VENDOR_H
#include "profile/cuda/driver.h"
#include "profile/vendor/vendor_impl.h"

/* Load the library; store its version, "13.1.0", and the address of one of its functions.
 * ERR_ENV: the library cannot be loaded. */
bool cublas_there(char *version, size_t n, const void **function, struct err *e);
bool cudnn_there(char *version, size_t n, const void **function, struct err *e);

/* --- Shared by both; private to profile/vendor ------------------------------------------------ */

/* The functions of a library. open: prepares the operator on h->data; run: computes; finish: writes
 * the result in row-major order to the output's h->data; NULL: `run` has done that.  h->own belongs
 * to the library. */
struct gpu_library {
    bool (*open)(struct vendor_handle *h, struct err *e);
    bool (*run)(struct vendor_handle *h);
    bool (*finish)(struct vendor_handle *h);
    void (*close)(struct vendor_handle *h);
};
struct vendor_handle {
    struct vendor_problem p;
    const struct gpu_library *library;
    struct cuda_driver driver;
    void *host[VENDOR_MAX_TENSORS];       /* the caller's buffers */
    CUdeviceptr data[VENDOR_MAX_TENSORS];  /* their copies on the device */
    void *own;
    char implementation[128], layout[64];
};

/* Copies the buffers to the device and opens the library on the copies.  Returns NULL with the
 * reason in `why` if that fails. */
struct vendor_handle *gpu_vendor_open(const struct vendor_problem *p, const struct gpu_library *l,
                                      void *const *buffers, char *why, size_t n);
bool gpu_vendor_run(struct vendor_handle *h);
bool gpu_vendor_output(struct vendor_handle *h);
const char *gpu_vendor_implementation(const struct vendor_handle *h);
const char *gpu_vendor_layout(const struct vendor_handle *h);
void gpu_vendor_close(struct vendor_handle *h);
/* Returns the index of the tensor with this role; -1: there is no such tensor. */
int gpu_vendor_find(const struct vendor_problem *p, enum vendor_role role);
/* Allocates memory of the device.  Returns 0 and sets *e if that fails. */
CUdeviceptr gpu_vendor_memory(const struct vendor_handle *h, int64_t bytes, struct err *e);
static inline void *gpu_pointer(CUdeviceptr at) { return (void *)(uintptr_t)at; }
#endif
