/* CUPTI, NVIDIA's library of GPU counters, loaded at run time ($TILESCOPE_CUPTI names another
 * file). The structs are those of CUPTI 13 under our own names: one of CUPTI's headers is C++, and
 * the build must not need these headers. Each argument of a call is a struct that begins with
 * CUPTI_HEAD: its own size up to the end of its last field, and a pointer that stays NULL.
 *
 * cupti_metrics.h finds out which metrics a chip has; CUPTI needs no GPU to say this. cupti_count.h
 * counts. */
#ifndef TS_COUNTERS_CUPTI_H
#define TS_COUNTERS_CUPTI_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/base/err.h"

#define CUPTI_HEAD size_t size; void *reserved

struct cupti_plain { CUPTI_HEAD; };
struct cupti_chip { CUPTI_HEAD; size_t device; const char *name; };
struct cupti_availability { CUPTI_HEAD; void *context; size_t bytes; uint8_t *image; };
struct cupti_host_open {
    CUPTI_HEAD;
    int profiler;                         /* CUPTI_RANGE_PROFILER */
    const char *chip;
    const uint8_t *availability;          /* counters of the device; NULL: all that the chip has */
    void *host;
};
struct cupti_host_close { CUPTI_HEAD; void *host; };
struct cupti_host_metric {
    CUPTI_HEAD;
    void *host;
    const char *metric, *description, *hardware, *unit;
    int kind;
};
struct cupti_host_add { CUPTI_HEAD; void *host; const char *const *metric; size_t n; };
struct cupti_host_size { CUPTI_HEAD; void *host; size_t bytes; };
struct cupti_host_config { CUPTI_HEAD; void *host; size_t bytes; uint8_t *image; };
struct cupti_host_passes { CUPTI_HEAD; size_t bytes; uint8_t *image; size_t passes; };
struct cupti_host_values {
    CUPTI_HEAD;
    void *host;
    const uint8_t *data;
    size_t bytes, range;
    const char *const *metric;
    size_t n;
    double *value;
};
struct cupti_range_enable { CUPTI_HEAD; void *context, *object; };
struct cupti_range { CUPTI_HEAD; void *object; };
struct cupti_range_config {
    CUPTI_HEAD;
    void *object;
    size_t config_bytes;
    const uint8_t *config;
    size_t data_bytes;
    uint8_t *data;
    int range, replay;                    /* CUPTI_USER_RANGE, CUPTI_USER_REPLAY */
    size_t most_ranges;
    uint16_t levels, least_level;
    size_t pass;
    uint16_t level;
};
struct cupti_range_stop { CUPTI_HEAD; void *object; size_t pass, level; uint8_t all_passes; };
struct cupti_range_push { CUPTI_HEAD; void *object; const char *name; };
struct cupti_range_decode { CUPTI_HEAD; void *object; size_t dropped; };
struct cupti_range_data_size {
    CUPTI_HEAD;
    void *object;
    const char *const *metric;
    size_t n, most_ranges;
    uint32_t most_nodes;
    size_t bytes;
};
struct cupti_range_data { CUPTI_HEAD; void *object; size_t bytes; uint8_t *data; };

/* The head of the record of a kernel, the same in CUPTI 12 and 13. */
struct cupti_kernel_record {
    int kind;                             /* CUPTI_CONCURRENT_KERNEL */
    uint8_t cache_config, shared_config;
    uint16_t registers;
    int partition_requested, partition_executed;
    uint64_t start, end, completed;       /* nanoseconds */
};

enum {
    CUPTI_RANGE_PROFILER = 0, CUPTI_USER_RANGE = 2, CUPTI_USER_REPLAY = 3,
    CUPTI_CONCURRENT_KERNEL = 10, CUPTI_FLUSH_FORCED = 1,
    CUPTI_NO_METRIC = 17, CUPTI_QUEUE_EMPTY = 18, CUPTI_NO_PRIVILEGE = 35
};

/* Returns the size of a struct without padding behind `last`, its last field. */
#define CUPTI_SIZE(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

typedef void cupti_give_buffer(uint8_t **buffer, size_t *bytes, size_t *most_records);
typedef void cupti_take_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
                               size_t valid);
struct cupti {
#define FN(member, name, parameter) int (*member)(struct parameter *);
#include "profile/counters/cupti.def"
    int (*version)(uint32_t *version);
    int (*result_text)(int result, const char **text);
    int (*activity_callbacks)(cupti_give_buffer *give, cupti_take_buffer *take);
    int (*activity_enable)(int kind);
    int (*activity_disable)(int kind);
    int (*activity_flush)(uint32_t flags);
    int (*activity_next)(uint8_t *buffer, size_t bytes, void **record);
};

/* Loads CUPTI. ERR_ENV: it is missing, or so old that it lacks one of these functions. */
bool cupti_open(struct cupti *c, struct err *e);
/* Whether a call succeeded; if not, ERR_ENV with "CALL: CUPTI_ERROR_...". */
bool cupti_ok(const struct cupti *c, int result, const char *call, struct err *e);
#endif
