/* Handles events, computes the frame around the panes, and rebuilds documents that are out of
 * date. */
#include "app/views/screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "app/model/appcmd.h"
#include "app/ui/grid_svg.h"
#include "app/ui/text.h"
#include "app/views/view.h"

#define SMALLEST_W 30
#define SMALLEST_H 6
#define USUAL_COLUMNS 27  /* width of the ledger's usual columns: best, change, misses, ok */
#define LEAST_PANE 24                    /* least width of a pane beside others */
#define NETWORK_SIDE_BY_SIDE 130         /* least columns for the details of a kernel beside the
                                          * list; on a narrower screen they are below it */

/* --- Geometry --------------------------------------------------------------------------------- */

static int clamp(int v, int lo, int hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

static int wrapped_rows(const char *text, int w)
{
    int rows = 0;
    for (const char *p = text; *p; rows++) {
        p += text_break(p, w);
        p += strspn(p, " ");
    }
    return rows;
}

/* Returns the number of rows of the tour's text with the rule above it; 0: there is no tour. */
static int tour_rows(const struct model *m, int w)
{
    struct str text = {0};
    model_tour_text(m, &text);
    int rows = m->tour ? wrapped_rows(str_text(&text), w - 2) + 1 : 0;
    str_free(&text);
    return rows;
}

/* Whether the message row explains the step under the cursor of the ledger. */
static bool explains_step(const struct model *m)
{
    return m->session && m->focus == PANE_LEDGER && m->overlay == OVERLAY_NONE && !m->prompt.open
        && view_ledger_explains(m);
}

/* Returns the number of rows that the question, the message or the hint needs, at least 1. */
static int message_rows(const struct model *m, int w)
{
    struct str hint = {0};
    if (m->overlay == OVERLAY_ASK) {
        model_question(m, &hint);
        int asked = wrapped_rows(str_text(&hint), w - 2);
        str_free(&hint);
        return asked;
    }
    int echo = m->message.kind == MESSAGE_INFO ? text_width(str_text(&m->message.echo)) : 0;
    echo = echo > 0 ? 2 + clamp(echo, 0, w / 2) : 0;  /* the command is in the same row */
    int rows = wrapped_rows(str_text(&m->message.text), w - 2 - echo);
    if (rows == 0 && m->prompt.open && m->prompt.mark == ':')
        appcmd_hint(str_text(&m->prompt.line), &hint);
    else if (rows == 0 && explains_step(m))
        view_ledger_hint(m, &hint);
    rows += wrapped_rows(str_text(&hint), w - 2);
    str_free(&hint);
    if (m->message.kind == MESSAGE_ERROR && m->message.echo.len > 0 && !m->prompt.open)
        rows++;
    rows += wrapped_rows(str_text(&m->message.fix), w - 7);
    return rows > 0 ? rows : 1;
}

/* Places two panes one above the other; if there is no room for two, shows only one. */
static void stack_panes(const struct model *m, struct frame *f, struct rect body)
{
    if (!m->session) {
        /* the details of the selected kernel get the rows that the list does not need */
        int list = m->pane[DOC_NETWORK].doc.lines.len + 1;
        int under = m->network && body.h >= 16
                  ? clamp(body.h - list, body.h / 3, body.h * 2 / 3) : 0;
        f->pane[PANE_LEDGER] = (struct rect){body.x, body.y, body.w, body.h - under};
        f->pane[PANE_MAIN] = (struct rect){body.x, body.y + body.h - under, body.w, under};
        return;
    }
    int n, at;
    history_path(m->session->history, history_branch_index(m->session->history), &n, &at);
    /* the plot of the tuner needs the rows more than the list of steps does */
    bool tuning = m->view[m->last_view] == VIEW_TUNE;
    int top = clamp(n + 1 + (n == 1 ? 2 : 0), 3, tuning ? body.h / 4 : body.h * 2 / 5);
    top = clamp(top + m->wider / 4, 3, body.h > 8 ? body.h - 5 : 3);
    if (body.h < 11) {
        f->pane[m->focus] = body;
        return;
    }
    f->pane[PANE_LEDGER] = (struct rect){body.x, body.y, body.w, top};
    f->pane[m->last_view] = (struct rect){body.x, body.y + top, body.w, body.h - top};
}

/* Returns the width that the ledger needs to show its steps uncut, or 200 columns of a longer
 * step. */
static int ledger_width(const struct model *m)
{
    int n, longest = 0, columns = m->columns.n > 0 ? 0 : USUAL_COLUMNS;
    for (int i = 0; i < m->columns.n; i++)
        columns += column_info[m->columns.at[i]].width;
    struct ledger_row *rows = model_ledger(m, &n);
    for (int i = 0; i < n; i++)
        longest = clamp(text_width(rows[i].step), longest, 200);
    free(rows);
    return longest + columns + 6;
}

static void place_panes(const struct model *m, struct frame *f, struct rect body)
{
    bool network = model_shows_network(m);
    if (m->zoom && (m->session || network)) {
        f->pane[m->focus] = body;
        return;
    }
    if (body.w < (network ? NETWORK_SIDE_BY_SIDE : FRAME_SIDE_BY_SIDE)) {
        stack_panes(m, f, body);
        return;
    }
    bool three = body.w >= FRAME_WIDE && m->session;
    int half_way = clamp(body.w * 23 / 50, 40, three ? 60 : 64);
    int left = m->session ? clamp(ledger_width(m), half_way, body.w / (three ? 3 : 2) + 1)
             : network    ? body.w * 3 / 5 : body.w / 2;
    if (m->session && m->wider)
        left = clamp(left + m->wider, LEAST_PANE, body.w - (three ? 2 : 1) * (LEAST_PANE + 1));
    int rest = body.w - left - 1, x = body.x + left + 1;
    f->pane[PANE_LEDGER] = (struct rect){body.x, body.y, left, body.h};
    if (!three) {
        f->pane[m->session ? m->last_view : PANE_MAIN] = (struct rect){x, body.y, rest, body.h};
        return;
    }
    int half = clamp(rest / 2 + m->split, LEAST_PANE, rest - LEAST_PANE);
    f->pane[PANE_MAIN] = (struct rect){x, body.y, half, body.h};
    f->pane[PANE_SIDE] = (struct rect){x + half + 1, body.y, rest - half - 1, body.h};
}

/* Places the overlay. The list of branches and the menu of actions take only the rows for their
 * heading, entries and lower edge; the help takes the whole height. */
static void place_overlay(const struct model *m, struct frame *f, struct rect body)
{
    bool small = m->overlay == OVERLAY_BRANCHES || m->help_menu;
    int wide = small && m->help_menu ? view_help_columns(m) : 110;
    int w = clamp(wide, SMALLEST_W - 2, m->w - 2), h = body.h;
    if (m->overlay == OVERLAY_BRANCHES)
        h = history_n_branches(m->session->history) + 3;
    else if (m->help_menu)
        h = view_help_rows(m) + 2;
    h = clamp(h, 3, body.h);
    f->overlay = (struct rect){(m->w - w) / 2, body.y + (body.h - h) / 2, w, h};
}

static void lay_out(const struct model *m, struct frame *f)
{
    *f = (struct frame){0};
    f->too_small = m->w < SMALLEST_W || m->h < SMALLEST_H;
    if (f->too_small)
        return;
    int message = clamp(message_rows(m, m->w), 1, clamp(m->h / 3, 1, m->h - 5));
    f->title = (struct rect){0, 0, m->w, 1};
    f->bar = (struct rect){0, m->h - 1, m->w, 1};
    f->message = (struct rect){0, m->h - 1 - message, m->w, message};
    int tour = clamp(tour_rows(m, m->w), 0, clamp(m->h / 3, 0, m->h - 5 - message));
    f->tour = (struct rect){0, m->h - 1 - message - tour, m->w, tour};
    struct rect body = {0, 1, m->w, m->h - 2 - message - tour};
    place_panes(m, f, body);
    place_overlay(m, f, body);
}

/* --- Bringing documents up to date ------------------------------------------------------------ */

/* The place of a cursor: so many lines below the last line with an id, which has this id.  -1: no
 * line at or above the cursor has one. */
struct cursor_place { int id, below; };

static struct cursor_place place_of(const struct pane_doc *p)
{
    const struct doc *d = &p->doc;
    for (int i = p->scroll.cursor; i >= 0 && i < d->lines.len; i--)
        if (d->lines.data[i].id >= 0)
            return (struct cursor_place){ d->lines.data[i].id, p->scroll.cursor - i };
    return (struct cursor_place){ -1, 0 };
}

/* Moves the cursor to a place; in a text, moves what is visible by as many lines. */
static void go_to_place(struct pane_doc *p, struct cursor_place at)
{
    int line = at.id >= 0 ? doc_find_id(&p->doc, at.id) : -1;
    if (line < 0)
        return;
    line += at.below;
    p->scroll.top += p->doc.is_list ? 0 : line - p->scroll.cursor;
    p->scroll.cursor = line;
}

static void refresh(struct model *m, enum doc_id id, struct rect r, view_build *build,
                    unsigned stamp)
{
    struct pane_doc *p = &m->pane[id];
    bool fits = (int)id < VIEW_COUNT && model_view[id].rebuilt == REBUILT_PANE
        && p->height != r.h - 1;
    if (r.h == 0)
        return;
    p->height = r.h - 1;
    if (p->stamp != stamp || p->width != r.w || fits) {
        /* if only the width has changed, the cursor stays on its line */
        bool same = p->stamp == stamp;
        struct cursor_place at = place_of(p);
        p->stamp = stamp;
        p->width = r.w;
        build(m, p, r.w);
        if (same)
            go_to_place(p, at);
    }
    if (p->scroll.cursor >= 0)
        doc_scroll_fix(&p->doc, &p->scroll, p->height);
}

/* Scrolls the assembly to its hottest loop, for the command `hot`. */
static void follow_heat(struct model *m, int height)
{
    struct pane_doc *p = &m->pane[VIEW_ASM];
    if (!m->to_hot || !model_code_is_current(m, VIEW_ASM) || m->hot < 0)
        return;
    doc_scroll_to(&p->doc, &p->scroll, m->hot, height);
    p->scroll.top = m->hot;
    m->to_hot = false;
}

/* Says that the profile has no row for an access. If the access is to a local tile, also says why:
 * what is wrong with the tile, or that a tile in registers needs no memory. */
static void say_no_row(struct model *m, const struct doc_item *it)
{
    const struct state *now = history_current(m->session->history);
    bool local = graph_tensor(model_program(m)->graph, it->name) < 0;
    struct str tile = {0};
    if (local)
        model_describe_tile(m, now, ": the tile ", &tile);
    model_info(m, "the profile has no row for %s%s", it->access,
               tile.len > 0 ? str_text(&tile) : local ? ": a tile in registers needs no memory"
                                                      : "");
    str_free(&tile);
}

/* For the command `misses_of`: scrolls the profile to the row of the access under the cursor of the
 * nest. If the access has no row, scrolls to the row of its tensor. */
static void follow_misses(struct model *m, int height)
{
    struct pane_doc *p = &m->pane[VIEW_PROFILE];
    const struct pane_doc *nest = &m->pane[VIEW_NEST];
    const struct line *from = doc_at(&nest->doc, &nest->scroll);
    bool on = from && nest->scroll.item < from->n_items;
    const struct doc_item *it = on ? &from->item[nest->scroll.item] : NULL;
    int tensor = -1, site = -1;
    for (int i = p->doc.lines.len - 1; it && it->access && i >= 0; i--) {
        const struct line *l = &p->doc.lines.data[i];
        if (l->stage && !l->loop && streq(l->stage, it->name))
            tensor = i;
        if (l->loop && str_starts(it->access, l->loop))
            site = i;
    }
    if (site >= 0 || tensor >= 0)
        doc_scroll_to(&p->doc, &p->scroll, site >= 0 ? site : tensor, height);
    else if (it && it->access && history_current(m->session->history)->measured)
        say_no_row(m, it);
    m->to_misses = false;
}

/* Scrolls C or machine code to the loop that the cursor of the nest is on or in. Does so only if
 * the loop, the view or the code has changed since the last call, and not when a jump has just come
 * back to the view. */
static void follow_loop(struct model *m, enum view v, int height)
{
    struct pane_doc *p = &m->pane[v];
    const struct stage *s;
    int axis, number, first = -1;
    char now[sizeof m->lit];
    if (model_code(v) < 0 || !model_loop_around(m, &s, &axis, &number))
        return;
    if (model_code_is_current(m, v))
        m->lit_number = number;
    snprintf(now, sizeof now, "%s %s %d %d %u", s->name, s->axis[axis].name, m->lit_number, (int)v,
             m->code[model_code(v)].made);
    if (m->stays)
        strcpy(m->lit, now);
    m->stays = false;
    if (streq(now, m->lit))
        return;
    for (int i = 0; i < p->doc.lines.len && first < 0; i++)
        if (p->doc.lines.data[i].id >= 0 && model_lit(m, v, p->doc.lines.data[i].id))
            first = i;
    if (first >= 0 && (first < p->scroll.top || first >= p->scroll.top + height * 2 / 3)) {
        doc_scroll_to(&p->doc, &p->scroll, first, height);
        p->scroll.top = first > height / 4 ? first - height / 4 : 0;  /* shows the loop body, too */
        doc_scroll_fix(&p->doc, &p->scroll, height);
    }
    if (first >= 0)
        strcpy(m->lit, now);
}

/* Scrolls the view `access` to the stage under the cursor of the nest. Does so only if the stage or
 * the document has changed since the last call. */
static void follow_stage(struct model *m, int height)
{
    struct pane_doc *p = &m->pane[VIEW_ACCESS];
    const struct pane_doc *nest = &m->pane[VIEW_NEST];
    const struct line *l = doc_at(&nest->doc, &nest->scroll);
    char now[sizeof m->lit], head[80];
    if (!l || !l->stage)
        return;
    snprintf(now, sizeof now, "%s %d %u", l->stage, (int)VIEW_ACCESS, p->stamp);
    snprintf(head, sizeof head, "%s  (", l->stage);
    for (int i = 0; i < p->doc.lines.len && !streq(now, m->lit); i++)
        if (str_starts(p->doc.lines.data[i].text, head)) {
            doc_scroll_to(&p->doc, &p->scroll, i, height);
            p->scroll.top = i;
            doc_scroll_fix(&p->doc, &p->scroll, height);
            strcpy(m->lit, now);
        }
}

static void refresh_panes(struct model *m)
{
    static view_build *const build[VIEW_COUNT] = {
#define VIEW(id, name, tab, context, moves, rebuilt, build, hint) build,
#include "app/model/view.def"
    };
    const struct frame *f = &m->frame;
    unsigned both = m->stamp + m->data_stamp;
    if (model_shows_network(m)) {
        refresh(m, DOC_NETWORK, f->pane[PANE_LEDGER], view_network_build, both);
        unsigned at = (unsigned)model_kernel(m) + 2;
        refresh(m, DOC_DETAIL, f->pane[PANE_MAIN], view_kernel_build, both * 10007 + at);
        return;
    }
    if (!m->session) {
        refresh(m, DOC_START, f->pane[PANE_LEDGER], view_start_build, both);
        unsigned at = (unsigned)m->pane[DOC_START].scroll.cursor + 1;
        refresh(m, DOC_DETAIL, f->pane[PANE_MAIN], view_detail_build, both * 1000 + at);
        return;
    }
    refresh(m, DOC_LEDGER, f->pane[PANE_LEDGER], view_ledger_build, both);
    for (int p = PANE_MAIN; p <= PANE_SIDE; p++) {
        enum view v = m->view[p];
        unsigned stamp = model_view[v].rebuilt == REBUILT_STATE ? m->stamp : both;
        if (v == VIEW_TUNE)
            stamp = stamp * 10007 + (unsigned)model_tune_selected(m) + 2;
        else if (v == VIEW_COMPARE)       /* its text depends on the screen's width */
            stamp = stamp * 10007 + (unsigned)m->w;
        refresh(m, (enum doc_id)v, f->pane[p], build[v], stamp);
        if (f->pane[p].h > 0)
            follow_loop(m, v, f->pane[p].h - 1);
        if (f->pane[p].h > 0 && v == VIEW_ACCESS)
            follow_stage(m, f->pane[p].h - 1);
        if (f->pane[p].h > 0 && v == VIEW_ASM)
            follow_heat(m, f->pane[p].h - 1);
        if (f->pane[p].h > 0 && v == VIEW_PROFILE && m->to_misses)
            follow_misses(m, f->pane[p].h - 1);
    }
}

void screen_refresh(struct model *m)
{
    model_tour_update(m);
    lay_out(m, &m->frame);
    if (m->frame.too_small)
        return;
    refresh_panes(m);
    if (model_wake(m)) {
        screen_refresh(m);
        return;
    }
    model_preview_update(m);
    if (view_preview_pane(m) >= 0)
        refresh(m, DOC_PREVIEW, m->frame.pane[view_preview_pane(m)], view_preview_build,
                m->preview.version * 10007 + m->data_stamp);
    struct rect inside = m->frame.overlay;
    inside.h--;
    if (m->overlay == OVERLAY_HELP)
        refresh(m, DOC_HELP, inside, view_help_build, m->stamp + m->data_stamp);
    if (m->overlay == OVERLAY_BRANCHES)
        refresh(m, DOC_BRANCHES, inside, view_branches_build, m->stamp + m->data_stamp);
}

/* --- Events ----------------------------------------------------------------------------------- */

static void dump(struct model *m)
{
    struct grid g;
    struct str text = {0}, path = m->out.dump, line = {0};
    m->out.dump = (struct str){0};
    grid_open(&g, m->w, m->h, m->unicode);
    screen_draw(m, &g);
    if (str_ends(str_text(&path), ".svg"))
        grid_svg(&g, &text);
    else
        grid_dump(&g, &text);
    if (!model_write(m, str_text(&path), m->out.dump_seen, &text, "screen")) {
        str_printf(&line, "dump %s", str_text(&path));
        model_prompt_again(m, str_text(&line));
    }
    grid_close(&g);
    str_free(&text);
    str_free(&path);
    str_free(&line);
}

/* Whether a key with Alt is in fact Esc and then the key, typed fast. Only the prompt has keys with
 * Alt. Even there, Alt-: is Esc and `:`, and Alt-/ is Esc and `/`, which begin another line. */
static bool is_fast_esc(const struct model *m, int key)
{
    return key & K_ALT && (!m->prompt.open || key == (K_ALT | ':') || key == (K_ALT | '/'));
}

void screen_key(struct model *m, int key)
{
    screen_refresh(m);
    if (is_fast_esc(m, key)) {
        screen_key(m, K_ESC);
        key &= ~K_ALT;
    }
    if (m->overlay == OVERLAY_HELP && !m->prompt.open)
        view_help_key(m, key);
    else
        model_key(m, key);
    screen_refresh(m);
    if (m->out.dump.len > 0) {
        dump(m);
        screen_refresh(m);
    }
}

void screen_paste(struct model *m, const char *text)
{
    model_paste(m, text);
    screen_refresh(m);
}

static struct pane_doc *pane_under(struct model *m, int x, int y, struct rect *r)
{
    if (m->overlay != OVERLAY_NONE) {
        *r = m->frame.overlay;
        return grid_rect_has(*r, x, y) ? model_focused(m) : NULL;
    }
    for (int i = 0; i < PANE_COUNT; i++) {
        *r = m->frame.pane[i];
        if (r->h == 0 || !grid_rect_has(*r, x, y))
            continue;
        if (!m->session)
            return i == PANE_LEDGER ? model_focused(m) : NULL;
        m->focus = (enum pane)i;
        m->last_view = i == PANE_LEDGER ? m->last_view : (enum pane)i;
        return model_focused(m);
    }
    return NULL;
}

void screen_mouse(struct model *m, const struct mouse_event *e)
{
    if (m->prompt.open || m->overlay == OVERLAY_ASK)
        return;
    screen_refresh(m);
    for (int i = 0; e->press && i < m->hits.len; i++)
        if (grid_rect_has(m->hits.data[i].r, e->x, e->y)) {
            screen_key(m, m->hits.data[i].key);
            return;
        }
    struct rect r;
    struct pane_doc *p = pane_under(m, e->x, e->y, &r);
    if (!p)
        return;
    int row = e->y - r.y - 1, line = row >= 0 ? doc_row(&p->doc, &p->scroll, row, p->height) : -1;
    if (e->wheel) {
        doc_scroll_by(&p->doc, &p->scroll, 3 * e->wheel, p->height);
    } else if (line >= 0 && line < p->doc.lines.len) {
        doc_scroll_to(&p->doc, &p->scroll, line, p->height);
        doc_select_at(&p->doc, &p->scroll, e->x - r.x - 1 + p->scroll.left, 1);
    }
    if (e->double_click && line >= 0 && line < p->doc.lines.len)
        screen_key(m, K_ENTER);
    screen_refresh(m);
}
