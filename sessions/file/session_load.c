/* Reads a session from YAML.  The caller gets the session only when the whole file is valid.
 *
 * The loader rebuilds the history by the same functions as the commands of the prompt (branch,
 * goto, steps), so a file cannot create a state that these commands cannot create. */
#include "sessions/file/session_impl.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "explorer/history/rebase.h"
#include "kernels/base/file.h"
#include "kernels/base/vec.h"
#include "kernels/module/partition.h"
#include "sessions/file/measured_yaml.h"
#include "sessions/file/kernels_text.h"
#include "sessions/file/model_path.h"

struct loader {
    struct arena *a;
    const char *file;  /* model paths are relative to the folder of this file; NULL: to "." */
    struct ydoc doc;
    struct history *h;
    int n_steps;
    int *at;                              /* per branch: the number of its current step */
    struct err *e;
};

static bool fails_at(struct loader *l, const struct ynode *node)
{
    return yaml_at(&l->doc, node, l->e);
}

/* --- Branches --------------------------------------------------------------------------------- */

/* Reads a step.  A step of the form {held: STEP} is accepted even if it does not apply. */
static bool load_step(struct loader *l, const struct ynode *item)
{
    static const char *const keys[] = { "held", NULL };
    bool held = item->kind == YNODE_MAP;
    const struct ynode *text = item;
    const char *line;
    if ((held && (!yaml_keys(&l->doc, item, "a step that is kept for repair", keys, l->e)
                  || !yaml_need(&l->doc, item, "held", &text, l->e)))
        || !yaml_text(&l->doc, text, "steps", 4096, false, &line, l->e))
        return false;
    if (l->n_steps++ == SESSION_MAX_STEPS)
        return yaml_refuse(&l->doc, item, l->e, ERR_RANGE, "the file has more than %d steps",
                           SESSION_MAX_STEPS);
    return (held ? history_apply_held(l->h, line, NULL, l->e) : history_apply(l->h, line, l->e))
        || yaml_at_text(&l->doc, text, l->e);
}

static bool load_steps(struct loader *l, const struct ynode *list)
{
    if (!list)
        return true;
    if (!yaml_is(&l->doc, list, YNODE_SEQ, "steps", l->e))
        return false;
    for (int i = 0; i < list->n; i++)
        if (!load_step(l, list->item[i]))
            return false;
    return true;
}

/* Sets the entry of the current branch in l->at to the value of the key `at`, or else to the last
 * step. */
static bool load_at(struct loader *l, const struct ynode *map)
{
    const struct ynode *at = yaml_get(map, "at");
    int b = history_branch_index(l->h), n, here;
    int64_t value;
    history_path(l->h, b, &n, &here);
    value = n - 1;
    if (at && !yaml_int(&l->doc, at, "at", 0, n - 1, &value, l->e))
        return false;
    l->at[b] = (int)value;
    return true;
}

/* Goes to the state from which the branch starts: "from: main, after: 1" is main after step 1. */
static bool load_origin(struct loader *l, const struct ynode *map)
{
    const struct ynode *from = yaml_get(map, "from"), *after = yaml_get(map, "after");
    const char *name;
    int n, here;
    if (after && !from)
        return yaml_refuse(&l->doc, after, l->e, ERR_SYNTAX,
                           "after: can only be used together with from:");
    if (!from)
        return history_goto(l->h, 0, l->e);
    if (!yaml_text(&l->doc, from, "from", 255, false, &name, l->e))
        return false;
    if (!history_branch_switch(l->h, name, l->e)) {
        if (!l->e->fix[0] || strstr(l->e->fix, "there "))
            err_fix(l->e, "name a branch that stands above this one in the file");
        return fails_at(l, from);
    }
    history_path(l->h, history_branch_index(l->h), &n, &here);
    int64_t position = n - 1;
    if (after && !yaml_int(&l->doc, after, "after", 0, n - 1, &position, l->e))
        return false;
    return history_goto(l->h, (int)position, l->e);
}

static bool load_branch(struct loader *l, const struct ynode *key, const struct ynode *map,
                        bool first)
{
    static const char *const keys[] = { "steps", "at", "from", "after", NULL };
    if (!yaml_keys(&l->doc, map, "a branch", keys, l->e))
        return false;
    const struct ynode *from = yaml_get(map, "from");
    if (first && from)
        return yaml_refuse(&l->doc, from, l->e, ERR_NAME,
                           "the first branch cannot come from another one");
    if (first && !streq(key->text, history_branch(l->h, 0)->name)) {
        const char *unwanted = history_branch(l->h, 0)->name;
        if (!history_branch_new(l->h, key->text, l->e))
            return fails_at(l, key);
        if (!history_branch_delete(l->h, unwanted, l->e))
            return false;
    } else if (!first) {
        if (!load_origin(l, map))
            return false;
        if (!history_branch_new(l->h, key->text, l->e))
            return fails_at(l, key);
    }
    return load_steps(l, yaml_get(map, "steps")) && load_at(l, map);
}

static bool load_branches(struct loader *l, const struct ynode *map)
{
    if (!yaml_is(&l->doc, map, YNODE_MAP, "branches", l->e))
        return false;
    if (map->n == 0 || map->n > SESSION_MAX_BRANCHES)
        return yaml_refuse(&l->doc, map, l->e, ERR_RANGE,
                           "branches: there must be 1 to %d branches, not %d", SESSION_MAX_BRANCHES,
                           map->n);
    l->at = ARENA_ARRAY(l->a, int, map->n);
    for (int i = 0; i < map->n; i++)
        if (!yaml_key_once(&l->doc, map, i, "branches", l->e)
            || !load_branch(l, map->item[2 * i], map->item[2 * i + 1], i == 0))
            return false;
    return true;
}

static bool load_history(struct loader *l, const struct ynode *root)
{
    const struct ynode *branches = yaml_get(root, "branches"), *steps = yaml_get(root, "steps"),
                       *current = yaml_get(root, "branch"), *at = yaml_get(root, "at");
    const char *name = NULL;
    if (branches && (steps || at))
        return yaml_refuse(&l->doc, steps ? steps : at, l->e, ERR_SYNTAX,
                           "%s: belongs inside a branch when the file has branches:",
                           steps ? "steps" : "at");
    l->at = ARENA_ARRAY(l->a, int, 1);
    if (branches ? !load_branches(l, branches) : !(load_steps(l, steps) && load_at(l, root)))
        return false;
    for (int b = 0; b < history_n_branches(l->h); b++)
        if (!history_branch_switch(l->h, history_branch(l->h, b)->name, l->e)
            || !history_goto(l->h, l->at[b], l->e))
            return false;
    if (current && !yaml_text(&l->doc, current, "branch", 255, false, &name, l->e))
        return false;
    if (!history_branch_switch(l->h, name ? name : history_branch(l->h, 0)->name, l->e))
        return fails_at(l, current);
    return true;
}

/* --- Measurements ----------------------------------------------------------------------------- */

/* Returns the state that a measurement belongs to, or -1 when no state has its branch, step and
 * key. */
static int measured_state(struct loader *l, const struct measured_at *m)
{
    for (int b = 0; b < history_n_branches(l->h); b++) {
        int n, at;
        if (!streq(history_branch(l->h, b)->name, m->branch))
            continue;
        const int *path = history_path(l->h, b, &n, &at);
        if (m->step >= n)
            return -1;
        char key[20];
        session_state_key(key, l->h, path, (int)m->step);
        return streq(key, m->key) ? path[m->step] : -1;
    }
    return -1;
}

static bool load_measured(struct loader *l, const struct ynode *list)
{
    if (!list)
        return true;
    if (!yaml_is(&l->doc, list, YNODE_SEQ, "measured", l->e))
        return false;
    for (int i = 0; i < list->n; i++) {
        struct measured_at at;
        struct measurement m;
        if (!measured_read(&l->doc, list->item[i], &at, &m, l->e))
            return false;
        int state = measured_state(l, &at);
        if (state >= 0)
            history_set_measured(l->h, state, &m);
    }
    return true;
}

void session_state_key(char out[20], const struct history *h, const int *path, int n)
{
    VEC(const char *) steps = {0};
    for (int i = 1; i <= n; i++)
        vec_push(&steps, history_state(h, path[i])->step);
    measured_key(out, history_spec(h), steps.data, steps.len);
    vec_free(&steps);
}

/* --- The file --------------------------------------------------------------------------------- */

bool session_fits(const struct session *s, const struct str *yaml, struct err *e)
{
    if (!session_room(s, 0, false, e))
        return false;
    if (yaml->len > SESSION_MAX_BYTES) {
        err_set(e, ERR_RANGE, "the session has %zu bytes; a session file has at most %u",
                yaml->len, SESSION_MAX_BYTES);
        return err_fix(e, "delete a branch that is not needed any more: delete NAME");
    }
    if (yaml->len < 2 * (size_t)YAML_NODES_MAX)  /* too short: a value takes at least two bytes */
        return true;
    struct arena *a = arena_new();
    struct ydoc doc;
    bool ok = yaml_read(a, "the session", str_text(yaml), yaml->len, &doc, e);
    arena_free(a);
    return ok;
}

static bool check_version(struct loader *l, const struct ynode *root)
{
    const struct ynode *v = yaml_get(root, "tilescope");
    int64_t version;
    if (!v) {
        err_set(l->e, ERR_SYNTAX, "the key \"tilescope\" is missing: this is not a session file");
        err_fix(l->e, "a session begins with \"tilescope: 1\"");
        return fails_at(l, root);
    }
    if (!yaml_int(&l->doc, v, "tilescope", 1, INT64_MAX, &version, l->e))
        return false;
    if (version > SESSION_VERSION) {
        err_set(l->e, ERR_RANGE, "this session has format %lld; this tilescope reads format %d",
                (long long)version, SESSION_VERSION);
        err_fix(l->e, "a newer tilescope wrote it: update this one");
        return fails_at(l, v);
    }
    return true;
}

static bool copy_text(struct loader *l, const struct ynode *root, const char *key, char *to,
                      size_t size)
{
    const struct ynode *v = yaml_get(root, key);
    const char *text;
    if (!v)
        return true;
    if (!yaml_text(&l->doc, v, key, size - 1, false, &text, l->e))
        return false;
    memcpy(to, text, strlen(text) + 1);
    return true;
}

/* Reads the operator: one line, or the statements of a graph in a block (`operator: |`). */
static bool load_operator(struct loader *l, const struct ynode *op, struct session **out)
{
    const char *spec;
    struct str mapped = {0};
    struct err with_paths;
    bool block = op->kind == YNODE_SCALAR && graph_is_composition(op->text);
    if (!yaml_text(&l->doc, op, "operator", block ? SESSION_MAX_BYTES : 4096, block, &spec, l->e))
        return false;
    if (l->file)
        model_paths_from_file(&mapped, spec, l->file);
    else
        str_add(&mapped, spec);
    bool ok = session_new(str_text(&mapped), out, &with_paths);
    str_free(&mapped);
    if (ok)
        return true;
    /* parse the text with its paths as written, so that the column of the error is right */
    struct session *unmapped;
    if (session_new(spec, &unmapped, l->e)) {
        session_free(unmapped);
        *l->e = with_paths;
        return fails_at(l, op);
    }
    if (op->line == op->end_line)
        return yaml_at_text(&l->doc, op, l->e);
    /* the block starts on the line below the key */
    int line = op->line + 1 + l->e->at.line, len = l->e->at.len;
    const char *text = l->doc.text;
    for (int i = 1; i < line && strchr(text, '\n'); i++)
        text = strchr(text, '\n') + 1;
    err_where(l->e, l->doc.name, line, l->e->at.col + (int)strspn(text, " "), text);
    return err_at(l->e, l->e->at.col, len);
}

/* Reads the text and the steps of one kernel into s->kernels.  Fails when a step is not legal.  The
 * text has one statement per line in the file; in s->kernels it is one line. */
static bool load_kernel(struct loader *l, const struct ynode *map, struct session *s)
{
    static const char *const keys[] = { "operator", "steps", NULL };
    const struct ynode *op, *steps;
    const char *text;
    const struct program *p;
    if (!yaml_is(&l->doc, map, YNODE_MAP, "a kernel", l->e)
        || !yaml_keys(&l->doc, map, "a kernel", keys, l->e)
        || !yaml_need(&l->doc, map, "operator", &op, l->e)
        || !yaml_need(&l->doc, map, "steps", &steps, l->e)
        || !yaml_text(&l->doc, op, "operator", SESSION_MAX_BYTES, true, &text, l->e)
        || !yaml_is(&l->doc, steps, YNODE_SEQ, "steps", l->e))
        return false;
    char *spec = arena_strdup(l->a, text);
    struct str joined = {0};
    for (char *line = strtok(spec, "\n"); line; line = strtok(NULL, "\n"))
        str_printf(&joined, "%s%s", joined.len ? "; " : "", line);
    const char *one = arena_strdup(l->a, str_text(&joined));
    str_free(&joined);
    const char **line = ARENA_ARRAY(l->a, const char *, steps->n);
    if (!program_new(l->a, one, &p, l->e))
        return fails_at(l, op);
    for (int i = 0; i < steps->n; i++) {
        if (!yaml_text(&l->doc, steps->item[i], "steps", 4096, false, &line[i], l->e))
            return false;
        if (!program_apply_line(p, line[i], &p, l->e))
            return yaml_at_text(&l->doc, steps->item[i], l->e);
    }
    kernels_put(&s->kernels, one, steps->n, line);
    return true;
}

static bool load_kernels(struct loader *l, const struct ynode *list, struct session *s)
{
    if (!list)
        return true;
    if (!yaml_is(&l->doc, list, YNODE_SEQ, "kernels", l->e))
        return false;
    s->network = s->of_model = true;
    for (int i = 0; i < list->n; i++)
        if (!load_kernel(l, list->item[i], s))
            return false;
    return true;
}

/* Reads the steps of the network itself into s->kernels.  Fails when a step is not legal. */
static bool load_module(struct loader *l, const struct ynode *list, struct session *s)
{
    if (!list)
        return true;
    if (!yaml_is(&l->doc, list, YNODE_SEQ, "module", l->e))
        return false;
    const char **line = ARENA_ARRAY(l->a, const char *, list->n);
    const struct graph *g = history_current(s->history)->program->base;
    s->network = s->of_model = true;
    for (int i = 0; i < list->n; i++)
        if (!yaml_text(&l->doc, list->item[i], "module", 4096, false, &line[i], l->e))
            return false;
    if (list->n > 0 && history_n_states(s->history) > 1) {
        err_set(l->e, ERR_STEP, "a graph with steps is one program: it takes no module steps");
        return yaml_at_text(&l->doc, list->item[0], l->e);
    }
    /* find the longest legal prefix, and report the error of the step after it */
    int n = list->n;
    while (n > 0 && !partition_check(g, n, line, l->e))
        n--;
    if (n < list->n)
        return partition_check(g, n + 1, line, l->e)
            || yaml_at_text(&l->doc, list->item[n], l->e);
    if (list->n > 0)
        kernels_put(&s->kernels, KERNELS_MODULE, list->n, line);
    return true;
}

/* Reads the names that inputs and outputs have in the model. */
static bool load_names(struct loader *l, const struct ynode *map, struct session *s)
{
    const struct graph *g = history_current(l->h)->program->base;
    if (!map)
        return true;
    if (!yaml_is(&l->doc, map, YNODE_MAP, "names", l->e))
        return false;
    for (int i = 0; i < map->n; i++) {
        const struct ynode *tensor = map->item[2 * i], *name = map->item[2 * i + 1];
        const char *text;
        int t = graph_tensor(g, tensor->text);
        if (!yaml_key_once(&l->doc, map, i, "names", l->e)
            || !yaml_text(&l->doc, name, "names", 1024, false, &text, l->e))
            return false;
        if (t < 0 || (g->tensor[t].role != TENSOR_INPUT && g->tensor[t].role != TENSOR_OUTPUT))
            return yaml_refuse(&l->doc, tensor, l->e, ERR_NAME,
                               "names: the operator has no input or output %.100s", tensor->text);
        session_add_port(s, tensor->text, text);
    }
    return true;
}

static bool load_accuracy(struct loader *l, const struct ynode *v, struct session *s)
{
    double x;
    if (!v)
        return true;
    if (!yaml_double(&l->doc, v, "accuracy", &x, l->e))
        return false;
    if (!(x >= 0 && x <= 1))
        return yaml_refuse(&l->doc, v, l->e, ERR_RANGE, "accuracy: a relative error of 0 to 1");
    s->accuracy = x == 0 ? -1 : x;
    return true;
}

static bool load_root(struct loader *l, const struct ynode *root, struct session **out)
{
    static const char *const keys[] = { "tilescope", "title", "note", "operator", "branch",
                                        "branches", "steps", "at", "names", "module", "accuracy",
                                        "kernels",
                                        "measured", "machine", NULL };
    const struct ynode *op, *note = yaml_get(root, "note");
    const char *text = "";
    struct session *s;
    if (!check_version(l, root) || !yaml_keys(&l->doc, root, "a session", keys, l->e)
        || (note && !yaml_text(&l->doc, note, "note", SESSION_MAX_BYTES, true, &text, l->e))
        || !yaml_need(&l->doc, root, "operator", &op, l->e) || !load_operator(l, op, &s))
        return false;
    l->h = s->history;
    if (!copy_text(l, root, "title", s->title, sizeof s->title)
        || !copy_text(l, root, "machine", s->machine, sizeof s->machine)
        || !load_history(l, root) || !load_names(l, yaml_get(root, "names"), s)
        || !load_accuracy(l, yaml_get(root, "accuracy"), s)
        || !load_module(l, yaml_get(root, "module"), s)
        || !load_kernels(l, yaml_get(root, "kernels"), s)
        || !load_measured(l, yaml_get(root, "measured"))) {
        session_free(s);
        return false;
    }
    str_add(&s->note, text);
    *out = s;
    return true;
}

static bool parse(struct arena *a, const char *name, const char *file, const char *text, size_t n,
                  struct session **out, struct err *e)
{
    struct loader l = { .a = a, .file = file, .e = e };
    if (n > SESSION_MAX_BYTES) {
        err_set(e, ERR_RANGE, "the file has %zu bytes; a session has at most %u", n,
                SESSION_MAX_BYTES);
        return err_where(e, name, 0, 0, "");
    }
    if (!yaml_read(a, name, text, n, &l.doc, e))
        return false;
    const struct ynode *root = l.doc.root;
    bool nothing = !root || (root->kind == YNODE_SCALAR && root->plain && !root->text[0]);
    if (nothing) {
        err_set(e, ERR_SYNTAX, "the file is empty");
        err_fix(e, "a session has at least \"tilescope: 1\" and \"operator: ...\"");
        return err_where(e, name, 0, 0, "");
    }
    if (!yaml_is(&l.doc, root, YNODE_MAP, "a session", e))
        return err_fix(e, "\"tilescope: 1\", \"operator: ...\" and \"steps:\", one key a line");
    return load_root(&l, root, out);
}

bool session_parse(const char *name, const char *text, size_t n, struct session **out,
                   struct err *e)
{
    struct arena *a = arena_new();
    bool ok = parse(a, name, NULL, text, n, out, e);
    arena_free(a);
    return ok;
}

bool session_parse_file(const char *path, const struct str *text, struct session **out,
                        struct err *e)
{
    struct arena *a = arena_new();
    bool ok = parse(a, path, path, str_text(text), text->len, out, e);
    arena_free(a);
    return ok;
}

bool session_load(const char *path, struct session **out, struct err *e)
{
    struct str text = {0};
    struct stat st;
    bool is_stdin = streq(path, "-");
    bool is_file = !is_stdin && stat(path, &st) == 0 && S_ISREG(st.st_mode);
    struct session *s;
    if (strlen(path) >= sizeof s->path) {
        err_set(e, ERR_IO, "the path has %zu bytes; at most %zu are allowed", strlen(path),
                sizeof s->path - 1);
        return false;
    }
    bool ok = file_read(path, SESSION_MAX_BYTES, &text, e)
           && (is_file ? session_parse_file(path, &text, &s, e)
                       : session_parse(is_stdin ? "<stdin>" : path, str_text(&text), text.len, &s,
                                       e));
    uint64_t hash = file_content(str_text(&text), text.len);
    str_free(&text);
    if (!ok)
        return false;
    if (is_file) {
        memcpy(s->path, path, strlen(path) + 1);
        s->on_disk = hash;
    }
    *out = s;
    return true;
}
