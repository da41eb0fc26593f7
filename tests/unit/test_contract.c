/* Contracts: how the caller sees inputs and outputs, and how two contracts differ. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "explorer/history/history.h"
#include "kernels/program/contract.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define CONV "c2d n=1 i=16 h=8 w=8 o=16 k=3 p=1 bias=1 relu=1"

/* differs: from the operator without steps, or with the steps `than`. */
static const struct { const char *spec, *steps, *contract, *differs, *than; } cases[] = {
    { CONV, "", "as the caller has it", "", "" },
    /* A constant is packed ahead, and an input is converted by the kernel. */
    { CONV, "layout set Ker \"O/16 I KH KW 16o\"", "as the caller has it", "", "" },
    { "gmm m=8 k=8 n=8", "set input_layout given;layout set A \"K M\"", "A KM -> C MN",
      "A arrives as KM instead of MK", "" },
    { CONV, "layout set Conv \"N H W O\"", "Inp_in NIHW -> ReLU NHWO",
      "ReLU leaves as NHWO instead of NOHW", "" },
    { CONV, "layout set Conv \"N O/8 H W 8o\"", "Inp_in NIHW -> ReLU N O/8 H W 8o",
      "ReLU leaves as N O/8 H W 8o instead of NOHW", "" },
    { CONV, "set output_layout original;layout set Conv \"N H W O\"", "as the caller has it", "",
      "" },
    { "gmm m=8 k=8 n=8", "set input_layout given;layout set A KM;layout set C NM", "A KM -> C NM",
      "A arrives as KM instead of MK; C leaves as NM instead of MN", "" },
    /* y follows its first operand. */
    { "a = input m=4 k=4; b = input m=4 k=4; y = add(a, b)",
      "set input_layout given;layout set a KM", "a KM, b MK -> y KM",
      "a arrives as KM instead of MK; y leaves as KM instead of MK", "" },
    { "gmm m=8 k=8 n=8", "set input_layout given;layout set A KM",
      "A KM -> C MN", "", "set input_layout given;layout reorder A K M" },
    /* Layouts without a notation, whose dims look alike; one that moves no element. */
    { "gmm m=8 k=8 n=8", "layout pad C M before=1 after=1", "A MK -> C M=10 N=8",
      "C leaves as M=10 N=8 instead of another layout with the same dims",
      "layout pad C M before=2 after=0" },
    { "gmm m=8 k=8 n=8", "layout fuse C M N", "A MK -> C (M N)", "", "" },
};

static struct history *history_with(const char *spec, const char *steps)
{
    struct history *h;
    struct err e;
    char *text = xstrdup(steps), *rest = NULL;
    assert_true(history_new(spec, &h, &e));
    for (char *s = strtok_r(text, ";", &rest); s; s = strtok_r(NULL, ";", &rest))
        if (!history_apply(h, s, &e))
            fail_msg("%s: %s", s, e.text);
    free(text);
    return h;
}

static void check_contracts(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(cases); i++) {
        struct history *h = history_with(cases[i].spec, cases[i].steps);
        struct history *other = history_with(cases[i].spec, cases[i].than);
        struct str text = {0}, differs = {0}, back = {0};
        const struct program *p = history_current(h)->program;
        const struct program *bare = history_current(other)->program;
        contract_print(&text, p);
        assert_string_equal(str_text(&text), cases[i].contract);
        assert_int_equal(contract_difference(&differs, p, bare), cases[i].differs[0] != '\0');
        assert_string_equal(str_text(&differs), cases[i].differs);
        assert_int_equal(contract_difference(&back, bare, p), differs.len > 0);
        str_free(&text);
        str_free(&differs);
        str_free(&back);
        history_free(other);
        history_free(h);
    }
}

/* The ledger marks a time that is compared with one under another contract. */
static void check_ledger(void **state)
{
    (void)state;
    struct measurement m = { .outcome = OUTCOME_OK, .latency = { .min_ms = 1, .runs = 5 } };
    const char *const step[] = { "loop parallel Conv O", "layout set Conv \"N H W O\"" };
    struct ledger_row row[3];
    struct history *h;
    struct err e;
    assert_true(history_new(CONV, &h, &e));
    for (int i = 0; i < 2; i++) {
        history_set_measured(h, history_current(h)->id, &m);
        assert_true(history_apply(h, step[1 - i], &e));
    }
    history_set_measured(h, history_current(h)->id, &m);
    assert_int_equal(history_ledger(h, row, 3), 3);
    assert_int_equal(row[0].other_contract, -1);
    assert_int_equal(row[1].other_contract, 0);
    assert_int_equal(row[2].other_contract, -1);
    history_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(check_contracts),
                                        cmocka_unit_test(check_ledger) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
