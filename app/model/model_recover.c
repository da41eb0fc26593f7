/* Recovery: if an earlier run was killed or quit without saving, it has left unsaved changes of the
 * open file, network or kernel.  Asks whether to open them. */
#include "app/model/model.h"

#include <stdlib.h>
#include <unistd.h>
#include "app/ui/text.h"

void model_recover_offer(struct model *m)
{
    const struct session *s = model_document(m);
    struct unsaved_work r = {0};
    free(m->recover);
    m->recover = NULL;
    bool yes = m->recover_yes;
    m->recover_yes = false;
    r.own = s && !s->dirty && session_autosave_of(s, &r.found);
    if (model_shows_network(m))
        r.n = session_autosave_kernels(m->network->session, r.kernel, RECOVER_KERNELS);
    if (!r.own && r.n == 0)
        return;
    m->recover = xmalloc(sizeof r);
    *m->recover = r;
    if (yes)
        model_recover_answer(m, true, false);
    else
        m->overlay = OVERLAY_ASK;
}

void model_recover_question(const struct model *m, struct str *out)
{
    const struct unsaved_work *r = m->recover;
    const struct autosave *a = r->own ? &r->found : &r->kernel[0];
    str_add(out, "Open the unsaved changes of an earlier run, ");
    text_duration(out, a->age_s);
    if (!r->own && r->n > 1)
        str_printf(out, " ago? %d kernels of %s", r->n, m->network->session->title);
    else
        str_printf(out, " ago? %s", a->original[0] ? basename(a->original) : a->title);
    if (r->own && r->n > 0)
        str_printf(out, ", with those of %d kernel%s", r->n, r->n == 1 ? "" : "s");
}

/* Says that the recovered changes are not saved yet, and in a session what the key u does now: the
 * undo history is gone because an autosave has steps, but not the actions that made them.
 * restored: whether the settings have changed, too; then names them. */
static void say_recovered(struct model *m, bool restored)
{
    struct str set = {0};
    if (restored) {
        str_add(&set, "; settings as then: ");
        size_t from = set.len;
        model_settings(m, &set);
        str_add(&set, set.len == from ? "the defaults" : "");
    }
    model_info(m, "these changes are not saved yet: s saves them%s%s",
               model_shows_network(m) ? "" : "; the undo history is gone, u takes back the last "
                                             "step", str_text(&set));
    str_free(&set);
}

void model_open_recovered(struct model *m, struct session *s, bool with_kernels)
{
    bool restored = model_settings_restore(m, s->screen);
    m->recover_yes = with_kernels;
    model_set_session(m, s);
    say_recovered(m, restored);
}

/* Opens one autosave: that of the open document if there is one, else the only autosave of a kernel
 * of the open network.  A network then takes over the autosaves of its kernels (recover_yes). */
static void open_one(struct model *m, const struct unsaved_work *r)
{
    const struct autosave *from = r->own ? &r->found : &r->kernel[0];
    struct session *s;
    struct err e;
    if (!session_recover(from, &s, &e)) {
        model_error(m, &e);
    } else if (from->kernel && m->network) {
        model_settings_restore(m, s->screen);
        model_kernel_recovered(m, s);
        model_info(m, "these steps go into the network when you leave the kernel");
    } else {
        model_open_recovered(m, s, r->n > 0);
    }
}

/* Takes the autosaves of kernels over into the open network, the oldest first, and shows the
 * network.  Used for several autosaves, or if the network has unsaved changes. */
static void open_kernels(struct model *m, const struct unsaved_work *r)
{
    struct session *s;
    struct err e;
    bool restored = model_settings_restore(m, r->kernel[0].screen);      /* the newest */
    for (int i = r->n - 1; i >= 0; i--)
        if (session_recover(&r->kernel[i], &s, &e)) {
            model_kernel_recovered(m, s);
            model_network_show(m);        /* the steps go into the network at once */
        } else {
            model_error(m, &e);
        }
    say_recovered(m, restored);
}

static void forget_all(const struct unsaved_work *r)
{
    if (r->own)
        unlink(r->found.path);
    for (int i = 0; i < r->n; i++)
        unlink(r->kernel[i].path);
}

void model_recover_answer(struct model *m, bool open, bool forget)
{
    struct unsaved_work *r = m->recover;
    m->recover = NULL;
    m->overlay = OVERLAY_NONE;
    bool one = !r->own && r->n == 1 && !m->network->session->dirty;
    if (forget) {
        forget_all(r);
        model_info(m, "forgotten; this is what was saved");
    } else if (!open) {
        model_info(m, "this is what was saved; the start screen keeps the changes");
    } else if (r->own || one) {
        open_one(m, r);
    } else {
        open_kernels(m, r);
    }
    free(r);
}
