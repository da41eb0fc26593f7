/* The cache lens of the current state: its jobs, the playback, and applying a cure. */
#include "app/model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void model_lens_forget(struct model *m)
{
    struct lensing *k = &m->lensing;
    lens_free(k->lens);
    free(k->cure);
    str_free(&k->why);
    *k = (struct lensing){ .from = -1, .loop = -1, .number = k->number + 1 };
}

bool model_lens_fits(const struct model *m)
{
    const struct lensing *k = &m->lensing;
    return k->have && k->tag == model_tag(m) && k->asked == k->from && k->target == m->set.target
        && cache_config_same(&k->cache, &m->set.cache);
}

bool model_lens_stopped(const struct model *m)
{
    return m->lensing.stopped && m->lensing.stopped_tag == model_tag(m);
}

bool model_lens_is_due(const struct model *m)
{
    const struct lensing *k = &m->lensing;
    return !model_lens_stopped(m) && (!model_lens_fits(m) || (k->lens && !k->predicted));
}

bool model_lens_cancel(struct model *m)
{
    struct desired_job w;
    if (!model_desired_job(m, LANE_TEXT, &w) || (w.kind != JOB_LENS && w.kind != JOB_CURES))
        return false;
    m->lensing.stopped = true;
    m->lensing.stopped_tag = model_tag(m);
    m->data_stamp++;
    model_info(m, "cancelled; :lens goes on");
    return true;
}

void model_cures_job(const struct model *m, struct app_job *j)
{
    job_want_cures(j, m->lensing.cure, m->lensing.n_cures);
    j->stamp = m->lensing.number;
}

void model_cured(struct model *m, struct app_job *j)
{
    struct lensing *k = &m->lensing;
    if ((!j->ok && j->e.code == ERR_CANCEL) || j->stamp != k->number || !k->lens)
        return;
    k->predicted = true;
    k->n_cures = j->ok ? j->n_cures : 0;
    k->now = j->now;
    for (int i = 0; i < k->n_cures; i++) {
        k->cure[i] = j->cure[i];
        k->cure[i].line = arena_strdup(k->lens->arena, j->cure[i].line);
    }
}

/* Lists the *n loops around the touch that the playback shows.  Returns the index of the chosen
 * loop (k->loop) in this list; *n: it is not in the list. */
static int place_of_loop(const struct lensing *k, int around[LENS_DEEPEST], int *n)
{
    int i = 0;
    *n = lens_around(k->lens, k->at, around);
    while (i < *n && around[i] != k->loop)
        i++;
    return i;
}

void model_lensed(struct model *m, struct app_job *j)
{
    struct lensing *k = &m->lensing;
    if (!j->ok && j->e.code == ERR_CANCEL)
        return;
    if (!k->have || k->tag != j->tag)
        m->pane[VIEW_LENS].scroll = (struct scroll){0};
    lens_free(k->lens);
    free(k->cure);
    str_clear(&k->why);
    if (!j->ok)
        str_printf(&k->why, "%s%s%s", j->e.text, j->e.fix[0] ? ": " : "", j->e.fix);
    k->have = true;
    k->tag = j->tag;
    k->asked = j->lens_from;
    k->cache = j->set.cache;
    k->target = j->set.target;
    k->lens = j->lens;
    k->cure = j->cure;
    k->n_cures = j->n_cures;
    k->predicted = false;
    k->number++;
    j->lens = NULL;
    j->cure = NULL;
    k->at = 0;
    if (!k->lens)
        return;
    int first = lens_first_conflict(k->lens, 0);
    k->at = first > 0 ? first : 0;
    int around[LENS_DEEPEST], n, i = place_of_loop(k, around, &n);
    k->loop = i < n ? k->loop : n > 0 ? around[n - 1] : -1;
}

/* --- Commands --------------------------------------------------------------------------------- */

/* Returns the index of the cure under the cursor; -1: there is no cure. */
static int chosen_cure(const struct model *m)
{
    const struct pane_doc *p = &m->pane[VIEW_LENS];
    const struct line *l = doc_at(&p->doc, &p->scroll);
    return l && m->lensing.predicted && l->id >= 0 && l->id < m->lensing.n_cures ? l->id : -1;
}

bool model_lens_on_cure(const struct model *m)
{
    return model_lens_fits(m) && chosen_cure(m) >= 0;
}

/* Runs all steps of the cure under the cursor.  If one is refused, takes back those before it. */
static bool apply_cure(struct model *m)
{
    int i = chosen_cure(m), n = 0;
    bool ok = true;
    if (i < 0 && model_lens_is_due(m))
        return model_say_error(m, "the cures are not there yet", "wait until they are listed");
    if (i < 0)
        return model_say_error(m, "there is no cure on this line", "move to one with j and k");
    char *text = xstrdup(m->lensing.cure[i].line), *rest = text;
    for (char *line = strsep(&rest, "\n"); ok && line; line = strsep(&rest, "\n")) {
        ok = model_run(m, line);
        n += ok;
    }
    struct err e;
    if (!ok && n > 0) {
        history_undo(m->session->history, n, &e);
        model_edited(m);
    } else if (n > 1) {
        model_info(m, "%d steps are applied; undo %d takes them back", n, n);
    }
    free(text);
    return ok;
}

/* Moves the playback to touch `at`.  If the window does not have it (-1, or past the end), returns
 * false with the message `why`. */
static bool go_to(struct model *m, int at, const char *why)
{
    const struct lens *l = m->lensing.lens;
    if (at < 0 || at >= l->n_touches)
        return model_say_error(m, why, l->from > 0 ? "lens from 0 begins the window at the start"
                                     : l->iterations > 1 ? "lens from middle begins it later" : "");
    m->lensing.at = at;
    return true;
}

/* Returns the first touch of an iteration of the chosen loop: of the n-th one after the shown touch
 * (dir 1), or the n-th one before it (dir -1).  -1: the window has no such iteration. */
static int next_iteration(const struct lensing *k, int dir, long long n)
{
    int at = k->at;
    for (; n > 0 && at >= 0; n--)
        at = lens_next(k->lens, k->loop, at, dir);
    return at;
}

/* Chooses the next inner loop around the touch that the playback shows.  After the innermost loop,
 * or if the chosen loop is not around this touch, chooses the outermost loop. */
static bool next_loop(struct model *m)
{
    struct lensing *k = &m->lensing;
    int around[LENS_DEEPEST], n, i = place_of_loop(k, around, &n);
    if (n == 0)
        return model_say_error(m, "no loop is around this touch", "");
    k->loop = around[i < n - 1 ? i + 1 : 0];
    model_info(m, ". and , play iterations of %s", k->lens->loop[k->loop].axis);
    return true;
}

static bool set_from(struct model *m, const char *arg)
{
    long long n = -1;
    if (arg[0] && !streq(arg, "middle") && !str_to_int64(arg, 0, INT64_MAX, &n))
        return model_say_error(m, "lens from takes the number of an iteration, or middle",
                               "lens from 0");
    m->lensing.from = n;
    return true;
}

/* Runs a command that needs a lens: one of the playback, or `apply`. */
static bool play(struct model *m, const char *word, long long n)
{
    struct lensing *k = &m->lensing;
    if (!k->lens || k->lens->n_touches == 0 || !model_lens_fits(m))
        return model_say_error(m, "the cache is not simulated yet", model_wants_roofs(m)
                               ? "wait: first the machine is measured for the roofline" : "");
    if (streq(word, "apply"))
        return apply_cure(m);
    k->to_playback = true;
    if (streq(word, "next") || streq(word, "prev"))
        return go_to(m, (int)(k->at + (word[0] == 'n' ? n : -n)), "the window ends here");
    if (streq(word, "forward") || streq(word, "back"))
        return go_to(m, next_iteration(k, word[0] == 'f' ? 1 : -1, n),
                     "the window has no such iteration");
    if (streq(word, "conflict") && k->lens->n_columns > 0 && !(k->lens->all.conflict > 0))
        return model_say_error(m, "no miss of the run is by a conflict", "");
    if (streq(word, "conflict"))
        return go_to(m, lens_first_conflict(k->lens, k->at + 1),
                     "no later conflict miss in this window");
    return next_loop(m);
}

bool model_lens(struct model *m, const char *arg)
{
    static const char *const words[] = { "next", "prev", "forward", "back", "conflict", "loop",
                                         "apply" };
    char word[16] = "", rest[32] = "";
    long long n = 1;
    sscanf(arg, "%15s %31s", word, rest);
    model_show_view(m, VIEW_LENS);
    m->lensing.stopped = false;
    m->data_stamp++;
    if (!word[0])
        return true;
    if (streq(word, "from"))
        return set_from(m, rest);
    for (int i = 0; i < COUNT_OF(words); i++)
        if (streq(word, words[i]))
            return rest[0] && !str_to_int64(rest, 1, LENS_TOUCHES, &n)
                 ? model_say_error(m, "the number must be from 1 to 65,536",
                                   "lens next 100")
                 : play(m, word, n);
    return model_say_error(m, "lens knows no such word",
                           "next, prev, forward, back, conflict, loop, from 0 or apply");
}
