/* Assembly as text: the copies that asm_read makes of a compiler's, and what is left of a listing
 * of objdump (a script in its place prints it). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/base/arena.h"
#include "kernels/base/file.h"
#include "kernels/base/vec.h"
#include "profile/build/asmtext.h"
#include "profile/build/build.h"
#include "tests/unit/temp_dir.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* --- The text of a compiler ------------------------------------------------------------------- */

static void blocks_are(const struct asm_text *t, const struct asm_block *want, int n)
{
    assert_int_equal(t->block.len, n);
    for (int i = 0; i < n; i++)
        assert_memory_equal(&t->block.data[i], &want[i], sizeof want[i]);
}

/* The counter of a block adds 1 in its place, which is `at` bytes behind the number of blocks. */
#define COUNTER(at) \
    "\tmovq\t%rax, .Lts_saved(%rip)\n\tmovq\t.Lts_blocks+" at "(%rip), %rax\n" \
    "\tleaq\t1(%rax), %rax\n\tmovq\t%rax, .Lts_blocks+" at "(%rip)\n" \
    "\tmovq\t.Lts_saved(%rip), %rax\n"

/* The alignment behind a jump is never executed, so it is no padding. */
static void copies_count_and_name_padding(void **state)
{
    static const char text[] =
        "\t.file\t\"x.c\"\nf:\n\tpushq\t%rbx\t# keep\n\tjmp\t.L2\n\t.balign 16\n"
        ".L2:\n\t.align\t8\n\tvmovups\t%ymm0, 8(%rsp)\n\taddq\t$1, (%rdi)\n\tcall\tg\n"
        "\t.balign 16\n\tret\n";
    static const char counting[] =
        "f:\n" COUNTER("8") "pushq\t%rbx\njmp\t.L2\n.balign 16\n"
        ".L2:\n" COUNTER("16") ".align\t8\nvmovups\t%ymm0, 8(%rsp)\naddq\t$1, (%rdi)\ncall\tg\n"
        ".balign 16\nret\n"
        "\n\t.text\n\t.globl\tts_blocks\n\t.type\tts_blocks, @function\nts_blocks:\n"
        "\tleaq\t.Lts_blocks(%rip), %rax\n\tret\n\t.data\n\t.balign\t8\n"
        ".Lts_saved:\n\t.quad\t0\n.Lts_blocks:\n\t.quad\t2\n\t.zero\t24\n";
    static const char padded[] =
        "f:\npushq\t%rbx\njmp\t.L2\n.balign 16\n"
        ".L2:\n.Lts_a0:\n.align\t8\n.Lts_b0:\nvmovups\t%ymm0, 8(%rsp)\naddq\t$1, (%rdi)\ncall\tg\n"
        ".Lts_a1:\n.balign 16\n.Lts_b1:\nret\n"
        "\n\t.text\n\t.globl\tts_pads\n\t.type\tts_pads, @function\nts_pads:\n"
        "\tleaq\t.Lts_pads(%rip), %rax\n\tret\n\t.data\n\t.balign\t8\n"
        ".Lts_pads:\n\t.quad\t2\n\t.quad\t.Lts_a0, .Lts_b0\n\t.quad\t.Lts_a1, .Lts_b1\n";
    /* push stores; the call and the return store and load their address; addq does both */
    static const struct asm_block block[] = {
        { 2, { 0, 0, 1, 1 }, 0, 1, 0, 1 }, { 4, { 0, 1, 1, 2 }, 2, 3, 1, 2 },
    };
    struct asm_text t;
    (void)state;
    asm_read(text, &t);
    assert_string_equal(str_text(&t.counting), counting);
    assert_string_equal(str_text(&t.padded), padded);
    blocks_are(&t, block, COUNT_OF(block));
    assert_int_equal(t.pad.len, 2);
    assert_true(t.pad.data[0] == 1 && t.pad.data[1] == 1);
    assert_int_equal(t.call.len, 1);
    assert_string_equal(t.call.data[0], "g");
    assert_false(t.repeats);
    asm_free(&t);
}

/* Data among the code has no instructions and no padding, and the frame pointer lasts over it, up
 * to the next function. */
static void data_is_no_code(void **state)
{
    static const char text[] =
        "f:\n\tpushq\t%rbp\n\tmovq\t%rsp, %rbp\n"
        "\t.section\t.rodata\ntab:\n\t.string\t\"a\\\" # b\"\n\tx = 8\n\t.p2align 3\n"
        "\t.text\n\tmovl\t-4(%rbp), %eax\n"
        "\t.bss\n\ty = 1\n\t.section .text\n\tmovl\t-8(%rbp), %eax\n"
        "\t.data\n\tz = 2\n\t.balign 8\n\t.section\t.text.hot,\"ax\"\n\tret\n"
        "g:\n\tmovl\t-4(%rbp), %eax\n\tret\n";
    static const struct asm_block block[] = {
        { 2, { 0, 0, 2, 0 }, 0, 1, 0, 1 }, { 3, { 0, 0, 2, 1 }, 3, 0, 3, 0 },
        { 2, { 0, 0, 1, 1 }, 2, 0, 1, 0 },
    };
    struct asm_text t;
    (void)state;
    asm_read(text, &t);
    blocks_are(&t, block, COUNT_OF(block));
    assert_int_equal(t.pad.len, 0);
    assert_non_null(strstr(str_text(&t.padded), "\n.string\t\"a\\\" # b\"\nx = 8\n"));
    asm_free(&t);
}

/* Each function once, in order; not those of the text itself, and no labels. */
static void calls_have_names(void **state)
{
    static const char text[] =
        "f:\n\tcall\tmemset@PLT\n\tcall\tg\n\tcall\tmem\n\tcall\tmemset@PLT\n"
        "\tjmp\t*expf@GOTPCREL(%rip)\n\tjmp\t.L2\n\tjmp\t1f\n\tjmp\t*%rax\n\tjne\th\n"
        "g:\n\trep stosq\n\tlock addl\t$1, (%rdi)\n\tret\n";
    static const char *const want[] = { "memset", "mem", "expf" };
    struct asm_text t;
    (void)state;
    asm_read(text, &t);
    assert_int_equal(t.call.len, COUNT_OF(want));
    for (int i = 0; i < COUNT_OF(want); i++)
        assert_string_equal(t.call.data[i], want[i]);
    assert_true(t.repeats);
    asm_free(&t);
}

/* --- The listing of objdump ------------------------------------------------------------------- */

static char folder[120];                  /* the only one in PATH */

static void write_objdump(const char *script)
{
    char path[160], text[4000];
    struct err e;
    snprintf(path, sizeof path, "%s/objdump", folder);
    snprintf(text, sizeof text, "#!/bin/sh\n%s", script);
    if (!file_write_atomic(path, text, strlen(text), &e) || chmod(path, 0755) != 0)
        fail_msg("%s", e.text);
}

#define LISTING \
    "/bin/cat << 'END'\n" \
    "x.so:     file format elf64-x86-64\n\nDisassembly of section .text:\n\n" \
    "0000000000000ff0 <kx>:\n     ff0:\tud2\n\n" \
    "0000000000001000 <k>:\nk():\n/tmp/key.c:61\n" \
    "    1000:\tvaddps ymm0,ymm0,YMMWORD PTR [rip+0x100]        # 2000 <tab>\n" \
    "    1004:\tjne    1010 <k+0x10>\n" \
    "/tmp/key.c:62 (discriminator 2)\n" \
    "    1006:\tcall   1100 <memset@plt>\n" \
    "    100b:\tnop\n" \
    "    100c:\tdata16 cs nop WORD PTR [rax+rax*1+0x0]\n" \
    "/usr/include/x.h:7\ninlined by /tmp/key.c:70 (k)\n" \
    "    1010:\tjmp    1000 <k>\n" \
    "    1012:\tjle    1010 <k+0x10>\n" \
    "    1014:\tcall   1200 <helper>\n" \
    "    1015:\tfoo    zz <x>\n" \
    "    1016:\tfoo    1010 <x\n" \
    "    1017:\tret\n" \
    "    1018:\tnop\n" \
    "    1019:\tint3\n\n" \
    "0000000000001020 <k.part.0>:\nk.part.0():\n/usr/include/x.h:7\n" \
    "    1020:\tjne    1023 <k.part.0+0x3>\n" \
    "    1022:\tnop\n    1023:\tnop\n    1024:\tret\n\n" \
    "0000000000001028 <.omp_outlined>:\n/tmp/key.c:78\n    1028:\tret\n\n" \
    "0000000000001030 <.omp_outlined.1>:\n/tmp/key.c:80\n" \
    "    1030:\tjne    1030 <.omp_outlined.1>\n    1032:\tjg     1030 <.omp_outlined.1>\n" \
    "    1034:\tjle    1036 <.omp_outlined.1+0x6>\n    1036:\tret\n\n" \
    "0000000000001040 <k.cold>:\n    1040:\tnop\n\n" \
    "0000000000001050 <kk.part.0>:\n    1050:\tud2\n" \
    "END\n"

/* Labels are numbered by address and through all parts; what fills a gap is left out, unless a jump
 * leads to it. */
static void listings_have_labels_and_lines(void **state)
{
    static const char want[] =
        "k:\n.L1:\n    vaddps ymm0,ymm0,YMMWORD PTR [rip+0x100]\n    jne    .L2\n"
        "    call   memset\n.L2:\n    jmp    .L1\n    jle    .L2\n    call   helper\n"
        "    foo    zz <x>\n    foo    1010 <x\n    ret\n"
        "\nk.part.0:\n    jne    .L3\n.L3:\n    nop\n    ret\n"
        "\n.omp_outlined:\n    ret\n"
        "\n.omp_outlined.1:\n.L4:\n    jne    .L4\n    jg     .L4\n    jle    .L5\n.L5:\n    ret\n";
    static const int line[] = { 0, 61, 61, 61, 62, 70, 70, 70, 70, 70, 70, 70,
                                0, 0, 0, 0, 0, 0, 0, 0, 78,
                                0, 0, 80, 80, 80, 80, 80, 80 };
    struct str out = {0};
    struct c_lines lines = {0};
    struct err e = {0};
    (void)state;
    write_objdump("case \"$*\" in *' -l --inlines x.so') ;; *) echo \"$*\"; exit 1 ;; esac\n"
                  LISTING);
    if (!build_disassemble("x.so", "k", NULL, &out, &lines, &e))
        fail_msg("%s", e.text);
    assert_string_equal(str_text(&out), want);
    assert_int_equal(lines.len, COUNT_OF(line));
    assert_memory_equal(lines.data, line, sizeof line);
    /* a body of a parallel loop is not repeated below the next function */
    if (!build_disassemble("x.so", "kx", NULL, &out, &lines, &e))
        fail_msg("%s", e.text);
    assert_int_equal(lines.len, COUNT_OF(line) + 2);
    assert_int_equal(strncmp(str_text(&out), want, strlen(want)), 0);
    assert_string_equal(str_text(&out) + strlen(want), "kx:\n    ud2\n");
    write_objdump("case \"$*\" in *-l*) exit 1 ;; '-d --no-show-raw-insn'*' x.so') ;;"
                  " *) exit 1 ;; esac\n" LISTING);
    str_clear(&out);
    str_add(&out, "before\n");
    assert_true(build_disassemble("x.so", "k", NULL, &out, NULL, &e));
    assert_true(str_starts(str_text(&out), "before\nk:\n"));
    assert_string_equal(str_text(&out) + strlen("before\n"), want);
    size_t n = out.len;                   /* the body of a parallel loop is there already */
    assert_true(build_disassemble("x.so", "kx", NULL, &out, NULL, &e));
    assert_string_equal(str_text(&out) + n, "kx:\n    ud2\n");
    str_free(&out);
    vec_free(&lines);
}

/* A listing of more than 1 MiB: 1200 lines of more than 1000 bytes. */
static void long_listings_are_cut(void **state)
{
    struct str out = {0};
    struct c_lines lines = {0};
    struct err e = {0};
    int n = 0;
    (void)state;
    write_objdump("echo '0000000000001000 <k>:'\ni=4096\nwhile [ $i -lt 5296 ]; do\n"
                  "printf '    %x:\\tmov    eax,0x%01000d\\n' $i 0\ni=$((i+1)); done\n");
    if (!build_disassemble("x.so", "k", NULL, &out, &lines, &e))
        fail_msg("%s", e.text);
    assert_true(str_starts(str_text(&out), "k:\n    mov    eax,0x000"));
    assert_true(str_ends(str_text(&out), "0\n# the rest is missing: objdump printed more than"
                                         " 1 MiB\n"));
    for (const char *s = str_text(&out); *s; s++)
        n += *s == '\n';
    assert_int_equal(lines.len, n);
    assert_int_equal(lines.data[n - 1], 0);
    str_clear(&out);
    assert_false(build_disassemble("x.so", "m", NULL, &out, NULL, &e));
    assert_int_equal(e.code, ERR_NAME);
    assert_string_equal(e.text, "no function m in the first MiB of the listing of the compiled"
                                " code");
    assert_int_equal(out.len, 0);
    str_free(&out);
    vec_free(&lines);
}

static void no_listing_has_a_reason(void **state)
{
    static const struct { const char *script; enum err_code code; const char *text; } row[] = {
        { LISTING, ERR_NAME, "no function m in the compiled code" },
        { "", ERR_NAME, "no function m in the compiled code" },
        { "echo 'objdump: x.so: not an object'; echo more; exit 1\n", ERR_ENV,
          "objdump failed: objdump: x.so: not an object" },
        { "exit 2\n", ERR_ENV, "objdump failed with exit code 2" },
        { "kill -SEGV $$\n", ERR_ENV, "objdump was ended by signal 11" },
    };
    char path[160];
    struct str out = {0};
    struct err e;
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        e = (struct err){0};
        write_objdump(row[i].script);
        assert_false(build_disassemble("x.so", "m", NULL, &out, NULL, &e));
        assert_int_equal(e.code, row[i].code);
        assert_string_equal(e.text, row[i].text);
    }
    snprintf(path, sizeof path, "%s/objdump", folder);
    assert_int_equal(unlink(path), 0);
    assert_false(build_disassemble("x.so", "k", NULL, &out, NULL, &e));
    assert_int_equal(e.code, ERR_ENV);
    assert_string_equal(e.text, "objdump is not installed, so there is no assembly to show");
    assert_string_equal(e.fix, "apt install binutils");
    assert_int_equal(out.len, 0);
    str_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_count_and_name_padding),
        cmocka_unit_test(data_is_no_code),
        cmocka_unit_test(calls_have_names),
        cmocka_unit_test(listings_have_labels_and_lines),
        cmocka_unit_test(long_listings_are_cut),
        cmocka_unit_test(no_listing_has_a_reason),
    };
    snprintf(folder, sizeof folder, "%s", temp_dir(NULL));
    setenv("PATH", folder, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
