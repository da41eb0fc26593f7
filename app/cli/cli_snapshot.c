/* `tilescope snapshot`: prints a screen as text. */
#include "app/cli/cli.h"

#include <stdio.h>

#include "app/views/screen.h"

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

/* Does what runs in the background of the screen, except measuring. */
static void finish_texts(struct model *m, struct cancel *c)
{
    struct desired_job w;
    screen_refresh(m);
    while (model_desired_job(m, LANE_TEXT, &w)) {
        struct app_job *j = model_job(m, &w);
        job_run(j, c, NULL);
        model_done(m, j);
        job_free(j);
        screen_refresh(m);
    }
}

static void print(struct model *m, const struct cli *c)
{
    struct grid g;
    struct str out = {0};
    grid_open(&g, m->w, m->h, cli_has_unicode(c));
    screen_draw(m, &g);
    grid_dump(&g, &out);
    cli_put(&out);
    grid_close(&g);
}

int cli_snapshot(const struct cli *c)
{
    struct model_opts o = { .no_auto = true };
    struct opened opened = {0};
    struct err e = {0};
    const char *view = args_value(c->args, OPT_VIEW);
    int w = 80, h = 24;
    if (!read_size(c->args, &w, &h, &e) || !args_int(c->args, OPT_THREADS, 1, 1024, &o.threads, &e))
        return cli_fail(c, &e);
    int code = c->args->word.len ? cli_open_or_list(c, &opened) : EXIT_FINE;
    if (code != EXIT_FINE)
        return code;
    struct model *m = model_new(opened.session, &o, cli_has_unicode(c));
    opened.session = NULL;
    m->letters = true;
    if (m->recover)
        model_recover_answer(m, false, false);
    model_clear_message(m);
    model_resize(m, w, h);
    if (view && !choose_view(m, view, &e)) {
        code = cli_fail(c, &e);
    } else {
        finish_texts(m, c->cancel);
        print(m, c);
    }
    model_free(m);
    cli_close(&opened);
    return code;
}
