#include "tests/unit/model_help.h"
#include "tests/unit/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "app/ui/text.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

struct model *model_on(const char *spec)
{
    struct model_opts o = {.no_auto = true};
    struct session *s = NULL;
    struct err e;
    if (spec && !session_new(spec, &s, &e))
        fail_msg("%s", e.text);
    struct model *m = model_new(s, &o, true);
    screen_refresh(m);
    return m;
}

void press(struct model *m, const char *keys)
{
    char copy[512], *rest = copy;
    snprintf(copy, sizeof copy, "%s", keys);
    for (char *word = strsep(&rest, " "); word; word = strsep(&rest, " ")) {
        int key = key_parse(word);
        for (const char *c = word; key == K_NONE && *c;)
            screen_key(m, (int)utf8_next(&c));
        if (key != K_NONE)
            screen_key(m, key);
    }
}

void type_line(struct model *m, const char *line)
{
    if (m->prompt.open)
        press(m, "Esc");
    screen_key(m, ':');
    for (; *line; line++)
        screen_key(m, *line);
    press(m, "Enter");
}

const char *screen_of(struct model *m)
{
    static struct str text;
    struct grid g;
    grid_open(&g, m->w, m->h, m->unicode);
    str_clear(&text);
    screen_refresh(m);
    screen_draw(m, &g);
    grid_dump(&g, &text);
    grid_close(&g);
    return str_text(&text);
}

void assert_shows(struct model *m, const char *text)
{
    if (!strstr(screen_of(m), text))
        fail_msg("\"%s\" is not on the screen:\n%s", text, screen_of(m));
}

void assert_hides(struct model *m, const char *text)
{
    if (strstr(screen_of(m), text))
        fail_msg("\"%s\" is on the screen:\n%s", text, screen_of(m));
}

void run_jobs(struct model *m)
{
    struct desired_job w;
    struct cancel c = {0};
    for (int lane = 0; lane < LANE_TUNE; lane++)
        while (model_desired_job(m, (enum job_lane)lane, &w) && w.kind >= JOB_NETWORK) {
            struct app_job *j = model_job(m, &w);
            job_run(j, &c, NULL);
            model_done(m, j);
            job_free(j);
            lane = 0;
        }
    screen_refresh(m);
}

const char *step_of(const struct model *m)
{
    return history_current(m->session->history)->step;
}

const char *loop_of(const struct model *m)
{
    const struct stage *s;
    int axis;
    return model_loop(m, &s, &axis) ? s->axis[axis].name : "";
}

void private_folders(void)
{
    const char *dir = temp_dir("XDG_STATE_HOME");
    if (chdir(dir) != 0)
        fail_msg("no temporary folder");
    setenv("XDG_CACHE_HOME", dir, 1);
    setenv("XDG_CONFIG_HOME", dir, 1);
}

int set_up_folders(void **state)
{
    (void)state;
    private_folders();
    return 0;
}
