/* Writes a point of a GPU's space as step lines, in the order in which a person would type them. */
#include "explorer/space/gpu_space.h"

#include <string.h>

#include "kernels/base/vec.h"

/* The names of the loops of an axis; NULL: it has no such loop. */
struct gpu_loops { const char *outer, *vthread, *thread, *tile; };

struct gpu_writer {
    const struct gpu_nest *g;
    const struct loop_point *p;
    struct arena *a;
    struct gpu_loops loop[GPU_AXES];
    const char *block[3], *thread[3];     /* the loops bound to x, y, z; NULL: none */
    const char *inner;                    /* the innermost thread loop: thread[0] */
    const char *copies;                   /* the loop at which tiles are copied; NULL: `inner` */
    VEC(const char *) line;
};

__attribute__((format(printf, 2, 3)))
static void add_line(struct gpu_writer *w, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vec_push(&w->line, arena_vprintf(w->a, fmt, ap));
    va_end(ap);
}

/* --- Loops ------------------------------------------------------------------------------------ */

/* Names the next part of an axis and adds its factor to the split. */
static const char *part(struct gpu_writer *w, int axis, int *n, struct str *split, int64_t factor)
{
    str_printf(split, " %lld", (long long)factor);
    return arena_printf(w->a, "%s.%d", w->g->axis[axis].name, (*n)++);
}

static void split_axis(struct gpu_writer *w, int axis)
{
    const struct gpu_axis *x = &w->g->axis[axis];
    struct gpu_loops *l = &w->loop[axis];
    struct gpu_sizes s = gpu_sizes_of(w->g, w->p, axis);
    struct str split = {0};
    int n = 0;
    if (x->extent == 1 || (x->reduce && s.outer == 1)) {
        l->tile = x->name;
        return;
    }
    if (x->reduce && s.tile == 1) {
        l->outer = x->name;
        return;
    }
    l->outer = part(w, axis, &n, &split, s.outer);
    if (s.vthread > 1)
        l->vthread = part(w, axis, &n, &split, s.vthread);
    if (!x->reduce)
        l->thread = part(w, axis, &n, &split, s.thread);
    if (s.tile > 1)
        l->tile = part(w, axis, &n, &split, s.tile);
    add_line(w, "loop split %s %s%s", w->g->name, x->name, str_text(&split));
    str_free(&split);
}

static void add_name(struct str *out, const char *name)
{
    if (name)
        str_printf(out, " %s", name);
}

/* Makes a loop over one thread if no output axis has more than one element: the tiles need a bound
 * loop around them. */
static void need_thread(struct gpu_writer *w)
{
    struct gpu_loops *last = &w->loop[w->g->n_output - 1];
    for (int a = 0; a < w->g->n_output; a++)
        if (w->loop[a].thread)
            return;
    last->thread = last->tile;
    last->tile = NULL;
}

/* Orders the loops: blocks, threads, outer reductions, inner reductions (in reverse order),
 * vthreads, the register tile. */
static void order(struct gpu_writer *w)
{
    const struct gpu_nest *g = w->g;
    struct str s = {0};
    for (int a = 0; a < g->n_output; a++)
        add_name(&s, w->loop[a].outer);
    for (int a = 0; a < g->n_output; a++)
        add_name(&s, w->loop[a].thread);
    for (int a = g->n_output; a < g->n_axes; a++)
        add_name(&s, w->loop[a].outer);
    for (int a = g->n_axes - 1; a >= g->n_output; a--)
        add_name(&s, w->loop[a].tile);
    for (int a = 0; a < g->n_output; a++)
        add_name(&s, w->loop[a].vthread);
    for (int a = 0; a < g->n_output; a++)
        add_name(&s, w->loop[a].tile);
    add_line(w, "loop reorder %s%s", g->name, str_text(&s));
    str_free(&s);
}

/* Returns the thread loop (threads = true) or block loop to bind to an index (0: x, 1: y, 2: z);
 * NULL: there is none.  If several loops have this index, adds a line that fuses them. */
static const char *fuse(struct gpu_writer *w, int index, bool threads)
{
    const char *fused = NULL, *list = "";
    int n = 0;
    for (int a = 0; a < w->g->n_output; a++) {
        const char *name = threads ? w->loop[a].thread : w->loop[a].outer;
        if (!name || gpu_index_of(w->g, a) != index)
            continue;
        fused = n++ ? arena_printf(w->a, "%s_%s", fused, name) : name;
        list = arena_printf(w->a, "%s %s", list, name);
    }
    if (n > 1)
        add_line(w, "loop fuse %s%s", w->g->name, list);
    return fused;
}

static void bind(struct gpu_writer *w)
{
    static const char index[] = "xyz";
    for (int i = 2; i >= 0; i--)
        w->block[i] = fuse(w, i, false);
    for (int i = 2; i >= 0; i--)
        w->thread[i] = fuse(w, i, true);
    for (int i = 2; i >= 0; i--)
        if (w->block[i])
            add_line(w, "loop bind %s %s block.%c", w->g->name, w->block[i], index[i]);
    for (int i = 2; i >= 0; i--)
        if (w->thread[i])
            add_line(w, "loop bind %s %s thread.%c", w->g->name, w->thread[i], index[i]);
    w->inner = w->thread[0];
}

/* --- Tiles and marks -------------------------------------------------------------------------- */

static void read_operand(struct gpu_writer *w, const struct gpu_operand *o)
{
    enum gpu_from from = gpu_from_of(o, w->p);
    const char *at = w->copies ? w->copies : w->inner, *t = w->g->name;
    const char *pad = from == FROM_SHARED_PAD
                    ? arena_printf(w->a, " pad=%d", (int)(16 / o->bytes)) : "";
    if (!o->name || (from == FROM_GLOBAL && !o->padding))
        return;
    if (from == FROM_GLOBAL)
        add_line(w, "loop inline %s", o->name);
    else if (o->padding)
        add_line(w, "loop compute_at %s %s %s scope=shared%s", o->name, t, at, pad);
    else
        add_line(w, "loop cache_read %s %s at=%s scope=shared%s", t, o->name, at, pad);
    if (from == FROM_SHARED_SWIZZLE)
        add_line(w, "loop swizzle %s %s by=%d", t, o->name, (int)(16 / o->bytes));
}

static void mark(struct gpu_writer *w)
{
    const struct gpu_nest *g = w->g;
    int last = knob_choice(w->p, g->k_unroll, 0) ? gpu_innermost(g, w->p) : -1;
    for (int a = 0; a < g->n_output; a++)
        if (w->loop[a].tile && g->axis[a].extent > 1)
            add_line(w, "loop unroll %s %s", g->name, w->loop[a].tile);
    if (last >= 0)
        add_line(w, "loop unroll %s %s", g->name, w->loop[last].tile);
    for (int a = 0; a < g->n_output; a++)
        if (w->loop[a].vthread)
            add_line(w, "loop vthread %s %s", g->name, w->loop[a].vthread);
}

void gpu_point_lines(const struct loop_space *s, struct arena *a, const struct loop_point *p,
                     const char *const **line, int *n)
{
    struct gpu_writer w = { .g = s->gpu, .p = p, .a = a };
    bool reduces = false;
    for (int i = 0; i < s->gpu->n_axes; i++) {
        split_axis(&w, i);
        reduces = reduces || s->gpu->axis[i].reduce;
    }
    need_thread(&w);
    int at = gpu_copies_at(w.g, p);
    w.copies = at < 0 ? NULL : w.loop[at].outer;
    order(&w);
    bind(&w);
    if (reduces)
        add_line(&w, "loop cache_write %s at=%s", s->gpu->name, w.inner);
    for (int o = 0; o < OPERANDS; o++)
        read_operand(&w, &s->gpu->operand[o]);
    mark(&w);
    if (gpu_stages(w.g, p) > 1)
        add_line(&w, "loop pipeline %s %s stages=%d", w.g->name, w.copies,
                 (int)gpu_stages(w.g, p));
    for (int i = 0; i < s->gpu->n_chain; i++)
        add_line(&w, "loop compute_at %s %s %s", s->gpu->chain[i], s->gpu->name, w.inner);
    for (int i = 0; i < s->gpu->n_rest; i++)
        add_line(&w, "%s", s->gpu->rest[i]);
    *line = ARENA_DUP(a, w.line.data, w.line.len);
    *n = w.line.len;
    vec_free(&w.line);
}
