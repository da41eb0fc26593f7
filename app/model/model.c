#include "app/model/model.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "app/model/appcmd.h"
#include "sessions/file/session_network.h"

const struct model_view model_view[VIEW_COUNT] = {
#define VIEW(id, name, tab, context, moves, rebuilt, build, hint) \
    {name, tab, context, MOVES_##moves, REBUILT_##rebuilt},
#include "app/model/view.def"
};

struct model *model_new(struct session *s, const struct model_opts *o, bool unicode)
{
    struct model *m = xcalloc(1, sizeof *m);
    m->unicode = unicode;
    for (int i = 0; i < DOC_COUNT; i++)
        doc_open(&m->pane[i].doc);
    static const enum doc_id lists[] = {DOC_LEDGER, DOC_START, DOC_NETWORK, DOC_BRANCHES, DOC_HELP};
    for (int i = 0; i < COUNT_OF(lists); i++)
        m->pane[lists[i]].doc.is_list = true;
    for (int i = 0; i < VIEW_COUNT; i++) {
        m->pane[i].doc.is_list = model_view[i].moves == MOVES_LIST;
        m->pane[i].doc.is_pager = model_view[i].moves == MOVES_PAGER;
    }
    prompt_init(&m->prompt, model_complete, m);
    m->view[PANE_MAIN] = VIEW_NEST;
    m->view[PANE_SIDE] = VIEW_PROFILE;
    m->cores = machine_this()->cores;
    model_apply_settings(m, o);
    m->stamp = 1;
    model_resize(m, 80, 24);
    model_set_session(m, s);
    m->tour = o->tour ? 1 : 0;
    if (o->open)
        model_open_onnx(m, o->open);
    if (o->settings_error)
        model_error(m, o->settings_error);
    return m;
}

static void code_text_free(struct code_text *c)
{
    str_free(&c->text);
    arena_free(c->mem);
}

void model_free(struct model *m)
{
    if (!m)
        return;
    if (!m->network)
        session_free(m->session);
    model_network_close(m);
    session_free(m->next);
    model_tune_forget(m);
    model_preview_free(m);
    model_compare_forget(m);
    model_lens_forget(m);
    model_forecast_forget(m);
    for (int i = 0; i < DOC_COUNT; i++)
        doc_close(&m->pane[i].doc);
    prompt_free(&m->prompt);
    free(m->roofs.model);
    free(m->recover);
    vec_free(&m->hits);
    vec_free(&m->late);
    model_forget_menu(m);
    start_free(&m->start);
    for (int i = 0; i < COUNT_OF(m->code); i++)
        code_text_free(&m->code[i]);
    struct str *text[] = {
        &m->message.echo, &m->message.text, &m->message.fix, &m->search, &m->filter, &m->covered,
        &m->manual, &m->overwrite,
        &m->out.copy, &m->out.dump, &m->opening, &m->pasted, &m->pasted_of,
        &m->refused,
    };
    for (int i = 0; i < COUNT_OF(text); i++)
        str_free(text[i]);
    free(m);
}

void model_set_session(struct model *m, struct session *s)
{
    struct session *old = m->network ? NULL : m->session;
    model_network_close(m);
    if (!s || !session_opens_as_network(s) || !model_network_open(m, s))
        model_show_session(m, s);
    session_free(old);
    model_recover_offer(m);
}

void model_show_session(struct model *m, struct session *s)
{
    model_tune_forget(m);
    model_compare_forget(m);
    model_lens_forget(m);
    model_forecast_forget(m);
    m->session = s;
    if (s && !s->dirty)
        session_settled(s);
    m->generation++;
    m->has_expert = s && model_has_expert(m, model_program(m)->base->op);
    model_close_overlay(m);
    m->zoom = false;
    m->measure_wanted = m->measure_all = m->numbers_asked = false;
    m->late.len = 0;
    m->last_view = m->focus = s ? PANE_MAIN : PANE_LEDGER;
    if (m->view[PANE_SIDE] == VIEW_COMPARE)
        m->view[PANE_SIDE] = m->under.view;
    for (int i = 0; i < COUNT_OF(m->code); i++)
        m->code[i].have = false;
    for (int i = 0; i < DOC_COUNT; i++)
        m->pane[i].scroll = (struct scroll){0};
    for (int i = 0; i < DOC_COUNT; i++)
        doc_clear(&m->pane[i].doc);
    if (!s && !m->network)
        start_read(&m->start);
    model_changed(m);
    m->came.from = m->came.to = -1;
}

void model_changed(struct model *m)
{
    m->stamp++;
    m->step_number = 0;
    if (!m->session)
        return;
    const struct history *h = m->session->history;
    int now = history_current(h)->id;
    if (m->measure_wanted && m->at != now)
        vec_push(&m->late, m->at);
    if (m->at != now) {
        m->came.from = m->at;
        m->came.to = now;
    }
    m->at = now;
    m->measure_wanted = m->autorun && !history_current(h)->measured;
    m->pane[DOC_LEDGER].scroll.cursor = history_position(h);
}

void model_resize(struct model *m, int w, int h)
{
    m->w = w;
    m->h = h;
}

const struct program *model_program(const struct model *m)
{
    return m->session ? history_current(m->session->history)->program : NULL;
}

struct pane_doc *model_focused(struct model *m)
{
    if (m->overlay == OVERLAY_HELP)
        return &m->pane[DOC_HELP];
    if (m->overlay == OVERLAY_BRANCHES)
        return &m->pane[DOC_BRANCHES];
    if (!m->session)
        return &m->pane[m->network ? DOC_NETWORK : DOC_START];
    return m->focus == PANE_LEDGER ? &m->pane[DOC_LEDGER] : &m->pane[m->view[m->focus]];
}

const struct state *model_held_step(const struct model *m)
{
    const struct line *l = doc_at(&m->pane[DOC_LEDGER].doc, &m->pane[DOC_LEDGER].scroll);
    const struct history *h = m->session->history;
    int n, at;
    const int *path = history_path(h, history_branch_index(h), &n, &at);
    const struct state *s = l && l->id >= 0 && l->id < n ? history_state(h, path[l->id]) : NULL;
    return s && s->held ? s : NULL;
}

int model_contexts(const struct model *m, enum key_context out[KEYS_COUNT])
{
    int n = 0;
    if (m->overlay == OVERLAY_BRANCHES) {
        /* after a search, the key n means the next match and not a new branch */
        bool found = m->search.len > 0;
        out[n++] = found ? KEYS_VIEW : KEYS_BRANCH;
        out[n++] = found ? KEYS_BRANCH : KEYS_VIEW;
    } else if (model_shows_network(m)) {
        out[n++] = KEYS_NETWORK;
        out[n++] = KEYS_VIEW;
    } else if (!m->session) {
        out[n++] = KEYS_START;
        out[n++] = KEYS_VIEW;
    } else if (m->focus == PANE_LEDGER) {
        if (model_held_step(m))
            out[n++] = KEYS_HELD;
        out[n++] = KEYS_LEDGER;
        out[n++] = KEYS_VIEW;
    } else {
        enum key_context c = model_view[m->view[m->focus]].context;
        if (c == KEYS_NEST && model_subject(m).kind == SUBJECT_ACCESS)
            out[n++] = KEYS_ACCESS;
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

/* --- The object under the cursor -------------------------------------------------------------- */

/* Finds stage and axis of the loop that is item k of a line of the nest.  False: it is no loop. */
static bool loop_of(const struct program *p, const struct line *l, int k,
                    const struct stage **stage, int *axis)
{
    if (!p || !l || l->n_items == 0 || !l->stage)
        return false;
    const struct doc_item *it = &l->item[k < l->n_items ? k : 0];
    for (int i = 0; i < p->graph->n_nodes && !it->access; i++) {
        *stage = p->stage[i];
        *axis = stage_axis(*stage, it->name);
        if (streq((*stage)->name, l->stage) && *axis >= 0)
            return true;
    }
    return false;
}

bool model_loop(const struct model *m, const struct stage **stage, int *axis)
{
    const struct pane_doc *p = &m->pane[VIEW_NEST];
    return loop_of(model_program(m), doc_at(&p->doc, &p->scroll), p->scroll.item, stage, axis);
}

/* A loop around the cursor of the nest, and the line of the nest with this loop.  number: see
 * model_loop_around. */
struct nest_loop { const struct stage *stage; int axis, number, line; };

/* Lists the loop under the cursor of the nest and the loops around it, inner ones first, at most
 * max.  Returns their number.  The loops are found in the text, because a nest can have several
 * loops of one axis (one that sets to zero, one that sums, one that stores), each with other loops
 * around it. */
static int loops_around(const struct model *m, struct nest_loop *out, int max)
{
    const struct pane_doc *p = &m->pane[VIEW_NEST];
    bool current = p->stamp == m->stamp;
    size_t indent = SIZE_MAX;
    int n = 0;
    for (int i = p->scroll.cursor; i >= 0 && i < p->doc.lines.len && indent > 0; i--) {
        const struct line *l = &p->doc.lines.data[i];
        size_t here = strspn(l->text, " ");
        int k = i < p->scroll.cursor ? l->n_items - 1
              : p->scroll.item < l->n_items ? p->scroll.item : 0;
        for (; here < indent && k >= 0 && n < max; k--) {
            out[n].number = current && k < l->n_items ? l->item[k].number : 0;
            out[n].line = i;
            n += loop_of(model_program(m), l, k, &out[n].stage, &out[n].axis);
        }
        indent = here < indent ? here : indent;
    }
    return n;
}

bool model_loop_around(const struct model *m, const struct stage **stage, int *axis, int *number)
{
    struct nest_loop inner;
    if (loops_around(m, &inner, 1) == 0)
        return false;
    *stage = inner.stage;
    *axis = inner.axis;
    *number = inner.number;
    return true;
}

/* Returns the number of the last loop inside loop x of the nest. */
static int last_inside(const struct model *m, const struct nest_loop *x)
{
    const struct doc *d = &m->pane[VIEW_NEST].doc;
    for (int i = doc_block_end(d, x->line); i < d->lines.len; i++)
        if (d->lines.data[i].number > 0)
            return d->lines.data[i].number - 1;
    return INT_MAX;
}

/* Loops of the code: those with a number from `from` to `to`, and, if axis is not NULL, only those
 * of this axis of node. */
struct wanted_loops { int from, to, node; const char *axis; };

static bool is_wanted(const struct wanted_loops *w, const struct code_loop *x)
{
    return x->number >= w->from && x->number <= w->to
        && (!w->axis || (x->node == w->node && strcaseeq(x->axis, w->axis)));
}

/* Whether line i of the code is in a wanted loop. */
static bool in_wanted(const struct wanted_loops *w, const struct code_lines *lines, int i)
{
    for (int k = lines->of[i]; k >= 0; k = lines->loop[k].parent)
        if (is_wanted(w, &lines->loop[k]))
            return true;
    return false;
}

/* Whether the text has lines of a wanted loop.  Machine code has none of a loop that the compiler
 * has unrolled. */
static bool has_wanted(const struct wanted_loops *w, const struct code_text *c)
{
    for (int k = 0; k < c->lines.n_loops; k++)
        if (c->used[k] && is_wanted(w, &c->lines.loop[k]))
            return true;
    return false;
}

/* Whether tensor t is an operand or a consumer of the tensor under the cursor. */
static bool is_neighbour(const struct model *m, int t)
{
    const struct pane_doc *p = &m->pane[VIEW_GRAPH];
    const struct line *l = doc_at(&p->doc, &p->scroll);
    const struct graph *g = model_program(m)->graph;
    if (!l || l->id < 0 || l->id >= g->n_tensors || t < 0 || t >= g->n_tensors)
        return false;
    int from = g->tensor[l->id].producer, to = g->tensor[t].producer;
    return (from >= 0 && graph_reads(g, from, t)) || (to >= 0 && graph_reads(g, to, l->id));
}

int model_code(enum view v)
{
    return v == VIEW_C ? CODE_C : v == VIEW_ASM ? CODE_ASM : v == VIEW_SASS ? CODE_SASS : -1;
}

bool model_code_is_current(const struct model *m, enum view v)
{
    const struct code_text *c = model_code(v) >= 0 ? &m->code[model_code(v)] : NULL;
    return !c || (c->have && c->tag == model_tag(m));
}

bool model_lit(const struct model *m, enum view v, int i)
{
    if (v == VIEW_GRAPH)
        return is_neighbour(m, i);
    const struct code_text *c = model_code(v) >= 0 ? &m->code[model_code(v)] : NULL;
    struct nest_loop around[MAX_DIMS * 4];
    if (!c || !c->have || i < 0 || i >= c->lines.n)
        return false;
    bool current = model_code_is_current(m, v);
    int n = loops_around(m, around, COUNT_OF(around));
    if (n == 0)
        return false;
    const struct stage *s = around[0].stage;
    int axis = around[0].axis;
    struct wanted_loops w = {.to = INT_MAX, .node = program_stage(model_program(m), s->name)};
    for (int a = 0; a < n; a++) {        /* outwards */
        bool known = current && around[a].number > 0;
        w.from = known ? around[a].number : 0;
        w.to = known ? around[a].number : INT_MAX;
        w.axis = known ? NULL : s->axis[around[a].axis].name;
        if (around[a].stage == s && has_wanted(&w, c))
            return in_wanted(&w, &c->lines, i);
    }
    w.from = current ? around[0].number : 0;
    w.to = w.from > 0 ? last_inside(m, &around[0]) : INT_MAX;
    for (int a = axis + 1; a < s->n_axes; a++) {
        w.axis = s->axis[a].name;
        if (has_wanted(&w, c))
            return in_wanted(&w, &c->lines, i);
    }
    return false;
}

int model_tensor(const struct model *m)
{
    const struct pane_doc *p = &m->pane[VIEW_LAYOUT];
    const struct line *l = doc_at(&p->doc, &p->scroll);
    return m->session && l && l->stage ? graph_tensor(model_program(m)->graph, l->stage) : -1;
}

const char *model_branch(const struct model *m)
{
    const struct line *l = doc_at(&m->pane[DOC_BRANCHES].doc, &m->pane[DOC_BRANCHES].scroll);
    bool valid = m->session && l && l->id >= 0 && l->id < history_n_branches(m->session->history);
    return valid ? history_branch(m->session->history, l->id)->name : NULL;
}

const struct start_entry *model_entry(const struct model *m)
{
    const struct line *l = doc_at(&m->pane[DOC_START].doc, &m->pane[DOC_START].scroll);
    return l && l->id >= 0 && l->id < m->start.entry.len ? m->start.entry.data[l->id] : NULL;
}

/* --- Messages --------------------------------------------------------------------------------- */

static void set_text(struct str *s, const char *text)
{
    str_clear(s);
    str_add(s, text ? text : "");
}

static void set_message(struct model *m, enum message_kind kind, const char *text, const char *fix)
{
    m->message.kind = kind;
    m->message.stays = m->message.of_change = false;
    m->message.own = 0;
    m->message.fades = 0;
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

/* Appends a message of the layers below, which can name options of the command line.  An option
 * that is also a command of the screen is written as this command: `--threads 2` becomes
 * `:threads 2`.  A message with a whole command line (`tilescope ...`) stays as it is. */
static void add_for_screen(struct str *out, const char *text)
{
    bool line = strstr(text, "tilescope ") != NULL;
    for (const char *at; (at = strstr(text, "--")); text = at + 2) {
        size_t n = strspn(at + 2, "abcdefghijklmnopqrstuvwxyz");
        str_add_n(out, text, (size_t)(at - text));
        str_add(out, !line && n > 0 && appcmd_find(at + 2, n) >= 0 ? ":" : "--");
    }
    str_add(out, text);
}

bool model_say_error(struct model *m, const char *text, const char *fix)
{
    struct str said = {0}, cure = {0};
    add_for_screen(&said, text);
    add_for_screen(&cure, fix);
    set_message(m, MESSAGE_ERROR, str_text(&said), str_text(&cure));
    str_free(&said);
    str_free(&cure);
    return false;
}

bool model_error(struct model *m, const struct err *e)
{
    struct str s = {0};
    if (e->at.file[0] && e->at.line > 0)
        str_printf(&s, "%s:%d:%d: ", e->at.file, e->at.line, e->at.col);
    else if (e->at.file[0])
        str_printf(&s, "%s: ", e->at.file);
    str_add(&s, e->text);
    model_say_error(m, str_text(&s), e->fix);
    str_free(&s);
    return false;
}

void model_clear_message(struct model *m)
{
    set_message(m, MESSAGE_NONE, "", "");
    str_clear(&m->message.echo);
}

/* --- Unsaved changes -------------------------------------------------------------------------- */

struct session *model_document(const struct model *m)
{
    return model_shows_network(m) ? m->network->session : m->session;
}

void model_keep_safe(struct model *m)
{
    struct err e;
    if (!model_autosave(m, model_document(m), &e) && !m->autosave_failed) {
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

void model_undone(struct model *m)
{
    struct session *s = m->session;
    if (!s->dirty || !session_is_settled(s))
        return;
    s->dirty = false;
    if (s->numbers)
        model_keep_safe(m);
    else
        session_autosave_drop(s);
}

bool model_unsaved(const struct model *m)
{
    const struct session *s = model_document(m);
    if (m->network && m->network->session->dirty)
        return true;
    return s && (s->dirty || (s->numbers && s->path[0] && m->numbers_asked));
}

bool model_has_news(const struct model *m)
{
    const struct session *s = model_document(m);
    return s && (s->dirty || s->numbers);
}

static void discard(struct session *s)
{
    if (!s)
        return;
    session_autosave_drop(s);
    s->dirty = s->numbers = false;
}

void model_discard(struct model *m)
{
    discard(m->session);
    discard(m->network ? m->network->session : NULL);
    model_network_give_up(m);
}
