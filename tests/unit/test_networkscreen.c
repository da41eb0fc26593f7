/* Networks on the screen: the list of kernels, a kernel and back, changed steps, measuring. */
/* tests/run.sh: takes 25 s */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/base/file.h"
#include "sessions/file/kernels_text.h"
#include "sessions/report/network_kernel.h"
#include "sessions/tuning/network_tuning.h"
#include "tests/unit/fork_child.h"
#include "tests/unit/golden.h"
#include "tests/unit/model_help.h"
#include "tests/unit/temp_dir.h"
#include "tests/unit/tty.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* Two convolutions and a sum: two kernels. */
#define NET "x = input n=1 i=16 h=16 w=16; a = c2d(x) o=32 k=1 relu=1; b = c2d(a) o=16 k=1; " \
            "y = add(b, x)"
/* The first kernel has fewer operations by its algorithm. */
#define WINOGRAD "x = input n=1 i=16 h=16 w=16; a = c2d(x) o=32 k=3 p=1; b = c2d(a) o=16 k=1; " \
                 "y = add(b, x)"
/* Kernels of which one is called twice. */
#define TWICE "x = input m=8 k=8; a = gmm(x) n=8; b = softmax(a) axis=1; c = gmm(b) n=8; " \
              "y = softmax(c) axis=1"

static char root[512];
static bool noisy_times;                  /* of hand_in */
static double peak = 100, share = 0.8;    /* of hand_in: GFLOP/s, and the share that is reached */

/* A model that was opened on the graph of an ONNX file. */
static struct model *network_on(const char *spec)
{
    struct model_opts o = { .no_auto = true };
    struct session *s = NULL;
    struct err e;
    if (!session_new(spec, &s, &e))
        fail_msg("%s", e.text);
    s->of_model = true;
    snprintf(s->title, sizeof s->title, "net");
    struct model *m = model_new(s, &o, true);
    screen_refresh(m);
    return m;
}

/* --- Pictures --------------------------------------------------------------------------------- */

/* Steps that do not depend on the machine: the first kernel has channels last. */
static bool fixed_steps(void *ctx, struct arena *a, const char *spec, int n_given,
                        const char *const *given, int *n, const char *const **line, struct err *e)
{
    static const char *const last[] = {
        "set input_layout given", "layout set Inp \"N H W I\"", "layout set Conv \"N H W O\"",
    };
    static const char *const winograd[] = { "algorithm Conv winograd m=2" };
    bool first = str_starts(spec, "c2d ");
    (void)ctx, (void)e;
    if (strstr(spec, "k=3")) {
        *n = 1;
        *line = winograd;
        return true;
    }
    *n = first ? COUNT_OF(last) : n_given;
    *line = first ? ARENA_DUP(a, last, COUNT_OF(last)) : given;
    return true;
}

/* Hands in network `spec` of fixed steps, measured with round numbers if `timed`. */
static void hand_in_spec(struct model *m, const char *spec, bool timed)
{
    struct app_job *j = job_new(timed ? JOB_NETWORK_RUN : JOB_NETWORK, spec, m->network->tag, 1);
    struct network_made *made = xcalloc(1, sizeof *made);
    const struct graph *g;
    made->arena = arena_new();
    j->ok = graph_from_spec(made->arena, spec, &g, &j->e)
         && network_build(made->arena, g, 0, NULL, fixed_steps, NULL, &made->net, &j->e);
    assert_true(j->ok);
    if (timed) {
        struct network_measurement r = {
            .outcome = OUTCOME_OK, .verified = true, .wrong_call = -1, .error_of_bound = 0.25,
            .latency = { .median_ms = 0.625, .min_ms = 0.6, .spread = noisy_times ? 0.3 : 0.04,
                         .runs = 9 }, .load = 2.5, .threads = 1,
            .gflops = 80, .peak_gflops = peak, .peak_fraction = share,
        };
        double *call_s = ARENA_ARRAY(made->arena, double, made->net->module->n_calls);
        for (int i = 0; i < made->net->module->n_calls; i++)
            call_s[i] = 1e-4 * (i + 1);
        r.call_s = call_s;
        made->measured = ARENA_DUP(made->arena, &r, 1);
    }
    j->network = made;
    model_done(m, j);
    job_free(j);
    screen_refresh(m);
}

static void hand_in(struct model *m, bool timed)
{
    hand_in_spec(m, NET, timed);
}

/* Roofs in round numbers. */
static struct machine_model *fixed_roofs(void)
{
    struct machine_model *r = xcalloc(1, sizeof *r);
    r->cores = r->n_isa = 1;
    r->isa[0] = (struct isa_peak){ .isa = "avx2", .gflops.one = { .best = 8, .runs = 1 } };
    for (int i = 0; i < MODEL_LEVELS; i++) {
        r->level[i].capacity = i < MODEL_DRAM ? 65536LL << 4 * i : 0;
        r->level[i].load.one = (struct rate){ .best = 1 << (MODEL_DRAM - i), .runs = 1 };
    }
    return r;
}

static void golden(struct model *m, int w, int h, const char *name)
{
    char path[600], was[512];
    model_resize(m, w, h);
    assert_non_null(getcwd(was, sizeof was));
    assert_int_equal(chdir(root), 0);
    snprintf(path, sizeof path, "tests/golden/screen/%s.txt", name);
    golden_check(path, screen_of(m));
    assert_int_equal(chdir(was), 0);
}

/* `export FOLDER` measures a network and writes its library, with the model's names. */
static void export_writes_a_library(void **state)
{
    (void)state;
    struct model *m = network_on(NET);
    session_add_port(m->network->session, "x", "model/in");
    model_resize(m, 160, 30);
    hand_in(m, true);
    type_line(m, "export lib.c");
    assert_shows(m, "a network becomes a folder with a C library");
    type_line(m, "export a library");
    assert_shows(m, "then its C library is written to a library");
    run_jobs(m);
    assert_shows(m, "kernels, each verified; check and time the library with make -C 'a library'");
    assert_true(file_exists("a library/a_library_kernels.c"));
    struct str text = {0};
    struct err e;
    assert_true(file_read("a library/a_library.h", 1 << 20, &text, &e));
    assert_non_null(strstr(str_text(&text), "model_in"));
    str_free(&text);
    assert_int_equal(m->network->export.len, 0);
    assert_int_equal(system("make -s -C 'a library' check > check.txt && grep -q right check.txt"),
                     0);
    model_free(m);
}

/* A folder that cannot be written is refused before the measurement; the network stays. */
static void export_to_no_folder(void **state)
{
    (void)state;
    struct model *m = network_on(NET);
    hand_in(m, true);
    const struct network_made *before = m->network->made;
    fclose(fopen("a file", "w"));
    type_line(m, "export a file");
    run_jobs(m);
    assert_shows(m, "a file");
    assert_int_equal(m->message.kind, MESSAGE_ERROR);
    assert_false(m->network->measure_wanted);
    assert_ptr_equal(m->network->made, before);
    unlink("a file");
    type_line(m, "export elsewhere");
    press(m, "Esc");
    assert_int_equal(m->network->export.len, 0);
    run_jobs(m);
    assert_false(file_exists("elsewhere"));
    model_free(m);
}

static void shares_above_the_peak(void **state)
{
    (void)state;
    struct model *m = network_on(NET);
    model_resize(m, 160, 30);
    hand_in(m, true);
    assert_hides(m, "above 100 %");
    peak = 1;
    hand_in(m, true);
    peak = 100;
    assert_shows(m, "peak:     1 kernel is above 100 %: the limits were measured while");
    model_free(m);
}

/* A second measurement says how the time of the network changed. */
static void measuring_again_says_the_change(void **state)
{
    (void)state;
    struct model *m = network_on(NET);
    model_resize(m, 160, 30);
    hand_in(m, false);
    hand_in(m, true);
    assert_hides(m, "the network takes");
    hand_in(m, true);
    assert_shows(m, "the network takes 600 µs; before 600 µs (same)");
    assert_hides(m, "doubtful");
    noisy_times = true;
    hand_in(m, true);
    assert_shows(m, "before 600 µs (same); this time is noisy, so the change is doubtful");
    hand_in(m, true);
    assert_shows(m, "(same); both times are noisy");
    noisy_times = false;
    hand_in(m, true);
    assert_shows(m, "(same); the time before was noisy");
    model_free(m);
}

/* Both shares of the peak, of the network and of a kernel, count what is executed. */
static void shares_count_what_is_executed(void **state)
{
    (void)state;
    struct model *m = network_on(WINOGRAD);
    model_resize(m, 300, 30);
    share = 0.4;
    hand_in_spec(m, WINOGRAD, true);
    share = 0.8;
    assert_shows(m, "80.0 GFLOP/s, 40.0 executed; 40 % of peak (100.0)");
    assert_shows(m, "peak:     this column counts the executed operations, GFLOP/s those of the "
                    "definition; 1 kernel executes fewer");
    const struct network_task *t = &m->network->timed->net->task[0];
    char direct[32], executed[32];
    snprintf(direct, sizeof direct, " %.1f ", 1e-5 * t->program->base->flops);
    snprintf(executed, sizeof executed, " %.0f%% ", 1e-5 * func_flops(t->func));
    assert_string_not_equal(direct, executed);
    assert_shows(m, direct);
    assert_shows(m, executed);
    assert_hides(m, "speed:");
    press(m, "j");
    assert_shows(m, "GFLOP/s counts the operations of the direct form; Winograd needs fewer: ");
    assert_shows(m, "Enter opens this kernel with its steps. GFLOP/s counts the direct form.");
    assert_shows(m, "Ker_wino ");         /* the name that steps use */
    model_free(m);
}

static void lists_of_kernels(void **state)
{
    (void)state;
    struct model *m = network_on(NET);
    assert_shows(m, "choosing the schedules");
    hand_in(m, false);
    golden(m, 80, 24, "network-80x24");
    hand_in(m, true);
    golden(m, 80, 24, "network-timed-80x24");
    golden(m, 120, 40, "network-timed-120x40");
    golden(m, 160, 30, "network-timed-160x30");
    golden(m, 200, 60, "network-timed-200x60");
    golden(m, 44, 12, "network-timed-44x12");
    m->roofs.model = fixed_roofs();
    m->data_stamp++;
    screen_refresh(m);
    golden(m, 160, 30, "network-bounds-160x30");
    model_resize(m, 44, 12);
    press(m, "G");                                       /* the facts are below the last kernel */
    assert_shows(m, " memory:");
    press(m, "/ memory Enter");
    assert_shows(m, "line 1 of 1 with memory");
    press(m, "/ KiB Enter");                             /* more than one of these lines has it */
    for (int i = 0, last = m->found.line; i < 4; i++, last = m->found.line) {
        press(m, "n");
        assert_int_not_equal(m->found.line, last);
    }
    model_free(m);
}

/* The sum of the times says what it leaves out. */
static void sums_leave_nothing_out_in_silence(void **state)
{
    (void)state;
    struct model *m = network_on(NET);
    model_resize(m, 240, 30);
    hand_in(m, true);
    assert_shows(m, "add up to 600 µs;");
    m->network->build_wanted = true;
    hand_in(m, false);
    struct network *net = (struct network *)m->network->made->net;
    ((struct network_task *)net->task)[0].n_lines--;
    m->data_stamp++;
    assert_shows(m, "add up to 400 µs without 1 kernel that is new;");
    model_free(m);
}

/* A doubtful latency says so, with the load of the machine. */
static void noise_is_marked(void **state)
{
    (void)state;
    struct model *m = network_on(NET);
    hand_in(m, true);
    assert_hides(m, "noisy:");
    noisy_times = true;
    hand_in(m, true);
    assert_shows(m, "spread 30.0 %");
    assert_shows(m, "noisy:    the middle half spreads over 30 %");
    assert_shows(m, "the load of the machine");
    noisy_times = false;
    model_free(m);
}

/* --- Kernels ---------------------------------------------------------------------------------- */

static void a_kernel_and_back(void **state)
{
    (void)state;
    struct model *m = network_on(TWICE);
    run_jobs(m);
    assert_shows(m, "    2  0.0020");
    press(m, "Down");
    const struct network_task *t = &m->network->made->net->task[model_kernel(m)];
    press(m, "Enter");
    assert_non_null(m->session);
    assert_string_equal(history_spec(m->session->history), t->spec);
    assert_int_equal(model_program(m)->n_steps, t->n_lines);
    assert_shows(m, "net: ");
    assert_shows(m, "Steps");
    const struct session *s = m->session;
    press(m, "Esc");
    assert_null(m->session);
    assert_shows(m, "calls ");
    assert_ptr_equal(t, &m->network->made->net->task[model_kernel(m)]);
    assert_false(m->network->build_wanted);
    press(m, "Enter");
    assert_ptr_equal(m->session, s);
    press(m, "q");
    assert_null(m->session);
    assert_false(m->out.quit);
    press(m, "q");
    assert_true(m->out.quit);
    model_free(m);
}

static void changed_steps_go_into_the_network(void **state)
{
    (void)state;
    struct model *m = network_on(TWICE);
    run_jobs(m);
    press(m, "m");
    assert_shows(m, "it is being measured");
    run_jobs(m);
    assert_shows(m, "verified: true, every kernel");
    assert_hides(m, "chosen steps");
    while (!str_starts(m->network->made->net->task[model_kernel(m)].spec, "gmm "))
        press(m, "Down");
    press(m, "Enter");
    assert_true(model_run(m, "layout set C \"N M\""));
    assert_true(m->session->dirty);
    struct measurement alone = { .outcome = OUTCOME_OK, .verified = true,
                                 .latency = { .min_ms = 0.25, .median_ms = 0.25, .runs = 9 } };
    history_set_measured(m->session->history, history_current(m->session->history)->id, &alone);
    press(m, "Esc");
    assert_true(m->network->build_wanted);
    run_jobs(m);
    model_resize(m, 160, 24);
    assert_shows(m, "gmm m=8 k=8 n=8, measured alone");
    assert_shows(m, "    2   0.500     - ");             /* both calls; no share is known */
    model_resize(m, 80, 24);
    assert_shows(m, "stale:    kernels have other steps");
    if (m->network->made->net->n_conversions == 0)       /* no kernel is as it was measured */
        assert_hides(m, "add up to");
    assert_shows(m, "; * 1 with chosen steps");
    assert_shows(m, " *gmm");
    assert_shows(m, "* steps:  of your choice");
    bool found = false;
    const struct network *net = m->network->made->net;
    for (int i = 0; i < net->n_tasks; i++)
        for (int s = 0; str_starts(net->task[i].spec, "gmm ") && s < net->task[i].n_lines; s++)
            found = found || streq(net->task[i].line[s], "layout set C \"N M\"");
    assert_true(found);
    press(m, "m");
    run_jobs(m);
    assert_shows(m, "verified: true, every kernel");
    assert_shows(m, "(not saved)");
    press(m, "q");
    assert_shows(m, "Save the changes first?");
    press(m, "c w");
    assert_shows(m, "save as: net.yaml");
    press(m, "Enter");
    assert_shows(m, "saved to net.yaml");
    press(m, "q");
    assert_true(m->out.quit);
    model_free(m);
    struct session *s = NULL;
    struct err e;
    struct model_opts o = { .no_auto = true };
    assert_true(session_load("net.yaml", &s, &e));
    m = model_new(s, &o, true);
    run_jobs(m);
    assert_shows(m, "calls ");
    assert_true(strstr(str_text(&m->network->session->kernels), "layout set C \"N M\""));
    model_free(m);
    unlink("net.yaml");
}

static int autosaved(void)
{
    struct arena *a = arena_new();
    int n;
    dir_list(a, arena_printf(a, "%s/tilescope/autosave", getenv("XDG_STATE_HOME")), ".yaml", &n);
    arena_free(a);
    return n;
}

/* Changed steps are in one autosave: of their kernel while it is open, then of the network. */
static void changes_are_safe_at_once(void **state)
{
    (void)state;
    struct model *m = network_on(TWICE);
    run_jobs(m);
    int before = autosaved();
    press(m, "Enter");
    assert_true(model_run(m, "set propagate off"));
    assert_int_equal(autosaved(), before + 1);
    assert_false(m->network->session->dirty);
    press(m, "Esc");
    assert_int_equal(autosaved(), before + 1);
    assert_true(m->network->session->dirty);
    press(m, "Enter");
    assert_true(model_unsaved(m));
    press(m, "q Enter");
    assert_true(model_run(m, "q"));
    assert_null(m->session);
    assert_shows(m, "Save the changes first?");
    press(m, "n");
    assert_true(m->out.quit);
    assert_int_equal(autosaved(), before);
    model_free(m);
}

/* A save inside a kernel saves the network with it, and no autosave stays. */
static void a_save_in_a_kernel_drops_its_autosave(void **state)
{
    (void)state;
    struct model *m = network_on(TWICE);
    run_jobs(m);
    int before = autosaved();
    assert_true(model_run(m, "w kept.yaml"));
    press(m, "Enter");
    assert_true(model_run(m, "set propagate off"));
    assert_int_equal(autosaved(), before + 1);
    assert_true(model_run(m, "w"));
    assert_int_equal(autosaved(), before);
    model_free(m);
    unlink("kept.yaml");
}

/* The tuner works on one kernel; leaving it asks. */
static void the_tuner_opens_a_kernel(void **state)
{
    (void)state;
    struct model *m = network_on(TWICE);
    press(m, "t");
    assert_null(m->session);
    run_jobs(m);
    press(m, "0 9 t");
    assert_non_null(m->session);
    assert_true(m->tuner.out);
    assert_false(model_run(m, "tune_all"));
    assert_shows(m, "x in its view stops it first");
    press(m, "Tab Esc");
    assert_shows(m, "Stop it and leave?");
    press(m, "n");
    assert_true(m->tuner.out);
    press(m, "q y");
    assert_null(m->session);
    assert_shows(m, "calls ");
    assert_false(m->tuner.out);
    assert_false(m->out.quit);
    press(m, "t");
    assert_true(m->tuner.out);
    assert_true(model_run(m, "q"));
    press(m, "y");
    assert_true(m->out.quit);
    model_free(m);
}

/* Undoing the steps of the user makes the network what it was. */
static void undone_steps_leave_no_trace(void **state)
{
    (void)state;
    struct model *m = network_on(TWICE);
    run_jobs(m);
    press(m, "Enter");
    assert_true(model_run(m, "set propagate off"));
    press(m, "Esc");
    run_jobs(m);
    assert_true(m->network->session->kernels.len > 0);
    press(m, "Enter u Esc");
    assert_true(m->network->build_wanted);
    assert_int_equal(m->network->session->kernels.len, 0);
    assert_int_equal(m->network->kernels.len, 1);
    model_free(m);
}

/* A conversion opens, but its steps follow from the layouts beside it. */
static void conversions_do_not_change(void **state)
{
    (void)state;
    struct model *m = network_on(NET);
    hand_in(m, false);
    press(m, "G");
    assert_shows(m, "It only changes a layout");
    press(m, "Enter");
    assert_true(model_run(m, "loop unroll Identity D0"));
    press(m, "Esc");
    assert_shows(m, "the steps of a conversion stay in its session");
    assert_false(m->network->build_wanted);
    model_free(m);
}

/* --- The command ------------------------------------------------------------------------------ */

static void command_opens_graphs_without_steps(void **state)
{
    (void)state;
    struct model *m = model_on("gmm m=8 k=8 n=8");
    assert_false(model_run(m, "network"));
    assert_shows(m, "this session cannot open as a network");
    model_free(m);
    m = model_on(TWICE);                  /* two products: it opens as one */
    assert_null(m->session);
    assert_true(model_run(m, "network off"));
    assert_non_null(m->session);
    assert_true(model_run(m, "network"));
    run_jobs(m);
    assert_shows(m, "calls ");
    assert_false(model_run(m, "loop unroll a K"));
    assert_shows(m, "the network itself takes no steps");
    assert_false(model_run(m, "view C"));
    press(m, "Enter");
    assert_false(model_run(m, "network off"));           /* it would drop what was done here */
    assert_shows(m, "Esc goes back to the network");
    press(m, "Esc");
    assert_true(model_run(m, "network off"));
    assert_non_null(m->session);
    assert_null(m->network);
    assert_shows(m, "as given");
    assert_true(model_run(m, "loop parallel a M"));
    assert_false(model_run(m, "network"));
    model_free(m);
}

/* Times are those of all calls, also when a step changed how many there are. */
static void times_follow_the_calls(void **state)
{
    (void)state;
    struct model *m = network_on(NET);
    model_resize(m, 240, 40);
    hand_in(m, true);
    int conv = 0;
    struct network *net = (struct network *)m->network->made->net;
    while (!str_starts(net->task[conv].spec, "c2d "))
        conv++;
    press(m, "G");
    while (model_kernel(m) != conv)
        press(m, "Up");
    assert_hides(m, "time: ");            /* of one call: as in the list */
    m->network->build_wanted = true;
    hand_in(m, false);
    ((struct network_task *)m->network->made->net->task)[conv].count = 2;
    m->data_stamp++;
    screen_refresh(m);
    assert_shows(m, "Enter opens this kernel with its steps. sum ms adds up its 2 calls.");
    assert_shows(m, "time:     400 µs in its 2 calls, 200 µs each, estimated from 1 "
                    "measured call");
    assert_shows(m, "    2   0.400 50.0% ");
    model_free(m);
}

/* A conversion does no arithmetic: it has no speed and no share of the work. */
static void conversions_are_no_work(void **state)
{
    (void)state;
    struct model *m = network_on(NET);
    model_resize(m, 160, 30);
    hand_in(m, false);
    assert_shows(m, "     1       -     -  1  conversion");
    hand_in(m, true);
    assert_shows(m, "     1   0.100 16.7%       -    -  1  conversion");
    model_free(m);
}

/* Steps of the network itself: refused with a reason, undone, redone, and saved. */
static void the_network_is_cut_and_joined(void **state)
{
    (void)state;
    struct model *m = network_on("x = input m=8 k=8; a = gmm(x) n=8; b = gmm(a) n=8; "
                                 "y = add(b, x)");
    struct session *s = m->network->session;
    run_jobs(m);
    assert_int_equal(m->network->made->net->parts.n, 2);
    assert_false(model_run(m, "module cut y"));
    assert_shows(m, "is the result of a kernel already");
    assert_false(model_run(m, "module cut "));
    assert_shows(m, "to see the tensors, press Tab");
    assert_false(model_run(m, "module cut Add"));        /* its name in the kernel's text */
    assert_shows(m, "to see the tensors, press Tab");
    assert_shows(m, "inside:   b");
    assert_false(model_run(m, "undo"));
    assert_true(model_run(m, "module join a b"));
    run_jobs(m);
    assert_int_equal(m->network->made->net->parts.n, 1);
    assert_shows(m, "module join a b");
    assert_true(model_run(m, "module cut b"));
    run_jobs(m);
    assert_int_equal(m->network->made->net->parts.n, 2);
    assert_true(s->dirty);
    press(m, "0 2 u");
    run_jobs(m);
    assert_string_equal(str_text(&s->kernels), "");
    assert_int_equal(m->network->made->net->parts.n, 2);
    assert_false(model_run(m, "undo"));          /* what is undone already does not count */
    press(m, "C-r");
    run_jobs(m);
    assert_int_equal(m->network->made->net->parts.n, 1);
    assert_string_equal(str_text(&s->kernels), "module\nmodule join a b\n\n");
    char *illegal = xstrdup("module cut nobody");
    vec_push(&m->network->undone, illegal);
    assert_false(model_run(m, "redo"));          /* refused: the line is not lost */
    assert_ptr_equal(m->network->undone.data[m->network->undone.len - 1], illegal);
    assert_true(model_run(m, "module cut a"));   /* the last step on a tensor counts */
    assert_false(model_run(m, "redo"));
    run_jobs(m);
    assert_int_equal(m->network->made->net->parts.n, 2);
    model_free(m);
}

/* A step of the network numbers the kernels anew, and the cursor stays on its kernel. */
static void a_join_leaves_the_cursor_on_its_kernel(void **state)
{
    (void)state;
    struct model *m = network_on("x = input m=8 k=8; a = gmm(x) n=8; b = gmm(a) n=16; "
                                 "c = gmm(b) n=24");
    run_jobs(m);
    press(m, "g");
    for (int i = 0; !strstr(m->network->made->net->task[model_kernel(m)].spec, "n=24"); i++) {
        assert_true(i < 10);
        press(m, "j");
    }
    int before = model_kernel(m);
    assert_true(model_run(m, "module join a b"));
    run_jobs(m);
    screen_refresh(m);
    int after = model_kernel(m);
    assert_int_not_equal(after, before);
    assert_non_null(strstr(m->network->made->net->task[after].spec, "n=24"));
    model_free(m);
}

/* In the list of kernels, too, Enter skips a refused line of a paste and runs those after it. */
static void a_refused_line_is_skipped(void **state)
{
    (void)state;
    struct model *m = network_on("x = input m=8 k=8; a = gmm(x) n=8; b = gmm(a) n=8; "
                                 "y = add(b, x)");
    struct session *s = m->network->session;
    run_jobs(m);
    screen_paste(m, "module cut nosuch\nmodule join a b\n");
    assert_shows(m, "line 1 of the paste: ");
    press(m, "Enter");
    assert_string_equal(str_text(&s->kernels), "module\nmodule join a b\n\n");
    model_free(m);
}

/* Returns the words that complete the line, with a blank after each. */
static const char *completions_of(struct model *m, const char *line)
{
    static char text[4096];
    struct arena *a = arena_new();
    struct completions c = {0};
    m->prompt.mark = ':';
    model_complete(m, a, line, &c);
    text[0] = 0;
    for (int i = 0; i < c.n; i++)
        strcat(strcat(text, c.item[i].word), " ");
    arena_free(a);
    return text;
}

/* Tab in the list of kernels offers what the list takes: its steps with their tensors. */
static void lines_of_the_network_are_completed(void **state)
{
    (void)state;
    struct model *m = network_on("x = input m=8 k=8; a = gmm(x) n=8; r = add(a, x); "
                                 "b = gmm(r) n=8; s = add(b, x); y = relu(s)");
    assert_string_equal(completions_of(m, "module "), "");       /* the network is not built yet */
    run_jobs(m);
    assert_string_equal(completions_of(m, "mod"), "module ");
    assert_string_equal(completions_of(m, "meas"), "measure ");
    assert_string_equal(completions_of(m, "und"), "undo ");
    assert_string_equal(completions_of(m, "bl"), "");            /* blame is refused here */
    assert_string_equal(completions_of(m, "w"), "w wq ");
    assert_string_equal(completions_of(m, "module "), "cut join ");
    assert_string_equal(completions_of(m, "module c"), "cut ");
    while (!strstr(m->network->made->net->task[model_kernel(m)].spec, "Relu"))
        press(m, "Down");
    assert_string_equal(completions_of(m, "module cut "), "b s a ");     /* selected ones first */
    assert_string_equal(completions_of(m, "module cut s"), "s ");
    assert_string_equal(completions_of(m, "module cut s "), "");
    assert_string_equal(completions_of(m, "module join "), "r ");
    assert_string_equal(completions_of(m, "module join r "), "y ");
    assert_string_equal(completions_of(m, "module join r y"), "y ");
    assert_string_equal(completions_of(m, "module join a "), "");
    press(m, "? m o d u l e");
    assert_shows(m, "module cut T|join A B");
    press(m, "Esc Enter");
    assert_non_null(m->session);
    assert_string_equal(completions_of(m, "modu"), "");
    assert_false(model_run(m, "module cut s"));
    assert_shows(m, "Esc goes back to the list");
    model_free(m);
}

/* A cut through a kernel with chosen steps says that they are out of use, until it is undone. */
static void idle_steps_are_told(void **state)
{
    (void)state;
    struct model *m = network_on("x = input m=8 k=8; a = gmm(x) n=8; b = gmm(a) n=8; "
                                 "y = add(b, x)");
    model_resize(m, 160, 40);
    run_jobs(m);
    while (!strstr(m->network->made->net->task[model_kernel(m)].spec, "Add"))
        press(m, "Down");
    press(m, "Enter");
    assert_true(model_run(m, "set propagate off"));
    press(m, "Esc");
    run_jobs(m);
    assert_shows(m, "* 1 with chosen steps");
    assert_hides(m, "no longer in the network");
    type_line(m, "module cut b");
    run_jobs(m);
    assert_string_equal(str_text(&m->message.text),
                        "1 kernel with chosen steps is no longer in the network; the session keeps "
                        "these steps");
    model_resize(m, 240, 40);             /* in one line, also behind conversions */
    press(m, "G");
    assert_shows(m, "; 1 kernel with chosen steps is no longer in the network");
    press(m, "u");
    run_jobs(m);
    assert_string_equal(str_text(&m->message.text),
                        "the chosen steps of 1 kernel are in use again");
    assert_hides(m, "no longer in the network");
    model_free(m);
}

static void errors_are_shown(void **state)
{
    (void)state;
    struct model *m = network_on(TWICE);
    struct app_job *j = job_new(JOB_NETWORK, TWICE, m->network->tag, 1);
    err_set(&j->e, ERR_RANGE, "kernel 3 is too large");
    model_done(m, j);
    job_free(j);
    press(m, "Esc");
    assert_shows(m, "kernel 3 is too large");
    press(m, "Enter m Esc");
    assert_null(m->session);
    model_free(m);
}

static struct tty *tty_on_resnet8(void)
{
    static char path[600];
    static const char *const argv[] = { "--no-auto", path, NULL };
    snprintf(path, sizeof path, "%s/sessions/examples/resnet8.onnx", root);
    return tty_start(&(struct tty_opts){ .w = 80, .h = 24, .argv = argv });
}

/* From the command line: the file is read in the background. */
static void a_model_opens_as_a_network(void **state)
{
    (void)state;
    struct tty *t = tty_on_resnet8();
    tty_assert_shows(t, "tilescope  resnet8.onnx");
    tty_assert_shows(t, "calls ");
    tty_press(t, "Enter");
    tty_assert_shows(t, "tilescope  resnet8.onnx: c2d");
    tty_assert_shows(t, "Steps");
    tty_press(t, "Esc");
    tty_assert_shows(t, "calls ");
    tty_send(t, "q");
    assert_int_equal(tty_end(t), 0);
}

static void turn_propagation_off(struct tty *t)
{
    tty_bytes(t, ":set propagate off\r");
    tty_assert_shows(t, "set propagate off");
}

static void kill_now(struct tty *t)
{
    tty_kill(t, SIGKILL);
    assert_int_equal(tty_wait_end(t), -SIGKILL);
    tty_free(t);
}

/* The network's session has one branch of a kernel; kill -9 loses no other either. */
static void killed_branches_are_offered(void **state)
{
    (void)state;
    struct tty *t = tty_on_resnet8();
    tty_press(t, "Enter");
    tty_bytes(t, ":branch other\r");
    tty_assert_shows(t, "other");
    turn_propagation_off(t);
    tty_bytes(t, ":switch main\r");
    tty_press(t, "Esc");
    tty_assert_shows(t, "measured: no");
    kill_now(t);

    t = tty_on_resnet8();
    tty_assert_shows(t, "ago? resnet8.onnx:");
    tty_press(t, "y");
    tty_assert_shows(t, "tilescope  resnet8.onnx: c2d");
    tty_press(t, "Esc");
    tty_send(t, "Q");                     /* which quits at once, and loses nothing either */
    assert_int_equal(tty_end(t), 0);

    t = tty_on_resnet8();
    tty_assert_shows(t, "ago? resnet8.onnx:");
    tty_press(t, "y");
    tty_assert_shows(t, "tilescope  resnet8.onnx: c2d");
    tty_bytes(t, ":switch other\r");
    tty_assert_shows(t, "set propagate off");
    tty_bytes(t, ":switch main\r");
    tty_press(t, "Esc");
    tty_assert_shows(t, "measured: no");
    tty_press(t, "q");
    tty_assert_shows(t, "Still quit?");
    tty_send(t, "y");
    assert_int_equal(tty_end(t), 0);

    t = tty_on_resnet8();                 /* quitting gave them up */
    tty_assert_shows(t, "measured: no");
    tty_press(t, "Enter");
    tty_assert_shows(t, "Steps");
    tty_press(t, "Esc");
    tty_send(t, "q");
    assert_int_equal(tty_end(t), 0);
}

/* Q and kill -9 lose no change of a kernel: the network and the kernel offer it, and then the
 * network its own. */
static void a_killed_kernel_is_offered(void **state)
{
    (void)state;
    struct tty *t = tty_on_resnet8();
    tty_press(t, "Enter");
    turn_propagation_off(t);
    tty_send(t, "Q");                     /* which quits at once, and loses nothing either */
    assert_int_equal(tty_end(t), 0);

    t = tty_on_resnet8();
    tty_assert_shows(t, "Open the unsaved changes of an earlier run");
    tty_assert_shows(t, "ago? resnet8.onnx:");
    tty_press(t, "n");
    tty_assert_shows(t, "the start screen keeps the changes");
    tty_press(t, "Enter");
    tty_assert_shows(t, "ago? resnet8.onnx:");
    tty_press(t, "y");
    tty_assert_shows(t, "these steps go into the network when you leave the kernel");
    tty_assert_shows(t, "set propagate off");
    kill_now(t);                          /* what was taken over is as safe as before */

    t = tty_on_resnet8();
    tty_press(t, "y");
    tty_assert_shows(t, "set propagate off");
    tty_press(t, "Esc");
    tty_assert_shows(t, "(not saved)");
    kill_now(t);

    t = tty_on_resnet8();
    tty_assert_shows(t, "ago? resnet8.onnx");
    tty_press(t, "y Enter");
    tty_assert_shows(t, "set propagate off");
    tty_press(t, "Esc q n");
    assert_int_equal(tty_end(t), 0);

    t = tty_on_resnet8();
    tty_assert_shows(t, "calls ");
    tty_press(t, "Enter");
    tty_assert_shows(t, "Steps");
    tty_press(t, "Esc");
    tty_send(t, "q");
    assert_int_equal(tty_end(t), 0);
}

/* From the start screen, too, a killed kernel of a model that was never saved as a session opens in
 * its network. */
static void a_killed_kernel_of_a_model_opens_in_it(void **state)
{
    (void)state;
    static const char *const bare[] = { "--no-auto", NULL };
    struct tty *t = tty_on_resnet8();
    tty_press(t, "Enter");
    turn_propagation_off(t);
    kill_now(t);

    t = tty_start(&(struct tty_opts){ .w = 80, .h = 24, .argv = bare });
    tty_assert_shows(t, "Unsaved work");
    tty_assert_shows(t, " resnet8.onnx ");
    tty_assert_shows(t, "1 kernel changed");
    tty_press(t, "Enter");
    tty_assert_shows(t, "set propagate off");
    tty_press(t, "Esc");
    tty_assert_shows(t, "(not saved)");
    tty_assert_shows(t, " *c2d+add+relu");
    tty_press(t, "q n");
    assert_int_equal(tty_end(t), 0);
}

/* Unsaved changes of a killed network and of its kernels are one entry, and come back together. */
static void a_killed_network_comes_back_whole(void **state)
{
    (void)state;
    static const char *const bare[] = { "--no-auto", NULL };
    struct tty *t = tty_on_resnet8();
    tty_press(t, "Enter");
    turn_propagation_off(t);
    tty_press(t, "Esc");
    tty_assert_shows(t, "(not saved)");
    tty_press(t, "Down Down Enter");
    turn_propagation_off(t);
    kill_now(t);

    t = tty_start(&(struct tty_opts){ .w = 80, .h = 24, .argv = bare });
    tty_assert_shows(t, "1 kernel changed");
    tty_press(t, "Enter");
    tty_assert_shows(t, "these changes are not saved yet: s saves them");
    tty_assert_shows(t, "calls ");
    tty_press(t, "G");
    tty_assert_shows(t, "* 2 with chosen steps");
    kill_now(t);

    t = tty_on_resnet8();                 /* the model's own file offers it as well */
    tty_assert_shows(t, "ago? resnet8.onnx");
    tty_press(t, "y G");
    tty_assert_shows(t, "* 2 with chosen steps");
    tty_press(t, "q n");
    assert_int_equal(tty_end(t), 0);
    struct autosave left[4];              /* n forgets all of it */
    for (int n = session_autosaves(left, COUNT_OF(left)), i = 0; i < n; i++)
        assert_null(strstr(left[i].title, "resnet8"));
}

/* Another kernel, or another network, has nothing to do with it. */
static void other_work_is_not_offered(void **state)
{
    (void)state;
    static const struct { const char *net, *kernel; bool of_kernel, of_net; } other[] = {
        { NET, "gmm m=8 k=8 n=8", true, true },
        { NET, "gmm m=8 k=8 n=9", false, true },
        { TWICE, "gmm m=8 k=8 n=8", false, false },
    };
    struct session *net, *s = NULL;
    struct err e;
    int status;
    pid_t child = fork_child();
    if (child == 0) {
        enum command_effect effect;
        bool ok = session_new(NET, &net, &e) && session_new("gmm m=8 k=8 n=8", &s, &e);
        if (ok)
            session_make_kernel(s, net);
        ok = ok && session_run(s, "loop unroll C K", &effect, &e) && session_autosave(s, &e);
        _exit(ok ? 0 : 1);
    }
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    struct autosave found;
    for (int i = 0; i < COUNT_OF(other); i++) {
        assert_true(session_new(other[i].net, &net, &e) && session_new(other[i].kernel, &s, &e));
        assert_false(session_autosave_of(s, &found));
        session_make_kernel(s, net);
        assert_int_equal(session_autosave_of(s, &found), other[i].of_kernel);
        assert_int_equal(session_autosave_kernels(net, &found, 1), other[i].of_net);
        assert_false(session_autosave_of(net, &found));
        session_free(net);
        session_free(s);
    }
    assert_true(session_new(NET, &net, &e) && session_autosave_kernels(net, &found, 1));
    unlink(found.path);
    session_free(net);
}

/* The start page opens the changes of a kernel in its network. */
static void the_start_page_opens_a_kernel_in_its_network(void **state)
{
    (void)state;
    struct session *net, *s;
    struct err e;
    int status;
    assert_true(session_new(NET, &net, &e));
    net->network = true;
    assert_true(session_save(net, "kernels.yaml", &e));
    session_remember(net->path);
    pid_t child = fork_child();
    if (child == 0) {
        enum command_effect effect;
        bool ok = session_new("gmm m=8 k=8 n=8", &s, &e);
        session_make_kernel(s, net);
        s->dirty = true;
        ok = ok && session_run(s, "loop unroll C K", &effect, &e) && session_autosave(s, &e);
        _exit(ok ? 0 : 1);
    }
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    struct model *m = model_on(NULL);
    for (int i = 0; i < 100 && !(model_entry(m) && model_entry(m)->autosave.kernel); i++)
        press(m, "Down");
    assert_true(str_ends(model_entry(m)->path, "/kernels.yaml"));
    press(m, "Enter");
    assert_non_null(m->network);
    assert_true(str_ends(m->network->session->path, "/kernels.yaml"));
    assert_string_equal(step_of(m), "loop unroll C K");
    press(m, "s");                        /* of the network, not of the kernel */
    assert_shows(m, "saved to ");
    assert_non_null(strstr(str_text(&m->network->session->kernels), "loop unroll C K"));
    assert_string_equal(m->session->path, "");
    assert_false(m->network->session->dirty);
    press(m, "Esc q");
    assert_true(m->out.quit);
    model_free(m);
    session_free(net);
    unlink("kernels.yaml");
}

/* On the start page, d deletes the changes of a network and those of its kernels together. */
static void d_deletes_a_network_and_its_kernels(void **state)
{
    (void)state;
    static const char *const spec[] = { NET, "gmm m=8 k=8 n=8", "gmm m=8 k=8 n=9" };
    struct session *net, *s;
    struct err e;
    int status;
    pid_t child = fork_child();
    if (child == 0) {
        bool ok = session_new(NET, &net, &e);
        for (int i = 0; ok && i < COUNT_OF(spec); i++) {
            ok = session_new(spec[i], &s, &e);
            if (ok && i > 0)
                session_make_kernel(s, net);
            s->dirty = true;
            ok = ok && session_autosave(s, &e);
        }
        _exit(ok ? 0 : 1);
    }
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    assert_true(session_new(NET, &net, &e));
    struct autosave found[4];
    assert_int_equal(session_autosave_kernels(net, found, COUNT_OF(found)), 2);
    assert_true(session_autosave_of(net, found));
    struct model *m = model_on(NULL);
    for (int i = 0; i < 100 && !(model_entry(m) && streq(model_entry(m)->autosave.path,
                                                         found[0].path)); i++)
        press(m, "Down");
    assert_int_equal(model_entry(m)->kernels, 2);
    press(m, "d d");
    assert_shows(m, "the unsaved session is deleted");
    assert_false(session_autosave_of(net, found));
    assert_int_equal(session_autosave_kernels(net, found, COUNT_OF(found)), 0);
    model_free(m);
    session_free(net);
}

/* A restored kernel whose steps are those of the network is no choice. */
static void a_kernel_as_built_is_no_choice(void **state)
{
    (void)state;
    struct model *m = network_on(TWICE);
    struct session *s;
    struct err e;
    run_jobs(m);
    const struct network_task *t = &m->network->made->net->task[0];
    assert_true(network_kernel_open(t, "net", &s, &e));
    s->dirty = true;
    model_kernel_recovered(m, s);
    press(m, "Esc");
    assert_int_equal(m->network->session->kernels.len, 0);
    assert_false(m->network->session->dirty);
    model_free(m);
}

/* What the file of a network leaves out of its kernels is said when it is saved, and asked about
 * before it is lost. */
static void lost_branches_are_told(void **state)
{
    (void)state;
    struct model *m = network_on(TWICE);
    run_jobs(m);
    press(m, "Enter");
    press(m, "s");
    assert_shows(m, "the network of this kernel has no file of its own yet");
    assert_true(model_run(m, "branch other"));
    press(m, "Esc");                      /* main has the steps with which the session began */
    assert_int_equal(model_network_branches(m), 0);
    press(m, "Enter");
    assert_true(model_run(m, "loop unroll C K"));
    assert_true(model_run(m, "switch main"));
    press(m, "Esc q");
    assert_false(m->out.quit);
    assert_shows(m, "A network keeps one branch of a kernel; 1 kernel has more. Still quit?");
    assert_shows(m, " y Enter quit  n c stay");          /* nothing runs that y would stop */
    press(m, "n");
    assert_false(m->out.quit);
    assert_true(model_run(m, "w lost.yaml"));
    assert_non_null(strstr(str_text(&m->message.text), "saved to lost.yaml: the steps of the "
                           "kernels. Not saved: the other branches of 1 kernel. w in a kernel"));
    press(m, "Enter");
    assert_true(model_run(m, "w alone.yaml"));
    assert_string_equal(str_text(&m->message.text), "saved to alone.yaml");
    press(m, "Esc q");
    assert_true(m->out.quit);
    model_free(m);
    unlink("lost.yaml");
    unlink("alone.yaml");
}

/* A kernel that is opened again still shows its search. */
static void kernels_keep_their_searches(void **state)
{
    (void)state;
    struct model *m = network_on(TWICE);
    run_jobs(m);
    press(m, "/ g m m Enter Enter 9");
    assert_int_equal(m->search.len, 0);   /* the search was in the list */
    assert_shows(m, "Nothing has been tuned since");
    struct tune_snapshot *snapshot = m->tuner.snapshot = tune_snapshot_new();
    str_add(&m->tuner.end, "this search has ended");
    m->data_stamp++;
    assert_shows(m, "this search has ended");
    press(m, "Esc j Enter 9");
    assert_shows(m, "Nothing has been tuned since");
    press(m, "Esc k Enter 9");
    assert_ptr_equal(m->tuner.snapshot, snapshot);
    assert_shows(m, "this search has ended");
    press(m, "Esc");
    assert_null(m->tuner.snapshot);
    press(m, "j");
    int second = model_kernel(m);
    press(m, "Enter");
    m->network->at = (struct scroll){0};  /* a recovered kernel was not opened from the list */
    press(m, "Esc");
    screen_refresh(m);
    assert_int_equal(model_kernel(m), second);
    model_free(m);
}

/* A measurement that opening a kernel has cancelled goes on in the list. */
static void a_cancelled_measurement_resumes(void **state)
{
    (void)state;
    struct model *m = network_on(TWICE);
    struct desired_job w;
    run_jobs(m);
    press(m, "m");
    assert_true(model_desired_job(m, LANE_MEASURE, &w) && w.kind == JOB_NETWORK_RUN);
    struct app_job *j = model_job(m, &w);
    press(m, "Enter");
    assert_false(model_desired_job(m, LANE_MEASURE, &w));
    j->e.code = ERR_CANCEL;
    model_done(m, j);
    job_free(j);
    press(m, "Esc");
    assert_true(model_desired_job(m, LANE_MEASURE, &w) && w.kind == JOB_NETWORK_RUN);
    model_free(m);
}

/* Esc cancels the scheduling after a change. The list is then that of the network before, and says
 * so; m schedules and measures. */
static void scheduling_can_be_cancelled(void **state)
{
    (void)state;
    struct model *m = network_on(TWICE);
    struct desired_job w;
    press(m, "Esc");
    assert_shows(m, "scheduling cancelled; m schedules and measures the network");
    assert_shows(m, "The kernels have no schedules yet");
    assert_false(model_desired_job(m, LANE_TEXT, &w));
    type_line(m, "tune_all 5");
    assert_shows(m, "the kernels have no schedules yet");
    press(m, "Esc m");
    run_jobs(m);
    assert_shows(m, "verified: true, every kernel");
    while (!str_starts(m->network->made->net->task[model_kernel(m)].spec, "gmm "))
        press(m, "Down");
    press(m, "Enter");
    type_line(m, "layout set C \"N M\"");
    press(m, "Esc");
    assert_true(model_desired_job(m, LANE_TEXT, &w) && w.kind == JOB_NETWORK);
    struct app_job *j = model_job(m, &w);
    press(m, "Esc");
    assert_false(m->network->build_wanted);
    job_run(j, &(struct cancel){0}, NULL);               /* it ends before it is cancelled */
    model_done(m, j);
    job_free(j);
    assert_shows(m, "scheduling cancelled");
    assert_shows(m, "stale:    the shown kernels lack the newest steps; m checks");
    press(m, "m");
    run_jobs(m);
    assert_shows(m, "verified: true, every kernel");
    assert_hides(m, "stale:");
    model_free(m);
}

static void the_start_page_has_a_network(void **state)
{
    (void)state;
    struct model *m = model_on(NULL);
    for (int i = 0; i < 100 && !(model_entry(m) && str_ends(model_entry(m)->path, ".onnx")); i++)
        press(m, "Down");
    assert_shows(m, "resnet8.onnx");
    assert_shows(m, "a network, as an ONNX model");
    press(m, "Enter");
    run_jobs(m);
    assert_shows(m, "c2d+add+relu 16x32x32");
    model_free(m);
}

/* Until it is read, everything else goes on; Esc ends it. */
static void reading_can_be_cancelled(void **state)
{
    (void)state;
    struct model *m = model_on("gmm m=8 k=8 n=8");
    struct desired_job w;
    char line[600];
    snprintf(line, sizeof line, "e %s/tests/fuzz/corpus/onnx/layernorm.onnx", root);
    assert_true(model_run(m, line));
    press(m, "p");
    assert_string_equal(step_of(m), "loop parallel C M");
    assert_true(model_desired_job(m, LANE_TEXT, &w) && w.kind == JOB_OPEN);
    struct app_job *late = model_job(m, &w);
    press(m, "Esc");
    assert_shows(m, "the model is not opened");
    assert_false(model_desired_job(m, LANE_TEXT, &w));
    late->ok = true;
    model_done(m, late);
    job_free(late);
    assert_string_equal(step_of(m), "loop parallel C M");
    assert_true(model_run(m, line));
    run_jobs(m);
    assert_shows(m, "Save the changes first?");
    press(m, "n");
    run_jobs(m);
    assert_shows(m, "calls ");
    model_free(m);
}

static void bad_models_are_messages(void **state)
{
    (void)state;
    char path[300];
    const char *const argv[] = { path, NULL };
    struct err e;
    snprintf(path, sizeof path, "%s/bad.onnx", temp_dir(NULL));
    assert_true(file_write_atomic(path, "no model", 8, &e));
    struct tty *t = tty_start(&(struct tty_opts){ .w = 80, .h = 40, .argv = argv });
    tty_assert_shows(t, "is not an ONNX model");
    tty_assert_shows(t, "Start on an operator");
    tty_send(t, "Q");
    assert_int_equal(tty_end(t), 0);
}

/* T tunes every kernel in the background, with a table of them; Esc ends the search. */
static void all_kernels_are_tuned(void **state)
{
    (void)state;
    struct model *m = network_on(NET);
    struct desired_job w;
    press(m, "T");
    assert_shows(m, "the kernels have no schedules yet");                /* it is not built yet */
    run_jobs(m);
    press(m, "01T");
    assert_shows(m, "tuning: measuring the network");
    assert_true(model_desired_job(m, LANE_TUNE, &w));
    assert_int_equal(w.kind, JOB_NETWORK_TUNE);
    struct app_job *j = model_job(m, &w);
    job_run(j, NULL, NULL);
    if (!j->ok)
        fail_msg("%s", j->e.text);
    model_tune_look(m);
    assert_shows(m, "share       ms  gain  hoped  trials  kernel");
    bool changed = j->session->kernels.len > 0;
    model_done(m, j);
    job_free(j);
    assert_shows(m, changed ? "faster: " : "no kernel became faster in the network");
    assert_shows(m, "latency: ");         /* as it was before the search */
    assert_hides(m, "measured: no");
    assert_int_equal(m->network->session->dirty, changed);
    run_jobs(m);
    press(m, "T");
    assert_true(model_desired_job(m, LANE_TUNE, &w) && w.kind == JOB_NETWORK_TUNE);
    press(m, "Esc");
    assert_shows(m, "ending the search");
    assert_false(model_desired_job(m, LANE_TUNE, &w));
    model_free(m);
}

/* A kernel that is opened meanwhile leaves the search as it is: a measurement there makes it wait.
 * In the list, Esc first clears the pattern of a search in the text. */
static void a_search_goes_on_behind_a_kernel(void **state)
{
    (void)state;
    struct tty *t = tty_on_resnet8();
    tty_press(t, "0 9 0");
    tty_send(t, "T");
    tty_wait_shows(t, "tuning all: round 1", 30);
    tty_send(t, "Enter");
    tty_wait_shows(t, "Steps", 10);
    tty_send(t, "m");
    tty_wait_shows(t, "tuning all: waits for a measurement", 30);
    tty_wait_shows(t, "measured: best", 30);
    tty_wait_shows(t, "tuning all: round", 30);
    tty_send(t, "t");
    tty_wait_shows(t, "all kernels of the network are being tuned", 10);
    tty_send(t, "Esc");
    tty_wait_shows(t, "calls ", 10);
    tty_wait_shows(t, "tuning: round", 30);
    for (const char *c = "/gmm"; *c; c++)
        tty_send(t, (char[]){ *c, 0 });
    tty_wait_shows(t, "/gmm", 10);
    tty_send(t, "Enter");
    tty_send(t, "Esc");
    tty_send(t, "n");
    tty_wait_shows(t, "nothing to search for yet", 10);
    tty_wait_shows(t, "tuning all: round", 10);
    assert_null(strstr(tty_screen(t), "ending the search"));
    tty_send(t, "Esc");
    tty_wait_shows(t, "ending the search", 10);
    tty_wait_idle(t, 60);
    assert_null(strstr(tty_screen(t), "tuning all"));
    tty_send(t, "Q");
    assert_int_equal(tty_end(t), 0);
}

/* Ends the search j of TWICE with other steps for both kernels. */
static void hand_in_search(struct model *m, struct app_job *j)
{
    assert_true(session_new(TWICE, &j->session, &j->e));
    str_add(&j->session->kernels, "gmm m=8 k=8 n=8\nloop parallel C M\n\n"
                                  "softmax d0=8 d1=8 axis=1\nloop parallel Softmax D0\n\n");
    j->ok = true;
    model_done(m, j);
    job_free(j);
}

/* What the user has changed meanwhile stays, in an open kernel as well as in one that was left. */
static void a_search_leaves_changed_kernels_alone(void **state)
{
    (void)state;
    struct model *m = network_on(TWICE);
    struct desired_job w;
    run_jobs(m);
    press(m, "01T");
    assert_true(model_desired_job(m, LANE_TUNE, &w) && w.kind == JOB_NETWORK_TUNE);
    struct app_job *j = model_job(m, &w);
    m->progress[LANE_TUNE] = (struct job_progress){
        .running = true, .busy = true, .kind = w.kind, .tag = w.tag,
    };
    while (!str_starts(m->network->made->net->task[model_kernel(m)].spec, "gmm "))
        press(m, "Down");
    press(m, "Enter");
    assert_true(model_run(m, "set propagate off"));
    press(m, "m");
    model_tune_look(m);
    assert_false(model_desired_job(m, LANE_MEASURE, &w));          /* it does not wait yet */
    assert_true(model_desired_job(m, LANE_TUNE, &w) && w.tag == j->tag);
    m->measure_wanted = false;
    press(m, "Esc");
    assert_null(m->session);
    assert_true(model_desired_job(m, LANE_TUNE, &w) && w.tag == j->tag);
    hand_in_search(m, j);
    m->progress[LANE_TUNE].busy = m->progress[LANE_TUNE].running = false;
    const char *kernels = str_text(&m->network->session->kernels);
    assert_non_null(strstr(kernels, "set propagate off"));
    assert_non_null(strstr(kernels, "loop parallel Softmax D0"));
    assert_null(strstr(kernels, "loop parallel C M"));
    assert_shows(m, "1 kernel stays with the steps that you gave");
    model_free(m);
}

/* The kernels whose steps a search has changed are named, and u takes these steps back. */
static void a_search_is_taken_back(void **state)
{
    (void)state;
    struct model *m = network_on(TWICE);
    struct desired_job w;
    kernels_put(&m->network->session->kernels, "gmm m=8 k=8 n=8", 1,
                (const char *const[]){ "loop unroll C K" });
    model_network_update(m);
    run_jobs(m);
    press(m, "01T");
    assert_true(model_desired_job(m, LANE_TUNE, &w) && w.kind == JOB_NETWORK_TUNE);
    struct app_job *j = model_job(m, &w);
    hand_in_search(m, j);
    model_resize(m, 300, 30);
    run_jobs(m);
    assert_shows(m, "the search has changed the steps of kernel 0: u takes them back");
    const struct str *kernels = &m->network->session->kernels;
    press(m, "u");
    assert_shows(m, "the schedules of the search are taken back");
    assert_string_equal(str_text(kernels), "gmm m=8 k=8 n=8\nloop unroll C K\n\n");
    run_jobs(m);
    press(m, "u");
    assert_shows(m, "the network itself has no step to undo");
    press(m, "C-r");
    assert_shows(m, "the schedules of the search are back");
    assert_non_null(strstr(str_text(kernels), "loop parallel C M"));
    type_line(m, "undo 2");
    assert_string_equal(str_text(kernels), "gmm m=8 k=8 n=8\nloop unroll C K\n\n");
    press(m, "C-r");
    /* a search that runs would lose its result */
    m->network->tune_wanted = true;
    press(m, "u");
    assert_shows(m, "the kernels are being tuned");
    m->network->tune_wanted = false;
    /* not when other steps were chosen since then */
    kernels_put(&m->network->session->kernels, "gmm m=8 k=8 n=8", 1,
                (const char *const[]){ "loop unroll C K" });
    press(m, "u");
    assert_shows(m, "the network itself has no step to undo");
    model_free(m);
}

struct ending { struct cancel c; bool searched; };

static void note_end(void *ctx, const struct network_tuning_view *v)
{
    struct ending *end = ctx;
    end->searched = v->current < 0;
}

static void cancel_at_end(void *ctx, const char *what, double fraction)
{
    struct ending *end = ctx;
    (void)what, (void)fraction;
    if (end->searched)
        atomic_store(&end->c.raised, 1);
}

/* Ctrl-C while the networks are compared at the end: what the search found clearly faster stays. */
static void a_late_cancel_keeps_what_was_found(void **state)
{
    (void)state;
    static const char plain[] = "gmm m=64 k=64 n=64\n\n";
    struct ending end = { { 0 }, false };
    struct progress pr = { cancel_at_end, &end };
    struct network_tuning_opts o = {
        .each = { .measure = { .meters = METER_CLOCK, .threads = 1, .seed = 1 } }, .time_s = 4,
        .show = note_end, .ctx = &end, .progress = &pr,
    };
    struct arena *a = arena_new();
    struct network_tuning t;
    struct session *s;
    struct err e;
    assert_true(session_new("x = input m=64 k=64; a = gmm(x) n=64; b = softmax(a) axis=1; "
                            "c = gmm(b) n=64; y = softmax(c) axis=1", &s, &e));
    str_add(&s->kernels, plain);
    if (!network_tuning_run(a, s, &o, &end.c, &t, &e))
        fail_msg("%s", e.text);
    assert_true(end.searched && t.cancelled && !t.verified && t.unchecked_s == 0);
    assert_true(t.before_ms > 0 && t.before_ms < 1e3 && t.after_ms == t.before_ms);
    assert_string_not_equal(str_text(&s->kernels), plain);
    session_free(s);
    arena_free(a);
}

static void note_what(void *ctx, const char *what, double fraction)
{
    (void)fraction;
    assert_null(strstr(what, "checking kernel"));        /* what it counts are calls */
    *(bool *)ctx |= strstr(what, "checking") || strstr(what, "whole graph");
}

/* A check that would take most of the time limit is left out, and the result says so; one that fits
 * is made at the end. */
static void checks_fit_the_time_limit(void **state)
{
    (void)state;
    static const struct { const char *text; double time_s; bool checked; } rows[] = {
        { "x = input m=256 k=1024; a = gmm(x) n=1024; b = softmax(a) axis=1; "
          "y = gmm(b) n=1024", 0.01, false },
        { "x = input m=16 k=16; a = gmm(x) n=16; b = softmax(a) axis=1; y = gmm(b) n=16", 2,
          true },
    };
    for (int i = 0; i < COUNT_OF(rows); i++) {
        bool saw = false;
        struct cancel never = { 0 };
        struct progress pr = { note_what, &saw };
        struct network_tuning_opts o = {
            .each = { .measure = { .meters = METER_CLOCK, .threads = 1, .seed = 1 } },
            .time_s = rows[i].time_s, .progress = &pr,
        };
        struct arena *a = arena_new();
        struct network_tuning t;
        struct session *s;
        struct err e;
        assert_true(session_new(rows[i].text, &s, &e));
        if (!network_tuning_run(a, s, &o, &never, &t, &e))
            fail_msg("%s", e.text);
        assert_true(saw == rows[i].checked && t.verified == rows[i].checked);
        assert_true((t.unchecked_s > 0) != rows[i].checked);
        session_free(s);
        arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(export_writes_a_library),
        cmocka_unit_test(export_to_no_folder),
        cmocka_unit_test(measuring_again_says_the_change),
        cmocka_unit_test(shares_above_the_peak), cmocka_unit_test(shares_count_what_is_executed),
        cmocka_unit_test(lists_of_kernels),
        cmocka_unit_test(sums_leave_nothing_out_in_silence), cmocka_unit_test(noise_is_marked),
        cmocka_unit_test(changes_are_safe_at_once),
        cmocka_unit_test(a_save_in_a_kernel_drops_its_autosave),
        cmocka_unit_test(a_kernel_and_back),
        cmocka_unit_test(changed_steps_go_into_the_network),
        cmocka_unit_test(the_tuner_opens_a_kernel),
        cmocka_unit_test(undone_steps_leave_no_trace),
        cmocka_unit_test(conversions_do_not_change),
        cmocka_unit_test(command_opens_graphs_without_steps),
        cmocka_unit_test(the_network_is_cut_and_joined),
        cmocka_unit_test(a_join_leaves_the_cursor_on_its_kernel),
        cmocka_unit_test(a_refused_line_is_skipped),
        cmocka_unit_test(lines_of_the_network_are_completed),
        cmocka_unit_test(idle_steps_are_told),
        cmocka_unit_test(times_follow_the_calls),
        cmocka_unit_test(conversions_are_no_work),
        cmocka_unit_test(errors_are_shown),
        cmocka_unit_test(a_model_opens_as_a_network),
        cmocka_unit_test(killed_branches_are_offered),
        cmocka_unit_test(a_killed_kernel_is_offered),
        cmocka_unit_test(a_killed_kernel_of_a_model_opens_in_it),
        cmocka_unit_test(a_killed_network_comes_back_whole),
        cmocka_unit_test(other_work_is_not_offered),
        cmocka_unit_test(the_start_page_opens_a_kernel_in_its_network),
        cmocka_unit_test(d_deletes_a_network_and_its_kernels),
        cmocka_unit_test(a_kernel_as_built_is_no_choice),
        cmocka_unit_test(lost_branches_are_told),
        cmocka_unit_test(kernels_keep_their_searches),
        cmocka_unit_test(a_cancelled_measurement_resumes),
        cmocka_unit_test(scheduling_can_be_cancelled),
        cmocka_unit_test(the_start_page_has_a_network),
        cmocka_unit_test(reading_can_be_cancelled),
        cmocka_unit_test(bad_models_are_messages),
        cmocka_unit_test(all_kernels_are_tuned),
        cmocka_unit_test(a_search_goes_on_behind_a_kernel),
        cmocka_unit_test(a_search_leaves_changed_kernels_alone),
        cmocka_unit_test(a_search_is_taken_back),
        cmocka_unit_test(a_late_cancel_keeps_what_was_found),
        cmocka_unit_test(checks_fit_the_time_limit),
    };
    if (!getcwd(root, sizeof root))
        return 1;
    setenv("TILESCOPE_HOME", root, 0);
    private_folders();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
