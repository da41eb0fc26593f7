/* The app's own `:` commands (appcmd.def). */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "app/model/appcmd.h"
#include "app/model/model.h"
#include "app/views/view.h"
#include "kernels/base/file.h"
#include "sessions/export/export.h"

static const struct app_info infos[] = {
#define APP_COMMAND(id, name, syntax, help) {name, syntax, help},
#include "app/model/appcmd.def"
#undef APP_COMMAND
};

const struct app_info *app_info(enum app_command id)
{
    return &infos[id];
}

/* leaving and saving */

void model_after(struct model *m)
{
    enum after_ask then = m->then;
    m->then = AFTER_NOTHING;
    if (then != AFTER_NOTHING)
        model_discard(m);
    if (then == AFTER_QUIT)
        m->out.quit = true;
    if (then == AFTER_OPEN) {
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

static bool need_session(struct model *m)
{
    if (!m->session)
        model_say_error(m, "no operator is open yet", "pick one from the list and press Enter");
    return m->session != NULL;
}

/* Reading from the terminal, or a pipe at whose other end there is nobody, would never end. */
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

/* Writing over somebody's work needs a second Enter on the same file: over what was there at the
 * first one. */
static bool ask_overwrite(struct model *m, const char *path, const char *why)
{
    str_clear(&m->overwrite);
    str_add(&m->overwrite, path);
    m->overwrite_seen = file_seen(path);
    m->confirm = true;
    model_say_error(m, why, "Enter again overwrites it, Esc keeps it");
    return false;
}

/* The content of path that may be replaced: the one that the user was asked about, else the one
 * that the session was loaded from. */
static uint64_t may_overwrite(struct model *m, const char *path, uint64_t known)
{
    bool again = streq(str_text(&m->overwrite), path);
    str_clear(&m->overwrite);
    return again ? m->overwrite_seen : known;
}

static bool write_session(struct model *m, const char *path)
{
    struct session *s = m->session;
    struct str why = {0};
    struct err e;
    if (!need_session(m))
        return false;
    if (!path[0] && !s->path[0]) {
        model_save_as(m);
        return true;
    }
    if (path[0] && !is_file(m, path))
        return false;
    const char *to = path[0] ? path : s->path;
    bool own = s->path[0] && file_same(to, s->path);
    uint64_t seen = may_overwrite(m, to, own ? s->on_disk : FILE_ABSENT);
    if (session_save_over(s, to, seen, &e)) {
        model_info(m, "saved to %s", s->path);
        model_after(m);
        return true;
    }
    if (e.code != ERR_CHANGED) {
        model_error(m, &e);
        return false;
    }
    if (own)
        str_printf(&why, "%s changed on disk", s->path);
    else
        str_add(&why, "that file exists already");
    ask_overwrite(m, to, str_text(&why));
    str_free(&why);
    return false;
}

static bool write_text(struct model *m, const char *path, const char *usage, const struct str *text,
                       const char *what)
{
    struct err e;
    if (!path[0]) {
        model_say_error(m, "a file name is missing", usage);
        return false;
    }
    if (!is_file(m, path))
        return false;
    uint64_t seen = may_overwrite(m, path, FILE_ABSENT);
    if (file_replace(path, seen, str_text(text), text->len, &e)) {
        model_info(m, "%s written to %s", what, path);
        return true;
    }
    if (e.code == ERR_CHANGED)
        return ask_overwrite(m, path, "that file exists already");
    model_error(m, &e);
    return false;
}

static bool export_kernel(struct model *m, const char *path)
{
    struct str text = {0};
    struct err e;
    if (!need_session(m))
        return false;
    bool ok = export_c(m->session, &(struct export_opts){ .file = path[0] ? path : NULL }, &text,
                       &e);
    if (ok)
        ok = write_text(m, path, "export kernel.c", &text, "C file");
    else
        model_error(m, &e);
    str_free(&text);
    return ok;
}

static bool dump_screen(struct model *m, const char *path)
{
    struct grid g;
    struct str text = {0};
    grid_open(&g, m->w, m->h, m->unicode);
    model_draw(m, &g);
    grid_dump(&g, &text);
    bool ok = write_text(m, path, "dump screen.txt", &text, "screen");
    grid_close(&g);
    str_free(&text);
    return ok;
}

static void copy_doc(struct model *m)
{
    struct pane_doc *p = model_focused(m);
    const struct line *l = doc_at(&p->doc, &p->scroll);
    str_clear(&m->out.copy);
    if (p == &m->pane[DOC_LEDGER] && l && l->id >= 0) {
        int n;
        struct ledger_row *rows = model_ledger(m, &n);
        if (l->id < n)
            str_add(&m->out.copy, rows[l->id].step);
        free(rows);
    } else {
        for (int i = 0; i < p->doc.lines.len; i++)
            str_printf(&m->out.copy, "%s\n", p->doc.lines.data[i].text);
    }
    if (m->out.copy.len > 0)
        model_info(m, "copied to the clipboard (if this terminal allows it)");
    else
        model_info(m, "nothing to copy here");
}

/* where the user looks */

static void show_view(struct model *m, enum view v)
{
    if (v != VIEW_NEST)
        m->view[PANE_SIDE] = v;
    m->focus = m->last_view = v == VIEW_NEST ? PANE_MAIN : PANE_SIDE;
}

static bool change_view(struct model *m, const char *name)
{
    if (!need_session(m))
        return false;
    int now = (int)m->view[m->last_view];
    int v = streq(name, "next") ? (now + 1) % VIEW_COUNT
          : streq(name, "prev") ? (now + VIEW_COUNT - 1) % VIEW_COUNT : view_find(name);
    if (v < 0) {
        model_say_error(m, "there is no such view",
                        "nest, access, layout, C, asm, profile, graph, roofline or tune");
        return false;
    }
    show_view(m, (enum view)v);
    return true;
}

/* Tab goes around the panes; where they take turns on a small screen, the focused one is the one to
 * see. */
static bool change_focus(struct model *m, const char *name)
{
    if (!need_session(m))
        return false;
    int dir = streq(name, "prev") ? PANE_COUNT - 1 : 1;
    if (streq(name, "steps")) {
        m->focus = PANE_LEDGER;
    } else if (streq(name, "view")) {
        m->focus = m->last_view;
    } else if ((streq(name, "next") || streq(name, "prev")) && m->w >= FRAME_WIDE) {
        m->focus = (enum pane)((m->focus + dir) % PANE_COUNT);
    } else if (streq(name, "next") || streq(name, "prev")) {
        m->focus = m->focus == PANE_LEDGER ? m->last_view : PANE_LEDGER;
    } else {
        model_say_error(m, "there is no such pane", "next, prev, steps or view");
        return false;
    }
    if (m->focus != PANE_LEDGER)
        m->last_view = m->focus;
    return true;
}

static bool set_auto(struct model *m, const char *arg)
{
    if (arg[0] && !streq(arg, "on") && !streq(arg, "off")) {
        model_say_error(m, "auto is on or off", "");
        return false;
    }
    m->autorun = arg[0] ? streq(arg, "on") : !m->autorun;
    m->measure_wanted = m->autorun && m->session && !history_current(m->session->history)->measured;
    m->data_stamp++;
    if (m->autorun)
        model_info(m, "every step is measured from now on");
    else
        model_info(m, "nothing is measured from now on until m is pressed");
    return true;
}

static bool measure_all(struct model *m)
{
    struct wish w;
    if (!need_session(m))
        return false;
    m->measure_all = m->numbers_asked = true;
    m->data_stamp++;
    if (model_wish(m, LANE_MEASURE, &w) && w.kind == JOB_MEASURE)
        return true;
    m->measure_all = false;
    model_info(m, "every step has its numbers already; m measures the current one again");
    return true;
}

static bool set_threads(struct model *m, const char *arg)
{
    long long n;
    if (!str_to_int64(arg, 1, 1024, &n)) {
        model_say_error(m, "the number of threads is 1 to 1024", "threads 4");
        return false;
    }
    m->threads = (int)n;
    model_info(m, "measuring with %d thread%s from now on; m measures again", m->threads,
               n == 1 ? "" : "s");
    return true;
}

/* Alone it turns all of them on, or off when some are. */
static bool set_baselines(struct model *m, const char *arg)
{
    struct err e;
    if (!*arg)
        arg = m->baselines ? "none" : "all";
    if (!vendor_parse(arg, &m->baselines, &e)) {
        model_say_error(m, e.text, "baselines onednn,openblas");
        return false;
    }
    if (m->baselines)
        model_info(m, "measuring with vendor baselines from now on; m measures again");
    else
        model_info(m, "measuring without vendor baselines from now on");
    return true;
}

static bool set_title(struct model *m, const char *arg)
{
    if (!need_session(m))
        return false;
    size_t bad;
    if (strlen(arg) >= sizeof m->session->title || !utf8_valid(arg, strlen(arg), &bad)) {
        model_say_error(m, "that title is too long", "255 characters at most");
        return false;
    }
    strcpy(m->session->title, arg);
    m->session->dirty = true;
    model_keep_safe(m);
    return true;
}

static bool start_new(struct model *m, const char *spec)
{
    struct session *s = NULL;
    struct err e;
    if (!session_new(spec, &s, &e)) {
        model_error(m, &e);
        m->error_col = e.at.col > 0 ? e.at.col + 4 : 0;
        return false;
    }
    model_ask_save(m, AFTER_OPEN, s);
    return true;
}

static bool open_file(struct model *m, const char *path)
{
    struct session *s = NULL;
    struct err e;
    if (!path[0]) {
        model_say_error(m, "a file name is missing", "e session.yaml");
        return false;
    }
    if (!is_file(m, path))
        return false;
    if (!(str_ends(path, ".onnx") ? session_from_onnx : session_load)(path, &s, &e)) {
        model_error(m, &e);
        return false;
    }
    session_remember(s);
    model_ask_save(m, AFTER_OPEN, s);
    return true;
}

static bool quit_now(struct model *m)
{
    model_discard(m);
    m->out.quit = true;
    return true;
}

static bool write_quit(struct model *m, const char *path)
{
    m->then = AFTER_QUIT;
    bool ok = write_session(m, path);
    if (!ok)
        model_give_up(m);
    return ok;
}

static bool show_branches(struct model *m)
{
    if (!need_session(m))
        return false;
    const struct history *h = m->session->history;
    m->overlay = OVERLAY_BRANCHES;
    m->pane[DOC_BRANCHES].scroll.cursor = view_branches_row(history_branch_index(h));
    m->pane[DOC_BRANCHES].stamp = 0;
    return true;
}

static bool run_app(struct model *m, enum app_command id, const char *arg)
{
    switch (id) {
    case APP_WRITE:      return write_session(m, arg);
    case APP_QUIT:       model_ask_save(m, AFTER_QUIT, NULL); return true;
    case APP_QUIT_NOW:   return quit_now(m);
    case APP_WRITE_QUIT: return write_quit(m, arg);
    case APP_OPEN:       return open_file(m, arg);
    case APP_NEW:        return start_new(m, arg);
    case APP_START:      model_ask_save(m, AFTER_OPEN, NULL); return true;
    case APP_EXPERT:     return need_session(m) && model_expert(m, arg);
    case APP_TUNE:       return need_session(m) && model_tune(m, arg);
    case APP_VIEW:       return change_view(m, arg);
    case APP_FOCUS:      return change_focus(m, arg);
    case APP_ZOOM:       m->zoom = !m->zoom && m->session; return true;
    case APP_AUTO:       return set_auto(m, arg);
    case APP_THREADS:    return set_threads(m, arg);
    case APP_BASELINES:  return set_baselines(m, arg);
    case APP_MEASURE_ALL: return measure_all(m);
    case APP_BRANCHES:   return show_branches(m);
    case APP_TITLE:      return set_title(m, arg);
    case APP_EXPORT:     return export_kernel(m, arg);
    case APP_DUMP:       return dump_screen(m, arg);
    case APP_COPY:       copy_doc(m); return true;
    case APP_HELP:       model_open_help(m, arg); return true;
    case APP_REDRAW:     m->out.repaint = true; return true;
    case APP_SUSPEND:    m->out.suspend = true; return true;
    case APP_COUNT:      break;
    }
    UNREACHABLE();
}

bool model_app_command(struct model *m, const char *line, bool *known)
{
    line += strspn(line, " ");
    size_t n = strcspn(line, " ");
    for (int i = 0; i < APP_COUNT; i++) {
        if (strlen(infos[i].name) != n || strncmp(infos[i].name, line, n) != 0)
            continue;
        *known = true;
        return run_app(m, (enum app_command)i, line + n + strspn(line + n, " "));
    }
    *known = false;
    return true;
}
