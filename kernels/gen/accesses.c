/* Questions about the accesses of code, and the choice of the loops that the simulator samples. */
#include "kernels/gen/gen_impl.h"

#define MARK_TRIPS 4096.0  /* enough iterations to sample, counted over all outer loops */
/* choose_mark descends to an inner loop only if one of its iterations makes at least this many
 * accesses: with fewer, calling ts->mark would cost too much. */
#define MARK_ACCESSES 256.0
#define MARK_SHARE 0.9  /* the main loop of a body makes at least this share of its accesses */

int code_reads(const struct code_term *t)
{
    int reads = t->kind == TERM_LOAD;
    reads += (t->a ? code_reads(t->a) : 0) + (t->b ? code_reads(t->b) : 0);
    for (int i = 0; t->part && i < t->lanes; i++)
        reads += code_reads(t->part[i]);
    return reads;
}

/* Counts the accesses of a statement, including both sides of every select. */
static int set_touches(const struct code *c)
{
    bool stores = c->kind == CODE_SET && c->reg < 0;
    return code_reads(c->value) + (stores ? 1 + (c->how != STORE_SET) : 0);
}

bool block_touches(const struct block *b)
{
    for (int i = 0; i < b->n; i++) {
        const struct code *c = b->item[i];
        if (code_has_value(c) ? set_touches(c) > 0 : block_touches(&c->body))
            return true;
    }
    return false;
}

double block_accesses(const struct block *b)
{
    double n = 0;
    for (int i = 0; i < b->n; i++) {
        const struct code *c = b->item[i];
        if (code_has_value(c))
            n += set_touches(c);
        else
            n += block_accesses(&c->body) * (c->kind == CODE_FOR ? code_trips(c) : 1);
    }
    return n;
}

static bool term_asks(const struct code_term *t, const struct expr *var)
{
    if (t->kind == TERM_SELECT && expr_uses(t->cond, var))
        return true;
    if ((t->a && term_asks(t->a, var)) || (t->b && term_asks(t->b, var)))
        return true;
    for (int i = 0; t->part && i < t->lanes; i++)
        if (term_asks(t->part[i], var))
            return true;
    return false;
}

bool block_asks(const struct block *b, const struct expr *var)
{
    for (int i = 0; i < b->n; i++) {
        const struct code *c = b->item[i];
        if ((c->kind == CODE_IF && expr_uses(c->cond, var))
            || (c->kind == CODE_FOR && (expr_uses(c->begin, var) || expr_uses(c->end, var)))
            || (code_has_value(c) ? term_asks(c->value, var) : block_asks(&c->body, var)))
            return true;
    }
    return false;
}

/* Returns the loop in b that makes nearly all of b's accesses, or NULL. */
static const struct code *main_loop(const struct block *b, double all)
{
    for (int i = 0; i < b->n; i++) {
        const struct code *c = b->item[i];
        if (c->kind == CODE_FOR && block_accesses(&c->body) * code_trips(c) >= MARK_SHARE * all)
            return c;
        const struct code *inside = c->kind == CODE_IF || c->kind == CODE_SCOPE
                                  ? main_loop(&c->body, all) : NULL;
        if (inside)
            return inside;
    }
    return NULL;
}

/* Chooses the loop of nest c to mark, and lists in `loops` the axes down to it. */
static const struct code *choose_mark(const struct code *c, struct str *loops)
{
    double trips = 1;
    for (;;) {
        double each = block_accesses(&c->body);
        trips *= code_trips(c);
        if (c->axis && (code_trips(c) > 1 || loops->len == 0))
            str_printf(loops, "%s%s", loops->len ? " " : "", c->axis);
        const struct code *inside = main_loop(&c->body, each);
        if (trips >= MARK_TRIPS || !inside || block_accesses(&inside->body) < MARK_ACCESSES)
            return c;
        c = inside;
    }
}

void code_find_marks(const struct block *b, struct arena *a, struct marked *m)
{
    for (int i = 0; i < b->n; i++) {
        const struct code *c = b->item[i];
        if (c->kind == CODE_IF || c->kind == CODE_SCOPE)
            code_find_marks(&c->body, a, m);
        if (c->kind != CODE_FOR || !block_touches(&c->body) || m->n == GEN_MAX_MARKS)
            continue;
        struct str loops = { 0 };
        m->loop[m->n] = choose_mark(c, &loops);
        m->axes[m->n++] = arena_strdup(a, str_text(&loops));
        str_free(&loops);
    }
}

int code_mark_of(const struct marked *m, const struct code *c)
{
    for (int i = 0; i < m->n; i++)
        if (m->loop[i] == c)
            return i;
    return -1;
}
