/* A GPU, used through its driver: buffers, modules, launches, times. A guard of 256 bytes with a
 * known pattern lies on each side of a buffer. A process whose kernel caused a fault can no longer
 * use the device, and a driver can hang. Therefore only a process that may be killed opens a device
 * (tilescope-runner --device). */
#ifndef TS_CUDA_DEVICE_H
#define TS_CUDA_DEVICE_H
#include <stdint.h>

#include "profile/cuda/object.h"

/* The properties of a device.  driver: the newest CUDA version that the driver supports, "13.0".
 * clock_mhz, memory_mhz: the highest clock rates; 0 = unknown. */
struct cuda_info {
    char name[96], driver[16];
    int major, minor;                     /* compute capability */
    int multiprocessors, clock_mhz, memory_mhz;
    int64_t l2_bytes, memory_bytes;
    int64_t shared_bytes;                 /* the most shared memory of a block */
};
/* Prints the properties as text, one line per field. */
void cuda_info_print(struct str *out, const struct cuda_info *i);
/* Parses the text of cuda_info_print.  ERR_ENV: the text has another form, or the properties cannot
 * be true. */
bool cuda_info_read(const char *text, struct cuda_info *out, struct err *e);

struct cuda_device;
/* Opens the first device, for n_buffers buffers and n_modules modules.  ERR_ENV.  The device is
 * never closed: it ends with the process. */
bool cuda_device_open(int n_buffers, int n_modules, struct cuda_device **out, struct err *e);
bool cuda_device_info(const struct cuda_device *d, struct cuda_info *out, struct err *e);

/* Loads *o as module number `module`, which replaces the previous module of this number.  The
 * launches of *o, with their names and arguments, must live as long as the module; the cubin of *o
 * need not.  ERR_COMPILE if a kernel needs too much shared memory, else the errors of cuda_ok. */
bool cuda_device_load(struct cuda_device *d, int module, const struct cuda_object *o,
                      struct err *e);
/* Copies data to a buffer.  A buffer without memory gets `bytes` bytes; a buffer with memory must
 * have exactly `bytes` bytes. */
bool cuda_device_put(struct cuda_device *d, int buffer, const void *data, size_t bytes,
                     struct err *e);
bool cuda_device_get(const struct cuda_device *d, int buffer, void *data, struct err *e);
/* Frees the memory of a buffer, if it has memory. */
bool cuda_device_drop(struct cuda_device *d, int buffer, struct err *e);
/* Checks the guards of all buffers.  *buffer: a buffer whose guard was overwritten, or -1.
 * *distance: bytes from the end of this buffer to the damage.  For damage before the buffer it is
 * below 0: minus the bytes from the damage to the start of the buffer. */
bool cuda_device_guards(const struct cuda_device *d, int *buffer, int64_t *distance,
                        struct err *e);
/* Makes n calls and waits for them.  Each call makes all launches of the module; buffer 0 of a
 * launch is buffer `first` of the device. *seconds: the device's time for all n calls, between two
 * events.  The errors are those of cuda_ok, and ERR_ENV if the time is impossible. */
bool cuda_device_run(struct cuda_device *d, int module, int first, long n, double *seconds,
                     struct err *e);
/* Calls `queue`, which puts work of a vendor library on the default stream, and waits for that
 * work. *seconds: the device's time for the work, between two events. */
bool cuda_device_time(struct cuda_device *d, bool (*queue)(void *ctx, struct err *e), void *ctx,
                      double *seconds, struct err *e);
void *cuda_device_context(const struct cuda_device *d);    /* the driver's CUcontext */
/* Writes `bytes` bytes of memory that no buffer uses.  This replaces the content of the caches. */
bool cuda_device_flush(struct cuda_device *d, int64_t bytes, struct err *e);
#endif
