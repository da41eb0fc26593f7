/* Compiles the kernels of a batch: several per compiler call, several calls at a time. A call has
 * kernels that need the same flags, and calls with the same flags have about the same amount of
 * text. When a call with several kernels fails, each kernel is tried alone, so that a bad one does
 * not fail the others. The calls run in threads of their own, so that the caller may measure
 * meanwhile. */
#include "profile/measure/batch_impl.h"

#include "kernels/base/arena.h"
#include "kernels/base/cleanup.h"
#include "kernels/base/vec.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define MOST_PER_CALL 64
#define MOST_JOBS 64
_Static_assert(2 * MOST_JOBS <= CLEANUP_SLOTS, "each job has a compiler and a file");
#define COMPILER_NICENESS 10
#define REPORT_MS 50

/* One compiler call and the candidates that share it. */
struct build_unit { int n, member[MOST_PER_CALL]; bool openmp; size_t bytes; };
typedef VEC(struct build_unit) units;

/* The compiling threads. The lock protects the data that they share. */
struct shop {
    struct batch_run *run;
    pthread_t thread[MOST_JOBS];
    int n_threads;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    units todo;
    int next, working;  /* next: first call that has not begun; working: number of running calls */
    int n_final;                         /* number of candidates compiled or refused */
    bool stopped;  /* cancelled, not wanted, or the environment failed; why: the reason */
    struct err why;
};

/* --- Who shares a call ------------------------------------------------------------------------ */

/* Finds the object of a candidate in the cache. False: it is not there and must be compiled. */
static bool find_cached(struct batch_run *r, struct candidate *x)
{
    struct build_job job = { .cc = &x->job.cc, .source = str_text(&x->text),
                             .target = x->job.target, .openmp = x->openmp };
    if (!build_cached(&job, &x->job.kernel))
        return false;
    r->batch->stats.cached++;
    return true;
}

static int by_size(const void *a, const void *b)
{
    const struct candidate *x = *(const struct candidate *const *)a;
    const struct candidate *y = *(const struct candidate *const *)b;
    if (x->text.len != y->text.len)
        return x->text.len < y->text.len ? 1 : -1;
    return (x > y) - (x < y);
}

static void put(struct build_unit *u, const struct batch_run *r, const struct candidate *x)
{
    u->member[u->n++] = (int)(x - r->candidate);
    u->bytes += x->text.len;
    u->openmp = x->openmp;
}

/* Appends compiler calls for the n candidates x. Distributes the candidates, largest first: each
 * goes to the call with the least text so far among those that have room. */
static void share_out(struct batch_run *r, struct candidate *const *x, int n, int jobs, units *out)
{
    int per_call = r->batch->opts.per_call, first = out->len;
    if (per_call > MOST_PER_CALL)
        per_call = MOST_PER_CALL;
    int calls = (n + per_call - 1) / per_call;
    if (calls < jobs)
        calls = n < jobs ? n : jobs;
    for (int i = 0; i < calls; i++)
        vec_push(out, (struct build_unit){0});
    for (int i = 0; i < n; i++) {
        struct build_unit *least = NULL;
        for (int k = first; k < out->len; k++) {
            struct build_unit *u = &out->data[k];
            if (u->n < per_call && (!least || u->bytes < least->bytes))
                least = u;
        }
        put(least, r, x[i]);
    }
}

static bool write_one(struct candidate *x, struct err *e)
{
    const struct batch_item *item = x->item;
    const struct gen_opts o = { .target = x->job.target, .openmp = true };
    if (!item->code) {
        x->openmp = module_is_parallel(x->job.module);
        return module_c(x->job.module, &o, &x->text, e);
    }
    str_add(&x->text, item->code);
    x->openmp = item->openmp;
    return true;
}

/* Candidates are written one after the other because their programs can share a pool of
 * expressions, which only one thread may use. */
bool batch_write(struct batch_run *r, struct err *e)
{
    for (int i = 0; i < r->n; i++) {
        struct candidate *x = &r->candidate[i];
        double start = clock_s();
        bool ok = measure_lower(&x->job, e) && write_one(x, e);
        x->item->compile_s = clock_s() - start;
        if (cancelled(r->cancel))
            return err_set(e, ERR_CANCEL, "cancelled");
        if (ok)
            continue;
        if (!measure_is_result(e))
            return false;
        x->refused = true;
        x->why = *e;
    }
    return true;
}

static void plan_calls(struct batch_run *r, int jobs, units *out)
{
    struct candidate **list = xcalloc((size_t)r->n + 1, sizeof *list);
    for (int kind = 0; kind < 4; kind++) {  /* kernels that share a call must have the same flags */
        int n = 0;
        for (int i = 0; i < r->n; i++) {
            struct candidate *x = &r->candidate[i];
            int own = x->openmp + 2 * gen_autovectorizes(str_text(&x->text));
            if (!x->refused && own == kind && !find_cached(r, x))
                list[n++] = x;
        }
        if (n > 0)
            qsort(list, (size_t)n, sizeof *list, by_size);
        share_out(r, list, n, jobs, out);
    }
    free(list);
}

/* --- Compiling -------------------------------------------------------------------------------- */

static bool call_compiler(const struct batch_run *r, const struct build_unit *u, struct build *out,
                          struct err *e)
{
    const struct measure_job *head = &r->candidate[u->member[0]].job;
    const char *source[MOST_PER_CALL];
    struct str joined = {0};
    for (int i = 0; i < u->n; i++)
        source[i] = str_text(&r->candidate[u->member[i]].text);
    if (u->n > 1)
        gen_join(source, u->n, 0, &joined);
    struct build_job job = { .cc = &head->cc, .target = head->target, .openmp = u->openmp,
                             .source = u->n > 1 ? str_text(&joined) : source[0],
                             .n_kernels = u->n,
                             .cpu_s = r->batch->opts.compile_cpu_s + u->n / 2 };
    bool ok = build_object(&job, r->cancel, out, e);
    str_free(&joined);
    return ok;
}

/* Stores the object of a call in its candidates. Callers of this function and the next three must
 * hold the lock. */
static void take_object(struct shop *s, const struct build_unit *u, const struct build *b)
{
    for (int i = 0; i < u->n; i++) {
        struct candidate *x = &s->run->candidate[u->member[i]];
        x->job.kernel = *b;
        if (u->n > 1)
            snprintf(x->job.entry, sizeof x->job.entry, "ts_entry_%d", i);
    }
    s->n_final += u->n;
    s->run->batch->compilers_killed = 0;
}

/* Charges each candidate a share of the time in proportion to its text. */
static void charge(struct shop *s, const struct build_unit *u, double seconds)
{
    for (int i = 0; i < u->n; i++) {
        struct candidate *x = &s->run->candidate[u->member[i]];
        x->item->compile_s += seconds * (double)x->text.len / (double)u->bytes;
    }
}

static void stop(struct shop *s, const struct err *why)
{
    if (!s->stopped)
        s->why = *why;
    s->stopped = true;
}

static void take_refusal(struct shop *s, const struct build_unit *u, struct err *e)
{
    bool killed = e->code == ERR_KILLED;
    if (!killed && !measure_is_result(e)) {
        stop(s, e);
    } else if (u->n == 1) {
        struct candidate *x = &s->run->candidate[u->member[0]];
        x->refused = true;
        x->why = *e;
        s->n_final++;
        if (!batch_killed(&s->run->batch->compilers_killed, killed, e))
            stop(s, e);
    } else {
        for (int i = 0; i < u->n; i++) {
            struct build_unit alone = {0};
            put(&alone, s->run, &s->run->candidate[u->member[i]]);
            vec_push(&s->todo, alone);
        }
    }
}

/* Compiles until no call is left, or until the shop is stopped. */
static void work(struct shop *s)
{
    pthread_mutex_lock(&s->lock);
    while (!s->stopped && (s->next < s->todo.len || s->working > 0)) {
        if (s->next == s->todo.len) {  /* a refused call may be split into new calls */
            pthread_cond_wait(&s->changed, &s->lock);
            continue;
        }
        struct build_unit u = s->todo.data[s->next++];
        struct build built;
        struct err e;
        s->working++;
        pthread_mutex_unlock(&s->lock);
        double start = clock_s();
        bool ok = call_compiler(s->run, &u, &built, &e);
        pthread_mutex_lock(&s->lock);
        s->working--;
        s->run->batch->stats.compiler_calls += !ok || !built.cached;
        charge(s, &u, clock_s() - start);
        if (ok)
            take_object(s, &u, &built);
        else
            take_refusal(s, &u, &e);
        pthread_cond_broadcast(&s->changed);
    }
    pthread_mutex_unlock(&s->lock);
}

/* Runs a compiling thread at low priority.  Linux gives each thread its own priority; child
 * compilers inherit this thread's. */
static void *work_nicely(void *ctx)
{
    setpriority(PRIO_PROCESS, 0, COMPILER_NICENESS);
    work(ctx);
    return NULL;
}

/* Reports progress until the other threads are done. The caller holds the lock. */
static void watch(struct shop *s)
{
    const struct measure_job reporter = { .progress = s->run->progress };
    int shown = -1;
    while (!s->stopped && (s->next < s->todo.len || s->working > 0)) {
        struct timespec until;
        int n = s->n_final;
        if (n != shown) {
            pthread_mutex_unlock(&s->lock);
            measure_report(&reporter, "compiling", (double)(s->run->before + n) / s->run->all);
            pthread_mutex_lock(&s->lock);
            shown = n;
            continue;
        }
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += REPORT_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        pthread_cond_timedwait(&s->changed, &s->lock, &until);
    }
}

/* Starts compiling threads until there are `jobs` of them or one cannot be started, but at most one
 * new thread for each call that has not begun. */
static void hire(struct shop *s, int jobs)
{
    pthread_mutex_lock(&s->lock);
    int most = s->n_threads + s->todo.len - s->next;
    pthread_mutex_unlock(&s->lock);
    while (s->n_threads < jobs && s->n_threads < most
           && pthread_create(&s->thread[s->n_threads], NULL, work_nicely, s) == 0)
        s->n_threads++;
}

static const struct machine *machine_of(const struct batch_run *r)
{
    return r->n > 0 ? r->candidate[0].job.machine : machine_this();
}

int batch_jobs(const struct batch_run *r)
{
    int jobs = r->batch->opts.jobs > 0 ? r->batch->opts.jobs : machine_of(r)->cores;
    return jobs < 1 ? 1 : jobs > MOST_JOBS ? MOST_JOBS : jobs;
}

/* A compiler on a core of its own makes the times of a kernel about 1 % longer (BENCHMARKS.md). */
int batch_jobs_beside(const struct batch_run *r)
{
    const struct machine *m = machine_of(r);
    int threads = r->batch->opts.measure.threads, jobs = batch_jobs(r);
    int idle = m->cores / m->core_threads - (threads > 1 ? threads : 1);
    return idle < 0 ? 0 : idle < jobs ? idle : jobs;
}

struct shop *batch_build_begin(struct batch_run *r, int jobs)
{
    struct shop *s = xcalloc(1, sizeof *s);
    *s = (struct shop){ .run = r, .lock = PTHREAD_MUTEX_INITIALIZER,
                        .changed = PTHREAD_COND_INITIALIZER };
    plan_calls(r, batch_jobs(r), &s->todo);
    for (int i = 0; i < s->todo.len; i++)
        s->n_final -= s->todo.data[i].n;
    s->n_final += r->n;
    hire(s, jobs);
    return s;
}

bool batch_build_end(struct shop *s, bool wanted, struct err *e)
{
    pthread_mutex_lock(&s->lock);
    if (!wanted)
        stop(s, e);
    pthread_mutex_unlock(&s->lock);
    hire(s, batch_jobs(s->run));
    if (s->n_threads == 0)
        work(s);
    pthread_mutex_lock(&s->lock);
    watch(s);
    pthread_mutex_unlock(&s->lock);
    for (int i = 0; i < s->n_threads; i++)
        pthread_join(s->thread[i], NULL);
    bool ok = !s->stopped;
    if (!ok)
        *e = s->why;
    vec_free(&s->todo);
    free(s);
    return ok;
}
