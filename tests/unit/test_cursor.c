/* One cursor: an access to memory is selected in the nest, and a row of the profile leads to it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "app/views/view_marks.h"
#include "tests/unit/model_help.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define GMM "gmm m=64 k=32 n=48"
#define MEASURED "tests/golden/views/session.yaml"

static char root[512];

/* A session whose state has measured misses; 80 x 24. */
static struct model *measured(void)
{
    char path[sizeof root + sizeof MEASURED];
    struct session *s = NULL;
    struct err e;
    snprintf(path, sizeof path, "%s/%s", root, MEASURED);
    if (!session_load(path, &s, &e))
        fail_msg("%s", e.text);
    struct model *m = model_new(s, &(struct model_opts){.no_auto = true}, true);
    m->roofs.looked = true;
    screen_refresh(m);
    return m;
}

/* The access under the cursor, "" if there is none. */
static const char *access_at(const struct model *m)
{
    struct cursor_subject on = model_subject(m);
    return on.kind == SUBJECT_ACCESS ? on.access : "";
}

/* Goes on to the next access that begins so. */
static void go_to_access(struct model *m, const char *text)
{
    for (int i = 0; i < 300 && !str_starts(access_at(m), text); i++)
        press(m, "Right");
}

static void run_lines(struct model *m, const char *const *line, int n)
{
    for (int i = 0; i < n; i++)
        if (!model_run(m, line[i]))
            fail_msg("%s: %s", line[i], screen_of(m));
}

/* Runs the job that a view of code waits for, and shows its text. */
static void make_text(struct model *m, enum job_kind kind)
{
    struct desired_job w;
    struct cancel c = {0};
    assert_true(model_desired_job(m, LANE_TEXT, &w) && w.kind == kind);
    struct app_job *j = model_job(m, &w);
    job_run(j, &c, NULL);
    assert_true(j->ok);
    model_done(m, j);
    job_free(j);
    screen_refresh(m);
}

/* How many cells of the screen have the style of marks and show this name from their left. */
static int marks_of(struct model *m, const char *name)
{
    struct grid g;
    int n = 0, len = (int)strlen(name);
    grid_open(&g, m->w, m->h, true);
    screen_refresh(m);
    screen_draw(m, &g);
    for (int y = 1; y < m->h - 2; y++)
        for (int x = 0; x + len < m->w; x++) {
            int k = 0;
            while (k < len && (int)grid_at(&g, x + k, y)->ch == name[k]
                   && (grid_at(&g, x + k, y)->style & ~STYLE_REVERSE) == STYLE_KEY)
                k++;
            n += k == len;
        }
    grid_close(&g);
    return n;
}

/* The tensor under the cursor of the graph. */
static const char *subject_of_graph(const struct model *m)
{
    const struct pane_doc *p = &m->pane[VIEW_GRAPH];
    const struct line *l = doc_at(&p->doc, &p->scroll);
    return l && l->n_items > 0 ? l->item[0].name : "";
}

static void arrows_lead_to_the_accesses(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "Right");
    assert_string_equal(loop_of(m), "N");
    assert_int_equal(marks_of(m, "A"), 0);
    assert_shows(m, "S split");
    static const char *const access[] = {"C[m][n]", "A[m][k]", "B[k][n]"};
    char seen[256] = "";
    for (int i = 0; i < 6; i++) {         /* to the end: more presses stay there */
        press(m, "Right");
        if (access_at(m)[0] && !strstr(seen, access_at(m)))
            strcat(strcat(seen, " "), access_at(m));
    }
    for (int i = 0; i < COUNT_OF(access); i++)
        assert_non_null(strstr(seen, access[i]));
    assert_string_equal(loop_of(m), "");
    assert_string_equal(access_at(m), "B[k][n]");
    assert_true(marks_of(m, "B") > 0);
    assert_int_equal(marks_of(m, "A"), 0);
    assert_shows(m, "access B[k][n]. Enter goes to its misses.");
    assert_shows(m, "Enter misses  Left previous  Right next");
    assert_hides(m, "S split");
    press(m, "Left");
    assert_string_equal(access_at(m), "A[m][k]");
    assert_true(marks_of(m, "A") > 0);
    assert_int_equal(marks_of(m, "B"), 0);
    press(m, "2");                        /* in the expressions too */
    assert_true(marks_of(m, "A") > 0);
    press(m, "1 Enter");
    assert_int_equal(m->view[PANE_SIDE], VIEW_PROFILE);
    assert_int_equal(m->focus, PANE_SIDE);
    assert_shows(m, "Not measured yet.");
    press(m, "1 S");
    assert_shows(m, "the cursor is not on a loop");
    model_free(m);
}

/* The same tensor's access stays selected when a step has changed its indices, and undo goes
 * back. */
static void an_access_survives_a_step(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    for (int i = 0; i < 20 && strcmp(access_at(m), "A[m][k]") != 0; i++)
        press(m, "Right");
    assert_string_equal(access_at(m), "A[m][k]");
    type_line(m, "loop split C K 8");
    screen_refresh(m);
    assert_string_equal(step_of(m), "loop split C K 8");
    assert_string_equal(access_at(m), "A[m][8*k.0 + k.1]");
    type_line(m, "loop reorder C N K.0 M K.1");
    screen_refresh(m);
    assert_string_equal(access_at(m), "A[m][8*k.0 + k.1]");
    press(m, "u u");
    screen_refresh(m);
    assert_string_equal(access_at(m), "A[m][k]");
    model_free(m);
}

/* The accesses of the nest that can be selected, in order. */
static void accesses(const struct model *m, struct str *out)
{
    const struct doc *d = &m->pane[VIEW_NEST].doc;
    for (int i = 0; i < d->lines.len; i++)
        for (int k = 0; k < d->lines.data[i].n_items; k++) {
            const struct doc_item *it = &d->lines.data[i].item[k];
            if (it->col + it->len > (int)strlen(d->lines.data[i].text))
                fail_msg("%d columns: %s in %s", m->w, it->name, d->lines.data[i].text);
            if (it->access)
                str_printf(out, "%s ", it->access);
        }
}

/* Rows are broken anywhere, before a bracket and inside a name too: the accesses stay the same. */
static void narrow_rows_have_the_same_accesses(void **state)
{
    (void)state;
    struct str want = {0}, got = {0};
    struct model *m = model_on("x = input n=1 i=8 h=8 w=8; "
                               "a_long_name = c2d(x) o=8 k=3 p=1 relu=1; "
                               "b = c2d(a_long_name) o=8 k=1; y = add(b, x)");
    type_line(m, "network off");
    model_resize(m, 200, 60);
    screen_refresh(m);
    accesses(m, &want);
    assert_non_null(strstr(str_text(&want), "a_long_name["));
    for (int w = 120; w >= 10; w--) {
        model_resize(m, w, 40);
        screen_refresh(m);
        str_clear(&got);
        accesses(m, &got);
        assert_string_equal(str_text(&got), str_text(&want));
    }
    str_free(&want);
    str_free(&got);
    model_free(m);
}

/* A statement that takes several rows has the same accesses as at any other width, in whole. */
static void an_access_survives_wrapped_rows(void **state)
{
    (void)state;
    struct model *m = measured();
    char want[256] = "";
    model_resize(m, 200, 60);
    screen_refresh(m);
    for (int i = 0; i < 60 && strncmp(access_at(m), "Bias[", 5) != 0; i++)
        press(m, "Right");
    snprintf(want, sizeof want, "%s", access_at(m));
    assert_string_equal(want, "Bias[32*o.0 + o.1]");
    for (int w = 200; w >= 36; w -= 4) {
        model_resize(m, w, 40);
        screen_refresh(m);
        if (strcmp(access_at(m), want) != 0)
            fail_msg("%d columns: %s", w, access_at(m));
    }
    model_free(m);
}

/* The index of the first row of the profile of that tensor, of all of it or (site) of one of its
 * accesses; -1: none. */
static int row_of(const struct model *m, const char *tensor, bool site)
{
    const struct doc *d = &m->pane[VIEW_PROFILE].doc;
    for (int i = 0; i < d->lines.len; i++) {
        const struct line *l = &d->lines.data[i];
        if (l->stage && strcmp(l->stage, tensor) == 0 && !l->loop == !site)
            return i;
    }
    return -1;
}

static void enter_on(struct model *m, int row)
{
    press(m, "6");
    screen_refresh(m);
    assert_true(row >= 0);
    m->pane[VIEW_PROFILE].scroll.cursor = row;
    press(m, "Enter");
    screen_refresh(m);
}

/* The first row of that access: of its loads and stores, what misses more. */
static int first_of(const struct model *m, const char *access)
{
    const struct doc *d = &m->pane[VIEW_PROFILE].doc;
    for (int i = 0; i < d->lines.len; i++)
        if (d->lines.data[i].loop && strcmp(d->lines.data[i].loop, access) == 0)
            return i;
    return -1;
}

static void a_row_of_the_profile_leads_to_its_access(void **state)
{
    (void)state;
    static const char *const tensor[] = {"Ker", "ReLU", "Inp", "Inp_in", "Bias"};
    struct model *m = measured();
    press(m, "6");
    screen_refresh(m);
    assert_hides(m, "Enter nest");       /* the first line names no tensor */
    assert_shows(m, "m measure");
    m->pane[VIEW_PROFILE].scroll.cursor = row_of(m, tensor[0], false);
    screen_refresh(m);
    assert_shows(m, "Enter nest");
    for (int i = 0; i < COUNT_OF(tensor); i++) {
        enter_on(m, row_of(m, tensor[i], false));
        assert_int_equal(m->focus, PANE_MAIN);
        struct cursor_subject on = model_subject(m);
        assert_int_equal(on.kind, SUBJECT_ACCESS);
        assert_string_equal(on.tensor, tensor[i]);
        assert_true(marks_of(m, tensor[i]) > 0);
    }
    int sites = 0;
    for (int i = 0; i < m->pane[VIEW_PROFILE].doc.lines.len; i++) {
        const char *site = m->pane[VIEW_PROFILE].doc.lines.data[i].loop;
        if (!site)
            continue;
        char want[256];
        snprintf(want, sizeof want, "%s", site);
        enter_on(m, i);
        assert_string_equal(access_at(m), want);
        press(m, "Enter");                /* and back */
        screen_refresh(m);
        assert_int_equal(m->pane[VIEW_PROFILE].scroll.cursor, first_of(m, want));
        sites++;
    }
    assert_true(sites >= 6);
    model_free(m);
}

/* A new measurement leaves the cursor on the row that the reader follows. */
static void rows_stay_under_the_cursor(void **state)
{
    (void)state;
    struct model *m = measured();
    const struct pane_doc *p = &m->pane[VIEW_PROFILE];
    press(m, "1 g");
    go_to_access(m, "Ker[");
    press(m, "Enter");
    screen_refresh(m);
    char site[256];
    snprintf(site, sizeof site, "%s", doc_at(&p->doc, &p->scroll)->loop);
    assert_true(str_starts(site, "Ker["));
    struct measurement noisy = *history_current(m->session->history)->measured;
    noisy.load = 9;                       /* which adds lines above the misses */
    noisy.latency.spread = 0.9;
    history_set_measured(m->session->history, history_current(m->session->history)->id, &noisy);
    int was = p->scroll.cursor;
    m->data_stamp++;
    screen_refresh(m);
    assert_string_equal(doc_at(&p->doc, &p->scroll)->loop, site);
    assert_int_not_equal(p->scroll.cursor, was);
    model_free(m);
}

/* The profile has no row of a tile in registers. */
static void a_tile_in_registers_says_so(void **state)
{
    (void)state;
    struct model *m = measured();
    press(m, "1 g");
    for (int i = 0; i < 300 && !strstr(access_at(m), "_acc["); i++)
        press(m, "Right");
    assert_shows(m, ", a local tile: in registers it needs no memory");
    press(m, "Enter");
    assert_shows(m, "the profile has no row for ");
    assert_shows(m, ": a tile in registers");
    model_resize(m, 200, 40);
    press(m, "1 : isa Space sse Enter Enter");           /* which has too few for it */
    assert_shows(m, ": the tile Conv_acc spills: takes ");
    assert_hides(m, ": a tile in registers");
    model_free(m);
}

/* Views of code open at the loop around the access, or around the tile, that the cursor is on. */
static void code_opens_at_the_loop_around(void **state)
{
    (void)state;
    static const struct { const char *words, *loop; } row[] = {
        { "Ker[", "for (long i = 0;" }, { "Conv_acc = tile[", "for (long o_0 = 0;" },
    };
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct model *m = measured();
        const struct pane_doc *p = &m->pane[VIEW_C], *nest = &m->pane[VIEW_NEST];
        press(m, "1 g");
        for (int k = 0; k < 300 && !str_starts(access_at(m), row[i].words)
                        && !strstr(doc_at(&nest->doc, &nest->scroll)->text, row[i].words); k++)
            press(m, row[i].words[3] == '[' ? "Right" : "Down");
        press(m, "4");
        make_text(m, JOB_C);
        if (row[i].words[3] == '[')       /* what is loaded of it is marked, too */
            assert_true(marks_of(m, "ker") >= 2);
        const struct line *at = doc_at(&p->doc, &p->scroll);
        if (!strstr(at[strstr(at->text, "ROLLED") != NULL].text, row[i].loop))
            fail_msg("%s: %s", row[i].words, at->text);
        model_free(m);
    }
}

/* The layouts open at the tensor of the access also from another view of it, once: then the reader
 * may go elsewhere. */
static void layouts_open_from_other_views(void **state)
{
    (void)state;
    struct model *m = measured();
    press(m, "1 g");
    go_to_access(m, "Ker[");
    press(m, "2 3");
    assert_shows(m, "\xe2\x96\xb8" "Ker = ");
    press(m, "g");
    const char *other = doc_at(&m->pane[VIEW_LAYOUT].doc, &m->pane[VIEW_LAYOUT].scroll)->stage;
    assert_string_not_equal(other, "Ker");
    press(m, "4 3");
    assert_string_equal(doc_at(&m->pane[VIEW_LAYOUT].doc, &m->pane[VIEW_LAYOUT].scroll)->stage,
                        other);
    press(m, "1 3");
    assert_shows(m, "\xe2\x96\xb8" "Ker = ");
    model_free(m);
}

/* In the assembly, the instructions that read the chosen tensor are marked: vector loads of the
 * weights, or broadcasts of the image, which are folded into the line that uses them; and no
 * instruction that stores. */
static void loads_of_the_tensor_are_marked(void **state)
{
    static const char *const read[][2] = { { "Ker[", "mov" }, { "Inp[", "broadcast" } };
    (void)state;
    struct model *m = measured();
    model_resize(m, 200, 60);
    for (int r = 0; r < COUNT_OF(read); r++) {
        press(m, "1 g");
        go_to_access(m, read[r][0]);
        press(m, "5");
        if (r == 0)
            make_text(m, JOB_ASM);
        struct view_marks own;
        struct doc_look look = {0};
        int loads = 0;
        view_marks(m, VIEW_ASM, &own, &look);
        for (int i = 0; i < m->pane[VIEW_ASM].doc.lines.len; i++) {
            const struct line *l = &m->pane[VIEW_ASM].doc.lines.data[i];
            bool marked = l->id >= 0 && look.marked(look.ctx, l->id);
            loads += marked && strstr(l->text, "PTR [") && strstr(l->text, read[r][1]);
            assert_false(marked && r == 0 && strstr(l->text, "],"));
        }
        assert_true(loads > 0);
    }
    model_free(m);
}

/* A wider or narrower pane breaks the lines above otherwise, and the cursor stays on its line. */
static void zoom_keeps_the_instruction(void **state)
{
    (void)state;
    struct model *m = measured();
    struct pane_doc *p = &m->pane[VIEW_ASM];
    model_resize(m, 100, 32);
    press(m, "5");
    make_text(m, JOB_ASM);
    memset(m->code[CODE_ASM].ports.reason, 'x', sizeof m->code[CODE_ASM].ports.reason - 1);
    m->stamp++;
    screen_refresh(m);
    press(m, "G k k k");
    for (int i = 0; i < 2; i++) {         /* on an instruction, then on the heading of a loop */
        char before[19];                  /* headings are longer in a wide pane */
        int at = p->scroll.cursor;
        snprintf(before, sizeof before, "%s", doc_at(&p->doc, &p->scroll)->text);
        press(m, "_");
        assert_true(str_starts(doc_at(&p->doc, &p->scroll)->text, before));
        assert_int_not_equal(p->scroll.cursor, at);
        press(m, "_");
        assert_true(str_starts(doc_at(&p->doc, &p->scroll)->text, before));
        assert_int_equal(p->scroll.cursor, at);
        press(m, "H");
    }
    press(m, "_ g _ _");                  /* the first line of the heading stays */
    assert_int_equal(p->scroll.top, 0);
    assert_int_equal(p->scroll.cursor, 0);
    model_free(m);
}

/* A nest that is shorter than before has no line where the cursor was. */
static void the_nest_may_shrink(void **state)
{
    (void)state;
    struct model *m = measured();
    struct pane_doc *p = &m->pane[VIEW_NEST];
    model_resize(m, 80, 24);
    press(m, "1 G");
    p->scroll.cursor = p->doc.lines.len + 3;
    m->stamp++;
    screen_refresh(m);
    assert_in_range(p->scroll.cursor, 0, p->doc.lines.len - 1);
    assert_in_range(p->scroll.top, 0, p->doc.lines.len - 1);
    model_free(m);
}

/* Returns whether the C marks a line that has the text, for the loop under the cursor. */
static bool marks_line_with(struct model *m, const char *text)
{
    bool marks = false;
    screen_refresh(m);
    for (int i = 0; i < m->pane[VIEW_C].doc.lines.len; i++) {
        const struct line *l = &m->pane[VIEW_C].doc.lines.data[i];
        marks |= l->id >= 0 && model_lit(m, VIEW_C, l->id) && strstr(l->text, text);
    }
    return marks;
}

/* An unrolled loop stands in several places of the nest: the C marks the loop around the place of
 * the cursor. */
static void the_place_of_an_unrolled_loop(void **state)
{
    static const char *const lines[] = {
        "loop split C M 4", "loop split C N 16", "loop reorder C M.0 N.0 K M.1 N.1",
        "loop cache_write C at=N.0", "loop unroll C M.1", "loop vectorize C N.1",
    };
    (void)state;
    struct session *s;
    struct err e;
    assert_true(session_new("gmm m=64 k=64 n=64", &s, &e));
    struct model *m = model_new(s, &(struct model_opts){.no_auto = true}, true);
    m->roofs.looked = true;
    model_resize(m, 200, 60);
    run_lines(m, lines, COUNT_OF(lines));
    press(m, "1 G k k");                                 /* the loop M.1 that stores */
    press(m, "j W");                                     /* a statement: the loop around it */
    assert_shows(m, "N.1 of C: step ");
    press(m, "k 4");
    make_text(m, JOB_C);
    assert_true(marks_line_with(m, "store"));
    press(m, "g W");
    assert_shows(m, "this line belongs to no loop of the nest");
    const struct pane_doc *c = &m->pane[VIEW_C];
    for (const char *on = NULL; !on || !streq(on, "M.0"); on = doc_at(&c->doc, &c->scroll)->loop)
        press(m, "j");
    press(m, "W");                                       /* of the line, not of the nest */
    assert_shows(m, "M.0 of C: step ");
    press(m, "1 4");
    press(m, "1 k k k");                                 /* and the one that sums */
    assert_false(marks_line_with(m, "store"));
    assert_true(marks_line_with(m, "+="));
    model_free(m);
}

/* How many lines of the C with "for (" are marked; *first: the first of them, or -1. */
static int marked_loops(const struct model *m, int *first)
{
    const struct doc *d = &m->pane[VIEW_C].doc;
    int n = 0;
    *first = -1;
    for (int i = d->lines.len - 1; i >= 0; i--) {
        const struct line *l = &d->lines.data[i];
        if (strstr(l->text, "for (long ") && model_lit(m, VIEW_C, l->id)) {
            *first = i;
            n++;
        }
    }
    return n;
}

/* In a nest that is cut into copies, Enter on a loop of the C goes to the copy that it is, and the
 * C marks this copy, from the line with `for` on. */
static void each_copy_of_a_loop_has_its_place(void **state)
{
    static const char *const lines[] = {
        "set input_layout given", "layout set Inp_in \"N H W I\"", "layout set Conv \"N H W O\"",
        "loop inline Inp", "loop split Conv W 2 4", "loop reorder Conv N H W.0 KH KW I W.1 O",
        "loop cache_write Conv at=W.0", "loop unroll Conv W.1", "loop vectorize Conv O",
    };
    (void)state;
    struct model *m = model_on("c2d n=1 i=8 h=8 w=8 o=8 k=3 p=1");
    int ranges = 0, copies = 0, first, number;
    run_lines(m, lines, COUNT_OF(lines));
    model_resize(m, 200, 60);
    press(m, "4");
    make_text(m, JOB_C);
    struct pane_doc *c = &m->pane[VIEW_C];
    for (int i = 0; i < c->doc.lines.len; i++) {
        const char *kw = strstr(c->doc.lines.data[i].text, "for (long kw = ");
        char want[64];
        number = c->doc.lines.data[i].number;
        if (!strstr(c->doc.lines.data[i].text, "for (long "))
            continue;
        press(m, "4");
        c->scroll.cursor = i;
        press(m, "Enter");
        screen_refresh(m);
        const struct pane_doc *nest = &m->pane[VIEW_NEST];
        const struct line *at = doc_at(&nest->doc, &nest->scroll);
        assert_int_equal(m->focus, PANE_MAIN);
        assert_true(number > 0);
        assert_int_equal(at->item[nest->scroll.item].number, number);
        if (kw) {
            snprintf(want, sizeof want, "kw in range(%c, %c)", kw[15], strstr(kw, " < ")[3]);
            assert_non_null(strstr(at->text, want));
            ranges++;
        }
        marked_loops(m, &first);
        assert_int_equal(first, i);
        copies += marked_loops(m, &first) == 1 && strstr(at->text, "for i in");
    }
    assert_int_equal(ranges, 2);
    assert_int_equal(copies, 4);
    model_free(m);
}

static void go_to_line(struct model *m, enum view v, const char *text)
{
    struct pane_doc *p = &m->pane[v];
    for (int i = 0; i < p->doc.lines.len; i++)
        if (strstr(p->doc.lines.data[i].text, text)) {
            p->scroll.cursor = i;
            p->scroll.item = 0;
            return;
        }
    fail_msg("no line with %s:\n%s", text, screen_of(m));
}

/* A piece of a cut loop with one iteration is no loop in the code: the loops inside this piece are
 * marked, and not those of the other pieces. */
static void a_piece_of_one_iteration_marks_its_loops(void **state)
{
    (void)state;
    struct model *m = model_on("c2d n=1 i=1 h=6 w=6 o=4 k=3 p=1");
    int first, all, lines = 0;
    model_resize(m, 200, 60);
    assert_true(model_run(m, "set autovectorize on"));   /* the loops of the padding stay loops */
    press(m, "4");
    make_text(m, JOB_C);
    press(m, "1");
    go_to_line(m, VIEW_NEST, "for h in range(7, 8)");
    screen_refresh(m);
    all = marked_loops(m, &first);
    assert_int_equal(all, 1);
    assert_non_null(strstr(m->pane[VIEW_C].doc.lines.data[first].text, "for (long w"));
    for (int i = 0; i < first; i++)
        lines += strstr(m->pane[VIEW_C].doc.lines.data[i].text, "for (long w") != NULL;
    assert_int_equal(lines, 2);           /* of the top border and of the middle */
    model_free(m);
}

/* A loop of the C whose machine code is gone: the loop around it is marked. */
static void a_loop_without_lines_marks_the_one_around(void **state)
{
    (void)state;
    struct model *m = model_on("gmm m=8 k=8 n=8");
    int first;
    model_resize(m, 200, 60);
    press(m, "4");
    make_text(m, JOB_C);
    press(m, "1");
    go_to_line(m, VIEW_NEST, "for k in");
    screen_refresh(m);
    assert_int_equal(marked_loops(m, &first), 1);
    struct code_text *c = &m->code[CODE_C];
    for (int k = 0; k < c->lines.n_loops; k++)
        c->used[k] = c->used[k] && !strcaseeq(c->lines.loop[k].axis, "K");
    assert_int_equal(marked_loops(m, &first), 2);
    assert_non_null(strstr(m->pane[VIEW_C].doc.lines.data[first].text, "for (long n"));
    model_free(m);
}

/* Loops that copy to a tile have no name of a schedule; Enter goes to their line nevertheless. */
static void enter_finds_the_loops_of_a_tile(void **state)
{
    static const char *const lines[] = {
        "loop split C M 4", "loop split C K 8", "loop reorder C M.0 K.0 N M.1 K.1",
        "loop cache_read C A at=K.0",
    };
    (void)state;
    struct model *m = model_on("gmm m=16 k=32 n=16");
    int copies = 0;
    run_lines(m, lines, COUNT_OF(lines));
    model_resize(m, 200, 60);
    press(m, "4");
    make_text(m, JOB_C);
    const struct pane_doc *c = &m->pane[VIEW_C], *nest = &m->pane[VIEW_NEST];
    for (int i = 0; i < c->doc.lines.len; i++) {
        if (!strstr(c->doc.lines.data[i].text, "for (long "))
            continue;
        int number = c->doc.lines.data[i].number;
        press(m, "4");
        m->pane[VIEW_C].scroll.cursor = i;
        press(m, "Enter");
        screen_refresh(m);
        const struct line *at = doc_at(&nest->doc, &nest->scroll);
        assert_non_null(strstr(at->text, "for "));
        copies += at->n_items == 0;
        if (at->n_items > 0)
            assert_int_equal(at->item[nest->scroll.item].number, number);
        else
            assert_in_range(number - at->number, 0, 1);
    }
    assert_in_range(copies, 1, 2);
    model_free(m);
}

/* The code of an earlier state knows the numbers of that state only: a jump from it goes by
 * name. */
static void old_code_leads_by_name(void **state)
{
    (void)state;
    struct model *m = model_on("gmm m=16 k=32 n=16");
    model_resize(m, 200, 60);
    press(m, "4");
    make_text(m, JOB_C);
    assert_true(model_run(m, "loop split C M 4"));
    screen_refresh(m);
    press(m, "4");
    go_to_line(m, VIEW_C, "for (long k");
    assert_true(model_run(m, "loop_of"));
    screen_refresh(m);
    assert_string_equal(loop_of(m), "K");
    make_text(m, JOB_C);                  /* a change before the jump is drawn: by name, too */
    press(m, "4");
    go_to_line(m, VIEW_C, "for (long k");
    assert_true(model_run(m, "loop_of") && model_run(m, "undo"));
    screen_refresh(m);
    assert_string_equal(loop_of(m), "K");
    model_free(m);
}

/* However narrow the pane is, each loop of the nest has the number that it has in a wide one. */
static void loops_keep_their_numbers_in_narrow_panes(void **state)
{
    static const char *const lines[] = {
        "loop split C M 4", "loop split C M.1 2", "loop split C K 8", "loop split C K.0 2",
        "loop split C K.0.1 2", "loop split C N 8", "loop split C N.0 2",
    };
    (void)state;
    struct model *m = model_on("gmm m=16 k=32 n=16");
    int number[64] = {0}, n = 0;
    run_lines(m, lines, COUNT_OF(lines));
    for (int w = 200; w >= 20; w -= 5) {
        int seen = 0;
        model_resize(m, w, 40);
        screen_refresh(m);
        const struct doc *d = &m->pane[VIEW_NEST].doc;
        for (int i = 0; i < d->lines.len; i++)
            for (int k = 0; k < d->lines.data[i].n_items; k++) {
                const struct doc_item *it = &d->lines.data[i].item[k];
                if (it->access)
                    continue;
                if (w == 200)
                    number[n++] = it->number;
                bool known = false;       /* a name that is cut in two is no item */
                for (; seen < n && !known; seen++)
                    known = number[seen] == it->number;
                assert_true(known);
            }
    }
    assert_in_range(n, 9, 20);
    model_free(m);
}

/* Nothing moves, and it is said why. */
static void a_row_without_an_access_says_so(void **state)
{
    (void)state;
    struct model *m = measured();
    press(m, "6");
    screen_refresh(m);
    enter_on(m, 0);
    assert_int_equal(m->focus, PANE_SIDE);
    assert_shows(m, "this line is about no tensor and no access");
    assert_shows(m, "Enter on a row of the misses");
    int at = m->pane[VIEW_NEST].scroll.cursor;
    enter_on(m, row_of(m, "Conv", false));           /* its sums are in a local tile */
    assert_int_equal(m->focus, PANE_SIDE);
    assert_shows(m, "the nest has no access to Conv");
    assert_int_equal(m->pane[VIEW_NEST].scroll.cursor, at);
    type_line(m, "access_of");
    assert_shows(m, "the nest has no access to Conv");
    press(m, "Esc");
    type_line(m, "view nest");
    type_line(m, "access_of");
    assert_shows(m, "this line is about no tensor and no access");
    model_free(m);
}

/* Enter shows the subject of a line in another view, and Esc the line again: also after a few of
 * these, and with another line under the cursor there. */
static void escape_goes_back_to_the_line(void **state)
{
    (void)state;
    struct model *m = model_on("c2d n=1 i=4 h=8 w=8 o=8 k=3 p=1 bias=1 relu=1");
    press(m, "7");
    screen_refresh(m);
    press(m, "g");
    for (int i = 0; i < 30 && strcmp(subject_of_graph(m), "BiasAdd") != 0; i++)
        press(m, "j");
    assert_string_equal(subject_of_graph(m), "BiasAdd");
    press(m, "Enter");
    screen_refresh(m);
    assert_int_equal(m->focus, PANE_MAIN);
    assert_shows(m, "Esc goes back to the view graph");
    press(m, "Down Esc");
    screen_refresh(m);
    assert_int_equal(m->focus, PANE_SIDE);
    assert_int_equal(m->view[PANE_SIDE], VIEW_GRAPH);
    assert_string_equal(subject_of_graph(m), "BiasAdd");
    press(m, "Enter");                    /* to the nest, then to the profile, and back twice */
    screen_refresh(m);
    for (int i = 0; i < 30 && !access_at(m)[0]; i++)
        press(m, "Right");
    press(m, "Enter");
    assert_int_equal(m->view[PANE_SIDE], VIEW_PROFILE);
    assert_shows(m, "Esc goes back to the view nest");
    press(m, "Esc");
    assert_int_equal(m->focus, PANE_MAIN);
    assert_true(access_at(m)[0] != 0);
    press(m, "Esc");
    screen_refresh(m);
    assert_int_equal(m->view[PANE_SIDE], VIEW_GRAPH);
    assert_string_equal(subject_of_graph(m), "BiasAdd");
    model_free(m);
}

static enum view view_after(struct model *m, const char *key)
{
    press(m, key);
    screen_refresh(m);
    return m->view[m->focus];
}

/* A way there and back again is two jumps, and of many the last eight are remembered. */
static void escape_goes_back_from_a_round_trip(void **state)
{
    (void)state;
    struct model *m = measured();
    screen_refresh(m);
    for (int i = 0; i < 60 && strncmp(access_at(m), "Ker[", 4) != 0; i++)
        press(m, "Right");
    assert_int_equal(view_after(m, "Enter"), VIEW_PROFILE);
    assert_int_equal(view_after(m, "Enter"), VIEW_NEST);
    assert_shows(m, "Esc goes back to the view profile");
    assert_int_equal(view_after(m, "Esc"), VIEW_PROFILE);
    assert_int_equal(view_after(m, "Esc"), VIEW_NEST);
    assert_int_equal(m->n_jumps, 0);
    for (int i = 0; i < 11; i++)
        view_after(m, "Enter");
    assert_int_equal(m->n_jumps, JUMPS_MOST);
    for (int i = 0; i < JUMPS_MOST; i++)
        view_after(m, "Esc");
    assert_int_equal(m->n_jumps, 0);
    assert_int_equal(m->view[m->focus], VIEW_PROFILE);   /* three jumps are forgotten */
    model_free(m);
}

/* Esc takes back what was done last: a jump, or a search that began after it. */
static void escape_takes_jump_and_search_in_turn(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "7 / n o n e Enter Enter");
    assert_int_equal(m->focus, PANE_MAIN);
    assert_shows(m, "Esc goes back to the view graph");
    press(m, "Esc");
    assert_int_equal(m->focus, PANE_SIDE);
    press(m, "Esc");
    assert_shows(m, "has ended");
    press(m, "Enter / k Enter Esc");
    assert_shows(m, "has ended");
    assert_int_equal(m->focus, PANE_MAIN);
    press(m, "Esc");
    assert_int_equal(m->focus, PANE_SIDE);
    model_free(m);
}

/* Esc has its other meanings again once another view was chosen or the program has changed. */
static void escape_forgets_where_it_went(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    press(m, "7 Enter");
    assert_int_equal(m->focus, PANE_MAIN);
    press(m, "2 1 Esc");
    assert_int_equal(m->focus, PANE_MAIN);
    press(m, "7 Enter");
    type_line(m, "loop split C K 8");
    press(m, "Esc");
    assert_int_equal(m->focus, PANE_MAIN);
    press(m, "7 Enter Tab Esc");          /* from the steps, Esc leaves the views alone */
    assert_int_equal(m->focus, PANE_LEDGER);
    press(m, "Tab Esc");
    assert_int_equal(m->focus, PANE_SIDE);
    model_free(m);
}

static const char *tensor_of_layouts(struct model *m)
{
    screen_refresh(m);
    int t = model_tensor(m);
    return t >= 0 ? model_program(m)->graph->tensor[t].name : "";
}

/* 3 shows the tensor of the access under the cursor, also when it showed another one; from a loop
 * it shows what it showed last. */
static void layouts_open_at_the_access(void **state)
{
    (void)state;
    struct model *m = model_on(GMM);
    for (int i = 0; i < 20 && strcmp(access_at(m), "A[m][k]") != 0; i++)
        press(m, "Right");
    press(m, "3");
    assert_string_equal(tensor_of_layouts(m), "A");
    press(m, "1 Right");
    assert_string_equal(access_at(m), "B[k][n]");
    press(m, "3");
    assert_string_equal(tensor_of_layouts(m), "B");
    press(m, "1 g 3");
    assert_string_equal(tensor_of_layouts(m), "B");
    model_free(m);
}

/* Without Unicode every mark of a view has a letter: the only ? is the key of the help. */
static void marks_have_letters(void **state)
{
    (void)state;
    static const char *const key[] = {"1", "2", "3", "4", "5", "6", "7", "8", "9", "=", "L"};
    struct model *m = measured();
    m->unicode = false;
    for (int i = 0; i < COUNT_OF(key); i++) {
        press(m, key[i]);
        screen_refresh(m);
        const char *text = screen_of(m), *mark = strchr(text, '?');
        if (!mark || strchr(mark + 1, '?') || strncmp(mark, "? help", 6) != 0)
            fail_msg("key %s:\n%s", key[i], text);
    }
    model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrows_lead_to_the_accesses),
        cmocka_unit_test(an_access_survives_a_step),
        cmocka_unit_test(an_access_survives_wrapped_rows),
        cmocka_unit_test(narrow_rows_have_the_same_accesses),
        cmocka_unit_test(a_row_of_the_profile_leads_to_its_access),
        cmocka_unit_test(a_tile_in_registers_says_so),
        cmocka_unit_test(rows_stay_under_the_cursor),
        cmocka_unit_test(code_opens_at_the_loop_around),
        cmocka_unit_test(layouts_open_from_other_views),
        cmocka_unit_test(loads_of_the_tensor_are_marked),
        cmocka_unit_test(the_place_of_an_unrolled_loop), cmocka_unit_test(the_nest_may_shrink),
        cmocka_unit_test(zoom_keeps_the_instruction),
        cmocka_unit_test(each_copy_of_a_loop_has_its_place),
        cmocka_unit_test(a_piece_of_one_iteration_marks_its_loops),
        cmocka_unit_test(a_loop_without_lines_marks_the_one_around),
        cmocka_unit_test(enter_finds_the_loops_of_a_tile),
        cmocka_unit_test(old_code_leads_by_name),
        cmocka_unit_test(loops_keep_their_numbers_in_narrow_panes),
        cmocka_unit_test(a_row_without_an_access_says_so),
        cmocka_unit_test(escape_goes_back_to_the_line),
        cmocka_unit_test(escape_goes_back_from_a_round_trip),
        cmocka_unit_test(escape_takes_jump_and_search_in_turn),
        cmocka_unit_test(escape_forgets_where_it_went),
        cmocka_unit_test(layouts_open_at_the_access),
        cmocka_unit_test(marks_have_letters),
    };
    if (!getcwd(root, sizeof root))
        return 1;
    private_folders();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
