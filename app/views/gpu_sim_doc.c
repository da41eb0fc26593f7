/* The simulated memory of a GPU as tables: sectors, ideal sectors, conflicts and misses of the
 * tensors and of the places in the code. */
#include "app/views/measurement_doc.h"

#include <stdio.h>

#include "app/ui/text.h"
#include "profile/measure/gpu_memory.h"

#define INDENT 2
#define NAME 10
#define SHARE_WIDTH 6
#define EXACT_WIDTH 13                    /* columns of a number with all its digits */
#define WIDTH 10                          /* columns of a shortened number */
#define NARROW_WIDTH 6                    /* columns of a number in a pane too narrow for WIDTH */
#define MOST_SITES 16

enum { REQUESTS, SECTORS, IDEAL, SHARE, CONFLICTS, L1, L2, N_COLUMNS };
static const char *const column[] = { "requests", "sectors", "ideal", "eff.", "conflicts",
                                      "L1 misses", "L2 misses" };
static const char *const brief[] = { "reqs", "sect", "ideal", "eff.", "confl", "L1mis", "L2mis" };

static void put_count(struct doc *d, const struct measurement_look *k, int64_t n, int width)
{
    struct str text = {0};
    if (k->exact)
        str_printf(&text, "%lld", (long long)n);
    else
        text_count(&text, n);
    doc_right(d, STYLE_PLAIN, &text, width);
}

static bool is_narrow(const struct measurement_look *k)
{
    return !k->exact && k->width < INDENT + NAME + (N_COLUMNS - 1) * WIDTH + SHARE_WIDTH;
}

static int width_of(const struct measurement_look *k)
{
    return k->exact ? EXACT_WIDTH : is_narrow(k) ? NARROW_WIDTH : WIDTH;
}

static void put_head(struct doc *d, const struct sim_result *s, const struct measurement_look *k,
                     const char *name)
{
    int n = s->cache.n_levels > 1 ? N_COLUMNS : L2;
    doc_printf(d, STYLE_DIM, "%*s%-*s", INDENT, "", NAME, name);
    for (int i = 0; i < n; i++)
        doc_printf(d, STYLE_DIM, "%*s", i == SHARE ? SHARE_WIDTH : width_of(k),
                   is_narrow(k) ? brief[i] : column[i]);
    doc_end(d);
}

static void put_row(struct doc *d, const struct sim_result *s, const struct measurement_look *k,
                    const char *name, const int64_t *value)
{
    int n = s->cache.n_levels > 1 ? N_COLUMNS : L2;
    doc_pad(d, INDENT);
    doc_fit(d, STYLE_PLAIN, name, NAME - 1);
    doc_pad(d, INDENT + NAME);
    for (int i = 0; i < n; i++) {
        if (i != SHARE)
            put_count(d, k, value[i], width_of(k));
        else if (value[SECTORS] > 0)
            doc_printf(d, value[IDEAL] < value[SECTORS] ? STYLE_NOTE : STYLE_PLAIN, "%*.0f %%",
                       SHARE_WIDTH - 2, 100 * (double)value[IDEAL] / (double)value[SECTORS]);
        else
            doc_printf(d, STYLE_DIM, "%*s", SHARE_WIDTH, "");
    }
    doc_end(d);
}

/* The values of a struct access_cost for the columns after REQUESTS. put_row computes the column
 * SHARE from IDEAL and SECTORS, so its value here is 0. */
#define COST(c) (c).sectors, (c).ideal_sectors, 0, (c).bank_conflicts, (c).l1_misses, (c).l2_misses

static void put_tensors(struct doc *d, const struct sim_result *s, const struct measurement_look *k)
{
    put_head(d, s, k, "tensor");
    for (int i = 0; i < s->n; i++) {
        const struct tensor_count *c = &s->by_tensor[i];
        put_row(d, s, k, c->tensor,
                (int64_t[]){ c->loads + c->stores, COST(c->cost) });
    }
    put_row(d, s, k, "total",
            (int64_t[]){ s->loads + s->stores, s->sectors, s->ideal_sectors, 0, s->bank_conflicts,
                         s->l1_misses, s->level[1].misses });
}

static void put_site(struct doc *d, const struct sim_result *s, const struct measurement_look *k,
                     const struct sim_site *t)
{
    struct str says = {0};
    char name[32];
    if (t->memory[0] == 'g')
        snprintf(name, sizeof name, "%s", t->is_store ? "store" : "load");
    else
        snprintf(name, sizeof name, "%s %s", t->memory, t->is_store ? "st" : "ld");
    put_row(d, s, k, name, (int64_t[]){ t->accesses, COST(t->cost) });
    gpu_memory_say(t, &says);
    doc_pad(d, INDENT + 2);
    doc_wrap(d, says.len > 0 ? STYLE_NOTE : STYLE_DIM, says.len > 0 ? str_text(&says) : t->text,
             k->width, INDENT + 2);
    str_free(&says);
}

/* Adds "at least 12.3 us, by L2 (FMA 3.1 us, L1 8.0 us, DRAM 1.2 us); simulated, not measured". */
static void put_cost(struct doc *d, const struct sim_result *s, const struct measurement_look *k)
{
    struct gpu_cost c = gpu_memory_cost(s);
    struct str text = {0};
    str_printf(&text, "at least %.3g us, by %s (", c.ns * 1e-3, gpu_bound_name[c.bound]);
    for (int i = 0, n = 0; i < GPU_BOUND_COUNT; i++)
        if (i != (int)c.bound)
            str_printf(&text, "%s%s %.3g us", n++ ? ", " : "", gpu_bound_name[i], c.each[i] * 1e-3);
    str_add(&text, "); simulated, not measured");
    measurement_doc_row(d, "cost:", STYLE_PLAIN, 0, &text, k->width);
}

/* Adds how much shared memory a block uses: "66048 bytes of a block, dynamic". */
static void put_shared(struct doc *d, const struct sim_result *s, const struct measurement_look *k)
{
    struct str text = {0};
    if (s->shared_bytes == 0)
        return;
    str_printf(&text, "%lld bytes of a block%s", (long long)s->shared_bytes,
               s->shared_bytes > SHARED_BYTES ? ", dynamic" : "");
    measurement_doc_row(d, "shared:", STYLE_PLAIN, 0, &text, k->width);
}

void gpu_sim_doc(struct doc *d, const struct sim_result *s, const struct measurement_look *k)
{
    put_cost(d, s, k);
    put_shared(d, s, k);
    put_tensors(d, s, k);
    doc_line(d, STYLE_PLAIN, "");
    put_head(d, s, k, "place");
    for (int i = 0; i < s->n_sites && i < MOST_SITES; i++)
        put_site(d, s, k, &s->site[i]);
}
