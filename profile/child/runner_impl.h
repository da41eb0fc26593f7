/* What the parts of tilescope-runner share.  Private to runner*.c. */
#ifndef TS_PROFILE_RUNNER_IMPL_H
#define TS_PROFILE_RUNNER_IMPL_H
#include "profile/child/fence.h"
#include "profile/child/runner.h"
#include "profile/child/sampling.h"

typedef void trace_fn(const unsigned long long *base, struct ts_sim *ts);
typedef void count_fn(long long *exec);

struct runner {
    struct shared *shared;
    size_t shared_bytes;
    struct fence *fence;
    void *handle[SLOT_COUNT];
    kernel_fn *entry[SLOT_COUNT];
    /* Per contender: its calls since it was loaded, seconds of the call that was checked. */
    int64_t calls[PROTOCOL_MAX_CONTENDERS];
    double first_s[PROTOCOL_MAX_CONTENDERS];
    trace_fn *trace;
    count_fn *count;
    /* Of contenders that are a library's; entry is NULL then. */
    const struct vendor_plugin *plugin[PROTOCOL_MAX_CONTENDERS];
    struct vendor_handle *vendor[PROTOCOL_MAX_CONTENDERS];
    struct vendor_problem problem[PROTOCOL_MAX_CONTENDERS];
    struct reply reply;
};

/* dlopen under the CPUs that the parent may run on.  This thread may have been bound to one of them
 * as the first of a team, and a library that makes a team of its own when it is loaded or first
 * asked would take that one for all there are. */
void *runner_open_library(const struct runner *r, const char *path);

/* Messages of n bytes on RUNNER_SOCKET_FD.  runner_hear is false when none will come: *code is then
 * the exit code, 0 when the parent has closed its end. */
bool runner_say(const void *what, size_t n);
bool runner_hear(void *what, size_t n, int *code);

/* The buffers of a contender, as its kernel takes them. */
float *const *runner_buffers(const struct runner *r, int contender);
/* Fills them as fence_place does. */
bool runner_place(struct runner *r, int contender, bool at_end, struct err *e);

/* ERR_WRONG when the kernel wrote beside its buffers; where is in shared->fault. */
bool runner_check_fence(struct runner *r, struct err *e);

/* COMMAND_LOAD_VENDOR, and COMMAND_CHECK of such a contender. */
bool runner_load_vendor(struct runner *r, const struct request *q, struct err *e);
bool runner_check_vendor(struct runner *r, int contender, struct err *e);
/* COMMAND_TIME, COMMAND_COUNT, COMMAND_SIMULATE: each returns false with *e. */
bool runner_time(struct runner *r, const struct request *q, struct err *e);
bool runner_count(struct runner *r, const struct request *q, struct err *e);
bool runner_simulate(struct runner *r, const struct request *q, struct err *e);
/* --ceiling SO PARENT: the process that samples a ceiling.  It never loads anything else, so no
 * kernel can touch it.  Answers each struct ceiling_ask on its socket, after a first struct reply
 * that says whether SO could be loaded.  Returns the exit code. */
int runner_ceiling(int argc, char **argv);
/* From the runner: asks that process.  False: it is gone. */
bool runner_ask_ceiling(const struct runner *r, int team, long batch, double *seconds);

/* --once SO FILE BYTES CACHE_BYTES PADDING OUT PARENT ADDRESS...: maps FILE at the first address
 * (buffers at all of them), fills a cache of CACHE_BYTES with something else, calls the kernel.
 * PADDING, OUT not "-": SO is a counting twin (instructions.c); writes the count of every block and
 * the nops of every piece of padding to OUT, int64_t each.  Ends the process with 0, or says why
 * not and returns its exit code. */
int runner_once(int argc, char **argv);
#endif
