/* What the parts of the parent's side share.  Private to child*.c. */
#ifndef TS_PROFILE_CHILD_IMPL_H
#define TS_PROFILE_CHILD_IMPL_H
#include "profile/child/child.h"

#include <sys/types.h>

struct child {
    struct child_opts opts;
    struct child_buffer buffer[PROTOCOL_MAX_BUFFERS];
    pid_t pid;                                            /* 0 = not started or reaped */
    struct err death;                                     /* that it was killed, and by what */
    int socket, memory, log;                              /* -1 = closed */
    /* Between runner [0] and the process of the ceiling [1]; this process's ends are closed when
     * that runs. */
    int ceiling[2];
    pid_t ceiling_pid;                                    /* 0 = not started */
    /* Once a kernel has run, any byte in here is its own: what lies where is kept outside. */
    struct shared *shared;
    size_t shared_bytes;
    int64_t sim_at, buffer_at[PROTOCOL_MAX_BUFFERS];
    struct shared_sim sim;                                /* its counts and offsets only */
    int repeat;                                           /* while sampling once more */
    double copy_s;                                        /* allowance for moving the buffers */
    double *sample[SERIES_COUNT];                         /* of the last child_time; NULL = none */
};

/* child_start.c.  A copy of fd out of the way of the descriptors that the runner will have. */
int child_move_up(int fd);
/* child_read.c: answers in memory that a kernel could write are checked, false with ERR_CRASH where
 * they cannot be true.  A text: ended, with nothing in it that moves a terminal. */
void child_clean_text(char *text, size_t n);
bool child_overwritten(const char *what, struct err *e);  /* false */
bool child_samples_sound(const double *sample, int n, struct err *e);
bool child_counts_sound(struct counts *c, struct err *e);
bool child_simulation_sound(const struct trace_table *t, const struct simulation *s,
                            struct err *e);
/* asked: as it was given to the runner; what is not counted is taken from there. */
bool child_detail_sound(struct sim_detail *d, const struct sim_detail *asked, struct err *e);
/* The memory file, laid out and mapped: a new one, or the same for other buffers.  ERR_ENV. */
bool child_make_shared(struct child *c, struct err *e);
bool child_share_again(struct child *c, struct err *e);
/* Starts the runner at the end of the socket pair that is its; an errno. */
int child_spawn(struct child *c, const char *path, int socket);
/* The process that samples the ceiling in this object, at its end of c->ceiling; an errno. */
int child_spawn_ceiling(struct child *c, const char *path, const char *so_path);
#endif
