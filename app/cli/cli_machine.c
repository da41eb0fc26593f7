/* `tilescope machine`: prints the properties of this machine and its measured limits. */
#include "app/cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "profile/build/build.h"
#include "sessions/file/machine_file.h"
#include "sessions/report/report.h"

#define DEFAULT_S 3.0
#define SHORT_S 0.5                      /* if --time is shorter, the model is measured once */

static void add_cache(struct str *out, const char *name, const struct cache_geometry *g,
                      const char *remark)
{
    str_printf(out, "%-13s", name);
    if (g->size_bytes > 0)
        cache_geometry_print(out, g);
    else
        str_add(out, "unknown");
    str_printf(out, "%s\n", remark);
}

static void add_machine(struct str *out, const struct machine *m)
{
    str_printf(out, "%-13s%s\n", "processor:", m->cpu);
    str_printf(out, "%-13s%s, %d floats in a vector\n", "vectors:", m->isa, m->vector_floats);
    str_printf(out, "%-13s%d\n", "cores:", m->cores);
    add_cache(out, "L1 data:", &m->l1d,
              m->l1d_assumed ? " (assumed: the system does not report it)" : "");
    add_cache(out, "L2:", &m->l2, "");
    add_cache(out, "L3:", &m->l3, "");
    str_printf(out, "%-13s%.1f GiB\n", "memory:", (double)m->memory_bytes / (1 << 30));
    str_printf(out, "%-13s%s\n", "system:", m->os);
    str_printf(out, "%-13s%s\n", "counters:", m->has_pmu ? "yes" : "no PMU is visible");
}

/* Adds a column like "217.1 (180.2, 9 %)": best, median and spread; "-" when not measured. */
static void add_rate(struct str *out, const struct rate *r)
{
    char cell[64] = "-";
    if (r->runs > 0)
        snprintf(cell, sizeof cell, "%.1f (%.1f, %.0f %%)", r->best, r->median, 100 * r->spread);
    str_printf(out, "  %-24s", cell);
}

static void add_rates(struct str *out, const struct machine_model *m, const char *name,
                      const struct rates *r)
{
    str_printf(out, "  %-13s", name);
    add_rate(out, &r->one);
    if (m->cores > 1)
        add_rate(out, &r->all);
}

static void end_row(struct str *out)
{
    while (out->len > 0 && out->data[out->len - 1] == ' ')
        out->data[--out->len] = '\0';
    str_add(out, "\n");
}

static void add_heading(struct str *out, const struct machine_model *m, const char *name)
{
    char cores[32];
    snprintf(cores, sizeof cores, "%d cores together", m->cores);
    str_printf(out, "\n%-15s  %-24s  %s", name, "one core", m->cores > 1 ? cores : "");
    end_row(out);
}

static void add_size(struct str *out, int64_t bytes)
{
    if (bytes >= 1 << 20)
        str_printf(out, "  %lld MiB a core", (long long)(bytes >> 20));
    else
        str_printf(out, "  %lld KiB a core", (long long)(bytes >> 10));
}

static void add_model(struct str *out, const struct machine_model *m)
{
    add_heading(out, m, "FMA, GFLOP/s");
    for (int i = 0; i < m->n_isa; i++) {
        add_rates(out, m, m->isa[i].isa, &m->isa[i].gflops);
        end_row(out);
    }
    add_heading(out, m, "loads, GB/s");
    for (int i = 0; i < MODEL_LEVELS; i++) {
        const struct level_bandwidth *l = &m->level[i];
        if (l->load.one.runs == 0) {
            str_printf(out, "  %-13s  not measured: %s\n", model_level_name[i], l->reason);
            continue;
        }
        add_rates(out, m, model_level_name[i], &l->load);
        add_size(out, l->bytes);
        end_row(out);
    }
    if (m->level[MODEL_DRAM].copy.one.runs > 0) {
        add_rates(out, m, "DRAM, copy", &m->level[MODEL_DRAM].copy);
        str_add(out, "  read and written\n");
    }
    str_printf(out, "\nThe best of many short samples (their median, spread of the quartiles),"
               " measured\n%s in %.1f s; --measure measures again.\n", m->date, m->seconds);
}

/* The argument of `measure`, the callback of machine_file_measure. */
struct task {
    const struct cli *cli; const struct machine *machine; const struct compiler *cc; double seconds;
};

static bool measure(void *ctx, struct machine_model *out, struct err *e)
{
    const struct task *t = ctx;
    struct progress pr = cli_progress(t->cli);
    return machine_model_measure(t->cc, t->machine, t->seconds, &pr, t->cli->cancel, out, e);
}

/* Loads the stored model of this machine; if there is none or --measure is given, measures and
 * stores one.  fresh->tries stays 0 if the model was loaded. */
static bool get_model(struct task *t, struct machine_fresh *fresh, struct machine_model *out,
                      struct err *e)
{
    struct err why;
    int tries = t->seconds < SHORT_S ? 1 : MACHINE_TRIES;
    if (!args_has(t->cli->args, OPT_MEASURE) && machine_file_load(t->machine, out, &why)) {
        struct str doubts = {0};
        machine_model_doubts(out, NULL, &doubts);
        snprintf(fresh->doubts, sizeof fresh->doubts, "%s", str_text(&doubts));
        str_free(&doubts);
        return true;
    }
    bool ok = machine_file_measure(t->machine, measure, t, tries, fresh, e);
    cli_progress_clear(t->cli);
    *out = fresh->model;
    return ok;
}

/* Names the roofs that keep their old value because the new measurement found a far lower one. */
static void add_less(struct str *out, const struct machine_fresh *fresh, const char *path)
{
    size_t start = out->len;
    if (!fresh->less[0])
        return;
    str_printf(out, "These roofs stay as they were on %s, since this measurement found far lower"
               " ones: %s.  Other work only makes a machine slower (if the machine did change,"
               " delete %s).\n", fresh->before.date, fresh->less, path);
    cli_wrap(out, start, 0);
}

/* Adds why the model is doubtful, and which of its roofs are older than the measurement. */
static void add_doubts(struct str *out, const struct machine_fresh *fresh)
{
    struct str path = {0};
    struct err e;
    if (!machine_file_path(&path, &e))
        str_clear(&path);
    add_less(out, fresh, str_text(&path));
    size_t start = out->len;
    if (fresh->doubts[0]) {
        str_printf(out, "doubtful: %s.  Something else used the machine%s: --measure again when it"
                   " is idle.\n", fresh->doubts, fresh->tries > 1 ? ", all three times" : "");
        if (fresh->tries > 0)
            str_printf(out, "It is stored, and rooflines say that it is doubtful.  A later"
                       " measurement raises the roofs that it finds higher (to begin anew, delete"
                       " %s).\n", str_text(&path));
        cli_wrap(out, start, 0);
    }
    str_free(&path);
}

int cli_machine(const struct cli *c)
{
    struct machine m;
    struct compiler cc;
    struct machine_model model;
    struct err e = {0};
    struct str out = {0};
    double seconds = DEFAULT_S;
    if (!args_double(c->args, OPT_TIME, 0.001, 600, &seconds, &e))
        return cli_fail(c, &e);
    machine_read(&m);
    bool has_compiler = compiler_find(args_value(c->args, OPT_COMPILER), &cc, &e);
    struct task task = { c, &m, &cc, seconds };
    struct machine_fresh fresh = { .tries = 0 };
    bool has_model = has_compiler && get_model(&task, &fresh, &model, &e);
    if (args_has(c->args, OPT_JSON)) {
        report_machine_json(&out, &m, has_model ? &model : NULL);
    } else {
        add_machine(&out, &m);
        if (has_compiler)
            str_printf(&out, "%-13s%s\n", "compiler:", cc.version);
        str_printf(&out, "%-13s", "fingerprint:");
        machine_fingerprint(&out, &m);
        str_add(&out, "\n");
        if (has_model)
            add_model(&out, &model);
    }
    struct str doubts = {0};
    add_doubts(&doubts, &fresh);
    if (args_has(c->args, OPT_JSON))
        cli_note(&doubts);
    else
        str_add(&out, str_text(&doubts));
    str_free(&doubts);
    cli_put(&out);
    return has_model ? EXIT_FINE : cli_fail(c, &e);
}
