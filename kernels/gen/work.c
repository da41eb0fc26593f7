/* Counts what code executes: a static estimate of the work of one call (struct gen_work). */
#include "kernels/gen/gen_impl.h"

#include <math.h>
#include <string.h>

#define FUNCTION_COST 12.0  /* arithmetic operations of a call of exp, log, tanh, ... */
#define MOVE_COST 0.5       /* cycles of a move of a lane; most CPUs of today do two in a cycle */
#define ACROSS_COST 4.0     /* moves that it takes to combine the lanes of a vector to one */
#define FMA_LATENCY 4.0     /* cycles from one update of a register to the next */
#define MEMORY_LATENCY 13.0 /* cycles from one update of an element in memory to the next */
#define SPILL_COST 2.0      /* accesses for a register that does not fit: a store and a load */
#define WINDOW 256.0        /* operations among which a CPU finds those that can start */
#define WIDTH 6.0           /* operations that can start in one cycle */

/* Operations of one execution of a straight line. */
struct line_work {
    double vector, scalar, loads, broadcasts, stores, scalar_stores, moves;
    double chain;                         /* most updates of a register set before the line */
    /* About the longest wait for an element in memory.  wait: cycles that one execution of the line
     * waits for the one before; waits: number of executions that update the same element. */
    double wait, waits;
    int statements;
    double pressure;                      /* vectors that are live at once */
    bool broadcast;                       /* whether is_broadcast holds for one of its products */
};

/* How the straight line number `line` uses a register. first, last: the first and last statement of
 * the line that use the register; updates: how many statements += or max= it; resident: whether it
 * is live before the line.  sets: how often the statement before that sets the register is
 * executed. */
struct line_reg { int line, first, last, updates; bool resident; double sets; };

/* A loop around the current line. trips: the mean number of its iterations. */
struct work_loop { const struct expr *var; double trips; };

struct worker {
    struct unit *u;
    struct gen_work *out;
    struct line_reg *reg;                 /* per register of the unit */
    VEC(int) used;                        /* registers of the current line */
    VEC(struct work_loop) loops;          /* outer loops before inner ones */
    int line, statement;                  /* numbers of the current line and statement */
    double times;                         /* how often the current line is executed */
    double hottest;                       /* cycles of the line that takes most */
    int64_t *value;                       /* of each variable, for sample_trips */
};

static double vectors(const struct worker *w, int lanes)
{
    return ceil((double)lanes / w->u->lanes);
}

static double registers(const struct worker *w, int reg)
{
    return vectors(w, w->u->regs.data[reg].lanes);
}

static struct line_reg *use(struct worker *w, int reg, bool before_set)
{
    struct line_reg *r = &w->reg[reg];
    if (r->line != w->line) {
        *r = (struct line_reg){ .line = w->line, .first = w->statement, .resident = before_set,
                                .sets = r->sets };
        vec_push(&w->used, reg);
    }
    r->last = w->statement;
    return r;
}

static void count_arithmetic(struct worker *w, int lanes, double times, struct line_work *l)
{
    if (lanes > 1)
        l->vector += times * vectors(w, lanes);
    else
        l->scalar += times;
}

static bool is_product(const struct code_term *t)
{
    return t->kind == TERM_BIN && t->op == VAL_MUL;
}

/* Whether t is a product of vectors with a loaded scalar that must first be broadcast to a register
 * of its own.  AVX-512 needs no such register: its instructions broadcast a scalar that they read
 * from memory. */
static bool is_broadcast(const struct worker *w, const struct code_term *t)
{
    return is_product(t) && t->lanes > 1 && w->u->opts->target->vector_bytes < 64 &&
           ((t->a->kind == TERM_LOAD && t->a->lanes == 1) ||
            (t->b->kind == TERM_LOAD && t->b->lanes == 1));
}

static void count_operation(struct worker *w, const struct code_term *t, struct line_work *l)
{
    l->broadcast = l->broadcast || is_broadcast(w, t);
    bool across = t->kind == TERM_CALL && (t->op == VAL_ADD || t->op == VAL_MAX);
    bool fused = t->kind == TERM_BIN && (t->op == VAL_ADD || t->op == VAL_SUB) &&
                 (is_product(t->a) || is_product(t->b));
    if (across)
        l->moves += ACROSS_COST;
    else if (!fused)                      /* a fused sum is counted with its product */
        count_arithmetic(w, t->lanes, t->kind == TERM_CALL ? FUNCTION_COST : 1, l);
}

static bool same_scalar(const struct code_term *x, const struct code_term *y)
{
    return x->kind == y->kind &&
           ((x->kind == TERM_LOAD && place_same(&x->at, &y->at)) ||
            (x->kind == TERM_REG && x->reg == y->reg && x->lane == y->lane) ||
            (x->kind == TERM_CONST && x->value == y->value));
}

static void count_term(struct worker *w, const struct code_term *t, struct line_work *l);

/* Counts a gather: one move for each distinct scalar. A scalar that several lanes share is
 * broadcast and blended once. */
static void count_gather(struct worker *w, const struct code_term *t, struct line_work *l)
{
    for (int i = 0; i < t->lanes; i++) {
        bool again = false;
        for (int k = 0; k < i && !again; k++)
            again = same_scalar(t->part[k], t->part[i]);
        if (again)
            continue;
        l->moves++;
        count_term(w, t->part[i], l);
    }
}

static void count_term(struct worker *w, const struct code_term *t, struct line_work *l)
{
    if (t->kind == TERM_LOAD)
        *(t->lanes > 1 ? &l->loads : &l->broadcasts) += vectors(w, t->lanes);
    if (t->kind == TERM_REG) {
        use(w, t->reg, true);
        l->moves += t->lane >= 0;
    }
    if (t->kind == TERM_SHUFFLE)
        l->moves += vectors(w, t->lanes);
    if (t->kind == TERM_GATHER)
        count_gather(w, t, l);
    if (t->kind == TERM_BIN || t->kind == TERM_CALL)
        count_operation(w, t, l);
    if (t->kind == TERM_SELECT)
        count_arithmetic(w, t->lanes, 1, l);
    if (t->a)
        count_term(w, t->a, l);
    if (t->b)
        count_term(w, t->b, l);
}

/* An update of an element in memory waits for the last update of the same element.  Between the two
 * are the updates of other elements by the innermost loops over which `at` moves.  The same element
 * is then updated as often as the loop around these has iterations. */
static void count_wait(const struct worker *w, const struct place *at, struct line_work *l)
{
    double between = 1;
    int i = w->loops.len - 1;
    for (; i >= 0 && expr_uses(at->base, w->loops.data[i].var); i--)
        between *= fmax(1, w->loops.data[i].trips);
    double trips = i >= 0 ? w->loops.data[i].trips : 1;
    if (trips > 1 && MEMORY_LATENCY / between > l->wait) {
        l->wait = MEMORY_LATENCY / between;
        l->waits = between * trips;
    }
}

static void count_set(struct worker *w, const struct code *c, struct line_work *l)
{
    int lanes = c->reg >= 0 ? w->u->regs.data[c->reg].lanes : c->at.lanes;
    count_term(w, c->value, l);
    if (c->how != STORE_SET && !(c->how == STORE_ADD && is_product(c->value)))
        count_arithmetic(w, lanes, 1, l);
    if (c->reg >= 0) {
        struct line_reg *r = use(w, c->reg, c->how != STORE_SET || c->lane >= 0);
        r->updates += c->how != STORE_SET;
        r->sets = c->how == STORE_SET ? w->times : r->sets;
        l->chain = fmax(l->chain, r->resident ? r->updates : 0);
        l->moves += c->lane >= 0;
    } else {
        *(lanes > 1 ? &l->stores : &l->scalar_stores) += vectors(w, lanes);
        if (c->how != STORE_SET) {
            *(lanes > 1 ? &l->loads : &l->broadcasts) += vectors(w, lanes);
            count_wait(w, &c->at, l);
        }
    }
    l->statements++;
    w->statement++;
}

/* Returns the most registers that are live at once in the line. */
static double pressure_of(struct worker *w, int n)
{
    double resident = 0, most = 0, now = 0;
    double *change = ARENA_ARRAY(w->u->arena, double, n + 2);
    for (int i = 0; i < w->used.len; i++) {
        const struct line_reg *r = &w->reg[w->used.data[i]];
        double size = registers(w, w->used.data[i]);
        if (r->resident)
            resident += size;
        else {
            change[r->first] += size;
            change[r->last + 1] -= size;
        }
    }
    for (int i = 0; i <= n; i++) {
        now += change[i];
        most = fmax(most, now);
    }
    return resident + most;
}

/* Returns the number of registers of the line that hold elements of a tile. */
static double registers_of_tile(const struct worker *w, int tile)
{
    double n = 0;
    for (int i = 0; i < w->used.len; i++)
        if (w->u->regs.data[w->used.data[i]].tile == tile)
            n += registers(w, w->used.data[i]);
    return n;
}

/* Stores in w->out the tile that has most registers in the line, and their number. */
static void find_tile(struct worker *w)
{
    w->out->tile = 0;
    w->out->tile_registers = 0;
    for (int tile = w->u->func->n_params; tile < w->u->func->n_buffers; tile++) {
        double n = registers_of_tile(w, tile);
        if (n > w->out->tile_registers) {
            w->out->tile = tile;
            w->out->tile_registers = n;
        }
    }
}

/* Returns how many chains overlap of which each is `executions` of a line with `ops` operations:
 * the one that is executed, and those of which the window has operations already.  A chain of n
 * updates whose window reaches w updates ahead ends n - w updates after the chain before, not n. */
static double overlap(double executions, double ops)
{
    return 1 + WINDOW / (executions * ops);
}

/* Returns the cycles of one execution of the line for a CPU that starts operations out of order.
 * turns: how many cycles one of its two ports needs for a vector.  Updates of a register wait for
 * each other, and n of them are a chain of n * FMA_LATENCY cycles, where a statement sets the
 * register once for n updates.  If the operations of several such chains fit into the window, these
 * chains overlap.  The same holds for updates of an element in memory. */
static double out_of_order(const struct worker *w, const struct line_work *l, double spilled,
                           double turns)
{
    double wide = l->loads + spilled, ops = l->vector + l->scalar + wide + l->broadcasts
                + l->stores + l->scalar_stores + spilled + l->moves + 1;
    double sums = turns * l->vector + l->scalar, loads = turns * wide + l->broadcasts;
    double stores = turns * (l->stores + spilled) + l->scalar_stores;
    double most = fmax(fmax(sums / 2, loads / 2), fmax(stores, MOVE_COST * l->moves));
    most = fmax(most, ops / WIDTH);
    for (int i = 0; i < w->used.len; i++) {
        const struct line_reg *r = &w->reg[w->used.data[i]];
        double lines = r->sets > 0 ? fmax(1, w->times / r->sets) : 1;
        most = fmax(most, FMA_LATENCY * r->updates / overlap(lines, ops));
    }
    return fmax(most, l->wait / overlap(l->waits, ops));
}

static double cycles_of(const struct line_work *l, double spilled, bool in_loop)
{
    double loads = l->loads + l->broadcasts + spilled;
    double stores = l->stores + l->scalar_stores + spilled;
    double sums = l->vector + l->scalar;
    double most = fmax(fmax(sums / 2, loads / 2), fmax(stores, MOVE_COST * l->moves));
    most = fmax(most, (sums + loads + stores + l->moves) / 4);
    return in_loop ? fmax(most, FMA_LATENCY * l->chain) : most;
}

/* Adds a straight line that is executed `times` times. */
static void add_line(struct worker *w, struct line_work *l, double times, bool in_loop)
{
    struct gen_work *o = w->out;
    l->pressure = pressure_of(w, l->statements) + l->broadcast;
    double over = fmax(0, l->pressure - w->u->opts->target->registers);
    double spilled = SPILL_COST * over / 2, cycles = times * cycles_of(l, spilled, in_loop);
    o->vector += times * l->vector;
    o->scalar += times * l->scalar;
    o->loads += times * l->loads;
    o->broadcasts += times * l->broadcasts;
    o->stores += times * l->stores;
    o->scalar_stores += times * l->scalar_stores;
    o->moves += times * l->moves;
    o->spills += times * SPILL_COST * over;
    o->cycles += cycles;
    o->out_of_order.whole += times * out_of_order(w, l, spilled, 1);
    o->out_of_order.halved += times * out_of_order(w, l, spilled, 2);
    o->statements += l->statements;
    if (o->asked)
        o->asked_registers = fmax(o->asked_registers, registers_of_tile(w, o->asked));
    if (cycles > w->hottest) {
        w->hottest = cycles;
        o->pressure = l->pressure;
        o->body = l->statements;
        o->chain = l->chain;
        find_tile(w);
    }
}

/* Sets the variables of e to the middles of their ranges. */
static void set_middles(struct worker *w, const struct expr *e)
{
    if (e->kind == EXPR_VAR)
        w->value[e->var] = e->lo + (e->hi - e->lo) / 2;
    if (e->a)
        set_middles(w, e->a);
    if (e->b)
        set_middles(w, e->b);
}

static bool bounds_use(const struct code *c, const struct expr *var)
{
    return expr_uses(c->begin, var) || expr_uses(c->end, var);
}

/* Returns the mean number of iterations of c over the values of the loops around it, from number
 * `loop` on, that its bounds use.  points: how many values of each are tried, evenly spread. */
static double sample_trips(struct worker *w, const struct code *c, int loop, int points)
{
    while (loop < w->loops.len && !bounds_use(c, w->loops.data[loop].var))
        loop++;
    if (loop == w->loops.len)
        return fmax(0, (double)(expr_eval(c->end, w->value) - expr_eval(c->begin, w->value)));
    const struct expr *var = w->loops.data[loop].var;
    int64_t all = var->hi - var->lo + 1, n = all < points ? all : points;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        w->value[var->var] = var->lo + (2 * i + 1) * all / (2 * n);
        sum += sample_trips(w, c, loop + 1, points);
    }
    return sum / (double)n;
}

/* Returns an estimate of the mean number of iterations of a loop, from some hundred combinations of
 * values of the loops around it at most. */
static double mean_trips(struct worker *w, const struct code *c)
{
    int used = 0;
    if (c->begin->kind == EXPR_CONST && c->end->kind == EXPR_CONST)
        return fmax(0, (double)(c->end->value - c->begin->value));
    set_middles(w, c->begin);
    set_middles(w, c->end);
    for (int i = 0; i < w->loops.len; i++)
        used += bounds_use(c, w->loops.data[i].var);
    return sample_trips(w, c, 0, used > 4 ? 2 : used > 2 ? 4 : used == 2 ? 16 : 256);
}

static void count_block(struct worker *w, const struct block *b, double times, bool in_loop);

static void count_inside(struct worker *w, const struct code *c, double times, bool in_loop)
{
    if (c->kind == CODE_FOR) {
        double trips = mean_trips(w, c);
        w->out->iterations += times * trips;
        w->out->cycles += times * trips;
        vec_push(&w->loops, ((struct work_loop){ c->var, trips }));
        count_block(w, &c->body, times * trips, true);
        w->loops.len--;
    } else {
        w->out->conditions += c->kind == CODE_IF ? times : 0;
        count_block(w, &c->body, times, in_loop);
    }
}

static void count_block(struct worker *w, const struct block *b, double times, bool in_loop)
{
    for (int i = 0; i < b->n;) {
        if (b->item[i]->kind != CODE_SET) {
            count_inside(w, b->item[i++], times, in_loop);
            continue;
        }
        struct line_work l = { 0 };
        w->line++;
        w->statement = 0;
        w->times = times;
        vec_clear(&w->used);
        for (; i < b->n && b->item[i]->kind != CODE_FOR && b->item[i]->kind != CODE_IF &&
               b->item[i]->kind != CODE_SCOPE; i++)
            if (b->item[i]->kind == CODE_SET)
                count_set(w, b->item[i], &l);
        add_line(w, &l, times, in_loop);
    }
}

void code_count_work(struct unit *u, struct gen_work *out)
{
    struct worker w = { .u = u, .out = out };
    w.reg = ARENA_ARRAY(u->arena, struct line_reg, u->regs.len + 1);
    w.value = ARENA_ARRAY(u->arena, int64_t, exprs_n_vars(u->func->pool));
    count_block(&w, &u->body, 1, false);
    vec_free(&w.used);
    vec_free(&w.loops);
}
