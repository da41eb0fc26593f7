/* The representation of guarded buffers. Private to guarded.c and pages.c. */
#ifndef TS_PROFILE_GUARDED_IMPL_H
#define TS_PROFILE_GUARDED_IMPL_H
#include "profile/child/guarded.h"

struct guarded_buffer {
    char *slot;  /* start of the address range; room begins there or up to MOVE_BYTES later */
    char *room, *data;                    /* the accessible pages, and the buffer in them */
    size_t room_bytes, data_bytes;
    bool written;
};

struct guarded {
    struct shared *shared;
    size_t page;  /* bytes of a page; 2 MiB when huge pages were asked for */
    char *map;
    size_t map_bytes;
    int n;
    struct guarded_buffer *buffer;                    /* n of them */
    void **data;                          /* per buffer: its data, as kernels get them */
};
#endif
