/* Files of every kind with random small changes: what each reader makes of them, or says about
 * them, is as recorded (digest.h). */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/base/file.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/digest.h"
#include "tests/unit/spoil.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* A reader, a folder of its files, and how many times each of them is changed. */
static const struct kind {
    const char *name, *folder, *end;
    int (*reader)(const uint8_t *, size_t);
    int times;
    bool binary;
} kinds[] = {
    { "yaml", "tests/fuzz/corpus/yaml", "", fuzz_yaml, 400, false },
    { "session", "sessions/examples", ".yaml", fuzz_yaml, 60, false },
    { "spec", "tests/fuzz/corpus/spec", "", fuzz_spec, 400, false },
    { "notation", "tests/fuzz/corpus/notation", "", fuzz_notation, 150, false },
    { "onnx", "tests/fuzz/corpus/onnx", "", fuzz_onnx, 200, true },
    { "records", "tests/fuzz/corpus/records", "", fuzz_records, 300, false },
    { "study", "tests/fuzz/corpus/study", "", fuzz_study, 150, false },
    { "studies", "sessions/studies", ".yaml", fuzz_study, 40, false },
    { "expert", "tests/fuzz/corpus/expert", "", fuzz_expert, 300, false },
    { "experts", "sessions/experts", ".yaml", fuzz_expert, 60, false },
    { "machine", "tests/fuzz/corpus/machine", "", fuzz_machine, 400, false },
};

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void read_spoilt(const struct kind *k, const struct str *file, uint64_t seed,
                        struct str *said)
{
    struct rng r = rng_seed(seed);
    struct str text = {0};
    str_add_n(&text, str_text(file), file->len);
    for (int64_t n = seed % 1000 == 0 ? 0 : rng_range(&r, 1, 2); n > 0; n--)
        if (k->binary)
            spoil_bytes(&text, &r);
        else
            spoil(&text, &r);
    k->reader((const uint8_t *)str_text(&text), text.len);
    str_printf(said, "-- %llu\n", (unsigned long long)seed);
    str_free(&text);
}

static void digest_file(struct digests *d, const struct kind *k, const char *name)
{
    static const char *const part[] = { "said" };
    struct str path = {0}, file = {0}, said = {0};
    struct err e;
    str_printf(&path, "%s/%s", k->folder, name);
    if (!file_read(str_text(&path), 1 << 20, &file, &e))
        fail_msg("%s", e.text);
    fuzz_said = &said;
    for (int i = 0; i < k->times; i++)
        read_spoilt(k, &file, hash_text(name) % 1000 * 1000 + (uint64_t)i, &said);
    fuzz_said = NULL;
    str_clear(&path);
    str_printf(&path, "%s-%s", k->name, name);
    digest_add(d, str_text(&path), part, &said, 1);
    str_free(&path);
    str_free(&file);
}

static void test_spoilt_files(void **state)
{
    (void)state;
    struct digests d = {0};
    for (const struct kind *k = kinds; k < kinds + COUNT_OF(kinds); k++) {
        struct dirent **entry;
        int n = scandir(k->folder, &entry, NULL, by_name);
        assert_true(n > 0);
        for (int i = 0; i < n; i++) {
            if (entry[i]->d_name[0] != '.' && str_ends(entry[i]->d_name, k->end))
                digest_file(&d, k, entry[i]->d_name);
            free(entry[i]);
        }
        free(entry);
    }
    digest_check(&d, "tests/golden/digest/inputs.txt");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_spoilt_files) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
