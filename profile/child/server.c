/* The child that loads kernels and runs them.  The parent kills it instead of asking it to end:
 * whatever a kernel does, the worst result is a dead child and an error in the parent. */
#include "kernels/base/sanitized.h"
#include "kernels/base/subprocess.h"
#include "profile/child/server_impl.h"
#include "profile/child/nvidia.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK_REACH_BYTES ((uint64_t)1 << 20)

/* The shared memory and the buffers, for the signal handler. */
static struct shared *fault_shared;
static struct guarded *fault_guarded;

/* --- Faults ---------------------------------------------------------------------------------- */

/* Finds out whether the fault was a write, and stores the stack pointer (0: unknown). x86 tells a
 * write in bit 1 of the page-fault error code, arm64 in bit 6 of the syndrome. */
static enum fault_access access_of(const ucontext_t *u, uint64_t *stack)
{
    *stack = 0;
#if defined __x86_64__
    *stack = (uint64_t)u->uc_mcontext.gregs[REG_RSP];
    return u->uc_mcontext.gregs[REG_ERR] & 2 ? ACCESS_WRITE : ACCESS_READ;
#elif defined __aarch64__
    *stack = u->uc_mcontext.sp;
    const struct _aarch64_ctx *head = (const void *)u->uc_mcontext.__reserved;
    for (; head->magic; head = (const void *)((const char *)head + head->size))
        if (head->magic == ESR_MAGIC)
            return ((const struct esr_context *)head)->esr >> 6 & 1 ? ACCESS_WRITE : ACCESS_READ;
#endif
    (void)u;
    return ACCESS_UNKNOWN;
}

/* The signal handler. It writes only to the shared memory, and calls _exit. */
static void on_fault(int sig, siginfo_t *info, void *context)
{
    struct fault *f = &fault_shared->fault;
    bool memory = sig == SIGSEGV || sig == SIGBUS;
    if (f->signal == 0) {
        f->signal = sig;
        f->address = memory ? (uint64_t)(uintptr_t)info->si_addr : 0;
        f->where = FAULT_ELSEWHERE;
        if (memory && info->si_code != SI_KERNEL) {
            uint64_t stack;
            f->access = (int32_t)access_of(context, &stack);
            guarded_locate(fault_guarded, f->address, f);
            if (f->where == FAULT_ELSEWHERE && stack && f->address + STACK_REACH_BYTES > stack
                && f->address < stack + STACK_REACH_BYTES)
                f->where = FAULT_STACK;
        }
    }
    _exit(128 + sig);
}

static void catch_faults(void)
{
    static const int list[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS };
    static char stack[65536];
    stack_t alt = { .ss_sp = stack, .ss_size = sizeof stack };
    struct sigaction act = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };
    sigaltstack(&alt, NULL);
    for (int i = 0; i < COUNT_OF(list); i++)
        sigaction(list[i], &act, NULL);
}

/* --- The commands. Each returns false with *e ------------------------------------------------- */

void *server_open_library(const struct server *r, const char *path)
{
    cpu_set_t own;
    bool widen = CPU_COUNT(&r->shared->cpus) > 0 && sched_getaffinity(0, sizeof own, &own) == 0
              && sched_setaffinity(0, sizeof r->shared->cpus, &r->shared->cpus) == 0;
    void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = h ? dlsym(h, "omp_get_num_places") : NULL;
    int (*count_places)(void);
    memcpy(&count_places, &symbol, sizeof symbol);
    if (symbol)
        count_places();
    if (widen)
        sched_setaffinity(0, sizeof own, &own);
    return h;
}

static bool load(struct server *r, const struct request *q, struct err *e)
{
    if (q->slot >= SLOT_COUNT)
        return err_set(e, ERR_BUG, "no slot %u", q->slot);
    if (r->device)
        return server_device_load(r, q, e);
    void *h = server_open_library(r, q->path);
    if (!h) {
        const char *why = dlerror(), *last = strrchr(why, '/');
        const char *colon = last ? strchr(last, ':') : NULL;
        return err_set(e, ERR_COMPILE, "the compiled kernel cannot be loaded%s",
                       colon ? colon : why);
    }
    const char *name = q->slot == SLOT_TRACE ? "ts_trace" : q->entry[0] ? q->entry : "ts_entry";
    void *symbol = dlsym(h, name), *count = q->slot == SLOT_TRACE ? dlsym(h, "ts_count") : symbol;
    if (!symbol || !count)
        return err_set(e, ERR_COMPILE, "the compiled kernel has no function %s", name);
    r->handle[q->slot] = h;
    if (q->slot == SLOT_TRACE) {
        memcpy(&r->trace, &symbol, sizeof symbol);
        memcpy(&r->count, &count, sizeof count);
    } else {
        memcpy(&r->entry[q->slot], &symbol, sizeof symbol);
        r->fault[q->slot] = dlsym(h, "ts_fault");
    }
    return true;
}

/* Checks the guards around all buffers. The parent adds the names of buffers to the error. */
bool server_check_guards(struct server *r, struct err *e)
{
    struct fault damage;
    if (guarded_whole(r->guarded, &damage))
        return !r->device || server_device_check(r, e);
    r->shared->fault = damage;
    return err_set(e, ERR_WRONG, WROTE_OUTSIDE);
}

void *const *server_buffers(const struct server *r, int contender)
{
    return guarded_data(r->guarded) + r->shared->contender[contender].first;
}

bool server_place(struct server *r, int contender, bool at_end, struct err *e)
{
    return guarded_place(r->guarded, r->shared->contender[contender].first,
                         r->shared->contender[contender].n, at_end, e)
        && (!r->device || server_device_place(r, contender, e));
}

static bool check_kernel(struct server *r, int i, struct err *e)
{
    if (!server_place(r, i, true, e))
        return false;
    double start = clock_s();
    r->entry[i](server_buffers(r, i));
    if (r->fault[i] && r->fault[i][0])
        return err_set(e, ERR_WRONG, "%.400s", r->fault[i]);
    r->reply.seconds = r->first_s[i] = clock_s() - start;
    r->calls[i]++;
    return true;
}

static bool check_on_device(struct server *r, int i, struct err *e)
{
    if (!server_place(r, i, false, e) || !server_device_run(r, i, 1, &r->first_s[i], e))
        return false;
    r->reply.seconds = r->first_s[i];
    r->calls[i]++;
    return server_device_fetch(r, i, e);
}

static bool check(struct server *r, const struct request *q, struct err *e)
{
    if (q->slot >= PROTOCOL_MAX_CONTENDERS
        || !(r->entry[q->slot] || r->vendor[q->slot] || r->loaded[q->slot]))
        return err_set(e, ERR_BUG, "no kernel is loaded");
    int i = (int)q->slot;
    if (r->vendor[i] ? !server_check_vendor(r, i, e)
        : r->device ? !check_on_device(r, i, e) : !check_kernel(r, i, e))
        return false;
    if (!server_check_guards(r, e))
        return false;
    guarded_collect(r->guarded, r->shared->contender[i].first, r->shared->contender[i].n);
    return true;
}

/* --- Memory and limits ----------------------------------------------------------------------- */

/* Maps the file at its present size, and unmaps the old mapping. Returns the error, or NULL. */
static const char *map_shared(struct server *r)
{
    static const char usage[] = "tilescope starts this program to run kernels in it";
    static const char version[] = "tilescope-runner and tilescope are of different versions";
    struct stat st;
    if (fstat(RUNNER_MEMORY_FD, &st) != 0 || st.st_size < (off_t)sizeof *r->shared)
        return usage;
    if (r->shared && r->shared_bytes == (size_t)st.st_size)
        return NULL;
    void *p = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED,
                   RUNNER_MEMORY_FD, 0);
    struct shared *sh = p;
    if (p == MAP_FAILED || sh->magic != PROTOCOL_MAGIC)
        return usage;
    if (sh->version != PROTOCOL_VERSION || sh->file_bytes != st.st_size)
        return version;
    if (r->shared)
        munmap(r->shared, r->shared_bytes);
    r->shared = fault_shared = sh;
    r->shared_bytes = (size_t)st.st_size;
    return NULL;
}

static bool open_guarded(struct server *r, struct err *e)
{
    if (!guarded_open(r->shared, &r->guarded, e))
        return false;
    fault_guarded = r->guarded;
    return true;
}

/* Sets a resource limit. soft: only the soft limit, so that COMMAND_RENEW can change it later. */
static void limit(int what, uint64_t value, bool soft)
{
    struct rlimit l;
    if (getrlimit((__rlimit_resource_t)what, &l) != 0)
        return;
    if (l.rlim_max != RLIM_INFINITY && value > l.rlim_max)
        value = l.rlim_max;
    l.rlim_cur = value;
    if (!soft)
        l.rlim_max = value;
    setrlimit((__rlimit_resource_t)what, &l);
}

/* Returns the bytes that this process has mapped; 0: unknown, or under address sanitizer, which
 * maps terabytes. */
static uint64_t mapped_bytes(void)
{
    unsigned long long pages = 0;
#if SANITIZED
    return 0;
#endif
    FILE *f = fopen("/proc/self/statm", "re");
    if (f && fscanf(f, "%llu", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t cpu_seconds(void)
{
    struct rusage u;
    return getrusage(RUSAGE_SELF, &u) == 0 ? (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec + 1)
                                           : 0;
}

/* Sets the limits of memory and CPU time under which the following kernels run. */
static void set_allowances(const struct shared *sh)
{
    uint64_t mapped = mapped_bytes();
    if (sh->cpu_s > 0)
        limit(RLIMIT_CPU, cpu_seconds() + (uint64_t)sh->cpu_s, true);
    if (sh->memory_bytes > 0 && mapped > 0)
        limit(RLIMIT_AS, mapped + (uint64_t)sh->memory_bytes, true);
}

static void set_limits(void)
{
    mallopt(M_ARENA_MAX, 1);
    limit(RLIMIT_CORE, 0, false);
    limit(RLIMIT_NOFILE, RLIM_INFINITY, false);      /* as many as allowed: counters are files */
    limit(RLIMIT_FSIZE, 1 << 20, false);
    signal(SIGXFSZ, SIG_IGN);
}

/* Forgets all kernels and unloads their objects.  An object that uses OpenMP stays loaded, because
 * the threads of its team still run code of the object or of its OpenMP library. */
static void unload(struct server *r)
{
    for (int i = 0; i < SLOT_COUNT; i++)
        if (r->handle[i] && !dlsym(r->handle[i], "omp_get_num_places"))
            dlclose(r->handle[i]);
    memset(r->handle, 0, sizeof r->handle);
    memset(r->entry, 0, sizeof r->entry);
    memset(r->fault, 0, sizeof r->fault);
    memset(r->calls, 0, sizeof r->calls);
    memset(r->first_s, 0, sizeof r->first_s);
    r->trace = NULL;
    r->count = NULL;
}

/* Lets a thread that was pinned for timing run on all CPUs of the parent again. */
static void unpin(const struct shared *sh)
{
    if (sh->threads <= 1 && CPU_COUNT(&sh->cpus) > 0)
        sched_setaffinity(0, sizeof sh->cpus, &sh->cpus);
}

static bool renew(struct server *r, struct err *e)
{
    for (int i = 0; i < PROTOCOL_MAX_CONTENDERS; i++)
        if (r->vendor[i])
            return err_set(e, ERR_BUG, "a vendor library still uses the buffers of this runner");
    unload(r);
    limit(RLIMIT_AS, RLIM_INFINITY, true);
    const char *wrong = map_shared(r);
    if (wrong)
        return err_set(e, ERR_ENV, "%s", wrong);
    if (!guarded_reopen(r->guarded, r->shared)) {
        fault_guarded = NULL;
        guarded_close(r->guarded);
        r->guarded = NULL;
        if (!open_guarded(r, e))
            return false;
    }
    set_allowances(r->shared);
    unpin(r->shared);
    return true;
}

static bool obey(struct server *r, const struct request *q, struct err *e)
{
    switch (q->command) {
    case COMMAND_LOAD: return load(r, q, e);
    case COMMAND_LOAD_VENDOR: return server_load_vendor(r, q, e);
    case COMMAND_RUN: return check(r, q, e);
    case COMMAND_TIME: return server_time(r, q, e);
    case COMMAND_COUNT: return server_count(r, q, e);
    case COMMAND_SIMULATE: return server_simulate(r, q, e);
    case COMMAND_RENEW: return renew(r, e);
    default: return err_set(e, ERR_BUG, "no command %u", q->command);
    }
}

/* --- Start and end --------------------------------------------------------------------------- */

bool server_say(const void *what, size_t n)
{
    return send(RUNNER_SOCKET_FD, what, n, MSG_NOSIGNAL) == (ssize_t)n;
}

bool server_hear(void *what, size_t n, int *code)
{
    ssize_t got;
    do
        got = recv(RUNNER_SOCKET_FD, what, n, 0);
    while (got < 0 && errno == EINTR);
    *code = got == 0 ? 0 : 1;
    return got == (ssize_t)n;
}

/* Answers the parent at the start: says whether this process can work. */
static bool say_hello(struct server *r, bool ok, const struct err *e)
{
    r->reply = (struct reply){ .version = PROTOCOL_VERSION, .ok = ok };
    if (!ok) {
        r->reply.code = (int32_t)e->code;
        snprintf(r->reply.text, sizeof r->reply.text, "%.479s", e->text);
    }
    return server_say(&r->reply, sizeof r->reply);
}

static int serve(struct server *r)
{
    struct request q;
    struct err e;
    int code;
    while (server_hear(&q, sizeof q, &code) && q.version == PROTOCOL_VERSION) {
        atomic_store(&r->shared->permille, 0);
        r->reply = (struct reply){ .version = PROTOCOL_VERSION, .ok = true };
        if (!obey(r, &q, &e)) {
            r->reply.ok = false;
            r->reply.code = (int32_t)e.code;
            snprintf(r->reply.text, sizeof r->reply.text, "%.479s", e.text);
        }
        if (!server_say(&r->reply, sizeof r->reply))
            return 1;
    }
    return code;
}

int server_main(int argc, char **argv)
{
    static struct server r;
    struct err e;
    if (argc > 1 && streq(argv[1], "--once"))
        return server_once(argc - 2, argv + 2);
    if (argc > 1 && streq(argv[1], "--ceiling"))
        return server_ceiling(argc - 2, argv + 2);
    if (argc > 1 && streq(argv[1], "--nvidia"))
        return nvidia_answer(argc - 2, argv + 2);
    if (argc > 1 && streq(argv[1], "--describe-device"))
        return server_describe_device();
    const char *wrong = map_shared(&r);
    if (wrong) {
        fprintf(stderr, "%s\n", wrong);
        return 2;
    }
    /* The process ends with its parent, even if the parent ended before this line. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != r.shared->parent)
        return 0;
    if (!open_guarded(&r, &e)) {
        say_hello(&r, false, &e);
        return 1;
    }
    catch_faults();
    set_limits();
    set_allowances(r.shared);
    bool ok = argc < 2 || !streq(argv[1], "--device") || server_device_open(&r, &e);
    return say_hello(&r, ok, &e) && ok ? serve(&r) : 1;
}
