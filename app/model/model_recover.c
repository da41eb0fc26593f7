/* Unsaved changes of the open file that a killed run has left: asks whether to open them. */
#include "app/model/model.h"

#include <stdlib.h>
#include <unistd.h>
#include "app/ui/text.h"

void model_recover_offer(struct model *m)
{
    const struct session *s = model_document(m);
    struct autosave found;
    free(m->recover);
    m->recover = NULL;
    if (!s || s->dirty || !s->path[0] || !session_autosave_of(s->path, &found))
        return;
    m->recover = xmalloc(sizeof found);
    *m->recover = found;
    m->overlay = OVERLAY_ASK;
}

void model_recover_question(const struct model *m, struct str *out)
{
    str_printf(out, "%s has changes that were not saved when tilescope was killed, ",
               basename(m->recover->original));
    text_duration(out, m->recover->age_s);
    str_add(out, " ago. Open them?");
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
        model_info(m, "forgotten; this is the file as it was saved");
    } else if (!open) {
        model_info(m, "this is the file as it was saved; the start screen keeps the changes");
    } else if (session_recover(from, &s, &e)) {
        model_set_session(m, s);
        model_info(m, "these changes are not saved yet: s saves them");
    } else {
        model_error(m, &e);
    }
    free(from);
}
