/* The start screen: a list of what can be opened, and the details of the selected line. */
#include "app/views/view.h"

#include <stdio.h>
#include <string.h>
#include "app/ui/text.h"
#include "kernels/base/file.h"

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
    struct str left = {0};
    int name = width >= 60 ? 24 : width >= 40 ? 18 : 12;
    const char *what = e->op ? e->op->name : e->path[0] ? basename(e->path)
                     : e->autosave.model[0] ? basename(e->autosave.model)
                     : e->autosave.kernel ? "kernel of a network" : "never saved";
    int n = (int)strlen(what) - (str_ends(what, ".yaml") ? (int)strlen(".yaml") : 0);
    str_printf(&left, "%.*s", n, what);
    doc_put(d, STYLE_PLAIN, "  ");
    doc_fit(d, STYLE_PLAIN, str_text(&left), name);
    doc_put(d, STYLE_PLAIN, "  ");
    str_clear(&left);
    if (e->kind == START_AUTOSAVE) {
        put_age(&left, e->autosave.age_s);
        str_add(&left, ", ");
        if (e->kernels > 0)
            str_printf(&left, "%d kernel%s changed, ", e->kernels, e->kernels == 1 ? "" : "s");
    }
    str_add(&left, e->kind == START_OPERATOR ? e->op->title : e->title);
    doc_fit(d, STYLE_DIM, str_text(&left), width - name - 6);
    doc_end(d)->id = id;
    str_free(&left);
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
    for (int i = 0; i < m->start.entry.len; i++) {
        const struct start_entry *e = m->start.entry.data[i];
        if (i == 0 || m->start.entry.data[i - 1]->kind != e->kind) {
            doc_line(d, STYLE_PLAIN, "");
            doc_line(d, STYLE_STRONG, heading[e->kind]);
        }
        put_entry(d, e, i, width);
    }
}

/* Shows the text of a session file without its measurements and without the comments at its
 * beginning. (The comments of an autosave name its owner.) */
static void describe_text(struct doc *d, char *text, int width)
{
    char *numbers = strstr(text, "\nmeasured:");
    if (numbers)
        numbers[1] = 0;
    while (*text == '#')
        text += strcspn(text, "\n") + (strchr(text, '\n') != NULL);
    doc_source(d, text, NULL, width - 2);
    if (numbers)
        doc_wrap(d, STYLE_DIM, "It has measurements, too.", width - 2, 0);
}

static void describe_file(struct doc *d, const char *path, int width)
{
    struct str text = {0};
    struct err e;
    doc_wrap(d, STYLE_DIM, path, width - 2, 2);
    doc_line(d, STYLE_PLAIN, "");
    if (str_ends(path, ".onnx"))
        doc_wrap(d, STYLE_PLAIN, "A model in ONNX form. Enter lists its kernels with their layouts "
                 "and times; Enter on a kernel opens it.", width - 2, 0);
    else if (file_read_regular(path, 1u << 20, &text, &e))
        describe_text(d, text.data ? text.data : (char[]){""}, width);
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
    const struct start_entry *e = model_entry(m);
    doc_clear(&p->doc);
    if (!e)
        return;
    if (e->kind == START_OPERATOR)
        describe_operator(&p->doc, e, width);
    else
        describe_file(&p->doc, e->kind == START_AUTOSAVE ? e->autosave.path : e->path, width);
}

void view_start_hint(const struct model *m, struct str *out)
{
    static const char *const hint[] = {
        "Enter takes this work up again, d forgets it.", "Enter opens this session.",
        "Enter, then change the sizes and press Enter again.", "Enter opens this example.",
    };
    const struct start_entry *e = model_entry(m);
    if (e)
        str_add(out, hint[e->kind]);
    if (e && e->expert)
        str_add(out, " Then X: a good schedule.");
}
