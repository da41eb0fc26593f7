/* Prints the simulator's detail as text. */
#include "app/cli/cli.h"

#include <stdio.h>

enum { MARGIN = 10, BAR = 32, TIME_ROWS = 16, SITE_COLUMN = MARGIN + 17 + 15 };

static void bar(struct str *out, int64_t n, int64_t most)
{
    int length = most > 0 ? (int)((n * BAR + most - 1) / most) : 0;
    str_add(out, length ? "  " : "");
    str_repeat(out, '#', length);
    str_add(out, "\n");
}

static void causes_row(struct str *out, const char *name, const struct sim_classes *c)
{
    str_printf(out, "%*s%-12s", MARGIN, "", name);
    cli_text_count(out, 16, c->compulsory);
    cli_text_count(out, 16, c->capacity);
    cli_text_count(out, 15, c->conflict);
    str_add(out, "\n");
}

/* Prints causes of misses, the tensor with the most misses first. */
static void causes(struct str *out, const struct cli *c, const struct sim_result *s)
{
    char text[80];
    snprintf(text, sizeof text, "%-12s%16s%16s%15s", "L1 misses", "compulsory", "capacity",
             "conflict");
    cli_text_head(out, c, text);
    int order[MEASURE_MAX_TENSORS], n = 0;
    for (int i = 0; i < s->n && i < s->detail->n_tensors; i++) {
        int at = n++;
        for (; at > 0 && s->by_tensor[order[at - 1]].l1_misses < s->by_tensor[i].l1_misses; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    for (int i = 0; i < n; i++)
        causes_row(out, s->by_tensor[order[i]].tensor, &s->detail->tensor[order[i]].classes);
    causes_row(out, "total", &s->detail->classes);
}

static void reuse(struct str *out, const struct cli *c, const struct sim_reuse *r)
{
    int64_t most = r->first;
    int last = 0;
    for (int i = 0; i < SIM_REUSE_BUCKETS; i++) {
        most = r->bucket[i] > most ? r->bucket[i] : most;
        last = r->bucket[i] > 0 ? i : last;
    }
    cli_text_head(out, c, "reuse distance, in lines, and touches");
    for (int i = 0; i <= last; i++) {
        str_printf(out, "%*s%12lld", MARGIN, "", i ? 1ll << (i - 1) : 0ll);
        cli_text_count(out, 17, r->bucket[i]);
        bar(out, r->bucket[i], most);
    }
    str_printf(out, "%*s%12s", MARGIN, "", "never before");
    cli_text_count(out, 17, r->first);
    bar(out, r->first, most);
}

static void sites(struct str *out, const struct cli *c, const struct sim_result *s)
{
    char text[80];
    snprintf(text, sizeof text, "%17s%15s  %s", "accesses", "L1 misses", "where");
    cli_text_head(out, c, text);
    for (int i = 0; i < s->n_sites && i < 8; i++) {
        str_printf(out, "%*s", MARGIN, "");
        cli_text_count(out, 17, s->site[i].accesses);
        cli_text_count(out, 15, s->site[i].l1_misses);
        size_t start = out->len - (size_t)SITE_COLUMN;
        str_printf(out, "  %s %s\n", s->site[i].is_store ? "store" : "load", s->site[i].text);
        cli_wrap(out, start, SITE_COLUMN + 2);
    }
}

static const char ramp[] = " .:-=+*#%@";

/* Prints the misses of n cells in BAR columns, as tenths of the largest column, then the misses and
 * the size of that column: "|..:=@|  most 1 234 in 8 lines". */
static void heat_row(struct str *out, const char *name, const struct sim_heat *cell, int n,
                     int64_t each, const char *unit)
{
    int columns = n < BAR ? n : BAR;
    int64_t column[BAR] = {0}, most = 0;
    for (int i = 0; i < columns; i++) {
        for (int k = (int)((int64_t)i * n / columns); k < (int64_t)(i + 1) * n / columns; k++)
            column[i] += cell[k].misses;
        most = column[i] > most ? column[i] : most;
    }
    if (most == 0)
        return;
    str_printf(out, "%*s%-12.12s|", MARGIN, "", name);
    for (int i = 0; i < columns; i++)
        str_add_char(out, ramp[(column[i] * 9 + most - 1) / most]);
    str_add(out, "|  most ");
    str_count(out, most);
    int64_t size = (n + columns - 1) / columns * each;
    str_printf(out, " in %lld %s%s\n", (long long)size, unit, size == 1 ? "" : "s");
}

static void heat(struct str *out, const struct cli *c, const struct sim_result *s)
{
    const struct sim_detail *d = s->detail;
    cli_text_head(out, c, "where they missed: along the memory of a tensor, and in the sets of L1");
    for (int i = 0; i < s->n && i < d->n_tensors; i++)
        heat_row(out, s->by_tensor[i].tensor, d->tensor[i].cell, d->tensor[i].n_cells,
                 d->tensor[i].cell_lines, "line");
    if (d->n_set_cells > 0)
        heat_row(out, "(sets)", d->set, d->n_set_cells, d->n_sets / d->n_set_cells, "set");
}

/* Prints misses over the iterations of one loop, several moments per row. */
static void time_line(struct str *out, const struct cli *c, const struct sim_detail *d)
{
    char text[120];
    int64_t most = 0, misses = 0;
    int each = (d->n_moments + TIME_ROWS - 1) / TIME_ROWS, n = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0, from = 0; i < d->n_moments; i++) {
            const struct sim_moment *m = &d->moment[i];
            misses += m->misses;
            n++;
            bool ends = i + 1 == d->n_moments || n >= each || m[1].loop != m->loop;
            if (!ends)
                continue;
            if (pass == 0) {
                most = misses > most ? misses : most;
            } else {
                if (from == 0 || d->moment[from - 1].loop != m->loop) {
                    snprintf(text, sizeof text, "misses along %s, from iteration",
                             d->loop[m->loop].axes);
                    cli_text_head(out, c, text);
                }
                str_printf(out, "%*s%12lld", MARGIN, "", (long long)d->moment[from].first);
                cli_text_count(out, 17, misses);
                bar(out, misses, most);
            }
            from = i + 1;
            misses = n = 0;
        }
}

void cli_text_detail(struct str *out, const struct cli *c, const struct sim_result *s)
{
    if (s->detail->reason[0]) {
        str_printf(out, "%*sno detail: %s\n", MARGIN, "", s->detail->reason);
        return;
    }
    causes(out, c, s);
    sites(out, c, s);
    reuse(out, c, &s->detail->reuse);
    heat(out, c, s);
    time_line(out, c, s->detail);
}
