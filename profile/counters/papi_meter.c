#include "profile/counters/papi_meter.h"

#include "kernels/base/arena.h"
#include "kernels/base/str.h"
#include "profile/host/machine.h"

#include <dlfcn.h>
#include <papi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS(X) \
    X(PAPI_library_init) X(PAPI_thread_init) X(PAPI_create_eventset) X(PAPI_add_named_event) \
    X(PAPI_remove_named_event) X(PAPI_cleanup_eventset) X(PAPI_destroy_eventset) \
    X(PAPI_start) X(PAPI_stop) X(PAPI_strerror) X(PAPI_num_components) \
    X(PAPI_get_component_info)

static struct {
#define MEMBER(name) __typeof__(&name) name;
    FUNCTIONS(MEMBER)
#undef MEMBER
} api;

/* The event sets of one thread, which are opened, started and stopped on that thread. members:
 * number of events in each set; value: the counts of these events at the last stop. */
struct sets {
    int n, set[EVENTS_MAX], members[EVENTS_MAX];
    long long value[EVENTS_MAX][GROUP_MAX];
};

struct papi {
    int threads;
    void (*parallel)(void (*body)(void *), void *arg, unsigned threads, unsigned flags);
    int (*thread_number)(void);
    struct sets *of;                     /* [thread] */
    void (*part)(void *arg, int thread);
    void *arg;
};

/* --- Loading --------------------------------------------------------------------------------- */

static unsigned long thread_id(void)
{
    return (unsigned long)pthread_self();
}

static bool find_functions(void *library)
{
#define FIND(name) \
    { \
        void *symbol = dlsym(library, #name); \
        if (!symbol) \
            return false; \
        memcpy(&api.name, &symbol, sizeof symbol); \
    }
    FUNCTIONS(FIND)
#undef FIND
    return true;
}

static struct counts load_refusal;
/* The reason why PAPI's component perf_event is disabled; "" = PAPI reports none. On a CPU that
 * libpfm4 does not know yet, PAPI disables the component, and with it all software events. */
static char disabled[PAPI_HUGE_STR_LEN];

static void read_component(void)
{
    for (int i = 0; i < api.PAPI_num_components(); i++) {
        const PAPI_component_info_t *c = api.PAPI_get_component_info(i);
        if (c && streq(c->name, "perf_event") && c->disabled)
            snprintf(disabled, sizeof disabled, "%s", c->disabled_reason);
    }
}

/* Loads PAPI once in a process: its state is global. */
static void load(void)
{
    char name[32];  /* file name of the PAPI version with which this program was compiled */
    snprintf(name, sizeof name, "libpapi.so.%d.%d", PAPI_VERSION_MAJOR(PAPI_VERSION),
             PAPI_VERSION_MINOR(PAPI_VERSION));
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        counts_refuse(&load_refusal, "PAPI is missing: %.120s (Debian: libpapi7.0)", dlerror());
        return;
    }
    if (!find_functions(library)) {
        counts_refuse(&load_refusal, "%s lacks functions that PAPI %d.%d has", name,
                      PAPI_VERSION_MAJOR(PAPI_VERSION), PAPI_VERSION_MINOR(PAPI_VERSION));
        return;
    }
    int version = api.PAPI_library_init(PAPI_VER_CURRENT);
    int code = version == PAPI_VER_CURRENT ? api.PAPI_thread_init(thread_id) : version;
    if (code != PAPI_OK)
        counts_refuse(&load_refusal, "PAPI does not start: %s",
                      code > 0 ? "it is of another version" : api.PAPI_strerror(code));
    else
        read_component();
}

/* Finds the OpenMP library that runs the parallel loops of a kernel; NULL: none. The kernel's calls
 * identify it: gcc emits GOMP_parallel, clang __kmpc_fork_call. LLVM's library also provides gcc's
 * names, and the loader searches this program's library first. So when this program uses LLVM's
 * library, a kernel linked with libgomp runs on LLVM's team. */
static void *openmp_of(void *kernel)
{
    Dl_info where;
    const char *call = kernel && dlsym(kernel, "__kmpc_fork_call") ? "__kmpc_fork_call"
                                                                   : "GOMP_parallel";
    void *linked = kernel ? dlsym(kernel, call) : NULL, *here = dlsym(RTLD_DEFAULT, call);
    if (!linked || !dladdr(here ? here : linked, &where))
        return NULL;
    return dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

/* Finds a function in an OpenMP library.  gcc's and LLVM's library both have the two functions that
 * papi_open needs. */
static bool find_openmp(void *library, const char *name, void *to)
{
    void *symbol = library ? dlsym(library, name) : NULL;
    memcpy(to, &symbol, sizeof symbol);
    return symbol != NULL;
}

struct papi *papi_open(void *kernel, int threads, struct counts *why_not)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (load_refusal.reason[0]) {
        *why_not = load_refusal;
        return NULL;
    }
    struct papi *p = xcalloc(1, sizeof *p);
    void *openmp = openmp_of(kernel);
    bool team = find_openmp(openmp, "GOMP_parallel", &p->parallel)
             && find_openmp(openmp, "omp_get_thread_num", &p->thread_number);
    p->threads = team && threads > 1 ? threads : 1;
    p->of = xcalloc((size_t)p->threads, sizeof *p->of);
    return p;
}

void papi_close(struct papi *p)
{
    if (!p)
        return;
    free(p->of);
    free(p);
}

int papi_threads(const struct papi *p)
{
    return p->threads;
}

/* --- The team -------------------------------------------------------------------------------- */

static void on_member(void *arg)
{
    struct papi *p = arg;
    int thread = p->thread_number();
    if (thread < p->threads)
        p->part(p->arg, thread);
}

static void papi_on_threads(void *ctx, void (*part)(void *arg, int thread), void *arg)
{
    struct papi *p = ctx;
    p->part = part;
    p->arg = arg;
    if (p->threads > 1)
        p->parallel(on_member, p, (unsigned)p->threads, 0);
    else
        part(arg, 0);
}

/* --- Event sets ------------------------------------------------------------------------------ */

/* Returns a handle: it encodes thread, set and place in the set; the leader has place 0. */
static int handle_of(int thread, int set, int place)
{
    return (thread * EVENTS_MAX + set) * GROUP_MAX + place;
}

static struct sets *sets_of(const struct papi *p, int handle, int *set)
{
    *set = handle / GROUP_MAX % EVENTS_MAX;
    return &p->of[handle / GROUP_MAX / EVENTS_MAX];
}

/* Adds an event and tests whether the set still starts. */
static int add(int set, const char *name)
{
    long long ignored[GROUP_MAX];
    int code = api.PAPI_add_named_event(set, name);
    if (code != PAPI_OK)
        return code;
    code = api.PAPI_start(set);
    if (code == PAPI_OK)
        code = api.PAPI_stop(set, ignored);
    if (code != PAPI_OK)
        api.PAPI_remove_named_event(set, name);
    return code;
}

static int open_set(struct sets *s, const char *name)
{
    int set = PAPI_NULL, code = api.PAPI_create_eventset(&set);
    if (code != PAPI_OK)
        return code;
    code = add(set, name);
    if (code != PAPI_OK) {
        api.PAPI_cleanup_eventset(set);
        api.PAPI_destroy_eventset(&set);
        return code;
    }
    s->set[s->n] = set;
    s->members[s->n++] = 1;
    return PAPI_OK;
}

static int papi_open_event(void *ctx, int thread, const struct event *ev, int leader)
{
    struct papi *p = ctx;
    int at;
    if (leader < 0) {
        struct sets *s = &p->of[thread];
        int code = s->n < EVENTS_MAX ? open_set(s, ev->text) : PAPI_ENOMEM;
        return code != PAPI_OK ? code : handle_of(thread, s->n - 1, 0);
    }
    struct sets *s = sets_of(p, leader, &at);
    int code = s->members[at] < GROUP_MAX ? add(s->set[at], ev->text) : PAPI_ENOMEM;
    return code != PAPI_OK ? code : handle_of(thread, at, s->members[at]++);
}

static int papi_start(void *ctx, int leader)
{
    int at;
    struct sets *s = sets_of(ctx, leader, &at);
    return api.PAPI_start(s->set[at]);
}

static int papi_stop(void *ctx, int leader)
{
    int at;
    struct sets *s = sets_of(ctx, leader, &at);
    return api.PAPI_stop(s->set[at], s->value[at]);
}

/* Reads the counts of the last stop. PAPI does not report times, so both times are 1: no events
 * take turns, and the set ran whenever it was enabled. */
static int papi_read(void *ctx, int leader, int n, struct reading *out)
{
    int at;
    const struct sets *s = sets_of(ctx, leader, &at);
    *out = (struct reading){ .enabled_ns = 1, .running_ns = 1 };
    for (int i = 0; i < n; i++)
        out->value[i] = (uint64_t)s->value[at][i];
    return 0;
}

/* Closes an event; the set is closed with its leader. */
static void papi_close_event(void *ctx, int handle)
{
    int at;
    struct sets *s = sets_of(ctx, handle, &at);
    if (handle % GROUP_MAX != 0)
        return;
    api.PAPI_cleanup_eventset(s->set[at]);
    api.PAPI_destroy_eventset(&s->set[at]);
}

static void papi_explain(void *ctx, const struct event *ev, int code, char *out, size_t n)
{
    (void)ctx;
    const char *text = api.PAPI_strerror(code);
    bool hardware = code == PAPI_ENOEVNT && !machine_has_pmu();
    snprintf(out, n, "PAPI cannot count %.60s: %.60s%s%.60s%s", ev->text,
             text ? text : "unknown error",
             disabled[0] ? "; its perf_event component is disabled: " : "", disabled,
             hardware ? "; this VM exposes no PMU (no cpu event source)" : "");
}

static bool papi_always(void *ctx, const struct event *ev)
{
    static const char *const always[] = { "PAPI_TOT_CYC", "PAPI_TOT_INS", "PAPI_REF_CYC",
                                          "perf::CYCLES", "perf::INSTRUCTIONS",
                                          "perf::TASK-CLOCK", "perf::CPU-CLOCK" };
    (void)ctx;
    for (int i = 0; i < COUNT_OF(always); i++)
        if (streq(ev->text, always[i]))
            return true;
    return false;
}

const struct counter_source papi_source = {
    .open = papi_open_event, .start = papi_start, .stop = papi_stop, .read = papi_read,
    .close = papi_close_event, .explain = papi_explain, .always = papi_always,
    .on_threads = papi_on_threads, .one_group = true,
};

/* --- The probe ------------------------------------------------------------------------------- */

static void try_events(struct papi *p, const struct event *ev, int n, struct counts *out)
{
    volatile double x = 1;
    struct counting *c = counting_open(&papi_source, p, 1, ev, n, GROUP_MAX, out);
    if (!c)
        return;
    for (int pass = 0; pass < counting_passes(c); pass++) {
        counting_start(c, pass);
        for (int i = 0; i < 10000; i++)
            x = x * 0.5 + 1;
        counting_stop(c, pass, 1);
    }
    counting_result(c, out);
    counting_close(c);
}

void papi_probe(struct counts *out)
{
    static const struct event hard[] = { { "papi_tot_ins", "PAPI_TOT_INS" },
                                         { "papi_tot_cyc", "PAPI_TOT_CYC" } };
    static const struct event soft[] = { { "task_clock_ns", "perf::TASK-CLOCK" } };
    struct counts system;
    struct papi *p = papi_open(NULL, 1, out);
    if (!p)
        return;
    try_events(p, hard, COUNT_OF(hard), out);
    if (!out->available) {
        size_t n = strlen(out->reason);
        try_events(p, soft, COUNT_OF(soft), &system);
        if (system.available)
            snprintf(out->reason + n, sizeof out->reason - n,
                     "; software events are available (run --events papi-sw)");
    }
    papi_close(p);
}
