/* GPUs as the simulator knows them: caches, memories and rates, from data sheets (gpu.def).
 *
 * Text form: "h200" or "h100,sms=114,l2=25600": a name, and fields that are set to other values. */
#ifndef TS_PROFILE_GPU_DEVICE_H
#define TS_PROFILE_GPU_DEVICE_H
#include <stdbool.h>
#include <stdint.h>
#include "kernels/base/err.h"
#include "kernels/base/str.h"

/* gpu.def describes the members from sms to dram.  line: bytes of a line, in both caches; sector:
 * bytes of the part of a line that is fetched at once.  Shared memory has `banks` banks with words
 * of `bank` bytes.  The ways of the caches are not published: l1_ways and l2_ways are
 * assumptions. */
struct gpu_device {
    char name[64];                        /* the text form */
    int64_t sms, l1, shared, l2, fmas, tensor_fmas, mhz, l2_rate, dram;
    int64_t line, sector, banks, bank, l1_ways, l2_ways;
};

const struct gpu_device *gpu_device_default(void);
/* Parses the text form. ERR_NAME, ERR_SYNTAX or ERR_RANGE. */
bool gpu_device_parse(const char *text, struct gpu_device *out, struct err *e);
/* Finds the device by `marketing`, the name that the driver gives it.  Returns false if no row of
 * gpu.def fits. */
bool gpu_device_find(const char *marketing, struct gpu_device *out);
#endif
