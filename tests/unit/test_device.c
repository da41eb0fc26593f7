/* Kernels on a GPU, with the driver and the NVRTC of tests/fake: what the device runner measures,
 * and what it says when the driver refuses, lies, hangs or dies. */
/* tests/run.sh: takes 10 s */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/file.h"
#include "kernels/base/subprocess.h"
#include "profile/build/nvrtc.h"
#include "profile/child/device.h"
#include "profile/cuda/device.h"
#include "profile/cuda/driver.h"
#include "profile/cuda/object.h"
#include "profile/measure/measure.h"
#include "tests/unit/cuda_bind.h"
#include "tests/unit/fake_libs.h"
#include "tests/unit/temp_dir.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static const char *folder;

static void use_fake(const char *name, const char *variable)
{
    char so[120];
    fake_lib_build(folder, name, so);
    setenv(variable, so, 1);
}

static int build_fakes(void **state)
{
    (void)state;
    folder = temp_dir(NULL);
    use_fake("cuda", "TILESCOPE_CUDA");
    use_fake("nvrtc", "TILESCOPE_NVRTC");
    return 0;
}

/* A product of 32 by 32 elements, 4096 bytes, whose rows are blocks. */
static const struct program *product(struct arena *a)
{
    static const char *const line[] = { "loop bind C M block.x", "loop bind C N thread.x" };
    const struct program *p;
    struct err e = {0};
    int bad;
    if (!program_replay(a, "gmm m=32 k=24 n=32", line, COUNT_OF(line), &p, &bad, &e))
        fail_msg("%s", e.text);
    return p;
}

static void measure(const struct program *p, double limit_s, struct measurement *m)
{
    struct measure_opts o = { .meters = METER_CLOCK, .seed = 3, .time_s = 0.02,
                              .limit_s = limit_s };
    struct err e = {0};
    if (!measure_program(p, &o, NULL, NULL, m, &e))
        fail_msg("%s", e.text);
}

static void right_kernels_are_timed(void **state)
{
    static const char *const spec[] = {
        "c2d n=1 i=4 h=9 w=9 o=8 k=3 p=1 bias=1 relu=1", "dep n=1 c=6 h=9 w=9 k=3 p=1",
        "t2d n=1 i=4 h=5 w=5 o=6 k=3 s=2 p=1", "gmm m=33 k=20 n=17",
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(spec); i++) {
        struct arena *a = arena_new();
        const struct program *p;
        struct measurement m;
        struct err e = {0};
        int at;
        assert_true(program_replay(a, spec[i], NULL, 0, &p, &at, &e));
        for (int n = 0; n < p->graph->n_nodes; n++)
            p = cuda_bind_all(a, p, n, 96);
        measure(p, 0, &m);
        if (!m.verified || m.latency.runs == 0)
            fail_msg("%s: %s %s", spec[i], m.reason, m.device.reason);
        assert_string_equal(m.device.name, "Fake GPU 1");
        assert_string_equal(m.device.driver, "13.0");
        assert_string_equal(m.device.nvrtc, "99.1");
        assert_int_equal(m.device.clock_mhz, 1000);
        assert_int_equal(m.device.memory_mhz, 500);
        assert_true(m.latency.min_ms > 0 && m.gflops > 0 && m.latency.runs >= 10);
        arena_free(a);
    }
}

static void cold_times_are_of_single_calls(void **state)
{
    struct measure_opts o = { .meters = METER_CLOCK, .seed = 3, .time_s = 0.02, .cold = true };
    struct arena *a = arena_new();
    struct measurement m;
    struct err e = {0};
    (void)state;
    assert_true(measure_program(product(a), &o, NULL, NULL, &m, &e));
    assert_true(m.verified && m.cold_latency.runs > 0);
    assert_string_equal(m.cold_method, "64 MiB written in between");
    assert_true(m.measurements == 1 && m.measured_at[0]);
    setenv("FAKE_CUDA", "cuMemAlloc_v2 code=2 4", 1);        /* of the 64 MiB: C is the third */
    assert_true(measure_program(product(a), &o, NULL, NULL, &m, &e));
    unsetenv("FAKE_CUDA");
    assert_true(m.verified && m.latency.runs == 0 && m.cold_latency.runs == 0);
    assert_non_null(strstr(m.device.reason, "CUDA_ERROR_OUT_OF_MEMORY"));
    assert_true(m.measurements == 0 && m.load == 0 && !m.measured_at[0]);
    arena_free(a);
}

/* What a script leads to.  OUTCOME_OK: the twin is right, and the device has a reason. */
static const struct { const char *script; enum outcome outcome; const char *says; } bad[] = {
    { "cuLaunchKernel skip", OUTCOME_WRONG, "on Fake GPU 1: " },
    { "cuLaunchKernel wrong 1", OUTCOME_WRONG, "on Fake GPU 1: " },
    { "cuLaunchKernel wrong 2", OUTCOME_WRONG, "after 2 calls" },
    { "cuLaunchKernel skip 2", OUTCOME_WRONG, "after 2 calls" },
    { "cuLaunchKernel behind 1", OUTCOME_WRONG,
      "wrote outside its buffers: a write just behind C" },
    { "cuLaunchKernel before 1", OUTCOME_WRONG,
      "wrote outside its buffers: a write 8 bytes before C" },
    { "cuMemcpyHtoD_v2 skip 3", OUTCOME_WRONG, "on Fake GPU 1: " },
    { "cuLaunchKernel hang 1", OUTCOME_TIMEOUT, "did not end within 1 s" },
    { "cuEventSynchronize hang 3", OUTCOME_TIMEOUT, "did not end within 1 s" },
    { "cuEventSynchronize code=700 1", OUTCOME_CRASH,
      "on Fake GPU 1: cuEventSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS" },
    { "cuEventSynchronize code=700 5", OUTCOME_CRASH, "CUDA_ERROR_ILLEGAL_ADDRESS" },
    { "cuEventSynchronize code=702 1", OUTCOME_TIMEOUT, "CUDA_ERROR_LAUNCH_TIMEOUT" },
    { "cuEventSynchronize code=719 2", OUTCOME_CRASH, "the driver's error 719" },
    { "cuLaunchKernel abort 1", OUTCOME_CRASH, "SIGABRT" },
    { "cuLaunchKernel segv 4", OUTCOME_CRASH, "SIGSEGV" },
    { "cuLaunchKernel exit 3", OUTCOME_CRASH, "ended the process by itself" },
    { "cuModuleLoadData code=209 1", OUTCOME_COMPILE, "CUDA_ERROR_NO_BINARY_FOR_GPU" },
    { "cuModuleGetFunction code=500 1", OUTCOME_COMPILE, "the driver's error 500" },
    { "cuEventElapsedTime zero", OUTCOME_OK, "the CUDA driver reports 0 s" },
    { "cuEventElapsedTime tiny", OUTCOME_WRONG, "the kernel skips work" },
    { "cuEventElapsedTime nan 3", OUTCOME_OK, "the CUDA driver reports" },
    { "cuEventElapsedTime minus", OUTCOME_OK, "the CUDA driver reports" },
    { "cuEventElapsedTime huge 2", OUTCOME_OK, "reports 1e+03 s for work that took" },
    { "cuMemAlloc_v2 code=2 2", OUTCOME_OK, "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY" },
};

static void a_bad_driver_is_never_timed(void **state)
{
    struct arena *a = arena_new();
    const struct program *p = product(a);
    struct measurement m;
    (void)state;
    measure(p, 0, &m);
    assert_true(m.latency.runs > 0);
    for (int i = 0; i < COUNT_OF(bad); i++) {
        setenv("FAKE_CUDA", bad[i].script, 1);
        measure(p, strstr(bad[i].script, "hang") ? 1 : 0, &m);
        unsetenv("FAKE_CUDA");
        bool fine = bad[i].outcome == OUTCOME_OK;
        const char *why = fine ? m.device.reason : m.reason;
        if (m.outcome != bad[i].outcome || !strstr(why, bad[i].says))
            fail_msg("%s: %s: %s", bad[i].script, outcome_name[m.outcome], why);
        assert_int_equal(m.verified, fine);
        assert_true(m.latency.runs == 0 && m.gflops == 0 && m.measurements == 0);
        assert_true(!fine || (m.max_rel_err > 0 && m.device.name[0] == '\0'));
    }
    measure(p, 0, &m);                       /* a new child, and nothing of the faults is left */
    assert_true(m.verified && m.latency.runs > 0);
    arena_free(a);
}

/* After a failed allocation there is nothing to free: a second cuMemFree would end this process. */
static void memory_is_freed_once(void **state)
{
    static struct cuda_device *d;         /* never closed: a device lives as long as its process */
    struct err e = {0};
    (void)state;
    if (!cuda_device_open(0, 0, &d, &e) || !cuda_device_flush(d, 512, &e))
        fail_msg("%s", e.text);
    setenv("FAKE_CUDA", "cuMemAlloc_v2 code=2", 1);
    assert_false(cuda_device_flush(d, 1024, &e));
    unsetenv("FAKE_CUDA");
    assert_non_null(strstr(e.text, "CUDA_ERROR_OUT_OF_MEMORY"));
    assert_true(cuda_device_flush(d, 1024, &e));
}

/* A kernel with a shared tile of 128 KiB: the driver allows it, then the launch asks for it. */
static void large_shared_tiles_are_asked_for(void **state)
{
    static const char *const line[] = {
        "loop bind C M block.x", "loop cache_read C B at=M scope=shared",
    };
    static const struct { const char *script; enum outcome outcome; const char *says; } row[] = {
        { "cuDeviceGetAttribute small", OUTCOME_COMPILE,
          "kernel_0 needs 131072 bytes of shared memory, and a block of this device has at most"
          " 101376" },
        { "cuFuncSetAttribute code=1", OUTCOME_OK,
          "cuFuncSetAttribute: CUDA_ERROR_INVALID_VALUE" },
        { "cuFuncSetAttribute skip", OUTCOME_OK, "kernel_0: CUDA_ERROR_INVALID_VALUE" },
        { "cuLaunchKernel less 1", OUTCOME_CRASH, "SIGSEGV" },
    };
    struct arena *a = arena_new();
    const struct program *p;
    struct measurement m;
    struct err e = {0};
    int bad_line;
    (void)state;
    if (!program_replay(a, "gmm m=4 k=256 n=128", line, COUNT_OF(line), &p, &bad_line, &e))
        fail_msg("%s", e.text);
    measure(p, 0, &m);
    if (!m.verified || m.latency.runs == 0)
        fail_msg("%s %s", m.reason, m.device.reason);
    for (int i = 0; i < COUNT_OF(row); i++) {
        setenv("FAKE_CUDA", row[i].script, 1);
        measure(p, 0, &m);
        unsetenv("FAKE_CUDA");
        const char *why = row[i].outcome == OUTCOME_OK ? m.device.reason : m.reason;
        if (m.outcome != row[i].outcome || !strstr(why, row[i].says))
            fail_msg("%s: %s: %s", row[i].script, outcome_name[m.outcome], why);
        assert_true(m.latency.runs == 0);
    }
    arena_free(a);
}

static void a_driver_that_cannot_say_its_device(void **state)
{
    static const struct { const char *script, *says; } row[] = {
        { "cuInit hang", "did not answer within 0.5 s" },
        { "cuInit abort", "crashed (signal 6)" }, { "cuInit exit", "impossible properties" },
        { "cuInit code=34", "cuInit: CUDA_ERROR_STUB_LIBRARY" },
        { "cuDeviceGetCount none", "finds no device" },
        { "cuDeviceGetName garbage", "impossible properties" },
        { "cuDeviceGetCount code=46", "the driver's error 46, which has no name" },
    };
    struct cuda_info info;
    struct err e;
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        setenv("FAKE_CUDA", row[i].script, 1);
        bool ok = device_ask(NULL, 0.5, &info, &e);
        unsetenv("FAKE_CUDA");
        if (ok || e.code != ERR_ENV || !strstr(e.text, row[i].says))
            fail_msg("%s: %s", row[i].script, ok ? "ok" : e.text);
    }
    setenv("FAKE_CUDA", "cuDeviceGetName escape", 1);
    assert_true(device_ask(NULL, 5, &info, &e));
    unsetenv("FAKE_CUDA");
    assert_string_equal(info.name, "Fake?[2JGPU");
    assert_true(info.major == 9 && info.minor == 0 && info.multiprocessors == 4
                && info.l2_bytes == 1 << 20 && info.memory_bytes == 1 << 30
                && info.shared_bytes == 227 << 10);
}

static void without_nvrtc_or_driver_the_twin_remains(void **state)
{
    static const struct { const char *variable, *value, *says; } row[] = {
        { "TILESCOPE_CUDA", "/nowhere/libcuda.so", "the CUDA driver cannot be loaded: /nowhere" },
        { "TILESCOPE_CUDA", "/lib/x86_64-linux-gnu/libm.so.6", "has no function cuInit" },
        { "TILESCOPE_NVRTC", "/nowhere/libnvrtc.so", "NVRTC cannot be loaded: /nowhere" },
    };
    struct arena *a = arena_new();
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct measurement m;
        char was[200];
        snprintf(was, sizeof was, "%s", getenv(row[i].variable));
        setenv(row[i].variable, row[i].value, 1);
        if (file_exists(row[i].value) || i != 1) {
            measure(product(a), 0, &m);
            if (!m.verified || m.latency.runs > 0 || !strstr(m.device.reason, row[i].says))
                fail_msg("%s: %s", row[i].value, m.device.reason);
        }
        setenv(row[i].variable, was, 1);
    }
    arena_free(a);
}

/* Returns the toolkit's folder that has this file, or NULL. */
static const char *toolkit(const char *file)
{
    static const char *const place[] = { "/usr/local/cuda", "/usr/local/cuda-13.0", "/usr" };
    static char path[200];
    for (int i = 0; i < COUNT_OF(place); i++) {
        snprintf(path, sizeof path, "%s/%s", place[i], file);
        if (file_exists(path)) {
            path[strlen(path) - strlen(file) - 1] = '\0';
            return path;
        }
    }
    return NULL;
}

/* Our declarations of the driver against cuda.h, where it is. */
static void prototypes_are_those_of_cuda_h(void **state)
{
    static const struct { const char *name; int value; } constant[] = {
        { "CUDA_ERROR_OUT_OF_MEMORY", CUDA_OUT_OF_MEMORY },
        { "CUDA_ERROR_INVALID_IMAGE", CUDA_INVALID_IMAGE },
        { "CUDA_ERROR_NO_BINARY_FOR_GPU", CUDA_NO_BINARY },
        { "CUDA_ERROR_NOT_FOUND", CUDA_NOT_FOUND },
        { "CUDA_ERROR_ILLEGAL_ADDRESS", CUDA_ILLEGAL_ADDRESS },
        { "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", CUDA_LAUNCH_RESOURCES },
        { "CUDA_ERROR_LAUNCH_TIMEOUT", CUDA_LAUNCH_TIMEOUT },
        { "CU_DEVICE_ATTRIBUTE_CLOCK_RATE", CUDA_ATTRIBUTE_CLOCK },
        { "CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT", CUDA_ATTRIBUTE_MULTIPROCESSORS },
        { "CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE", CUDA_ATTRIBUTE_MEMORY_CLOCK },
        { "CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE", CUDA_ATTRIBUTE_L2 },
        { "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR", CUDA_ATTRIBUTE_MAJOR },
        { "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR", CUDA_ATTRIBUTE_MINOR },
        { "CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN", CUDA_ATTRIBUTE_SHARED_OPTIN },
        { "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES", CUDA_FUNCTION_DYNAMIC_SHARED },
        { "(int)sizeof(CUfunction_attribute)", (int)sizeof(CUfunction_attribute) },
        { "(int)sizeof(CUresult)", (int)sizeof(CUresult) },
        { "(int)sizeof(CUdevice_attribute)", (int)sizeof(CUdevice_attribute) },
        { "(int)sizeof(CUdeviceptr)", (int)sizeof(CUdeviceptr) },
    };
    const char *cuda = toolkit("include/cuda.h");
    char include[220], path[80];
    struct str text = {0};
    struct err e = {0};
    (void)state;
    if (!cuda)
        skip();
    str_add(&text, "#include <cuda.h>\n#define FN(f, parameters) _Static_assert("
            "__builtin_types_compatible_p(__typeof__(&f), CUresult (*)parameters), #f);\n"
            "#include \"profile/cuda/driver.def\"\n");
    for (int i = 0; i < COUNT_OF(constant); i++)
        str_printf(&text, "_Static_assert(%s == %d, \"\");\n", constant[i].name,
                   constant[i].value);
    snprintf(include, sizeof include, "-I%s/include", cuda);
    snprintf(path, sizeof path, "%s/check.c", folder);
    assert_true(file_write_quick(path, str_text(&text), text.len, &e));
    const char *const argv[] = { "gcc", "-std=gnu17", "-fsyntax-only", "-I.", include, path, NULL };
    struct subprocess_result res = {0};
    assert_true(subprocess_run(argv, 60, NULL, &res, &e));
    if (res.exit_code != 0)
        fail_msg("%s", str_text(&res.out));
    str_free(&res.out);
    str_free(&text);
}

/* The toolkit's stub of the driver has all functions, and refuses cuInit. */
static void names_are_those_of_the_stub(void **state)
{
    const char *cuda = toolkit("lib64/stubs/libcuda.so");
    char was[200], stub[240];
    struct cuda_info info;
    struct err e = {0};
    (void)state;
    if (!cuda)
        skip();
    snprintf(was, sizeof was, "%s", getenv("TILESCOPE_CUDA"));
    snprintf(stub, sizeof stub, "%s/lib64/stubs/libcuda.so", cuda);
    setenv("TILESCOPE_CUDA", stub, 1);
    bool there = cuda_driver_there(&e), ok = device_ask(NULL, 20, &info, &e);
    setenv("TILESCOPE_CUDA", was, 1);
    assert_true(there && !ok);
    assert_non_null(strstr(e.text, "cuInit: "));
}

/* The launches name kernels of the real NVRTC's cubin, with as many threads as these may have. */
static void launches_are_those_of_the_cubin(void **state)
{
    const struct gen_opts o = { .target = target_named("cuda") };
    struct arena *a = arena_new();
    struct gen_launches l;
    struct gpu_build b;
    struct str text = {0};
    struct err e = {0};
    const struct func *f;
    const struct program *p;
    char was[200];
    int at;
    (void)state;
    snprintf(was, sizeof was, "%s", getenv("TILESCOPE_NVRTC"));
    unsetenv("TILESCOPE_NVRTC");
    bool there = nvrtc_there(&e);
    assert_true(program_replay(a, "c2d n=1 i=4 h=9 w=9 o=8 k=3 p=1 bias=1", NULL, 0, &p, &at, &e));
    for (int n = 0; n < p->graph->n_nodes; n++)
        p = cuda_bind_all(a, p, n, 48 + n);
    assert_true(program_lower(p, &f, &e) && gen_cuda(f, &o, &text, &l, &e));
    bool ok = there && nvrtc_build(a, str_text(&text), "sm_90", &b, &e);
    setenv("TILESCOPE_NVRTC", was, 1);
    assert_true(l.n == 3);
    for (int i = 0; ok && i < l.n; i++) {
        const int64_t *x = l.launch[i].extent;
        int k = 0;
        while (k < b.n && !streq(b.kernel[k].name, l.launch[i].name))
            k++;
        assert_true(k < b.n && b.kernel[k].threads == x[3] * x[4] * x[5]);
    }
    str_free(&text);
    arena_free(a);
    if (!there)
        skip();
    assert_true(ok);
}

static void modules_are_read_as_they_were_written(void **state)
{
    const int argument[] = { 2, 0 };
    const struct gen_launch launch[] = { { "kernel_0", { 1, 2, 3, 4, 5, 6 }, 65536, 2, argument },
                                         { "kernel_1", { 9, 1, 1, 32, 1, 1 }, 0, 0, argument } };
    const struct cuda_object o = { { 2, launch }, "\x7f\nelf", 5 };
    struct arena *a = arena_new();
    struct cuda_object got;
    struct str text = {0};
    struct err e;
    (void)state;
    cuda_object_write(&text, &o);
    size_t n = text.len;
    str_add(&text, "and a seal");
    assert_true(cuda_object_read(a, str_text(&text), text.len, 3, &got, &e));
    assert_true(got.launches.n == 2 && got.bytes == 5 && memcmp(got.cubin, o.cubin, 5) == 0);
    assert_string_equal(got.launches.launch[0].name, "kernel_0");
    assert_memory_equal(got.launches.launch[0].extent, launch[0].extent, sizeof launch[0].extent);
    assert_true(got.launches.launch[0].shared == 65536 && got.launches.launch[1].shared == 0);
    assert_true(got.launches.launch[0].n == 2 && got.launches.launch[0].argument[0] == 2);
    assert_false(cuda_object_read(a, str_text(&text), text.len, 2, &got, &e));  /* no buffer 2 */
    for (size_t cut = 0; cut < n; cut++)
        assert_false(cuda_object_read(a, str_text(&text), cut, 3, &got, &e));
    assert_int_equal(e.code, ERR_COMPILE);
    str_free(&text);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_kernels_are_timed),
        cmocka_unit_test(cold_times_are_of_single_calls),
        cmocka_unit_test(a_bad_driver_is_never_timed),
        cmocka_unit_test(memory_is_freed_once),
        cmocka_unit_test(large_shared_tiles_are_asked_for),
        cmocka_unit_test(a_driver_that_cannot_say_its_device),
        cmocka_unit_test(without_nvrtc_or_driver_the_twin_remains),
        cmocka_unit_test(prototypes_are_those_of_cuda_h),
        cmocka_unit_test(names_are_those_of_the_stub),
        cmocka_unit_test(launches_are_those_of_the_cubin),
        cmocka_unit_test(modules_are_read_as_they_were_written),
    };
    return cmocka_run_group_tests(tests, build_fakes, NULL);
}
