/* The words of the command line, the manual inside the program, and the JSON of `run`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <jansson.h>
#include "app/cli/cli.h"
#include "app/model/help.h"
#include "kernels/base/rng.h"
#include "kernels/ops/graph.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

enum { MAX_WORDS = 16 };

/* "run x --json" -> argv; blanks separate, there are no quotes. */
static int split(char *line, char **argv)
{
    int n = 0;
    argv[n++] = (char[]){"tilescope"};
    for (char *w = strtok(line, " "); w && n < MAX_WORDS; w = strtok(NULL, " "))
        argv[n++] = w;
    return n;
}

/* How args_parse understood a line: "CMD | words | --option=value ...", or "error: text / fix". */
static void understand(const char *line, struct str *out)
{
    char copy[256], *argv[MAX_WORDS];
    struct args a;
    struct err e = {0};
    snprintf(copy, sizeof copy, "%s", line);
    int argc = split(copy, argv);
    if (!args_parse(argc, argv, &a, &e)) {
        str_printf(out, "error: %s%s%s", e.text, e.fix[0] ? " / " : "", e.fix);
    } else {
        str_printf(out, "%s |", a.cmd == CMD_SCREEN ? "screen" : args_cmd[a.cmd].name);
        for (int i = 0; i < a.word.len; i++)
            str_printf(out, " %s", a.word.data[i]);
        str_add(out, " |");
        for (int i = 0; i < a.given.len; i++)
            str_printf(out, " %s=%s", args_opt[a.given.data[i].opt].name, a.given.data[i].value);
    }
    args_free(&a);
}

static void test_parse(void **state)
{
    (void)state;
    static const struct { const char *line, *want; } table[] = {
        {"", "screen | |"},
        {"c2d n=1 i=3", "screen | c2d n=1 i=3 |"},
        {"s.yaml -U --no-mouse", "screen | s.yaml | no-unicode= no-mouse="},
        {"-CM s.yaml", "screen | s.yaml | no-color= no-mouse="},
        {"run s.yaml", "run | s.yaml |"},
        {"run s.yaml --json", "run | s.yaml | json="},
        {"run --json s.yaml --threads 2", "run | s.yaml | json= threads=2"},
        {"--no-color run --threads=2 s.yaml", "run | s.yaml | no-color= threads=2"},
        {"run s.yaml --threads=", "run | s.yaml | threads="},
        {"run s -a x<1 --assert=y>2 -az", "run | s | assert=x<1 assert=y>2 assert=z"},
        {"export s -oout.c", "export | s | output=out.c"},
        {"export s -o=out.c", "export | s | output=out.c"},
        {"export s -o -", "export | s | output=-"},
        {"run - --steps -", "run | - | steps=-"},
        {"run -- --json", "run | --json |"},
        {"-- run", "screen | run |"},
        {"help run", "help | run |"},
        {"run s --assert --json", "run | s | assert=--json"},
        {"meters --events", "meters | | events="},
        {"meters --events --json", "meters | | events= json="},
        {"meters --events l1 --json", "meters | | events=l1 json="},
        {"meters -e", "meters | | events="},
        {"run --events l1 s", "run | s | events=l1"},
        {"run s -e l1", "run | s | events=l1"},
        {"run s -e --json", "run | s | events= json="},
        {"run s --baselines onednn,openblas --json", "run | s | baselines=onednn,openblas json="},
        {"run s --baselines openblas", "run | s | baselines=openblas"},
        {"run --baselines s", "run | s | baselines="},
        {"run s --baselines onednn,nope", "run | s onednn,nope | baselines="},
        {"run s --baselines one", "run | s one | baselines="},
        {"run s --baselines ,", "run | s , | baselines="},
        {"run s --baselines=nope", "run | s | baselines=nope"},
        {"study x --resume r.json", "study | x | resume=r.json"},
        {"study x --resume r.yaml", "study | x r.yaml | resume="},
        {"tune s --resume", "tune | s | resume="},
        {"-C run s -e", "run | s | no-color= events="},
        {"run s --jsonn", "error: unknown option --jsonn / --json"},
        {"run s --jsonn=1", "error: unknown option --jsonn / --json"},
        {"run s --xyzzy", "error: unknown option --xyzzy"},
        {"run s --whta c", "error: unknown option --whta"},        /* no option of run is near */
        {"show s --whta c", "error: unknown option --whta / --what"},
        {"run s ---", "error: unknown option ---"},
        {"run s -Cz", "error: unknown option -Cz"},
        {"run s --json=1", "error: --json takes no value"},
        {"run s --seed", "error: --seed needs a value: --seed N"},
        {"run s -a", "error: -a needs a value: -a EXPR"},
        {"run s --what c", "error: run takes no --what"},
        {"--json", "error: the screen takes no --json"},
    };
    for (int i = 0; i < COUNT_OF(table); i++) {
        struct str got = {0};
        understand(table[i].line, &got);
        assert_string_equal(str_text(&got), table[i].want);
        str_free(&got);
    }
}

/* Any words at all: understood, or refused with a sentence. */
static void test_random_words(void **state)
{
    (void)state;
    static char piece[][16] = {
        "run", "show", "help", "--", "-", "--json", "--json=", "--threads", "--threads=2", "-j",
        "-j2", "-CUM", "-o", "--=", "---", "", "-=", "c2d", "n=1", "--assert", "\xff\xfe", "-\xff",
        "--no-colr", "--events", "-e",
    };
    struct rng r = rng_seed(20261120);
    for (int round = 0; round < 20000; round++) {
        char *argv[8] = {(char[]){"tilescope"}};
        int argc = 1 + (int)rng_range(&r, 0, 7);
        for (int i = 1; i < argc; i++)
            argv[i] = piece[rng_range(&r, 0, COUNT_OF(piece) - 1)];
        struct args a;
        struct err e = {0};
        bool ok = args_parse(argc, argv, &a, &e);
        assert_true(ok == (e.text[0] == '\0'));
        args_free(&a);
    }
}

static void test_values(void **state)
{
    (void)state;
    char *argv[] = {(char[]){"tilescope"}, (char[]){"run"}, (char[]){"--threads=3"},
                    (char[]){"--time"}, (char[]){"1e-1"}, (char[]){"--threads"}, (char[]){"4"}};
    struct args a;
    struct err e = {0};
    int threads = 1;
    uint64_t seed = 5;
    double seconds = 0;
    assert_true(args_parse(COUNT_OF(argv), argv, &a, &e));
    assert_true(args_int(&a, OPT_THREADS, 1, 8, &threads, &e));
    assert_int_equal(threads, 4);
    assert_true(args_seed(&a, 0, &seed, &e));
    assert_int_equal(seed, 5);
    assert_true(args_double(&a, OPT_TIME, 0.001, 600, &seconds, &e));
    assert_float_equal(seconds, 0.1, 1e-9);
    assert_false(args_int(&a, OPT_THREADS, 1, 3, &threads, &e));
    assert_string_equal(e.text, "--threads 4: expected a whole number from 1 to 3");
    args_free(&a);
}

/* Parses a line; the caller frees *a. */
static void parsed(const char *line, struct args *a)
{
    static char copy[256];
    static char *argv[MAX_WORDS];
    struct err e = {0};
    snprintf(copy, sizeof copy, "%s", line);
    if (!args_parse(split(copy, argv), argv, a, &e))
        fail_msg("%s: %s", line, e.text);
}

/* Limits belong to the range; what is beyond is refused, and the value stays as it was. */
static void test_limits(void **state)
{
    static const struct { const char *line, *error; } row[] = {
        {"run s --time 0.001 --threads 1 --seed 1", NULL},
        {"run s --time 600 --threads 1024 --seed 9223372036854775807", NULL},
        {"run s --time 0.0009", "--time 0.0009: expected a number from 0.001 to 600"},
        {"run s --time 600.5", "--time 600.5: expected a number from 0.001 to 600"},
        {"run s --time x", "--time x: expected a number from 0.001 to 600"},
        {"run s --threads 0", "--threads 0: expected a whole number from 1 to 1024"},
        {"run s --threads 1025", "--threads 1025: expected a whole number from 1 to 1024"},
        {"run s --seed 0", "--seed 0: expected a whole number from 1 to 9223372036854775807"},
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct args a;
        struct err e = {0};
        double seconds = 7;
        int threads = 7;
        uint64_t seed = 7;
        parsed(row[i].line, &a);
        bool ok = args_double(&a, OPT_TIME, 0.001, 600, &seconds, &e)
               && args_int(&a, OPT_THREADS, 1, 1024, &threads, &e) && args_seed(&a, 1, &seed, &e);
        assert_int_equal(ok, row[i].error == NULL);
        assert_string_equal(e.text, row[i].error ? row[i].error : "");
        assert_int_equal(threads, i == 0 ? 1 : i == 1 ? 1024 : 7);
        assert_true(seconds == (i == 0 ? 0.001 : i == 1 ? 600 : 7));
        assert_true(seed == (i == 0 ? 1 : i == 1 ? INT64_MAX : 7));
        args_free(&a);
    }
}

static void test_measure_options(void **state)
{
    struct measure_opts o = {0};
    struct args a;
    struct err e = {0};
    unsigned vendors = 5;
    struct str list = {0};
    (void)state;
    parsed("run s", &a);
    assert_true(args_measure(&a, &o, &e) && args_baselines(&a, &vendors, &e));
    assert_true(o.threads == 1 && o.seed == 1 && !o.cold && !o.huge_pages && !o.compiler);
    assert_true(o.time_s == 0 && o.limit_s == 0 && !o.target && vendors == 5);
    assert_null(args_joined(&a, OPT_ASSERT, &list));
    args_free(&a);
    parsed("run s --threads=3 --seed=0 --time=2 --limit=4 --cold --huge-pages --isa=plain "
           "--compiler=cc --baselines --assert=x --assert=y", &a);
    assert_true(args_measure(&a, &o, &e) && args_baselines(&a, &vendors, &e));
    assert_true(o.threads == 3 && o.seed == 0 && o.cold && o.huge_pages);
    assert_true(o.time_s == 2 && o.limit_s == 4 && vendors == VENDOR_ALL);
    assert_string_equal(o.compiler, "cc");
    assert_string_equal(o.target->isa, "plain");
    assert_string_equal(args_joined(&a, OPT_ASSERT, &list), "x,y");
    args_free(&a);
    str_free(&list);
    o.target = NULL;
    parsed("run s --isa none --target plain", &a);       /* --target counts */
    assert_true(args_measure(&a, &o, &e));
    assert_string_equal(o.target->isa, "plain");
    args_free(&a);
    parsed("export s --isa cuda", &a);
    assert_false(args_target(&a, &o.target, &e));
    assert_string_equal(e.text, "export takes no target cuda yet");
    assert_string_equal(e.fix, "tilescope run checks its kernels, and times them where a GPU is");
    args_free(&a);
}

static void test_numbers(void **state)
{
    (void)state;
    struct str s = {0};
    static const struct { int64_t n; const char *want; } count[] = {
        {0, "0"}, {999, "999"}, {1000, "1 000"}, {-1000, "-1 000"}, {-100, "-100"},
        {11203112, "11 203 112"}, {INT64_MAX, "9 223 372 036 854 775 807"},
    };
    for (int i = 0; i < COUNT_OF(count); i++) {
        str_clear(&s);
        str_count(&s, count[i].n);
        assert_string_equal(str_text(&s), count[i].want);
    }
    static const struct { double ms; const char *want; } ms[] = {
        {1234.56, "1.235 s"}, {123.45, "123.5 ms"}, {12.344, "12.34 ms"}, {0.31, "0.310 ms"},
        {0.0312, "31.20 us"}, {0.00123, "1.230 us"}, {0.0003932, "393.2 ns"},
        {2.7e-6, "2.7 ns"},
    };
    for (int i = 0; i < COUNT_OF(ms); i++) {
        str_clear(&s);
        str_ms(&s, ms[i].ms);
        assert_string_equal(str_text(&s), ms[i].want);
    }
    str_free(&s);
}

/* Returns the columns of a line of UTF-8 whose characters take one each. */
static int columns(const char *line)
{
    int n = 0;
    for (; *line; line++)
        n += (*line & 0xc0) != 0x80;
    return n;
}

/* Every topic, command and operator has help that ends in a newline and fits 80 columns. */
static void check_help(const char *topic)
{
    struct str out = {0};
    struct err e = {0};
    if (!cli_help_topic(&out, topic, &e))
        fail_msg("%s: %s", topic ? topic : "the list", e.text);
    assert_true(out.len > 0 && out.data[out.len - 1] == '\n');
    for (char *line = strtok(out.data, "\n"); line; line = strtok(NULL, "\n"))
        if (columns(line) > 80)
            fail_msg("help %s: over 80 columns: %s", topic ? topic : "", line);
    str_free(&out);
}

static void test_help(void **state)
{
    (void)state;
    check_help(NULL);
    for (int i = 0; help_topic_name(i); i++) {
        check_help(help_topic_name(i));
        assert_true(strlen(help_topic_summary(i)) > 0);
    }
    for (int i = CMD_SCREEN + 1; i < CMD_COUNT; i++)
        check_help(args_cmd[i].name);
    for (int i = 0; i < ops_count(); i++)
        check_help(ops_get(i)->name);
    struct str out = {0};
    struct err e = {0};
    assert_false(cli_help_topic(&out, "layuots", &e));
    assert_string_equal(e.fix, "tilescope help layouts");
    str_free(&out);
}

/* stdout of a command, parsed. */
static json_t *run_json(const char *arguments)
{
    char line[512];
    const char *program = getenv("TILESCOPE");
    snprintf(line, sizeof line, "%s %s 2>/dev/null",
             program ? program : "build/release/tilescope", arguments);
    FILE *f = popen(line, "r");
    assert_non_null(f);
    json_error_t why;
    json_t *j = json_loadf(f, 0, &why);
    if (!j)
        fail_msg("%s: line %d: %s", arguments, why.line, why.text);
    assert_int_equal(pclose(f), 0);
    return j;
}

/* "a.b.c" in j, of the type that the letter names: s, b, i, n (any number), o, a. */
static void check_key(json_t *j, const char *path, char type)
{
    char copy[128];
    snprintf(copy, sizeof copy, "%s", path);
    for (char *key = strtok(copy, "."); key; key = strtok(NULL, "."))
        j = json_object_get(j, key);
    bool ok = type == 's' ? json_is_string(j) : type == 'b' ? json_is_boolean(j)
            : type == 'i' ? json_is_integer(j) : type == 'n' ? json_is_number(j)
            : type == 'a' ? json_is_array(j) : json_is_object(j);
    if (!ok)
        fail_msg("%s is missing or of another type", path);
}

static void test_run_json(void **state)
{
    (void)state;
    json_t *j = run_json("run 'gmm m=24 k=16 n=32' --json --time 0.02");
    static const struct { const char *path; char type; } key[] = {
        {"operator", 's'}, {"verified", 'b'}, {"max_rel_err", 'n'}, {"latency_ms.median", 'n'},
        {"latency_ms.min", 'n'}, {"latency_ms.spread", 'n'}, {"latency_ms.runs", 'i'},
        {"gflops", 'n'}, {"peak_fraction", 'n'}, {"baselines", 'o'}, {"counters.sim.loads", 'i'},
        {"counters.sim.stores", 'i'}, {"counters.sim.l1_misses", 'i'},
        {"counters.sim.by_tensor.A.l1_misses", 'i'}, {"counters.perf.available", 'b'},
    };
    for (int i = 0; i < COUNT_OF(key); i++)
        check_key(j, key[i].path, key[i].type);
    assert_string_equal(json_string_value(json_object_get(j, "operator")), "gmm");
    assert_true(json_is_true(json_object_get(j, "verified")));
    struct machine here;
    struct str print = {0};
    machine_read(&here);
    machine_fingerprint(&print, &here);
    assert_string_equal(json_string_value(json_object_get(j, "machine")), str_text(&print));
    str_free(&print);
    json_decref(j);
}

static void test_list_json(void **state)
{
    (void)state;
    static const char *const list[] = {"ops --json", "meters --json", "studies --json",
                                       "machine --json --time 0.02"};
    for (int i = 0; i < COUNT_OF(list); i++)
        json_decref(run_json(list[i]));
}

/* The bytes that cli_put prints; the output of this process is redirected meanwhile. */
static void printed(struct str *out, char *to, size_t size)
{
    FILE *aside = tmpfile();
    assert_non_null(aside);
    fflush(stdout);
    int old = dup(STDOUT_FILENO);
    assert_true(old >= 0 && dup2(fileno(aside), STDOUT_FILENO) >= 0);
    cli_put(out);
    fflush(stdout);
    assert_true(dup2(old, STDOUT_FILENO) >= 0);
    close(old);
    rewind(aside);
    to[fread(to, 1, size - 1, aside)] = '\0';
    fclose(aside);
}

/* Also where a text, or what is painted, has an escape of its own that looks like ours. */
static void test_escapes(void **state)
{
    (void)state;
    struct str out = {0};
    char got[200];
    cli_paint(&out, true, PAINT_GOOD, "good");
    str_add(&out, " \033[32mbad\033[0m \xc2\x9b" "1m\xff\x7f\a\r\tok \xc2\xb5\n");
    cli_paint(&out, true, PAINT_BAD, "a\033]0;b\a");
    cli_paint(&out, false, PAINT_BAD, "plain");
    printed(&out, got, sizeof got);
    assert_string_equal(got, "\033[32mgood\033[0m ?[32mbad?[0m ?1m????\tok \xc2\xb5\n"
                             "\033[1;31ma?]0;b?\033[0mplain");
    assert_int_equal(out.len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),    cmocka_unit_test(test_random_words),
        cmocka_unit_test(test_values),   cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_limits),   cmocka_unit_test(test_measure_options),
        cmocka_unit_test(test_help),     cmocka_unit_test(test_run_json),
        cmocka_unit_test(test_list_json), cmocka_unit_test(test_escapes),
    };
    return cmocka_run_group_tests_name("cli", tests, NULL, NULL);
}
