/* The instructions meter: how assembly is read, and that valgrind counts the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "profile/build/asmtext.h"
#include "profile/build/build.h"
#include "profile/measure/cachegrind.h"
#include "profile/measure/instructions.h"
#include "profile/measure/measure.h"
#include "tests/unit/temp_dir.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static struct arena *perm;

/* --- Reading ---------------------------------------------------------------------------------- */

static const struct {
    const char *text; enum insn_kind kind; int loads, stores, stack_loads, stack_stores;
} row[] = {
    { "vfmadd231ps\t-512(%rax), %ymm1, %ymm0", INSN_FMA, 1, 0, 0, 0 },
    { "vfmadd231ps\t(%rax){1to16}, %zmm1, %zmm0", INSN_FMA, 1, 0, 0, 0 },
    { "vfnmadd132pd\t%zmm1, %zmm2, %zmm0", INSN_FMA, 0, 0, 0, 0 },
    { "vfmadd231ss\t(%rdx), %xmm1, %xmm0", INSN_SCALAR, 1, 0, 0, 0 },
    { "vbroadcastss\t(%rdx), %ymm1", INSN_VECTOR, 1, 0, 0, 0 },
    { "vmovups\t%zmm0, 64(%rsi,%rax,4)", INSN_VECTOR, 0, 1, 0, 0 },
    { "vmovups\t%zmm0, (%rsi){%k1}", INSN_VECTOR, 0, 1, 0, 0 },
    { "vmovaps\t128(%rsp), %ymm3", INSN_VECTOR, 1, 0, 1, 0 },
    { "vmovaps\t%ymm3, -80(%rbp)", INSN_VECTOR, 0, 1, 0, 1 },
    { "vgatherdps\t%ymm2, (%rax,%ymm1,4), %ymm0", INSN_VECTOR, 8, 0, 0, 0 },
    { "vgatherqps\t(%rax,%zmm1,4), %ymm0{%k1}", INSN_VECTOR, 8, 0, 0, 0 },
    { "vgatherqpd\t%ymm2, (%rax,%ymm1,8), %ymm0", INSN_VECTOR, 4, 0, 0, 0 },
    { "vscatterdps\t%zmm0, (%rax,%zmm1,4){%k1}", INSN_VECTOR, 0, 16, 0, 0 },
    { "vpmaxsd\t%ymm1, %ymm2, %ymm3", INSN_VECTOR, 0, 0, 0, 0 },
    { "vextractf128\t$1, %ymm0, 16(%rdi)", INSN_VECTOR, 0, 1, 0, 0 },
    { "vzeroupper", INSN_VECTOR, 0, 0, 0, 0 },
    { "kmovw\t%eax, %k1", INSN_VECTOR, 0, 0, 0, 0 },
    { "addss\t4(%rdi), %xmm0", INSN_SCALAR, 1, 0, 0, 0 },
    { "movss\t%xmm0, (%rcx)", INSN_SCALAR, 0, 1, 0, 0 },
    { "cvtsi2sdl\t%eax, %xmm0", INSN_SCALAR, 0, 0, 0, 0 },
    { "addl\t$1, (%rdi)", INSN_SCALAR, 1, 1, 0, 0 },
    { "incq\t8(%rsp)", INSN_SCALAR, 1, 1, 1, 1 },
    { "cmpq\t$5, 8(%rdi)", INSN_SCALAR, 1, 0, 0, 0 },
    { "imulq\t$100, (%rdi), %rax", INSN_SCALAR, 1, 0, 0, 0 },
    { "movl\t$0x3f800000, (%rcx)", INSN_SCALAR, 0, 1, 0, 0 },
    { "movq\t%fs:40, %rax", INSN_SCALAR, 1, 0, 0, 0 },
    { "leaq\t-8(%rsp,%rax), %rbx", INSN_SCALAR, 0, 0, 0, 0 },
    { "prefetcht0\t(%rax)", INSN_SCALAR, 0, 0, 0, 0 },
    { "nopw\t0(%rax,%rax)", INSN_SCALAR, 0, 0, 0, 0 },
    { "fxch\t%st(1)", INSN_SCALAR, 0, 0, 0, 0 },
    { "pushq\t%rbp", INSN_SCALAR, 0, 1, 0, 1 },
    { "popq\t%rbp", INSN_SCALAR, 1, 0, 1, 0 },
    { "popq\t8(%rdi)", INSN_SCALAR, 1, 1, 1, 0 },
    { "rep stosq", INSN_SCALAR, 0, 0, 0, 0 },
    { "rep;stosq\t%rax, %es:(%rdi)", INSN_SCALAR, 0, 1, 0, 0 },
    { "jne\t.L3", INSN_BRANCH, 0, 0, 0, 0 },
    { "notrack jmp\t*%rax", INSN_BRANCH, 0, 0, 0, 0 },
    { "jmp\t*(%rax,%rdx,8)", INSN_BRANCH, 1, 0, 0, 0 },
    { "call\tmemset@PLT", INSN_BRANCH, 0, 1, 0, 1 },
    { "callq\t*expf@GOTPCREL(%rip)", INSN_BRANCH, 1, 1, 0, 1 },
    { "rep ret", INSN_BRANCH, 1, 0, 1, 0 },
    { "ud2", INSN_SCALAR, 0, 0, 0, 0 },
    { "hlt", INSN_SCALAR, 0, 0, 0, 0 },
    { "vfmsub213pd\t%zmm1, %zmm2, %zmm0", INSN_FMA, 0, 0, 0, 0 },
    { "vfnmsub231ps\t(%rax), %ymm1, %ymm0", INSN_FMA, 1, 0, 0, 0 },
    { "vpgatherdd\t%xmm2, (%rax,%xmm1,4), %xmm0", INSN_VECTOR, 4, 0, 0, 0 },
    { "vgatherdpd\t(%rax,%ymm1,8), %zmm0{%k1}", INSN_VECTOR, 8, 0, 0, 0 },
    { "vpscatterdq\t%ymm0, (%rax,%xmm1,8){%k1}", INSN_VECTOR, 0, 4, 0, 0 },
    { "vaddps\t{rn-sae}, %zmm1, %zmm2, %zmm3", INSN_VECTOR, 0, 0, 0, 0 },
    { "pmaxsd\t%xmm1, %xmm0", INSN_VECTOR, 0, 0, 0, 0 },
    { "vcvttss2si\t%xmm0, %eax", INSN_SCALAR, 0, 0, 0, 0 },
    { "cvttsd2si\t%xmm0, %rax", INSN_SCALAR, 0, 0, 0, 0 },
    { "vcvtsi2ssl\t%eax, %xmm1, %xmm0", INSN_SCALAR, 0, 0, 0, 0 },
    { "mulsd\t%xmm1, %xmm0", INSN_SCALAR, 0, 0, 0, 0 },
    { "movl\tlimit, %eax", INSN_SCALAR, 1, 0, 0, 0 },
    { "lock cmpxchgl\t%ecx, (%rdx)", INSN_SCALAR, 1, 1, 0, 0 },
    { "bt\t$3, (%rdi)", INSN_SCALAR, 1, 0, 0, 0 },
    { "btl\t$3, (%rdi)", INSN_SCALAR, 1, 0, 0, 0 },
    { "btq\t%rax, (%rdi)", INSN_SCALAR, 1, 0, 0, 0 },
    { "btsl\t%eax, (%rdi)", INSN_SCALAR, 1, 1, 0, 0 },
    { "pushq\t8(%rdi)", INSN_SCALAR, 1, 1, 0, 1 },
    { "leave", INSN_SCALAR, 1, 0, 1, 0 },
    { "vgatherdps\t%ymm2, 8(%rsp,%ymm1,4), %ymm0", INSN_VECTOR, 8, 0, 8, 0 },
    { "vscatterdpd\t%zmm0, (%rsp,%ymm1,8){%k1}", INSN_VECTOR, 0, 8, 0, 8 },
    { "loop\t.L3", INSN_BRANCH, 0, 0, 0, 0 },
};

static void instructions_have_a_kind(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct insn x = asm_insn_read(row[i].text, strlen(row[i].text), true);
        bool call = strstr(row[i].text, "call") != NULL;
        bool trap = streq(row[i].text, "ud2") || streq(row[i].text, "hlt");
        if (x.kind != row[i].kind || x.loads != row[i].loads || x.stores != row[i].stores
            || x.stack_loads != row[i].stack_loads || x.stack_stores != row[i].stack_stores
            || x.ends != (trap || (x.kind == INSN_BRANCH && !call))
            || x.stops != (trap || strstr(row[i].text, "jmp") || strstr(row[i].text, "ret")))
            fail_msg("%s: kind %d, %d loads, %d stores, of the stack %d and %d, ends %d, stops %d",
                     row[i].text, x.kind, x.loads, x.stores, x.stack_loads, x.stack_stores, x.ends,
                     x.stops);
    }
    assert_int_equal(asm_insn_read("movq\t%rax, -8(%rbp)", 18, false).stack_stores, 0);
}

/* As gcc writes it: a padded loop, a jump table among the code, a cold part, a call. */
static void text_is_cut_into_blocks(void **state)
{
    static const char text[] =
        "\t.file\t\"x.c\"\n\t.text\n\t.p2align 4\n\t.globl\tf\nf:\n.LFB0:\n\t.cfi_startproc\n"
        "\tpushq\t%rbp\n\tmovq\t%rsp, %rbp\n\tcmpl\t$5, %edi\n\tja\t.L8\n"           /* 0: 4 */
        "\tleaq\t.L10(%rip), %rdx\n\tjmp\t*%rax\n"                                  /* 1: 2 */
        "\t.section\t.rodata\n\t.align 4\n.L10:\n\t.long\t.L15-.L10\n\t.string \"a # b\"\n"
        "\t.text\n"
        ".L15:\n\tvmovaps\t-16(%rbp), %xmm0\t# comment\n\tcall\texpf@PLT\n\txorl\t%eax, %eax\n"
        "\t.p2align 4,,10\n\t.p2align 3\n"                                           /* 2: 3 */
        ".L3:\n#APP\n# 3 \"x.c\" 1\n\t\n#NO_APP\n\taddl\t$1, %eax\n\tjne\t.L3\n"     /* 3: 2 */
        "\t.p2align 4\n"                                                             /* 4: 0 */
        ".L8:\n\tleave\n\tret\n\t.cfi_endproc\n\t.size\tf, .-f\n"                    /* 5: 2 */
        "\t.section\t.text.unlikely\nf.cold:\n\trep stosq\n\tjmp\tg@PLT\n"           /* 6: 2 */
        "\t.text\n\t.p2align 4\ng:\n\tret\n\t.section\t.note.GNU-stack,\"\",@progbits\n"; /* 7 */
    static const int want[] = { 4, 2, 3, 2, 0, 2, 2, 1 }, pad[] = { 2, 2, 4 };
    struct asm_text t;
    (void)state;
    asm_read(text, &t);
    assert_int_equal(t.block.len, COUNT_OF(want));
    for (int i = 0; i < COUNT_OF(want); i++)
        assert_int_equal(t.block.data[i].n, want[i]);
    assert_int_equal(t.pad.len, COUNT_OF(pad));
    for (int i = 0; i < COUNT_OF(pad); i++)
        assert_int_equal(t.pad.data[i], pad[i]);
    assert_int_equal(t.block.data[2].stack_loads, 1);
    assert_int_equal(t.call.len, 1);
    assert_string_equal(t.call.data[0], "expf");
    assert_true(t.repeats);
    asm_free(&t);
    asm_read("", &t);
    assert_int_equal(t.block.len, 0);
    asm_free(&t);
}

/* --- Counting --------------------------------------------------------------------------------- */

static void measure(const char *spec, const char *const *steps, const struct measure_opts *o,
                    struct measurement *m)
{
    const struct program *p;
    int n = 0, bad;
    struct err e;
    while (steps[n])
        n++;
    if (!program_replay(perm, spec, steps, n, &p, &bad, &e))
        fail_msg("%s, step %d: %s", spec, bad, e.text);
    if (!measure_program(p, o, NULL, NULL, m, &e))
        fail_msg("%s: %s", spec, e.text);
    if (m->outcome != OUTCOME_OK)
        fail_msg("%s: %s", spec, m->reason);
    for (int i = METER_ID_PERF; i < METER_COUNT; i++)
        if ((o->meters & 1u << i) && !m->counts[i].available)
            fail_msg("%s: %s", spec, m->counts[i].reason);
}

static double value(const struct counts *c, const char *name)
{
    double v = -1;
    if (!counts_get(c, name, &v))
        fail_msg("no %s", name);
    return v;
}

static void need(void (*probe)(struct counts *))
{
    struct counts c = { .n = 0 };
    probe(&c);
    assert_int_equal(c.available, !c.reason[0]);
    if (!c.available) {
        print_message("# skipped: %s\n", c.reason);
        skip();
    }
}

static const struct { const char *spec; const char *step[8]; } kernels[] = {
    { "gmm m=24 k=40 n=48", { NULL } },
    { "gmm m=64 k=64 n=64",
      { "loop split C M 8 8", "loop split C N 4 16", "loop reorder C N.0 M.0 K M.1 N.1",
        "loop cache_write C at=M.0", "loop unroll C M.1", "loop vectorize C N.1" } },
    { "c2d n=1 i=5 h=13 w=13 o=16 k=3 p=1 bias=1 relu=1",
      { "layout set Conv \"N H W O\"", "layout set Ker \"KH KW I O\"",
        "loop reorder Conv N H W I KH KW O", "loop vectorize Conv O" } },
    { "dep n=1 c=6 h=17 w=17 k=3 s=2 p=1", { NULL } },
    { "t2d n=1 i=4 h=7 w=7 o=6 k=3 s=2", { NULL } },
};

/* Valgrind sees the same code: every flag is the same on this occasion. */
static void valgrind_counts_the_same(void **state)
{
    static const char *const isa[] = { "sse", "avx2" };
    struct compiler cc;
    struct err e;
    (void)state;
    need(cachegrind_probe);
    need(instructions_probe);
    assert_true(compiler_find(NULL, &cc, &e));
    setenv("TILESCOPE_CFLAGS", cc.is_clang
               ? "-fno-builtin-memset -fno-builtin-memcpy -fno-builtin-memmove"
               : "-fno-tree-loop-distribute-patterns", 1);
    for (int i = 0; i < 2 * COUNT_OF(kernels); i++) {
        const char *spec = kernels[i / 2].spec;
        struct measure_opts o = { .meters = METER_CACHEGRIND | METER_INSTRUCTIONS, .seed = 5,
                                  .target = target_named(isa[i % 2]) };
        struct measurement m;
        if (!o.target->runs_here())
            continue;
        measure(spec, kernels[i / 2].step, &o, &m);
        const struct counts *a = &m.counts[METER_ID_CACHEGRIND];
        const struct counts *b = &m.counts[METER_ID_INSTRUCTIONS];
        if (value(a, "instructions") != value(b, "instructions"))
            fail_msg("%s, %s: valgrind %.0f, blocks %.0f", spec, o.target->isa,
                     value(a, "instructions"),
                     value(b, "instructions"));
        /* It loads the memory operand of an FMA lane by lane, and add to memory is no store. */
        if (streq(o.target->isa, "sse"))
            assert_true(value(a, "loads") == value(b, "loads"));
        else
            assert_true(value(a, "loads") >= value(b, "loads"));
        assert_true(value(a, "stores") <= value(b, "stores"));
    }
    unsetenv("TILESCOPE_CFLAGS");
}

static void kinds_add_up(void **state)
{
    (void)state;
    need(instructions_probe);
    for (int i = 0; i < COUNT_OF(kernels); i++) {
        struct measure_opts o = { .meters = METER_INSTRUCTIONS, .seed = 5 };
        struct measurement m;
        measure(kernels[i].spec, kernels[i].step, &o, &m);
        const struct counts *c = &m.counts[METER_ID_INSTRUCTIONS];
        assert_true(value(c, "instructions") == value(c, "fma") + value(c, "vector")
                    + value(c, "scalar") + value(c, "branches"));
        assert_true(value(c, "loads") >= value(c, "stack_loads"));
        assert_true(value(c, "stores") >= value(c, "stack_stores"));
        assert_non_null(strstr(c->source, m.isa));
    }
}

/* 64 x 64 x 64 with vectors of the whole width: nothing else multiplies. */
static void multiply_adds_are_as_many_as_the_schedule_says(void **state)
{
    struct measure_opts o = { .meters = METER_INSTRUCTIONS, .seed = 5 };
    struct measurement m;
    (void)state;
    need(instructions_probe);
    const int lanes = target_lanes(target_host(), &type_f32);
    if (lanes < 8)
        skip();
    measure(kernels[1].spec, kernels[1].step, &o, &m);
    const struct counts *c = &m.counts[METER_ID_INSTRUCTIONS];
    assert_true(value(c, "fma") == 64.0 * 64 * 64 / lanes);
}

static void what_is_elsewhere_is_named(void **state)
{
    static const char *const none[] = { NULL }, *const threads[] = { "loop parallel C M", NULL };
    struct measure_opts o = { .meters = METER_INSTRUCTIONS, .seed = 5, .threads = 2 };
    struct measurement m;
    (void)state;
    need(instructions_probe);
    measure("act f=gelu n=3 c=5", none, &o, &m);
    assert_non_null(strstr(m.counts[METER_ID_INSTRUCTIONS].source, "; without "));
    measure("gmm m=24 k=16 n=32", threads, &o, &m);
    assert_null(strstr(m.counts[METER_ID_INSTRUCTIONS].source, "GOMP"));
    assert_true(value(&m.counts[METER_ID_INSTRUCTIONS], "instructions") > 0);
}


static int set_up(void **state)
{
    (void)state;
    perm = arena_new();
    temp_dir("XDG_CACHE_HOME");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_free(perm);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instructions_have_a_kind),
        cmocka_unit_test(text_is_cut_into_blocks),
        cmocka_unit_test(valgrind_counts_the_same),
        cmocka_unit_test(kinds_add_up),
        cmocka_unit_test(multiply_adds_are_as_many_as_the_schedule_says),
        cmocka_unit_test(what_is_elsewhere_is_named),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
