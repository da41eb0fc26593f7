/* kernels/base/dialog, profile/measure/outside: programs that answer in lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "kernels/base/arena.h"
#include "kernels/base/cleanup.h"
#include "kernels/base/dialog.h"
#include "profile/measure/outside.h"
#include "tests/unit/temp_dir.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static struct dialog *open_sh(const char *script)
{
    const char *const argv[] = { "sh", "-c", script, NULL };
    struct err e = {0};
    struct dialog *d = dialog_open(argv, &e);
    assert_non_null(d);
    return d;
}

static void lines_are_answered(void **state)
{
    (void)state;
    struct dialog *d = open_sh("echo chatter; echo ready; echo readying; echo other >&2;"
                               " while read a b; do echo answer $b $a; done");
    struct str line = {0};
    struct err e = {0};
    assert_true(dialog_hear(d, "ready", 10, NULL, &line, &e));
    assert_string_equal(str_text(&line), "");
    for (int i = 0; i < 100; i++) {
        char ask[40], want[40];
        snprintf(ask, sizeof ask, "x%d y", i);
        snprintf(want, sizeof want, " y x%d", i);
        dialog_say(d, ask);
        assert_true(dialog_hear(d, "answer", 10, NULL, &line, &e));
        assert_string_equal(str_text(&line), want);
    }
    dialog_close(d);
    str_free(&line);
}

/* The errors name what happened and the last message of the program. */
static void what_goes_wrong(void **state)
{
    (void)state;
    static const struct { const char *script; enum err_code code; const char *text; } rows[] = {
        { "echo one; echo two >&2; exit 3", ERR_CRASH, "it ended with exit code 3: two" },
        { "echo 'not a line' | tr -d '\\n'; exit 1", ERR_CRASH,
          "it ended with exit code 1: not a line" },
        { "kill -9 $$", ERR_CRASH, "it ended with exit code 137" },
        { "exec >&- 2>&- <&-; sleep 100", ERR_CRASH, "it closed its output" },
        { "sleep 100", ERR_TIMEOUT, "no answer within 0.2 s" },
        { "yes | tr -d '\\n'", ERR_CRASH, "it printed a line of more than 64 MiB" },
        /* a line of 1 byte more, which arrives together with its end */
        { "{ yes | tr -d '\\n' | head -c 67108865; echo; } | dd bs=64K iflag=fullblock",
          ERR_CRASH, "it printed a line of more than 64 MiB" },
        { "exec no-such-program", ERR_CRASH, "it ended with exit code 127" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dialog *d = open_sh(rows[i].script);
        struct str line = {0};
        struct err e = {0};
        dialog_say(d, "a line that nobody reads");
        double limit_s = rows[i].code == ERR_TIMEOUT ? 0.2 : 20;
        assert_false(dialog_hear(d, "ready", limit_s, NULL, &line, &e));
        assert_int_equal(e.code, rows[i].code);
        assert_int_equal(strncmp(e.text, rows[i].text, strlen(rows[i].text)), 0);
        dialog_close(d);
        str_free(&line);
    }
    struct cancel stop = { .raised = 1 };
    struct err e = {0};
    struct str line = {0};
    struct dialog *d = open_sh("sleep 100");
    assert_false(dialog_hear(d, "ready", 10, &stop, &line, &e));
    assert_int_equal(e.code, ERR_CANCEL);
    dialog_close(d);
    dialog_close(NULL);
    str_free(&line);
    const char *const none[] = { "no-such-program", NULL };
    assert_null(dialog_open(none, &e));
    assert_int_equal(e.code, ERR_ENV);
}

/* Many short runs have a long answer. */
static void long_answers_are_taken(void **state)
{
    (void)state;
    const double *seconds;
    int n = 0;
    struct err e = {0};
    struct outside *o = outside_open("echo ready; read what s; printf times;"
                                     " yes ' 0.001' | head -n 400000 | tr -d '\\n'; echo; cat",
                                     0, NULL, &e);
    assert_non_null(o);
    if (!outside_time(o, 1, NULL, &seconds, &n, &e))
        fail_msg("%s", e.text);
    assert_int_equal(n, 400000);
    assert_true(seconds[n - 1] == 1e-6);
    outside_close(o);
}

static void times_are_taken(void **state)
{
    (void)state;
    static const struct { const char *answer; int n; const char *text; } rows[] = {
        { "times 1.5", 1, NULL }, { "times 1 2e-3 3", 3, NULL },
        { "times", 0, "the program must answer" },
        { "times 0", 0, "the program must answer" },
        { "times 1 x", 0, "it answered \"times 1 x\"" },
        { "times -1", 0, "the program must answer" },
        { "times nan", 0, "the program must answer" },
        { "times 1,5", 0, "the program must answer" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char script[200];
        const double *seconds = NULL;
        int n = 0;
        struct err e = {0};
        snprintf(script, sizeof script,
                 "echo ready; read what s; [ $what = time ] && [ $s = 0.25 ] && echo '%s'; cat",
                 rows[i].answer);
        struct outside *o = outside_open(script, 0, NULL, &e);
        assert_non_null(o);
        assert_int_equal(outside_time(o, 0.25, NULL, &seconds, &n, &e), rows[i].n > 0);
        assert_int_equal(n, rows[i].n);
        if (rows[i].n > 0)
            assert_true(seconds[0] > 0);
        else
            assert_true(e.code == ERR_ENV && strstr(e.text, rows[i].text));
        outside_close(o);
    }
    struct err e = {0};
    assert_null(outside_open("exit 4", 0, NULL, &e));
    assert_string_equal(e.text, "it ended with exit code 4");
}

/* As many programs as a machine with many cores has compilers: all of them end with this process,
 * and their folders go. */
static void many_programs_end_with_us(void **state)
{
    enum { PROGRAMS = 70 };
    int killed = 0, status;
    (void)state;
    char *was = xstrdup(getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    const char *dir = temp_dir("TMPDIR");
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        for (int i = 0; i < PROGRAMS; i++)
            open_sh("exec sleep 20");
        cleanup_now();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    while (wait(&status) > 0)
        killed += WIFSIGNALED(status);
    assert_int_equal(killed, PROGRAMS);
    assert_int_equal(rmdir(dir), 0);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
    setenv("TMPDIR", was, 1);
    free(was);
}

static void names_are_cut_off(void **state)
{
    (void)state;
    static const struct { const char *text, *name, *command; } rows[] = {
        { "ort: python3 x.py", "ort", " python3 x.py" }, { "./prog a b", "./prog", "./prog a b" },
        { "A=2 ./prog", "A=2", "A=2 ./prog" }, { "a:b c", "a", "a:b c" },
        { "verylongname: x", "verylon", " x" }, { "", "", "" }, { ": x", "", ": x" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[8];
        assert_string_equal(outside_name(rows[i].text, name, sizeof name), rows[i].command);
        assert_string_equal(name, rows[i].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_answered), cmocka_unit_test(what_goes_wrong),
        cmocka_unit_test(times_are_taken), cmocka_unit_test(long_answers_are_taken),
        cmocka_unit_test(many_programs_end_with_us), cmocka_unit_test(names_are_cut_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
