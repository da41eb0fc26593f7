#include "profile/cuda/device.h"

#include <stdio.h>
#include <string.h>

#include "kernels/base/subprocess.h"
#include "profile/cuda/driver.h"

#define GUARD_BYTES 256                   /* the alignment of memory from the driver */
#define GUARD 0x7ffdu                     /* as in guarded.c; two in a row are a quiet NaN */
#define GUARD_HALVES (GUARD_BYTES / (int)sizeof(uint16_t))
#define CLOCKS_DIFFER_S 1e-3  /* most by which the device's time may exceed the host's */

/* at: address of the data; 0 = the buffer has no memory. */
struct device_buffer { CUdeviceptr at; size_t bytes; };
struct device_module {
    CUmodule module;
    struct gen_launches launches;
    CUfunction *function;                 /* the kernel of each launch */
};

struct cuda_device {
    struct cuda_driver driver;
    CUdevice device;
    CUcontext context;
    int n_buffers;
    struct device_buffer *buffer;
    struct device_module *module;
    CUevent start, stop;
    CUdeviceptr other;                    /* memory that cuda_device_flush writes */
    int64_t other_bytes;
    uint16_t guard[GUARD_HALVES];
};

/* Calls a function of the driver; false with *e. */
#define CALL(d, function, arguments) \
    cuda_ok(&(d)->driver, (d)->driver.function arguments, #function, e)

/* --- Properties ------------------------------------------------------------------------------- */

void cuda_info_print(struct str *out, const struct cuda_info *i)
{
    str_printf(out, "name %s\ndriver %s\ncapability %d.%d\nmultiprocessors %d\nclock %d\n"
               "memory_clock %d\nl2 %lld\nmemory %lld\nshared %lld\n", i->name, i->driver,
               i->major, i->minor, i->multiprocessors, i->clock_mhz, i->memory_mhz,
               (long long)i->l2_bytes, (long long)i->memory_bytes, (long long)i->shared_bytes);
}

bool cuda_info_read(const char *text, struct cuda_info *out, struct err *e)
{
    long long l2 = 0, memory = 0, shared = 0;
    *out = (struct cuda_info){ .major = 0 };
    int n = sscanf(text, "name %95[^\n]\ndriver %15s\ncapability %d.%d\nmultiprocessors %d\n"
                   "clock %d\nmemory_clock %d\nl2 %lld\nmemory %lld\nshared %lld\n", out->name,
                   out->driver, &out->major, &out->minor, &out->multiprocessors, &out->clock_mhz,
                   &out->memory_mhz, &l2, &memory, &shared);
    out->l2_bytes = l2;
    out->memory_bytes = memory;
    out->shared_bytes = shared;
    for (char *c = out->name; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    return (n == 10 && out->major > 0 && out->major < 100 && out->minor >= 0 && out->minor < 10
            && out->multiprocessors > 0 && l2 >= 0 && memory > 0 && shared > 0)
        || err_set(e, ERR_ENV, "the CUDA driver reports impossible properties of the device: "
                   "%.200s", text);
}

static bool take_attribute(const struct cuda_device *d, CUdevice_attribute attribute, int *out,
                           struct err *e)
{
    return CALL(d, cuDeviceGetAttribute, (out, attribute, d->device));
}

bool cuda_device_info(const struct cuda_device *d, struct cuda_info *out, struct err *e)
{
    int version = 0, l2 = 0, shared = 0, khz = 0, memory_khz = 0;
    size_t bytes = 0;
    struct err ignored;
    *out = (struct cuda_info){ .major = 0 };
    if (!CALL(d, cuDeviceGetName, (out->name, (int)sizeof out->name - 1, d->device))
        || !CALL(d, cuDriverGetVersion, (&version))
        || !CALL(d, cuDeviceTotalMem_v2, (&bytes, d->device))
        || !take_attribute(d, CUDA_ATTRIBUTE_MAJOR, &out->major, e)
        || !take_attribute(d, CUDA_ATTRIBUTE_MINOR, &out->minor, e)
        || !take_attribute(d, CUDA_ATTRIBUTE_MULTIPROCESSORS, &out->multiprocessors, e)
        || !take_attribute(d, CUDA_ATTRIBUTE_SHARED_OPTIN, &shared, e)
        || !take_attribute(d, CUDA_ATTRIBUTE_L2, &l2, e))
        return false;
    snprintf(out->driver, sizeof out->driver, "%d.%d", version / 1000, version % 1000 / 10);
    if (take_attribute(d, CUDA_ATTRIBUTE_CLOCK, &khz, &ignored))
        out->clock_mhz = khz / 1000;
    if (take_attribute(d, CUDA_ATTRIBUTE_MEMORY_CLOCK, &memory_khz, &ignored))
        out->memory_mhz = memory_khz / 1000;
    out->l2_bytes = l2;
    out->memory_bytes = (int64_t)bytes;
    out->shared_bytes = shared;
    return true;
}

/* --- Opening ---------------------------------------------------------------------------------- */

static bool find_device(struct cuda_device *d, struct err *e)
{
    int n = 0;
    if (!CALL(d, cuDeviceGetCount, (&n)))
        return false;
    if (n < 1)
        return err_set(e, ERR_ENV, "the CUDA driver finds no device");
    return CALL(d, cuDeviceGet, (&d->device, 0))
        && CALL(d, cuDevicePrimaryCtxRetain, (&d->context, d->device))
        && CALL(d, cuCtxSetCurrent, (d->context));
}

bool cuda_device_open(int n_buffers, int n_modules, struct cuda_device **out, struct err *e)
{
    struct cuda_device *d = xcalloc(1, sizeof *d);
    d->n_buffers = n_buffers;
    d->buffer = xcalloc((size_t)n_buffers + 1, sizeof *d->buffer);
    d->module = xcalloc((size_t)n_modules + 1, sizeof *d->module);
    for (int i = 0; i < GUARD_HALVES; i++)
        d->guard[i] = GUARD;
    *out = d;
    return cuda_driver_open(&d->driver, e) && find_device(d, e)
        && CALL(d, cuEventCreate, (&d->start, 0)) && CALL(d, cuEventCreate, (&d->stop, 0));
}

/* Lets a kernel have the dynamic shared memory of its launch, even if this is more than a block
 * gets by default. */
static bool allow_shared(struct cuda_device *d, CUfunction function, const struct gen_launch *l,
                         struct err *e)
{
    int most = 0;
    if (l->shared == 0)
        return true;
    if (!take_attribute(d, CUDA_ATTRIBUTE_SHARED_OPTIN, &most, e))
        return false;
    if (l->shared > most)
        return err_set(e, ERR_COMPILE, "%s needs %lld bytes of shared memory, and a block of this"
                       " device has at most %d", l->name, (long long)l->shared, most);
    return CALL(d, cuFuncSetAttribute, (function, CUDA_FUNCTION_DYNAMIC_SHARED, (int)l->shared));
}

bool cuda_device_load(struct cuda_device *d, int module, const struct cuda_object *o,
                      struct err *e)
{
    struct device_module *m = &d->module[module];
    if (m->module && !CALL(d, cuModuleUnload, (m->module)))
        return false;
    m->module = NULL;
    m->launches = o->launches;
    m->function = xrealloc(m->function, sizeof *m->function * (size_t)(o->launches.n + 1));
    if (!CALL(d, cuModuleLoadData, (&m->module, o->cubin)))
        return false;
    for (int i = 0; i < o->launches.n; i++) {
        const struct gen_launch *l = &o->launches.launch[i];
        if (!CALL(d, cuModuleGetFunction, (&m->function[i], m->module, l->name))
            || !allow_shared(d, m->function[i], l, e))
            return false;
    }
    return true;
}

/* --- Buffers ---------------------------------------------------------------------------------- */

static bool make_room(struct cuda_device *d, struct device_buffer *b, size_t bytes, struct err *e)
{
    CUdeviceptr room = 0;
    if (b->at)
        return true;
    if (!CALL(d, cuMemAlloc_v2, (&room, bytes + 2 * GUARD_BYTES)))
        return false;
    b->at = room + GUARD_BYTES;
    b->bytes = bytes;
    return CALL(d, cuMemcpyHtoD_v2, (room, d->guard, GUARD_BYTES))
        && CALL(d, cuMemcpyHtoD_v2, (b->at + bytes, d->guard, GUARD_BYTES));
}

bool cuda_device_put(struct cuda_device *d, int buffer, const void *data, size_t bytes,
                     struct err *e)
{
    struct device_buffer *b = &d->buffer[buffer];
    return make_room(d, b, bytes, e) && CALL(d, cuMemcpyHtoD_v2, (b->at, data, bytes));
}

bool cuda_device_get(const struct cuda_device *d, int buffer, void *data, struct err *e)
{
    const struct device_buffer *b = &d->buffer[buffer];
    return CALL(d, cuMemcpyDtoH_v2, (data, b->at, b->bytes));
}

bool cuda_device_drop(struct cuda_device *d, int buffer, struct err *e)
{
    struct device_buffer *b = &d->buffer[buffer];
    if (b->at && !CALL(d, cuMemFree_v2, (b->at - GUARD_BYTES)))
        return false;
    b->at = 0;
    return true;
}

/* Returns the bytes from the start of the last damaged word (4 bytes) of a guard to the guard's
 * end; 0: no damage. If only half of a word is damaged, the result is the bytes from that half. */
static int64_t from_end(const uint16_t *guard)
{
    int i = 1;
    while (i <= GUARD_HALVES && guard[GUARD_HALVES - i] == GUARD)
        i++;
    if (i > GUARD_HALVES)
        return 0;
    i += i % 2 && guard[GUARD_HALVES - i - 1] != GUARD;
    return i * (int64_t)sizeof *guard;
}

/* Looks for damage behind the data of b.  If there is none, looks before the data. */
static bool look_at(const struct cuda_device *d, const struct device_buffer *b, int64_t *distance,
                    bool *damaged, struct err *e)
{
    uint16_t before[GUARD_HALVES], behind[GUARD_HALVES];
    if (!CALL(d, cuMemcpyDtoH_v2, (before, b->at - GUARD_BYTES, GUARD_BYTES))
        || !CALL(d, cuMemcpyDtoH_v2, (behind, b->at + b->bytes, GUARD_BYTES)))
        return false;
    int i = 0;
    while (i < GUARD_HALVES && behind[i] == GUARD)
        i++;
    *distance = i < GUARD_HALVES ? i * (int64_t)sizeof *behind : -from_end(before);
    *damaged = i < GUARD_HALVES || *distance < 0;
    return true;
}

bool cuda_device_guards(const struct cuda_device *d, int *buffer, int64_t *distance,
                        struct err *e)
{
    bool damaged = false;
    *buffer = -1;
    for (int i = 0; i < d->n_buffers && !damaged; i++) {
        if (!d->buffer[i].at)
            continue;
        if (!look_at(d, &d->buffer[i], distance, &damaged, e))
            return false;
        if (damaged)
            *buffer = i;
    }
    return true;
}

bool cuda_device_flush(struct cuda_device *d, int64_t bytes, struct err *e)
{
    if (d->other_bytes < bytes) {
        if (d->other && !CALL(d, cuMemFree_v2, (d->other)))
            return false;
        d->other = 0;
        d->other_bytes = 0;
        if (!CALL(d, cuMemAlloc_v2, (&d->other, (size_t)bytes)))
            return false;
        d->other_bytes = bytes;
    }
    return CALL(d, cuMemsetD8_v2, (d->other, 0, (size_t)bytes)) && CALL(d, cuCtxSynchronize, ());
}

/* --- Launches --------------------------------------------------------------------------------- */

/* Launches a kernel. All entries of its argument list are valid pointers, because a driver may read
 * more entries than the kernel has. */
static bool launch(struct cuda_device *d, CUfunction function, const struct gen_launch *l,
                   int first, struct err *e)
{
    void *argument[CUDA_MAX_ARGUMENTS + 1];
    unsigned x[COUNT_OF(l->extent)];
    for (int i = 0; i < COUNT_OF(argument); i++)
        argument[i] = &d->buffer[first + (i < l->n ? l->argument[i] : 0)].at;
    for (int i = 0; i < COUNT_OF(x); i++)
        x[i] = (unsigned)l->extent[i];
    CUresult code = d->driver.cuLaunchKernel(function, x[0], x[1], x[2], x[3], x[4], x[5],
                                             (unsigned)l->shared, NULL, argument, NULL);
    return cuda_ok(&d->driver, code, l->name, e);
}

static bool launch_all(struct cuda_device *d, const struct device_module *m, int first, long n,
                       struct err *e)
{
    for (long k = 0; k < n; k++)
        for (int i = 0; i < m->launches.n; i++)
            if (!launch(d, m->function[i], &m->launches.launch[i], first, e))
                return false;
    return true;
}

bool cuda_device_time(struct cuda_device *d, bool (*queue)(void *ctx, struct err *e), void *ctx,
                      double *seconds, struct err *e)
{
    float ms = -1;
    double begin = clock_s();
    if (!CALL(d, cuEventRecord, (d->start, NULL)) || !queue(ctx, e)
        || !CALL(d, cuEventRecord, (d->stop, NULL)) || !CALL(d, cuEventSynchronize, (d->stop))
        || !CALL(d, cuEventElapsedTime, (&ms, d->start, d->stop)))
        return false;
    double here = clock_s() - begin;
    *seconds = 1e-3 * (double)ms;
    return (*seconds > 0 && *seconds <= here + CLOCKS_DIFFER_S)
        || err_set(e, ERR_ENV, "the CUDA driver reports %.3g s for work that took %.3g s by this "
                   "computer's clock", *seconds, here);
}

struct launches { struct cuda_device *d; const struct device_module *module; int first; long n; };

static bool queue_launches(void *ctx, struct err *e)
{
    const struct launches *l = ctx;
    return launch_all(l->d, l->module, l->first, l->n, e);
}

bool cuda_device_run(struct cuda_device *d, int module, int first, long n, double *seconds,
                     struct err *e)
{
    struct launches l = { d, &d->module[module], first, n };
    return cuda_device_time(d, queue_launches, &l, seconds, e);
}

void *cuda_device_context(const struct cuda_device *d)
{
    return d->context;
}
