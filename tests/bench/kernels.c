/* `make bench`: the best shipped schedule of every operator class against oneDNN and OpenBLAS.
 *
 *     kernels [-q] [-n EXPERTS] [-t SECONDS] [-c CLASS] [-o FOLDER] CASES...
 *
 * For each case the best EXPERTS schedules (sessions/experts, by their own preference) are timed
 * shortly; the fastest is verified and timed again in turns with the libraries, in one process.
 * With two threads only operators above 50 MFLOP.  Writes bench.json and bench.svg. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/base/file.h"
#include "kernels/base/vec.h"
#include "profile/build/build.h"
#include "sessions/report/chart.h"
#include "sessions/file/expert_file.h"
#include "sessions/file/machine_file.h"
#include "sessions/report/text_table.h"

#define SEARCH_TIME_S 0.04
#define MOST_EXPERTS 32
#define THREADS_FLOPS 50e6
#define MODEL_SECONDS 3

struct bench_case { const char *class, *name, *spec; };
typedef VEC(struct bench_case) case_list;

struct row {
    const struct bench_case *c;
    int threads;
    bool ok;
    double ours, any, plain, blas;       /* ms, minima; 0 = none */
    double gflops, peak_fraction, bound_fraction;
    const char *expert, *why;
};
typedef VEC(struct row) row_list;

struct bench {
    struct arena *a;
    struct experts experts;
    struct machine machine;
    struct machine_model model;
    bool has_model;
    int n_experts;
    double time_s;
    row_list rows;
};

/* --- Cases ------------------------------------------------------------------------------------ */

static char *trimmed(char *s)
{
    while (*s == ' ')
        s++;
    for (size_t n = strlen(s); n > 0 && s[n - 1] == ' '; n--)
        s[n - 1] = '\0';
    return s;
}

/* "CLASS | CASE | OPERATOR [| q]", or Appendix 1's "CLASS-NUMBER | OPERATOR | STEPS". */
static void read_cases(struct bench *b, const char *path, bool quick, case_list *out)
{
    struct str text = {0};
    struct err e;
    char *rest = NULL;
    if (!file_read(path, 1 << 20, &text, &e))
        fail("%s", e.text);
    for (char *l = strtok_r(text.data, "\n", &rest); l; l = strtok_r(NULL, "\n", &rest)) {
        char *part[4] = {0}, *save = NULL;
        int n = 0;
        if (l[0] == '#')
            continue;
        for (char *p = strtok_r(l, "|", &save); p && n < 4; p = strtok_r(NULL, "|", &save))
            part[n++] = trimmed(p);
        bool appendix = n > 0 && strchr(part[0], '-') != NULL;
        if (n < 3 || (quick && (appendix ? !str_ends(part[0], "-0") : n < 4)))
            continue;
        const char *spec = arena_strdup(b->a, part[appendix ? 1 : 2]);
        const char *class = arena_printf(b->a, "%.*s", (int)strcspn(spec, " "), spec);
        struct bench_case c = { class, arena_strdup(b->a, part[appendix ? 0 : 1]), spec };
        vec_push(out, c);
    }
    str_free(&text);
}

/* --- One case --------------------------------------------------------------------------------- */

/* Bandwidth of the innermost level that holds what the operator reads and writes, in GB/s. */
static double bandwidth(const struct bench *b, double bytes, int threads)
{
    const int64_t size[] = { b->machine.l1d.size_bytes, b->machine.l2.size_bytes,
                             b->machine.l3.size_bytes };
    int level = MODEL_L1;
    while (level < MODEL_DRAM && bytes > (double)size[level])
        level++;
    for (; level < MODEL_LEVELS; level++) {
        double r = machine_model_rates(&b->model.level[level].load, threads, b->machine.cores);
        if (r > 0)
            return r;
    }
    return 0;
}

/* Share of min(FMA peak of this run, bandwidth x intensity). */
static double bound_fraction(const struct bench *b, const struct measurement *m,
                             const struct graph *g)
{
    double executed = m->executed_gflops > 0 ? m->executed_gflops : m->gflops;
    double flops = g->flops * executed / m->gflops;
    double by_memory = b->has_model ? bandwidth(b, g->bytes, m->threads) * flops / g->bytes : 0;
    double bound = m->peak_gflops;
    if (by_memory > 0 && (bound <= 0 || by_memory < bound))
        bound = by_memory;
    return bound > 0 ? executed / bound : 0;
}

static double minimum(const struct baseline *l)
{
    return l->available && l->verified ? l->latency.min_ms : 0;
}

static bool time_case(struct bench *b, struct row *r, struct err *e)
{
    struct expert_schedule s[MOST_EXPERTS];
    struct measurement *m = xcalloc(1, sizeof *m);
    const struct program *p;
    struct measure_opts o = { .meters = METER_CLOCK, .threads = r->threads, .seed = 1,
                              .time_s = SEARCH_TIME_S, .min_runs = 3, .limit_s = 60 };
    int n = 0, best = 0, bad;
    bool ok = expert_schedules(b->a, &b->experts, r->c->spec, NULL, r->threads,
                               b->n_experts, s, &n, e)
           && expert_fastest(r->c->spec, s, n, &o, NULL, NULL, &best, m, e)
           && program_replay(b->a, r->c->spec, s[best].step, s[best].n, &p, &bad, e);
    o.time_s = b->time_s;
    o.min_runs = 10;
    o.baselines = (1u << VENDOR_COUNT) - 1;
    ok = ok && measure_program(p, &o, NULL, NULL, m, e);
    if (ok && (m->outcome != OUTCOME_OK || !m->verified))
        ok = err_set(e, ERR_WRONG, "%.300s", m->reason);
    if (ok) {
        r->ok = true;
        r->ours = m->latency.min_ms;
        r->any = minimum(&m->baseline[VENDOR_ONEDNN]);
        r->plain = minimum(&m->baseline[VENDOR_ONEDNN_PLAIN]);
        r->blas = minimum(&m->baseline[VENDOR_OPENBLAS]);
        r->gflops = m->gflops;
        r->peak_fraction = m->peak_fraction;
        r->bound_fraction = bound_fraction(b, m, p->base);
        r->expert = arena_printf(b->a, "%s %s", s[best].expert->id,
                                 expert_chosen_text(b->a, &s[best]));
    }
    free(m);
    return ok;
}

/* --- Report ----------------------------------------------------------------------------------- */

static const char *ratio(struct arena *a, double theirs, double ours)
{
    return theirs > 0 && ours > 0 ? arena_printf(a, "%.2f", theirs / ours) : "-";
}

static void print_row(struct bench *b, const struct row *r)
{
    if (!r->ok) {
        printf("%-4s %-28s %d  failed: %s\n", r->c->class, r->c->name, r->threads, r->why);
        return;
    }
    printf("%-4s %-28s %d %10.4f %6s %6s %6s %8.1f %5.0f %% %5.0f %%  %s\n", r->c->class,
           r->c->name, r->threads, r->ours, ratio(b->a, r->any, r->ours),
           ratio(b->a, r->plain, r->ours), ratio(b->a, r->blas, r->ours), r->gflops,
           100 * r->peak_fraction, 100 * r->bound_fraction, r->expert);
    fflush(stdout);
}

enum peer { PEER_ANY, PEER_PLAIN, PEER_BLAS, PEER_COUNT };

static double of_peer(const struct row *r, enum peer p)
{
    return p == PEER_ANY ? r->any : p == PEER_PLAIN ? r->plain : r->blas;
}

/* Geometric mean of theirs / ours over the rows of a class (NULL: all); 0 = none.  most: of theirs
 * over the bound, which no kernel of this algorithm passes. */
static double geomean(const struct bench *b, const char *class, int threads, enum peer p, bool most,
                      int *n)
{
    double sum = 0;
    *n = 0;
    for (int i = 0; i < b->rows.len; i++) {
        const struct row *r = &b->rows.data[i];
        double theirs = of_peer(r, p), bound = r->bound_fraction;
        double share = !most ? 1 : bound < 1 ? bound : bound >= 1 ? 1 : 0;      /* 0: not known */
        if (r->threads != threads || !(theirs > 0) || !r->ok || !(share > 0)
            || (class && !streq(class, r->c->class)))
            continue;
        sum += log(theirs / (r->ours * share));
        (*n)++;
    }
    return *n ? exp(sum / *n) : 0;
}

static int classes_of(const struct bench *b, const char **class)
{
    int n = 0;
    for (int i = 0; i < b->rows.len; i++) {
        bool known = false;
        for (int k = 0; k < n; k++)
            known = known || streq(class[k], b->rows.data[i].c->class);
        if (!known)
            class[n++] = b->rows.data[i].c->class;
    }
    return n;
}

static void print_means(const struct bench *b, int threads)
{
    static const enum peer column[] = { PEER_ANY, PEER_ANY, PEER_PLAIN, PEER_PLAIN, PEER_BLAS };
    const char *class[32];
    int n_classes = classes_of(b, class), n;
    printf("\nGeometric mean of theirs / ours, %d thread%s (above 1: tilescope is faster); most: if"
           " ours\nwere at its bound everywhere\n"
           "class  cases  onednn   most  plain   most  openblas\n",
           threads, threads > 1 ? "s" : "");
    for (int k = 0; k <= n_classes; k++) {
        const char *c = k < n_classes ? class[k] : NULL;
        double mean[COUNT_OF(column)];
        int cases;
        geomean(b, c, threads, PEER_ANY, false, &cases);
        for (int i = 0; i < COUNT_OF(column); i++)
            mean[i] = geomean(b, c, threads, column[i], i == 1 || i == 3, &n);
        if (cases)
            printf("%-6s %5d %7s %6s %6s %6s %9s\n", c ? c : "all", cases,
                   ratio(b->a, mean[0], 1), ratio(b->a, mean[1], 1), ratio(b->a, mean[2], 1),
                   ratio(b->a, mean[3], 1), ratio(b->a, mean[4], 1));
    }
}

/* How much faster two threads are, where both were timed. */
static void print_scaling(const struct bench *b)
{
    double sum = 0, least = INFINITY;
    int n = 0;
    for (int i = 0; i < b->rows.len; i++)
        for (int k = 0; k < b->rows.len; k++) {
            const struct row *x = &b->rows.data[i], *y = &b->rows.data[k];
            if (x->c != y->c || x->threads != 1 || y->threads != 2 || !x->ok || !y->ok)
                continue;
            double s = x->ours / y->ours;
            sum += log(s);
            least = s < least ? s : least;
            n++;
        }
    if (n)
        printf("\nTwo threads over one, %d operators above %.0f MFLOP: geometric mean %.2f, least"
               " %.2f\n", n, THREADS_FLOPS / 1e6, exp(sum / n), least);
}

static json_t *number(double v)
{
    return v > 0 && isfinite(v) ? json_real(v) : json_null();
}

static void write_json(const struct bench *b, const char *path)
{
    json_t *list = json_array();
    for (int i = 0; i < b->rows.len; i++) {
        const struct row *r = &b->rows.data[i];
        json_t *o = json_pack("{s:s, s:s, s:s, s:i, s:b, s:s?, s:s?}", "class", r->c->class, "case",
                              r->c->name, "operator", r->c->spec, "threads", r->threads,
                              "verified", r->ok, "schedule", r->expert, "reason", r->why);
        json_object_set_new(o, "ours_ms", number(r->ours));
        json_object_set_new(o, "onednn_any_ms", number(r->any));
        json_object_set_new(o, "onednn_plain_ms", number(r->plain));
        json_object_set_new(o, "openblas_ms", number(r->blas));
        json_object_set_new(o, "gflops", number(r->gflops));
        json_object_set_new(o, "peak_fraction", number(r->peak_fraction));
        json_object_set_new(o, "bound_fraction", number(r->bound_fraction));
        json_array_append_new(list, o);
    }
    if (json_dump_file(list, path, JSON_INDENT(1) | JSON_REAL_PRECISION(6)) != 0)
        fprintf(stderr, "%s cannot be written\n", path);
    json_decref(list);
}

static void write_svg(const struct bench *b, const char *path)
{
    const char *class[32];
    double y[PEER_COUNT][32];
    static const char *const name[] = { "oneDNN, any layout", "oneDNN, plain", "OpenBLAS" };
    struct chart_series s[PEER_COUNT];
    struct str out = {0}, caption = {0};
    struct err e;
    int n = classes_of(b, class), ignored;
    for (int p = 0; p < PEER_COUNT; p++) {
        for (int k = 0; k < n; k++) {
            y[p][k] = geomean(b, class[k], 1, (enum peer)p, false, &ignored);
            y[p][k] = y[p][k] > 0 ? y[p][k] : NAN;
        }
        s[p] = (struct chart_series){ .name = name[p], .mark = CHART_BARS, .n = n, .y = y[p] };
    }
    machine_fingerprint(&caption, &b->machine);
    struct chart c = { .title = "tilescope against vendor libraries, one thread",
                       .caption = str_text(&caption), .y.label = "theirs / ours, geometric mean",
                       .n_categories = n, .category = class, .n_series = PEER_COUNT, .series = s };
    if (!chart_draw(&c, CHART_SVG, NULL, &out, &e)
        || !file_write_atomic(path, str_text(&out), out.len, &e))
        fprintf(stderr, "%s: %s\n", path, e.text);
    str_free(&out);
    str_free(&caption);
}

/* --- All of it -------------------------------------------------------------------------------- */

static void take_machine(struct bench *b)
{
    struct compiler cc;
    struct err e;
    machine_read(&b->machine);
    b->has_model = machine_file_load(&b->machine, &b->model, &e)
                || (compiler_find(NULL, &cc, &e)
                    && machine_model_measure(&cc, &b->machine, MODEL_SECONDS, NULL, NULL,
                                             &b->model, &e));
    if (!b->has_model)
        fprintf(stderr, "no bound by memory: %s\n", e.text);
}

static void print_head(const struct bench *b)
{
    struct str s = {0};
    char date[32];
    time_t now = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", gmtime(&now));
    machine_fingerprint(&s, &b->machine);
    printf("%s, %s\n", str_text(&s), date);
    printf("Minima of runs in turns in one process.  any, plain, blas: their time over ours (oneDNN"
           " with its own\nlayouts, the better of its plain ones, OpenBLAS); peak: share of the FMA"
           " ceiling of the same run;\nbound: share of min(that ceiling, load bandwidth x"
           " intensity of what must be read and written; a\nstrided operator that skips"
           " input can pass it).\n\n"
           "class case                        threads   ms     any  plain   blas  GFLOP/s   peak"
           "   bound\n");
    str_free(&s);
}

static double flops_of(struct bench *b, const char *spec)
{
    const struct graph *g;
    struct err e;
    return graph_from_spec(b->a, spec, &g, &e) ? g->flops : 0;
}

static void run_case(struct bench *b, const struct bench_case *c, int threads)
{
    struct row r = { .c = c, .threads = threads };
    struct err e = {0};
    if (!time_case(b, &r, &e))
        r.why = arena_strdup(b->a, e.text);
    print_row(b, &r);
    vec_push(&b->rows, r);
}

int main(int argc, char **argv)
{
    struct bench b = { .a = arena_new(), .n_experts = 8, .time_s = 0.25 };
    const char *folder = "build", *only = NULL;
    case_list cases = {0};
    struct err e;
    bool quick = false;
    int i = 1, failed = 0;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (streq(argv[i], "-q"))
            quick = true;
        else if (i + 1 < argc && streq(argv[i], "-n"))
            b.n_experts = atoi(argv[++i]) < MOST_EXPERTS ? atoi(argv[i]) : MOST_EXPERTS;
        else if (i + 1 < argc && streq(argv[i], "-t"))
            b.time_s = atof(argv[++i]);
        else if (i + 1 < argc && streq(argv[i], "-o"))
            folder = argv[++i];
        else if (i + 1 < argc && streq(argv[i], "-c"))
            only = argv[++i];
    }
    if (!expert_file_all(b.a, &b.experts, &e)) {
        fprintf(stderr, "%s\n", e.text);
        return 3;
    }
    for (; i < argc; i++)
        read_cases(&b, argv[i], quick, &cases);
    take_machine(&b);
    print_head(&b);
    for (int k = 0; k < cases.len; k++) {
        const struct bench_case *c = &cases.data[k];
        if (only && !streq(only, c->class))
            continue;
        run_case(&b, c, 1);
        if (b.machine.cores > 1 && flops_of(&b, c->spec) > THREADS_FLOPS && !quick)
            run_case(&b, c, 2);
    }
    print_means(&b, 1);
    print_means(&b, 2);
    print_scaling(&b);
    write_json(&b, arena_printf(b.a, "%s/bench.json", folder));
    write_svg(&b, arena_printf(b.a, "%s/bench.svg", folder));
    for (int k = 0; k < b.rows.len; k++)
        failed += !b.rows.data[k].ok;
    printf("\n%d rows, %d failed; %s/bench.json, %s/bench.svg\n", b.rows.len, failed, folder,
           folder);
    return failed > 0;
}
