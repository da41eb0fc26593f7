/* The algebra against isl, which knows nothing of our rules: expressions before and after
 * simplifying, layouts as maps, and accesses rewritten through layouts.  No points are tried:
 * every statement is about all of them.
 *
 * The seed is the first line of output; TS_SEED repeats a run, TS_COUNT makes it longer.  Every
 * case has a budget of isl operations; each test says on how many isl gave up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "kernels/ir/simplify.h"
#include "tests/unit/expr_gen.h"
#include "tests/unit/isl_help.h"
#include "tests/unit/layout_gen.h"
#include "tests/unit/layout_util.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#ifdef TS_ISL
static uint64_t seed;
static long count = 500;
static isl_ctx *ctx;                      /* fresh for each test */

static int setup(void **state)
{
    (void)state;
    ctx = oracle_new(300000);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    oracle_free(ctx);
    return 0;
}

static bool yes(isl_bool b)
{
    return b == isl_bool_true;
}

static bool no(isl_bool b)
{
    return b == isl_bool_false;
}

/* Cases put to isl, those it decided, and those of a special kind. */
struct tally { long n, decided, special; };

/* Is `what` isl's word?  Not when it gave up under way: isl_set_count_val then tells the count so
 * far, for one. */
static bool is_certain(const char *what)
{
    return what && oracle_decided(ctx);
}

static void tally_case(struct tally *t, bool special)
{
    t->n++;
    t->decided += oracle_decided(ctx);
    t->special += special;
}

static void tally_report(const struct tally *t, const char *what, const char *special)
{
    print_message("# %ld %s, %ld of them %s; isl gave up on %ld\n", t->n, what, t->special,
                  special, t->n - t->decided);
    assert_true(10 * (t->n - t->decided) <= t->n + 9);
}

/* ---- expressions ---- */

/* NULL, or a point of the box where x and y are not the same number. */
static const char *differ(const struct box *b, isl_pw_aff *x, isl_pw_aff *y, struct arena *a)
{
    isl_set *same = isl_pw_aff_eq_set(isl_pw_aff_copy(x), isl_pw_aff_copy(y));
    const char *where = NULL;
    if (no(isl_set_is_subset(b->points, same))) {
        isl_set *rest = isl_set_subtract(isl_set_copy(b->points), isl_set_copy(same));
        isl_set *one = isl_set_from_point(isl_set_sample_point(rest));
        char *text = isl_set_to_str(one);
        where = arena_printf(a, "another value at %s", text);
        free(text);
        isl_set_free(one);
    }
    isl_set_free(same);
    return where;
}

static const char *check_bounds(const struct expr *e, isl_pw_aff *x)
{
    isl_val *lo, *hi;
    aff_extremes(x, &lo, &hi);
    const char *wrong = NULL;
    if (lo && isl_val_cmp_si(lo, e->lo) < 0)
        wrong = "a value below the bound";
    if (hi && isl_val_cmp_si(hi, e->hi) > 0)
        wrong = "a value above the bound";
    isl_val_free(lo);
    isl_val_free(hi);
    return wrong;
}

static const char *check_expr(const struct space *s, const struct expr *e, struct arena *a)
{
    const struct expr *simple = expr_simplify(s->p, e);
    struct box b = box_of(ctx, s->var, s->n);
    isl_pw_aff *before = box_aff(&b, e), *after = box_aff(&b, simple);
    const char *wrong = differ(&b, before, after, a);
    wrong = wrong ? wrong : check_bounds(e, before);
    wrong = wrong ? wrong : check_bounds(simple, after);
    isl_pw_aff_free(before);
    isl_pw_aff_free(after);
    box_free(&b);
    return wrong;
}

static void report_expr(const struct space *s, const struct expr *e, const char *wrong)
{
    struct str ranges = {0};
    const struct expr *x = expr_simplify(s->p, e);
    space_print(&ranges, s);
    fail_msg("%s (seed %llu)\n    { \"%s\", \"%s\", \"%s\", %lld, %lld },", wrong,
             (unsigned long long)seed, expr_text(s, e), str_text(&ranges), expr_text(s, x),
             (long long)x->lo, (long long)x->hi);
}

typedef const struct expr *make_expr(struct rng *, const struct space *, int depth);

static void check_exprs(make_expr *make, int depth, uint64_t salt, long n, const char *what)
{
    struct rng r = rng_seed(seed ^ salt);
    struct arena *a = arena_new();
    struct tally t = {0};
    for (long i = 0; i < n; i++) {
        arena_reset(a);
        struct space s = random_space(&r, a);
        const struct expr *e = make(&r, &s, depth);
        oracle_ask(ctx);
        const char *wrong = check_expr(&s, e, a);
        if (is_certain(wrong))
            report_expr(&s, e, wrong);
        tally_case(&t, expr_simplify(s.p, e) != e);
    }
    arena_free(a);
    tally_report(&t, what, "changed by simplifying");
}

static void test_shallow(void **state)
{
    (void)state;
    check_exprs(random_expr, 3, 1, count, "expressions");
}

static void test_deep(void **state)
{
    (void)state;
    check_exprs(random_expr, 5, 2, count / 2, "deep expressions");
}

static void test_digits(void **state)
{
    (void)state;
    check_exprs(random_digits, 2, 3, count / 2, "sums of digits");
}

/* ---- layouts ---- */

enum { MAX_LOGICAL = 200, MAX_PHYSICAL = 1000 };

/* Is the set's size n?  True when isl does not say. */
static bool counts(isl_set *set, int64_t n)
{
    isl_val *size = isl_set_count_val(set);
    const bool same = !size || isl_val_cmp_si(size, n) == 0;
    isl_val_free(size);
    return same;
}

static int64_t n_stored(const struct layout *l)
{
    int64_t n = 1;
    for (int k = 0; k < l->tensor->rank; k++)
        n *= l->stored[k];
    return n;
}

/* rho is a function, one to one, from all that is stored to places that exist. */
static const char *check_rho(const struct layout *l, const struct maps *m)
{
    isl_set *from = isl_map_domain(isl_map_copy(m->rho));
    isl_set *to = isl_map_range(isl_map_copy(m->rho));
    const char *wrong = NULL;
    if (no(isl_set_is_equal(from, m->logical.points)))
        wrong = "rho is not defined everywhere";
    if (no(isl_map_is_single_valued(m->rho)))
        wrong = "rho has two values at a point";
    if (no(isl_map_is_injective(m->rho)))
        wrong = "rho puts two elements in one place";
    if (no(isl_set_is_subset(to, m->physical.points)))
        wrong = "rho leaves the physical box";
    if (!counts(to, n_stored(l)))
        wrong = "not as many places as stored elements";
    isl_set_free(from);
    isl_set_free(to);
    return wrong;
}

/* phi(rho(i)) = i, and phi leads to stored elements only. */
static const char *check_phi(const struct maps *m)
{
    isl_map *back = isl_map_apply_range(isl_map_copy(m->rho), isl_map_copy(m->phi));
    isl_map *same = isl_set_identity(isl_set_copy(m->logical.points));
    isl_set *to = isl_map_range(isl_map_copy(m->phi));
    const char *wrong = NULL;
    if (no(isl_map_is_equal(back, same)))
        wrong = "phi(rho(i)) is not i";
    if (no(isl_set_is_subset(to, m->logical.points)))
        wrong = "phi leaves the stored box";
    isl_map_free(back);
    isl_map_free(same);
    isl_set_free(to);
    return wrong;
}

/* The class by what rho and phi are: onto, and one to one. */
static const char *check_class(const struct layout *l, const struct maps *m)
{
    isl_set *to = isl_map_range(isl_map_copy(m->rho));
    isl_set *held = isl_map_domain(isl_map_copy(m->phi));
    const isl_bool onto = isl_set_is_subset(m->physical.points, to);
    const isl_bool once = isl_map_is_injective(m->phi);
    const isl_bool full = isl_set_is_equal(held, m->physical.points);
    const bool known = onto >= 0 && once >= 0 && full >= 0;
    const enum layout_class klass = no(once) ? LAYOUT_DUPLICATING
                                    : no(full) ? LAYOUT_PADDED : LAYOUT_BIJECTIVE;
    const char *wrong = NULL;
    if (known && l->klass != klass)
        wrong = "the wrong class";
    if (known && yes(onto) != (l->klass == LAYOUT_BIJECTIVE))
        wrong = "bijective, but rho is not onto; or the other way round";
    if (!counts(m->physical.points, l->elems))
        wrong = "the physical box has another size";
    if (known && counts(held, n_stored(l)) != yes(once))
        wrong = "copies, and no duplicating class; or the other way round";
    isl_set_free(to);
    isl_set_free(held);
    return wrong;
}

static const char *check_layout(const struct layout *l)
{
    struct maps m = maps_of(ctx, l);
    const char *wrong = check_rho(l, &m);
    wrong = wrong ? wrong : check_phi(&m);
    wrong = wrong ? wrong : check_class(l, &m);
    maps_free(&m);
    return wrong;
}

static void report_layout(const struct layout *l, const char *wrong)
{
    struct str s = {0};
    layout_text(&s, l);
    fail_msg("%s (seed %llu): layout_of(pool, %s)", wrong, (unsigned long long)seed, str_text(&s));
}

static const struct layout *random_layout(struct rng *r, struct exprs *p)
{
    struct trial c = { .p = p };
    const struct layout *l;
    struct err e;
    trial_make(r, &c, MAX_LOGICAL, MAX_PHYSICAL);
    if (!layout_apply_all(p, c.t, c.prim, c.n, &l, &e))
        fail_msg("%s", e.text);
    return l;
}

static void test_layouts(void **state)
{
    struct rng r = rng_seed(seed ^ 4);
    struct arena *a = arena_new();
    struct tally t[3] = {{0}};
    (void)state;
    for (long i = 0; i < count / 3; i++) {
        arena_reset(a);
        const struct layout *l = random_layout(&r, exprs_new(a));
        oracle_ask(ctx);
        const char *wrong = check_layout(l);
        if (is_certain(wrong))
            report_layout(l, wrong);
        tally_case(&t[l->klass], n_stored(l) < tensor_elems(l->tensor));
    }
    arena_free(a);
    tally_report(&t[LAYOUT_BIJECTIVE], "bijective layouts", "trimmed");
    tally_report(&t[LAYOUT_PADDED], "padded layouts", "trimmed");
    tally_report(&t[LAYOUT_DUPLICATING], "duplicating layouts", "trimmed");
}

/* ---- accesses ---- */

/* The loops around an access, the reductions last. */
struct loops { struct exprs *p; int n, n_reduce; const struct expr *var[2 * MAX_RANK]; };

/* The rewritten access `out`; canonical where there is one place only for an element. */
static const char *check_places(const struct layout *l, const struct maps *m, isl_map *asked,
                                isl_map *out)
{
    isl_set *places = isl_map_range(isl_map_copy(out));
    isl_map *canonical = isl_map_apply_range(isl_map_copy(asked), isl_map_copy(m->rho));
    isl_map *element = isl_map_apply_range(isl_map_copy(out), isl_map_copy(m->phi));
    const char *wrong = NULL;
    if (no(isl_set_is_subset(places, m->physical.points)))
        wrong = "the access leaves the physical box";
    if (no(isl_map_is_equal(element, asked)))
        wrong = "another element is read";
    if (l->klass != LAYOUT_DUPLICATING && no(isl_map_is_equal(out, canonical)))
        wrong = "the access is not rho's";
    isl_set_free(places);
    isl_map_free(canonical);
    isl_map_free(element);
    return wrong;
}

static const char *check_access(const struct layout *l, const struct loops *s,
                                const struct expr *const *idx, bool plain)
{
    const struct expr *out[MAX_DIMS];
    layout_rewrite(s->p, l, idx, s->var + s->n - s->n_reduce, s->n_reduce, out);
    for (int j = 0; plain && j < l->rank; j++)
        if (out[j]->has_divmod)
            return "a / or % is left";
    struct maps m = maps_of(ctx, l);
    struct box b = box_of(ctx, s->var, s->n);
    isl_map *asked = box_map(&b, idx, l->tensor->rank), *rewritten = box_map(&b, out, l->rank);
    const char *wrong = check_places(l, &m, asked, rewritten);
    isl_map_free(asked);
    isl_map_free(rewritten);
    box_free(&b);
    maps_free(&m);
    return wrong;
}

/* plain: every factor divides, so that no / and no % may be left. */
static void ask_access(struct tally *t, const struct layout *l, const struct loops *s,
                       const struct expr *const *idx, bool plain)
{
    struct str text = {0};
    oracle_ask(ctx);
    const char *wrong = check_access(l, s, idx, plain);
    if (is_certain(wrong)) {
        str_add(&text, wrong);
        for (int k = 0; k < l->tensor->rank; k++) {
            str_add(&text, k ? ", " : ", reading ");
            expr_print(&text, idx[k]);
        }
        str_add(&text, " over");
        for (int i = 0; i < s->n; i++)
            str_printf(&text, "%s %s=%lld", i == s->n - s->n_reduce ? " |" : "", s->var[i]->name,
                       (long long)s->var[i]->hi + 1);
        report_layout(l, str_text(&text));
    }
    tally_case(t, l->klass == LAYOUT_DUPLICATING);
}

static void test_accesses(void **state)
{
    struct rng r = rng_seed(seed ^ 5);
    struct arena *a = arena_new();
    struct tally t = {0};
    (void)state;
    for (long i = 0; i < count / 4; i++) {
        arena_reset(a);
        struct exprs *p = exprs_new(a);
        const struct layout *l = random_layout(&r, p);
        const struct access at = random_access(&r, p, l);
        struct loops s = { .p = p, .n = at.n, .n_reduce = at.n / 2 };
        memcpy(s.var, at.var, (size_t)at.n * sizeof *at.var);
        ask_access(&t, l, &s, at.idx, false);
    }
    arena_free(a);
    tally_report(&t, "accesses", "to duplicating layouts");
}

/* ---- convolutions and their templates ---- */

/* One dim of the output, cut into tiles, and what it reads of the input: v * out + d * kernel;
 * flipped, the kernel runs from its last element to its first. */
struct axis { int64_t n, tile, v, d, k; bool flipped; const struct expr *out, *kernel; };

struct conv { struct axis n, o, h, w, i; struct loops s; bool aligned; };

static const struct expr *add_loop(struct loops *s, const char *name, int64_t n)
{
    return s->var[s->n++] = expr_var(s->p, name, 0, n - 1);
}

/* The index over n elements: one loop, or two, mostly tiled like the layout. */
static const struct expr *random_index(struct rng *r, struct conv *c, const char *name,
                                       const struct axis *x)
{
    const int64_t how = rng_range(r, 0, 5), tile = how == 1 ? random_divisor(r, x->n) : x->tile;
    c->aligned = c->aligned && how && tile == x->tile;
    if (how == 0)
        return add_loop(&c->s, name, x->n);
    struct arena *a = exprs_arena(c->s.p);
    const struct expr *outer = add_loop(&c->s, arena_printf(a, "%s.0", name), x->n / tile);
    const struct expr *inner = add_loop(&c->s, arena_printf(a, "%s.1", name), tile);
    return expr_add(c->s.p, expr_mulc(c->s.p, outer, tile), inner);
}

static struct axis random_axis(struct rng *r, struct conv *c, const char *name, int64_t most)
{
    struct axis x = { .n = rng_range(r, 1, most), .v = 1, .d = 1, .k = 1 };
    x.tile = random_divisor(r, x.n);
    x.out = random_index(r, c, name, &x);
    return x;
}

static void random_window(struct rng *r, struct axis *x)
{
    x->v = rng_range(r, 1, 3);
    x->d = rng_range(r, 1, 2);
    x->k = rng_range(r, 1, 4);
    x->flipped = rng_range(r, 0, 3) == 0;
}

static void random_conv(struct rng *r, struct exprs *p, struct conv *c)
{
    *c = (struct conv){ .s = { .p = p }, .aligned = true };
    c->n = random_axis(r, c, "n", 2);
    c->o = random_axis(r, c, "o", 12);
    c->h = random_axis(r, c, "h", 12);
    c->w = random_axis(r, c, "w", 12);
    const int n_spatial = c->s.n;
    c->i = random_axis(r, c, "i", 8);
    random_window(r, &c->h);
    random_window(r, &c->w);
    c->h.kernel = add_loop(&c->s, "kh", c->h.k);
    c->w.kernel = add_loop(&c->s, "kw", c->w.k);
    c->s.n_reduce = c->s.n - n_spatial;
}

static int64_t window_of(const struct axis *x)
{
    return x->d * (x->k - 1) + 1;
}

static int64_t used_by(const struct axis *x)
{
    return x->v * (x->n - 1) + window_of(x);
}

static const struct expr *read_at(struct exprs *p, const struct axis *x)
{
    const struct expr *at = expr_mulc(p, x->kernel, x->flipped ? -x->d : x->d);
    at = expr_add(p, expr_mulc(p, x->out, x->v), at);
    return expr_addc(p, at, x->flipped ? x->d * (x->k - 1) : 0);
}

static const struct layout *apply(struct exprs *p, const struct layout *l, struct prim pr)
{
    struct err e;
    if (!layout_apply(p, l, &pr, &l, &e))
        fail_msg("%s", e.text);
    return l;
}

static const struct layout *split(struct exprs *p, const struct layout *l, int dim,
                                  const struct axis *x)
{
    return apply(p, l, (struct prim){ .kind = PRIM_SPLIT, .dim = dim, .n = 2,
                                      .factor = { x->n / x->tile, x->tile } });
}

/* What the windows of a tile of the output need, in one tile; or none; or tiles of any kind, which
 * do not fit. */
static const struct layout *unfold(struct rng *r, struct exprs *p, const struct layout *l, int dim,
                                   const struct axis *x, bool *fits)
{
    const int64_t how = rng_range(r, 0, 4);
    struct prim pr = { .kind = PRIM_UNFOLD, .dim = dim, .size = used_by(x) };
    pr.tile = x->v * (x->tile - 1) + window_of(x);
    pr.stride = x->v * x->tile;
    if (how == 1) {
        pr.tile = rng_range(r, 1, 10);
        pr.stride = rng_range(r, 1, pr.tile);
    }
    *fits = *fits && how != 1;
    return how == 0 || pr.stride > pr.tile ? l : apply(p, l, pr);
}

/* Outer parts before inner ones, half the time. */
static const struct layout *reorder(struct rng *r, struct exprs *p, const struct layout *l)
{
    struct prim pr = { .kind = PRIM_REORDER };
    for (int inner = 0; inner < 2; inner++)
        for (int j = 0; j < l->rank; j++)
            if ((strstr(l->dim[j], ".1") != NULL) == inner)
                pr.perm[pr.n++] = j;
    return rng_range(r, 0, 1) ? apply(p, l, pr) : l;
}

static const struct layout *layout_start(struct exprs *p, const char *text, int64_t n0, int64_t n1,
                                         int64_t n2, int64_t n3)
{
    struct arena *a = exprs_arena(p);
    return layout_identity(p, tensor_from(a, arena_printf(a, text, (long long)n0, (long long)n1,
                                                          (long long)n2, (long long)n3)));
}

static void ask_conv(struct rng *r, struct tally *t, const struct conv *c)
{
    struct exprs *p = c->s.p;
    const struct layout *out = layout_start(p, "Conv N=%lld O=%lld H=%lld W=%lld", c->n.n, c->o.n,
                                            c->h.n, c->w.n);
    out = split(p, split(p, split(p, out, 3, &c->w), 2, &c->h), 1, &c->o);
    const struct expr *at_out[] = { c->n.out, c->o.out, c->h.out, c->w.out };
    ask_access(t, reorder(r, p, out), &c->s, at_out, c->aligned);

    const struct layout *ker = layout_start(p, "Ker O=%lld I=%lld KH=%lld KW=%lld", c->o.n, c->i.n,
                                            c->h.k, c->w.k);
    ker = split(p, split(p, ker, 1, &c->i), 0, &c->o);
    const struct expr *at_ker[] = { c->o.out, c->i.out, c->h.kernel, c->w.kernel };
    ask_access(t, reorder(r, p, ker), &c->s, at_ker, c->aligned);

    bool fits = c->aligned;
    const struct layout *inp = layout_start(p, "Inp N=%lld I=%lld H=%lld W=%lld", c->n.n, c->i.n,
                                            used_by(&c->h) + rng_range(r, 0, 2),
                                            used_by(&c->w) + rng_range(r, 0, 2));
    inp = unfold(r, p, unfold(r, p, inp, 3, &c->w, &fits), 2, &c->h, &fits);
    const struct expr *at_inp[] = { c->n.out, c->i.out, read_at(p, &c->h), read_at(p, &c->w) };
    ask_access(t, reorder(r, p, split(p, inp, 1, &c->i)), &c->s, at_inp, fits);
}

static void test_convolutions(void **state)
{
    struct rng r = rng_seed(seed ^ 6);
    struct arena *a = arena_new();
    struct tally t = {0};
    struct conv c;
    (void)state;
    for (long i = 0; i < count / 8; i++) {
        arena_reset(a);
        random_conv(&r, exprs_new(a), &c);
        ask_conv(&r, &t, &c);
    }
    arena_free(a);
    tally_report(&t, "accesses of convolutions", "to duplicating layouts");
}
#else
static void test_nothing(void **state)
{
    (void)state;
    print_message("# SKIP: built without isl\n");
    skip();
}
#endif

int main(void)
{
#ifdef TS_ISL
    const char *given = getenv("TS_SEED"), *length = getenv("TS_COUNT");
    seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    count = length ? strtol(length, NULL, 10) : count;
    printf("# seed %llu\n", (unsigned long long)seed);
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_shallow), TEST(test_deep), TEST(test_digits), TEST(test_layouts),
        TEST(test_accesses), TEST(test_convolutions),
    };
#else
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_nothing) };
#endif
    return cmocka_run_group_tests(tests, NULL, NULL);
}
