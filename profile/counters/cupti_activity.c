/* The times of kernels, by CUPTI's records of activity. */
#include "profile/counters/cupti_count.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "profile/counters/cupti.h"

#define BUFFER_BYTES ((size_t)256 << 10)
#define BUFFER_ALIGN 8                    /* alignment that CUPTI requires */
#define LONGEST_NS 3.6e12                 /* longest plausible time of a kernel: an hour */

/* Global, because CUPTI delivers buffers on a thread of its own and gives callbacks no argument. */
static struct {
    pthread_mutex_t lock;
    struct cupti cupti;
    struct cupti_kernels sum;
    int broken;                           /* number of records with impossible times */
} seen = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void give_buffer(uint8_t **buffer, size_t *bytes, size_t *most_records)
{
    *buffer = aligned_alloc(BUFFER_ALIGN, BUFFER_BYTES);
    *bytes = *buffer ? BUFFER_BYTES : 0;
    *most_records = 0;                    /* 0: as many records as fit */
}

static void take_record(const void *record)
{
    struct cupti_kernel_record r;
    memcpy(&r.kind, record, sizeof r.kind);
    if (r.kind != CUPTI_CONCURRENT_KERNEL)
        return;
    memcpy(&r, record, sizeof r);
    double ns = r.end > r.start ? (double)(r.end - r.start) : 0;
    if (r.start == 0 || !(ns > 0) || ns > LONGEST_NS) {
        seen.broken++;
        return;
    }
    seen.sum.launches++;
    seen.sum.ns += ns;
    if (r.registers > seen.sum.registers)
        seen.sum.registers = r.registers;
}

static void take_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
                        size_t valid)
{
    void *record = NULL;
    (void)context;
    (void)stream;
    pthread_mutex_lock(&seen.lock);
    if (buffer && valid <= bytes)
        while (seen.cupti.activity_next(buffer, valid, &record) == 0 && record)
            take_record(record);
    pthread_mutex_unlock(&seen.lock);
    free(buffer);
}

/* Runs the work while CUPTI records its kernels. */
static bool watch(const struct cupti *c, const struct cupti_work *w, struct err *e)
{
    if (!cupti_ok(c, c->activity_callbacks(give_buffer, take_buffer),
                  "cuptiActivityRegisterCallbacks", e)
        || !cupti_ok(c, c->activity_enable(CUPTI_CONCURRENT_KERNEL), "cuptiActivityEnable", e))
        return false;
    bool ok = w->run(w->arg, e);
    int flushed = c->activity_flush(CUPTI_FLUSH_FORCED);
    c->activity_disable(CUPTI_CONCURRENT_KERNEL);
    return ok && cupti_ok(c, flushed, "cuptiActivityFlushAll", e);
}

bool cupti_kernels(const struct cupti_work *w, struct cupti_kernels *out, struct err *e)
{
    struct cupti c;
    if (!cupti_open(&c, e))
        return false;
    pthread_mutex_lock(&seen.lock);
    seen.cupti = c;
    seen.sum = (struct cupti_kernels){ .launches = 0 };
    seen.broken = 0;
    pthread_mutex_unlock(&seen.lock);
    if (!watch(&c, w, e))
        return false;
    pthread_mutex_lock(&seen.lock);
    struct cupti_kernels sum = seen.sum;
    int broken = seen.broken;
    pthread_mutex_unlock(&seen.lock);
    if (broken > 0)
        return err_set(e, ERR_ENV, "CUPTI's records of %d kernels have times that cannot be true",
                       broken);
    if (sum.launches == 0)
        return err_set(e, ERR_ENV, "CUPTI has no record of any kernel that ran");
    *out = sum;
    return true;
}
