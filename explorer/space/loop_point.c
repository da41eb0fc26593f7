/* Points of a loop space: drawing, moving and crossing them, and their state as numbers for the
 * agents. */
#include "explorer/space/loop_space_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DRAWS 1000
#define TRIES 64

/* --- Random points ---------------------------------------------------------------------------- */

/* Draws `parts` numbers that add up to n, each combination with the same probability (stars and
 * bars: n stars, parts - 1 bars). */
static void deal(struct rng *r, int64_t n, int parts, int64_t *out)
{
    int64_t bars = parts - 1, stars = n;
    int at = 0;
    memset(out, 0, sizeof *out * (size_t)parts);
    while (stars > 0) {
        if (bars > 0 && rng_range(r, 1, stars + bars) <= bars) {
            bars--;
            at++;
        } else {
            stars--;
            out[at]++;
        }
    }
}

/* Draws an ordered factorization of n; all have the same probability, because each prime is
 * distributed independently. */
static void draw_factors(struct rng *r, int64_t n, int parts, int64_t *f)
{
    for (int i = 0; i < parts; i++)
        f[i] = 1;
    for (int64_t p = 2; n > 1; p = p * p > n ? n : p + 1) {
        int64_t e = 0, share[LOOP_PARTS];
        for (; n % p == 0; n /= p)
            e++;
        deal(r, e, parts, share);
        for (int i = 0; i < parts; i++)
            for (; share[i] > 0; share[i]--)
                f[i] *= p;
    }
}

void knob_set_tile(const struct loop_knob *k, int64_t t, int64_t *f)
{
    for (int i = 0; i < k->parts; i++)
        f[i] = 1;
    f[0] = (k->extent + t - 1) / t;
    f[k->parts - 1] = t;
}

static void draw_knob(const struct loop_knob *k, struct rng *r, int64_t *v)
{
    if (k->parts == 0)
        v[0] = rng_range(r, 0, k->n_choices - 1);
    else if (k->n_tiles > 0 && rng_unit(r) * k->size < k->n_tiles)
        knob_set_tile(k, k->tile[rng_range(r, 0, k->n_tiles - 1)], v);
    else
        do
            draw_factors(r, k->extent, k->parts, v);
        while (v[k->parts - 1] > MOST_INNER);
}

void loop_point_random(const struct loop_space *s, struct rng *r, struct loop_point *p)
{
    for (int draw = 0; draw < DRAWS; draw++) {
        memset(p, 0, sizeof *p);
        for (int k = 0; k < s->n; k++)
            draw_knob(&s->knob[k], r, p->v[k]);
        if (s->gpu)
            gpu_point_fit(s, p);
        if (loop_point_sound(s, p, NULL))
            return;
    }
    loop_point_start(s, p);
}

/* --- Points in order -------------------------------------------------------------------------- */

/* Moves to the next factorization, in ascending order of the outer factors.  Returns false after
 * the last one. */
static bool next_factors(const struct loop_knob *k, int64_t *f)
{
    for (int i = k->parts - 2; i >= 0; i--) {
        int64_t rest = k->extent;
        for (int j = 0; j < i; j++)
            rest /= f[j];
        int64_t next = f[i] + 1;
        while (next <= rest && rest % next != 0)
            next++;
        if (next > rest)
            continue;
        f[i] = next;
        for (int j = i + 1; j < k->parts; j++)
            f[j] = 1;
        f[k->parts - 1] = rest / next;
        return true;
    }
    return false;
}

/* Sets the first value of a knob. There always is one: extent x 1 x .. x 1 is a factorization. */
static void first_value(const struct loop_knob *k, int64_t *v)
{
    v[0] = k->parts == 0 ? 0 : 1;
    for (int i = 1; i < k->parts; i++)
        v[i] = i < k->parts - 1 ? 1 : k->extent;
    if (k->parts > 0)
        while (v[k->parts - 1] > MOST_INNER && next_factors(k, v))
            ;
}

/* Moves to the next value of a knob: the next choice; of a split, all factorizations and then the
 * tiles that do not divide.  Returns false after the last one. */
static bool next_value(const struct loop_knob *k, int64_t *v)
{
    if (k->parts == 0)
        return ++v[0] < k->n_choices;
    int64_t product = 1;
    int tile = 0;
    for (int i = 0; i < k->parts; i++)
        product *= v[i];
    if (product == k->extent) {
        while (next_factors(k, v))
            if (v[k->parts - 1] <= MOST_INNER)
                return true;
    } else {
        while (k->tile[tile++] != v[k->parts - 1])
            ;
    }
    if (tile >= k->n_tiles)
        return false;
    knob_set_tile(k, k->tile[tile], v);
    return true;
}

void loop_point_first(const struct loop_space *s, struct loop_point *p)
{
    memset(p, 0, sizeof *p);
    for (int k = 0; k < s->n; k++)
        first_value(&s->knob[k], p->v[k]);
}

bool loop_point_next(const struct loop_space *s, struct loop_point *p)
{
    for (int k = s->n - 1; k >= 0; k--) {
        if (next_value(&s->knob[k], p->v[k]))
            return true;
        first_value(&s->knob[k], p->v[k]);
    }
    return false;
}

/* --- Moves between points --------------------------------------------------------------------- */

int loop_knob_directions(const struct loop_knob *k)
{
    return 1 + (k->parts ? k->parts * (k->parts - 1) + (k->n_tiles ? 2 : 0) : 2);
}

/* Moves the innermost factor to the next larger (step 1) or next smaller (step -1) divisor or tile.
 * The outermost factor then covers the rest. */
static void step_tile(const struct loop_knob *k, int64_t *f, int step)
{
    int64_t t = f[k->parts - 1], best = t;
    for (int64_t c = 1; c <= MOST_INNER && c <= k->extent; c++) {
        bool there = k->extent % c == 0;
        for (int i = 0; i < k->n_tiles; i++)
            there = there || k->tile[i] == c;
        bool nearer = step > 0 ? c > t && (best == t || c < best)
                               : c < t && (best == t || c > best);
        best = there && nearer ? c : best;
    }
    if (best != t)
        knob_set_tile(k, best, f);
}

void loop_point_move(const struct loop_space *s, struct loop_point *p, int knob, int direction)
{
    const struct loop_knob *k = &s->knob[knob];
    int64_t *f = p->v[knob];
    int d = direction - 1, pairs = k->parts * (k->parts - 1);
    if (d < 0)
        return;
    if (k->parts == 0) {
        f[0] = (f[0] + (d == 0 ? 1 : k->n_choices - 1)) % k->n_choices;
    } else if (d >= pairs) {
        step_tile(k, f, d == pairs ? 1 : -1);
    } else {
        int i = d / (k->parts - 1), j = d % (k->parts - 1);
        j += j >= i;
        int64_t both = f[i] * f[j], next = f[i] + 1;
        int64_t product = 1;
        for (int x = 0; x < k->parts; x++)
            product *= f[x];
        if (product != k->extent)         /* the split has a tile that does not divide */
            return;
        while (next < both && both % next)
            next++;
        if (next <= both) {
            f[i] = next;
            f[j] = both / next;
        }
    }
}

void loop_point_mutate(const struct loop_space *s, struct rng *r, struct loop_point *p)
{
    for (int try = 0; try < TRIES && s->n > 0; try++) {
        struct loop_point q = *p;
        for (int64_t n = rng_range(r, 1, 3); n > 0; n--) {
            int k = (int)rng_range(r, 0, s->n - 1);
            if (rng_range(r, 0, 1))
                draw_knob(&s->knob[k], r, q.v[k]);
            else
                loop_point_move(s, &q, k,
                                (int)rng_range(r, 1, loop_knob_directions(&s->knob[k]) - 1));
        }
        if (!loop_point_equal(s, p, &q) && loop_point_sound(s, &q, NULL)) {
            *p = q;
            return;
        }
    }
}

void loop_point_cross(const struct loop_space *s, struct rng *r, const struct loop_point *x,
                      const struct loop_point *y, struct loop_point *child)
{
    for (int try = 0; try < TRIES; try++) {
        struct loop_point q = *x;
        for (int k = 0; k < s->n; k++)
            if (rng_range(r, 0, 1))
                memcpy(q.v[k], y->v[k], sizeof q.v[k]);
        if (loop_point_sound(s, &q, NULL)) {
            *child = q;
            return;
        }
    }
    *child = *x;
}

int loop_point_apart(const struct loop_space *s, const struct loop_point *x,
                     const struct loop_point *y)
{
    int apart = 0;
    for (int k = 0; k < s->n; k++) {
        size_t n = s->knob[k].parts ? (size_t)s->knob[k].parts : 1;
        apart += memcmp(x->v[k], y->v[k], n * sizeof x->v[k][0]) != 0;
    }
    return apart;
}

bool loop_point_equal(const struct loop_space *s, const struct loop_point *x,
                      const struct loop_point *y)
{
    return loop_point_apart(s, x, y) == 0;
}

void loop_point_state(const struct loop_space *s, const struct loop_point *p,
                      float out[LOOP_STATE])
{
    int n = 0;
    memset(out, 0, sizeof *out * LOOP_STATE);
    for (int k = 0; k < s->n; k++) {
        const struct loop_knob *x = &s->knob[k];
        for (int i = 0; i < x->parts && n < LOOP_STATE; i++)
            out[n++] = (float)log2((double)p->v[k][i]) / 16;
        if (x->parts == 0 && n < LOOP_STATE)
            out[n++] = (float)p->v[k][0] / (float)(x->n_choices - 1);
    }
}
