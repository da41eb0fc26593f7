/* Shared by the files of the parent process. Private to child*.c. */
#ifndef TS_PROFILE_CHILD_IMPL_H
#define TS_PROFILE_CHILD_IMPL_H
#include "profile/child/child.h"
#include "profile/host/busy.h"

#include <sys/types.h>

struct child {
    struct runner base;
    bool on_device;                       /* its kernels run on the device (device_runner) */
    struct runner_opts opts;
    struct runner_buffer *buffer;         /* opts.n_buffers of them */
    pid_t pid;                                      /* 0 = not started, or already reaped */
    struct err death;  /* ERR_KILLED with the reason if a signal ended the child; else code 0 */
    /* Descriptors: to the runner, of the memory file, of the runner's output; -1 = closed. */
    int socket, memory, log;
    /* Socket pair between the runner [0] and the process of the ceiling [1]. The parent closes
     * its copies once the process of the ceiling runs. */
    int ceiling[2];
    pid_t ceiling_pid;                                    /* 0 = not started */
    /* The shared memory. A kernel can overwrite any byte of *shared, so the parent keeps its own
     * copies of the offsets: sim_at, buffer_at and sim. */
    struct shared *shared;
    size_t shared_bytes;
    int64_t sim_at, *buffer_at;
    struct shared_sim sim;                                /* only its n_... and ..._at are used */
    int repeat;                             /* how often noisy samples were repeated so far */
    double copy_s;                                        /* time allowed for copying the buffers */
    struct busy_sum busy;                 /* other work while the current samples were taken */
    double *sample[SERIES_COUNT];  /* samples of the last child_time; NULL = none */
};

static inline struct child *child_of(struct runner *r)
{
    return (struct child *)r;
}

/* Sends a request and waits for its reply, at most limit_s seconds.  Returns false with the error
 * of the runner, or with the reason why it ended. */
bool child_ask(struct child *c, struct request *q, double limit_s, struct reply *out,
               struct err *e);
/* child_results.c: functions of child_runner. */
bool child_time(struct runner *r, const struct sampled *what, struct samples *out, struct err *e);
bool child_count(struct runner *r, int meter, const struct event *event, int n,
                 struct counts *out, double *seconds, struct err *e);
bool child_simulate(struct runner *r, const struct simulated *what, struct simulation *out,
                    struct err *e);
/* child_start.c: moves fd to a number above the descriptors that the runner will have. Returns the
 * number, or -1 with errno. */
int child_move_up(int fd);
/* Functions of child_read.c. child_..._sound check answers in memory that a kernel could have
 * overwritten; they return false with ERR_CRASH when the values are impossible. child_clean_text
 * terminates a text and replaces control characters in it by `?`. */
void child_clean_text(char *text, size_t n);
bool child_overwritten(const char *what, struct err *e);  /* sets the error; returns false */
bool child_samples_sound(const double *sample, int n, struct err *e);
bool child_counts_sound(struct counts *c, struct err *e);
bool child_simulation_sound(const struct trace_table *t, const struct simulation *s,
                            struct err *e);
/* asked: the struct that the runner received. The members of *d that the runner does not compute
 * (loops, axes, sizes of tensors) are copied from it. */
bool child_detail_sound(struct sim_detail *d, const struct sim_detail *asked, struct err *e);
/* child_make_shared makes the file of the shared memory, lays it out and maps it. child_share_again
 * lays out the existing file for other buffers. ERR_ENV: there is no memory. */
bool child_make_shared(struct child *c, struct err *e);
bool child_share_again(struct child *c, struct err *e);
/* Starts the runner. socket: the runner's end of the socket pair. Returns 0 or an errno. */
int child_spawn(struct child *c, const char *path, int socket);
/* Starts the process that samples the ceiling, whose code is in so_path, and gives it
 * c->ceiling[1]. Returns 0 or an errno. */
int child_spawn_ceiling(struct child *c, const char *path, const char *so_path);
#endif
