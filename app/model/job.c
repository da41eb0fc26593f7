#include "app/model/job.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "app/model/tune_snapshot.h"
#include "kernels/base/vec.h"
#include "profile/build/build.h"
#include "profile/child/device.h"
#include "profile/measure/meters.h"
#include "profile/measure/program_text.h"
#include "sessions/export/network_export.h"
#include "sessions/file/machine_file.h"

const struct job_info job_info[JOB_COUNT] = {
#define KIND(id, lane, group, doing) { LANE_##lane, JOBS_##group, doing },
    JOB_KINDS(KIND)
#undef KIND
};

#define MACHINE_S 3.0                    /* seconds of sampling for the machine model */

struct app_job *job_new(enum job_kind kind, const char *recipe, int tag, int threads)
{
    struct app_job *j = xcalloc(1, sizeof *j);
    j->kind = kind;
    j->recipe = xstrdup(recipe);
    j->tag = tag;
    j->threads = threads;
    return j;
}

void job_free(struct app_job *j)
{
    if (!j)
        return;
    free(j->recipe);
    free(j->chosen);
    free(j->other);
    job_pair_free(j->pair);
    ablation_free(j->ablation);
    lens_free(j->lens);
    free(j->cure);
    network_made_free(j->network);
    session_free(j->session);
    str_free(&j->text);
    free(j->model);
    free(j->detail);
    free(j->tuned.call_s);
    arena_free(j->mem);
    tuning_free(j->tuning);
    tune_snapshot_drop(j->snapshot);
    network_live_drop(j->live);
    free(j);
}

/* Builds the program of a recipe in arena a. */
static bool rebuild(struct arena *a, const char *recipe, const struct program **out, struct err *e)
{
    VEC(const char *) lines = {0};
    char *rest = arena_strdup(a, recipe);
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n"))
        vec_push(&lines, line);
    int bad;
    bool ok = program_replay(a, lines.data[0], lines.data + 1, lines.len - 1, out, &bad, e);
    vec_free(&lines);
    return ok;
}

struct machine_task {
    const struct compiler *cc; const struct machine *here; const struct progress *pr;
    const struct cancel *c;
    int tries;
};

/* Reports the progress.  If a doubtful result is measured again, reports the number of the try
 * instead of `what`. */
static void report_try(void *ctx, const char *what, double fraction)
{
    const struct machine_task *t = ctx;
    struct str text = {0};
    if (t->tries > 1)
        str_printf(&text, "again, try %d of %d", t->tries, MACHINE_TRIES);
    else
        str_add(&text, what);
    if (t->pr && t->pr->report)
        t->pr->report(t->pr->ctx, str_text(&text), fraction);
    str_free(&text);
}

static bool measure_once(void *ctx, struct machine_model *out, struct err *e)
{
    struct machine_task *t = ctx;
    const struct progress pr = { report_try, t };
    t->tries++;
    return machine_model_measure(t->cc, t->here, MACHINE_S, &pr, t->c, out, e);
}

/* Measures the machine model, merges it with the stored one (the higher roofs count) and stores it.
 * If the result cannot be stored, the job still succeeds, so that the screen can use it. */
static bool measure_machine(struct app_job *j, const struct cancel *c, const struct progress *pr)
{
    struct machine here;
    struct compiler cc;
    machine_read(&here);
    struct machine_task task = { &cc, &here, pr, c, 0 };
    struct machine_fresh *fresh = xcalloc(1, sizeof *fresh);
    bool ok = compiler_find(NULL, &cc, &j->e);
    if (ok && !machine_file_measure(&here, measure_once, &task, MACHINE_TRIES, fresh,
                                    &j->e))
        ok = fresh->tries > 0;
    if (ok) {
        j->model = xmalloc(sizeof *j->model);
        *j->model = fresh->model;
    }
    free(fresh);
    return ok;
}

/* --- Tuning ----------------------------------------------------------------------------------- */

struct tune_task { struct app_job *j; struct cancel *c; const struct progress *pr; };

static void report_tune(void *ctx, const struct tune_view *v)
{
    const struct tune_task *t = ctx;
    if (t->pr)
        t->pr->report(t->pr->ctx, stage_name[v->stage], (double)v->done / v->budget);
}

static void show_tune(void *ctx, const struct tune_view *v)
{
    struct tune_task *t = ctx;
    tune_snapshot_put(t->j->snapshot, v, t->c, report_tune, t);
}

/* Makes a session from a recipe.  The session of the screen cannot be used, because it belongs to
 * the screen's thread. */
static bool open_session(const char *recipe, struct session **out, struct err *e)
{
    char *text = xstrdup(recipe), *rest = text;
    struct session *s;
    bool ok = session_new(strsep(&rest, "\n"), &s, e);
    for (char *line = strsep(&rest, "\n"); ok && line; line = strsep(&rest, "\n")) {
        ok = history_apply(s->history, line, e);
        if (!ok)
            session_free(s);
    }
    free(text);
    if (ok)
        *out = s;
    return ok;
}

/* If the records have answered the search, shows the trials of the old run; ignores errors. */
static void show_past(struct tune_task *t)
{
    struct arena *a = arena_new();
    struct tune_view v;
    struct err ignored;
    if (tuning_past(t->j->tuning, a, &v, &ignored))
        show_tune(t, &v);
    arena_free(a);
}

/* Sets the objective: candidates for a GPU are ranked by simulation if this machine has no GPU.
 * The view of the tuner says so. */
static void choose_objective(struct app_job *j, const struct session *s)
{
    struct cuda_info device;
    struct err none;
    j->tune.simulated = tuning_for_gpu(s, &j->tune) && !device_this(NULL, &device, &none);
}

static bool tune(struct app_job *j, struct cancel *c, const struct progress *pr)
{
    struct tune_task t = { j, c, pr };
    struct search_sink sink = { .ctx = &t, .view = show_tune };
    struct session *s;
    if (!open_session(j->recipe, &s, &j->e))
        return false;
    s->accuracy = j->accuracy;
    choose_objective(j, s);
    struct cancel *stop = tune_snapshot_stop(j->snapshot);
    stop->whole = c;
    j->tune.stop = stop;
    bool ok = tuning_run(s, &j->tune, &sink, c, &j->tuning, &j->e);
    session_free(s);
    if (ok && j->tuning->answered)
        show_past(&t);
    return ok;
}

static bool find_stopped(struct app_job *j)
{
    struct session *s;
    if (!open_session(j->recipe, &s, &j->e))
        return false;
    s->accuracy = j->accuracy;
    choose_objective(j, s);
    bool found = tuning_stopped(s, &j->tune, &j->stopped);
    session_free(s);
    return found;
}

/* Writes the measured network of j to the folder j->other, with these data. */
static bool export_network(struct app_job *j, const struct network_values *values)
{
    const struct network_export_opts o = {
        .name = network_export_name(j->network->arena, j->other), .session = j->session,
        .target = target_host(), .threads = j->threads,
    };
    return network_export_measured(j->network->net, j->network->measured, values, &o, j->other,
                                   " ", &j->text, &j->e);
}

static bool make_network(struct app_job *j, struct cancel *c, const struct progress *pr)
{
    struct network_values values = {0};
    bool made = false, exports = j->kind == JOB_NETWORK_RUN && j->other;
    struct network_order o = {
        j->recipe, j->chosen ? j->chosen : "", j->accuracy, j->threads, j->kind == JOB_NETWORK_RUN,
        exports ? &values : NULL,
    };
    if (!exports || network_export_folder(j->other, &made, &j->e))
        j->network = network_make(&o, pr, c, &j->e);
    if (exports && !(j->network && export_network(j, &values)) && made)
        rmdir(j->other);                  /* does nothing unless the folder is empty */
    network_values_free(&values);
    return j->network != NULL;
}

static bool tune_network(struct app_job *j, struct cancel *c, const struct progress *pr)
{
    const struct network_live_order o = { j->seconds, j->threads };
    if (!session_new(j->recipe, &j->session, &j->e))
        return false;
    str_add(&j->session->kernels, j->chosen ? j->chosen : "");
    j->session->accuracy = j->accuracy;
    return network_live_tune(j->live, j->session, &o, pr, c, &j->text, &j->tuned, &j->e);
}

struct measure_opts job_measure_opts(const struct app_job *j)
{
    const struct job_settings *s = &j->set;
    return (struct measure_opts){ .threads = j->threads, .seed = 1, .cache = s->cache,
                                  .sim_budget = s->sim_budget, .target = s->target,
                                  .compiler = s->compiler[0] ? s->compiler : NULL };
}

/* Writes the text of C, ASM or SASS into j->text. */
static bool write_code(struct app_job *j, const struct program *p, const struct measure_opts *o,
                       const struct cancel *c)
{
    if (j->kind == JOB_C)
        return program_text_source(j->mem, p, o->target, &j->text, &j->lines, &j->e);
    bool gpu = program_text_is_gpu(p, o->target), sass = j->kind == JOB_SASS;
    if (sass && !gpu) {
        err_set(&j->e, ERR_RANGE,
                "SASS is the machine code of a GPU, and this kernel is for a CPU");
        return err_fix(&j->e, "5 shows its assembly; `loop bind` steps or `:isa cuda` make a kernel"
                       " for a GPU");
    }
    bool ok = sass ? program_text_sass(j->mem, p, c, &j->text, &j->lines, &j->e)
                   : program_text_machine(j->mem, p, o->target, o->compiler, c, &j->text,
                                          &j->lines, &j->e);
    if (ok && !gpu)
        port_pressure_read(str_text(&j->text), &j->lines, NULL, c, &j->ports);
    size_t n = strlen(j->e.fix);
    if (!ok && gpu && j->e.code == ERR_ENV)
        snprintf(j->e.fix + n, sizeof j->e.fix - n, "%s4 shows the CUDA C%s", n ? "; " : "",
                 sass ? ", 5 the PTX" : "");
    return ok;
}

void job_run(struct app_job *j, struct cancel *c, const struct progress *pr)
{
    if (j->kind == JOB_OPEN) {
        j->ok = session_from_onnx(j->recipe, NULL, NULL, &j->session, &j->e);
        return;
    }
    if (job_info[j->kind].group == JOBS_NETWORK) {
        j->ok = (j->kind == JOB_NETWORK_TUNE ? tune_network : make_network)(j, c, pr);
        return;
    }
    if (j->kind == JOB_STOPPED) {
        j->ok = find_stopped(j);
        return;
    }
    if (j->kind == JOB_TUNE) {
        j->ok = tune(j, c, pr);
        return;
    }
    if (j->kind == JOB_MACHINE) {
        j->ok = measure_machine(j, c, pr);
        return;
    }
    struct arena *a = arena_new();
    const struct program *p, *other = NULL;
    struct measure_opts o = job_measure_opts(j);
    o.meters = meters_default();
    o.baselines = j->baselines;
    if (j->kind == JOB_MEASURE)
        o.detail = j->detail = xcalloc(1, sizeof *j->detail);
    j->mem = arena_new();
    j->ok = rebuild(a, j->recipe, &p, &j->e)
         && (!j->other || rebuild(a, j->other, &other, &j->e));
    if (job_info[j->kind].group == JOBS_MARK) {
        j->ok = j->ok && job_run_compare(j, p, other, pr, c);
        arena_free(a);
        return;
    }
    if (j->ok && j->kind == JOB_LENS)
        j->ok = job_run_lens(j, p, c);
    else if (j->ok && j->kind == JOB_CURES)
        j->ok = job_run_cures(j, p, pr, c);
    else if (j->ok && j->kind == JOB_FORECAST)
        j->ok = job_run_forecast(j, p, other, c);
    else if (j->ok && j->kind == JOB_MEASURE)
        j->ok = measure_program(p, &o, pr, c, &j->m, &j->e);
    else if (j->ok)
        j->ok = write_code(j, p, &o, c);
    if (j->ok && j->kind == JOB_MEASURE && j->m.outcome == OUTCOME_CANCEL)
        j->ok = err_set(&j->e, ERR_CANCEL, "cancelled");
    arena_free(a);
}

struct lane {
    struct job_queue *queue;
    pthread_t thread;
    pthread_cond_t wake;
    struct app_job *next, *now;          /* next: the waiting job; now: the running job; or NULL */
    struct cancel cancel;                /* ends the running job, which can raise it itself */
    bool dropped;                        /* whether the queue has cancelled the running job */
    char what[32];                       /* what the running job reports */
    double fraction;
};

struct job_queue {
    pthread_mutex_t lock;                /* guards all members below except fd */
    struct lane lane[LANE_COUNT];
    VEC(struct app_job *) finished;      /* ended jobs that were not taken yet */
    bool closing;
    int fd;                              /* an eventfd: readable when there is news */
};

static void announce(struct job_queue *q)
{
    uint64_t one = 1;
    if (write(q->fd, &one, sizeof one) < 0)
        return;  /* the counter is full, so the descriptor is readable anyway */
}

static void report(void *ctx, const char *what, double fraction)
{
    struct lane *l = ctx;
    pthread_mutex_lock(&l->queue->lock);
    snprintf(l->what, sizeof l->what, "%s", what);
    l->fraction = fraction;
    pthread_mutex_unlock(&l->queue->lock);
    announce(l->queue);
}

/* Waits for the next job of this lane; NULL: the queue closes.  The lock must be held. */
static struct app_job *next_job(struct lane *l)
{
    while (!l->next && !l->queue->closing)
        pthread_cond_wait(&l->wake, &l->queue->lock);
    if (l->queue->closing)
        return NULL;
    l->now = l->next;
    l->next = NULL;
    l->what[0] = 0;
    l->fraction = 0;
    l->dropped = false;
    atomic_store(&l->cancel.raised, 0);
    return l->now;
}

/* Cancels the running job of a lane.  The lock must be held. */
static void drop(struct lane *l)
{
    l->dropped = true;
    atomic_store(&l->cancel.raised, 1);
}

static void *serve(void *ctx)
{
    struct lane *l = ctx;
    struct job_queue *q = l->queue;
    struct progress pr = {report, l};
    pthread_mutex_lock(&q->lock);
    for (struct app_job *j = next_job(l); j; j = next_job(l)) {
        pthread_mutex_unlock(&q->lock);
        job_run(j, &l->cancel, &pr);
        pthread_mutex_lock(&q->lock);
        l->now = NULL;
        vec_push(&q->finished, j);
        announce(q);
    }
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

/* Starts the thread of a lane, with all signals blocked: only the screen's thread handles
 * signals. */
static bool start_thread(struct lane *l)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int rc = pthread_create(&l->thread, NULL, serve, l);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc == 0;
}

bool job_queue_open(struct job_queue **out, struct err *e)
{
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (fd < 0)
        return err_set(e, ERR_ENV, "no event descriptor: %s", strerror(errno));
    struct job_queue *q = xcalloc(1, sizeof *q);
    q->fd = fd;
    pthread_mutex_init(&q->lock, NULL);
    for (int i = 0; i < LANE_COUNT; i++) {
        q->lane[i].queue = q;
        pthread_cond_init(&q->lane[i].wake, NULL);
        if (!start_thread(&q->lane[i]))
            fail("cannot start a thread");
    }
    *out = q;
    return true;
}

void job_queue_close(struct job_queue *q)
{
    if (!q)
        return;
    pthread_mutex_lock(&q->lock);
    q->closing = true;
    for (int i = 0; i < LANE_COUNT; i++) {
        drop(&q->lane[i]);
        pthread_cond_signal(&q->lane[i].wake);
    }
    pthread_mutex_unlock(&q->lock);
    for (int i = 0; i < LANE_COUNT; i++) {
        pthread_join(q->lane[i].thread, NULL);
        pthread_cond_destroy(&q->lane[i].wake);
        job_free(q->lane[i].next);
    }
    for (int i = 0; i < q->finished.len; i++)
        job_free(q->finished.data[i]);
    vec_free(&q->finished);
    pthread_mutex_destroy(&q->lock);
    close(q->fd);
    free(q);
}

int job_queue_fd(const struct job_queue *q)
{
    return q->fd;
}

void job_queue_drain_fd(struct job_queue *q)
{
    uint64_t n;
    if (read(q->fd, &n, sizeof n) < 0)
        return;                          /* nothing had been announced */
}

void job_queue_start(struct job_queue *q, struct app_job *j)
{
    struct lane *l = &q->lane[job_info[j->kind].lane];
    pthread_mutex_lock(&q->lock);
    job_free(l->next);
    l->next = j;
    if (l->now)
        drop(l);
    pthread_cond_signal(&l->wake);
    pthread_mutex_unlock(&q->lock);
}

void job_queue_cancel(struct job_queue *q, enum job_lane lane)
{
    struct lane *l = &q->lane[lane];
    pthread_mutex_lock(&q->lock);
    job_free(l->next);
    l->next = NULL;
    if (l->now)
        drop(l);
    pthread_mutex_unlock(&q->lock);
}

struct app_job *job_queue_take(struct job_queue *q)
{
    struct app_job *j = NULL;
    pthread_mutex_lock(&q->lock);
    if (q->finished.len > 0) {
        j = q->finished.data[0];
        q->finished.len--;
        size_t left = (size_t)q->finished.len * sizeof *q->finished.data;
        memmove(q->finished.data, q->finished.data + 1, left);
    }
    pthread_mutex_unlock(&q->lock);
    return j;
}

/* Returns the last job of a lane that has ended without being cancelled and was not taken yet;
 * NULL: no such job.  The lock must be held. */
static const struct app_job *untaken(const struct job_queue *q, enum job_lane lane)
{
    for (int i = q->finished.len - 1; i >= 0; i--) {
        const struct app_job *j = q->finished.data[i];
        if (job_info[j->kind].lane == lane && (j->ok || j->e.code != ERR_CANCEL))
            return j;
    }
    return NULL;
}

void job_queue_progress(struct job_queue *q, enum job_lane lane, struct job_progress *out)
{
    struct lane *l = &q->lane[lane];
    *out = (struct job_progress){0};
    pthread_mutex_lock(&q->lock);
    const struct app_job *j = l->next ? l->next : l->now && !l->dropped ? l->now
                        : l->now ? NULL : untaken(q, lane);
    out->busy = l->next || l->now || q->finished.len > 0;
    if (j) {
        out->running = true;
        out->kind = j->kind;
        out->tag = j->tag;
    }
    if (j && j == l->now) {
        snprintf(out->what, sizeof out->what, "%s", l->what);
        out->fraction = l->fraction;
    }
    pthread_mutex_unlock(&q->lock);
}
