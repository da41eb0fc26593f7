/* Runs command lines.  command.def lists the arguments of each command.  A step is run by
 * history_apply. */
#include "explorer/history/command.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "explorer/history/command_impl.h"
#include "explorer/history/rebase.h"
#include "explorer/history/rename.h"

#define MOST_PLACES 100000                /* most places by which one `move` moves a step */

static const struct command_info infos[] = {
#define COMMAND(id, name, syntax, help) [COMMAND_##id] = { name, syntax, help },
#include "explorer/history/command.def"
#undef COMMAND
};

const struct command_info *command_info(enum command_id id)
{
    return &infos[id];
}

int command_find(const char *name)
{
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (streq(infos[i].name, name))
            return i;
    return -1;
}

static bool error_at(struct err *e, const char *line, int col, int len)
{
    err_where(e, NULL, 0, col, line);
    return err_at(e, col, len);
}

/* Whether the word begins a step.  A step without its first word ("split Conv O 4") counts too:
 * its error names the missing word. */
static bool is_step(const char *word)
{
    for (int k = 0; k < STEP_KIND_COUNT; k++) {
        const struct step_info *i = step_info((enum step_kind)k);
        if (streq(i->room, word) || (i->verb[0] && streq(i->verb, word)))
            return true;
    }
    return false;
}

/* Sets the error of a command whose arguments are missing.  after: the last word of the line. */
static bool lacks_words(enum command_id id, const char *line, const struct step_word *after,
                        struct err *e)
{
    const struct command_info *c = &infos[id];
    const char *what = c->syntax[0] != 'N' ? "the name of a branch"
                     : c->syntax[1] == '\0' ? "a step number" : c->syntax;
    err_set(e, ERR_SYNTAX, "%s needs %s", c->name, what);
    err_fix(e, "%s %s: %s", c->name, c->syntax, c->help);
    return error_at(e, line, after->col + after->len, 1);
}

/* Finds the argument of a command that takes at most one.  *out: the argument; NULL: the command
 * takes none, or an optional one is missing. */
static bool take_argument(enum command_id id, const char *line, const struct step_word *word, int n,
                          const struct step_word **out, struct err *e)
{
    const struct command_info *c = &infos[id];
    bool takes = c->syntax[0] != '\0', optional = c->syntax[0] == '[';
    if (n > 1 + takes) {
        err_set(e, ERR_SYNTAX, "there is one word too many: \"%s\"", word[1 + takes].text);
        err_fix(e, takes ? "%s %s" : "%s", c->name, c->syntax);
        return error_at(e, line, word[1 + takes].col, word[1 + takes].len);
    }
    if (takes && !optional && n < 2)
        return lacks_words(id, line, &word[0], e);
    *out = n > 1 ? &word[1] : NULL;
    return true;
}

static bool take_number(const char *line, const struct step_word *w, int missing, int *out,
                        struct err *e)
{
    long long value = missing;
    if (w && !str_to_int64(w->text, INT_MIN, INT_MAX, &value)) {
        err_set(e, ERR_TYPE, "\"%s\" is not a number", w->text);
        return error_at(e, line, w->col, w->len);
    }
    *out = (int)value;
    return true;
}

static bool run_command(struct history *h, enum command_id id, const struct step_word *arg,
                        int number, struct err *e)
{
    switch (id) {
    case COMMAND_UNDO:   return history_undo(h, number, e);
    case COMMAND_REDO:   return history_redo(h, number, e);
    case COMMAND_GOTO:   return history_visit(h, number, e);
    case COMMAND_BRANCH: return history_fork(h, arg ? arg->text : NULL, e);
    case COMMAND_SWITCH: return history_branch_switch(h, arg->text, e);
    case COMMAND_DELETE: return history_branch_delete(h, arg->text, e);
    case COMMAND_MEASURE: return true;
    case COMMAND_EDIT: case COMMAND_DROP: case COMMAND_MOVE: case COMMAND_INSERT:
    case COMMAND_PICK: case COMMAND_COUNT: break;
    }
    UNREACHABLE();
}

static bool is_direction(const struct step_word *w)
{
    return streq(w->text, "up") || streq(w->text, "down");
}

/* Reads the destination of `move N M` or `move N up|down [PLACES]` from the n words after N.  last:
 * the number of the branch's last step. */
static bool take_place(const char *line, const struct step_word *w, int n, int from, int last,
                       int *to, struct err *e)
{
    int places = 1;
    if (!is_direction(w))
        return take_number(line, w, 0, to, e);
    if (n > 1 && !take_number(line, &w[1], 1, &places, e))
        return false;
    if (places < 1 || places > MOST_PLACES) {
        err_set(e, ERR_RANGE, "a step moves by 1 to %d places", MOST_PLACES);
        return error_at(e, line, w[1].col, w[1].len);
    }
    bool possible = from >= 1 && from <= last, up = streq(w->text, "up");
    int end = up ? 1 : last;
    *to = !possible ? from : up ? from - places : from + places;
    if ((*to > 0 && *to <= last) || !possible)     /* history_rebase refuses an impossible number */
        return true;
    if (from == end) {
        err_set(e, ERR_RANGE, "step %d is the %s one", from, up ? "first" : "last");
    } else {
        err_set(e, ERR_RANGE, "step %d cannot move %s by %d", from, w->text, places);
        err_fix(e, "move %d %d", from, end);
    }
    return error_at(e, line, w->col, w->len);
}

/* Runs a command that changes the past: `edit N STEP`, `drop N`, `insert N STEP`, `move N M`,
 * `move N up|down [PLACES]`. */
static bool run_rebase(struct history *h, enum command_id id, const char *line,
                       const struct step_word *word, int n, struct err *e)
{
    static const enum rebase_kind kinds[] = {
        [COMMAND_EDIT] = REBASE_EDIT, [COMMAND_DROP] = REBASE_DROP, [COMMAND_MOVE] = REBASE_MOVE,
        [COMMAND_INSERT] = REBASE_INSERT,
    };
    struct rebase c = { .kind = kinds[id] };
    bool step = id == COMMAND_EDIT || id == COMMAND_INSERT;
    int most = id == COMMAND_DROP ? 2 : 3;
    if (n < most)
        return lacks_words(id, line, &word[n - 1], e);
    most += id == COMMAND_MOVE && is_direction(&word[2]);
    if (!step && n > most) {
        err_set(e, ERR_SYNTAX, "there is one word too many: \"%s\"", word[most].text);
        err_fix(e, "%s %s", infos[id].name, infos[id].syntax);
        return error_at(e, line, word[most].col, word[most].len);
    }
    int steps, here;
    history_path(h, history_branch_index(h), &steps, &here);
    if (!take_number(line, &word[1], 0, &c.at, e)
        || (id == COMMAND_MOVE && !take_place(line, &word[2], n - 2, c.at, steps - 1, &c.to, e)))
        return false;
    int skipped = step ? word[2].col - word[2].quoted - 1 : 0;
    c.line = line + skipped;
    if (history_rebase(h, &c, e))
        return true;
    if (step && e->at.col > 0)
        return error_at(e, line, e->at.col + skipped, e->at.len);
    bool to = id == COMMAND_MOVE && c.at >= 1 && c.at < steps;    /* the error is about c.to */
    const struct step_word *at = e->code == ERR_STEP ? &word[0] : to ? &word[n - 1] : &word[1];
    return error_at(e, line, at->col, at->len);
}

/* Applies a step.  If earlier steps make a layout, algorithm or set step illegal, inserts it before
 * those steps, if it is legal there. */
static bool run_step(struct history *h, const char *line, enum command_effect *effect,
                     struct err *e)
{
    *effect = EFFECT_STATE;
    if (history_apply(h, line, e))
        return true;
    bool loops = e->code != ERR_STEP || str_starts(line + strspn(line, " \t"), "loop");
    if (loops || !history_insert_earlier(h, line, e))
        return false;
    *effect = EFFECT_REBASED;
    return true;
}

/* Returns the number of the last step of the current branch that splits the same loop as split step
 * s; 0: no step does. */
static int split_of(struct history *h, const struct step *s)
{
    int n, at, found = 0;
    const int *path = history_path(h, history_branch_index(h), &n, &at);
    for (int i = 1; i <= at; i++) {
        char stage[64], loop[64];
        int words = sscanf(history_state(h, path[i])->step, "loop split %63s %63s", stage, loop);
        if (words == 2 && strcaseeq(stage, s->target) && strcaseeq(loop, s->arg[0].text))
            found = i;
    }
    return found;
}

/* Applies a step of another branch.  If the step is refused, but exactly one text with renamed
 * loops is legal (rename_step), applies this text instead. */
static bool pick(struct history *h, const char *step, enum command_effect *effect, struct err *e)
{
    const struct step *parsed;
    const char *renamed[RENAMES_MAX];
    struct err own, why, ignored;
    if (run_step(h, step, effect, &own))
        return true;
    struct arena *a = arena_new();
    const struct program *p = history_current(h)->program;
    why = own;
    bool parses = step_parse(a, step, &parsed, &ignored);
    bool ok = parses && rename_step(a, p, parsed, renamed, &why) == 1
           && run_step(h, renamed[0], effect, &why);
    const char *gone = parses && !ok ? rename_why_gone(a, p, parsed, &own) : NULL;
    int other = gone && parsed->kind == STEP_LOOP_SPLIT ? split_of(h, parsed) : 0;
    if (!ok)
        err_set(e, ERR_STEP, "`%.150s` does not apply here: %.300s", step,
                gone ? gone : why.text);
    if (other > 0)
        err_fix(e, "edit %d %s", other, step);
    else if (!ok)
        err_fix(e, "%s", why.fix);
    arena_free(a);
    return ok;
}

/* Runs `pick B N`: applies step N of branch B. */
static bool run_pick(struct history *h, const char *line, const struct step_word *word, int n,
                     enum command_effect *effect, struct err *e)
{
    int number = 0, len, at;
    if (n < 3) {
        if (n == 1)
            return lacks_words(COMMAND_PICK, line, &word[0], e);
        err_set(e, ERR_SYNTAX, "pick needs the number of a step of branch %s", word[1].text);
        return error_at(e, line, word[1].col + word[1].len, 1);
    }
    if (n > 3) {
        err_set(e, ERR_SYNTAX, "there is one word too many: \"%s\"", word[3].text);
        return error_at(e, line, word[3].col, word[3].len);
    }
    int b = history_branch_find(h, word[1].text, e);
    if (b < 0)
        return error_at(e, line, word[1].col, word[1].len);
    if (!take_number(line, &word[2], 0, &number, e))
        return false;
    const int *path = history_path(h, b, &len, &at);
    if (number < 1 || number >= len) {
        err_set(e, ERR_RANGE, "branch %s has no step %d to apply", word[1].text, number);
        err_fix(e, len > 1 ? "use 1 to %d" : "it has no steps", len - 1);
        return error_at(e, line, word[2].col, word[2].len);
    }
    return pick(h, history_state(h, path[number])->step, effect, e)
        || error_at(e, line, word[2].col, word[2].len);
}

/* Runs `branch at N [NAME]`.  The old branch stays at its current step (history_fork). */
static bool run_branch_at(struct history *h, const char *line, const struct step_word *word, int n,
                          struct err *e)
{
    int number = 0, before = history_position(h);
    struct err ignored;
    if (n > 4) {
        err_set(e, ERR_SYNTAX, "there is one word too many: \"%s\"", word[4].text);
        return error_at(e, line, word[4].col, word[4].len);
    }
    if (!take_number(line, &word[2], 0, &number, e))
        return false;
    if (!history_visit(h, number, e))
        return error_at(e, line, word[2].col, word[2].len);
    if (history_fork(h, n > 3 ? word[3].text : NULL, e))
        return true;
    history_goto(h, before, &ignored);
    return error_at(e, line, word[n - 1].col, word[n - 1].len);
}

static bool run_words(struct history *h, const char *line, const struct step_word *word, int n,
                      enum command_effect *effect, struct err *e)
{
    const struct step_word *arg = NULL;
    int number = 0, id = command_find(word[0].text);
    if (id < 0) {
        *effect = EFFECT_APP;
        return true;
    }
    if (id >= COMMAND_EDIT && id <= COMMAND_INSERT) {
        *effect = EFFECT_REBASED;
        return run_rebase(h, (enum command_id)id, line, word, n, e);
    }
    if (id == COMMAND_PICK)
        return run_pick(h, line, word, n, effect, e);
    if (id == COMMAND_BRANCH && n > 2 && streq(word[1].text, "at")) {
        *effect = EFFECT_STATE;
        return run_branch_at(h, line, word, n, e);
    }
    bool numeric = id == COMMAND_UNDO || id == COMMAND_REDO || id == COMMAND_GOTO;
    if (!take_argument((enum command_id)id, line, word, n, &arg, e)
        || (numeric && !take_number(line, arg, 1, &number, e)))
        return false;
    if (!run_command(h, (enum command_id)id, arg, number, e))
        return arg ? error_at(e, line, arg->col, arg->len)
                   : error_at(e, line, word[0].col, word[0].len);
    *effect = id == COMMAND_MEASURE ? EFFECT_MEASURE : EFFECT_STATE;
    return true;
}

/* If the error says that the tile of an earlier cache_write prevents a new step: replaces the
 * error's fix by an `edit` command that moves the tile. */
static void fix_tile_step(const struct history *h, const char *line, struct err *e)
{
    static const char tile[] = "the tile of cache_write at loop ";
    int n, at, number;
    char to[64], more, of[64], stage[64], where[64];
    const int *path = history_path(h, history_branch_index(h), &n, &at);
    const char *why = strstr(e->text, tile);
    bool earlier = why && strstr(e->text, "cache_write") > why && !strstr(line, "cache_write");
    if (!earlier || sscanf(e->fix, STAGE_PUT_TILE "%63s %c", to, &more) != 1
        || sscanf(why + strlen(tile), "%*s of %63s", of) != 1)
        return;
    if (command_rebases(line) && sscanf(line, "%*s %d", &number) == 1)
        at = number - 1;                  /* the new step comes before step `number` */
    for (int i = at; i > 0; i--) {
        const struct state *s = history_state(h, path[i]);
        if (s->held || sscanf(s->step, "loop cache_write %63s at=%63s", stage, where) != 2
            || !strcaseeq(stage, of))
            continue;
        err_fix(e, "edit %d loop cache_write %s at=%s puts its tile there", i, stage, to);
        return;
    }
}

bool command_run(struct history *h, const char *line, enum command_effect *effect, struct err *e)
{
    struct arena *a = arena_new();
    const struct step_word *word;
    enum command_effect done = EFFECT_NONE;
    int n;
    bool ok = step_words(a, line, &word, &n, e);
    if (ok && n > 0 && is_step(word[0].text))
        ok = run_step(h, line, &done, e);
    else if (ok && n > 0)
        ok = run_words(h, line, word, n, &done, e);
    arena_free(a);
    if (ok)
        *effect = done;
    else
        fix_tile_step(h, line, e);
    return ok;
}

bool command_rebases(const char *line)
{
    line += strspn(line, " \t");
    size_t n = strcspn(line, " \t");
    for (int id = COMMAND_EDIT; id <= COMMAND_INSERT; id++)
        if (strlen(infos[id].name) == n && strncmp(line, infos[id].name, n) == 0)
            return true;
    return false;
}

const char *command_meant(const char *word)
{
    const char *candidate[STEP_KIND_COUNT + COMMAND_COUNT];
    int n = 0;
    for (int k = 0; k < STEP_KIND_COUNT; k++)
        candidate[n++] = step_info((enum step_kind)k)->room;
    for (int c = 0; c < COMMAND_COUNT; c++)
        candidate[n++] = infos[c].name;
    return str_nearest(word, candidate, n);
}

int command_rows(void)
{
    return STEP_KIND_COUNT + COMMAND_COUNT;
}

struct command_row command_row(int i)
{
    struct command_row row = {0};
    if (i < STEP_KIND_COUNT) {
        const struct step_info *s = step_info((enum step_kind)i);
        row = (struct command_row){ .syntax = s->syntax, .help = s->help };
        snprintf(row.name, sizeof row.name, "%s%s%s", s->room, s->verb[0] ? " " : "", s->verb);
    } else {
        const struct command_info *c = &infos[i - STEP_KIND_COUNT];
        row = (struct command_row){ .syntax = c->syntax, .help = c->help };
        snprintf(row.name, sizeof row.name, "%s", c->name);
    }
    return row;
}

void command_row_print(struct str *out, const struct command_row *row)
{
    str_printf(out, "%s%s%s", row->name, row->syntax[0] ? " " : "", row->syntax);
}
