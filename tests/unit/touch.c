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
    "struct touch { const float *at; unsigned is_store, bytes; };\n"
    "static touch *to;\n"
    "static float *const *base;\n"
    "static void note(const float *p, bool store, unsigned n) { *to++ = touch{p, store, 4 * n}; }\n"
    "struct at { float *p; operator const float *() const { return p; } };\n"
    "struct ref {\n"
    "    float *p;\n"
    "    operator float() const { note(p, false, 1); return *p; }\n"
    "    void operator=(float v) const { note(p, true, 1); *p = v; }\n"
    "    void operator=(const ref &r) const { *this = float(r); }\n"
    "    void operator+=(float v) const { *this = float(*this) + v; }\n"
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
    "    template <class V> static V operator op(const ref &r, const V &v) \\\n"
    "    { return float(r) op v; } \\\n"
    "    template <class V> static V operator op(const V &v, const ref &r) \\\n"
    "    { return v op float(r); } \\\n"
    "    static inline float operator op(const ref &r, const ref &q) \\\n"
    "    { return float(r) op float(q); }\n"
    "OP(+) OP(-) OP(*) OP(/)\n"
    "#define VEC(n) \\\n"
    "    typedef float v##n __attribute__((vector_size(4 * n))); \\\n"
    "    static inline v##n load##n(at a) \\\n"
    "    { v##n x; note(a.p, false, n); std::memcpy(&x, a.p, sizeof x); return x; } \\\n"
    "    static inline void store##n(at a, v##n x) \\\n"
    "    { note(a.p, true, n); std::memcpy(a.p, &x, sizeof x); } \\\n"
    "    static inline void stream##n(at a, v##n x) { std::memcpy(a.p, &x, sizeof x); }\n"
    "VEC(2) VEC(4) VEC(8) VEC(16)\n";

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
