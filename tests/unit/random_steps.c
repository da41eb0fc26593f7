#include "tests/unit/random_steps.h"

static int64_t random_divisor(struct rng *r, int64_t n)
{
    int64_t f;
    do
        f = rng_range(r, 1, n);
    while (n % f);
    return f;
}

/* Each number is drawn in a statement of its own: compilers evaluate arguments in any order. */
const char *random_layout_step(struct arena *a, struct rng *r, const struct program *p)
{
    int t = (int)rng_range(r, 0, p->graph->n_tensors - 1);
    const struct layout *l = p->layout[t];
    const char *name = p->graph->tensor[t].name;
    int d = (int)rng_range(r, 0, l->rank - 1), other = (int)rng_range(r, 0, l->rank - 1);
    struct str s = { 0 };
    switch (rng_range(r, 0, 9)) {
    case 9: {
        const struct tensor *x = &p->graph->tensor[rng_range(r, 0, p->graph->n_tensors - 1)];
        if (rng_range(r, 0, 3))
            str_printf(&s, "layout store_at Bias %s %s", name, l->dim[d]);
        else
            str_printf(&s, "layout decouple_at %s", x->name);
        break;
    }
    case 8: {
        static const char *const dims[] = { "K", "I", "KH", "KW" };
        const char *dim = dims[rng_range(r, 0, 3)];
        str_printf(&s, "loop rfactor %s %s %d", name, dim, (int)rng_range(r, 2, 4));
        break;
    }
    case 7:
        str_add(&s, rng_range(r, 0, 1) ? "set output_layout original" : "set propagate off");
        break;
    case 0: case 1:
        str_printf(&s, "layout split %s %s %lld", name, l->dim[d], (long long)random_divisor(r,
                   l->shape[d]));
        break;
    case 2: case 3:
        str_printf(&s, "layout reorder %s", name);
        for (int i = 0; i < l->rank; i++)
            str_printf(&s, " %s", l->dim[i == d ? other : i == other ? d : i]);
        break;
    case 4: {
        int tile = (int)rng_range(r, 1, 5), stride = (int)rng_range(r, 1, 4);
        str_printf(&s, "layout unfold %s %s tile=%d stride=%d", name, l->dim[d], tile, stride);
        break;
    }
    case 5: {
        int before = (int)rng_range(r, 0, 1), after = (int)rng_range(r, 0, 2);
        str_printf(&s, "layout pad %s %s before=%d after=%d", name, l->dim[d], before, after);
        break;
    }
    default:
        if (d + 1 < l->rank)
            str_printf(&s, "layout fuse %s %s %s", name, l->dim[d], l->dim[d + 1]);
        else
            str_printf(&s, "layout split %s %s 3 2 allow_pad=1", name, l->dim[d]);
    }
    const char *line = arena_strdup(a, str_text(&s));
    str_free(&s);
    return line;
}

const char *random_loop_step(struct arena *a, struct rng *r, const struct program *p)
{
    const struct stage *s = p->stage[rng_range(r, 0, p->graph->n_nodes - 1)];
    const struct stage *host = p->stage[p->graph->main_node];
    if (rng_range(r, 0, 1))
        s = host;
    const struct axis *x = &s->axis[rng_range(r, 0, s->n_axes - 1)], *y = &s->axis[rng_range(r, 0,
                                              s->n_axes - 1)];
    switch (rng_range(r, 0, 13)) {
    case 13: {
        const char *read = p->graph->tensor[rng_range(r, 0, p->graph->n_tensors - 1)].name;
        return arena_printf(a, "loop prefetch %s %s at=%s ahead=%d", s->name, read, x->name,
                            (int)rng_range(r, 1, 3));
    }
    case 12: return arena_printf(a, "loop stream %s", s->name);
    case 10: return arena_printf(a, "loop inline %s", p->stage[rng_range(r, 0,
                                 p->graph->n_nodes - 1)]->name);
    case 11:
        return arena_printf(a, "loop cache_read %s %s at=%s", s->name,
                            p->graph->tensor[rng_range(r, 0, p->graph->n_tensors - 1)].name,
                                    x->name);
    case 0: case 1: return arena_printf(a, "loop split %s %s %lld", s->name, x->name,
                                          (long long)(rng_range(r, 0, 1) ? random_divisor(r,
                                           x->extent) : rng_range(r, 1, x->extent)));
    case 2: case 3: return arena_printf(a, "loop reorder %s %s %s", s->name, x->name, y->name);
    case 4: return arena_printf(a, "loop vectorize %s %s", s->name, s->axis[s->n_axes - 1].name);
    case 5: return arena_printf(a, "loop unroll %s %s", s->name, x->name);
    case 6: return arena_printf(a, "loop parallel %s %s", s->name, s->axis[0].name);
    case 7: return arena_printf(a, "loop cache_write %s at=%s", s->name, x->name);
    case 8: return arena_printf(a, "loop fuse %s %s %s", s->name, x->name, y->name);
    default:
        return arena_printf(a, "loop compute_at %s %s %s", s->name, host->name,
                            host->axis[rng_range(r, 0, host->n_axes - 1)].name);
    }
}
