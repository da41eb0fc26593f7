/* The memory plan of a module: the offsets of its own buffers in one block (SPEC L.1). */
#include <stdlib.h>

#include "kernels/base/arena.h"
#include "kernels/module/module.h"

#define ALIGNMENT 64

static int64_t rounded(int64_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static bool is_own(const struct module *m, int b)
{
    return m->buffer[b].first >= 0 && m->buffer[b].last < m->n_calls;
}

/* Returns the lowest offset at which the `bytes` of buffer b overlap none of the n buffers in
 * placed[] that are alive at the same time. */
static int64_t lowest(const struct module *m, const struct module_plan *p, const int *placed, int n,
                      int b, int64_t bytes)
{
    int64_t at = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (int i = 0; i < n; i++) {
            const struct module_buffer *x = &m->buffer[placed[i]], *y = &m->buffer[b];
            int64_t begin = p->at[placed[i]], end = begin + rounded(buffer_bytes(x->is));
            if (x->first <= y->last && y->first <= x->last && at < end && begin < at + bytes) {
                at = end;
                moved = true;
            }
        }
    }
    return at;
}

/* Returns the most bytes of buffers that are alive during one call. No plan can need less. */
static int64_t most_alive(const struct module *m)
{
    int64_t most = 0;
    for (int i = 0; i < m->n_calls; i++) {
        int64_t alive = 0;
        for (int b = 0; b < m->n_buffers; b++)
            if (is_own(m, b) && m->buffer[b].first <= i && i <= m->buffer[b].last)
                alive += rounded(buffer_bytes(m->buffer[b].is));
        most = alive > most ? alive : most;
    }
    return most;
}

const struct module_plan *module_plan(struct arena *a, const struct module *m)
{
    struct module_plan *p = ARENA_NEW(a, struct module_plan);
    int64_t *at = ARENA_ARRAY(a, int64_t, m->n_buffers);
    int *order = ARENA_ARRAY(a, int, m->n_buffers), n = 0;
    for (int b = 0; b < m->n_buffers; b++) {
        at[b] = -1;
        if (!is_own(m, b))
            continue;
        int i = n++;
        for (; i > 0 && buffer_bytes(m->buffer[order[i - 1]].is) < buffer_bytes(m->buffer[b].is);
             i--)
            order[i] = order[i - 1];
        order[i] = b;
    }
    p->at = at;
    for (int i = 0; i < n; i++) {
        int64_t bytes = rounded(buffer_bytes(m->buffer[order[i]].is));
        at[order[i]] = lowest(m, p, order, i, order[i], bytes);
        p->bytes = at[order[i]] + bytes > p->bytes ? at[order[i]] + bytes : p->bytes;
        p->apart += bytes;
    }
    p->least = most_alive(m);
    return p;
}
