/* The machine code of a GPU, by scripts in the place of NVIDIA's disassemblers: they answer as the
 * real ones do, fail, hang, or are not there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/base/file.h"
#include "kernels/base/vec.h"
#include "profile/build/sass.h"
#include "profile/measure/program_text.h"
#include "tests/unit/fake_libs.h"
#include "tests/unit/programs.h"
#include "tests/unit/temp_dir.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static char toolkit[100], folder[120];    /* of the toolkit; the only one in PATH */
static char *usual_path;

/* Writes a script. It has no PATH of its own. */
static void write_tool(const char *in, const char *name, const char *script)
{
    char path[160];
    struct err e;
    snprintf(path, sizeof path, "%s/%s", in, name);
    if (!file_write_atomic(path, script, strlen(script), &e) || chmod(path, 0755) != 0)
        fail_msg("%s", e.text);
}

static void remove_tools(void)
{
    char path[160];
    static const char *const name[] = { "nvdisasm", "cuobjdump" };
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s%s/%s", i < 2 ? folder : toolkit, i < 2 ? "" : "/bin",
                 name[i % 2]);
        unlink(path);
    }
}

static const struct gpu_build build = {
    .version = "13.0", .arch = "sm_90", .cubin = (const unsigned char *)"a cubin", .bytes = 7,
};

static bool disassemble(double limit_s, const struct cancel *c, struct str *out,
                        struct c_lines *lines, struct err *e)
{
    *e = (struct err){ .code = ERR_NONE };
    return sass_disassemble(&build, limit_s, c, out, lines, e);
}

/* Checks that the cubin and the options arrive, and answers. */
static const char nvdisasm[] =
    "#!/bin/sh\n"
    "[ \"$1 $2\" = '-c -gi' ] || { echo \"nvdisasm fatal: $*\"; exit 1; }\n"
    "[ \"$(/bin/cat \"$3\")\" = 'a cubin' ] || { echo no cubin; exit 1; }\n"
    "/bin/cat << 'END'\n"
    "\t.target\tsm_90\n\n"
    "//--------------------- .text.second               --------------------------\n"
    "\t.section\t.text.second,\"ax\",@progbits\n"
    "        .size           second,(.L_x_8 - second)\n"
    "second:\n"
    ".text.second:\n"
    "\t//## File \"/home/kernel.cu\", line 20\n"
    "        /*0000*/                   S2R R0, SR_TID.X ;\n"
    "        /*0010*/                   EXIT ;\n"
    ".L_x_7:\n"
    "        /*0020*/                   BRA `(.L_x_7);\n"
    "        /*0030*/                   NOP;\n"
    ".L_x_8:\n\n"
    "//--------------------- .text.first                --------------------------\n"
    "first:\n"
    ".text.first:\n"
    "\t//## File \"/home/kernel.cu\", line 8\n"
    "        /*0000*/                   LDC R1, c[0x0][0x28] ;\n"
    "\t//## File \"/home/kernel.cu\", line 3 inlined at \"/home/kernel.cu\", line 9\n"
    ".L_x_4:\n"
    "        /*0010*/              @!P0 LDG.E.128 R4, desc[UR6][R22.64] ;\n"
    "        /*0020*/             @!UP1 BRA `(.L_x_3) ;\n"
    "        /*0030*/               @P0 BRA !P3, `(.L_x_4) ;\n"
    "        /*0040*/                   CALL.REL.NOINC `($__internal_0_$__div) ;\n"
    ".L_x_3:\n"
    "        /*0050*/                   EXIT ;\n"
    "        .weak           $__internal_0_$__div\n"
    "$__internal_0_$__div:\n"
    "        /*0060*/                   NOP ;\n"
    "        /*0070*/                   RET.REL.NODEC R10 `(first) ;\n"
    ".L_x_5:\n"
    "        /*0080*/                   BRA `(.L_x_5);\n"
    "        /*0090*/                   NOP;\n"
    "END\n";

static void test_nvdisasm(void **state)
{
    static const char want[] =
        "// sm_90 by NVRTC 13.0, disassembled by nvdisasm\n\n"
        "first:\n"
        "  0000        LDC R1, c[0x0][0x28]\n"
        ".L1:\n"
        "  0010   @!P0 LDG.E.128 R4, desc[UR6][R22.64]\n"
        "  0020  @!UP1 BRA .L2\n"
        "  0030    @P0 BRA !P3, .L1\n"
        "  0040        CALL.REL.NOINC $__internal_0_$__div\n"
        ".L2:\n"
        "  0050        EXIT\n"
        "$__internal_0_$__div:\n"
        "  0060        NOP\n"
        "  0070        RET.REL.NODEC R10 first\n\n"
        "second:\n"
        "  0000        S2R R0, SR_TID.X\n"
        "  0010        EXIT\n";
    static const int line[] = { 0, 0, 0, 8, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 0, 0, 20, 20 };
    struct str out = {0};
    struct c_lines lines = {0};
    struct err e;
    (void)state;
    write_tool(folder, "nvdisasm", nvdisasm);
    if (!disassemble(20, NULL, &out, &lines, &e))
        fail_msg("%s", e.text);
    assert_string_equal(str_text(&out), want);
    assert_int_equal(lines.len, COUNT_OF(line));
    assert_memory_equal(lines.data, line, sizeof line);
    str_clear(&out);
    assert_true(disassemble(20, NULL, &out, NULL, &e));
    assert_string_equal(str_text(&out), want);
    vec_free(&lines);
    str_free(&out);
    remove_tools();
}

static void test_cuobjdump(void **state)
{
    static const char script[] =
        "#!/bin/sh\n"
        "[ \"$1\" = -sass ] || exit 1\n"
        "/bin/cat << 'END'\n"
        "\tcode for sm_90\n\t.target\tsm_90\n\n"
        "\t\tFunction : first\n"
        "\t.headerflags\t@\"EF_CUDA_SM90\"\n"
        "        /*0000*/                   MOV R2, 0x20 ;           /* 0x00000a00ff017b82 */\n"
        "                                                            /* 0x000fe20000000800 */\n"
        "        /*0010*/              @!P0 BRA 0x20 ;               /* 0x0000000400b48947 */\n"
        "                                                            /* 0x000fe20000000800 */\n"
        "        /*0020*/                   EXIT ;                   /* 0x000000000000794d */\n"
        "                                                            /* 0x000fe20000000800 */\n"
        "        /*0030*/                   BRA 0x30;                /* 0xfffffffc00fc7947 */\n"
        "                                                            /* 0x000fe20000000800 */\n"
        "        /*0040*/                   NOP;                     /* 0x0000000000007918 */\n"
        "\t\t..........\n"
        "END\n";
    struct str out = {0};
    struct err e;
    (void)state;
    write_tool(folder, "cuobjdump", script);
    if (!disassemble(20, NULL, &out, NULL, &e))
        fail_msg("%s", e.text);
    assert_string_equal(str_text(&out),
                        "// sm_90 by NVRTC 13.0, disassembled by cuobjdump, which gives no source"
                        " lines\n\nfirst:\n"
                        "  0000        MOV R2, 0x20\n"
                        "  0010   @!P0 BRA .L1\n"
                        ".L1:\n"
                        "  0020        EXIT\n");
    str_clear(&out);
    write_tool(folder, "nvdisasm", nvdisasm);            /* the better one, if both are there */
    assert_true(disassemble(20, NULL, &out, NULL, &e));
    assert_non_null(strstr(str_text(&out), "disassembled by nvdisasm\n"));
    str_free(&out);
    remove_tools();
}

/* In PATH before the toolkit; without either, the error says where it was looked for. */
static void test_where_it_is(void **state)
{
    struct str path = {0};
    char bin[120], want[160];
    struct err e = {0};
    (void)state;
    snprintf(bin, sizeof bin, "%s/bin", toolkit);
    assert_false(sass_tool_find(&path, &e));
    assert_int_equal(e.code, ERR_ENV);
    assert_non_null(strstr(e.text, "neither nvdisasm nor cuobjdump is installed"));
    assert_non_null(strstr(e.text, "not in PATH"));
    assert_non_null(strstr(e.text, bin));
    assert_non_null(strstr(e.fix, "cuda-nvdisasm"));
    assert_non_null(strstr(e.fix, "cuda-cuobjdump"));
    write_tool(bin, "cuobjdump", "#!/bin/sh\n");
    assert_true(sass_tool_find(&path, &e));
    snprintf(want, sizeof want, "%s/cuobjdump", bin);
    assert_string_equal(str_text(&path), want);
    write_tool(bin, "nvdisasm", "#!/bin/sh\n");
    write_tool(folder, "nvdisasm", "#!/bin/sh\n");
    assert_true(sass_tool_find(&path, &e));
    snprintf(want, sizeof want, "%s/nvdisasm", folder);
    assert_string_equal(str_text(&path), want);
    str_free(&path);
    remove_tools();
}

/* A jump without the end of its target is printed as far as it goes. */
static void test_half_a_target(void **state)
{
    struct str out = {0};
    struct err e;
    (void)state;
    write_tool(folder, "nvdisasm", "#!/bin/sh\necho .text.k:\necho '  /*0000*/ BRA `(.L_x;'\n");
    if (!disassemble(20, NULL, &out, NULL, &e))
        fail_msg("%s", e.text);
    assert_true(str_ends(str_text(&out), "k:\n  0000        BRA .L_x\n"));
    str_free(&out);
    remove_tools();
}

static void *raise_soon(void *cancel)
{
    usleep(100000);
    atomic_store(&((struct cancel *)cancel)->raised, 1);
    return NULL;
}

static void test_failures(void **state)
{
    static const struct { const char *script; double limit_s; const char *text; } row[] = {
        { "echo 'nvdisasm fatal   : Unsupported architecture'; echo more; exit 255", 20,
          "nvdisasm failed: nvdisasm fatal   : Unsupported architecture" },
        { "kill -SEGV $$", 20, "nvdisasm was ended by signal 11" },
        { "while :; do :; done", 0.2, "nvdisasm took longer than 0.2 s" },
        { "echo nothing", 20, "nvdisasm printed no function" },
        { "", 20, "nvdisasm printed no function" },
    };
    struct str out = {0};
    struct err e;
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        char script[200];
        snprintf(script, sizeof script, "#!/bin/sh\n%s\n", row[i].script);
        write_tool(folder, "nvdisasm", script);
        assert_false(disassemble(row[i].limit_s, NULL, &out, NULL, &e));
        assert_int_equal(e.code, ERR_ENV);
        assert_string_equal(e.text, row[i].text);
        assert_int_equal(out.len, 0);
    }
    struct cancel c = {0};
    pthread_t t;
    write_tool(folder, "nvdisasm", "#!/bin/sh\nwhile :; do :; done\n");
    assert_int_equal(pthread_create(&t, NULL, raise_soon, &c), 0);
    assert_false(disassemble(20, &c, &out, NULL, &e));
    assert_int_equal(e.code, ERR_CANCEL);
    pthread_join(t, NULL);
    remove_tools();
}

/* A listing that is longer than what is read says where it is cut: in the function that a cubin
 * lists last, which is printed first. */
static void test_long_output(void **state)
{
    struct str out = {0};
    struct err e;
    (void)state;
    write_tool(folder, "nvdisasm",
               "#!/bin/sh\necho .text.second:\necho '  /*0000*/ EXIT ;'\n"
               "echo .text.long:\ni=0\nwhile [ $i -lt 1200 ]; do\n"
               "printf '        /*%04x*/ FADD R1, R2, %01000d ;\\n' $i 0\ni=$((i+1)); done\n");
    if (!disassemble(20, NULL, &out, NULL, &e))
        fail_msg("%s", e.text);
    assert_non_null(strstr(str_text(&out), "\nlong:\n  0000        FADD R1, R2, 000"));
    assert_true(str_ends(str_text(&out), "0\n// The listing is cut here: nvdisasm printed more than"
                                         " 1 MiB.\n\nsecond:\n  0000        EXIT\n"));
    str_free(&out);
    remove_tools();
}

/* The lines of a program's SASS belong to its loops. */
static void test_loops(void **state)
{
    static const char *const line[] = { "loop bind C M block.x", "loop bind C N thread.x" };
    struct arena *a = arena_new();
    struct str out = {0}, path = {0};
    struct code_lines lines;
    struct err e;
    int n = 0, k = 0, ends = 0;
    (void)state;
    str_printf(&path, "%s:%s", folder, usual_path);
    write_tool(folder, "nvdisasm",
               "#!/bin/sh\necho .text.kernel_0:\ni=1\nwhile [ $i -lt 40 ]; do\n"
               "echo \"//## File \\\"kernel.cu\\\", line $i\"\n"
               "printf '        /*%04x*/ MOV R1, %d ;\\n' $i $i\ni=$((i+1)); done\n");
    const struct program *p = program_with(a, "gmm m=4 k=8 n=4", line, COUNT_OF(line));
    setenv("PATH", str_text(&path), 1);                  /* the fake NVRTC needs gcc */
    if (!program_text_sass(a, p, NULL, &out, &lines, &e))
        fail_msg("%s", e.text);
    for (const char *s = str_text(&out); (s = strchr(s, '\n')); s++)
        n++;
    assert_int_equal(lines.n, n);
    assert_int_equal(lines.of[0], -1);
    for (int i = 0; i < lines.n; i++)
        k += lines.of[i] >= 0 && streq(lines.loop[lines.of[i]].axis, "K");
    assert_true(k >= 2);
    for (int i = 0; i < lines.n; i++)     /* the end of the kernel is in no loop */
        if (lines.source[i] && streq(lines.source[i], "}")) {
            assert_int_equal(lines.of[i], -1);
            ends++;
        }
    assert_true(ends > 0);
    setenv("PATH", folder, 1);
    str_free(&path);
    str_free(&out);
    arena_free(a);
    remove_tools();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nvdisasm),
        cmocka_unit_test(test_cuobjdump),
        cmocka_unit_test(test_where_it_is),
        cmocka_unit_test(test_half_a_target),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_long_output),
        cmocka_unit_test(test_loops),
    };
    char so[120], lib[120], bin[120];
    snprintf(toolkit, sizeof toolkit, "%s", temp_dir(NULL));
    snprintf(lib, sizeof lib, "%s/lib64", toolkit);
    snprintf(bin, sizeof bin, "%s/bin", toolkit);
    if (mkdir(lib, 0755) != 0 || mkdir(bin, 0755) != 0)
        return 1;
    fake_lib_build(lib, "nvrtc", so);
    setenv("TILESCOPE_NVRTC", so, 1);
    snprintf(folder, sizeof folder, "%s", temp_dir(NULL));
    usual_path = xstrdup(getenv("PATH"));
    setenv("PATH", folder, 1);
    int bad = cmocka_run_group_tests(tests, NULL, NULL);
    free(usual_path);
    return bad;
}
