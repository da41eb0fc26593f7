/* Parts of what speaks with NVIDIA's libraries: codes and their errors, a library that is missing,
 * the properties of a device, and the file of a compiled module, each at its limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "kernels/base/str.h"
#include "profile/counters/cupti.h"
#include "profile/cuda/device.h"
#include "profile/cuda/driver.h"
#include "profile/cuda/library.h"
#include "profile/cuda/object.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* --- Codes ------------------------------------------------------------------------------------ */

static CUresult name_of(CUresult code, const char **name)
{
    if (code % 2)
        return 1;
    *name = code == 2 ? NULL : "CUDA_ERROR_NAME";
    return 0;
}

static void codes_of_the_driver_are_errors(void **state)
{
    static const struct { CUresult code; enum err_code kind; const char *text; } t[] = {
        { 2, ERR_ENV, "cuCall: the driver's error 2, which has no name" },
        { 4, ERR_ENV, "cuCall: CUDA_ERROR_NAME" },
        { 199, ERR_ENV, "cuCall: the driver's error 199, which has no name" },
        { 200, ERR_COMPILE, "cuCall: CUDA_ERROR_NAME" },
        { 500, ERR_COMPILE, "cuCall: CUDA_ERROR_NAME" },
        { 501, ERR_ENV, "cuCall: the driver's error 501, which has no name" },
        { 699, ERR_ENV, "cuCall: the driver's error 699, which has no name" },
        { 700, ERR_CRASH, "cuCall: CUDA_ERROR_NAME" },
        { 702, ERR_TIMEOUT, "cuCall: CUDA_ERROR_NAME" },
        { 719, ERR_CRASH, "cuCall: the driver's error 719, which has no name" },
        { 720, ERR_ENV, "cuCall: CUDA_ERROR_NAME" },
    };
    const struct cuda_driver d = { .cuGetErrorName = name_of };
    struct err e;
    (void)state;
    assert_true(cuda_ok(&d, 0, "cuCall", &e));
    for (int i = 0; i < COUNT_OF(t); i++) {
        assert_false(cuda_ok(&d, t[i].code, "cuCall", &e));
        if (e.code != t[i].kind || !streq(e.text, t[i].text))
            fail_msg("%d: %d: %s", t[i].code, e.code, e.text);
    }
}

static int text_of(int result, const char **text)
{
    *text = result == 3 ? NULL : "CUPTI_ERROR_NAME";
    return result == 2;
}

static void codes_of_cupti_are_errors(void **state)
{
    static const struct { int code; const char *text, *fix; } t[] = {
        { 1, "cuptiCall: CUPTI_ERROR_NAME", "" },
        { 2, "cuptiCall: CUPTI's error 2, which has no name", "" },
        { 3, "cuptiCall: CUPTI's error 3, which has no name", "" },
        { CUPTI_NO_PRIVILEGE, "cuptiCall: CUPTI_ERROR_NAME",
          "run as root, or load the driver with NVreg_RestrictProfilingToAdminUsers=0" },
    };
    const struct cupti c = { .result_text = text_of };
    struct err e;
    (void)state;
    assert_true(cupti_ok(&c, 0, "cuptiCall", &e));
    for (int i = 0; i < COUNT_OF(t); i++) {
        assert_false(cupti_ok(&c, t[i].code, "cuptiCall", &e));
        assert_int_equal(e.code, ERR_ENV);
        assert_string_equal(e.text, t[i].text);
        assert_string_equal(e.fix, t[i].fix);
    }
}

/* --- Libraries -------------------------------------------------------------------------------- */

/* The first name is the one that is told; a variable replaces all names. */
static void libraries_are_found_by_name(void **state)
{
    static const struct cuda_library l = {
        .what = "The library", .variable = "TS_TEST_LIBRARY", .fix = "install it",
        .names = { "libnot-there-1.so", "libc.so.6" },
    }, none = {
        .what = "The library", .variable = "TS_TEST_LIBRARY", .fix = "install it",
        .names = { "libnot-there-1.so", "libnot-there-2.so" },
    };
    void (*found)(void) = NULL;
    const struct cuda_symbol symbol[] = { { "puts", &found }, { "no_such_function", &found } };
    struct err e = {0};
    char path[300];
    (void)state;
    unsetenv("TS_TEST_LIBRARY");
    assert_true(cuda_library_open(&l, symbol, 1, &e));
    assert_non_null(found);
    cuda_library_file((const void *)(uintptr_t)found, path, sizeof path);
    assert_non_null(strstr(path, "libc.so"));
    assert_false(cuda_library_open(&l, symbol, 2, &e));
    assert_string_equal(e.text, "The library has no function no_such_function");
    assert_false(cuda_library_open(&none, symbol, 1, &e));
    assert_true(str_starts(e.text, "The library cannot be loaded: libnot-there-1.so: "));
    assert_string_equal(e.fix, "install it, or name the library in TS_TEST_LIBRARY");
    setenv("TS_TEST_LIBRARY", "/nowhere/lib.so", 1);
    assert_false(cuda_library_open(&l, symbol, 1, &e));
    assert_true(str_starts(e.text, "The library cannot be loaded: /nowhere/lib.so: "));
    setenv("TS_TEST_LIBRARY", "libc.so.6", 1);
    assert_true(cuda_library_open(&none, symbol, 1, &e));
    unsetenv("TS_TEST_LIBRARY");
    cuda_library_file(path, path, sizeof path);              /* an address in no library */
    assert_string_equal(path, "");
}

/* --- Devices ---------------------------------------------------------------------------------- */

static const struct cuda_info gpu = {
    .name = "A GPU", .driver = "13.0", .major = 9, .minor = 0, .multiprocessors = 132,
    .clock_mhz = 1980, .memory_mhz = 2619, .l2_bytes = 52428800, .memory_bytes = 85014544384,
    .shared_bytes = 232448,
};
#define GPU_TEXT \
    "name A GPU\ndriver 13.0\ncapability 9.0\nmultiprocessors 132\nclock 1980\n" \
    "memory_clock 2619\nl2 52428800\nmemory 85014544384\nshared 232448\n"

static void devices_are_printed_and_read(void **state)
{
    static const struct { int major, minor, sms; int64_t l2, memory, shared; bool right; } t[] = {
        { 1, 0, 1, 0, 1, 1, true },     { 99, 9, 1, 0, 1, 1, true },
        { 0, 0, 1, 0, 1, 1, false },    { 100, 0, 1, 0, 1, 1, false },
        { 1, -1, 1, 0, 1, 1, false },   { 1, 10, 1, 0, 1, 1, false },
        { 1, 0, 0, 0, 1, 1, false },    { 1, 0, 1, -1, 1, 1, false },
        { 1, 0, 1, 0, 0, 1, false },    { 1, 0, 1, 0, 1, 0, false },
    };
    struct str text = {0};
    struct cuda_info got;
    struct err e;
    (void)state;
    cuda_info_print(&text, &gpu);
    assert_string_equal(str_text(&text), GPU_TEXT);
    assert_true(cuda_info_read(GPU_TEXT, &got, &e));
    assert_memory_equal(&got, &gpu, sizeof got);
    for (int i = 0; i < COUNT_OF(t); i++) {
        struct cuda_info x = gpu;
        x.major = t[i].major;
        x.minor = t[i].minor;
        x.multiprocessors = t[i].sms;
        x.l2_bytes = t[i].l2;
        x.memory_bytes = t[i].memory;
        x.shared_bytes = t[i].shared;
        str_clear(&text);
        cuda_info_print(&text, &x);
        if (cuda_info_read(str_text(&text), &got, &e) != t[i].right)
            fail_msg("row %d", i);
    }
    assert_int_equal(e.code, ERR_ENV);
    assert_true(str_starts(e.text, "the CUDA driver reports impossible properties of the device: "
                                   "name A GPU"));
    assert_false(cuda_info_read("name A GPU\ndriver 13.0\ncapability 9.0\nmultiprocessors 132\n"
                                "clock 1980\nmemory_clock 2619\nl2 1\nmemory 1\n", &got, &e));
    assert_true(cuda_info_read("name \x1b[2J~\x7f \xc3\xa9\n" "driver 13.0\ncapability 9.0\n"
                               "multiprocessors 132\nclock 1980\nmemory_clock 2619\nl2 1\n"
                               "memory 1\nshared 1\n", &got, &e));
    assert_string_equal(got.name, "?[2J~? \xc3\xa9");
    str_free(&text);
}

/* --- Modules ---------------------------------------------------------------------------------- */

#define FIRST  "tilescope cuda 2\n"
#define LAUNCH "launch k 1 2 3 4 5 6 0 2 2 0\n"
#define CUBIN  "cubin 3\nabc"

static void modules_have_a_form(void **state)
{
    static const struct { const char *text; bool right; } t[] = {
        { FIRST LAUNCH CUBIN, true },
        { FIRST CUBIN, true },
        { "tilescope cuda 1\n" LAUNCH CUBIN, false },
        { FIRST, false },
        { FIRST LAUNCH, false },
        { FIRST "launch k 0 2 3 4 5 6 0 0\n" CUBIN, false },
        { FIRST "launch k 1 2 3 4 5 0 0 0\n" CUBIN, false },
        { FIRST "launch k 2147483647 1 1 1 1 1 0 0\n" CUBIN, true },
        { FIRST "launch k 2147483648 1 1 1 1 1 0 0\n" CUBIN, false },
        { FIRST "launch k 1 1 1 1 1 1 -1 0\n" CUBIN, false },
        { FIRST "launch k 1 1 1 1 1 1 0 -1\n" CUBIN, false },
        { FIRST "launch k 1 1 1 1 1 1 0\n" CUBIN, false },
        { FIRST "launch k 1 1 1 1 1 1 0 1 2\n" CUBIN, true },
        { FIRST "launch k 1 1 1 1 1 1 0 1 3\n" CUBIN, false },           /* of three buffers */
        { FIRST "launch k 1 1 1 1 1 1 0 1 -1\n" CUBIN, false },
        { FIRST "launch k 1 1 1 1 1 1 0 1 2 0\n" CUBIN, false },         /* more than it says */
        { FIRST "launch k 1 1 1 1 1 1 0 2 2\n" CUBIN, false },
        { FIRST "launch k 1 1 1 1 1 1 0 0 x\n" CUBIN, false },
        { FIRST "launch  1 1 1 1 1 1 0 0\n" CUBIN, false },              /* no name */
        { FIRST "lunch k 1 1 1 1 1 1 0 0\n" CUBIN, false },
        { FIRST "cubin 0\nabc", false },
        { FIRST "cubin 1\nabc", true },
        { FIRST "cubin 4\nabc", false },
        { FIRST "cubin 3 \nabc", false },
        { FIRST "cubin x\nabc", false },
    };
    struct arena *a = arena_new();
    struct cuda_object o;
    struct err e = {0};
    (void)state;
    for (int i = 0; i < COUNT_OF(t); i++) {
        if (cuda_object_read(a, t[i].text, strlen(t[i].text), 3, &o, &e) != t[i].right)
            fail_msg("row %d", i);
        if (!t[i].right)
            assert_string_equal(e.text, "the compiled module is damaged");
    }
    arena_free(a);
}

/* The limits of shared memory and of arguments are those of the launch. */
static void launches_have_limits(void **state)
{
    struct arena *a = arena_new();
    struct cuda_object o;
    struct err e;
    (void)state;
    for (int more = 0; more < 4; more++) {
        int64_t shared = SHARED_MOST + (more == 1);
        int n = CUDA_MAX_ARGUMENTS + (more == 2);
        struct str text = {0};
        str_printf(&text, FIRST "launch k 1 1 1 1 1 1 %lld %d", (long long)shared, n);
        for (int i = 0; i < n; i++)
            str_add(&text, " 0");
        str_add(&text, "\n" CUBIN);
        bool right = more % 3 == 0;
        assert_int_equal(cuda_object_read(a, str_text(&text), text.len, 1, &o, &e), right);
        if (right)
            assert_true(o.launches.launch[0].shared == shared && o.launches.launch[0].n == n
                        && o.bytes == 3 && memcmp(o.cubin, "abc", 3) == 0);
        str_free(&text);
    }
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_of_the_driver_are_errors),
        cmocka_unit_test(codes_of_cupti_are_errors),
        cmocka_unit_test(libraries_are_found_by_name),
        cmocka_unit_test(devices_are_printed_and_read),
        cmocka_unit_test(modules_have_a_form),
        cmocka_unit_test(launches_have_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
