/* Turns the stores of the tree into statements on lanes (build.c).  Builds their accesses, terms
 * and picked indices, and cuts stores that cannot be one statement for all lanes. */
#include "kernels/gen/build_impl.h"

/* The search for the load buffer[idx] among the loads of a statement. n: how many loads of the same
 * tensor are before it. */
struct operand_search {
    const struct buffer *all;
    int buffer, n;
    const struct expr *const *idx;
    bool found;
};

static void pass_operand(void *ctx, const struct val *load)
{
    struct operand_search *s = ctx;
    s->found |= load->source == s->buffer && load->idx == s->idx;
    s->n += !s->found && s->all[load->source].tensor == s->all[s->buffer].tensor;
}

/* Returns how many loads of the same tensor the statement has before the load of buffer[idx].
 * Returns 0 if no such load is in its value: the statement then stores or updates buffer[idx]. */
static int operand_of(const struct unit_build *b, int buffer, const struct expr *const *idx)
{
    struct operand_search s = { b->u->func->buffer, buffer, 0, idx, false };
    val_each_load(b->statement->value, pass_operand, &s);
    return s.found ? s.n : 0;
}

int build_site(struct unit_build *b, int buffer, int rank, const struct expr *const *idx,
               bool is_store)
{
    struct unit *u = b->u;
    struct site_key **slot = &b->sites[((uintptr_t)idx >> 4) % N_SITES];
    for (struct site_key *k = *slot; k; k = k->next)
        if (k->idx == idx && k->buffer == buffer && k->is_store == is_store)
            return k->id;
    struct str text = { 0 };
    str_add(&text, u->func->buffer[buffer].name);
    for (int d = 0; d < rank; d++) {
        str_add_char(&text, '[');
        expr_print(&text, idx[d]);
        str_add_char(&text, ']');
    }
    int id = 0;
    while (id < u->sites.len &&
           (u->sites.data[id].buffer != buffer || u->sites.data[id].is_store != is_store ||
            !streq(u->sites.data[id].text, str_text(&text))))
        id++;
    if (id == u->sites.len) {
        struct site s = { buffer, is_store,
                          arena_strdup(exprs_arena(u->func->pool), str_text(&text)),
                          u->func->buffer[b->statement->buffer].tensor,
                          operand_of(b, buffer, idx) };
        vec_push(&u->sites, s);
    }
    str_free(&text);
    struct site_key *k = ARENA_NEW(u->arena, struct site_key);
    *k = (struct site_key){ idx, buffer, id, is_store, *slot };
    *slot = k;
    return id;
}

/* The arguments of env_set_lanes that restore a chunk of lanes. */
struct env_lane { const struct expr *var; int64_t first; int lanes; };

/* Reduces the current chunk of lanes to its lane l.  Returns the state that leave_lane restores. */
static struct env_lane enter_lane(struct unit_build *b, int l)
{
    struct env_lane saved = { env_lane_var(b->env), env_lane_first(b->env), env_lanes(b->env) };
    env_set_lanes(b->env, NULL, 0, 1);
    env_bind(b->env, saved.var, saved.first + l);
    return saved;
}

static void leave_lane(struct unit_build *b, const struct env_lane *saved)
{
    env_unbind(b->env);
    env_set_lanes(b->env, saved->var, saved->first, saved->lanes);
}

/* Builds a shuffle if all lanes lie in one aligned vector of the buffer, as for example the inputs
 * of a convolution in small groups. The vector ends inside the buffer, because its place and the
 * size of the buffer are multiples of the lanes. Returns NULL if the lanes lie in several
 * vectors. */
static struct code_term *build_shuffle(struct unit_build *b, const struct code_term *gather)
{
    const struct place *first = &gather->part[0]->at;
    int lanes = gather->lanes;
    int64_t from = first->rest - ((first->rest % lanes + lanes) % lanes);
    struct expr_linear sum = expr_linear(b->u->func->pool, first->base);
    bool aligned = b->u->func->buffer[first->buffer].elems % lanes == 0;
    for (int i = 0; i < sum.n; i++)
        aligned = aligned && sum.coef[i] % lanes == 0;
    int *pick = ARENA_ARRAY(b->u->arena, int, lanes);
    for (int l = 0; l < lanes && aligned; l++) {
        const struct place *at = &gather->part[l]->at;
        aligned = at->base == first->base && at->rest >= from && at->rest < from + lanes;
        pick[l] = (int)(at->rest - from);
    }
    if (!aligned)
        return NULL;
    struct place whole = *first;
    whole.rest = from;
    whole.lanes = lanes;
    struct code_term *t = term_new(b->u, TERM_SHUFFLE, lanes);
    t->a = term_load(b->u, &whole, gather->part[0]->site);
    t->pick = pick;
    return t;
}

/* Builds a load for all lanes: one element that all lanes share, a vector of consecutive elements,
 * a shuffle of such a vector, or a gather of one element for each lane. */
static struct code_term *build_load(struct unit_build *b, const struct val *v)
{
    struct place at;
    int64_t step;
    int lanes = env_lanes(b->env), site = build_site(b, v->source, v->rank, v->idx, false);
    bool linear = env_place(b->env, v->source, v->idx, &at, &step);
    if (linear && (lanes == 1 || step == 0))
        return term_load(b->u, &at, site);
    if (linear && step == 1) {
        at.lanes = lanes;
        return term_load(b->u, &at, site);
    }
    struct code_term *t = term_new(b->u, TERM_GATHER, lanes);
    t->part = ARENA_ARRAY(b->u->arena, struct code_term *, lanes);
    for (int l = 0; l < lanes; l++) {
        if (!linear) {
            struct env_lane saved = enter_lane(b, l);
            env_place(b->env, v->source, v->idx, &at, &step);
            leave_lane(b, &saved);
        }
        t->part[l] = term_load(b->u, &at, site);
        at.rest += step;
    }
    struct code_term *shuffled = build_shuffle(b, t);
    return shuffled ? shuffled : t;
}

static struct code_term *build_term(struct unit_build *b, const struct val *v);

/* Builds one side of a select. */
static struct code_term *build_side(struct unit_build *b, const struct val *v,
                                    const struct expr *cond, bool other)
{
    vec_push(&b->sides, (struct select_side){ cond, other });
    struct code_term *t = build_term(b, v);
    (void)vec_pop(&b->sides);
    return t;
}

static bool reads_var(const struct val *v, const struct expr *var)
{
    for (int d = 0; v->kind == VAL_LOAD && d < v->rank; d++)
        if (expr_uses(v->idx[d], var))
            return true;
    return (v->cond && expr_uses(v->cond, var)) || (v->a && reads_var(v->a, var)) ||
           (v->b && reads_var(v->b, var));
}

/* Returns the variable that an earlier pick of the block has set to the same index, or NULL. The
 * index must come from a buffer that the function never writes. */
static const struct expr *had_index(const struct unit_build *b, const struct code_term *index,
                                    int64_t hi)
{
    bool stays = index->kind == TERM_LOAD && !b->u->func->buffer[index->at.buffer].written;
    for (int i = 0; stays && b->sides.len == 0 && i < b->had.len; i++) {
        const struct code *c = b->had.data[i];
        if (c->var->hi == hi && c->value->kind == TERM_LOAD &&
            place_same(&c->value->at, &index->at))
            return c->var;
    }
    return NULL;
}

/* Builds a pick and returns its value, which uses an index variable.  A PICK before the statement
 * being built sets this variable, unless an earlier PICK has set a variable to the same index.  For
 * a pick in one side of a select, the PICK reads the index only where that side is chosen.  Returns
 * NULL when the index depends on the lane. */
static struct code_term *build_pick(struct unit_build *b, const struct val *v)
{
    struct unit *u = b->u;
    if (!reads_var(v->b, v->cond))
        return build_term(b, v->b);
    struct code_term *index = build_term(b, v->a);
    if (!index || index->lanes > 1)
        return NULL;
    for (int i = b->sides.len - 1; i >= 0; i--) {
        const struct select_side *s = &b->sides.data[i];
        struct code_term *t = term_new(u, TERM_SELECT, 1), *none = term_const(u, 0);
        t->cond = s->cond;
        t->a = s->other ? none : index;
        t->b = s->other ? index : none;
        index = t;
    }
    const struct expr *var = had_index(b, index, v->cond->hi);
    if (!var) {
        struct code *c = code_new(u, CODE_PICK);
        c->var = var = val_pick_var(u->func->pool, arena_printf(u->arena, "at.%d", b->n_picks++),
                                    v->cond->hi + 1);
        c->value = index;
        vec_push(&b->picks, c);
    }
    env_rename(b->env, v->cond, var);
    struct code_term *t = build_term(b, v->b);
    env_unbind(b->env);
    return t;
}

/* Builds a term.  Returns NULL when a condition or a picked index in v depends on the lane. */
static struct code_term *build_term(struct unit_build *b, const struct val *v)
{
    struct code_term *t, *x, *y;
    bool by_lane;
    switch (v->kind) {
    case VAL_CONST:
        return term_const(b->u, v->value);
    case VAL_LOAD:
        return build_load(b, v);
    case VAL_SELECT: {
        const struct expr *cond = env_expr(b->env, v->cond, &by_lane);
        if (by_lane)
            return NULL;
        if (cond->kind == EXPR_CONST)
            return build_term(b, cond->value ? v->a : v->b);
        x = build_side(b, v->a, cond, false);
        y = build_side(b, v->b, cond, true);
        if (!x || !y)
            return NULL;
        t = term_new(b->u, TERM_SELECT, x->lanes > y->lanes ? x->lanes : y->lanes);
        t->cond = cond;
        break;
    }
    case VAL_PICK:
        return build_pick(b, v);
    case VAL_ADD: case VAL_SUB: case VAL_MUL: case VAL_DIV: case VAL_MAX: case VAL_MIN:
    case VAL_LE: case VAL_KEEP:
        x = build_term(b, v->a);
        y = build_term(b, v->b);
        if (!x || !y)
            return NULL;
        t = term_new(b->u, TERM_BIN, x->lanes > y->lanes ? x->lanes : y->lanes);
        t->op = v->kind;
        break;
    case VAL_FUNCTIONS:
        x = build_term(b, v->a);
        y = NULL;
        if (!x)
            return NULL;
        t = term_new(b->u, TERM_CALL, x->lanes);
        t->op = v->kind;
        break;
    case VAL_KIND_COUNT: default:
        UNREACHABLE();
    }
    t->a = x;
    t->b = y;
    return t;
}

/* Appends c, inside of an IF unless cond is NULL. Adjacent statements with the same condition share
 * an IF.  Sets b->failed if an unrolled body gets too many statements. */
static void add_guarded(struct unit_build *b, struct block *out, const struct expr *cond,
                        struct code *c)
{
    if (b->failed)
        return;
    if (++b->n_statements > GEN_MAX_STATEMENTS && b->open.len > 0) {
        b->failed = true;
        struct str loops = { 0 };
        for (int i = 0; i < b->open.len; i++)
            str_printf(&loops, " %s(%lld)", b->open.data[i]->axis,
                       (long long)b->open.data[i]->extent);
        const struct func *f = b->u->func;
        const char *stage = f->graph->tensor[f->graph->node[b->open.data[0]->node].out].name;
        err_set(b->e, ERR_STEP, "the unrolled body of %s has more than %d statements:%s", stage,
                GEN_MAX_STATEMENTS, str_text(&loops));
        err_fix(b->e, "loop serial %s %s", stage, b->open.data[0]->axis);
        str_free(&loops);
        return;
    }
    struct code *last = out->n ? out->item[out->n - 1] : NULL;
    if (!cond) {
        block_add(b->u, out, c);
    } else if (last && last->kind == CODE_IF && last->cond == cond) {
        block_add(b->u, &last->body, c);
    } else {
        struct code *branch = code_new(b->u, CODE_IF);
        branch->cond = cond;
        block_add(b->u, &branch->body, c);
        block_add(b->u, out, branch);
    }
}

/* clash: whether the value of a store to `at` loads another element of the same buffer. */
struct self_check { int buffer; struct place at; bool clash; };

static void check_self(void *ctx, struct code_term *load, bool in_select)
{
    struct self_check *s = ctx;
    (void)in_select;
    s->clash |= load->at.buffer == s->buffer && !place_same(&load->at, &s->at);
}

/* Stores lanes that are not adjacent in memory: computes the vector, then stores lane by lane. */
static void scatter(struct unit_build *b, struct block *out, const struct expr *cond,
                    const struct code *set, int64_t step)
{
    struct unit *u = b->u;
    int reg = reg_new(u, code_stem(u, u->func->buffer[set->at.buffer].name), NULL,
                      set->value->lanes, out);
    add_guarded(b, out, cond, code_set_reg(u, reg, STORE_SET, set->value));
    for (int l = 0; l < set->value->lanes; l++) {
        struct code *c = code_new(u, CODE_SET);
        *c = *set;
        c->at.rest += step * l;
        c->value = term_reg(u, reg);
        c->value->lane = l;
        c->value->lanes = 1;
        add_guarded(b, out, cond, c);
    }
}

/* Builds c, whose lanes all update one place: the lanes of its value are combined to one first.  If
 * c has no condition, and the last statement in `out` updates the same place in the same way, c is
 * merged into that statement, so that the lanes are combined only once:
 *
 *     S += a;  S += b   ==>   S += sum_lanes(a + b) */
static void build_fold(struct unit_build *b, struct block *out, const struct expr *cond,
                       struct code *c)
{
    enum val_kind op = c->how == STORE_ADD ? VAL_ADD : VAL_MAX;
    struct code *last = out->n && !cond ? out->item[out->n - 1] : NULL;
    const struct code_term *v = last && last->kind == CODE_SET ? last->value : NULL;
    if (v && v->kind == TERM_CALL && v->op == op && v->a->lanes == c->value->lanes
        && last->how == c->how && last->reg < 0 && place_same(&last->at, &c->at)) {
        struct code_term *both = term_new(b->u, TERM_BIN, c->value->lanes);
        both->op = op;
        both->a = v->a;
        both->b = c->value;
        last->value->a = both;
        return;
    }
    struct code_term *fold = term_new(b->u, TERM_CALL, 1);
    fold->op = op;
    fold->a = c->value;
    c->value = fold;
    add_guarded(b, out, cond, c);
}

/* Builds the store t for all lanes of the current chunk at once.  Returns false when the chunk must
 * be cut first, for example because the condition depends on the lane. */
static bool build_whole(struct unit_build *b, const struct tree *t, struct block *out)
{
    struct code *c = code_new(b->u, CODE_SET);
    int64_t step = 0;
    int lanes = env_lanes(b->env);
    b->statement = t;
    bool by_lane, linear = env_place(b->env, t->buffer, t->idx, &c->at, &step);
    const struct expr *cond = env_expr(b->env, t->guard, &by_lane);
    bool fold = lanes > 1 && linear && step == 0 && t->how != STORE_SET;
    if (lanes > 1 && (!linear || (step == 0 && !fold) || by_lane))
        return false;
    if (cond && cond->kind == EXPR_CONST && !cond->value)
        return true;
    if (cond && cond->kind == EXPR_CONST)
        cond = NULL;
    vec_clear(&b->picks);
    if (b->had_in != out || cond)
        vec_clear(&b->had);
    b->had_in = cond ? NULL : out;
    c->value = build_term(b, t->value);
    if (!c->value)
        return false;
    c->how = t->how;
    c->async = t->async;
    c->site_store = build_site(b, t->buffer, t->rank, t->idx, true);
    if (t->how != STORE_SET)
        c->site_load = build_site(b, t->buffer, t->rank, t->idx, false);
    if (lanes > 1 && step == 1)
        c->at.lanes = lanes;
    struct self_check self = { t->buffer, c->at, false };
    term_each_load(c->value, check_self, &self);
    if (lanes > 1 && (self.clash || (fold && c->value->lanes == 1)))
        return false;
    for (int i = 0; i < b->picks.len; i++) {
        add_guarded(b, out, cond, b->picks.data[i]);
        vec_push(&b->had, b->picks.data[i]);
    }
    if (fold) {
        build_fold(b, out, cond, c);
        return true;
    }
    if (lanes > 1 && step != 1 && c->value->lanes > 1) {
        scatter(b, out, cond, c, step);
        return true;
    }
    for (int l = 0; l < (step == 1 ? 1 : lanes); l++) {
        struct code *one = code_new(b->u, CODE_SET);
        *one = *c;
        one->at.rest += step * l;
        add_guarded(b, out, cond, one);
    }
    return true;
}

struct local_check { const struct func *f; bool found; };

static void check_local(void *ctx, const struct val *load)
{
    struct local_check *s = ctx;
    s->found |= s->f->buffer[load->source].memory == MEMORY_LOCAL;
}

static bool touches_local(const struct func *f, const struct tree *t)
{
    struct local_check s = { f, f->buffer[t->buffer].memory == MEMORY_LOCAL };
    val_each_load(t->value, check_local, &s);
    return s.found;
}

void build_store(struct unit_build *b, const struct tree *t, struct block *out)
{
    if (build_whole(b, t, out))
        return;
    const struct expr *var = env_lane_var(b->env);
    int64_t first = env_lane_first(b->env);
    int lanes = env_lanes(b->env), part = touches_local(b->u->func, t) ? 1 : lanes / 2;
    for (int l = 0; l < lanes && !b->failed; l += part) {
        if (part > 1) {
            env_set_lanes(b->env, var, first + l, part);
            build_store(b, t, out);
            env_set_lanes(b->env, var, first, lanes);
        } else {
            struct env_lane saved = enter_lane(b, l);
            build_store(b, t, out);
            leave_lane(b, &saved);
        }
    }
}
