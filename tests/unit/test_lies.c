/* A runner that lies: whatever stands in the shared memory after a kernel ran, the measuring
 * process survives it, and what it takes over can be true. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/base/arena.h"
#include "profile/child/child_impl.h"
#include "tests/unit/child_floats.h"
#include "tests/unit/own_runner.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define ELEMS 3000

static char runner[OWN_RUNNER_PATH];

/* Answers every request with ok, after writing what $TS_LIE says over everything before the
 * buffers. */
static const char liar[] =
    "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <math.h>\n"
    "#include <sys/mman.h>\n#include <sys/socket.h>\n#include <sys/stat.h>\n#include <unistd.h>\n"
    "#include \"profile/child/protocol.h\"\n"
    "int main(void)\n{\n"
    "    const char *lie = getenv(\"TS_LIE\");\n"
    "    struct stat st;\n    static struct request q;\n"
    "    struct reply r = { .version = PROTOCOL_VERSION, .ok = 1, .seconds = 1e-3 };\n"
    "    if (fstat(RUNNER_MEMORY_FD, &st)) return 1;\n"
    "    struct shared *sh = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED,\n"
    "                             RUNNER_MEMORY_FD, 0);\n"
    "    size_t n = (size_t)shared_buffers(sh)[0].at;\n"
    "    struct shared_sim *sim = shared_sim(sh);\n"
    "    struct shared_detail *d = sim_detail_of(sim);\n"
    "    send(RUNNER_SOCKET_FD, &r, sizeof r, 0);\n"
    "    while (recv(RUNNER_SOCKET_FD, &q, sizeof q, 0) == sizeof q) {\n"
    "        int seed = 0;\n"
    "        if (sscanf(lie, \"byte %i\", &seed) == 1) {\n"
    "            memset(sh, seed, n);\n            memset(r.text, seed, sizeof r.text);\n"
    "            memset(r.layout, seed, sizeof r.layout);\n"
    "        } else if (sscanf(lie, \"seed %i\", &seed) == 1) {\n"
    "            srand((unsigned)seed + q.command);\n"
    "            for (size_t i = 0; i < n; i++) ((char *)sh)[i] = (char)rand();\n"
    "        } else if (!strcmp(lie, \"shrink\")) {\n"
    "            r.code = ftruncate(RUNNER_MEMORY_FD, 0);\n"
    "        } else if (!strcmp(lie, \"nan\")) {\n"
    "            for (int i = 0; i < SERIES_COUNT; i++) {\n"
    "                sh->n_samples[i] = 20;\n"
    "                sh->sample[i][7] = NAN;\n            }\n"
    "            sh->counts.available = 1;\n            sh->counts.n = 1;\n"
    "            sh->counts.count[0].value = NAN;\n            sim->fraction = NAN;\n"
    "        } else if (!strcmp(lie, \"moment\")) {\n"
    "            sim->fraction = 1;\n            d->detail.n_moments = 1;\n"
    "            d->detail.moment[0].loop = 1 << 30;\n"
    "        } else if (!strcmp(lie, \"cells\")) {\n"
    "            sim->fraction = 1;\n"
    "            d->detail.tensor[1].n_cells = SIM_CELLS + 1;\n"
    "        } else if (!strcmp(lie, \"tensors\")) {\n"
    "            sim->fraction = 1;\n            d->detail.n_tensors = 1;\n"
    "        } else if (!strcmp(lie, \"name\")) {\n"
    "            sh->counts.available = 1;\n            sh->counts.n = 1;\n"
    "            strcpy(sh->counts.count[0].name, \"\\033[2J\");\n"
    "        } else if (!strcmp(lie, \"runs\")) {\n"
    "            sim->fraction = 1;\n            sim_blocks(sim)[0].runs = 1ll << 62;\n"
    "        } else if (!strcmp(lie, \"differs\")) {\n"
    "            sh->differs = PROTOCOL_MAX_CONTENDERS;\n"
    "        } else if (!strcmp(lie, \"differs before\")) {\n"
    "            sh->differs_after = -1;\n"
    "        } else if (!strcmp(lie, \"true\")) {\n"
    "            sim->fraction = 1;\n            sim_blocks(sim)[0].runs = 5;\n"
    "        }\n"
    "        send(RUNNER_SOCKET_FD, &r, sizeof r, 0);\n"
    "    }\n    return 0;\n}\n";

static const struct site site[] = { { 0, false, "A[i]", 1, 0 }, { 1, true, "B[i]", 1, 0 } };
static const struct trace_use use[] = { { 0, 0, 1, 0 }, { 0, 1, 1, 0 } };
static const int block_mark[] = { 0 };
static const struct trace_mark mark[] = { { 0, "I" } };
static const struct trace_table table = {
    .n_sites = 2, .site = site, .n_uses = 2, .use = use, .n_blocks = 1, .block_mark = block_mark,
    .n_marks = 1, .mark = mark,
};

static void no_terminal(const char *text, size_t n)
{
    assert_non_null(memchr(text, '\0', n));
    for (; *text; text++)
        assert_true((unsigned char)*text >= ' ' && *text != 0x7f);
}

static void touch_buffers(struct runner *c)
{
    for (int b = 0; b < 2; b++)
        for (int i = 0; i < ELEMS; i++)
            child_floats(c, b)[i] += 1;
}

static bool timed(struct runner *c, struct err *e)
{
    struct sampled what = { .contenders = 1, .steady = 1, .ceiling = true, .time_s = 0.01,
                            .min_runs = 3 };
    struct samples s;
    if (!runner_time(c, &what, &s, e))
        return false;
    assert_true(s.differs == -1 || s.differs == 0);
    assert_in_range(s.rounds, 0, PROTOCOL_MAX_SAMPLES);
    assert_in_range(s.n_blocks, 0, PROTOCOL_MAX_EPOCHS);
    for (int i = 0; i < s.n_blocks; i++)
        assert_true(s.block[i] >= 0 && s.block[i] < s.rounds);
    for (int i = 0; i < s.rounds; i++)
        assert_true(isfinite(s.sample[SERIES_KERNEL][i]) && s.sample[SERIES_KERNEL][i] >= 0);
    return true;
}

static bool counted(struct runner *c, struct err *e)
{
    static struct event event[EVENTS_MAX];
    struct counts counts;
    double seconds;
    if (!runner_count(c, METER_ID_PERF, event, 1, &counts, &seconds, e))
        return false;
    assert_in_range(counts.n, 0, COUNTS_MAX);
    assert_true(seconds >= 0);
    no_terminal(counts.reason, sizeof counts.reason);
    no_terminal(counts.source, sizeof counts.source);
    for (int i = 0; i < counts.n; i++) {
        assert_true(isfinite(counts.count[i].value));
        no_terminal(counts.count[i].name, sizeof counts.count[i].name);
    }
    return true;
}

static bool simulated(struct runner *c, struct err *e)
{
    static const unsigned long long base[] = { 0x10000000, 0x10100000 }, heat[] = { 0, 0 };
    static const int tensor[] = { 0, 1 };
    static struct sim_detail d;
    struct cache_config cache = { .n_levels = 1, .level[0].geometry = { 32 << 10, 8, 64 } };
    struct site_count count[2];
    int64_t runs[1];
    struct simulation s = { .count = count, .runs = runs };
    struct simulated what = { .cache = &cache, .base = base, .tensor = tensor, .budget = 1e9,
                              .detail = &d, .heat = heat };
    d = (struct sim_detail){ .n_tensors = 2, .n_loops = 1, .loop[0].axes = "I" };
    if (!runner_simulate(c, &what, &s, e))
        return false;
    assert_true(s.fraction >= 0 && s.fraction <= 1);
    assert_in_range(s.n_levels, 1, CACHE_LEVELS);
    assert_in_range(runs[0], 0, (int64_t)1 << 50);
    no_terminal(s.how, sizeof s.how);
    assert_true(d.n_tensors == 2 && d.n_loops == 1);
    assert_string_equal(d.loop[0].axes, "I");
    assert_in_range(d.n_set_cells, 0, SIM_CELLS);
    assert_in_range(d.n_moments, 0, SIM_CELLS);
    for (int i = 0; i < d.n_moments; i++)
        assert_int_equal(d.moment[i].loop, 0);
    for (int i = 0; i < 2; i++)
        assert_in_range(d.tensor[i].n_cells, 0, SIM_CELLS);
    return true;
}

/* Which of time, count and simulate are taken, as letters; the rest must fail as a crash. */
static void survive(const char *lie, const char *taken)
{
    static const struct runner_buffer buffer[] = {
        { "A", &type_f32, 4 * ELEMS, false }, { "B", &type_f32, 4 * ELEMS, true }
    };
    static const struct { char letter; bool (*ask)(struct runner *c, struct err *e); } part[] = {
        { 't', timed }, { 'c', counted }, { 's', simulated },
    };
    struct runner_opts o = { .path = runner, .threads = 1, .limit_s = 5, .n_buffers = 2,
                            .buffer = buffer, .n_trace_buffers = 2, .trace = &table,
                            .sim_detail = true };
    struct runner *c;
    struct err e = {0};
    double seconds;
    setenv("TS_LIE", lie, 1);
    if (!runner_open(&child_runner, &o, &c, &e))
        fail_msg("%s", e.text);
    assert_true(runner_load(c, SLOT_KERNEL, "any", "", &e));
    touch_buffers(c);
    assert_true(runner_run(c, 0, &seconds, &e));
    touch_buffers(c);
    for (int i = 0; i < COUNT_OF(part); i++) {
        bool ok = part[i].ask(c, &e), want = strchr(taken, part[i].letter) != NULL;
        touch_buffers(c);
        if (taken[0] != '?' && ok != want)
            fail_msg("%s: %c is %staken: %s", lie, part[i].letter, ok ? "" : "not ", e.text);
        if (!ok && e.code != ERR_CRASH)
            fail_msg("%s: %c: %s", lie, part[i].letter, e.text);
    }
    runner_close(c);
}

static void lies_are_survived(void **state)
{
    (void)state;
    survive("true", "tcs");
    survive("shrink", "tcs");
    survive("differs", "cs");
    survive("differs before", "cs");
    survive("nan", "");
    survive("moment", "tc");
    survive("cells", "tc");
    survive("tensors", "tc");
    survive("name", "tcs");
    survive("runs", "tc");
    survive("byte 0xff", "t");            /* no samples, and no other number that can be true */
    survive("byte 0x7f", "");
    survive("byte 0x1b", "?");
    for (int i = 0; i < 20; i++) {
        char lie[32];
        snprintf(lie, sizeof lie, "seed %d", i);
        survive(lie, "?");
    }
}

static int set_up(void **state)
{
    (void)state;
    return own_runner(liar, "", runner) ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(lies_are_survived) };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
