#include "app/views/compare_doc.h"

#include <string.h>
#include "app/ui/text.h"
#include "app/views/measurement_doc.h"
#include "kernels/program/contract.h"

#define CONTEXT 3                         /* number of equal lines shown around a difference */
#define COUNT_WIDTH 10
#define MOST_SITES 12

/* If both sides are GPU programs that were simulated, adds the ratio of their simulated times. */
static void put_simulated(struct doc *d, const struct compare_side side[2], int width)
{
    struct str text = {0};
    double ns[2];
    if (compare_simulated(side, ns)) {
        str_printf(&text, "simulated time B / A: %.3f (%.4g us and %.4g us on %s, at the least)",
                   ns[1] / ns[0], ns[1] / 1e3, ns[0] / 1e3, side[0].sim->gpu);
        doc_wrap(d, STYLE_PLAIN, str_text(&text), width, 3);
    }
    str_free(&text);
}

/* Adds which sides have noisy times and why, how much of the CPUs other work used, and the load of
 * the machine. Adds nothing if the times are not noisy and other work did not disturb them. */
static void put_noise(struct doc *d, const struct compared time[2], int width)
{
    struct str text = {0};
    for (int i = 0; i < 2; i++) {
        struct str why = {0};
        if (measurement_doc_noise(&why, &time[i].m.latency))
            str_printf(&text, "%s%c is noisy: %s", text.len ? "; " : "", 'A' + i, str_text(&why));
        str_free(&why);
    }
    measurement_doc_others(&text, &time[1].m.latency);
    if (text.len > 0 && time[1].m.load > 0)
        str_printf(&text, "; the load of the machine was %.1f", time[1].m.load);
    if (text.len > 0)
        doc_wrap(d, STYLE_NOTE, str_text(&text), width, 3);
    str_free(&text);
}

/* Adds the ratio of B's time to A's time, both times, and their noise. If there is no ratio, adds
 * the reason instead. */
static void put_times(struct doc *d, const struct compared time[2], int width)
{
    const struct compared *b = &time[time[0].m.outcome == OUTCOME_OK];
    struct str text = {0}, ms[4] = { { 0 } };
    if (b->verdict == VERDICT_NONE) {
        const struct measurement *m = &b->m;
        str_printf(&text, "There is no ratio of the times: %s",
                   m->outcome != OUTCOME_OK && m->reason[0] ? m->reason
                   : m->outcome != OUTCOME_OK ? outcome_name[m->outcome]
                   : m->device.reason[0] ? m->device.reason : "too few samples");
        doc_wrap(d, STYLE_BAD, str_text(&text), width, 3);
    } else {
        enum style s = b->verdict == VERDICT_FASTER ? STYLE_GOOD
                     : b->verdict == VERDICT_SLOWER ? STYLE_BAD : STYLE_PLAIN;
        str_add(&text, "time B / A: ");
        ratio_print(&text, &b->ratio);
        if (b->same_code)
            str_add(&text, "  the same code: the difference is noise");
        else if (!stats_undecided(&b->ratio))
            str_printf(&text, "  %s", verdict_name[b->verdict]);
        else
            str_add(&text, "  undecided: ");
        if (!b->same_code)
            stats_print_undecided(&text, &b->ratio);
        doc_wrap(d, s, str_text(&text), width, 3);
        for (int i = 0; i < 4; i++)
            str_ms(&ms[i], i < 2 ? time[i].m.latency.median_ms : time[i - 2].m.latency.min_ms);
        str_clear(&text);
        str_printf(&text, "median: %s of A, %s of B; minimum: %s of A, %s of B", str_text(&ms[0]),
                   str_text(&ms[1]), str_text(&ms[2]), str_text(&ms[3]));
        doc_wrap(d, STYLE_PLAIN, str_text(&text), width, 3);
        put_noise(d, time, width);
    }
    for (int i = 0; i < 4; i++)
        str_free(&ms[i]);
    str_free(&text);
}

void compare_doc_head(struct doc *d, const struct compare_side side[2],
                      const struct compared time[2], int width)
{
    struct str text = {0};
    for (int i = 0; i < 2; i++) {
        str_clear(&text);
        str_printf(&text, "%c  %s  (", 'A' + i, side[i].name);
        contract_print(&text, side[i].program);
        contract_print_packed(&text, side[i].program);
        str_add(&text, ")");
        doc_wrap(d, STYLE_STRONG, str_text(&text), width, 3);
    }
    str_clear(&text);
    if (contract_difference(&text, side[1].program, side[0].program)) {
        doc_put(d, STYLE_NOTE, "B has another contract than A: ");
        doc_wrap(d, STYLE_NOTE, str_text(&text), width, 3);
    }
    if (time)
        put_times(d, time, width);
    put_simulated(d, side, width);
    str_free(&text);
}

/* --- Texts ------------------------------------------------------------------------------------ */

static bool near_difference(const struct compare_lines *x, int i)
{
    for (int k = i - CONTEXT; k <= i + CONTEXT; k++)
        if (k >= 0 && k < x->row.len && !x->row.data[k].same)
            return true;
    return false;
}

/* Adds `hang` blanks, then as much of *text as fits into the rest of `width` columns. Moves *text
 * behind the part that was added. */
static void put_half(struct doc *d, enum style s, const char **text, int hang, int width)
{
    struct str row = {0};
    size_t n = text_break(*text, width - hang);
    str_repeat(&row, ' ', hang);
    str_add_n(&row, *text, n);
    doc_fit(d, s, str_text(&row), width);
    *text += n;
    *text += hang > 0 || n > 0 ? strspn(*text, " ") : 0;
    str_free(&row);
}

static int hang_of(const char *text, int width)
{
    int hang = (int)strspn(text, " ") + 4;
    return hang < width - 12 ? hang : width / 2;
}

static void put_beside(struct doc *d, const struct compare_line *l, int width)
{
    int half = (width - 3) / 2, hang[2];
    const char *mark = l->same ? " " : !l->text[0] ? ">" : !l->text[1] ? "<" : "|";
    const char *rest[2];
    for (int i = 0; i < 2; i++) {
        rest[i] = l->text[i] ? l->text[i] : "";
        hang[i] = hang_of(rest[i], half);
    }
    for (bool first = true; first || *rest[0] || *rest[1]; first = false) {
        put_half(d, l->same ? STYLE_PLAIN : STYLE_BAD, &rest[0], first ? 0 : hang[0], half);
        doc_printf(d, l->same ? STYLE_RULE : STYLE_NOTE, " %s ", mark);
        put_half(d, l->same ? STYLE_PLAIN : STYLE_GOOD, &rest[1], first ? 0 : hang[1], half);
        doc_end(d);
    }
}

/* Adds a line. If the line takes several rows, each row begins with the mark. */
static void put_one(struct doc *d, enum style s, const char *mark, const char *text, int width)
{
    int hang = hang_of(text, width - 2);
    for (bool first = true; first || *text; first = false) {
        doc_put(d, s, mark);
        put_half(d, s, &text, first ? 0 : hang, width - 2);
        doc_end(d);
    }
}

/* Adds the difference that begins at row i: the lines of A, then those of B. Returns the row after
 * the difference. */
static int put_above(struct doc *d, const struct compare_lines *x, int i, int width)
{
    int end = i;
    while (end < x->row.len && !x->row.data[end].same)
        end++;
    for (int side = 0; side < 2; side++)
        for (int k = i; k < end; k++)
            if (x->row.data[k].text[side])
                put_one(d, side ? STYLE_GOOD : STYLE_BAD, side ? "+ " : "- ",
                        x->row.data[k].text[side], width);
    return end;
}

/* Says how much differs: "nest: differs in 2 places (3 lines of A, 5 of B)". */
static void put_extent(struct doc *d, const struct compare_lines *x, enum compare_of of,
                       int width)
{
    int lines[2] = { 0, 0 };
    for (int i = 0; i < x->row.len; i++)
        for (int side = 0; side < 2; side++)
            lines[side] += !x->row.data[i].same && x->row.data[i].text[side];
    struct str text = {0};
    if (x->differences == 0)
        str_printf(&text, "The %s is the same.", of == COMPARE_NEST ? "nest"
                   : of == COMPARE_C ? "C code" : "assembly");
    else
        str_printf(&text, "%s: differs in %d place%s (%d line%s of A, %d of B)",
                   compare_of_name[of], x->differences, x->differences == 1 ? "" : "s", lines[0],
                   lines[0] == 1 ? "" : "s", lines[1]);
    doc_wrap(d, STYLE_DIM, str_text(&text), width, 3);
    str_free(&text);
}

void compare_doc_lines(struct doc *d, const struct compare_side side[2], enum compare_of of,
                       bool all, int width)
{
    struct compare_lines x;
    bool beside = width >= COMPARE_SIDE_BY_SIDE;
    compare_lines(side, of, &x);
    put_extent(d, &x, of, width);
    int hidden = 0, number = 0;
    for (int i = 0; i < x.row.len;) {
        const struct compare_line *l = &x.row.data[i];
        bool shown = all || near_difference(&x, i);
        if (hidden > 0 && shown)
            doc_printf(d, STYLE_DIM, "  ... %d equal line%s ...", hidden, hidden == 1 ? "" : "s");
        if (hidden > 0 && shown)
            doc_end(d);
        hidden = shown ? 0 : hidden + 1;
        int first = d->lines.len;
        bool begins = !l->same && (i == 0 || x.row.data[i - 1].same);
        if (shown && beside)
            put_beside(d, l, width);
        else if (shown && !l->same)
            i = put_above(d, &x, i, width) - 1;
        else if (shown)
            put_one(d, STYLE_PLAIN, "  ", l->text[1], width);
        if (begins)
            d->lines.data[first].id = number++;
        i++;
    }
    compare_lines_free(&x);
}

/* --- Misses ----------------------------------------------------------------------------------- */

static void put_count(struct doc *d, int64_t n)
{
    struct str text = {0};
    if (n < 0)
        str_add(&text, "-");
    else
        text_count(&text, n);
    doc_right(d, STYLE_PLAIN, &text, COUNT_WIDTH);
}

static void put_change(struct doc *d, const int64_t of[2])
{
    struct str text = {0};
    enum style s = of[1] < of[0] ? STYLE_GOOD : of[1] > of[0] ? STYLE_BAD : STYLE_DIM;
    if (of[0] > 0 && of[1] >= 0)
        text_change(&text, (double)of[1] / (double)of[0] - 1);
    else
        str_add(&text, of[0] <= 0 && of[1] > 0 ? "new" : of[1] < 0 ? "gone" : "");
    doc_right(d, s, &text, COUNT_WIDTH);
}

/* Returns a text about row m, which `text` owns. side 0: the name of the row, such as "C[m][n]
 * (store) and 1 other". side 1: how B writes the access; requires m->now. */
static const char *site_text(struct str *text, const struct compare_misses *m, int side)
{
    int others = m->n[side && m->now ? 1 : m->site[0] ? 0 : 1] - 1;
    str_clear(text);
    str_printf(text, "%s%s%s", side ? "  in B: " : "", side ? m->now : m->name,
               m->store && !side ? " (store)" : "");
    if (others > 0 && (m->site[0] || m->site[1]))
        str_printf(text, " and %d other%s", others, others > 1 ? "s" : "");
    return str_text(text);
}

/* Adds a table of misses, with columns for the cache levels `first` to `last` (0: L1, 1: L2). */
static void put_levels(struct doc *d, const char *title, const struct compare_misses *m, int n,
                       int first, int last, int width)
{
    int name = 20, columns = 3 * (last - first + 1);
    struct str text = {0};
    for (int i = 0; i < n; i++) {
        int w = text_width(site_text(&text, &m[i], 0)) + 1;
        name = w > name ? w : name;
    }
    name = name < width - columns * COUNT_WIDTH ? name : width - columns * COUNT_WIDTH;
    name = name < 6 ? 6 : name;
    doc_line(d, STYLE_PLAIN, "");
    doc_fit(d, STYLE_STRONG, title, name + COUNT_WIDTH - 5);  /* up to a blank before "L1 A" */
    for (int level = first; level <= last; level++)
        doc_printf(d, STYLE_DIM, "%*sL%d A%*sL%d B%*s", level == first ? 1 : COUNT_WIDTH - 4, "",
                   level + 1, COUNT_WIDTH - 4, "", level + 1, COUNT_WIDTH, "change");
    doc_end(d);
    for (int i = 0; i < n; i++) {
        doc_fit(d, STYLE_PLAIN, site_text(&text, &m[i], 0), name);
        for (int level = first; level <= last; level++) {
            const int64_t *of = level == 0 ? m[i].l1 : m[i].l2;
            put_count(d, of[0]);
            put_count(d, of[1]);
            put_change(d, of);
        }
        doc_end(d);
        if (m[i].now)
            doc_wrap(d, STYLE_DIM, site_text(&text, &m[i], 1), width, 8);
    }
    str_free(&text);
}

/* Adds the misses in L1 and L2 as one table, or if `width` is small, as a table for each level.
 * L2 is left out if no row has misses there: perhaps none was simulated. */
static void put_misses(struct doc *d, const char *title, const struct compare_misses *m, int n,
                       int width)
{
    bool some = false, wide = width >= 90;
    for (int i = 0; i < n; i++)
        some = some || m[i].l2[0] > 0 || m[i].l2[1] > 0;
    put_levels(d, title, m, n, 0, wide && some, width);
    if (some && !wide)
        put_levels(d, title, m, n, 1, 1, width);
}

void compare_doc_misses(struct doc *d, const struct compare_side side[2], int width)
{
    struct compare_misses m[COMPARE_MOST_MISSES];
    const struct sim_result *a = side[0].sim, *b = side[1].sim;
    if (!a || !b || !a->available || !b->available) {
        doc_line(d, STYLE_PLAIN, "");
        doc_wrap(d, STYLE_DIM, "The misses of both are not simulated yet.", width, 0);
        return;
    }
    int n = compare_tensors(side, m);
    struct compare_misses sum = { .name = "all", .l1 = { a->l1_misses, b->l1_misses },
                                  .l2 = { a->level[1].misses, b->level[1].misses } };
    memmove(m + 1, m, sizeof *m * (size_t)(n < COMPARE_MOST_MISSES - 1 ? n : n - 1));
    m[0] = sum;
    put_misses(d, "Misses (simulated)", m, n + 1, width);
    n = compare_sites(side, m);
    put_misses(d, "Sites", m, n < MOST_SITES ? n : MOST_SITES, width);
}
