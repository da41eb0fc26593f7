#include "app/ui/doc.h"

#include <string.h>
#include "app/ui/text.h"

#define LEAST_TAIL 12                     /* least columns of text in a row that continues a line */

void doc_open(struct doc *d)
{
    memset(d, 0, sizeof *d);
    d->arena = arena_new();
}

void doc_close(struct doc *d)
{
    arena_free(d->arena);
    vec_free(&d->lines);
    str_free(&d->text);
    str_free(&d->style);
    memset(d, 0, sizeof *d);
}

void doc_clear(struct doc *d)
{
    arena_reset(d->arena);
    vec_clear(&d->lines);
    d->head = 0;
    str_clear(&d->text);
    str_clear(&d->style);
}

/* Gives style s to the text that was added to the open line since the last call. */
static void paint(struct doc *d, enum style s)
{
    str_repeat(&d->style, (char)s, (int)(d->text.len - d->style.len));
}

void doc_put(struct doc *d, enum style s, const char *text)
{
    str_add(&d->text, text);
    paint(d, s);
}

void doc_printf(struct doc *d, enum style s, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    str_vprintf(&d->text, fmt, ap);
    va_end(ap);
    paint(d, s);
}

void doc_ms(struct doc *d, enum style s, double ms)
{
    text_ms(&d->text, ms);
    paint(d, s);
}

void doc_bar(struct doc *d, enum style s, double fraction, int width)
{
    text_bar(&d->text, fraction, width);
    paint(d, s);
}

void doc_fit(struct doc *d, enum style s, const char *text, int width)
{
    text_fit(&d->text, text, width);
    d->cut = d->cut || text_width(text) > width;
    paint(d, s);
}

void doc_right(struct doc *d, enum style s, struct str *text, int width)
{
    if (width > 0)
        text_right(&d->text, str_text(text), width);
    paint(d, s);
    str_free(text);
}

int doc_col(const struct doc *d)
{
    return text_width(str_text(&d->text));
}

void doc_pad(struct doc *d, int col)
{
    str_repeat(&d->text, ' ', col > doc_col(d) ? col - doc_col(d) : 0);
    paint(d, STYLE_PLAIN);
}

struct line *doc_end(struct doc *d)
{
    struct line l = {.id = -1, .cut = d->cut};
    l.text = arena_strndup(d->arena, str_text(&d->text), d->text.len);
    l.style = arena_copy(d->arena, str_text(&d->style), d->style.len + 1);
    vec_push(&d->lines, l);
    str_clear(&d->text);
    str_clear(&d->style);
    d->cut = false;
    return &d->lines.data[d->lines.len - 1];
}

struct line *doc_line(struct doc *d, enum style s, const char *text)
{
    doc_put(d, s, text);
    return doc_end(d);
}

void doc_wrap(struct doc *d, enum style s, const char *text, int width, int hang)
{
    if (!*text && d->text.len > 0)
        doc_end(d);
    for (const char *p = text; *p;) {
        size_t n = text_break(p, width - doc_col(d));
        doc_printf(d, s, "%.*s", (int)n, p);
        doc_end(d);
        p += n;
        while (*p == ' ')
            p++;
        if (*p)
            doc_pad(d, hang);
    }
}

static void expand_tabs(struct str *out, const char *text)
{
    for (const char *p = text; *p && *p != '\n'; p++) {
        if (*p == '\t')
            str_repeat(out, ' ', 8 - (int)(out->len % 8));
        else if (*p != '\r')
            str_add_char(out, *p);
    }
}

static void put_styled(struct doc *d, const char *text, const unsigned char *style, size_t n)
{
    str_add_n(&d->text, text, n);
    str_add_n(&d->style, (const char *)style, n);
}

/* Returns how many bytes of code fit into `width` columns. Does not break the code inside of its
 * indentation, and inside of a name only if there is no better place. */
static size_t code_break(const char *p, int width)
{
    size_t indent = strspn(p, " "), n = text_break(p, width);
    if (n <= indent && p[n])
        n = indent + text_break(p + indent, width - (int)indent);
    size_t k = n;
    while (p[n] && k > indent + (n - indent) / 2 && str_name_char(p[k - 1]) && str_name_char(p[k]))
        k--;
    return k > indent + (n - indent) / 2 ? k : n;
}

int doc_code(struct doc *d, const char *text, doc_colour *colour, int *state, int width)
{
    struct str row = {0};
    int first = d->lines.len;
    expand_tabs(&row, text);
    const char *p = str_text(&row);
    unsigned char *style = xcalloc(row.len + 1, 1);
    if (colour)
        colour(p, style, state);
    int hang = (int)strspn(p, " ") + 4;
    if (width > 0 && hang > width - LEAST_TAIL)
        hang = hang - 4 <= width - LEAST_TAIL ? hang - 4 : width / 2;
    size_t at = 0;
    for (int indent = 0; at < row.len || d->lines.len == first; indent = hang) {
        size_t n = width > 0 ? code_break(p + at, width - indent) : row.len;
        str_repeat(&d->text, ' ', indent);
        str_repeat(&d->style, STYLE_PLAIN, indent);
        put_styled(d, p + at, style + at, n);
        doc_end(d)->more = at > 0;
        at += n;
        while (at > 0 && at < row.len && p[at] == ' ')
            at++;
    }
    free(style);
    str_free(&row);
    return first;
}

void doc_source(struct doc *d, const char *text, doc_colour *colour, int width)
{
    struct str line = {0};
    int state = 0;
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, "\n");
        str_clear(&line);
        str_add_n(&line, p, n);
        doc_code(d, str_text(&line), colour, &state, width);
        p += n + (p[n] == '\n');
    }
    str_free(&line);
}

const struct line *doc_at(const struct doc *d, const struct scroll *s)
{
    return s->cursor >= 0 && s->cursor < d->lines.len ? &d->lines.data[s->cursor] : NULL;
}

/* Returns the first row of the line that row i belongs to. */
static int first_row(const struct doc *d, int i)
{
    while (i > 0 && i < d->lines.len && d->lines.data[i].more)
        i--;
    return i;
}

/* Searches for a line on which the cursor may rest: the first row of an object, from line `from` in
 * direction dir, then in the other direction.  Returns the first such line; if there is none,
 * `from`. */
static int resting_line(const struct doc *d, int from, int dir)
{
    if (!d->is_list)
        return from;
    from = first_row(d, from);
    for (int turn = 0; turn < 2; turn++, dir = -dir)
        for (int i = from; i >= 0 && i < d->lines.len; i += dir)
            if (d->lines.data[i].id >= 0 && !d->lines.data[i].more)
                return i;
    return from;
}

static int clamp(int v, int lo, int hi)
{
    return v > hi ? (hi > lo ? hi : lo) : v < lo ? lo : v;
}

/* Returns the number of rows that do not scroll; 0 if less than two rows would remain for
 * scrolling. */
static int head_rows(const struct doc *d, int h)
{
    return d->head + 2 <= h ? d->head : 0;
}

int doc_row(const struct doc *d, const struct scroll *s, int row, int h)
{
    return row < head_rows(d, h) ? row : s->top + row;
}

/* Scrolls so that the cursor is visible. In a list with the cursor on the first entry, also shows
 * the lines above this entry, if they fit. In a list with the cursor on the last entry, also shows
 * the lines below that entry, if they fit. */
static void show_cursor(const struct doc *d, struct scroll *s, int h)
{
    int last_top = d->lines.len > h ? d->lines.len - h : 0;
    if (s->cursor < s->top + head_rows(d, h))
        s->top = s->cursor - head_rows(d, h);
    int end = s->cursor + 1;              /* one past the last row of the cursor's line */
    while (end < d->lines.len && d->lines.data[end].more && end - s->cursor < h)
        end++;
    if (end > s->top + h)
        s->top = end - h;
    if (d->is_list && s->cursor < h && resting_line(d, 0, 1) == s->cursor)
        s->top = 0;
    int below = d->lines.len - s->cursor;
    if (d->is_list && below <= h - head_rows(d, h)
        && resting_line(d, d->lines.len - 1, -1) == s->cursor)
        s->top = last_top;
    s->top = clamp(s->top, 0, last_top);
    const struct line *l = doc_at(d, s);
    s->item = l && l->n_items > 0 ? clamp(s->item, 0, l->n_items - 1) : s->item;
}

/* Sets the first row and the cursor of a pager; clamps both to the document. */
static void page_to(const struct doc *d, struct scroll *s, int top, int cursor, int h)
{
    s->top = clamp(top, 0, d->lines.len > h ? d->lines.len - h : 0);
    s->cursor = clamp(cursor, 0, d->lines.len - 1);
}

int doc_block_end(const struct doc *d, int i)
{
    const struct line *l = d->lines.data;
    int end = i + 1;
    size_t indent = strspn(l[first_row(d, i)].text, " ");
    while (end < d->lines.len && strspn(l[end].text, " ") > indent)
        end++;
    return end;
}

void doc_scroll_fix(const struct doc *d, struct scroll *s, int h)
{
    if (d->is_pager) {
        page_to(d, s, s->top, s->cursor, h);
        return;
    }
    s->cursor = resting_line(d, clamp(s->cursor, 0, d->lines.len - 1), 1);
    show_cursor(d, s, h > 0 ? h : 1);
}

void doc_scroll_to(const struct doc *d, struct scroll *s, int line, int h)
{
    int dir = line >= s->cursor ? 1 : -1;
    if (d->is_pager) {
        bool visible = line >= s->top && line < s->top + h;
        page_to(d, s, visible ? s->top : line - h / 3, line, h);
        return;
    }
    if (line != s->cursor)
        s->item = 0;
    s->cursor = resting_line(d, clamp(line, 0, d->lines.len - 1), dir);
    show_cursor(d, s, h > 0 ? h : 1);
}

/* Returns the row at which the cursor stops after a move to row `at`. If that row continues a line,
 * the cursor goes on: upwards (dir -1) to the first row of that line, downwards to the next line.
 * If there is no next line, the cursor stops at the first row of the last line. */
static int whole_line(const struct doc *d, int at, int dir)
{
    int i = clamp(at, 0, d->lines.len - 1);
    while (i >= 0 && i < d->lines.len && d->lines.data[i].more)
        i += dir;
    if (i >= d->lines.len)
        i = first_row(d, d->lines.len - 1);
    return i >= 0 ? i : at;
}

void doc_scroll_by(const struct doc *d, struct scroll *s, int delta, int h)
{
    if (d->is_pager)
        page_to(d, s, s->top + delta, s->top + delta, h);
    else
        doc_scroll_to(d, s, whole_line(d, s->cursor + delta, delta < 0 ? -1 : 1), h);
}

void doc_page_by(const struct doc *d, struct scroll *s, int delta, int h)
{
    if (!d->is_pager)
        s->top = clamp(s->top + delta, 0, d->lines.len > h ? d->lines.len - h : 0);
    doc_scroll_by(d, s, delta, h);
}

void doc_scroll_item(const struct doc *d, struct scroll *s, int delta, int h)
{
    const struct line *l = doc_at(d, s);
    if (l && s->item + delta >= 0 && s->item + delta < l->n_items) {
        s->item += delta;
        return;
    }
    for (int i = s->cursor + delta; i >= 0 && i < d->lines.len; i += delta) {
        int n = d->lines.data[i].n_items;
        if (n > 0) {
            doc_scroll_to(d, s, i, h);
            if (d->lines.data[i].heading)
                s->top = clamp(i, 0, d->lines.len > h ? d->lines.len - h : 0);
            s->item = delta > 0 ? 0 : n - 1;
            return;
        }
    }
}

int doc_find(const struct doc *d, const char *words, int from, int dir)
{
    int n = d->lines.len;
    for (int k = 1; k <= n && words[0]; k++) {
        int i = ((from + dir * k) % n + n) % n;
        if (strcasestr(d->lines.data[i].text, words))
            return i;
    }
    return -1;
}

bool doc_select_at(const struct doc *d, struct scroll *s, int col, int n)
{
    const struct line *l = doc_at(d, s);
    bool found = false;
    for (int i = 0; l && i < l->n_items; i++) {
        const struct doc_item *it = &l->item[i];
        if (it->col >= col + n || col >= it->col + it->len || (found && it->col > col))
            continue;
        s->item = i;
        found = true;
    }
    return found;
}

void doc_scroll_to_found(const struct doc *d, struct scroll *s, int line, const char *words, int h)
{
    doc_scroll_to(d, s, line, h);
    const struct line *l = doc_at(d, s);
    if (!l || s->cursor != line || !words[0])
        return;
    for (const char *p = strcasestr(l->text, words); p; p = strcasestr(p + 1, words))
        if (doc_select_at(d, s, text_width_n(l->text, (size_t)(p - l->text)), text_width(words)))
            return;
}

int doc_find_id(const struct doc *d, int id)
{
    for (int i = 0; i < d->lines.len; i++)
        if (d->lines.data[i].id == id)
            return i;
    return -1;
}

static void mark_matches(struct grid *g, const struct line *l, const char *words, int x, int y)
{
    for (const char *p = strcasestr(l->text, words); p; p = strcasestr(p + 1, words)) {
        int col = text_width_n(l->text, (size_t)(p - l->text));
        struct rect r = {x + col, y, text_width_n(p, strlen(words)), 1};
        grid_restyle(g, r, STYLE_MATCH, 0x7F);
    }
}

static void mark_word(struct grid *g, const struct line *l, const char *word, const char *tail,
                      int x, int y)
{
    size_t n;
    for (const char *p = l->text; (p = str_find_name(p, word, tail, &n)); p += n) {
        int col = text_width_n(l->text, (size_t)(p - l->text));
        grid_restyle(g, (struct rect){x + col, y, (int)n, 1}, STYLE_KEY, 0x7F);
    }
}

/* Marks a line except for its indentation. */
static void mark_line(struct grid *g, const struct line *l, int x, int y)
{
    int indent = (int)strspn(l->text, " ");
    grid_restyle(g, (struct rect){x + indent, y, text_width(l->text) - indent, 1}, STYLE_KEY, 0x7F);
}

/* Draws a line into r, without its first `left` columns. */
static void draw_columns(const struct line *l, int left, struct grid *g, struct rect r,
                         struct doc_look look)
{
    int x = r.x - left, y = r.y, i = 0;
    struct rect old = grid_clip(g, r);
    for (const char *p = l->text; *p;) {
        unsigned style = l->style[i];
        const char *start = p;
        uint32_t ch = utf8_next(&p);
        grid_char(g, x, y, style, ch);
        x += text_char_width(ch);
        i += (int)(p - start);
    }
    bool same_stage = !look.stage || (l->stage && streq(l->stage, look.stage));
    if (look.word && same_stage)
        mark_word(g, l, look.word, "", r.x - left, y);
    if (look.marked && l->id >= 0 && look.marked(look.ctx, l->id))
        mark_line(g, l, r.x - left, y);
    if (look.local)
        mark_word(g, l, look.local, "0123456789_", r.x - left, y);
    if (look.search && look.search[0])
        mark_matches(g, l, look.search, r.x - left, y);
    if (x > r.x + r.w)
        grid_char(g, r.x + r.w - 1, y, STYLE_DIM, 0x2026);
    grid_unclip(g, old);
}

/* Returns the number of columns of a line that are not scrolled sideways in a pane of this
 * width. */
static int staying(const struct line *l, int width)
{
    return l->stays < width / 2 ? l->stays : 0;
}

static void draw_line(const struct line *l, int left, struct grid *g, struct rect r, int y,
                      struct doc_look look)
{
    int stays = left > 0 ? staying(l, r.w) : 0;
    struct rect rest = {r.x + 1 + stays, y, r.w - 1 - stays, 1};
    draw_columns(l, left + stays, g, rest, look);
    if (left > 0 && text_width(l->text) > stays)
        grid_char(g, rest.x, y, STYLE_DIM, 0x2026);
    if (stays > 0) {
        struct rect old = grid_clip(g, (struct rect){r.x + 1, y, stays, 1});
        draw_columns(l, 0, g, (struct rect){r.x + 1, y, r.w - 1, 1}, look);
        grid_unclip(g, old);
    }
}

/* Draws the cursor's mark in the gutter. focused: also draws the selected word in reverse. focused
 * and rows: if the line has an object but no words, draws the whole row in reverse. */
static void draw_cursor(const struct line *l, const struct scroll *s, struct grid *g, struct rect r,
                        int y, bool focused, bool rows)
{
    grid_char(g, r.x, y, focused ? STYLE_TITLE : STYLE_RULE, 0x25B8);
    if (l->n_items > 0) {
        struct doc_item it = l->item[clamp(s->item, 0, l->n_items - 1)];
        struct rect old = grid_clip(g, (struct rect){r.x + 1, y, r.w - 1, 1});
        int left = it.col < staying(l, r.w) ? 0 : s->left;
        struct rect word = {r.x + 1 - left + it.col, y, it.len, 1};
        if (focused)
            grid_restyle(g, word, STYLE_REVERSE, 0);
        grid_unclip(g, old);
    } else if (focused && rows && l->id >= 0) {
        grid_restyle(g, (struct rect){r.x + 1, y, r.w - 1, 1}, STYLE_REVERSE, 0);
    }
}

void doc_draw(const struct doc *d, const struct scroll *s, struct grid *g, struct rect r,
              struct doc_look look)
{
    for (int row = 0; row < r.h; row++) {
        int i = doc_row(d, s, row, r.h), y = r.y + row;
        if (i >= d->lines.len)
            break;
        const struct line *l = &d->lines.data[i];
        bool orphan = l->heading && row > 0 && row == r.h - 1 && i < d->lines.len - 1;
        if (orphan && i != s->cursor)
            break;
        draw_line(l, s->left, g, r, y, look);
        if (look.lit && l->id >= 0 && look.lit(look.ctx, l->id))
            grid_char(g, r.x, y, STYLE_KEY, 0x2503);
        if (i == s->cursor && (!d->is_pager || (look.search && look.search[0])))
            draw_cursor(l, s, g, r, y, look.focused, !d->is_pager);
    }
}
