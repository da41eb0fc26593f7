/* The history: the ledger with one row per step and what it bought, and the list of branches. */
#include "app/views/view.h"

#include <stdlib.h>
#include <string.h>
#include "app/ui/text.h"
#include "kernels/ops/source.h"

#define NOISE 0.03                       /* changes below this are not coloured */

/* Columns for a pane of this width; 0 = not shown.  The step's text takes what is left. */
struct columns { int number, step, latency, threads, change, vendor, misses, mark; };

/* How many threads row r was timed with; 0 when it was not. */
static int threads_of(const struct ledger_row *r)
{
    if (!r->m || r->m->latency.runs == 0)
        return 0;
    return r->m->threads > 1 ? r->m->threads : 1;
}

/* oneDNN where it was measured, else whoever was; NULL. */
static const struct baseline *best_baseline(const struct ledger_row *r)
{
    for (int i = 0; r->m && i < VENDOR_COUNT; i++)
        if (r->m->baseline[i].available && r->m->baseline[i].ratio > 0)
            return &r->m->baseline[i];
    return NULL;
}

/* The measurement that the others are read against: the current state's, else the last one. */
static const struct measurement *reference_of(const struct ledger_row *rows, int n)
{
    const struct measurement *last = NULL;
    for (int i = 0; i < n; i++) {
        if (rows[i].here && rows[i].m)
            return rows[i].m;
        last = rows[i].m ? rows[i].m : last;
    }
    return last;
}

static bool other_cache(const struct measurement *a, const struct measurement *b)
{
    return a->sim.available && b->sim.available && !cache_config_same(&a->sim.cache, &b->sim.cache);
}

/* Whether the times were taken of code for another instruction set or by another compiler. */
static bool other_code(const struct measurement *a, const struct measurement *b)
{
    return a->latency.runs > 0 && b->latency.runs > 0
        && !(streq(a->isa, b->isa) && streq(a->compiler, b->compiler));
}

static struct columns columns_for(const struct ledger_row *rows, int n, int width)
{
    struct columns c = {.number = 4, .latency = 8, .mark = 3};
    bool vendor = false;
    for (int i = 0; i < n; i++) {
        if (threads_of(&rows[i]) > 1)
            c.threads = 4;
        vendor = vendor || best_baseline(&rows[i]);
    }
    if (vendor && width >= 46)
        c.vendor = 8;
    if (width >= 40)
        c.change = 8;
    if (width >= 52 + c.vendor)
        c.misses = 7;
    c.step = width - 1 - c.number - c.latency - c.threads - c.change - c.vendor - c.misses
           - c.mark;
    return c;
}

/* At most 8 letters, as wide as the time column. */
static const char *short_outcome(enum outcome o)
{
    switch ((int)o) {
    case OUTCOME_WRONG: return "wrong";
    case OUTCOME_COMPILE: return "no build";
    case OUTCOME_LIMIT: return "too big";
    case OUTCOME_ENV: return "no env.";
    case OUTCOME_CANCEL: return "stopped";
    case OUTCOME_ILL: return "unclear";
    default: return outcome_name[o];
    }
}

/* A star marks what was measured with other settings than `of`. */
static void put_latency(const struct model *m, struct doc *d, const struct ledger_row *r,
                        const struct measurement *of, int width)
{
    struct str s = {0};
    enum style style = r->ahead ? STYLE_DIM : STYLE_PLAIN;
    if (r->m && r->m->latency.runs > 0) {
        str_add(&s, other_code(r->m, of) ? "*" : "");
        text_ms(&s, r->m->latency.min_ms);
    } else if (r->m) {
        style = STYLE_BAD;
        str_add(&s, short_outcome(r->m->outcome));
    } else if (r->held) {
        style = STYLE_BAD;
        str_add(&s, "held");
    } else if (r->state == model_measuring(m)) {
        style = STYLE_DIM;
        str_add(&s, "running");
    } else {
        style = STYLE_DIM;
        str_add(&s, "-");
    }
    doc_right(d, style, &s, width);
}

static void put_threads(struct doc *d, const struct ledger_row *r, int width)
{
    struct str s = {0};
    if (threads_of(r) > 0)
        str_printf(&s, "%dt", threads_of(r));
    doc_right(d, STYLE_DIM, &s, width);
}

static void put_change(struct doc *d, const struct ledger_row *r, int width)
{
    struct str s = {0};
    enum style style = STYLE_DIM;
    if (r->has_change) {
        text_change(&s, r->change);
        if (r->other_contract >= 0)
            str_add(&s, "*");
        if (!r->ahead && r->change <= -NOISE)
            style = STYLE_GOOD;
        if (!r->ahead && r->change >= NOISE)
            style = STYLE_BAD;
    }
    doc_right(d, style, &s, width);
}

/* How many times the kernel's time the library takes. */
static void put_vendor(struct doc *d, const struct ledger_row *r, int width)
{
    struct str s = {0};
    const struct baseline *b = best_baseline(r);
    enum style style = STYLE_DIM;
    if (b) {
        str_printf(&s, b->ratio < 9.995 ? "%.2fx" : "%.0fx", b->ratio);
        if (!r->ahead && b->ratio >= 1 + NOISE)
            style = STYLE_GOOD;
        if (!r->ahead && b->ratio <= 1 - NOISE)
            style = STYLE_BAD;
    }
    doc_right(d, style, &s, width);
}

static void put_misses(struct doc *d, const struct ledger_row *r, const struct measurement *of,
                       int width)
{
    struct str s = {0};
    if (r->m && r->m->sim.available)
        str_add(&s, other_cache(r->m, of) ? "*" : "");
    if (r->m && r->m->sim.available)
        text_count(&s, r->m->sim.l1_misses);
    if (r->m && r->m->sim.of_source)
        str_add_char(&s, '*');           /* describe_row explains it */
    doc_right(d, r->ahead ? STYLE_DIM : STYLE_PLAIN, &s, width);
}

static void put_mark(struct doc *d, const struct ledger_row *r)
{
    if (r->held)
        doc_put(d, STYLE_BAD, " ! ");
    else if (!r->m)
        doc_put(d, STYLE_DIM, "   ");
    else if (r->m->verified)
        doc_put(d, r->ahead ? STYLE_DIM : STYLE_GOOD, measurement_noisy(r->m) ? "~✓ " : " ✓ ");
    else
        doc_put(d, STYLE_BAD, " ✗ ");
}

static void put_row(const struct model *m, struct doc *d, const struct ledger_row *r, int i,
                    const struct measurement *of, struct columns c)
{
    enum style style = r->held ? STYLE_BAD : r->ahead ? STYLE_DIM
                     : r->here ? STYLE_STRONG : STYLE_PLAIN;
    const char *text = i == 0 ? "as given" : r->step;
    if (text_width(text) > c.step && str_starts(text, "loop "))
        text += strlen("loop ");
    bool marked = r->state == m->marking.state;
    doc_put(d, marked ? STYLE_NOTE : STYLE_TITLE, marked ? "=" : r->here ? "●" : " ");
    doc_printf(d, STYLE_DIM, "%2d ", i);
    doc_fit(d, style, text, c.step > 0 ? c.step : 1);
    put_latency(m, d, r, of, c.latency);
    put_threads(d, r, c.threads);
    put_change(d, r, c.change);
    put_vendor(d, r, c.vendor);
    put_misses(d, r, of, c.misses);
    put_mark(d, r);
    doc_end(d)->id = i;
}

/* What an empty ledger is for, the useful sentence first: there may be room for no more. */
static void put_advice(struct doc *d, bool expert, int width)
{
    doc_line(d, STYLE_PLAIN, "");
    doc_wrap(d, STYLE_DIM, expert
             ? "Enter on a loop lists steps, : takes one, X (:expert) gives a good schedule."
             : "Put the cursor on a loop and press Enter, or press : and type a step.",
             width - 2, 0);
    doc_line(d, STYLE_PLAIN, "");
    doc_wrap(d, STYLE_DIM, "Every step gets a row here: what it did to the time and to the cache "
             "misses, and whether the result is still correct.", width - 2, 0);
}

void view_ledger_build(struct model *m, struct pane_doc *p, int width)
{
    int n;
    struct ledger_row *rows = model_ledger(m, &n);
    struct columns c = columns_for(rows, n, width);
    doc_clear(&p->doc);
    for (int i = 0; i < n; i++)
        put_row(m, &p->doc, &rows[i], i, reference_of(rows, n), c);
    free(rows);
    if (n == 1)
        put_advice(&p->doc, m->has_expert, width);
}

void view_ledger_heading(const struct model *m, struct grid *g, struct rect r, bool focused)
{
    int n;
    struct ledger_row *rows = model_ledger(m, &n);
    struct columns c = columns_for(rows, n, r.w);
    const struct history *h = m->session->history;
    const char *branch = history_branch(h, history_branch_index(h))->name;
    bool named = history_n_branches(h) > 1 || !streq(branch, "main");
    struct str title = {0}, cols = {0};
    grid_fill(g, (struct rect){r.x, r.y, r.w, 1}, STYLE_RULE, 0x2500);
    str_printf(&title, " Steps%s%s ", named ? ": " : "", named ? branch : "");
    int x = grid_text(g, r.x + 1, r.y, focused ? STYLE_TITLE : STYLE_STRONG, str_text(&title));
    text_right(&cols, " best", c.latency);
    str_repeat(&cols, ' ', c.threads);
    if (c.change)
        text_right(&cols, "change", c.change);
    if (c.vendor)
        text_right(&cols, "vendor", c.vendor);
    if (c.misses)
        text_right(&cols, "misses", c.misses);
    str_add(&cols, " ok");
    int from = r.x + r.w - text_width(str_text(&cols));
    const char *p = str_text(&cols);
    for (int i = 0; p[i]; i++) {
        bool near_word = p[i] != ' ' || (p[i + 1] && p[i + 1] != ' ') || (i > 0 && p[i - 1] != ' ');
        if (from + i > x && near_word)
            grid_char(g, from + i, r.y, STYLE_DIM, (unsigned char)p[i]);
    }
    str_free(&title);
    str_free(&cols);
    free(rows);
}

/* " (best of 11 runs, median 6.00 ms, spread 3 %)"; noise comes first. */
static void describe_time(const struct ledger_row *r, struct str *out)
{
    bool noisy = measurement_noisy(r->m);
    str_add(out, " (");
    if (noisy && r->m->load > 0)
        str_printf(out, "noisy at load %.1f: ", r->m->load);
    if (noisy)
        str_printf(out, "spread %.0f %%, ", r->m->latency.spread * 100);
    str_printf(out, "best of %d runs", r->m->latency.runs);
    if (threads_of(r) > 1)
        str_printf(out, " with %d threads", threads_of(r));
    str_add(out, ", median ");
    text_ms(out, r->m->latency.median_ms);
    if (!noisy)
        str_printf(out, ", spread %.0f %%", r->m->latency.spread * 100);
    const char *when = r->m->measured_at;
    if (r->m->measurements > 1)
        str_printf(out, "; the best of %d measurements", r->m->measurements);
    if (r->m->measurements > 1 && strlen(when) > 11)
        str_printf(out, ", of %.10s %.5s UTC", when, when + 11);
    str_add(out, ")");
}

/* Names the settings behind a star. */
static void describe_settings(const struct ledger_row *r, const struct measurement *of,
                              struct str *out)
{
    if (other_code(r->m, of))
        str_printf(out, "; * with isa %s, %s", r->m->isa, r->m->compiler);
    if (other_cache(r->m, of)) {
        str_add(out, "; * misses of cache ");
        cache_config_print(out, &r->m->sim.cache);
    }
}

static void describe_row(const struct model *m, const struct ledger_row *r, int i,
                         const struct measurement *of, struct str *out)
{
    str_printf(out, "%d: ", i);
    if (i == 0)
        spec_print_brief(out, history_spec(m->session->history));
    else
        str_add(out, r->step);
    if (r->held)
        str_printf(out, ": kept for repair, without effect: %s; e edits it, d drops it", r->held);
    else if (r->ahead)
        str_add(out, " (undone; Enter goes there)");
    else if (r->m && !r->m->verified && r->m->reason[0])
        str_printf(out, ": %s", r->m->reason);
    else if (r->m && r->m->latency.runs > 0)
        describe_time(r, out);
    if (r->m && r->m->sim.of_source)
        str_add(out, "; * misses of the source (autovectorize on)");
    const struct history *h = m->session->history;
    if (r->other_contract >= 0) {
        str_add(out, "; * ");
        struct str note = {0};
        model_contract_note(history_state(h, r->state)->program,
                            history_state(h, r->other_contract)->program, &note);
        str_add(out, str_text(&note));
        str_free(&note);
    }
    if (r->m)
        describe_settings(r, of, out);
    const struct baseline *b = best_baseline(r);
    if (b && !r->ahead) {
        str_add(out, "; ");
        text_ms(out, b->latency.min_ms);
        str_printf(out, " by %s", b->implementation);
    }
}

void view_ledger_hint(const struct model *m, struct str *out)
{
    const struct line *l = doc_at(&m->pane[DOC_LEDGER].doc, &m->pane[DOC_LEDGER].scroll);
    int n;
    struct ledger_row *rows = model_ledger(m, &n);
    if (l && l->id >= 0 && l->id < n)
        describe_row(m, &rows[l->id], l->id, reference_of(rows, n), out);
    free(rows);
}

/* branches */

/* The best measured time on branch b; false when nothing on it was measured. */
static bool best_ms(const struct history *h, int b, double *out)
{
    int n, at;
    bool found = false;
    const int *path = history_path(h, b, &n, &at);
    for (int i = 0; i < n; i++) {
        const struct measurement *r = history_state(h, path[i])->measured;
        if (!r || !r->verified || r->latency.runs == 0 || (found && r->latency.min_ms >= *out))
            continue;
        *out = r->latency.min_ms;
        found = true;
    }
    return found;
}

void view_branches_build(struct model *m, struct pane_doc *p, int width)
{
    const struct history *h = m->session->history;
    struct doc *d = &p->doc;
    int name_width = width > 60 ? 28 : width - 32 > 8 ? width - 32 : 8;
    bool first = d->lines.len == 0;      /* the cursor begins on the current branch */
    doc_clear(d);
    doc_printf(d, STYLE_DIM, "  %-*s%6s%12s", name_width, "branch", "steps", "best");
    doc_end(d);
    const struct program *here = model_program(m);
    for (int b = 0; b < history_n_branches(h); b++) {
        int n, at;
        double ms = 0;
        struct str time = {0};
        history_path(h, b, &n, &at);
        if (best_ms(h, b, &ms))
            text_ms(&time, ms);
        else
            str_add(&time, "-");
        bool marked = history_branch(h, b)->at == m->marking.state;
        doc_put(d, STYLE_TITLE, b == history_branch_index(h) ? "●" : " ");
        doc_put(d, STYLE_NOTE, marked ? "=" : " ");
        doc_fit(d, STYLE_PLAIN, history_branch(h, b)->name, name_width);
        doc_printf(d, STYLE_PLAIN, "%6d", n - 1);
        doc_right(d, STYLE_PLAIN, &time, 12);
        struct str note = {0};
        model_contract_note(history_state(h, history_branch(h, b)->at)->program, here, &note);
        if (note.len > 0)
            doc_put(d, STYLE_NOTE, "  other contract");
        str_free(&note);
        const char *kept = strrchr(history_branch(h, b)->name, '~');
        if (kept && width >= name_width + 42)
            doc_printf(d, STYLE_DIM, "  kept from %.*s",
                       (int)(kept - history_branch(h, b)->name), history_branch(h, b)->name);
        doc_end(d)->id = b;
        if (first && b == history_branch_index(h))
            p->scroll.cursor = d->lines.len - 1;
    }
}

void view_branches_hint(const struct model *m, struct str *out)
{
    const struct line *l = doc_at(&m->pane[DOC_BRANCHES].doc, &m->pane[DOC_BRANCHES].scroll);
    const struct history *h = m->session->history;
    if (!l || l->id < 0 || l->id >= history_n_branches(h))
        return;
    const struct branch *b = history_branch(h, l->id);
    struct str note = {0};
    model_contract_note(history_state(h, b->at)->program, model_program(m), &note);
    if (note.len > 0)
        str_printf(out, "%s: %s", b->name, str_text(&note));
    str_free(&note);
}
