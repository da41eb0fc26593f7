/* Programs: apply(program, step) -> program | error.  All members of a program follow from its base
 * graph and its steps. */
#include "kernels/program/program.h"

#include <math.h>
#include <string.h>

#include "kernels/program/program_impl.h"

bool blame_word(struct err *e, const struct step_word *w)
{
    return err_at(e, w->col, w->len);
}

bool blame_target(struct err *e, const struct step *s)
{
    return err_at(e, s->target_col, (int)strlen(s->target));
}

bool blame_factor(struct err *e, const struct step_word *w)
{
    if (w->text[0] != '-' && str_is_whole(w->text))
        err_set(e, ERR_RANGE, "factor %s is too large", w->text);
    else
        err_set(e, ERR_TYPE, "a factor is a whole number, not %s", w->text);
    return blame_word(e, w);
}

bool program_new(struct arena *a, const char *spec, const struct program **out, struct err *e)
{
    const struct graph *g;
    return graph_from_spec(a, spec, &g, e) && program_from_graph(a, g, out, e);
}

bool program_from_graph(struct arena *a, const struct graph *g, const struct program **out,
                        struct err *e)
{
    struct program *p = ARENA_NEW(a, struct program);
    p->arena = a;
    p->base = p->form = g;
    p->accuracy = INFINITY;
    p->pool = g->pool;
    p->propagate = true;
    p->lowered = ARENA_NEW(a, const struct func *);
    if (!program_derive(p, e))
        return false;
    *out = p;
    return true;
}

int program_stage(const struct program *p, const char *name)
{
    return graph_node_of(p->graph, name);
}

bool program_is_inlined(const struct program *p, int tensor)
{
    int node = p->graph->tensor[tensor].producer;
    return node >= 0 && p->stage[node]->inlined;
}

bool program_is_bound(const struct program *p)
{
    for (int n = 0; n < p->graph->n_nodes; n++) {
        const struct stage *s = p->stage[n];
        bool yes = s->attach >= 0 && s->attach_form.memory == MEMORY_SHARED;
        for (int i = 0; i < s->n_axes; i++)
            yes |= loop_is_bound(s->axis[i].ann);
        for (int i = 0; i < s->n_reads; i++)
            yes |= s->read[i].form.memory == MEMORY_SHARED;
        if (yes)
            return true;
    }
    return false;
}

bool program_lower(const struct program *p, const struct func **out, struct err *e)
{
    struct lowering in = program_lowering(p);
    if (!*p->lowered && !lower(&in, p->lowered, e))
        return false;
    *out = *p->lowered;
    return true;
}

/* The words of each KEY of `set`. */
static const char *const on_off[] = { "off", "on", NULL };
static const char *const output_words[] = { "propagated", "original", NULL };
static const char *const input_words[] = { "original", "given", NULL };
static const char *const variant_words[] = {
    "alt", "wp", "ol", "fp", "bp", NULL
}; /* ORDER VARIANT */
static const char *const multiply_words[] = { "f32", "tf32", NULL };
struct setting {
    const char *key;
    const char *const *words;
    const char *means;                    /* what the words mean, or NULL if that is plain */
};
static const struct setting settings[] = {
    { "propagate", on_off, NULL },
    { "output_layout", output_words, "original: in the caller's order; propagated: as the steps "
                                     "lay it out" },
    { "input_layout", input_words, "original: in the caller's order; given: as the steps lay it "
                                   "out" },
    { "autovectorize", on_off, NULL },
    { "variant", variant_words, NULL },
    { "multiply", multiply_words, NULL },
    { "accuracy", NULL, NULL },
};
enum { SETTING_ACCURACY = COUNT_OF(settings) - 1 };

static void assign(struct program *draft, int setting, int value)
{
    switch (setting) {
    case 0: draft->propagate = value; break;
    case 1: draft->output_original = value; break;
    case 2: draft->input_given = value; break;
    case 3: draft->autovectorize = value; break;
    case 4: draft->variant = value; break;
    default: program_set_tf32(draft, value); break;
    }
}

static bool bad_value(const struct setting *x, const struct step *s, struct err *e)
{
    struct str all = { 0 };
    for (int v = 0; x->words[v]; v++)
        str_printf(&all, "%s%s", v ? ", " : "", x->words[v]);
    err_set(e, ERR_RANGE, "the setting %s takes one of %s", x->key, str_text(&all));
    str_free(&all);
    if (x->means)
        err_fix(e, "%s", x->means);
    return s->n_args ? blame_word(e, &s->arg[0]) : blame_target(e, s);
}

/* Applies `set accuracy`.  Refuses it when tf32 or an algorithm chosen before is less accurate. */
static bool set_accuracy(struct program *draft, const struct step *s, struct err *e)
{
    double x;
    if (s->n_args != 1 || !str_to_double(s->arg[0].text, &x) || !(x >= 0 && x <= 1)) {
        err_set(e, ERR_RANGE, "the accuracy is a relative error between 0 and 1");
        err_fix(e, "for example: set accuracy 1e-6. With 0, every convolution is computed "
                "directly");
        return s->n_args ? blame_word(e, &s->arg[0]) : blame_target(e, s);
    }
    draft->accuracy = x;
    return program_accurate(draft, e) || blame_word(e, &s->arg[0]);
}

static bool set_step(struct program *draft, const struct step *s, struct err *e)
{
    const char *keys[COUNT_OF(settings)];
    for (int i = 0; i < COUNT_OF(settings); i++) {
        keys[i] = settings[i].key;
        if (!streq(s->target, keys[i]))
            continue;
        if (i == SETTING_ACCURACY)
            return set_accuracy(draft, s, e);
        for (int v = 0; settings[i].words[v]; v++)
            if (s->n_args == 1 && streq(s->arg[0].text, settings[i].words[v])) {
                assign(draft, i, v);
                return program_accurate(draft, e) || blame_word(e, &s->arg[0]);
            }
        return bad_value(&settings[i], s, e);
    }
    const char *near = str_nearest(s->target, keys, COUNT_OF(settings));
    err_set(e, ERR_NAME, "there is no setting %s", s->target);
    if (graph_tensor(draft->graph, s->target) >= 0)
        err_fix(e, "a layout is set by: layout set %s \"%s\"", s->target,
                s->n_args ? s->arg[0].text : "NOTATION");
    else if (streq(s->target, "threads"))
        err_fix(e,
                "the number of threads belongs to a measurement: `:threads %s` on the screen, or "
                "run --threads %s",
                s->n_args ? s->arg[0].text : "2", s->n_args ? s->arg[0].text : "2");
    else if (near)
        err_fix(e, "did you mean %s?", near);
    else
        err_fix(e, "the settings are propagate, output_layout, input_layout, autovectorize, "
                "variant, multiply and accuracy");
    return blame_target(e, s);
}

/* Derives graph, layouts and stages again, then repeats every loop step.  `cause` is the step
 * that changed the draft.  Fails if a loop step no longer applies; *e names it and `cause`. */
static bool rebuild(struct program *draft, const struct step *cause, struct err *e)
{
    if (!program_derive(draft, e))
        return false;
    for (int i = 0; i < draft->n_steps; i++) {
        struct err why;
        if (!step_is_loop(draft->parsed[i]) || program_loop_step(draft, draft->parsed[i], &why))
            continue;
        err_set(e, ERR_STEP, "after `%s`, step %d `%s` would no longer apply: %s", cause->text,
                i + 1, draft->steps[i], why.text);
        return err_fix(
            e, "set layouts before loops: undo to step %d, apply the new step, then apply the "
               "loop steps again",
            i);
    }
    return true;
}

static void record_step(struct program *draft, const struct step *s)
{
    const char **steps = ARENA_ARRAY(draft->arena, const char *, draft->n_steps + 1);
    const struct step **parsed = ARENA_ARRAY(draft->arena, const struct step *, draft->n_steps + 1);
    for (int i = 0; i < draft->n_steps; i++) {
        steps[i] = draft->steps[i];
        parsed[i] = draft->parsed[i];
    }
    steps[draft->n_steps] = s->text;
    parsed[draft->n_steps] = s;
    draft->steps = steps;
    draft->parsed = parsed;
    draft->n_steps++;
}

/* Applies a step without lowering the result. The result can be a program that lowering refuses. */
static bool apply_unlowered(const struct program *p, const struct step *s,
                            const struct program **out, struct err *e)
{
    struct program *draft = ARENA_DUP(p->arena, p, 1);
    draft->lowered = ARENA_NEW(p->arena, const struct func *);
    bool ok;
    if (step_is_loop(s))
        ok = program_loop_step(draft, s, e);
    else
        ok = (step_is_layout(s) ? program_layout_step(draft, s, e)
              : s->kind == STEP_LOOP_RFACTOR ? program_rfactor_step(draft, s, e)
              : s->kind == STEP_ALGORITHM ? program_algorithm_step(draft, s, e)
                                             : set_step(draft, s, e)) &&
             rebuild(draft, s, e);
    if (!ok)
        return false;
    record_step(draft, s);
    *out = draft;
    return true;
}

static int tiles_of(const struct program *p)
{
    struct lowering in = program_lowering(p);
    return lower_tiles(&in);
}

/* Whether p can be lowered. Only a program with tiles, tensor blocks or pipelines must be lowered
 * to find out: lowering refuses nothing else. */
static bool tiles_fit(const struct program *p, struct err *e)
{
    const struct func *unused;
    return tiles_of(p) == 0 || program_lower(p, &unused, e);
}

bool program_apply(const struct program *p, const struct step *s, const struct program **out,
                   struct err *e)
{
    const struct program *next;
    if (!apply_unlowered(p, s, &next, e) || !tiles_fit(next, e))
        return e->at.col ? false : blame_target(e, s);
    *out = next;
    return true;
}

bool program_apply_line(const struct program *p, const char *line, const struct program **out,
                        struct err *e)
{
    const struct step *s;
    if (!step_parse(p->arena, line, &s, e))
        return false;
    if (program_apply(p, s, out, e))
        return true;
    if (!e->source[0]) {
        int col = e->at.col, len = e->at.len;
        err_where(e, NULL, 0, col, line);
        err_at(e, col, len);
    }
    return false;
}

static bool any_swizzled(const struct program *p)
{
    for (int n = 0; n < p->graph->n_nodes; n++)
        for (int r = 0; r < p->stage[n]->n_reads; r++)
            if (p->stage[n]->read[r].form.keep > 0)
                return true;
    return false;
}

/* Whether step s, which marks a loop and may move it inwards (vthread), changes no tile.  The loop
 * must not be bound, because a shared tile holds what all iterations of a bound loop read.  If the
 * step moves the loop, the loop must be inside of all tiles. */
static bool keeps_regions(const struct step *s, const struct program *before)
{
    int node = program_stage(before, s->target);
    const struct stage *at = before->stage[node];
    int axis = stage_axis(at, s->arg[0].text);
    bool inside = true;
    for (int r = 0; r < at->n_reads; r++)
        inside = inside && stage_axis(at, at->read[r].axis) < axis;
    for (int n = 0; n < before->graph->n_nodes; n++)
        if (before->stage[n]->attach == node)
            inside = inside && stage_axis(at, before->stage[n]->attach_axis) < axis;
    return !loop_is_bound(at->axis[axis].ann) && (s->kind != STEP_LOOP_VTHREAD || inside);
}

/* Whether a tile that lowering refuses before step s is also refused after it. If so, the program
 * before s need not be lowered.  Most marks change no tile, but bind and tensorize can make one
 * smaller.  cache_write only adds the tile of the sums, and compute_at a tile. cache_read adds a
 * tile, or moves one to another loop, which can make it smaller.  swizzle adds a condition, or
 * replaces one.  Returns false for programs with tensor blocks or pipelines. */
static bool keeps_tiles(const struct step *s, const struct program *before,
                        const struct program *after)
{
    for (int n = 0; n < before->graph->n_nodes; n++)
        if (before->stage[n]->lane || before->stage[n]->pipe_at)
            return false;  /* any step can make a tensor block or pipeline legal */
    if (s->kind >= STEP_LOOP_VECTORIZE && s->kind <= STEP_LOOP_VTHREAD)  /* ORDER STEP */
        return s->kind != STEP_LOOP_BIND && keeps_regions(s, before);
    if (s->kind == STEP_LOOP_CACHE_READ)
        return tiles_of(after) > tiles_of(before);
    if (s->kind == STEP_LOOP_SWIZZLE)
        return !any_swizzled(before);
    return s->kind == STEP_LOOP_CACHE_WRITE || s->kind == STEP_LOOP_PIPELINE
        || s->kind == STEP_LOOP_STREAM || s->kind == STEP_LOOP_PREFETCH
        || s->kind == STEP_LOOP_COMPUTE_AT;
}

/* Applies the lines one after the other. Returns whether all of them apply. */
static bool apply_all(const struct program *p, const char *const *lines, int n,
                      const struct program **out)
{
    struct err ignored;
    for (int i = 0; i < n; i++) {
        const struct step *s;
        const struct program *next;
        if (!step_parse(p->arena, lines[i], &s, &ignored) ||
            !apply_unlowered(p, s, &next, &ignored) ||
            (!keeps_tiles(s, p, next) && !tiles_fit(p, &ignored)))
            return false;
        p = next;
    }
    if (!tiles_fit(p, &ignored))
        return false;
    *out = p;
    return true;
}

/* Applies all lines, and lowers only where it must.  If that fails, applies the lines one by one
 * and lowers after each, to find the first line that fails. */
bool program_replay(struct arena *a, const char *spec, const char *const *lines, int n,
                    const struct program **out, int *bad, struct err *e)
{
    const struct program *p;
    *bad = -1;
    if (!program_new(a, spec, &p, e))
        return false;
    if (apply_all(p, lines, n, out))
        return true;
    for (int i = 0; i < n; i++)
        if (!program_apply_line(p, lines[i], &p, e)) {
            *bad = i;
            return false;
        }
    *out = p;
    return true;
}

int program_base_tensor(const struct program *p, int tensor)
{
    return program_given_tensor(p->base, p->graph, tensor);
}

int program_given_tensor(const struct graph *base, const struct graph *g, int tensor)
{
    int nth = 0;
    if (g->tensor[tensor].role == TENSOR_INTER)
        return -1;
    for (int t = 0; t < tensor; t++)
        nth += g->tensor[t].role != TENSOR_INTER;
    for (int t = 0; t < base->n_tensors; t++)
        if (base->tensor[t].role != TENSOR_INTER && nth-- == 0)
            return t;
    UNREACHABLE();
}
