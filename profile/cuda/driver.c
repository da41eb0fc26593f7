#include "profile/cuda/driver.h"

#include "kernels/base/arena.h"
#include "profile/cuda/library.h"

#define LAST_FAULT 719  /* codes from CUDA_ILLEGAL_ADDRESS to this count as a kernel's fault */

bool cuda_ok(const struct cuda_driver *d, CUresult code, const char *call, struct err *e)
{
    const char *name = NULL;
    if (code == 0)
        return true;
    enum err_code kind = code == CUDA_LAUNCH_TIMEOUT ? ERR_TIMEOUT
                       : code >= CUDA_ILLEGAL_ADDRESS && code <= LAST_FAULT ? ERR_CRASH
                       : code >= CUDA_INVALID_IMAGE && code <= CUDA_NOT_FOUND ? ERR_COMPILE
                                                                              : ERR_ENV;
    if (d->cuGetErrorName(code, &name) != 0 || !name)
        return err_set(e, kind, "%s: the driver's error %d, which has no name", call, code);
    return err_set(e, kind, "%s: %.100s", call, name);
}

static bool load(struct cuda_driver *d, struct err *e)
{
    static const struct cuda_library library = {
        .what = "the CUDA driver", .variable = "TILESCOPE_CUDA",
        .names = { "libcuda.so.1", "libcuda.so" }, .fix = "install NVIDIA's driver",
    };
    const struct cuda_symbol symbol[] = {
#define FN(function, parameters) { #function, &d->function },
#include "profile/cuda/driver.def"
    };
    return cuda_library_open(&library, symbol, COUNT_OF(symbol), e);
}

bool cuda_driver_there(struct err *e)
{
    struct cuda_driver d;
    return load(&d, e);
}

bool cuda_driver_open(struct cuda_driver *d, struct err *e)
{
    return load(d, e) && cuda_ok(d, d->cuInit(0), "cuInit", e);
}
