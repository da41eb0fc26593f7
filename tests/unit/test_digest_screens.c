/* Random keys and lines on random operators: every screen is as recorded (digest.h).  Times are
 * made up, and nothing is compiled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/ui/grid_svg.h"
#include "kernels/base/file.h"
#include "tests/unit/digest.h"
#include "tests/unit/model_help.h"
#include "tests/unit/temp_dir.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define CASES 100
#define KEYS 110
#define PICTURE_EVERY 20                  /* every so many screens, its colours count as well */

enum part { PART_SCREENS, PART_PICTURES, PARTS };
static const char *const part_name[PARTS] = { "screens", "pictures" };

static const char *const specs[] = {
    "gmm m=64 k=32 n=48", "c2d n=1 i=8 h=14 w=14 o=32 k=3 p=1 bias=1 relu=1",
    "transpose n=64 c=32 perm=21", "softmax m=16 n=32", "dep c=8 h=10 k=3 p=1",
    "x = input n=1 i=4 h=6 w=6; a = c2d(x) o=8 k=3 p=1 relu=1; b = c2d(a) o=8 k=1",
    "gmm m=16 k=16 n=16 type=f16", "t2d i=4 h=4 o=8 k=4 s=2 p=1",
};

/* Keys, and words that are typed letter by letter. */
static const char *const keys[] = {
    "Up", "Down", "Left", "Right", "PgUp", "PgDn", "Home", "End", "Enter", "Enter", "Esc", "Esc",
    "Tab", "Tab", "S-Tab", "Space", "Backspace", "S-Up", "S-Down", "C-r", "C-u", "C-d", "1", "2",
    "3", "4", "6", "7", "8", "9", "L", "B", "A", "?", "=", "+", "g", "G", "u", "u", "d", "e", "i",
    "J", "K", "S", "v", "U", "p", "c", "r", "m", "m", "X", "W", "H", "b", "n", "N", ".", ",", "o",
    "z", "x", "t", "O", "R", "0", "h", "l", "j", "k", "<", ">", "_", "*", "Y", "y", "F1",
};

static const struct { int w, h; } sizes[] = { { 80, 24 }, { 120, 40 }, { 100, 30 }, { 64, 20 } };

/* A step or command of words that completion offers. */
static void offered_line(struct model *m, struct rng *r, struct str *line)
{
    static const char *const first[] = { "loop ", "loop ", "layout ", "set ", "", "" };
    struct arena *a = arena_new();
    str_clear(line);
    str_add(line, first[rng_range(r, 0, COUNT_OF(first) - 1)]);
    for (int64_t words = rng_range(r, 1, 4); words > 0; words--) {
        struct completions c = {0};
        m->prompt.mark = ':';
        model_complete(m, a, str_text(line), &c);
        if (c.n > 0 && (size_t)c.replace_from <= line->len) {
            line->len = (size_t)c.replace_from;
            str_add(line, c.item[rng_range(r, 0, c.n - 1)].word);
        }
        if (c.n == 0 || str_ends(str_text(line), "="))
            str_printf(line, "%d", (int)rng_range(r, 1, 4) * 4);
        str_add_char(line, ' ');
    }
    arena_free(a);
}

/* Whether what a line shows is another on other machines, or needs a compiler or much time. */
static bool depends(const char *line)
{
    static const char *const words[] = {
        "quit", "tune", "help", "isa", "cache", "compiler", "baselines", "threads", "write", "wq",
        "edit_file", "open", "export", "dump", "snapshot", "source", "new", "expert", "x",
    };
    for (int i = 0; i < COUNT_OF(words); i++)
        if (str_begins(line, words[i]))
            return true;
    return false;
}

/* A made-up measurement of the state that the model wants measured. */
static void invent(struct app_job *j)
{
    double ms = 1 + (double)(hash_text(j->recipe) % 997) / 100;
    bool wrong = hash_text(j->recipe) % 13 == 0;
    j->ok = true;
    j->m = (struct measurement){
        .outcome = wrong ? OUTCOME_WRONG : OUTCOME_OK, .verified = !wrong, .threads = j->threads,
        .latency = { .median_ms = 1.05 * ms, .min_ms = ms, .max_ms = 2 * ms, .runs = 11,
                     .spread = 0.05 },
        .gflops = 10 / ms, .peak_gflops = 50, .peak_fraction = 0.2 / ms,
    };
    snprintf(j->m.isa, sizeof j->m.isa, "avx2");
    if (wrong)
        snprintf(j->m.reason, sizeof j->m.reason, "element 3 is off by 2");
    j->m.sim.available = true;
    j->m.sim.cache = j->set.cache;
    j->m.sim.l1_misses = (int64_t)(1000 * ms);
}

/* Does the jobs that need no compiler; measurements are made up. */
static void do_jobs(struct model *m)
{
    struct desired_job w;
    struct cancel c = {0};
    for (int done = 0; done < 4; done++) {
        enum job_lane lane = LANE_TEXT;
        bool text = model_desired_job(m, lane, &w) && w.kind != JOB_ASM && w.kind != JOB_SASS
                 && w.kind != JOB_STOPPED && job_info[w.kind].group == JOBS_STATE;
        if (!text && !(model_desired_job(m, lane = LANE_MEASURE, &w) && w.kind == JOB_MEASURE))
            return;
        struct app_job *j = model_job(m, &w);
        j->set.forecast_s = 100;
        if (w.kind == JOB_MEASURE)
            invent(j);
        else
            job_run(j, &c, NULL);
        model_done(m, j);
        job_free(j);
        screen_refresh(m);
    }
}

static void add_picture(struct model *m, struct str *out)
{
    struct grid g;
    grid_open(&g, m->w, m->h, true);
    screen_refresh(m);
    screen_draw(m, &g);
    grid_svg(&g, out);
    grid_close(&g);
}

static void press_random(struct model *m, struct rng *r, struct str *line)
{
    int64_t kind = rng_range(r, 0, 11);
    if (kind == 0) {
        int i = (int)rng_range(r, 0, COUNT_OF(sizes) - 1);
        model_resize(m, sizes[i].w, sizes[i].h);
    } else if (kind <= 3) {
        offered_line(m, r, line);
        if (!depends(str_text(line)))
            type_line(m, str_text(line));
    } else {
        press(m, keys[rng_range(r, 0, COUNT_OF(keys) - 1)]);
    }
    m->out.quit = m->preview.slow = false;
    if (m->overlay == OVERLAY_HELP && m->topic[0])
        press(m, "Esc");                  /* some topics tell what this machine has */
}

static void digest_case(struct digests *d, int seed)
{
    struct rng r = rng_seed((uint64_t)seed + 77);
    struct str text[PARTS] = {{0}}, line = {0};
    char name[20];
    struct err e;
    struct model *m = model_on(specs[seed % COUNT_OF(specs)]);
    m->cores = 2;
    m->set.target = target_named("avx2");
    if (!cache_config_parse("4K/4/64", &m->set.cache, &e))
        fail_msg("%s", e.text);
    for (int i = 0; i < KEYS; i++) {
        press_random(m, &r, &line);
        if (rng_range(&r, 0, 2) == 0)
            do_jobs(m);
        str_printf(&text[PART_SCREENS], "-- %d\n%s", i, screen_of(m));
        if (i % PICTURE_EVERY == 0)
            add_picture(m, &text[PART_PICTURES]);
    }
    if (m->session)
        session_autosave_drop(m->session);
    model_free(m);
    snprintf(name, sizeof name, "%d", seed);
    digest_add(d, name, part_name, text, PARTS);
    str_free(&line);
}

static char started_in[400];              /* the repository */

static void test_random_screens(void **state)
{
    (void)state;
    struct digests d = {0};
    for (int seed = 0; seed < CASES; seed++)
        digest_case(&d, seed);
    assert_int_equal(chdir(started_in), 0);
    digest_check(&d, "tests/golden/digest/screens.txt");
}

static int in_private_folders(void **state)
{
    char path[600];
    struct err e;
    (void)state;
    if (!getcwd(started_in, sizeof started_in))
        return -1;
    private_folders();
    /* in the place of the list of recent files, whose paths are others every time */
    snprintf(path, sizeof path, "%s/tilescope/recent", getenv("XDG_STATE_HOME"));
    return dir_make(path, &e) ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_random_screens) };
    return cmocka_run_group_tests(tests, in_private_folders, NULL);
}
