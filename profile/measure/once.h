/* Calls a variant of the kernel once in its own process (tilescope-runner --once), directly or
 * under a tool such as valgrind.  The buffers have the addresses of the simulator and the data of
 * the check.  Their memory is shared, so that the caller sees the result. */
#ifndef TS_PROFILE_ONCE_H
#define TS_PROFILE_ONCE_H
#include "profile/measure/job.h"

#define ONCE_TOOL_ARGS 16

struct once {
    struct measure_job *job;
    unsigned long long *base;            /* address of each buffer of the function */
    unsigned long long bytes;            /* bytes of the parameters, each on its own pages */
    /* data_fd: memory of the parameters; out_fd: a file that a tool writes; -1 = not open */
    int data_fd, out_fd;
    char *map;                           /* data_fd mapped into this process */
    void **data;                         /* addresses of the parameters in map */
    double seconds;  /* seconds of the call by the clock of the runner; 0 = not reported */
};

/* Prepares the buffers.  ERR_ENV: no memory.  ERR_RANGE: the buffers would end above
 * `last_address` (0 = no limit). */
bool once_open(struct once *o, struct measure_job *j, unsigned long long last_address,
               struct err *e);
void once_close(struct once *o);         /* must be called also after a failed once_open */
/* Writes a path through which another process can open out_fd. */
void once_out_path(const struct once *o, char *out, size_t n);

/* How to call the kernel. padding: the object with marked padding (instructions.c), or NULL; with
 * it, the counts of blocks and nops are written to out_fd (server_once). cache_bytes: size of the
 * cache that is emptied before the call. */
struct once_call { const char *so_path, *padding; long long cache_bytes; };
/* Runs the call. tool: NULL-terminated command that starts the runner's command, or NULL.
 * ERR_TIMEOUT, ERR_CANCEL, or ERR_ENV with the first line of the output, if there is one. */
bool once_run(struct once *o, const char *const *tool, const struct once_call *call,
              struct err *e);
/* Reads what the tool or the runner has written to out_fd. */
bool once_output(const struct once *o, struct str *out, struct err *e);
#endif
