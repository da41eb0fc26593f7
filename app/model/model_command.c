/* Runs a line: an own command of the app (appcmd.def), or a step or command of the history. */
#include "app/model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "app/model/appcmd.h"
#include "explorer/history/rebase.h"
#include "kernels/base/file.h"

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

/* --- Views and focus -------------------------------------------------------------------------- */

/* Makes the layout view scroll to the tensor of the row or access under the cursor.  If the layout
 * view opened there last (opened_at) and the nest does not have the focus, does nothing. */
static void open_at_access(struct model *m)
{
    struct cursor_subject s = model_subject(m);
    bool names = s.kind == SUBJECT_ACCESS || s.kind == SUBJECT_TENSOR;
    if (m->to_tensor[0] || !names || graph_tensor(model_program(m)->graph, s.tensor) < 0)
        return;
    const char *at = s.access ? s.access : s.tensor;
    bool seen = m->opened_at[0] && str_starts(at, m->opened_at);
    if (seen && m->focus != PANE_MAIN)
        return;
    snprintf(m->to_tensor, sizeof m->to_tensor, "%s", s.tensor);
    snprintf(m->opened_at, sizeof m->opened_at, "%s", at);
    m->pane[VIEW_LAYOUT].stamp = 0;
}

void model_show_view(struct model *m, enum view v)
{
    if (v == VIEW_LAYOUT && (m->focus == PANE_MAIN || m->view[PANE_SIDE] != VIEW_LAYOUT))
        open_at_access(m);
    m->n_jumps = 0;
    if (v == VIEW_ROOFLINE && m->roofs.stopped) {
        m->roofs.stopped = false;
        m->data_stamp++;
    }
    if (v >= VIEW_COMPARE && m->view[PANE_SIDE] < VIEW_COMPARE)
        m->under = (struct covered){ m->focus, m->last_view, m->view[PANE_SIDE] };
    else if (v >= VIEW_COMPARE && m->focus != PANE_SIDE)
        m->under.focus = m->focus;
    if (v != VIEW_NEST)
        m->view[PANE_SIDE] = v;
    m->focus = m->last_view = v == VIEW_NEST ? PANE_MAIN : PANE_SIDE;
}

bool model_covers(const struct model *m)
{
    return m->session && m->focus == PANE_SIDE && m->view[PANE_SIDE] >= VIEW_COMPARE;
}

bool model_uncover(struct model *m)
{
    if (m->zoom || !model_covers(m))
        return false;
    m->n_jumps = 0;
    m->view[PANE_SIDE] = m->under.view;
    m->last_view = m->under.last_view;
    m->focus = m->under.focus;
    return true;
}

/* Finds a view by its name, or by as much of it as no other view's name begins with. */
static int find_view(const char *name)
{
    int found = -1, n = 0;
    for (int i = 0; i < VIEW_COUNT; i++) {
        if (strcaseeq(model_view[i].name, name))
            return i;
        if (name[0] && strncasecmp(model_view[i].name, name, strlen(name)) == 0) {
            found = i;
            n++;
        }
    }
    return n == 1 ? found : -1;
}

static void refuse_view(struct model *m)
{
    struct str names = {0};
    for (int i = 0; i < VIEW_COUNT; i++)
        str_printf(&names, "%s%s", i == 0 ? "" : i < VIEW_COUNT - 1 ? ", " : " or ",
                   model_view[i].name);
    model_say_error(m, "there is no such view", str_text(&names));
    str_free(&names);
}

/* Shows a view and leaves the focus in the steps.  Returns false if the focus is elsewhere, or if
 * the screen shows only the pane with the focus. */
static bool show_beside(struct model *m, enum view v)
{
    const struct rect *pane = m->frame.pane;
    if (m->focus != PANE_LEDGER || (pane[PANE_MAIN].h == 0 && pane[PANE_SIDE].h == 0))
        return false;
    model_show_view(m, v);
    m->focus = PANE_LEDGER;
    model_info(m, "the cursor stays in the steps; %s goes to the view %s",
               v != VIEW_NEST && m->w >= FRAME_WIDE ? "S-Tab" : "Tab", model_view[v].name);
    return true;
}

static bool change_view(struct model *m, const char *name)
{
    int now = (int)m->view[m->last_view];
    int n = VIEW_COMPARE;  /* next and prev leave out the views from this one on */
    int v = streq(name, "next") ? (now + 1) % n
          : streq(name, "prev") ? (now + n - 1) % n : find_view(name);
    if (v == VIEW_COMPARE)
        return model_compare(m, "");
    if (v < 0)
        refuse_view(m);
    else if (v > VIEW_COMPARE || !show_beside(m, (enum view)v))
        model_show_view(m, (enum view)v);
    return v >= 0;
}

/* Moves the focus to a pane: on a wide screen one of three, else the steps or the last view. */
static bool change_focus(struct model *m, const char *name)
{
    int dir = streq(name, "prev") ? PANE_COUNT - 1 : 1;
    if (streq(name, "steps")) {
        m->focus = PANE_LEDGER;
    } else if (streq(name, "view")) {
        m->focus = m->last_view;
    } else if ((streq(name, "next") || streq(name, "prev")) && m->w >= FRAME_WIDE) {
        m->focus = (enum pane)((m->focus + dir) % PANE_COUNT);
    } else if (streq(name, "next") || streq(name, "prev")) {
        m->focus = m->focus == PANE_LEDGER ? m->last_view : PANE_LEDGER;
    } else
        return model_say_error(m, "there is no such pane", "next, prev, steps or view");
    if (m->focus != PANE_LEDGER)
        m->last_view = m->focus;
    return true;
}

/* Makes the focused pane wider, or if panes are stacked, higher. */
static bool make_wider(struct model *m, const char *arg)
{
    long long n = 4;
    if (arg[0] && !str_to_int64(arg, -1000, 1000, &n))
        return model_say_error(m, "wider takes a number of columns, -1000 to 1000", "wider 10");
    int *by = m->focus != PANE_LEDGER && m->w >= FRAME_WIDE ? &m->split : &m->wider;
    int sum = *by + (m->focus == (by == &m->split ? PANE_MAIN : PANE_LEDGER) ? (int)n : -(int)n);
    *by = sum > m->w ? m->w : sum < -m->w ? -m->w : sum;
    return true;
}

static bool set_auto(struct model *m, const char *arg)
{
    if (arg[0] && !streq(arg, "on") && !streq(arg, "off"))
        return model_say_error(m, "auto is on or off", "");
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
    struct desired_job w;
    m->measure_all = m->numbers_asked = true;
    m->data_stamp++;
    if (model_desired_job(m, LANE_MEASURE, &w) && w.kind == JOB_MEASURE)
        return true;
    m->measure_all = false;
    model_info(m, "every step has its numbers already; m measures the current one again");
    return true;
}

static bool measure_fresh(struct model *m)
{
    m->newest = m->measure_wanted = m->numbers_asked = true;
    m->data_stamp++;
    return true;
}

/* Sets the baselines.  Without an argument, turns all off if some are on, or else all on. */
static bool set_baselines(struct model *m, const char *arg)
{
    struct err e;
    if (!*arg)
        arg = m->baselines ? "none" : "all";
    if (!vendor_parse(arg, &m->baselines, &e))
        return model_say_error(m, e.text, "baselines onednn,openblas");
    m->baselines_chosen = true;
    model_info(m, "measuring %s vendor baselines from now on%s", m->baselines ? "with" : "without",
               m->baselines ? "; m measures again" : "");
    return true;
}

static bool set_title(struct model *m, const char *arg)
{
    size_t bad;
    struct session *s = model_document(m);
    if (strlen(arg) >= sizeof s->title)
        return model_say_error(m, "that title is too long", "255 characters at most");
    if (!utf8_valid(arg, strlen(arg), &bad))
        return model_say_error(m, "that title is no text in UTF-8", "");
    strcpy(s->title, arg);
    s->dirty = true;
    model_keep_safe(m);
    return true;
}

static bool show_branches(struct model *m)
{
    m->overlay = OVERLAY_BRANCHES;
    str_clear(&m->search);  /* so that the key n makes a branch (model_contexts) */
    doc_clear(&m->pane[DOC_BRANCHES].doc);
    m->pane[DOC_BRANCHES].stamp = 0;
    return true;
}

static bool refuse_module(struct model *m)
{
    return model_say_error(m, "a kernel cannot be cut or joined here: the list of a network's "
                           "kernels does that",
                           m->network   ? "Esc goes back to the list"
                           : m->session ? "network shows the list of a graph without steps"
                                        : "e model.onnx");
}

bool model_command_fits(const struct model *m, int id)
{
    bool whole = id == APP_WRITE || id == APP_WRITE_QUIT || id == APP_TITLE || id == APP_EXPORT;
    return m->session || !appcmd_info((enum app_command)id)->session || (m->network && whole);
}

/* Whether a line is an operator, such as `c2d n=1 ...`, or a graph.  Its first word has n bytes. */
static bool is_operator(const struct model *m, const char *line, size_t n)
{
    char word[40];
    snprintf(word, sizeof word, "%.*s", (int)n, line);
    return (ops_find(word) || graph_is_composition(line)) && !appcmd_known(line)
        && (!m->session || strchr(line, '='));
}

static bool run_app_on(struct model *m, enum app_command id, const char *arg)
{
    switch (id) {
    case APP_WRITE:      return model_save(m, arg);
    case APP_QUIT:       model_ask_save(m, AFTER_QUIT, NULL); return true;
    case APP_QUIT_NOW:   return model_quit_now(m);
    case APP_WRITE_QUIT: return model_save_quit(m, arg);
    case APP_OPEN:
        if ((ops_find(arg) || is_operator(m, arg, strcspn(arg, " "))) && !file_exists(arg))
            return model_new_session(m, arg);
        return model_open_file(m, arg);
    case APP_NEW:        return model_new_session(m, arg);
    case APP_START:      model_ask_save(m, AFTER_OPEN, NULL); return true;
    case APP_NETWORK:    return model_network(m, arg);
    case APP_MODULE:     return refuse_module(m);
    case APP_EXPERT:     return model_expert(m, arg);
    case APP_TUNE:       return model_tune(m, arg);
    case APP_MARK:       return model_mark(m, arg);
    case APP_COMPARE:    return model_compare(m, arg);
    case APP_LENS:       return model_lens(m, arg);
    case APP_BISECT:     return model_bisect(m, arg);
    case APP_ABLATE:     return model_ablate(m);
    case APP_TUNE_ALL:   return model_network_tune(m, arg);
    case APP_VIEW:       return change_view(m, arg);
    case APP_HOT:        model_show_view(m, VIEW_ASM); m->to_hot = true; return true;
    case APP_BLAME:      return model_blame(m, arg);
    case APP_LOOP_OF:    return model_loop_of(m);
    case APP_ACCESS_OF:  return model_access_of(m);
    case APP_MISSES_OF:  return model_misses_of(m);
    case APP_FOCUS:      return change_focus(m, arg);
    case APP_ZOOM:       m->zoom = !m->zoom && (m->session || m->network); return true;
    case APP_WIDER:      return make_wider(m, arg);
    case APP_AUTO:       return set_auto(m, arg);
    case APP_THREADS:    return model_set_threads(m, arg);
    case APP_CACHE:      return model_set_cache(m, arg);
    case APP_COMPILER:   return model_set_compiler(m, arg);
    case APP_ISA:        return model_set_isa(m, arg);
    case APP_SIM_BUDGET: return model_set_sim_budget(m, arg);
    case APP_COLUMNS:    return model_set_columns(m, arg);
    case APP_THEME:      return model_set_theme(m, arg);
    case APP_SOURCE:
        return model_file_named(m, arg, "source macro.txt") && model_source(m, arg);
    case APP_BASELINES:  return set_baselines(m, arg);
    case APP_MEASURE_ALL: return measure_all(m);
    case APP_MEASURE_FRESH: return measure_fresh(m);
    case APP_BRANCHES:   return show_branches(m);
    case APP_TITLE:      return set_title(m, arg);
    case APP_EXPORT:
        return model_shows_network(m) ? model_network_export(m, arg) : model_export(m, arg);
    case APP_SNAPSHOT:
    case APP_DUMP:       return model_dump(m, arg);
    case APP_COPY:       copy_doc(m); return true;
    case APP_TOUR:       return model_tour(m, arg);
    case APP_HELP:       model_open_help(m, arg); return true;
    case APP_REDRAW:     m->out.repaint = true; return true;
    case APP_SUSPEND:    m->out.suspend = true; return true;
    case APP_COUNT:      break;
    }
    UNREACHABLE();
}

/* Runs command id, whose argument begins at line[at]. */
static bool run_app(struct model *m, enum app_command id, const char *line, int at)
{
    const char *arg = line + at;
    struct str typed = {0};
    bool names_file = strstr(appcmd_info(id)->syntax, "FILE") != NULL;
    if (names_file)
        file_add_typed(&typed, arg);
    m->error_col = 0;
    bool ok = run_app_on(m, id, names_file ? str_text(&typed) : arg);
    if (m->error_col > 0)                 /* converts it into a column of the line */
        m->error_col += at;
    str_free(&typed);
    return ok;
}

/* --- Running a command line ------------------------------------------------------------------- */

/* Updates the model after a line of the history.  before: the current state before the line. */
static void after_effect(struct model *m, enum command_effect effect, const struct state *before)
{
    if (effect == EFFECT_MEASURE) {
        m->measure_wanted = m->numbers_asked = true;
        m->data_stamp++;
        model_info(m, "measuring step %d", history_position(m->session->history));
    }
    if (effect == EFFECT_STATE || effect == EFFECT_REBASED)
        model_edited(m);
    if (effect == EFFECT_REBASED) {
        const struct rebased *did = history_rebased(m->session->history);
        struct str what = {0};
        history_rebased_print(m->session->history, &what);
        model_new_tile(m, history_current(m->session->history), before, "; ", &what);
        model_change_note(model_program(m), before->program, &what);
        model_rebased_note(m, &what);
        model_note_replaced(m, did->at, &what);
        model_info(m, "%s", str_text(&what));
        m->message.stays = true;
        m->message.of_change = history_current(m->session->history) != before;
        str_free(&what);
        m->pane[DOC_LEDGER].scroll.cursor = did->held ? did->held_at[0] : did->at;
    }
}

/* Notes the loop that the current step has changed, so that the nest scrolls to it. */
static void look_at_step(struct model *m)
{
    const char *step = history_current(m->session->history)->step;
    if (sscanf(step, "loop %*s %63s %63s", m->step_stage, m->step_axis) < 2)
        m->step_stage[0] = m->step_axis[0] = 0;
}

/* Shows `said` and, if the current state is another one now, the notes on its program (model_note),
 * if there is anything to show. */
static void say_note(struct model *m, const char *said, bool moved)
{
    struct str note = {0}, more = {0};
    str_add(&note, said);
    bool more_stays = moved && model_note(m, &more);
    if (more.len > 0)
        str_printf(&note, "%s%s", note.len ? "; " : "", str_text(&more));
    str_free(&more);
    if (note.len > 0 && m->message.kind != MESSAGE_ERROR) {
        model_info(m, "%s", str_text(&note));
        m->message.stays = more_stays;
    }
    str_free(&note);
}

/* Whether a line is a command that binds a key or records lines in other programs.  False for the
 * step `bind C M thread.x`. */
static bool binds_key(const struct model *m, const char *line)
{
    static const char *const words[] = {
        "bind", "unbind", "map", "unmap", "nmap", "noremap", "bindkey", "key", "keys", "set key",
        "set keys", "record", "recording", "macro", "macros",
    };
    char stage[64];
    bool is = false;
    if (m->session && sscanf(line, "bind %63s", stage) == 1
        && program_stage(model_program(m), stage) >= 0)
        return false;
    for (int i = 0; i < COUNT_OF(words); i++)
        is = is || str_begins(line, words[i]);
    return is;
}

static bool refuse_binding(struct model *m)
{
    struct str fix = {0};
    str_add(&fix, "source FILE runs the lines of a file, and steps are such lines; for a key, "
            "write  keys: {F5: source FILE}  in ");
    settings_path(&fix);
    str_add(&fix, " (:help settings), which is read when the program starts");
    model_say_error(m, "no command records lines or binds keys", str_text(&fix));
    str_free(&fix);
    return false;
}

/* Returns the command in a line `set COMMAND`, such as `theme dark` for `set theme dark` or for
 * `set theme=dark`; the caller frees it.  NULL: the line has no such command; it can be a step. */
static char *without_set(const char *line)
{
    const char *word = line + strlen("set");
    if (!str_begins(line, "set"))
        return NULL;
    word += strspn(word, " ");
    size_t n = strcspn(word, " =");
    if (appcmd_find(word, n) < 0)
        return NULL;
    char *command = xstrdup(word);
    if (command[n] == '=')
        command[n] = ' ';
    return command;
}

static bool refuse_set(struct model *m, const char *command)
{
    struct str text = {0};
    str_printf(&text, "%.*s is a command, not a setting of the operator: type it without `set`",
               (int)strcspn(command, " "), command);
    model_say_error(m, str_text(&text), command);
    str_free(&text);
    return false;
}

static bool refuse_unknown(struct model *m, const char *line)
{
    struct str fix = {0};
    appcmd_nearest(line, &fix);
    model_say_error(m, "there is no such step or command", str_text(&fix));
    str_free(&fix);
    return false;
}

/* Shows and runs `whole`, which is the typed `line` with the group that its step lacks. */
static bool run_in_group(struct model *m, const char *whole, const char *line)
{
    int at = model_step_at(line), more = (int)(strlen(whole) - strlen(line));
    model_echo(m, whole);
    bool ok = model_command(m, whole);
    if (m->error_col > at)               /* converts it into a column of the typed line */
        m->error_col = m->error_col > at + more ? m->error_col - more : 0;
    return ok;
}

/* Runs a step or a command of the history, and says what it did. */
static bool run_line(struct model *m, const char *line)
{
    struct err e;
    enum command_effect effect = EFFECT_NONE;
    const struct state *before = history_current(m->session->history);
    int states = history_n_states(m->session->history);
    int branches = history_n_branches(m->session->history);
    if (!session_run(m->session, line, &effect, &e)) {
        m->error_col = e.at.col;
        return model_error(m, &e);
    }
    if (effect == EFFECT_APP)
        return refuse_unknown(m, line);
    bool undone = str_starts(line, "undo") || str_starts(line, "redo");
    bool back = undone || str_starts(line, "goto") || str_begins(line, "branch");
    const struct state *now = history_current(m->session->history);
    if (str_starts(line, "goto") && now == before)
        return true;                      /* it went nowhere */
    after_effect(m, effect, before);
    bool applied = effect == EFFECT_STATE && !back && !str_begins(line, "switch")
                && now->parent == before->id;
    struct str same = {0};
    if (applied && history_n_states(m->session->history) > states)
        look_at_step(m);
    if (applied) {
        model_note_no_change(now->program, before->program, now->step, &same);
        model_note_replaced(m, history_position(m->session->history), &same);
    }
    if (undone)
        model_undone(m);
    if (effect == EFFECT_STATE)
        say_note(m, back ? history_said(m->session->history) : str_text(&same), now != before);
    m->message.stays = m->message.stays || same.len > 0;   /* even when the step is measured */
    str_free(&same);
    if (effect == EFFECT_STATE && back && history_said_at(m->session->history) > 0)
        m->pane[DOC_LEDGER].scroll.cursor = history_said_at(m->session->history);
    if (effect == EFFECT_STATE && history_n_branches(m->session->history) > branches && !back) {
        model_info(m, "the undone steps were measured: branch %s keeps them",
                   history_branch(m->session->history, branches)->name);
        m->message.stays = true;
    }
    int deleted = branches - history_n_branches(m->session->history);
    if (deleted > 0 && str_starts(line, "delete"))
        model_info(m, "%d branch%s deleted", deleted, deleted == 1 ? "" : "es");
    return true;
}

bool model_command(struct model *m, const char *line)
{
    line += strspn(line, " ");
    size_t n = strcspn(line, " ");
    int id = appcmd_find(line, n);
    if (id < 0 && is_operator(m, line, n))
        return model_new_session(m, line);
    if (id < 0 && binds_key(m, line))
        return refuse_binding(m);
    char *command = id < 0 ? without_set(line) : NULL;
    if (command) {
        refuse_set(m, command);
        free(command);
        return false;
    }
    if (id < 0 && appcmd_by_synonym(line) >= 0)
        return refuse_unknown(m, line);
    if (model_shows_network(m) && streq(line, "measure"))
        return model_network_measure(m);
    if (model_shows_network(m) && id == APP_TUNE)
        model_kernel_open(m);
    if (model_shows_network(m) && model_network_takes(line))
        return model_network_step(m, line);
    bool fits = id >= 0 && model_command_fits(m, id);
    if (model_shows_network(m) && !fits)
        return model_say_error(m, "this needs a kernel: the network itself takes no steps but "
                               "module cut and module join",
                               "Enter opens the selected kernel; m measures the network");
    if (!m->session && !m->network && !fits)
        return model_say_error(m, "no operator is open yet", "pick one from the list, or type: "
                               "new c2d n=1 i=64 h=56 w=56 o=64 k=3 p=1");
    if (id >= 0)
        return run_app(m, (enum app_command)id, line, (int)(n + strspn(line + n, " ")));
    struct err e = {0};
    struct str whole = {0};
    bool lacks = model_with_group(m, line, &whole, &e);
    bool ok = lacks ? run_in_group(m, str_text(&whole), line) : !e.text[0] && run_line(m, line);
    str_free(&whole);
    if (e.text[0]) {
        m->error_col = model_step_at(line) + 1;
        m->error_before = true;
        model_error(m, &e);
    }
    return ok;
}

bool model_run(struct model *m, const char *line)
{
    model_echo(m, line);
    m->confirm = false;
    bool ok = model_command(m, line);
    if (m->confirm && !m->prompt.open)
        model_prompt_again(m, line);
    return ok;
}
