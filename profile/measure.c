/* Build, check, time, count: each stage fills its part of the measurement or stops it. */
#include "profile/measure.h"

#include "profile/child.h"
#include "profile/oracle.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOLERANCE 1e-4                    /* f32 (SPEC D) */
#define DEFAULT_TIME_S 0.3
#define DEFAULT_MIN_RUNS 10
#define DEFAULT_LIMIT_S 20.0
#define MAX_THREADS 1024
#define MOST_FRACTION 1.05               /* of the ceiling; what is above is no ceiling */
#define MEMORY_SHARE 0.8                  /* of what is available */
#define FIRST_ADDRESS 0x10000000ull
#define PAGE_BYTES 4096ull

const char *const outcome_name[] = {
    [OUTCOME_NONE] = "none", [OUTCOME_OK] = "ok", [OUTCOME_COMPILE] = "compile error",
    [OUTCOME_CRASH] = "crash", [OUTCOME_TIMEOUT] = "timeout", [OUTCOME_WRONG] = "wrong result",
    [OUTCOME_CANCEL] = "cancelled", [OUTCOME_ENV] = "environment", [OUTCOME_LIMIT] = "too large",
};

/* Everything one measurement needs; arrays are the program's arena's or freed in finish(). */
struct job {
    const struct program *program;
    struct measure_opts opts;
    const struct progress *progress;
    const struct cancel *cancel;
    struct measurement *m;
    struct compiler cc;
    struct target target;
    const struct func *func;
    struct build kernel, ceiling, twin;
    bool has_ceiling, has_twin;
    double ceiling_flops;
    const struct site *site;
    int n_sites;
    struct child *child;
    const char *doing;
    double since;                        /* when that began */
};

static struct machine this_machine;
static void read_this_machine(void)
{
    machine_read(&this_machine);
}

static void report(const struct job *j, const char *what, double fraction)
{
    if (j->progress && j->progress->report)
        j->progress->report(j->progress->ctx, what, fraction);
}

static void begin(struct job *j, const char *what)
{
    j->doing = what;
    j->since = clock_s();
    report(j, what, -1);
}

/* Samples are counted; of anything else only the time that it has taken so far is known. */
static void tick(void *ctx, double done)
{
    const struct job *j = ctx;
    char text[32];
    double elapsed = clock_s() - j->since;
    if (streq(j->doing, "timing")) {
        report(j, done < 1 ? "timing" : "timing again", done < 1 ? done : done - 1);
        return;
    }
    snprintf(text, sizeof text, elapsed < 1 ? "%s" : "%s, %.0f s", j->doing, elapsed);
    report(j, text, -1);
}

/* --- Code --------------------------------------------------------------------------------------
 */

static bool has_parallel(int n, const struct tree *const *t)
{
    for (int i = 0; i < n; i++)
        if ((t[i]->kind == TREE_LOOP && t[i]->ann == LOOP_PARALLEL)
            || has_parallel(t[i]->n_kids, t[i]->kid))
            return true;
    return false;
}

/* Named after the operator, but not as a function of C: those the compiler knows. */
static const char *kernel_name(const struct graph *g)
{
    const char *op = g->node[g->main_node].op;
    bool of_c = streq(op, "abs");
    for (int k = 0; k < VAL_KIND_COUNT; k++)
        of_c = of_c || (val_is_function((enum val_kind)k) && streq(op, val_name((enum val_kind)k)));
    return of_c ? "kernel" : op;
}

/* The same for measuring and for showing, so that what is shown is what was measured. */
static struct gen_opts code_opts(const struct program *p, const struct func *f)
{
    return (struct gen_opts){
        .target = target_host(),
        .name = kernel_name(p->base),
        .openmp = has_parallel(f->n_roots, f->root),
    };
}

static bool build_kernel(struct job *j, struct err *e)
{
    struct gen_opts o = code_opts(j->program, j->func);
    struct str text = {0};
    bool ok = gen_c(j->func, &o, &text, e)
           && build_shared(&j->cc, str_text(&text), &o.target, o.openmp, j->cancel, &j->kernel, e);
    str_free(&text);
    return ok;
}

/* Without a ceiling there is no share of it; nothing else is lost.  False only on a cancel. */
static bool build_ceiling(struct job *j, struct err *e)
{
    struct str text = {0};
    j->ceiling_flops = gen_peak(&j->target, &text);
    j->has_ceiling = build_shared(&j->cc, str_text(&text), &j->target, false, j->cancel,
                                  &j->ceiling, e);
    str_free(&text);
    return j->has_ceiling || e->code != ERR_CANCEL;
}

static bool sim_refused(struct job *j, const struct err *e)
{
    snprintf(j->m->sim.reason, sizeof j->m->sim.reason, "%.255s", e->text);
    return e->code != ERR_CANCEL;
}

static bool build_twin(struct job *j, struct err *e)
{
    struct gen_opts o = code_opts(j->program, j->func);
    struct str text = {0};
    o.openmp = false;
    j->has_twin = gen_trace(j->func, &o, &text, &j->site, &j->n_sites, e)
               && build_shared(&j->cc, str_text(&text), &o.target, false, j->cancel, &j->twin, e);
    str_free(&text);
    return j->has_twin || sim_refused(j, e);
}

static bool build_all(struct job *j, struct err *e)
{
    begin(j, "compiling");
    if (!program_lower(j->program, &j->func, e) || !build_kernel(j, e))
        return false;
    j->m->build_s = j->kernel.seconds;
    if ((j->opts.meters & METER_CLOCK) && !build_ceiling(j, e))
        return false;
    if ((j->opts.meters & METER_SIM) && !build_twin(j, e))
        return false;
    return true;
}

/* --- The child
 * ---------------------------------------------------------------------------------- */

/* Buffers twice (here and in the child), logical copies, and the reference in double. */
static bool fits_memory(const struct job *j, struct err *e)
{
    double need = (double)oracle_bytes(j->program->base), have = (double)machine_memory_available();
    for (int i = 0; i < j->func->n_params; i++)
        need += 3.0 * 4.0 * (double)j->func->buffer[i].elems;
    if (have <= 0 || need <= MEMORY_SHARE * have)
        return true;
    return err_set(e, ERR_RANGE, "measuring it takes %.1f GiB of memory and %.1f GiB are free",
                   need / (1 << 30), have / (1 << 30));
}

static bool open_child(struct job *j, struct err *e)
{
    struct child_buffer buffer[PROTOCOL_MAX_BUFFERS];
    const struct func *f = j->func;
    if (f->n_params > PROTOCOL_MAX_BUFFERS)
        return err_set(e, ERR_RANGE, "%d tensors are more than can be measured", f->n_params);
    for (int i = 0; i < f->n_params; i++)
        buffer[i] = (struct child_buffer){ f->buffer[i].name, 4 * f->buffer[i].elems,
                                           f->buffer[i].written };
    struct child_opts o = {
        .runner = j->opts.runner, .threads = j->opts.threads, .limit_s = j->opts.limit_s,
        .memory_bytes = j->opts.memory_bytes, .n_buffers = f->n_params, .buffer = buffer,
        .n_sites = j->has_twin ? j->n_sites : 0, .n_trace_buffers = f->n_buffers,
        .cancel = j->cancel, .tick = tick, .ctx = j,
    };
    return child_open(&o, &j->child, e)
        && child_load(j->child, SLOT_KERNEL, j->kernel.so_path, e);
}

static bool compare_outputs(struct job *j, const struct oracle *o, struct err *e)
{
    const struct func *f = j->func;
    double worst = 0;
    bool ok = true;
    for (int i = 0; i < f->n_params && ok; i++) {
        int t = f->buffer[i].tensor;
        if (j->program->graph->tensor[t].role == TENSOR_OUTPUT)
            ok = oracle_compare(o, j->program, t, child_data(j->child, i), j->m->tolerance, &worst,
                                e);
    }
    j->m->max_rel_err = worst;
    j->m->verified = ok;
    return ok;
}

/* Runs the kernel first: a crash need not wait for the reference. */
static bool check(struct job *j, struct err *e)
{
    const struct oracle *o = NULL;
    double seconds;
    begin(j, "checking");
    for (int i = 0; i < j->func->n_params; i++) {
        const struct buffer *b = &j->func->buffer[i];
        oracle_fill(j->program, b->tensor, j->opts.seed, b->elems, child_data(j->child, i));
        if (cancelled(j->cancel))
            return err_set(e, ERR_CANCEL, "cancelled");
    }
    if (!child_check(j->child, &seconds, e))
        return false;
    j->m->tolerance = TOLERANCE;
    bool ok = oracle_acquire(j->program->base, j->opts.seed, j->cancel, &o, e)
           && compare_outputs(j, o, e);
    oracle_release(o);
    return ok;
}

/* A kernel that is faster than the ceiling says that the ceiling was disturbed. */
static void take_peak(struct job *j, double peak)
{
    struct measurement *m = j->m;
    if (peak > 0 && m->gflops <= MOST_FRACTION * peak) {
        m->peak_gflops = peak;
        m->peak_fraction = m->gflops / peak;
    } else if (peak > 0) {
        snprintf(m->peak_reason, sizeof m->peak_reason,
                 "the sampled FMA ceiling (%.1f) is below the kernel: something else keeps the"
                 " cores busy", peak);
    } else {
        snprintf(m->peak_reason, sizeof m->peak_reason, "the FMA ceiling could not be sampled");
    }
}

static void take_latency(struct job *j, const struct samples *s)
{
    struct measurement *m = j->m;
    const struct summary *k = &s->of_kernel;
    m->latency = (struct latency){
        .median_ms = 1e3 * k->median, .min_ms = 1e3 * k->min, .max_ms = 1e3 * k->max,
        .spread = k->spread, .runs = s->n_kernel,
    };
    m->gflops = 1e-9 * j->program->base->flops / k->min;
    take_peak(j, 1e-9 * j->ceiling_flops
                     * sampling_ceiling(&s->of_ceiling, &s->of_one_core, j->opts.threads,
                                        this_machine.cores));
}

static bool time_kernel(struct job *j, struct err *e)
{
    struct samples s;
    struct err ignored;
    begin(j, "timing");
    j->has_ceiling = j->has_ceiling
                  && child_load(j->child, SLOT_CEILING, j->ceiling.so_path, &ignored);
    struct sampled what = { .kernel = true, .ceiling = j->has_ceiling, .time_s = j->opts.time_s,
                            .min_runs = j->opts.min_runs };
    if (!child_time(j->child, &what, &s, e))
        return false;
    if (s.n_kernel < 1 || !(s.of_kernel.min > 0))
        return err_set(e, ERR_CRASH, "the samples were overwritten");
    take_latency(j, &s);
    return true;
}

/* --- The simulator
 * ------------------------------------------------------------------------------- */

static struct tensor_count *count_of(struct sim_result *r, const char *tensor)
{
    for (int i = 0; i < r->n; i++)
        if (streq(r->by_tensor[i].tensor, tensor))
            return &r->by_tensor[i];
    bool full = r->n == MEASURE_MAX_TENSORS;
    struct tensor_count *c = &r->by_tensor[full ? r->n - 1 : r->n++];
    snprintf(c->tensor, sizeof c->tensor, "%.47s", full ? "others" : tensor);
    return c;
}

/* Tiles count for the tensor that they hold. */
static void take_counts(struct job *j, const struct simulation *s)
{
    struct sim_result *r = &j->m->sim;
    const struct func *f = j->func;
    for (int i = 0; i < j->n_sites; i++) {
        const struct site *site = &j->site[i];
        const struct site_count *c = &s->count[i];
        int t = f->buffer[site->buffer].tensor;
        struct tensor_count *to = count_of(r, f->graph->tensor[t].name);
        *(site->is_store ? &to->stores : &to->loads) += c->accesses;
        *(site->is_store ? &r->stores : &r->loads) += c->accesses;
        to->l1_misses += c->misses;
        r->l1_misses += c->misses;
    }
    r->writebacks = s->writebacks;
    r->seconds = s->seconds;
    r->available = true;
}

/* Page after page in buffer order, so that counts do not depend on where memory happens to be. */
static void place_buffers(const struct func *f, unsigned long long *base)
{
    unsigned long long at = FIRST_ADDRESS;
    for (int i = 0; i < f->n_buffers; i++) {
        base[i] = at;
        unsigned long long bytes = 4 * (unsigned long long)f->buffer[i].elems;
        at += (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    }
}

/* A count that cannot be had is a reason in m->sim; the measurement stands. False only on a
 * cancel. */
static bool simulate(struct job *j, struct err *e)
{
    struct arena *pass = arena_new();
    unsigned long long *base = ARENA_ARRAY(pass, unsigned long long, j->func->n_buffers + 1);
    bool *is_store = ARENA_ARRAY(pass, bool, j->n_sites + 1);
    struct simulation s = { .count = ARENA_ARRAY(pass, struct site_count, j->n_sites + 1) };
    begin(j, "simulating");
    place_buffers(j->func, base);
    for (int i = 0; i < j->n_sites; i++)
        is_store[i] = j->site[i].is_store;
    bool ok = child_load(j->child, SLOT_TRACE, j->twin.so_path, e)
           && child_simulate(j->child, &j->opts.l1, base, is_store, &s, e);
    if (ok)
        take_counts(j, &s);
    else if (e->code == ERR_TIMEOUT)
        snprintf(j->m->sim.reason, sizeof j->m->sim.reason,
                 "stopped after %.3g s: too many accesses to simulate (run --limit SECONDS allows"
                 " more)", j->opts.limit_s);
    else
        ok = sim_refused(j, e);
    arena_free(pass);
    return ok || e->code != ERR_CANCEL;
}

/* --- The whole
 * ----------------------------------------------------------------------------------- */

/* Order: what disturbs least and matters most comes first; the simulator may end by killing the
 * child. */
static bool run(struct job *j, struct err *e)
{
    unsigned meters = j->opts.meters;
    if (!compiler_find(j->opts.compiler, &j->cc, e))
        return false;
    snprintf(j->m->compiler, sizeof j->m->compiler, "%s", j->cc.version);
    if (!build_all(j, e) || !fits_memory(j, e) || !open_child(j, e) || !check(j, e))
        return false;
    if ((meters & METER_CLOCK) && !time_kernel(j, e))
        return false;
    begin(j, "counting");
    if (((meters & METER_PERF) && !child_count(j->child, false, &j->m->perf, e))
        || ((meters & METER_PERF_SW) && !child_count(j->child, true, &j->m->perf_sw, e)))
        return false;
    return !j->has_twin || simulate(j, e);
}

static enum outcome outcome_of(enum err_code code)
{
    switch ((int)code) {
    case ERR_COMPILE: return OUTCOME_COMPILE;
    case ERR_CRASH: return OUTCOME_CRASH;
    case ERR_TIMEOUT: return OUTCOME_TIMEOUT;
    case ERR_WRONG: return OUTCOME_WRONG;
    case ERR_CANCEL: return OUTCOME_CANCEL;
    case ERR_STEP: case ERR_RANGE: case ERR_OVERFLOW: case ERR_RANK: return OUTCOME_LIMIT;
    default: return OUTCOME_ENV;
    }
}

/* A count that is not there says why. */
static void give_reasons(struct measurement *m, unsigned meters)
{
    static const char *const why[] = { "not asked for", "the kernel did not get that far" };
    if (!m->sim.available && !m->sim.reason[0])
        snprintf(m->sim.reason, sizeof m->sim.reason, "%s", why[(meters & METER_SIM) != 0]);
    if (!m->perf.available && !m->perf.reason[0])
        snprintf(m->perf.reason, sizeof m->perf.reason, "%s", why[(meters & METER_PERF) != 0]);
    if (!m->perf_sw.available && !m->perf_sw.reason[0] && (meters & METER_PERF_SW))
        snprintf(m->perf_sw.reason, sizeof m->perf_sw.reason, "%s", why[1]);
}

static struct measure_opts with_defaults(const struct measure_opts *o)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct measure_opts d = *o;
    pthread_once(&once, read_this_machine);
    d.threads = o->threads < 1 ? 1 : o->threads > MAX_THREADS ? MAX_THREADS : o->threads;
    d.time_s = o->time_s > 0 ? o->time_s : DEFAULT_TIME_S;
    d.min_runs = o->min_runs > 0 ? o->min_runs : DEFAULT_MIN_RUNS;
    d.limit_s = o->limit_s > 0 ? o->limit_s : DEFAULT_LIMIT_S;
    d.l1 = o->l1.size_bytes > 0 ? o->l1 : this_machine.l1d;
    return d;
}

bool measure_program(const struct program *p, const struct measure_opts *o,
                     const struct progress *pr, const struct cancel *c, struct measurement *m,
                     struct err *e)
{
    double start = clock_s();
    struct job j = { .program = p, .opts = with_defaults(o), .progress = pr, .cancel = c, .m = m,
                     .target = target_host() };
    *m = (struct measurement){ .threads = j.opts.threads, .seed = o->seed, .sim.l1 = j.opts.l1 };
    bool ok = run(&j, e);
    child_close(j.child);
    m->outcome = ok ? OUTCOME_OK : outcome_of(e->code);
    if (!ok)
        snprintf(m->reason, sizeof m->reason, "%.511s", e->text);
    give_reasons(m, j.opts.meters);
    m->total_s = clock_s() - start;
    return m->outcome != OUTCOME_ENV && m->outcome != OUTCOME_CANCEL;
}

/* --- Views
 * --------------------------------------------------------------------------------------- */

bool program_c_text(const struct program *p, struct str *out, struct err *e)
{
    const struct func *f;
    struct str header = {0};
    if (!program_lower(p, &f, e))
        return false;
    struct gen_opts o = code_opts(p, f);
    str_add(&header, p->base->spec);
    for (int i = 0; i < p->n_steps; i++)
        str_printf(&header, "\n    %s", p->steps[i]);
    o.header = str_text(&header);
    bool ok = gen_c(f, &o, out, e);
    str_free(&header);
    return ok;
}

bool program_asm_text(const struct program *p, const char *compiler, const struct cancel *c,
                      struct str *out, struct err *e)
{
    const struct func *f;
    struct compiler cc;
    struct build b;
    struct str text = {0};
    if (!compiler_find(compiler, &cc, e) || !program_lower(p, &f, e))
        return false;
    struct gen_opts o = code_opts(p, f);
    bool ok = gen_c(f, &o, &text, e)
           && build_shared(&cc, str_text(&text), &o.target, o.openmp, c, &b, e)
           && build_disassemble(b.so_path, o.name, c, out, e);
    str_free(&text);
    return ok;
}
