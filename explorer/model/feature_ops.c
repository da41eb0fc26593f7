/* Counts the operations of one execution of a statement. */
#include "explorer/model/features_impl.h"

static void count_index(const struct expr *e, struct op_counts *c)
{
    if (!e || e->kind == EXPR_CONST || e->kind == EXPR_VAR)
        return;
    switch (e->kind) {
    case EXPR_ADD: c->integer[OP_ADDSUB]++; break;
    case EXPR_MUL: c->integer[OP_MUL]++; break;
    case EXPR_DIV: case EXPR_MOD: c->integer[OP_DIVMOD]++; break;
    case EXPR_MIN: case EXPR_MAX: case EXPR_LT: case EXPR_EQ: c->integer[OP_CMP]++; break;
    case EXPR_AND: c->bools++; break;
    case EXPR_CONST: case EXPR_VAR: case EXPR_KIND_COUNT: break;
    }
    count_index(e->a, c);
    count_index(e->b, c);
}

static enum op_class class_of(const struct val *v)
{
    switch (v->kind) {
    case VAL_ADD: case VAL_SUB: return OP_ADDSUB;
    case VAL_MUL: return OP_MUL;
    case VAL_DIV: return OP_DIVMOD;
    case VAL_MAX: case VAL_MIN: case VAL_LE: case VAL_KEEP: return OP_CMP;
    case VAL_FUNCTIONS: return OP_MATH;
    case VAL_CONST: case VAL_LOAD: case VAL_SELECT: case VAL_PICK: case VAL_KIND_COUNT: break;
    }
    return OP_CLASSES;
}

/* Counts the operations of a value.  fused: whether v is a product that was already counted, as a
 * part of a mad. */
static void count_value(const struct nest *n, const struct val *v, bool fused, struct op_counts *c)
{
    if (!v)
        return;
    enum op_class class = class_of(v);
    bool sum = v->kind == VAL_ADD || v->kind == VAL_SUB;
    bool a = sum && !n->literal && v->a->kind == VAL_MUL;
    bool b = sum && !n->literal && !a && v->b->kind == VAL_MUL;
    if (a || b)
        c->real[OP_MAD]++;
    else if (class != OP_CLASSES && !fused)
        c->real[class]++;
    c->selects += v->kind == VAL_SELECT;
    for (int d = 0; v->kind == VAL_LOAD && d < v->rank; d++)
        count_index(v->idx[d], c);
    count_index(v->cond, c);
    count_value(n, v->a, a, c);
    count_value(n, v->b, b, c);
}

void feature_count_ops(const struct nest *n, const struct tree *store, struct op_counts *out)
{
    struct op_counts c = { 0 };
    bool mad = !n->literal && store->how == STORE_ADD && store->value->kind == VAL_MUL;
    if (mad)                              /* a mad: acc += a * b */
        c.real[OP_MAD]++;
    else if (store->how != STORE_SET)
        c.real[store->how == STORE_ADD ? OP_ADDSUB : OP_CMP]++;
    count_value(n, store->value, mad, &c);
    if (!n->literal) {
        for (int d = 0; d < store->rank; d++)
            count_index(store->idx[d], &c);
        count_index(store->guard, &c);
        c.selects += store->guard != NULL;
    }
    *out = c;
}

double feature_ops_of(const struct op_counts *c)
{
    double sum = c->real[OP_MAD];
    for (int i = 0; i < OP_CLASSES; i++)
        sum += c->real[i];
    return sum;
}
