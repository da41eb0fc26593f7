/* The simulated memory of kernels with tensor blocks, against the accesses that every lane of every
 * warp makes in their CUDA C: fragments by ldmatrix, by pairs and by single elements, tiles, and
 * the stores of the results. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/gen/gen.h"
#include "sessions/file/expert_file.h"
#include "tests/unit/gpu_count.h"
#include "tests/unit/programs.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* Products of mb x nb blocks of mw x nw warps that compute mt x nt tensor blocks each, with sums of
 * 16 * ko * ki elements.  a, b: where the tiles of the operands are, and how; "": none.  says: what
 * the text has. */
static const struct product_row {
    const char *type, *lay_a, *lay_b;
    int mb, nb, mw, nw, mt, nt, ko, ki;
    const char *a, *b, *swizzle, *says[2];
} product[] = {
    { "f16", "M K", "K N", 2, 2, 2, 2, 2, 2, 1, 2, "K.0 scope=shared pad=8",
      "K.0 scope=shared pad=8", "", { "fragment_rows(a0", "fragment_columns(b0" } },
    { "bf16", "M K", "N K", 1, 2, 2, 1, 1, 2, 2, 1, "K.0 scope=shared", "K.0 scope=shared", "",
      { "fragment_rows(a0", "fragment_rows(b0" } },
    { "f16", "K M", "K N", 2, 1, 1, 3, 2, 1, 2, 2, "K.0 scope=shared", "K.1 scope=shared pad=8", "",
      { "fragment_columns(a0", "fragment_columns(b0" } },
    { "f16", "M K", "K N", 1, 2, 1, 2, 1, 1, 3, 1, "", "", "",
      { "fragment_pair(&A[", "fragment_both(B[" } },
    { "bf16", "K M", "N K", 2, 1, 2, 1, 1, 2, 2, 1, "", "", "",
      { "fragment_both(A[", "fragment_pair(&B[" } },
    { "f16", "M K", "K N", 1, 1, 2, 2, 1, 1, 2, 2, "N.1 scope=shared pad=2",
      "K.0 scope=shared pad=1", "", { "fragment_pair(&A_tile[", "fragment_both(B_tile[" } },
    { "bf16", "M K", "K N", 2, 1, 1, 1, 2, 2, 2, 2, "K.0 scope=shared", "K.0 scope=shared",
      "loop swizzle C A by=8; loop swizzle C B by=8",
      { "fragment_rows(a0", "fragment_columns(b0" } },
    { "f16", "M K", "N K", 1, 1, 1, 2, 2, 1, 1, 4, "K.0 scope=shared", "K.0 scope=shared",
      "loop swizzle C A by=2; loop swizzle C B by=4",
      { "fragment_pair(&A_tile[", "fragment_pair(&B_tile[" } },
    { "f16", "M K", "K N", 1, 2, 2, 2, 2, 1, 3, 2, "K.0 scope=shared pad=8",
      "K.0 scope=shared pad=8", "loop pipeline C K.0 stages=3",
      { "copy_async16(&A_tile[", "copy_async16(&B_tile[" } },
};

/* Applies the steps of a list with ';' between. */
static const struct program *with_steps(const struct program *p, const char *list)
{
    char text[200], *rest = NULL;
    struct err e;
    snprintf(text, sizeof text, "%s", list);
    for (char *l = strtok_r(text, ";", &rest); l; l = strtok_r(NULL, ";", &rest))
        if (!program_apply_line(p, l + strspn(l, " "), &p, &e))
            fail_msg("%s: %s", l, e.text);
    return p;
}

static const struct program *product_program(struct arena *a, const struct product_row *r)
{
    const char *spec = arena_printf(a, "gmm m=%d k=%d n=%d type=%s", 16 * r->mb * r->mw * r->mt,
                                    16 * r->ko * r->ki, 16 * r->nb * r->nw * r->nt, r->type);
    const char *const line[] = {
        "set input_layout given", arena_printf(a, "layout set A \"%s\"", r->lay_a),
        arena_printf(a, "layout set B \"%s\"", r->lay_b),
        arena_printf(a, "loop split C M %d %d %d 16", r->mb, r->mw, r->mt),
        arena_printf(a, "loop split C N %d %d %d 16", r->nb, r->nw, r->nt),
        arena_printf(a, "loop split C K %d %d 16", r->ko, r->ki),
        "loop reorder C M.0 N.0 M.1 N.1 K.0 K.1 M.2 N.2 M.3 N.3 K.2",
        "loop bind C M.0 block.y", "loop bind C N.0 block.x", "loop bind C M.1 thread.z",
        "loop bind C N.1 thread.y", "loop unroll C M.2", "loop unroll C N.2",
    };
    const struct program *p = program_with(a, spec, line, COUNT_OF(line));
    if (r->a[0])
        p = with_steps(p, arena_printf(a, "loop cache_read C A at=%s", r->a));
    if (r->b[0])
        p = with_steps(p, arena_printf(a, "loop cache_read C B at=%s", r->b));
    return with_steps(with_steps(p, "loop tensorize C M.3 N.3 K.2"), r->swizzle);
}

/* The fragments of the kernel are loaded as the row of the table means. */
static void assert_says(const struct gpu_unit *u, const char *const says[2])
{
    const struct gen_opts o = { .target = target_named("cuda") };
    struct str text = {0};
    struct err e;
    assert_true(gen_cuda(u->f, &o, &text, NULL, &e));
    for (int i = 0; i < 2; i++)
        if (!strstr(str_text(&text), says[i]))
            fail_msg("%s: no %s in the text", u->what, says[i]);
    str_free(&text);
}

static void products_are_counted(void **state)
{
    struct arena *a = arena_new();
    struct gpu_unit u[COUNT_OF(product)];
    (void)state;
    for (int i = 0; i < COUNT_OF(u); i++) {
        gpu_unit(&u[i], product_program(a, &product[i]));
        assert_says(&u[i], product[i].says);
    }
    gpu_check_units(u, COUNT_OF(u));
    arena_free(a);
}

/* Convolutions without shared tiles: 16 pixels of a row, or of two, by 16 channels. */
static const char *const direct[] = {
    "set input_layout given", "layout set Inp \"N H W I\"", "layout set Ker \"KH KW I O\"",
    "layout set Conv \"N H W O\"", "loop split Conv H 2", "loop split Conv W 8",
    "loop split Conv O 2 16", "loop split Conv I 0 16",
    "loop reorder Conv N H.0 W.0 O.0 I.0 KH KW H.1 W.1 O.1 I.1", "loop fuse Conv H.1 W.1",
    "loop bind Conv N block.z", "loop bind Conv H.0 block.y", "loop bind Conv W.0 block.x",
    "loop bind Conv O.0 thread.y",
    "loop tensorize Conv H.1_W.1 O.1 I.1",
};

/* more: steps after those of `direct`, or NULL for the schedule of an expert. */
static const struct { const char *spec, *more; } convolution[] = {
    { "c2d n=1 i=16 h=4 w=8 o=32 k=1 type=f16", "" },
    { "c2d n=1 i=32 h=6 w=18 o=32 k=3 type=bf16", "" },
    { "c2d n=1 i=16 h=9 w=17 o=32 k=3 s=2 type=f16", "" },
    { "c2d n=1 i=32 h=6 w=18 o=32 k=3 type=bf16",
      "loop cache_read Conv Ker at=I.0 scope=shared pad=8" },
    { "c2d n=1 i=16 h=6 w=18 o=32 k=3 type=f16",
      "loop cache_read Conv Inp at=I.0 scope=shared pad=8;"
      "loop cache_read Conv Ker at=KH scope=shared; loop swizzle Conv Ker by=8" },
    { "c2d n=1 i=32 h=8 w=16 o=32 k=3 p=1 bias=1 type=f16", NULL },
    { "c2d n=1 i=16 h=15 w=15 o=32 k=3 s=2 p=1 type=bf16", NULL },
    { "grp n=1 i=64 h=8 w=8 o=64 k=3 p=1 g=4 type=f16", NULL },
    { "grp n=2 i=32 h=4 w=8 o=64 k=1 g=2 bias=1 relu=1 type=bf16", NULL },
    { "dil n=1 i=16 h=8 w=8 o=32 k=3 p=2 d=2 type=f16", NULL },
    { "gmm m=64 k=32 n=128 bias=1 relu=1 type=bf16", NULL },
    { "bmm b=3 m=64 k=32 n=32 type=f16", NULL },
    /* Blocks that overrun, and f32 as tf32. */
    { "gmm m=33 k=40 n=20 bias=1 type=f16", NULL },
    { "c2d n=1 i=16 h=7 w=9 o=32 k=3 p=1 type=bf16", NULL },
    { "gmm m=64 k=64 n=32", NULL }, { "bmm b=2 m=20 k=24 n=32", NULL },
    { "c2d n=1 i=16 h=8 w=8 o=32 k=3 p=1 relu=1", NULL },
};

static const struct program *of_expert(struct arena *a, const struct experts *all, const char *spec)
{
    struct expert_schedule s;
    const struct program *p = NULL;
    struct err e;
    int n, bad;
    if (!expert_schedules(a, all, spec, target_named("cuda"), 1, 1, &s, &n, &e)
        || !program_replay(a, spec, s.step, s.n, &p, &bad, &e))
        fail_msg("%s: %s", spec, e.text);
    return p;
}

static void convolutions_are_counted(void **state)
{
    struct arena *a = arena_new();
    struct gpu_unit u[COUNT_OF(convolution)];
    struct experts all;
    struct err e;
    (void)state;
    if (!expert_file_all(a, &all, &e))
        fail_msg("%s", e.text);
    all.accuracy = 1e-3;
    for (int i = 0; i < COUNT_OF(u); i++) {
        const char *spec = convolution[i].spec, *more = convolution[i].more;
        gpu_unit(&u[i], !more ? of_expert(a, &all, spec)
                 : with_steps(program_with(a, spec, direct, COUNT_OF(direct)), more));
        assert_true(func_tensor_flops(u[i].f) > 0);
    }
    gpu_check_units(u, COUNT_OF(u));
    arena_free(a);
}

int main(void)
{
    setenv("TILESCOPE_HOME", ".", 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_counted), cmocka_unit_test(convolutions_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
