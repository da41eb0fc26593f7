#include "explorer/expert/instant.h"

#include "explorer/expert/draft.h"

bool instant_choose(void *ctx, struct arena *a, const char *spec, int n_given,
                    const char *const *given, int *n, const char *const **line, struct err *e)
{
    const struct instant *x = ctx;
    const struct target *t = target_or_host(x->target);
    struct expert_schedule s;
    const struct program *p;
    int found, bad;
    if (!expert_schedules(a, x->experts, spec, t, x->threads, 1, &s, &found, e))
        return false;
    if (found > 0 && s.expert->path[0]) {
        *n = s.n;
        *line = s.step;
        return true;
    }
    if (!program_replay(a, spec, given, n_given, &p, &bad, e))
        return false;
    struct draft d = { a, p, {0} };
    const struct draft_machine machine = { target_lanes(t, p->base->type), t->registers,
                                           x->threads, t->gpu };
    for (int i = 0; i < n_given; i++)
        vec_push(&d.line, given[i]);
    draft_rest(&d, &machine);
    *n = d.line.len;
    *line = ARENA_DUP(a, d.line.data, d.line.len);
    vec_free(&d.line);
    return true;
}
