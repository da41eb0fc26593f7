/* Drawing the screen: the title, the panes with their headings, the message and the key bar. */
#include "app/views/screen.h"

#include <stdio.h>
#include <string.h>
#include "app/model/appcmd.h"
#include "app/ui/text.h"
#include "app/views/view.h"
#include "app/views/view_marks.h"

#define LONG_WORD 24            /* a refused word of this many bytes or more is not quoted */
#define LEAST_HINT 20           /* with fewer columns beside a command, the hint is left out */
#define TITLE_FILE_MIN 8        /* with fewer columns for it, the file name is left out */

static void add_hit(struct model *m, struct rect r, int key)
{
    vec_push(&m->hits, (struct hit){r, key});
}

/* Appends what runs in the background: "measuring: timing 40 %". If nothing runs, appends "auto
 * off" or nothing. */
static void put_status(const struct model *m, struct str *out)
{
    static const char *const spin[] = {"|", "/", "-", "\\"};
    for (int i = 0; i < LANE_COUNT; i++) {
        const struct job_progress *p = &m->progress[i];
        const char *doing = job_info[p->kind].doing;
        if (!p->running || !doing[0])
            continue;
        str_printf(out, "%s%s %s", out->len ? "  " : "", spin[m->spin % 4], doing);
        if (p->what[0])
            str_printf(out, ": %s", p->what);
        if (p->fraction > 0)
            str_printf(out, " %d %%", (int)(p->fraction * 100));      /* never rounds up to 100 % */
    }
    if (m->tuner.out) {
        str_printf(out, "%s%s", out->len ? "  " : "", model_tune_waits(m) ? "" : spin[m->spin % 4]);
        str_add(out, model_tune_waits(m) ? "" : " ");
        view_tune_status(m, out);
    }
    if (out->len == 0 && (m->session || m->network) && !m->autorun)
        str_add(out, "auto off");
}

/* Appends the name of the session's file, and whether the session or its network has unsaved
 * changes. */
static void put_file(const struct model *m, const struct session *s, struct str *out)
{
    const char *name = basename(s->path);
    bool dirty = s->dirty || (m->network && m->network->session->dirty);
    if (name[0])
        str_printf(out, "%s%s", name, dirty ? " (changed)" : "");
    else if (dirty)
        str_add(out, "(not saved)");
}

/* Draws the title row: the program's name, the operator, the file, the changed settings, the
 * status. If room is short, the status has priority, then the file with the settings. These leave
 * the first third of the row to name and operator; but changed settings may take the operator's
 * room. */
static void draw_title(const struct model *m, struct grid *g)
{
    struct rect r = m->frame.title;
    int third = r.x + r.w / 3;
    struct str status = {0}, file = {0}, set = {0};
    const char *what = "layouts and loop schedules of tensor operators";
    const struct session *s = model_shows_network(m) ? m->network->session : m->session;
    put_status(m, &status);
    if (s) {
        model_settings(m, &set);
        third = set.len > 0 ? 0 : third;
        put_file(m, s, &file);
        str_printf(&file, "%s%s", set.len > 0 && file.len > 0 ? "  " : "", str_text(&set));
        what = s->title[0] ? s->title : history_spec(s->history);
    }
    int right = r.x + r.w - 1 - text_width(str_text(&status));
    grid_text(g, right, r.y, STYLE_NOTE, str_text(&status));
    right -= status.len > 0 ? 2 : 0;
    int x = grid_fit(g, r.x + 1, r.y, right - 2, STYLE_TITLE, "tilescope") + 2;
    int w = text_width(str_text(&file)), room = right - (x > third ? x : third);
    w = w <= room ? w : room >= TITLE_FILE_MIN ? room : 0;
    grid_fit(g, right - w, r.y, w, STYLE_DIM, str_text(&file));
    grid_fit(g, x, r.y, right - w - 2 - x, STYLE_PLAIN, what);
    str_free(&status);
    str_free(&file);
    str_free(&set);
}

/* What fits into the heading of a pane: the tabs of the views `first` to `last`, and the position
 * in the text. names: whether all tabs have names, or only the open one. airy: whether the names
 * are unabridged, with blanks between the tabs. at: the position; "": it is left out. */
struct tabs { int first, last; bool names, airy; char at[32]; };

static const char *tab_name(const struct tabs *t, int view)
{
    return t->airy ? model_view[view].name : model_view[view].tab;
}

static int tabs_width(const struct tabs *t, enum view open)
{
    int w = 1;
    for (int i = t->first; i <= t->last; i++) {
        bool on = open == (enum view)i, end = t->airy || on || i == t->last;
        w += 2 + (t->names || on ? 1 + (int)strlen(tab_name(t, i)) : 0) + end + t->airy;
    }
    return w;
}

/* Stores which lines are visible: " 4-35 of 90 ", or if `brief` is set " 4/90 "; "" if all lines
 * are visible. */
static void put_position(const struct pane_doc *p, bool brief, char *out, size_t size)
{
    int n = p->doc.lines.len, last = p->scroll.top + p->height;
    out[0] = 0;
    if (n <= p->height)
        return;
    if (brief)
        snprintf(out, size, " %d/%d ", p->scroll.top + 1, n);
    else
        snprintf(out, size, " %d-%d of %d ", p->scroll.top + 1, last < n ? last : n, n);
}

static struct tabs choose_tabs(const struct model *m, struct rect r, enum pane pane)
{
    static const struct { bool names, airy, at, brief; } ways[] = {
        {true, true, true, false}, {true, true, true, true}, {true, false, true, false},
        {true, false, true, true}, {true, false, false, false}, {false, false, true, false},
        {false, false, true, true},
    };
    bool both = m->frame.pane[PANE_MAIN].h > 0 && m->frame.pane[PANE_SIDE].h > 0;
    struct tabs t = {.first = both && pane == PANE_SIDE ? VIEW_ACCESS : VIEW_NEST,
                     .last = both && pane == PANE_MAIN ? VIEW_NEST
                           : m->view[pane] >= VIEW_COMPARE ? (int)m->view[pane] : VIEW_COMPARE - 1};
    for (int i = 0; i < COUNT_OF(ways); i++) {
        t.names = ways[i].names;
        t.airy = ways[i].airy;
        t.at[0] = 0;
        if (ways[i].at)
            put_position(&m->pane[m->view[pane]], ways[i].brief, t.at, sizeof t.at);
        if (tabs_width(&t, m->view[pane]) + (int)strlen(t.at) + 1 <= r.w)
            return t;
    }
    t.at[0] = 0;
    return t;
}

/* Appends the key that shows a view: the first one in the table of bindings. */
static void put_view_key(struct str *out, int view)
{
    for (int i = 0; i < key_binding_count(); i++) {
        const struct key_binding *b = key_binding_get(i);
        if (str_starts(b->line, "view ") && streq(b->line + 5, model_view[view].name)) {
            key_binding_key(out, b);
            return;
        }
    }
}

/* Draws the tabs of a pane. With three panes, the pane of the nest has only one tab. */
static void draw_tabs(struct model *m, struct grid *g, struct rect r, enum pane pane)
{
    bool focused = m->focus == pane && m->overlay == OVERLAY_NONE;
    struct tabs t = choose_tabs(m, r, pane);
    int x = r.x + 1;
    struct rect old = grid_clip(g, r);
    grid_fill(g, (struct rect){r.x, r.y, r.w, 1}, STYLE_RULE, 0x2500);
    for (int i = t.first; i <= t.last; i++) {
        bool on = m->view[pane] == (enum view)i;
        const char *end = t.airy || i == t.last || on ? " " : "";
        struct str key = {0}, text = {0};
        put_view_key(&key, i);
        str_printf(&text, t.names || on ? " %s %s%s" : " %s%.0s%s", str_text(&key),
                   tab_name(&t, i), end);
        int from = x;
        x = grid_text(g, x, r.y, on ? (focused ? STYLE_TAB : STYLE_STRONG) : STYLE_DIM,
                      str_text(&text));
        add_hit(m, (struct rect){from, r.y, x - from, 1}, key_parse(str_text(&key)));
        str_free(&key);
        str_free(&text);
        x += t.airy;
    }
    grid_text(g, r.x + r.w - (int)strlen(t.at) - 1, r.y, STYLE_DIM, t.at);
    grid_unclip(g, old);
}

static void draw_preview_heading(struct grid *g, struct rect r)
{
    grid_fill(g, (struct rect){r.x, r.y, r.w, 1}, STYLE_RULE, 0x2500);
    int x = grid_fit(g, r.x + 1, r.y, r.w - 2, STYLE_NOTE, " preview: the nest after this step");
    if (x < r.x + r.w)
        grid_text(g, x, r.y, STYLE_PLAIN, " ");
}

static void draw_pane(struct model *m, struct grid *g, enum pane pane)
{
    struct rect r = m->frame.pane[pane], body = {r.x, r.y + 1, r.w, r.h - 1};
    bool focused = m->focus == pane && m->overlay == OVERLAY_NONE;
    if (r.h == 0)
        return;
    bool preview = view_preview_pane(m) == (int)pane;
    struct pane_doc *p = &m->pane[preview ? DOC_PREVIEW
                                : pane == PANE_LEDGER ? DOC_LEDGER : (enum doc_id)m->view[pane]];
    if (pane == PANE_LEDGER)
        view_ledger_heading(m, g, r, focused);
    else if (preview)
        draw_preview_heading(g, r);
    else
        draw_tabs(m, g, r, pane);
    struct view_marks marks;
    struct doc_look look = {.focused = focused};
    look.search = m->focus == pane ? str_text(&m->search) : NULL;
    if (pane != PANE_LEDGER && !preview)
        view_marks(m, m->view[pane], &marks, &look);
    doc_draw(&p->doc, &p->scroll, g, body, look);
    if (r.x > 0)
        for (int y = r.y; y < r.y + r.h; y++)
            grid_char(g, r.x - 1, y, STYLE_RULE, y == r.y ? 0x252C : 0x2502);
}

/* Draws the list of the start screen or of a network, and the details of the selected line beside
 * or under the list. */
static void draw_list(struct model *m, struct grid *g, enum doc_id id)
{
    struct rect list = m->frame.pane[PANE_LEDGER], detail = m->frame.pane[PANE_MAIN];
    grid_fill(g, (struct rect){0, list.y, m->w, 1}, STYLE_RULE, 0x2500);
    struct rect inside = {list.x, list.y + 1, list.w, list.h - 1};
    char at[32];
    put_position(&m->pane[id], false, at, sizeof at);
    grid_text(g, list.x + list.w - (int)strlen(at) - 1, list.y, STYLE_DIM, at);
    doc_draw(&m->pane[id].doc, &m->pane[id].scroll, g, inside,
             (struct doc_look){.focused = m->overlay == OVERLAY_NONE,
                               .search = str_text(&m->search)});
    if (detail.h == 0)
        return;
    struct scroll nowhere = {.cursor = -1};
    inside = (struct rect){detail.x, detail.y + 1, detail.w, detail.h - 1};
    doc_draw(&m->pane[DOC_DETAIL].doc, &nowhere, g, inside, (struct doc_look){.focused = false});
    if (detail.x == 0)
        grid_fill(g, (struct rect){0, detail.y, m->w, 1}, STYLE_RULE, 0x2500);
    for (int y = detail.y; detail.x > 0 && y < detail.y + detail.h; y++)
        grid_char(g, detail.x - 1, y, STYLE_RULE, y == detail.y ? 0x252C : 0x2502);
}

/* Draws a text in the rows from y to bottom - 1; if it does not fit, it ends with an ellipsis.
 * Returns the row below the text. */
static int draw_wrapped(struct grid *g, int y, int bottom, int x, int w, enum style s,
                        const char *text)
{
    for (const char *p = text; *p && y < bottom; y++) {
        size_t n = text_break(p, w);
        struct str row = {0};
        if (y + 1 == bottom && p[n]) {
            grid_fit(g, x, y, w, s, p);
            return bottom;
        }
        str_add_n(&row, p, n);
        grid_text(g, x, y, s, str_text(&row));
        str_free(&row);
        p += n;
        p += strspn(p, " ");
    }
    return y;
}

/* Appends one line about the object under the cursor; if the prompt `:` is open, about the command
 * there. */
static void put_hint(const struct model *m, struct str *s)
{
    static view_hint *const hints[VIEW_COUNT] = {
#define VIEW(id, name, tab, context, moves, rebuilt, build, hint) hint,
#include "app/model/view.def"
    };
    view_hint *hint = m->session && m->focus != PANE_LEDGER ? hints[m->view[m->focus]] : NULL;
    if (m->prompt.open && m->prompt.mark == ':')
        appcmd_hint(str_text(&m->prompt.line), s);
    else if (m->overlay == OVERLAY_HELP)
        view_help_hint(m, s);
    else if (m->overlay == OVERLAY_BRANCHES)
        view_branches_hint(m, s);
    else if (!m->session && m->overlay == OVERLAY_NONE)
        (m->network ? view_network_hint : view_start_hint)(m, s);
    else if (m->session && m->overlay == OVERLAY_NONE && m->focus == PANE_LEDGER)
        view_ledger_hint(m, s);
    else if (hint && m->overlay == OVERLAY_NONE)
        hint(m, s);
}

/* Returns the last sentence of a hint if it says what the key Enter does; else NULL. */
static const char *last_action(const char *hint)
{
    const char *at = hint, *last = NULL;
    while ((at = strstr(at, " Enter "))) {
        last = at > hint && strchr(".;", at[-1]) ? at + 1 : last;
        at++;
    }
    return last && !strpbrk(last, ");") ? last : NULL;
}

/* Draws a hint in one row. If the hint is too long, cuts the part before the sentence about Enter;
 * if that part would get too narrow, cuts the end. */
static void draw_fitted(struct grid *g, int x, int y, int w, const char *hint)
{
    const char *action = last_action(hint);
    int room = action ? w - text_width(action) - 1 : 0;
    if (text_width(hint) <= w || room < LEAST_HINT) {
        grid_fit(g, x, y, w, STYLE_DIM, hint);
        return;
    }
    struct str head = {0};
    str_add_n(&head, hint, (size_t)(action - hint) - 1);
    x = grid_fit(g, x, y, room, STYLE_DIM, str_text(&head));
    grid_text(g, x + 1, y, STYLE_DIM, action);
    str_free(&head);
}

static void draw_hint(struct grid *g, struct rect r, const char *hint)
{
    if (r.h > 1)
        draw_wrapped(g, r.y, r.y + r.h, r.x + 1, r.w - 2, STYLE_DIM, hint);
    else
        draw_fitted(g, r.x + 1, r.y, r.w - 2, hint);
}

static void draw_tour(const struct model *m, struct grid *g)
{
    struct rect r = m->frame.tour;
    struct str title = {0}, text = {0};
    if (r.h == 0)
        return;
    grid_fill(g, (struct rect){r.x, r.y, r.w, 1}, STYLE_RULE, 0x2500);
    model_tour_title(m, &title);
    grid_text(g, r.x + 1, r.y, STYLE_TITLE, str_text(&title));
    const char *help = model_tour_over(m) ? "" : " :tour do does it, Esc leaves ";
    if (text_width(help) + text_width(str_text(&title)) + 4 < r.w)
        grid_text(g, r.x + r.w - text_width(help) - 1, r.y, STYLE_DIM, help);
    model_tour_text(m, &text);
    draw_wrapped(g, r.y + 1, r.y + r.h, r.x + 1, r.w - 2, STYLE_STRONG, str_text(&text));
    str_free(&title);
    str_free(&text);
}

/* Draws the command that a key or the prompt has run, then the hint. Draws only the hint if it
 * contains the command, as it does when the cursor is on the new step in the list. */
static void draw_echo(const struct model *m, struct grid *g, struct rect r)
{
    const char *echo = str_text(&m->message.echo);
    struct str s = {0};
    put_hint(m, &s);
    bool has = echo[0] == ':' && strstr(str_text(&s), echo + 1);
    int x = has ? r.x : grid_fit(g, r.x + 1, r.y, r.w - 2, STYLE_KEY, echo) + 1;
    if (x + 1 + LEAST_HINT <= r.x + r.w)
        draw_hint(g, (struct rect){x, r.y, r.x + r.w - x, 1}, str_text(&s));
    str_free(&s);
}

/* Draws the message rows: a question; or what a key or a command has done; or why it failed; or
 * else a hint about the object under the cursor. */
static void draw_message(const struct model *m, struct grid *g)
{
    struct rect r = m->frame.message;
    int y = r.y, bottom = r.y + r.h;
    const char *text = str_text(&m->message.text), *fix = str_text(&m->message.fix);
    bool error = m->message.kind == MESSAGE_ERROR;
    if (m->overlay == OVERLAY_ASK) {
        struct str question = {0};
        model_question(m, &question);
        draw_wrapped(g, y, bottom, r.x + 1, r.w - 2, STYLE_STRONG, str_text(&question));
        str_free(&question);
        return;
    }
    bool hinted = m->prompt.open || m->overlay == OVERLAY_HELP || m->message.kind != MESSAGE_ECHO
               || r.h > 1;                /* several rows are for a hint that explains a step */
    if (!text[0] && hinted) {
        struct str hint = {0};
        put_hint(m, &hint);
        draw_hint(g, r, str_text(&hint));
        str_free(&hint);
        return;
    }
    if (m->message.kind == MESSAGE_ECHO) {
        draw_echo(m, g, r);
        return;
    }
    if (m->message.echo.len > 0 && error && r.h > 1 && !m->prompt.open) {
        grid_fit(g, r.x + 1, y++, r.w - 2, STYLE_KEY, str_text(&m->message.echo));
    } else if (m->message.kind == MESSAGE_INFO && m->message.echo.len > 0) {
        int x = grid_fit(g, r.x + 1, y, r.w / 2, STYLE_KEY, str_text(&m->message.echo));
        draw_wrapped(g, y, bottom, x + 2, r.w - x - 3, STYLE_PLAIN, text);
        return;
    }
    y = draw_wrapped(g, y, bottom, r.x + 1, r.w - 2, error ? STYLE_BAD : STYLE_PLAIN, text);
    if (fix[0] && y < bottom)
        grid_text(g, r.x + 1, y, STYLE_DIM, "Fix:");
    draw_wrapped(g, y, bottom, r.x + 6, r.w - 7, STYLE_PLAIN, fix);
}

static int bar_width(const struct key_binding *b)
{
    struct str key = {0};
    key_binding_key(&key, b);
    int w = (int)key.len + 1 + text_width(b->label) + text_width(key_binding_ellipsis(b)) + 2;
    str_free(&key);
    return w;
}

static int draw_bar_key(struct model *m, struct grid *g, int x, const struct key_binding *b)
{
    struct str key = {0};
    int from = x;
    key_binding_key(&key, b);
    x = grid_text(g, x, m->frame.bar.y, STYLE_KEY, str_text(&key));
    x = grid_text(g, x + 1, m->frame.bar.y, STYLE_DIM, b->label);
    x = grid_text(g, x, m->frame.bar.y, STYLE_DIM, key_binding_ellipsis(b));
    add_hit(m, (struct rect){from, m->frame.bar.y, x - from, 1}, key_parse(str_text(&key)));
    str_free(&key);
    return x + 2;
}

/* If a search runs, draws how to stop it, unless the focused view shows that.  Returns the column
 * behind the text. */
static int draw_bar_search(struct model *m, struct grid *g, int x)
{
    bool shown = m->session && m->overlay == OVERLAY_NONE && m->focus != PANE_LEDGER
              && m->view[m->focus] == VIEW_TUNE;
    if (!m->tuner.out || !m->tuner.wanted || shown)
        return x;
    int from = x;
    x = grid_text(g, x, m->frame.bar.y, STYLE_KEY, "t");
    x = grid_text(g, x, m->frame.bar.y, STYLE_DIM, " then x stops the search");
    add_hit(m, (struct rect){from, m->frame.bar.y, x - from, 1}, 't');
    return x + 2;
}

/* Draws the key bar. The keys of help, prompt and quitting are always at its right end (on a narrow
 * screen only help); the keys of the context have the remaining width. */
static void draw_bar(struct model *m, struct grid *g)
{
    enum key_context chain[KEYS_COUNT];
    static const enum key_context any = KEYS_ANY;
    const struct key_binding *fixed[3] = {key_binding_find(&any, 1, '?'),
                                          key_binding_find(&any, 1, ':'), NULL};
    int n = model_contexts(m, chain), right = m->frame.bar.w - 1;
    const struct key_binding *quit = key_binding_find(chain, n, 'q');
    struct key_binding q = *quit;
    q.label = model_key_label(m, quit);
    fixed[2] = &q;
    int first = right < 40 ? 1 : 3, x = m->frame.bar.x + 1;
    for (int i = 0; i < first; i++)
        right -= bar_width(fixed[i]);
    x = draw_bar_search(m, g, x);
    for (int c = 0; c < n; c++)
        for (int i = 0; i < key_binding_count(); i++) {
            const struct key_binding *b = key_binding_get(i);
            struct key_binding shown = *b;
            shown.label = model_key_label(m, b);
            if (b->context != chain[c] || !shown.label[0] || x + bar_width(&shown) > right)
                continue;
            bool other = chain[0] == KEYS_ACCESS && b->context == KEYS_NEST;
            bool skip = b == fixed[0] || b == fixed[1] || b == quit || other
                     || key_binding_shadowed(chain, n, b) || model_key_refused(m, b);
            if (!skip)
                x = draw_bar_key(m, g, x, &shown);
        }
    x = right + 1;
    for (int i = 0; i < first; i++)
        x = draw_bar_key(m, g, x, fixed[i]);
}

static void draw_text_bar(struct grid *g, struct rect r, const char *const *pairs)
{
    int x = r.x + 1;
    for (; pairs[0]; pairs += 2) {
        x = grid_text(g, x, r.y, STYLE_KEY, pairs[0]);
        x = grid_text(g, x + 1, r.y, STYLE_DIM, pairs[1]) + 2;
    }
}

/* Draws at the right end of the prompt which keys come next, in three cases: a refused line is
 * still on the prompt; or a list of completions is open; or the prompt asks for a file name, and
 * one is there already. */
static void draw_way_out(const struct model *m, struct grid *g, struct rect r)
{
    const struct prompt *p = &m->prompt;
    bool list = p->words.n > 0, refused = m->message.kind == MESSAGE_ERROR && !list;
    char named[64];
    const char *text = list ? " Tab Down next, Esc closes the list "
                     : refused ? " refused: change it, or Esc leaves it "
                     : " Enter saves, C-u empties the name ";
    if (refused && p->refused && m->error_col > 0 && p->wrong == p->at)
        text = " refused at the cursor: change it, or Esc leaves it ";
    if (refused && p->refused && p->wrong < p->at && p->at - p->wrong < LONG_WORD) {
        snprintf(named, sizeof named, " refused: %.*s; Esc leaves the line ",
                 (int)(p->at - p->wrong), str_text(&p->line) + p->wrong);
        text = named;
    }
    int x = r.x + r.w - text_width(text);
    bool asked = refused ? p->mark != '/' : list || p->mark == PROMPT_SAVE;
    if (asked && g->cursor_x + 2 < x
        && text_width(str_text(&m->prompt.line)) + 2 < x)
        grid_text(g, x, r.y, STYLE_NOTE, text);
}

static void draw_bottom(struct model *m, struct grid *g)
{
    static const char *const ask[] = {"y Enter", "save", "n", "discard", "c", "cancel", NULL};
    static const char *const recover[] = {
        "y Enter", "open them", "n", "open without them", "d", "discard them", NULL,
    };
    const char *leave = m->tuner.out ? "stop it" : m->then == AFTER_QUIT ? "quit" : "leave";
    const char *const stop[] = {"y Enter", leave, "n c", "stay", NULL};
    static const char *const help[] = {
        "Enter", "run", "Up Down", "choose", "Esc", "close", "type", "to filter", NULL,
    };
    const char *const menu[] = {
        "Enter", "run", "Up Down", "choose", "Esc", "close",
        view_menu_predicts(m) ? "Tab" : NULL, m->menu_ranked ? "in their order"
        : model_forecast_has_time(m) ? "least time first" : "fewest misses first", NULL,
    };
    static const char *const topic[] = {
        "Up Down", "scroll", "/", "search", "n", "next", "Backspace", "all keys and topics",
        "Esc", "close", NULL,
    };
    struct rect r = m->frame.bar;
    if (m->prompt.open) {
        int rows = prompt_list_rows(&m->prompt, m->h / 2 - 1);
        prompt_draw(&m->prompt, g, r);
        draw_way_out(m, g, r);
        prompt_draw_list(&m->prompt, g, (struct rect){0, r.y - rows, r.w, rows});
    } else if (m->overlay == OVERLAY_ASK) {
        draw_text_bar(g, r, m->recover ? recover : m->ask_stop ? stop : ask);
    } else if (m->overlay == OVERLAY_HELP) {
        draw_text_bar(g, r, m->topic[0] ? topic : m->help_menu ? menu : help);
    } else {
        draw_bar(m, g);
    }
}

/* Clears r and draws a box: the upper and lower edge are the first and last row of r; the left and
 * right edge are one column outside of r. */
static void draw_box(struct grid *g, struct rect r)
{
    int right = r.x + r.w, bottom = r.y + r.h - 1;
    grid_fill(g, r, STYLE_PLAIN, ' ');
    for (int y = r.y; y <= bottom; y++) {
        grid_char(g, r.x - 1, y, STYLE_RULE, y == r.y ? 0x250C : y == bottom ? 0x2514 : 0x2502);
        grid_char(g, right, y, STYLE_RULE, y == r.y ? 0x2510 : y == bottom ? 0x2518 : 0x2502);
    }
    grid_fill(g, (struct rect){r.x, r.y, r.w, 1}, STYLE_RULE, 0x2500);
    grid_fill(g, (struct rect){r.x, bottom, r.w, 1}, STYLE_RULE, 0x2500);
}

static void draw_overlay(struct model *m, struct grid *g)
{
    struct rect r = m->frame.overlay;
    if (m->overlay != OVERLAY_HELP && m->overlay != OVERLAY_BRANCHES)
        return;
    bool help = m->overlay == OVERLAY_HELP, list = help && !m->topic[0];
    const struct pane_doc *p = &m->pane[help ? DOC_HELP : DOC_BRANCHES];
    struct str title = {0};
    m->hits.len = 0;
    draw_box(g, r);
    if (help)
        view_help_title(m, &title);
    else
        str_add(&title, "Branches");
    grid_text(g, r.x + 2, r.y, STYLE_PLAIN, " ");
    int x = grid_fit(g, r.x + 3, r.y, r.w - 6, STYLE_TITLE, str_text(&title));
    if (help && m->filter.len > 0) {
        x = grid_text(g, x, r.y, STYLE_DIM, " with ");
        x = grid_fit(g, x, r.y, r.x + r.w - x - 2, STYLE_MATCH, str_text(&m->filter));
    }
    grid_text(g, x, r.y, STYLE_PLAIN, " ");
    doc_draw(&p->doc, &p->scroll, g, (struct rect){r.x, r.y + 1, r.w, r.h - 2},
             (struct doc_look){.focused = true,
                               .search = str_text(list ? &m->filter : &m->search)});
    str_free(&title);
}

void screen_draw(struct model *m, struct grid *g)
{
    grid_clear(g);
    m->hits.len = 0;
    if (m->frame.too_small) {
        grid_text(g, 0, 0, STYLE_PLAIN, "terminal too small");
        return;
    }
    draw_title(m, g);
    if (m->session)
        for (int p = 0; p < PANE_COUNT; p++)
            draw_pane(m, g, (enum pane)p);
    else
        draw_list(m, g, m->network ? DOC_NETWORK : DOC_START);
    draw_tour(m, g);
    draw_overlay(m, g);
    draw_message(m, g);
    draw_bottom(m, g);
}
