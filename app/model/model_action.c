/* Runs the actions of keys.  Many keys stand for a command line with placeholders (keys.def), which
 * are filled in from the cursor (model_blank.h). */
#include "app/model/model_blank.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "app/model/help.h"
#include "app/ui/text.h"

static void run_line(struct model *m, const char *line)
{
    struct str s = {0};
    if (model_fill_in(m, line, &s)) {
        while (s.len > 0 && s.data[s.len - 1] == ' ')
            s.data[--s.len] = 0;
        bool list = m->overlay == OVERLAY_BRANCHES;
        bool stays = list && (str_starts(line, "mark ") || streq(line, "help")
                              || streq(line, "redraw"));
        m->overlay = stays ? m->overlay : OVERLAY_NONE;
        bool ok = model_run(m, str_text(&s));
        if (list && !ok && !m->prompt.open)
            m->overlay = OVERLAY_BRANCHES;    /* so that the user can choose another branch */
    }
    str_free(&s);
}

/* Whether some layout step that begins with `line` can be legal for the tensor under the cursor.
 * False: the step is illegal, whatever the user adds to the line. */
static bool tensor_allows(const struct model *m, const char *line, struct err *e)
{
    int t = str_starts(line, "layout ") ? model_tensor(m) : -1;
    if (t < 0)
        return true;
    return str_starts(line, "layout store_at ") ? program_is_constant(model_program(m), t, e)
                                                : program_layout_is_free(model_program(m), t, e);
}

/* A line that ends with a blank is kept whole: the user adds a name or a number to it. */
void model_keep_head(struct model *m)
{
    const char *line = str_text(&m->prompt.line);
    int step = model_step_at(line), head = 0;
    bool quoted = str_starts(line + step, "layout set ");
    struct str kept = {0};
    if (quoted || step == 0)
        sscanf(line + step, "%*s %*s %*s %n", &head);
    if (!quoted && m->prompt.line.len > 0 && line[m->prompt.line.len - 1] == ' ')
        head = (int)m->prompt.line.len - step;
    str_add_n(&kept, line, (size_t)(step + head));
    str_add(&kept, quoted && head > 0 ? "\"" : "");
    prompt_keep(&m->prompt, str_text(&kept), (size_t)(head > 0 ? step : 0));
    str_free(&kept);
}

/* Opens the prompt again with a line that was refused, so that the user can correct it.  C-u
 * leaves the same beginning of the line as before, if the line has it. */
void model_prompt_again(struct model *m, const char *line)
{
    bool save = m->prompt.mark == PROMPT_SAVE && str_starts(line, "w ");
    size_t less = m->prompt.kept_less;
    struct str kept = {0};
    str_add(&kept, str_text(&m->prompt.kept));
    prompt_open(&m->prompt, save ? PROMPT_SAVE : ':', save ? line + 2 : line);
    if (str_starts(line, str_text(&kept)))
        prompt_keep(&m->prompt, str_text(&kept), less);
    else
        model_keep_head(m);
    str_free(&kept);
}

static void ask_line(struct model *m, const char *line)
{
    struct str s = {0};
    struct err e;
    bool filled = model_fill_in(m, line, &s);
    bool allowed = filled && tensor_allows(m, str_text(&s), &e);
    if (filled && !allowed)
        model_error(m, &e);
    if (allowed) {
        m->list_behind = m->overlay == OVERLAY_BRANCHES;
        m->overlay = OVERLAY_NONE;
        prompt_open(&m->prompt, ':', str_text(&s));
        model_keep_head(m);
        bool repairs = str_starts(line, "edit ") || streq(line, "%H");
        const struct state *held = repairs ? model_held_step(m) : NULL;
        struct str number = {0};
        if (held && model_fill_in(m, "%S", &number))
            model_info(m, "step %s is held: %s", str_text(&number), held->held);
        str_free(&number);
        if (s.len > 0 && s.data[s.len - 1] == '"')
            m->prompt.at--;
    }
    str_free(&s);
}

void model_save_as(struct model *m)
{
    struct str file = {0};
    model_put_file(m, &file);
    prompt_open(&m->prompt, PROMPT_SAVE, str_text(&file));
    m->prompt.selected = file.len > 0;
    str_free(&file);
}

/* --- Moving loops ----------------------------------------------------------------------------- */

/* If the current step is a reorder of `stage` and was not measured, stores the names of its loops
 * in out[] and returns their number; otherwise returns 0. */
static int last_reorder(const struct model *m, struct arena *a, const char *stage, const char **out,
                        int max)
{
    const struct state *now = history_current(m->session->history);
    const struct step_word *word;
    struct err ignored;
    int n;
    if (now->measured || now->held || now->parent < 0
        || !step_words(a, now->step, &word, &n, &ignored))
        return 0;
    if (n < 5 || n - 3 > max || !streq(word[0].text, "loop") || !streq(word[1].text, "reorder")
        || !strcaseeq(word[2].text, stage))
        return 0;
    for (int i = 3; i < n; i++)
        out[i - 3] = word[i].text;
    return n - 3;
}

/* Joins two moves of `loop` into one reorder step: changes order[n] so that the step also moves
 * `loop` past its neighbour `other`.  A move in the same direction as before adds `other`; a move
 * back removes it.  Returns the new length; 0: the moves cannot be joined. */
static int join_move(const char **order, int n, const char *loop, const char *other, bool inwards)
{
    bool first = strcaseeq(order[0], loop), last = strcaseeq(order[n - 1], loop);
    if (inwards ? last : first) {
        int at = inwards ? n - 1 : 1;
        memmove(order + at + 1, order + at, (size_t)(n - at) * sizeof *order);
        order[at] = other;
        return n + 1;
    }
    int back = inwards ? 1 : n - 2;
    if (!(inwards ? first : last) || !strcaseeq(order[back], other))
        return 0;
    memmove(order + back, order + back + 1, (size_t)(n - back - 1) * sizeof *order);
    return n - 1;
}

/* Takes the current step back: by goto and not by undo, because undo would revert the last change,
 * which can be a change of an earlier step.  The command goto notes a visit (history_visit), which
 * the second goto ends. */
static bool take_back(struct model *m)
{
    struct history *h = m->session->history;
    struct str line = {0};
    struct err e;
    int to = history_position(h) - 1;
    str_printf(&line, "goto %d", to);
    bool ok = model_run(m, str_text(&line)) && history_goto(h, to, &e);
    str_free(&line);
    return ok;
}

/* Moves the loop under the cursor.  If the current step moved the same loop and was not measured,
 * one step for both moves replaces it. */
static void move_loop(struct model *m, const char *line, bool inwards)
{
    const char *order[MAX_DIMS * 2];
    const struct stage *s;
    struct str text = {0};
    struct err e;
    int axis = 0, n = 0;
    bool has = model_loop(m, &s, &axis);
    struct history *h = m->session->history;
    int at = history_position(h);
    int other = axis + (inwards ? 1 : -1);
    struct arena *a = arena_new();
    if (has && other >= 0 && other < s->n_axes)
        n = last_reorder(m, a, s->name, order, MAX_DIMS * 2 - 1);
    if (n > 0)
        n = join_move(order, n, s->axis[axis].name, s->axis[other].name, inwards);
    if (n == 0) {
        run_line(m, line);
    } else if (n == 1) {
        take_back(m);
    } else if (history_goto(h, at - 1, &e)) {
        str_printf(&text, "loop reorder %s", s->name);
        for (int i = 0; i < n; i++)
            str_printf(&text, " %s", order[i]);
        if (!model_run(m, str_text(&text)))
            history_goto(h, at, &e);
    }
    str_free(&text);
    arena_free(a);
}

/* --- Marking loops ---------------------------------------------------------------------------- */

/* Whether the current step is `line`, and the loop under the cursor had no annotation before it. */
static bool marked_last(struct model *m, const char *line)
{
    const struct history *h = m->session->history;
    const struct state *now = history_current(h);
    const struct stage *s, *was;
    struct str step = {0};
    int axis = 0;
    bool is = now->parent >= 0 && !now->held && model_loop(m, &s, &axis)
           && model_fill_in(m, line, &step) && streq(str_text(&step), now->step);
    str_free(&step);
    if (!is)
        return false;
    was = history_state(h, now->parent)->program->stage[s->node];
    axis = stage_axis(was, s->axis[axis].name);
    return axis >= 0 && was->axis[axis].ann == LOOP_SERIAL;
}

/* Whether the annotation that `line` makes is legal for the loop under the cursor. */
static bool mark_fits(struct model *m, const struct program *copy, const char *line)
{
    const struct stage *s;
    const struct program *ignored;
    struct str step = {0};
    struct err e;
    int axis;
    bool fits = model_loop(m, &s, &axis) && model_fill_in(m, model_toggled(m, line), &step)
             && program_apply_line(copy, str_text(&step), &ignored, &e);
    str_free(&step);
    return fits;
}

/* A line of the nest can have several loops, and the cursor comes to the first.  If the first loop
 * cannot have the annotation, moves the cursor to the innermost loop of the line that can have it,
 * if there is one.  Returns whether the cursor moved. */
static bool choose_loop(struct model *m, const struct program *copy, const char *line)
{
    struct scroll *at = &m->pane[VIEW_NEST].scroll;
    const struct line *l = doc_at(&m->pane[VIEW_NEST].doc, at);
    if (!l || l->n_items < 2 || at->item != 0 || mark_fits(m, copy, line))
        return false;
    at->item = l->n_items - 1;
    while (at->item > 0 && !mark_fits(m, copy, line))
        at->item--;
    return at->item != 0;
}

/* Annotates the loop under the cursor, or removes the annotation.  If the current step has added
 * the annotation, takes this step back instead, so that pressing the key twice leaves no step. */
static void toggle_mark(struct model *m, const char *line)
{
    struct arena *a = arena_new();
    bool other = choose_loop(m, model_try_on(a, model_program(m)), line);
    arena_free(a);
    if (!marked_last(m, line)) {
        run_line(m, model_toggled(m, line));
        if (other && m->message.kind == MESSAGE_ECHO)
            model_info(m, "the first loop of the line cannot have this, so the cursor moved");
        return;
    }
    m->overlay = OVERLAY_NONE;
    if (take_back(m))
        model_info(m, "the loop is plain again: its step is taken back");
}

/* --- Moving the cursor ------------------------------------------------------------------------ */

/* Says why a document cannot be scrolled sideways.  cut: whether some rows were cut to fit the
 * pane. */
static void say_fits(struct model *m, const struct pane_doc *p, bool cut)
{
    bool steps = p == &m->pane[DOC_LEDGER], pane = m->overlay == OVERLAY_NONE && m->session;
    model_info(m, !cut ? "no line is cut: there is nothing to scroll sideways"
               : steps ? "a step is cut where the row ends: the bottom line has all of it, and ) "
                         "makes this pane wider"
               : pane ? "rows are cut where the pane ends: ) makes it wider, + shows it alone"
               : "rows are cut where the list ends: a wider screen shows more");
}

static void scroll_sideways(struct model *m, int delta)
{
    struct pane_doc *p = model_focused(m);
    int left = p->scroll.left + delta * (m->count > 0 ? (int)m->count : 8), widest = 0;
    bool cut = false;
    for (int i = 0; i < p->doc.lines.len; i++) {
        int w = text_width(p->doc.lines.data[i].text);
        widest = w > widest ? w : widest;
        cut = cut || p->doc.lines.data[i].cut;
    }
    int most = widest > p->width - 1 ? widest - p->width + 2 : 0;
    left = left < 0 ? 0 : left > most ? most : left;
    if (most == 0)
        say_fits(m, p, cut);
    else if (left == p->scroll.left)
        model_info(m, left == 0 ? "these are the first columns" : "these are the last columns");
    p->scroll.left = left;
}

/* Goes to the line with the number that was typed as a count.  The first line has number 1; in the
 * list of steps, it has number 0.  Without a count, goes to the line with index `otherwise`. */
static void go_to_line(struct model *m, int otherwise)
{
    struct pane_doc *p = model_focused(m);
    int first = p == &m->pane[DOC_LEDGER] ? 0 : 1;
    bool counted = m->counting && m->count >= first;
    doc_scroll_to(&p->doc, &p->scroll, counted ? (int)m->count - first : otherwise, p->height);
}

static void move_item(struct model *m, int dir)
{
    struct pane_doc *p = model_focused(m);
    int n = m->count > 0 ? (int)m->count : 1;
    if (p == &m->pane[VIEW_TUNE])
        model_tune_walk(m, n * dir);
    else
        for (int i = 0; i < n; i++)
            doc_scroll_item(&p->doc, &p->scroll, dir, p->height);
}

static bool move_action(struct model *m, enum key_action action)
{
    struct pane_doc *p = model_focused(m);
    int n = m->count > 0 ? (int)m->count : 1, lines = key_action_lines(action, p->height);
    if (lines == 1 || lines == -1)
        doc_scroll_by(&p->doc, &p->scroll, n * lines, p->height);
    else if (lines != 0)
        doc_page_by(&p->doc, &p->scroll, n * lines, p->height);
    else if (action == ACTION_TOP || action == ACTION_BOTTOM)
        go_to_line(m, action == ACTION_TOP ? 0 : p->doc.lines.len - 1);
    else if (action == ACTION_LEFT || action == ACTION_RIGHT)
        scroll_sideways(m, action == ACTION_LEFT ? -1 : 1);
    else if (action == ACTION_ITEM_PREV || action == ACTION_ITEM_NEXT)
        move_item(m, action == ACTION_ITEM_PREV ? -1 : 1);
    else
        return false;
    return true;
}

/* --- All other actions ------------------------------------------------------------------------ */

static void open_search(struct model *m)
{
    m->search_from = model_focused(m)->scroll;
    m->search_jumps = m->n_jumps;
    str_clear(&m->search);
    prompt_open(&m->prompt, '/', "");
}

/* The key Esc: closes, ends or cancels one thing, the first that applies below.  Leaving a kernel
 * of a network cancels the kernel's jobs. */
static void cancel(struct model *m)
{
    if (m->overlay != OVERLAY_NONE) {
        m->overlay = OVERLAY_NONE;
    } else if (m->opening.len > 0) {
        str_clear(&m->opening);
        m->recover_yes = false;
        model_info(m, "the model is not opened");
    } else if (m->n_jumps > m->search_jumps && model_jump_back(m)) {
        return;                           /* the jump is newer than the search */
    } else if (m->search.len > 0) {
        model_info(m, "the search for \"%s\" has ended", str_text(&m->search));
        str_clear(&m->search);
    } else if (model_jump_back(m) || model_network_cancel(m) || model_compare_cancel(m)
               || model_lens_cancel(m) || model_uncover(m)) {
        return;
    } else if (m->network && m->session && !m->zoom) {
        model_kernel_leave(m);
    } else if (m->measure_wanted || m->measure_all || model_measuring(m) >= 0) {
        m->measure_wanted = m->measure_all = false;
        m->newest = false;
        m->late.len = 0;
        m->data_stamp++;
        model_info(m, "measuring cancelled; m measures again");
    } else if (model_wants_roofs(m)) {
        m->roofs.stopped = true;
        m->data_stamp++;
        model_info(m, "measuring the roofs cancelled; 8 measures them again");
    } else if (m->zoom) {
        m->zoom = false;
    } else if (m->tour > 0) {
        m->tour = 0;
    } else if (m->tuner.out && m->tuner.wanted) {
        model_info(m, "the tuner goes on; t shows it, then x stops it");
    } else {
        model_info(m, "nothing is open or running that Esc could end; q leaves");
        /* the message fades, because it becomes false when something runs that Esc can cancel */
        m->message.fades = FADE_TICKS;
    }
}

static const char *back_label(const struct model *m)
{
    return m->overlay == OVERLAY_NONE && m->zoom ? "unzoom"
         : m->overlay != OVERLAY_NONE || model_covers(m) ? "close"
         : m->network && m->session ? "back" : "quit";
}

const char *model_key_label(const struct model *m, const struct key_binding *b)
{
    bool tune = b->context == KEYS_TUNE && str_starts(b->line, "tune %");
    return b->action == ACTION_BACK && b->context == KEYS_WORK ? back_label(m)
         : tune && model_tune_continues(m) ? "continue" : b->label;
}

static void back(struct model *m)
{
    if (m->overlay != OVERLAY_NONE)
        m->overlay = OVERLAY_NONE;
    else if (m->zoom)
        m->zoom = false;
    else if (model_uncover(m))
        return;
    else if (m->network && m->session)
        model_kernel_leave(m);
    else
        model_run(m, "q");
}

static void find_again(struct model *m, int dir)
{
    const struct pane_doc *p = model_focused(m);
    for (int i = 0; i < (m->count > 0 ? m->count : 1); i++) {
        bool there = m->found.in == p && m->found.cursor == p->scroll.cursor;
        model_search(m, dir, there ? m->found.line : p->scroll.cursor);
    }
}

/* --- Help, and the menu of actions at the cursor ---------------------------------------------- */

static bool is_topic(const char *word)
{
    for (int i = 0; help_topic_name(i); i++)
        if (streq(help_topic_name(i), word))
            return true;
    return ops_find(word) != NULL;
}

void model_close_overlay(struct model *m)
{
    if (m->overlay == OVERLAY_HELP) {
        str_clear(&m->search);            /* it was a search of the help, not of a view */
        str_add(&m->search, str_text(&m->covered));
    }
    m->overlay = OVERLAY_NONE;
}

void model_show_topic(struct model *m, const char *name)
{
    str_clear(&m->search);
    snprintf(m->topic, sizeof m->topic, "%s", name);
    m->pane[DOC_HELP].scroll = (struct scroll){0};
    m->pane[DOC_HELP].stamp = 0;
}

void model_open_help(struct model *m, const char *what)
{
    bool topic = is_topic(what), list = m->overlay == OVERLAY_BRANCHES;
    model_forget_menu(m);
    if (!list)                            /* the list stays open, so help has its keys */
        model_close_overlay(m);
    str_clear(&m->covered);
    str_add(&m->covered, str_text(&m->search));
    m->help_n = model_contexts(m, m->help_chain);
    m->help_of_list = list;
    m->help_menu = false;
    m->overlay = OVERLAY_HELP;
    str_clear(&m->filter);
    str_add(&m->filter, topic ? "" : what);
    model_show_topic(m, topic ? what : "");
}

/* Whether the line of a key must be completed by the user.  Such a line cannot be tried. */
static bool needs_typing(const struct key_binding *b)
{
    size_t n = strlen(b->line);
    bool open = n > 0 && (b->line[n - 1] == ' ' || b->line[n - 1] == '"');
    return b->action == ACTION_ASK && (open || strstr(b->line, "reorder"));
}

/* Makes the row of a key in the menu, for the loop that the key would take.  If the line of
 * the key is a complete step, tries the step on `copy`, a copy of the program.  If the user must
 * complete the step, only asks whether it can be legal. */
static struct menu_row menu_row(struct model *m, const struct program *copy,
                                const struct key_binding *b)
{
    int *item = &m->pane[VIEW_NEST].scroll.item, before = *item;
    if (b->action == ACTION_TOGGLE)
        choose_loop(m, copy, b->line);
    const char *pattern = b->action == ACTION_TOGGLE ? model_toggled(m, b->line) : b->line;
    bool is_step = str_starts(pattern, "loop ") || str_starts(pattern, "layout ");
    const struct program *ignored;
    struct str line = {0};
    struct menu_row row = {0};
    struct err e;
    const char *elsewhere = "nothing allows it here: Esc, and try it at another place";
    if (!model_fill_in(m, pattern, &line))
        row = (struct menu_row){ xstrdup(str_text(&m->message.text)),
                                 xstrdup(str_text(&m->message.fix)), NULL };
    else if (is_step && (needs_typing(b)
             ? !tensor_allows(m, str_text(&line), &e)
             : !program_apply_line(copy, str_text(&line), &ignored, &e)))
        row = (struct menu_row){ xstrdup(e.text), xstrdup(e.fix[0] ? e.fix : elsewhere), NULL };
    else if (is_step && !needs_typing(b))
        row.line = xstrdup(str_text(&line));
    *item = before;
    str_free(&line);
    return row;
}

void model_forget_menu(struct model *m)
{
    for (int i = 0; i < m->menu.len; i++) {
        free(m->menu.data[i].why);
        free(m->menu.data[i].fix);
        free(m->menu.data[i].line);
    }
    vec_free(&m->menu);
    m->menu_ranked = false;
}

static void open_menu(struct model *m)
{
    struct message kept = m->message;
    m->message = (struct message){0};
    model_open_help(m, "");
    m->help_n = 1;
    m->help_menu = true;
    struct arena *a = arena_new();
    const struct program *copy = model_try_on(a, model_program(m));
    for (int i = 0; i < key_binding_count(); i++) {
        const struct key_binding *b = key_binding_get(i);
        bool deed = b->context == m->help_chain[0] && b->line[0];
        vec_push(&m->menu, deed ? menu_row(m, copy, b) : (struct menu_row){0});
    }
    arena_free(a);
    str_free(&m->message.echo);
    str_free(&m->message.text);
    str_free(&m->message.fix);
    m->message = kept;
}

void model_perform(struct model *m, const struct key_binding *b)
{
    if (move_action(m, b->action))
        return;
    switch ((int)b->action) {
    case ACTION_RUN:       run_line(m, b->line); break;
    case ACTION_ASK:       ask_line(m, b->line); break;
    case ACTION_TOGGLE:    toggle_mark(m, b->line); break;
    case ACTION_MOVE_OUT:  move_loop(m, b->line, false); break;
    case ACTION_MOVE_IN:   move_loop(m, b->line, true); break;
    case ACTION_MENU:      open_menu(m); break;
    case ACTION_SEARCH:    open_search(m); break;
    case ACTION_FIND_NEXT: find_again(m, 1); break;
    case ACTION_FIND_PREV: find_again(m, -1); break;
    case ACTION_OPEN:      (m->network ? model_kernel_open : model_open_entry)(m); break;
    case ACTION_SAVE_AS:   model_save_as(m); break;
    case ACTION_DISCARD:   model_discard_entry(m); break;
    case ACTION_BACK:      back(m); break;
    case ACTION_CANCEL:    cancel(m); break;
    case ACTION_QUIT:      m->out.quit = true; break;
    default: UNREACHABLE();
    }
    model_run_pasted(m);  /* if the line of the key was `source`, the lines of the file run now */
}
