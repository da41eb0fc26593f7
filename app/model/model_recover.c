/* Unsaved changes that an earlier run, killed or quit at once, has left of the open file, network
 * or kernel: asks whether to open them. */
#include "app/model/model.h"

#include <stdlib.h>
#include <unistd.h>
#include "app/ui/text.h"

static void offer(struct model *m, const struct autosave *found)
{
    m->recover = xmalloc(sizeof *found);
    *m->recover = *found;
    m->overlay = OVERLAY_ASK;
}

/* Offers, in the list of a network, the autosaved changes of a kernel. */
static void offer_kernel(struct model *m)
{
    struct autosave found;
    if (model_shows_network(m) && session_autosave_kernel(m->network->session, &found))
        offer(m, &found);
}

void model_recover_offer(struct model *m)
{
    const struct session *s = model_document(m);
    struct autosave found;
    free(m->recover);
    m->recover = NULL;
    if (s && !s->dirty && session_autosave_of(s, &found))
        offer(m, &found);
    else
        offer_kernel(m);
}

void model_recover_question(const struct model *m, struct str *out)
{
    const struct autosave *a = m->recover;
    str_add(out, "Open the unsaved changes of an earlier run, ");
    text_duration(out, a->age_s);
    str_printf(out, " ago? %s", a->original[0] ? basename(a->original) : a->title);
}

/* The autosave has steps but not the actions that made them. */
void model_say_recovered(struct model *m)
{
    model_info(m, "these changes are not saved yet: s saves them; the undo history is gone, u "
               "takes back the last step");
}

void model_recover_answer(struct model *m, bool open, bool forget)
{
    struct autosave *from = m->recover;
    struct session *s;
    struct err e;
    m->recover = NULL;
    m->overlay = OVERLAY_NONE;
    if (forget) {
        unlink(from->path);
        model_info(m, "forgotten; this is what was saved");
    } else if (!open) {
        model_info(m, "this is what was saved; the start screen keeps the changes");
    } else if (!session_recover(from, &s, &e)) {
        model_error(m, &e);
    } else if (from->kernel && m->network) {
        model_kernel_recovered(m, s);
        model_info(m, "these steps go into the network when you leave the kernel");
    } else {
        model_set_session(m, s);
        model_say_recovered(m);
    }
    if (!open && !from->kernel)
        offer_kernel(m);
    free(from);
}
