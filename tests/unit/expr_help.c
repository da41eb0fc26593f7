#include "tests/unit/expr_help.h"
#include "tests/unit/expr_parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

struct space space_parse(struct arena *a, const char *ranges)
{
    struct space s = { .p = exprs_new(a) };
    char name[32];
    long lo, hi;
    int used;
    while (sscanf(ranges, " %31[^: ]:%ld..%ld%n", name, &lo, &hi, &used) == 3) {
        assert_true(s.n < SPACE_VARS);
        s.var[s.n++] = expr_var(s.p, name, lo, hi);
        ranges += used;
    }
    assert_int_equal(*ranges, '\0');
    return s;
}

void space_print(struct str *out, const struct space *s)
{
    for (int i = 0; i < s->n; i++)
        str_printf(out, "%s%s:%lld..%lld", i ? " " : "", s->var[i]->name,
                   (long long)s->var[i]->lo, (long long)s->var[i]->hi);
}

const struct expr *space_expr(const struct space *s, const char *text)
{
    const struct expr *out = NULL;
    struct err e = {0};
    if (!expr_parse(s->p, text, s->var, s->n, &out, &e)) {
        struct str message = {0};
        err_print(&message, &e);
        print_error("%s", str_text(&message));
        str_free(&message);
        fail_msg("cannot parse \"%s\"", text);
    }
    return out;
}

bool space_first(const struct space *s, int64_t *vals)
{
    for (int i = 0; i < s->n; i++)
        vals[s->var[i]->var] = s->var[i]->lo;
    return true;
}

bool space_next(const struct space *s, int64_t *vals)
{
    for (int i = s->n - 1; i >= 0; i--) {
        const struct expr *v = s->var[i];
        if (vals[v->var] < v->hi) {
            vals[v->var]++;
            return true;
        }
        vals[v->var] = v->lo;
    }
    return false;
}

const char *expr_text(const struct space *s, const struct expr *e)
{
    struct str text = {0};
    expr_print(&text, e);
    const char *copy = arena_strdup(exprs_arena(s->p), str_text(&text));
    str_free(&text);
    return copy;
}

static const char *describe(const struct space *s, const int64_t *vals, int64_t x, const char *what,
                            int64_t y)
{
    struct str text = {0};
    for (int i = 0; i < s->n; i++)
        str_printf(&text, "%s=%lld ", s->var[i]->name, (long long)vals[s->var[i]->var]);
    str_printf(&text, "gives %lld, %s %lld", (long long)x, what, (long long)y);
    const char *copy = arena_strdup(exprs_arena(s->p), str_text(&text));
    str_free(&text);
    return copy;
}

const char *space_differ(const struct space *s, const struct expr *x, const struct expr *y)
{
    int64_t vals[SPACE_VARS];
    for (bool more = space_first(s, vals); more; more = space_next(s, vals)) {
        int64_t vx = expr_eval(x, vals), vy = expr_eval(y, vals);
        if (vx != vy)
            return describe(s, vals, vx, "then", vy);
    }
    return NULL;
}

const char *space_outside(const struct space *s, const struct expr *e)
{
    int64_t vals[SPACE_VARS];
    for (bool more = space_first(s, vals); more; more = space_next(s, vals)) {
        int64_t v = expr_eval(e, vals);
        if (v < e->lo)
            return describe(s, vals, v, "below the bound", e->lo);
        if (v > e->hi)
            return describe(s, vals, v, "above the bound", e->hi);
    }
    return NULL;
}

int expr_n_divmod(const struct expr *e)
{
    if (!e->a)
        return 0;
    return expr_n_divmod(e->a) + expr_n_divmod(e->b) + (e->kind == EXPR_DIV || e->kind == EXPR_MOD);
}

int expr_n_leaves(const struct expr *e)
{
    if (!e->a)
        return e->kind == EXPR_VAR;
    bool scaled = e->kind == EXPR_MUL && (e->a->kind == EXPR_CONST || e->b->kind == EXPR_CONST);
    bool free_join = e->kind == EXPR_ADD || scaled;
    return expr_n_leaves(e->a) + expr_n_leaves(e->b) + !free_join;
}
