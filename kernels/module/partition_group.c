/* Groups of statements: by the rule, and by steps that override it. */
#include "kernels/module/partition_impl.h"

#include <string.h>

#include "kernels/base/arena.h"
#include "kernels/ops/compose_ops.h"

#define MOST_BY_RULE 9                    /* most statements of a kernel made by the rule */
#define TENSORS_FIX \
    "to see the tensors, press Tab in the command line of the list of kernels, or run tilescope " \
    "show --what simplified"
#define MOST 48  /* most statements of a kernel made by steps: a longer function compiles slowly */

/* --- The rule --------------------------------------------------------------------------------- */

bool cutter_is_view(const struct cutter *c, const struct cut_group *group)
{
    return group->n == 1 && compose_op_kind(c->g->statement[group->member[0]].op) == COMPOSE_VIEW;
}

/* Whether a statement only moves elements. By the rule, no statement joins its kernel. */
static bool is_movement(const struct graph_statement *s)
{
    enum compose_kind kind = compose_op_kind(s->op);
    return kind == COMPOSE_MOVE || kind == COMPOSE_VIEW;
}

static bool is_constant(const struct cutter *c, const struct graph_statement *s)
{
    for (int i = 0; i < s->n_args; i++) {
        int t = s->arg[i], m = c->maker[t];
        if (m >= 0 ? !c->groups.data[c->group_of[m]].constant
                   : c->g->tensor[t].role != TENSOR_CONST)
            return false;
    }
    return true;
}

/* Returns the group that statement s joins by the rule; -1: it begins a group. A jump
 * (compose_ops.h) always begins one: if the operand of a jump were not stored, a check could not
 * tell a rounding error of the operand from a wrong result. */
static int group_to_join(const struct cutter *c, const struct graph_statement *s, bool constant)
{
    int best = -1;
    bool joins = compose_op_kind(s->op) == COMPOSE_ELEMENTWISE;
    for (int i = 0; i < s->n_args && joins; i++) {
        const struct tensor *t = &c->g->tensor[s->arg[i]];
        int m = c->maker[s->arg[i]];
        if (m < 0 || c->readers[s->arg[i]] > 1 || t->role == TENSOR_OUTPUT
            || c->mark[s->arg[i]] == CUT_HERE
            || !tensor_same_shape(t, &c->g->tensor[s->out]) || is_movement(&c->g->statement[m]))
            continue;
        const struct cut_group *to = &c->groups.data[c->group_of[m]];
        bool fits = to->out == s->arg[i] && to->n < MOST_BY_RULE && to->constant == constant;
        if (fits && (best < 0 || to->last > c->groups.data[best].last))
            best = c->group_of[m];
    }
    return best;
}

/* Makes all statements of group `from` members of group `to`. */
static void merge(struct cutter *c, int from, int to)
{
    for (int i = 0; i <= c->groups.data[from].last; i++)
        if (c->group_of[i] == from)
            c->group_of[i] = to;
    c->groups.data[to].n += c->groups.data[from].n;
    c->groups.data[from].n = 0;
}

/* Returns the group of statement s by the rule and the steps. Adds it if it is new. */
static int choose_group(struct cutter *c, const struct graph_statement *s)
{
    bool constant = is_constant(c, s);
    int to = group_to_join(c, s, constant);
    for (int i = 0; i < s->n_args; i++) {
        int from = c->maker[s->arg[i]] < 0 ? -1 : c->group_of[c->maker[s->arg[i]]];
        if (from < 0 || from == to || c->mark[s->arg[i]] != CUT_NOT_HERE)
            continue;
        if (to >= 0)
            merge(c, from, to);
        else
            to = from;
    }
    if (to >= 0)
        return to;
    struct cut_group fresh = { .constant = constant };
    vec_push(&c->groups, fresh);
    return c->groups.len - 1;
}

static void make_groups(struct cutter *c)
{
    vec_clear(&c->groups);
    for (int i = 0; i < c->g->n_statements; i++)
        c->group_of[i] = -1;
    for (int i = 0; i < c->g->n_statements; i++) {
        const struct graph_statement *s = &c->g->statement[i];
        int to = choose_group(c, s);
        struct cut_group *g = &c->groups.data[to];
        g->n++;
        g->last = i;
        g->out = s->out;
        c->group_of[i] = to;
    }
}

/* Lists the members of each group. */
static void list_members(struct cutter *c)
{
    for (int k = 0; k < c->groups.len; k++) {
        struct cut_group *g = &c->groups.data[k];
        int n = 0, *member = ARENA_ARRAY(c->a, int, g->n);
        for (int i = 0; i <= g->last && n < g->n; i++)
            if (c->group_of[i] == k)
                member[n++] = i;
        g->member = member;
    }
}

static void count_readers(struct cutter *c)
{
    const struct graph *g = c->g;
    for (int t = 0; t < g->n_tensors; t++)
        c->maker[t] = -1;
    for (int i = 0; i < g->n_statements; i++) {
        const struct graph_statement *s = &g->statement[i];
        c->maker[s->out] = i;
        for (int k = 0; k < s->n_args; k++) {
            bool again = false;
            for (int b = 0; b < k; b++)
                again |= s->arg[b] == s->arg[k];
            c->readers[s->arg[k]] += !again;
        }
    }
}

/* --- Steps ------------------------------------------------------------------------------------ */

static const char *name_of(const struct cutter *c, int tensor)
{
    return c->g->tensor[tensor].name;
}

/* Finds a tensor that a statement computes. */
static bool find_made(const struct cutter *c, const char *name, int *tensor, struct err *e)
{
    *tensor = graph_tensor(c->g, name);
    if (*tensor < 0) {
        err_set(e, ERR_NAME, "the network has no tensor %.80s", name);
        return err_fix(e, TENSORS_FIX);
    }
    return c->maker[*tensor] >= 0
        || err_set(e, ERR_STEP, "no kernel computes %.80s", name_of(c, *tensor));
}

/* Whether statement i reads the tensor. */
static bool reads(const struct cutter *c, int i, int tensor)
{
    const struct graph_statement *s = &c->g->statement[i];
    for (int k = 0; k < s->n_args; k++)
        if (s->arg[k] == tensor)
            return true;
    return false;
}

/* Returns a statement that reads the tensor, inside or outside of the group; -1: there is none. */
static int reader(const struct cutter *c, int tensor, int group, bool inside)
{
    for (int i = 0; i < c->g->n_statements; i++)
        if ((c->group_of[i] == group) == inside && reads(c, i, tensor))
            return i;
    return -1;
}

static bool cut(struct cutter *c, const char *name, struct err *e)
{
    int t;
    if (!find_made(c, name, &t, e))
        return false;
    if (c->groups.data[c->group_of[c->maker[t]]].out == t)
        return err_set(e, ERR_STEP, "%.80s is the result of a kernel already", name_of(c, t));
    c->mark[t] = CUT_HERE;
    make_groups(c);
    return c->groups.data[c->group_of[c->maker[t]]].out == t
        || err_set(e, ERR_STEP, "%.80s cannot be cut: another tensor still connects the operators "
                   "before and after it", name_of(c, t));
}

/* Checks that groups x and y can become one kernel, which does not store the result of x. */
static bool may_join(const struct cutter *c, int x, int y, struct err *e)
{
    const struct cut_group *a = &c->groups.data[x], *b = &c->groups.data[y];
    const char *name = name_of(c, a->out);
    int other = reader(c, a->out, y, false);
    if (x == y)
        return err_set(e, ERR_STEP, "the two tensors are already computed by one kernel");
    if (reader(c, a->out, y, true) < 0) {
        err_set(e, ERR_STEP, "the kernel of %.80s does not read %.80s, which the other kernel "
                "computes", name_of(c, b->out), name);
        return err_fix(e, "join a kernel with one that reads its result, the reader last");
    }
    if (c->g->tensor[a->out].role == TENSOR_OUTPUT)
        return err_set(e, ERR_STEP, "%.80s is an output of the network, so a kernel ends there",
                       name);
    if (other >= 0) {
        err_set(e, ERR_STEP, "%.80s has to be stored, because %.80s reads it as well", name,
                name_of(c, c->g->statement[other].out));
        return err_fix(e, "only a tensor that one kernel reads can stay inside");
    }
    if (a->constant != b->constant)
        return err_set(e, ERR_STEP, "%.80s depends on constants only, so its kernel runs once; "
                       "joined to a kernel of every run, it would run each time", name);
    return a->n + b->n <= MOST
        || err_set(e, ERR_STEP, "the kernel would have more than %d statements", MOST);
}

static bool join(struct cutter *c, const char *first, const char *second, struct err *e)
{
    int a, b;
    if (!find_made(c, first, &a, e) || !find_made(c, second, &b, e)
        || !may_join(c, c->group_of[c->maker[a]], c->group_of[c->maker[b]], e))
        return false;
    c->mark[c->groups.data[c->group_of[c->maker[a]]].out] = CUT_NOT_HERE;
    make_groups(c);
    return true;
}

/* Checks that every tensor that a kernel reads from another kernel is the result of that
 * other kernel. */
static bool is_sound(const struct cutter *c, struct err *e)
{
    for (int i = 0; i < c->g->n_statements; i++) {
        const struct graph_statement *s = &c->g->statement[i];
        for (int k = 0; k < s->n_args; k++) {
            int m = c->maker[s->arg[k]];
            if (m >= 0 && c->group_of[m] != c->group_of[i]
                && c->groups.data[c->group_of[m]].out != s->arg[k])
                return err_set(e, ERR_STEP, "%.80s reads %.80s, which would stay inside a kernel",
                               name_of(c, s->out), name_of(c, s->arg[k]));
        }
    }
    return true;
}

static bool apply(struct cutter *c, const char *step, struct err *e)
{
    char *text = arena_strdup(c->a, step), *rest = NULL, *word[5];
    int n = 0;
    for (char *w = strtok_r(text, " \t", &rest); w && n < COUNT_OF(word);
         w = strtok_r(NULL, " \t", &rest))
        word[n++] = w;
    bool module = n > 0 && streq(word[0], "module");
    if (module && n == 3 && streq(word[1], "cut"))
        return cut(c, word[2], e) && is_sound(c, e);
    if (module && n == 4 && streq(word[1], "join"))
        return join(c, word[2], word[3], e) && is_sound(c, e);
    err_set(e, ERR_SYNTAX, "a step of a network is: module cut TENSOR, or: module join TENSOR "
            "TENSOR");
    return err_fix(e, module ? TENSORS_FIX
                             : "apply other steps (layout, loop, ...) to a kernel, not to the "
                               "network");
}

bool cutter_make(struct cutter *c, struct arena *a, const struct graph *g, int n_steps,
                 const char *const *step, struct err *e)
{
    *c = (struct cutter){ .a = a, .g = g, .maker = ARENA_ARRAY(a, int, g->n_tensors),
                          .readers = ARENA_ARRAY(a, int, g->n_tensors),
                          .mark = ARENA_ARRAY(a, enum cut_mark, g->n_tensors),
                          .group_of = ARENA_ARRAY(a, int, g->n_statements) };
    count_readers(c);
    make_groups(c);
    for (int i = 0; i < n_steps; i++) {
        if (apply(c, step[i], e))
            continue;
        return err_prefix(e, "%.100s: ", step[i]);
    }
    list_members(c);
    return true;
}
