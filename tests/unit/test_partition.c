/* Steps that cut and join kernels of a network, with the whole message of what is refused; the most
 * statements of a kernel; memory plans worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/module/module.h"
#include "kernels/module/network.h"
#include "kernels/module/partition.h"
#include "tests/unit/networks.h"
#include "tests/unit/perm.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define MOST_STEPS 5
#define BLOCK "x = input n=1 i=4 h=6 w=6; a = c2d(x) o=4 k=3 p=1 bias=1; r = relu(a); " \
              "b = c2d(r) o=4 k=1; s = add(b, x); t = exp(s)"
#define FORK  "x = input a=4 b=6; r = softmax(x) axis=1; p = exp(r); q = tanh(r); s = add(p, q)"
#define TENSORS \
    "to see the tensors, press Tab in the command line of the list of kernels, or run tilescope " \
    "show --what simplified"
#define FORM "a step of a network is: module cut TENSOR, or: module join TENSOR TENSOR"

static const struct { const char *text, *step[MOST_STEPS], *says, *fix; } refused[] = {
    { BLOCK, { "module cut t" }, "module cut t: t is the result of a kernel already", "" },
    { BLOCK, { "module cut x" }, "module cut x: no kernel computes x", "" },
    { BLOCK, { "module cut nobody" }, "module cut nobody: the network has no tensor nobody",
      TENSORS },
    { BLOCK, { "module join r nobody" },
      "module join r nobody: the network has no tensor nobody", TENSORS },
    { BLOCK, { "module join x r" }, "module join x r: no kernel computes x", "" },
    { BLOCK, { "module join b r" },
      "module join b r: the kernel of r does not read t, which the other kernel computes",
      "join a kernel with one that reads its result, the reader last" },
    { BLOCK, { "module join b s" },
      "module join b s: the two tensors are already computed by one kernel", "" },
    { FORK, { "module join r p" },
      "module join r p: r has to be stored, because q reads it as well",
      "only a tensor that one kernel reads can stay inside" },
    { "x = input a=4 b=6; y = softmax(x) axis=1; z = softmax(y) axis=0; output y, z",
      { "module join y z" },
      "module join y z: y is an output of the network, so a kernel ends there", "" },
    { "x = input a=4 b=6; c = const a=4 b=6; y = exp(c); z = add(x, y)", { "module join y z" },
      "module join y z: y depends on constants only, so its kernel runs once; joined to a kernel of"
      " every run, it would run each time", "" },
    { FORK, { "module join p s", "module join r s", "module cut p" },
      "module cut p: p cannot be cut: another tensor still connects the operators before and after"
      " it", "" },
    { BLOCK, { "module join r" }, "module join r: " FORM, TENSORS },
    { BLOCK, { "module join r b s" }, "module join r b s: " FORM, TENSORS },
    { BLOCK, { "module cut a b" }, "module cut a b: " FORM, TENSORS },
    { BLOCK, { "module" }, "module: " FORM, TENSORS },
    { BLOCK, { "loop cut a" }, "loop cut a: " FORM,
      "apply other steps (layout, loop, ...) to a kernel, not to the network" },
};

static void refusals_name_the_step(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(refused); i++) {
        struct partition p;
        struct err e = {0};
        int n = 0;
        while (n < MOST_STEPS && refused[i].step[n])
            n++;
        const struct graph *g = graph_must(perm, refused[i].text);
        if (!partition(perm, g, n - 1, refused[i].step, &p, &e))
            fail_msg("row %d: %s", i, e.text);
        assert_false(partition(perm, g, n, refused[i].step, &p, &e));
        if (!streq(e.text, refused[i].says) || !streq(e.fix, refused[i].fix))
            fail_msg("row %d: %s; fix: %s", i, e.text, e.fix);
    }
}

/* The results of the kernels, and how many statements they have. */
static void assert_kernels(const struct graph *g, int n, const char *const *step, const char *want)
{
    struct partition p;
    struct str got = {0};
    struct err e = {0};
    if (!partition(perm, g, n, step, &p, &e))
        fail_msg("%s", e.text);
    for (int i = 0; i < p.n; i++)
        str_printf(&got, "%s%s:%d", i ? " " : "", g->tensor[p.part[i].out].name,
                   p.part[i].n_inner + 1);
    assert_string_equal(str_text(&got), want);
    assert_int_equal(p.n_steps, n);
    str_free(&got);
}

static const struct graph *chain(const char *op, int n)
{
    struct str text = {0};
    str_add(&text, "x = input a=4 b=6; y0 = softmax(x) axis=1");
    for (int i = 1; i < n; i++)
        str_printf(&text, "; y%d = %s(y%d)%s", i, op, i - 1,
                   streq(op, "softmax") ? " axis=1" : "");
    const struct graph *g = graph_must(perm, str_text(&text));
    str_free(&text);
    return g;
}

/* By the rule, a kernel has at most 9 statements; by steps, 48. */
static void kernels_have_a_most(void **state)
{
    const char *step[48];
    struct partition p;
    struct err e = {0};
    (void)state;
    assert_kernels(chain("tanh", 9), 0, NULL, "y8:9");
    assert_kernels(chain("tanh", 10), 0, NULL, "y8:9 y9:1");
    for (int i = 0; i < 48; i++)
        step[i] = arena_printf(perm, "module join y%d y%d", i, i + 1);
    assert_kernels(chain("softmax", 48), 47, step, "y47:48");
    assert_false(partition(perm, chain("softmax", 49), 48, step, &p, &e));
    assert_string_equal(e.text, "module join y47 y48: the kernel would have more than 48 "
                                "statements");
}

static void parts_know_their_statements(void **state)
{
    static const char *const step[] = { "module cut s" };
    const struct graph *g = graph_must(perm, BLOCK);
    struct partition p;
    struct err e = {0};
    (void)state;
    assert_kernels(g, 0, NULL, "r:2 t:3");
    assert_kernels(g, 1, step, "r:2 s:2 t:1");
    assert_true(partition(perm, g, 0, NULL, &p, &e));
    const struct net_part *t = &p.part[1];
    assert_true(t->first == 2 && t->last == 4);
    assert_string_equal(g->tensor[t->inner[0]].name, "b");
    assert_string_equal(g->tensor[t->inner[1]].name, "s");
    assert_true(p.part[0].first == 0 && p.part[0].last == 1);
}

/* Kernels that run in every call: neither views nor what is computed from constants once. */
static void kernels_of_every_run_are_counted(void **state)
{
    static const struct { const char *text; int n; } t[] = {
        { BLOCK, 2 }, { FORK, 3 },
        { "x = input a=4 b=6; y = reshape(x) shape=2,12; w = const d0=2 d1=12; v = exp(w); "
          "z = add(y, v)", 1 },
    };
    static const char *const bad[] = { "module cut t" };
    struct err e = {0};
    (void)state;
    for (int i = 0; i < COUNT_OF(t); i++)
        assert_int_equal(partition_count(graph_must(perm, t[i].text)), t[i].n);
    assert_true(partition_check(graph_must(perm, FORK), 0, NULL, &e));
    assert_false(partition_check(graph_must(perm, BLOCK), 1, bad, &e));
}

/* --- Memory ----------------------------------------------------------------------------------- */

struct life { int elems, first, last; int64_t at; };

/* Plans a module of n_calls calls that has n buffers of f32. */
static const struct module_plan *plan(const struct life *life, int n, int n_calls,
                                      struct module *m)
{
    static struct buffer is[8];
    static struct module_buffer buffer[8];
    for (int i = 0; i < n; i++) {
        static const char *const name[] = { "A", "B", "C", "D", "E", "F", "G", "H" };
        is[i] = (struct buffer){ .name = name[i], .type = &type_f32, .elems = life[i].elems };
        buffer[i] = (struct module_buffer){ &is[i], life[i].first, life[i].last };
    }
    *m = (struct module){ .n_buffers = n, .buffer = buffer, .n_calls = n_calls };
    return module_plan(perm, m);
}

/* In multiples of 64 bytes.  The largest buffer comes first: C at 0, then A, which no call has
 * together with C.  B lives with both, so it lies behind C. */
static void plans_are_worked_out(void **state)
{
    static const struct life three[] = {
        { 25, 0, 1, 0 }, { 15, 1, 2, 256 }, { 50, 2, 3, 0 }, { 99, -1, 2, -1 }, { 99, 1, 4, -1 },
    };
    static const struct life equal[] = {          /* of equal size: in order */
        { 16, 0, 3, 0 }, { 16, 0, 0, 64 }, { 16, 1, 1, 64 }, { 1, 1, 3, 128 },
    };
    /* D fits between A and C when B is dead */
    static const struct life between[] = {
        { 64, 0, 3, 0 }, { 48, 0, 1, 256 }, { 32, 0, 3, 448 }, { 17, 2, 3, 256 },
    };
    struct module m;
    (void)state;
    const struct { const struct life *life; int n; int64_t bytes, apart, least; } t[] = {
        { three, 5, 320, 448, 320 },              /* call 2: 64 + 256 */
        { equal, 4, 192, 256, 192 },              /* call 1: A, C and D */
        { between, 4, 576, 704, 576 },            /* call 0: 256 + 192 + 128 */
    };
    for (int i = 0; i < COUNT_OF(t); i++) {
        const struct module_plan *p = plan(t[i].life, t[i].n, 4, &m);
        for (int b = 0; b < t[i].n; b++)
            if (p->at[b] != t[i].life[b].at)
                fail_msg("row %d: %s is at %lld", i, m.buffer[b].is->name, (long long)p->at[b]);
        assert_int_equal(p->bytes, t[i].bytes);
        assert_int_equal(p->apart, t[i].apart);
        assert_int_equal(p->least, t[i].least);
    }
}

static void plans_are_printed(void **state)
{
    static const struct life life[] = { { 25, -1, 0, -1 }, { 16, 0, 1, 0 }, { 3, 1, 2, -1 } };
    static const char want[] =
        "1 kernel, 2 calls, 3 buffers\n\n    0  k()\n    1  k()\n\n"
        "memory of intermediates: 64 bytes in one block, 64 without sharing, 64 at least\n\n"
        "buffer                        bytes  alive\n"
        "A                               100  caller .. 0\n"
        "B                                64  0 .. 1\n"
        "C                                12  1 .. caller\n";
    const struct func none = { .n_params = 0 };
    const struct module_kernel kernel = { "k", &none };
    const struct module_call call[] = { { 0, NULL }, { 0, NULL } };
    struct module m;
    struct str out = {0};
    (void)state;
    const struct module_plan *p = plan(life, 3, 2, &m);
    m.plan = p;
    m.n_kernels = 1;
    m.kernel = &kernel;
    m.call = call;
    module_print(&m, &out);
    assert_string_equal(str_text(&out), want);
    str_free(&out);
}

/* --- Networks --------------------------------------------------------------------------------- */

/* Turns the result of the softmax over axis 1; a conversion keeps what is given. */
static bool turn(void *ctx, struct arena *a, const char *spec, int n_given,
                 const char *const *given, int *n, const char *const **line, struct err *e)
{
    static const char *const turned[] = { "layout reorder Softmax D1 D0" };
    bool first = strstr(spec, "axis=1") != NULL, conversion = strstr(spec, "identity") != NULL;
    (void)ctx;
    (void)a;
    (void)e;
    *n = first ? 1 : conversion ? n_given : 0;
    *line = first ? turned : given;
    return true;
}

static void conversions_are_added_and_printed(void **state)
{
    static const char want[] =
        "kernel 0, 1 call\n    X = input d0=4 d1=6; Softmax = softmax(X) axis=1\n"
        "    - layout reorder Softmax D1 D0\n"
        "kernel 1, 2 calls\n    X = input d0=4 d1=6; Softmax = softmax(X) axis=0\n"
        "kernel 2, 1 call, conversion\n    X = input d0=4 d1=6; Identity = identity(X)\n"
        "    - set input_layout given\n    - set propagate off\n    - layout reorder X D1 D0\n\n"
        "3 kernels, 4 calls, ";
    const struct graph *g = graph_must(perm, "x = input a=4 b=6; y = softmax(x) axis=1; "
                                             "z = softmax(y) axis=0; w = softmax(z) axis=0");
    const struct network *net;
    struct str out = {0};
    struct err e = {0};
    (void)state;
    if (!network_build(perm, g, 0, NULL, turn, NULL, &net, &e))
        fail_msg("%s", e.text);
    assert_int_equal(net->n_conversions, 1);
    assert_int_equal(net->conversion_bytes, 2 * 4 * 6 * 4);  /* read and written, of f32 */
    network_print(net, &out);
    if (strncmp(str_text(&out), want, strlen(want)) != 0)
        fail_msg("%s", str_text(&out));
    static const int task[] = { 0, 2, 1, 1 }, part[] = { 0, -1, 1, 2 };
    for (int i = 0; i < 4; i++)
        assert_true(net->call[i].task == task[i] && net->call[i].part == part[i]);
    str_free(&out);
}

static void outputs_depend_on_inputs(void **state)
{
    const struct network *net;
    struct err e = {0};
    (void)state;
    assert_false(network_build(perm, graph_must(perm, "c = const a=4 b=6; y = softmax(c) axis=1; "
                                                      "x = input a=4 b=6; z = exp(x); output z, y"),
                               0, NULL, turn, NULL, &net, &e));
    assert_string_equal(e.text, "output y depends on no input");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals_name_the_step),
        cmocka_unit_test(kernels_have_a_most),
        cmocka_unit_test(parts_know_their_statements),
        cmocka_unit_test(kernels_of_every_run_are_counted),
        cmocka_unit_test(plans_are_worked_out),
        cmocka_unit_test(plans_are_printed),
        cmocka_unit_test(conversions_are_added_and_printed),
        cmocka_unit_test(outputs_depend_on_inputs),
    };
    return cmocka_run_group_tests(tests, perm_setup, perm_teardown);
}
