#include "explorer/expert/simulated.h"

#include <stdio.h>

#include "profile/build/nvrtc.h"
#include "profile/measure/program_text.h"

/* Compiles the kernels of p, and stores their properties on a device with these limits in *out.
 * Without NVRTC, returns true and leaves out->compiled false. */
static bool compile(struct arena *a, const struct program *p, const struct gpu_limits *limits,
                    struct expert_rating *out, struct err *e)
{
    struct gpu_build b;
    struct err none = {0};
    bool ok = true;
    if (nvrtc_there(&none)) {
        ok = program_build_cuda(a, p, &b, e);
        out->compiled = ok;
        out->occupancy = 1;
    }
    for (int i = 0; out->compiled && i < b.n; i++) {
        const struct gpu_kernel *k = &b.kernel[i];
        double share = gpu_occupancy(limits, k);
        out->registers = k->registers > out->registers ? k->registers : out->registers;
        out->shared = k->shared > out->shared ? k->shared : out->shared;
        out->stack = k->stack > out->stack ? k->stack : out->stack;
        out->occupancy = share < out->occupancy ? share : out->occupancy;
    }
    return ok;
}

bool expert_first_without_stack(const char *spec, const struct expert_schedule *s, int n,
                                const struct cancel *c, int *best, struct err *e)
{
    const struct gpu_limits limits = gpu_limits_of(gpu_device_default());
    struct err none = {0};
    *best = 0;
    for (int i = 0; i < n && nvrtc_there(&none); i++) {
        struct arena *a = arena_new();
        struct expert_rating r = {0};
        const struct program *p;
        int at;
        bool ok = !cancelled(c) && program_replay(a, spec, s[i].step, s[i].n, &p, &at, &none)
               && compile(a, p, &limits, &r, &none);
        arena_free(a);
        if (cancelled(c))
            return err_set(e, ERR_CANCEL, "cancelled");
        if (ok && r.stack == 0) {
            *best = i;
            return true;
        }
    }
    return true;
}

bool expert_rate(const struct program *p, const struct gpu_memory_opts *o, const struct cancel *c,
                 struct expert_rating *out, struct err *e)
{
    const struct gpu_limits limits = gpu_limits_of(o->device ? o->device : gpu_device_default());
    struct arena *a = arena_new();
    *out = (struct expert_rating){0};
    bool ok = compile(a, p, &limits, out, e) && gpu_memory_rate(p, o, c, &out->cost, e);
    double hidden = out->occupancy * limits.warps / EXPERT_WARPS;
    out->ns = out->cost.ns / (out->compiled && hidden < 1 ? hidden : 1);
    arena_free(a);
    return ok;
}

static void report(const struct progress *pr, int i, int n)
{
    char text[64];
    snprintf(text, sizeof text, "%d of %d, simulated", i + 1, n);
    if (pr && pr->report)
        pr->report(pr->ctx, text, (double)i / n);
}

bool expert_least_simulated(const char *spec, const struct expert_schedule *s, int n,
                            const struct gpu_memory_opts *o, const struct progress *pr,
                            const struct cancel *c, int *best, struct expert_rating *rating,
                            struct err *e)
{
    struct err why = {0};
    *best = -1;
    for (int i = 0; i < n; i++) {
        if (cancelled(c))
            return err_set(e, ERR_CANCEL, "cancelled");
        struct arena *a = arena_new();
        const struct program *p;
        struct expert_rating r;
        int at;
        report(pr, i, n);
        bool ok = program_replay(a, spec, s[i].step, s[i].n, &p, &at, &why)
               && expert_rate(p, o, c, &r, &why);
        arena_free(a);
        if (!ok && why.code == ERR_CANCEL) {
            *e = why;
            return false;
        }
        if (ok && r.stack > 0)
            err_set(&why, ERR_WRONG, "its kernel needs %lld bytes of stack", (long long)r.stack);
        else if (ok && (*best < 0 || r.ns < rating->ns)) {
            *rating = r;
            *best = i;
        }
    }
    return *best >= 0
        || err_set(e, ERR_WRONG, "no schedule of an expert can be simulated: %.300s", why.text);
}
