/* Saving, reading, exporting, compiling, measuring, for test_faults.c. */
#include "tests/unit/fault_scenarios.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/model/settings.h"
#include "kernels/base/dialog.h"
#include "kernels/base/file.h"
#include "kernels/base/vec.h"
#include "profile/build/build.h"
#include "profile/measure/batch.h"
#include "sessions/export/export.h"
#include "sessions/export/network_export.h"
#include "sessions/file/machine_file.h"
#include "sessions/file/session.h"
#include "sessions/file/session_network.h"
#include "sessions/study/study.h"
#include "tests/unit/records_help.h"
#include "tests/unit/roof_model.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static const char *folder;
static struct arena *perm;
static char path[512];                    /* a file in the folder */

static const char old_text[] = "tilescope: 1\noperator: gmm m=8 k=8 n=8\n";

static void put_file(const char *name, const char *text)
{
    struct err e;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!file_write_atomic(path, text, strlen(text), &e))
        fail_msg("%s", e.text);
}

/* Saving a session over an old file. */
static struct session *saved;
static void before_save(void)
{
    struct err e;
    enum command_effect effect;
    put_file("s.yaml", old_text);
    if (saved)
        session_free(saved);
    if (!session_load(path, &saved, &e) || !session_run(saved, "loop split C M 4", &effect, &e))
        fail_msg("%s", e.text);
    saved->dirty = true;
}
static bool run_save(struct str *out, struct err *e)
{
    str_add(out, "saved");
    return session_save(saved, path, e);
}
static void sound_save(bool ok)
{
    struct str now = { 0 }, new = { 0 };
    struct err e;
    if (!file_read(path, 1 << 20, &now, &e))
        fail_msg("%s", e.text);
    session_yaml_in(saved, path, &new);
    if (!streq(str_text(&now), ok ? str_text(&new) : old_text))
        fail_msg("after %s: %s", ok ? "saving" : "a failure", str_text(&now));
    assert_true(saved->dirty == !ok);
    str_free(&now);
    str_free(&new);
}

static bool run_load(struct str *out, struct err *e)
{
    struct session *s;
    if (!session_load(path, &s, e))
        return false;
    session_yaml_in(s, path, out);
    session_free(s);
    return true;
}
static void before_load(void) { put_file("s.yaml", old_text); }

/* A model, which is read from another file. */
static bool run_model(struct str *out, struct err *e)
{
    struct session *s;
    if (!session_from_onnx("sessions/examples/resnet8.onnx", NULL, NULL, &s, e))
        return false;
    str_printf(out, "%d nodes", history_current(s->history)->program->graph->n_nodes);
    session_free(s);
    return true;
}

/* A crash copy, and what is found of it. */
static bool run_autosave(struct str *out, struct err *e)
{
    struct autosave found[4];
    if (!session_autosave(saved, e))
        return false;
    str_printf(out, "stored, %d of dead processes", session_autosaves(found, COUNT_OF(found)));
    session_autosave_drop(saved);
    return true;
}

static bool run_recent(struct str *out, struct err *e)
{
    char recent[4][512];
    (void)e;
    session_remember(path);
    str_printf(out, "%d recent", session_recent(recent, COUNT_OF(recent)));
    return true;
}

static bool run_machine(struct str *out, struct err *e)
{
    struct machine_model m = roof_model(), got;
    struct machine here;
    machine_read(&here);
    machine_model_fingerprint(out, &here);
    snprintf(m.fingerprint, sizeof m.fingerprint, "%s", str_text(out));
    str_clear(out);
    if (!machine_file_save(&m, FILE_ANYTHING, e) || !machine_file_load(&here, &got, e))
        return false;
    str_add(out, "saved and read");
    return true;
}

static bool run_studies(struct str *out, struct err *e)
{
    struct study *s;
    if (!study_open("alt.fig9", &s, e))
        return false;
    str_printf(out, "%s", s->id);
    study_free(s);
    return true;
}

static void before_settings(void)
{
    struct err e;
    struct str dir = { 0 };
    if (!dir_config(&dir) || !dir_make(str_text(&dir), &e))
        fail_msg("no folder of settings");
    str_free(&dir);
    put_file("tilescope/settings.yaml", "theme: mono\n");
}
static bool run_settings(struct str *out, struct err *e)
{
    struct app_settings s;
    bool ok = settings_read(&s, e);
    if (ok)
        settings_print(&s, out);
    settings_free(&s);
    return ok;
}

/* The commented number makes each source a new one: it is compiled, and not found in the cache. */
static bool run_compile(struct str *out, struct err *e)
{
    static int number;
    struct compiler cc;
    struct build b;
    char source[200];
    const struct target *t = target_host();
    snprintf(source, sizeof source, "int answer(void);\nint answer(void) { return 6 * 7; }"
             " /* %d */\n", ++number);
    if (!compiler_find(NULL, &cc, e) || !build_shared(&cc, source, t, false, NULL, &b, e))
        return false;
    str_printf(out, "%s, then ", b.cached ? "cached" : "compiled");
    struct str text = { 0 };
    bool ok = build_shared(&cc, source, t, false, NULL, &b, e) &&
              build_disassemble(b.so_path, "answer", NULL, &text, NULL, e);
    str_printf(out, "%s, %sreturns 42", b.cached ? "cached" : "compiled again",
               strstr(str_text(&text), "0x2a") ? "" : "not seen that it ");
    str_free(&text);
    return ok;
}

static const struct program *program_of(const char *const *step, int n)
{
    const struct program *p;
    struct err e;
    int bad;
    if (!program_replay(perm, "gmm m=8 k=8 n=8", step, n, &p, &bad, &e))
        fail_msg("%s", e.text);
    return p;
}

/* Measures with one meter.  Behind a timing, the calls of a simulation would have other numbers in
 * each run, because the time decides how many samples are taken. */
static bool measure(unsigned meters, struct str *out, struct err *e)
{
    struct measure_opts o = { .meters = meters, .seed = 1, .time_s = 0.002, .min_runs = 3,
                              .limit_s = 2 };
    struct measurement m;
    if (!measure_program(program_of(NULL, 0), &o, NULL, NULL, &m, e))
        return false;
    str_printf(out, "%s%s%s", outcome_name[m.outcome], m.reason[0] ? ": " : "", m.reason);
    if (m.outcome == OUTCOME_OK && meters == METER_CLOCK)
        str_printf(out, ", %s, %s, ceiling %s%s", m.verified ? "verified" : "not verified",
                   m.latency.runs > 0 ? "timed" : "not timed",
                   m.peak_gflops > 0 ? "known" : "unknown: ", m.peak_reason);
    if (m.outcome == OUTCOME_OK && meters == METER_SIM)
        str_printf(out, ", %s, simulated %s%s", m.verified ? "verified" : "not verified",
                   m.sim.available ? "" : "not: ", m.sim.reason);
    return true;
}
static bool run_clock(struct str *out, struct err *e)
{
    return measure(METER_CLOCK, out, e);
}
static bool run_simulation(struct str *out, struct err *e)
{
    return measure(METER_SIM, out, e);
}

/* Two candidates of a search. */
static bool run_batch(struct str *out, struct err *e)
{
    struct batch_opts o = { .measure = { .seed = 1, .time_s = 0.002, .min_runs = 2,
                                         .limit_s = 2 } };
    struct batch_item item[2] = { 0 };
    struct batch *b;
    const char *const step[] = { "loop split C M 4" };
    for (int i = 0; i < 2; i++)
        item[i].p = program_of(step, i);
    bool ok = batch_new(item[0].p, &o, NULL, &b, e);
    if (!ok)
        return false;
    ok = batch_run(b, item, 2, NULL, NULL, e);
    for (int i = 0; ok && i < 2; i++)
        str_printf(out, "%s%s%s%s", i > 0 ? ", " : "", outcome_name[item[i].m.outcome],
                   item[i].m.reason[0] ? ": " : "", item[i].m.reason);
    batch_free(b);
    return ok;
}

static bool run_cachegrind(struct str *out, struct err *e)
{
    struct measure_opts o = { .meters = METER_CACHEGRIND, .seed = 1, .limit_s = 20 };
    struct measurement m;
    if (!measure_program(program_of(NULL, 0), &o, NULL, NULL, &m, e))
        return false;
    const struct counts *counts = &m.counts[METER_ID_CACHEGRIND];
    str_printf(out, "%s%s%s, %s%s", outcome_name[m.outcome], m.reason[0] ? ": " : "", m.reason,
               counts->available ? "counted" : "not counted: ", counts->reason);
    return true;
}

static bool run_export(struct str *out, struct err *e)
{
    struct str text = { 0 };
    bool ok = export_c(saved, &(struct export_opts){ .file = "k.c" }, &text, e);
    if (ok)
        str_printf(out, "exported: %s", text.len > 1000 ? "C" : "too little");
    str_free(&text);
    return ok;
}

/* A library over an older one, whose files say "Written by tilescope." only. */
static const char *const library_file[] = { "n.h", "n.c", "n_kernels.h", "n_kernels.c", "n.check",
                                            "n.weights", "main.c", "Makefile", "CMakeLists.txt" };
static struct network_values values;
static const struct network *network;
static void before_library(void)
{
    const struct graph *g;
    struct network_measurement m;
    struct measure_opts mo = { .threads = 1, .seed = 1 };
    const struct network_opts o = { .measure = &mo, .values = &values };
    struct err e;
    snprintf(path, sizeof path, "%s/lib", folder);
    if (!network && (!graph_from_spec(perm, "x = input n=1 i=4 h=6 w=6; a = c2d(x) o=8 k=1", &g, &e)
                     || !network_of_graph(perm, g, "", 0, target_host(), 1, &network, &e)
                     || !measure_network(perm, network, &o, NULL, NULL, &m, &e)
                     || m.outcome != OUTCOME_OK))
        fail_msg("%s", e.text);
    if (!dir_make(path, &e))
        fail_msg("%s", e.text);
    for (int i = 0; i < COUNT_OF(library_file); i++)
        put_file(arena_printf(perm, "lib/%s", library_file[i]), "/* Written by tilescope. */\n");
    snprintf(path, sizeof path, "%s/lib", folder);
}
static bool run_library(struct str *out, struct err *e)
{
    const struct network_export_opts x = { "n", NULL, target_host(), 1, 0 };
    bool ok = network_export(network, &values, &x, path, e);
    str_add(out, ok ? "exported" : "");
    return ok;
}
static void sound_library(bool ok)
{
    for (int i = 0; i < COUNT_OF(library_file); i++) {
        char head[100];
        size_t n = file_head(arena_printf(perm, "%s/%s", path, library_file[i]), head,
                             sizeof head);
        assert_true(n > 0 && streq(head, "/* Written by tilescope. */\n") == !ok);
    }
}

static bool run_program(struct str *out, struct err *e)
{
    struct subprocess_result r;
    const char *const argv[] = { "sh", "-c", "cat /dev/fd/3", NULL };
    bool ok = subprocess_run_on("input ", 6, argv, 10, NULL, &r, e);
    if (ok)
        str_printf(out, "exit code %d, signal %d, %s", r.exit_code, r.signal, str_text(&r.out));
    str_free(&r.out);
    return ok;
}

static bool run_dialog(struct str *out, struct err *e)
{
    const char *const argv[] = { "sh", "-c", "while read x; do echo got $x; done", NULL };
    struct dialog *d = dialog_open(argv, e);
    struct str line = { 0 };
    if (!d)
        return false;
    dialog_say(d, "one");
    bool ok = dialog_hear(d, "got", 3, NULL, &line, e);
    if (ok)
        str_printf(out, "heard %s", str_text(&line));
    dialog_close(d);
    str_free(&line);
    return ok;
}

static bool run_records(struct str *out, struct err *e)
{
    struct records *r;
    struct record_run run = { .spec = RECORD_SPEC, .isa = "avx2", .threads = 1, .strategy = "ppo",
                              .budget = 10 };
    char id[RUN_ID];
    if (!records_open(path, &r, e))
        return false;
    struct record rec = record_make(perm, id, 1);
    bool ok = records_run_start(r, &run, id, e) && records_add(r, &rec, e) &&
              records_run_end(r, id, RUN_FINISHED, e);
    records_close(r);
    if (ok)
        str_add(out, "added");
    return ok;
}
static void before_records(void)
{
    snprintf(path, sizeof path, "%s/r.db", folder);
}

static const struct scenario scenario[] = {
    { "save a session", before_save, run_save, sound_save, 12, false, false },
    { "load a session", before_load, run_load, NULL, 12, false, false },
    { "open a model", NULL, run_model, NULL, 12, false, false },
    { "crash copy", before_save, run_autosave, NULL, 12, false, false },
    { "recent files", before_save, run_recent, NULL, 12, false, false },
    { "machine model", NULL, run_machine, NULL, 8, true, false },
    { "open a study", NULL, run_studies, NULL, 12, false, false },
    { "settings", before_settings, run_settings, NULL, 12, false, false },
    { "export", before_save, run_export, NULL, 12, false, false },
    { "export a library", before_library, run_library, sound_library, 9, true, true },
    { "records", before_records, run_records, NULL, 12, false, false },
    { "run a program", NULL, run_program, NULL, 12, true, false },
    { "dialog", NULL, run_dialog, NULL, 8, true, false },
    { "compile", NULL, run_compile, NULL, 8, true, false },
    { "measure", NULL, run_clock, NULL, 10, true, false },
    { "simulate", NULL, run_simulation, NULL, 10, true, false },
    { "candidates", NULL, run_batch, NULL, 3, true, false },
    { "cachegrind", NULL, run_cachegrind, NULL, 3, true, false },
};

void fault_scenarios_begin(const char *in)
{
    folder = in;
    perm = arena_new();
}

const struct scenario *fault_scenarios(int *n)
{
    *n = COUNT_OF(scenario);
    return scenario;
}

void fault_scenarios_end(void)
{
    if (saved)
        session_free(saved);
    network_values_free(&values);
    arena_free(perm);
}
