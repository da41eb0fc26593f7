/* Writes a plan as step lines, in the order in which a person would type them. */
#include "explorer/space/loop_space_impl.h"

#include <string.h>

#include "kernels/base/vec.h"

#define MOST_VECTOR 64

struct line_writer {
    const struct loop_space *s;
    const struct loop_plan *plan;
    struct arena *a;
    VEC(const char *) line;
};

__attribute__((format(printf, 2, 3)))
static void add_line(struct line_writer *w, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vec_push(&w->line, arena_vprintf(w->a, fmt, ap));
    va_end(ap);
}

/* Returns the name of a loop of the plan, in arena w->a. */
static const char *name_at(const struct line_writer *w, int loop)
{
    struct str s = { 0 };
    const char *name = arena_strdup(w->a, loop_plan_name(w->s, w->plan, loop, &s));
    str_free(&s);
    return name;
}

static void write_splits(struct line_writer *w)
{
    const struct nest_info *nest = w->s->nest;
    for (int a = 0; a < nest->n_axes; a++) {
        struct str s = { 0 };
        if (w->plan->n_parts[a] < 2)
            continue;
        for (int i = 0; i < w->plan->n_parts[a]; i++)
            str_printf(&s, " %lld", (long long)w->plan->part[a][i]);
        add_line(w, "loop split %s %s%s", nest->name, nest->axis[a].name, str_text(&s));
        str_free(&s);
    }
}

/* Writes a reorder of all loops, unless the splits already leave them in this order. */
static void write_order(struct line_writer *w)
{
    int axis = 0, part = 0;
    bool natural = true;
    struct str s = { 0 };
    for (int i = 0; i < w->plan->n; i++) {
        const struct plan_loop *l = &w->plan->loop[i];
        natural = natural && l->axis == axis && l->part == part;
        if (++part == w->plan->n_parts[axis]) {
            axis++;
            part = 0;
        }
        str_printf(&s, " %s", name_at(w, i));
    }
    if (!natural)
        add_line(w, "loop reorder %s%s", w->s->nest->name, str_text(&s));
    str_free(&s);
}

/* Writes annotations. Unrolled loops come before the vectorized one, which may be inside them. */
static void write_marks(struct line_writer *w)
{
    for (int i = 0; i < w->plan->n; i++)
        if (w->plan->loop[i].ann == LOOP_UNROLL)
            add_line(w, "loop unroll %s %s", w->s->nest->name, name_at(w, i));
    for (int i = 0; i < w->plan->n; i++)
        if (w->plan->loop[i].ann == LOOP_VECTORIZE)
            add_line(w, "loop vectorize %s %s", w->s->nest->name, name_at(w, i));
}

static void write_parallel(struct line_writer *w)
{
    for (int i = 0; i < w->plan->n; i++)
        if (w->plan->loop[i].ann == LOOP_PARALLEL)
            add_line(w, "loop parallel %s %s", w->s->nest->name, name_at(w, i));
}

static void write_copies(struct line_writer *w)
{
    const struct nest_info *nest = w->s->nest;
    if (w->plan->cache_write != AT_NONE)
        add_line(w, "loop cache_write %s at=%s", nest->name, name_at(w, w->plan->cache_write));
    for (int o = 0; o < OPERANDS; o++)
        if (w->plan->cache_read[o] != AT_NONE)
            add_line(w, "loop cache_read %s %s at=%s", nest->name, nest->operand[o],
                     name_at(w, w->plan->cache_read[o]));
}

/* Writes lines for a node with its own nest.  Vectorizes the last dim, or a part of it: the largest
 * divisor of at most MOST_VECTOR.  Leaves it serial if its vector would not be a multiple of 4.
 * With several threads, runs the first dim in parallel. */
static void write_root(struct line_writer *w, const char *name, const struct root_axes *r)
{
    int64_t v = r->extent;
    if (!r->inner)
        return;
    if (v > MOST_VECTOR)
        for (v = MOST_VECTOR; r->extent % v; v--)
            ;
    if (v % 4 == 0) {
        bool whole = v == r->extent;
        if (!whole)
            add_line(w, "loop split %s %s %lld", name, r->inner, (long long)v);
        add_line(w, "loop vectorize %s %s%s", name, r->inner, whole ? "" : ".1");
    }
    if (w->s->opts.threads > 1 && !streq(r->outer, r->inner))
        add_line(w, "loop parallel %s %s", name, r->outer);
}

static void write_prefetch(struct line_writer *w)
{
    const struct nest_info *nest = w->s->nest;
    const struct loop_plan *plan = w->plan;
    for (int o = 0; o < OPERANDS; o++) {
        if (plan->prefetch[o] == AT_NONE)
            continue;
        const char *line = arena_printf(w->a, "loop prefetch %s %s at=%s", nest->name,
                                        prefetched(nest, plan->pad, o),
                                        name_at(w, plan->prefetch[o]));
        if (plan->ahead[o] > 1)
            add_line(w, "%s ahead=%lld", line, (long long)plan->ahead[o]);
        else
            add_line(w, "%s", line);
    }
}

static const char *attach_name(const struct line_writer *w, int at, int64_t choice)
{
    const struct nest_info *nest = w->s->nest;
    if (nest->pinned)
        return choice == 1 ? nest->s1 : nest->s2;
    return name_at(w, at);
}

static void write_pad(struct line_writer *w, int64_t choice)
{
    const struct nest_info *nest = w->s->nest;
    if (w->plan->pad == AT_ROOT)
        write_root(w, nest->pad, &nest->pad_root);
    else if (w->plan->pad != AT_INLINE)
        add_line(w, "loop compute_at %s %s %s", nest->pad, nest->name,
                 attach_name(w, w->plan->pad, choice - 1));
}

/* Writes lines for the consumers.  If they are at the root, all but the last are inlined into the
 * last. */
static void write_consumers(struct line_writer *w, int64_t choice)
{
    const struct nest_info *nest = w->s->nest;
    for (int i = 0; i < nest->n_chain; i++)
        if (choice > 0)
            add_line(w, "loop compute_at %s %s %s", nest->chain[i], nest->name,
                     attach_name(w, w->plan->consumer, choice));
        else if (i + 1 < nest->n_chain)
            add_line(w, "loop inline %s", nest->chain[i]);
    if (choice == 0)
        write_root(w, nest->chain[nest->n_chain - 1], &nest->chain_root);
}

bool loop_point_lines(const struct loop_space *s, struct arena *a, const struct loop_point *p,
                      const char *const **line, int *n, struct err *e)
{
    const struct nest_info *nest = s->nest;
    struct loop_plan plan;
    if (!loop_point_sound(s, p, e))
        return false;
    if (s->gpu) {
        gpu_point_lines(s, a, p, line, n);
        return true;
    }
    loop_plan_of(s, p, &plan);
    struct line_writer w = { .s = s, .plan = &plan, .a = a };
    if (nest->k_pad >= 0 && plan.pad == AT_INLINE)
        add_line(&w, "loop inline %s", nest->pad);
    if (!nest->pinned) {
        write_splits(&w);
        write_order(&w);
        write_copies(&w);
        write_marks(&w);
    }
    if (nest->k_pad >= 0)
        write_pad(&w, p->v[nest->k_pad][0]);
    if (nest->k_consumer >= 0)
        write_consumers(&w, p->v[nest->k_consumer][0]);
    write_prefetch(&w);
    write_parallel(&w);
    if (knob_choice(p, nest->k_stream, 0))
        add_line(&w, "loop stream %s", nest->result);
    const char **copy = ARENA_ARRAY(a, const char *, w.line.len + 1);
    for (int i = 0; i < w.line.len; i++)
        copy[i] = w.line.data[i];
    *line = copy;
    *n = w.line.len;
    vec_free(&w.line);
    return true;
}
