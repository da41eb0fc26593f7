/* One call of a twin of the kernel in a process of its own (tilescope-runner --once), bare or under
 * a tool that watches processes.  The buffers lie where the simulator has them, filled as for the
 * check; their memory is shared, so that the caller sees what was computed. */
#ifndef TS_PROFILE_ONCE_H
#define TS_PROFILE_ONCE_H
#include "profile/measure/job.h"

#define ONCE_TOOL_ARGS 16

struct once {
    struct measure_job *job;
    unsigned long long *base;            /* per buffer of the function */
    unsigned long long bytes;            /* of the parameters, page after page */
    int data_fd, out_fd;                 /* of the parameters; for what a tool writes; -1 = none */
    char *map;                           /* data_fd, as this process sees it */
    void *data[PROTOCOL_MAX_BUFFERS];    /* the parameters in it */
    double seconds;                      /* of the call, by the runner's clock; 0 = not told */
};

/* ERR_ENV: no memory.  ERR_RANGE: the buffers would end above `last_address` (0 = anywhere). */
bool once_open(struct once *o, struct measure_job *j, unsigned long long last_address,
               struct err *e);
void once_close(struct once *o);         /* also after a failed once_open */
/* The path of out_fd for another process. */
void once_out_path(const struct once *o, char *out, size_t n);

/* What is run.  padding NULL: nothing is written to out_fd, else as runner_once has it. */
struct once_call { const char *so_path, *padding; long long cache_bytes; };
/* tool: the words before the runner's, NULL-terminated (NULL = none).  ERR_TIMEOUT, ERR_CANCEL, or
 * ERR_ENV with the first line of what was said. */
bool once_run(struct once *o, const char *const *tool, const struct once_call *call,
              struct err *e);
/* What out_fd holds now. */
bool once_output(const struct once *o, struct str *out, struct err *e);
#endif
