/* The list of branches: at which step each one stands, and the time and misses of that step. */
#include "app/views/view.h"

#include <stdio.h>
#include <string.h>
#include "app/ui/text.h"
#include "profile/measure/gpu_memory.h"

#define MISSES_W 8                       /* columns of the misses */

static bool is_timed(const struct measurement *r)
{
    return r && r->verified && r->latency.runs > 0;
}

static const struct measurement *measured_at(const struct history *h, int b)
{
    return history_state(h, history_branch(h, b)->at)->measured;
}

static bool is_simulated(const struct measurement *r)
{
    return r && r->sim.available;
}

/* Returns the branch with which the numbers of all branches are compared: the current one if it
 * `has` such numbers, else the first one that has. */
static int reference(const struct history *h, bool (*has)(const struct measurement *))
{
    int b = history_branch_index(h), of = b;
    for (int k = 0; k < history_n_branches(h) && !has(measured_at(h, of)); k++)
        of = k;
    return of;
}

/* Whether branch b was timed with other settings than the branch of reference. */
static bool timed_otherwise(const struct history *h, int b)
{
    const struct measurement *r = measured_at(h, b), *of = measured_at(h, reference(h, is_timed));
    return is_timed(r) && is_timed(of) && !measurement_same_way(r, of);
}

/* Whether branch b was simulated with another cache than the branch of reference. */
static bool simulated_otherwise(const struct history *h, int b)
{
    const struct measurement *r = measured_at(h, b);
    const struct measurement *of = measured_at(h, reference(h, is_simulated));
    return is_simulated(r) && is_simulated(of)
        && !cache_config_same_l1(&r->sim.cache, &of->sim.cache);
}

/* Appends "isa avx2, 2 threads, cache 32K/8/64". */
static void put_settings(const struct measurement *r, struct str *out)
{
    str_printf(out, "isa %s, %d thread%s", r->isa, r->threads > 1 ? r->threads : 1,
               r->threads > 1 ? "s" : "");
    if (!r->sim.available)
        return;
    str_add(out, ", cache ");
    cache_config_print(out, &r->sim.cache);
}

/* Appends the measured time of a branch, with a star if `other` is set (measured with other
 * settings). If the branch was not timed, appends the simulated time on a GPU, which is a lower
 * bound; without a simulated time, appends "-". */
static void put_best(struct str *out, const struct measurement *r, bool other)
{
    if (is_timed(r)) {
        str_add(out, other ? "*" : "");
        text_ms(out, r->latency.min_ms);
    } else if (r && r->verified && gpu_memory_untimed_ms(r) > 0) {
        str_add(out, "≥");
        text_ms(out, gpu_memory_untimed_ms(r));
    } else {
        str_add(out, "-");
    }
}

/* Branch b is an earlier version of the branch `name`. Returns the version that followed b; -1:
 * there is none. It is the one of the branches `name`, `name`~1 ... with the lowest tip above the
 * tip of b, because newer states have higher ids; if no tip is above (a file was loaded, where
 * states are numbered branch by branch), it is `name`. */
static int became(const struct history *h, const char *name, int b)
{
    struct err ignored;
    int next = -1;
    size_t n = strlen(name);
    for (int k = 0; k < history_n_branches(h); k++) {
        const struct branch *x = history_branch(h, k);
        bool same = str_starts(x->name, name) && (!x->name[n] || x->name[n] == '~');
        if (same && x->tip > history_branch(h, b)->tip
            && (next < 0 || x->tip < history_branch(h, next)->tip))
            next = k;
    }
    return next >= 0 ? next : history_branch_find(h, name, &ignored);
}

/* If branch b is an earlier version of another branch, appends where it differs from the version
 * that followed: "kept from main, step 4: loop unroll C K" or "kept from main, without step 4". */
static void put_kept(const struct history *h, int b, struct str *out)
{
    const char *name = history_branch(h, b)->name, *kept = strrchr(name, '~');
    char from[64];                        /* names of branches are shorter */
    int n, m, at, i = 1;
    if (!kept)
        return;
    snprintf(from, sizeof from, "%.*s", (int)(kept - name), name);
    str_printf(out, "kept from %s", from);
    int of = became(h, from, b);
    if (of < 0)
        return;
    VEC(int) own = {0};
    const int *path = history_path(h, b, &n, &at);
    for (int k = 0; k < n; k++)
        vec_push(&own, path[k]);
    path = history_path(h, of, &m, &at);
    while (i < n && i < m
           && streq(history_state(h, own.data[i])->step, history_state(h, path[i])->step))
        i++;
    if (i < n)
        str_printf(out, ", step %d: %s", i, history_state(h, own.data[i])->step);
    else if (i < m)
        str_printf(out, ", without step %d", i);
    vec_free(&own);
}

void view_branches_build(struct model *m, struct pane_doc *p, int width)
{
    const struct history *h = m->session->history;
    struct doc *d = &p->doc;
    int most = width > 60 ? 26 : width - 32 - MISSES_W > 8 ? width - 32 - MISSES_W : 8;
    int name_width = 8;
    for (int b = 0; b < history_n_branches(h); b++) {
        int w = text_width(history_branch(h, b)->name) + 1;
        name_width = w > most ? most : w > name_width ? w : name_width;
    }
    bool first = d->lines.len == 0;      /* the cursor begins on the current branch */
    doc_clear(d);
    doc_printf(d, STYLE_DIM, "  %-*s%6s%12s%*s", name_width, "branch", "step", "best", MISSES_W,
               "misses");
    doc_end(d);
    const struct program *here = model_program(m);
    for (int b = 0; b < history_n_branches(h); b++) {
        int n, at;
        struct str place = {0}, time = {0}, misses = {0};
        history_path(h, b, &n, &at);
        str_printf(&place, "%d/%d", at, n - 1);
        const struct measurement *r = measured_at(h, b);
        put_best(&time, r, timed_otherwise(h, b));
        if (r && r->sim.available) {
            str_add(&misses, simulated_otherwise(h, b) ? "*" : "");
            text_count(&misses, r->sim.l1_misses);
        }
        bool marked = history_branch(h, b)->at == m->marking.state;
        doc_put(d, STYLE_TITLE, b == history_branch_index(h) ? "●" : " ");
        doc_put(d, STYLE_NOTE, marked ? "=" : " ");
        doc_fit(d, STYLE_PLAIN, history_branch(h, b)->name, name_width);
        doc_right(d, at < n - 1 ? STYLE_NOTE : STYLE_PLAIN, &place, 6);
        doc_right(d, STYLE_PLAIN, &time, 12);
        doc_right(d, STYLE_PLAIN, &misses, MISSES_W);
        struct str note = {0};
        model_contract_note(history_state(h, history_branch(h, b)->at)->program, here, &note);
        bool other = note.len > 0;
        if (other)
            doc_put(d, STYLE_NOTE, "  other contract");
        str_clear(&note);
        put_kept(h, b, &note);
        if (note.len > 0 && width >= name_width + MISSES_W + (other ? 58 : 42)) {
            doc_put(d, STYLE_PLAIN, "  ");
            doc_fit(d, STYLE_DIM, str_text(&note), width - doc_col(d) - 1);
        }
        str_free(&note);
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
    const struct measurement *r = measured_at(h, l->id);
    bool timed = timed_otherwise(h, l->id);
    if (timed || simulated_otherwise(h, l->id)) {
        int of = reference(h, timed ? is_timed : is_simulated);
        str_printf(out, "%s* %s: with ", out->len ? "; " : "", b->name);
        put_settings(r, out);
        str_printf(out, "; %s: with ", history_branch(h, of)->name);
        put_settings(measured_at(h, of), out);
    }
    if (out->len == 0 && r && gpu_memory_untimed_ms(r) > 0)
        str_printf(out, "≥: simulated on %s, the least that its traffic takes; not timed",
                   r->sim.gpu);
    int n, at;
    history_path(h, l->id, &n, &at);
    if (out->len == 0 && at < n - 1)
        str_printf(out, "%s stands at step %d of %d: its numbers are of that step; Space marks it",
                   b->name, at, n - 1);
    if (out->len == 0)
        put_kept(h, l->id, out);
}
