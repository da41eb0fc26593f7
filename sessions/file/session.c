#include "sessions/file/session.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/base/file.h"
#include "kernels/base/rng.h"
#include "profile/host/machine.h"

bool session_new(const char *spec, struct session **out, struct err *e)
{
    struct history *history;
    if (!history_new(spec, &history, e))
        return false;
    struct session *s = xcalloc(1, sizeof *s);
    s->history = history;
    *out = s;
    return true;
}

void session_free(struct session *s)
{
    if (!s)
        return;
    history_free(s->history);
    str_free(&s->note);
    str_free(&s->kernels);
    for (int i = 0; i < s->ports.len; i++) {
        free(s->ports.data[i].tensor);
        free(s->ports.data[i].value);
    }
    vec_free(&s->ports);
    free(s);
}

static uint64_t texts_of(const struct session *s)
{
    uint64_t hash = hash_bytes(s->title, strlen(s->title), s->network);
    hash = hash_bytes(str_text(&s->note), s->note.len, hash);
    return hash_bytes(str_text(&s->kernels), s->kernels.len, hash);
}

void session_settled(struct session *s)
{
    s->dirty = false;
    s->saved_texts = texts_of(s);
    history_saved(s->history);
}

bool session_is_settled(const struct session *s)
{
    return s->saved_texts == texts_of(s) && history_is_saved(s->history);
}

bool session_is_elsewhere(const struct session *s)
{
    struct str here = {0};
    machine_fingerprint(&here, machine_this());
    bool is = s->machine[0] && !machine_is_same(s->machine, str_text(&here));
    str_free(&here);
    return is;
}

int session_measured_here(struct session *s)
{
    struct history *h = s->history;
    struct str here = {0};
    int forgotten = 0;
    bool elsewhere = session_is_elsewhere(s);
    machine_fingerprint_here(&here);
    for (int i = 0; elsewhere && i < history_n_states(h); i++)
        if (history_state(h, i)->measured) {
            history_forget_measured(h, i);
            forgotten++;
        }
    snprintf(s->machine, sizeof s->machine, "%s", str_text(&here));
    str_free(&here);
    return forgotten;
}

void session_cores_note(const struct session *s, struct str *out)
{
    const struct history *h = s->history;
    struct str here = {0};
    bool numbers = false;
    machine_fingerprint_here(&here);
    for (int i = 0; i < history_n_states(h); i++)
        numbers = numbers || history_state(h, i)->measured;
    if (numbers && s->machine[0] && !streq(s->machine, str_text(&here))
        && machine_is_same(s->machine, str_text(&here))) {
        str_add(out, "the other numbers are of ");
        machine_cores_of(out, s->machine);
        str_add(out, " of this machine, and this process has ");
        machine_cores_of(out, str_text(&here));
    }
    str_free(&here);
}

/* --- Limits of a session file ----------------------------------------------------------------- */

/* Returns the number of steps that a file of h has.  A step that branches share counts once. */
static int steps_in_file(const struct history *h)
{
    int count = 0;
    bool *seen = xcalloc((size_t)history_n_states(h), sizeof *seen);
    for (int b = 0; b < history_n_branches(h); b++)
        for (int id = history_branch(h, b)->tip; id > 0 && !seen[id];
             id = history_state(h, id)->parent) {
            seen[id] = true;
            count++;
        }
    free(seen);
    return count;
}

bool session_room(const struct session *s, int steps, bool branch, struct err *e)
{
    const struct history *h = s->history;
    if (history_n_branches(h) + branch > SESSION_MAX_BRANCHES) {
        err_set(e, ERR_RANGE, "a session has at most %d branches", SESSION_MAX_BRANCHES);
        return err_fix(e, "delete a branch that is not needed any more: delete NAME");
    }
    if (history_n_states(h) - 1 + steps <= SESSION_MAX_STEPS
        || steps_in_file(h) + steps <= SESSION_MAX_STEPS)
        return true;
    err_set(e, ERR_RANGE, "a session has at most %d steps, on all branches together",
            SESSION_MAX_STEPS);
    return err_fix(e, "delete a branch that is not needed any more: delete NAME");
}

/* Returns the largest number of steps that a line can add.  A layout step or a change of the past
 * may repeat all later steps. */
static int steps_of(const struct history *h, const char *line)
{
    struct arena *a = arena_new();
    const struct step *step;
    struct err ignored;
    bool is = step_parse(a, line, &step, &ignored);
    int n, at;
    history_path(h, history_branch_index(h), &n, &at);
    bool rebases = command_rebases(line) || str_starts(line + strspn(line, " \t"), "pick ");
    int most = is ? str_starts(step->text, "loop ") ? 1 : n : rebases ? n : 0;
    arena_free(a);
    return most;
}

static bool makes_branch(const char *line)
{
    line += strspn(line, " \t");
    return str_starts(line, "branch") && isblank((unsigned char)line[6]);
}

bool session_run(struct session *s, const char *line, enum command_effect *effect, struct err *e)
{
    const struct history *h = s->history;
    struct err full;
    int steps = steps_of(h, line);
    if (!session_room(s, steps > 0 ? steps : 1, true, &full)
        && ((steps > 0 && !session_room(s, steps, steps > 1 || history_keeps_undone(h), e))
            || (makes_branch(line) && !session_room(s, 0, true, e))))
        return false;
    return command_run(s->history, line, effect, e);
}

/* --- Opening what the command line names ------------------------------------------------------ */

static bool is_file_name(const char *arg)
{
    return streq(arg, "-") || str_ends(arg, ".yaml") || str_ends(arg, ".yml") || file_exists(arg);
}

/* Sets the error for arg, which is neither a file nor an operator.  Suggests the operator whose
 * name is nearest to `first`, its first word. */
static bool neither(const char *arg, const char *first, struct err *e)
{
    const char *names[64];
    int n = 0;
    for (int i = 0; i < ops_count() && n < COUNT_OF(names); i++)
        names[n++] = ops_get(i)->name;
    err_set(e, ERR_IO, "\"%.200s\" is neither a session file nor an operator", arg);
    return err_near(e, first, names, n, "did you mean the operator \"%s\"?",
                    "a session file (.yaml), or an operator like \"%s\"; tilescope ops lists them",
                    ops_get(0)->example);
}

/* Sets the error for a file of arrays, which is not a session.  Returns false. */
static bool is_arrays(const char *path, struct err *e)
{
    err_set(e, ERR_SYNTAX, "%.300s holds arrays (inputs, or expected outputs), and no session",
            path);
    return err_fix(e, "tilescope run MODEL.onnx --inputs %.200s --expect %.200s", path, path);
}

bool session_open(const char *arg, const char *dims, struct session **out, struct err *e)
{
    char first[64];
    snprintf(first, sizeof first, "%.*s", (int)strcspn(arg, " \t"), arg);
    if (ops_find(first) || graph_is_composition(arg))
        return session_new(arg, out, e);
    if (str_ends(arg, ".onnx"))
        return session_from_onnx(arg, dims, NULL, out, e);
    if (str_ends(arg, ".npz") || str_ends(arg, ".npy") || str_ends(arg, ".pb"))
        return is_arrays(arg, e);
    if (is_file_name(arg))
        return session_load(arg, out, e);
    return neither(arg, first, e);
}

void session_add_port(struct session *s, const char *tensor, const char *value)
{
    struct session_port port = { xstrdup(tensor), xstrdup(value) };
    vec_push(&s->ports, port);
}

const char *session_port_name(const struct session *s, const char *tensor)
{
    for (int i = 0; i < s->ports.len; i++)
        if (streq(s->ports.data[i].tensor, tensor))
            return s->ports.data[i].value;
    return tensor;
}
