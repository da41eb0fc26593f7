/* The hottest loop of an assembly, and what a scripted llvm-mca says of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "profile/measure/mca_models.h"
#include "profile/measure/port_pressure.h"
#include "tests/unit/temp_dir.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static const char *dir;

static const char assembly[] =
    "kernel:\n"
    "    mov    eax,1\n"
    ".L1:\n"
    "    vfmadd231ps zmm0,zmm1,DWORD BCST [rdi+0x4]\n"
    "    dec    eax\n"
    "    jne    .L1\n"
    "    ret\n";
static const struct code_loop loop[] = { { 0, "M", 4, -1, 1 }, { 0, "K", 100, 0, 2 } };
static const int of[] = { -1, 0, 1, 1, 1, 1, -1 };
static const struct code_lines lines = { 2, loop, 7, of, NULL };

/* Writes the program that is found as llvm-mca. */
static void script(const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s/llvm-mca", dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "#!/bin/sh\n%s\n", text);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, 0755), 0);
}

static void the_hottest_loop(void **state)
{
    struct hot_loops h = hot_loops_find(assembly, &lines);
    (void)state;
    assert_true(h.insns[0] == 1 && h.insns[1] == 3 && h.insns[2] == 1);
    assert_int_equal(hot_loops_hottest(&h, &lines), 1);
    assert_true(h.all == 1 + 4 * 1 + 400 * 3);
    assert_true(hot_loops_share(&h, &lines, 1) == 1200 / h.all);
    assert_true(hot_loops_share(&h, &lines, 0) == 4 / h.all);
    free(h.insns);
    h = hot_loops_find("", &lines);                       /* nothing runs anywhere */
    assert_true(h.all == 0 && hot_loops_share(&h, &lines, 1) == 0);
    assert_int_equal(hot_loops_hottest(&h, &lines), -1);
    free(h.insns);
}

/* The outer loop has more instructions than its short inner one executes. */
static void an_outer_loop_can_be_the_hottest(void **state)
{
    static const struct code_loop few[] = { { 0, "M", 4, -1, 1 }, { 0, "K", 2, 0, 2 } };
    static const int in[] = { -1, 0, 0, 0, 0, 1, 0 };
    static const struct code_lines seven = { 2, few, 7, in, NULL };
    struct hot_loops h = hot_loops_find(assembly, &seven);
    (void)state;
    assert_true(h.insns[0] == 4 && h.insns[1] == 1 && h.insns[2] == 0 && h.all == 4 * 4 + 8 * 1);
    assert_int_equal(hot_loops_hottest(&h, &seven), 0);
    free(h.insns);
}

/* What is printed of answers made by hand; at most six ports, the first of equal ones first, none
 * that does nothing. */
static void answers_are_printed(void **state)
{
#define COSTS ": 1.5 cycles an iteration at least, 4.1 predicted, IPC 0.73;"
    static const struct { const char *slow; bool exact; int n; const char *want; } row[] = {
        { "", true, 3, "by llvm-mca's model of znver3" COSTS " P1 2.0, P0 1.0" },
        { "", false, 2, "by llvm-mca's model of znver3 (the nearest model to this CPU that accepts "
          "this loop)" COSTS " P1 2.0, P0 1.0" },
        { "znver3", false, 0, "by llvm-mca's model of znver3 (which has fewer FMAs a cycle than "
          "this CPU)" COSTS },
        { "znver4", false, 0, "by llvm-mca's model of znver3 (LLVM's model of znver4 has fewer "
          "FMAs a cycle than this CPU)" COSTS },
        { "", true, 9, "by llvm-mca's model of znver3" COSTS " P4 4.0, P6 4.0, P5 3.0, P1 2.0, "
          "P3 2.0, P0 1.0" },
    };
    static const double cycles[] = { 1, 2, 0, 2, 4, 3, 4, 0.5, 0.25 };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct port_pressure p = { .model = "znver3", .exact = row[i].exact, .cycles = 4.1,
                                   .least = 1.5, .ipc = 0.73, .n = row[i].n };
        struct str out = {0};
        snprintf(p.slow, sizeof p.slow, "%s", row[i].slow);
        for (int k = 0; k < row[i].n; k++) {
            snprintf(p.port[k].name, sizeof p.port[k].name, "P%d", k);
            p.port[k].cycles = cycles[k];
        }
        port_pressure_print(&out, &p);
        assert_string_equal(str_text(&out), row[i].want);
        str_free(&out);
    }
}

/* Broadcasts are of 32 or 64 bits, into registers of three widths; what follows them stays. */
static void broadcasts_are_rewritten(void **state)
{
    static const char text[] = "kernel:\n.L1:\n    vmulpd ymm0,ymm1,QWORD BCST [rdi]\n"
        "    vmulpd zmm0,zmm1,QWORD BCST [rdi+0x8]\n    vmulps xmm0,xmm1,DWORD BCST [rdi]\n"
        "    vcmpps k1,ymm1,DWORD BCST [rdi],0x1\n    vaddps ymm0,ymm1,YMMWORD PTR [rdi]\n";
    static const struct code_loop once[] = { { 0, "K", 2, -1, 1 } };
    static const int in[] = { -1, 0, 0, 0, 0, 0, 0 };
    static const struct code_lines seven = { 1, once, 7, in, NULL };
    struct port_pressure p;
    char line[300], seen[500] = "";
    (void)state;
    snprintf(line, sizeof line, "cat /dev/fd/3 > %s/seen", dir);
    script(line);
    port_pressure_read(text, &seven, &(struct mca_models){ 1, true, 0, { "any" } }, NULL, &p);
    assert_string_equal(p.reason, "llvm-mca does not read this loop: no output");
    snprintf(line, sizeof line, "%s/seen", dir);
    FILE *f = fopen(line, "r");
    assert_non_null(f);
    assert_true(fread(seen, 1, sizeof seen - 1, f) > 0);
    fclose(f);
    assert_string_equal(seen, ".intel_syntax noprefix\n"
                        "    vmulpd ymm0,ymm1,QWORD PTR [rdi]{1to4}\n"
                        "    vmulpd zmm0,zmm1,QWORD PTR [rdi+0x8]{1to8}\n"
                        "    vmulps xmm0,xmm1,DWORD PTR [rdi]{1to4}\n"
                        "    vcmpps k1,ymm1,DWORD PTR [rdi]{1to8},0x1\n"
                        "    vaddps ymm0,ymm1,YMMWORD PTR [rdi]\n");
}

static void its_ports(void **state)
{
    struct port_pressure p;
    struct str text = {0};
    char line[1500], seen[300] = "";
    (void)state;
    snprintf(line, sizeof line,
             "cat /dev/fd/3 > %s/seen\ncat << 'E'\nIterations: 100\nTotal Cycles:      410\n"
             "IPC:               0.73\nBlock RThroughput: 1.5\n\n\nResources:\n[0]   - XPort0\n"
             "[1]   - XPort1\n[2.0] - XPort23\n[2.1] - XPort23\n\n\n"
             "Resource pressure per iteration:\n[0]    [1]    [2.0]  [2.1]  \n"
             " -     1.50   0.25   0.75   \n\nResource pressure by instruction:\nE", dir);
    script(line);
    port_pressure_read(assembly, &lines, NULL, NULL, &p);
    assert_string_equal(p.reason, "");
    assert_int_equal(p.loop, 1);
    assert_int_equal(p.n, 4);
    port_pressure_print(&text, &p);
    assert_string_equal(str_text(&text),
                        "by llvm-mca's model of native: 1.5 cycles an iteration at least, "
                        "4.1 predicted, IPC 0.73; XPort1 1.5, XPort23.1 0.8, XPort23.0 0.2");
    str_free(&text);
    snprintf(line, sizeof line, "%s/seen", dir);
    FILE *f = fopen(line, "r");
    assert_non_null(f);
    size_t n = fread(seen, 1, sizeof seen - 1, f);
    fclose(f);
    assert_true(n > 0);
    assert_string_equal(seen, ".intel_syntax noprefix\n"
                        "    vfmadd231ps zmm0,zmm1,DWORD PTR [rdi+0x4]{1to16}\n"
                        "    dec    eax\n    jne    .L1\n");
}

/* LLVM 14 knows no Zen 4 and no Zen 5, and its Zen 3 has no AVX-512. */
static void the_nearest_model(void **state)
{
    static const char old[] = "Available CPUs for this target:\n\n"
        "  haswell        - Select the haswell processor.\n"
        "  icelake-server - Select the icelake-server processor.\n"
        "  sapphirerapids - Select the sapphirerapids processor.\n"
        "  znver2         - Select the znver2 processor.\n"
        "  znver3         - Select the znver3 processor.\n\n"
        "Available features for this target:\n\n  znver5 - No CPU.\n";
    static const struct { struct machine_cpu cpu; bool exact; const char *names; } row[] = {
        { { "AuthenticAMD", 0x1a, 2 }, false, "znver3 znver2 icelake-server haswell " },
        { { "AuthenticAMD", 0x19, 1 }, true, "znver3 znver2 icelake-server haswell " },
        { { "AuthenticAMD", 0x19, 0x11 }, false, "znver3 znver2 icelake-server haswell " },
        { { "AuthenticAMD", 0x17, 0x31 }, true, "znver2 icelake-server haswell " },
        { { "GenuineIntel", 6, 0xcf }, false, "sapphirerapids icelake-server haswell " },
        { { "GenuineIntel", 6, 0x3f }, true, "haswell icelake-server " },
        { { "GenuineIntel", 15, 2 }, false, "icelake-server haswell " },
        { { "", 0, 0 }, false, "icelake-server haswell " },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct mca_models m = mca_models_of(&row[i].cpu, old);
        struct str names = {0};
        for (int k = 0; k < m.n; k++)
            str_printf(&names, "%s ", m.name[k]);
        assert_string_equal(str_text(&names), row[i].names);
        assert_int_equal(m.exact, row[i].exact);
        str_free(&names);
    }
    assert_int_equal(mca_models_of(&row[0].cpu, "").n, 0);
}

/* Family and model numbers, as /proc/cpuinfo has them, and the name of the CPU's own model. */
static const struct { const char *vendor; int family; const char *name; int model[5]; } cpus[] = {
    { "AuthenticAMD", 23, "znver1", { 1, 8, 24 } },
    { "AuthenticAMD", 23, "znver2", { 49, 113 } },
    { "HygonGenuine", 24, "znver1", { 1 } },
    { "AuthenticAMD", 25, "znver3", { 1, 33, 80 } },
    { "AuthenticAMD", 25, "znver4", { 17, 97 } },
    { "AuthenticAMD", 26, "znver5", { 2, 68 } },
    { "GenuineIntel", 6, "haswell", { 60, 63, 69, 70 } },
    { "GenuineIntel", 6, "broadwell", { 61, 71, 79, 86 } },
    { "GenuineIntel", 6, "skylake", { 78, 94, 142, 158, 165 } },
    { "GenuineIntel", 6, "skylake-avx512", { 85 } },
    { "GenuineIntel", 6, "icelake-client", { 125, 126 } },
    { "GenuineIntel", 6, "icelake-server", { 106, 108 } },
    { "GenuineIntel", 6, "tigerlake", { 140, 141 } },
    { "GenuineIntel", 6, "rocketlake", { 167 } },
    { "GenuineIntel", 6, "sapphirerapids", { 143 } },
    { "GenuineIntel", 6, "emeraldrapids", { 207 } },
    { "GenuineIntel", 6, "graniterapids", { 173, 174 } },
    { "GenuineIntel", 6, "alderlake", { 151, 154 } },
    { "GenuineIntel", 6, "raptorlake", { 183, 186, 191 } },
    { "GenuineIntel", 6, "meteorlake", { 170, 172 } },
    { "GenuineIntel", 6, "arrowlake", { 181, 197, 198 } },
    { "GenuineIntel", 6, "lunarlake", { 189 } },          /* among the numbers of Raptor Lake */
};

static void check_cpu(const char *vendor, int family, int model, const char *help, const char *name)
{
    struct machine_cpu cpu = { .family = family, .model = model };
    snprintf(cpu.vendor, sizeof cpu.vendor, "%s", vendor);
    struct mca_models m = mca_models_of(&cpu, help);
    double cycles = !name ? 0 : streq(name, "znver1") ? 1 : 0.5;
    if (m.exact != (name != NULL) || m.n < 1 || (name && !streq(m.name[0], name))
        || m.fma_cycles != cycles)
        fail_msg("%s %d %d: %s, exact %d, %g cycles", vendor, family, model,
                 m.n ? m.name[0] : "none", m.exact, m.fma_cycles);
}

static void models_of_cpus(void **state)
{
    struct str help = {0};
    (void)state;
    str_add(&help, "Available CPUs for this target:\n\n");
    for (int i = 0; i < COUNT_OF(cpus); i++)
        str_printf(&help, "  %-15s - Select.\n", cpus[i].name);
    for (int i = 0; i < COUNT_OF(cpus); i++)
        for (int k = 0; k < 5 && cpus[i].model[k]; k++)
            check_cpu(cpus[i].vendor, cpus[i].family, cpus[i].model[k], str_text(&help),
                      cpus[i].name);
    check_cpu("GenuineIntel", 7, 60, str_text(&help), NULL);
    check_cpu("GenuineIntel", 6, 59, str_text(&help), NULL);
    check_cpu("GenuineIntel", 6, 62, str_text(&help), NULL);
    check_cpu("HygonGenuine", 6, 60, str_text(&help), NULL);
    str_free(&help);
}

/* A model that does not read the loop is followed by the next one. */
static void the_next_model(void **state)
{
    struct port_pressure p;
    struct str text = {0};
    (void)state;
    script("case $1 in\n"
           "*help) printf '  icelake-server - Select.\\n  skylake-avx512 - Select.\\n' ;;\n"
           "*skylake-avx512) printf 'Total Cycles: 200\\nIPC: 1\\n\\nResources:\\n[0] - P\\n'\n"
           "printf '\\nResource pressure per iteration:\\n[0]\\n1.00\\n' ;;\n"
           "*) echo 'error: found an unsupported instruction'; exit 1 ;;\nesac");
    port_pressure_read(assembly, &lines, NULL, NULL, &p);
    assert_string_equal(p.reason, "");
    assert_string_equal(p.model, "skylake-avx512");
    port_pressure_print(&text, &p);
    assert_true(p.exact || strstr(str_text(&text), "skylake-avx512 (the nearest model to this"));
    str_free(&text);
}

/* A model with half of the CPU's FMAs is left for the next one; if no other answers, it is said. */
static void a_model_with_few_fmas(void **state)
{
    static const struct mca_models both = { 2, true, 0.5, { "near", "far" } },
                                   one = { 1, true, 0.5, { "near" } };
    struct port_pressure p;
    struct str text = {0};
    (void)state;
    script("fmas=$(grep -c 'vfmadd.*ymm14' /dev/fd/3)\n[ $1 = -mcpu=far ] && fmas=$((fmas / 2))\n"
           "printf \"Total Cycles: 200\\nIPC: 1\\nBlock RThroughput: $fmas\\n\\nResources:\\n\"\n"
           "printf '[0] - P\\n\\nResource pressure per iteration:\\n[0]\\n1.00\\n'");
    port_pressure_read(assembly, &lines, &both, NULL, &p);
    port_pressure_print(&text, &p);
    assert_true(str_starts(str_text(&text), "by llvm-mca's model of far (LLVM's model of near has "
                                            "fewer FMAs a cycle than this CPU): 0.0 cycles"));
    str_clear(&text);
    port_pressure_read(assembly, &lines, &one, NULL, &p);
    port_pressure_print(&text, &p);
    assert_true(str_starts(str_text(&text), "by llvm-mca's model of near (which has fewer FMAs a "
                                            "cycle than this CPU): "));
    str_free(&text);
}

static void why_there_are_none(void **state)
{
#define UNREAD "llvm-mca does not read this loop: "
#define ZEROS "00000000000000000000000000000000000000000000000000" \
              "00000000000000000000000000000000000000000000000000"        /* a hundred */
    static const struct { const char *script, *reason; } row[] = {
        { "echo 'error: no such insn'; exit 1", UNREAD "error: no such insn" },
        { "echo 'Total Cycles: 4'", UNREAD "Total Cycles: 4" },
        { "exit 0", UNREAD "no output" }, { "echo; echo; exit 1", UNREAD "no output" },
        { "echo; echo 'error: no loop'; exit 1", UNREAD "error: no loop" },
        { "kill -9 $$", "llvm-mca was ended by signal 9" },
        { "printf '%0150d\\n' 0; exit 1", UNREAD ZEROS },
        /* no port, no cycle, no table */
        { "printf 'Total Cycles: 4\\nResource pressure per iteration:\\n[0]\\n1.00\\n'",
          UNREAD "Total Cycles: 4" },
        { "printf 'Total Cycles: 0\\n\\nResources:\\n[0] - P\\n\\nResource pressure per "
          "iteration:\\n[0]\\n1.00\\n'", UNREAD "Total Cycles: 0" },
        { "printf 'Total Cycles: 4\\n\\nResources:\\n[0] - P\\n'", UNREAD "Total Cycles: 4" },
    };
    static const int outside[] = { -1, -1, -1, -1, -1, -1, -1 };
    static const struct code_lines none = { 0, NULL, 7, outside, NULL };
    struct port_pressure p;
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        script(row[i].script);
        port_pressure_read(assembly, &lines, NULL, NULL, &p);
        assert_string_equal(p.reason, row[i].reason);
    }
    port_pressure_read(assembly, &none, NULL, NULL, &p);
    assert_string_equal(p.reason, "the kernel has no loop");
    setenv("PATH", "/nowhere", 1);
    port_pressure_read(assembly, &lines, NULL, NULL, &p);
    assert_string_equal(p.reason, "llvm-mca is not installed (Debian package llvm)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hottest_loop), cmocka_unit_test(an_outer_loop_can_be_the_hottest),
        cmocka_unit_test(its_ports), cmocka_unit_test(answers_are_printed),
        cmocka_unit_test(broadcasts_are_rewritten), cmocka_unit_test(models_of_cpus),
        cmocka_unit_test(the_nearest_model), cmocka_unit_test(the_next_model),
        cmocka_unit_test(a_model_with_few_fmas), cmocka_unit_test(why_there_are_none),
    };
    char path[300];
    dir = temp_dir(NULL);
    snprintf(path, sizeof path, "%s:/usr/bin:/bin", dir);
    setenv("PATH", path, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
