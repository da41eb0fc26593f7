/* The CUDA driver, loaded at run time ($TILESCOPE_CUDA names another file).  Only processes that
 * may be killed call it, because a driver can hang: tilescope-runner --device. */
#ifndef TS_CUDA_DRIVER_H
#define TS_CUDA_DRIVER_H
#include <stddef.h>

#include "kernels/base/err.h"

/* Types of cuda.h.  They have their original names, so that a test can compare them with cuda.h. */
typedef int CUresult;
typedef int CUdevice;
typedef int CUdevice_attribute;
typedef int CUfunction_attribute;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;

enum {
    CUDA_OUT_OF_MEMORY = 2, CUDA_INVALID_IMAGE = 200, CUDA_NO_BINARY = 209, CUDA_NOT_FOUND = 500,
    CUDA_ILLEGAL_ADDRESS = 700, CUDA_LAUNCH_RESOURCES = 701, CUDA_LAUNCH_TIMEOUT = 702,
    CUDA_ATTRIBUTE_CLOCK = 13, CUDA_ATTRIBUTE_MULTIPROCESSORS = 16,
    CUDA_ATTRIBUTE_MEMORY_CLOCK = 36, CUDA_ATTRIBUTE_L2 = 38, CUDA_ATTRIBUTE_MAJOR = 75,
    CUDA_ATTRIBUTE_MINOR = 76, CUDA_ATTRIBUTE_SHARED_OPTIN = 97,
    CUDA_FUNCTION_DYNAMIC_SHARED = 8
};

struct cuda_driver {
#define FN(function, parameters) CUresult (*function)parameters;
#include "profile/cuda/driver.def"
};

/* Loads the driver and calls cuInit.  ERR_ENV: there is no driver, or none that works. */
bool cuda_driver_open(struct cuda_driver *d, struct err *e);
/* Loads the driver without calling it, to find out whether the file exists.  ERR_ENV. */
bool cuda_driver_there(struct err *e);
/* Whether a call succeeded. If not, the text of *e is `call` and the name of the error: "cuInit:
 * CUDA_ERROR_...". A code without a name is given as a number. The kind of *e is ERR_CRASH or
 * ERR_TIMEOUT for faults of a kernel, ERR_COMPILE for a module that the device cannot run, else
 * ERR_ENV. */
bool cuda_ok(const struct cuda_driver *d, CUresult code, const char *call, struct err *e);
#endif
