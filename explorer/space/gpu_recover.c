/* Finds the point of a GPU's space that has the same sizes as given lines: the same blocks,
 * vthreads, threads and register tiles of every axis, and the same steps of reductions between
 * copies.  The point also reads its operands from the same memory.  Its loops may have another
 * order than those of the lines. */
#include "explorer/space/gpu_space.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct gpu_reading {
    const struct gpu_nest *g;
    struct arena *a;
    int n; const struct step *const *step;
    struct point_why *why;
};

__attribute__((format(printf, 3, 4)))
static bool miss(struct gpu_reading *r, const char *step, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    r->why->step = step;
    vsnprintf(r->why->text, sizeof r->why->text, fmt, ap);
    va_end(ap);
    return false;
}

/* Whether loop "H.1" is one of the loops fused into "N_H.1_W.3". */
static bool contains(const char *fused, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = fused; at; at = strchr(at, '_')) {
        at += *at == '_';
        if (strncasecmp(at, name, n) == 0 && (at[n] == '\0' || at[n] == '_'))
            return true;
    }
    return false;
}

/* Returns what a loop became: "block", "thread" or "vthread"; NULL: it is a loop inside a
 * thread. */
static const char *fate_of(const struct gpu_reading *r, const char *name)
{
    const char *fate = NULL;
    for (int i = 0; i < r->n; i++) {
        const struct step *s = r->step[i];
        if (!strcaseeq(s->target, r->g->name) || s->n_args == 0 || !contains(s->arg[0].text, name))
            continue;
        if (s->kind == STEP_LOOP_VTHREAD)
            fate = "vthread";
        if (s->kind == STEP_LOOP_BIND && s->n_args > 1)
            fate = strncasecmp(s->arg[1].text, "block", 5) == 0 ? "block" : "thread";
        if (s->kind == STEP_LOOP_SERIAL)
            fate = NULL;
    }
    return fate;
}

/* Returns the last split of a loop; NULL: the loop is not split. */
static const struct step *split_of(const struct gpu_reading *r, const char *loop)
{
    const struct step *last = NULL;
    for (int i = 0; i < r->n; i++)
        if (r->step[i]->kind == STEP_LOOP_SPLIT && strcaseeq(r->step[i]->target, r->g->name)
            && r->step[i]->n_args > 1 && strcaseeq(r->step[i]->arg[0].text, loop))
            last = r->step[i];
    return last;
}

/* Sets the knob of a part to the choice of this size.  Returns false if there is no such choice.  A
 * part of size 1 needs no knob. */
static bool choose(struct gpu_reading *r, const struct loop_space *s, const struct gpu_axis *x,
                   struct gpu_part part, int64_t size, struct loop_point *p)
{
    int n = part.knob >= 0 ? s->knob[part.knob].n_choices : 0;
    for (int i = 0; i < n; i++)
        if (part.value[i] == size) {
            p->v[part.knob][0] = i;
            return true;
        }
    return size == 1
        || miss(r, "split", "loop %s has a part of %lld iterations; the space offers no part of "
                "this size", x->name, (long long)size);
}

/* Reads a loop that is not split: multiplies the part of *out to which the loop belongs by the
 * extent of the loop.  Returns false if the loop was fused so that nothing tells its part. */
static bool read_whole(struct gpu_reading *r, const char *loop, int64_t extent,
                       struct gpu_sizes *out)
{
    const char *fate = fate_of(r, loop);
    for (int i = 0; i < r->n; i++) {
        const struct step *s = r->step[i];
        if (!strcaseeq(s->target, r->g->name))
            continue;
        if (s->kind == STEP_LOOP_SPLIT && s->n_args > 1 && contains(s->arg[0].text, loop))
            return miss(r, "split", "loop %.60s is fused and then split", s->arg[0].text);
        for (int k = 0; k < s->n_args && s->kind == STEP_LOOP_FUSE && !fate; k++)
            if (strcaseeq(s->arg[k].text, loop))
                return miss(r, "fuse", "loop %.60s is fused into a loop that is not bound", loop);
    }
    int64_t *part = !fate                  ? &out->tile
                  : streq(fate, "block")   ? &out->outer
                  : streq(fate, "vthread") ? &out->vthread
                                           : &out->thread;
    *part *= extent;
    return true;
}

/* Multiplies the parts of *out by the extents of the loops into which `loop` is split. */
static bool read_loop(struct gpu_reading *r, const char *loop, int64_t extent,
                      struct gpu_sizes *out)
{
    const struct step *split = split_of(r, loop);
    int64_t inner = 1, first = 0;
    if (!split)
        return read_whole(r, loop, extent, out);
    /* a split with one factor makes two loops, and the factor is the size of the second one */
    int n = split->n_args, added = n == 2;
    for (int i = 2 - added; i < n; i++) {
        int64_t f = strtoll(split->arg[i].text, NULL, 10);
        if (f < 1)
            return miss(r, "split", "a factor of loop %.60s is not written", loop);
        if (!read_loop(r, arena_printf(r->a, "%s.%d", loop, i - 1 + added), f, out))
            return false;
        inner *= f;
    }
    if (!added)
        first = strtoll(split->arg[1].text, NULL, 10);
    return read_loop(r, arena_printf(r->a, "%s.0", loop),
                     first > 0 ? first : (extent + inner - 1) / inner, out);
}

static bool read_output(struct gpu_reading *r, const struct loop_space *s,
                        const struct gpu_axis *x, struct loop_point *p)
{
    struct gpu_sizes size = { 1, 1, 1, 1 };
    if (!split_of(r, x->name) && x->extent > 1 && !fate_of(r, x->name))
        return miss(r, "bind", "loop %s is not bound", x->name);
    return read_loop(r, x->name, x->extent, &size)
        && choose(r, s, x, x->vthread, size.vthread, p)
        && choose(r, s, x, x->thread, size.thread, p) && choose(r, s, x, x->tile, size.tile, p);
}

/* Returns the loop at which a shared tile is copied; NULL: no tile is copied. */
static const char *copies_at(const struct gpu_reading *r)
{
    const char *at = NULL;
    for (int i = 0; i < r->n; i++) {
        const struct step *s = r->step[i];
        if (s->kind == STEP_LOOP_COMPUTE_AT && s->n_opts > 0 && s->n_args > 1
            && strcaseeq(s->arg[0].text, r->g->name))
            at = s->arg[1].text;
        for (int k = 0; k < s->n_opts && s->kind == STEP_LOOP_CACHE_READ; k++)
            if (streq(s->opt[k].key, "at") && strcaseeq(s->target, r->g->name))
                at = s->opt[k].text;
    }
    return at;
}

/* Returns the position of a loop in the last reorder; -1: the reorder does not name it, or there is
 * none. */
static int position(const struct gpu_reading *r, const char *name)
{
    int found = -1;
    for (int i = 0; i < r->n; i++) {
        const struct step *s = r->step[i];
        if (s->kind != STEP_LOOP_REORDER || !strcaseeq(s->target, r->g->name))
            continue;
        found = -1;
        for (int k = 0; k < s->n_args; k++)
            if (strcaseeq(s->arg[k].text, name))
                found = k;
    }
    return found;
}

/* Reads a reduction: sets how many of its steps run between two copies.  If the reduction is not
 * split, these are all its steps; or one step, if the tiles are copied inside its loop. */
static bool read_reduction(struct gpu_reading *r, const struct loop_space *s,
                           const struct gpu_axis *x, struct loop_point *p)
{
    const struct step *split = split_of(r, x->name);
    const char *at = copies_at(r);
    int64_t tile = x->extent;
    if (split)
        tile = strtoll(split->arg[split->n_args - 1].text, NULL, 10);
    else if (at && position(r, x->name) <= position(r, at))
        tile = 1;
    if (tile == x->extent && x->tile.knob >= 0
        && x->tile.value[s->knob[x->tile.knob].n_choices - 1] < tile)
        tile = 1;  /* too long for an inner part: tiles are copied inside its loop */
    return choose(r, s, x, x->tile, tile, p);
}

static enum gpu_from read_operand(const struct gpu_reading *r, const struct gpu_operand *o)
{
    enum gpu_from from = FROM_GLOBAL;
    for (int i = 0; i < r->n; i++) {
        const struct step *s = r->step[i];
        bool producer = s->kind == STEP_LOOP_COMPUTE_AT && strcaseeq(s->target, o->name);
        bool cached = s->kind == STEP_LOOP_CACHE_READ && strcaseeq(s->target, r->g->name)
                   && s->n_args > 0 && strcaseeq(s->arg[0].text, o->name);
        for (int k = 0; k < s->n_opts && (producer || cached); k++)
            if (streq(s->opt[k].key, "pad"))
                from = FROM_SHARED_PAD;
            else if (streq(s->opt[k].key, "scope") && s->opt[k].text
                     && streq(s->opt[k].text, "shared") && from == FROM_GLOBAL)
                from = FROM_SHARED;
        if (s->kind == STEP_LOOP_SWIZZLE && s->n_args > 0
            && strcaseeq(s->arg[0].text, o->name))
            from = FROM_SHARED_SWIZZLE;
    }
    return from;
}

/* Whether the innermost reduction is unrolled. */
static bool unrolls(const struct gpu_reading *r, const struct loop_point *p)
{
    int last = gpu_innermost(r->g, p);
    const char *axis = last >= 0 ? r->g->axis[last].name : "";
    for (int i = 0; i < r->n; i++) {
        const struct step *s = r->step[i];
        if (s->kind == STEP_LOOP_UNROLL && strcaseeq(s->target, r->g->name) && s->n_args > 0
            && *axis && str_starts(s->arg[0].text, axis)
            && (s->arg[0].text[strlen(axis)] == '.' || !s->arg[0].text[strlen(axis)]))
            return true;
    }
    return false;
}

/* Reads the stages of the pipeline. The pipelined loop must be the one at which tiles are
 * copied. */
static bool read_stages(struct gpu_reading *r, const struct loop_space *s, struct loop_point *p)
{
    int64_t stages = 1;
    const char *loop = "", *at = copies_at(r);
    for (int i = 0; i < r->n; i++)
        if (r->step[i]->kind == STEP_LOOP_PIPELINE && strcaseeq(r->step[i]->target, r->g->name)
            && r->step[i]->n_args > 0 && r->step[i]->n_opts > 0) {
            stages = r->step[i]->opt[0].value;
            loop = r->step[i]->arg[0].text;
        }
    int knob = r->g->k_stages;
    if (stages > 1 && !at)
        return miss(r, "pipeline", "loop %.40s is pipelined, and no tile is copied", loop);
    if (stages > 1 && !strcaseeq(loop, at))
        return miss(r, "pipeline", "loop %.40s is pipelined, and the tiles are copied at loop"
                    " %.40s", loop, at);
    if (stages > (knob >= 0 ? s->knob[knob].n_choices : 1))
        return miss(r, "pipeline", "the tiles have %lld stages, and the space has fewer",
                    (long long)stages);
    if (knob >= 0)
        p->v[knob][0] = stages - 1;
    return true;
}

static bool read_point(struct gpu_reading *r, const struct loop_space *s, struct loop_point *p)
{
    const struct gpu_nest *g = s->gpu;
    for (int a = 0; a < g->n_axes; a++)
        if (!(g->axis[a].reduce ? read_reduction : read_output)(r, s, &g->axis[a], p))
            return false;
    for (int o = 0; o < OPERANDS; o++)
        if (g->operand[o].knob >= 0)
            p->v[g->operand[o].knob][0] = read_operand(r, &g->operand[o]);
    if (g->k_unroll >= 0)
        p->v[g->k_unroll][0] = unrolls(r, p);
    struct err e;
    if (!read_stages(r, s, p))
        return false;
    return loop_point_sound(s, p, &e) || miss(r, "limit", "%.150s", e.text);
}

bool gpu_point_from_lines(const struct loop_space *s, const char *const *line, int n,
                          struct loop_point *p, struct point_why *why)
{
    struct arena *a = arena_new();
    const struct step **step = ARENA_ARRAY(a, const struct step *, n + 1);
    struct point_why unused;
    struct gpu_reading r = { .g = s->gpu, .a = a, .step = step, .why = why ? why : &unused };
    struct err e;
    *r.why = (struct point_why){ .step = "" };
    memset(p, 0, sizeof *p);
    for (int i = 0; i < n; i++)
        if (step_parse(a, line[i], &step[r.n], &e) && step[r.n]->target)
            r.n++;
    bool found = read_point(&r, s, p);
    arena_free(a);
    return found;
}
