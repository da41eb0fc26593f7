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
    "static __attribute__((noinline)) void note(const float *p, bool store, unsigned n)\n"
    "{ long i = p - shared_memory; bool shared = i >= 0 && i < 64 * 16384;\n"
    "  *to++ = touch{shared ? (const float *)(4 * i) : p, store + 2u * shared, 4 * n,\n"
    "               __builtin_return_address(0), launch, block, thread,\n"
    "                turn}; }\n"
    "struct at { float *p; operator const float *() const { return p; } };\n"
    "struct ref {\n"
    "    float *p;\n"
    "    INLINE operator float() const { note(p, false, 1); return *p; }\n"
    "    INLINE void operator=(float v) const { note(p, true, 1); *p = v; }\n"
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
    "    { v##n x; note(a.p, false, n); std::memcpy(&x, a.p, sizeof x); return x; } \\\n"
    "    static inline void store##n(at a, v##n x) \\\n"
    "    { note(a.p, true, n); std::memcpy(a.p, &x, sizeof x); } \\\n"
    "    static inline void stream##n(at a, v##n x) { std::memcpy(a.p, &x, sizeof x); }\n"
    "VEC(2) VEC(4) VEC(8) VEC(16)\n"
    "static INLINE void copy4(at a, at b)\n"
    "{ note(b.p, false, 4); note(a.p, true, 4); std::memcpy(a.p, b.p, 16); }\n";

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

/* "    __shared__ __align__(16) float A_tile[512];" lies at TOUCH_TILE times its number among the
 * locals. */
static void shared_line(struct str *out, const struct func *f, const char *line)
{
    const char *at = strstr(line, "float ") + strlen("float ");
    size_t n = strcspn(at, "[");
    for (int b = f->n_params; b < f->n_buffers; b++)
        if (strlen(f->buffer[b].name) == n && str_starts(at, f->buffer[b].name)) {
            str_printf(out, "ptr %s(shared_memory + %d);\n", f->buffer[b].name,
                       (b - f->n_params) * (TOUCH_TILE / 4));
            return;
        }
    fail("no buffer for: %s", line);
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
    if (strstr(line, " void copy4(")) {                    /* the prologue has one that counts */
        str_add(out, "static inline void copy_of_text(float *to, const float *from)\n");
        return;
    }
    if (str_starts(line + indent, "for (") && !strchr(line, '{'))
        fail("a loop in two lines: %s", line);
    if (str_starts(line + indent, "for ("))
        str_printf(out, "for (loop l; l.once; l.once = false) %.*s{ l.next();%s\n",
                   (int)strcspn(line, "{"), line, strchr(line, '{') + 1);
    else
        add_line(out, f, line);
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
    char *text = xstrdup(cuda_text), *rest = NULL;
    struct str launches = { 0 };
    int n = 0;
    str_printf(out, "namespace n%d {\n", i);
    for (char *l = strtok_r(text, "\n", &rest); l; l = strtok_r(NULL, "\n", &rest)) {
        if (strstr(l, "<<<"))
            add_launch(&launches, f, l, i, n++);
        add_cuda_line(out, f, l);
    }
    str_printf(out, "}\nextern \"C\" long touch_%d(float *const *b, touch *out)\n{\n", i);
    str_printf(out, "    to = out;\n%s    return to - out;\n}\n", str_text(&launches));
    str_free(&launches);
    free(text);
}

void touch_compile(const char *cxx, const char *source, int n, touch_fn **fn)
{
    char dir[] = "/tmp/tilescope-test-XXXXXX", path[64], so[64], symbol[32];
    struct subprocess_result res = { 0 };
    struct err e;
    if (!mkdtemp(dir))
        fail("mkdtemp %s", dir);
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
    unlink(path);
    unlink(so);
    rmdir(dir);
}
