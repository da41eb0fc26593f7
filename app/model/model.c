#include "app/model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "app/views/view.h"

struct model *model_new(struct session *s, const struct tui_opts *o, bool unicode)
{
    struct model *m = xcalloc(1, sizeof *m);
    m->unicode = unicode;
    for (int i = 0; i < DOC_COUNT; i++)
        doc_open(&m->pane[i].doc);
    static const enum doc_id lists[] = {DOC_LEDGER, DOC_START, DOC_BRANCHES, DOC_HELP,
                                        (enum doc_id)VIEW_TUNE};
    for (int i = 0; i < COUNT_OF(lists); i++)
        m->pane[lists[i]].doc.is_list = true;
    static const enum view texts[] = {VIEW_ACCESS, VIEW_C, VIEW_ASM, VIEW_PROFILE, VIEW_GRAPH,
                                      VIEW_ROOFLINE};
    for (int i = 0; i < COUNT_OF(texts); i++)
        m->pane[texts[i]].doc.is_pager = true;
    prompt_init(&m->prompt, model_complete, m);
    m->view[PANE_MAIN] = VIEW_NEST;
    m->view[PANE_SIDE] = VIEW_PROFILE;
    m->threads = o->threads > 0 ? o->threads : 1;
    m->baselines = o->baselines;
    m->autorun = !o->no_auto;
    m->stamp = 1;
    model_resize(m, 80, 24);
    model_set_session(m, s);
    return m;
}

void model_free(struct model *m)
{
    if (!m)
        return;
    session_free(m->session);
    session_free(m->next);
    model_tune_forget(m);
    for (int i = 0; i < DOC_COUNT; i++)
        doc_close(&m->pane[i].doc);
    prompt_free(&m->prompt);
    free(m->roofs.model);
    vec_free(&m->hits);
    model_forget_menu(m);
    view_start_free(m);
    for (int i = 0; i < COUNT_OF(m->code); i++)
        str_free(&m->code[i].text);
    struct str *text[] = {
        &m->message.echo, &m->message.text, &m->message.fix, &m->search, &m->filter, &m->overwrite,
        &m->out.copy,
    };
    for (int i = 0; i < COUNT_OF(text); i++)
        str_free(text[i]);
    free(m);
}

void model_set_session(struct model *m, struct session *s)
{
    session_free(m->session);
    model_tune_forget(m);
    m->session = s;
    m->generation++;
    m->has_expert = s && model_has_expert(model_program(m)->base->op);
    m->func = NULL;
    m->overlay = OVERLAY_NONE;
    m->zoom = false;
    m->measure_wanted = m->measure_all = m->numbers_asked = false;
    m->last_view = m->focus = s ? PANE_MAIN : PANE_LEDGER;
    for (int i = 0; i < COUNT_OF(m->code); i++)
        m->code[i].have = false;
    for (int i = 0; i < DOC_COUNT; i++)
        m->pane[i].scroll = (struct scroll){0};
    for (int i = 0; i < DOC_COUNT; i++)
        doc_clear(&m->pane[i].doc);
    if (!s)
        view_start_read(m);
    model_changed(m);
}

void model_changed(struct model *m)
{
    m->stamp++;
    frame_layout(m, &m->frame);
    if (!m->session)
        return;
    const struct history *h = m->session->history;
    m->measure_wanted = m->autorun && !history_current(h)->measured;
    int n, at;
    history_path(h, history_branch_index(h), &n, &at);
    m->pane[DOC_LEDGER].scroll.cursor = at;
}

void model_resize(struct model *m, int w, int h)
{
    m->w = w;
    m->h = h;
    frame_layout(m, &m->frame);
}

const struct program *model_program(const struct model *m)
{
    return m->session ? history_current(m->session->history)->program : NULL;
}

const struct func *model_func(struct model *m, struct err *e)
{
    if (m->func && m->func_tag == model_tag(m))
        return m->func;
    const struct func *f;
    if (!program_lower(model_program(m), &f, e))
        return NULL;
    m->func = f;
    m->func_tag = model_tag(m);
    return f;
}

struct pane_doc *model_focused(struct model *m)
{
    if (m->overlay == OVERLAY_HELP)
        return &m->pane[DOC_HELP];
    if (m->overlay == OVERLAY_BRANCHES)
        return &m->pane[DOC_BRANCHES];
    if (!m->session)
        return &m->pane[DOC_START];
    return m->focus == PANE_LEDGER ? &m->pane[DOC_LEDGER] : &m->pane[m->view[m->focus]];
}

int model_contexts(const struct model *m, enum key_context out[KEYS_COUNT])
{
    int n = 0;
    if (m->overlay == OVERLAY_BRANCHES) {
        out[n++] = KEYS_BRANCH;
    } else if (!m->session) {
        out[n++] = KEYS_START;
    } else if (m->focus == PANE_LEDGER) {
        out[n++] = KEYS_LEDGER;
    } else {
        enum key_context c = view_ops[m->view[m->focus]].context;
        if (c != KEYS_VIEW)
            out[n++] = c;
        out[n++] = KEYS_VIEW;
    }
    out[n++] = KEYS_MOVE;
    if (m->session && m->overlay == OVERLAY_NONE)
        out[n++] = KEYS_WORK;
    out[n++] = KEYS_ANY;
    return n;
}

struct ledger_row *model_ledger(const struct model *m, int *n)
{
    const struct history *h = m->session->history;
    int at;
    history_path(h, history_branch_index(h), n, &at);
    struct ledger_row *rows = xcalloc((size_t)*n, sizeof *rows);
    history_ledger(h, rows, *n);
    return rows;
}

/* messages */

static void set_text(struct str *s, const char *text)
{
    str_clear(s);
    str_add(s, text ? text : "");
}

static void set_message(struct model *m, enum message_kind kind, const char *text, const char *fix)
{
    m->message.kind = kind;
    set_text(&m->message.text, text);
    set_text(&m->message.fix, fix);
}

void model_echo(struct model *m, const char *line)
{
    set_message(m, MESSAGE_ECHO, "", "");
    str_clear(&m->message.echo);
    str_printf(&m->message.echo, ":%s", line);
}

void model_info(struct model *m, const char *fmt, ...)
{
    struct str s = {0};
    va_list ap;
    va_start(ap, fmt);
    str_vprintf(&s, fmt, ap);
    va_end(ap);
    set_message(m, MESSAGE_INFO, str_text(&s), "");
    str_free(&s);
}

void model_say_error(struct model *m, const char *text, const char *fix)
{
    set_message(m, MESSAGE_ERROR, text, fix);
}

void model_error(struct model *m, const struct err *e)
{
    struct str s = {0};
    if (e->at.file[0] && e->at.line > 0)
        str_printf(&s, "%s:%d:%d: ", e->at.file, e->at.line, e->at.col);
    else if (e->at.file[0])
        str_printf(&s, "%s: ", e->at.file);
    str_add(&s, e->text);
    model_say_error(m, str_text(&s), e->fix);
    str_free(&s);
}

static void clear_message(struct model *m)
{
    set_message(m, MESSAGE_NONE, "", "");
    str_clear(&m->message.echo);
}

/* commands */

void model_keep_safe(struct model *m)
{
    struct err e;
    if (!session_autosave(m->session, &e) && !m->autosave_failed) {
        m->autosave_failed = true;
        model_say_error(m, "unsaved changes cannot be kept safe", e.text);
    }
}

void model_edited(struct model *m)
{
    m->session->dirty = true;
    model_changed(m);
    model_keep_safe(m);
}

bool model_unsaved(const struct model *m)
{
    const struct session *s = m->session;
    return s && (s->dirty || (s->numbers && s->path[0] && m->numbers_asked));
}

bool model_has_news(const struct model *m)
{
    return m->session && (m->session->dirty || m->session->numbers);
}

void model_discard(struct model *m)
{
    if (!m->session)
        return;
    session_autosave_drop(m->session);
    m->session->dirty = m->session->numbers = false;
}

static void after_effect(struct model *m, enum command_effect effect)
{
    if (effect == EFFECT_MEASURE) {
        m->measure_wanted = m->numbers_asked = true;
        m->data_stamp++;
    }
    if (effect == EFFECT_STATE)
        model_edited(m);
}

/* The nest shows what a loop step changed, wherever the cursor was. */
static void look_at_step(struct model *m)
{
    const char *step = history_current(m->session->history)->step;
    if (sscanf(step, "loop %*s %63s %63s", m->step_stage, m->step_axis) < 2)
        m->step_stage[0] = m->step_axis[0] = 0;
}

static void say_note(struct model *m)
{
    struct str note = {0};
    model_note(m, &note);
    if (note.len > 0 && m->message.kind != MESSAGE_ERROR)
        model_info(m, "%s", str_text(&note));
    str_free(&note);
}

bool model_command(struct model *m, const char *line)
{
    bool known = false;
    bool ok = model_app_command(m, line, &known);
    if (known)
        return ok;
    if (!m->session) {
        model_say_error(m, "no operator is open yet",
                        "pick one from the list, or type: new c2d n=1 i=64 h=56 w=56 o=64 k=3 p=1");
        return false;
    }
    struct err e;
    enum command_effect effect = EFFECT_NONE;
    int states = history_n_states(m->session->history);
    if (!session_run(m->session, line, &effect, &e)) {
        model_error(m, &e);
        m->error_col = e.at.col;
        return false;
    }
    if (effect == EFFECT_APP) {
        struct str fix = {0};
        command_nearest(line, &fix);
        model_say_error(m, "there is no such step or command", str_text(&fix));
        str_free(&fix);
        return false;
    }
    after_effect(m, effect);
    if (history_n_states(m->session->history) > states)
        look_at_step(m);
    if (effect == EFFECT_STATE)
        say_note(m);
    return true;
}

/* Puts a refused line back on the prompt that it came from. */
static void open_prompt_again(struct model *m, const char *line)
{
    bool save = m->prompt.mark == PROMPT_SAVE && str_starts(line, "w ");
    prompt_open(&m->prompt, save ? PROMPT_SAVE : ':', save ? line + 2 : line);
}

bool model_run(struct model *m, const char *line)
{
    model_echo(m, line);
    m->confirm = false;
    bool ok = model_command(m, line);
    if (m->confirm && !m->prompt.open)
        open_prompt_again(m, line);
    return ok;
}

/* searching */

void model_search(struct model *m, int dir, int from)
{
    struct pane_doc *p = model_focused(m);
    if (m->search.len == 0) {
        model_info(m, "nothing to search for yet: / starts a search");
        return;
    }
    int found = doc_find(&p->doc, str_text(&m->search), from, dir);
    if (found < 0)
        model_say_error(m, "not found in this view", "");
    else
        scroll_to(&p->doc, &p->scroll, found, p->height);
}

static void search_typed(struct model *m, bool entered)
{
    set_text(&m->search, str_text(&m->prompt.line));
    clear_message(m);
    if (m->search.len > 0 || entered)
        model_search(m, 1, m->search_from - 1);
}

/* the prompt */

/* The line on the prompt, without blanks at its end; what "save as" stands for comes first. */
static char *entered_line(const struct model *m)
{
    struct str s = {0};
    if (m->prompt.mark == PROMPT_SAVE && m->prompt.line.len > 0)
        str_add(&s, "w ");
    str_add(&s, str_text(&m->prompt.line));
    char *line = xstrdup(str_text(&s));
    for (size_t n = strlen(line); n > 0 && line[n - 1] == ' ';)
        line[--n] = 0;
    str_free(&s);
    return line;
}

/* What was asked for before, and waits for a save, goes on with that save only. */
static bool is_save(const char *line)
{
    line += strspn(line, " ");
    return line[0] == 'w' && (line[1] == ' ' || line[1] == 0);
}

static void enter_command(struct model *m)
{
    char *line = entered_line(m);
    size_t n = strlen(line);
    bool nameless = m->prompt.mark == PROMPT_SAVE && n < 2;
    prompt_close(&m->prompt);
    if (nameless || !is_save(line))
        model_give_up(m);
    if (nameless) {
        model_info(m, "not saved: no file name was given");
    } else if (n > 0) {
        prompt_remember(&m->prompt, line);
        m->error_col = 0;
        if (!model_run(m, line) && !m->prompt.open) {
            open_prompt_again(m, line);
            if (m->error_col > 0 && (size_t)m->error_col <= n)
                m->prompt.at = (size_t)m->error_col - 1;
        }
    }
    free(line);
}

static void prompt_left(struct model *m)
{
    bool search = m->prompt.mark == '/';
    prompt_close(&m->prompt);
    model_give_up(m);
    str_clear(&m->overwrite);
    clear_message(m);
    if (search) {
        str_clear(&m->search);
        struct pane_doc *p = model_focused(m);
        scroll_to(&p->doc, &p->scroll, m->search_from, p->height);
    }
}

static void prompt_edited(struct model *m)
{
    if (m->prompt.mark == '/')
        search_typed(m, false);
    else
        clear_message(m);
    str_clear(&m->overwrite);
}

static void key_prompt(struct model *m, int key)
{
    bool search = m->prompt.mark == '/';
    enum prompt_event ev = prompt_key(&m->prompt, key);
    if (ev == PROMPT_EDITED)
        prompt_edited(m);
    if (ev == PROMPT_LEFT)
        prompt_left(m);
    if (ev != PROMPT_ENTERED)
        return;
    if (search) {
        search_typed(m, true);
        prompt_close(&m->prompt);
    } else {
        enter_command(m);
    }
}

/* questions */

void model_ask_save(struct model *m, enum after_ask then, struct session *next)
{
    bool unsaved = model_unsaved(m);
    m->then = then;
    m->next = next;
    m->ask_stop = m->session && m->tuner.out && !unsaved;
    if (unsaved || m->ask_stop)
        m->overlay = OVERLAY_ASK;
    else
        model_after(m);
}

void model_question(const struct model *m, struct str *out)
{
    struct str place = {0};
    const char *leave = m->then == AFTER_QUIT ? "quit" : "leave";
    const char *save = m->session->dirty ? "Save the changes first?"
                                         : "Save what was measured first?";
    model_tune_place(m, &place);
    if (place.len > 0)
        place.data[0] = 'T';
    if (m->ask_stop && place.len > 0)
        str_printf(out, "%s. Stop it and %s? What is measured is kept.", str_text(&place), leave);
    else if (m->ask_stop)
        str_printf(out, "The tuner has ended. Still %s?", leave);
    else if (place.len > 0)
        str_printf(out, "%s, and stops. %s", str_text(&place), save);
    else
        str_add(out, save);
    str_free(&place);
}

/* What the tuner brought meanwhile is asked about, too. */
static void key_ask_stop(struct model *m, bool yes)
{
    m->ask_stop = false;
    if (yes && model_unsaved(m))
        return;
    m->overlay = OVERLAY_NONE;
    if (yes)
        model_after(m);
    else
        model_give_up(m);
}

static void key_ask(struct model *m, int key)
{
    bool leave = key == 'c' || key == K_ESC || key == K_CTRL('c') || key == 'q';
    if (key != 'y' && key != 'n' && key != K_ENTER && !leave)
        return;
    if (m->ask_stop) {
        key_ask_stop(m, key == 'y' || key == K_ENTER);
        return;
    }
    m->overlay = OVERLAY_NONE;
    if (leave) {
        model_give_up(m);
    } else if (key == 'n') {
        model_discard(m);
        model_after(m);
    } else if (m->session->path[0]) {
        if (!model_run(m, "w") && !m->prompt.open)
            model_give_up(m);
    } else {
        model_save_as(m);
    }
}

/* keys */

/* 1 to 9 choose views, so a count starts with 0: 05j, 012G. */
static bool key_digit(struct model *m, int key)
{
    bool digit = key >= '0' && key <= '9', starts = digit && (key == '0' || key - '0' > VIEW_COUNT);
    if (!digit || (!m->counting && !starts))
        return false;
    m->count = m->count * 10 + (key - '0');
    m->count = m->count < 100000 ? m->count : 100000;
    m->counting = true;
    return true;
}

static void key_binding(struct model *m, int key)
{
    enum key_context chain[KEYS_COUNT];
    int n = model_contexts(m, chain);
    const struct binding *b = binding_find(chain, n, key);
    if (b)
        model_perform(m, b);
    m->count = 0;
    m->counting = false;
}

void model_key(struct model *m, int key)
{
    model_refresh(m);
    if (m->prompt.open) {
        key_prompt(m, key);
    } else if (m->overlay == OVERLAY_ASK) {
        key_ask(m, key);
    } else if (m->overlay == OVERLAY_HELP) {
        view_help_key(m, key);
    } else {
        clear_message(m);
        if (!key_digit(m, key))
            key_binding(m, key);
    }
    frame_layout(m, &m->frame);
    model_refresh(m);
}

void model_paste(struct model *m, const char *text)
{
    if (m->overlay != OVERLAY_NONE)
        return;
    if (!m->prompt.open)
        prompt_open(&m->prompt, ':', "");
    prompt_insert(&m->prompt, text);
    prompt_edited(m);
    frame_layout(m, &m->frame);
    model_refresh(m);
}
