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
    /* Per contender: number of calls since it was loaded, and seconds of the last call of
     * COMMAND_RUN. */
    int64_t calls[PROTOCOL_MAX_CONTENDERS];
    double first_s[PROTOCOL_MAX_CONTENDERS];
    trace_fn *trace;                      /* the functions of the instrumented kernel */
    count_fn *count;
    /* per contender: its vendor plugin and primitive; NULL: not of a vendor library */
    const struct vendor_plugin *plugin[PROTOCOL_MAX_CONTENDERS];
    struct vendor_handle *vendor[PROTOCOL_MAX_CONTENDERS];
    struct vendor_problem problem[PROTOCOL_MAX_CONTENDERS];
    struct cuda_device *device;           /* --device: where kernels run; NULL: on the CPU */
    bool loaded[PROTOCOL_MAX_CONTENDERS];  /* on a device: whether the contender is loaded */
    struct reply reply;
};

/* Calls dlopen with the CPU affinity of the parent.  This thread may be pinned to one CPU as part
 * of a team; a library that creates its own threads would otherwise use that CPU only. */
void *server_open_library(const struct server *r, const char *path);

/* Send or receive a message of n bytes on RUNNER_SOCKET_FD. server_hear returns false when no
 * further message will come. *code is then the exit code: 0 if the parent closed its end. */
bool server_say(const void *what, size_t n);
bool server_hear(void *what, size_t n, int *code);

/* Returns the buffers of a contender, in the order of the kernel's parameters. */
void *const *server_buffers(const struct server *r, int contender);
/* Fills the buffers of a contender by guarded_place. */
bool server_place(struct server *r, int contender, bool at_end, struct err *e);

/* Fails with ERR_WRONG when the kernel wrote outside of its buffers; shared->fault says where. */
bool server_check_guards(struct server *r, struct err *e);

/* Functions of server_device.c, which only a runner with a device uses.  The guarded buffers are
 * the host's copies of the device's buffers.  open: ERR_ENV. load: executes COMMAND_LOAD. run:
 * makes n calls. place: uploads all buffers of a contender; server_place calls it after filling
 * them. spoil: uploads only those that the contender writes; fetch: downloads these. drop: frees
 * the device memory of the contender's buffers. check: checks the guards on the device;
 * ERR_WRONG. */
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

/* Execute COMMAND_LOAD_VENDOR, and COMMAND_RUN of a contender of a vendor library. */
bool server_load_vendor(struct server *r, const struct request *q, struct err *e);
bool server_check_vendor(struct server *r, int contender, struct err *e);
/* Execute COMMAND_TIME, COMMAND_COUNT and COMMAND_SIMULATE. Each returns false with *e. */
bool server_time(struct server *r, const struct request *q, struct err *e);
bool server_count(struct server *r, const struct request *q, struct err *e);
bool server_simulate(struct server *r, const struct request *q, struct err *e);
/* --ceiling SO PARENT: the main function of the process that samples the ceiling.  It never loads
 * anything but SO, so that no kernel can disturb it.  It first sends a struct reply that says
 * whether SO could be loaded, and then answers each struct ceiling_ask on its socket.  Returns
 * the exit code. */
int server_ceiling(int argc, char **argv);
/* Sends a request from the runner to the process of the ceiling. *seconds: per call. Returns false
 * when that process has ended. */
bool server_ask_ceiling(const struct server *r, int team, long batch, double *seconds);

/* --once SO FILE BYTES CACHE_BYTES PADDING OUT PARENT ADDRESS...: one call of a kernel.  Maps FILE
 * at the first ADDRESS (each buffer has one), fills a cache of CACHE_BYTES with other data, and
 * calls the kernel once.  If PADDING and OUT are not "-", SO is a counting copy of the kernel
 * (instructions.c); then the count of every block and the nops of every piece of padding are
 * written to OUT as int64_t.  Ends the process with 0, or prints the error and returns its exit
 * code. */
int server_once(int argc, char **argv);
#endif
