/* The requests of the parent to a runner, and how it reads the answers: times, counts and
 * simulations.  The runner is a program of this test that sends back what it was asked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "profile/child/child_impl.h"
#include "tests/unit/own_runner.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static char runner[OWN_RUNNER_PATH];

/* Answers every request as $TS_ANSWER says. */
static const char source[] =
    "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <sys/mman.h>\n"
    "#include <sys/socket.h>\n#include <sys/stat.h>\n#include \"profile/child/protocol.h\"\n"
    "static struct request q;\nstatic struct shared *sh;\n"
    "static void put(double x)\n{\n    sh->sample[0][sh->n_samples[0]++] = x;\n}\n"
    "static void send_fields(void)\n{\n    sh->n_samples[0] = 0;\n"
    "    put(q.command == COMMAND_TIME), put(q.contenders), put(q.ceiling), put(q.cold);\n"
    "    put(q.walk_bytes), put(q.time_s), put(q.most_s), put(q.min_runs), put(q.epochs);\n"
    "    put(q.append), put(q.give_up_s), put(q.steady), put(q.has_ceiling);\n}\n"
    "static void send_rounds(const int *epoch)\n{\n"
    "    sh->n_samples[0] = 5;\n    sh->n_samples[1] = 3;\n    sh->n_samples[2] = 1;\n"
    "    for (int i = 0; i < 5; i++)\n        sh->sample[0][i] = sh->sample[1][i] = 1;\n"
    "    sh->n_epochs = 5;\n    memcpy(sh->epoch, epoch, 5 * sizeof *epoch);\n"
    "    sh->flushed = 1;\n    sh->huge_bytes = 11;\n    sh->room_bytes = 22;\n}\n"
    "static void send_noise(void)\n{\n    sh->n_samples[0] = 20;\n"
    "    for (int i = 0; i < 20; i++) sh->sample[0][i] = 1 + i % 2;\n"
    "    sh->room_bytes += 100 + q.append;\n}\n"
    "static void send_tables(void)\n{\n    struct shared_sim *s = shared_sim(sh);\n"
    "    struct shared_site *site = sim_sites(s);\n    struct shared_block *b = sim_blocks(s);\n"
    "    site[0].count.misses[0] = 1000 * b[0].accesses + 100 * b[1].accesses + 10 * b[0].mark\n"
    "                            + b[1].mark;\n"
    "    site[0].count.misses[1] = 100 * site[0].is_store + 10 * site[1].is_store\n"
    "                            + site[1].tensor;\n"
    "    site[1].count.misses[0] = sim_bases(s)[0] + 2 * sim_bases(s)[1];\n"
    "    site[1].count.misses[1] = 10 * sim_marks(s)[0].block + s->cache.n_levels;\n"
    "    b[0].runs = s->budget;\n    b[1].runs = s->seed;\n    s->level[0].misses = 5;\n"
    "    s->fraction = 0.5;\n    s->error = 0.25;\n    strcpy(s->how, \"a\\tb\");\n"
    "    s->n_levels = !strcmp(getenv(\"TS_ANSWER\"), \"sample\") ? 1 : 2;\n}\n"
    "static void send_counts(void)\n{\n    sh->counts.available = 1;\n    sh->counts.n = 1;\n"
    "    sh->counts.count[0].value = 100 * q.meter + q.n_events;\n"
    "    strcpy(sh->counts.count[0].name, q.event[q.n_events - 1].text);\n}\n"
    "int main(void)\n{\n"
    "    static const int epochs[] = { 0, 2, 2, 1, 4 }, late[] = { 1, 2, 0, 1, 5 };\n"
    "    struct reply r = { .version = PROTOCOL_VERSION, .ok = 1, .seconds = 0.125 };\n"
    "    const char *a = getenv(\"TS_ANSWER\");\n    struct stat st;\n"
    "    if (fstat(RUNNER_MEMORY_FD, &st)) return 1;\n"
    "    sh = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED,\n"
    "              RUNNER_MEMORY_FD, 0);\n"
    "    sh->differs = -1;\n"
    "    send(RUNNER_SOCKET_FD, &r, sizeof r, 0);\n"
    "    while (recv(RUNNER_SOCKET_FD, &q, sizeof q, 0) == sizeof q) {\n"
    "        if (!strcmp(a, \"fields\")) send_fields();\n"
    "        if (!strcmp(a, \"rounds\")) send_rounds(epochs);\n"
    "        if (!strcmp(a, \"late\")) send_rounds(late);\n"
    "        if (!strcmp(a, \"noise\")) send_noise();\n"
    "        if (!strcmp(a, \"differs\")) sh->differs = 1, sh->differs_after = 7;\n"
    "        if (q.command == COMMAND_SIMULATE) send_tables();\n"
    "        if (q.command == COMMAND_COUNT) send_counts();\n"
    "        send(RUNNER_SOCKET_FD, &r, sizeof r, 0);\n    }\n    return 0;\n}\n";

static const struct trace_use use[] = { { 0, 0, 3, 0 }, { 1, 1, 1, 0 }, { 1, 0, 1, 0 } };
static const struct site site[] = { { .is_store = false }, { .is_store = true } };
static const int block_mark[] = { 7, 2 };
static const struct trace_mark mark[] = { { 1, "I" } };
static const struct trace_table table = {
    .n_sites = 2, .site = site, .n_uses = 3, .use = use, .n_blocks = 2, .block_mark = block_mark,
    .n_marks = 1, .mark = mark,
};

static struct runner *open_with(const char *answer, const struct trace_table *trace)
{
    static const struct runner_buffer buffer = { "A", &type_f32, 4000, 1 };
    struct runner_opts o = { .path = runner, .threads = 1, .limit_s = 5, .n_buffers = 1,
                             .buffer = &buffer, .trace = trace, .n_trace_buffers = 2 };
    struct runner *c;
    struct err e;
    setenv("TS_ANSWER", answer, 1);
    if (!runner_open(&child_runner, &o, &c, &e))
        fail_msg("%s", e.text);
    return c;
}

static void requests_have_their_fields(void **state)
{
    const struct sampled what = { .contenders = 1, .ceiling = true, .cold = true,
                                  .walk_bytes = 1000, .time_s = 0.5, .min_runs = 3, .epochs = 4,
                                  .append = true, .give_up_s = 0.75, .steady = 1, .as_is = true };
    static const double want[] = { 1, 1, 1, 1, 1000, 0.5, 5, 3, 4, 1, 0.75, 1, 0 };
    struct runner *c = open_with("fields", NULL);
    struct samples s;
    struct err e;
    (void)state;
    if (!runner_time(c, &what, &s, &e))
        fail_msg("%s", e.text);
    assert_int_equal(s.rounds, COUNT_OF(want));
    for (int i = 0; i < COUNT_OF(want); i++)
        if (s.sample[0][i] != want[i])
            fail_msg("field %d: %g", i, s.sample[0][i]);
    runner_close(c);
}

/* The rounds that all contenders have; epochs begin at 0 and grow. */
static void samples_are_taken(void **state)
{
    static const struct { const char *answer; unsigned contenders; int rounds, n, last; } t[] = {
        { "rounds", 1, 5, 3, 4 }, { "rounds", 3, 3, 2, 2 }, { "rounds", 7, 1, 1, 0 },
        { "rounds", 8, 0, 0, 0 }, { "late", 1, 5, 2, 1 },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(t); i++) {
        const struct sampled what = { .contenders = t[i].contenders, .time_s = 0.01 };
        struct runner *c = open_with(t[i].answer, NULL);
        struct samples s;
        struct err e;
        if (!runner_time(c, &what, &s, &e))
            fail_msg("%s", e.text);
        if (s.rounds != t[i].rounds || s.n_blocks != t[i].n
            || (t[i].n > 0 && s.block[t[i].n - 1] != t[i].last))
            fail_msg("row %d: %d rounds, %d blocks", i, s.rounds, s.n_blocks);
        assert_true(s.flushed && s.huge_bytes == 11 && s.room_bytes == 22);
        for (int k = 0; k < PROTOCOL_MAX_CONTENDERS; k++)
            assert_int_equal(s.sample[k] != NULL, t[i].contenders >> k & 1);
        runner_close(c);
    }
}

/* Noisy samples are taken four times, later ones beside the first; but not if they are wanted as
 * they are. */
static void noise_is_sampled_again(void **state)
{
    (void)state;
    for (int as_is = 0; as_is < 2; as_is++) {
        const struct sampled what = { .contenders = 1, .time_s = 0.01, .as_is = as_is };
        struct runner *c = open_with("noise", NULL);
        struct samples s;
        struct err e;
        assert_true(runner_time(c, &what, &s, &e));
        assert_int_equal(s.room_bytes, as_is ? 100 : 100 + 3 * 101);
        runner_close(c);
    }
}

static void only_a_steady_contender_differs(void **state)
{
    static const struct { unsigned steady; bool ok; int differs; } t[] = {
        { 0, true, -1 }, { 1, false, -1 }, { 2, true, 1 }, { 3, true, 1 },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(t); i++) {
        const struct sampled what = { .contenders = 1, .time_s = 0.01, .steady = t[i].steady };
        struct runner *c = open_with("differs", NULL);
        struct samples s = { .differs_after = 0 };
        struct err e = {0};
        assert_int_equal(runner_time(c, &what, &s, &e), t[i].ok);
        assert_string_equal(e.text, t[i].ok ? ""
                                            : "the kernel overwrote the comparison of its results");
        assert_int_equal(s.differs, t[i].differs);
        assert_int_equal(s.differs_after, t[i].differs < 0 ? 0 : 7);
        runner_close(c);
    }
}

static void events_are_sent(void **state)
{
    static const struct event event[] = { { "a", "first" }, { "b", "second" } };
    struct runner *c = open_with("counts", NULL);
    struct counts counts;
    struct err e;
    double seconds;
    (void)state;
    assert_true(runner_count(c, METER_ID_PAPI, event, 2, &counts, &seconds, &e));
    assert_true(counts.available && counts.n == 1 && seconds == 0.125);
    assert_true(counts.count[0].value == 100 * METER_ID_PAPI + 2);
    assert_string_equal(counts.count[0].name, "second");
    runner_close(c);
}

/* Block 0 makes 3 accesses, block 1 makes 2; they lie in loops 7 and 2.  Site 1 stores tensor 6. */
static void tables_are_sent(void **state)
{
    static const unsigned long long base[] = { 64, 128 };
    static const int tensor[] = { 4, 6 };
    const struct cache_config cache = { .n_levels = 2 };
    const struct simulated what = { .cache = &cache, .base = base, .tensor = tensor, .budget = 77,
                                    .seed = 99 };
    (void)state;
    for (int sample = 0; sample < 2; sample++) {
        struct runner *c = open_with(sample ? "sample" : "whole", &table);
        struct site_count count[2];
        int64_t runs[2];
        struct simulation s = { .count = count, .runs = runs };
        struct err e;
        if (!runner_simulate(c, &what, &s, &e))
            fail_msg("%s", e.text);
        assert_int_equal(count[0].misses[0], 3 * 1000 + 2 * 100 + 7 * 10 + 2);
        assert_int_equal(count[0].misses[1], 10 + 6);
        assert_int_equal(count[1].misses[0], 64 + 2 * 128);
        assert_int_equal(count[1].misses[1], 10 + 2);
        assert_true(runs[0] == 77 && runs[1] == 99 && s.level[0].misses == 5);
        assert_true(s.fraction == 0.5 && s.error == 0.25 && s.seconds == 0.125);
        assert_int_equal(s.n_levels, sample ? 1 : 2);
        assert_string_equal(s.how, "a?b");
        runner_close(c);
    }
}

static void a_simulation_needs_its_room(void **state)
{
    static struct sim_detail d;
    static const unsigned long long base[] = { 64, 128 };
    const struct cache_config cache = { .n_levels = 2 };
    struct simulated what = { .cache = &cache, .base = base };
    struct site_count count[2];
    int64_t runs[2];
    struct simulation s = { .count = count, .runs = runs };
    (void)state;
    for (int detail = 0; detail < 2; detail++) {
        struct runner *c = open_with("whole", detail ? &table : NULL);
        struct err e = {0};
        what.detail = detail ? &d : NULL;
        assert_false(runner_simulate(c, &what, &s, &e));
        assert_string_equal(e.text, "the child has no room for a simulation");
        runner_close(c);
    }
}

static int set_up(void **state)
{
    (void)state;
    return own_runner(source, "", runner) ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_have_their_fields), cmocka_unit_test(samples_are_taken),
        cmocka_unit_test(noise_is_sampled_again),
        cmocka_unit_test(only_a_steady_contender_differs), cmocka_unit_test(events_are_sent),
        cmocka_unit_test(tables_are_sent), cmocka_unit_test(a_simulation_needs_its_room),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
