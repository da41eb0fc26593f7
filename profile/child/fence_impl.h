/* Internal representation of the guarded buffers. Private to profile/child/fence.c and pages.c. */
#ifndef TS_PROFILE_FENCE_IMPL_H
#define TS_PROFILE_FENCE_IMPL_H
#include "profile/child/fence.h"

struct yard {
    char *slot;  /* start of the address range; room begins there or up to MOVE_BYTES later */
    char *room, *data;                    /* the accessible pages, and the buffer in them */
    size_t room_bytes, data_bytes;
    bool written;
};

struct fence {
    struct shared *shared;
    size_t page;                          /* 2 MiB when huge ones were asked for */
    char *map;
    size_t map_bytes;
    int n;
    struct yard *yard;                    /* n of them */
    void **data;
};
#endif
