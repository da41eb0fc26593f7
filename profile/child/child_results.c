/* The commands that return samples and counts, which a kernel could have overwritten. */
#include "profile/child/child_impl.h"

#include "kernels/base/arena.h"
#include "kernels/base/subprocess.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_REPEATS 3
#define REPEAT_WITHIN_S 5.0  /* after this many seconds in all, samples are not repeated */

/* Returns the number of rounds in which every requested series has a sample. The result is a
 * possible number even if a kernel has overwritten the counts in the file. */
static int count_rounds(const struct child *c, const bool *wanted)
{
    int rounds = PROTOCOL_MAX_SAMPLES;
    for (int i = 0; i < SERIES_COUNT; i++) {
        /* volatile: read only once, because the runner can still change it */
        int n = *(const volatile int32_t *)&c->shared->n_samples[i];
        if (wanted[i] && n < rounds)
            rounds = n;
    }
    return rounds < 0 ? 0 : rounds;
}

static void take_blocks(const struct shared *sh, struct samples *out)
{
    int n = sh->n_epochs;
    for (int i = 0; i < n && i < PROTOCOL_MAX_EPOCHS; i++) {
        int at = *(const volatile int32_t *)&sh->epoch[i];
        if (at < out->rounds && (out->n_blocks == 0 ? at == 0 : at > out->block[out->n_blocks - 1]))
            out->block[out->n_blocks++] = at;
    }
}

/* Copies the samples, since the runner can still write to the file. */
static bool take_samples(struct child *c, const struct sampled *what, struct samples *out,
                         struct err *e)
{
    bool wanted[SERIES_COUNT] = {
        [SERIES_CEILING] = what->ceiling && !what->cold,
        [SERIES_ONE_CORE] = what->ceiling && !what->cold && c->opts.threads > 1,
    };
    for (int i = 0; i < PROTOCOL_MAX_CONTENDERS; i++)
        wanted[i] = what->contenders >> i & 1;
    *out = (struct samples){
        .rounds = count_rounds(c, wanted), .flushed = c->shared->flushed,
        .huge_bytes = c->shared->huge_bytes, .room_bytes = c->shared->room_bytes,
    };
    take_blocks(c->shared, out);
    size_t bytes = sizeof(double) * (size_t)out->rounds;
    for (int i = 0; i < SERIES_COUNT; i++) {
        if (!wanted[i])
            continue;
        c->sample[i] = xrealloc(c->sample[i], bytes + 1);
        memcpy(c->sample[i], c->shared->sample[i], bytes);
        if (!child_samples_sound(c->sample[i], out->rounds, e))
            return false;
        out->sample[i] = c->sample[i];
        out->of[i] = stats_summary(c->sample[i], out->rounds);
    }
    return true;
}

/* Stores which contender left a different result. It must be one of the requested contenders. */
static bool take_difference(const struct child *c, const struct sampled *what,
                            struct samples *out, struct err *e)
{
    int which = *(const volatile int32_t *)&c->shared->differs;
    int64_t after = *(const volatile int64_t *)&c->shared->differs_after;
    out->differs = -1;
    if (!what->steady || which == -1)
        return true;
    if (which < 0 || which >= PROTOCOL_MAX_CONTENDERS || !(what->steady >> which & 1) || after < 0)
        return child_overwritten("the comparison of its results", e);
    out->differs = which;
    out->differs_after = after;
    return true;
}

static bool any_wide(const struct samples *s)
{
    bool wide = false;
    for (int i = 0; i < PROTOCOL_MAX_CONTENDERS; i++)
        wide = wide || s->of[i].spread > STATS_NOISY;
    return wide;
}

bool child_time(struct runner *r, const struct sampled *what, struct samples *out, struct err *e)
{
    struct child *c = child_of(r);
    struct reply reply;
    struct request q = {
        .command = COMMAND_TIME, .contenders = what->contenders, .ceiling = what->ceiling,
        .cold = what->cold, .walk_bytes = what->walk_bytes, .time_s = what->time_s,
        .most_s = c->opts.limit_s, .min_runs = what->min_runs, .epochs = what->epochs,
        .append = what->append, .give_up_s = what->give_up_s, .steady = what->steady,
        .has_ceiling = c->ceiling_pid != 0,
    };
    const pid_t own[] = { c->pid, c->ceiling_pid, getpid() };
    struct busy from = busy_now(own, COUNT_OF(own));
    double begin = clock_s(), limit = 4 * c->opts.limit_s + what->time_s + c->copy_s;
    bool ok;
    c->repeat = 0;
    do {
        ok = child_ask(c, &q, limit, &reply, e) && take_samples(c, what, out, e)
          && take_difference(c, what, out, e);
        q.append = true;
    } while (ok && out->differs < 0 && !what->as_is && any_wide(out)
             && clock_s() - begin < fmin(c->opts.limit_s, REPEAT_WITHIN_S)
             && c->repeat++ < MOST_REPEATS);
    c->repeat = 0;
    struct busy to = busy_now(own, COUNT_OF(own));
    if (!what->append)
        c->busy = (struct busy_sum){ 0 };
    busy_add(&c->busy, &from, &to);
    if (ok)
        out->others = busy_share(&c->busy);
    return ok;
}

bool child_count(struct runner *r, int meter, const struct event *event, int n,
                 struct counts *out, double *seconds, struct err *e)
{
    struct child *c = child_of(r);
    struct reply reply;
    struct request q = { .command = COMMAND_COUNT, .meter = meter, .n_events = n };
    memcpy(q.event, event, sizeof *event * (size_t)n);
    /* warm-up, then at worst two passes for each event */
    if (!child_ask(c, &q, (3 + 2 * n) * c->opts.limit_s + c->copy_s, &reply, e))
        return false;
    *out = c->shared->counts;
    *seconds = reply.seconds;
    return child_counts_sound(out, e);
}

static void *in_sim(struct child *c, int64_t at)
{
    return (char *)c->shared + c->sim_at + at;
}

/* Fills in the tables of the instrumented kernel and the request. */
static void fill_sim(struct child *c, const struct simulated *what)
{
    const struct trace_table *t = c->opts.trace;
    struct shared_sim *sim = in_sim(c, 0);
    struct shared_site *site = in_sim(c, c->sim.site_at);
    struct shared_block *block = in_sim(c, c->sim.block_at);
    struct shared_mark *mark = in_sim(c, c->sim.mark_at);
    *sim = c->sim;
    sim->cache = *what->cache;
    sim->budget = what->budget;
    sim->seed = what->seed;
    for (int i = 0; i < t->n_sites; i++)
        site[i] = (struct shared_site){ .is_store = t->site[i].is_store,
                                        .tensor = what->tensor ? what->tensor[i] : 0 };
    for (int i = 0; i < t->n_blocks; i++)
        block[i] = (struct shared_block){ .mark = t->block_mark[i] };
    for (int i = 0; i < t->n_uses; i++)
        block[t->use[i].block].accesses += t->use[i].n;
    for (int i = 0; i < t->n_marks; i++)
        mark[i].block = t->mark[i].block;
    memcpy(in_sim(c, c->sim.base_at), what->base,
           sizeof *what->base * (size_t)c->opts.n_trace_buffers);
    if (!what->detail)
        return;
    struct shared_detail *d = in_sim(c, c->sim.detail_at);
    d->detail = *what->detail;
    d->first = what->first;
    d->end = what->end;
    memcpy(d->heat, what->heat, sizeof *what->heat * (size_t)what->detail->n_tensors);
}

/* Copies the detail from shared memory into *d, which holds the request before. */
static bool take_detail(struct child *c, struct sim_detail *d, struct err *e)
{
    const struct shared_detail *shared = in_sim(c, c->sim.detail_at);
    struct sim_detail *got = xmalloc(sizeof *got);
    *got = shared->detail;
    bool ok = child_detail_sound(got, d, e);
    if (ok)
        *d = *got;
    free(got);
    return ok;
}

bool child_simulate(struct runner *r, const struct simulated *what, struct simulation *out,
                    struct err *e)
{
    struct child *c = child_of(r);
    struct reply reply;
    struct request q = { .command = COMMAND_SIMULATE };
    const struct shared_sim *sim = in_sim(c, 0);
    const struct shared_site *site = in_sim(c, c->sim.site_at);
    const struct shared_block *block = in_sim(c, c->sim.block_at);
    const struct trace_table *t = c->opts.trace;
    if (!t || (what->detail && !c->opts.sim_detail))
        return err_set(e, ERR_BUG, "the child has no room for a simulation");
    fill_sim(c, what);
    if (!child_ask(c, &q, c->opts.limit_s, &reply, e))
        return false;
    for (int i = 0; i < t->n_sites; i++)
        out->count[i] = site[i].count;
    for (int i = 0; i < t->n_blocks; i++)
        out->runs[i] = block[i].runs;
    for (int i = 0; i < CACHE_LEVELS; i++)
        out->level[i] = sim->level[i];
    out->n_levels = sim->n_levels == 1 ? 1 : what->cache->n_levels;
    out->error = sim->error;
    out->fraction = sim->fraction;
    out->seconds = reply.seconds;
    memcpy(out->how, sim->how, sizeof out->how);
    child_clean_text(out->how, sizeof out->how);
    if (!child_simulation_sound(t, out, e))
        return false;
    return !what->detail || take_detail(c, what->detail, e);
}
