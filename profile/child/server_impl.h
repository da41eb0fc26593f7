/* Shared by the files of tilescope-runner. Private to server*.c. */
#ifndef TS_PROFILE_SERVER_IMPL_H
#define TS_PROFILE_SERVER_IMPL_H
#include "profile/child/guarded.h"
#include "profile/child/server.h"
#include "profile/child/sampling.h"
#include "profile/cuda/device.h"

typedef void trace_fn(const unsigned long long *base, struct ts_sim *ts);
typedef void count_fn(long long *exec);

struct server {
    struct shared *shared;
    size_t shared_bytes;
    struct guarded *guarded;
    void *handle[SLOT_COUNT];
    kernel_fn *entry[SLOT_COUNT];
    /* per slot: the error that a host twin found, or ""; NULL: not a host twin */
    const char *fault[SLOT_COUNT];
    /* Per contender. calls: number of calls since it was loaded. first_s: seconds of the call that
     * the last COMMAND_RUN made. COMMAND_RUN of a vendor library's contender changes neither. */
    int64_t calls[PROTOCOL_MAX_CONTENDERS];
    double first_s[PROTOCOL_MAX_CONTENDERS];
    trace_fn *trace;                      /* the functions of the instrumented kernel */
    count_fn *count;
    /* per contender: its vendor plugin and primitive; NULL: not of a vendor library */
    const struct vendor_plugin *plugin[PROTOCOL_MAX_CONTENDERS];
    struct vendor_handle *vendor[PROTOCOL_MAX_CONTENDERS];
    struct vendor_problem problem[PROTOCOL_MAX_CONTENDERS];
    struct cuda_device *device;           /* where kernels run (--device); NULL: on the CPU */
    bool loaded[PROTOCOL_MAX_CONTENDERS];  /* on a device: whether the contender is loaded */
    struct reply reply;
};

/* Calls dlopen while this thread has the CPU affinity of the parent.  Otherwise this thread may be
 * pinned to one CPU, and a library that creates its own threads would use only that CPU. */
void *server_open_library(const struct server *r, const char *path);

/* Send or receive a message of n bytes on RUNNER_SOCKET_FD. server_hear returns false when no
 * further message will come; *code is then the exit code of this process: 0 if the parent closed
 * its end, else 1. */
bool server_say(const void *what, size_t n);
bool server_hear(void *what, size_t n, int *code);

/* Returns the buffers of a contender, in the order of the kernel's parameters. */
void *const *server_buffers(const struct server *r, int contender);
/* Fills the buffers of a contender by guarded_place. */
bool server_place(struct server *r, int contender, bool at_end, struct err *e);

/* Fails with ERR_WRONG if a kernel wrote outside of its buffers; shared->fault is then the
 * place. */
bool server_check_guards(struct server *r, struct err *e);

/* Functions of server_device.c, which only a runner with a device uses.  The guarded buffers are
 * the host's copies of the device's buffers.  open: ERR_ENV if there is no device. load: executes
 * COMMAND_LOAD. run: makes n calls. place: uploads all buffers of a contender; server_place calls
 * it after filling them. spoil: uploads only the buffers that the contender writes; fetch:
 * downloads them. drop: frees the device memory of the contender's buffers. check: ERR_WRONG if a
 * guard on the device was overwritten. */
bool server_device_open(struct server *r, struct err *e);
bool server_device_load(struct server *r, const struct request *q, struct err *e);
bool server_device_run(struct server *r, int contender, long n, double *seconds, struct err *e);
bool server_device_place(struct server *r, int contender, struct err *e);
bool server_device_spoil(struct server *r, int contender, struct err *e);
bool server_device_fetch(struct server *r, int contender, struct err *e);
bool server_device_drop(struct server *r, int contender, struct err *e);
bool server_device_check(struct server *r, struct err *e);
/* --describe-device: prints the properties of the device (cuda_info_print), or the reason why there
 * is none. Returns the exit code. */
int server_describe_device(void);

/* server_load_vendor executes COMMAND_LOAD_VENDOR; server_check_vendor executes COMMAND_RUN for a
 * contender of a vendor library. */
bool server_load_vendor(struct server *r, const struct request *q, struct err *e);
bool server_check_vendor(struct server *r, int contender, struct err *e);
/* Execute COMMAND_TIME, COMMAND_COUNT and COMMAND_SIMULATE. Each returns false with *e. */
bool server_time(struct server *r, const struct request *q, struct err *e);
bool server_count(struct server *r, const struct request *q, struct err *e);
bool server_simulate(struct server *r, const struct request *q, struct err *e);
/* --ceiling SO PARENT: the main function of the process that samples the ceiling.  PARENT: process
 * id of its parent.  It never loads anything but SO, so that no kernel can disturb it.  It first
 * sends a struct reply that says whether SO could be loaded, and then answers each struct
 * ceiling_ask on its socket.  Returns the exit code. */
int server_ceiling(int argc, char **argv);
/* Sends a request from the runner to the process of the ceiling. *seconds: per call. Returns false
 * when that process has ended. */
bool server_ask_ceiling(const struct server *r, int team, long batch, double *seconds);

/* --once SO FILE BYTES CACHE_BYTES PADDING OUT PARENT ADDRESS...: one call of a kernel.  There is
 * an ADDRESS for each buffer.  Maps the BYTES bytes of FILE at the first ADDRESS, fills a cache of
 * CACHE_BYTES with other data, and calls the kernel once.  If PADDING is not "-", SO is the
 * counting copy of the kernel (asm_text.counting), and PADDING is an object of asm_text.padded.  In
 * this case the count of every block and the number of nops in every piece of padding are written
 * to OUT as int64_t.  Ends the process with exit code 0, or prints the error and returns an exit
 * code. */
int server_once(int argc, char **argv);
#endif
