/* The tree of states.
 *
 * States that no branch reaches any more remain in the array, so that no other state gets their id:
 * a background measurement of state 7 may finish after the user has dropped this state, and must
 * not be stored in another one.  Only a rebase that fails removes the states that it has added. */
#include "explorer/history/history_impl.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/program/contract.h"

#define BRANCH_NAME_MAX 40
#define FIRST_BRANCH "main"

bool history_new(const char *spec, struct history **out, struct err *e)
{
    struct arena *arena = arena_new();
    const struct program *bare;
    if (!program_new(arena, spec, &bare, e)) {
        arena_free(arena);
        return false;
    }
    struct history *h = xcalloc(1, sizeof *h);
    h->arena = arena;
    struct state *root = ARENA_NEW(arena, struct state);
    *root = (struct state){ .id = 0, .parent = -1, .step = "", .program = bare };
    vec_push(&h->states, root);
    vec_push(&h->branches, (struct branch){ .name = FIRST_BRANCH, .tip = 0, .at = 0 });
    *out = h;
    return true;
}

void history_free(struct history *h)
{
    if (!h)
        return;
    vec_free(&h->states);
    vec_free(&h->branches);
    vec_free(&h->saved);
    vec_free(&h->path);
    vec_free(&h->others);
    vec_free(&h->changes);
    arena_free(h->arena);
    free(h);
}

const char *history_spec(const struct history *h)
{
    return h->states.data[0]->program->base->spec;
}

int history_n_states(const struct history *h)
{
    return h->states.len;
}

const struct state *history_state(const struct history *h, int id)
{
    return h->states.data[id];
}

const struct state *history_current(const struct history *h)
{
    return h->states.data[h->branches.data[h->current].at];
}

int history_n_branches(const struct history *h)
{
    return h->branches.len;
}

const struct branch *history_branch(const struct history *h, int i)
{
    return &h->branches.data[i];
}

int history_branch_index(const struct history *h)
{
    return h->current;
}

static int depth_of(const struct history *h, int id)
{
    int depth = 0;
    for (; h->states.data[id]->parent >= 0; id = h->states.data[id]->parent)
        depth++;
    return depth;
}

/* Fills h->path. h is const because the path is only a cache. */
const int *history_path(const struct history *h, int b, int *n, int *at)
{
    struct history *cache = (struct history *)h;
    const struct branch *br = &h->branches.data[b];
    int len = depth_of(h, br->tip) + 1;
    vec_clear(&cache->path);
    for (int i = 0; i < len; i++)
        vec_push(&cache->path, 0);
    for (int i = len - 1, id = br->tip; i >= 0; id = h->states.data[id]->parent, i--)
        cache->path.data[i] = id;
    *n = len;
    *at = depth_of(h, br->at);
    return h->path.data;
}

int history_position(const struct history *h)
{
    return depth_of(h, h->branches.data[h->current].at);
}

/* --- Branches by name ------------------------------------------------------------------------- */

static int find_branch(const struct history *h, const char *name)
{
    for (int i = 0; i < h->branches.len; i++)
        if (streq(h->branches.data[i].name, name))
            return i;
    return -1;
}

static bool name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '~' || c == '-';
}

static bool check_name(const char *name, struct err *e)
{
    size_t len = strlen(name), good = 0;
    while (good < len && isascii((unsigned char)name[good]) && name_char(name[good]))
        good++;
    if (len > 0 && len <= BRANCH_NAME_MAX && good == len)
        return true;
    err_set(e, ERR_NAME, "\"%.60s\" is not a legal name for a branch", name);
    return err_fix(e, "use 1 to %d letters, digits and _ . ~ -", BRANCH_NAME_MAX);
}

static bool no_such_branch(const struct history *h, const char *name, struct err *e)
{
    VEC(const char *) names = {0};
    struct str list = {0};
    for (int i = 0; i < h->branches.len; i++) {
        vec_push(&names, h->branches.data[i].name);
        if (i < 8)
            str_printf(&list, "%s%s", i ? ", " : "", names.data[i]);
    }
    err_set(e, ERR_NAME, "there is no branch \"%.60s\"", name);
    err_near(e, name, names.data, names.len, "did you mean \"%s\"?", "there %s %s%s",
             names.len > 1 ? "are" : "is only", str_text(&list), names.len > 8 ? ", ..." : "");
    str_free(&list);
    vec_free(&names);
    return false;
}

/* Returns the first free name of "main~1", "main~2"..., shortened to a legal length. A branch that
 * is itself called "main~1" gets a name of the same series. */
static const char *auto_name(struct history *h, const char *name)
{
    for (int k = 1;; k++) {
        int digits = snprintf(NULL, 0, "~%d", k), n = (int)strcspn(name, "~");
        n = n < BRANCH_NAME_MAX - digits ? n : BRANCH_NAME_MAX - digits;
        const char *full = arena_printf(h->arena, "%.*s~%d", n, name, k);
        if (find_branch(h, full) < 0)
            return full;
    }
}

/* Returns the first free name of "b1", "b2"... */
static const char *default_name(struct history *h)
{
    for (int k = 1;; k++) {
        const char *name = arena_printf(h->arena, "b%d", k);
        if (find_branch(h, name) < 0)
            return name;
    }
}

/* --- Moving ----------------------------------------------------------------------------------- */

struct branch *history_here(struct history *h)
{
    return &h->branches.data[h->current];
}

bool history_leads(const struct history *h, int old, int young)
{
    while (young > old)                   /* parents have smaller ids */
        young = h->states.data[young]->parent;
    return young == old;
}

const char *history_keep(struct history *h, int tip, int at)
{
    const char *name = auto_name(h, history_here(h)->name);
    vec_push(&h->branches, (struct branch){ .name = name, .tip = tip, .at = at });
    return name;
}

int history_add(struct history *h, int parent, const char *step, const struct program *p,
                const char *held)
{
    struct state *s = ARENA_NEW(h->arena, struct state);
    *s = (struct state){ .id = h->states.len, .parent = parent, .step = step, .program = p,
                         .held = held };
    vec_push(&h->states, s);
    return s->id;
}

bool history_keeps_undone(const struct history *h)
{
    const struct branch *b = &h->branches.data[h->current];
    return b->at != b->tip && history_precious(h, b->tip, b->at);
}

/* Returns the first undone state of the current branch if its step is applied and has this text;
 * -1: it has not. */
static int undone_again(struct history *h, const char *step)
{
    int len, at;
    const int *path = history_path(h, h->current, &len, &at);
    const struct state *s = at + 1 < len ? history_state(h, path[at + 1]) : NULL;
    return s && !s->held && streq(s->step, step) && !history_is_behind(h) ? s->id : -1;
}

bool history_apply(struct history *h, const char *line, struct err *e)
{
    const struct step *step;
    const struct program *next;
    if (!step_parse(h->arena, line, &step, e))
        return false;
    if (!program_apply(history_current(h)->program, step, &next, e)) {
        if (!e->source[0])
            err_where(e, NULL, 0, e->at.col, line);
        return false;
    }
    int id = undone_again(h, step->text);
    if (id >= 0) {
        history_here(h)->at = id;
        return true;
    }
    if (history_keeps_undone(h))
        history_keep(h, history_here(h)->tip, history_here(h)->tip);
    id = history_add(h, history_here(h)->at, step->text, next, NULL);
    history_here(h)->at = history_here(h)->tip = id;
    return true;
}

bool history_goto(struct history *h, int position, struct err *e)
{
    int len, at;
    const int *path = history_path(h, h->current, &len, &at);
    if (position < 0 || position >= len) {
        err_set(e, ERR_RANGE, "branch %s has no step %d", history_here(h)->name, position);
        return err_fix(e, "use 0 (the operator without steps) to %d", len - 1);
    }
    h->said_at = 0;
    h->said = position == at
            ? NULL : arena_printf(h->arena, "left step %d; `goto %d` goes back there", at, at);
    history_here(h)->at = path[position];
    history_here(h)->went = 0;
    return true;
}

bool history_visit(struct history *h, int position, struct err *e)
{
    struct branch *b = history_here(h);
    int left = b->went == b->at + 1 ? b->left : b->at;
    if (!history_goto(h, position, e))
        return false;
    b->left = left;
    b->went = b->at + 1;
    return true;
}

static bool add_branch(struct history *h, const char *name, int at, struct err *e)
{
    if (!check_name(name, e))
        return false;
    if (find_branch(h, name) >= 0) {
        err_set(e, ERR_NAME, "branch \"%s\" already exists", name);
        return err_fix(e, "switch %s, or choose another name", name);
    }
    name = arena_strdup(h->arena, name);
    vec_push(&h->branches, (struct branch){ .name = name, .tip = at, .at = at });
    h->current = h->branches.len - 1;
    return true;
}

bool history_branch_new(struct history *h, const char *name, struct err *e)
{
    return add_branch(h, name, history_here(h)->at, e);
}

bool history_branch_plain(struct history *h, const char *name, struct err *e)
{
    return add_branch(h, name, 0, e);
}

bool history_fork(struct history *h, const char *name, struct err *e)
{
    int from = h->current;
    if (!history_branch_new(h, name ? name : default_name(h), e))
        return false;
    struct branch *b = &h->branches.data[from];
    bool back = b->went == b->at + 1 && b->left != b->at && history_leads(h, b->at, b->left)
             && history_leads(h, b->left, b->tip);
    h->said_at = 0;
    const char *new = history_here(h)->name;
    h->said = back
            ? arena_printf(h->arena, "branch %s starts at step %d; %s is at its step %d again",
                           new, depth_of(h, b->at), b->name, depth_of(h, b->left))
            : name ? NULL : arena_printf(h->arena, "branch %s starts here", new);
    b->at = back ? b->left : b->at;
    return true;
}

int history_branch_find(const struct history *h, const char *name, struct err *e)
{
    int b = find_branch(h, name);
    if (b < 0)
        no_such_branch(h, name, e);
    return b;
}

int history_branch_with(const struct history *h, const char *const *step, int n)
{
    int now = history_branch_index(h), found = -1;
    for (int i = history_n_branches(h) - 1; i >= 0; i--) {
        const struct program *p = history_state(h, history_branch(h, i)->tip)->program;
        if (str_same_lines(p->steps, p->n_steps, step, n))
            found = i == now || found != now ? i : found;
    }
    return found;
}

void history_saved(struct history *h)
{
    vec_clear(&h->saved);
    for (int i = 0; i < h->branches.len; i++)
        vec_push(&h->saved, h->branches.data[i]);
    h->saved_current = h->current;
}

/* Whether there is at most one step from `saved` to `tip`, and that step was not measured. */
static bool loses_little(const struct history *h, int tip, int saved)
{
    return tip == saved
        || (h->states.data[tip]->parent == saved && !h->states.data[tip]->measured);
}

bool history_is_saved(const struct history *h)
{
    bool same = h->saved.len == h->branches.len && h->saved_current == h->current;
    for (int i = 0; same && i < h->saved.len; i++) {
        const struct branch *was = &h->saved.data[i], *now = &h->branches.data[i];
        same = streq(was->name, now->name) && was->at == now->at
            && loses_little(h, now->tip, was->tip);
    }
    return same;
}

bool history_branch_switch(struct history *h, const char *name, struct err *e)
{
    int b = history_branch_find(h, name, e);
    if (b < 0)
        return false;
    h->current = b;
    return true;
}

static void remove_branch(struct history *h, int b)
{
    memmove(&h->branches.data[b], &h->branches.data[b + 1],
            sizeof(struct branch) * (size_t)(h->branches.len - b - 1));
    h->branches.len--;
    h->current -= h->current > b;
}

bool history_branch_delete(struct history *h, const char *name, struct err *e)
{
    size_t n = strlen(name);
    bool all = n > 0 && name[n - 1] == '*';       /* all branches that begin as `name` does */
    int found = -1, had = h->branches.len;
    for (int i = had - 1; i >= 0; i--) {
        const char *own = h->branches.data[i].name;
        if (all ? strncmp(own, name, n - 1) != 0 : !streq(own, name))
            continue;
        found = i;
        if (i != h->current)
            remove_branch(h, i);
    }
    if (h->branches.len < had)
        return true;
    if (found < 0)
        return no_such_branch(h, name, e);
    err_set(e, ERR_NAME, "branch \"%s\" is the current one and cannot be deleted",
            h->branches.data[found].name);
    return err_fix(e, had > 1 ? "switch to another branch first"
                              : "it is the only branch; `goto 0` goes back to its start");
}

void history_forget_measured(struct history *h, int state)
{
    h->states.data[state]->measured = NULL;
}

void history_set_measured(struct history *h, int state, const struct measurement *m)
{
    struct state *s = h->states.data[state];
    if (!s->measured)
        s->measured = ARENA_NEW(h->arena, struct measurement);
    /* this function allocated the measurement and its detail, so it may write to them */
    struct measurement *mine = (struct measurement *)s->measured;
    struct sim_detail *kept = (struct sim_detail *)mine->sim.detail;
    *mine = *m;
    if (!m->sim.detail)
        return;
    if (!kept)
        kept = ARENA_NEW(h->arena, struct sim_detail);
    if (kept != m->sim.detail)
        *kept = *m->sim.detail;
    mine->sim.detail = kept;
}

void history_recall(struct history *h, int state)
{
    const struct state *s = h->states.data[state];
    const struct program *p = s->program;
    for (int i = state - 1; i >= 0 && !s->held && !s->measured; i--) {
        const struct state *old = h->states.data[i];
        if (old->measured && !old->held
            && str_same_lines(old->program->steps, old->program->n_steps, p->steps, p->n_steps))
            history_set_measured(h, state, old->measured);
    }
}

static bool timed(const struct measurement *m)
{
    return m && m->outcome == OUTCOME_OK && m->latency.runs > 0 && m->latency.min_ms > 0;
}

static bool made_so(const struct measurement *m, const char *isa, const char *compiler,
                    int threads)
{
    return timed(m) && streq(m->isa, isa) && (!compiler[0] || streq(m->compiler, compiler))
        && (m->threads > 1 ? m->threads : 1) == threads;
}

/* Makes an older measurement of a state its current one; the current one takes its place. */
static void swap_measured(struct state *s, struct other_measured *x)
{
    const struct measurement *now = s->measured;
    s->measured = x->m;
    x->m = now;
}

/* Makes another measurement of the state current, if it was made in the same way as m and the
 * current one was not. */
static void recall_same_way(struct history *h, struct state *s, const struct measurement *m)
{
    for (int i = h->others.len - 1;
         i >= 0 && s->measured && !measurement_same_way(s->measured, m); i--) {
        struct other_measured *x = &h->others.data[i];
        if (x->state == s->id && x->m && measurement_same_way(x->m, m))
            swap_measured(s, x);
    }
}

bool history_add_measured(struct history *h, int state, const struct measurement *m, bool newest)
{
    struct state *s = h->states.data[state];
    if (s->held)                          /* it has its parent's program */
        history_add_measured(h, s->parent, m, newest);
    recall_same_way(h, s, m);
    const struct measurement *old = s->measured;
    bool other_way = timed(old) && !measurement_same_way(m, old);
    if (other_way && !newest && m->outcome == OUTCOME_OK && m->latency.runs == 0
        && streq(m->isa, old->isa))
        return false;
    struct measurement *both = xmalloc(sizeof *both);
    *both = *m;
    bool stays = measurement_merge(both, old, newest);
    if (other_way) {
        vec_push(&h->others, (struct other_measured){ state, old });
        history_forget_measured(h, state);
    }
    history_set_measured(h, state, both);
    free(both);
    return stays;
}

bool history_prefer(struct history *h, int state, const char *isa, const char *compiler,
                    int threads)
{
    struct state *s = h->states.data[state];
    for (int i = h->others.len - 1; i >= 0 && !made_so(s->measured, isa, compiler, threads); i--) {
        struct other_measured *x = &h->others.data[i];
        if (x->state == state && made_so(x->m, isa, compiler, threads))
            swap_measured(s, x);
    }
    return made_so(s->measured, isa, compiler, threads);
}

/* --- The ledger ------------------------------------------------------------------------------- */

/* Adds the changes in time and in misses since row `from` (NULL: adds none).  Compares minimums,
 * since the median depends on other load of the machine. */
static void add_change(const struct history *h, struct ledger_row *row,
                       const struct ledger_row *from)
{
    const struct measurement *before = from ? from->m : NULL;
    if (!before || !timed(row->m))
        return;
    struct str ignored = {0};
    if (contract_difference(&ignored, h->states.data[row->state]->program,
                            h->states.data[from->state]->program))
        row->other_contract = from->state;
    str_free(&ignored);
    row->has_change = true;
    row->change = row->m->latency.min_ms / before->latency.min_ms - 1;
    row->has_misses_change = row->m->sim.available && before->sim.available
                          && cache_config_same_l1(&row->m->sim.cache, &before->sim.cache);
    if (row->has_misses_change)
        row->misses_change = row->m->sim.l1_misses - before->sim.l1_misses;
}

/* Returns the nearest row before row i that was timed in the same way; NULL: there is no such
 * row. */
static const struct ledger_row *comparable(const struct ledger_row *row, int i)
{
    for (int k = i - 1; k >= 0 && timed(row[i].m); k--)
        if (timed(row[k].m) && measurement_same_way(row[k].m, row[i].m))
            return &row[k];
    return NULL;
}

bool history_annotation(const char *step, char verb[16], char stage[64], char loop[64])
{
    static const char *const verbs[] = { "vectorize", "unroll", "parallel" };
    char rest[2];
    bool is = false;
    if (sscanf(step, "loop %15s %63s %63s %1s", verb, stage, loop, rest) != 3)
        return false;
    for (int i = 0; i < COUNT_OF(verbs); i++)
        is = is || streq(verb, verbs[i]);
    return is;
}

int history_replaced_by(const struct history *h, int i)
{
    int n, at;
    const int *path = history_path(h, h->current, &n, &at);
    char verb[2][16], stage[2][64], loop[2][64];
    if (i > at || h->states.data[path[i]]->held
        || !history_annotation(h->states.data[path[i]]->step, verb[0], stage[0], loop[0]))
        return 0;
    for (int k = i + 1; k <= at; k++)
        if (!h->states.data[path[k]]->held
            && history_annotation(h->states.data[path[k]]->step, verb[1], stage[1], loop[1])
            && strcaseeq(stage[0], stage[1]) && strcaseeq(loop[0], loop[1]))
            return streq(verb[0], verb[1]) ? 0 : k;
    return 0;
}

int history_ledger(const struct history *h, struct ledger_row *out, int max)
{
    int n, at;
    const int *path = history_path(h, h->current, &n, &at);
    for (int i = 0; i < n && i < max; i++) {
        const struct state *s = h->states.data[path[i]];
        out[i] = (struct ledger_row){ .state = s->id, .step = s->step, .held = s->held,
                                      .note = s->note, .m = s->measured, .here = i == at,
                                      .ahead = i > at,
                                      .other_contract = -1 };
        add_change(h, &out[i], comparable(out, i));
    }
    return n;
}
