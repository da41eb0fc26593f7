#include "app/ui/prompt.h"

#include <stdio.h>
#include <string.h>
#include "app/ui/key.h"
#include "app/ui/text.h"

#define HISTORY_MAX 200

void prompt_init(struct prompt *p, prompt_complete *complete, void *ctx)
{
    memset(p, 0, sizeof *p);
    p->arena = arena_new();
    p->complete = complete;
    p->ctx = ctx;
    p->picked = -1;
}

void prompt_free(struct prompt *p)
{
    for (int i = 0; i < p->history.len; i++)
        free(p->history.data[i]);
    vec_free(&p->history);
    str_free(&p->fresh);
    str_free(&p->line);
    str_free(&p->typed);
    str_free(&p->tail);
    str_free(&p->kept);
    arena_free(p->arena);
    memset(p, 0, sizeof *p);
}

static void drop_words(struct prompt *p)
{
    p->words = (struct completions){0};
    p->picked = -1;
    arena_reset(p->arena);
}

static void set_line(struct prompt *p, const char *text)
{
    str_clear(&p->line);
    str_add(&p->line, text);
    p->at = p->line.len;
}

void prompt_open(struct prompt *p, char mark, const char *text)
{
    p->open = true;
    p->mark = mark;
    p->refused = false;
    p->selected = false;
    str_clear(&p->kept);
    set_line(p, text);
    p->wrong = p->at;
    p->history_at = p->history.len;
    drop_words(p);
}

void prompt_keep(struct prompt *p, const char *text, size_t less)
{
    str_clear(&p->kept);
    str_add(&p->kept, text);
    p->kept_less = less;
}

void prompt_refuse(struct prompt *p, int col)
{
    const char *line = str_text(&p->line);
    p->refused = true;
    if (col < 1 || (size_t)col > p->line.len)
        return;
    size_t from = (size_t)col - 1, to = from;
    bool quoted = line[from] == '"';
    to += quoted ? 1 + strcspn(line + from + 1, "\"") : strcspn(line + from, " \"");
    p->at = to + (quoted && line[to] == '"');
    p->wrong = from;
}

void prompt_close(struct prompt *p)
{
    p->open = false;
    drop_words(p);
}

void prompt_remember(struct prompt *p, const char *line)
{
    if (line[0] == 0)
        return;
    int old = 0, n = p->history.len;
    while (old < n && !streq(p->history.data[old], line))
        old++;
    if (old == n && n >= HISTORY_MAX)
        old = 0;
    if (old < n) {
        free(p->history.data[old]);
        memmove(&p->history.data[old], &p->history.data[old + 1],
                (size_t)(n - old - 1) * sizeof *p->history.data);
        p->history.len--;
    }
    vec_push(&p->history, xstrdup(line));
    str_printf(&p->fresh, "%s\n", line);
    p->history_at = p->history.len;
}

/* Replaces the bytes [from, to) of the line by n bytes of text, and puts the cursor after the n
 * bytes. */
static void splice(struct prompt *p, size_t from, size_t to, const char *text, size_t n)
{
    struct str behind = {0};
    str_add(&behind, str_text(&p->line) + to);
    p->line.len = from;
    str_add_n(&p->line, text, n);
    p->at = p->line.len;
    str_add(&p->line, str_text(&behind));
    str_free(&behind);
    if (p->line.data)
        p->line.data[p->line.len] = 0;
}

static bool keeps_quote(const struct prompt *p)
{
    return p->kept.len > 0 && p->kept.data[p->kept.len - 1] == '"';
}

/* Whether the text begins with a word and the blank behind it. */
static bool is_typed(const char *text, const char *word)
{
    return str_begins(text, word) && text[strlen(word)] == ' ';
}

/* Returns how many bytes of p->kept, the beginning of a step, remain when a whole line is typed
 * behind it: none before `edit 2 ` or `insert 2 `; what is before the step when the text begins a
 * step with its group; also the group when it begins with a name of this group, as `reorder `
 * behind `loop reorder C `.  SIZE_MAX: the text begins no line, or p->kept no step. */
static size_t kept_before(const struct prompt *p, const char *text)
{
    const char *step = str_text(&p->kept) + p->kept_less;
    size_t keep = SIZE_MAX;
    bool in_step = false;
    int n = 0;
    if (sscanf(text, "edit %*d %n", &n) == 0 && n == 0)
        sscanf(text, "insert %*d %n", &n);
    for (int k = 0; k < STEP_KIND_COUNT; k++) {
        const struct step_info *of = step_info((enum step_kind)k);
        bool here = str_begins(step, of->room);
        in_step = in_step || here;
        if (here && is_typed(text, of->verb) && keep == SIZE_MAX)
            keep = p->kept_less + strlen(of->room) + 1;
        if (of->verb[0] && is_typed(text, of->room))
            keep = p->kept_less;
    }
    return !in_step ? SIZE_MAX : n > 0 && text[n - 1] == ' ' ? 0 : keep;
}

/* If the typed text begins a whole line behind the beginning of a step, such as `edit 3 layout set
 * C "` or `loop reorder C `, removes that beginning, with its closing quote, as C-u does. */
static void take_whole_line(struct prompt *p)
{
    const char *line = str_text(&p->line);
    if (p->kept.len == 0 || !str_starts(line, str_text(&p->kept)))
        return;
    size_t from = p->kept.len + strspn(line + p->kept.len, " :");
    size_t to = p->at < from ? SIZE_MAX : kept_before(p, line + from);
    if (to == SIZE_MAX)
        return;
    int quotes = 0;
    for (const char *c = line + from; *c; c++)
        quotes += *c == '"';
    size_t at = p->at - (from - to);
    bool closing = keeps_quote(p) && quotes % 2 == 1;
    splice(p, to, from, "", 0);
    if (closing && str_ends(str_text(&p->line), "\""))
        splice(p, p->line.len - 1, p->line.len, "", 0);
    p->at = at < p->line.len ? at : p->line.len;
    p->kept.len = to < p->kept_less ? to : p->kept_less;
    p->kept.data[p->kept.len] = 0;
    p->kept_less = 0;
}

void prompt_insert(struct prompt *p, const char *text)
{
    struct str flat = {0};
    drop_words(p);
    p->refused = false;
    if (p->selected)
        set_line(p, "");
    p->selected = false;
    for (const char *s = text; *s; s++)
        str_add_char(&flat, (unsigned char)*s < ' ' || *s == 127 ? ' ' : *s);
    splice(p, p->at, p->at, str_text(&flat), flat.len);
    take_whole_line(p);
    str_free(&flat);
}

static size_t char_before(const struct prompt *p)
{
    size_t i = p->at;
    while (i > 0 && (str_text(&p->line)[--i] & 0xC0) == 0x80)
        ;
    return i;
}

static size_t char_after(const struct prompt *p)
{
    const char *s = str_text(&p->line) + p->at, *next = s;
    utf8_next(&next);
    return p->at + (size_t)(next - s);
}

static size_t word_before(const struct prompt *p)
{
    const char *s = str_text(&p->line);
    size_t i = p->at;
    while (i > 0 && s[i - 1] == ' ')
        i--;
    size_t end = i;
    while (i > 0 && s[i - 1] != ' ' && (s[i - 1] != '"' || i == end))
        i--;
    return i;
}

static size_t word_after(const struct prompt *p)
{
    const char *s = str_text(&p->line);
    size_t i = p->at;
    i += strspn(s + i, " ");
    return i + strcspn(s + i, " ");
}

static const char *searched(const char *line)
{
    return line[0] == '/' ? line + 1 : NULL;
}

const char *prompt_last_search(const struct prompt *p)
{
    for (int i = p->history.len - 1; i >= 0; i--)
        if (searched(p->history.data[i]))
            return searched(p->history.data[i]);
    return "";
}

/* Line i of the history is a search or a command. Returns the line if the prompt is for lines of
 * the same kind, and if the line begins with the typed text; else NULL. A search is returned
 * without its '/'. */
static const char *line_like(const struct prompt *p, int i)
{
    const char *line = p->history.data[i], *search = searched(line);
    if ((p->mark == '/') != (search != NULL))
        return NULL;
    line = search ? search : line;
    return str_starts(line, str_text(&p->typed)) ? line : NULL;
}

/* Shows the next older (dir -1) or newer (dir 1) line of the history that begins with the typed
 * text; after the newest line, the typed text again. */
static void walk_history(struct prompt *p, int dir)
{
    if (p->history_at == p->history.len) {
        str_clear(&p->typed);
        str_add(&p->typed, str_text(&p->line));
    }
    int i = p->history_at + dir;
    while (i >= 0 && i < p->history.len && !line_like(p, i))
        i += dir;
    if (i < 0)
        return;
    p->history_at = i < p->history.len ? i : p->history.len;
    set_line(p, i < p->history.len ? line_like(p, i) : str_text(&p->typed));
}

static size_t common_prefix(const struct completions *c)
{
    size_t n = strlen(c->item[0].word);
    for (int i = 1; i < c->n; i++) {
        size_t k = 0;
        while (k < n && c->item[i].word[k] == c->item[0].word[k])
            k++;
        n = k;
    }
    return n;
}

static void put_word(struct prompt *p, const char *word, size_t n, bool finished)
{
    struct str w = {0};
    str_add_n(&w, word, n);
    bool opens = n > 0 && (word[n - 1] == '=' || word[n - 1] == '/');
    if (finished && !opens && str_text(&p->tail)[0] != ' ')
        str_add_char(&w, ' ');
    size_t from = (size_t)p->words.replace_from;
    from = from < p->line.len ? from : p->line.len;
    splice(p, from, p->at, str_text(&w), w.len);
    str_free(&w);
}

static void start_completion(struct prompt *p)
{
    drop_words(p);
    str_clear(&p->tail);
    str_add(&p->tail, str_text(&p->line) + p->at);
    char *head = arena_strndup(p->arena, str_text(&p->line), p->at);
    p->complete(p->ctx, p->arena, head, &p->words);
    if (p->words.n == 0)
        return;
    size_t typed = p->at - (size_t)p->words.replace_from, common = common_prefix(&p->words);
    if (p->words.n == 1) {
        put_word(p, p->words.item[0].word, common, true);
        drop_words(p);
    } else if (common > typed) {
        put_word(p, p->words.item[0].word, common, false);
    }
}

/* Handles Tab. The first Tab inserts the common prefix of the completions and lists them; a single
 * completion is not listed. Each further Tab inserts the next completion, or with dir -1 the one
 * before. */
static void complete(struct prompt *p, int dir)
{
    if (!p->complete)
        return;
    if (p->words.n == 0) {
        start_completion(p);
        return;
    }
    int n = p->words.n;
    p->picked = p->picked < 0 ? (dir > 0 ? 0 : n - 1) : (p->picked + dir + n) % n;
    put_word(p, p->words.item[p->picked].word, strlen(p->words.item[p->picked].word), false);
}

static bool move_cursor(struct prompt *p, int key)
{
    switch (key) {
    case K_LEFT: case K_CTRL('b'): p->at = char_before(p); return true;
    case K_RIGHT: case K_CTRL('f'): p->at = char_after(p); return true;
    case K_HOME: case K_CTRL('a'): p->at = 0; return true;
    case K_END: case K_CTRL('e'): p->at = p->line.len; return true;
    case K_WORD_LEFT: case K_ALT | 'b': p->at = word_before(p); return true;
    case K_WORD_RIGHT: case K_ALT | 'f': p->at = word_after(p); return true;
    default: return false;
    }
}

/* Handles C-u. Sets the line to `kept`; if the line is `kept` already, first shortens `kept` to its
 * first kept_less bytes. If `kept` ends with a quote, adds the closing quote behind the cursor. */
static void clear_line(struct prompt *p)
{
    if (p->line.len == p->kept.len + keeps_quote(p)
        && str_starts(str_text(&p->line), str_text(&p->kept)) && p->kept.len > 0) {
        p->kept.len = p->kept_less;
        p->kept.data[p->kept.len] = 0;
        p->kept_less = 0;
    }
    set_line(p, str_text(&p->kept));
    if (keeps_quote(p))
        str_add_char(&p->line, '"');
}

static bool erase(struct prompt *p, int key)
{
    switch (key) {
    case K_BACKSPACE: case K_CTRL('h'): splice(p, char_before(p), p->at, "", 0); return true;
    case K_DEL: case K_CTRL('d'): splice(p, p->at, char_after(p), "", 0); return true;
    case K_CTRL('w'): case K_ALT | K_BACKSPACE:
        splice(p, word_before(p), p->at, "", 0);
        return true;
    case K_ALT | 'd': splice(p, p->at, word_after(p), "", 0); return true;
    case K_CTRL('u'): clear_line(p); return true;
    case K_CTRL('k'): splice(p, p->at, p->line.len, "", 0); return true;
    default: return false;
    }
}

static bool is_history_key(int key)
{
    return key == K_UP || key == K_DOWN || key == K_CTRL('p') || key == K_CTRL('n');
}

/* Whether the cursor is before the quote that ends a quoted word. A typed quote then moves the
 * cursor behind that quote, as in editors. In an empty word the cursor stays, because the user
 * means to begin the word. */
static bool closes_quote(const struct prompt *p)
{
    const char *line = str_text(&p->line);
    int before = 0;
    for (size_t i = 0; i < p->at; i++)
        before += line[i] == '"';
    return line[p->at] == '"' && before % 2 == 1;
}

enum prompt_event prompt_key(struct prompt *p, int key)
{
    bool replaces = p->selected;
    p->selected = false;
    bool down = key == K_DOWN || key == K_CTRL('n');
    if (key == K_TAB || key == K_BACKTAB || (p->words.n > 0 && is_history_key(key))) {
        p->refused = false;
        complete(p, key == K_TAB || down ? 1 : -1);
        return PROMPT_EDITED;
    }
    bool listed = p->words.n > 0, anew = p->refused && key == ':';
    drop_words(p);
    p->refused = false;
    if (anew) {
        str_clear(&p->kept);
        set_line(p, "");
        return PROMPT_EDITED;
    }
    if (key == K_ENTER || key == K_CTRL('j'))
        return PROMPT_ENTERED;
    if (key == K_ESC && listed)
        return PROMPT_NOTHING;
    if (key == K_ESC || key == K_CTRL('c') || key == K_CTRL('g'))
        return PROMPT_LEFT;
    if (p->mark == PROMPT_SAVE && is_history_key(key))
        return PROMPT_NOTHING;
    if (is_history_key(key)) {
        walk_history(p, down ? 1 : -1);
        return PROMPT_EDITED;
    }
    if (move_cursor(p, key))
        return PROMPT_NOTHING;
    if (erase(p, key))
        return PROMPT_EDITED;
    if (key < ' ' || key >= K_UP)
        return PROMPT_NOTHING;
    char utf8[5];
    if (replaces)
        set_line(p, "");
    if (key == '"' && closes_quote(p)) {
        p->at += str_text(&p->line)[p->at - 1] != '"';
        return PROMPT_EDITED;
    }
    splice(p, p->at, p->at, utf8, (size_t)text_utf8_put(utf8, (uint32_t)key));
    take_whole_line(p);
    return PROMPT_EDITED;
}

void prompt_draw(const struct prompt *p, struct grid *g, struct rect r)
{
    const char *line = str_text(&p->line);
    char mark[] = {p->mark, 0};
    const char *label = p->mark == PROMPT_SAVE ? "save as: " : mark;
    int before = text_width(label), cursor = text_width_n(line, p->at);
    int room = r.w - 1 - before > 1 ? r.w - 1 - before : 1;
    int from = cursor > room ? cursor - room : 0;
    struct rect old = grid_clip(g, r);
    grid_text(g, r.x - from + before, r.y, STYLE_PLAIN | (p->selected ? STYLE_REVERSE : 0), line);
    if (p->refused && p->wrong < p->at) {
        struct str word = {0};
        str_add_n(&word, line + p->wrong, p->at - p->wrong);
        grid_text(g, r.x - from + before + text_width_n(line, p->wrong), r.y, STYLE_BAD,
                  str_text(&word));
        str_free(&word);
    }
    grid_text(g, r.x, r.y, STYLE_KEY, label);
    grid_unclip(g, old);
    g->cursor_x = r.x + before + cursor - from;
    g->cursor_y = r.y;
}

int prompt_list_rows(const struct prompt *p, int max)
{
    return p->words.n < max ? p->words.n : max;
}

void prompt_draw_list(const struct prompt *p, struct grid *g, struct rect r)
{
    int widest = 0, shown = r.h;
    for (int i = 0; i < p->words.n; i++)
        if (text_width(p->words.item[i].word) > widest)
            widest = text_width(p->words.item[i].word);
    if (widest > r.w / 2)
        widest = r.w / 2;
    int top = p->picked >= shown ? p->picked - shown + 1 : 0;
    bool more = p->words.n > shown;
    struct rect old = grid_clip(g, r);
    for (int row = 0; row < shown && top + row < p->words.n; row++) {
        const struct completion *c = &p->words.item[top + row];
        int y = r.y + row;
        unsigned mark = top + row == p->picked ? STYLE_REVERSE : 0;
        grid_fill(g, (struct rect){r.x, y, r.w, 1}, STYLE_PLAIN | mark, ' ');
        grid_fit(g, r.x + 1, y, widest, STYLE_KEY | mark, c->word);
        const char *help = c->help ? c->help : "";
        grid_fit(g, r.x + widest + 3, y, r.w - widest - 4, STYLE_DIM | mark, help);
        if (more && row == shown - 1 && top + row + 1 < p->words.n)
            grid_text(g, r.x + r.w - 2, y, STYLE_DIM | mark, "…");
    }
    grid_unclip(g, old);
}
