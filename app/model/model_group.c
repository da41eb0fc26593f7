/* Steps that are typed without their group: `vectorize C N` for `loop vectorize C N`. */
#include "app/model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "app/model/appcmd.h"

int model_step_at(const char *line)
{
    int at = 0;
    if (str_begins(line, "edit") || str_begins(line, "insert"))
        sscanf(line, "%*s %*d %n", &at);
    return at;
}

bool model_group_has(const char *group, const char *line)
{
    for (int k = 0; k < STEP_KIND_COUNT; k++)
        if (streq(step_info((enum step_kind)k)->room, group)
            && str_begins(line, step_info((enum step_kind)k)->verb))
            return true;
    return false;
}

/* Whether the step of a line begins with a group, or the line begins with a command.  step: the
 * step in the line. */
static bool is_whole(const char *line, const char *step)
{
    bool group = false;
    for (int k = 0; k < STEP_KIND_COUNT; k++)
        group = group || str_begins(step, step_info((enum step_kind)k)->room);
    return group || (step == line && appcmd_known(line));
}

bool model_lacks_group(const struct model *m, const char *line)
{
    const char *step = line + model_step_at(line);
    return m->session && (model_group_has("loop", step) || model_group_has("layout", step))
        && !is_whole(line, step);
}

const char *model_group_completed(const struct model *m, const char *line)
{
    if (!model_lacks_group(m, line))
        return NULL;
    return model_group_has("loop", line + model_step_at(line)) ? "loop" : "layout";
}

/* Returns a copy of the program in arena a; if `loops` is false, without its loop steps.  NULL:
 * the other steps cannot be replayed without the loop steps. */
static const struct program *copy_of(struct arena *a, const struct program *p, bool loops)
{
    const char **step = ARENA_ARRAY(a, const char *, p->n_steps + 1);
    const struct program *out;
    struct err ignored;
    int n = 0, bad;
    for (int i = 0; i < p->n_steps; i++)
        if (loops || !str_starts(p->steps[i], "loop "))
            step[n++] = p->steps[i];
    return program_replay(a, p->base->spec, step, n, &out, &bad, &ignored) ? out : NULL;
}

/* Returns the program to which the step of a line is to be applied.  NULL: the line is an `edit N`
 * or `insert N`, and there is no state before step N. */
static const struct program *before_step(const struct model *m, const char *line)
{
    const struct history *h = m->session->history;
    int n, at;
    const int *path = history_path(h, history_branch_index(h), &n, &at);
    if (model_step_at(line) == 0)
        return model_program(m);
    long number = strtol(line + strcspn(line, " "), NULL, 10);
    return number >= 1 && number <= n ? history_state(h, path[number - 1])->program : NULL;
}

/* If a line is `edit N STEP`, and STEP has the same name as step N, returns the group of step N;
 * else NULL. */
static const char *replaced_group(const struct model *m, const char *line)
{
    const struct history *h = m->session->history;
    int n, at;
    const int *path = history_path(h, history_branch_index(h), &n, &at);
    long number = str_begins(line, "edit") ? strtol(line + strlen("edit"), NULL, 10) : 0;
    const char *old = number >= 1 && number < n ? history_state(h, path[number])->step : "";
    const char *step = line + model_step_at(line), *name = old + strcspn(old, " ");
    name += name[0] == ' ';
    size_t length = strcspn(step, " ");
    if (strcspn(name, " ") != length || strncmp(name, step, length) != 0)
        return NULL;
    return str_begins(old, "loop") ? "loop" : "layout";
}

/* Whether the step of a line is legal after program p, if it is a step of `group`.  False: *e says
 * why not.  A layout step that is not part of an `edit` or `insert` will be put before all loop
 * steps, so it is tried without loop steps; if these cannot be left out, returns true. */
static bool is_legal(struct arena *a, const struct program *p, const char *group, const char *line,
                     struct err *e)
{
    const struct program *ignored;
    int at = model_step_at(line);
    const struct program *copy = copy_of(a, p, at > 0 || streq(group, "loop"));
    return !copy || program_apply_line(copy, arena_printf(a, "%s %s", group, line + at), &ignored,
                                       e);
}

/* Sets *e for the name of a step that both groups have, and that is legal in neither of them:
 * of_layout and of_loop say why. */
static void refuse_both(const char *line, const struct err *of_layout, const struct err *of_loop,
                        struct err *e)
{
    const char *step = line + model_step_at(line);
    int n = (int)strcspn(step, " ");
    if (streq(of_layout->text, of_loop->text))
        err_set(e, ERR_NAME, "%.*s: %.200s", n, step, of_loop->text);
    else
        err_set(e, ERR_NAME, "layout %.*s: %.200s; loop %.*s: %.200s", n, step, of_layout->text, n,
                step, of_loop->text);
    const char *fix = of_loop->fix[0] ? of_loop->fix : of_layout->fix;
    if (fix[0])
        err_fix(e, "%s", fix);
    else
        err_fix(e, "write layout or loop before %.*s", n, step);
}

/* Returns the group that the step of a line lacks (model_with_group).  NULL: the step lacks no
 * group; or no group can be chosen, and why->text has the reason. */
static const char *group_of(const struct model *m, const char *line, struct err *why)
{
    struct err of_layout = {0}, of_loop = {0};
    const char *step = line + model_step_at(line);
    bool loop = model_group_has("loop", step), layout = model_group_has("layout", step);
    if (!model_lacks_group(m, line))
        return NULL;
    const char *group = loop && layout ? replaced_group(m, line) : NULL;
    if (group)
        return group;
    const struct program *p = before_step(m, line);
    if (!p)
        return loop ? "loop" : "layout";  /* running the line will refuse its number */
    if (loop && layout) {
        struct arena *a = arena_new();
        loop = is_legal(a, p, "loop", line, &of_loop);
        layout = is_legal(a, p, "layout", line, &of_layout);
        arena_free(a);
        if (!loop && !layout)
            refuse_both(line, &of_layout, &of_loop, why);
    }
    return loop ? "loop" : layout ? "layout" : NULL;
}

bool model_with_group(const struct model *m, const char *line, struct str *out, struct err *why)
{
    const char *group = group_of(m, line, why);
    int at = model_step_at(line);
    if (group)
        str_printf(out, "%.*s%s %s", at, line, group, line + at);
    return group != NULL;
}
