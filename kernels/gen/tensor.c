/* Tensor blocks (nest/tensor.h) as code: every lane of a warp loads its part of both operands, and
 * the instruction mma.m16n8k16 (m16n8k8 of f32 as tf32) multiplies the parts of all lanes.
 *
 * An operand of 16-bit elements is 16 x 16: four matrices of 8 x 8, one for each of the 4 registers
 * of a lane.  Lane 4 * i + j has in register r the elements 2 * j and 2 * j + 1 of row i of matrix
 * r.  An operand of f32 is 16 x 8, its matrices are 8 x 4, and the lane has element j of row i.
 *
 * A lane loads its elements by ldmatrix if the 16 bytes of a row lie side by side in shared memory:
 * lane 8 * r + i gives the address of row i of matrix r, and the hardware distributes the elements.
 * It can also transpose matrices of 16-bit elements.  Otherwise the lane loads two elements at
 * once, or single elements, from any memory. */
#include "kernels/gen/gen_impl.h"
#include "kernels/ir/simplify.h"
#include "kernels/nest/tensor.h"

#define MATRIX_SIDE 8
#define MATRIX_ROW_BYTES 16

/* An operand of the block. is_a: whether its elements have rows and steps of the sum; if not, they
 * have steps and columns. idx: the indices of an element as expressions over the loop variables of
 * the block. lane: the variable of the lane. */
struct operand {
    struct unit *u;
    struct env *env;
    const struct tensor_block *t;
    bool is_a;
    const struct val *load;
    const struct expr *const *idx;
    const struct expr *lane;
};

/* The position of an element in the block: row or column 8 * side_high + side_low, and step
 * steps_of(operand) * sum_high + sum_low of the sum. */
struct position { const struct expr *side_high, *side_low, *sum_high, *sum_low; };

/* Returns how many steps of the sum one matrix of the operand has: 8, or 4 for f32. */
static int steps_of(const struct operand *x)
{
    return MATRIX_ROW_BYTES / x->u->func->buffer[x->load->source].type->bytes;
}

static const struct expr *number(const struct operand *x, int64_t n)
{
    return expr_const(x->u->func->pool, n);
}

/* Returns lane / by % n. */
static const struct expr *of_lane(const struct operand *x, int64_t by, int64_t n)
{
    struct exprs *p = x->u->func->pool;
    return expr_simplify(p, expr_modc(p, expr_divc(p, x->lane, by), n));
}

/* Returns the place of the element at a position. */
static struct place place_of(const struct operand *x, const struct position *at)
{
    struct exprs *p = x->u->func->pool;
    const struct tensor_block *t = x->t;
    const struct expr *sum = expr_add(p, expr_mulc(p, at->sum_high, steps_of(x)), at->sum_low);
    const struct expr *from[4] = { t->sum->var }, *with[4] = { sum };
    int n = 1;
    from[n] = x->is_a ? t->rows->var : t->columns->var;
    with[n++] = at->side_high;
    from[n] = x->is_a ? t->row : t->column;
    with[n++] = x->is_a ? at->side_low : expr_divc(p, at->side_low, 2);
    if (!x->is_a) {
        from[n] = t->pair->var;
        with[n++] = expr_modc(p, at->side_low, 2);
    }
    const struct expr **idx = ARENA_ARRAY(x->u->arena, const struct expr *, x->load->rank + 1);
    for (int d = 0; d < x->load->rank; d++)
        idx[d] = expr_simplify(p, expr_subst(p, x->idx[d], from, with, n));
    struct place place;
    int64_t step;
    env_place(x->env, x->load->source, idx, &place, &step);
    return place;
}

/* Whether the n elements at positions *at with *low = first, first + 1, ... lie side by side, at an
 * address that is a multiple of their size together. low: a pointer to a member of *at, which is
 * `first` afterwards. */
static bool side_by_side(const struct operand *x, struct position *at, const struct expr **low,
                         const struct expr *first, int n)
{
    struct exprs *p = x->u->func->pool;
    *low = first;
    struct place begin = place_of(x, at);
    begin.lanes = n;
    bool together = place_aligned(x->u, &begin)
                 && !(x->u->func->buffer[begin.buffer].swizzle.mask & (n - 1));
    for (int i = 1; i < n && together; i++) {
        *low = expr_addc(p, first, i);
        struct place next = place_of(x, at);
        together = next.base == begin.base && next.rest == begin.rest + i;
    }
    *low = first;
    return together;
}

/* Puts position *at into matrix r of the four; r < 0: into matrix lane / 8. */
static void in_matrix(const struct operand *x, struct position *at, int r)
{
    const struct expr *low = r < 0 ? of_lane(x, 8, 2) : number(x, r % 2);
    const struct expr *high = r < 0 ? of_lane(x, 16, 2) : number(x, r / 2);
    at->side_high = x->is_a ? low : high;
    at->sum_high = x->is_a ? high : low;
}

/* Fills in *out and *place for ldmatrix.  Returns false if the elements of a row or column do not
 * lie side by side in shared memory. */
static bool by_rows(const struct operand *x, struct fragment *out, struct place *place)
{
    struct position at = { .side_low = of_lane(x, 1, 8) };
    if (x->u->func->buffer[x->load->source].memory != MEMORY_SHARED)
        return false;
    in_matrix(x, &at, -1);
    out->way = FRAGMENT_ROWS;
    if (!side_by_side(x, &at, &at.sum_low, number(x, 0), steps_of(x))) {
        if (steps_of(x) < MATRIX_SIDE)
            return false;                 /* ldmatrix transposes only elements of 16 bits */
        out->way = FRAGMENT_COLUMNS;
        at.sum_low = of_lane(x, 1, 8);
        if (!side_by_side(x, &at, &at.side_low, number(x, 0), MATRIX_SIDE))
            return false;
    }
    out->n = 1;
    *place = place_of(x, &at);
    place->lanes = steps_of(x);
    return true;
}

/* Fills in *out and place[] for the two elements of each register: pairs if the two lie side by
 * side for all four registers, else single elements. */
static void by_elements(const struct operand *x, struct fragment *out, struct place *place)
{
    struct exprs *p = x->u->func->pool;
    struct position at = { .side_low = of_lane(x, 4, 8) };
    const struct expr *pair = expr_mulc(p, of_lane(x, 1, 4), 2);
    out->way = FRAGMENT_PAIRS;
    for (int r = 0; r < 4 && out->way == FRAGMENT_PAIRS; r++) {
        in_matrix(x, &at, r);
        if (!side_by_side(x, &at, &at.sum_low, pair, 2))
            out->way = FRAGMENT_ELEMENTS;
    }
    int each = out->way == FRAGMENT_PAIRS ? 1 : 2;
    out->n = 4 * each;
    for (int i = 0; i < out->n; i++) {
        in_matrix(x, &at, i / each);
        at.sum_low = expr_addc(p, pair, i % each);
        place[i] = place_of(x, &at);
        place[i].lanes = 2 / each;
    }
}

/* Fills in *out and place[] for one element of 32 bits in each register. */
static void by_words(const struct operand *x, struct fragment *out, struct place *place)
{
    struct position at = { .side_low = of_lane(x, 4, 8), .sum_low = of_lane(x, 1, 4) };
    out->way = FRAGMENT_WORDS;
    out->n = 4;
    for (int r = 0; r < out->n; r++) {
        in_matrix(x, &at, r);
        place[r] = place_of(x, &at);
        place[r].lanes = 1;
    }
}

static bool same_loads(const struct code *c, const struct fragment *f, const struct place *place)
{
    bool same = c->value->lanes == f->n;
    for (int i = 0; i < f->n && same; i++)
        same = place_same(&c->value->part[i]->at, &place[i]);
    return same;
}

/* Returns the number of the fragment for an operand.  Appends a statement that loads it, unless one
 * of the tensor blocks directly before this one has loaded the same fragment. */
static int load_fragment(const struct operand *x, int site, struct block *out)
{
    struct unit *u = x->u;
    struct fragment f = { .buffer = x->load->source };
    struct place place[FRAGMENT_LOADS];
    if (!by_rows(x, &f, place))
        (steps_of(x) < MATRIX_SIDE ? by_words : by_elements)(x, &f, place);
    for (int i = out->n - 1; i >= 0; i--) {
        const struct code *c = out->item[i];
        if (c->kind != CODE_FRAGMENT && c->kind != CODE_TENSOR)
            break;
        if (c->kind == CODE_FRAGMENT && u->fragments.data[c->fragment[0]].is_a == x->is_a
            && same_loads(c, &f, place))
            return c->fragment[0];
    }
    struct code *c = code_new(u, CODE_FRAGMENT);
    f.is_a = x->is_a;
    c->fragment[0] = u->fragments.len;
    c->value = term_new(u, TERM_GATHER, f.n);
    c->value->part = ARENA_ARRAY(u->arena, struct code_term *, f.n);
    for (int i = 0; i < f.n; i++)
        c->value->part[i] = term_load(u, &place[i], site);
    vec_push(&u->fragments, f);
    block_add(u, out, c);
    return c->fragment[0];
}

void code_build_tensor(struct unit *u, struct env *env, const struct tree *t,
                       const struct expr *lane, const struct tensor_sites *sites,
                       struct block *out)
{
    struct tensor_block b;
    struct err never;
    if (!tensor_block_read(u->func->pool, u->func->buffer, t, lane, "", &b, &never))
        UNREACHABLE();                    /* lowering refuses such blocks */
    struct operand x = { u, env, &b, true, b.a, b.a_idx, lane };
    struct operand y = { u, env, &b, false, b.b, b.b_idx, lane };
    struct code *c = code_new(u, CODE_TENSOR);
    bool a_first = b.store->value->a == b.a;
    c->fragment[0] = load_fragment(&x, a_first ? sites->a : sites->b, out);
    c->fragment[1] = load_fragment(&y, a_first ? sites->b : sites->a, out);
    c->value = term_new(u, TERM_GATHER, TENSOR_RESULTS);
    c->value->part = ARENA_ARRAY(u->arena, struct code_term *, TENSOR_RESULTS);
    for (int i = 0; i < TENSOR_RESULTS; i++) {
        struct place at;
        int64_t step;
        env_bind(env, b.rows->var, i / 4);
        env_bind(env, b.columns->var, i / 2 % 2);
        env_bind(env, b.pair->var, i % 2);
        env_place(env, b.store->buffer, b.store->idx, &at, &step);
        c->value->part[i] = term_load(u, &at, sites->result);
        for (int k = 0; k < 3; k++)
            env_unbind(env);
    }
    block_add(u, out, c);
}

static const struct code *find_in_memory(const struct block *b)
{
    for (int i = 0; i < b->n; i++) {
        const struct code *c = b->item[i], *below = find_in_memory(&c->body);
        if (below)
            return below;
        for (int k = 0; c->kind == CODE_TENSOR && k < TENSOR_RESULTS; k++)
            if (c->value->part[k]->kind != TERM_REG)
                return c;
    }
    return NULL;
}

bool code_tensors_in_registers(const struct unit *u, struct err *e)
{
    const struct code *c = find_in_memory(&u->body);
    if (!c)
        return true;
    for (int k = 0; k < TENSOR_RESULTS; k++)
        if (c->value->part[k]->kind != TERM_REG)
            err_set(e, ERR_STEP, "the sums of a tensor block are in %s, and tensor cores add to"
                    " registers", u->func->buffer[c->value->part[k]->at.buffer].name);
    return err_fix(e, "unroll the loops of the output's dimensions around the block, inside of the"
                   " bound ones");
}
