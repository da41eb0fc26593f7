/* The simulated memory of a GPU as tables: sectors, ideal sectors and conflicts of the tensors and of
 * the places in the code, and misses of its caches. */
#include "app/views/measurement_doc.h"

#include <stdio.h>

#include "app/ui/text.h"
#include "profile/measure/gpu_memory.h"

#define INDENT 2
#define NAME 12
#define MOST_SITES 16

enum { REQUESTS, SECTORS, IDEAL, SHARE, CONFLICTS, L1, L2, N_COLUMNS };
static const char *const column[] = { "requests", "sectors", "ideal", "efficient", "conflicts",
                                      "L1 misses", "L2 misses" };

static void put_count(struct doc *d, const struct measurement_look *k, int64_t n, int width)
{
    struct str text = {0};
    if (k->exact)
        str_printf(&text, "%lld", (long long)n);
    else
        text_count(&text, n);
    doc_right(d, STYLE_PLAIN, &text, width);
}

static int width_of(const struct measurement_look *k)
{
    return k->exact ? 14 : 10;
}

static void put_head(struct doc *d, const struct sim_result *s, const struct measurement_look *k,
                     const char *name)
{
    int n = s->cache.n_levels > 1 ? N_COLUMNS : L2;
    doc_printf(d, STYLE_DIM, "%*s%-*s", INDENT, "", NAME, name);
    for (int i = 0; i < n; i++)
        doc_printf(d, STYLE_DIM, "%*s", i == SHARE ? 11 : width_of(k), column[i]);
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
            doc_printf(d, value[IDEAL] < value[SECTORS] ? STYLE_NOTE : STYLE_PLAIN, "%9.0f %%",
                       100 * (double)value[IDEAL] / (double)value[SECTORS]);
        else
            doc_printf(d, STYLE_DIM, "%11s", "");
    }
    doc_end(d);
}

static void put_tensors(struct doc *d, const struct sim_result *s, const struct measurement_look *k)
{
    put_head(d, s, k, "tensor");
    for (int i = 0; i < s->n; i++) {
        const struct tensor_count *c = &s->by_tensor[i];
        put_row(d, s, k, c->tensor,
                (int64_t[]){ c->loads + c->stores, c->sectors, c->ideal_sectors, 0,
                             c->bank_conflicts, c->l1_misses, c->l2_misses });
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
    snprintf(name, sizeof name, "%s%s%s", t->memory[0] == 'g' ? "" : t->memory,
             t->memory[0] == 'g' ? "" : " ", t->is_store ? "store" : "load");
    put_row(d, s, k, name, (int64_t[]){ t->accesses, t->sectors, t->ideal_sectors, 0,
                                        t->bank_conflicts, t->l1_misses, t->l2_misses });
    gpu_memory_say(t, &says);
    doc_pad(d, INDENT + 2);
    doc_wrap(d, says.len > 0 ? STYLE_NOTE : STYLE_DIM, says.len > 0 ? str_text(&says) : t->text,
             k->width, INDENT + 2);
    str_free(&says);
}

void gpu_sim_doc(struct doc *d, const struct sim_result *s, const struct measurement_look *k)
{
    put_tensors(d, s, k);
    doc_line(d, STYLE_PLAIN, "");
    put_head(d, s, k, "place");
    for (int i = 0; i < s->n_sites && i < MOST_SITES; i++)
        put_site(d, s, k, &s->site[i]);
}
