/* Names and folders of files: what test_base.c leaves out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/base/arena.h"
#include "kernels/base/file.h"
#include "tests/unit/temp_dir.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static const char *dir;
static struct arena *arena;

static const char *in_dir(const char *name)
{
    return arena_printf(arena, "%s/%s", dir, name);
}

static void put(const char *name, const char *text)
{
    struct err e;
    if (!file_write_atomic(in_dir(name), text, strlen(text), &e))
        fail_msg("%s", e.text);
}

static void heads_are_cut(void **state)
{
    char text[16] = "xxxxxxxxxxxxxxx";
    (void)state;
    put("head", "hello");
    assert_int_equal(file_head(in_dir("head"), text, 4), 3);
    assert_string_equal(text, "hel");
    assert_int_equal(file_head(in_dir("head"), text, sizeof text), 5);
    assert_string_equal(text, "hello");
    assert_int_equal(file_head(in_dir("none"), text, sizeof text), 0);
    assert_string_equal(text, "");
}

static void one_file_has_many_names(void **state)
{
    (void)state;
    put("one", "1");
    put("other", "1");
    assert_int_equal(link(in_dir("one"), in_dir("hard")), 0);
    assert_int_equal(symlink("one", in_dir("soft")), 0);
    assert_true(file_same(in_dir("one"), in_dir("hard")));
    assert_true(file_same(in_dir("soft"), in_dir("one")));
    assert_true(file_same("/nowhere", "/nowhere"));
    assert_false(file_same(in_dir("one"), in_dir("other")));
    assert_false(file_same(in_dir("one"), "/nowhere") || file_same("/nowhere", in_dir("one")));
    assert_false(file_same("/nowhere", "/nowhere/else"));
}

static void writing_is_refused_before(void **state)
{
    static const struct { const char *name, *says; } bad[] = {
        { "no/such", "No such file or directory" }, { "", "it is not a regular file" },
        { "dangling", "it is a symbolic link to a file that does not exist" },
        { "to_dir", "it is not a regular file" },
    };
    (void)state;
    struct err e;
    put("there", "x");
    assert_int_equal(symlink("there", in_dir("link")), 0);
    assert_int_equal(symlink("nowhere", in_dir("dangling")), 0);
    assert_int_equal(symlink(".", in_dir("to_dir")), 0);
    assert_true(file_may_write(in_dir("new"), &e) && file_may_write(in_dir("there"), &e));
    assert_true(file_may_write(in_dir("link"), &e) && file_may_write("/dev/null", &e));
    assert_false(file_exists(in_dir("new")));
    for (int i = 0; i < COUNT_OF(bad); i++) {
        assert_false(file_may_write(in_dir(bad[i].name), &e));
        assert_int_equal(e.code, ERR_IO);
        if (!str_starts(e.text, arena_printf(arena, "cannot write %s", in_dir(bad[i].name)))
            || !str_ends(e.text, bad[i].says))
            fail_msg("%s", e.text);
    }
}

static void what_exists_or_changed_is_kept(void **state)
{
    (void)state;
    struct err e;
    put("kept", "one");
    assert_false(file_replace(in_dir("kept"), FILE_ABSENT, "two", 3, &e));
    assert_string_equal(e.text, arena_printf(arena, "%s already exists, so nothing was written",
                                             in_dir("kept")));
    assert_string_equal(e.fix, "write to another name");
    assert_false(file_replace(in_dir("kept"), file_content("un", 2), "two", 3, &e));
    assert_string_equal(e.text, arena_printf(arena, "%s changed since it was read, so nothing was"
                                             " written", in_dir("kept")));
    assert_string_equal(e.fix,
                        "write to another name, or open the file again and repeat the change");
    assert_int_equal(file_seen(in_dir("kept")), file_content("one", 3));
    assert_int_equal(file_seen(in_dir("kept/x")), FILE_ANYTHING);
    assert_int_equal(file_seen(dir), FILE_ANYTHING);
    assert_true(file_content("", 0) > FILE_ABSENT && file_content(NULL, 0) == file_content("", 0));
    assert_true(file_replace(in_dir("kept"), FILE_ANYTHING, "two", 3, &e));
    assert_int_equal(file_seen(in_dir("kept")), file_content("two", 3));
}

static void paths_are_put_together(void **state)
{
    static const struct { const char *other, *path, *want; } beside[] = {
        { "/x/y.yaml", "z", "/x/z" }, { "y.yaml", "z", "z" }, { "/x/y", "/z", "/z" },
        { "d/y", "e/z", "d/e/z" }, { "/y", "z", "/z" },
    };
    static const struct { const char *home, *path, *want; } typed[] = {
        { "/h", "~/x", "/h/x" }, { "/h", "~x", "~x" }, { "/h", "a/~/b", "a/~/b" },
        { "/h", "~", "~" }, { NULL, "~/x", "~/x" }, { "/h", "/x", "/x" },
    };
    (void)state;
    struct str out = {0};
    for (int i = 0; i < COUNT_OF(beside); i++)
        assert_string_equal(path_beside(arena, beside[i].other, beside[i].path), beside[i].want);
    for (int i = 0; i < COUNT_OF(typed); i++) {
        if (typed[i].home)
            setenv("HOME", typed[i].home, 1);
        else
            unsetenv("HOME");
        str_clear(&out);
        str_add(&out, ">");
        file_add_typed(&out, typed[i].path);
        assert_string_equal(str_text(&out) + 1, typed[i].want);
    }
    str_clear(&out);
    file_add_folder(&out, "b");
    assert_int_equal(out.len, 0);
    file_add_folder(&out, "a/b/c");
    assert_string_equal(str_text(&out), "a/b/");
    str_free(&out);
}

static void folders_are_listed_in_order(void **state)
{
    static const char *const name[] = { "list/b.txt", "list/a.txt", "list/.h.txt", "list/c.yaml",
                                        "list/ab.txt", "list/txt" };
    (void)state;
    struct err e;
    int n = -1;
    assert_true(dir_make(in_dir("list"), &e));
    for (int i = 0; i < COUNT_OF(name); i++)
        put(name[i], "");
    const char **got = dir_list(arena, in_dir("list"), ".txt", &n);
    assert_int_equal(n, 3);
    assert_string_equal(got[0], "a");
    assert_string_equal(got[1], "ab");
    assert_string_equal(got[2], "b");
    dir_list(arena, in_dir("nowhere"), ".txt", &n);
    assert_int_equal(n, 0);
    dir_remove(in_dir("list"));
    assert_false(file_exists(in_dir("list")));
}

/* A value that is no absolute path counts as unset. */
static void homes_are_absolute(void **state)
{
    (void)state;
    struct str out = {0};
    struct err e;
    setenv("HOME", in_dir("home"), 1);
    setenv("XDG_CONFIG_HOME", "/cfg", 1);
    str_add(&out, ">");
    assert_true(dir_config(&out));
    assert_string_equal(str_text(&out), ">/cfg/tilescope");
    setenv("XDG_CONFIG_HOME", "cfg", 1);
    str_clear(&out);
    assert_true(dir_config(&out));
    assert_string_equal(str_text(&out), in_dir("home/.config/tilescope"));
    setenv("HOME", "home", 1);
    str_clear(&out);
    assert_false(dir_config(&out));
    assert_int_equal(out.len, 0);
    setenv("HOME", in_dir("home"), 1);
    unsetenv("XDG_DATA_HOME");
    assert_true(dir_data(&out, &e));
    assert_string_equal(str_text(&out), in_dir("home/.local/share/tilescope"));
    unsetenv("XDG_CACHE_HOME");
    assert_true(dir_cache(&out, &e));
    assert_string_equal(str_text(&out), in_dir("home/.cache/tilescope"));
    put("file", "x");
    setenv("XDG_CACHE_HOME", in_dir("file"), 1);
    assert_false(dir_cache(&out, &e));
    assert_string_equal(e.text, arena_printf(arena, "cannot create the folder %s: a file of that"
                                             " name exists", in_dir("file")));
    assert_string_equal(e.fix, "set XDG_CACHE_HOME to a folder that can be written");
    str_free(&out);
}

/* A lock that its process left goes; one that is held stays, and so does what only looks like one.
 */
static void left_locks_are_tidied(void **state)
{
    (void)state;
    int held = open(in_dir("held.tilescope-lock"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(held >= 0 && flock(held, LOCK_EX) == 0);
    put("left.tilescope-lock", "");
    put("a.tilescope-lock.txt", "");
    assert_int_equal(symlink("head", in_dir("link.tilescope-lock")), 0);
    assert_true(file_is_named(held, in_dir("held.tilescope-lock")));
    assert_false(file_is_named(held, in_dir("left.tilescope-lock")));
    assert_false(file_is_named(held, in_dir("nowhere")));
    file_tidy(dir);
    assert_false(file_exists(in_dir("left.tilescope-lock")));
    assert_true(file_exists(in_dir("held.tilescope-lock")));
    assert_true(file_exists(in_dir("a.tilescope-lock.txt")));
    assert_true(file_exists(in_dir("link.tilescope-lock")) && file_exists(in_dir("head")));
    close(held);
    file_tidy(dir);
    assert_false(file_exists(in_dir("held.tilescope-lock")));
    file_tidy("/nowhere");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_are_cut), cmocka_unit_test(one_file_has_many_names),
        cmocka_unit_test(writing_is_refused_before),
        cmocka_unit_test(what_exists_or_changed_is_kept),
        cmocka_unit_test(paths_are_put_together), cmocka_unit_test(folders_are_listed_in_order),
        cmocka_unit_test(homes_are_absolute), cmocka_unit_test(left_locks_are_tidied),
    };
    dir = temp_dir(NULL);
    arena = arena_new();
    int bad = cmocka_run_group_tests(tests, NULL, NULL);
    arena_free(arena);
    return bad;
}
