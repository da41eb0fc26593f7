/* Writes a session as YAML, with the keys always in the same order. */
#include "sessions/file/session_impl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/base/file.h"
#include "kernels/base/vec.h"
#include "sessions/file/measured_yaml.h"
#include "sessions/file/model_path.h"
#include "sessions/file/kernels_text.h"

/* A copy of the path of one branch.  The array that history_path returns is valid only until the
 * next call. */
struct trail { int n, at; int *id; };

static struct trail path_of(const struct history *h, int b)
{
    struct trail p;
    const int *id = history_path(h, b, &p.n, &p.at);
    p.id = xmalloc(sizeof *id * (size_t)p.n);
    memcpy(p.id, id, sizeof *id * (size_t)p.n);
    return p;
}

static int shared_states(const struct trail *a, const struct trail *b)
{
    int n = 0;
    while (n < a->n && n < b->n && a->id[n] == b->id[n])
        n++;
    return n;
}

/* Returns the branch before b that shares the most steps with b, or -1 if none shares a step.  Sets
 * *shared to the number of shared steps. */
static int origin_of(const struct trail *paths, int b, int *shared)
{
    int origin = -1;
    *shared = 0;
    for (int i = 0; i < b; i++) {
        int n = shared_states(&paths[i], &paths[b]) - 1;
        if (n > *shared) {
            *shared = n;
            origin = i;
        }
    }
    return origin;
}

static void write_step(struct ywriter *w, const struct state *s)
{
    if (s->held) {
        yaml_put_map(w, true);
        yaml_put_text(w, "held");
    }
    yaml_put_text(w, s->step);
    if (s->held)
        yaml_put_map_end(w);
}

static void write_steps(struct ywriter *w, const struct history *h, const struct trail *p, int from)
{
    yaml_put_text(w, "steps");
    yaml_put_seq(w, p->n - 1 == from);
    for (int i = from + 1; i < p->n; i++)
        write_step(w, history_state(h, p->id[i]));
    yaml_put_seq_end(w);
    if (p->at < p->n - 1) {
        yaml_put_text(w, "at");
        yaml_put_int(w, p->at);
    }
}

static void write_branches(struct ywriter *w, const struct history *h, const struct trail *paths)
{
    yaml_put_text(w, "branch");
    yaml_put_text(w, history_branch(h, history_branch_index(h))->name);
    yaml_put_text(w, "branches");
    yaml_put_map(w, false);
    for (int b = 0; b < history_n_branches(h); b++) {
        int shared, origin = origin_of(paths, b, &shared);
        yaml_put_text(w, history_branch(h, b)->name);
        yaml_put_map(w, false);
        if (origin >= 0) {
            yaml_put_text(w, "from");
            yaml_put_text(w, history_branch(h, origin)->name);
            yaml_put_text(w, "after");
            yaml_put_int(w, shared);
        }
        write_steps(w, h, &paths[b], shared);
        yaml_put_map_end(w);
    }
    yaml_put_map_end(w);
}

/* Writes the measurement of each state once, under the first branch that has the state. */
static void write_measured(struct ywriter *w, const struct history *h, const struct trail *paths)
{
    bool any = false, *done = xcalloc((size_t)history_n_states(h), sizeof *done);
    for (int b = 0; b < history_n_branches(h); b++)
        for (int i = 0; i < paths[b].n; i++) {
            const struct state *s = history_state(h, paths[b].id[i]);
            struct measured_at at = { .branch = history_branch(h, b)->name, .step = i };
            if (!s->measured || done[s->id])
                continue;
            if (!any) {
                yaml_put_text(w, "measured");
                yaml_put_seq(w, false);
            }
            any = done[s->id] = true;
            session_state_key(at.key, h, paths[b].id, i);
            measured_write(w, &at, s->measured);
        }
    if (any)
        yaml_put_seq_end(w);
    free(done);
}

static void write_lines(struct ywriter *w, const char *key, const char *text)
{
    if (text[0] == '\0')
        return;
    yaml_put_text(w, key);
    yaml_put_text(w, text);
}

/* Writes text, unless it is "", as one line: \n and \t become blanks, because the reader accepts
 * neither in such a value. */
static void write_line(struct ywriter *w, const char *key, const char *text)
{
    char *line = xstrdup(text);
    for (char *c = line; *c; c++)
        if (*c == '\n' || *c == '\t')
            *c = ' ';
    write_lines(w, key, line);
    free(line);
}

/* Writes the operator, a graph with one statement per line. path: the session file for which the
 * paths of models are changed (model_path.h); NULL: they stay as they are. */
static void write_operator(struct ywriter *w, const char *spec, const char *path)
{
    struct str lines = {0}, mapped = {0};
    if (!graph_is_composition(spec)) {
        write_line(w, "operator", spec);
        return;
    }
    if (path)
        model_paths_to_file(&mapped, spec, path);
    for (const char *s = path ? str_text(&mapped) : spec; *s; s++) {
        bool ends = s[0] == ';' && s[1] == ' ';
        str_add_char(&lines, ends ? '\n' : *s);
        s += ends;
    }
    str_add_char(&lines, '\n');
    write_lines(w, "operator", str_text(&lines));
    str_free(&lines);
    str_free(&mapped);
}

static void write_list(struct ywriter *w, const char *key, int n, const char *const *line)
{
    yaml_put_text(w, key);
    yaml_put_seq(w, n == 0);
    for (int i = 0; i < n; i++)
        yaml_put_text(w, line[i]);
    yaml_put_seq_end(w);
}

/* Writes the names that inputs and outputs have in the model, if they differ from the tensors'. */
static void write_names(struct ywriter *w, const struct session *s)
{
    bool any = false;
    for (int i = 0; i < s->ports.len; i++) {
        const struct session_port *p = &s->ports.data[i];
        if (streq(p->tensor, p->value))
            continue;
        if (!any) {
            yaml_put_text(w, "names");
            yaml_put_map(w, false);
        }
        any = true;
        write_line(w, p->tensor, p->value);
    }
    if (any)
        yaml_put_map_end(w);
}

static void write_kernels(struct ywriter *w, const struct session *s)
{
    const char *kernels = str_text(&s->kernels);
    struct arena *a = arena_new();
    const char *spec;
    const char *const *line;
    int n;
    bool module = kernels_find(kernels, a, KERNELS_MODULE, &n, &line), any = false;
    if (module)
        write_list(w, KERNELS_MODULE, n, line);
    for (const char *at = kernels; kernels_next(&at, a, &spec, &n, &line);)
        any |= !streq(spec, KERNELS_MODULE);
    if (any || (s->network && !module)) {
        yaml_put_text(w, "kernels");
        yaml_put_seq(w, !any);
        while (kernels_next(&kernels, a, &spec, &n, &line)) {
            if (streq(spec, KERNELS_MODULE))
                continue;
            yaml_put_map(w, false);
            write_operator(w, spec, NULL);
            write_list(w, "steps", n, line);
            yaml_put_map_end(w);
        }
        yaml_put_seq_end(w);
    }
    arena_free(a);
}

void session_yaml_in(const struct session *s, const char *path, struct str *out)
{
    const struct history *h = s->history;
    int n = history_n_branches(h);
    struct trail *paths = xcalloc((size_t)n, sizeof *paths);
    for (int b = 0; b < n; b++)
        paths[b] = path_of(h, b);
    struct ywriter *w = yaml_open(out);
    yaml_put_map(w, false);
    yaml_put_text(w, "tilescope");
    yaml_put_int(w, SESSION_VERSION);
    write_line(w, "title", s->title);
    write_lines(w, "note", str_text(&s->note));
    write_operator(w, history_spec(h), path);
    if (n == 1 && streq(history_branch(h, 0)->name, "main"))
        write_steps(w, h, &paths[0], 0);
    else
        write_branches(w, h, paths);
    write_names(w, s);
    if (s->accuracy != 0) {
        yaml_put_text(w, "accuracy");
        yaml_put_double(w, fmax(s->accuracy, 0));
    }
    write_kernels(w, s);
    write_measured(w, h, paths);
    write_line(w, "machine", s->machine);
    yaml_put_map_end(w);
    yaml_close(w);
    for (int b = 0; b < n; b++)
        free(paths[b].id);
    free(paths);
}

uint64_t session_saw(const struct session *s, const char *path)
{
    return s->path[0] && file_same(path, s->path) ? s->on_disk : FILE_ANYTHING;
}

static bool save(struct session *s, const char *path, uint64_t seen, bool beside, struct err *e)
{
    struct str text = {0}, where = {0};
    const size_t longest = sizeof s->path - (beside ? sizeof "-999" : 1);
    if (streq(path, "-") || strlen(path) > longest) {
        err_set(e, ERR_IO, "a session cannot be saved as \"%.200s\"", path);
        return err_fix(e, "use a file name of at most %zu bytes", longest);
    }
    session_yaml_in(s, path, &text);
    str_add(&where, path);
    bool ok = session_fits(s, &text, e)
           && (beside ? file_write_beside(path, str_text(&text), text.len, &where, e)
                      : file_replace(path, seen, str_text(&text), text.len, e));
    if (ok) {
        session_autosave_drop(s);
        s->on_disk = file_content(str_text(&text), text.len);
        snprintf(s->path, sizeof s->path, "%s", str_text(&where));
        s->numbers = false;
        session_settled(s);
        session_remember(s->path);
    }
    str_free(&text);
    str_free(&where);
    return ok;
}

bool session_save_over(struct session *s, const char *path, uint64_t seen, struct err *e)
{
    return save(s, path, seen, false, e);
}

bool session_save(struct session *s, const char *path, struct err *e)
{
    return save(s, path, session_saw(s, path), false, e);
}

bool session_save_beside(struct session *s, const char *path, struct err *e)
{
    return save(s, path, FILE_ABSENT, true, e);
}
