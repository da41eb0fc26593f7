/* Passes a key to the prompt, the search, a question, or the action that is bound to the key. */
#include "app/model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "app/model/appcmd.h"
#include "kernels/base/file.h"

#define SOURCE_MOST_BYTES 1000000

/* --- Searching -------------------------------------------------------------------------------- */

/* Returns the name of the text that a search looks through. */
static const char *pane_name(const struct model *m)
{
    if (m->overlay == OVERLAY_BRANCHES)
        return "the list of branches";
    if (m->overlay == OVERLAY_HELP)
        return m->topic[0] ? "this page" : "this list";
    if (!m->session)
        return "this list";
    return m->focus == PANE_LEDGER ? "the steps" : "this view";
}

/* Says which of the lines with a match was found, as "line 3 of 7".  wrapped: whether the search
 * has continued from the other end of the text. */
static void say_found(struct model *m, const struct doc *d, int found, bool wrapped)
{
    const char *words = str_text(&m->search);
    int n = 0, number = 0;
    for (int at = doc_find(d, words, -1, 1), before = -1; at > before;
         before = at, at = doc_find(d, words, at, 1)) {
        n++;
        number += at <= found;
    }
    model_info(m, "line %d of %d with %s%s", number, n, words,
               wrapped && n > 1 ? ", from the other end" : "");
    m->message.fades = FADE_TICKS;
}

bool model_search(struct model *m, int dir, int from)
{
    struct pane_doc *p = model_focused(m);
    if (m->search.len == 0) {
        model_info(m, "nothing to search for yet: / starts a search");
        return false;
    }
    int found = doc_find(&p->doc, str_text(&m->search), from, dir);
    if (found < 0) {
        struct str text = {0};
        str_printf(&text, "not found in %s", pane_name(m));
        bool pattern = strpbrk(str_text(&m->search), "\\*^$") != NULL;
        model_say_error(m, str_text(&text), !pattern ? "/ searches for something else"
                        : "/ searches for a text as it is typed: \\ * ^ $ have no other meaning");
        str_free(&text);
        return false;
    }
    doc_scroll_to_found(&p->doc, &p->scroll, found, str_text(&m->search), p->height);
    m->found = (struct found){ p, found, p->scroll.cursor };
    if (!m->prompt.open)
        say_found(m, &p->doc, found, dir > 0 ? found <= from : found >= from);
    return true;
}

static bool search_typed(struct model *m)
{
    str_clear(&m->search);
    str_add(&m->search, str_text(&m->prompt.line));
    model_clear_message(m);
    return m->search.len == 0 || model_search(m, 1, m->search_from.cursor - 1);
}

/* The key Enter in a search.  On an empty prompt it repeats the last search.  The prompt closes
 * even without a match, so that the next key is an action again; / and Up bring the line back. */
static void enter_search(struct model *m)
{
    if (m->prompt.line.len == 0)
        prompt_insert(&m->prompt, prompt_last_search(&m->prompt));
    struct str line = {0};
    str_printf(&line, "/%s", str_text(&m->prompt.line));
    if (line.len > 1)
        prompt_remember(&m->prompt, str_text(&line));
    str_free(&line);
    bool found = search_typed(m);
    prompt_close(&m->prompt);
    if (found && m->search.len > 0)
        say_found(m, &model_focused(m)->doc, m->found.line, m->found.line < m->search_from.cursor);
}

/* --- The prompt ------------------------------------------------------------------------------- */

/* Returns the line on the prompt, which the caller frees.  Removes trailing blanks, and a colon
 * that was pasted with the line.  A file name on the prompt of "save as" becomes the command w
 * FILE.  If the prompt was opened by a key with the beginning of a line, but a whole line of the
 * same command was typed behind that beginning, or `insert N` behind `edit N`, returns only the
 * typed line.  Behind the beginning of a step, the prompt itself does so. */
static char *entered_line(const struct model *m)
{
    struct str s = {0};
    if (m->prompt.mark == PROMPT_SAVE && m->prompt.line.len > 0)
        str_add(&s, "w ");
    const char *typed = str_text(&m->prompt.line), *kept = str_text(&m->prompt.kept);
    const char *rest = kept[0] && str_starts(typed, kept) ? typed + strlen(kept) : "";
    rest += strspn(rest, " ");
    char command[24];
    bool whole = sscanf(kept, "%23s", command) == 1
              && ((model_step_at(rest) > 0 && model_step_at(kept) > 0)
                  || (str_begins(rest, command) && strchr(rest, ' ')));
    if (whole)                            /* as `edit 2 STEP` behind the "edit 2 " of the key */
        typed = rest;
    str_add(&s, m->prompt.mark == ':' ? typed + strspn(typed, " :") : typed);
    char *line = xstrdup(str_text(&s));
    size_t n = strlen(line);
    while (n > 0 && line[n - 1] == ' ')
        n--;
    line[n] = 0;
    str_free(&s);
    return line;
}

/* Whether the line is the command `w`.  If an action waits for a save and another line is entered,
 * the action is given up. */
static bool is_save(const char *line)
{
    line += strspn(line, " ");
    return str_begins(line, "w");
}

/* Stores the lines that model_run_pasted is to run.  of: the file that has them; "": a paste. */
static void set_pasted(struct model *m, const char *text, size_t n, const char *of)
{
    str_clear(&m->pasted);
    str_add_n(&m->pasted, text, n);
    str_clear(&m->pasted_of);
    str_add(&m->pasted_of, of);
    m->pasted_from = 0;
    m->pasted_line = 0;
}

/* A command that is typed without its colon, such as `set isa avx2`, becomes a file name: s is the
 * key for "save as", and `et isa avx2` is then the name.  If the file name is likely to be such a
 * rest of a command, shows the whole command on the prompt instead of saving, and returns true. */
static bool offer_command(struct model *m)
{
    struct str line = {0};
    str_printf(&line, "s%s", str_text(&m->prompt.line));
    const char *text = str_text(&line);
    bool is = m->prompt.mark == PROMPT_SAVE && strchr(text, ' ') && !str_ends(text, ".yaml")
           && (appcmd_known(text) || str_begins(text, "split"));
    if (is) {
        model_give_up(m);
        prompt_open(&m->prompt, ':', text);
        model_say_error(m, "nothing was saved: that is a command, which begins with :",
                        "Enter runs it; for a file of that name add .yaml");
    }
    str_free(&line);
    return is;
}

static void enter_command(struct model *m)
{
    if (offer_command(m))
        return;
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
        m->error_before = false;
        if (!model_run(m, line) && !m->prompt.open) {
            model_prompt_again(m, line);
            if (m->prompt.mark == ':')
                prompt_refuse(&m->prompt, m->error_col);
            if (m->error_before)
                m->prompt.at = m->prompt.wrong;
        }
    }
    free(line);
}

bool model_source(struct model *m, const char *path)
{
    struct str text = {0};
    struct err e;
    if (m->pasted.len > 0)
        return model_say_error(m, "a file of lines cannot run another one", "");
    bool ok = file_read_regular(path, SOURCE_MOST_BYTES, &text, &e);
    if (ok && memchr(str_text(&text), 0, text.len))
        ok = err_set(&e, ERR_SYNTAX, "%.200s contains NUL bytes, so it is not a text file", path);
    if (ok)
        set_pasted(m, str_text(&text), text.len, path);
    else
        model_error(m, &e);
    str_free(&text);
    return ok;
}

/* Takes the next line of a paste, without blank lines and comments.  Returns false, and drops the
 * paste, after the last line. */
static bool next_pasted(struct model *m, struct str *line)
{
    const char *p = str_text(&m->pasted) + (m->pasted.len > 0 ? m->pasted_from : 0);
    while (*p) {
        const char *start = p;
        size_t n = strcspn(p, "\r\n"), blank = strspn(p, " \t");
        str_clear(line);
        str_add_n(line, p + (blank < n ? blank : n), n - (blank < n ? blank : n));
        p += n + strspn(p + n, "\r\n");
        if (line->len > 0 && line->data[0] != '#') {
            m->pasted_line = 1;
            for (const char *c = str_text(&m->pasted); c < start; c++)
                m->pasted_line += *c == '\n' || (*c == '\r' && c[1] != '\n');
            m->pasted_from = (size_t)(p - str_text(&m->pasted));
            return true;
        }
    }
    str_clear(&m->pasted);
    return false;
}

void model_run_pasted(struct model *m)
{
    struct str line = {0}, why = {0};
    while (!m->prompt.open && m->overlay == OVERLAY_NONE && next_pasted(m, &line)) {
        prompt_open(&m->prompt, ':', str_text(&line));
        enter_command(m);
        if (!m->prompt.open && m->message.kind != MESSAGE_ERROR)
            continue;
        const char *rest = str_text(&m->pasted) + m->pasted_from;
        str_printf(&why, "line %d of %s: %s%s", m->pasted_line,
                   m->pasted_of.len ? str_text(&m->pasted_of) : "the paste",
                   str_text(&m->message.text),
                   *rest ? " (edit it, or Enter skips it; Esc drops the lines after it, too)" : "");
        str_clear(&m->refused);
        if (*rest && m->prompt.open)
            str_add(&m->refused, str_text(&m->prompt.line));
        str_clear(&m->message.text);
        str_add(&m->message.text, str_text(&why));
        break;
    }
    if (m->overlay != OVERLAY_NONE)
        str_clear(&m->pasted);
    str_free(&line);
    str_free(&why);
}

static void prompt_left(struct model *m)
{
    bool search = m->prompt.mark == '/';
    prompt_close(&m->prompt);
    model_give_up(m);
    str_clear(&m->overwrite);
    str_clear(&m->pasted);
    model_clear_message(m);
    if (search) {
        str_clear(&m->search);
        struct pane_doc *p = model_focused(m);
        p->scroll = m->search_from;
        doc_scroll_fix(&p->doc, &p->scroll, p->height);
    }
}

static void prompt_edited(struct model *m)
{
    if (m->prompt.mark == '/')
        search_typed(m);
    else
        model_clear_message(m);
    str_clear(&m->overwrite);
}

/* Drops the refused line of a paste, which is on the prompt. */
static void skip_pasted(struct model *m)
{
    prompt_close(&m->prompt);
    str_clear(&m->refused);
    model_clear_message(m);
}

static void key_prompt(struct model *m, int key)
{
    bool search = m->prompt.mark == '/';
    enum prompt_event ev = prompt_key(&m->prompt, key);
    if (ev == PROMPT_EDITED)
        prompt_edited(m);
    if (ev == PROMPT_LEFT)
        prompt_left(m);
    bool behind = m->list_behind && m->session;
    if (ev == PROMPT_LEFT && behind)
        m->overlay = OVERLAY_BRANCHES;
    if (ev != PROMPT_ENTERED)
        return;
    m->list_behind = false;
    if (search)
        enter_search(m);
    else if (m->pasted.len > 0 && m->prompt.line.len > 0
             && streq(str_text(&m->refused), str_text(&m->prompt.line)))
        skip_pasted(m);
    else
        enter_command(m);
    m->list_behind = behind && m->session && m->prompt.open;      /* the line was refused */
    model_run_pasted(m);
}

/* --- Questions -------------------------------------------------------------------------------- */

void model_ask_save(struct model *m, enum after_ask then, struct session *next)
{
    if (m->network && m->session && !m->tuner.out)
        model_network_show(m);
    bool unsaved = model_unsaved(m);
    m->then = then;
    m->next = next;
    m->ask_stop = (m->session && m->tuner.out && (!unsaved || m->network))
               || (!unsaved && model_network_branches(m) > 0);
    if (unsaved || m->ask_stop)
        m->overlay = OVERLAY_ASK;
    else
        model_after(m);
}

void model_question(const struct model *m, struct str *out)
{
    if (m->recover) {
        model_recover_question(m, out);
        return;
    }
    struct str place = {0};
    const char *leave = m->then == AFTER_QUIT ? "quit" : "leave";
    const char *save = model_document(m)->dirty ? "Save the changes first?"
                                         : "Save what was measured first?";
    int branches = model_network_branches(m);
    model_tune_place(m, &place);
    if (place.len > 0)
        place.data[0] = 'T';
    if (branches > 0 && !m->session)
        str_printf(out, "A network keeps one branch of a kernel; %d kernel%s more. ", branches,
                   branches == 1 ? " has" : "s have");
    if (m->ask_stop && place.len > 0)
        str_printf(out, "%s. Stop it and %s? Measurements are kept.", str_text(&place), leave);
    else if (m->ask_stop && branches > 0 && !m->session)
        str_printf(out, "Still %s?", leave);
    else if (m->ask_stop)
        str_printf(out, "The tuner has ended. Still %s?", leave);
    else if (place.len > 0)
        str_printf(out, "%s, and stops. %s", str_text(&place), save);
    else
        str_add(out, save);
    str_free(&place);
}

/* Leaves a kernel, which stops its tuner.  Then continues with m->then, if there is something. */
static void leave_kernel(struct model *m)
{
    enum after_ask then = m->then;
    struct session *next = m->next;
    m->then = AFTER_NOTHING;
    m->next = NULL;
    model_network_show(m);
    if (then != AFTER_NOTHING)
        model_ask_save(m, then, next);
}

/* Handles the answer to the question whether to stop a tuner or lose branches.  After a yes outside
 * of a network, if there are unsaved changes by now, the overlay stays and asks whether to save. */
static void key_ask_stop(struct model *m, bool yes)
{
    m->ask_stop = false;
    if (yes && model_unsaved(m) && !m->network)
        return;
    m->overlay = OVERLAY_NONE;
    if (yes && m->network && m->session)
        leave_kernel(m);
    else if (yes)
        model_after(m);
    else
        model_give_up(m);
}

static void key_ask(struct model *m, int key)
{
    bool leave = key == 'c' || key == K_ESC || key == K_CTRL('c') || key == 'q';
    if (key != 'y' && key != 'n' && key != K_ENTER && !leave && !(key == 'd' && m->recover))
        return;
    if (m->recover) {
        model_recover_answer(m, key == 'y' || key == K_ENTER, key == 'd');
        return;
    }
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
    } else if (model_document(m)->path[0]) {
        if (!model_run(m, "w") && !m->prompt.open)
            model_give_up(m);
    } else {
        model_save_as(m);
    }
}

/* --- Keys ------------------------------------------------------------------------------------- */

/* Handles a digit of a count.  False: the key is no such digit.  A count begins with 0 (05j, 012G),
 * because the keys 1 to 9 choose views. */
static bool key_digit(struct model *m, int key)
{
    bool digit = key >= '0' && key <= '9', starts = digit && (key == '0' || key - '0' > VIEW_COUNT);
    if (!digit || (!m->counting && !starts))
        return false;
    m->count = m->count * 10 + (key - '0');
    m->count = m->count < 100000 ? m->count : 100000;
    m->counting = true;
    model_info(m, "count %ld: the next key takes it, Esc drops it", m->count);
    return true;
}

/* Returns a sentence on how to reach the part of the screen where the keys of a context work.
 * NULL: it cannot be reached from here. */
static const char *way_to(const struct model *m, enum key_context c)
{
    const char *way = key_context_way[c];
    bool kernel = m->network && m->session;
    if (!way)
        return c == KEYS_NETWORK && kernel ? "Esc goes back to the network" : NULL;
    if (m->overlay == OVERLAY_BRANCHES)
        return "q closes this list first";
    if (!m->session)
        return m->network ? "Enter opens the selected kernel first"
                          : "Enter opens the selected line first";
    return way;
}

/* Says what a key that does nothing here does elsewhere: in the first part of the screen that has
 * the key, and in the list of steps if a session is open. */
static void say_unbound(struct model *m, int key)
{
    struct str says = {0};
    bool some = false;
    key_text(&says, key);
    str_add(&says, " does nothing here.");
    for (int i = 0; i < key_binding_count(); i++) {
        const struct key_binding *b = key_binding_get(i);
        const char *way = key_binding_has(b, key) ? way_to(m, b->context) : NULL;
        if (!way || (some && (b->context != KEYS_LEDGER || !m->session)))
            continue;
        str_printf(&says, " %s: %s. %s.", key_context_title[b->context], b->help, way);
        some = true;
    }
    if (!some) {
        str_clear(&says);
        key_text(&says, key);
        str_add(&says, " does nothing on this screen; ? lists the keys");
    }
    model_info(m, "%s", str_text(&says));
    str_free(&says);
}

/* Keys of a view of code act on the line under the cursor.  While these lines are not there yet,
 * stores the key, so that model_wake performs it when they have come. */
static bool key_waits(struct model *m, const struct key_binding *b, int key)
{
    struct str name = {0};
    if (b->context != KEYS_CODE || model_code_is_current(m, m->view[m->focus]))
        return false;
    key_text(&name, key);
    model_info(m, "%s waits for the code; any other key takes it back", str_text(&name));
    str_free(&name);
    m->waiting = key;
    return true;
}

bool model_wake(struct model *m)
{
    enum key_context chain[KEYS_COUNT];
    int key = m->waiting;
    bool there = key && !m->prompt.open && m->overlay == OVERLAY_NONE
              && model_contexts(m, chain) > 0 && chain[0] == KEYS_CODE;
    if (there && !model_code_is_current(m, m->view[m->focus]))
        return false;
    m->waiting = 0;                       /* a paste or a click has gone elsewhere, or: now */
    if (there)
        model_key(m, key);
    return there;
}

static void key_binding(struct model *m, int key)
{
    enum key_context chain[KEYS_COUNT];
    int n = model_contexts(m, chain);
    const struct key_binding *b = key_binding_find(chain, n, key);
    if (b && !key_waits(m, b, key))
        model_perform(m, b);
    else if (!b)
        say_unbound(m, key);
    m->counting = false;
}

void model_key(struct model *m, int key)
{
    m->waiting = 0;
    if (m->prompt.open) {
        key_prompt(m, key);
    } else if (m->overlay == OVERLAY_ASK) {
        key_ask(m, key);
    } else {
        model_clear_message(m);
        m->list_behind = false;
        if (m->counting && key == K_ESC)
            m->counting = false;
        else if (!key_digit(m, key))
            key_binding(m, key);
        if (!m->counting)
            m->count = 0;
    }
}

/* Pastes into the prompt, unless an overlay is open.  On the prompt `:`, several lines are several
 * commands, which run at once. */
void model_paste(struct model *m, const char *text)
{
    size_t n = strlen(text), first = strcspn(text, "\r\n");
    if (m->overlay != OVERLAY_NONE)
        return;
    m->list_behind = m->list_behind && m->prompt.open;
    while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r'))
        n--;
    if (!m->prompt.open)
        prompt_open(&m->prompt, ':', "");
    if (first < n && m->prompt.mark == ':') {
        struct str all = {0};
        str_add(&all, str_text(&m->prompt.line));
        str_add_n(&all, text, n);
        set_pasted(m, str_text(&all), all.len, "");
        str_free(&all);
        prompt_close(&m->prompt);
        model_run_pasted(m);
        return;
    }
    struct str line = {0};
    str_add_n(&line, text, n);
    prompt_insert(&m->prompt, str_text(&line));
    prompt_edited(m);
    str_free(&line);
}
