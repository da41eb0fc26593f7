/* The seeds of the fuzz targets, the examples and tests/regress, through the bodies of the
 * targets. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/base/file.h"
#include "kernels/base/vec.h"
#include "tests/fuzz/fuzz.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Every file of a folder whose name ends so; a broken one ends the program, so its name is printed
 * before. */
static int replay(const char *folder, const char *end, int (*target)(const uint8_t *, size_t))
{
    VEC(char *) names = {0};
    struct str path = {0}, text = {0};
    struct err e;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *entry; (entry = readdir(d)) != NULL;)
        if (entry->d_name[0] != '.' && str_ends(entry->d_name, end))
            vec_push(&names, xstrdup(entry->d_name));
    closedir(d);
    if (names.len > 1)
        qsort(names.data, (size_t)names.len, sizeof *names.data, by_name);
    for (int i = 0; i < names.len; i++) {
        str_clear(&path);
        str_clear(&text);
        str_printf(&path, "%s/%s", folder, names.data[i]);
        if (!file_read(str_text(&path), 1 << 20, &text, &e))
            fail_msg("%s", e.text);
        printf("# %s\n", str_text(&path));
        fflush(stdout);
        target((const uint8_t *)str_text(&text), text.len);
        free(names.data[i]);
    }
    int n = names.len;
    vec_free(&names);
    str_free(&path);
    str_free(&text);
    return n;
}

static void yaml(void **state)
{
    (void)state;
    assert_true(replay("tests/fuzz/corpus/yaml", "", fuzz_yaml) > 0);
    assert_true(replay("sessions/examples", ".yaml", fuzz_yaml) > 0);
    assert_true(replay("tests/regress", ".yaml", fuzz_yaml) > 0);
}

static void command(void **state)
{
    (void)state;
    assert_true(replay("tests/fuzz/corpus/command", "", fuzz_command) > 0);
    replay("tests/regress", ".command", fuzz_command);
}

static void spec(void **state)
{
    (void)state;
    assert_true(replay("tests/fuzz/corpus/spec", "", fuzz_spec) > 0);
    replay("tests/regress", ".spec", fuzz_spec);
}

static void notation(void **state)
{
    (void)state;
    assert_true(replay("tests/fuzz/corpus/notation", "", fuzz_notation) > 0);
    replay("tests/regress", ".notation", fuzz_notation);
}

static void onnx(void **state)
{
    (void)state;
    assert_true(replay("tests/fuzz/corpus/onnx", "", fuzz_onnx) > 0);
    replay("tests/regress", ".onnx", fuzz_onnx);
}

static void records(void **state)
{
    (void)state;
    assert_true(replay("tests/fuzz/corpus/records", "", fuzz_records) > 0);
    replay("tests/regress", ".records", fuzz_records);
}

static void study(void **state)
{
    (void)state;
    assert_true(replay("tests/fuzz/corpus/study", "", fuzz_study) > 0);
    assert_true(replay("sessions/studies", ".yaml", fuzz_study) > 0);
    replay("tests/regress", ".study", fuzz_study);
}

static void expert(void **state)
{
    (void)state;
    assert_true(replay("tests/fuzz/corpus/expert", "", fuzz_expert) > 0);
    assert_true(replay("sessions/experts", ".yaml", fuzz_expert) > 0);
    replay("tests/regress", ".expert", fuzz_expert);
}

static void weights(void **state)
{
    (void)state;
    assert_true(replay("tests/fuzz/corpus/weights", "", fuzz_weights) > 0);
    replay("tests/regress", ".weights", fuzz_weights);
}

static void machine(void **state)
{
    (void)state;
    assert_true(replay("tests/fuzz/corpus/machine", "", fuzz_machine) > 0);
    replay("tests/regress", ".machine", fuzz_machine);
}

static void cgen(void **state)
{
    (void)state;
    assert_true(replay("tests/fuzz/corpus/cgen", "", fuzz_cgen) > 0);
    replay("tests/regress", ".cgen", fuzz_cgen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(yaml), cmocka_unit_test(command), cmocka_unit_test(spec),
        cmocka_unit_test(notation), cmocka_unit_test(onnx),
        cmocka_unit_test(records), cmocka_unit_test(study), cmocka_unit_test(expert),
        cmocka_unit_test(weights), cmocka_unit_test(machine), cmocka_unit_test(cgen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
