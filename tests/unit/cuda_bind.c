#include "tests/unit/cuda_bind.h"

const struct program *cuda_bind_all(struct arena *a, const struct program *p, int node,
                                    int threads)
{
    const struct stage *s = p->stage[node];
    const char *t = s->name, *fused = s->axis[0].name, *list = "";
    struct err e = {0};
    int n = 0;
    while (n < s->n_axes && !s->axis[n].reduce)
        list = arena_printf(a, "%s %s", list, s->axis[n++].name);
    if (n > 1) {
        if (!program_apply_line(p, arena_printf(a, "loop fuse %s%s", t, list), &p, &e))
            fail("%s", e.text);
        fused = p->stage[node]->axis[0].name;
    }
    const char *line[] = {
        arena_printf(a, "loop split %s %s %d", t, fused, threads),
        arena_printf(a, "loop bind %s %s.0 block.x", t, fused),
        arena_printf(a, "loop bind %s %s.1 thread.x", t, fused),
    };
    for (int i = 0; i < COUNT_OF(line); i++)
        if (!program_apply_line(p, line[i], &p, &e))
            fail("%s: %s", line[i], e.text);
    return p;
}
