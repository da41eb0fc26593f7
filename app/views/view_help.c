/* The help overlay. It shows one of three things: the list of topics, signs, keys, steps and
 * commands; the menu of actions; or the page of a topic. In the list, the keys that act where the
 * cursor is come before the other keys. In the list and the menu, typing filters the rows, and
 * Enter runs the selected row. The texts come from keys.def, step.def, the command tables and the
 * help topics. */
#include "app/views/view.h"

#include <stdio.h>
#include <string.h>
#include "app/model/appcmd.h"
#include "app/model/help.h"
#include "app/model/model_blank.h"
#include "app/ui/reflow.h"
#include "app/ui/text.h"

#define MENU_KEYS 14
#define LEAST_IN_TEXTS 3  /* a shorter filter is not searched for in the texts of topics */
#define FORECAST_WIDTH 30                 /* columns of "  time +100 %, misses +1000 %" */

/* The first ids of the rows of key bindings, of steps and commands, of topics, and of signs. */
enum { ID_BINDING = 0, ID_COMMAND = 1000, ID_TOPIC = 3000, ID_SIGN = 4000 };

static bool passes(const struct model *m, const char *a, const char *b, const char *c)
{
    const char *f = str_text(&m->filter);
    return strcasestr(a, f) || strcasestr(b, f) || strcasestr(c, f);
}

/* Returns what the menu of actions knows about a row; in the list of all keys, an empty
 * menu_row. */
static struct menu_row menu_row(const struct model *m, int id)
{
    bool known = m->help_menu && id >= 0 && id < m->menu.len;
    return known ? m->menu.data[id] : (struct menu_row){0};
}

static const char *why_not(const struct model *m, int id)
{
    return menu_row(m, id).why;
}

static const char *step_of_row(const struct model *m, int id)
{
    return menu_row(m, id).line;
}

bool view_menu_predicts(const struct model *m)
{
    const struct doc *d = &m->pane[DOC_HELP].doc;
    bool some = false;
    for (int i = 0; i < d->lines.len && m->session; i++)
        some = some || (d->lines.data[i].id >= 0 && step_of_row(m, d->lines.data[i].id));
    return some;
}

static void put_forecast(const struct model *m, int id, struct str *out)
{
    if (m->session && step_of_row(m, id))
        model_forecast_brief(m, step_of_row(m, id), out);
}

static void put_row(const struct model *m, struct doc *d, const char *left, int left_width,
                    const char *help, int width, int id)
{
    const char *why = why_not(m, id);
    doc_fit(d, why ? STYLE_DIM : STYLE_KEY, left, left_width);
    doc_put(d, STYLE_PLAIN, " ");
    struct str forecast = {0};
    put_forecast(m, id, &forecast);
    int room = width - left_width - 3, tail = text_width(str_text(&forecast));
    bool fits = tail > 0 && tail + 20 < room;
    doc_fit(d, why ? STYLE_DIM : STYLE_PLAIN, why ? why : help, fits ? room - tail - 2 : room);
    doc_put(d, STYLE_NOTE, fits ? "  " : "");
    doc_put(d, STYLE_NOTE, fits ? str_text(&forecast) : "");
    doc_end(d)->id = id;
    str_free(&forecast);
}

static void put_heading(struct doc *d, const char *text, bool *done)
{
    if (*done)
        return;
    *done = true;
    if (d->lines.len > 0)
        doc_line(d, STYLE_PLAIN, "");
    doc_line(d, STYLE_STRONG, text);
}

/* Whether a key runs a line, or puts one on the prompt. */
static bool is_deed(const struct key_binding *b)
{
    return b->line[0] != 0;
}

static bool in_chain(const struct model *m, enum key_context c)
{
    for (int i = 0; i < m->help_n; i++)
        if (m->help_chain[i] == c)
            return true;
    return false;
}

/* Whether binding b is a row of the menu. */
static bool is_row(const struct model *m, const struct key_binding *b)
{
    return b->context == m->help_chain[0] && is_deed(b)
        && !key_binding_shadowed(m->help_chain, m->help_n, b);
}

int view_help_rows(const struct model *m)
{
    int n = 0;
    for (int i = 0; i < key_binding_count(); i++)
        n += is_row(m, key_binding_get(i));
    return n;
}

int view_help_columns(const struct model *m)
{
    int widest = 0;
    for (int i = 0; i < key_binding_count(); i++) {
        const struct key_binding *b = key_binding_get(i);
        const char *why = why_not(m, i);
        int w = text_width(why ? why : b->help) + text_width(key_binding_ellipsis(b))
              + (step_of_row(m, i) ? FORECAST_WIDTH : 0);
        widest = is_row(m, b) && w > widest ? w : widest;
    }
    return widest + MENU_KEYS + 3 > 70 ? widest + MENU_KEYS + 3 : 70;
}

void view_help_title(const struct model *m, struct str *out)
{
    const struct stage *s;
    int axis, t = model_tensor(m);
    if (m->topic[0])
        str_printf(out, "Help: %s", m->topic);
    else if (!m->help_menu)
        str_add(out, "Keys and commands");
    else if (m->help_chain[0] == KEYS_NEST && model_loop(m, &s, &axis))
        str_printf(out, "Loop %s of %s", s->axis[axis].name, s->name);
    else if (m->help_chain[0] == KEYS_LAYOUT && t >= 0)
        str_printf(out, "Layout of %s", model_program(m)->graph->tensor[t].name);
    else
        str_add(out, key_context_title[m->help_chain[0]]);
    if (m->help_menu && m->menu_ranked)
        str_add(out, model_forecast_has_time(m) ? ", least predicted time first"
                                                : ", fewest predicted misses first");
}

/* Sorts the rows of the menu by their predictions. Rows without a prediction keep their order. */
static void rank_rows(const struct model *m, struct doc *d)
{
    struct line *row = d->lines.data;
    for (int i = 1; i < d->lines.len; i++)
        for (int k = i; k > 0 && model_forecast_before(m, step_of_row(m, row[k].id),
                                                     step_of_row(m, row[k - 1].id)); k--) {
            struct line other = row[k];
            row[k] = row[k - 1];
            row[k - 1] = other;
        }
}

static void put_context(const struct model *m, struct doc *d, enum key_context c, int width)
{
    bool heading = false;
    for (int i = 0; i < key_binding_count(); i++) {
        const struct key_binding *b = key_binding_get(i);
        if (b->context != c || !passes(m, b->keys, b->help, b->line))
            continue;
        if ((m->help_menu && !is_deed(b)) || key_binding_shadowed(m->help_chain, m->help_n, b))
            continue;
        if (!m->help_menu)
            put_heading(d, key_context_title[c], &heading);
        struct str help = {0};
        str_printf(&help, "%s%s", b->help, key_binding_ellipsis(b));
        put_row(m, d, b->keys, MENU_KEYS, str_text(&help), width, ID_BINDING + i);
        str_free(&help);
    }
    if (m->menu_ranked)
        rank_rows(m, d);
}

static void put_commands(const struct model *m, struct doc *d, int width)
{
    bool heading = false;
    for (int i = 0; i < appcmd_rows(); i++) {
        struct command_row row = appcmd_row(i);
        struct str left = {0};
        command_row_print(&left, &row);
        if (passes(m, str_text(&left), row.help, appcmd_synonyms(row.name))) {
            put_heading(d, "Steps and commands, typed behind :", &heading);
            put_row(m, d, str_text(&left), width >= 100 ? 44 : width / 2 - 4, row.help, width,
                    ID_COMMAND + i);
        }
        str_free(&left);
    }
}

static void put_signs(const struct model *m, struct doc *d, int width)
{
    bool heading = false;
    const struct help_sign *s;
    for (int i = 0; (s = help_sign(i)); i++)
        if (passes(m, s->sign, s->help, "")) {
            put_heading(d, "Signs in the list of steps", &heading);
            put_row(m, d, s->sign, MENU_KEYS, s->help, width, ID_SIGN + i);
        }
}

/* Adds the topics of `tilescope help`: without a filter the list of their names, with a filter a
 * row for each topic that matches. */
static void put_topics(const struct model *m, struct doc *d, int width)
{
    struct str names = {0};
    bool heading = false;
    str_add(&names, "Topics, to read with :help NAME:");
    for (int i = 0; help_topic_name(i); i++) {
        str_printf(&names, " %s", help_topic_name(i));
        if (m->filter.len == 0 || !passes(m, help_topic_name(i), help_topic_summary(i), ""))
            continue;
        put_heading(d, "Topics", &heading);
        put_row(m, d, help_topic_name(i), MENU_KEYS, help_topic_summary(i), width, ID_TOPIC + i);
    }
    for (int i = 0; i < ops_count(); i++)
        str_printf(&names, " %s", ops_get(i)->name);
    if (m->filter.len == 0)
        doc_wrap(d, STYLE_DIM, str_text(&names), width - 2, 2);
    str_free(&names);
}

static void make_manual(struct model *m)
{
    for (int i = 0; help_topic_name(i); i++) {
        help_topic(&m->manual, help_topic_name(i));
        str_add_char(&m->manual, '\f');
    }
}

/* Adds the topics that have the filter only in their text. Does nothing for a filter shorter than
 * LEAST_IN_TEXTS, because nearly all texts contain it. */
static void put_texts(struct model *m, struct doc *d, int width)
{
    bool heading = false;
    struct str text = {0};
    if (m->filter.len < LEAST_IN_TEXTS)
        return;
    if (m->manual.len == 0)
        make_manual(m);
    const char *from = str_text(&m->manual);
    for (int i = 0; help_topic_name(i); i++) {
        const char *name = help_topic_name(i), *end = strchr(from, '\f');
        str_clear(&text);
        str_add_n(&text, from, (size_t)(end - from));
        from = end + 1;
        if (passes(m, name, help_topic_summary(i), "") || !passes(m, str_text(&text), "", ""))
            continue;
        put_heading(d, "Topics whose text has it", &heading);
        put_row(m, d, name, MENU_KEYS, help_topic_summary(i), width, ID_TOPIC + i);
    }
    str_free(&text);
}

/* Shows a topic, scrolled to the first match of the filter. */
static void open_topic(struct model *m, const char *name)
{
    struct pane_doc *p = &m->pane[DOC_HELP];
    model_show_topic(m, name);
    if (m->filter.len < LEAST_IN_TEXTS)
        return;
    view_help_build(m, p, p->width);
    if (doc_find(&p->doc, str_text(&m->filter), -1, 1) < 0)
        return;
    str_add(&m->search, str_text(&m->filter));
    model_search(m, 1, -1);
}

static void put_topic(const struct model *m, struct doc *d, int width)
{
    struct str text = {0}, fitted = {0};
    int columns = width - 3 < HELP_WIDTH ? width - 3 : HELP_WIDTH;
    if (help_topic(&text, m->topic))
        text_reflow(&fitted, str_text(&text), columns);
    doc_source(d, str_text(&fitted), NULL, 0);
    str_free(&text);
    str_free(&fitted);
}

void view_help_build(struct model *m, struct pane_doc *p, int width)
{
    struct doc *d = &p->doc;
    doc_clear(d);
    d->is_pager = m->topic[0] != 0;
    d->is_list = !d->is_pager;
    if (d->is_pager) {
        put_topic(m, d, width);
        return;
    }
    if (!m->help_menu)
        put_topics(m, d, width);
    bool steps = in_chain(m, KEYS_LEDGER) && !m->help_menu;
    if (steps)
        put_signs(m, d, width);
    for (int i = 0; i < m->help_n; i++)
        put_context(m, d, m->help_chain[i], width);
    for (int c = 0; c < KEYS_COUNT && !m->help_menu; c++)
        if (!in_chain(m, (enum key_context)c))
            put_context(m, d, (enum key_context)c, width);
    if (!m->help_menu && !steps)
        put_signs(m, d, width);
    if (!m->help_menu)
        put_commands(m, d, width);
    if (!m->help_menu)
        put_texts(m, d, width);
    if (d->lines.len == 0)
        doc_line(d, STYLE_DIM, "nothing matches; Backspace widens the filter");
}

/* Runs a row. The row of a topic or sign opens its page. The row of a key does what the key does,
 * if the key has this meaning where help was opened. A step or command is put on the prompt, so
 * that the user can complete it. */
static void run_row(struct model *m, int id)
{
    struct str line = {0};
    if (id >= ID_SIGN) {
        model_show_topic(m, "signs");
        return;
    }
    if (id >= ID_TOPIC) {
        open_topic(m, help_topic_name(id - ID_TOPIC));
        return;
    }
    if (why_not(m, id)) {
        model_say_error(m, why_not(m, id), menu_row(m, id).fix);
        return;
    }
    model_close_overlay(m);
    if (id < ID_COMMAND) {
        const struct key_binding *b = key_binding_get(id - ID_BINDING);
        if (in_chain(m, b->context))
            model_perform(m, b);
        else
            model_info(m, "%s works here: %s", b->keys, key_context_title[b->context]);
        return;
    }
    struct command_row row = appcmd_row(id - ID_COMMAND);
    str_printf(&line, "%s ", row.name);
    prompt_open(&m->prompt, ':', str_text(&line));
    str_free(&line);
}

static void edit_filter(struct model *m, int key)
{
    char utf8[5];
    if (key == K_CTRL('u') || key == K_CTRL('w'))
        str_clear(&m->filter);
    else if (key == K_BACKSPACE || key == K_CTRL('h'))
        while (m->filter.len > 0 && (m->filter.data[--m->filter.len] & 0xC0) == 0x80)
            ;
    else if (key == '/' && m->filter.len == 0)
        model_info(m, "type the word: the list is filtered as you type");
    else if (key >= ' ' && key < K_UP)
        str_add_n(&m->filter, utf8, (size_t)text_utf8_put(utf8, (uint32_t)key));
    if (m->filter.data)
        m->filter.data[m->filter.len] = 0;
    m->pane[DOC_HELP].scroll = (struct scroll){0};
    m->pane[DOC_HELP].stamp = 0;
}

static void hint_for(int id, struct str *out)
{
    if (id >= ID_SIGN) {
        const struct help_sign *s = help_sign(id - ID_SIGN);
        str_printf(out, "%s  %s. %s", s->sign, s->help, s->more);
        return;
    }
    if (id >= ID_TOPIC) {
        str_printf(out, "help %s: %s", help_topic_name(id - ID_TOPIC),
                   help_topic_summary(id - ID_TOPIC));
        return;
    }
    struct command_row row = appcmd_row(id - ID_COMMAND);
    command_row_print(out, &row);
    str_printf(out, ": %s", row.help);
}

void view_help_hint(const struct model *m, struct str *out)
{
    const struct line *l = doc_at(&m->pane[DOC_HELP].doc, &m->pane[DOC_HELP].scroll);
    if (!l || l->id < 0)
        return;
    if (l->id >= ID_COMMAND) {
        hint_for(l->id, out);
        return;
    }
    if (why_not(m, l->id)) {
        str_printf(out, "%s%s%s", why_not(m, l->id), menu_row(m, l->id).fix[0] ? ". Fix: " : "",
                   menu_row(m, l->id).fix);
        return;
    }
    const struct key_binding *b = key_binding_get(l->id - ID_BINDING);
    if (b->line[0]) {
        key_binding_key(out, b);
        str_add(out, b->action == ACTION_ASK ? " begins  :" : " is  :");
        model_key_line(m, b, in_chain(m, b->context), out);
    }
}

/* Handles a key in the menu of actions: Tab ranks the rows or restores their order; without a
 * filter, the key of a row runs that row at once. Returns false for the other keys. */
static bool menu_key(struct model *m, int key)
{
    bool fixed = key == K_ENTER || key == K_ESC || key == K_BACKSPACE;
    const struct key_binding *b = key_binding_find(m->help_chain, m->help_n, key);
    if (m->help_menu && key == K_TAB) {
        m->menu_ranked = !m->menu_ranked && view_menu_predicts(m);
        m->pane[DOC_HELP].stamp = 0;
        return true;
    }
    if (!m->help_menu || fixed || !b || m->filter.len > 0)
        return false;
    model_close_overlay(m);
    model_perform(m, b);
    return true;
}

/* Scrolls like the same key in a view. Returns false for keys that do not move up or down. */
static bool moves(struct pane_doc *p, int key)
{
    static const enum key_context chain[] = { KEYS_MOVE };
    const struct key_binding *b = key_binding_find(chain, 1, key);
    int lines = b ? key_action_lines(b->action, p->height) : 0;
    bool top = b && b->action == ACTION_TOP, bottom = b && b->action == ACTION_BOTTOM;
    if (lines != 0)
        doc_scroll_by(&p->doc, &p->scroll, lines, p->height);
    else if (top || bottom)
        doc_scroll_to(&p->doc, &p->scroll, top ? 0 : p->doc.lines.len - 1, p->height);
    return lines != 0 || top || bottom;
}

/* Searches like the same key in a view. Returns false for keys that do not search. */
static bool searches(struct model *m, int key)
{
    static const enum key_context chain[] = { KEYS_VIEW };
    const struct key_binding *b = key_binding_find(chain, 1, key);
    bool is = b && (b->action == ACTION_SEARCH || b->action == ACTION_FIND_NEXT
                    || b->action == ACTION_FIND_PREV);
    if (is)
        model_perform(m, b);
    return is;
}

/* Handles a key while a topic is shown. Returns false for keys that do the same here as in the
 * list. */
static bool topic_key(struct model *m, int key)
{
    struct pane_doc *p = &m->pane[DOC_HELP];
    if (!m->topic[0])
        return false;
    if (key == K_BACKSPACE || key == K_LEFT || key == K_CTRL('h'))
        model_show_topic(m, "");
    else if (searches(m, key) || moves(p, key))
        return true;
    else if (key == ' ')
        moves(p, K_PGDN);
    else if (key < ' ' || key >= K_UP || key == 'q' || key == '?')
        return false;
    else
        model_info(m, "a help page is read with Up, Down and Space, and searched with /; "
                   "q closes it");
    return true;
}

void view_help_key(struct model *m, int key)
{
    model_info(m, "%s", "");
    if (topic_key(m, key) || menu_key(m, key))
        return;
    struct pane_doc *p = &m->pane[DOC_HELP];
    bool types = key >= ' ' && key < K_UP;               /* whether the key goes into the filter */
    bool clears = key == K_CTRL('u') && m->filter.len > 0;
    const struct line *l = doc_at(&p->doc, &p->scroll);
    bool leave = key == K_ESC || key == K_CTRL('c') || key == K_F1
        || ((key == 'q' || key == '?') && m->filter.len == 0);
    if (leave) {
        model_close_overlay(m);
        m->overlay = m->help_of_list ? OVERLAY_BRANCHES : OVERLAY_NONE;
    } else if (key == K_ENTER && l && l->id >= 0) {
        run_row(m, l->id);
    } else if (key == K_CTRL('p') || key == K_CTRL('n')) {
        moves(p, key == K_CTRL('p') ? K_UP : K_DOWN);
    } else if (types || clears || !moves(p, key)) {
        edit_filter(m, key);
    }
}
