/* Prints a study's report as text.  Measured values and the paper's values have columns of their
 * own. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "kernels/base/version.h"
#include "profile/measure/meters.h"
#include "sessions/study/study_tune.h"
#include "sessions/report/text_table.h"

#define WIDE_SPREAD 0.5  /* the report counts the cells with a larger spread (latency.spread) */

/* Returns x as text: "2 048" or "0.3412", or "-" for NAN. */
static const char *number(char out[32], double x)
{
    struct str text = {0};
    if (isnan(x))
        return "-";
    str_quantity(&text, x);
    snprintf(out, 32, "%s", str_text(&text));
    str_free(&text);
    return out;
}

static const char *times(char out[32], double ratio)
{
    if (isnan(ratio))
        return "";
    snprintf(out, 32, ratio >= 100 ? "%.0fx" : ratio >= 10 ? "%.1fx" : "%.2fx", ratio);
    return out;
}

static const char *percent(char out[32], double x)
{
    snprintf(out, 32, "%.1f %%", 100 * x);
    return isnan(x) ? "" : out;
}

/* Appends text, wrapped into lines with a left margin.  Empty lines in it separate paragraphs. */
static void wrapped(struct str *out, const char *text, int margin, int width)
{
    struct str paragraph = {0};
    str_repeat(&paragraph, ' ', margin);
    for (const char *c = text + strspn(text, " \n"); *c;) {
        size_t word = strcspn(c, " \n"), gap = strspn(c + word, " \n");
        bool ends = !c[word + gap] || memmem(c + word, gap, "\n\n", 2);
        str_add_n(&paragraph, c, word);
        c += word + gap;
        if (!ends) {
            str_add_char(&paragraph, ' ');
            continue;
        }
        str_wrap(out, str_text(&paragraph), margin + width, margin);
        str_add(out, *c ? "\n" : "");
        paragraph.len = (size_t)margin;
    }
    str_free(&paragraph);
}

/* --- Metrics ---------------------------------------------------------------------------------- */

static bool any_spread(const struct study_report *r, int metric)
{
    bool any = false;
    for (int i = 0; i < r->n_cases * r->study->n_variants; i++)
        any = any || !isnan(r->cell[i].spread[metric]);
    return any;
}

/* Whether a ratio is nearer to 1 than the spread of the samples: the true ratio may be above or
 * below 1. */
static bool within_spread(const struct study_report *r, int c, int v, int metric)
{
    int base = r->study->metric[metric].base;
    double x = study_ratio(r, c, v, metric);
    double own = study_cell(r, c, v)->spread[metric];
    double other = base < 0 ? NAN : study_cell(r, c, base)->spread[metric];
    return v != base && !isnan(x) && fabs(log(x)) < fmax(own, other);
}

static bool any_within_spread(const struct study_report *r, int metric)
{
    bool any = false;
    for (int c = 0; c < r->n_cases; c++)
        for (int v = 0; v < r->study->n_variants; v++)
            any = any || within_spread(r, c, v, metric);
    return any;
}

/* Returns the number of cells with a spread so wide that the machine was probably busy. */
static int n_wide(const struct study_report *r, int metric)
{
    int n = 0;
    for (int i = 0; i < r->n_cases * r->study->n_variants; i++)
        n += r->cell[i].spread[metric] > WIDE_SPREAD;
    return n;
}

static void metric_row(struct text_table *t, const struct study_report *r, int c, int v,
                       int metric, bool spread)
{
    const struct study *s = r->study;
    const struct study_metric *m = &s->metric[metric];
    char text[32];
    text_table_add(t, v == 0 || s->n_variants == 1 ? s->cases[r->cases[c]].title : "");
    text_table_add(t, s->variant[v].title);
    text_table_add(t, number(text, study_cell(r, c, v)->value[metric]));
    text_table_add(t, times(text, study_ratio(r, c, v, metric)));
    if (spread)
        text_table_add(t, percent(text, study_cell(r, c, v)->spread[metric]));
    if (!m->has_paper)
        return;
    double paper = study_paper(r, c, v, metric);
    text_table_add(t, "|");
    text_table_add(t, isnan(paper) ? "" : number(text, paper));
    text_table_add(t, times(text, study_paper_ratio(r, c, v, metric)));
    text_table_add(t, "|");
    enum agreement verdict = study_cell_verdict(r, c, v, metric);
    text_table_addf(t, "%s%s", study_agreement_text[verdict],
                    verdict > AGREE_BASE && within_spread(r, c, v, metric) ? " ~" : "");
}

/* Prints one row per cell: measured | paper | verdict. */
static void metric_table(struct str *out, const struct study_report *r, int metric)
{
    const struct study_metric *m = &r->study->metric[metric];
    bool spread = any_spread(r, metric);
    struct text_table t = { .align = m->has_paper ? spread ? "llrrrlrrll" : "llrrlrrll"
                                                  : spread ? "llrrr" : "llrr" };
    const char *head[] = { "case", "variant", "measured", m->base < 0 ? "" : "ratio",
                           spread ? "spread" : NULL, "|", "paper", "ratio", "|", "verdict" };
    for (int i = 0; i < (m->has_paper ? COUNT_OF(head) : 5); i++)
        if (head[i])
            text_table_add(&t, head[i]);
    for (int c = 0; c < r->n_cases; c++)
        for (int v = 0; v < r->study->n_variants; v++)
            metric_row(&t, r, c, v, metric, spread);
    text_table_print(out, &t);
}

/* Prints one row per case and one column per variant, for metrics without numbers of the paper. */
static void metric_pivot(struct str *out, const struct study_report *r, int metric)
{
    const struct study *s = r->study;
    char align[TEXT_TABLE_COLUMNS] = "l", text[32], by[32];
    memset(align + 1, 'r', (size_t)s->n_variants);
    struct text_table t = { .align = align };
    text_table_add(&t, "case");
    for (int v = 0; v < s->n_variants; v++)
        text_table_add(&t, s->variant[v].title);
    for (int c = 0; c < r->n_cases; c++) {
        text_table_add(&t, s->cases[r->cases[c]].title);
        for (int v = 0; v < s->n_variants; v++) {
            double ratio = study_ratio(r, c, v, metric);
            text_table_addf(&t, isnan(ratio) ? "%s%s" : "%s (%s)",
                            number(text, study_cell(r, c, v)->value[metric]), times(by, ratio));
        }
    }
    text_table_print(out, &t);
}

/* Prints each reason for missing values once, with the number of cells that it affects. */
static void missing_lines(struct str *out, const struct study_report *r, int metric)
{
    int n = r->n_cases * r->study->n_variants;
    for (int i = 0; i < n; i++) {
        const char *why = r->cell[i].missing[metric];
        int count = 0;
        bool seen = false;
        for (int k = 0; why && k < n; k++) {
            bool same = r->cell[k].missing[metric] && streq(r->cell[k].missing[metric], why);
            seen = seen || (same && k < i);
            count += same;
        }
        if (why && !seen) {
            struct str line = {0};
            str_printf(&line, "- in %d of %d cells: %s", count, n, why);
            wrapped(out, str_text(&line), 4, 92);
            str_free(&line);
        }
    }
}

static void metrics(struct str *out, const struct study_report *r)
{
    for (int i = 0; i < r->study->n_metrics; i++) {
        const struct study_metric *m = &r->study->metric[i];
        str_printf(out, "\n%s", m->title);
        if (m->unit[0])
            str_printf(out, " (%s)", m->unit);
        if (m->base >= 0)
            str_printf(out, ", ratio to %s", r->study->variant[m->base].title);
        str_add(out, "\n");
        bool nothing = true;
        for (int k = 0; k < r->n_cases * r->study->n_variants; k++)
            nothing = nothing && isnan(r->cell[k].value[i]);
        bool fits = r->study->n_variants < TEXT_TABLE_COLUMNS - 1;
        if (!m->has_paper && r->n_cases > 1 && fits && !nothing)
            metric_pivot(out, r, i);
        else if (m->has_paper || !nothing)
            metric_table(out, r, i);
        if (m->has_paper && any_within_spread(r, i))
            str_add(out, "    ~ the ratio is within the spread of the samples\n");
        int wide = n_wide(r, i);
        if (wide > 0)
            str_printf(out, "    %d of %d cells: the middle half of the samples spreads over more"
                       " than half of their\n    median: something else was running; minima move"
                       " less\n", wide, r->n_cases * r->study->n_variants);
        missing_lines(out, r, i);
    }
}

/* --- Findings --------------------------------------------------------------------------------- */

static void finding_value(struct str *out, const struct study_report *r, int i)
{
    const struct study_finding *f = &r->study->finding[i];
    const struct study_result *x = &r->result[i];
    char text[32];
    if (!x->known) {
        str_printf(out, "not known (%s)", x->missing ? x->missing : "nothing was measured");
    } else if (f->over == OVER_ALL) {
        str_add(out, x->holds ? "holds in all measured cases" : "does not hold");
        if (x->failing)
            str_printf(out, " in %s", x->failing);
        str_printf(out, " (%d of %d%s)", x->n_cases, r->study->n_cases,
                   x->holds ? "" : " cases measured");
    } else {
        str_printf(out, "measured %s%s%s, %s over %d of %d cases", number(text, x->value),
                   f->unit[0] ? " " : "", f->unit, study_over_name[f->over], x->n_cases,
                   r->study->n_cases);
    }
    if (!isnan(f->paper))
        str_printf(out, " | paper %s%s%s%s%s", number(text, f->paper), f->unit[0] ? " " : "",
                   f->unit, x->verdict ? " | " : "", study_agreement_text[x->verdict]);
}

/* Prints one row for each value of `by`. */
static void groups(struct str *out, const struct study_finding *f, const struct study_result *x)
{
    struct text_table t = { .align = "llrr" };
    char text[32];
    for (int i = 0; i < x->n_groups; i++) {
        const struct study_group *g = &x->group[i];
        bool all = f->over == OVER_ALL;
        text_table_row(&t, "    \t%s\t%s%s%s\t%d case%s", g->value,
                       !all ? number(text, g->number) : g->holds ? "holds" : "does not hold",
                       !all && f->unit[0] ? " " : "", all ? "" : f->unit, g->n_cases,
                       g->n_cases == 1 ? "" : "s");
    }
    text_table_print(out, &t);
}

static void findings(struct str *out, const struct study_report *r)
{
    if (r->study->n_findings > 0)
        str_add(out, "\nfindings\n");
    for (int i = 0; i < r->study->n_findings; i++) {
        struct str line = {0};
        wrapped(out, r->study->finding[i].text, 2, 92);
        finding_value(&line, r, i);
        wrapped(out, str_text(&line), 6, 90);
        str_free(&line);
        groups(out, &r->study->finding[i], &r->result[i]);
    }
}

/* --- Searches, and cells without numbers ------------------------------------------------------ */

static void searches(struct str *out, const struct study_report *r)
{
    const struct study *s = r->study;
    struct text_table t = { .align = "llrrrrll" };
    bool any = false, ended = false;
    for (int i = 0; i < r->n_cases * s->n_variants; i++) {
        const struct study_cell *cell = &r->cell[i];
        if (cell->combinations == 0)
            continue;
        if (!any)
            text_table_row(&t, "case\tvariant\tof\ttried\tillegal\tfailed\tended\tbest");
        any = true;
        ended = ended || (cell->ended && !streq(cell->ended, "all"));
        text_table_row(&t, "%s\t%s\t%d\t%d\t%d\t%d\t%s\t%s",
                       s->cases[r->cases[i / s->n_variants]].title,
                       s->variant[i % s->n_variants].title, cell->combinations, cell->tried,
                       cell->illegal, cell->failed, cell->ended ? cell->ended : "-",
                       cell->chosen.n ? param_text(r->arena, &cell->chosen) : "-");
    }
    if (any)
        str_add(out, "\nsearch: combinations of loop parameters, all in the study file\n");
    text_table_print(out, &t);
    if (any && ended)
        str_add(out, "    ended  all: every combination was tried\n"
                     "           scale: --scale allowed no more combinations\n"
                     "           budget: the search used up its share of the time budget\n"
                     "    A search that ended early may have missed the best combination.\n");
}

static void troubles(struct str *out, const struct study_report *r)
{
    const struct study *s = r->study;
    bool any = false;
    for (int i = 0; i < r->n_cases * s->n_variants; i++) {
        const struct study_cell *cell = &r->cell[i];
        struct str line = {0};
        if (cell->state <= CELL_REUSED)
            continue;
        str_add(out, any ? "" : "\ncells without numbers\n");
        any = true;
        str_printf(&line, "%s, %s: %s: %s", s->cases[r->cases[i / s->n_variants]].title,
                   s->variant[i % s->n_variants].title, study_state_name[cell->state],
                   cell->reason);
        wrapped(out, str_text(&line), 2, 92);
        str_free(&line);
    }
}

/* --- How it was measured ---------------------------------------------------------------------- */

static void caches(struct str *out, const struct study_report *r)
{
    int n = 0;
    for (int i = 0; i < r->n_cases * r->study->n_variants; i++) {
        bool seen = r->cell[i].cache == NULL;
        for (int k = 0; k < i; k++)
            seen = seen || (r->cell[k].cache && streq(r->cell[k].cache, r->cell[i].cache));
        if (!seen)
            str_printf(out, "%s%s", n++ ? "; " : "  simulated cache  ", r->cell[i].cache);
    }
    str_add(out, out->len && out->data[out->len - 1] != '\n' ? "\n" : "");
}

static void footer(struct str *out, const struct study_report *r)
{
    int reused = 0, together = 0;
    for (int i = 0; i < r->n_cases * r->study->n_variants; i++) {
        reused += r->cell[i].state == CELL_REUSED;
        together += r->cell[i].interleaved;
    }
    str_printf(out, "\nmeasured\n  machine          %s\n  compiler         %s, %d thread%s%s%s\n",
               r->host, r->compiler[0] ? r->compiler : "none", r->threads,
               r->threads == 1 ? "" : "s", r->isa ? ", built for " : "", r->isa ? r->isa : "");
    str_add(out, "  tilescope        " TILESCOPE_VERSION "\n");
    str_printf(out, "  date             %s, in %.1f s, data seed %llu\n", r->date, r->seconds,
               (unsigned long long)r->seed);
    str_printf(out, "  scale            %g: %d of %d cases", r->scale, r->n_cases,
               r->study->n_cases);
    if (r->meters & METER_CLOCK)
        str_printf(out, ", %.3g s of samples a cell", r->time_s > 0 ? r->time_s : 0.3);
    str_add(out, "\n");
    if (r->study->left_out)
        str_printf(out, "  left out         %s\n", r->study->left_out);
    if (reused)
        str_printf(out, "  reused           %d cells of an earlier report\n", reused);
    if (together)
        str_printf(out, "  timing           %d cells in turns with the others of their case\n",
                   together);
    caches(out, r);
    for (int i = 0; i < r->n_meters; i++) {
        const struct meter_info *m = &r->meter[i];
        unsigned bit;
        struct err e;
        if (meters_parse(m->name, &bit, &e) && (r->meters & bit)) {
            struct str line = {0};
            str_printf(&line, "meter %s: %s%s", m->name, m->available ? "used" : "not used, ",
                       m->available ? "" : m->reason);
            wrapped(out, str_text(&line), 2, 92);
            str_free(&line);
        }
    }
}

void study_text(struct str *out, const struct study_report *r)
{
    const struct study *s = r->study;
    str_printf(out, "%s: %s\n", s->id, s->title);
    if (s->paper[0])
        str_printf(out, "paper: %s%s%s\n", s->paper, s->item[0] ? ", " : "", s->item);
    if (s->machine[0])
        str_printf(out, "       measured there on: %s\n", s->machine);
    if (r->partial)
        str_add(out, "PARTIAL: this study was stopped; the cells that are left out say so below\n");
    if (s->prose[0]) {
        str_add(out, "\n");
        wrapped(out, s->prose, 2, 92);
    }
    metrics(out, r);
    findings(out, r);
    searches(out, r);
    study_tune_text(out, r);
    troubles(out, r);
    footer(out, r);
}

#define LIST_HEAD "study\tcases\tvariants\tof"
#define LEAST_TITLE 40

/* Lists the studies, with the title of each study on lines of its own. */
static void list_narrow(struct str *out, struct study *const *s, int n, int width)
{
    struct text_table t = { .align = "lrrl" };
    struct str rows = {0};
    text_table_row(&t, LIST_HEAD);
    for (int i = 0; i < n; i++)
        text_table_row(&t, "%s\t%d\t%d\t%s", s[i]->id, s[i]->n_cases, s[i]->n_variants,
                       s[i]->item);
    text_table_print(&rows, &t);
    const char *row = str_text(&rows);
    for (int i = -1; *row; i++) {
        size_t len = strcspn(row, "\n");
        struct str title = {0};
        str_add_n(out, row, len);
        str_add_char(out, '\n');
        str_printf(&title, "      %s\n", i >= 0 && i < n ? s[i]->title : "");
        if (i >= 0)
            str_wrap(out, str_text(&title), width, 6);
        str_free(&title);
        row += len + (row[len] != 0);
    }
    str_free(&rows);
}

/* If fewer than LEAST_TITLE columns are left for titles, each title gets a row of its own. */
void study_list_text(struct str *out, struct study *const *s, int n, int width)
{
    struct text_table t = { .align = "lrrll" };
    struct str all = {0};
    text_table_row(&t, LIST_HEAD "\ttitle");
    for (int i = 0; i < n; i++)
        text_table_row(&t, "%s\t%d\t%d\t%s\t%s", s[i]->id, s[i]->n_cases, s[i]->n_variants,
                       s[i]->item, s[i]->title);
    text_table_print(&all, &t);
    const char *title = strstr(str_text(&all), "title");
    int at = (int)(title - str_text(&all));
    if (width - at >= LEAST_TITLE)
        str_wrap(out, str_text(&all), width, at);
    else
        list_narrow(out, s, n, width);
    str_free(&all);
}
