/* What the current state costs: time, share of the machine's ceiling, cache misses tensor by
 * tensor, counters. */
#include "app/views/view.h"

#include <math.h>
#include <string.h>
#include "app/ui/text.h"

#define LABEL_WIDTH 12

static void put_label(struct doc *d, const char *label)
{
    doc_put(d, STYLE_DIM, label);
    doc_pad(d, LABEL_WIDTH);
}

static void empty(struct model *m, struct doc *d, int width)
{
    if (m->measure_wanted) {
        doc_line(d, STYLE_PLAIN, "Measuring the current state ...");
        doc_line(d, STYLE_PLAIN, "");
        doc_wrap(d, STYLE_DIM, "The kernel is compiled, compared with a reference, timed, and run "
                 "through the cache simulator. Esc cancels.", width - 2, 0);
        return;
    }
    doc_line(d, STYLE_PLAIN, "Not measured yet.");
    doc_line(d, STYLE_PLAIN, "");
    doc_wrap(d, STYLE_DIM, "Press m to compile the kernel, check its result, time it and count its "
             "cache misses. Press A to do so after every step.", width - 2, 0);
}

static void failed(const struct model *m, struct doc *d, const struct measurement *r, int width)
{
    doc_printf(d, STYLE_BAD, "Not usable: %s", outcome_name[r->outcome]);
    doc_end(d);
    doc_line(d, STYLE_PLAIN, "");
    doc_wrap(d, STYLE_PLAIN, r->reason, width - 2, 0);
    doc_line(d, STYLE_PLAIN, "");
    bool bare = history_current(m->session->history)->parent < 0;
    doc_wrap(d, STYLE_DIM, bare ? "Press m to measure again."
                                : "Press u to undo the step, m to measure again.", width - 2, 0);
}

static void put_time(struct doc *d, const struct measurement *r, int width)
{
    put_label(d, "time");
    doc_ms(d, STYLE_STRONG, r->latency.median_ms);
    doc_printf(d, STYLE_PLAIN, width >= 50 ? "  median of %d runs" : "  %d runs", r->latency.runs);
    if (width >= 66) {
        doc_put(d, STYLE_DIM, ", ");
        doc_ms(d, STYLE_DIM, r->latency.min_ms);
        doc_put(d, STYLE_DIM, " to ");
        doc_ms(d, STYLE_DIM, r->latency.max_ms);
    }
    doc_printf(d, STYLE_DIM, ", spread %.0f %%", r->latency.spread * 100);
    doc_end(d);
}

static void put_speed(struct doc *d, const struct measurement *r, int width)
{
    put_label(d, "speed");
    doc_printf(d, STYLE_PLAIN, "%.1f GFLOP/s", r->gflops);
    doc_end(d);
    if (!(r->peak_gflops > 0))
        return;
    put_label(d, "");
    int bar = width - LABEL_WIDTH - 30;
    doc_bar(d, STYLE_GOOD, r->peak_fraction, bar < 8 ? 8 : bar > 40 ? 40 : bar);
    doc_printf(d, STYLE_PLAIN, " %.0f %%", r->peak_fraction * 100);
    if (r->threads > 1)
        doc_printf(d, STYLE_DIM, " of %d threads' %.0f", r->threads, r->peak_gflops);
    else
        doc_printf(d, STYLE_DIM, " of this core's %.0f", r->peak_gflops);
    doc_end(d);
}

/* Prose from the column after the labels on, in as many rows as it takes. */
static void put_wrapped(struct doc *d, const char *text, int width)
{
    int room = width - LABEL_WIDTH - 3;
    while (*text) {
        size_t n = text_break(text, room < 16 ? 16 : room);
        doc_pad(d, LABEL_WIDTH + 1);
        doc_printf(d, STYLE_DIM, "%.*s", (int)n, text);
        doc_end(d);
        text += n;
        text += strspn(text, " ");
    }
}

/* A line per library: its best time, as often as the kernel's, and how. */
static void put_baselines(struct doc *d, const struct measurement *r, int width)
{
    for (int i = 0; i < VENDOR_COUNT; i++) {
        const struct baseline *b = &r->baseline[i];
        if (!b->available && !b->reason[0])
            continue;
        put_label(d, vendor_name[i]);
        doc_put(d, STYLE_PLAIN, " ");
        if (!b->available) {
            put_wrapped(d, b->reason, width);
            continue;
        }
        doc_ms(d, STYLE_PLAIN, b->latency.min_ms);
        doc_printf(d, b->ratio >= 1 ? STYLE_GOOD : STYLE_BAD, "  %.2f times the kernel's best",
                   b->ratio);
        doc_end(d);
        struct str how = {0};
        str_printf(&how, "%s, %s", b->implementation, b->layout);
        put_wrapped(d, str_text(&how), width);
        str_free(&how);
    }
}

/* "gcc (Debian 12.2.0-14) 12.2.0" without what stands in parentheses. */
static void put_compiler(struct doc *d, const char *name)
{
    const char *open = strstr(name, " ("), *close = open ? strchr(open, ')') : NULL;
    if (close)
        doc_printf(d, STYLE_PLAIN, "%.*s%s", (int)(open - name), name, close + 1);
    else
        doc_put(d, STYLE_PLAIN, name);
}

static void put_check(struct doc *d, const struct measurement *r, int width)
{
    put_label(d, "result");
    doc_put(d, r->verified ? STYLE_GOOD : STYLE_BAD, r->verified ? "correct" : "not correct");
    if (width >= 64 || !(r->error_of_bound > 0))
        doc_printf(d, STYLE_DIM, ", largest error %.1e", r->max_rel_err);
    if (r->error_of_bound > 0)
        doc_printf(d, STYLE_DIM, ", %.2g of the bound", r->error_of_bound);
    doc_end(d);
    put_label(d, "built by");
    put_compiler(d, r->compiler);
    doc_printf(d, STYLE_DIM, ", %d thread%s", r->threads, r->threads == 1 ? "" : "s");
    doc_end(d);
}

/* The measurement that the current one is compared with: the nearest measured state before it. */
static const struct measurement *before(const struct model *m)
{
    const struct history *h = m->session->history;
    for (int id = history_current(h)->parent; id >= 0; id = history_state(h, id)->parent)
        if (history_state(h, id)->measured && history_state(h, id)->measured->sim.available)
            return history_state(h, id)->measured;
    return NULL;
}

static void put_misses_change(struct doc *d, int64_t now, int64_t then)
{
    struct str t = {0};
    enum style s = now < then ? STYLE_GOOD : now > then ? STYLE_BAD : STYLE_DIM;
    if (then > 0)
        text_change(&t, (double)now / (double)then - 1);
    else
        str_add(&t, now > 0 ? "new" : "");
    if (streq(str_text(&t), "same"))
        s = STYLE_DIM;
    doc_right(d, s, &t, 8);
}

struct table { int name, bar; int64_t most; const struct sim_result *then; };

static void put_tensor(struct doc *d, const struct tensor_count *c, const struct table *t)
{
    doc_fit(d, STYLE_PLAIN, c->tensor, t->name);
    doc_count(d, STYLE_DIM, c->loads, 8);
    doc_count(d, STYLE_DIM, c->stores, 8);
    doc_count(d, STYLE_PLAIN, c->l1_misses, 8);
    if (t->then) {
        int64_t old = 0;
        for (int i = 0; i < t->then->n; i++)
            if (streq(t->then->by_tensor[i].tensor, c->tensor))
                old = t->then->by_tensor[i].l1_misses;
        put_misses_change(d, c->l1_misses, old);
    }
    doc_put(d, STYLE_PLAIN, " ");
    doc_bar(d, STYLE_NOTE, t->most > 0 ? (double)c->l1_misses / (double)t->most : 0, t->bar);
    doc_end(d);
}

static void put_sim(const struct model *m, struct doc *d, const struct sim_result *s, int width)
{
    struct table t = {.name = 8};
    const struct measurement *old = before(m);
    struct str geometry = {0};
    if (!s->available) {
        doc_line(d, STYLE_STRONG, "Cache misses");
        doc_wrap(d, STYLE_DIM, s->reason, width - 2, 0);
        return;
    }
    t.then = old ? &old->sim : NULL;
    for (int i = 0; i < s->n; i++) {
        int w = text_width(s->by_tensor[i].tensor);
        t.name = w > t.name ? w : t.name;
        t.most = s->by_tensor[i].l1_misses > t.most ? s->by_tensor[i].l1_misses : t.most;
    }
    t.bar = width - 2 - t.name - 25 - (t.then ? 8 : 0);
    t.bar = t.bar < 4 ? 4 : t.bar > 32 ? 32 : t.bar;
    doc_put(d, STYLE_STRONG, "Cache misses, simulated");
    str_printf(&geometry, "  first level, %lld KiB, %d-way, lines of %d bytes",
               (long long)(s->cache.level[0].geometry.size_bytes / 1024),
               s->cache.level[0].geometry.ways, s->cache.level[0].geometry.line_bytes);
    if (width >= 24 + text_width(str_text(&geometry)))
        doc_put(d, STYLE_DIM, str_text(&geometry));
    doc_end(d);
    str_free(&geometry);
    doc_printf(d, STYLE_DIM, "%-*s%8s%8s%8s%s", t.name, "tensor", "loads", "stores", "misses",
               t.then ? "  change" : "");
    doc_end(d);
    for (int i = 0; i < s->n; i++)
        put_tensor(d, &s->by_tensor[i], &t);
    doc_printf(d, STYLE_STRONG, "%-*s", t.name, "all");
    doc_count(d, STYLE_DIM, s->loads, 8);
    doc_count(d, STYLE_DIM, s->stores, 8);
    doc_count(d, STYLE_STRONG, s->l1_misses, 8);
    if (t.then)
        put_misses_change(d, s->l1_misses, t.then->l1_misses);
    doc_end(d);
}

static void put_value(struct doc *d, const struct count *c)
{
    doc_printf(d, STYLE_PLAIN, "%-28s", c->name);
    if (c->derived || (c->value < 1000 && c->value != floor(c->value)))
        doc_printf(d, STYLE_PLAIN, "%10.4g", c->value);
    else
        doc_count(d, STYLE_PLAIN, llround(c->value), 10);
    doc_printf(d, STYLE_DIM, c->unit[0] ? " %s" : "%s", c->unit);
    if (c->scaled && c->running > 0)
        doc_printf(d, STYLE_DIM, "  extrapolated from %.0f %% of the time", 100 * c->running);
    else if (c->scaled)
        doc_put(d, STYLE_DIM, "  extrapolated");
    doc_end(d);
}

static void put_counts(struct doc *d, const char *title, const struct counts *r, int width)
{
    doc_line(d, STYLE_STRONG, title);
    if (!r->available)
        doc_wrap(d, STYLE_DIM, r->reason[0] ? r->reason : "not counted in this measurement",
                 width - 2, 0);
    for (int i = 0; r->available && i < r->n; i++)
        put_value(d, &r->count[i]);
    if (r->available && r->missing[0])
        doc_wrap(d, STYLE_DIM, r->missing, width - 2, 0);
    if (r->available && r->source[0])
        doc_wrap(d, STYLE_DIM, r->source, width - 2, 0);
}

void view_profile_build(struct model *m, struct pane_doc *p, int width)
{
    const struct measurement *r = history_current(m->session->history)->measured;
    struct doc *d = &p->doc;
    doc_clear(d);
    if (!r) {
        empty(m, d, width);
        return;
    }
    if (r->outcome != OUTCOME_OK && r->latency.runs == 0) {
        failed(m, d, r, width);
        return;
    }
    put_time(d, r, width);
    put_speed(d, r, width);
    put_baselines(d, r, width);
    put_check(d, r, width);
    doc_line(d, STYLE_PLAIN, "");
    put_sim(m, d, &r->sim, width);
    view_sim_put(d, &r->sim, width);
    doc_line(d, STYLE_PLAIN, "");
    put_counts(d, "Hardware counters", &r->counts[METER_ID_PERF], width);
    for (int i = METER_ID_PERF + 1; i < METER_COUNT; i++)
        if (r->counts[i].available) {
            doc_line(d, STYLE_PLAIN, "");
            put_counts(d, meter_name[i], &r->counts[i], width);
        }
}
