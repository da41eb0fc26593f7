/* The FMA ceiling, or another loop of the machine model, in a process that loads nothing else: a
 * kernel can change its own process (busy threads, rounding modes, memory), but not this one.  The
 * runner samples the ceiling and the kernels alternately, on the same cores. */
#include "profile/child/server_impl.h"

#include "kernels/base/subprocess.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define MEET_S 20e-3  /* most seconds that a thread waits for the rest of its team */
#define SPIN_S 100e-6                    /* seconds that a thread spins before it yields its CPU */

static char scratch[16384] __attribute__((aligned(64)));
static void *const buffers[1] = { scratch };

/* Waits until all threads of a team are here. Returns false when some are missing after MEET_S. */
static bool meet(atomic_int *here, int team)
{
    double start = clock_s(), waited = 0;
    atomic_fetch_add(here, 1);
    while (atomic_load(here) < team && waited < MEET_S) {
        if (waited > SPIN_S)
            sched_yield();
        waited = clock_s() - start;
    }
    return atomic_load(here) >= team;
}

/* Returns the seconds per call of the slowest thread. Its time begins when all threads are running,
 * so waiting for a core does not count. If the threads did not meet, they may have run one after
 * the other; the result is then the time of all threads together. */
static double time_team(kernel_fn *run, int team, int64_t batch)
{
    atomic_int here = 0;
    double slowest = 0, begin = clock_s();
#pragma omp parallel num_threads(team) reduction(max : slowest)
    {
        double start = meet(&here, team) ? clock_s() : begin;
        for (int64_t i = 0; i < batch; i++)
            run(buffers);
        slowest = clock_s() - start;
    }
    return slowest / (double)batch;
}

/* Answers one request. A single thread is pinned to the CPU of the kernel. */
static double answer(kernel_fn *run, const struct ceiling_ask *q)
{
    static int cpu = -1;
    cpu_set_t set;
    CPU_ZERO(&set);
    if (q->cpu != cpu && q->cpu >= 0 && q->cpu < CPU_SETSIZE) {
        cpu = q->cpu;
        CPU_SET(cpu, &set);
        sched_setaffinity(0, sizeof set, &set);
    }
    return time_team(run, q->team, q->batch);
}

static int serve(kernel_fn *run)
{
    struct ceiling_ask q;
    int code;
    while (server_hear(&q, sizeof q, &code)) {
        double seconds = q.team > 0 && q.batch > 0 ? answer(run, &q) : 0;
        if (!server_say(&seconds, sizeof seconds))
            return 1;
    }
    return code;
}

int server_ceiling(int argc, char **argv)
{
    enum { SO, PARENT, N };
    struct reply hello = { .version = PROTOCOL_VERSION, .ok = true };
    kernel_fn *run = NULL;
    if (argc != N) {
        fprintf(stderr, "tilescope starts this program to measure the FMA ceiling\n");
        return 2;
    }
    /* The process ends with its parent, even if the parent ended before this line. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != atoi(argv[PARENT]))
        return 2;
    void *h = dlopen(argv[SO], RTLD_NOW | RTLD_LOCAL), *symbol = h ? dlsym(h, "ts_entry") : NULL;
    memcpy(&run, &symbol, sizeof run);
    if (!run) {
        hello.ok = false;
        hello.code = ERR_COMPILE;
        snprintf(hello.text, sizeof hello.text, "the FMA ceiling cannot be loaded: %.400s",
                 dlerror());
    }
    return server_say(&hello, sizeof hello) && run ? serve(run) : 1;
}

/* --- In the runner ---------------------------------------------------------------------------- */

bool server_ask_ceiling(const struct server *r, int team, long batch, double *seconds)
{
    struct ceiling_ask q = { .team = team, .batch = batch,
                             .cpu = r->shared->threads > 1 ? -1 : sched_getcpu() };
    ssize_t n;
    if (send(RUNNER_CEILING_FD, &q, sizeof q, MSG_NOSIGNAL) != (ssize_t)sizeof q)
        return false;
    do
        n = recv(RUNNER_CEILING_FD, seconds, sizeof *seconds, 0);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof *seconds;
}
