/* y copies a view to the clipboard of the terminal: OSC 52, its text in base64. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "tests/unit/temp_dir.h"
#include "tests/unit/tty.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* Up to the BEL; false: no whole base64. */
static bool decode(const char *s, struct str *out)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    str_clear(out);
    for (; *s != '\a'; s += 4) {
        unsigned v = 0;
        int n = 3;
        for (int i = 0; i < 4; i++) {
            const char *d = s[i] ? strchr(digit, s[i]) : NULL;
            if (!d && (s[i] != '=' || i < 2))
                return false;
            n -= !d;
            v = v << 6 | (d ? (unsigned)(d - digit) : 0);
        }
        for (int i = 0; i < n; i++)
            str_add_char(out, (char)(v >> (16 - 8 * i)));
        if (n < 3 && s[4] != '\a')
            return false;
    }
    return true;
}

/* The lengths leave 0, 1 and 2 bytes behind the last three. */
static void a_nest_is_copied(void **state)
{
    static const int rows[] = { 6, 16, 100 };
    struct str text = {0};
    bool left[3] = {false};
    (void)state;
    for (int i = 0; i < 3; i++) {
        char spec[40], range[80];
        snprintf(spec, sizeof spec, "gmm m=%d k=7 n=8", rows[i]);
        const char *const argv[] = { "--no-auto", spec, NULL };
        struct tty *t = tty_start(&(struct tty_opts){ .w = 80, .h = 24, .argv = argv });
        str_clear(&t->bytes);
        tty_press(t, "y");
        tty_assert_shows(t, "copied to the clipboard");
        const char *at = strstr(str_text(&t->bytes), "\033]52;c;");
        assert_non_null(at);
        assert_true(decode(at + 7, &text));
        snprintf(range, sizeof range, "for m, n in range(%d, 8):\n", rows[i]);
        if (!strstr(str_text(&text), range) || !strstr(str_text(&text), "C[m][n] += A[m][k]"))
            fail_msg("%s", str_text(&text));
        assert_int_equal(strlen(str_text(&text)), text.len);
        left[text.len % 3] = true;
        tty_send(t, "Esc : q! Enter");
        assert_int_equal(tty_end(t), 0);
    }
    assert_true(left[0] && left[1] && left[2]);
    str_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_nest_is_copied) };
    temp_dir("XDG_STATE_HOME");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
