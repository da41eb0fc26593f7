/* Line differences against a table of longest common subsequences; normalised assembly; the printed
 * comparison of two states. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "app/views/compare_doc.h"
#include "kernels/base/arena.h"
#include "kernels/base/diff.h"
#include "sessions/report/compare_nest.h"
#include "tests/unit/golden.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define MOST 24

static int common(const char *const *a, int n, const char *const *b, int m)
{
    int best[MOST + 1][MOST + 1] = { { 0 } };
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= m; j++)
            best[i][j] = streq(a[i - 1], b[j - 1]) ? best[i - 1][j - 1] + 1
                       : best[i - 1][j] > best[i][j - 1] ? best[i - 1][j] : best[i][j - 1];
    return best[n][m];
}

static void check_diff(void **state)
{
    static const char *const letter[] = { "a", "b", "c", "d" };
    unsigned seed = 1;
    (void)state;
    for (int round = 0; round < 3000; round++) {
        const char *a[MOST], *b[MOST];
        int n = rand_r(&seed) % MOST, m = rand_r(&seed) % MOST, i = 0, j = 0, equal = 0;
        int letters = 1 + rand_r(&seed) % 4;
        struct diff_row *row;
        for (int k = 0; k < MOST; k++) {
            a[k] = letter[rand_r(&seed) % letters];
            b[k] = letter[rand_r(&seed) % letters];
        }
        int rows = diff_lines(a, n, b, m, &row);
        for (int k = 0; k < rows; k++) {
            assert_true(row[k].a >= 0 || row[k].b >= 0);
            if (row[k].a >= 0)
                assert_int_equal(row[k].a, i++);
            if (row[k].b >= 0)
                assert_int_equal(row[k].b, j++);
            if (row[k].a < 0 || row[k].b < 0) {
                bool after = k > 0 && row[k].b < 0 && row[k - 1].a < 0;
                assert_false(after);                  /* lines of a come first */
                continue;
            }
            assert_string_equal(a[row[k].a], b[row[k].b]);
            equal++;
        }
        assert_int_equal(i, n);
        assert_int_equal(j, m);
        assert_int_equal(equal, common(a, n, b, m));
        free(row);
    }
}

/* Where there are more differences than are searched for, everything in between is one. */
static void check_large_diff(void **state)
{
    enum { N = 3000 };
    static const char *a[N], *b[N];
    struct diff_row *row;
    (void)state;
    for (int i = 0; i < N; i++) {
        a[i] = i == 0 || i == N - 1 ? "same" : "a";
        b[i] = i == 0 || i == N - 1 ? "same" : "b";
    }
    assert_int_equal(diff_lines(a, N, b, N, &row), 2 * (N - 2) + 2);
    assert_int_equal(row[0].b, 0);
    assert_int_equal(row[1].b, -1);
    assert_int_equal(row[2 * (N - 2) + 1].b, N - 1);
    free(row);
}

static void check_assembly(void **state)
{
    static const struct { const char *a, *b; bool same; } pairs[] = {
        { "    add    rax,0x20", "    add    r9,0x20", true },
        { "    add    rax,0x20", "    add    r9,0x40", false },
        { "    add    rax,0x20", "    add    eax,0x20", false },
        { "    xor    eax,eax", "    xor    r8d,r8d", true },
        { "    vmovups ymm1,ymm2", "    vmovups ymm7,ymm9", true },
        { "    vmovups ymm1,ymm2", "    vmovups zmm1,zmm2", false },
        { "    jne    .L2", "    jne    .L7", true },
        { ".L2:", ".L7:", true },
        { "    nop  # one", "    nop", true },
        { "    mov    rdi,QWORD PTR [rsi+rax*4]", "    mov    r8,QWORD PTR [r9+r10*4]", true },
        { "    mov    rdi,QWORD PTR [rsi+rax*4]", "    mov    r8,QWORD PTR [r9+r10*8]", false },
        { "    kmovw  k1,eax", "    kmovw  k7,r15d", true },
        { "    kmovw  k1,eax", "    kmovw  k12,eax", false },
        { "    mov    r8b,r9b", "    mov    r10b,r11b", true },
        { "    mov    r8b,r9b", "    mov    r8w,r9w", false },
        { "    mov    r8w,r9w", "    mov    r8d,r9d", false },
        { "    mov    r8,r9", "    mov    r8d,r9d", false },
        { "    push   rsp", "    push   r15", true },
        { "    push   esp", "    push   ebp", true },
        { "    push   ax", "    push   bx", false },
        { "    lea    rax,[rip+0x8]", "    lea    rax,[rbx+0x8]", false },
        { "    vxorps xmm1,xmm2", "    vxorps xmm15,xmm0", true },
        { "    vxorps xmm1,xmm2", "    vxorps ymm1,ymm2", false },
        { "    call   xmmx", "    call   xmm1", false },
        { "    jmp    .LC0", "    jmp    .L3", true },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(pairs); i++) {
        struct compare_side side[2] = { { .text = pairs[i].a }, { .text = pairs[i].b } };
        struct compare_lines x;
        compare_lines(side, COMPARE_ASM, &x);
        if ((x.differences == 0) != pairs[i].same)
            fail_msg("%s | %s: %d differences", pairs[i].a, pairs[i].b, x.differences);
        compare_lines_free(&x);
        compare_lines(side, COMPARE_NEST, &x);
        assert_int_equal(x.differences, 1);
        compare_lines_free(&x);
    }
}

/* The number of the line of B beside line `a` of A; -1: none. */
static int beside(const char *const *a, int n, const char *const *b, int m, int line)
{
    struct diff_row *row;
    int rows = compare_nest_rows(a, n, b, m, &row), found = -1, i = 0, j = 0;
    for (int k = 0; k < rows; k++) {
        assert_true(row[k].a < 0 || row[k].a == i++);
        assert_true(row[k].b < 0 || row[k].b == j++);
        if (row[k].a >= 0 && row[k].b >= 0)
            assert_string_equal(a[row[k].a], b[row[k].b]);
        if (row[k].a == line && (row[k].b >= 0 || (k + 1 < rows && row[k + 1].a < 0)))
            found = row[k].b >= 0 ? row[k].b : row[k + 1].b;
    }
    assert_int_equal(i, n);
    assert_int_equal(j, m);
    free(row);
    return found;
}

/* The only nest of A is beside the main nest of B, though it shares more lines with its remainder;
 * the same within a loop, and for nests of other tensors. */
static void check_nests(void **state)
{
    static const char *const a[] = {
        "for m, n in range(128, 512):", "    C[m][n] = 0", "    for k in range(256):",
        "        C[m][n] += A[m][k] * B[k][n]",
    };
    static const char *const b[] = {
        "for n in range(512):", "    A[n] = A_in[n]",
        "for m.1, n in range(2, 512):  # m.0 = 21", "    C[m][n] = 0",
        "    for k in range(256):", "        C[m][n] += A[m][k] * B[k][n]",
        "for m.0, m.1, n in range(21, 6, 512):", "    C[6*m.0 + m.1][n] = 0",
        "    for k in range(256):", "        C[6*m.0 + m.1][n] += A[6*m.0 + m.1][k] * B[k][n]",
    };
    static const char *const c[] = {
        "for h in range(3):", "    for w in range(0, 3):", "        X[w] = 0",
        "    for w in range(3, 220):", "        X[w] = Y[w] + 1",
    };
    static const char *const d[] = {
        "for h in range(3):", "    for w in range(230):", "        X[w] = Y[w] + 2",
    };
    (void)state;
    assert_int_equal(beside(a, 4, b, 10, 0), 6);
    assert_int_equal(beside(a, 4, b, 10, 2), 8);
    assert_int_equal(beside(b, 10, a, 4, 6), 0);
    assert_int_equal(beside(b, 10, a, 4, 2), -1);
    assert_int_equal(beside(c, 5, d, 3, 3), 1);
    assert_int_equal(beside(c, 5, d, 3, 0), 0);
    assert_int_equal(beside(d, 3, c, 5, 1), 3);
    assert_int_equal(beside(a, 4, a, 0, 0), -1);
}

/* A nest is put beside the one that writes the same tensor and whose statements run nearly as
 * often; beside the one that begins with the same line if several are equal in this. */
static void check_sizes(void **state)
{
    static const char *const one[] = { "for m in range(90):", "    C[m] = A[m] + 1" };
    static const char *const two[] = {
        "for m in range(10):", "    C[m] = A[m] + 2",
        "for m, n in range(9, 9):", "    C[m] = A[m] + 3",
    };
    static const char *const ends[] = {
        "for m in range(4, 94):", "    C[m] = A[m] + 4", "for n in range(2, 45):",
        "    C[n] = A[n] + 5",
    };
    static const char *const begins[] = {
        "for n in range(90):", "    C[n] = A[n] + 6", "for m in range(90):",
        "    C[m] = A[m] + 7",
    };
    static const char *const nested[] = {
        "for m in range(10):", "    for n in range(9):", "        C[m] = A[m] + 8",
        "for m in range(2):", "    for n in range(40):", "        C[m] = A[m] + 9",
    };
    (void)state;
    assert_int_equal(beside(one, 2, two, 4, 0), 2);      /* 81 statements, and not 10 */
    assert_int_equal(beside(one, 2, ends, 4, 0), 0);     /* 94 - 4 = 90, and not 45 - 2 = 43 */
    assert_int_equal(beside(one, 2, begins, 4, 0), 2);
    assert_int_equal(beside(one, 2, nested, 6, 0), 0);   /* 10 * 9 = 90, and not 80 */
}

/* A site of a test: the tensor's number in by_tensor and what gen notes of the access. */
static void put_site(struct sim_result *r, const char *text, int tensor, bool store,
                     const char *into, int operand, int64_t misses)
{
    struct sim_site *s = &r->site[r->n_sites++];
    *s = (struct sim_site){ .tensor = tensor, .is_store = store, .operand = operand,
                            .cost = { .l1_misses = misses, .l2_misses = misses / 2 } };
    snprintf(s->text, sizeof s->text, "%s", text);
    snprintf(s->into, sizeof s->into, "%s", into);
}

static const struct compare_misses *row_of(const struct compare_misses *row, int n,
                                           const char *name)
{
    for (int i = 0; i < n; i++)
        if (streq(row[i].name, name))
            return &row[i];
    fail_msg("no row %s", name);
    return NULL;
}

/* Sites are put side by side by the access of the operator that they come from, not by their
 * text; those of a remainder count for the same access. */
static void check_sites(void **state)
{
    static struct sim_result sim[2];
    struct compare_misses row[COMPARE_MOST_MISSES];
    struct compare_side side[2] = { { .sim = &sim[0] }, { .sim = &sim[1] } };
    (void)state;
    for (int i = 0; i < 2; i++) {
        sim[i] = (struct sim_result){ .available = true, .n = 3 };
        for (int t = 0; t < 3; t++)
            sprintf(sim[i].by_tensor[t].tensor, "%c", 'A' + t);
    }
    put_site(&sim[0], "B[k][16*n.0 + n.1]", 1, false, "C", 0, 900);
    put_site(&sim[0], "A[m][k]", 0, false, "C", 0, 500);
    put_site(&sim[0], "A[m][k + 1]", 0, false, "C", 1, 400);
    put_site(&sim[0], "C[m][n]", 2, true, "C", 0, 70);
    put_site(&sim[1], "A_tile[k]", 0, false, "C", 0, 450);
    put_site(&sim[1], "B[k][8*n.0 + n.1]", 1, false, "C", 0, 300);
    put_site(&sim[1], "A[m][k + 1]", 0, false, "C", 1, 200);
    put_site(&sim[1], "A[m][k]", 0, false, "A", 0, 100);
    put_site(&sim[1], "C[6*m.0 + m.1][n]", 2, true, "C", 0, 60);
    put_site(&sim[1], "C[m][n]", 2, true, "C", 0, 10);
    int n = compare_sites(side, row);
    assert_int_equal(n, 5);
    const struct compare_misses *b = row_of(row, n, "B[k][16*n.0 + n.1]");
    assert_true(b->l1[0] == 900 && b->l1[1] == 300 && b->l2[1] == 150);
    assert_string_equal(b->now, "B[k][8*n.0 + n.1]");
    assert_ptr_equal(b, row);
    const struct compare_misses *c = row_of(row, n, "C[m][n]");
    assert_true(c->store && c->l1[0] == 70 && c->l1[1] == 70 && c->n[0] == 1 && c->n[1] == 2);
    assert_string_equal(c->now, "C[6*m.0 + m.1][n]");
    assert_null(row_of(row, n, "A[m][k + 1]")->now);
    assert_int_equal(row_of(row, n, "A[m][k + 1]")->l1[1], 200);
    /* The operand is read from a tile now; copying it there is an access that A does not have. */
    assert_string_equal(row[1].name, "A[m][k]");
    assert_string_equal(row[1].now, "A_tile[k]");
    assert_true(row[1].l1[0] == 500 && row[1].l1[1] == 450);
    assert_true(row[3].l1[0] == -1 && row[3].l1[1] == 100 && row[3].now == NULL);
    /* An older measurement has the texts alone. */
    for (int i = 0; i < sim[0].n_sites; i++)
        sim[0].site[i].into[0] = 0;
    n = compare_sites(side, row);
    assert_int_equal(row_of(row, n, "B[k][16*n.0 + n.1]")->l1[1], -1);
    assert_int_equal(row_of(row, n, "A[m][k + 1]")->l1[1], 200);
}

/* The operands of real schedules have their places in the operator. */
static void check_simulated(void **state)
{
    static const char *const steps[] = { "loop split C N 9 8", "loop split C M 4 6",
                                         "loop reorder C M.0 N.0 K M.1 N.1" };
    static struct measurement m[2];
    struct compare_misses row[COMPARE_MOST_MISSES];
    struct compare_side side[2] = { { .sim = &m[0].sim }, { .sim = &m[1].sim } };
    struct measure_opts o = { .meters = METER_SIM, .seed = 1 };
    struct arena *a = arena_new();
    struct err e;
    int bad;
    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct program *p;
        assert_true(program_replay(a, "gmm m=24 k=16 n=72", steps, i * COUNT_OF(steps), &p, &bad,
                                   &e));
        assert_true(measure_program(p, &o, NULL, NULL, &m[i], &e));
        assert_true(m[i].sim.available);
    }
    int n = compare_sites(side, row);
    assert_string_equal(row_of(row, n, "B[k][n]")->now, "B[k][8*n.0 + n.1]");
    assert_string_equal(row_of(row, n, "A[m][k]")->now, "A[6*m.0 + m.1][k]");
    assert_string_equal(row_of(row, n, "C[m][n]")->now, "C[6*m.0 + m.1][8*n.0 + n.1]");
    for (int i = 0; i < n; i++)           /* only B loads C, which A sums in a register */
        assert_true(row[i].n[0] > 0 || (!row[i].store && row[i].name[0] == 'C'));
    arena_free(a);
}

/* One access or tensor of a test, in every respect that tells accesses apart. */
static void same_or_not(void **state)
{
    static struct sim_result sim[2];
    struct compare_misses row[COMPARE_MOST_MISSES];
    struct compare_side side[2] = { { .sim = &sim[0] }, { .sim = &sim[1] } };
    static const struct {
        const char *text, *into; bool store; int operand, rows, tensor;
    } other[] = {
        { "A[m][k]", "C", false, 0, 1, 0 }, { "A[2*m][k]", "C", false, 0, 1, 0 },
        { "A[m][k]", "C", true, 0, 2, 0 },  { "A[m][k]", "D", false, 0, 2, 0 },
        { "A[m][k]", "C", false, 1, 2, 0 }, { "AB[m][k]", "C", false, 0, 1, 0 },
        { "AB[m][k]", "C", false, 0, 2, 1 }, { "AB[m][k]", "C", false, 0, 2, 2 },
        { "AB[m][k]", "C", true, 0, 2, 0 }, { "AB[m][k]", "C", false, 1, 2, 0 },
        { "AB[m][k]", "D", false, 0, 2, 0 }, { "A[m][k]", "", false, 0, 1, 0 },
        { "A[2*m][k]", "", false, 0, 2, 0 }, { "A[m][k]", "", true, 0, 2, 0 },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(other); i++) {
        for (int k = 0; k < 2; k++) {
            sim[k] = (struct sim_result){ .available = true, .n = 2 };
            strcpy(sim[k].by_tensor[0].tensor, "A");
            strcpy(sim[k].by_tensor[1].tensor, "B");
        }
        put_site(&sim[0], "A[m][k]", 0, false, "C", 0, 40);
        put_site(&sim[1], other[i].text, other[i].tensor, other[i].store, other[i].into,
                 other[i].operand, 30);
        if (compare_sites(side, row) != other[i].rows)
            fail_msg("row %d, %s: not %d rows", i, other[i].text, other[i].rows);
    }
}

/* By the larger of the two misses, then by name; and what a side does not have is null. */
static void check_order(void **state)
{
    static struct sim_result sim[2] = {
        { .available = true, .n = 3, .by_tensor = { { "A", .cost = { 10, 3, 0, 0, 0, 0 } },
            { "B", .cost = { 50, 1, 0, 0, 0, 0 } }, { "D", .cost = { 50, 2, 0, 0, 0, 0 } } } },
        { .available = true, .n = 3, .by_tensor = { { "B", .cost = { 5, 2, 0, 0, 0, 0 } },
            { "C", .cost = { 70, 4, 0, 0, 0, 0 } }, { "A", .cost = { 50, 6, 0, 0, 0, 0 } } } },
    };
    static const struct { const char *name; int n[2]; int64_t l1[2], l2[2]; } want[] = {
        { "C", { 0, 1 }, { -1, 70 }, { -1, 4 } }, { "A", { 1, 1 }, { 10, 50 }, { 3, 6 } },
        { "B", { 1, 1 }, { 50, 5 }, { 1, 2 } }, { "D", { 1, 0 }, { 50, -1 }, { 2, -1 } },
    };
    struct compare_misses row[COMPARE_MOST_MISSES];
    struct compare_side side[2] = { { .sim = &sim[0] }, { .sim = &sim[1] } };
    (void)state;
    assert_int_equal(compare_tensors(side, row), COUNT_OF(want));
    for (int i = 0; i < COUNT_OF(want); i++) {
        assert_string_equal(row[i].name, want[i].name);
        for (int k = 0; k < 2; k++) {
            assert_int_equal(row[i].n[k], want[i].n[k]);
            assert_true(row[i].l1[k] == want[i].l1[k] && row[i].l2[k] == want[i].l2[k]);
        }
    }
    side[0].sim = side[1].sim = NULL;
    assert_int_equal(compare_tensors(side, row), 0);
    assert_int_equal(compare_sites(side, row), 0);
}

/* The times of both, of a GPU alone; the ratio is B over A. */
static void check_simulated_json(void **state)
{
    static struct sim_result sim[2] = {
        { .available = true, .gpu = "h100", .fma_ns = 1, .dram_ns = 4, .n = 1, .n_sites = 1 },
        { .available = true, .gpu = "h100", .l1_ns = 2, .l2_ns = 1, .n = 1, .n_sites = 1 },
    };
    struct arena *a = arena_new();
    struct compare_side side[2];
    struct str out = {0};
    struct err e;
    double ns[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        strcpy(sim[i].by_tensor[0].tensor, "A");
        strcpy(sim[i].site[0].text, i ? "A[2*m]" : "A[m]");
        strcpy(sim[i].site[0].into, "C");
        sim[i].by_tensor[0].cost.l1_misses = sim[i].site[0].cost.l1_misses = 8 - i;
        side[i] = (struct compare_side){ .name = i ? "b" : "a", .text = "for m in range(8):\n",
                                         .sim = &sim[i] };
        assert_true(program_new(a, "gmm m=8 k=8 n=8", &side[i].program, &e));
    }
    assert_true(compare_simulated(side, ns) && ns[0] == 4 && ns[1] == 2);
    compare_json(&out, side, COMPARE_C);
    const char *text = str_text(&out), *from = strstr(text, "\"other_contract\"");
    assert_non_null(from);
    assert_string_equal(from,
        "\"other_contract\": null,\n  \"of\": \"c\",\n  \"differences\": 0,\n"
        "  \"lines\": [\n    {\n      \"a\": \"for m in range(8):\",\n"
        "      \"b\": \"for m in range(8):\",\n      \"same\": true\n    }\n  ],\n"
        "  \"tensors\": [\n    {\n      \"tensor\": \"A\",\n      \"l1_misses_a\": 8,\n"
        "      \"l1_misses_b\": 7,\n      \"l2_misses_a\": 0,\n      \"l2_misses_b\": 0\n"
        "    }\n  ],\n  \"sites\": [\n    {\n      \"site\": \"A[m]\",\n"
        "      \"site_b\": \"A[2*m]\",\n      \"store\": false,\n      \"places_a\": 1,\n"
        "      \"places_b\": 1,\n      \"l1_misses_a\": 8,\n      \"l1_misses_b\": 7,\n"
        "      \"l2_misses_a\": 0,\n      \"l2_misses_b\": 0\n    }\n  ],\n"
        "  \"simulated\": {\n    \"gpu\": \"h100\",\n    \"ns\": [\n      4.0,\n"
        "      2.0\n    ],\n    \"ratio\": 0.5\n  }\n}\n");
    sim[1].gpu[0] = '\0';                  /* B was simulated on a CPU */
    assert_false(compare_simulated(side, ns));
    strcpy(sim[1].gpu, "h100");
    sim[1].available = false;
    assert_false(compare_simulated(side, ns));
    side[1].sim = NULL;
    assert_false(compare_simulated(side, ns));
    str_free(&out);
    arena_free(a);
}

static void print_doc(const struct compare_side side[2], const struct compared *time, int width,
                      struct str *out)
{
    struct doc d;
    doc_open(&d);
    compare_doc_head(&d, side, time, width);
    compare_doc_lines(&d, side, COMPARE_NEST, true, width);
    compare_doc_misses(&d, side, width);
    for (int i = 0; i < d.lines.len; i++) {
        const char *text = d.lines.data[i].text;
        size_t n = strlen(text);
        while (n > 0 && text[n - 1] == ' ')
            n--;
        str_printf(out, "%.*s\n", (int)n, text);
    }
    doc_close(&d);
}

static void check_printed(void **state)
{
    static const char *const steps[] = {
        "set input_layout given", "layout set A \"K M\"", "loop reorder C M K N",
        "loop vectorize C N",
    };
    struct sim_result sim[2] = { { .available = true, .l1_misses = 1200, .n = 2, .n_sites = 1 },
                                 { .available = true, .l1_misses = 300, .n = 1, .n_sites = 2 } };
    struct compared time[2] = {
        { .m = { .outcome = OUTCOME_OK, .latency = { .median_ms = 0.0129, .min_ms = 0.0123 } } },
        { .m = { .outcome = OUTCOME_OK, .latency = { .median_ms = 0.0064, .min_ms = 0.0061 } },
          .ratio = { 0.5, 0.48, 0.52, 0.5 }, .verdict = VERDICT_FASTER },
    };
    struct arena *arena = arena_new();
    struct compare_side side[2] = { { .name = "a.yaml" }, { .name = "a.yaml@4" } };
    struct str text[2] = { { 0 }, { 0 } }, out = {0};
    struct err e;
    int bad;
    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct program *p;
        assert_true(program_replay(arena, "gmm m=24 k=16 n=32", steps, i * 4, &p, &bad, &e));
        program_print_nest(&text[i], p);
        side[i].program = p;
        side[i].text = str_text(&text[i]);
        side[i].sim = &sim[i];
        for (int t = 0; t < sim[i].n; t++)
            sim[i].by_tensor[t] = (struct tensor_count){
                .cost = { .l1_misses = 900 - 600 * i - 600 * t, .l2_misses = 10 + i } };
        strcpy(sim[i].by_tensor[0].tensor, "A");
        strcpy(sim[i].by_tensor[1].tensor, "B");
        for (int s = 0; s < sim[i].n_sites; s++) {
            sim[i].site[s] = (struct sim_site){ .cost.l1_misses = 900 - 600 * i,
                                                .is_store = s == 1, .into = "C" };
            strcpy(sim[i].site[s].text, s ? "C[m][n]" : i ? "A[k][m]" : "A[m][k]");
        }
    }
    print_doc(side, time, 100, &out);
    golden_check("tests/golden/compare-100.txt", str_text(&out));
    str_clear(&out);
    print_doc(side, NULL, 60, &out);
    golden_check("tests/golden/compare-60.txt", str_text(&out));
    str_clear(&out);
    print_doc(side, NULL, 36, &out);      /* lines are broken, and each row has its mark */
    golden_check("tests/golden/compare-36.txt", str_text(&out));
    side[1].sim = NULL;
    str_clear(&out);
    time[1] = (struct compared){ .m = { .outcome = OUTCOME_CRASH, .reason = "crashed: SIGSEGV" } };
    print_doc(side, time, 100, &out);
    assert_non_null(strstr(str_text(&out), "There is no ratio of the times: crashed: SIGSEGV"));
    str_clear(&out);
    compare_json(&out, side, COMPARE_NEST);
    golden_check("tests/golden/compare.json", str_text(&out));
    str_free(&out);
    for (int i = 0; i < 2; i++)
        str_free(&text[i]);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(check_diff), cmocka_unit_test(check_large_diff),
        cmocka_unit_test(check_assembly), cmocka_unit_test(check_nests),
        cmocka_unit_test(check_sites), cmocka_unit_test(check_simulated),
        cmocka_unit_test(check_printed), cmocka_unit_test(same_or_not),
        cmocka_unit_test(check_order), cmocka_unit_test(check_simulated_json),
        cmocka_unit_test(check_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
