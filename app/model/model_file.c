/* The files of the screen: opens and saves sessions and writes texts.  Asks before it overwrites
 * another file. */
#include "app/model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "kernels/base/file.h"
#include "sessions/export/export.h"
#include "sessions/file/session_network.h"
#include "sessions/file/shipped.h"

/* --- Leaving and saving ----------------------------------------------------------------------- */

void model_after(struct model *m)
{
    enum after_ask then = m->then;
    m->then = AFTER_NOTHING;
    if (then != AFTER_NOTHING)
        model_discard(m);
    if (then == AFTER_QUIT)
        m->out.quit = true;
    if (then == AFTER_OPEN) {
        if (m->next)
            session_remember(m->next->path[0] ? m->next->path : m->next->model);
        model_set_session(m, m->next);
        m->next = NULL;
    }
}

void model_give_up(struct model *m)
{
    m->then = AFTER_NOTHING;
    session_free(m->next);
    m->next = NULL;
}

/* Whether path is a regular file, a folder or nothing yet.  Refuses others with a message: reading
 * a terminal or an unused pipe would never end. */
static bool is_file(struct model *m, const char *path)
{
    struct stat st;
    struct str text = {0};
    bool special = stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
    if (!special && !streq(path, "-"))
        return true;
    str_printf(&text, "%s is not a file", path);
    model_say_error(m, str_text(&text), "the screen reads and writes files only; the commands "
                    "`tilescope show` and `tilescope run` take pipes");
    str_free(&text);
    return false;
}

/* Refuses to overwrite a file, with the message `why`, until Enter is pressed again.  The second
 * Enter overwrites the file unless it has changed since the first one.  Returns false. */
static bool ask_overwrite(struct model *m, const char *path, const char *why)
{
    str_clear(&m->overwrite);
    str_add(&m->overwrite, path);
    m->overwrite_seen = file_seen(path);
    m->confirm = true;
    return model_say_error(m, why, "Enter again overwrites it, Esc keeps it");
}

/* Returns the state that the file must have when it is replaced (file_replace).  If this is the
 * second Enter (ask_overwrite), it is the state at the first Enter, else `known`. */
static uint64_t may_overwrite(struct model *m, const char *path, uint64_t known)
{
    bool again = streq(str_text(&m->overwrite), path);
    str_clear(&m->overwrite);
    return again ? m->overwrite_seen : known;
}

/* Whether the network of the open kernel has a file of its own.  False with a message. */
static bool network_has_file(struct model *m)
{
    const char *path = m->network->session->path;
    return (path[0] && !shipped_file(path))
        || model_say_error(m, "the network of this kernel has no file of its own yet",
                           "Esc goes to the network, where s saves it; w saves this kernel alone");
}

static void say_saved(struct model *m, const struct session *s)
{
    struct str left = {0};
    if (m->network && s == m->network->session)
        model_network_left_out(m, &left);
    model_info(m, "saved to %s%s", s->path, str_text(&left));
    str_free(&left);
}

/* Saves to path.  "" saves the session to its own file, or asks for a name if it has none; in a
 * kernel, "" saves the network, and is refused if the network has no file. */
static bool save_to(struct model *m, const char *path)
{
    bool whole = m->network && m->session && !path[0];
    struct session *s = whole ? m->network->session : model_document(m);
    struct str why = {0};
    struct err e;
    if (whole && !network_has_file(m))
        return false;
    if (whole)
        model_kernel_keep(m);
    if (!path[0] && (!s->path[0] || shipped_file(s->path))) {
        if (s->path[0])
            model_info(m, "%s is shipped with tilescope: choose a name of your own", s->path);
        model_save_as(m);
        return true;
    }
    if (path[0] && !is_file(m, path))
        return false;
    const char *to = path[0] ? path : s->path;
    bool own = s->path[0] && file_same(to, s->path);
    uint64_t seen = may_overwrite(m, to, own ? s->on_disk : FILE_ABSENT);
    if (session_save_over(s, to, seen, &e)) {
        say_saved(m, s);
        model_after(m);
        return true;
    }
    if (e.code != ERR_CHANGED)
        return model_error(m, &e);
    if (own)
        str_printf(&why, "%s changed on disk", s->path);
    else
        str_add(&why, "that file exists already");
    ask_overwrite(m, to, str_text(&why));
    str_free(&why);
    return false;
}

bool model_save(struct model *m, const char *path)
{
    struct stat st;
    struct str to = {0};
    const char *name = basename(path);
    bool bare = name[0] && !streq(name, "-") && !strchr(name, '.') && stat(path, &st) != 0;
    str_printf(&to, "%s%s", path, bare ? ".yaml" : "");
    bool ok = save_to(m, str_text(&to));
    str_free(&to);
    return ok;
}

bool model_write(struct model *m, const char *path, uint64_t seen, const struct str *text,
                 const char *what)
{
    struct err e;
    if (file_replace(path, seen, str_text(text), text->len, &e)) {
        model_info(m, "%s written to %s", what, path);
        return true;
    }
    if (e.code == ERR_CHANGED)
        return ask_overwrite(m, path, "that file exists already");
    return model_error(m, &e);
}

bool model_file_named(struct model *m, const char *path, const char *usage)
{
    if (path[0])
        return is_file(m, path);
    return model_say_error(m, "a file name is missing", usage);
}

bool model_export(struct model *m, const char *path)
{
    struct str text = {0}, command = {0};
    struct err e;
    if (!model_file_named(m, path, "export kernel.c"))
        return false;
    struct export_opts o = { .file = path };
    bool cuda = export_is_cuda(m->session, &o);
    const char *what = cuda ? "CUDA C" : "C file";
    bool ok = export_c(m->session, &o, &text, &e) && export_command(m->session, &o, &command, &e);
    if (!ok)
        model_error(m, &e);
    else
        ok = model_write(m, path, may_overwrite(m, path, FILE_ABSENT), &text, what);
    if (ok) {
        model_info(m, "%s written to %s; %s: %s", what, path,
                   cuda ? "compile it" : "compile and run it (its first lines say how)",
                   str_text(&command));
        m->message.stays = true;
    }
    str_free(&text);
    str_free(&command);
    return ok;
}

/* Requests a dump of the screen (struct outbox); the drawing code writes it. */
bool model_dump(struct model *m, const char *path)
{
    if (!model_file_named(m, path, "dump screen.txt"))
        return false;
    str_clear(&m->out.dump);
    str_add(&m->out.dump, path);
    m->out.dump_seen = may_overwrite(m, path, FILE_ABSENT);
    return true;
}

bool model_quit_now(struct model *m)
{
    model_discard(m);
    m->out.quit = true;
    return true;
}

bool model_save_quit(struct model *m, const char *path)
{
    m->then = AFTER_QUIT;
    bool ok = model_save(m, path);
    if (!ok)
        model_give_up(m);
    return ok;
}

/* --- Opening ---------------------------------------------------------------------------------- */

bool model_new_session(struct model *m, const char *spec)
{
    struct session *s = NULL;
    struct err e;
    if (!session_new(spec, &s, &e)) {
        m->error_col = e.at.col;
        return model_error(m, &e);
    }
    model_ask_save(m, AFTER_OPEN, s);
    return true;
}

bool model_open_file(struct model *m, const char *path)
{
    struct session *s = NULL;
    struct err e;
    if (!path[0])
        return model_say_error(m, "a file name is missing", "e session.yaml");
    if (!is_file(m, path))
        return false;
    if (str_ends(path, ".onnx") && file_exists(path)) {
        model_open_onnx(m, path);
        return true;
    }
    if (!session_load(path, &s, &e))
        return model_error(m, &e);
    model_ask_save(m, AFTER_OPEN, s);
    return true;
}

void model_open_onnx(struct model *m, const char *path)
{
    str_clear(&m->opening);
    str_add(&m->opening, path);
    m->openings++;
    m->recover_yes = false;
}

void model_opened(struct model *m, struct app_job *j)
{
    if (m->opening.len == 0 || j->tag != m->openings || (!j->ok && j->e.code == ERR_CANCEL))
        return;
    str_clear(&m->opening);
    if (!j->ok) {
        m->recover_yes = false;
        model_error(m, &j->e);
        return;
    }
    if (m->overlay == OVERLAY_ASK) {      /* the question is about the document that is left */
        model_give_up(m);
        free(m->recover);                 /* the start screen keeps these changes */
        m->recover = NULL;
        m->overlay = OVERLAY_NONE;
    }
    model_ask_save(m, AFTER_OPEN, j->session);
    j->session = NULL;
}

/* --- The entries of the start screen ---------------------------------------------------------- */

/* Opens an example as a session without a file name, so that saving cannot change the example. */
static void open_example(struct model *m, const char *path)
{
    struct session *s = NULL;
    struct err e;
    if (!session_load(path, &s, &e)) {
        model_error(m, &e);
        return;
    }
    s->path[0] = 0;
    s->on_disk = 0;
    model_set_session(m, s);
    model_info(m, "a copy of the example %s; s saves it under a name of yours", basename(path));
}

/* Opens the network to which an autosaved kernel belongs.  As soon as the network is open, it takes
 * over the changes of the kernel (recover_yes).  False: there is no such network any more. */
static bool open_network_of(struct model *m, const struct start_entry *e)
{
    struct session *s = NULL;
    struct err err;
    if (str_ends(e->path, ".onnx")) {
        char line[sizeof e->path + 2];
        snprintf(line, sizeof line, "e %s", e->path);
        m->recover_yes = model_run(m, line);
        return true;
    }
    if (!e->path[0] || !session_load(e->path, &s, &err))
        return false;
    if (!session_opens_as_network(s)) {
        session_free(s);
        return false;
    }
    session_remember(s->path);
    m->recover_yes = true;
    model_set_session(m, s);
    return true;
}

/* Opens the unsaved work of an entry.  For a network, also opens the autosaves of its kernels. */
static void open_unsaved(struct model *m, const struct start_entry *e)
{
    struct session *s = NULL;
    struct err err;
    if (e->autosave.kernel && open_network_of(m, e))
        return;
    if (!session_recover(&e->autosave, &s, &err)) {
        model_error(m, &err);
        return;
    }
    model_open_recovered(m, s, e->kernels > 0);
    if (s->kernel_of)
        model_info(m, "a kernel of a network without a file: s saves the kernel alone");
}

void model_open_entry(struct model *m)
{
    const struct start_entry *e = model_entry(m);
    char line[700];
    if (!e)
        return;
    if (e->kind == START_AUTOSAVE) {
        open_unsaved(m, e);
    } else if (e->kind == START_OPERATOR) {
        snprintf(line, sizeof line, "new %s", e->op->example);
        prompt_open(&m->prompt, ':', line);
    } else if (e->kind == START_EXAMPLE && !str_ends(e->path, ".onnx")) {
        snprintf(line, sizeof line, "%s", e->path);
        open_example(m, line);
    } else {
        snprintf(line, sizeof line, "e %s", e->path);
        model_run(m, line);
    }
}

void model_discard_entry(struct model *m)
{
    const struct start_entry *e = model_entry(m);
    if (!e || e->kind != START_AUTOSAVE) {
        model_say_error(m, "only unsaved work can be discarded here", "");
        return;
    }
    if (!streq(str_text(&m->overwrite), e->autosave.path)) {
        str_clear(&m->overwrite);
        str_add(&m->overwrite, e->autosave.path);
        model_info(m, "press d again to delete this unsaved session");
        return;
    }
    str_clear(&m->overwrite);
    session_autosave_delete(&e->autosave, e->kernels > 0);
    start_read(&m->start);
    m->data_stamp++;
    model_info(m, "the unsaved session is deleted");
}
