#include "profile/machine/machine_model.h"

#include "profile/child/child.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALL_LIMIT_S 10.0
#define ROUNDS 3  /* rounds through all loops, so that a disturbance spreads over several loops */
#define SHORT_S 0.5                      /* a shorter measurement has one round */
#define DRAM_TIMES 4  /* size of a core's DRAM buffer / size of the last cache; 2 in low memory */
#define MEMORY_SHARE 4  /* the DRAM buffers of all cores get at most 1 / 4 of the free memory */
#define UNKNOWN_CACHE ((int64_t)32 << 20)  /* least size assumed for a last cache without an L3 */
#define OVERHEAD_BYTES ((int64_t)256 << 20)  /* memory of a child besides the buffers */

const char *const model_level_name[MODEL_LEVELS] = { "L1", "L2", "L3", "DRAM" };


void machine_model_fingerprint(struct str *out, const struct machine *m)
{
    machine_fingerprint(out, m);
    str_add(out, " | L2 ");
    cache_geometry_print(out, &m->l2);
    str_add(out, " | L3 ");
    cache_geometry_print(out, &m->l3);
    str_printf(out, " | cpu %016" PRIx64, machine_cpu_hash());
}

/* --- Sizes ------------------------------------------------------------------------------------ */

/* Returns the bytes of each core's buffer for the L3: half of the core's share of the L3, but at
 * least twice the L2. 0 with the reason when the L3 is too small. */
static int64_t shared_bytes(const struct machine *m, char *reason, size_t n)
{
    int64_t bytes = m->l3.size_bytes / 2 / m->cores, inner = 2 * m->l2.size_bytes;
    bytes = bytes < inner ? inner : bytes;
    if (bytes <= m->l3.size_bytes / 2)
        return bytes;
    snprintf(reason, n, "not much larger than the L2");
    return 0;
}

static int64_t memory_bytes(const struct machine *m, int64_t available, char *reason, size_t n)
{
    int64_t last = m->l3.size_bytes > 0 ? m->l3.size_bytes
                 : m->l2.size_bytes > UNKNOWN_CACHE ? m->l2.size_bytes : UNKNOWN_CACHE;
    int64_t bytes = DRAM_TIMES * last, most = available / MEMORY_SHARE / m->cores;
    if (bytes > most)
        bytes = 2 * last;
    if (bytes <= most)
        return bytes;
    snprintf(reason, n, "measuring DRAM needs %lld MiB of free memory",
             2 * (long long)(last >> 20) * m->cores * MEMORY_SHARE);
    return 0;
}

static const struct cache_geometry *cache_of(const struct machine *m, enum model_level level)
{
    return level == MODEL_L1 ? &m->l1d : level == MODEL_L2 ? &m->l2 : &m->l3;
}

int64_t machine_model_bytes(const struct machine *m, enum model_level level, int64_t memory,
                            char *reason, size_t n)
{
    const struct cache_geometry *g = cache_of(m, level);
    *reason = '\0';
    if (level == MODEL_DRAM)
        return memory_bytes(m, memory, reason, n);
    if (g->size_bytes == 0) {
        snprintf(reason, n, "this machine does not report such a cache");
        return 0;
    }
    return level == MODEL_L3 ? shared_bytes(m, reason, n) : g->size_bytes / 2;
}

/* --- Loops ------------------------------------------------------------------------------------ */

struct samples_of { double *s; int n; };

/* One loop and its results. */
struct loop {
    struct build build;
    double work;                         /* FLOPs or bytes of one call on one core */
    int64_t bytes;                       /* bytes of memory that one core uses */
    bool alone;  /* measure one core only: the buffers of all cores do not fit into the L3 */
    struct rates *to;
    struct samples_of one, all;
};

struct bench {
    const struct compiler *cc;
    const struct machine *machine;
    const struct progress *progress;
    const struct cancel *cancel;
    struct machine_model *model;
    int rounds;
    double slice_s;                      /* time for one loop in one round */
    int n;
    struct loop loop[MODEL_ISAS + MODEL_LEVELS + 1];
};

static void report(const struct bench *b, double fraction)
{
    if (b->progress && b->progress->report)
        b->progress->report(b->progress->ctx, "measuring this machine", fraction);
}

static bool add_loop(struct bench *b, const struct target *t, struct str *source, double work,
                     int64_t bytes, struct rates *to, struct err *e)
{
    struct loop *l = &b->loop[b->n];
    *l = (struct loop){ .work = work, .bytes = bytes, .to = to };
    bool ok = build_shared(b->cc, str_text(source), t, false, b->cancel, &l->build, e);
    str_free(source);
    b->n += ok;
    return ok;
}

static bool add_peaks(struct bench *b, struct err *e)
{
    struct machine_model *m = b->model;
    for (int i = 0; i < targets_count(); i++) {
        const struct target *t = target_get(i);
        struct str source = {0};
        if (!t->runs_here())
            continue;
        struct isa_peak *p = &m->isa[m->n_isa++];
        snprintf(p->isa, sizeof p->isa, "%s", t->isa);
        p->vector_floats = target_lanes(t, &type_f32);
        double flops = gen_peak(t, &type_f32, &source);
        if (!add_loop(b, t, &source, flops, 0, &p->gflops, e))
            return false;
    }
    return true;
}

static bool add_bandwidths(struct bench *b, struct err *e)
{
    const struct target *t = target_host();
    for (int i = 0; i < MODEL_LEVELS; i++) {
        struct level_bandwidth *l = &b->model->level[i];
        struct str load = {0}, copy = {0};
        l->capacity = i < MODEL_DRAM ? cache_of(b->machine, (enum model_level)i)->size_bytes : 0;
        l->bytes = machine_model_bytes(b->machine, (enum model_level)i, machine_memory_available(),
                                       l->reason, sizeof l->reason);
        if (l->bytes == 0)
            continue;
        double work = gen_load(t, &type_f32, l->bytes, &load);
        if (!add_loop(b, t, &load, work, l->bytes, &l->load, e))
            return false;
        b->loop[b->n - 1].alone = i == MODEL_L3
                               && l->bytes * b->machine->cores > b->machine->l3.size_bytes;
        if (i != MODEL_DRAM)
            continue;
        work = gen_copy(t, &type_f32, l->bytes, &copy);
        if (!add_loop(b, t, &copy, work, l->bytes, &l->copy, e))
            return false;
    }
    return true;
}

/* --- Sampling --------------------------------------------------------------------------------- */

static void keep(struct samples_of *to, const double *sample, int n)
{
    if (!sample || n < 1)
        return;
    to->s = xrealloc(to->s, sizeof *to->s * (size_t)(to->n + n));
    memcpy(to->s + to->n, sample, sizeof *sample * (size_t)n);
    to->n += n;
}

/* Samples a loop in a child of its own, so that the memory of the loop is freed afterwards. */
static bool sample_once(const struct bench *b, struct loop *l, struct err *e)
{
    int cores = l->alone ? 1 : b->machine->cores;
    struct runner_opts opts = { .threads = cores, .limit_s = CALL_LIMIT_S, .cancel = b->cancel,
                               .memory_bytes = OVERHEAD_BYTES + cores * l->bytes };
    struct sampled what = { .ceiling = true, .time_s = b->slice_s, .min_runs = 3 };
    struct runner *r = NULL;
    struct samples s;
    bool ok = runner_open(&child_runner, &opts, &r, e)
           && runner_load_ceiling(r, l->build.so_path, e)
           && runner_time(r, &what, &s, e);
    if (ok && cores == 1) {
        keep(&l->one, s.sample[SERIES_CEILING], s.rounds);
    } else if (ok) {
        keep(&l->one, s.sample[SERIES_ONE_CORE], s.rounds);
        keep(&l->all, s.sample[SERIES_CEILING], s.rounds);
    }
    runner_close(r);
    return ok;
}

static bool sample(const struct bench *b, struct loop *l, struct err *e)
{
    return sample_once(b, l, e) || (e->code == ERR_KILLED && sample_once(b, l, e));
}

static bool sample_all(struct bench *b, struct err *e)
{
    for (int round = 0; round < b->rounds; round++)
        for (int i = 0; i < b->n; i++) {
            report(b, (double)(round * b->n + i) / (b->rounds * b->n));
            if (!sample(b, &b->loop[i], e))
                return false;
        }
    return true;
}

static struct rate rate_of(const struct samples_of *s, double work)
{
    struct summary of = stats_summary(s->s, s->n);
    if (s->n < 1 || of.min <= 0)
        return (struct rate){0};
    return (struct rate){ 1e-9 * work / of.min, 1e-9 * work / of.median, of.spread, s->n };
}

static void take_rates(const struct bench *b)
{
    for (int i = 0; i < b->n; i++) {
        const struct loop *l = &b->loop[i];
        l->to->one = rate_of(&l->one, l->work);
        l->to->all = b->machine->cores == 1 ? l->to->one
                                            : rate_of(&l->all, b->machine->cores * l->work);
    }
}

static void sign(struct bench *b, double start)
{
    struct machine_model *m = b->model;
    struct str print = {0};
    machine_model_fingerprint(&print, b->machine);
    snprintf(m->fingerprint, sizeof m->fingerprint, "%s", str_text(&print));
    snprintf(m->compiler, sizeof m->compiler, "%s", b->cc->version);
    machine_date(m->date, sizeof m->date);
    m->cores = b->machine->cores;
    m->seconds = clock_s() - start;
    str_free(&print);
}

bool machine_model_measure(const struct compiler *cc, const struct machine *m, double seconds,
                           const struct progress *pr, const struct cancel *c,
                           struct machine_model *out, struct err *e)
{
    double start = clock_s();
    struct machine_model model = {0};
    struct bench b = { .cc = cc, .machine = m, .progress = pr, .cancel = c, .model = &model,
                       .rounds = seconds < SHORT_S ? 1 : ROUNDS };
    report(&b, 0);
    bool ok = add_peaks(&b, e) && add_bandwidths(&b, e);
    b.slice_s = seconds / (b.rounds * (b.n > 0 ? b.n : 1));
    ok = ok && sample_all(&b, e);
    if (ok) {
        take_rates(&b);
        sign(&b, start);
        *out = model;
    }
    for (int i = 0; i < b.n; i++) {
        free(b.loop[i].one.s);
        free(b.loop[i].all.s);
    }
    return ok;
}

/* --- Asking ----------------------------------------------------------------------------------- */

/* Takes the rate of all cores as at least the rate of one core. On a busy machine the rate of all
 * cores can be measured lower, because a team waits for its slowest thread. */
double machine_model_rates(const struct rates *r, int threads, int cores)
{
    double one = r->one.best, all = r->all.best > one ? r->all.best : one;
    if (threads <= 1 || one <= 0)
        return one;
    if (threads >= cores || threads * one > all)
        return all;
    return threads * one;
}

double machine_model_peak(const struct machine_model *m, int threads)
{
    double most = 0;
    for (int i = 0; i < m->n_isa; i++) {
        double peak = machine_model_rates(&m->isa[i].gflops, threads, m->cores);
        most = peak > most ? peak : most;
    }
    return most;
}
