/* Runs the actions of keys.  Most keys stand for a command line with placeholders (keys.def), which
 * this file fills in from the cursor. */
#include "app/model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "app/model/help.h"
#include "app/ui/text.h"
#include "sessions/file/shipped.h"

/* --- Filling in placeholders ------------------------------------------------------------------ */

static bool put_neighbour(struct model *m, struct str *out, const struct stage *s, int axis,
                          const char *where)
{
    if (axis >= 0 && axis < s->n_axes) {
        str_add(out, s->axis[axis].name);
        return true;
    }
    struct str text = {0};
    str_printf(&text, "this is the %s loop of %s already", where, s->name);
    model_say_error(m, str_text(&text), "");
    str_free(&text);
    return false;
}

/* Returns the stage to compute inside a loop of s: the producer of an operand of s, or else the
 * consumer of s. */
static const char *neighbour_stage(const struct program *p, const struct stage *s)
{
    const struct graph *g = p->graph;
    const struct node *n = &g->node[s->node];
    if (n->elementwise && n->data_in >= 0 && g->tensor[n->data_in].producer >= 0)
        return g->tensor[n->data_in].name;
    for (int i = 0; i < g->n_nodes; i++)
        if (i != s->node && g->node[i].elementwise && g->node[i].data_in == n->out)
            return g->tensor[g->node[i].out].name;
    return "";
}

/* Copies the program into arena a, so that trying a step leaves nothing in the session's arena. */
static const struct program *copy_program(struct arena *a, const struct program *p)
{
    const struct program *copy;
    struct err e;
    int bad;
    if (!program_replay(a, p->base->spec, p->steps, p->n_steps, &copy, &bad, &e))
        fail("%s", e.text);
    return copy;
}

/* Returns an operand of s with which the step BEGIN OPERAND is legal at that loop: preferably the
 * data, else the first one. If none is legal, returns the data, whose error message is the
 * clearest; "" when s has no operands. */
static const char *operand_for(const struct program *p, const struct stage *s, const char *begin,
                               const char *loop)
{
    const struct graph *g = p->graph;
    int data = g->node[s->node].data_in;
    const char *best = data >= 0 ? g->tensor[data].name : "";
    struct arena *a = arena_new();
    const struct program *copy = copy_program(a, p), *ignored;
    struct err e;
    bool fits = false;
    for (int i = data < 0 ? 0 : -1; i < g->n_tensors && !fits; i++) {
        const char *name = g->tensor[i < 0 ? data : i].name;
        const char *line = arena_printf(a, "%s%s at=%s", begin, name, loop);
        fits = program_apply_line(copy, line, &ignored, &e);
        best = fits ? name : best;
    }
    arena_free(a);
    return best;
}

/* Fills in %C (the stage to compute at s) or %R (the operand to read).  out: the line so far. */
static bool put_other(struct model *m, struct str *out, const struct stage *s, const char *loop,
                      char what)
{
    const struct program *p = model_program(m);
    const char *name = what == 'C' ? neighbour_stage(p, s)
                                   : operand_for(p, s, str_text(out), loop);
    if (!name[0])
        return model_say_error(m, what == 'C' ? "no other stage can be computed inside this loop"
                                              : "this stage reads nothing that can be copied",
                               "");
    str_add(out, name);
    return true;
}

/* Adds the loop at which a tile keeps partial sums. The nest that sets the result to zero has no
 * such loop, because it has no reduction. */
static bool put_tile_loop(struct model *m, struct str *out, const struct stage *s, int axis)
{
    struct str text = {0}, fix = {0};
    int outer = -1;
    bool sums = false;
    for (int i = axis + 1; i < s->n_axes; i++)
        sums = sums || s->axis[i].reduce;
    while (outer + 1 < s->n_axes && !s->axis[outer + 1].reduce)
        outer++;
    str_printf(&text, "a tile at %s would keep no partial sums: no loop inside of %s is a "
               "reduction", s->axis[axis].name, s->axis[axis].name);
    if (outer >= 0)
        str_printf(&fix, "loop cache_write %s at=%s", s->name, s->axis[outer].name);
    else
        str_printf(&fix, "move a reduction inwards first: loop reorder %s %s %s", s->name,
                   s->axis[axis].name, s->axis[0].name);
    if (sums)
        str_add(out, s->axis[axis].name);
    else
        model_say_error(m, str_text(&text), str_text(&fix));
    str_free(&text);
    str_free(&fix);
    return sums;
}

static bool put_loop(struct model *m, struct str *out, char what)
{
    const struct stage *s;
    int axis;
    if (!model_loop(m, &s, &axis))
        return model_say_error(m, "the cursor is not on a loop",
                               "move it to a line that starts with `for`");
    if (what == 'X')
        return put_neighbour(m, out, s, axis + 1, "innermost");
    if (what == 'P')
        return put_neighbour(m, out, s, axis - 1, "outermost");
    if (what == 'T')
        str_add(out, s->name);
    if (what == 'D')
        str_add(out, s->axis[axis].name);
    if (what == 'W')
        return put_tile_loop(m, out, s, axis);
    if (what == 'C' || what == 'R')
        return put_other(m, out, s, s->axis[axis].name, what);
    for (int i = 0; what == 'A' && i < s->n_axes; i++)
        str_printf(out, "%s%s", i ? " " : "", s->axis[i].name);
    return true;
}

static bool put_layout(struct model *m, struct str *out, char what)
{
    int t = model_tensor(m);
    if (t < 0)
        return model_say_error(m, "the cursor is not on a tensor", "");
    const struct layout *l = model_program(m)->layout[t];
    if (what == 'Y' && l->n_prims == 0) {
        struct str why = {0};
        str_printf(&why, "%s is plain row-major already", l->tensor->name);
        model_say_error(m, str_text(&why), "");
        str_free(&why);
        return false;
    }
    if (what == 'L' || what == 'Y')
        str_add(out, l->tensor->name);
    for (int i = 0; what == 'O' && i < l->rank; i++)
        str_printf(out, "%s%s", i ? " " : "", l->dim[i]);
    if (what == 'Q' && !layout_notation(l, out))
        for (int i = 0; i < l->tensor->rank; i++)
            str_printf(out, "%s%s", i ? " " : "", l->tensor->dim[i]);
    return true;
}

static bool put_row(struct model *m, struct str *out, char what)
{
    const struct line *l = doc_at(&m->pane[DOC_LEDGER].doc, &m->pane[DOC_LEDGER].scroll);
    int n;
    struct ledger_row *rows = model_ledger(m, &n);
    bool valid = l && l->id >= 0 && l->id < n;
    if (valid && what == 'E' && l->id == 0) {
        free(rows);
        return model_say_error(m, "step 0 is the operator as given: it cannot be changed",
                               "i inserts a step before step 1");
    }
    if (valid && what == 'F')
        str_printf(out, "%d", l->id > 0 ? l->id : 1);
    else if (valid && what != 'I')
        str_printf(out, "%d", l->id);
    else if (valid)
        str_add(out, rows[l->id].step);
    free(rows);
    return valid || model_say_error(m, "the cursor is not on a step", "");
}

/* Appends the name of a model's file without its ending; characters that need quotes become -. */
static void put_model_name(struct str *out, const char *title)
{
    const char *dot = strrchr(title, '.');
    size_t n = dot && dot > title ? (size_t)(dot - title) : strlen(title);
    for (size_t i = 0; i < n; i++)
        str_add_char(out, strchr(" /\\\"'", title[i]) ? '-' : title[i]);
}

/* Fills in a file name: the session's, or else "resnet18.yaml" of a model, "c2d.yaml" of an
 * operator, "graph.yaml" of another graph. */
static void put_file(const struct model *m, struct str *out)
{
    const struct session *s = model_document(m);
    const char *spec = history_spec(s->history);
    const char *slash = strrchr(s->path, '/');
    if (s->path[0])
        str_add(out, slash && shipped_file(s->path) ? slash + 1 : s->path);
    else if (s->of_model && s->title[0])
        put_model_name(out, s->title);
    else if (graph_is_composition(spec))
        str_add(out, "graph");
    else
        str_printf(out, "%.*s", (int)strcspn(spec, " "), spec);
    str_add(out, s->path[0] ? "" : ".yaml");
}

static bool put_blank(struct model *m, struct str *out, char what)
{
    if (!m->session && what != 'N')
        return model_say_error(m, "this key needs an operator that is open", "");
    switch (what) {
    case 'T': case 'D': case 'X': case 'P': case 'A': case 'C': case 'R': case 'W':
        return put_loop(m, out, what);
    case 'L': case 'O': case 'Q': case 'Y':
        return put_layout(m, out, what);
    case 'S': case 'I': case 'E': case 'F':
        return put_row(m, out, what);
    case 'K':
        if (model_tune_selected(m) < 0)
            return model_say_error(m, "the cursor is not on a trial", "t starts the tuner");
        str_printf(out, "%d", model_tune_selected(m) + 1);
        return true;
    case 'N':
        if (m->count > 0)
            str_printf(out, "%ld", m->count);
        return true;
    case 'B':
        if (!model_branch(m))
            return model_say_error(m, "there is no branch here", "");
        str_add(out, model_branch(m));
        return true;
    default:
        UNREACHABLE();
    }
}

/* Fills in the placeholders of line. Returns false with a message when nothing under the cursor
 * fits. */
static bool fill_in(struct model *m, const char *line, struct str *out)
{
    for (const char *p = line; *p; p++) {
        if (*p != '%')
            str_add_char(out, *p);
        else if (!put_blank(m, out, *++p))
            return false;
    }
    return true;
}

/* Returns line, or the line that removes the annotation if the loop under the cursor has it. */
static const char *toggled(const struct model *m, const char *line)
{
    const struct stage *s;
    int axis;
    if (model_loop(m, &s, &axis)) {
        enum loop_ann ann = s->axis[axis].ann;
        if (ann != LOOP_SERIAL && strstr(line, loop_ann_name[ann]))
            line = "loop serial %T %D";
    }
    return line;
}

/* Returns the name that is shown for a placeholder when nothing under the cursor fits it. */
static const char *name_of_blank(char what)
{
    static const char *const names[] = {
        ['T'] = "STAGE", ['D'] = "LOOP", ['X'] = "LOOP", ['P'] = "LOOP", ['A'] = "LOOPS",
        ['C'] = "STAGE", ['R'] = "TENSOR", ['W'] = "LOOP", ['L'] = "TENSOR", ['Y'] = "TENSOR",
        ['O'] = "DIMS", ['Q'] = "NOTATION", ['S'] = "STEP", ['E'] = "STEP", ['F'] = "STEP",
        ['I'] = "LINE", ['K'] = "TRIAL", ['B'] = "BRANCH", ['N'] = "[COUNT]", ['V'] = "LINE",
    };
    return names[(unsigned char)what];
}

void model_key_line(const struct model *m, const struct key_binding *b, bool here, struct str *out)
{
    struct model quiet = *m;              /* a copy receives the messages of fill_in */
    struct str line = {0};
    quiet.message = (struct message){0};
    const char *pattern = b->action == ACTION_TOGGLE ? toggled(m, b->line) : b->line;
    if (here && fill_in(&quiet, pattern, &line)) {
        str_add(out, str_text(&line));
    } else {
        for (const char *p = b->line; *p; p++) {
            if (*p == '%')
                str_add(out, name_of_blank(*++p));
            else
                str_add_char(out, *p);
        }
    }
    struct str *said[] = { &line, &quiet.message.echo, &quiet.message.text, &quiet.message.fix };
    for (int i = 0; i < COUNT_OF(said); i++)
        str_free(said[i]);
}

static void run_line(struct model *m, const char *line)
{
    struct str s = {0};
    if (fill_in(m, line, &s)) {
        while (s.len > 0 && s.data[s.len - 1] == ' ')
            s.data[--s.len] = 0;
        m->overlay = OVERLAY_NONE;
        model_run(m, str_text(&s));
    }
    str_free(&s);
}

/* Whether the tensor under the cursor allows the layout step that `line` begins, whatever the user
 * adds to it. */
static bool tensor_allows(const struct model *m, const char *line, struct err *e)
{
    int t = str_starts(line, "layout ") ? model_tensor(m) : -1;
    if (t < 0)
        return true;
    return str_starts(line, "layout store_at ") ? program_is_constant(model_program(m), t, e)
                                                : program_layout_is_free(model_program(m), t, e);
}

static void ask_line(struct model *m, const char *line)
{
    struct str s = {0};
    struct err e;
    bool filled = fill_in(m, line, &s), allowed = filled && tensor_allows(m, str_text(&s), &e);
    if (filled && !allowed)
        model_error(m, &e);
    if (allowed) {
        m->overlay = OVERLAY_NONE;
        prompt_open(&m->prompt, ':', str_text(&s));
        model_keep_number(m);
        if (s.len > 0 && s.data[s.len - 1] == '"')
            m->prompt.at--;
    }
    str_free(&s);
}

void model_save_as(struct model *m)
{
    struct str file = {0};
    put_file(m, &file);
    prompt_open(&m->prompt, PROMPT_SAVE, str_text(&file));
    str_free(&file);
}

/* --- Moving loops ----------------------------------------------------------------------------- */

/* Reads the loops that the current step, a reorder of `stage`, names.  Returns their number; 0 for
 * another step or a measured one. */
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

/* Joins two moves into one reorder step: changes order so that it also moves `loop` past `other`.
 * A move in the same direction adds `other`, a move back removes it.  Returns the new length; 0
 * when the moves cannot be joined. */
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

/* Moves the loop under the cursor. A move right after a move of the same loop replaces that step.
 * The earlier step is left by goto, because undo would revert the last change of a past step. */
static void move_loop(struct model *m, const char *line, bool inwards)
{
    const char *order[MAX_DIMS * 2];
    const struct stage *s;
    struct str text = {0};
    struct err e;
    int axis = 0, n = 0;
    bool has = model_loop(m, &s, &axis);
    struct history *h = m->session->history;
    int at, steps;
    history_path(h, history_branch_index(h), &steps, &at);
    int other = axis + (inwards ? 1 : -1);
    struct arena *a = arena_new();
    if (has && other >= 0 && other < s->n_axes)
        n = last_reorder(m, a, s->name, order, MAX_DIMS * 2 - 1);
    if (n > 0)
        n = join_move(order, n, s->axis[axis].name, s->axis[other].name, inwards);
    if (n == 0) {
        run_line(m, line);
    } else if (n == 1) {
        str_printf(&text, "goto %d", at - 1);
        model_run(m, str_text(&text));
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

/* --- Moving the cursor ------------------------------------------------------------------------ */

static void move(struct model *m, int delta)
{
    struct pane_doc *p = model_focused(m);
    doc_scroll_by(&p->doc, &p->scroll, delta, p->height);
}

static void scroll_sideways(struct model *m, int delta)
{
    struct pane_doc *p = model_focused(m);
    int left = p->scroll.left + delta * (m->count > 0 ? (int)m->count : 8), widest = 0;
    for (int i = 0; i < p->doc.lines.len; i++) {
        int w = text_width(p->doc.lines.data[i].text);
        widest = w > widest ? w : widest;
    }
    int most = widest > p->width - 1 ? widest - p->width + 2 : 0;
    p->scroll.left = left < 0 ? 0 : left > most ? most : left;
}

/* A count is the number of the line, from 1; in the list of steps that of the step, from 0. */
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
    int n = m->count > 0 ? (int)m->count : 1, height = model_focused(m)->height;
    int page = height > 2 ? height - 1 : 1;
    int half = page > 1 ? page / 2 : 1;
    if (action == ACTION_UP)
        move(m, -n);
    else if (action == ACTION_DOWN)
        move(m, n);
    else if (action == ACTION_PAGE_UP || action == ACTION_PAGE_DOWN)
        move(m, action == ACTION_PAGE_UP ? -n * page : n * page);
    else if (action == ACTION_HALF_UP || action == ACTION_HALF_DOWN)
        move(m, action == ACTION_HALF_UP ? -n * half : n * half);
    else if (action == ACTION_TOP || action == ACTION_BOTTOM)
        go_to_line(m, action == ACTION_TOP ? 0 : model_focused(m)->doc.lines.len - 1);
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
    m->search_from = model_focused(m)->scroll.cursor;
    str_clear(&m->search);
    prompt_open(&m->prompt, '/', "");
}

/* Esc: closes what was opened last, or cancels the running job. Leaving a kernel of a network
 * cancels the kernel's jobs. */
static void cancel(struct model *m)
{
    if (m->overlay != OVERLAY_NONE) {
        m->overlay = OVERLAY_NONE;
    } else if (m->opening.len > 0) {
        str_clear(&m->opening);
        model_info(m, "the model is not opened");
    } else if (m->search.len > 0) {
        str_clear(&m->search);
    } else if (model_jump_back(m) || model_network_cancel(m) || model_compare_cancel(m)
               || model_lens_cancel(m)) {
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
        m->roofs.failed = true;
        snprintf(m->roofs.why, sizeof m->roofs.why, "Cancelled. The command `tilescope machine` "
                 "measures them, too.");
        m->data_stamp++;
    } else if (m->zoom) {
        m->zoom = false;
    } else if (m->tour > 0) {
        m->tour = 0;
    } else if (m->tuner.out && m->tuner.wanted) {
        model_info(m, "the tuner goes on; t shows it, then x stops it");
    }
}

static void back(struct model *m)
{
    if (m->overlay != OVERLAY_NONE)
        m->overlay = OVERLAY_NONE;
    else if (m->zoom)
        m->zoom = false;
    else if (m->network && m->session)
        model_kernel_leave(m);
    else
        model_run(m, "q");
}

static void find_again(struct model *m, int dir)
{
    for (int i = 0; i < (m->count > 0 ? m->count : 1); i++)
        model_search(m, dir, model_focused(m)->scroll.cursor);
}

/* --- Help, and the menu of actions at the cursor ---------------------------------------------- */

static bool is_topic(const char *word)
{
    for (int i = 0; help_topic_name(i); i++)
        if (streq(help_topic_name(i), word))
            return true;
    return ops_find(word) != NULL;
}

void model_show_topic(struct model *m, const char *name)
{
    snprintf(m->topic, sizeof m->topic, "%s", name);
    m->pane[DOC_HELP].scroll = (struct scroll){0};
    m->pane[DOC_HELP].stamp = 0;
}

void model_open_help(struct model *m, const char *what)
{
    bool topic = is_topic(what);
    model_forget_menu(m);
    m->overlay = OVERLAY_NONE;
    m->help_n = model_contexts(m, m->help_chain);
    m->help_menu = false;
    m->overlay = OVERLAY_HELP;
    str_clear(&m->filter);
    str_add(&m->filter, topic ? "" : what);
    model_show_topic(m, topic ? what : "");
}

/* Whether the user must complete the line of b. Such a line cannot be tried to see if it is
 * legal. */
static bool needs_typing(const struct key_binding *b)
{
    size_t n = strlen(b->line);
    bool open = n > 0 && (b->line[n - 1] == ' ' || b->line[n - 1] == '"');
    return b->action == ACTION_ASK && (open || strstr(b->line, "reorder"));
}

/* Tries b on a copy of the program, and returns why it cannot run at the cursor; NULL if it can
 * run. *step gets the step that it runs, unless the user must complete the line. */
static char *refusal(struct model *m, const struct program *copy, const struct key_binding *b,
                     char **step)
{
    const char *pattern = b->action == ACTION_TOGGLE ? toggled(m, b->line) : b->line;
    bool is_step = str_starts(pattern, "loop ") || str_starts(pattern, "layout ");
    const struct program *ignored;
    struct str line = {0};
    struct err e;
    char *why = NULL;
    if (!fill_in(m, pattern, &line))
        why = xstrdup(str_text(&m->message.text));
    else if (is_step && (needs_typing(b)
             ? !tensor_allows(m, str_text(&line), &e)
             : !program_apply_line(copy, str_text(&line), &ignored, &e)))
        why = xstrdup(e.text);
    else if (is_step && !needs_typing(b))
        *step = xstrdup(str_text(&line));
    str_free(&line);
    return why;
}

void model_forget_menu(struct model *m)
{
    for (int i = 0; i < m->menu_why.len; i++)
        free(m->menu_why.data[i]);
    for (int i = 0; i < m->menu_line.len; i++)
        free(m->menu_line.data[i]);
    vec_free(&m->menu_why);
    vec_free(&m->menu_line);
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
    const struct program *copy = copy_program(a, model_program(m));
    for (int i = 0; i < key_binding_count(); i++) {
        const struct key_binding *b = key_binding_get(i);
        bool deed = b->context == m->help_chain[0] && b->line[0];
        char *step = NULL;
        vec_push(&m->menu_why, deed ? refusal(m, copy, b, &step) : NULL);
        vec_push(&m->menu_line, step);
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
    case ACTION_TOGGLE:    run_line(m, toggled(m, b->line)); break;
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
    model_run_pasted(m);  /* the line of the key may have been `source`, whose lines run now */
}
