#include "kernels/ir/val.h"
#include "kernels/ir/simplify.h"

static const struct { int arity; const char *text; } kinds[VAL_KIND_COUNT] = {
#define VAL(id, n, name) [VAL_##id] = { n, name },
    VAL_KINDS(VAL)
#undef VAL
};

const struct val *val_const(struct arena *a, double v)
{
    struct val *n = ARENA_NEW(a, struct val);
    *n = (struct val){ .kind = VAL_CONST, .value = v };
    return n;
}

const struct val *val_load(struct arena *a, int source, int rank, const struct expr *const *idx)
{
    struct val *n = ARENA_NEW(a, struct val);
    *n = (struct val){ .kind = VAL_LOAD, .source = source, .rank = rank };
    n->idx = ARENA_DUP(a, idx, rank);
    return n;
}

static const struct val *operation(struct arena *a, enum val_kind kind, int arity,
                                   const struct val *x, const struct val *y)
{
    if (kinds[kind].arity != arity || kind == VAL_SELECT || kind == VAL_PICK)
        fail("%s is no function of %d floats", kinds[kind].text, arity);
    struct val *n = ARENA_NEW(a, struct val);
    *n = (struct val){ .kind = kind, .a = x, .b = y };
    return n;
}

const struct val *val_un(struct arena *a, enum val_kind kind, const struct val *x)
{
    return operation(a, kind, 1, x, NULL);
}

const struct val *val_bin(struct arena *a, enum val_kind kind, const struct val *x,
                          const struct val *y)
{
    return operation(a, kind, 2, x, y);
}

const struct val *val_select(struct arena *a, const struct expr *cond, const struct val *x,
                             const struct val *y)
{
    struct val *n = ARENA_NEW(a, struct val);
    *n = (struct val){ .kind = VAL_SELECT, .cond = cond, .a = x, .b = y };
    return n;
}

const struct val *val_pick(struct arena *a, const struct expr *var, const struct val *x,
                           const struct val *in)
{
    struct val *n = ARENA_NEW(a, struct val);
    *n = (struct val){ .kind = VAL_PICK, .cond = var, .a = x, .b = in };
    return n;
}

const struct expr *val_pick_var(struct exprs *p, const char *name, int64_t extent)
{
    return expr_var(p, arena_printf(exprs_arena(p), "@%s", name), 0, extent - 1);
}

bool val_decides(enum val_kind kind, bool second)
{
    return kind == VAL_LE
        || (!second && (kind == VAL_KEEP || kind == VAL_FLOOR || kind == VAL_PICK));
}

bool val_picks(const struct expr *e)
{
    return (e->kind == EXPR_VAR && e->name[0] == '@') || (e->a && val_picks(e->a)) ||
           (e->b && val_picks(e->b));
}

const struct val *val_with(struct arena *a, const struct val *v, const struct val *x,
                           const struct val *y)
{
    if (v->kind == VAL_SELECT)
        return val_select(a, v->cond, x, y);
    if (v->kind == VAL_PICK)
        return val_pick(a, v->cond, x, y);
    return operation(a, v->kind, y ? 2 : 1, x, y);
}

const char *val_name(enum val_kind kind)
{
    return kinds[kind].text;
}

bool val_is_function(enum val_kind kind)
{
    return kinds[kind].arity == 1;
}

bool val_is_const(const struct val *v, double value)
{
    return v->kind == VAL_CONST && v->value == value;
}

static const struct expr *map_index(const struct val_map *map, const struct expr *e)
{
    return map->index ? map->index(map->ctx, e) : e;
}

static const struct val *rebuild_load(struct arena *a, const struct val *v,
                                      const struct val_map *map)
{
    const struct expr *idx[MAX_DIMS];
    const struct val *load = v;
    if (map->index) {
        for (int i = 0; i < v->rank; i++)
            idx[i] = map_index(map, v->idx[i]);
        load = val_load(a, v->source, v->rank, idx);
    }
    return map->load ? map->load(map->ctx, load) : load;
}

const struct val *val_rebuild(struct arena *a, const struct val *v, const struct val_map *map)
{
    if (v->kind == VAL_CONST)
        return v;
    if (v->kind == VAL_LOAD)
        return rebuild_load(a, v, map);
    const struct val *x = val_rebuild(a, v->a, map), *y = v->b ? val_rebuild(a, v->b, map) : NULL;
    if (v->kind == VAL_SELECT)
        return val_select(a, map_index(map, v->cond), x, y);
    if (v->kind == VAL_PICK)
        return val_pick(a, map_index(map, v->cond), x, y);
    return val_with(a, v, x, y);
}

struct subst { struct exprs *pool; const struct expr *var, *with; };

static const struct expr *subst_index(void *ctx, const struct expr *e)
{
    const struct subst *s = ctx;
    return expr_simplify(s->pool, expr_subst(s->pool, e, &s->var, &s->with, 1));
}

const struct val *val_subst(struct exprs *p, const struct val *v, const struct expr *var,
                            const struct expr *with)
{
    struct subst s = { p, var, with };
    struct val_map map = { .ctx = &s, .index = subst_index };
    return val_rebuild(exprs_arena(p), v, &map);
}

void val_each_load(const struct val *v, void (*f)(void *ctx, const struct val *load), void *ctx)
{
    if (v->kind == VAL_LOAD)
        f(ctx, v);
    if (v->a)
        val_each_load(v->a, f, ctx);
    if (v->b)
        val_each_load(v->b, f, ctx);
}

int val_flops(const struct val *v)
{
    if (!v->a)
        return 0;
    int x = val_flops(v->a), y = v->b ? val_flops(v->b) : 0;
    if (v->kind == VAL_SELECT)
        return x > y ? x : y;
    return x + y + (v->kind != VAL_PICK);
}

enum { PREC_SUM, PREC_PRODUCT, PREC_ATOM };

static int precedence(enum val_kind kind)
{
    if (kind == VAL_ADD || kind == VAL_SUB)
        return PREC_SUM;
    return kind == VAL_MUL || kind == VAL_DIV ? PREC_PRODUCT : PREC_ATOM;
}

static void print_load(struct str *out, const struct val *v, const char *const *names)
{
    str_add(out, names[v->source]);
    for (int i = 0; i < v->rank; i++) {
        str_add_char(out, '[');
        expr_print(out, v->idx[i]);
        str_add_char(out, ']');
    }
}

static void print(struct str *out, const struct val *v, const char *const *names, int least);

static void print_call(struct str *out, const struct val *v, const char *const *names)
{
    str_printf(out, "%s(", kinds[v->kind].text);
    if (v->cond) {
        expr_print(out, v->cond);
        str_add(out, ", ");
    }
    print(out, v->a, names, PREC_SUM);
    if (v->b) {
        str_add(out, ", ");
        print(out, v->b, names, PREC_SUM);
    }
    str_add_char(out, ')');
}

/* The right operand of - or / must bind tighter than the operator.  The right operand of + or *
 * need not, if it is the same operation: x + (y + z) is printed as x + y + z. */
static void print_infix(struct str *out, const struct val *v, const char *const *names)
{
    int prec = precedence(v->kind);
    bool associative = v->kind == VAL_ADD || v->kind == VAL_MUL;
    print(out, v->a, names, prec);
    str_printf(out, " %s ", kinds[v->kind].text);
    print(out, v->b, names, associative && v->b->kind == v->kind ? prec : prec + 1);
}

static void print(struct str *out, const struct val *v, const char *const *names, int least)
{
    bool wrap = precedence(v->kind) < least;
    if (wrap)
        str_add_char(out, '(');
    if (v->kind == VAL_CONST)
        str_printf(out, "%.9g", v->value);
    else if (v->kind == VAL_LOAD)
        print_load(out, v, names);
    else if (precedence(v->kind) == PREC_ATOM)
        print_call(out, v, names);
    else
        print_infix(out, v, names);
    if (wrap)
        str_add_char(out, ')');
}

void val_print(struct str *out, const struct val *v, const char *const *names)
{
    print(out, v, names, PREC_SUM);
}

static void count_load(void *ctx, const struct val *load)
{
    (void)load;
    ++*(int *)ctx;
}

void val_print_brief(struct str *out, const struct val *v, const char *const *names)
{
    enum { LONG = 2000, SHOWN = 400 };
    struct str text = {0};
    int loads = 0;
    val_print(&text, v, names);
    str_add_n(out, str_text(&text), text.len > LONG ? SHOWN : text.len);
    if (text.len > LONG) {
        val_each_load(v, count_load, &loads);
        str_printf(out, " ... (%d loads)", loads);
    }
    str_free(&text);
}
