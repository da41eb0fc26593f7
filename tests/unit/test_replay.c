/* Changes of past steps: what is said of them, which steps stay applied, and what a held step may
 * have meant.  And how predicted cures are compared. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "explorer/history/forecast.h"
#include "explorer/history/rebase.h"
#include "tests/unit/golden.h"
#include "tests/unit/history_help.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define CONV "c2d n=1 i=16 h=28 w=28 o=32 k=3 p=1"
#define THREE "loop parallel Conv H; loop unroll Conv KW; loop unroll Conv KH"
/* A split that nine steps follow: all are about loops that a fusion of M and N takes away. */
#define ONE_AND_EIGHT "loop split C N 32; loop split C M 2; loop unroll C M.1; " \
                      "loop parallel C M.0; loop serial C M.1; loop unroll C M.1; " \
                      "loop serial C M.0; loop parallel C M.0; loop serial C M.1"

/* The last line of each row is the change. */
static void changes_are_told(void **state)
{
    static const struct { const char *spec, *lines, *want; } table[] = {
        { CONV, "loop unroll Conv W; insert 1 loop split Conv W 4 7", "step 1 is inserted, 1 later "
          "step replayed; 1 no longer applies and is kept for repair (step 2); u undoes this "
          "change" },
        { "gmm m=64 k=64 n=64", ONE_AND_EIGHT "; edit 1 loop fuse C M N", "8 later steps replayed; "
          "8 no longer apply and are kept for repair (steps 2, 3, 4, 5, 6, 7, 8, 9); u undoes this "
          "change" },
        { "gmm m=64 k=64 n=64", ONE_AND_EIGHT "; loop unroll C M.1; edit 1 loop fuse C M N",
          "9 later steps replayed; 9 no longer apply and are kept for repair (steps 2, 3, 4, 5, 6, "
          "7, 8, 9, ...); u undoes this change" },
        { CONV, "loop parallel Conv H; loop unroll Conv KW; !; drop 1", "1 later step replayed; "
          "the measured steps from before are branch main~1; u undoes this change" },
        { CONV, THREE "; drop 3", "step 3 is dropped; u undoes this change" },
        { CONV, THREE "; edit 3 loop unroll Conv I", "step 3 is changed; u undoes this change" },
        { CONV, THREE "; edit 1 loop parallel Conv H", "step 1 is unchanged" },
        { CONV, THREE "; move 2 2", "step 2 is unchanged" },
        { CONV, THREE "; move 1 2", "2 other steps replayed; u undoes this change" },
        { CONV, "loop split Conv W 4 7; loop reorder Conv N O H W.0 I KH KW W.1; layout set Conv "
          "\"N H W O\"; loop parallel Conv H; edit 3 layout set Conv \"N O/16 H W 16o\"",
          "step 3 is changed and now step 2, 2 later steps replayed, 1 renamed; u undoes this "
          "change" },
        { CONV, "loop unroll Conv W; insert 1 loop split Conv W 4 7; drop 1",
          "1 later step replayed; step 1 applies again; u undoes this change" },
        { CONV, "loop unroll Conv W; loop unroll Conv H; insert 1 loop fuse Conv H W; drop 1",
          "2 later steps replayed; 2 steps apply again (1, 2); u undoes this change" },
        /* W.1 became W with the first change, and has its own name again */
        { CONV, "loop split Conv W 4 7; loop unroll Conv W.1; loop parallel Conv W.0; "
          "edit 1 loop split Conv H 4 7; edit 1 loop split Conv W 4 7", "2 later steps replayed, "
          "2 renamed; u undoes this change" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct history *h = history_after(table[i].spec, table[i].lines);
        struct str out = {0};
        history_rebased_print(h, &out);
        assert_string_equal(str_text(&out), table[i].want);
        str_free(&out);
        history_free(h);
    }
}

/* The numbers behind that text. */
static void changes_are_counted(void **state)
{
    (void)state;
    struct history *h = history_after(CONV, "loop unroll Conv W; insert 1 loop split Conv W 4 7");
    const struct rebased *r = history_rebased(h);
    assert_string_equal(r->what, "inserted");
    assert_true(r->at == 1 && r->from == 0 && r->replayed == 1 && r->renamed == 0 && r->held == 1);
    assert_true(r->held_at[0] == 2 && r->other == 0 && !r->kept);
    history_run(h, "drop 1");
    assert_string_equal(r->what, "dropped");
    assert_true(r->at == 1 && r->replayed == 1 && r->held == 0 && r->held_at[0] == 0);
    history_run(h, "loop parallel Conv H; move 1 2");
    assert_string_equal(r->what, "moved");
    assert_true(r->at == 2 && r->from == 0 && r->replayed == 1);
    history_run(h, "edit 1 loop parallel Conv N");
    assert_string_equal(r->what, "changed");
    history_free(h);
}

/* Two of three steps are applied: which are after a change?  "[" stands before undone ones. */
static void applied_steps_stay_applied(void **state)
{
    static const struct { const char *change, *want; } table[] = {
        { "drop 1", "KW [KH" }, { "drop 2", "H [KH" }, { "drop 3", "H KW" },
        { "insert 1 loop unroll Conv I", "I H KW [KH" },
        { "insert 2 loop unroll Conv I", "H I KW [KH" },
        { "insert 3 loop unroll Conv I", "H KW [I [KH" },
        { "insert 4 loop unroll Conv I", "H KW [KH [I" },
        { "edit 1 loop parallel Conv N", "N KW [KH" }, { "edit 2 loop unroll Conv I", "H I [KH" },
        { "edit 3 loop unroll Conv I", "H KW [I" }, { "move 1 2", "KW H [KH" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct history *h = history_after(CONV, THREE "; undo");
        struct str out = {0};
        int n, at;
        history_run(h, table[i].change);
        const int *path = history_path(h, 0, &n, &at);
        for (int k = 1; k < n; k++)
            str_printf(&out, "%s%s%s", k > 1 ? " " : "", k > at ? "[" : "",
                       strrchr(history_state(h, path[k])->step, ' ') + 1);
        if (!streq(str_text(&out), table[i].want))
            fail_msg("%s gives %s", table[i].change, str_text(&out));
        str_free(&out);
        history_free(h);
    }
}

/* A held step says what it could be: at most four lines. */
static void held_steps_say_what_they_could_be(void **state)
{
    static const struct { const char *lines, *held; } table[] = {
        { "loop unroll Conv O; insert 1 loop split Conv O 2 2 2 2 2", "Conv has no loop O; it could"
          " be `loop unroll Conv O.0` or `loop unroll Conv O.1` or `loop unroll Conv O.2` or "
          "`loop unroll Conv O.3`" },
        { "loop unroll Conv W; insert 1 loop split Conv W 4 7", "Conv has no loop W; it could be "
          "`loop unroll Conv W.0` or `loop unroll Conv W.1`" },
        { "loop unroll Conv W; insert 1 loop fuse Conv H W", "Conv has no loop W: it is fused into "
          "H_W (784)" },
        { "loop unroll Conv W; insert 1 loop fuse Conv O H W", "Conv has no loop W: it is fused "
          "into O_H_W (25088)" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct history *h = history_after(CONV, table[i].lines);
        int n, at;
        const int *path = history_path(h, 0, &n, &at);
        assert_int_equal(n, 3);
        assert_null(history_state(h, path[1])->held);
        assert_non_null(history_state(h, path[2])->held);
        assert_string_equal(history_state(h, path[2])->held, table[i].held);
        history_free(h);
    }
}

/* --- Cures ------------------------------------------------------------------------------------ */

/* Less than nine tenths of the misses is clearly fewer. */
static void fewer_misses_help(void **state)
{
    struct forecast now = { .ok = true, .misses = { .l1_misses = 1000 } };
    struct forecast row[3] = {
        { .line = "a", .ok = true, .misses = { .l1_misses = 900 } },
        { .line = "b", .ok = false, .misses = { .l1_misses = 1 } },
        { .line = "c", .ok = true, .misses = { .l1_misses = 900 } },
    };
    static struct lens l;
    (void)state;
    assert_false(forecast_helps(&row[0], &now));
    assert_ptr_equal(forecast_least(row, 3), &row[0]);   /* the first of equal ones */
    assert_null(forecast_least(row, 0));
    assert_null(forecast_least(row + 1, 1));
    l.all.misses = 100;
    l.all.compulsory = 89;
    assert_int_equal(forecast_result(&l, &now, row, 3), CURE_NONE_BETTER);
    assert_int_equal(forecast_result(&l, &now, row + 1, 1), CURE_NONE_LEGAL);
    assert_int_equal(forecast_result(&l, &now, row, 0), CURE_NO_CANDIDATE);
    l.all.compulsory = 90;
    assert_int_equal(forecast_result(&l, &now, row, 3), CURE_COMPULSORY);
    l.all.misses = 0.9;
    assert_int_equal(forecast_result(&l, &now, row, 3), CURE_NO_MISSES);
    l.all.misses = 1;
    l.all.compulsory = 0;
    assert_int_equal(forecast_result(&l, &now, row, 3), CURE_NONE_BETTER);
    row[2].misses.l1_misses = 899;
    assert_true(forecast_helps(&row[2], &now));
    assert_int_equal(forecast_result(&l, &now, row, 3), CURE_HELPS);
    now.ok = false;                       /* fewer than what? */
    assert_false(forecast_helps(&row[2], &now));
    assert_false(forecast_helps(&row[1], &row[0]));
    assert_string_equal(cure_result_name[CURE_NONE_LEGAL], "none_legal");
    assert_string_equal(tile_fate_name[TILE_LEAVES], "leaves");
}

/* Up to a twentieth more misses count as equal; then a row that keeps the contract is better. */
static void equal_misses_keep_the_contract(void **state)
{
    static const struct { int64_t misses; const char *first; } table[] = {
        { 105, "keeps" }, { 106, "changes" }, { 100, "keeps" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct forecast row[] = {
            { .line = "changes", .ok = true, .other_contract = true,
              .misses = { .l1_misses = 100 } },
            { .line = "keeps", .ok = true, .misses = { .l1_misses = table[i].misses } },
        };
        forecast_rank(row, 2, &(struct forecast){ .ok = true });
        assert_string_equal(row[0].line, table[i].first);
    }
}

/* What was reported: "TEXT FRACTION; ..." */
static void note_progress(void *ctx, const char *what, double fraction)
{
    str_printf(ctx, "%s %.2f; ", what, fraction);
}

/* Each row starts from the same program, and says what became of it. */
static void rows_start_from_the_same_program(void **state)
{
    static const char *const steps[] = { "loop split Conv O 2 16", "loop parallel Conv H" };
    struct forecast now, row[] = {
        { .line = "loop unroll Conv KW" }, { .line = "layout set Conv \"N O/8 H W 8o\"" },
        { .line = "loop unroll Conv KW\nloop unroll Conv Q" }, { .line = "loop unroll Conv KW" },
        { .line = "edit 2 loop parallel Conv H" }, { .line = "measure" },
    };
    struct predict_opts o = { .target = target_named("avx2") };
    struct str said = {0};
    struct progress pr = { note_progress, &said };
    struct cancel c = {0};
    struct err e = {0};
    const struct program *p;
    int bad;
    (void)state;
    struct arena *a = arena_new();
    assert_true(cache_config_parse("4K/4/64", &o.cache, &e));
    assert_true(program_replay(a, "c2d n=1 i=4 h=6 w=6 o=32 k=3 p=1", steps, 2, &p, &bad, &e));
    if (!forecast_steps(p, &o, &pr, &c, row, COUNT_OF(row), &now, &e))
        fail_msg("%s", e.text);
    assert_string_equal(str_text(&said), "predicting 1 of 6 0.00; predicting 2 of 6 0.17; "
                        "predicting 3 of 6 0.33; predicting 4 of 6 0.50; predicting 5 of 6 0.67; "
                        "predicting 6 of 6 0.83; ");
    assert_true(now.ok && row[0].ok && row[1].ok && !row[2].ok && row[3].ok && row[4].ok);
    assert_false(row[5].ok);              /* it is no change of a program */
    assert_true(row[0].misses.l1_misses == row[3].misses.l1_misses);
    assert_true(row[4].misses.l1_misses == now.misses.l1_misses);
    assert_true(row[0].held == 0 && row[1].held == 1);
    assert_true(!row[0].other_contract && row[1].other_contract && !row[2].other_contract);
    assert_true(forecast_lens(p, &o.cache, o.target, NULL, NULL, row, 2, &now, &e));
    assert_string_equal(row[0].line, "loop unroll Conv KW");
    assert_true(row[0].ok && !row[1].ok);                /* a later step no longer applies */
    atomic_store(&c.raised, 1);
    assert_false(forecast_steps(p, &o, NULL, &c, row, 1, &now, &e));
    assert_int_equal(e.code, ERR_CANCEL);
    str_free(&said);
    arena_free(a);
}

/* The steps that are tried against the misses of small programs with a small cache. */
static void cures_are_listed(void **state)
{
    static const struct { const char *spec, *cache, *line[2]; } table[] = {
        { "gmm m=64 k=64 n=64", "4K/4/64", { NULL } },
        { "gmm m=32 k=48 n=256 bias=1", "8K/8/64", { "loop reorder C M K N" } },
        { "gmm m=64 k=64 n=64", "4K/4/64", { "loop split C M 4", "loop reorder C M.0 K N M.1" } },
        { "c2d n=1 i=16 h=14 w=14 o=32 k=3 p=1", "4K/4/64", { NULL } },
        { "c2d n=1 i=16 h=14 w=14 o=64 k=1", "4K/4/64", { "loop reorder Conv N H W I O" } },
        { "dep n=1 c=16 h=20 w=20 k=3 p=1", "2K/2/64", { NULL } },
        { "transpose n=1 c=64 h=64 w=1 perm=1324", "4K/4/64", { NULL } },
        { "transpose n=256 c=256 perm=21", "32K/8/64", { NULL } },
        { "transpose n=1 c=64 h=8 w=64 perm=1342", "32K/8/64", { NULL } },
        { "softmax m=32 n=128", "4K/4/64", { NULL } },
    };
    struct str out = {0};
    (void)state;
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct arena *a = arena_new();
        struct lens_opts o = { .target = target_named("avx2"), .from = -1 };
        struct forecast row[FORECAST_CURES];
        const struct program *p;
        struct lens *l;
        struct err e;
        int n = 0, bad;
        while (n < 2 && table[i].line[n])
            n++;
        str_printf(&out, "%s, %s\n", table[i].spec, table[i].cache);
        for (int k = 0; k < n; k++)
            str_printf(&out, "  after %s\n", table[i].line[k]);
        if (!program_replay(a, table[i].spec, table[i].line, n, &p, &bad, &e)
            || !cache_config_parse(table[i].cache, &o.cache, &e)
            || !lens_open(p, &o, NULL, &l, &e))
            fail_msg("%s: %s", table[i].spec, e.text);
        n = forecast_cures(p, l, a, row);
        for (int k = 0; k < n; k++) {
            str_add(&out, "  ");
            for (const char *c = row[k].line; *c; c++)
                str_add(&out, *c == '\n' ? "; " : (const char[]){ *c, '\0' });
            str_add_char(&out, '\n');
        }
        lens_free(l);
        arena_free(a);
    }
    golden_check("tests/golden/cures.txt", str_text(&out));
    str_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_are_told), cmocka_unit_test(changes_are_counted),
        cmocka_unit_test(applied_steps_stay_applied),
        cmocka_unit_test(held_steps_say_what_they_could_be), cmocka_unit_test(fewer_misses_help),
        cmocka_unit_test(equal_misses_keep_the_contract),
        cmocka_unit_test(rows_start_from_the_same_program), cmocka_unit_test(cures_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
