/* What the parts of the parent's side share.  Private to profile/child*.c. */
#ifndef TS_PROFILE_CHILD_IMPL_H
#define TS_PROFILE_CHILD_IMPL_H
#include "profile/child.h"

#include <sys/types.h>

struct child {
    struct child_opts opts;
    struct child_buffer buffer[PROTOCOL_MAX_BUFFERS];
    pid_t pid;                                            /* 0 = not started or reaped */
    int socket, memory, log;                              /* -1 = closed */
    struct shared *shared;
    size_t shared_bytes;
    int repeat;                                           /* while sampling once more */
    double copy_s;                                        /* allowance for moving the buffers */
    double *sample[SERIES_COUNT];                         /* of the last child_time; NULL = none */
};

/* child_start.c.  A copy of fd out of the way of the descriptors that the runner will have. */
int child_move_up(int fd);
/* The memory file, laid out and mapped: a new one, or the same for other buffers.  ERR_ENV. */
bool child_make_shared(struct child *c, struct err *e);
bool child_share_again(struct child *c, struct err *e);
/* Starts the runner at the end of the socket pair that is its; an errno. */
int child_spawn(struct child *c, const char *path, int socket);
#endif
