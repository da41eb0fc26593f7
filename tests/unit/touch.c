#include "tests/unit/temp_dir.h"
#include "tests/unit/touch.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/base/file.h"
#include "kernels/base/subprocess.h"

const char touch_prologue[] =
    "#include <cstring>\n"
    "#define expf __builtin_expf\n#define logf __builtin_logf\n#define tanhf __builtin_tanhf\n"
    "#define erff __builtin_erff\n#define sqrtf __builtin_sqrtf\n#define sinf __builtin_sinf\n"
    "#define cosf __builtin_cosf\n#define atanf __builtin_atanf\n"
    "#define floorf __builtin_floorf\n"
    "static inline float __int_as_float(unsigned i) { float f; memcpy(&f, &i, 4); return f; }\n"
    "#define restrict\n"
    "#define _Thread_local thread_local\n"
    "#define __global__\n#define __device__\n#define __launch_bounds__(n)\n"
    "#define INLINE __attribute__((always_inline)) inline\n"
    "struct touch { const float *at; unsigned is_store, bytes;\n"
    "    const void *site; unsigned launch, block, thread; unsigned long long turn; };\n"
    "static touch *to;\n"
    "static float *const *base;\n"
    "static struct { int x, y, z; } blockIdx, threadIdx;\n"
    "static unsigned launch, block, thread;\n"
    "static unsigned long long turn;\n"
    "struct loop {\n"
    "    bool once; unsigned long long outer, k;\n"
    "    loop() : once(true), outer(turn), k(0) {}\n"
    "    ~loop() { turn = outer; }\n"
    "    void next() { turn = outer * 1000003 + ++k; }\n"
    "};\n"
    "alignas(4096) static float shared_memory[64 * 16384];\n"
    "struct uint4 { int x, y, z, w; };\n"
    "#define __syncthreads()\n"
    "static __attribute__((noinline)) void note(const void *p, bool store, unsigned bytes)\n"
    "{ long i = (const char *)p - (const char *)shared_memory;\n"
    "  bool shared = i >= 0 && i < (long)sizeof shared_memory;\n"
    "  *to++ = touch{(const float *)(shared ? (const void *)i : p), store + 2u * shared, bytes,\n"
    "               __builtin_return_address(0), launch, block, thread,\n"
    "                turn}; }\n"
    "struct at { float *p; operator const float *() const { return p; } };\n"
    "struct ref {\n"
    "    float *p;\n"
    "    INLINE operator float() const { note(p, false, 4); return *p; }\n"
    "    INLINE void operator=(float v) const { note(p, true, 4); *p = v; }\n"
    "    INLINE void operator=(const ref &r) const { *this = float(r); }\n"
    "    INLINE void operator+=(float v) const { *this = float(*this) + v; }\n"
    "    at operator&() const { return at{p}; }\n"
    "};\n"
    "struct ptr {\n"
    "    float *p;\n"
    "    ptr(const float *q) : p((float *)q) {}\n"
    "    ptr(at a) : p(a.p) {}\n"
    "    operator const float *() const { return p; }\n"
    "    operator at() const { return at{p}; }\n"
    "    at operator+(long i) const { return at{p + i}; }\n"
    "    at operator-(long i) const { return at{p - i}; }\n"
    "    ref operator[](long i) const { return ref{p + i}; }\n"
    "};\n"
    "#define OP(op) \\\n"
    "    template <class V> static INLINE V operator op(const ref &r, const V &v) \\\n"
    "    { return float(r) op v; } \\\n"
    "    template <class V> static INLINE V operator op(const V &v, const ref &r) \\\n"
    "    { return v op float(r); } \\\n"
    "    static INLINE float operator op(const ref &r, const ref &q) \\\n"
    "    { return float(r) op float(q); }\n"
    "OP(+) OP(-) OP(*) OP(/)\n"
    "#define VEC(n) \\\n"
    "    typedef float v##n __attribute__((vector_size(4 * n))); \\\n"
    "    typedef float u##n __attribute__((vector_size(4 * n), aligned(4))); \\\n"
    "    static inline v##n load##n(at a) \\\n"
    "    { v##n x; note(a.p, false, 4 * n); std::memcpy(&x, a.p, sizeof x); return x; } \\\n"
    "    static inline void store##n(at a, v##n x) \\\n"
    "    { note(a.p, true, 4 * n); std::memcpy(a.p, &x, sizeof x); } \\\n"
    "    static inline void stream##n(at a, v##n x) { std::memcpy(a.p, &x, sizeof x); }\n"
    "VEC(2) VEC(4) VEC(8) VEC(16)\n"
    "static INLINE void copy4(at a, at b)\n"
    "{ note(b.p, false, 16); note(a.p, true, 16); std::memcpy(a.p, b.p, 16); }\n";

/* Nothing turns these pointers into plain ones, so what the text does with them is counted, or does
 * not compile.  ldmatrix reads 16 bytes at the address that each lane gives. */
const char touch_half_prologue[] =
    "typedef unsigned short half;\n"
    "struct half_at { half *p; };\n"
    "struct half_ref {\n"
    "    half *p;\n"
    "    INLINE operator half() const { note(p, false, 2); return *p; }\n"
    "    INLINE void operator=(half v) const { note(p, true, 2); *p = v; }\n"
    "    INLINE void operator=(const half_ref &r) const { *this = half(r); }\n"
    "    half_at operator&() const { return half_at{p}; }\n"
    "};\n"
    "struct half_ptr {\n"
    "    half *p;\n"
    "    half_ptr(const void *q) : p((half *)q) {}\n"
    "    half_ptr(half_at a) : p(a.p) {}\n"
    "    half_at operator+(long i) const { return half_at{p + i}; }\n"
    "    half_at operator-(long i) const { return half_at{p - i}; }\n"
    "    half_ref operator[](long i) const { return half_ref{p + i}; }\n"
    "};\n"
    "static INLINE void copy8(half_ptr a, half_ptr b)\n"
    "{ note(b.p, false, 16); note(a.p, true, 16); std::memcpy(a.p, b.p, 16); }\n"
    "static INLINE void store_pair(half_ptr a, float, float) { note(a.p, true, 4); }\n"
    "static INLINE unsigned fragment_pair(half_ptr a) { note(a.p, false, 4); return 0; }\n"
    "static INLINE void fragment_rows(unsigned *, half_ptr a) { note(a.p, false, 16); }\n"
    "static INLINE void fragment_columns(unsigned *, half_ptr a) { note(a.p, false, 16); }\n"
    "static INLINE void fragment_rows(unsigned *, at a) { note(a.p, false, 16); }\n"
    "static INLINE unsigned tf32(float) { return 0; }\n"
    "template <class... F> static void mma(const unsigned *, const unsigned *, F *...) {}\n"
    "#define COPY(n, type) static INLINE void copy_async##n(type a, type b) \\\n"
    "{ note(b.p, false, n); note(a.p, true, n); std::memcpy(a.p, b.p, n); }\n"
    "COPY(4, at) COPY(8, at) COPY(16, at) COPY(4, half_at) COPY(8, half_at) COPY(16, half_at)\n";

/* Does the line define what the prologue defines? */
static bool is_replaced(const char *line)
{
    const char *load = strstr(line, " load"), *brace = strchr(line, '(');
    if (str_starts(line, "static inline void store") || str_starts(line, "typedef float "))
        return true;
    return str_starts(line, "static inline v") && load && load < brace;
}

/* "float C_acc[64] __attribute__(...);" or "float *C_acc = C_acc_of_thread();" */
static void array_line(struct str *out, const struct func *f, const char *line)
{
    const char *at = strstr(line, "float ") + strlen("float ");
    at += *at == '*';
    for (int b = f->n_params; b < f->n_buffers; b++) {
        const char *name = f->buffer[b].name;
        if (str_starts(at, name) && strchr("[ ", at[strlen(name)])) {
            str_printf(out, "ptr %s(base[%d]);\n", name, b);
            return;
        }
    }
    fail("no buffer for: %s", line);
}

static void add_line(struct str *out, const struct func *f, const char *line)
{
    static const char *const pointer[] = { "const float *restrict ", "float *restrict ",
                                           "const float *__restrict__ ", "float *__restrict__ ",
                                           "const float *" };
    size_t indent = strspn(line, " ");
    bool declares = indent > 0 && str_starts(line + indent, "float *") && !strstr(line, "memory;");
    if (is_replaced(line))
        return;
    if (str_starts(line, " ") && !strstr(line, " memory[") &&
        (strstr(line, "__attribute__((aligned(64)))") || strstr(line, "_of_thread()"))) {
        array_line(out, f, line);
        return;
    }
    if (declares) {
        str_add(out, "ptr ");
        line += indent + strlen("float *");
    }
    while (*line) {
        int i = 0;
        while (i < COUNT_OF(pointer) && !str_starts(line, pointer[i]))
            i++;
        if (i < COUNT_OF(pointer) && !str_starts(line, "const float *p)") &&
            !str_starts(line, "const float *p,")) {
            str_add(out, "ptr ");
            line += strlen(pointer[i]);
        } else {
            str_add_char(out, *line++);
        }
    }
    str_add_char(out, '\n');
}

void touch_unit(struct str *out, const struct func *f, const char *c_text, int i)
{
    char *text = xstrdup(c_text), *rest = NULL;
    str_printf(out, "namespace n%d {\n", i);
    for (char *l = strtok_r(text, "\n", &rest); l; l = strtok_r(NULL, "\n", &rest))
        add_line(out, f, l);
    str_printf(out, "}\nextern \"C\" long touch_%d(float *const *b, touch *out)\n", i);
    str_printf(out, "{ to = out; base = b; n%d::ts_entry(b); return to - out; }\n", i);
    free(text);
}

/* Returns whether the text of CUDA has this function, and the prologue one that counts. */
static bool begins_counted(const char *line)
{
    static const char *const counted[] = {
        " copy4(", " copy8(", " store_pair(", " fragment_pair(", " fragment_rows(",
        " fragment_columns(", " mma(", " tf32(", " copy_async",
    };
    bool found = false;
    for (int i = 0; i < COUNT_OF(counted); i++)
        found |= str_starts(line, "static __device__ inline ") && strstr(line, counted[i]);
    return found;
}

/* "    __shared__ __align__(16) float A_tile[512];" lies at TOUCH_TILE times its number among the
 * locals. */
static void shared_line(struct str *out, const struct func *f, const char *line)
{
    for (int b = f->n_params; b < f->n_buffers; b++) {
        char begin[128];
        const char *type = f->buffer[b].type->name;
        bool narrow = f->buffer[b].type->bytes == 2;
        snprintf(begin, sizeof begin, " %s %s[", narrow ? type : "float", f->buffer[b].name);
        if (strstr(line, begin)) {
            str_printf(out, "%s %s(shared_memory + %d);\n", narrow ? "half_ptr" : "ptr",
                       f->buffer[b].name, (b - f->n_params) * (TOUCH_TILE / 4));
            return;
        }
    }
    fail("no buffer for: %s", line);
}

/* Returns the line with "half_ptr x" for "const f16 *__restrict__ x" and for "f16 *x". */
static char *narrow_line(const struct func *f, const char *line)
{
    struct str out = { 0 };
    const char *type = "";
    char *copy;
    for (int b = 0; b < f->n_buffers; b++)
        type = f->buffer[b].type->bytes == 2 ? f->buffer[b].type->name : type;
    char form[4][48];
    snprintf(form[0], sizeof form[0], "const %s *__restrict__ ", type);
    snprintf(form[1], sizeof form[1], "%s *__restrict__ ", type);
    snprintf(form[2], sizeof form[2], "const %s *", type);
    snprintf(form[3], sizeof form[3], "%s *", type);
    while (*line) {
        int i = 0;
        while (i < COUNT_OF(form) && (!*type || !str_starts(line, form[i])))
            i++;
        if (i < COUNT_OF(form)) {
            str_add(&out, "half_ptr ");
            line += strlen(form[i]);
        } else {
            str_add_char(&out, *line++);
        }
    }
    copy = xstrdup(str_text(&out));
    str_free(&out);
    return copy;
}

/* A loop counts its iterations; a kernel has a name of its own in each namespace. */
static void add_cuda_line(struct str *out, const struct func *f, const char *line)
{
    size_t indent = strspn(line, " ");
    if (str_starts(line, "extern \"C\" "))
        line += strlen("extern \"C\" ");
    if (str_starts(line + indent, "__shared__ ")) {
        shared_line(out, f, line);
        return;
    }
    if (str_starts(line + indent, "asm volatile(\"cp.async."))
        return;                           /* a copy is done at once */
    if (str_starts(line + indent, "for (") && !strchr(line, '{'))
        fail("a loop in two lines: %s", line);
    if (str_starts(line + indent, "for ("))
        str_printf(out, "for (loop l; l.once; l.once = false) %.*s{ l.next();%s\n",
                   (int)strcspn(line, "{"), line, strchr(line, '{') + 1);
    else
        add_line(out, f, line);
}

/* Appends the functions of a text, but those that the prologue has, and its kernels. */
static void add_cuda_text(struct str *out, const struct func *f, char *text)
{
    char *rest = NULL;
    bool skips = false, in_kernels = false;
    for (char *l = strtok_r(text, "\n", &rest); l; l = strtok_r(NULL, "\n", &rest)) {
        in_kernels |= str_starts(l, "extern \"C\" ");
        skips |= begins_counted(l);
        if (in_kernels) {
            char *narrow = narrow_line(f, l);
            add_cuda_line(out, f, narrow);
            free(narrow);
        } else if (!skips) {
            add_cuda_line(out, f, l);
        }
        skips &= l[strlen(l) - 1] != '}' || l[0] == ' ';
    }
}

static void add_index(struct str *out, const char *name, const int n[3])
{
    str_printf(out, "        %sIdx = { int(%s) %% %d, int(%s) / %d %% %d, int(%s) / %d };\n", name,
               name, n[0], name, n[0], n[1], name, n[0] * n[1]);
}

/* " *   kernel_0<<<dim3(2, 4, 1), dim3(4, 8, 1)>>>(A, B, C)" */
static void add_launch(struct str *out, const struct func *f, const char *line, int i, int launch)
{
    char name[64], rest[512];
    int b[3], t[3];
    if (sscanf(line, " *   %63[^<]<<<dim3(%d, %d, %d), dim3(%d, %d, %d)>>>(%511[^)]", name, &b[0],
               &b[1], &b[2], &t[0], &t[1], &t[2], rest) != 8)
        fail("no launch: %s", line);
    str_printf(out, "    launch = %d;\n    for (block = 0; block < %d; block++)\n", launch,
               b[0] * b[1] * b[2]);
    str_printf(out, "    for (thread = 0; thread < %d; thread++) {\n", t[0] * t[1] * t[2]);
    add_index(out, "block", b);
    add_index(out, "thread", t);
    str_printf(out, "        n%d::%s(", i, name);
    char *next = NULL;
    for (char *w = strtok_r(rest, ", ", &next); w; w = strtok_r(NULL, ", ", &next))
        for (int k = 0; k < f->n_params; k++)
            if (streq(f->buffer[k].name, w))
                str_printf(out, "%sb[%d]", w == rest ? "" : ", ", k);
    str_add(out, ");\n    }\n");
}

void touch_cuda(struct str *out, const struct func *f, const char *cuda_text, int i)
{
    char *text = xstrdup(cuda_text);
    struct str launches = { 0 };
    int n = 0;
    for (const char *l = strstr(text, "<<<"); l; l = strstr(l + 1, "<<<")) {
        while (l > text && l[-1] != '\n')
            l--;
        add_launch(&launches, f, l, i, n++);
        l = strchr(l, '\n');
    }
    str_printf(out, "namespace n%d {\n", i);
    add_cuda_text(out, f, text);
    str_printf(out, "}\nextern \"C\" long touch_%d(float *const *b, touch *out)\n{\n", i);
    str_printf(out, "    to = out;\n%s    return to - out;\n}\n", str_text(&launches));
    str_free(&launches);
    free(text);
}

void touch_compile(const char *cxx, const char *source, int n, touch_fn **fn)
{
    const char *dir = temp_dir(NULL);
    char path[300], so[300], symbol[32];
    struct subprocess_result res = { 0 };
    struct err e;
    snprintf(path, sizeof path, "%s/all.cpp", dir);
    snprintf(so, sizeof so, "%s/all.so", dir);
    const char *const argv[] = { cxx, "-O0", "-w", "-march=native", "-fPIC", "-shared",
                                 "-o", so, path, NULL };
    if (!file_write_atomic(path, source, strlen(source), &e) ||
        !subprocess_run(argv, 120, NULL, &res, &e))
        fail("%s", e.text);
    if (res.exit_code != 0)
        fail("%s refused:\n%.4000s", cxx, str_text(&res.out));
    str_free(&res.out);
    void *handle = dlopen(so, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        fail("%s", dlerror());
    for (int i = 0; i < n; i++) {
        snprintf(symbol, sizeof symbol, "touch_%d", i);
        void *found = dlsym(handle, symbol);
        memcpy(&fn[i], &found, sizeof found);
    }
    dir_remove(dir);
}
