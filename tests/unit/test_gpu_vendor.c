/* The vendor libraries of a GPU, in this process: cuBLAS and cuDNN of tests/fake, which check their
 * arguments, on the memory of the fake driver. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "profile/measure/oracle.h"
#include "profile/vendor/vendor.h"
#include "tests/unit/fake_libs.h"
#include "tests/unit/perm.h"
#include "tests/unit/programs.h"
#include "tests/unit/temp_dir.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define SEED 5

static char cuda[120], cublas[120], cudnn[120];
static int *live, *fused;                 /* counters of the fake cuDNN */

/* An operator and its buffers. */
struct trial {
    const struct program *p;
    struct vendor_problem v;
    void *buffer[VENDOR_MAX_TENSORS];
    const struct vendor_plugin *plugin;
    char why[256];
};

static struct vendor_handle *trial_open(struct trial *t, const char *spec,
                                        enum vendor_library library)
{
    struct err e;
    char path[64];
    memset(t, 0, sizeof *t);
    t->p = program_bare(perm, spec);
    if (!vendor_match(t->p->base, &t->v, &e) || !vendor_offers(library, &t->v, &e))
        fail_msg("%s: %s", spec, e.text);
    for (int i = 0; i < t->v.n_tensors; i++) {
        const struct vendor_tensor *x = &t->v.tensor[i];
        t->buffer[i] = xmalloc((size_t)(x->elems * type_get(t->v.type)->bytes));
        assert_true(oracle_fill(NULL, t->p, x->tensor, SEED, x->elems, t->buffer[i], &e));
    }
    assert_true(vendor_find(NULL, library, path, sizeof path, &e));
    assert_string_equal(path, vendor_name[library]);
    assert_true(vendor_load(path, &t->plugin, &e));
    return t->plugin->open(&t->v, library, 1, t->buffer, t->why, sizeof t->why);
}

static void trial_close(struct trial *t, struct vendor_handle *h)
{
    t->plugin->close(h);
    for (int i = 0; i < t->v.n_tensors; i++)
        free(t->buffer[i]);
}

/* The library computes what the reference computes. */
static void must_be(const char *spec, enum vendor_library library, const char *implementation,
                    const char *layout)
{
    struct trial t;
    struct vendor_handle *h = trial_open(&t, spec, library);
    struct deviation worst = { 0 };
    const struct oracle *o;
    struct err e;
    int out = t.v.n_tensors - 1;
    if (!h)
        fail_msg("%s: %s", spec, t.why);
    assert_string_equal(t.plugin->implementation(h), implementation);
    assert_string_equal(t.plugin->layout(h), layout);
    assert_true(t.plugin->run(h) && t.plugin->run(h) && t.plugin->output(h));
    assert_true(oracle_acquire(t.p->base, SEED, NULL, &o, &e));
    if (!oracle_compare(o, t.p, t.v.tensor[out].tensor, t.buffer[out], NULL, &worst, &e))
        fail_msg("%s: %s", spec, e.text);
    oracle_release(o);
    trial_close(&t, h);
}

static void must_refuse(const char *spec, enum vendor_library library, const char *why)
{
    struct trial t;
    struct vendor_handle *h = trial_open(&t, spec, library);
    if (h)
        fail_msg("%s was not refused: %s", spec, why);
    assert_string_equal(t.why, why);
    trial_close(&t, h);
    assert_int_equal(*live, 0);
}

/* --- Products --------------------------------------------------------------------------------- */

static void products_are_right(void **state)
{
    static const struct { const char *spec, *implementation, *layout; } row[] = {
        { "gmm m=33 k=20 n=17", "f32", "row-major" },
        { "gmm m=1 k=9 n=5", "f32", "row-major" },        /* each extent 1 in turn */
        { "gmm m=5 k=9 n=1", "f32", "row-major" },
        { "gmm m=5 k=1 n=7", "f32", "row-major" },
        { "bmm b=3 m=12 k=16 n=20", "f32, batched", "row-major" },
        { "gmm m=6 k=10 n=8 type=f16", "f16", "row-major" },
        { "gmm m=6 k=10 n=8 type=bf16", "bf16", "row-major" },
        { "x = input m=4 k=6; w = const n=5 k=6; y = gemm(x, w) transb=1", "f32",
          "row-major, B transposed" },
        { "x = input m=6 k=4; w = const n=5 k=6; y = gemm(x, w) transa=1 transb=1", "f32",
          "row-major, B transposed" },
        { "x = input k=6; w = input k=6 n=5; y = matmul(x, w)", "f32", "row-major" },
        { "x = input m=4 k=6; w = input k=6; y = matmul(x, w)", "f32", "row-major" },
        /* matrices at equal distances, and one matrix for all of a batch */
        { "x = input a=2 b=3 m=4 k=6; w = input a=2 b=3 k=6 n=5; y = matmul(x, w)",
          "f32, batched", "row-major" },
        { "x = input a=2 b=3 m=4 k=6; w = input k=6 n=5; y = matmul(x, w)", "f32, batched",
          "row-major" },
    };
    char text[64];
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        snprintf(text, sizeof text, "cuBLAS 13.12.11 %s", row[i].implementation);
        must_be(row[i].spec, VENDOR_CUBLAS, text, row[i].layout);
    }
}

static void products_are_refused(void **state)
{
    (void)state;
    must_refuse("x = input a=2 b=3 m=4 k=6; w = input b=3 k=6 n=5; y = matmul(x, w)",
                VENDOR_CUBLAS, "cuBLAS needs the matrices of a batch at equal distances");
    setenv("FAKE_CUBLAS", "fail", 1);
    must_refuse("gmm m=4 k=4 n=4", VENDOR_CUBLAS, "cublasCreate: CUBLAS_STATUS_NOT_INITIALIZED");
    setenv("FAKE_CUBLAS", "refuse", 1);
    must_refuse("gmm m=4 k=4 n=4", VENDOR_CUBLAS,
                "cublasGemmStridedBatchedEx: CUBLAS_STATUS_INVALID_VALUE");
    unsetenv("FAKE_CUBLAS");
}

/* --- Convolutions ----------------------------------------------------------------------------- */

#define BIASED "c2d n=2 i=3 h=9 w=11 o=6 kh=3 kw=2 sh=2 sw=3 bias=1 relu=1"

/* script: of the fake cuDNN.  fused: whether the call with bias and relu is used. */
static const struct { const char *spec, *script, *implementation, *layout; bool fused; } conv[] = {
    { "c2d n=2 i=3 h=7 w=6 o=4 k=3 p=1", "", "f32 algorithm 3", "channels first", false },
    { "c2d n=2 i=3 h=7 w=6 o=4 k=3 p=1", "last", "f32 algorithm 4", "channels last", false },
    { "c2d n=2 i=3 h=7 w=6 o=4 k=3 p=1", "same", "f32 algorithm 3", "channels first", false },
    { "c2d n=2 i=3 h=7 w=6 o=4 k=3 p=1", "one", "f32 algorithm 3", "channels first", false },
    { BIASED, "", "f32 algorithm 3", "channels first", true },
    { BIASED, "last", "f32 algorithm 4", "channels last", true },
    { BIASED, "apart", "f32 algorithm 3", "channels first", false },
    { "c2d n=1 i=4 h=6 w=5 o=3 k=3 p=1 bias=1", "", "f32 algorithm 3", "channels first", false },
    { "c2d n=1 i=4 h=6 w=5 o=3 k=3 p=1 relu=1", "", "f32 algorithm 3", "channels first", false },
    { "c1d n=2 i=4 w=20 o=6 k=3 s=2 p=1 bias=1 relu=1", "", "f32 algorithm 3", "channels first",
      true },
    { "c1d n=2 i=4 w=20 o=6 k=3 s=2 p=1", "last", "f32 algorithm 4", "channels last", false },
    { "c3d n=1 i=3 depth=4 h=5 w=6 o=4 k=3 p=1 act=relu", "", "f32 algorithm 3",
      "channels first", false },
    { "c3d n=1 i=3 depth=4 h=5 w=6 o=4 k=3 p=1", "last", "f32 algorithm 4", "channels last",
      false },
    { "grp n=2 i=6 h=7 w=7 o=9 g=3 k=3 s=2 bias=1 relu=1", "", "f32 algorithm 3",
      "channels first", true },
    { "grp n=1 i=6 h=7 w=7 o=9 g=3 k=3 s=2", "last", "f32 algorithm 4", "channels last", false },
    { "dep n=1 c=4 h=6 w=6 k=3 p=1", "", "f32 algorithm 3", "channels first", false },
    { "dil n=1 i=3 h=15 w=13 o=6 k=3 dh=2 dw=3 s=2 bias=1", "", "f32 algorithm 3",
      "channels first", false },
    { "t2d n=2 i=3 h=5 w=4 o=6 k=3 s=2 p=1 op=1 bias=1 relu=1", "", "f32 algorithm 3",
      "channels first", false },
    { "t2d n=1 i=3 h=5 w=4 o=6 k=4 s=2 p=1", "last", "f32 algorithm 4", "channels last", false },
    { "t3d n=1 i=3 depth=3 h=4 w=2 o=2 k=3 s=2 p=1", "", "f32 algorithm 3", "channels first",
      false },
    { "c2d n=1 i=8 h=6 w=6 o=8 k=3 p=1 bias=1 relu=1 type=f16", "", "f16 algorithm 3",
      "channels first", true },
    { "c2d n=1 i=8 h=6 w=6 o=8 k=3 p=1 bias=1 relu=1 type=bf16", "last", "bf16 algorithm 4",
      "channels last", true },
};

/* One call when the library is opened, and two that the test makes. */
static void convolutions_are_right(void **state)
{
    char text[64];
    (void)state;
    for (int i = 0; i < COUNT_OF(conv); i++) {
        int before = *fused;
        setenv("FAKE_CUDNN", conv[i].script, 1);
        snprintf(text, sizeof text, "cuDNN 9.12.3 %s", conv[i].implementation);
        must_be(conv[i].spec, VENDOR_CUDNN, text, conv[i].layout);
        assert_int_equal(*fused - before, conv[i].fused ? 3 : 0);
        if (*live != 0)
            fail_msg("%s left %d handles and descriptors", conv[i].spec, *live);
    }
    unsetenv("FAKE_CUDNN");
}

static void convolutions_are_refused(void **state)
{
    static const char plain[] = "c2d n=1 i=3 h=7 w=6 o=4 k=3 p=1";
    static const struct { const char *script, *why; } row[] = {
        { "fail", "cudnnCreate: CUDNN_STATUS_NOT_INITIALIZED" },
        { "none", "cuDNN has no algorithm for convolution 3x3" },
        { "search", "cudnnFindConvolutionAlgorithm: CUDNN_STATUS_BAD_PARAM" },
        { "broken", "cuDNN's algorithm 3 fails for convolution 3x3" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        setenv("FAKE_CUDNN", row[i].script, 1);
        must_refuse(plain, VENDOR_CUDNN, row[i].why);
    }
    unsetenv("FAKE_CUDNN");
    must_refuse("c2d n=1 i=2 h=9 w=9 o=3 kh=3 kw=2 pw1=1", VENDOR_CUDNN,
                "cuDNN needs equal padding on both sides; convolution 3x2 has different padding on "
                "the two sides");
    /* 8 columns have 7 windows of 3 with padding on one side, and 8 with it on both */
    must_refuse("c1d n=1 i=2 w=8 o=3 k=3 pw0=1", VENDOR_CUDNN,
                "cuDNN needs equal padding on both sides; convolution 3 has different padding on "
                "the two sides");
}

/* --- The device ------------------------------------------------------------------------------- */

static void faults_of_the_driver_have_reasons(void **state)
{
    static const struct { const char *script, *why; } row[] = {
        { "cuInit code=34", "cuInit: CUDA_ERROR_STUB_LIBRARY" },
        { "cuMemAlloc_v2 code=2", "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY" },
        { "cuMemcpyHtoD_v2 code=1", "cuMemcpyHtoD: CUDA_ERROR_INVALID_VALUE" },
    };
    struct trial t;
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        setenv("FAKE_CUDA", row[i].script, 1);
        must_refuse("gmm m=4 k=4 n=4", VENDOR_CUBLAS, row[i].why);
        must_refuse("c2d n=1 i=3 h=7 w=6 o=4 k=3 p=1", VENDOR_CUDNN, row[i].why);
    }
    unsetenv("FAKE_CUDA");
    struct vendor_handle *h = trial_open(&t, "gmm m=4 k=4 n=4", VENDOR_CUBLAS);
    assert_non_null(h);
    setenv("FAKE_CUDA", "cuMemcpyDtoH_v2 code=1", 1);
    assert_false(t.plugin->output(h));
    setenv("FAKE_CUDA", "cuCtxSynchronize code=1", 1);
    assert_false(t.plugin->output(h));
    unsetenv("FAKE_CUDA");
    assert_true(t.plugin->output(h));
    trial_close(&t, h);
    t.plugin->close(NULL);
}

static void libraries_that_are_missing_say_so(void **state)
{
    struct trial t;
    (void)state;
    setenv("TILESCOPE_CUDNN", "/nowhere/libcudnn.so", 1);
    struct vendor_handle *h = trial_open(&t, "c2d n=1 i=3 h=7 w=6 o=4 k=3 p=1", VENDOR_CUDNN);
    assert_null(h);
    assert_int_equal(strncmp(t.why, "cuDNN cannot be loaded: ", 24), 0);
    trial_close(&t, h);
    setenv("TILESCOPE_CUDNN", cudnn, 1);
    setenv("TILESCOPE_CUDA", "/nowhere/libcuda.so", 1);
    h = trial_open(&t, "gmm m=4 k=4 n=4", VENDOR_CUBLAS);
    assert_null(h);
    assert_int_equal(strncmp(t.why, "the CUDA driver cannot be loaded: ", 34), 0);
    trial_close(&t, h);
    setenv("TILESCOPE_CUDA", cuda, 1);
}

static int prepare(void **state)
{
    const char *dir = temp_dir(NULL);
    if (perm_setup(state) != 0)
        return -1;
    fake_lib_build(dir, "cuda", cuda);
    fake_lib_build(dir, "cublas", cublas);
    fake_lib_build(dir, "cudnn", cudnn);
    setenv("TILESCOPE_CUDA", cuda, 1);
    setenv("TILESCOPE_CUBLAS", cublas, 1);
    setenv("TILESCOPE_CUDNN", cudnn, 1);
    void *h = dlopen(cudnn, RTLD_NOW | RTLD_LOCAL);
    live = h ? dlsym(h, "fake_cudnn_live") : NULL;
    fused = h ? dlsym(h, "fake_cudnn_fused") : NULL;
    return live && fused ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_right), cmocka_unit_test(products_are_refused),
        cmocka_unit_test(convolutions_are_right), cmocka_unit_test(convolutions_are_refused),
        cmocka_unit_test(faults_of_the_driver_have_reasons),
        cmocka_unit_test(libraries_that_are_missing_say_so),
    };
    return cmocka_run_group_tests_name("gpu_vendor", tests, prepare, perm_teardown);
}
