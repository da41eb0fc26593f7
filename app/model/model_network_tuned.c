/* A search of all kernels of a network: starts it, and takes over its result: schedules, and the
 * times of the network before the search. */
#include "app/model/model.h"

#include <stdlib.h>

#include "kernels/base/arena.h"
#include "sessions/file/kernels_text.h"

#define TUNE_S 60                         /* seconds of a search of all kernels, by default */

bool model_network_tune(struct model *m, const char *arg)
{
    struct app_network *n = m->network;
    long long seconds = TUNE_S;
    if (n && !n->made)
        return model_say_error(m, "the kernels have no schedules yet", "m chooses them and "
                               "measures the network");
    if (!n)
        return model_say_error(m, "no network is open", "e model.onnx");
    if (*arg && !str_to_int64(arg, 1, 1000000, &seconds))
        return model_say_error(m, "the time is in seconds", "tune_all 600");
    if (n->tune_wanted)
        return model_say_error(m, "the kernels are being tuned", "Esc in their list ends that");
    if (m->tuner.out)
        return model_say_error(m, "the tuner is running", "x in its view stops it first");
    network_live_drop(n->live);
    n->live = network_live_new();
    n->live_seen = 0;
    n->tune_wanted = true;
    n->tune_tag = ++m->network_jobs;
    n->tune_of = n->tag;
    n->tune_s = (double)seconds;
    m->data_stamp++;
    return true;
}

/* Whether both texts have the same steps for the kernel `spec`, or none. */
static bool same_choice(struct arena *a, const char *x, const char *y, const char *spec)
{
    const char *const *line[2];
    int n[2];
    bool had[2] = { kernels_find(x, a, spec, &n[0], &line[0]),
                    kernels_find(y, a, spec, &n[1], &line[1]) };
    return had[0] == had[1] && kernels_same_lines(n[0], line[0], n[1], line[1]);
}

/* Copies the schedules that a search has changed into the network's session, except for kernels
 * whose steps the user has changed during the search.  Returns the number of these exceptions. */
static int merge_tuned(struct app_network *n, const struct app_job *j)
{
    struct arena *a = arena_new();
    struct str *now = &n->session->kernels, all = {0};
    const char *found = str_text(&j->session->kernels), *at, *spec;
    const char *const *line;
    int n_lines, changed = 0;
    /* j->chosen is added because it can have kernels that the search has dropped */
    str_printf(&all, "%s%s", found, j->chosen);
    const char *dropped = str_text(&all) + strlen(found);
    for (at = str_text(&all); kernels_next(&at, a, &spec, &n_lines, &line);) {
        bool has = kernels_find(found, a, spec, &n_lines, &line);
        bool seen = has && at > dropped;
        if (seen || same_choice(a, j->chosen, found, spec)
            || same_choice(a, str_text(now), found, spec))
            continue;
        if (!same_choice(a, j->chosen, str_text(now), spec)) {
            changed++;
            continue;
        }
        kernels_put(now, spec, has ? n_lines : -1, line);
        n->session->dirty = true;
    }
    str_free(&all);
    arena_free(a);
    return changed;
}

/* Gives the network the times that a search has measured at its beginning, unless the network was
 * measured already or has changed since then. */
static void take_first(struct app_network *n, const struct app_job *j)
{
    const struct network_live_result *r = &j->tuned;
    struct network_made *made = n->made;
    if (made->measured || n->build_wanted || n->outdated || n->tune_of != n->tag || !r->call_s
        || r->n_calls != made->net->module->n_calls)
        return;
    struct network_measurement *m = ARENA_DUP(made->arena, &r->first, 1);
    m->call_s = ARENA_DUP(made->arena, r->call_s, r->n_calls);
    made->measured = m;
    if (n->timed != made)
        network_made_free(n->timed);
    n->timed = made;
}

/* Whether both texts choose the same steps for every kernel. */
static bool same_choices(const char *x, const char *y)
{
    struct arena *a = arena_new();
    const char *const texts[] = { x, y }, *spec;
    const char *const *line;
    bool same = true;
    int n;
    for (int i = 0; i < 2; i++)
        for (const char *at = texts[i]; same && kernels_next(&at, a, &spec, &n, &line);)
            same = same_choice(a, x, y, spec);
    arena_free(a);
    return same;
}

void model_network_say_tuned(struct model *m)
{
    struct app_network *n = m->network;
    if (!n->tuned_untold || !n->made || n->measure_wanted || !model_shows_network(m))
        return;
    const struct network *net = n->made->net;
    struct arena *a = arena_new();
    struct str text = {0}, names = {0};
    int named = 0;
    bool still = model_network_at_tuned(n, false);
    for (int i = 0; still && i < net->n_tasks; i++)
        if (!same_choice(a, str_text(&n->tuned_from), str_text(&n->tuned_to), net->task[i].spec))
            str_printf(&names, "%s%d", named++ ? ", " : "", i);
    if (m->message.kind == MESSAGE_INFO && m->message.text.len > 0)
        str_printf(&text, "%s; ", str_text(&m->message.text));
    str_printf(&text, "the search has changed the steps of kernel%s %s: u takes them back",
               named == 1 ? "" : "s", str_text(&names));
    n->tuned_untold = false;
    if (named > 0)
        model_info(m, "%s", str_text(&text));
    m->message.stays = m->message.stays || named > 0;
    str_free(&text);
    str_free(&names);
    arena_free(a);
}

bool model_network_at_tuned(const struct app_network *n, bool before)
{
    const struct str *text = before ? &n->tuned_from : &n->tuned_to;
    return n->tuned_from.len + n->tuned_to.len > 0
        && same_choices(str_text(&n->session->kernels), str_text(text));
}

bool model_network_swap_tuned(struct app_network *n, bool redo)
{
    if (!model_network_at_tuned(n, redo))
        return false;
    str_clear(&n->session->kernels);
    str_add(&n->session->kernels, str_text(redo ? &n->tuned_to : &n->tuned_from));
    n->session->dirty = true;
    n->tuned_untold = false;
    return true;
}

void model_network_tuned(struct model *m, struct app_job *j)
{
    struct app_network *n = m->network;
    struct err ignored;
    n->tune_wanted = false;
    m->data_stamp++;
    if (!j->ok && j->e.code != ERR_CANCEL)
        model_error(m, &j->e);
    if (!j->ok)
        return;
    take_first(n, j);
    char *before = xstrdup(str_text(&n->session->kernels));
    int own = merge_tuned(n, j);
    if (!streq(before, str_text(&n->session->kernels))) {
        str_clear(&n->tuned_from);
        str_add(&n->tuned_from, before);
        str_clear(&n->tuned_to);
        str_add(&n->tuned_to, str_text(&n->session->kernels));
        n->tuned_untold = true;
        model_network_update(m);
        /* model_keep_safe would write the autosave of the open kernel, if there is one */
        model_autosave(m, n->session, &ignored);
        /* unchecked_s > 0: measuring takes long, so it waits for the key m */
        n->measure_wanted = j->tuned.unchecked_s <= 0;
    }
    free(before);
    if (own > 0)
        str_printf(&j->text, "; %d kernel%s with the steps that you gave", own,
                   own == 1 ? " stays" : "s stay");
    model_info(m, "%s", str_text(&j->text));
}
