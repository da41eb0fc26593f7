/* `tilescope snapshot`: prints a screen as text or SVG; and the views of `show` as SVG. */
#include "app/cli/cli.h"

#include <stdio.h>

#include "app/ui/grid_svg.h"
#include "app/ui/text.h"
#include "app/views/screen.h"
#include "kernels/base/file.h"

static bool is_picture(const char *path)
{
    return path && str_ends(path, ".svg");
}

bool cli_check_picture(const char *path, struct err *e)
{
    static const char *const other[] = { ".png", ".pdf", ".jpg", ".jpeg", ".gif", ".eps", ".ps" };
    for (int i = 0; path && i < COUNT_OF(other); i++)
        if (str_ends(path, other[i])) {
            err_set(e, ERR_SYNTAX, "%.200s: a picture is written as .svg, anything else as text",
                    path);
            return err_fix(e, "-o %.*s.svg; rsvg-convert or inkscape makes %s of it",
                           (int)(strrchr(path, '.') - path), path, other[i] + 1);
        }
    return true;
}

/* Reads --size, "80x24". */
static bool read_size(const struct args *a, int *w, int *h, struct err *e)
{
    const char *size = args_value(a, OPT_SIZE);
    char rest;
    if (!size || (sscanf(size, "%dx%d%c", w, h, &rest) == 2 && *w >= 30 && *w <= 1000 && *h >= 6
                  && *h <= 1000))
        return true;
    return err_set(e, ERR_SYNTAX, "--size %.40s: expected columns and rows, as in 80x24, at least "
                   "30x6", size);
}

/* Shows the view that --view names. */
static bool choose_view(struct model *m, const char *name, struct err *e)
{
    struct str line = {0};
    bool network = streq(name, "network"), ok = true;
    if (network && !m->network)
        ok = model_command(m, "network");
    if (!network && model_shows_network(m))
        ok = model_command(m, "network off");
    str_printf(&line, "view %s", name);
    if (ok && !network)
        ok = model_command(m, str_text(&line));
    str_free(&line);
    if (ok)
        return true;
    err_set(e, ERR_NAME, "--view %.40s: %s", name, str_text(&m->message.text));
    return err_fix(e, "%s", str_text(&m->message.fix));
}

/* Finds the next job that the screen desires. Measurements and searches count only if `measure` is
 * set. Returns false if there is no such job. */
static bool next_job(const struct model *m, bool measure, struct desired_job *out)
{
    return model_desired_job(m, LANE_TEXT, out)
        || (measure && (model_desired_job(m, LANE_MEASURE, out)
                        || model_desired_job(m, LANE_TUNE, out)));
}

/* Runs the screen's background jobs on this thread, until none is left or c is raised. */
static void finish_jobs(struct model *m, bool measure, struct cancel *c)
{
    struct desired_job w;
    screen_refresh(m);
    while (!cancelled(c) && next_job(m, measure, &w)) {
        struct app_job *j = model_job(m, &w);
        job_run(j, c, NULL);
        model_done(m, j);
        job_free(j);
        screen_refresh(m);
    }
}

/* The screen on which the lines of --source run, and the flag that stops them. */
struct typed { struct model *m; struct cancel *c; };

/* Runs a line as the screen's prompt does, then the jobs that the line starts. */
static bool typed_line(void *of, const struct cli_line *l, struct err *e)
{
    struct typed *t = of;
    struct model *m = t->m;
    const char *line = l->text + strspn(l->text, " \t:");
    if (!*line || *line == '#')
        return true;
    m->error_col = 0;
    if (model_command(m, line)) {
        finish_jobs(m, true, t->c);
        return !cancelled(t->c) || err_set(e, ERR_CANCEL, "stopped");
    }
    int col = (int)(line - l->text) + (m->error_col > 0 ? m->error_col : 1);
    err_set(e, ERR_SYNTAX, "%s", str_text(&m->message.text));
    err_fix(e, "%s", str_text(&m->message.fix));
    return err_where(e, l->file, l->number, col, l->text);
}

/* Writes the grid as SVG into a file that ends in .svg, else as text. */
static bool write_grid(const struct cli *c, const struct grid *g, struct err *e)
{
    const char *path = args_value(c->args, OPT_OUTPUT);
    struct str out = {0};
    bool ok = true;
    if (is_picture(path))
        grid_svg(g, &out);
    else
        grid_dump(g, &out);
    if (path && !streq(path, "-"))
        ok = file_write_atomic(path, str_text(&out), out.len, e);
    else
        cli_put(&out);
    str_free(&out);
    return ok;
}

static bool print(struct model *m, const struct cli *c, struct err *e)
{
    struct grid g;
    grid_open(&g, m->w, m->h, m->unicode);
    screen_draw(m, &g);
    bool ok = write_grid(c, &g, e);
    grid_close(&g);
    return ok;
}

/* Shows the view `what` of `show` on the screen, and returns its document; NULL: the screen has no
 * such view. */
static const struct doc *doc_of(struct model *m, const char *what)
{
    struct err ignored;
    m->zoom = true;
    if (streq(what, "steps") && model_command(m, "focus steps"))
        return &m->pane[DOC_LEDGER].doc;
    for (int v = 0; v < VIEW_COUNT; v++)
        if (strcaseeq(model_view[v].name, what) && choose_view(m, what, &ignored))
            return &m->pane[v].doc;
    return NULL;
}

void cli_doc_svg(const struct doc *d, bool unicode, struct str *out)
{
    struct scroll nowhere = {.cursor = -1};
    struct grid g;
    int width = 1;
    for (int i = 0; i < d->lines.len; i++) {
        int columns = text_width(d->lines.data[i].text) + 2;
        width = columns > width ? columns : width;
    }
    grid_open(&g, width, d->lines.len > 0 ? d->lines.len : 1, unicode);
    doc_draw(d, &nowhere, &g, (struct rect){0, 0, g.w, g.h}, (struct doc_look){.focused = false});
    grid_svg(&g, out);
    grid_close(&g);
}

void cli_view_svg(const struct cli *c, struct opened *o, const char *what, int width,
                  const struct str *text, struct str *out)
{
    struct model_opts opts = { .no_auto = true };
    struct model *m = model_new(o->session, &opts, cli_has_unicode(c));
    struct doc plain;
    o->session = NULL;
    doc_open(&plain);
    model_resize(m, width, 1000);
    const struct doc *d = doc_of(m, what);
    if (d) {
        finish_jobs(m, false, c->cancel);
    } else {
        doc_source(&plain, str_text(text), NULL, 0);
        d = &plain;
    }
    cli_doc_svg(d, m->unicode, out);
    doc_close(&plain);
    model_free(m);
}

int cli_snapshot(const struct cli *c)
{
    struct model_opts o = { .no_auto = true };
    struct opened opened = {0};
    struct err e = {0};
    const char *view = args_value(c->args, OPT_VIEW), *source = args_value(c->args, OPT_SOURCE);
    int w = 80, h = 24;
    if (!cli_check_picture(args_value(c->args, OPT_OUTPUT), &e) || !read_size(c->args, &w, &h, &e)
        || !args_int(c->args, OPT_THREADS, 1, 1024, &o.threads, &e))
        return cli_fail(c, &e);
    int code = c->args->word.len ? cli_open_or_list(c, &opened) : EXIT_FINE;
    if (code != EXIT_FINE)
        return code;
    struct model *m = model_new(opened.session, &o, cli_has_unicode(c));
    opened.session = NULL;
    m->letters = !is_picture(args_value(c->args, OPT_OUTPUT));
    if (m->recover)
        model_recover_answer(m, false, false);
    model_clear_message(m);
    model_resize(m, w, h);
    struct typed t = { m, c->cancel };
    bool ok = (!source || cli_each_line(source, typed_line, &t, &e))
           && (!view || choose_view(m, view, &e));
    if (ok)
        finish_jobs(m, source != NULL, c->cancel);
    if (!ok || !print(m, c, &e))
        code = cli_fail(c, &e);
    model_free(m);
    cli_close(&opened);
    return code;
}
