#include "app/model/start.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/base/file.h"
#include "sessions/file/expert_file.h"
#include "sessions/file/shipped.h"

#define UNSAVED_MAX 12                   /* only so many autosaves are listed, the newest ones */
#define RECENT_MAX 6  /* only so many recent sessions are listed, so that operators have room */

static struct start_entry *add_entry(struct start_list *s, enum start_kind kind, const char *path)
{
    struct start_entry *e = xcalloc(1, sizeof *e);
    e->kind = kind;
    snprintf(e->path, sizeof e->path, "%s", path);
    vec_push(&s->entry, e);
    return e;
}

void start_free(struct start_list *s)
{
    for (int i = 0; i < s->entry.len; i++)
        free(s->entry.data[i]);
    vec_free(&s->entry);
}

/* Sets e->title to the title of a session file, or if it has none, to its operator.  Does not load
 * the session, which would take longer.  The title of a model is "an ONNX model". */
static void read_title(struct start_entry *e)
{
    struct str text = {0};
    struct err ignored;
    char operator[256] = "";
    if (str_ends(e->path, ".onnx"))
        snprintf(e->title, sizeof e->title, "an ONNX model");
    else if (file_read_regular(e->path, 1u << 20, &text, &ignored))
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

static void read_examples(struct start_list *s)
{
    char dir[512], path[800];
    int first = s->entry.len;
    DIR *d = shipped_dir("examples", dir, sizeof dir) ? opendir(dir) : NULL;
    for (struct dirent *f = d ? readdir(d) : NULL; f; f = readdir(d)) {
        snprintf(path, sizeof path, "%s/%s", dir, f->d_name);
        if (str_ends(f->d_name, ".yaml")) {
            read_title(add_entry(s, START_EXAMPLE, path));
        } else if (str_ends(f->d_name, ".onnx")) {
            struct start_entry *e = add_entry(s, START_EXAMPLE, path);
            snprintf(e->title, sizeof e->title, "a network, as an ONNX model");
        }
    }
    if (d)
        closedir(d);
    if (s->entry.len > first)
        qsort(s->entry.data + first, (size_t)(s->entry.len - first), sizeof *s->entry.data,
              by_path);
}

static void read_operators(struct start_list *s)
{
    struct arena *a = arena_new();
    struct experts all;
    struct err ignored;
    if (!expert_file_all(a, &all, &ignored))
        all = (struct experts){0};
    for (int i = 0; i < ops_count(); i++) {
        struct start_entry *e = add_entry(s, START_OPERATOR, "");
        e->op = ops_get(i);
        e->expert = experts_for(&all, e->op->name, NULL);
    }
    arena_free(a);
}

/* Adds an autosave.  A network and its kernels share one entry.  Its member `autosave` is the
 * autosave of the network if there is one, else the autosave of a kernel. */
static void add_unsaved(struct start_list *s, const struct autosave *x)
{
    struct start_entry *e = NULL;
    for (int i = 0; i < s->entry.len && !e; i++) {
        struct start_entry *old = s->entry.data[i];
        const struct autosave *y = &old->autosave;
        bool kernels = !y->kernel || old->kernels > 0;
        if (x->kernel ? kernels && session_autosave_together(x, y)
                      : y->kernel && session_autosave_together(y, x))
            e = old;
    }
    bool first = !e;
    if (first)
        e = add_entry(s, START_AUTOSAVE, x->original);
    e->kernels += x->kernel != 0;
    if (!first && x->kernel)
        return;
    struct str net = {0};
    e->autosave = *x;
    if (session_autosave_network(x, &net))
        snprintf(e->path, sizeof e->path, "%s", str_text(&net));
    else if (!first)
        snprintf(e->path, sizeof e->path, "%s", x->original);
    snprintf(e->title, sizeof e->title, "%s", x->title);
    str_free(&net);
}

void start_read(struct start_list *s)
{
    static struct autosave saved[UNSAVED_MAX];
    static char recent[RECENT_MAX][512];
    start_free(s);
    int n = session_autosaves(saved, UNSAVED_MAX);
    for (int i = 0; i < n; i++)
        /* a kernel whose only news are measurements gets no entry: the network measures it
         * anyway */
        if (!saved[i].kernel || !saved[i].numbers)
            add_unsaved(s, &saved[i]);
    n = session_recent(recent, RECENT_MAX);
    for (int i = 0; i < n; i++)
        read_title(add_entry(s, START_RECENT, recent[i]));
    read_examples(s);
    read_operators(s);
}
