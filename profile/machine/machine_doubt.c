/* Finds doubtful rates in a measured machine model, and merges two measurements. */
#include "profile/machine/machine_model.h"

#include <stdio.h>

/* Rates below these ratios are doubtful. */
#define TOGETHER 0.8                     /* rate of all cores / rate of one core */
#define WIDER 0.9                        /* rate / rate of the next narrower vectors */
#define MIDDLE 0.6                       /* median / best of the samples */
#define BEFORE 0.85                      /* rate / rate of the earlier model */

static void add(struct str *out, int *n, const char *text)
{
    str_printf(out, "%s%s", *n ? "; " : "", text);
    (*n)++;
}

/* Names of the rates that fail a test: "avx512, L1". */
struct doubt_names { struct str text; int n; };

static void name(struct doubt_names *to, const char *what)
{
    str_printf(&to->text, "%s%s", to->n++ ? ", " : "", what);
}

static void add_names(struct str *out, int *n, const char *what, struct doubt_names *of)
{
    struct str text = {0};
    str_printf(&text, "%s (%s)", what, str_text(&of->text));
    if (of->n > 0)
        add(out, n, str_text(&text));
    *n += of->n > 1 ? of->n - 1 : 0;
    str_free(&text);
    str_free(&of->text);
}

/* The rates of a model with their names: peaks by instruction set, loads by level, DRAM copy. */
#define MODEL_RATES (MODEL_ISAS + MODEL_LEVELS + 1)
struct named { const char *name; struct rates *r; };

static int rates_in(struct machine_model *m, struct named *out)
{
    int n = 0;
    for (int i = 0; i < m->n_isa; i++)
        out[n++] = (struct named){ m->isa[i].isa, &m->isa[i].gflops };
    for (int i = 0; i < MODEL_LEVELS; i++)
        out[n++] = (struct named){ model_level_name[i], &m->level[i].load };
    out[n++] = (struct named){ "DRAM, copy", &m->level[MODEL_DRAM].copy };
    return n;
}

static bool below(const struct rate *r, double share, const struct rate *of)
{
    return r->runs > 0 && of->runs > 0 && r->best < share * of->best;
}

/* Adds two kinds of pairs that are in the wrong order: an instruction set that is clearly slower
 * than the next narrower one, and a level of memory that is slower than the next outer measured
 * level. Loads from an outer level pass through the inner levels, so they cannot be faster. */
static void order(const struct machine_model *m, struct str *out, int *n)
{
    const struct level_bandwidth *inner = NULL;
    char text[80];
    for (int i = 0; i + 1 < m->n_isa; i++)
        if (below(&m->isa[i].gflops.one, WIDER, &m->isa[i + 1].gflops.one)) {
            snprintf(text, sizeof text, "%s slower than %s", m->isa[i].isa, m->isa[i + 1].isa);
            add(out, n, text);
        }
    for (int i = 0; i < MODEL_LEVELS; i++) {
        const struct level_bandwidth *l = &m->level[i];
        if (l->load.one.runs == 0)
            continue;
        if (inner && (below(&inner->load.one, 1, &l->load.one)
                      || below(&inner->load.all, 1, &l->load.all))) {
            snprintf(text, sizeof text, "%s slower than %s",
                     model_level_name[inner - m->level], model_level_name[i]);
            add(out, n, text);
        }
        inner = l;
    }
}

/* Whether a rate is far below the same rate of an earlier model, on one core or on all. */
static bool is_less(const struct rates *r, const struct rates *then)
{
    return below(&r->one, BEFORE, &then->one) || below(&r->all, BEFORE, &then->all);
}

/* Returns the rates that are called `name`; NULL: there are none. */
static struct rates *find(const struct named *in, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (streq(in[i].name, name))
            return in[i].r;
    return NULL;
}

int machine_model_less(const struct machine_model *model, const struct machine_model *before,
                       struct str *out)
{
    struct machine_model m = *model, old = *before;
    struct named rate[MODEL_RATES], then[MODEL_RATES];
    struct doubt_names less = {0};
    int n = rates_in(&m, rate), n_then = rates_in(&old, then);
    for (int i = 0; i < n; i++) {
        const struct rates *other = find(then, n_then, rate[i].name);
        if (other && is_less(rate[i].r, other))
            name(&less, rate[i].name);
    }
    str_add(out, str_text(&less.text));
    str_free(&less.text);
    return less.n;
}

int machine_model_doubts(const struct machine_model *model, const struct machine_model *before,
                         struct str *out)
{
    struct machine_model m = *model;
    struct named rate[MODEL_RATES];
    struct doubt_names together = {0}, wide = {0}, less = {0};
    int n = 0, n_rates = rates_in(&m, rate);
    for (int i = 0; i < n_rates; i++) {
        const struct rates *r = rate[i].r;
        if (below(&r->all, TOGETHER, &r->one))
            name(&together, rate[i].name);
        if (r->one.runs > 0 && r->one.median < MIDDLE * r->one.best)
            name(&wide, rate[i].name);
    }
    if (before)
        less.n = machine_model_less(model, before, &less.text);
    char text[80];
    snprintf(text, sizeof text, "%d cores together slower than one", m.cores);
    add_names(out, &n, text, &together);
    order(&m, out, &n);
    add_names(out, &n, "most samples far below the best", &wide);
    snprintf(text, sizeof text, "less than on %.31s", before ? before->date : "");
    add_names(out, &n, text, &less);
    return n;
}

/* Keeps the higher `best`. The other members are taken from the measurement with the higher median,
 * which was less disturbed. */
static void take_better(struct rate *to, const struct rate *from)
{
    double best = from->runs > 0 && !(to->best > from->best) ? from->best : to->best;
    if (from->runs > 0 && (to->runs == 0 || from->median > to->median))
        *to = *from;
    to->best = best;
}

void machine_model_merge(struct machine_model *to, const struct machine_model *from)
{
    struct machine_model other = *from;
    struct named a[MODEL_RATES], b[MODEL_RATES];
    int n = rates_in(to, a), n_other = rates_in(&other, b);
    for (int i = 0; i < MODEL_LEVELS; i++)
        if (to->level[i].load.one.runs == 0 && from->level[i].load.one.runs > 0) {
            struct rates copy = to->level[i].copy;
            to->level[i] = from->level[i];
            take_better(&to->level[i].copy.one, &copy.one);
            take_better(&to->level[i].copy.all, &copy.all);
        }
    for (int i = 0; i < n; i++) {
        const struct rates *r = find(b, n_other, a[i].name);
        if (!r)
            continue;
        take_better(&a[i].r->one, &r->one);
        take_better(&a[i].r->all, &r->all);
    }
}
