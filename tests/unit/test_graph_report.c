/* What is reported of graphs and of the kernels of networks. */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sessions/report/graph_report.h"
#include "sessions/report/network_kernel.h"
#include "sessions/report/network_report.h"
#include "tests/unit/json_help.h"
#include "tests/unit/perm.h"
#include "tests/unit/programs.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static const struct graph_row *row_of(const struct graph_rows *all, const struct program *p,
                                      const char *tensor)
{
    for (int i = 0; i < all->n; i++)
        if (streq(p->graph->tensor[all->row[i].tensor].name, tensor))
            return &all->row[i];
    fail_msg("no row %s", tensor);
    return NULL;
}

/* A nest moves what it reads from outside and what is read after it: x, weights and a of the
 * first, a, weights and b of the second. */
static void nests_move_bytes(void **state)
{
    static const char spec[] = "x = input m=8 k=4; a = gmm(x) n=6; b = gmm(a) n=10";
    const struct program *p = program_bare(perm, spec);
    struct graph_rows all = graph_rows(perm, p, NULL, NULL, NULL);
    const struct graph_row *x = row_of(&all, p, "x"), *a = row_of(&all, p, "a");
    const struct graph_row *b = row_of(&all, p, "b");
    struct measurement m = { .latency = { .runs = 3, .min_ms = 0.5 } };
    struct str out = {0};
    (void)state;
    assert_true(x->node == -1 && x->nest == -1 && x->bytes == 4 * 8 * 4 && x->flops == 0);
    assert_true(a->nest == a->node && a->bytes == 4 * 8 * 6 && a->flops == 2 * 8 * 4 * 6);
    assert_true(a->moved == 4 * (8 * 4 + 4 * 6 + 8 * 6));
    assert_true(b->nest == b->node && b->bytes == 4 * 8 * 10 && b->flops == 2 * 8 * 6 * 10);
    assert_true(b->moved == 4 * (8 * 6 + 6 * 10 + 8 * 10));
    assert_true(a->change == GRAPH_SAME && all.bound_s == 0);
    graph_report_json(&out, p, &all, &m);
    json_t *root = json_must_load(&out), *list = json_object_get(root, "tensors");
    assert_json(json_object_get(root, "latency_ms"), "0.5");
    assert_json(json_object_get(root, "bound_ms"), "null");
    assert_int_equal(json_array_size(list), p->graph->n_tensors);
    json_t *last = json_array_get(list, (size_t)all.n - 1);       /* b, the last node */
    assert_json(json_object_get(last, "tensor"), "\"b\"");
    assert_json(json_object_get(last, "role"), "\"output\"");
    assert_json(json_object_get(last, "nest"), "\"b\"");
    assert_json(json_object_get(last, "flops"), "960");
    assert_json(json_object_get(last, "moved_bytes"), "752");
    assert_json(json_object_get(last, "bytes"), "320");
    assert_json(json_object_get(last, "share"), "null");
    assert_json(json_object_get(last, "changed"), "null");
    assert_json(json_object_get(last, "layout_from"), "null");
    assert_int_equal(json_array_size(json_object_get(last, "reads")), 2);
    json_decref(root);
}

static void kernels_in_brief(void **state)
{
    static const struct { const char *spec; bool conversion; const char *brief; } row[] = {
        { "gmm m=8 k=8 n=4", false, "gmm m=8 k=8 n=4" },
        { "x = input n=1 i=4 h=6 w=6; y = c2d(x) o=8 k=3", false, "c2d 4x6x6 o=8 k=3" },
        { "x = input n=2 i=1 h=6 w=6; y = c2d(x) o=8 k=3", false, "c2d 2x1x6x6 o=8 k=3" },
        { "x = input m=1 k=1; y = relu(x)", false, "relu 1" },
        { "x = input m=2 k=3; y = relu(x)", true, "conversion 2x3" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct network_task t = { .spec = row[i].spec, .conversion = row[i].conversion,
                                  .program = program_bare(perm, row[i].spec) };
        struct str out = {0};
        network_report_brief(&out, &t);
        assert_string_equal(str_text(&out), row[i].brief);
        str_free(&out);
    }
}

/* By number or text; a text that two kernels have names none of them. */
static void kernels_have_names(void **state)
{
    static const struct { const char *name; int task; const char *text, *fix; } row[] = {
        { "0", 0, "", "" }, { "3", 3, "", "" }, { "gmm m=8 k=8 n=4", 3, "", "" },
        { "relu 2x3", 2, "", "" },
        { "gmm m=8 k=8 n=8", -1, "kernels 0 and 1 of the network are both called gmm m=8 k=8 n=8",
          "give the number" },
        { "4", -1, "the network has kernels 0 to 3, and none is called 4",
          "tilescope show NETWORK --what network lists them" },
        { "-1", -1, "the network has kernels 0 to 3, and none is called -1",
          "tilescope show NETWORK --what network lists them" },
    };
    static const char *const spec[] = { "gmm m=8 k=8 n=8", "gmm m=8 k=8 n=8",
                                        "x = input m=2 k=3; y = relu(x)", "gmm m=8 k=8 n=4" };
    static const struct module no_calls;
    struct network_task task[COUNT_OF(spec)];
    struct network net = { .n_tasks = COUNT_OF(spec), .task = task, .module = &no_calls };
    (void)state;
    for (int i = 0; i < COUNT_OF(spec); i++)
        task[i] = (struct network_task){ .spec = spec[i], .program = program_bare(perm, spec[i]) };
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct err e = {0};
        int at = 99;
        assert_int_equal(network_kernel_find(&net, row[i].name, &at, &e), row[i].task >= 0);
        assert_int_equal(at, row[i].task);
        assert_string_equal(e.text, row[i].text);
        assert_string_equal(e.fix, row[i].fix);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nests_move_bytes), cmocka_unit_test(kernels_in_brief),
        cmocka_unit_test(kernels_have_names),
    };
    return cmocka_run_group_tests(tests, perm_setup, perm_teardown);
}
