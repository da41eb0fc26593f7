/* The driver of the simplifier and the table of its rules.
 *
 * Requirements on a rule (test_simplify.c tests each rule, test_expr_random.c random
 * expressions):
 *   #1  The value is the same at every point of the variables' ranges.
 *   #2  It returns NULL or e itself when it does not apply.
 *   #3  It lowers the cost, or keeps the cost and moves towards the canonical form.  The cost
 *       counts divs and mods first, then leaves (variables and non-linear operators).  The
 *       canonical form has smaller divisors and coefficients under / and %, divisible parts pulled
 *       out of /, (x/b)%a for (x%(a*b))/b, the terms of a sum by stride, and constants on the
 *       right.  So no two rules can undo each other.
 *   #4  It trusts only bounds that are tame (expr_impl.h): nothing it computes overflows.
 *
 * Operands are simplified first.  A nested sum is flattened into one linear form.  Like terms, and
 * x/c and x%c of one x, are then in one sum and can be combined.  A variable with a single possible
 * value stays a variable. */
#include "kernels/ir/simplify_impl.h"

#define ON(KIND) (1u << EXPR_##KIND)
#define ANY_KIND (~0u)

struct rule {
    struct simplify_rule doc;
    unsigned kinds;
    const struct expr *(*apply)(struct redex *r);
};

/* The first rule that applies is used, so the cheap rules and those that decide most come first. */
static const struct rule rules[] = {
    { { "fold", "c1 op c2 ==> c", "" }, ANY_KIND, rule_fold },

    { { "add_zero", "x + 0 ==> x", "" }, ON(ADD), rule_add_zero },
    { { "mul_zero", "x*0 ==> 0", "" }, ON(MUL), rule_mul_zero },
    { { "mul_one", "x*1 ==> x", "" }, ON(MUL), rule_mul_one },
    { { "mul_content", "(g*x) * (h*y) ==> g*h*(x*y)", "x, y not constant" },
      ON(MUL), rule_mul_content },
    { { "mul_order", "y*x ==> x*y", "x older than y" }, ON(MUL), rule_mul_order },
    { { "sum_join", "m*b*(x / (a*b)) + m*(y % b) ==> m*(x / a)", "x / a - y divisible by b" },
      ON(ADD) | ON(MUL), rule_sum_join },
    { { "sum_digits", "m*b*(x % a) + m*(y % b) ==> m*((b*x + y % b) % (a*b))",
        "b*x + y % b loses its %" },
      ON(ADD) | ON(MUL), rule_sum_digits },
    { { "sum_to_mod", "m*y - m*b*(x / (a*b)) ==> m*(y % b)", "y = x / a" },
      ON(ADD) | ON(MUL), rule_sum_to_mod },
    { { "sum_to_div", "m*x - m*(x % b) ==> m*b*(x / b)", "" },
      ON(ADD) | ON(MUL), rule_sum_to_div },
    { { "sum_collect", "a*x + c + b*x ==> (a + b)*x + c", "terms in canonical order" },
      ON(ADD) | ON(MUL), rule_sum_collect },

    { { "div_one", "x / 1 ==> x", "" }, ON(DIV), rule_div_one },
    { { "div_bounds", "x / c ==> k", "k*c <= x < (k+1)*c" }, ON(DIV), rule_div_bounds },
    { { "div_split", "(c*q + r) / c ==> q + k", "k*c <= r < (k+1)*c" }, ON(DIV), rule_div_split },
    { { "div_pull", "(c*q + r) / c ==> q + r / c", "" }, ON(DIV), rule_div_pull },
    { { "div_factor", "(g*x + r) / (g*c) ==> (x + k) / c", "k*g <= r < (k+1)*g" },
      ON(DIV), rule_div_factor },
    { { "div_div", "(x / a + y) / b ==> (x + a*y) / (a*b)", "" }, ON(DIV), rule_div_div },
    { { "div_mod", "(x % (a*b)) / b ==> (x / b) % a", "" }, ON(DIV), rule_div_mod },

    { { "mod_one", "x % 1 ==> 0", "" }, ON(MOD), rule_mod_one },
    { { "mod_bounds", "x % c ==> x - k*c", "k*c <= x < (k+1)*c" }, ON(MOD), rule_mod_bounds },
    { { "mod_split", "(c*q + r) % c ==> r - k*c", "k*c <= r < (k+1)*c" },
      ON(MOD), rule_mod_split },
    { { "mod_mod", "(g*(x % a) + y) % c ==> (g*x + y) % c", "c divides g*a" },
      ON(MOD), rule_mod_mod },
    { { "mod_reduce", "(g*x + r) % c ==> ((g%c)*x + r%c) % c", "" }, ON(MOD), rule_mod_reduce },
    { { "mod_factor", "(g*x + r) % (g*c) ==> g*((x + k) % c) + r - k*g", "k*g <= r < (k+1)*g" },
      ON(MOD), rule_mod_factor },

    { { "minmax_bounds", "min(x, y) ==> x", "x <= y (max: the other one)" },
      ON(MIN) | ON(MAX), rule_minmax_bounds },
    { { "minmax_order", "min(y, x) ==> min(x, y)", "y a constant, or x older" },
      ON(MIN) | ON(MAX), rule_minmax_order },
    { { "lt_bounds", "x < y ==> 1 or 0", "x - y < 0 always or never" }, ON(LT), rule_lt_bounds },
    { { "lt_div", "x / c < y ==> x < c*y", "" }, ON(LT), rule_lt_div },
    { { "lt_digit", "g*x + r < y ==> x < k", "(y - 1 - r) / g = k - 1 for every r" },
      ON(LT), rule_lt_digit },
    { { "lt_sides", "x - y + c < 0 ==> x < y - c", "positive coefficients on both sides" },
      ON(LT), rule_lt_sides },
    { { "eq_bounds", "x == y ==> 1 or 0", "x - y = 0 always or never" }, ON(EQ), rule_eq_bounds },
    { { "eq_gcd", "g*x == c ==> x == c / g, or 0", "g divides c, or not" }, ON(EQ), rule_eq_gcd },
    { { "eq_sides", "x - y + c == 0 ==> x == y - c", "positive coefficients on both sides" },
      ON(EQ), rule_eq_sides },
    { { "and_const", "x && 1 ==> x, x && 0 ==> 0", "x in [0, 1]" }, ON(AND), rule_and_const },
    { { "and_list", "y && (x && y) ==> x && y", "in canonical order, each once" },
      ON(AND), rule_and_list },
    { { "and_implied", "x < c && x < d ==> x < c", "c <= d" }, ON(AND), rule_and_implied },
    { { "and_never", "x < c && d < x ==> 0", "d + 1 >= c" }, ON(AND), rule_and_never },
};
_Static_assert(sizeof rules / sizeof *rules <= MAX_RULES, "room for the counts of every rule");

int simplify_n_rules(void)
{
    return COUNT_OF(rules);
}

const struct simplify_rule *simplify_rule(int i)
{
    return &rules[i].doc;
}

long simplify_fired(const struct exprs *p, int i)
{
    return p->fired[i];
}

void simplify_trace(struct exprs *p,
                    void (*hook)(void *ctx, const char *rule, const struct expr *before,
                                 const struct expr *after), void *ctx)
{
    p->trace = hook;
    p->trace_ctx = ctx;
}

static bool is_const(const struct expr *e)
{
    return e->kind == EXPR_CONST;
}

/* Whether e belongs to the linear form around it, so that sum_collect flattens it. */
static bool is_linear(const struct expr *e)
{
    return e->kind == EXPR_ADD || (e->kind == EXPR_MUL && (is_const(e->a) || is_const(e->b)));
}

/* Adds scale * e to l, with every non-linear part of e simplified. */
static void gather(struct lin *l, const struct expr *e, int64_t scale)
{
    if (!is_linear(e)) {
        lin_add(l, expr_simplify(l->p, e), scale);
    } else if (e->kind == EXPR_ADD) {
        gather(l, e->a, scale);
        gather(l, e->b, scale);
    } else {
        bool left = is_const(e->a);
        gather(l, left ? e->b : e->a, wrap_mul(scale, (left ? e->a : e->b)->value));
    }
}

/* Whether all coefficients are far from overflow.  The range of l does not tell: a coefficient can
 * be huge when its variable is always 0. */
static bool tame_coefs(const struct lin *l)
{
    for (int i = 0; i < l->n; i++)
        if (!is_tame((struct range){ l->t[i].coef, l->t[i].coef }))
            return false;
    return true;
}

/* Makes the input of the rules for e, which depends on the kind of e. */
static struct redex view(struct exprs *p, const struct expr *e)
{
    struct redex r = { .p = p, .e = e, .a = e->a, .b = e->b };
    r.l = lin_new(p);
    switch (e->kind) {
    case EXPR_ADD: case EXPR_MUL:
        if (is_linear(e))
            gather(&r.l, e, 1);
        break;
    case EXPR_DIV: case EXPR_MOD:
        r.c = e->b->value;
        lin_add(&r.l, e->a, 1);
        break;
    case EXPR_MIN: case EXPR_MAX: case EXPR_LT: case EXPR_EQ:
        lin_add(&r.l, expr_simplify(p, expr_sub(p, e->a, e->b)), 1);
        break;
    case EXPR_AND: case EXPR_CONST: case EXPR_VAR: case EXPR_KIND_COUNT:
        break;
    }
    lin_sort(&r.l);
    r.range = lin_range(&r.l);
    if (r.c > MAX_DIVISOR || !tame_coefs(&r.l))
        r.range = (struct range){ INT64_MIN, INT64_MAX };
    return r;
}

static const struct expr *apply_rules(struct exprs *p, const struct expr *e)
{
    struct redex r = view(p, e);
    for (int i = 0; i < COUNT_OF(rules); i++) {
        if (!(rules[i].kinds & 1u << e->kind))
            continue;
        const struct expr *after = rules[i].apply(&r);
        if (!after || after == e)
            continue;
        p->fired[i]++;
        if (p->trace)
            p->trace(p->trace_ctx, rules[i].doc.name, e, after);
        return after;
    }
    return e;
}

static const struct expr *rewrite(struct exprs *p, const struct expr *e)
{
    if (!e->a)
        return e;
    if (!is_linear(e)) {
        const struct expr *a = expr_simplify(p, e->a), *b = expr_simplify(p, e->b);
        if (a != e->a || b != e->b)
            return expr_bin(p, e->kind, a, b);
    }
    struct scratch_mark mark = scratch_mark(p);
    const struct expr *after = apply_rules(p, e);
    scratch_release(p, mark);
    return after;
}

/* While e is being simplified, its simplified form is e itself.  So if two rules undid each other,
 * the recursion would end here, with a correct expression that is not the simplest. */
const struct expr *expr_simplify(struct exprs *p, const struct expr *e)
{
    struct expr_node *n = node_of(e);
    if (!n->simple) {
        n->simple = e;
        const struct expr *after = rewrite(p, e);
        if (after != e)
            n->simple = expr_simplify(p, after);
    }
    return n->simple;
}
