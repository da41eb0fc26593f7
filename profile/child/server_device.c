/* A runner whose kernels run on a GPU. */
#include "profile/child/server_impl.h"

#include <stdio.h>

#include "kernels/base/file.h"

#define MOST_OBJECT_BYTES ((size_t)256 << 20)

bool server_device_open(struct server *r, struct err *e)
{
    return cuda_device_open(r->shared->n_buffers, PROTOCOL_MAX_CONTENDERS, &r->device, e);
}

/* The text and the arena are never freed, because the device refers to names and arguments in
 * them. */
bool server_device_load(struct server *r, const struct request *q, struct err *e)
{
    struct str text = {0};
    struct cuda_object object;
    if (q->slot >= PROTOCOL_MAX_CONTENDERS)
        return err_set(e, ERR_BUG, "a device has no slot %u", q->slot);
    r->loaded[q->slot] = (file_read_regular(q->path, MOST_OBJECT_BYTES, &text, e)
                          || err_set(e, ERR_COMPILE, "the compiled module cannot be read"))
                      && cuda_object_read(arena_new(), str_text(&text), text.len,
                                          r->shared->contender[q->slot].n, &object, e)
                      && cuda_device_load(r->device, (int)q->slot, &object, e);
    return r->loaded[q->slot];
}

struct vendor_calls { struct server *r; int contender; long n; };

static bool queue_vendor(void *ctx, struct err *e)
{
    const struct vendor_calls *c = ctx;
    for (long i = 0; i < c->n; i++)
        if (!c->r->plugin[c->contender]->run(c->r->vendor[c->contender]))
            return err_set(e, ERR_ENV, "the library's primitive failed");
    return true;
}

bool server_device_run(struct server *r, int contender, long n, double *seconds, struct err *e)
{
    struct vendor_calls calls = { r, contender, n };
    if (r->vendor[contender])
        return cuda_device_time(r->device, queue_vendor, &calls, seconds, e);
    return cuda_device_run(r->device, contender, r->shared->contender[contender].first, n, seconds,
                           e);
}

static bool upload(struct server *r, int contender, bool all, struct err *e)
{
    const struct shared_buffer *listed = shared_buffers(r->shared);
    int first = r->shared->contender[contender].first, n = r->shared->contender[contender].n;
    for (int i = first; i < first + n; i++)
        if ((all || listed[i].written)
            && !cuda_device_put(r->device, i, guarded_data(r->guarded)[i],
                                (size_t)listed[i].bytes, e))
            return false;
    return true;
}

bool server_device_place(struct server *r, int contender, struct err *e)
{
    return upload(r, contender, true, e);
}

bool server_device_spoil(struct server *r, int contender, struct err *e)
{
    return upload(r, contender, false, e);
}

bool server_device_fetch(struct server *r, int contender, struct err *e)
{
    const struct shared_buffer *listed = shared_buffers(r->shared);
    int first = r->shared->contender[contender].first, n = r->shared->contender[contender].n;
    for (int i = first; i < first + n; i++)
        if (listed[i].written
            && !cuda_device_get(r->device, i, guarded_data(r->guarded)[i], e))
            return false;
    return true;
}

bool server_device_drop(struct server *r, int contender, struct err *e)
{
    int first = r->shared->contender[contender].first, n = r->shared->contender[contender].n;
    for (int i = first; i < first + n; i++)
        if (!cuda_device_drop(r->device, i, e))
            return false;
    return true;
}

bool server_device_check(struct server *r, struct err *e)
{
    int buffer;
    int64_t distance;
    if (!cuda_device_guards(r->device, &buffer, &distance, e))
        return false;
    if (buffer < 0)
        return true;
    r->shared->fault = (struct fault){
        .where = distance < 0 ? FAULT_BEFORE : FAULT_BEHIND, .access = ACCESS_WRITE,
        .buffer = buffer, .distance = distance < 0 ? -distance : distance,
    };
    return err_set(e, ERR_WRONG, WROTE_OUTSIDE);
}

int server_describe_device(void)
{
    static struct cuda_device *d;         /* open until the process ends */
    struct cuda_info info;
    struct err e;
    struct str text = {0};
    bool ok = cuda_device_open(0, 0, &d, &e) && cuda_device_info(d, &info, &e);
    if (ok)
        cuda_info_print(&text, &info);
    printf("%s\n", ok ? str_text(&text) : e.text);
    str_free(&text);
    return ok ? 0 : 1;
}
