/* Step lines: words, what parses to what, what is refused where, and that canonical text is
 * stable. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/base/rng.h"
#include "kernels/base/str.h"
#include "kernels/program/step.h"
#include "tests/unit/golden.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static uint64_t seed = 1;

/* words */

static void test_words(void **state)
{
    (void)state;
    static const struct { const char *line, *want; } table[] = {
        { "", "" },
        { "   \t ", "" },
        { "# all comment", "" },
        { "a bc", "a@1+1 bc@3+2 " },
        { "  a\tb  ", "a@3+1 b@5+1 " },
        { "a#b", "a@1+1 " },
        { "a \"b c\" d", "a@1+1 [b c]@3+5 d@9+1 " },
        { "\"\"", "[]@1+2 " },
        { "\"a # b\"# c", "[a # b]@1+7 " },
        { "a\r\n", "a@1+1 " },
        { "h\xc3\xa9 x", "h\xc3\xa9@1+3 x@5+1 " },
    };
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct arena *a = arena_new();
        const struct step_word *w;
        struct str got = {0};
        struct err e;
        int n;
        if (!step_words(a, table[i].line, &w, &n, &e))
            fail_msg("\"%s\": %s", table[i].line, e.text);
        for (int k = 0; k < n; k++)
            str_printf(&got, w[k].quoted ? "[%s]@%d+%d " : "%s@%d+%d ", w[k].text, w[k].col,
                       w[k].len);
        assert_string_equal(str_text(&got), table[i].want);
        str_free(&got);
        arena_free(a);
    }
}

/* parsing */

static void test_canonical(void **state)
{
    (void)state;
    static const struct { const char *line, *want; } table[] = {
        { "layout split Conv O 4 16", "layout split Conv O 4 16" },
        { "  layout\tsplit   Conv O 16 # half", "layout split Conv O 16" },
        { "layout split Conv O allow_pad=1 4 16", "layout split Conv O 4 16 allow_pad=1" },
        { "layout set Conv \"N  O/16 H W 16o \"", "layout set Conv \"N O/16 H W 16o\"" },
        { "layout set Conv N O/16 H  W 16o", "layout set Conv \"N O/16 H W 16o\"" },
        { "layout set Conv NHWO", "layout set Conv \"NHWO\"" },
        { "layout unfold Inp H stride=8 tile=13", "layout unfold Inp H tile=13 stride=8" },
        { "layout pad Ker I after=013", "layout pad Ker I after=13" },
        { "layout pad Ker I after=2 before=-1", "layout pad Ker I before=-1 after=2" },
        { "layout fold Inp H.0 H.1", "layout fold Inp H.0 H.1" },
        { "layout reset Conv", "layout reset Conv" },
        { "loop split Conv W 2 7 4", "loop split Conv W 2 7 4" },
        { "loop cache_write Conv", "loop cache_write Conv" },
        { "loop cache_write Conv at=W.0", "loop cache_write Conv at=W.0" },
        { "loop prefetch Conv  Inp ahead=2 at=H", "loop prefetch Conv Inp at=H ahead=2" },
        { "loop compute_at ReLU Conv W.0", "loop compute_at ReLU Conv W.0" },
        { "loop compute_root ReLU", "loop compute_root ReLU" },
        { "set propagate off", "set propagate off" },
    };
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct arena *a = arena_new();
        const struct step *s, *again;
        struct err e;
        if (!step_parse(a, table[i].line, &s, &e))
            fail_msg("\"%s\": %s", table[i].line, e.text);
        assert_string_equal(s->text, table[i].want);
        assert_true(step_parse(a, s->text, &again, &e));
        assert_string_equal(again->text, s->text);
        assert_int_equal(again->kind, s->kind);
        arena_free(a);
    }
}

static void test_parts(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    const struct step *s;
    struct err e;
    assert_true(step_parse(a, "layout unfold Inp H stride=8 tile=13", &s, &e));
    assert_int_equal(s->kind, STEP_LAYOUT_UNFOLD);
    assert_string_equal(s->target, "Inp");
    assert_int_equal(s->target_col, 15);
    assert_int_equal(s->n_args, 1);
    assert_string_equal(s->arg[0].text, "H");
    assert_int_equal(s->arg[0].col, 19);
    assert_int_equal(s->n_opts, 2);
    assert_string_equal(s->opt[0].key, "stride");
    assert_int_equal(s->opt[0].value, 8);
    assert_int_equal(s->opt[0].col, 21);
    assert_int_equal(s->opt[1].len, 7);
    assert_true(step_parse(a, "layout set C \"N M\"", &s, &e));
    assert_string_equal(s->arg[0].text, "N M");
    assert_true(s->arg[0].quoted);
    assert_int_equal(s->arg[0].col, 14);
    assert_true(step_parse(a, "layout set C N  M # x", &s, &e));
    assert_string_equal(s->arg[0].text, "N  M");
    assert_false(s->arg[0].quoted);
    assert_true(step_parse(a, "loop cache_write C at=M", &s, &e));
    assert_string_equal(s->opt[0].text, "M");
    assert_true(step_parse(a, "set propagate on", &s, &e));
    assert_string_equal(s->target, "propagate");
    assert_string_equal(s->arg[0].text, "on");
    arena_free(a);
}

/* Every refusal, as the user sees it. */
static void test_refused(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "", "# nothing", "layout", "loop", "set", "layout splt Conv O 4", "loop vectorise Conv O",
        "layout zzz Conv", "split Conv O 4", "reset Conv", "fold Inp", "layot split Conv O 4",
        "quux",
        "layout split", "layout split Conv", "layout split Conv O", "loop split Conv O",
        "loop fuse Conv O", "layout reorder Conv N", "layout fold Inp H.0",
        "loop vectorize Conv O P", "layout reset Conv O",
        "layout unfold Inp H", "layout unfold Inp H tile=13", "layout unfold Inp H tile= stride=8",
        "layout unfold Inp H tile=13x stride=8", "layout unfold Inp H tile=1e3 stride=8",
        "layout unfold Inp H tile=99999999999999999999 stride=8",
        "layout unfold Inp H tiel=13 stride=8", "layout unfold Inp H tile=13 tile=14 stride=8",
        "layout unfold Inp H =13 stride=8", "layout split Conv O 4 pad=1",
        "loop cache_write Conv at=",
        "loop cache_write Conv W", "loop compute_at ReLU Conv", "layout split tile=3 O 4",
        "layout split \"Conv\" O 4", "layout split Conv \"O\" 4", "set Inp \"NHWI\"",
        "layout set Conv",
        "layout set Conv \"N O", "layout set Conv \"N O\"x", "layout set Conv \"N\" \"O\"",
        "layout set Conv N \"O\"", "layout set Conv N\"O\"", "set propagate",
        "set propagate on off",
        "layout split Conv\x01 O 4", "layout split Conv\nO 4",
    };
    struct arena *a = arena_new();
    struct str out = {0};
    for (int i = 0; i < COUNT_OF(lines); i++) {
        const struct step *s = NULL;
        struct err e;
        if (step_parse(a, lines[i], &s, &e))
            fail_msg("\"%s\" is accepted as \"%s\"", lines[i], s->text);
        assert_null(s);
        err_print(&out, &e);
    }
    golden_check("tests/golden/err/step.txt", str_text(&out));
    str_free(&out);
    arena_free(a);
}

/* "[at=D]" -> "at=D", "tile=B" -> "tile=7", "scope=local|shared" -> "scope=local", "..." ->
 * nothing. */
static void add_syntax_word(struct str *line, char *word)
{
    word += *word == '[';
    word[strcspn(word, "]")] = '\0';
    char *value = strchr(word, '=');
    if (value && value[1] >= 'a')
        value[strcspn(value, "|")] = '\0';
    else if (value && value[1] != 'D')
        strcpy(value + 1, "7");
    str_printf(line, "%s ", streq(word, "...") ? "" : word);
}

/* The syntax column of every row is itself a line that its own parser takes. */
static void test_every_row(void **state)
{
    (void)state;
    for (int k = 0; k < STEP_KIND_COUNT; k++) {
        const struct step_info *i = step_info((enum step_kind)k);
        struct arena *a = arena_new();
        const struct step *s;
        struct str line = {0};
        struct err e;
        char *syntax = arena_strdup(a, i->syntax), *rest = NULL;
        str_printf(&line, "%s %s ", i->room, i->verb);
        for (char *w = strtok_r(syntax, " ", &rest); w; w = strtok_r(NULL, " ", &rest))
            add_syntax_word(&line, w);
        if (!step_parse(a, str_text(&line), &s, &e))
            fail_msg("%s: %s", str_text(&line), e.text);
        assert_int_equal(s->kind, k);
        str_free(&line);
        arena_free(a);
    }
}

/* Random lines from the vocabulary: no crash, errors inside the line, accepted text is a fixed
 * point. */
static void test_random(void **state)
{
    (void)state;
    static const char *const words[] = {
        "layout", "loop", "set", "split", "reorder", "unfold", "cache_write", "Conv", "O", "O.1",
        "4", "16", "tile=3", "stride=", "at=W", "\"N O\"", "\"", "#", "=", "-1", "allow_pad=1",
        "\t", "\xff", "...",
    };
    struct rng r = rng_seed(seed);
    for (int i = 0; i < 20000; i++) {
        struct arena *a = arena_new();
        const struct step *s, *again;
        struct str line = {0};
        struct err e = {0};
        for (int64_t n = rng_range(&r, 0, 7); n > 0; n--)
            str_printf(&line, "%s%s", words[rng_range(&r, 0, COUNT_OF(words) - 1)],
                       rng_range(&r, 0, 9) ? " " : "");
        const char *text = str_text(&line);
        if (step_parse(a, text, &s, &e)) {
            assert_true(step_parse(a, s->text, &again, &e));
            assert_string_equal(again->text, s->text);
        } else if (!e.text[0] || e.at.col < 1 || e.at.col > (int)strlen(text) + 1) {
            fail_msg("\"%s\": error \"%s\" at column %d", text, e.text, e.at.col);
        }
        str_free(&line);
        arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_canonical),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_every_row),
        cmocka_unit_test(test_random),
    };
    if (getenv("TS_SEED"))
        seed = strtoull(getenv("TS_SEED"), NULL, 10);
    printf("# TS_SEED=%llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
