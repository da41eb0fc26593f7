/* Applies loop steps: translates names to axes, applies one primitive to one stage, then checks
 * that it keeps the rules between stages (check_attached). */
#include "kernels/program/program_impl.h"

#include <stdlib.h>
#include <string.h>

#define MAX_AXES 64

static bool find_stage(const struct program *p, const char *name, int *node, struct err *e)
{
    *node = program_stage(p, name);
    if (*node >= 0)
        return true;
    int t = graph_tensor(p->graph, name);
    struct str list = { 0 };
    for (int n = 0; n < p->graph->n_nodes; n++)
        str_printf(&list, "%s%s", n ? ", " : "", p->stage[n]->name);
    if (t >= 0)
        err_set(e, ERR_NAME, "%s is %s: nothing computes it, so it has no loops",
                p->graph->tensor[t].name,
                p->graph->tensor[t].role == TENSOR_CONST ? "a constant" : "an input");
    else
        err_set(e, ERR_NAME, "no node computes a tensor %s", name);
    err_fix(e, "the tensors that have loops are %s", str_text(&list));
    str_free(&list);
    return false;
}

static bool find_axis(const struct stage *s, const struct step_word *w, int *axis, struct err *e)
{
    *axis = stage_axis(s, w->text);
    if (*axis >= 0)
        return true;
    struct str list = { 0 };
    stage_print_axes(&list, s);
    err_set(e, ERR_NAME, "%s has no loop %s", s->name, w->text);
    err_fix(e, "its loops are %s", str_text(&list));
    str_free(&list);
    return blame_word(e, w);
}

static bool step_split(struct program *d, const struct stage *s, const struct step *st,
                       const struct stage **out, struct err *e)
{
    int axis;
    int64_t factor[MAX_AXES];
    if (!find_axis(s, &st->arg[0], &axis, e))
        return false;
    if (st->n_args > 32)
        return err_set(e, ERR_RANK, "the split has too many factors");
    for (int i = 1; i < st->n_args; i++) {
        long long f;
        if (!str_to_int64(st->arg[i].text, 0, (long long)1 << 40, &f))
            return blame_factor(e, &st->arg[i]);
        factor[i - 1] = f;
    }
    return stage_split(d->pool, s, axis, factor, st->n_args - 1, out, e) ||
           blame_word(e, &st->arg[1]);
}

/* Finds all named axes. No axis may be named twice. */
static bool find_axes(const struct stage *s, const struct step *st, int *axis, struct err *e)
{
    for (int i = 0; i < st->n_args; i++) {  /* ends at a repeated name before axis[] is full */
        if (!find_axis(s, &st->arg[i], &axis[i], e))
            return false;
        for (int j = 0; j < i; j++)
            if (axis[j] == axis[i]) {
                err_set(e, ERR_PERM, "loop %s is named twice", st->arg[i].text);
                return blame_word(e, &st->arg[i]);
            }
    }
    return true;
}

static bool among(int x, const int *list, int n)
{
    for (int i = 0; i < n; i++)
        if (list[i] == x)
            return true;
    return false;
}

/* Sets the fix of the error: an order of all loops in which the n named loops stand together in the
 * named order, at the place of axis[0]. */
static void fix_adjacent(const struct stage *s, const int *axis, int n, struct err *e)
{
    struct str order = { 0 };
    for (int i = 0; i < s->n_axes; i++) {
        if (i == axis[0])
            for (int j = 0; j < n; j++)
                str_printf(&order, " %s", s->axis[axis[j]].name);
        else if (!among(i, axis, n))
            str_printf(&order, " %s", s->axis[i].name);
    }
    err_fix(e, "reorder first: loop reorder %s%s", s->name, str_text(&order));
    str_free(&order);
}

static bool step_fuse(struct program *d, const struct stage *s, const struct step *st,
                      const struct stage **out, struct err *e)
{
    int axis[MAX_AXES];
    if (!find_axes(s, st, axis, e))
        return false;
    for (int i = 1; i < st->n_args; i++)
        if (axis[i] != axis[0] + i) {
            err_set(e, ERR_DIM, "loops %s and %s are not adjacent in this order",
                    st->arg[i - 1].text, st->arg[i].text);
            fix_adjacent(s, axis, st->n_args, e);
            return blame_word(e, &st->arg[i]);
        }
    return stage_fuse(d->pool, s, axis[0], st->n_args, out, e);
}

static int by_value(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Puts the named loops, in the named order, into the places that these loops have now. */
static bool step_reorder(struct program *d, const struct stage *s, const struct step *st,
                         const struct stage **out, struct err *e)
{
    int axis[MAX_AXES], place[MAX_AXES], perm[MAX_AXES];
    if (!find_axes(s, st, axis, e))
        return false;
    memcpy(place, axis, sizeof *place * (size_t)st->n_args);
    qsort(place, (size_t)st->n_args, sizeof *place, by_value);
    for (int i = 0; i < s->n_axes; i++)
        perm[i] = i;
    for (int i = 0; i < st->n_args; i++)
        perm[place[i]] = axis[i];
    return stage_reorder(d->pool, s, perm, out, e);
}

static bool step_cache_write(struct program *d, const struct stage *s, const struct step *st,
                             const struct stage **out, struct err *e)
{
    int axis = -1;
    if (d->graph->node[s->node].combine == COMBINE_NONE) {
        err_set(e, ERR_STEP, "%s has no reduction, so that a tile would only copy it", s->name);
        return blame_target(e, st);
    }
    if (st->n_opts > 0) {
        struct step_word w = { st->opt[0].text, st->opt[0].col, st->opt[0].len, false };
        if (!find_axis(s, &w, &axis, e))
            return false;
        return stage_cache_write(d->pool, s, axis, out, e) || blame_word(e, &w);
    }
    while (axis + 1 < s->n_axes && !s->axis[axis + 1].reduce)
        axis++;
    if (axis < 0) {
        err_set(e, ERR_STEP,
                "the outermost loop of %s is a reduction, so the tile cannot be placed there",
                s->name);
        return err_fix(e, "name the loop: loop cache_write %s at=%s", s->name, s->axis[0].name);
    }
    return stage_cache_write(d->pool, s, axis, out, e);
}

/* Returns the option of this key, or NULL. */
static const struct step_opt *option(const struct step *st, const char *key)
{
    for (int i = 0; i < st->n_opts; i++)
        if (streq(st->opt[i].key, key))
            return &st->opt[i];
    return NULL;
}

/* Sets *axis to the axis that at=D names; without at= leaves it unchanged. */
static bool find_at(const struct stage *s, const struct step *st, int *axis, struct err *e)
{
    const struct step_opt *at = option(st, "at");
    return !at || find_axis(s, &(struct step_word){ at->text, at->col, at->len, false }, axis, e);
}

#define MAX_PAD 64

/* Reads scope= and pad=. */
static bool tile_form(const struct step *st, struct tile_form *out, struct err *e)
{
    const struct step_opt *scope = option(st, "scope"), *pad = option(st, "pad");
    *out = (struct tile_form){ .memory = MEMORY_LOCAL, .pad = pad ? pad->value : 0 };
    if (scope && streq(scope->text, "shared"))
        out->memory = MEMORY_SHARED;
    if (out->pad >= 0 && out->pad <= MAX_PAD)
        return true;
    err_set(e, ERR_FACTOR, "pad=%lld is not between 0 and %d elements", (long long)pad->value,
            MAX_PAD);
    return blame_word(e, &(struct step_word){ pad->text, pad->col, pad->len, false });
}

/* Adds a cache_read at the axis of at=D.  The default is the innermost of the loops before the
 * first reduction. */
static bool step_cache_read(struct program *d, const struct stage *s, const struct step *st,
                            const struct stage **out, struct err *e)
{
    int axis = -1;
    struct tile_form form;
    struct lowering in = program_lowering(d);
    if (!lower_read_check(&in, s->node, st->arg[0].text, e))
        return blame_word(e, &st->arg[0]);
    const char *tensor = d->graph->tensor[graph_tensor(d->graph, st->arg[0].text)].name;
    if (!find_at(s, st, &axis, e) || !tile_form(st, &form, e))
        return false;
    while (!option(st, "at") && axis + 1 < s->n_axes && !s->axis[axis + 1].reduce)
        axis++;
    if (axis < 0) {
        err_set(e, ERR_STEP,
                "the outermost loop of %s is a reduction, so the tile cannot be placed there",
                s->name);
        return err_fix(e, "name the loop: loop cache_read %s %s at=%s", s->name, tensor,
                       s->axis[0].name);
    }
    return stage_cache_read(d->pool, s, tensor, axis, form, out, e);
}

#define MAX_KEEP 16
#define BANK_BYTES 4                      /* bytes per bank of shared memory */

/* Swizzles a tile in groups of by=N elements. The default and the minimum is the number of elements
 * in a bank; a smaller N is raised to it. */
static bool step_swizzle(struct program *d, const struct stage *s, const struct step *st,
                         const struct stage **out, struct err *e)
{
    const struct step_opt *by = option(st, "by");
    int64_t keep = by ? by->value : 1;
    struct lowering in = program_lowering(d);
    if (!lower_read_check(&in, s->node, st->arg[0].text, e))
        return blame_word(e, &st->arg[0]);
    const struct tensor *t = &d->graph->tensor[graph_tensor(d->graph, st->arg[0].text)];
    if (keep < 1 || keep > MAX_KEEP || keep & (keep - 1)) {
        err_set(e, ERR_FACTOR, "by=%lld is not 1, 2, 4, 8 or %d elements", (long long)keep,
                MAX_KEEP);
        return blame_word(e, &(struct step_word){ by->text, by->col, by->len, false });
    }
    while (keep * t->type->bytes < BANK_BYTES)
        keep *= 2;
    return stage_swizzle(d->pool, s, t->name, keep, out, e) || blame_word(e, &st->arg[0]);
}

/* Parses ahead=N; the default is 1. */
static bool read_ahead(const struct step *st, int64_t *ahead, struct err *e)
{
    const struct step_opt *o = option(st, "ahead");
    *ahead = o ? o->value : 1;
    if (*ahead >= 1 && *ahead <= MAX_AHEAD)
        return true;
    err_set(e, ERR_FACTOR, "ahead=%lld is not between 1 and %d iterations", (long long)*ahead,
            MAX_AHEAD);
    return blame_word(e, &(struct step_word){ o->text, o->col, o->len, false });
}

static bool step_prefetch(struct program *d, const struct stage *s, const struct step *st,
                          const struct stage **out, struct err *e)
{
    int axis = -1;
    int64_t ahead;
    struct lowering in = program_lowering(d);
    if (!find_at(s, st, &axis, e) || !read_ahead(st, &ahead, e))
        return false;
    if (!lower_prefetch_check(&in, s->node, st->arg[0].text, s->axis[axis].name, e))
        return blame_word(e, &st->arg[0]);
    const char *tensor = d->graph->tensor[graph_tensor(d->graph, st->arg[0].text)].name;
    return stage_prefetch(d->pool, s, tensor, axis, ahead, out, e)
        || blame_word(e, &st->arg[0]);
}

static bool step_pipeline(struct program *d, const struct stage *s, const struct step *st,
                          const struct stage **out, struct err *e)
{
    int axis;
    const struct step_opt *o = option(st, "stages");
    if (!find_axis(s, &st->arg[0], &axis, e))
        return false;
    if (o->value < 1 || o->value > MAX_STAGES) {
        err_set(e, ERR_FACTOR, "stages=%lld is not between 1 and %d", (long long)o->value,
                MAX_STAGES);
        return blame_word(e, &(struct step_word){ o->text, o->col, o->len, false });
    }
    return stage_pipeline(d->pool, s, axis, o->value, out, e) || blame_word(e, &st->arg[0]);
}

static bool step_inline(struct program *d, int node, const struct stage **out, struct err *e)
{
    struct lowering in = program_lowering(d);
    if (!lower_inline_check(&in, node, e))
        return false;
    struct stage *s = ARENA_DUP(d->arena, d->stage[node], 1);
    s->inlined = true;
    *out = s;
    return true;
}

static bool step_compute_at(struct program *d, const struct step *st, int node,
                            const struct stage **out, struct err *e)
{
    int outer;
    struct tile_form form;
    if (!find_stage(d, st->arg[0].text, &outer, e))
        return blame_word(e, &st->arg[0]);
    struct lowering in = program_lowering(d);
    if (!lower_attach_check(&in, node, outer, st->arg[1].text, e))
        return blame_word(e, &st->arg[1]);
    if (!tile_form(st, &form, e))
        return false;
    if (node > outer && st->n_opts > 0) {
        err_set(e, ERR_STEP, "%s reads %s, so compute_at makes no tile for scope= and pad=",
                d->stage[node]->name, d->stage[outer]->name);
        return err_fix(e, "leave out scope= and pad=");
    }
    struct stage *s = ARENA_DUP(d->arena, d->stage[node], 1);
    s->attach = outer;
    s->attach_form = form;
    s->attach_axis = d->stage[outer]->axis[stage_axis(d->stage[outer], st->arg[1].text)].name;
    *out = s;
    return true;
}

static bool step_stream(struct program *d, const struct step *st, int node,
                        const struct stage **out, struct err *e)
{
    struct lowering in = program_lowering(d);
    if (!lower_stream_check(&in, node, e))
        return blame_target(e, st);
    struct stage *s = ARENA_DUP(d->arena, d->stage[node], 1);
    s->stream = true;
    *out = s;
    return true;
}

/* Finds the annotation that the word names: "block.x" ... "thread.z". */
static bool find_index(const struct step_word *w, enum loop_ann *ann, struct err *e)
{
    for (*ann = LOOP_BLOCK_X; *ann < LOOP_ANN_COUNT; ++*ann)
        if (strcaseeq(w->text, loop_ann_name[*ann]))
            return true;
    err_set(e, ERR_NAME, "there is no index %s", w->text);
    err_near(e, w->text, &loop_ann_name[LOOP_BLOCK_X], LOOP_ANN_COUNT - LOOP_BLOCK_X,
             "did you mean %s?", "block.x block.y block.z thread.x thread.y thread.z");
    return blame_word(e, w);
}

static bool annotate(struct program *d, const struct stage *s, const struct step *st,
                     const struct stage **out, struct err *e)
{
    int axis;
    enum loop_ann ann = st->kind == STEP_LOOP_VECTORIZE  ? LOOP_VECTORIZE
                        : st->kind == STEP_LOOP_UNROLL   ? LOOP_UNROLL
                        : st->kind == STEP_LOOP_PARALLEL ? LOOP_PARALLEL
                                                         : LOOP_SERIAL;
    if (!find_axis(s, &st->arg[0], &axis, e)
        || (st->kind == STEP_LOOP_BIND && !find_index(&st->arg[1], &ann, e)))
        return false;
    if (ann == LOOP_SERIAL && s->axis[axis].ann == LOOP_SERIAL) {
        err_set(e, ERR_STEP, "loop %s of %s is already a plain loop", s->axis[axis].name, s->name);
        err_fix(e, "only a loop that is vectorized, unrolled, parallel or bound can be made plain");
        return blame_word(e, &st->arg[0]);
    }
    return stage_annotate(d->pool, s, axis, ann, out, e) || blame_word(e, &st->arg[0]);
}

/* Applies vthread: moves a loop inside of all others, except a vectorized one, and unrolls it. A
 * thread then computes several elements that lie far apart. */
static bool step_vthread(struct program *d, const struct stage *s, const struct step *st,
                         const struct stage **out, struct err *e)
{
    int axis, perm[MAX_AXES], n = 0;
    if (!find_axis(s, &st->arg[0], &axis, e))
        return false;
    const struct axis *x = &s->axis[axis];
    bool lanes = s->axis[s->n_axes - 1].ann == LOOP_VECTORIZE;
    if (x->reduce) {
        err_set(e, ERR_STEP, "loop %s of %s cannot be virtual threads: it is a reduction", x->name,
                s->name);
        err_fix(e, "name a loop of the output's dimensions");
        return blame_word(e, &st->arg[0]);
    }
    if (x->ann != LOOP_SERIAL) {
        err_set(e, ERR_STEP, "loop %s of %s cannot be virtual threads: it is marked %s", x->name,
                s->name, loop_ann_name[x->ann]);
        err_fix(e, "loop serial %s %s", s->name, x->name);
        return blame_word(e, &st->arg[0]);
    }
    for (int i = 0; i < s->n_axes; i++) {
        if (lanes && i == s->n_axes - 1)
            perm[n++] = axis;
        if (i != axis)
            perm[n++] = i;
    }
    if (!lanes)
        perm[n] = axis;
    const char *name = x->name;
    return stage_reorder(d->pool, s, perm, &s, e)
        && stage_annotate(d->pool, s, stage_axis(s, name), LOOP_UNROLL, out, e);
}

static bool step_tensorize(struct program *d, const struct stage *s, const struct step *st,
                           const struct stage **out, struct err *e)
{
    int axis[MAX_AXES];
    bool narrow = type_is_narrow(d->graph->type);
    if (!narrow && !d->tf32) {
        err_set(e, ERR_STEP, "%s has elements of type %s: tensor cores multiply f16, bf16, or f32"
                " as tf32", s->name, d->graph->type->name);
        err_fix(e, "set multiply tf32, or open the operator with type=f16 or type=bf16");
        return blame_target(e, st);
    }
    return find_axes(s, st, axis, e)
        && stage_tensorize(d->pool, s, (struct tensor_axes){ axis[0], axis[1], axis[2],
                                                             tensor_steps(d->graph->type) },
                           out, e);
}

static bool change_stage(struct program *d, const struct step *st, int node,
                         const struct stage **out, struct err *e)
{
    const struct stage *s = d->stage[node];
    if (st->kind == STEP_LOOP_COMPUTE_ROOT) {
        if (s->attach < 0 && !s->inlined) {
            err_set(e, ERR_STEP, "%s is neither computed at another node's loop nor inlined",
                    s->name);
            err_fix(e, "it already has loops of its own; compute_root only undoes compute_at and"
                       " inline");
            return blame_target(e, st);
        }
        *out = stage_new(d->pool, d->graph, node, d->layout[d->graph->node[node].out]);
        return true;
    }
    if (st->kind == STEP_LOOP_STREAM)
        return step_stream(d, st, node, out, e);
    if (s->attach >= 0) {
        err_set(e, ERR_STEP, "%s is computed at loop %s of %s and follows its loops", s->name,
                s->attach_axis, d->stage[s->attach]->name);
        err_fix(e, "schedule %s, or: loop compute_root %s", d->stage[s->attach]->name, s->name);
        return blame_target(e, st);
    }
    if (s->inlined) {
        err_set(e, ERR_STEP, "%s is inlined: it has no loops", s->name);
        err_fix(e, "loop compute_root %s brings them back", s->name);
        return blame_target(e, st);
    }
    if (st->kind == STEP_LOOP_INLINE)
        return step_inline(d, node, out, e);
    if (st->kind == STEP_LOOP_COMPUTE_AT)
        return step_compute_at(d, st, node, out, e);
    if (st->kind == STEP_LOOP_SPLIT)
        return step_split(d, s, st, out, e);
    if (st->kind == STEP_LOOP_FUSE)
        return step_fuse(d, s, st, out, e);
    if (st->kind == STEP_LOOP_REORDER)
        return step_reorder(d, s, st, out, e);
    if (st->kind == STEP_LOOP_CACHE_WRITE)
        return step_cache_write(d, s, st, out, e);
    if (st->kind == STEP_LOOP_CACHE_READ)
        return step_cache_read(d, s, st, out, e);
    if (st->kind == STEP_LOOP_SWIZZLE)
        return step_swizzle(d, s, st, out, e);
    if (st->kind == STEP_LOOP_VTHREAD)
        return step_vthread(d, s, st, out, e);
    if (st->kind == STEP_LOOP_TENSORIZE)
        return step_tensorize(d, s, st, out, e);
    if (st->kind == STEP_LOOP_PREFETCH)
        return step_prefetch(d, s, st, out, e);
    if (st->kind == STEP_LOOP_PIPELINE)
        return step_pipeline(d, s, st, out, e);
    return annotate(d, s, st, out, e);
}

/* Returns what became of `axis` in the changed stage `outer`: the axis itself, or the innermost
 * part of its split.  Returns NULL if the axis is gone. */
static const char *heir(struct arena *a, const struct stage *outer, const char *axis)
{
    const char *last = NULL;
    if (stage_axis(outer, axis) >= 0)
        return axis;
    for (int i = 0;; i++) {
        const char *part = arena_printf(a, "%s.%d", axis, i);
        if (stage_axis(outer, part) < 0)
            return last;
        last = part;
    }
}

/* Checks that every attached node, cached or prefetched operand and streamed tensor is still legal.
 * The step changed the stage of `node`.  If another node is computed at a loop of `node`, and this
 * loop has a new name, stores the new name. */
static bool check_attached(struct program *d, const struct stage **stage, int node, struct err *e)
{
    struct lowering in = program_lowering(d);
    for (int n = 0; n < d->graph->n_nodes; n++) {
        for (int r = 0; r < stage[n]->n_reads; r++)
            if (!lower_read_check(&in, n, stage[n]->read[r].tensor, e))
                return false;
        for (int r = 0; r < stage[n]->n_ahead; r++) {
            const struct read_ahead *x = &stage[n]->ahead[r];
            if (!lower_prefetch_check(&in, n, x->tensor, x->axis, e))
                return false;
        }
        if (stage[n]->stream && !lower_streamed_check(&in, n, e))
            return false;
    }
    for (int n = 0; n < d->graph->n_nodes; n++) {
        struct err why;
        int outer = stage[n]->attach;
        if (outer < 0)
            continue;
        const char *was = stage[n]->attach_axis;
        const char *axis = outer == node ? heir(d->arena, stage[node], was) : was;
        if (!axis) {
            err_set(e, ERR_STEP, "%s is computed at loop %s, which this step removes",
                    stage[n]->name,
                    was);
            return err_fix(e, "first: loop compute_root %s", stage[n]->name);
        }
        struct stage *moved = ARENA_DUP(d->arena, stage[n], 1);
        moved->attach_axis = axis;
        stage[n] = moved;
        if (n != node && !lower_attach_check(&in, n, outer, axis, &why)) {
            err_set(e, ERR_STEP, "%s is computed at loop %s of %s and could not stay there: %s",
                    stage[n]->name, axis, stage[outer]->name, why.text);
            return err_fix(e, "first: loop compute_root %s", stage[n]->name);
        }
    }
    return true;
}

bool program_loop_step(struct program *draft, const struct step *st, struct err *e)
{
    int node;
    const struct stage *next;
    if (!find_stage(draft, st->target, &node, e))
        return blame_target(e, st);
    if (!change_stage(draft, st, node, &next, e))
        return e->at.col ? false : blame_target(e, st);
    const struct stage **stage = ARENA_DUP(draft->arena, draft->stage, draft->graph->n_nodes);
    stage[node] = next;
    draft->stage = stage;
    return check_attached(draft, stage, node, e) || blame_target(e, st);
}

static bool rfactor_ok(struct program *d, const struct step *st, int node, int64_t *factor,
                       struct err *e)
{
    const struct node *n = &d->graph->node[node];
    const struct tensor *t = &d->graph->tensor[n->out];
    int r = node_reduction(n, st->arg[0].text);
    long long f;
    if (r < 0) {
        struct str list = { 0 };
        for (int i = 0; i < n->n_reduce; i++)
            str_printf(&list, "%s%s(%lld)", i ? " " : "", n->reduce_dim[i],
                       (long long)n->reduce[i]->hi + 1);
        err_set(e, ERR_NAME, "%s has no reduction %s", t->name, st->arg[0].text);
        err_fix(e, n->n_reduce ? "its reductions are %s" : "it reduces nothing%s", str_text(&list));
        str_free(&list);
        return blame_word(e, &st->arg[0]);
    }
    int64_t extent = n->reduce[r]->hi + 1;
    if (!str_to_int64(st->arg[1].text, 2, extent, &f) || extent % f) {
        err_set(e, ERR_FACTOR, "factor %s does not divide the %lld iterations of reduction %s",
                st->arg[1].text, (long long)extent, n->reduce_dim[r]);
        err_fix(e, "use a divisor of %lld that is at least 2", (long long)extent);
        return blame_word(e, &st->arg[1]);
    }
    if (t->rank + 1 > MAX_RANK)
        return err_set(e, ERR_RANK, "%s_rf would have more than %d dimensions", t->name, MAX_RANK);
    const char *partial = arena_printf(d->arena, "%s_rf", t->name);
    if (graph_tensor(d->graph, partial) >= 0) {
        err_set(e, ERR_STEP, "%s already has partial results: %s", t->name, partial);
        return err_fix(e, "apply rfactor to a reduction of %s", partial);
    }
    *factor = f;
    return true;
}

bool program_rfactor_step(struct program *draft, const struct step *st, struct err *e)
{
    int node;
    int64_t factor = 0;
    if (!find_stage(draft, st->target, &node, e))
        return blame_target(e, st);
    if (!rfactor_ok(draft, st, node, &factor, e))
        return e->at.col ? false : blame_target(e, st);
    const struct node *n = &draft->graph->node[node];
    struct rfactor *list = ARENA_ARRAY(draft->arena, struct rfactor, draft->n_rfactors + 1);
    for (int i = 0; i < draft->n_rfactors; i++)
        list[i] = draft->rfactor[i];
    list[draft->n_rfactors++] =
        (struct rfactor){ draft->graph->tensor[n->out].name,
                          n->reduce_dim[node_reduction(n, st->arg[0].text)], factor };
    draft->rfactor = list;
    return true;
}
