/* Peeling on loops made by hand: which are cut into ranges without a condition, which are left as
 * they are, and that either computes the same. */
#include <math.h>
#include <string.h>

#include "kernels/ir/simplify.h"
#include "kernels/nest/lower_impl.h"
#include "tests/unit/interp.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define ROWS 8
#define COLUMNS 40

static struct arena *a;
static struct exprs *p;
static const struct expr *row, *column;

static int setup(void **state)
{
    (void)state;
    a = arena_new();
    p = exprs_new(a);
    row = expr_var(p, "r", 0, ROWS - 1);
    column = expr_var(p, "c", 0, COLUMNS - 1);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_free(a);
    return 0;
}

static const struct expr *number(int64_t v) { return expr_const(p, v); }

static const struct tree *loop(const struct expr *var, int64_t extent, const struct expr *begin,
                               const struct expr *end, const struct tree *kid)
{
    struct tree t = { .kind = TREE_LOOP, .var = var, .extent = extent, .begin = begin, .end = end,
                      .axis = var->name, .n_kids = 1, .kid = ARENA_DUP(a, &kid, 1) };
    return ARENA_DUP(a, &t, 1);
}

/* X[r][c] = cond ? 1 : 2 */
static const struct tree *store(const struct expr *cond)
{
    const struct expr *idx[] = { row, column };
    struct tree t = { .kind = TREE_STORE, .rank = 2, .idx = ARENA_DUP(a, idx, 2) };
    t.value = val_select(a, cond, val_const(a, 1), val_const(a, 2));
    return ARENA_DUP(a, &t, 1);
}

static void compute(const struct tree *const *root, int n, float *x)
{
    struct buffer b = { .name = "X", .type = &type_f32, .written = true, .rank = 2,
                        .shape = { ROWS, COLUMNS }, .elems = ROWS * COLUMNS };
    struct func f = { .pool = p, .n_buffers = 1, .buffer = &b, .n_params = 1, .n_roots = n,
                      .root = root };
    for (int i = 0; i < ROWS * COLUMNS; i++)
        x[i] = NAN;
    func_interpret(&f, (void *[]){ x });
}

static int count_selects(const struct tree *t)
{
    int n = t->kind == TREE_STORE && t->value->kind == VAL_SELECT;
    for (int i = 0; i < t->n_kids; i++)
        n += count_selects(t->kid[i]);
    return n;
}

/* In how many conditions t is left after peeling, which must not change what it computes. */
static int selects_left(const struct tree *t)
{
    static float before[ROWS * COLUMNS], after[ROWS * COLUMNS];
    struct kids out = {0};
    int n = 0;
    tree_peel(p, t, &out);
    compute(&t, 1, before);
    compute(out.data, out.len, after);
    assert_memory_equal(before, after, sizeof before);
    for (int i = 0; i < out.len; i++)
        n += count_selects(out.data[i]);
    vec_free(&out);
    return n;
}

/* 3 <= c < 17, in a loop of all columns or of a range of known ends. */
static void ranges_of_numbers_are_cut(void **state)
{
    const struct expr *in = expr_and(p, expr_ge(p, column, number(3)),
                                     expr_lt(p, column, number(17)));
    const struct tree *s = store(in);
    (void)state;
    assert_int_equal(selects_left(loop(column, COLUMNS, NULL, NULL, s)), 0);
    assert_int_equal(selects_left(loop(column, COLUMNS, number(2), number(20), s)), 0);
    assert_int_equal(selects_left(loop(column, COLUMNS, number(5), number(6), s)), 0);
}

/* One end that is known says nothing of the other: such a loop is left as it is. */
static void ranges_of_variables_are_left(void **state)
{
    const struct tree *s = store(expr_lt(p, column, number(17)));
    const struct expr *later = expr_addc(p, row, 12);
    (void)state;
    assert_int_equal(selects_left(loop(row, ROWS, NULL, NULL,
                                       loop(column, COLUMNS, number(2), later, s))), 1);
    assert_int_equal(selects_left(loop(row, ROWS, NULL, NULL,
                                       loop(column, COLUMNS, later, number(30), s))), 1);
    assert_int_equal(selects_left(loop(row, ROWS, NULL, NULL,
                                       loop(column, COLUMNS, later, expr_addc(p, row, 20), s))), 1);
}

/* 32 conditions are looked at, not 33: then the loop keeps them. */
static void more_conditions_than_there_is_room_for(void **state)
{
    (void)state;
    for (int n = 31; n <= 40; n++) {
        const struct expr *all = NULL;
        for (int i = 0; i < n; i++) {
            const struct expr *one = expr_lt(p, column, number(COLUMNS - i));
            all = all ? expr_and(p, all, one) : one;
        }
        assert_int_equal(selects_left(loop(column, COLUMNS, NULL, NULL, store(all))), n > 32);
    }
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(ranges_of_numbers_are_cut), T(ranges_of_variables_are_left),
        T(more_conditions_than_there_is_room_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
