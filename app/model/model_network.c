/* A network: the list of its kernels, each of which opens as a session of its own.  These sessions
 * stay until the network is closed, so that a kernel that is opened again has its history.  When
 * the user leaves a kernel whose steps have changed, the steps are copied into the network's
 * session; then the network is built again, and must be measured again. */
#include "app/model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/ui/text.h"
#include "sessions/file/kernels_text.h"
#include "sessions/file/session_network.h"
#include "sessions/report/network_kernel.h"

#define CHEAP_FLOPS 5e9  /* autorun measures a network with fewer operations without a request */

bool model_shows_network(const struct model *m)
{
    return m->network && !m->session;
}

/* --- Opening and closing ---------------------------------------------------------------------- */

bool model_network_open(struct model *m, struct session *s)
{
    if (!session_is_network(s))
        return false;
    m->network = xcalloc(1, sizeof *m->network);
    m->network->session = s;
    model_network_update(m);
    model_show_session(m, NULL);
    return true;
}

static void forget_made(struct app_network *n)
{
    if (n->timed != n->made)
        network_made_free(n->timed);
    network_made_free(n->made);
    n->made = n->timed = NULL;
}

/* Appends the operator and the steps of a kernel in the form of network_order.chosen.  spec: the
 * operator is its first line, as in app_kernel.was. */
static void put_kernel(struct str *out, const char *spec, const struct program *p)
{
    str_printf(out, "%.*s\n", (int)strcspn(spec, "\n"), spec);
    for (int i = 0; i < p->n_steps; i++)
        str_printf(out, "%s\n", p->steps[i]);
    str_add_char(out, '\n');
}

/* Whether a kernel without a file of its own has a branch beside the current one that only its
 * autosave keeps.  Branches with the current steps, or with the instant schedule with which the
 * session began, do not count. */
static bool has_branches(const struct app_kernel *k)
{
    const struct history *h = k->session->history;
    const struct program *now = history_current(h)->program;
    struct str text = {0};
    bool has = false;
    for (int i = 0; i < history_n_branches(h) && !k->session->path[0]; i++) {
        const struct program *p = history_state(h, history_branch(h, i)->tip)->program;
        bool same = str_same_lines(p->steps, p->n_steps, now->steps, now->n_steps);
        str_clear(&text);
        put_kernel(&text, k->was, p);
        bool began = !k->chosen && streq(str_text(&text), k->was);
        has = has || (i != history_branch_index(h) && !same && !began);
    }
    str_free(&text);
    return has;
}

void model_network_give_up(struct model *m)
{
    for (int i = 0; m->network && i < m->network->kernels.len; i++)
        if (has_branches(&m->network->kernels.data[i]))
            session_autosave_drop(m->network->kernels.data[i].session);
    if (m->network)
        m->network->gave_up = true;
}

void model_network_close(struct model *m)
{
    struct app_network *n = m->network;
    if (!n)
        return;
    forget_made(n);
    for (int i = 0; i < n->kernels.len; i++) {
        struct session *s = n->kernels.data[i].session;
        /* an autosave that stays is offered when the network is opened again */
        if (!s->dirty && !s->numbers && !has_branches(&n->kernels.data[i]))
            session_autosave_drop(s);
        session_free(s);
        free(n->kernels.data[i].was);
        model_tuner_free(&n->kernels.data[i].tuner);
    }
    vec_free(&n->kernels);
    model_network_forget_undone(n);
    vec_free(&n->undone);
    session_free(n->session);
    str_free(&n->why);
    str_free(&n->export);
    str_free(&n->tuned_from);
    str_free(&n->tuned_to);
    str_free(&n->opened);
    network_live_drop(n->live);
    free(n);
    m->network = NULL;
    m->session = NULL;
}

/* Closes the network and opens its graph as one program. */
static void open_whole(struct model *m)
{
    struct session *whole = m->network->session;
    m->network->session = NULL;
    model_network_close(m);
    model_show_session(m, whole);
}

bool model_network(struct model *m, const char *arg)
{
    bool off = streq(arg, "off");
    if (*arg && !off)
        return model_say_error(m, "network takes off, or nothing", "network");
    if (!m->network && !m->session)
        return model_say_error(m, "no graph is open yet", "e model.onnx");
    if (off && !m->network)
        return model_say_error(m, "no network is open", "network");
    if (off && m->session)
        return model_say_error(m, "a kernel of the network is open",
                               "Esc goes back to the network");
    if (off && m->network->tune_wanted)
        return model_say_error(m, "the kernels are being tuned", "Esc in their list ends that");
    if (off)
        open_whole(m);
    else if (m->network)
        model_kernel_leave(m);
    else if (!model_network_open(m, m->session))
        return model_say_error(m, "this session cannot open as a network: it has steps, only one "
                               "kernel, or another type than float32",
                               "open a model, or a graph of several operators, and take no step");
    return true;
}

/* --- Kernels ---------------------------------------------------------------------------------- */

int model_kernel(const struct model *m)
{
    const struct pane_doc *p = &m->pane[DOC_NETWORK];
    const struct line *l = doc_at(&p->doc, &p->scroll);
    const struct network_made *made = model_shows_network(m) ? m->network->made : NULL;
    return made && l && l->id >= 0 && l->id < made->net->n_tasks ? l->id : -1;
}

int model_kernel_like(const struct network *net, const char *spec, int near)
{
    size_t len = strcspn(spec, "\n");
    int found = -1;
    for (int i = 0; i < net->n_tasks; i++) {
        const char *is = net->task[i].spec;
        if (strlen(is) == len && strncmp(is, spec, len) == 0
            && (found < 0 || abs(i - near) < abs(found - near)))
            found = i;
    }
    return found;
}

/* Appends an open kernel with its present steps, as put_kernel does. */
static void put_current(struct str *out, const struct app_kernel *k)
{
    put_kernel(out, k->was, history_current(k->session->history)->program);
}

/* Returns the kernel whose session is s; there must be one. */
static struct app_kernel *find_kernel(struct app_network *n, const struct session *s)
{
    struct app_kernel *k = n->kernels.data;
    while (k->session != s)
        k++;
    return k;
}

/* Makes a session with the operator and the steps of a kernel; NULL with a message. */
static struct session *session_of(struct model *m, const struct network_task *t)
{
    struct session *s = NULL;
    struct err e;
    if (!network_kernel_open(t, m->network->session->title, &s, &e))
        model_error(m, &e);
    return s;
}

/* Whether the user or the tuner has chosen the steps of the kernel `spec`. */
static bool chose(const struct app_network *n, const char *spec)
{
    struct arena *a = arena_new();
    int ignored;
    const char *const *lines;
    bool is = kernels_find(str_text(&n->session->kernels), a, spec, &ignored, &lines);
    arena_free(a);
    return is;
}

void model_kernel_open(struct model *m)
{
    struct app_network *n = m->network;
    int task = model_kernel(m);
    struct str text = {0}, now = {0};
    struct session *s = NULL;
    if (task < 0)
        return;
    const struct network_task *t = &n->made->net->task[task];
    put_kernel(&text, t->spec, t->program);
    for (int i = 0; i < n->kernels.len && !s; i++) {
        struct app_kernel *k = &n->kernels.data[i];
        str_clear(&now);
        put_current(&now, k);
        if (streq(k->was, str_text(&text)) || streq(str_text(&now), str_text(&text)))
            s = k->session;
    }
    if (!s && (s = session_of(m, t)) != NULL) {
        struct app_kernel k = { .session = s, .was = xstrdup(str_text(&text)),
                                .conversion = t->conversion, .chosen = chose(n, t->spec) };
        vec_push(&n->kernels, k);
    }
    str_free(&text);
    str_free(&now);
    if (!s)
        return;
    n->at = m->pane[DOC_NETWORK].scroll;
    if (!t->conversion)
        session_make_kernel(s, n->session);
    struct app_kernel *k = find_kernel(n, s);
    str_clear(&n->opened);
    put_current(&n->opened, k);
    model_show_session(m, s);
    str_clear(&m->search);                /* of the list */
    m->tuner = k->tuner;
    k->tuner = (struct tuner){0};
    model_recover_offer(m);
}

void model_kernel_recovered(struct model *m, struct session *s)
{
    struct app_network *n = m->network;
    str_clear(&n->opened);
    if (m->session) {
        find_kernel(n, m->session)->session = s;
        session_free(m->session);
        model_show_session(m, s);
        return;
    }
    struct str was = {0};
    str_printf(&was, "%s\n\n", history_spec(s->history));
    vec_push(&n->kernels, ((struct app_kernel){ .session = s, .was = xstrdup(str_text(&was)),
                                               .chosen = true }));
    str_free(&was);
    model_show_session(m, s);
}

void model_kernel_leave(struct model *m)
{
    if (!m->session)
        return;
    m->ask_stop = m->tuner.out;
    if (m->ask_stop)
        m->overlay = OVERLAY_ASK;
    else
        model_network_show(m);
}

/* Has the network built again.  A running search of its kernels continues. */
static void build_again(struct model *m)
{
    m->network->tag = ++m->network_jobs;
    m->network->build_wanted = true;
    m->data_stamp++;
}

/* Whether the network was built with the steps of p for the kernel `spec`, and is up to date. */
static bool as_built(const struct app_network *n, const char *spec, const struct program *p)
{
    bool latest = n->made && !n->build_wanted && !n->outdated;
    const struct network *net = latest ? n->made->net : NULL;
    for (int i = 0; net && i < net->n_tasks; i++) {
        const struct network_task *t = &net->task[i];
        if (!t->conversion && streq(t->spec, spec)
            && kernels_same_lines(p->n_steps, p->steps, t->n_lines, t->line))
            return true;
    }
    return false;
}

/* If the steps of a kernel have changed since it was opened, copies them into the network's session
 * and has the network built again.  Steps that are an instant schedule are not stored (n = -1). */
static void take_steps(struct model *m, const struct app_kernel *k)
{
    struct session *whole = m->network->session;
    const struct program *p = history_current(k->session->history)->program;
    struct arena *a = arena_new();
    struct str now = {0};
    const char *const *old;
    int n_old, n = p->n_steps;
    const char *spec = arena_strndup(a, k->was, strcspn(k->was, "\n"));
    put_current(&now, k);
    bool same = streq(str_text(&m->network->opened), str_text(&now));
    if (!k->chosen && streq(k->was, str_text(&now)))
        n = -1;
    bool had = kernels_find(str_text(&whole->kernels), a, spec, &n_old, &old);
    if (!had && as_built(m->network, spec, p))
        n = -1;
    if (!same && (had ? !kernels_same_lines(n, p->steps, n_old, old) : n >= 0)) {
        kernels_put(&whole->kernels, spec, n, p->steps);
        whole->dirty = true;
        build_again(m);
    }
    str_free(&now);
    arena_free(a);
}

/* Drops the autosave of a kernel, because the network's session now has its steps.  But if
 * the kernel has branches that no file has, and is no conversion, writes a new autosave instead, so
 * that these branches can be recovered. */
static void settle_autosave(const struct model *m, const struct app_kernel *k)
{
    struct err ignored;
    if (has_branches(k) && !k->conversion)
        model_autosave(m, k->session, &ignored);     /* if this fails, the old autosave stays */
    else
        session_autosave_drop(k->session);
}

void model_kernel_keep(struct model *m)
{
    struct app_kernel *k = find_kernel(m->network, m->session);
    if (k->conversion)
        return;
    take_steps(m, k);
    str_clear(&m->network->opened);
    put_current(&m->network->opened, k);
    session_settled(k->session);
    settle_autosave(m, k);
}

int model_network_branches(const struct model *m)
{
    int count = 0;
    for (int i = 0; m->network && !m->network->gave_up && i < m->network->kernels.len; i++)
        count += has_branches(&m->network->kernels.data[i]);
    return count;
}

void model_network_left_out(const struct model *m, struct str *out)
{
    int branches = model_network_branches(m);
    bool numbers = false;
    for (int i = 0; i < m->network->kernels.len; i++) {
        const struct session *s = m->network->kernels.data[i].session;
        for (int k = 0; k < history_n_states(s->history) && !s->path[0]; k++)
            numbers = numbers || history_state(s->history, k)->measured;
    }
    if (!branches && !numbers)
        return;
    str_add(out, ": the steps of the kernels. Not saved: ");
    if (branches)
        str_printf(out, "the other branches of %d kernel%s", branches, branches == 1 ? "" : "s");
    str_printf(out, "%s. w in a kernel saves that kernel alone, with them",
               !numbers ? "" : branches ? ", and measurements" : "measurements");
}

void model_network_show(struct model *m)
{
    struct app_kernel *k = find_kernel(m->network, m->session);
    bool refused = k->conversion && k->session->dirty;
    k->session->dirty = k->session->numbers = false;
    if (!m->tuner.out) {
        k->tuner = m->tuner;
        m->tuner = (struct tuner){0};
    }
    model_show_session(m, NULL);
    m->pane[DOC_NETWORK].scroll = m->network->at;
    m->network->left = k->was;
    if (!k->conversion)
        take_steps(m, k);
    if (m->network->session->dirty)
        model_keep_safe(m);
    settle_autosave(m, k);
    model_network_say_tuned(m);
    if (refused)
        model_info(m, "the steps of a conversion stay in its session: the network makes "
                   "conversions from the layouts of the kernels beside them");
}

/* --- Building and measuring ------------------------------------------------------------------- */

void model_network_update(struct model *m)
{
    m->network->tune_wanted = false;
    m->network->tune_tag = 0;
    build_again(m);
}

bool model_network_measure(struct model *m)
{
    m->network->measure_wanted = true;
    m->data_stamp++;
    return true;
}

/* Whether something should be measured that is not part of a search. */
static bool wants_measuring(const struct model *m)
{
    return m->network->measure_wanted || model_wants_measuring(m);
}

void model_network_look(struct model *m)
{
    struct app_network *n = m->network;
    if (!n || !n->live)
        return;
    network_live_hold(n->live, n->tune_wanted && wants_measuring(m));
    unsigned version = network_live_version(n->live);
    m->data_stamp += version != n->live_seen;
    n->live_seen = version;
}

bool model_network_searches(const struct model *m)
{
    const struct app_network *n = m->network;
    const struct job_progress *p = &m->progress[LANE_TUNE];
    bool out = n && n->live && (n->tune_wanted ? p->running : p->busy && !m->tuner.out);
    return out && !network_live_waits(n->live);
}

bool model_network_cancel(struct model *m)
{
    if (model_shows_network(m) && m->network->tune_wanted) {
        m->network->tune_wanted = false;
        m->data_stamp++;
        model_info(m, "ending the search; schedules that are clearly faster are kept");
        return true;
    }
    struct app_network *n = m->network;
    if (!model_shows_network(m) || (!n->build_wanted && !n->measure_wanted))
        return false;
    model_info(m, n->build_wanted ? "scheduling cancelled; m schedules and measures the network"
                                  : "measuring cancelled; m measures again");
    n->outdated = n->outdated || n->build_wanted;
    n->build_wanted = n->measure_wanted = false;
    str_clear(&n->export);
    m->data_stamp++;
    return true;
}

/* Whether the search of all kernels should run; *out is its job.  The search begins only when
 * nothing else should be measured.  Once it runs, other measurements pause it but do not end it. */
static bool desired_search(const struct model *m, struct desired_job *out)
{
    const struct app_network *n = m->network;
    const struct job_progress *p = &m->progress[LANE_TUNE];
    *out = (struct desired_job){ JOB_NETWORK_TUNE, n->tune_tag };
    bool runs = p->running && p->kind == out->kind && p->tag == out->tag;
    return n->tune_wanted && (runs || !wants_measuring(m));
}

bool model_desired_network(const struct model *m, enum job_lane lane, struct desired_job *out)
{
    const struct app_network *n = m->network;
    if (!n)
        return false;
    if (lane == LANE_TUNE)
        return desired_search(m, out);
    *out = (struct desired_job){ lane == LANE_TEXT ? JOB_NETWORK : JOB_NETWORK_RUN, n->tag };
    return lane == LANE_TEXT ? n->build_wanted : n->measure_wanted && !n->build_wanted;
}

struct app_job *model_network_job(const struct model *m, const struct desired_job *w)
{
    const struct app_network *n = m->network;
    struct app_job *j = job_new(w->kind, history_spec(n->session->history), w->tag, m->threads);
    j->chosen = xstrdup(str_text(&n->session->kernels));
    j->accuracy = n->session->accuracy;
    j->live = w->kind == JOB_NETWORK_TUNE ? network_live_keep(n->live) : NULL;
    j->seconds = n->tune_s;
    if (w->kind == JOB_NETWORK_RUN && n->export.len > 0)
        model_network_export_job(n, j);
    return j;
}

static double work(const struct network *net)
{
    double flops = 0;
    for (int i = 0; i < net->n_tasks; i++)
        flops += net->task[i].count * net->task[i].program->base->flops;
    return flops;
}

/* Says how many kernels with chosen steps the network has lost or got back since it was last built:
 * for example, `module cut` divides such a kernel. */
static void say_idle(struct model *m, const struct network *old, const struct network *now)
{
    const char *kernels = str_text(&m->network->session->kernels);
    int was = session_network_idle(old, kernels), is = session_network_idle(now, kernels);
    int n = is > was ? is - was : was - is;
    if (is > was)
        model_info(m, "%d kernel%s with chosen steps %s no longer in the network; the session "
                   "keeps these steps", n, n == 1 ? "" : "s", n == 1 ? "is" : "are");
    if (is < was)
        model_info(m, "the chosen steps of %d kernel%s are in use again", n, n == 1 ? "" : "s");
}

/* Says by how much the time of the network has changed, if it was measured before with the same
 * threads and instruction set; and whether the change is doubtful. */
static void say_change(struct model *m, const struct network_made *old,
                       const struct network_made *now)
{
    const struct network_measurement *x = old ? old->measured : NULL, *y = now->measured;
    bool both = x && y && x->verified && y->verified && x->latency.runs > 0 && y->latency.runs > 0;
    if (!both || x->threads != y->threads || !streq(x->isa, y->isa))
        return;
    struct str text = {0};
    str_add(&text, "the network takes ");
    text_ms(&text, y->latency.min_ms);
    str_add(&text, "; before ");
    text_ms(&text, x->latency.min_ms);
    str_add(&text, " (");
    text_change(&text, y->latency.min_ms / x->latency.min_ms - 1);
    str_add_char(&text, ')');
    bool before = latency_doubtful(&x->latency), after = latency_doubtful(&y->latency);
    if (before || after)
        str_printf(&text, "; %s noisy, so the change is doubtful; m measures again",
                   !before ? "this time is" : !after ? "the time before was" : "both times are");
    model_info(m, "%s", str_text(&text));
    m->message.stays = true;
    str_free(&text);
}

/* Keeps the cursor of the list on its kernel, which can have another number in the new network. */
static void keep_selected(struct model *m, const struct network *old, const struct network *now)
{
    struct pane_doc *p = &m->pane[DOC_NETWORK];
    int task = model_kernel(m);
    int found = task >= 0 ? model_kernel_like(now, old->task[task].spec, task) : -1;
    if (found >= 0)
        p->doc.lines.data[p->scroll.cursor].id = found;
}

/* Takes over the network that a job has built and perhaps measured.  If the job has not
 * measured it, has it measured if steps are measured automatically and the network is small. */
static void take_made(struct model *m, struct app_job *j)
{
    struct app_network *n = m->network;
    if (n->made) {
        say_idle(m, n->made->net, j->network->net);
        keep_selected(m, n->made->net, j->network->net);
    }
    if (n->made != n->timed)
        network_made_free(n->made);
    n->made = j->network;
    n->outdated = false;
    if (j->kind == JOB_NETWORK_RUN) {
        say_change(m, n->timed, n->made);
        network_made_free(n->timed);
        n->timed = n->made;
        n->measure_wanted = false;
    } else {
        n->measure_wanted = n->measure_wanted || (m->autorun && work(n->made->net) < CHEAP_FLOPS);
    }
    j->network = NULL;
}

void model_networked(struct model *m, struct app_job *j)
{
    struct app_network *n = m->network;
    if (j->kind == JOB_NETWORK_TUNE) {
        if (n && j->tag == n->tune_tag)
            model_network_tuned(m, j);
        return;
    }
    bool cancelled = !j->ok && j->e.code == ERR_CANCEL;
    if (!n || j->tag != n->tag || cancelled || (j->kind == JOB_NETWORK && !n->build_wanted))
        return;
    n->build_wanted = false;
    str_clear(&n->why);
    if (j->ok) {
        take_made(m, j);
        model_network_exported(m, j);
        model_network_say_tuned(m);
        return;
    }
    n->measure_wanted = false;
    str_clear(&n->export);
    str_add(&n->why, j->e.text);
    model_error(m, &j->e);
}
