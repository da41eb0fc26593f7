#include "profile/child.h"

#define CALL_LIMIT_S 10.0

/* Samples the loop for most of the time asked for; the rest is the child's start. */
static bool sample_peak(struct child *c, const struct build *b, double flops, double seconds,
                        struct peak *out, struct err *e)
{
    struct samples s;
    struct sampled what = { .ceiling = true, .time_s = seconds, .min_runs = 3 };
    if (!child_load(c, SLOT_CEILING, b->so_path, e) || !child_time(c, &what, &s, e))
        return false;
    const struct summary *ceiling = &s.of[SERIES_CEILING];
    if (s.rounds < 1 || ceiling->min <= 0)
        return err_set(e, ERR_BUG, "the ceiling was not sampled");
    out->gflops_max = 1e-9 * flops / ceiling->min;
    out->gflops_median = 1e-9 * flops / ceiling->median;
    return true;
}

bool machine_peak(const struct compiler *cc, double seconds, const struct cancel *c,
                  struct peak *out, struct err *e)
{
    double start = clock_s();
    struct target t = target_host();
    struct child_opts opts = { .threads = 1, .limit_s = CALL_LIMIT_S, .cancel = c };
    struct child *child = NULL;
    struct str source = {0};
    struct build b;
    double flops = gen_peak(&t, &source);
    struct peak p;
    bool ok = build_shared(cc, str_text(&source), &t, false, c, &b, e)
           && child_open(&opts, &child, e) && sample_peak(child, &b, flops, seconds, &p, e);
    child_close(child);
    str_free(&source);
    if (ok) {
        p.seconds = clock_s() - start;
        *out = p;
    }
    return ok;
}
