/* The ledger: a row for each step, with its time and its gain. */
#include "app/views/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "app/model/model_blank.h"
#include "app/ui/text.h"
#include "explorer/history/rename.h"
#include "kernels/ops/source.h"
#include "profile/measure/gpu_memory.h"
#include "profile/measure/program_text.h"

#define NOISE 0.03                       /* changes below this are not coloured */

#define NUMBER_W 4                       /* columns of the number of a step */
#define LEAST_STEP 12                    /* least columns for the step beside chosen columns */

/* Returns the number of threads with which the state of row r was timed; 0: it was not timed. */
static int threads_of(const struct ledger_row *r)
{
    if (!r->m || r->m->latency.runs == 0)
        return 0;
    return r->m->threads > 1 ? r->m->threads : 1;
}

/* Returns the first baseline that was measured: oneDNN's, if it was; NULL: no baseline was
 * measured. */
static const struct baseline *best_baseline(const struct ledger_row *r)
{
    for (int i = 0; r->m && i < VENDOR_COUNT; i++)
        if (r->m->baseline[i].available && r->m->baseline[i].ratio > 0)
            return &r->m->baseline[i];
    return NULL;
}

/* Returns the measurement whose settings are the reference for the other measurements: that of the
 * current state, else the last one. But a measurement for the default target of its program (this
 * CPU, or a GPU) comes before one for another target. */
static const struct measurement *reference_of(const struct model *m,
                                              const struct ledger_row *rows, int n)
{
    const struct measurement *of = NULL;
    int rank = 0;
    for (int i = 0; i < n; i++) {
        const struct measurement *r = rows[i].m;
        const struct program *p = history_state(m->session->history, rows[i].state)->program;
        int own = !r ? 0 : 1 + rows[i].here
                           + 2 * streq(r->isa, program_text_target(p, NULL)->isa);
        if (own > 0 && own >= rank) {
            of = r;
            rank = own;
        }
    }
    return of;
}

/* The settings with which a state would be measured now: those chosen on the screen, else those of
 * the measurement that reference_of returned. A NULL member is unknown. */
struct made_with { const char *isa, *compiler, *code; const struct cache_config *cache; };

static struct made_with wanted_for(const struct model *m, const struct ledger_row *r,
                                   const struct measurement *of)
{
    struct made_with w = {0};
    const struct program *p = history_state(m->session->history, r->state)->program;
    if (of && of->latency.runs > 0)
        w = (struct made_with){of->isa, of->compiler, of->code, NULL};
    if (of && of->sim.available)
        w.cache = &of->sim.cache;
    if (m->stands_for.compiler[0]) {
        w.isa = program_text_target(p, m->set.target)->isa;
        w.compiler = m->stands_for.compiler;
    }
    if (m->stands_for.cache.n_levels > 0)
        w.cache = &m->stands_for.cache;
    return w;
}

static bool other_cache(const struct measurement *a, const struct made_with *w)
{
    return a->sim.available && w->cache && !cache_config_same_l1(&a->sim.cache, w->cache);
}

static bool other_version(const struct measurement *a, const struct made_with *w)
{
    return w->code && !streq(a->code, w->code);
}

/* Whether a time was measured with another instruction set, compiler or code version than w. */
static bool other_code(const struct measurement *a, const struct made_with *w)
{
    return a->latency.runs > 0 && w->isa
        && !(streq(a->isa, w->isa) && streq(a->compiler, w->compiler) && !other_version(a, w));
}

static int columns_width(const struct columns *c)
{
    int sum = 0;
    for (int i = 0; i < c->n; i++)
        sum += column_info[c->at[i]].width;
    return sum;
}

/* Returns the columns that a pane of this width shows if the user has chosen none: the columns that
 * have numbers, as far as there is room.  The threads are shown unless everything is timed with
 * one, as the next measurement will be. */
static struct columns usual_columns(const struct model *m, const struct ledger_row *rows, int n,
                                    int width)
{
    struct columns c = {0};
    bool vendor = false, threads = false;
    for (int i = 0; i < n; i++) {
        int timed = threads_of(&rows[i]);
        threads = threads || timed > 1 || (timed > 0 && timed != m->threads);
        vendor = vendor || best_baseline(&rows[i]);
    }
    vendor = vendor && width >= 46;
    const struct { enum column column; bool shown; } all[] = {
        {COLUMN_BEST, true}, {COLUMN_THREADS, threads}, {COLUMN_CHANGE, width >= 40},
        {COLUMN_VENDOR, vendor}, {COLUMN_MISSES, width >= (vendor ? 60 : 52)}, {COLUMN_OK, true},
    };
    for (int i = 0; i < COUNT_OF(all); i++)
        if (all[i].shown)
            c.at[c.n++] = all[i].column;
    return c;
}

/* Returns the columns for a pane of this width. If the chosen columns do not fit, leaves out the
 * last ones. */
static struct columns columns_for(const struct model *m, const struct ledger_row *rows, int n,
                                  int width)
{
    struct columns c = m->columns.n > 0 ? m->columns : usual_columns(m, rows, n, width);
    while (m->columns.n > 0 && c.n > 1
           && width - 1 - NUMBER_W - columns_width(&c) < LEAST_STEP)
        c.n--;
    return c;
}

/* Returns a word of at most 8 letters, so that it fits into the column of the time. */
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

struct ledger_cell {
    const struct model *m;
    const struct ledger_row *r;
    struct made_with wanted;
};

/* Appends the measured time, with a star if it was measured with other settings. If there is no
 * measured time, appends the simulated time, or why there is none. Like the functions below,
 * returns the style of the cell. */
static enum style put_latency(struct str *s, const struct ledger_cell *c)
{
    const struct ledger_row *r = c->r;
    if (r->m && !r->held && r->m->latency.runs > 0) {
        str_add(s, other_code(r->m, &c->wanted) ? "*" : "");
        text_ms(s, r->m->latency.min_ms);
        return STYLE_PLAIN;
    }
    double simulated = r->m && !r->held ? gpu_memory_untimed_ms(r->m) : 0;
    if (simulated > 0) {
        str_add(s, "≥");
        text_ms(s, simulated);
        return STYLE_DIM;
    }
    bool running = !r->m && !r->held && r->state == model_measuring(c->m);
    str_add(s, r->held ? "held" : r->m ? short_outcome(r->m->outcome) : running ? "running" : "-");
    return r->m || r->held ? STYLE_BAD : STYLE_DIM;
}

static enum style put_median(struct str *s, const struct ledger_cell *c)
{
    if (threads_of(c->r) > 0)
        text_ms(s, c->r->m->latency.median_ms);
    return STYLE_PLAIN;
}

static enum style put_gflops(struct str *s, const struct ledger_cell *c)
{
    if (threads_of(c->r) > 0)
        str_printf(s, "%.1f", c->r->m->gflops);
    return STYLE_PLAIN;
}

static enum style put_peak(struct str *s, const struct ledger_cell *c)
{
    if (threads_of(c->r) > 0 && c->r->m->peak_fraction > 0)
        str_printf(s, "%.0f %%", 100 * c->r->m->peak_fraction);
    return STYLE_PLAIN;
}

static enum style put_threads(struct str *s, const struct ledger_cell *c)
{
    if (threads_of(c->r) > 0)
        str_printf(s, "%dt", threads_of(c->r));
    return STYLE_DIM;
}

static enum style put_change(struct str *s, const struct ledger_cell *c)
{
    const struct ledger_row *r = c->r;
    if (!r->has_change)
        return STYLE_DIM;
    text_change(s, r->change);
    str_add(s, r->other_contract >= 0 ? "*" : "");
    /* from a text as wide as the column, such as "-99.4 %*", the blank is removed */
    if (text_width(str_text(s)) >= column_info[COLUMN_CHANGE].width) {
        char *blank = strchr(s->data, ' ');
        memmove(blank, blank + 1, strlen(blank));
        s->len--;
    }
    return r->change <= -NOISE ? STYLE_GOOD : r->change >= NOISE ? STYLE_BAD : STYLE_DIM;
}

/* Appends the time of a vendor library divided by the time of the kernel. */
static enum style put_vendor(struct str *s, const struct ledger_cell *c)
{
    const struct baseline *b = best_baseline(c->r);
    if (!b)
        return STYLE_DIM;
    str_printf(s, b->ratio < 9.995 ? "%.2fx" : "%.0fx", b->ratio);
    return b->ratio >= 1 + NOISE ? STYLE_GOOD : b->ratio <= 1 - NOISE ? STYLE_BAD : STYLE_DIM;
}

static enum style put_misses(struct str *s, const struct ledger_cell *c)
{
    const struct measurement *r = c->r->m;
    if (r && r->sim.available) {
        str_add(s, other_cache(r, &c->wanted) ? "*" : "");
        text_count(s, r->sim.l1_misses);
    }
    str_add(s, r && r->sim.of_source ? "*" : "");            /* describe_row explains the star */
    return STYLE_PLAIN;
}

static enum style put_mark(struct str *s, const struct ledger_cell *c)
{
    const struct ledger_row *r = c->r;
    if (r->note && !r->held)
        str_add(s, r->m ? "*" : "* ");    /* describe_row explains the star */
    str_add(s, r->held ? "! " : !r->m ? "" : !r->m->verified ? "✗ "
             : measurement_noisy(r->m) ? "~✓ " : "✓ ");
    return r->held || (r->m && !r->m->verified) ? STYLE_BAD : STYLE_GOOD;
}

static void put_columns(struct doc *d, const struct ledger_cell *cell, const struct columns *c)
{
    static enum style (*const put[])(struct str *, const struct ledger_cell *) = {
        [COLUMN_BEST] = put_latency, [COLUMN_MEDIAN] = put_median, [COLUMN_GFLOPS] = put_gflops,
        [COLUMN_PEAK] = put_peak, [COLUMN_THREADS] = put_threads, [COLUMN_CHANGE] = put_change,
        [COLUMN_VENDOR] = put_vendor, [COLUMN_MISSES] = put_misses, [COLUMN_OK] = put_mark,
    };
    for (int i = 0; i < c->n; i++) {
        struct str s = {0};
        enum style style = STYLE_PLAIN;
        bool judges = c->at[i] == COLUMN_BEST || c->at[i] == COLUMN_OK;
        /* A held step shows only these two columns: it has no effect, so the other numbers of its
         * state are those of the steps before it. */
        if (judges || !cell->r->held)
            style = put[c->at[i]](&s, cell);
        bool bad = style == STYLE_BAD && judges;
        doc_right(d, cell->r->ahead && !bad ? STYLE_DIM : style, &s, column_info[c->at[i]].width);
    }
}

static void put_row(const struct ledger_cell *cell, struct doc *d, int i, int step_width,
                    const struct columns *c)
{
    const struct ledger_row *r = cell->r;
    enum style style = r->held ? STYLE_BAD : r->ahead ? STYLE_DIM
                     : r->here ? STYLE_STRONG : STYLE_PLAIN;
    const char *text = i == 0 ? "as given" : r->step;
    int room = step_width > 2 ? step_width - 1 : 1;      /* without the blank behind the step */
    const char *bare = str_starts(text, "loop ") ? text + strlen("loop ") : text;
    if (text_width(text) > room && !model_group_has("layout", bare))
        text = bare;                      /* it is understood without that word */
    bool marked = r->state == cell->m->marking.state;
    bool both = marked && r->here;
    doc_put(d, marked && !both ? STYLE_NOTE : STYLE_TITLE, r->here ? "●" : marked ? "=" : " ");
    doc_printf(d, both ? STYLE_NOTE : STYLE_DIM, "%2d%s", i, both ? "=" : " ");
    doc_fit(d, style, text, room);
    doc_put(d, STYLE_PLAIN, " ");
    put_columns(d, cell, c);
    doc_end(d)->id = i;
}

/* Adds to a ledger without steps how to apply a step, then what the ledger shows. There may be room
 * only for the first sentence. */
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
    struct columns c = columns_for(m, rows, n, width);
    const struct measurement *of = reference_of(m, rows, n);
    doc_clear(&p->doc);
    for (int i = 0; i < n; i++)
        put_row(&(struct ledger_cell){m, &rows[i], wanted_for(m, &rows[i], of)}, &p->doc, i,
                width - 1 - NUMBER_W - columns_width(&c), &c);
    free(rows);
    if (n == 1)
        put_advice(&p->doc, m->has_expert, width);
}

void view_ledger_heading(const struct model *m, struct grid *g, struct rect r, bool focused)
{
    int n;
    struct ledger_row *rows = model_ledger(m, &n);
    struct columns c = columns_for(m, rows, n, r.w);
    const struct history *h = m->session->history;
    const char *branch = history_branch(h, history_branch_index(h))->name;
    bool named = history_n_branches(h) > 1 || !streq(branch, "main");
    struct str title = {0}, cols = {0};
    grid_fill(g, (struct rect){r.x, r.y, r.w, 1}, STYLE_RULE, 0x2500);
    str_printf(&title, " Steps%s%s ", named ? ": " : "", named ? branch : "");
    int x = grid_text(g, r.x + 1, r.y, focused ? STYLE_TITLE : STYLE_STRONG, str_text(&title));
    for (int i = 0; i < c.n; i++)
        text_right(&cols, c.at[i] == COLUMN_THREADS ? "t" : column_info[c.at[i]].name,
                   column_info[c.at[i]].width);
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

/* Appends " (76 % of the FMA ceiling, best of 11 runs, median 6.00 ms, spread 3 %)". If the time is
 * noisy, or other work ran beside the kernel, that comes first. */
static void describe_time(const struct ledger_row *r, struct str *out)
{
    const struct latency *l = &r->m->latency;
    bool noisy = latency_noisy(l), wide = latency_spreads(l), beside = latency_beside_others(l);
    str_add(out, noisy ? " (~ noisy" : beside ? " (~ " : " (");
    if (beside)
        str_printf(out, "%sbeside other work on %.0f %% of the CPUs%s",
                   noisy ? " " : "", 100 * l->others, noisy ? "" : "; ");
    else if (noisy && r->m->load > 0)
        str_printf(out, " at load %.1f", r->m->load);
    if (noisy && wide)
        str_printf(out, ": spread %.0f %%, ", l->spread * 100);
    else if (noisy)
        str_printf(out, ": the median is %.0f %% above the best; ",
                   100 * (l->median_ms / l->min_ms - 1));
    if (r->m->peak_fraction > 0)
        str_printf(out, "%.0f %% of the FMA ceiling, ", 100 * r->m->peak_fraction);
    str_printf(out, "best of %d run%s", l->runs, l->runs == 1 ? "" : "s");
    if (threads_of(r) > 1)
        str_printf(out, " with %d threads", threads_of(r));
    else if (str_starts(r->step, "loop parallel"))
        str_add(out, " with 1 thread");
    str_add(out, ", median ");
    text_ms(out, l->median_ms);
    if (!noisy || !wide)
        str_printf(out, ", spread %.0f %%", l->spread * 100);
    const char *when = r->m->measured_at;
    if (r->m->measurements > 1)
        str_printf(out, "; the best of %d measurements", r->m->measurements);
    if (r->m->measurements > 1 && strlen(when) > 11)
        str_printf(out, ", of %.10s %.5s UTC", when, when + 11);
    str_add(out, ")");
}

/* Appends " (at least 586 ns, simulated on h100; not timed: the CUDA driver cannot be loaded)". */
static void describe_simulated(const struct measurement *m, struct str *out)
{
    str_add(out, " (at least ");
    text_ms(out, gpu_memory_untimed_ms(m));
    str_printf(out, ", simulated on %s; not timed%s%s)", m->sim.gpu,
               m->device.reason[0] ? ": " : "", m->device.reason);
}

/* Appends the settings of a measurement that differ from those of wanted_for, each behind the text
 * `star`. */
static void describe_settings(const struct model *m, const struct ledger_row *r,
                              const struct measurement *of, const char *star, struct str *out)
{
    struct made_with w = wanted_for(m, r, of);
    if (other_code(r->m, &w))
        str_printf(out, "; %swith isa %s, %s%s", star, r->m->isa, r->m->compiler,
                   other_version(r->m, &w) ? ", code of another version" : "");
    if (other_cache(r->m, &w)) {
        str_printf(out, "; %smisses of cache ", star);
        cache_config_print(out, &r->m->sim.cache);
    }
}

void view_ledger_settings(const struct model *m, struct str *out)
{
    int n;
    struct ledger_row *rows = model_ledger(m, &n);
    for (int i = 0; i < n; i++) {
        int threads = rows[i].here ? threads_of(&rows[i]) : 0;
        if (rows[i].here && rows[i].m)
            describe_settings(m, &rows[i], reference_of(m, rows, n), "", out);
        if (threads > 0 && threads != m->threads)
            str_printf(out, "; with %d thread%s", threads, threads == 1 ? "" : "s");
    }
    free(rows);
}

/* Describes a held step. The step has no effect, so the time of its state is the time of the steps
 * before it. */
static void describe_held(const struct model *m, const struct ledger_row *r, struct str *out)
{
    bool made = model_held_is_made(history_state(m->session->history, r->state));
    str_printf(out, ": ! kept for repair, without effect: %s%s", r->held,
               made ? ", as this step would; d drops it, e edits it"
                    : strstr(r->held, RENAME_DIVIDED)
                    ? "; d drops it, e edits it, i inserts a step before it"
                    : "; e edits it, i inserts a step before it, d drops it");
    if (r->m && r->m->latency.runs > 0) {
        str_add(out, "; the steps before it take ");
        text_ms(out, r->m->latency.min_ms);
        describe_time(r, out);
    }
}

/* Whether the pane is too narrow for the usual column of the misses. */
static bool lacks_misses(const struct model *m, const struct ledger_row *rows, int n)
{
    struct columns c = columns_for(m, rows, n, m->pane[DOC_LEDGER].width);
    bool shown = m->columns.n > 0;
    for (int k = 0; k < c.n; k++)
        shown = shown || c.at[k] == COLUMN_MISSES;
    return !shown;
}

/* Appends a text about row i. misses: whether to add its misses. Returns whether the text says what
 * is wrong with the row or what a star means: the whole text must then be shown. */
static bool describe_row(const struct model *m, const struct ledger_row *r, int i,
                         const struct measurement *of, bool misses, struct str *out)
{
    bool refused = r->m && !r->m->verified && r->m->reason[0];
    str_printf(out, "%d: ", i);
    if (i == 0)
        spec_print_brief(out, history_spec(m->session->history));
    else
        str_add(out, r->step);
    if (misses && !r->held && !r->ahead && r->m && r->m->sim.available) {
        str_add(out, ", ");
        text_count(out, r->m->sim.l1_misses);
        str_add(out, " misses");
    }
    if (r->held)
        describe_held(m, r, out);
    else if (r->ahead)
        str_add(out, " (undone; Enter goes there)");
    else if (refused)
        str_printf(out, ": %s", r->m->reason);
    else if (r->m && r->m->latency.runs > 0)
        describe_time(r, out);
    else if (r->m && gpu_memory_untimed_ms(r->m) > 0)
        describe_simulated(r->m, out);
    size_t plain = out->len;
    if (r->note)
        str_printf(out, r->held ? "; %s" : "; * %s", r->note);
    int by = history_replaced_by(m->session->history, i);
    if (by > 0)
        str_printf(out, "; no effect: by step %d the loop runs in another way", by);
    if (!r->held)
        model_describe_tile(m, history_state(m->session->history, r->state), "; the tile ", out);
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
        describe_settings(m, r, of, "* ", out);
    bool noted = out->len > plain;
    const struct baseline *b = best_baseline(r);
    if (b && !r->ahead && !r->held) {
        str_printf(out, "; %s takes ", b->implementation);
        text_ms(out, b->latency.min_ms);
        str_printf(out, ", %.2f times this", b->ratio);
    }
    return r->held || refused || noted || (r->m && measurement_noisy(r->m));
}

/* Returns the index of the row under the cursor; -1: the cursor is on none of the n rows. */
static int row_here(const struct model *m, int n)
{
    const struct line *l = doc_at(&m->pane[DOC_LEDGER].doc, &m->pane[DOC_LEDGER].scroll);
    return l && l->id < n ? l->id : -1;
}

void view_ledger_hint(const struct model *m, struct str *out)
{
    int n;
    struct ledger_row *rows = model_ledger(m, &n);
    int i = row_here(m, n);
    if (i >= 0)
        describe_row(m, &rows[i], i, reference_of(m, rows, n), lacks_misses(m, rows, n), out);
    struct str misses = {0};
    model_forecast_print(m, "", &misses);
    if (misses.len > 0)
        str_printf(out, "%s%s", out->len ? "; " : "", str_text(&misses));
    str_free(&misses);
    free(rows);
}

bool view_ledger_explains(const struct model *m)
{
    int n;
    struct ledger_row *rows = model_ledger(m, &n);
    int i = row_here(m, n);
    struct str says = {0};
    bool explains = i >= 0
                 && describe_row(m, &rows[i], i, reference_of(m, rows, n), false, &says);
    str_free(&says);
    free(rows);
    return explains;
}
