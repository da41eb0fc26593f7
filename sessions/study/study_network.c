/* Studies whose cases are networks.  A variant with `tune: {variant: ...}` is tuned like a model by
 * `tilescope tune`, and the variants are timed in turns.  Winograd is not used, because such a
 * study compares layouts and loops of the same multiplications. */
#include <string.h>

#include "kernels/base/file.h"
#include "kernels/base/rng.h"
#include "sessions/file/session_network.h"
#include "sessions/report/network_report.h"
#include "sessions/study/study_tune.h"

#define TURNS 3
#define NO_ALGORITHM (-1)                /* the accuracy that rules out Winograd's algorithms */

const char *study_model_path(struct arena *a, const struct study *s, const char *folder,
                             const char *file)
{
    const char *base = strrchr(file, '/');
    return folder ? arena_printf(a, "%s/%s", folder, base ? base + 1 : file)
                  : path_beside(a, s->path, file);
}

static bool open_model(const char *path, const char *kernels, struct session **out, struct err *e)
{
    if (!session_from_onnx(path, NULL, NULL, out, e))
        return e->code == ERR_IO && err_fix(e, "--models FOLDER says where the models lie");
    (*out)->network = true;
    (*out)->accuracy = NO_ALGORITHM;
    str_add(&(*out)->kernels, kernels ? kernels : "");
    return true;
}

/* --- The search ------------------------------------------------------------------------------- */

bool study_network_search(struct arena *a, const char *path, enum network_variant variant,
                          const struct study_part_search *how, struct study_search *out,
                          struct err *e)
{
    struct network_tuning_opts o = { .each = *how->opts, .variant = variant,
                                     .budget = how->opts->budget, .view = how->view };
    struct study_point *end = ARENA_NEW(a, struct study_point);
    struct network_tuning t;
    struct session *s;
    double began = clock_s();
    if (!open_model(path, NULL, &s, e))
        return false;
    /* a search keeps every network that it tries, so it gets an arena of its own: all searches in
     * one arena would keep gigabytes */
    struct arena *own = arena_new();
    bool ok = network_tuning_run(own, s, &o, how->cancel, &t, e);
    if (ok) {
        *end = (struct study_point){ how->opts->budget, t.after_ms };
        *out = (struct study_search){ .run = "", .stopped = t.cancelled, .start_ms = t.before_ms,
                                      .seconds = clock_s() - began, .n_curve = 1, .curve = end,
                                      .kernels = arena_strdup(a, str_text(&s->kernels)) };
        for (int i = 0; i < t.n; i++)
            out->trials += t.kernel[i].trials;
    }
    session_free(s);
    arena_free(own);
    return ok;
}

/* --- The measurement -------------------------------------------------------------------------- */

/* A cell while its case is measured. m: the measurement of the first turn, but with the latency of
 * the turn that had the least time. */
struct net_cell {
    struct study_cell *cell;
    struct session *session;
    const struct network *net;
    struct network_measurement m;
};

static bool open_cell(struct arena *a, struct net_cell *x, const struct measure_opts *mo,
                      struct err *e)
{
    if (!open_model(x->cell->spec, x->cell->kernels, &x->session, e))
        return false;
    const struct graph *g = history_current(x->session->history)->program->base;
    return network_of_graph(a, g, str_text(&x->session->kernels), x->session->accuracy, mo->target,
                            mo->threads, &x->net, e);
}

/* Measures a cell once more, and keeps the latency with the least time.  The first turn also checks
 * the result. */
static bool turn(struct study_report *r, struct arena *a, struct net_cell *x, bool first,
                 const struct measure_opts *mo, const struct progress *pr, const struct cancel *c,
                 struct err *e)
{
    struct network_opts o = { .measure = mo, .unchecked = !first };
    struct network_measurement m;
    if (!measure_network(a, x->net, &o, pr, c, &m, e))
        return false;
    if (m.outcome != OUTCOME_OK)
        study_cell_ends(r, x->cell, CELL_FAILED,
                        arena_printf(a, "%s: %s", outcome_name[m.outcome], m.reason));
    else if (first)
        x->m = m;
    else if (m.latency.min_ms < x->m.latency.min_ms)
        x->m.latency = m.latency;
    return true;
}

static void keep_json(struct study_report *r, struct net_cell *x, unsigned meters)
{
    struct str json = {0};
    x->m.gflops = x->m.flops / (1e6 * x->m.latency.min_ms);
    network_report_json(&json, x->session, x->net, &x->m, meters, NULL);
    if (x->cell->tuned)
        study_tune_join(&json, x->cell->tuned);
    x->cell->json = arena_strdup(r->arena, str_text(&json));
    x->cell->interleaved = r->study->n_variants > 1;
    x->cell->state = CELL_MEASURED;
    if (!r->compiler[0])
        r->compiler = arena_strdup(r->arena, x->m.compiler);
    str_free(&json);
}

bool study_network_measure(struct study_report *r, struct study_cell *cell,
                           const struct measure_opts *mo, const struct progress *pr,
                           const struct cancel *c, struct err *e)
{
    struct arena *a = arena_new();
    struct net_cell *x = ARENA_ARRAY(a, struct net_cell, r->study->n_variants);
    int n = 0;
    bool ok = true;
    for (int v = 0; ok && v < r->study->n_variants; v++)
        if (cell[v].state == CELL_READY) {
            x[n].cell = &cell[v];
            ok = open_cell(a, &x[n++], mo, e);
        }
    for (int k = 0; ok && k < TURNS; k++)
        for (int i = 0; ok && i < n; i++)
            ok = x[i].cell->state == CELL_FAILED || turn(r, a, &x[i], k == 0, mo, pr, c, e);
    for (int i = 0; i < n; i++) {
        if (ok && x[i].cell->state == CELL_READY)
            keep_json(r, &x[i], mo->meters);
        session_free(x[i].session);
    }
    arena_free(a);
    return ok;
}

bool study_network_example(struct str *json, unsigned meters, struct err *e)
{
    static const char two[] = "x = input n=1 i=4 h=5 w=5; c1 = c2d(x) o=4 k=3 p=1; "
                              "c2 = c2d(c1) o=4 k=1";
    static const struct network_measurement timed = {
        .outcome = OUTCOME_OK, .verified = true, .max_rel_err = 1, .error_of_bound = 1,
        .latency = { .median_ms = 1, .min_ms = 1, .max_ms = 1, .spread = 1, .runs = 1 },
        .first_call_ms = 1, .flops = 1, .gflops = 1, .peak_gflops = 1, .peak_fraction = 1,
        .threads = 1,
    };
    struct arena *a = arena_new();
    const struct network *net;
    struct session *s = NULL;
    bool ok = session_new(two, &s, e)
           && network_of_graph(a, history_current(s->history)->program->base, "", NO_ALGORITHM,
                               NULL, 1, &net, e);
    if (ok)
        network_report_json(json, s, net, &timed, meters, NULL);
    session_free(s);
    arena_free(a);
    return ok;
}
