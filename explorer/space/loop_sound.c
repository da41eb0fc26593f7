/* The validity filter of SPEC D.5: it rejects points that are not worth compiling. */
#include "explorer/space/loop_space_impl.h"

#include "kernels/base/number.h"

#include <string.h>

#define MOST_BODY 512  /* most unrolled statements (as the largest unroll step of TVM) */
#define MOST_STATEMENTS 4096  /* most statements with the copies for borders and tails */
#define MOST_LOCAL 32768                  /* most elements of a tile on the stack: 128 KiB of f32 */
#define MOST_LOOPS 64                     /* most loops of a stage */

/* Sets the error, if e is not NULL, and returns false.  why: a format with at most one %lld, which
 * prints n. */
static bool refuse(struct err *e, const char *why, int64_t n)
{
    return e ? err_set(e, ERR_RANGE, why, (long long)n) : false;
}

/* --- Factors ---------------------------------------------------------------------------------- */

static bool split_sound(const struct loop_knob *k, const int64_t *f, struct err *e)
{
    int64_t product = 1;
    bool tile = false;
    for (int i = 0; i < k->parts; i++) {
        if (f[i] < 1 || product > k->extent)
            return refuse(e, "a factor of %lld", f[i]);
        product *= f[i];
    }
    if (f[k->parts - 1] > MOST_INNER)
        return refuse(e, "an innermost factor of %lld, more than 64", f[k->parts - 1]);
    for (int i = 0; i < k->n_tiles; i++)
        tile = tile || k->tile[i] == f[k->parts - 1];
    for (int i = 1; i + 1 < k->parts; i++)
        tile = tile && f[i] == 1;
    tile = tile && f[0] == (k->extent + f[k->parts - 1] - 1) / f[k->parts - 1];
    if (product == k->extent || tile)
        return true;
    return refuse(e, "factors that multiply to %lld, not to the extent", product);
}

static bool factors_sound(const struct loop_space *s, const struct loop_point *p, struct err *e)
{
    for (int k = 0; k < s->n; k++) {
        const struct loop_knob *x = &s->knob[k];
        if (x->parts ? !split_sound(x, p->v[k], e)
                     : p->v[k][0] < 0 || p->v[k][0] >= x->n_choices)
            return x->parts ? false : refuse(e, "there is no choice %lld", p->v[k][0]);
    }
    return true;
}

/* --- Vectors ---------------------------------------------------------------------------------- */

/* Checks that a vector fills whole registers, or a power of two lanes of one register.  If no
 * divisor of the extent fills whole registers, a vector may be a multiple of 4 lanes; if no divisor
 * is a multiple of 4 either, it may be the whole extent. */
static bool vector_sound(const struct loop_space *s, const struct loop_plan *plan, struct err *e)
{
    const struct loop_axis *x = &s->nest->axis[s->nest->vector];
    const struct plan_loop *last = &plan->loop[plan->n - 1];
    int64_t v = last->extent, limit = x->rest;
    if (last->ann != LOOP_VECTORIZE || v == 1)
        return refuse(e, "the vectorized loop has %lld iteration inside the tile", 1);
    if (v % s->lanes == 0 || (v < s->lanes && is_power_of_two(v)))
        return true;
    for (int c = x->n_cuts - 1; c >= 0; c--)
        limit = x->cut[c] >= s->lanes ? x->cut[c] : limit;
    bool whole = false, fours = false;
    for (int64_t d = 1; d <= MOST_INNER && d <= limit; d++)
        if (limit % d == 0) {
            whole = whole || d % s->lanes == 0;
            fours = fours || d % 4 == 0;
        }
    if (!whole && (v % 4 == 0 || (!fours && v == limit)))
        return true;
    return refuse(e, "a vector of %lld lanes, which fills no whole registers", v);
}

/* --- Sizes ------------------------------------------------------------------------------------ */

static int64_t registers_of(const struct loop_space *s, int64_t lanes)
{
    return (lanes + s->lanes - 1) / s->lanes;
}

/* Returns the spatial axis along which a loop runs: 0 for D, 1 for H, 2 for W; -1: none of them.
 * *kernel: whether the loop runs over the kernel, as KH does. */
static int spatial_of(const struct loop_axis *x, bool *kernel)
{
    static const char axes[] = "DHW";
    *kernel = *x->name == 'K' && x->name[1];
    const char *at = strchr(axes, x->name[*kernel]);
    return at ? (int)(at - axes) : -1;
}

/* Returns the number of elements of an operand that the loops inside `loop` read.  This is the
 * product of the extents of these loops, except that h and kh together read a window of h + kh - 1.
 * If it is unknown which elements are read, returns the size of the operand: a block ends inside a
 * loop, or the operand is the data of a transposed convolution or is stored in groups of tiles. */
static int64_t operand_tile(const struct loop_space *s, const struct loop_plan *plan, int operand,
                            int loop)
{
    int64_t n = 1, out[MAX_SPATIAL] = { 1, 1, 1 }, ker[MAX_SPATIAL] = { 1, 1, 1 };
    bool boxed = operand != OPERAND_DATA || (!s->nest->transposed && !s->nest->grouped);
    for (int a = 0; a < s->nest->n_axes; a++)
        boxed = boxed && !(plan->uneven >> a & s->nest->axis[a].operands >> operand & 1);
    if (!boxed)
        return s->nest->operand_elems[operand];
    for (int i = loop + 1; i < plan->n; i++) {
        const struct loop_axis *x = &s->nest->axis[plan->loop[i].axis];
        bool kernel;
        int at = operand == OPERAND_DATA ? spatial_of(x, &kernel) : -1;
        if (!(x->operands >> operand & 1))
            continue;
        const char *dot = strrchr(x->name, '.');
        bool tiles = at >= 0 && !kernel && s->nest->unfolded && (!dot || streq(dot, ".0"));
        if (at < 0 || tiles)
            n *= plan->loop[i].extent;
        else if (kernel)
            ker[at] *= plan->loop[i].extent;
        else
            out[at] *= plan->loop[i].extent;
    }
    for (int i = 0; i < MAX_SPATIAL; i++)
        n *= out[i] + ker[i] - 1;
    return n;
}

/* Returns how many copies of the body an inlined padding needs: for each padded axis one for the
 * first, one for the middle and one for the last piece; more if a tile of the axis is unrolled but
 * the kernel loop of the axis is not. */
static int64_t border_copies(const struct loop_space *s, const struct loop_plan *plan)
{
    int64_t copies = 1, tile[MAX_SPATIAL] = { 1, 1, 1 }, taps[MAX_SPATIAL] = { 1, 1, 1 };
    for (int i = 0; i < plan->n; i++) {
        bool kernel;
        const struct plan_loop *l = &plan->loop[i];
        int d = spatial_of(&s->nest->axis[l->axis], &kernel);
        if (d >= 0 && kernel && l->ann != LOOP_UNROLL)
            taps[d] *= l->extent;
        if (d >= 0 && !kernel && l->ann == LOOP_UNROLL)
            tile[d] *= l->extent;
    }
    for (int d = 0; d < MAX_SPATIAL; d++)
        if (s->nest->padded[d])
            copies *= 3 * (tile[d] == 1 || taps[d] == 1 ? 1 : taps[d] < 3 ? taps[d] : 3);
    return copies;
}

/* Returns how many copies of the body are written: for borders, for the tail of a tile that does
 * not divide, and for the phases of a transposed convolution. */
static int64_t copies_of(const struct loop_space *s, const struct loop_point *p,
                         const struct loop_plan *plan)
{
    int64_t copies = plan->pad == AT_INLINE ? border_copies(s, plan) : 1;
    for (int a = 0; a < s->nest->n_axes; a++) {
        const struct loop_axis *x = &s->nest->axis[a];
        const int64_t *f = x->knob >= 0 ? p->v[x->knob] : NULL;
        copies *= f && f[0] * f[x->parts - 1] > x->rest ? 2 : 1;
        copies *= x->phase > 1 && !x->reduce ? 2 : 1;
    }
    return copies;
}

static bool sizes_sound(const struct loop_space *s, const struct loop_point *p,
                        const struct loop_plan *plan, struct err *e)
{
    int64_t body = 1, tile = 1, accumulators = 1;
    for (int i = 0; i < plan->n; i++) {
        const struct plan_loop *l = &plan->loop[i];
        int64_t wide = l->ann == LOOP_VECTORIZE ? registers_of(s, l->extent) : l->extent;
        if (l->ann == LOOP_UNROLL || l->ann == LOOP_VECTORIZE)
            body *= wide;
        if (l->level == LEVEL_S3 || l->level == LEVEL_S4) {
            tile *= l->extent;
            accumulators *= wide;
        }
        if (body > MOST_BODY)
            return refuse(e, "a body of %lld statements or more", body);
    }
    bool gathers = s->nest->vector >= 0 && plan->uneven >> s->nest->vector & 1;
    if (gathers && body * s->lanes > MOST_STATEMENTS)
        return refuse(e, "%lld loads of single lanes", body * s->lanes);
    if (body > s->opts.target->registers && body * copies_of(s, p, plan) > MOST_STATEMENTS)
        return refuse(e, "%lld statements with the copies for borders and tails",
                      body * copies_of(s, p, plan));
    if (plan->cache_write == AT_NONE)
        return true;
    if (knob_choice(p, s->nest->k_unroll, 0) > 0 &&
        accumulators > s->opts.target->registers)
        return refuse(e, "%lld accumulators, more than there are registers", accumulators);
    return tile <= MOST_LOCAL || refuse(e, "a local tile of %lld elements", tile);
}

/* --- Attached nodes and copies ---------------------------------------------------------------- */

/* Checks that a prefetched operand is read from memory and not from a copy, and that the prefetch
 * has a loop. */
static bool prefetch_sound(const struct loop_space *s, const struct loop_plan *plan, struct err *e)
{
    for (int o = 0; o < OPERANDS; o++) {
        if (plan->prefetch[o] == AT_NONE)
            continue;
        if (plan->prefetch[o] < 0)
            return refuse(e, "operand %lld is prefetched, but no loop is outside its tile", o);
        if (plan->cache_read[o] != AT_NONE)
            return refuse(e, "operand %lld is prefetched, although a tile has a copy of it", o);
        if (o == OPERAND_DATA && plan->pad >= 0 && s->nest->k_pad >= 0)
            return refuse(e, "the data operand is prefetched, but its padded form has no buffer",
                          0);
    }
    return true;
}

/* Checks the places of attached nodes and copies, and whether a result can be streamed.  Refuses S1
 * as a place if S1 and S2 are the same loop, because two points would then be one schedule. */
static bool places_sound(const struct loop_space *s, const struct loop_point *p,
                         const struct loop_plan *plan, struct err *e)
{
    const struct nest_info *nest = s->nest;
    bool same = nest->pinned ? !nest->s1 || streq(nest->s1, nest->s2)
                             : plan->s1 == plan->s2 || plan->s1 < 0;
    if (nest->k_consumer >= 0 && p->v[nest->k_consumer][0] == 1 && same)
        return refuse(e, "S1 must differ from S2 (loop %lld)", plan->s1);
    if (nest->k_pad >= 0 && p->v[nest->k_pad][0] == 2 && same)
        return refuse(e, "S1 must differ from S2 (loop %lld)", plan->s1);
    if (nest->k_pad >= 0 && p->v[nest->k_pad][0] >= 2 && nest->pinned && !nest->s2)
        return refuse(e, "the padding cannot be computed inside any pinned loop", 0);
    if (nest->k_pad >= 0 && p->v[nest->k_pad][0] >= 2 && !nest->pinned &&
        operand_tile(s, plan, OPERAND_DATA, plan->pad) > MOST_LOCAL)
        return refuse(e, "a padded tile of %lld elements",
                      operand_tile(s, plan, OPERAND_DATA, plan->pad));
    if (knob_choice(p, nest->k_stream, 0) && nest->n_chain == 0 && !nest->pinned &&
        plan->cache_write == AT_NONE)
        return refuse(e, "the result cannot be streamed: its sums are kept in memory and read "
                      "again", 0);
    for (int o = 0; o < OPERANDS; o++) {
        if (plan->cache_read[o] == AT_NONE)
            continue;
        int64_t tile = operand_tile(s, plan, o, plan->cache_read[o]);
        if (o == OPERAND_DATA && nest->k_pad >= 0 && p->v[nest->k_pad][0] != 1)
            return refuse(e, "the data operand is copied, but its padded form has no buffer", 0);
        if (p->v[nest->k_cache_read[o]][0] == 2 && plan->r1 == plan->s2)
            return refuse(e, "R1 and S2 are one loop (%lld)", plan->s2);
        if (tile > MOST_LOCAL)
            return refuse(e, "a copied tile of %lld elements", tile);
    }
    return true;
}

bool loop_point_sound(const struct loop_space *s, const struct loop_point *p, struct err *e)
{
    struct loop_plan plan;
    if (!factors_sound(s, p, e))
        return false;
    if (s->gpu)
        return gpu_point_sound(s, p, e);
    loop_plan_of(s, p, &plan);
    if (plan.n > MOST_LOOPS)
        return refuse(e, "more than %lld loops", MOST_LOOPS);
    if (!s->nest->pinned && knob_choice(p, s->nest->k_vectorize, 0) &&
        !vector_sound(s, &plan, e))
        return false;
    return sizes_sound(s, p, &plan, e) && places_sound(s, p, &plan, e) &&
           prefetch_sound(s, &plan, e);
}

bool loop_code_sound(const struct loop_space *s, const struct func *f, struct err *e)
{
    double n = func_statements(f, s->lanes);
    return n <= MOST_STATEMENTS || refuse(e, "%lld statements of code", (int64_t)n);
}
