/* The start screen: unsaved work, recent sessions, shipped examples and operators in one list, and
 * what the selected line is about.  The list is read when the screen opens, not when it is
 * drawn. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "app/ui/text.h"
#include "app/views/view.h"
#include "kernels/base/file.h"
#include "sessions/file/expert_file.h"
#include "sessions/file/shipped.h"

#define SHOWN_MAX 12                     /* of each kind */
#define RECENT_MAX 6                     /* so that there is room for operators below */

enum entry_kind { ENTRY_AUTOSAVE, ENTRY_RECENT, ENTRY_OPERATOR, ENTRY_EXAMPLE };
struct start_entry {
    enum entry_kind kind;
    char path[512], title[256];
    double age_s;
    struct autosave autosave;
    const struct op_family *op;
    bool expert;                         /* a shipped schedule is for it */
};

static struct start_entry *add_entry(struct model *m, enum entry_kind kind, const char *path)
{
    struct start_entry *e = xcalloc(1, sizeof *e);
    e->kind = kind;
    snprintf(e->path, sizeof e->path, "%s", path);
    vec_push(&m->start, e);
    return e;
}

void view_start_free(struct model *m)
{
    for (int i = 0; i < m->start.len; i++)
        free(m->start.data[i]);
    vec_free(&m->start);
}

/* What a session file says of itself, without loading it: its title, or else its operator. */
static void read_title(struct start_entry *e)
{
    struct str text = {0};
    struct err ignored;
    char operator[256] = "";
    if (file_read_regular(e->path, 1u << 20, &text, &ignored))
        for (const char *p = str_text(&text); *p; p += strcspn(p, "\n"), p += *p == '\n') {
            int n = (int)strcspn(p, "\n");
            if (str_starts(p, "title: "))
                snprintf(e->title, sizeof e->title, "%.*s", n - 7, p + 7);
            if (str_starts(p, "operator: "))
                snprintf(operator, sizeof operator, "%.*s", n - 10, p + 10);
        }
    if (!e->title[0])
        snprintf(e->title, sizeof e->title, "%s", operator);
    size_t len = strlen(e->title);
    if (len > 1 && (e->title[0] == '"' || e->title[0] == '\'')
        && e->title[len - 1] == e->title[0]) {
        memmove(e->title, e->title + 1, len - 2);
        e->title[len - 2] = 0;
    }
    str_free(&text);
}

static int by_path(const void *a, const void *b)
{
    return strcmp((*(struct start_entry *const *)a)->path, (*(struct start_entry *const *)b)->path);
}

static void read_examples(struct model *m)
{
    char dir[512], path[800];
    int first = m->start.len;
    DIR *d = shipped_dir("examples", dir, sizeof dir) ? opendir(dir) : NULL;
    for (struct dirent *f = d ? readdir(d) : NULL; f; f = readdir(d)) {
        snprintf(path, sizeof path, "%s/%s", dir, f->d_name);
        if (str_ends(f->d_name, ".yaml") && m->start.len - first < SHOWN_MAX)
            read_title(add_entry(m, ENTRY_EXAMPLE, path));
    }
    if (d)
        closedir(d);
    if (m->start.len > first)
        qsort(m->start.data + first, (size_t)(m->start.len - first), sizeof *m->start.data,
              by_path);
}

static void read_operators(struct model *m)
{
    struct arena *a = arena_new();
    struct experts all;
    struct err ignored;
    if (!expert_file_all(a, &all, &ignored))
        all = (struct experts){0};
    for (int i = 0; i < ops_count(); i++) {
        struct start_entry *e = add_entry(m, ENTRY_OPERATOR, "");
        e->op = ops_get(i);
        e->expert = experts_for(&all, e->op->name);
    }
    arena_free(a);
}

void view_start_read(struct model *m)
{
    static struct autosave saved[SHOWN_MAX];
    static char recent[RECENT_MAX][512];
    view_start_free(m);
    int n = session_autosaves(saved, SHOWN_MAX);
    for (int i = 0; i < n; i++) {
        struct start_entry *e = add_entry(m, ENTRY_AUTOSAVE, saved[i].original);
        e->autosave = saved[i];
        snprintf(e->title, sizeof e->title, "%s", saved[i].title);
    }
    n = session_recent(recent, RECENT_MAX);
    for (int i = 0; i < n; i++)
        read_title(add_entry(m, ENTRY_RECENT, recent[i]));
    read_examples(m);
    read_operators(m);
    m->data_stamp++;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void put_age(struct str *out, double s)
{
    if (s < 60)
        str_add(out, "just now");
    else if (s < 90 * 60)
        str_printf(out, "%.0f min ago", s / 60);
    else if (s < 36 * 3600)
        str_printf(out, "%.0f h ago", s / 3600);
    else
        str_printf(out, "%.0f days ago", s / 86400);
}

static void put_entry(struct doc *d, const struct start_entry *e, int id, int width)
{
    struct str left = {0}, cell = {0};
    int name = width >= 60 ? 24 : width >= 40 ? 18 : 12;
    const char *what = e->op ? e->op->name : e->path[0] ? base_name(e->path) : "never saved";
    int n = (int)strlen(what) - (str_ends(what, ".yaml") ? (int)strlen(".yaml") : 0);
    str_printf(&left, "%.*s", n, what);
    text_fit(&cell, str_text(&left), name);
    doc_printf(d, STYLE_PLAIN, "  %s  ", str_text(&cell));
    str_clear(&cell);
    str_clear(&left);
    if (e->kind == ENTRY_AUTOSAVE) {
        put_age(&left, e->autosave.age_s);
        str_add(&left, ", ");
    }
    str_add(&left, e->kind == ENTRY_OPERATOR ? e->op->title : e->title);
    text_fit(&cell, str_text(&left), width - name - 6);
    doc_put(d, STYLE_DIM, str_text(&cell));
    doc_end(d)->id = id;
    str_free(&left);
    str_free(&cell);
}

void view_start_build(struct model *m, struct pane_doc *p, int width)
{
    static const char *const heading[] = {
        "Unsaved work", "Recent sessions", "Start on an operator", "Examples",
    };
    struct doc *d = &p->doc;
    doc_clear(d);
    doc_wrap(d, STYLE_PLAIN, "Try data layouts and loop orders on one tensor operator, a step at a "
             "time, and see after each step the loops, the C, the time and the cache misses.",
             width - 2, 0);
    for (int i = 0; i < m->start.len; i++) {
        const struct start_entry *e = m->start.data[i];
        if (i == 0 || m->start.data[i - 1]->kind != e->kind) {
            doc_line(d, STYLE_PLAIN, "");
            doc_line(d, STYLE_STRONG, heading[e->kind]);
        }
        put_entry(d, e, i, width);
    }
}

static struct start_entry *selected(const struct model *m)
{
    const struct line *l = doc_at(&m->pane[DOC_START].doc, &m->pane[DOC_START].scroll);
    return l && l->id >= 0 && l->id < m->start.len ? m->start.data[l->id] : NULL;
}

/* The file as it is: session files are meant to be read. */
static void describe_file(struct doc *d, const char *path, int width)
{
    struct str text = {0};
    struct err e;
    doc_wrap(d, STYLE_DIM, path, width - 2, 2);
    doc_line(d, STYLE_PLAIN, "");
    if (file_read_regular(path, 1u << 20, &text, &e))
        doc_source(d, str_text(&text), NULL, width - 2);
    else
        doc_wrap(d, STYLE_BAD, e.text, width - 2, 0);
    str_free(&text);
}

static void describe_operator(struct doc *d, const struct start_entry *e, int width)
{
    const struct op_family *op = e->op;
    doc_line(d, STYLE_STRONG, op->title);
    doc_line(d, STYLE_PLAIN, "");
    doc_wrap(d, STYLE_PLAIN, op->help, width - 2, 0);
    doc_line(d, STYLE_PLAIN, "");
    for (int i = 0; i < op->n_params; i++) {
        const struct op_param *q = &op->params[i];
        struct str line = {0};
        str_printf(&line, "%-5s %s", q->name, q->help);
        if (q->def == OP_REQUIRED) {
            str_add(&line, " (needed)");
        } else if (q->def != OP_UNSET) {
            str_add(&line, " (");
            op_param_print(&line, q, q->def);
            str_add_char(&line, ')');
        }
        doc_wrap(d, STYLE_DIM, str_text(&line), width - 2, 6);
        str_free(&line);
    }
    doc_line(d, STYLE_PLAIN, "");
    doc_wrap(d, STYLE_PLAIN, op->example, width - 2, 2);
    doc_line(d, STYLE_PLAIN, "");
    doc_wrap(d, STYLE_DIM, "Enter puts this on the prompt, to change the sizes.", width - 2, 0);
    if (e->expert)
        doc_wrap(d, STYLE_DIM, "Once it is open, X or :expert gives a good schedule.", width - 2,
                 0);
}

void view_detail_build(struct model *m, struct pane_doc *p, int width)
{
    const struct start_entry *e = selected(m);
    doc_clear(&p->doc);
    if (!e)
        return;
    if (e->kind == ENTRY_OPERATOR)
        describe_operator(&p->doc, e, width);
    else
        describe_file(&p->doc, e->kind == ENTRY_AUTOSAVE ? e->autosave.path : e->path, width);
}

/* A copy without a file name: saving asks for one, and the example stays as it is. */
static void open_example(struct model *m, const char *path)
{
    struct session *s = NULL;
    struct err e;
    if (!session_load(path, &s, &e)) {
        model_error(m, &e);
        return;
    }
    s->path[0] = 0;
    s->on_disk = 0;
    model_set_session(m, s);
    model_info(m, "a copy of the example %s; s saves it under a name of yours", base_name(path));
}

void view_start_open(struct model *m)
{
    const struct start_entry *e = selected(m);
    struct session *s = NULL;
    struct err err;
    char line[700];
    if (!e)
        return;
    if (e->kind == ENTRY_AUTOSAVE) {
        if (session_recover(&e->autosave, &s, &err)) {
            model_set_session(m, s);
            model_info(m, "these changes are not saved yet: s saves them");
        } else {
            model_error(m, &err);
        }
        return;
    }
    if (e->kind == ENTRY_OPERATOR) {
        snprintf(line, sizeof line, "new %s", e->op->example);
        prompt_open(&m->prompt, ':', line);
    } else if (e->kind == ENTRY_EXAMPLE) {
        snprintf(line, sizeof line, "%s", e->path);
        open_example(m, line);
    } else {
        snprintf(line, sizeof line, "e %s", e->path);
        model_run(m, line);
    }
}

void view_start_hint(const struct model *m, struct str *out)
{
    static const char *const hint[] = {
        "Enter takes this work up again, d forgets it.", "Enter opens this session.",
        "Enter, then change the sizes and press Enter again.", "Enter opens this example.",
    };
    const struct start_entry *e = selected(m);
    if (e)
        str_add(out, hint[e->kind]);
    if (e && e->expert)
        str_add(out, " Then X: a good schedule.");
}

void view_start_discard(struct model *m)
{
    const struct start_entry *e = selected(m);
    if (!e || e->kind != ENTRY_AUTOSAVE) {
        model_say_error(m, "only unsaved work can be discarded here", "");
        return;
    }
    if (!streq(str_text(&m->overwrite), e->autosave.path)) {
        str_clear(&m->overwrite);
        str_add(&m->overwrite, e->autosave.path);
        model_info(m, "d again forgets this unsaved session for good");
        return;
    }
    str_clear(&m->overwrite);
    unlink(e->autosave.path);
    view_start_read(m);
    model_info(m, "forgotten");
}
