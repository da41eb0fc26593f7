/* To which loop each line of the machine code belongs. */
#include "profile/measure/asm_loops.h"

#include <string.h>

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* M around K, and O beside M. */
static const struct code_loop loop[] = {
    { 0, "M", 4, -1, 1 }, { 0, "K", 100, 0, 2 }, { 1, "O", 9, -1, 3 },
};

/* Each line begins with the loop by the line table and the loop that is right: '.', none. */
static void check(const char *text)
{
    struct str assembly = {0};
    struct arena *a = arena_new();
    int of[64], right[64], n = 0;
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1, n++) {
        of[n] = line[0] == '.' ? -1 : line[0] - '0';
        right[n] = line[1] == '.' ? -1 : line[1] - '0';
        str_add_n(&assembly, line + 3, strcspn(line, "\n") - 3);
        str_add_char(&assembly, '\n');
    }
    struct code_lines lines = { 3, loop, n, of, NULL };
    asm_loops_find(a, str_text(&assembly), &lines);
    assert_int_equal(lines.n, n);
    for (int i = 0; i < n; i++)
        if (lines.of[i] != right[i])
            fail_msg("line %d is in loop %d, not %d, of\n%s", i + 1, lines.of[i], right[i], text);
    arena_free(a);
    str_free(&assembly);
}

/* The loads at the top of the inner loop come from a helper function, so the line table gives them
 * to the loop before; a load of the inner loop was moved out of it. */
static void code_counts_where_it_runs(void **state)
{
    (void)state;
    check(".. kernel:\n"
          "1.     vmovups ymm7,YMMWORD PTR [rsi]\n"
          "00 .L1:\n"
          "10     lea    rdx,[rcx-0x4000]\n"
          "01 .L2:\n"
          "01     vmovups ymm1,YMMWORD PTR [rdx]\n"
          "11     vfmadd231ps ymm3,ymm2,ymm1\n"
          "11     cmp    rcx,rdx\n"
          "11     jne    .L2\n"
          "00     inc    rdi\n"
          "00     jne    .L1\n"
          "..     ret\n");
}

/* Rare code stands behind the loop and jumps back into it; `jmp` goes back, but is no loop. */
static void rare_code_belongs_to_its_loop(void **state)
{
    (void)state;
    check(".. kernel:\n"
          "00 .L1:\n"
          "00     cmp    rax,rdx\n"
          "00     je     .L3\n"
          "00 .L2:\n"
          "00     inc    rdi\n"
          "00     jne    .L1\n"
          "2.     mov    eax,1\n"
          "..     ret\n"
          "00 .L3:\n"
          "20     xor    eax,eax\n"
          "00     jmp    .L2\n");
}

/* A loop that hands out parts to threads has the line of the loop that it divides. */
static void a_loop_around_is_further_out(void **state)
{
    (void)state;
    check(".. kernel._omp_fn.0:\n"
          "0. .L1:\n"
          "0.     mov    rdi,rsp\n"
          "00 .L2:\n"
          "00     inc    rdi\n"
          "00     jne    .L2\n"
          "0.     call   GOMP_loop_dynamic_next\n"
          "0.     jne    .L1\n"
          "..     ret\n"
          ".. \n"
          ".. other:\n"
          "22 .L3:\n"
          "12     inc    rdi\n"
          "22     jne    .L3\n"
          "..     jmp    free\n");
}

/* Jumps without a line: the outer one belongs to the loop around that of the inner one, the inner
 * one at least to the loop around it. */
static void jumps_may_have_no_line(void **state)
{
    (void)state;
    check(".. kernel:\n"
          "00 .L1:\n"
          "00     lea    rdx,[rcx-0x4000]\n"
          "11 .L2:\n"
          "11     vfmadd231ps ymm3,ymm2,ymm1\n"
          "11     jne    .L2\n"
          ".0     jne    .L1\n"
          "..     ret\n");
    check(".. kernel:\n"
          "00 .L1:\n"
          ".0 .L2:\n"
          ".0     inc    rdi\n"
          ".0     jne    .L2\n"
          "00     jne    .L1\n"
          "..     ret\n");
}

/* A loop of few iterations, unrolled by the compiler, runs as often as the loop around it. */
static void an_unrolled_loop_is_in_the_one_around(void **state)
{
    (void)state;
    check(".. kernel:\n"
          "00 .L1:\n"
          "10     vfmadd231ps ymm3,ymm2,ymm1\n"
          "10     vfmadd231ps ymm3,ymm2,ymm1\n"
          "00     dec    rdi\n"
          "00     jne    .L1\n"
          "..     jmp    .L2\n"
          "2. .L2:\n"
          "..     ret\n");
}

/* Jumps of AArch64 are known by their labels. */
static void other_processors(void **state)
{
    (void)state;
    check(".. kernel:\n"
          "00 .L1:\n"
          "00     mov    x1, x2\n"
          "01 .L2:\n"
          "01     fmla   v0.4s, v1.4s, v2.4s\n"
          "11     b.ne   .L2\n"
          "00     tbz    w3, #0, .L4\n"
          "00 .L3:\n"
          "00     cbnz   x4, .L1\n"
          "..     ret\n"
          "00 .L4:\n"
          "20     mov    x5, x6\n"
          "00     b      .L3\n");
    check(".. kernel:\n"
          "00 .L1:\n"
          "10     bl     expf\n"         /* a call, of which control comes back */
          "00     b.ne   .L1\n"
          "..     br     x30\n"
          "2. .L2:\n"
          "2.     ret\n");
}

/* Both jumps go back to the same place: one loop, known by the later one.  A jump to another
 * function goes nowhere here. */
static void a_loop_may_have_two_jumps(void **state)
{
    (void)state;
    check(".. kernel:\n"
          "00 .L1:\n"
          "10     cmp    rax,rdx\n"
          "10     je     .L1\n"
          "00     jb     .L99\n"
          "00     inc    rdi\n"
          "00     jne    .L1\n"
          "..     ret\n");
}

/* Code that control never reaches is in no loop, and neither is a circle with two entries. */
static void what_is_no_loop(void **state)
{
    (void)state;
    check(".. kernel:\n"
          "..     jmp    .L2\n"
          "0. .L1:\n"
          "0.     inc    rdi\n"
          "0.     jne    .L1\n"
          "2. .L2:\n"
          "..     ret\n");
    check(".. kernel:\n"
          "..     je     .L2\n"
          "0. .L1:\n"
          "0.     inc    rax\n"
          "0. .L2:\n"
          "0.     inc    rdi\n"
          "0.     jne    .L1\n"
          "..     ret\n");
}

/* A block that two paths reach is dominated by the one before both: the loop begins there. */
static void paths_meet_in_a_loop(void **state)
{
    (void)state;
    check(".. kernel:\n"
          "00 .L1:\n"
          "00     je     .L2\n"
          "20     inc    rax\n"
          "20     jmp    .L3\n"
          "20 .L2:\n"
          "20     inc    rbx\n"
          "01 .L3:\n"
          "01     inc    rcx\n"
          "11     jne    .L3\n"
          "00     inc    rdi\n"
          "00     jne    .L1\n"
          "..     ret\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_counts_where_it_runs),
        cmocka_unit_test(rare_code_belongs_to_its_loop),
        cmocka_unit_test(a_loop_around_is_further_out),
        cmocka_unit_test(jumps_may_have_no_line),
        cmocka_unit_test(an_unrolled_loop_is_in_the_one_around),
        cmocka_unit_test(other_processors), cmocka_unit_test(a_loop_may_have_two_jumps),
        cmocka_unit_test(what_is_no_loop), cmocka_unit_test(paths_meet_in_a_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
