#include "app/views/tui.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "app/model/job.h"
#include "app/ui/signals.h"
#include "app/ui/term.h"
#include "app/views/screen.h"
#include "kernels/base/file.h"

#define EXIT_ENVIRONMENT 3
#define TICK_MS 100
#define PROMPT_FILE_MAX 100000           /* most bytes of the file with the prompt's history */

static volatile sig_atomic_t told_to_stop;       /* the signal that asked to stop, or 0 */
static int wake_fd = -1;  /* on_signal writes to it; this ends the present wait, or the next one */

static void on_signal(int sig)
{
    const uint64_t one = 1;
    int before = errno;
    told_to_stop = sig;
    if (write(wake_fd, &one, sizeof one) < 0)
        told_to_stop = sig;
    errno = before;
}

/* While the loop works, it reads no keys. So if its work takes longer than LONG_WORK_MS, Ctrl-C
 * raises a signal. The first such signal is handled as a key after the work; a second one ends the
 * program at once. */
#define LONG_WORK_MS 300
static volatile sig_atomic_t long_work, typed_interrupt;

static void on_long_work(int sig)
{
    (void)sig;
    long_work = 1;
    term_interrupts(true);
}

static bool on_typed_interrupt(void)
{
    bool first = !typed_interrupt;
    typed_interrupt = 1;
    return first;
}

struct tui {
    struct model *model;
    struct terminal *term;
    struct job_queue *jobs;
    struct grid grid;
    struct term_event event;
    /* for tests (tui.h): descriptors that get a byte when idle, and after a redraw; -1: unused */
    int idle_fd, drawn_fd;
    bool ticked;                         /* whether the last wait of an idle loop ended by a tick */
    bool answered;                       /* whether input was handled since the last redraw */
    sigset_t waiting;                    /* the signal mask during waits */
    bool watched;                        /* whether `patience` exists */
    timer_t patience;                    /* fires when work takes longer than LONG_WORK_MS */
};

/* Starts the jobs that the model desires, and cancels all other jobs. Returns whether a job runs;
 * a paused search does not count. */
static bool reconcile(struct tui *t)
{
    bool busy = false;
    for (int lane = 0; lane < LANE_COUNT; lane++) {
        struct job_progress *p = &t->model->progress[lane];
        struct desired_job w;
        job_queue_progress(t->jobs, (enum job_lane)lane, p);
        bool wanted = model_desired_job(t->model, (enum job_lane)lane, &w);
        bool right = p->running && wanted && p->kind == w.kind && p->tag == w.tag;
        if (wanted && !right)
            job_queue_start(t->jobs, model_job(t->model, &w));
        else if (!wanted && p->running)
            job_queue_cancel(t->jobs, (enum job_lane)lane);
        job_queue_progress(t->jobs, (enum job_lane)lane, p);
        busy = busy || (p->busy && !(lane == LANE_TUNE && model_tune_waits(t->model)));
    }
    return busy;
}

static void take_results(struct tui *t)
{
    job_queue_drain_fd(t->jobs);
    for (struct app_job *j = job_queue_take(t->jobs); j; j = job_queue_take(t->jobs)) {
        model_done(t->model, j);
        job_free(j);
    }
}

static void begin_work(struct tui *t)
{
    struct itimerspec at = {.it_value = {.tv_nsec = LONG_WORK_MS * 1000000L}};
    if (t->watched)
        timer_settime(t->patience, 0, &at, NULL);
}

/* Ends a piece of work. If Ctrl-C came during it, handles the key and returns true. */
static bool end_work(struct tui *t)
{
    struct itimerspec never = {{0}, {0}};
    if (t->watched)
        timer_settime(t->patience, 0, &never, NULL);
    if (long_work)
        term_interrupts(false);
    bool key = typed_interrupt;
    long_work = typed_interrupt = 0;
    if (key)
        screen_key(t->model, K_CTRL('c'));
    return key;
}

static void resize(struct tui *t)
{
    int w, h;
    term_size(t->term, &w, &h);
    grid_resize(&t->grid, w, h);
    model_resize(t->model, w, h);
}

/* Appends the path of a file in the state folder. Returns false if there is no such folder. */
static bool kept_file(struct str *out, const char *name)
{
    struct err ignored;
    bool ok = dir_state(out, &ignored);
    str_printf(out, "/%s", name);
    return ok;
}

/* Loads the history of the prompt from earlier runs of the program. */
static void load_prompt(struct prompt *p)
{
    struct str path = {0}, text = {0};
    struct err ignored;
    char *rest = NULL;
    if (kept_file(&path, "prompt")
        && file_read_regular(str_text(&path), PROMPT_FILE_MAX, &text, &ignored)) {
        char *line = text.data ? strtok_r(text.data, "\n", &rest) : NULL;
        for (; line; line = strtok_r(NULL, "\n", &rest))
            prompt_remember(p, line);
    }
    str_clear(&p->fresh);
    str_free(&path);
    str_free(&text);
}

/* Appends lines to the file at path by one write, so that lines of several programs do not mix.
 * Returns false, without writing, if the file would become too long. */
static bool append_prompt(const char *path, const struct str *lines)
{
    struct stat is;
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0666);
    bool plain = fd >= 0 && fstat(fd, &is) == 0 && S_ISREG(is.st_mode);
    bool fits = !plain || (size_t)is.st_size + lines->len <= PROMPT_FILE_MAX;
    bool stored = plain && fits && write(fd, lines->data, lines->len) >= 0;
    (void)stored;                         /* on failure only the history is lost */
    if (fd >= 0)
        close(fd);
    return fits;
}

/* Stores the lines that were typed since the last call. If the file is too long, replaces it by the
 * history of this program. */
static void store_prompt(struct prompt *p)
{
    struct str path = {0}, all = {0};
    struct err ignored;
    if (p->fresh.len > 0 && kept_file(&path, "")
        && dir_make(str_text(&path), &ignored)) {
        str_add(&path, "prompt");
        for (int i = 0; i < p->history.len; i++)
            str_printf(&all, "%s\n", p->history.data[i]);
        if (!append_prompt(str_text(&path), &p->fresh))
            file_write_atomic(str_text(&path), str_text(&all), all.len, &ignored);
    }
    str_clear(&p->fresh);
    str_free(&path);
    str_free(&all);
}

static void handle_input(struct tui *t)
{
    while (!t->model->out.quit && term_read(t->term, &t->event)) {
        t->answered = true;
        if (t->event.kind == TERM_RESIZE)
            resize(t);
        else if (t->event.kind == TERM_KEY)
            screen_key(t->model, t->event.key);
        else if (t->event.kind == TERM_PASTE)
            screen_paste(t->model, str_text(&t->event.text));
        else if (t->event.kind == TERM_MOUSE)
            screen_mouse(t->model, &t->event.mouse);
    }
    store_prompt(&t->model->prompt);
}

static void empty_outbox(struct tui *t)
{
    struct outbox *out = &t->model->out;
    if (out->suspend) {
        end_work(t);
        term_suspend(t->term);
        begin_work(t);
        resize(t);
    }
    if (out->theme_chosen) {
        term_theme(t->term, out->theme);
        t->model->letters = !term_colours(t->term);
        t->model->data_stamp++;
        screen_refresh(t->model);
    }
    if (out->repaint || out->theme_chosen)
        term_repaint(t->term);
    bool shown = t->model->message.kind == MESSAGE_ERROR;  /* the error shows the text to copy */
    if (out->copy.len > 0 && !term_copy(t->term, str_text(&out->copy), out->copy.len) && !shown)
        model_say_error(t->model, "this terminal cannot copy text, or the text is too long",
                        "dump FILE and export FILE write files");
    str_clear(&out->copy);
    out->suspend = out->repaint = out->theme_chosen = false;
}

static bool input_waits(void)
{
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&p, 1, 0) > 0;
}

/* Waits for keys, results of jobs, signals or the next tick. Returns false if the terminal is
 * gone. */
static bool wait_for_events(struct tui *t, bool busy)
{
    struct pollfd p[3] = {
        {.fd = STDIN_FILENO, .events = POLLIN}, {.fd = job_queue_fd(t->jobs), .events = POLLIN},
        {.fd = wake_fd, .events = POLLIN},
    };
    if (!busy && !t->ticked && t->idle_fd >= 0 && !input_waits() && write(t->idle_fd, ".", 1) < 0)
        t->idle_fd = -1;
    struct timespec tick = {.tv_nsec = TICK_MS * 1000000L};
    bool ticks = busy || t->model->message.fades > 0;
    int n = ppoll(p, COUNT_OF(p), ticks ? &tick : NULL, &t->waiting);
    if (n < 0 && errno != EINTR)
        return false;
    t->ticked = n == 0 && !busy;
    if (n == 0)
        model_tick(t->model);
    return n <= 0 || !(p[0].revents & (POLLHUP | POLLERR | POLLNVAL));
}

/* After a redraw that shows new input, tells a test about it. */
static void tell_drawn(struct tui *t)
{
    if (t->answered && t->drawn_fd >= 0 && write(t->drawn_fd, ".", 1) < 0)
        t->drawn_fd = -1;
    t->answered = false;
}

static void loop(struct tui *t)
{
    begin_work(t);
    while (!t->model->out.quit && !told_to_stop) {
        model_tune_look(t->model);
        screen_refresh(t->model);
        bool busy = reconcile(t);
        screen_draw(t->model, &t->grid);
        term_draw(t->term, &t->grid);
        tell_drawn(t);
        if (!end_work(t) && !wait_for_events(t, busy))
            return;
        begin_work(t);
        handle_input(t);
        take_results(t);
        empty_outbox(t);
    }
    end_work(t);
}

/* Returns the descriptor whose number is in an environment variable; -1: there is none. Child
 * processes do not inherit the descriptor. */
static int told_descriptor(const char *variable)
{
    const char *text = getenv(variable);
    long long fd;
    bool valid = text && str_to_int64(text, 3, 1023, &fd) && fcntl((int)fd, F_GETFD) >= 0;
    return valid && fcntl((int)fd, F_SETFD, FD_CLOEXEC) == 0 ? (int)fd : -1;
}

static void watch_work(struct tui *t)
{
    struct sigaction act = {.sa_handler = on_long_work, .sa_flags = SA_RESTART};
    struct sigevent tell = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGVTALRM};
    sigemptyset(&act.sa_mask);
    sigaction(SIGVTALRM, &act, NULL);
    t->watched = timer_create(CLOCK_MONOTONIC, &tell, &t->patience) == 0;
}

/* Catches the signals that end the program. Blocks SIGWINCH except while the loop waits, because
 * curses is not asked for a new size at other times. *waiting: the mask for these waits. */
static void catch_signals(sigset_t *waiting)
{
    sigset_t ours;
    wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    signals_catch(&(struct signals){.caught = on_signal, .last = term_rescue,
                                    .key = on_typed_interrupt});
    sigemptyset(&ours);
    sigaddset(&ours, SIGWINCH);
    pthread_sigmask(SIG_BLOCK, &ours, waiting);
}

/* Loads the widths of the panes from an earlier run. */
static void load_panes(struct model *m)
{
    struct str path = {0}, text = {0};
    struct err ignored;
    int wider, split;
    if (kept_file(&path, "panes") && file_read_regular(str_text(&path), 100, &text, &ignored)
        && sscanf(str_text(&text), "%d %d", &wider, &split) == 2 && abs(wider) < 1000
        && abs(split) < 1000) {
        m->wider = wider;
        m->split = split;
    }
    str_free(&path);
    str_free(&text);
}

static void save_panes(const struct model *m, int wider, int split)
{
    struct str path = {0}, text = {0};
    struct err ignored;
    str_printf(&text, "%d %d\n", m->wider, m->split);
    if ((m->wider != wider || m->split != split) && kept_file(&path, "panes"))
        file_write_atomic(str_text(&path), str_text(&text), text.len, &ignored);
    str_free(&path);
    str_free(&text);
}

static int refuse(struct tui *t, struct session *s, const struct err *e)
{
    pthread_sigmask(SIG_SETMASK, &t->waiting, NULL);
    fprintf(stderr, "tilescope: %s\n", e->text);
    if (e->fix[0])
        fprintf(stderr, "  %s\n", e->fix);
    session_free(s);
    return EXIT_ENVIRONMENT;
}

int tui_run(struct session *s, const struct term_opts *to, const struct model_opts *mo)
{
    struct tui t = {.idle_fd = told_descriptor("TILESCOPE_IDLE_FD"),
                    .drawn_fd = told_descriptor("TILESCOPE_DRAWN_FD")};
    struct err e;
    catch_signals(&t.waiting);
    if (!term_open(to, &t.term, &e))
        return refuse(&t, s, &e);
    signals_block(true);                 /* the threads of jobs must not handle signals */
    bool open = job_queue_open(&t.jobs, &e);
    signals_block(false);
    if (!open) {
        term_close(t.term);
        return refuse(&t, s, &e);
    }
    bool unicode = term_unicode(t.term);
    t.model = model_new(s, mo, unicode);
    t.model->letters = !term_colours(t.term);
    grid_open(&t.grid, 80, 24, unicode);
    resize(&t);
    watch_work(&t);
    load_prompt(&t.model->prompt);
    load_panes(t.model);
    int wider = t.model->wider, split = t.model->split;
    loop(&t);
    term_close(t.term);
    save_panes(t.model, wider, split);
    if (model_unsaved(t.model) || model_network_branches(t.model) > 0
        || (!t.model->out.quit && model_has_news(t.model)))
        fprintf(stderr, "Unsaved changes are kept: tilescope without arguments offers them.\n");
    else
        model_discard(t.model);
    if (t.model->tuner.out)
        fprintf(stderr, "The tuner was stopped; t goes on with it the next time.\n");
    job_queue_close(t.jobs);
    if (t.watched)
        timer_delete(t.patience);
    model_free(t.model);
    grid_close(&t.grid);
    str_free(&t.event.text);
    pthread_sigmask(SIG_SETMASK, &t.waiting, NULL);
    return 0;
}
