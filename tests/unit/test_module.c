/* Modules: the kernels, calls and lifetimes of a lowered program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/module/module.h"
#include "kernels/program/program.h"
#include "profile/measure/measure.h"
#include "tests/unit/golden.h"
#include "tests/unit/interp.h"
#include "tests/unit/kernel_run.h"
#include "tests/unit/perm.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* A convolution, then n element-wise nodes of which each reads the one before and an older one.
 * type: "", or " type=f16". */
static const struct func *chain_of(const char *type, int n, const char *const *step, int n_steps)
{
    struct str spec = {0};
    const struct program *p;
    const struct func *f = NULL;
    struct err e;
    int bad;
    str_printf(&spec, "x = input n=1 i=4 h=6 w=6%s; x0 = c2d(x) o=16 k=3", type);
    for (int i = 1; i <= n; i++) {
        if (i % 3)
            str_printf(&spec, "; x%d = relu(x%d)", i, i - 1);
        else
            str_printf(&spec, "; x%d = add(x%d, x%d)", i, i - 1, i / 2);
    }
    if (!program_replay(perm, str_text(&spec), step, n_steps, &p, &bad, &e)
        || !program_lower(p, &f, &e))
        fail_msg("%s", e.text);
    str_free(&spec);
    return f;
}

static const struct func *chain(int n, const char *const *step, int n_steps)
{
    return chain_of("", n, step, n_steps);
}

static const char *const tiled[] = {
    "loop reorder x0 N H W I KH KW O", "loop vectorize x0 O", "loop cache_write x0 at=W",
    "loop compute_at x1 x0 H", "loop prefetch x0 x at=H ahead=1",
};

static const struct func *many(void)
{
    return chain(MODULE_MOST_NESTS + 20, NULL, 0);
}

static void a_few_nests_are_one_kernel(void **state)
{
    const struct func *f = chain(MODULE_MOST_NESTS - 1, NULL, 0);
    const struct module *m = module_of(f);
    (void)state;
    assert_int_equal(f->n_roots, MODULE_MOST_NESTS);
    assert_int_equal(m->n_kernels, 1);
    assert_ptr_equal(m->kernel[0].func, f);
    assert_string_equal(m->kernel[0].name, "conv2d");
    assert_int_equal(m->n_buffers, f->n_params);
    for (int i = 0; i < m->n_buffers; i++)
        assert_true(m->call[0].buffer[i] == i && m->buffer[i].is == &f->buffer[i]);
}

/* Each kernel has the parameters that it uses, and says how it uses them. */
static void many_nests_are_a_kernel_each(void **state)
{
    const struct func *f = many();
    const struct module *m = module_of(f);
    (void)state;
    assert_int_equal(m->n_kernels, f->n_roots);
    assert_int_equal(m->n_calls, f->n_roots);
    for (int k = 0; k < m->n_kernels; k++) {
        const struct func *one = m->kernel[k].func;
        int written = 0;
        tree_verify(one);
        assert_int_equal(one->n_roots, 1);
        assert_true(one->n_params >= 2 && one->n_params <= 3);
        for (int p = 0; p < one->n_params; p++) {
            const struct buffer *b = &one->buffer[p];
            assert_string_equal(b->name, m->buffer[m->call[k].buffer[p]].is->name);
            assert_true(b->written || b->read);
            written += b->written;
        }
        assert_int_equal(written, 1);
    }
}

/* By their definition: the first and the last call that has the buffer. */
static void lifetimes_are_first_and_last_use(void **state)
{
    const struct func *f = many();
    const struct module *m = module_of(f);
    (void)state;
    for (int b = 0; b < m->n_buffers; b++) {
        enum tensor_role role = f->graph->tensor[m->buffer[b].is->tensor].role;
        int first = -1, last = -1;
        for (int i = 0; i < m->n_calls; i++)
            for (int p = 0; p < m->kernel[m->call[i].kernel].func->n_params; p++)
                if (m->call[i].buffer[p] == b) {
                    first = first < 0 ? i : first;
                    last = i;
                }
        bool given = role == TENSOR_INPUT || role == TENSOR_CONST;
        assert_int_equal(m->buffer[b].first, given ? -1 : first);
        assert_int_equal(m->buffer[b].last, role == TENSOR_OUTPUT ? m->n_calls : last);
    }
}

/* Frees them as well. */
static void assert_same_buffers(const struct func *f, void **want, void **got)
{
    for (int b = 0; b < f->n_params; b++) {
        assert_memory_equal(want[b], got[b], (size_t)buffer_bytes(&f->buffer[b]));
        free(want[b]);
        free(got[b]);
    }
}

/* The calls in order leave what the function leaves, bit by bit. */
static void calls_compute_the_function(void **state)
{
    const char *const *schedule[] = { NULL, tiled };
    (void)state;
    for (int s = 0; s < 2; s++) {
        const struct func *f = chain(MODULE_MOST_NESTS + 20, schedule[s],
                                     s ? COUNT_OF(tiled) : 0);
        const struct module *m = module_of(f);
        void **want = kernel_buffers(perm, f, 5), **got = kernel_buffers(perm, f, 5);
        void **own = ARENA_ARRAY(perm, void *, f->n_params);
        func_interpret(f, want);
        assert_true(m->n_calls > MODULE_MOST_NESTS);
        for (int i = 0; i < m->n_calls; i++) {
            const struct func *k = m->kernel[m->call[i].kernel].func;
            for (int p = 0; p < k->n_params; p++)
                own[p] = got[m->call[i].buffer[p]];
            func_interpret(k, own);
        }
        assert_same_buffers(f, want, got);
    }
}

/* Two modules in one translation unit: names that are numbered already are numbered again. */
static void their_c_is_joined(void **state)
{
    const char *cc = kernel_compiler("gcc");
    const struct gen_opts o = { .target = target_host(), .openmp = true };
    const struct func *f[] = { many(), chain(3, NULL, 0), chain(70, tiled, COUNT_OF(tiled)) };
    const char *source[COUNT_OF(f)];
    struct str text[COUNT_OF(f)] = { 0 }, all = {0};
    struct err e;
    (void)state;
    if (!cc)
        skip();
    for (int i = 0; i < COUNT_OF(f); i++) {
        assert_true(module_c(module_of(f[i]), &o, &text[i], &e));
        source[i] = str_text(&text[i]);
    }
    gen_join(source, COUNT_OF(f), 0, &all);
    for (int i = 0; i < COUNT_OF(f); i++) {
        const char *one = str_text(&all);
        char symbol[32];
        void *symbol_at = NULL;
        void **want = kernel_buffers(perm, f[i], 9), **got = kernel_buffers(perm, f[i], 9);
        void (*run)(void *const *buffers);
        snprintf(symbol, sizeof symbol, "ts_entry_%d", i);
        kernel_compile_quick(cc, o.target, &one, 1, symbol, &symbol_at);
        memcpy(&run, &symbol_at, sizeof run);
        run(got);
        func_interpret(f[i], want);
        assert_same_buffers(f[i], want, got);
        str_free(&text[i]);
    }
    str_free(&all);
}

/* Entries of kernels with narrow buffers take void pointers, and so does the entry that calls them:
 * the compiler has no warning. */
static void narrow_kernels_are_called(void **state)
{
    const char *cc = kernel_compiler("gcc");
    const struct gen_opts o = { .target = target_host(), .openmp = true };
    struct str text = {0};
    struct err e;
    void *entry = NULL;
    (void)state;
    if (!cc)
        skip();
    const struct module *m = module_of(chain_of(" type=bf16", MODULE_MOST_NESTS + 4, tiled,
                                                COUNT_OF(tiled)));
    assert_true(m->n_kernels > MODULE_MOST_NESTS && module_c(m, &o, &text, &e));
    const char *source = str_text(&text);
    kernel_compile_quick(cc, o.target, &source, 1, "ts_entry", &entry);
    assert_non_null(entry);
    str_free(&text);
}

static void they_are_printed(void **state)
{
    struct str out = {0};
    (void)state;
    module_print(module_of(chain(2, NULL, 0)), &out);
    str_add(&out, "\n");
    module_print(module_of(chain(MODULE_MOST_NESTS + 4, tiled, COUNT_OF(tiled))), &out);
    golden_check("tests/golden/module.txt", str_text(&out));
    str_free(&out);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_few_nests_are_one_kernel),
        cmocka_unit_test(many_nests_are_a_kernel_each),
        cmocka_unit_test(lifetimes_are_first_and_last_use),
        cmocka_unit_test(calls_compute_the_function),
        cmocka_unit_test(their_c_is_joined),
        cmocka_unit_test(narrow_kernels_are_called),
        cmocka_unit_test(they_are_printed),
    };
    return cmocka_run_group_tests(tests, perm_setup, perm_teardown);
}
