/* The head of an autosave: what is read of each of its lines, also where some are missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/base/file.h"
#include "sessions/file/session.h"
#include "tests/unit/perm.h"
#include "tests/unit/temp_dir.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* A process that there cannot be: its number is above all that Linux gives. */
#define DEAD "# autosave of process 999999999 1\n"
#define X50 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define LONG "/" X50 X50 X50 X50 X50 X50 X50 X50 X50 X50 X50

static const char *path;

static const struct {
    const char *head;
    bool is;
    const char *original, *title, *model;
    uint64_t on_disk, network, kernel;
    bool numbers;
    const char *screen;
} heads[] = {
    { DEAD "# original: /a/b.yaml\n# title: T\n# file: 00000000000000ff\n"
      "# network: 00000000000000aa 00000000000000bb\n# model: /m.onnx\n# measurements only\n"
      "# screen: threads 2; isa avx2\n",
      true, "/a/b.yaml", "T", "/m.onnx", 255, 170, 187, true, "threads 2; isa avx2" },
    { DEAD "# original: \n# title: T\n# file: 00000000000000ff\n# screen: threads 2\n",
      true, "", "T", "", 0, 0, 0, false, "threads 2" },
    { DEAD "# original: \n# title: T\n# file: 00000000000000ff\n# screen: " LONG "\n",
      true, "", "T", "", 0, 0, 0, false, "" },
    { DEAD "# original: \n# title: T\n# file: 00000000000000ff\ntilescope: 1\n# screen: a\n",
      true, "", "T", "", 0, 0, 0, false, "" },
    { DEAD "# original: /a/b.yaml\n# title: T u\n# file: 00000000000000ff\n"
      "# network: 00000000000000aa 00000000000000bb\n# model: /m.onnx\n# measurements only\n",
      true, "/a/b.yaml", "T u", "/m.onnx", 255, 170, 187, true, "" },
    { DEAD "# original: /a/b.yaml\n# title: T\n# file: 00000000000000ff\n"
      "# network: 00000000000000aa 00000000000000bb\n# model: /m.onnx\ntilescope: 1\n",
      true, "/a/b.yaml", "T", "/m.onnx", 255, 170, 187, false, "" },
    { DEAD "# original: /a/b.yaml\n# title: T\n# file: 00000000000000ff\n"
      "# network: 00000000000000aa 0000000000000000\n# measurements only\n",
      true, "/a/b.yaml", "T", "", 255, 170, 0, true, "" },
    { DEAD "# original: /a/b.yaml\n# title: T\n# file: 00000000000000ff\n# measurements only\n",
      true, "/a/b.yaml", "T", "", 255, 0, 0, true, "" },
    { DEAD "# original: /a/b.yaml\n# title: T\n# file: 00000000000000ff\ntilescope: 1\n",
      true, "/a/b.yaml", "T", "", 255, 0, 0, false, "" },
    { DEAD "# original: \n# title: T\n# file: 00000000000000ff\n",
      true, "", "T", "", 0, 0, 0, false, "" },           /* of a file that is not known */
    { DEAD "# original: /a/b.yaml\n# title: T\n# file: 00000000000000ff\n"
      "# network: 00000000000000aa\n# measurements only\n",
      true, "/a/b.yaml", "T", "", 255, 0, 0, false, "" },
    { DEAD "# original: " LONG "\n# title: T\n# file: 00000000000000ff\n",
      true, "", "T", "", 0, 0, 0, false, "" },
    { DEAD "# original: /a/b.yaml\n# title: T\n", true, "/a/b.yaml", "T", "", 0, 0, 0, false, "" },
    { DEAD "# original: /a/b.yaml\n# file: 00000000000000ff\n", false, "", "", "", 0, 0, 0, false,
      "" },
    { DEAD "# title: T\n", false, "", "", "", 0, 0, 0, false, "" },
    { "# autosave of process 999999999\n# original: \n# title: T\n", false, "", "", "", 0, 0, 0,
      false, "" },
    { "tilescope: 1\n", false, "", "", "", 0, 0, 0, false, "" },
    { "", false, "", "", "", 0, 0, 0, false, "" },
};

static void put_head(const char *text)
{
    struct err e;
    if (!file_write_atomic(path, text, strlen(text), &e))
        fail_msg("%s", e.text);
}

static void heads_are_read(void **state)
{
    static struct autosave found[4];
    (void)state;
    for (int i = 0; i < COUNT_OF(heads); i++) {
        put_head(heads[i].head);
        int n = session_autosaves(found, COUNT_OF(found));
        if (n != heads[i].is)
            fail_msg("row %d: %d autosaves", i, n);
        if (n == 0)
            continue;
        const struct autosave *a = &found[0];
        assert_string_equal(a->path, path);
        assert_string_equal(a->original, heads[i].original);
        assert_string_equal(a->title, heads[i].title);
        assert_string_equal(a->model, heads[i].model);
        assert_true(a->on_disk == heads[i].on_disk && a->network == heads[i].network);
        assert_true(a->kernel == heads[i].kernel && a->numbers == heads[i].numbers);
        assert_string_equal(a->screen, heads[i].screen);
        assert_true(a->age_s > -1 && a->age_s < 100);
    }
}

/* Files of a process that lives are not offered. */
static void the_living_are_left_alone(void **state)
{
    static struct autosave found[4];
    (void)state;
    put_head(arena_printf(perm, "# autosave of process %ld 0\n# original: \n# title: T\n",
                          (long)getpid()));
    assert_int_equal(session_autosaves(found, COUNT_OF(found)), 0);
    put_head(arena_printf(perm, "# autosave of process %ld 1\n# original: \n# title: T\n",
                          (long)getpid()));             /* one that had this number before */
    assert_int_equal(session_autosaves(found, COUNT_OF(found)), 1);
}

static void kernels_belong_to_a_network(void **state)
{
    static const struct autosave kernel = { .network = 5, .kernel = 7 };
    static const struct autosave network = { .network = 5 }, other = { .network = 6 };
    static const struct autosave of_file = { .original = "/a.yaml" }, of_none;
    (void)state;
    assert_true(session_autosave_together(&kernel, &network));
    assert_true(session_autosave_together(&kernel, &kernel));
    assert_false(session_autosave_together(&network, &network));         /* is no kernel */
    assert_false(session_autosave_together(&kernel, &other));
    assert_false(session_autosave_together(&kernel, &of_file));
    assert_false(session_autosave_together(&kernel, &of_none));
}

static int set_up(void **state)
{
    struct autosave found[1];
    perm_setup(state);
    const char *dir = temp_dir("XDG_STATE_HOME");
    session_autosaves(found, 1);          /* makes the folder */
    path = arena_printf(perm, "%s/tilescope/autosave/x.yaml", dir);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_are_read), cmocka_unit_test(the_living_are_left_alone),
        cmocka_unit_test(kernels_belong_to_a_network),
    };
    return cmocka_run_group_tests(tests, set_up, perm_teardown);
}
