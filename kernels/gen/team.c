/* The OpenMP pragma of a parallel loop: how the threads of a team share its iterations. */
#include "kernels/gen/gen_impl.h"

#include <math.h>

/* The threads of a long loop take its parts dynamically, so that no thread waits long for another
 * one whose core also did other work. This made a BERT 5 % faster on two cores of a virtual
 * machine.  A part is one iteration, or as many as make up to PART_UPDATES element updates.  These
 * updates take a core 6 us or longer, and taking a part costs less than 1 us.  A fixed number of
 * parts would not suffice for many threads. A loop with LONG_UPDATES takes a core 0.2 ms.  In
 * shorter loops, dynamic parts cost more than they save. */
#define PART_UPDATES 5e5
#define LONG_UPDATES (32 * PART_UPDATES)
#define LEAST_ITERATIONS 16               /* fewest of a loop whose parts are taken dynamically */

static bool depends_on(const struct code *inner, const struct expr *var)
{
    return expr_uses(inner->begin, var) || expr_uses(inner->end, var);
}

/* Returns how many directly nested parallel loops begin at c and can be collapsed: their bounds do
 * not depend on one another.  One team of threads shares the iterations of all of them. */
static int count_collapse(const struct code *c)
{
    const struct expr *vars[MAX_DIMS];
    int n = 0;
    while (n < MAX_DIMS) {
        vars[n++] = c->var;
        if (c->body.n != 1)
            return n;
        c = c->body.item[0];
        if (c->kind != CODE_FOR || c->ann != LOOP_PARALLEL)
            return n;
        for (int i = 0; i < n; i++)
            if (depends_on(c, vars[i]))
                return n;
    }
    return n;
}

/* Returns the number of elements that all statements of the block together update, at most. */
static double updates(const struct block *b)
{
    double sum = 0;
    for (int i = 0; i < b->n; i++) {
        const struct code *c = b->item[i];
        sum += c->kind == CODE_SET ? c->value->lanes
             : updates(&c->body) * (c->kind == CODE_FOR ? code_trips(c) : 1);
    }
    return sum;
}

void code_team(const struct code *c, struct str *out)
{
    int n = count_collapse(c);
    const struct code *inner = c;
    double iterations = code_trips(c);
    for (int i = 1; i < n; i++) {
        inner = inner->body.item[0];
        iterations *= code_trips(inner);
    }
    double each = updates(&inner->body);
    bool turns = iterations >= LEAST_ITERATIONS && iterations * each >= LONG_UPDATES;
    str_add(out, "#pragma omp parallel for schedule(");
    if (turns)
        str_printf(out, "dynamic, %.0f)", fmax(1, floor(PART_UPDATES / each)));
    else
        str_add(out, "static)");
    if (n > 1)
        str_printf(out, " collapse(%d)", n);
    str_add_char(out, '\n');
}
