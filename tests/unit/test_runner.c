/* A runner is a struct: here one that calls kernels in this process, without limits. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profile/child/child.h"
#include "profile/measure/measure.h"
#include "tests/unit/fork_child.h"
#include "tests/unit/golden.h"
#include "tests/unit/run_program.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

struct here {
    struct runner base;
    int n_buffers, first[PROTOCOL_MAX_CONTENDERS];
    int64_t bytes;
    void **data;
    void *handle[PROTOCOL_MAX_CONTENDERS];
    kernel_fn *entry[PROTOCOL_MAX_CONTENDERS];
    double *sample[PROTOCOL_MAX_CONTENDERS];
};

static int opened, closed;
static int unloadable = -1;               /* the next load into this slot fails */

static bool here_open(const struct runner_opts *o, struct runner **out, struct err *e);

static void here_close(struct runner *r)
{
    struct here *h = (struct here *)r;
    closed++;
    for (int i = 0; i < h->n_buffers; i++)
        free(h->data[i]);
    for (int i = 0; i < PROTOCOL_MAX_CONTENDERS; i++) {
        free(h->sample[i]);
        if (h->handle[i])
            dlclose(h->handle[i]);
    }
    free(h->data);
    free(h);
}

static int64_t here_bytes(const struct runner *r)
{
    return ((const struct here *)r)->bytes;
}

static void *here_data(struct runner *r, int buffer)
{
    return ((struct here *)r)->data[buffer];
}

static bool here_load(struct runner *r, enum slot slot, const char *so_path, const char *entry,
                      struct err *e)
{
    struct here *h = (struct here *)r;
    assert_true(slot < SLOT_TRACE);
    if ((int)slot == unloadable) {
        unloadable = -1;
        return err_set(e, ERR_COMPILE, "the compiled kernel cannot be loaded");
    }
    h->handle[slot] = dlopen(so_path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = h->handle[slot] ? dlsym(h->handle[slot], *entry ? entry : "ts_entry") : NULL;
    memcpy(&h->entry[slot], &symbol, sizeof symbol);
    return symbol || err_set(e, ERR_COMPILE, "%s", dlerror());
}

static void *const *buffers_of(const struct here *h, int contender)
{
    return h->data + h->first[contender];
}

static bool here_run(struct runner *r, int contender, double *seconds, struct err *e)
{
    struct here *h = (struct here *)r;
    double start = clock_s();
    (void)e;
    h->entry[contender](buffers_of(h, contender));
    *seconds = clock_s() - start;
    return true;
}

static bool here_time(struct runner *r, const struct sampled *what, struct samples *out,
                      struct err *e)
{
    struct here *h = (struct here *)r;
    *out = (struct samples){ .rounds = what->min_runs, .n_blocks = 1, .differs = -1 };
    assert_false(what->ceiling);
    for (int i = 0; i < PROTOCOL_MAX_CONTENDERS; i++) {
        if (!(what->contenders >> i & 1))
            continue;
        h->sample[i] = xrealloc(h->sample[i], sizeof(double) * (size_t)out->rounds);
        for (int k = 0; k < out->rounds; k++)
            if (!here_run(r, i, &h->sample[i][k], e))
                return false;
        out->sample[i] = h->sample[i];
        out->of[i] = stats_summary(h->sample[i], out->rounds);
    }
    return true;
}

static const struct runner_kind here_runner = {
    .name = "here", .open = here_open, .close = here_close, .bytes = here_bytes,
    .data = here_data, .load = here_load, .run = here_run, .time = here_time,
};

static bool here_open(const struct runner_opts *o, struct runner **out, struct err *e)
{
    struct here *h = xcalloc(1, sizeof *h);
    (void)e;
    opened++;
    h->base.kind = &here_runner;
    h->n_buffers = o->n_buffers;
    for (int i = 0; i < o->n_contenders; i++)
        h->first[i] = o->first[i];
    h->data = xcalloc((size_t)o->n_buffers + 1, sizeof *h->data);
    for (int i = 0; i < o->n_buffers; i++) {
        h->bytes += o->buffer[i].bytes;
        h->data[i] = aligned_alloc(64, ((size_t)o->buffer[i].bytes + 63) / 64 * 64);
    }
    *out = &h->base;
    return true;
}

static struct measurement measured(const char *spec, unsigned meters, const struct machine *on)
{
    struct measure_opts o = { .meters = meters, .seed = 3, .min_runs = 7, .machine = on,
                              .runner = &here_runner };
    struct arena *a = arena_new();
    const struct program *p;
    struct measurement m = {0};
    struct err e = {0};
    int bad;
    opened = closed = 0;
    if (!program_replay(a, spec, NULL, 0, &p, &bad, &e)
        || !measure_program(p, &o, NULL, NULL, &m, &e))
        fail_msg("%s", e.text);
    assert_int_equal(opened, 1);
    assert_int_equal(closed, 1);
    arena_free(a);
    return m;
}

/* The same build, check and measurement as in a child; what it cannot do has a reason. */
static void kernels_run_in_this_process(void **state)
{
    (void)state;
    struct measurement m = measured("gmm m=12 k=20 n=16", METER_CLOCK | METER_SIM, NULL);
    assert_true(m.verified);
    assert_int_equal(m.latency.runs, 7);
    assert_true(m.latency.min_ms > 0 && m.gflops > 0);
    assert_true(m.peak_gflops == 0 && m.peak_reason[0]);
    assert_false(m.sim.available);
    assert_non_null(strstr(m.sim.reason, "the runner \"here\" cannot simulate"));
}

/* A program that cannot be loaded is a result, and the others are compared without it. */
static void one_that_does_not_load_does_not_end_a_comparison(void **state)
{
    struct measure_opts o = { .seed = 3, .min_runs = 7, .runner = &here_runner };
    struct arena *a = arena_new();
    const struct program *p[3];
    static struct compared out[3];
    struct comparison how;
    struct err e = {0};
    int bad;
    (void)state;
    for (int i = 0; i < COUNT_OF(p); i++)
        assert_true(program_replay(a, "gmm m=12 k=20 n=16", NULL, 0, &p[i], &bad, &e));
    unloadable = SLOT_KERNEL + 1;
    opened = closed = 0;
    if (!measure_compare(p, COUNT_OF(p), &o, NULL, NULL, out, &how, &e))
        fail_msg("%s", e.text);
    assert_true(opened == 2 && closed == 2);
    assert_int_equal(out[1].m.outcome, OUTCOME_COMPILE);
    assert_non_null(strstr(out[1].m.reason, "cannot be loaded"));
    assert_int_equal(out[1].m.latency.runs, 0);
    for (int i = 0; i < COUNT_OF(p); i += 2)
        assert_true(out[i].m.outcome == OUTCOME_OK && out[i].m.latency.runs == 7);
    arena_free(a);
}

/* The machine is an argument: caches and the default target are those of the one that is given. */
static void the_machine_is_told(void **state)
{
    struct machine other = { .cpu = "Other", .isa = "plain", .cores = 3,
                             .l1d = { 8 << 10, 2, 64 } };
    (void)state;
    struct measurement m = measured("c2d n=1 i=4 h=6 w=6 o=4 k=3", METER_CLOCK, &other);
    assert_true(m.verified);
    assert_string_equal(m.isa, "plain");
    assert_int_equal(m.sim.cache.level[0].geometry.size_bytes, 8 << 10);
    m = measured("c2d n=1 i=4 h=6 w=6 o=4 k=3", METER_CLOCK, NULL);
    assert_string_equal(m.isa, target_host()->isa);
}

/* Who changes these changes PROTOCOL_VERSION as well. */
static void messages_have_a_version(void **state)
{
    struct str text = {0};
    (void)state;
    str_printf(&text, "version %u\n", PROTOCOL_VERSION);
#define SIZE(type) str_printf(&text, "%-22s %7zu bytes\n", #type, sizeof(struct type))
#define AT(type, field) \
    str_printf(&text, "    %-18s at %5zu\n", #field, offsetof(struct type, field))
    SIZE(request);
    AT(request, version); AT(request, command); AT(request, path); AT(request, problem);
    AT(request, contenders); AT(request, time_s); AT(request, walk_bytes); AT(request, event);
    SIZE(reply);
    AT(reply, version); AT(reply, ok); AT(reply, text); AT(reply, seconds);
    SIZE(ceiling_ask);
    SIZE(shared);
    AT(shared, magic); AT(shared, version); AT(shared, buffer_at); AT(shared, contender);
    AT(shared, fault); AT(shared, n_samples); AT(shared, sample); AT(shared, differs);
    AT(shared, counts);
    SIZE(shared_buffer);
    SIZE(shared_sim);
    AT(shared_sim, budget); AT(shared_sim, site_at); AT(shared_sim, level); AT(shared_sim, how);
    SIZE(shared_site);
    SIZE(shared_block);
    SIZE(shared_mark);
    SIZE(shared_detail);
    golden_check("tests/golden/protocol.txt", str_text(&text));
    str_free(&text);
}

/* Starts the runner on a memory file of the next version.  Returns what it printed. */
static void run_of_the_next_version(char *out, size_t n)
{
    char path[600];
    struct err e;
    int error[2], memory = memfd_create("next", 0), status;
    struct shared sh = { .magic = PROTOCOL_MAGIC, .version = PROTOCOL_VERSION + 1,
                         .file_bytes = sizeof sh };
    assert_true(child_find_runner(NULL, path, sizeof path, &e));
    assert_int_equal(write(memory, &sh, sizeof sh), sizeof sh);
    assert_int_equal(pipe(error), 0);
    pid_t child = fork_child();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(memory, 64);
        dup2(error[1], STDERR_FILENO);
        dup2(64, RUNNER_MEMORY_FD);
        execl(path, path, (char *)NULL);
        _exit(99);
    }
    close(error[1]);
    ssize_t got = read(error[0], out, n - 1);
    out[got > 0 ? got : 0] = '\0';
    close(error[0]);
    close(memory);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 2);
}

static void another_version_is_refused(void **state)
{
    char said[200];
    (void)state;
    run_of_the_next_version(said, sizeof said);
    assert_string_equal(said, "tilescope-runner and tilescope are of different versions\n");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_run_in_this_process),
        cmocka_unit_test(one_that_does_not_load_does_not_end_a_comparison),
        cmocka_unit_test(the_machine_is_told),
        cmocka_unit_test(messages_have_a_version),
        cmocka_unit_test(another_version_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
