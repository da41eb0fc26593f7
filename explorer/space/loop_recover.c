/* Finds the point of step lines: compares the nest that the lines make with the nests of many
 * points. In both nests, loops of one iteration are ignored, and adjacent loops of one axis count
 * as one. The place of a tile or an attached node is the number of loops around it.  If no point
 * matches, the reported reason is that of the attempt that passed the most checks (REACHED_...). */
#include "explorer/space/loop_space_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct recover_leaf { int axis, part; int64_t extent; enum loop_ann ann; };

/* A nest, in the form in which two nests are compared. */
struct recover_shape {
    int n; struct recover_leaf leaf[PLAN_LOOPS];
    int cache_write, cache_read[OPERANDS];  /* number of loops around the tile, or AT_NONE */
    int consumer, pad;  /* number of loops around the node, or AT_ROOT, AT_INLINE */
    /* prefetch: number of loops down to the one that prefetches, or AT_NONE; ahead: for how many
     * iterations ahead it prefetches */
    int prefetch[OPERANDS]; int64_t ahead[OPERANDS];
};

struct recovery {
    const struct loop_space *s;
    const struct stage *stage;
    struct recover_shape want;
    int n_parts[NEST_AXES]; int64_t part[NEST_AXES][PLAN_LOOPS];
    bool stream;
    int run[PLAN_LOOPS];                  /* per leaf: number of its run (find_runs) */
    enum loop_level level[PLAN_LOOPS];    /* per leaf: the level that is tried now */
    struct point_why *why;                /* reason of the attempt that passed most checks */
    int reached;                          /* the check at which that attempt failed */
};

/* The check at which an attempt failed; later checks have larger numbers.  REACHED_LOOPS and
 * REACHED_MARKS check one loop after the other: the number of loops that were right is added to
 * them. */
enum { REACHED_LINES = 1, REACHED_NEST, REACHED_LEVELS, REACHED_LOOPS,
       REACHED_MARKS = REACHED_LOOPS + PLAN_LOOPS, REACHED_PLACES = REACHED_MARKS + PLAN_LOOPS,
       REACHED_SOUND, REACHED_PREFETCH };

/* Notes why an attempt failed, if it passed more checks than every earlier attempt.  Returns
 * false. */
__attribute__((format(printf, 4, 5)))
static bool miss(struct recovery *t, int reached, const char *step, const char *fmt, ...)
{
    va_list ap;
    if (reached <= t->reached)
        return false;
    t->reached = reached;
    va_start(ap, fmt);
    t->why->step = step;
    vsnprintf(t->why->text, sizeof t->why->text, fmt, ap);
    va_end(ap);
    return false;
}

/* --- The nest that the lines made ------------------------------------------------------------- */

/* Finds the axis of a loop: "O.1.0" is a part of axis "O.1" (or of "O", if that is the axis). */
static int axis_of(const struct nest_info *nest, const char *name)
{
    int best = -1;
    for (int a = 0; a < nest->n_axes; a++) {
        size_t n = strlen(nest->axis[a].name);
        if (strncmp(name, nest->axis[a].name, n) == 0 &&
            strspn(name + n, ".0123456789") == strlen(name + n) &&
            (name[n] == '\0' || name[n] == '.') &&
            (best < 0 || n > strlen(nest->axis[best].name)))
            best = a;
    }
    return best;
}

/* Whether path x comes before path y; paths such as ".0.1" are compared number by number. */
static bool path_before(const char *x, const char *y)
{
    while (*x && *y) {
        long a = strtol(x + 1, (char **)&x, 10), b = strtol(y + 1, (char **)&y, 10);
        if (a != b)
            return a < b;
    }
    return !*x && *y;
}

/* Reads the loops of the stage, and the position of each loop among the loops of its axis. */
static bool read_leaves(struct recovery *t)
{
    const struct nest_info *nest = t->s->nest;
    const struct stage *s = t->stage;
    for (int i = 0; i < s->n_axes; i++) {
        int a = axis_of(nest, s->axis[i].name), part = 0;
        if (a < 0 || t->want.n == PLAN_LOOPS)
            return miss(t, REACHED_NEST, "fuse",
                        "loop %s is not part of a single loop of the plain nest", s->axis[i].name);
        if (s->axis[i].extent == 1)
            continue;
        for (int j = 0; j < s->n_axes; j++)
            part += axis_of(nest, s->axis[j].name) == a && s->axis[j].extent > 1 &&
                    path_before(s->axis[j].name + strlen(nest->axis[a].name),
                                s->axis[i].name + strlen(nest->axis[a].name));
        bool parallel = s->axis[i].ann == LOOP_PARALLEL && nest->k_parallel < 0;
        t->want.leaf[t->want.n++] = (struct recover_leaf){
            a, part, s->axis[i].extent, parallel ? LOOP_SERIAL : s->axis[i].ann,
        };
        t->part[a][part] = s->axis[i].extent;
        t->n_parts[a]++;
    }
    return true;
}

/* Counts the loops with more than one iteration down to a named loop, which counts too. */
static int depth_of(const struct stage *s, const char *axis)
{
    int depth = 0, at = stage_axis(s, axis);
    for (int i = 0; i <= at; i++)
        depth += s->axis[i].extent > 1;
    return depth;
}

static bool read_attached(struct recovery *t, const struct program *p)
{
    const struct nest_info *nest = t->s->nest;
    int main = program_stage(p, nest->name);
    t->want.consumer = t->want.pad = AT_ROOT;
    for (int i = 0; i < nest->n_chain; i++) {
        const struct stage *c = p->stage[program_stage(p, nest->chain[i])];
        int at = c->attach == main ? depth_of(t->stage, c->attach_axis) : AT_ROOT;
        if ((i > 0 && at != t->want.consumer) ||
            (at == AT_ROOT && c->inlined != (i + 1 < nest->n_chain)))
            return miss(t, REACHED_NEST, "compute_at",
                        "%s is not at the same loop as the other element-wise nodes",
                        nest->chain[i]);
        t->want.consumer = at;
    }
    if (nest->pad) {
        const struct stage *c = p->stage[program_stage(p, nest->pad)];
        t->want.pad = c->inlined           ? AT_INLINE
                      : c->attach == main ? depth_of(t->stage, c->attach_axis)
                                           : AT_ROOT;
    }
    return true;
}

/* Reads whether the result is streamed; counts as no if the space has no knob for it. */
static void read_stream(struct recovery *t, const struct program *p)
{
    const char *result = t->s->nest->result;
    t->stream = result && p->stage[program_stage(p, result)]->stream;
}

static bool read_copies(struct recovery *t)
{
    const struct nest_info *nest = t->s->nest;
    const struct stage *s = t->stage;
    t->want.cache_write = s->cache_at ? depth_of(s, s->cache_at) : AT_NONE;
    t->want.cache_read[OPERAND_DATA] = t->want.cache_read[OPERAND_WEIGHTS] = AT_NONE;
    for (int i = 0; i < s->n_reads; i++) {
        int o = 0;
        while (o < OPERANDS && (!nest->operand[o] || !streq(nest->operand[o], s->read[i].tensor)))
            o++;
        if (o == OPERANDS)
            return miss(t, REACHED_NEST, "cache_read", "%s is no operand that the space copies",
                        s->read[i].tensor);
        t->want.cache_read[o] = depth_of(s, s->read[i].axis);
    }
    return true;
}

static bool read_prefetch(struct recovery *t)
{
    const struct nest_info *nest = t->s->nest;
    const struct stage *s = t->stage;
    t->want.prefetch[OPERAND_DATA] = t->want.prefetch[OPERAND_WEIGHTS] = AT_NONE;
    for (int i = 0; i < s->n_ahead; i++) {
        const struct read_ahead *x = &s->ahead[i];
        int o = 0;
        while (o < OPERANDS && (nest->k_prefetch[o] < 0 ||
                                !streq(prefetched(nest, t->want.pad, o), x->tensor)))
            o++;
        if (o == OPERANDS)
            return miss(t, REACHED_NEST, "prefetch", "%s is prefetched in %s, %lld ahead",
                        x->tensor, x->axis, (long long)x->by);
        t->want.prefetch[o] = depth_of(s, x->axis);
        t->want.ahead[o] = x->by;
    }
    return true;
}

/* Numbers the runs of adjacent output loops (S) and reductions (R) from 0 to 4: there are at most S
 * R S R S. */
static bool find_runs(struct recovery *t)
{
    int run = 0;
    for (int i = 0; i < t->want.n; i++) {
        bool reduce = t->s->nest->axis[t->want.leaf[i].axis].reduce;
        if (run == 0 && !reduce && i > 0 && i == t->want.cache_write)
            run = 2;  /* the tile begins here: there are no reductions outside of it */
        if ((run % 2 == 1) != reduce)
            run++;
        if (run > 4)
            return miss(t, REACHED_NEST, "reorder",
                        "output loops and reductions alternate more than S R S R S does");
        t->run[i] = run;
    }
    return true;
}

/* Finds the loops [from, to) of a run. */
static void run_ends(const struct recovery *t, int run, int *from, int *to)
{
    *from = *to = 0;
    for (int i = 0; i < t->want.n; i++) {
        if (t->run[i] != run)
            continue;
        *from = *to == 0 ? i : *from;
        *to = i + 1;
    }
}

/* --- Candidate points ------------------------------------------------------------------------- */

static int slot_of(const struct loop_axis *x, enum loop_level level)
{
    for (int i = 0; i < x->parts; i++)
        if (x->level[i] == level)
            return i;
    return -1;
}

/* Computes the factors of a point whose loops have the levels t->level.  Returns false if an axis
 * has no part at one of these levels. */
static bool fill_factors(struct recovery *t, struct loop_point *p)
{
    const struct nest_info *nest = t->s->nest;
    for (int k = 0; k < t->s->n; k++)
        for (int i = 0; i < t->s->knob[k].parts; i++)
            p->v[k][i] = 1;
    for (int i = 0; i < t->want.n; i++) {
        const struct recover_leaf *l = &t->want.leaf[i];
        const struct loop_axis *x = &nest->axis[l->axis];
        if (x->phase > 1 && l->part == t->n_parts[l->axis] - 1 && l->extent == x->phase)
            continue;
        int slot = slot_of(x, t->level[i]);
        if (slot < 0 || x->knob < 0)
            return miss(t, REACHED_LEVELS, "split", "%s has no loop at level %s", x->name,
                        loop_level_name[t->level[i]]);
        p->v[x->knob][slot] *= l->extent;
    }
    return true;
}

/* Returns the number of loops around an attached node; AT_ROOT or AT_INLINE stays as it is. */
static int place_of(const struct recovery *t, int at, const int *depth, int64_t choice)
{
    const struct nest_info *nest = t->s->nest;
    if (at == AT_PINNED)
        return depth_of(t->stage, choice == 1 ? nest->s1 : nest->s2);
    return at >= 0 ? depth[at] : at;
}

static void shape_of(const struct recovery *t, const struct loop_point *p,
                     const struct loop_plan *plan, struct recover_shape *out)
{
    const struct loop_space *s = t->s;
    int depth[PLAN_LOOPS], part[NEST_AXES][AXIS_LOOPS];
    memset(out, 0, sizeof *out);
    for (int a = 0; a < s->nest->n_axes; a++)
        for (int i = 0, n = 0; i < plan->n_parts[a]; i++) {
            part[a][i] = n;
            n += plan->part[a][i] > 1;
        }
    for (int i = 0; i < plan->n; i++) {
        const struct plan_loop *l = &plan->loop[i];
        if (l->extent > 1)
            out->leaf[out->n++] = (struct recover_leaf){ l->axis, part[l->axis][l->part], l->extent,
                                                         l->ann };
        depth[i] = out->n;
    }
    out->cache_write = plan->cache_write >= 0 ? depth[plan->cache_write] : plan->cache_write;
    for (int o = 0; o < OPERANDS; o++)
        out->cache_read[o] = plan->cache_read[o] >= 0 ? depth[plan->cache_read[o]]
                                                      : plan->cache_read[o];
    for (int o = 0; o < OPERANDS; o++) {
        out->prefetch[o] = plan->prefetch[o] >= 0 ? depth[plan->prefetch[o]] : plan->prefetch[o];
        out->ahead[o] = plan->ahead[o];
    }
    out->consumer = place_of(t, plan->consumer, depth, knob_choice(p, s->nest->k_consumer, 0));
    out->pad = place_of(t, plan->pad, depth, knob_choice(p, s->nest->k_pad, 1) - 1);
}

static bool is_mark(const struct recover_shape *x, int depth)
{
    return x->cache_write == depth || x->cache_read[0] == depth || x->cache_read[1] == depth ||
           x->prefetch[0] == depth || x->prefetch[1] == depth || x->consumer == depth ||
           x->pad == depth;
}

static void lower_mark(int *mark, int depth)
{
    *mark -= *mark > depth;
}

/* Merges adjacent loops of one axis that have the same annotation, and no tile, node or prefetch
 * between them. */
static void merge_leaves(struct recover_shape *x)
{
    for (int i = 0; i + 1 < x->n;) {
        struct recover_leaf *l = &x->leaf[i];
        if (l[0].axis != l[1].axis || l[0].part + 1 != l[1].part || l[0].ann != l[1].ann ||
            is_mark(x, i + 1)) {
            i++;
            continue;
        }
        for (int j = 0; j < x->n; j++)
            x->leaf[j].part -= x->leaf[j].axis == l->axis && x->leaf[j].part > l->part;
        l[0].extent *= l[1].extent;
        memmove(l + 1, l + 2, sizeof *l * (size_t)(x->n - i - 2));
        x->n--;
        lower_mark(&x->cache_write, i + 1);
        lower_mark(&x->cache_read[0], i + 1);
        lower_mark(&x->cache_read[1], i + 1);
        lower_mark(&x->prefetch[0], i + 1);
        lower_mark(&x->prefetch[1], i + 1);
        lower_mark(&x->consumer, i + 1);
        lower_mark(&x->pad, i + 1);
    }
}

static bool same_loop(const struct recover_leaf *x, const struct recover_leaf *y)
{
    return x->axis == y->axis && x->part == y->part && x->extent == y->extent;
}

/* Compares loops, then annotations. */
static bool same_leaves(struct recovery *t, const struct recover_shape *want,
                        const struct recover_shape *got)
{
    const struct loop_axis *axis = t->s->nest->axis;
    int i = 0, k = 0;
    while (i < want->n && i < got->n && same_loop(&want->leaf[i], &got->leaf[i]))
        i++;
    if (i < want->n)
        return miss(t, REACHED_LOOPS + i, "reorder",
                    "the loop of %lld iterations of %s has another place or size in the space",
                    (long long)want->leaf[i].extent, axis[want->leaf[i].axis].name);
    if (i < got->n)
        return miss(t, REACHED_LOOPS + i, "reorder", "the space has one more loop of %s",
                    axis[got->leaf[i].axis].name);
    while (k < i && want->leaf[k].ann == got->leaf[k].ann)
        k++;
    if (k == i)
        return true;
    bool lacks = want->leaf[k].ann == LOOP_SERIAL;
    const struct recover_leaf *l = lacks ? &got->leaf[k] : &want->leaf[k];
    return miss(t, REACHED_MARKS + k, loop_ann_name[l->ann],
                "the loop of %lld iterations of %s is %smarked %s, unlike in the space",
                (long long)l->extent, axis[l->axis].name, lacks ? "not " : "",
                loop_ann_name[l->ann]);
}

static bool same_places(struct recovery *t, const struct recover_shape *want,
                        const struct recover_shape *got)
{
    const struct nest_info *nest = t->s->nest;
    if (want->cache_write != got->cache_write)
        return miss(t, REACHED_PLACES, "cache_write",
                    "the tile is inside %d loops; in the space it is inside the last S2 loop",
                    want->cache_write);
    if (nest->k_consumer >= 0 && want->consumer != got->consumer)
        return miss(t, REACHED_PLACES, "compute_at",
                    "%s is inside %d loops, neither at the root nor at S1 or S2", nest->chain[0],
                    want->consumer);
    if (nest->k_pad >= 0 && want->pad != got->pad)
        return miss(t, REACHED_PLACES, "compute_at",
                    "%s is inside %d loops, neither at the root nor at S1 or S2", nest->pad,
                    want->pad);
    for (int o = 0; o < OPERANDS; o++)
        if (want->cache_read[o] != got->cache_read[o])
            return miss(t, REACHED_PLACES, "cache_read",
                        "the copy of %s is inside %d loops, neither at S2 nor at R1",
                        nest->operand[o] ? nest->operand[o] : "an operand", want->cache_read[o]);
    return true;
}

static bool is_sound(struct recovery *t, const struct loop_point *p)
{
    struct err e = { 0 };
    return loop_point_sound(t->s, p, &e) || miss(t, REACHED_SOUND, "limit", "%s", e.text);
}

static bool same_prefetch(struct recovery *t, const struct recover_shape *want,
                          const struct recover_shape *got)
{
    for (int o = 0; o < OPERANDS; o++)
        if (want->prefetch[o] != got->prefetch[o] || want->ahead[o] != got->ahead[o])
            return miss(t, REACHED_PREFETCH, "prefetch",
                        "%s is prefetched %lld ahead in loop %d from outside",
                        t->s->nest->operand[o], (long long)want->ahead[o], want->prefetch[o]);
    return true;
}

/* How much of two nests is compared.  COMPARE_LOOPS: the loops; COMPARE_PLACES: also the places of
 * tiles and nodes; COMPARE_ALL: also prefetches. */
enum compared { COMPARE_LOOPS, COMPARE_PLACES, COMPARE_ALL };

/* Removes the parts of a shape that `how` does not compare. */
static void reduce_shape(struct recover_shape *x, enum compared how)
{
    if (how < COMPARE_ALL)
        x->prefetch[0] = x->prefetch[1] = AT_NONE;
    if (how < COMPARE_PLACES)
        x->cache_write = x->cache_read[0] = x->cache_read[1] = x->consumer = x->pad = AT_NONE;
}

/* Whether this point generates the desired nest. */
static bool is_it(struct recovery *t, const struct loop_point *p, enum compared how)
{
    struct loop_plan plan;
    struct recover_shape got, want = t->want;
    loop_plan_of(t->s, p, &plan);
    shape_of(t, p, &plan, &got);
    reduce_shape(&got, how);
    reduce_shape(&want, how);
    merge_leaves(&got);
    merge_leaves(&want);
    return same_leaves(t, &want, &got) &&
           (how < COMPARE_PLACES || (same_places(t, &want, &got) && is_sound(t, p))) &&
           (how < COMPARE_ALL || same_prefetch(t, &want, &got));
}

/* Tries all combinations of values of the n listed knobs until one generates the desired nest.  A
 * knob -1 is skipped. */
static bool try_knobs(struct recovery *t, const int *knob, int n, enum compared how,
                      struct loop_point *p)
{
    if (n == 0)
        return is_it(t, p, how);
    if (knob[0] < 0)
        return try_knobs(t, knob + 1, n - 1, how, p);
    for (int c = 0; c < t->s->knob[knob[0]].n_choices; c++) {
        p->v[knob[0]][0] = c;
        if (try_knobs(t, knob + 1, n - 1, how, p))
            return true;
    }
    return false;
}

/* Tries choices: first those that change loops and annotations, then those that place tiles and
 * nodes, then the prefetches. */
static bool try_choices(struct recovery *t, struct loop_point *p)
{
    const struct nest_info *nest = t->s->nest;
    const int order[] = { nest->k_order, nest->k_reduce_order, nest->k_unroll, nest->k_parallel };
    const int place[] = { nest->k_consumer, nest->k_pad, nest->k_cache_read[0],
                          nest->k_cache_read[1] };
    if (nest->k_vectorize >= 0)
        p->v[nest->k_vectorize][0] =
            t->want.n > 0 && t->want.leaf[t->want.n - 1].ann == LOOP_VECTORIZE;
    if (nest->k_cache_write >= 0)
        p->v[nest->k_cache_write][0] = t->want.cache_write != AT_NONE;
    if (nest->k_stream >= 0)
        p->v[nest->k_stream][0] = t->stream;
    for (int o = 0; o < OPERANDS; o++)
        if (nest->k_prefetch[o] >= 0)
            p->v[nest->k_prefetch[o]][0] = 0;
    return try_knobs(t, order, COUNT_OF(order), COMPARE_LOOPS, p) &&
           try_knobs(t, place, COUNT_OF(place), COMPARE_PLACES, p) &&
           try_knobs(t, nest->k_prefetch, OPERANDS, COMPARE_ALL, p);
}

/* Sets the levels of the leaves [from, to): `first` before leaf `at`, `second` from there on. */
static void set_levels(struct recovery *t, int from, int to, int at, enum loop_level first,
                       enum loop_level second)
{
    for (int i = from; i < to; i++)
        t->level[i] = i < at ? first : second;
}

struct runs { int from[5], to[5]; };

/* Finds the point if there are reductions on both sides of S3.  Then only the border between S1 and
 * S2 is ambiguous. */
static bool find_with_two(struct recovery *t, const struct runs *r, struct loop_point *p)
{
    set_levels(t, r->from[1], r->to[1], r->to[1], LEVEL_R1, LEVEL_R1);
    set_levels(t, r->from[2], r->to[2], r->to[2], LEVEL_S3, LEVEL_S3);
    set_levels(t, r->from[3], r->to[3], r->to[3], LEVEL_R2, LEVEL_R2);
    set_levels(t, r->from[4], r->to[4], r->to[4], LEVEL_S4, LEVEL_S4);
    for (int s = r->to[0]; s >= r->from[0]; s--) {
        set_levels(t, r->from[0], r->to[0], s, LEVEL_S1, LEVEL_S2);
        if (fill_factors(t, p) && try_choices(t, p))
            return true;
    }
    return false;
}

/* Finds the point if all reductions are adjacent: they are R1, R2 or both.  If all are R2, S3 is
 * outside them. */
static bool find_with_one(struct recovery *t, const struct runs *r, struct loop_point *p)
{
    for (int s = r->to[0]; s >= r->from[0]; s--) {
        set_levels(t, r->from[0], r->to[0], s, LEVEL_S1, LEVEL_S2);
        for (int k = r->to[1]; k >= r->from[1]; k--)
            for (int i = r->from[2]; i <= r->to[2]; i++) {
                set_levels(t, r->from[1], r->to[1], k, LEVEL_R1, LEVEL_R2);
                set_levels(t, r->from[2], r->to[2], i, LEVEL_S3, LEVEL_S4);
                if (fill_factors(t, p) && try_choices(t, p))
                    return true;
            }
        set_levels(t, r->from[1], r->to[1], r->from[1], LEVEL_R1, LEVEL_R2);
        set_levels(t, r->from[2], r->to[2], r->from[2], LEVEL_S3, LEVEL_S4);
        for (int i = r->to[0] - 1; i >= s; i--) {
            set_levels(t, s, r->to[0], i, LEVEL_S2, LEVEL_S3);
            if (fill_factors(t, p) && try_choices(t, p))
                return true;
        }
    }
    return false;
}

static bool find_point(struct recovery *t, struct loop_point *p)
{
    struct runs r;
    for (int i = 0; i < 5; i++)
        run_ends(t, i, &r.from[i], &r.to[i]);
    return r.to[3] > 0 ? find_with_two(t, &r, p) : find_with_one(t, &r, p);
}

/* Replays the base lines, then the loop lines that are not among them. */
static bool replay_loops(const struct loop_space *s, struct arena *a, const char *const *line,
                         int n, const struct program **out)
{
    const char **all = ARENA_ARRAY(a, const char *, s->n_base + n);
    int m = s->n_base, bad;
    struct err e;
    for (int i = 0; i < s->n_base; i++)
        all[i] = s->base[i];
    for (int i = 0; i < n; i++) {
        bool base = !str_starts(line[i], "loop ");
        for (int j = 0; j < s->n_base; j++)
            base = base || streq(line[i], s->base[j]);
        if (!base)
            all[m++] = line[i];
    }
    return program_replay(a, s->spec, all, m, out, &bad, &e);
}

bool loop_point_from_lines(const struct loop_space *s, const char *const *line, int n,
                           struct loop_point *p, struct point_why *why)
{
    if (s->gpu)
        return gpu_point_from_lines(s, line, n, p, why);
    struct arena *a = arena_new();
    const struct program *program;
    struct recovery *t = ARENA_NEW(a, struct recovery);
    struct point_why unused;
    t->s = s;
    t->why = why ? why : &unused;
    *t->why = (struct point_why){ .step = "" };
    if (!replay_loops(s, a, line, n, &program) || program_stage(program, s->nest->name) < 0) {
        miss(t, REACHED_LINES, "layout", "the lines do not apply to these layouts");
        arena_free(a);
        return false;
    }
    t->stage = program->stage[program_stage(program, s->nest->name)];
    memset(p, 0, sizeof *p);
    if (s->nest->pinned)
        t->want.cache_write = t->want.cache_read[0] = t->want.cache_read[1] = AT_NONE;
    read_stream(t, program);
    bool found = (s->nest->pinned || (read_leaves(t) && read_copies(t) && find_runs(t))) &&
                 read_attached(t, program) && read_prefetch(t) && find_point(t, p);
    if (found)
        *t->why = (struct point_why){ .step = "" };
    arena_free(a);
    return found;
}
