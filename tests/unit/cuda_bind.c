#include "tests/unit/cuda_bind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/measure/program_text.h"
#include "tests/unit/programs.h"
#include "tests/unit/random_steps.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

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
            fail_msg("%s", e.text);
        fused = p->stage[node]->axis[0].name;
    }
    const char *line[] = {
        arena_printf(a, "loop split %s %s %d", t, fused, threads),
        arena_printf(a, "loop bind %s %s.0 block.x", t, fused),
        arena_printf(a, "loop bind %s %s.1 thread.x", t, fused),
    };
    for (int i = 0; i < COUNT_OF(line); i++)
        if (!program_apply_line(p, line[i], &p, &e))
            fail_msg("%s: %s", line[i], e.text);
    return p;
}

void cuda_try(const struct program **p, const char *line)
{
    struct err e = {0};
    if (!program_apply_line(*p, line, p, &e) && !e.text[0])
        fail_msg("%s: refused without a reason", line);
}

void cuda_random_loops(struct arena *a, struct rng *r, const struct program **p, int n)
{
    for (int k = 0; k < n; k++) {
        const char *line = random_loop_step(a, r, *p);
        if (!str_starts(line, "loop parallel") && !str_starts(line, "loop serial"))
            cuda_try(p, line);
    }
}

const struct program *cuda_random(struct arena *a, struct rng *r, const char *spec)
{
    const struct program *p = program_bare(a, spec);
    for (int k = 0; k < 6; k++)
        cuda_try(&p, random_layout_step(a, r, p));
    for (int node = 0; node < p->graph->n_nodes; node++)
        p = cuda_bind_all(a, p, node, (int)rng_range(r, 1, 100));
    cuda_random_loops(a, r, &p, 12);
    return p;
}

bool cuda_build(struct arena *a, const struct program *p, struct str *text, struct gpu_build *b)
{
    struct err e = {0};
    if (!program_text_cuda(p, text, &e))
        fail_msg("%s", e.text);
    if (!nvrtc_there(&e))
        return false;
    if (!program_build_cuda(a, p, b, &e))
        fail_msg("%s\n%s", e.text, str_text(text));
    return true;
}
