/* The view `nest`: the loop nest, in which the cursor can be on each loop and each access. */
#include "app/views/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The place of the cursor, as names, because names stay the same after a step. axis: the loop, or
 * the tensor of the access. line: the line, for the case that the names are gone. */
struct loop_place { char stage[64], axis[64], access[256]; int line; };

static struct loop_place place_of(const struct pane_doc *p)
{
    struct loop_place at = {.line = p->scroll.cursor};
    const struct line *l = doc_at(&p->doc, &p->scroll);
    if (l && l->stage)
        snprintf(at.stage, sizeof at.stage, "%s", l->stage);
    if (l && p->scroll.item < l->n_items) {
        const struct doc_item *it = &l->item[p->scroll.item];
        snprintf(at.axis, sizeof at.axis, "%s", it->name);
        snprintf(at.access, sizeof at.access, "%s", it->access ? it->access : "");
    }
    return at;
}

/* Returns how close axis a is to the loop that was called `old`. 3: the same loop; 2: a part of the
 * old loop; 1: the loop of which the old one was a part; 0: another loop. */
static int kinship(const char *a, const char *old)
{
    size_t n = strlen(old), k = strlen(a);
    if (strcaseeq(a, old))
        return 3;
    if (strncasecmp(a, old, n) == 0 && (a[n] == '.' || a[n] == '_'))
        return 2;
    return strncasecmp(a, old, k) == 0 && (old[k] == '.' || old[k] == '_') ? 1 : 0;
}

/* Returns how close a selectable word is to the word on which the cursor was. For an access, 3: its
 * text begins with the text of the old access (the simulator shortens long texts); 2: it is an
 * access to the same tensor; 0: it is another access. For a loop, see kinship. A loop and an
 * access: 0. */
static int likeness(const struct doc_item *it, const struct loop_place *at)
{
    if (!it->access != !at->access[0])
        return 0;
    if (it->access)
        return str_starts(it->access, at->access) ? 3 : streq(it->name, at->axis) ? 2 : 0;
    return kinship(it->name, at->axis);
}

/* Puts the cursor on the same loop or access; if there is none, on the closest one (likeness); if
 * there is none either, on the same line. Of several equal places (a reduction has its loops
 * twice), takes the nearest one. */
static void restore_place(struct pane_doc *p, const struct loop_place *at)
{
    int best = 0;
    p->scroll.cursor = at->line;
    for (int i = 0; i < p->doc.lines.len && at->axis[0]; i++) {
        const struct line *l = &p->doc.lines.data[i];
        for (int k = 0; k < l->n_items; k++) {
            bool same_stage = l->stage && streq(l->stage, at->stage);
            int score = same_stage || !at->stage[0] ? likeness(&l->item[k], at) : 0;
            bool nearer = abs(i - at->line) < abs(p->scroll.cursor - at->line);
            if (score > best || (score == best && best > 0 && nearer)) {
                best = score;
                p->scroll.cursor = i;
                p->scroll.item = k;
            }
        }
    }
}

/* Puts the cursor on the loop with this number (struct tree).  If the loop is no item of its line
 * (its name is not in the schedule, as that of a loop that copies to a tile), on its line. */
static void go_to_number(struct pane_doc *p, int number)
{
    const struct doc *d = &p->doc;
    for (int i = 0; i < d->lines.len && d->lines.data[i].number <= number; i++) {
        const struct line *l = &d->lines.data[i];
        if (l->number > 0)
            p->scroll = (struct scroll){.cursor = i, .top = p->scroll.top};
        for (int k = 0; k < l->n_items; k++)
            if (l->item[k].number == number)
                p->scroll = (struct scroll){.cursor = i, .top = p->scroll.top, .item = k};
    }
}

static bool is_worth_a_look(const struct program *prog, const char *stage, const char *axis)
{
    int s = program_stage(prog, stage), a = s >= 0 ? stage_axis(prog->stage[s], axis) : -1;
    return a >= 0 && prog->stage[s]->axis[a].extent > 1;
}

/* Puts the cursor on the first line with loops of a stage: on the first loop with several
 * iterations, or else on the last loop of the line. Scrolls this line to the top of the pane. */
static void first_place(struct pane_doc *p, const struct program *prog, const char *stage)
{
    for (int i = 0; i < p->doc.lines.len; i++) {
        const struct line *l = &p->doc.lines.data[i];
        if (l->n_items == 0 || l->item[0].access || !l->stage || !streq(l->stage, stage))
            continue;
        p->scroll = (struct scroll){.cursor = i, .top = i};
        while (p->scroll.item + 1 < l->n_items
               && !is_worth_a_look(prog, stage, l->item[p->scroll.item].name))
            p->scroll.item++;
        return;
    }
}

/* Returns the name of the axis whose variable is printed as `var` in a line of a node; NULL: there
 * is none. The axis belongs to the node's stage, or to another stage inside of which the node may
 * be computed. */
static const char *axis_name(const struct program *prog, int node, const char *var)
{
    int axis = stage_axis(prog->stage[node], var);
    if (axis >= 0)
        return prog->stage[node]->axis[axis].name;
    for (int i = 0; i < prog->graph->n_nodes; i++) {
        axis = stage_axis(prog->stage[i], var);
        if (axis >= 0)
            return prog->stage[i]->axis[axis].name;
    }
    return NULL;
}

/* Makes the loop variables in a printed row selectable. *in_names: whether the row begins inside of
 * the list of variables of a `for`; *number: the number of the first loop of the row.  Both are set
 * for the next row. */
static void find_items(struct doc *d, struct line *l, const struct program *prog, int node,
                       bool *in_names, int *number)
{
    VEC(struct doc_item) items = {0};
    size_t at = strspn(l->text, " ");
    if (str_starts(l->text + at, "for ")) {
        *in_names = true;
        at += 4;
    }
    while (*in_names && l->text[at]) {
        size_t n = strcspn(l->text + at, ", ");
        char *var = arena_strndup(d->arena, l->text + at, n);
        if (streq(var, "in"))
            *in_names = false;
        const char *axis = *in_names && n > 0 ? axis_name(prog, node, var) : NULL;
        if (axis)
            vec_push(&items, (struct doc_item){axis, (int)at, (int)n, NULL, *number});
        size_t between = strspn(l->text + at + n, ", ");
        *number += *in_names && memchr(l->text + at + n, ',', between);
        at += n + between;
    }
    l->n_items = items.len;
    l->item = items.len > 0 ? ARENA_DUP(d->arena, items.data, items.len) : NULL;
    vec_free(&items);
}

/* Makes the accesses that begin in a row of a printed statement selectable. *row: where the row
 * begins in `whole`, the statement before it was broken into rows; set to where the next row
 * begins. The search begins at the beginning of the statement, because a row can begin inside of a
 * name. */
static void find_accesses(struct doc *d, struct line *l, const char *whole, const char **row)
{
    VEC(struct doc_item) items = {0};
    size_t indent = *row == whole ? 0 : strspn(l->text, " "), n = strlen(l->text) - indent;
    size_t name, all;
    for (const char *at = whole; (at = model_next_access(at, &name, &all)) && at < *row + n;
         at += name + 1)                 /* an index may contain accesses, too */
        if (at >= *row) {
            size_t from = (size_t)(at - *row), room = n - from;
            vec_push(&items, (struct doc_item){
                arena_strndup(d->arena, at, name), (int)(indent + from),
                (int)(all < room ? all : room), arena_strndup(d->arena, at, all), 0 });
        }
    *row += n + strspn(*row + n, " ");
    l->n_items = items.len;
    l->item = items.len > 0 ? ARENA_DUP(d->arena, items.data, items.len) : NULL;
    vec_free(&items);
}

/* If `text` is the line that declares `tile`, adds `says` below it: what is wrong with this tile.
 * tile NULL: no tile is wrong. */
static void note_tile(struct doc *d, const char *tile, const struct str *says, const char *text)
{
    const char *at = text + strspn(text, " ");
    size_t n = tile ? strlen(tile) : 0;
    if (n == 0 || strncmp(at, tile, n) != 0 || !str_starts(at + n, " = tile"))
        return;
    doc_pad(d, (int)(at - text) + 4);
    doc_printf(d, STYLE_BAD, "# %s", str_text(says));
    doc_end(d);
}

static void add_line(struct model *m, struct doc *d, const struct tree_lines *lines, int i,
                     int width)
{
    const struct program *prog = model_program(m);
    int state = 0, node = lines->node[i], number = lines->number[i];
    bool in_names = false;
    const char *row_text = lines->text[i];
    bool has_accesses = model_has_accesses(lines, i);
    int first = doc_code(d, lines->text[i], view_colour_nest, &state, width - 1);
    d->lines.data[first].number = number;
    for (int row = first; row < d->lines.len; row++) {
        struct line *l = &d->lines.data[row];
        l->stage = node >= 0 ? prog->stage[node]->name : NULL;
        if (lines->number[i] > 0)
            find_items(d, l, prog, node, &in_names, &number);
        else if (has_accesses)
            find_accesses(d, l, lines->text[i], &row_text);
    }
}

/* Moves the cursor to the loop or access of m->step_stage, step_axis, step_access and step_number,
 * which a command or a typed step has set. If there is no such loop or access, moves it to the
 * first loop of the stage. */
static void go_to_step(const struct model *m, struct pane_doc *p)
{
    struct loop_place at = {.line = p->scroll.cursor};
    if (m->step_number > 0) {
        go_to_number(p, m->step_number);
        return;
    }
    snprintf(at.stage, sizeof at.stage, "%s", m->step_stage);
    snprintf(at.axis, sizeof at.axis, "%s", m->step_axis);
    snprintf(at.access, sizeof at.access, "%s", m->step_access);
    restore_place(p, &at);
    const struct line *l = doc_at(&p->doc, &p->scroll);
    if (at.stage[0] && (!l || !l->stage || !streq(l->stage, at.stage)))
        first_place(p, model_program(m), at.stage);
}

/* If the nest under the cursor ends below the pane, scrolls so that as much of it as possible is
 * visible, because a step changes this nest and not the padding before it. */
static void show_nest(struct pane_doc *p, int height)
{
    const struct line *l = p->doc.lines.data;
    int n = p->doc.lines.len, first = p->scroll.cursor, end;
    if (n == 0 || height <= 0)
        return;
    first = first < 0 ? 0 : first < n ? first : n - 1;   /* there may be fewer lines than before */
    while (first > 0 && l[first].text[0] == ' ')
        first--;
    end = doc_block_end(&p->doc, first);
    if (end > p->scroll.top + height)
        p->scroll.top = end - height < first ? end - height : first;
}

/* After a jump to a loop: if the body of the loop ends below the pane, scrolls so that more of it
 * is visible. */
static void show_body(struct pane_doc *p, int height)
{
    int at = p->scroll.cursor;
    bool valid = at >= 0 && at < p->doc.lines.len;       /* there may be fewer lines than before */
    if (valid && doc_block_end(&p->doc, at) > p->scroll.top + height)
        p->scroll.top = at > height / 4 ? at - height / 4 : 0;
}

void view_nest_build(struct model *m, struct pane_doc *p, int width)
{
    struct err e;
    bool first = p->doc.lines.len == 0;
    struct loop_place at = place_of(p);
    doc_clear(&p->doc);
    const struct func *f;
    if (!program_lower(model_program(m), &f, &e)) {
        doc_wrap(&p->doc, STYLE_BAD, e.text, width - 1, 0);
        return;
    }
    struct tree_lines lines = func_lines(p->doc.arena, f);
    struct str says = {0};
    const char *tile = model_tile_note(m, history_current(m->session->history), f, &says);
    for (int i = 0; i < lines.n; i++) {
        add_line(m, &p->doc, &lines, i, width);
        note_tile(&p->doc, tile, &says, lines.text[i]);
    }
    str_free(&says);
    if (first) {                         /* the cursor goes to the operator, not to its padding */
        const struct program *prog = model_program(m);
        first_place(p, prog, prog->stage[prog->graph->main_node]->name);
    } else if (m->step_access[0]) {
        go_to_step(m, p);
    } else if (m->step_stage[0] && (m->to_loop || !streq(m->step_stage, at.stage))) {
        go_to_step(m, p);
    } else {
        restore_place(p, &at);
    }
    show_nest(p, m->frame.pane[PANE_MAIN].h - 1);
    if (m->to_loop)
        show_body(p, m->frame.pane[PANE_MAIN].h - 1);
    m->step_stage[0] = m->step_access[0] = 0;
    m->step_number = 0;
    m->to_loop = false;
}

/* Returns how many iterations of the loop under the cursor run in this nest; for example 21 of 22,
 * if the last one has a nest of its own. 0: the text of the row does not show the number. */
static int64_t iterations_here(const struct model *m)
{
    const struct pane_doc *p = &m->pane[VIEW_NEST];
    const struct line *l = doc_at(&p->doc, &p->scroll);
    const char *at = l ? strstr(l->text, " in ") : NULL;
    int64_t number[MAX_DIMS * 2];
    int n = 0;
    at = at ? strchr(at, '(') : NULL;
    for (; at && n < COUNT_OF(number); at = strchr(at + 1, ','))
        number[n++] = strtoll(at + 1, NULL, 10);
    if (n == 2 && l->n_items == 1)        /* range(a, b): from a up to b */
        return number[1] - number[0];
    return n > 0 && n == l->n_items && p->scroll.item < n ? number[p->scroll.item] : 0;
}

void view_nest_hint(const struct model *m, struct str *out)
{
    static const char *const how[LOOP_ANN_COUNT] = {
        [LOOP_SERIAL] = "", [LOOP_PARALLEL] = ", shared among threads",
        [LOOP_VECTORIZE] = ", in vector lanes", [LOOP_UNROLL] = ", written out",
        [LOOP_THREADS] = "", [LOOP_TENSOR] = ", on tensor cores",
        [LOOP_BLOCK_X] = ", blocks along x", [LOOP_BLOCK_Y] = ", blocks along y",
        [LOOP_BLOCK_Z] = ", blocks along z", [LOOP_THREAD_X] = ", threads along x",
        [LOOP_THREAD_Y] = ", threads along y", [LOOP_THREAD_Z] = ", threads along z",
    };
    const struct stage *s;
    int axis;
    struct cursor_subject on = model_subject(m);
    if (on.kind == SUBJECT_ACCESS) {
        bool local = graph_tensor(model_program(m)->graph, on.tensor) < 0;
        str_printf(out, "access %s%s Enter goes to its misses.", on.access,
                   local ? ", a local tile: in registers it needs no memory; else" : ".");
        return;
    }
    if (!model_loop(m, &s, &axis)) {
        str_add(out, "Up and Down move to a loop, Left and Right between the loops of a line.");
        return;
    }
    const struct axis *a = &s->axis[axis];
    int64_t here = iterations_here(m);
    str_printf(out, "loop %s of %s: ", a->name, s->name);
    if (here > 0 && here < a->extent)
        str_printf(out, "%lld of its ", (long long)here);
    str_printf(out, "%lld iteration%s%s%s%s. Enter lists what can be done.",
               (long long)a->extent, a->extent == 1 ? "" : "s",
               here > 0 && here < a->extent ? " are in this nest" : "",
               a->reduce ? ", summed over" : "", how[a->ann]);
}
