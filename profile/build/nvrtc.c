#include "profile/build/nvrtc.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/str.h"
#include "profile/cuda/library.h"

#define SYSTEM_SHARED 1024                /* bytes of each block that the system uses */

/* The format and the codes of the attributes that are read; cuobjdump prints these attributes too.
 * Section .nv.info has the stack frame and the registers of every kernel, each as a pair (symbol,
 * number); section .nv.info.NAME has the threads of a block of kernel NAME as x, y, z. */
enum { INFO_NUMBERS = 4, INFO_THREADS = 0x05, INFO_FRAME = 0x11, INFO_REGISTERS = 0x2f };

const struct gpu_limits gpu_sm_90 = {
    .warps = 64, .blocks = 32, .registers = 65536, .register_unit = 256, .shared = 228 << 10,
    .shared_unit = 128,
};

/* --- The library ------------------------------------------------------------------------------ */

typedef struct nvrtc_text *program_handle;

struct nvrtc {
    int (*version)(int *major, int *minor);
    int (*create)(program_handle *p, const char *source, const char *name, int n,
                  const char *const *headers, const char *const *names);
    int (*compile)(program_handle p, int n, const char *const *options);
    int (*destroy)(program_handle *p);
    const char *(*error)(int code);
    int (*log_size)(program_handle p, size_t *n);
    int (*log)(program_handle p, char *text);
    int (*ptx_size)(program_handle p, size_t *n);
    int (*ptx)(program_handle p, char *text);
    int (*cubin_size)(program_handle p, size_t *n);
    int (*cubin)(program_handle p, char *data);
};

static bool open_library(struct nvrtc *x, struct err *e)
{
    static const struct cuda_library library = {
        .what = "NVRTC", .variable = "TILESCOPE_NVRTC", .fix = "install the CUDA toolkit",
        .names = { "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so" },
    };
    const struct cuda_symbol all[] = {
        { "nvrtcVersion", &x->version }, { "nvrtcCreateProgram", &x->create },
        { "nvrtcCompileProgram", &x->compile }, { "nvrtcDestroyProgram", &x->destroy },
        { "nvrtcGetErrorString", &x->error }, { "nvrtcGetProgramLogSize", &x->log_size },
        { "nvrtcGetProgramLog", &x->log }, { "nvrtcGetPTXSize", &x->ptx_size },
        { "nvrtcGetPTX", &x->ptx }, { "nvrtcGetCUBINSize", &x->cubin_size },
        { "nvrtcGetCUBIN", &x->cubin },
    };
    return cuda_library_open(&library, all, COUNT_OF(all), e);
}

bool nvrtc_there(struct err *e)
{
    struct nvrtc x;
    return open_library(&x, e);
}

static bool take_version(const struct nvrtc *x, char version[32], struct err *e)
{
    int major = 0, minor = 0, code = x->version(&major, &minor);
    snprintf(version, 32, "%d.%d", major, minor);
    return code == 0 || err_set(e, ERR_ENV, "NVRTC: %s", x->error(code));
}

bool nvrtc_version(char version[32], struct err *e)
{
    struct nvrtc x;
    return open_library(&x, e) && take_version(&x, version, e);
}

bool nvrtc_find(char *version, size_t n, const void **function, struct err *e)
{
    struct nvrtc x;
    char text[32];
    if (!open_library(&x, e) || !take_version(&x, text, e))
        return false;
    snprintf(version, n, "%s", text);
    memcpy(function, &x.compile, sizeof *function);
    return true;
}


/* A cubin in memory, which is an ELF file of 64 bits. */
struct cubin { const unsigned char *data; size_t n; const Elf64_Shdr *section; int n_sections; };

static const void *part(const struct cubin *c, uint64_t at, uint64_t n)
{
    return at <= c->n && n <= c->n - at ? c->data + at : NULL;
}

static const char *text_at(const struct cubin *c, int table, uint64_t at)
{
    const Elf64_Shdr *s = table < c->n_sections ? &c->section[table] : NULL;
    const char *text = s && at < s->sh_size ? part(c, s->sh_offset, s->sh_size) : NULL;
    return text && memchr(text + at, 0, s->sh_size - at) ? text + at : NULL;
}

static bool open_cubin(struct cubin *c, const unsigned char *data, size_t n)
{
    *c = (struct cubin){ .data = data, .n = n };
    const Elf64_Ehdr *head = part(c, 0, sizeof *head);
    if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0
        || head->e_shentsize != sizeof *c->section)
        return false;
    c->section = part(c, head->e_shoff, (uint64_t)head->e_shnum * sizeof *c->section);
    c->n_sections = c->section ? head->e_shnum : 0;
    return c->section != NULL;
}

static const char *section_name(const struct cubin *c, int i)
{
    const Elf64_Ehdr *head = (const void *)c->data;
    const char *name = text_at(c, head->e_shstrndx, c->section[i].sh_name);
    return name ? name : "";
}

static const char *symbol_name(const struct cubin *c, uint32_t symbol)
{
    for (int i = 0; i < c->n_sections; i++) {
        const Elf64_Shdr *s = &c->section[i];
        if (s->sh_type != SHT_SYMTAB)
            continue;
        const Elf64_Sym *all = part(c, s->sh_offset, s->sh_size);
        bool there = all && symbol < s->sh_size / sizeof *all;
        const char *name = there ? text_at(c, (int)s->sh_link, all[symbol].st_name) : NULL;
        return name ? name : "";
    }
    return "";
}

static void take_attribute(const struct cubin *c, int attribute, const uint32_t *x, size_t n,
                           struct gpu_kernel *k)
{
    if (attribute == INFO_THREADS && n == 3)
        k->threads = (int)(x[0] * x[1] * x[2]);
    if (n != 2 || !streq(symbol_name(c, x[0]), k->name))
        return;
    if (attribute == INFO_REGISTERS)
        k->registers = (int)x[1];
    if (attribute == INFO_FRAME)
        k->stack = x[1];
}

/* Reads the numbers of the kernel from section .nv.info or .nv.info.NAME. */
static void read_info(const struct cubin *c, const Elf64_Shdr *s, struct gpu_kernel *k)
{
    const unsigned char *info = part(c, s->sh_offset, s->sh_size);
    for (size_t at = 0; info && at + 4 <= s->sh_size;) {
        bool list = info[at] == INFO_NUMBERS;
        size_t n = list ? (size_t)(info[at + 2] | info[at + 3] << 8) : 0;
        uint32_t number[3];
        if (n > 0 && n <= sizeof number && at + 4 + n <= s->sh_size) {
            memcpy(number, info + at + 4, n);
            take_attribute(c, info[at + 1], number, n / sizeof *number, k);
        }
        at += 4 + n;
    }
}

/* Returns the bytes that a kernel itself uses of a section of shared memory; the system uses the
 * first SYSTEM_SHARED bytes. */
static int64_t without_system(int64_t section)
{
    return section > SYSTEM_SHARED ? section - SYSTEM_SHARED : 0;
}

/* Lists the kernels in the order of the file; each section .text.NAME is one. */
static bool read_kernels(struct arena *a, struct gpu_build *b, struct err *e)
{
    struct cubin c;
    if (!open_cubin(&c, b->cubin, b->bytes))
        return err_set(e, ERR_COMPILE, "NVRTC's result is no cubin of 64 bits");
    struct gpu_kernel *list = ARENA_ARRAY(a, struct gpu_kernel, c.n_sections);
    for (int i = 0; i < c.n_sections; i++) {
        if (!str_starts(section_name(&c, i), ".text."))
            continue;
        struct gpu_kernel *k = &list[b->n++];  /* list has room: each kernel has its own section */
        *k = (struct gpu_kernel){ .name = arena_strdup(a, section_name(&c, i) + 6) };
        const char *shared = arena_printf(a, ".nv.shared.%s", k->name),
                   *own = arena_printf(a, ".nv.info.%s", k->name);
        for (int s = 0; s < c.n_sections; s++) {
            if (streq(section_name(&c, s), ".nv.info") || streq(section_name(&c, s), own))
                read_info(&c, &c.section[s], k);
            if (streq(section_name(&c, s), shared))
                k->shared = without_system((int64_t)c.section[s].sh_size);
        }
    }
    b->kernel = list;
    return true;
}

/* --- Compiling -------------------------------------------------------------------------------- */

/* Sets the error to the first error in the log: "kernel.cu(12): error: ...". */
static bool refuse(const struct nvrtc *x, program_handle p, int code, struct err *e)
{
    size_t n = 0;
    char *log = NULL;
    if (x->log_size(p, &n) == 0 && n > 1) {
        log = xcalloc(n + 1, 1);
        x->log(p, log);
    }
    const char *at = log ? strstr(log, "error") : NULL;
    while (at && at > log && at[-1] != '\n')
        at--;
    err_set(e, ERR_COMPILE, "NVRTC: %s%s%.*s", x->error(code), at ? ": " : "",
            at ? (int)strcspn(at, "\n") : 0, at ? at : "");
    free(log);
    return false;
}

static bool take_text(struct arena *a, program_handle p, int (*size)(program_handle, size_t *),
                      int (*get)(program_handle, char *), char **out, size_t *n)
{
    *n = 0;
    if (size(p, n) != 0 || *n == 0)
        return false;
    *out = arena_alloc(a, *n + 1);
    return get(p, *out) == 0;
}

static bool compile(const struct nvrtc *x, struct arena *a, program_handle p, bool lines,
                    struct gpu_build *out, struct err *e)
{
    const char *const options[] = { arena_printf(a, "--gpu-architecture=%s", out->arch),
                                    "--std=c++17", "-lineinfo" };
    int code = x->compile(p, COUNT_OF(options) - !lines, options);
    char *cubin, *ptx;
    size_t n;
    if (code != 0)
        return refuse(x, p, code, e);
    if (!take_text(a, p, x->cubin_size, x->cubin, &cubin, &out->bytes)
        || !take_text(a, p, x->ptx_size, x->ptx, &ptx, &n))
        return err_set(e, ERR_COMPILE, "NVRTC gives no cubin for %s", out->arch);
    out->cubin = (const unsigned char *)cubin;
    out->ptx = ptx;
    return read_kernels(a, out, e);
}

static bool build(struct arena *a, const char *source, const char *arch, bool lines,
                  struct gpu_build *out, struct err *e)
{
    struct nvrtc x = {0};
    program_handle p = NULL;
    int code;
    *out = (struct gpu_build){ .n = 0 };
    snprintf(out->arch, sizeof out->arch, "%s", arch);
    bool ok = open_library(&x, e) && take_version(&x, out->version, e);
    if (ok && (code = x.create(&p, source, "kernel.cu", 0, NULL, NULL)) != 0)
        ok = err_set(e, ERR_ENV, "NVRTC: %s", x.error(code));
    ok = ok && compile(&x, a, p, lines, out, e);
    if (p)
        x.destroy(&p);
    return ok;
}

bool nvrtc_build(struct arena *a, const char *source, const char *arch, struct gpu_build *out,
                 struct err *e)
{
    return build(a, source, arch, false, out, e);
}

bool nvrtc_build_lines(struct arena *a, const char *source, const char *arch,
                       struct gpu_build *out, struct err *e)
{
    return build(a, source, arch, true, out, e);
}

void gpu_build_launches(struct arena *a, struct gpu_build *b, const struct gen_launches *l)
{
    struct gpu_kernel *list = ARENA_DUP(a, b->kernel, b->n);
    for (int i = 0; i < b->n; i++)
        for (int k = 0; k < l->n; k++)
            list[i].shared += streq(list[i].name, l->launch[k].name) ? l->launch[k].shared : 0;
    b->kernel = list;
}

/* --- Occupancy -------------------------------------------------------------------------------- */

static int64_t round_up(int64_t x, int64_t unit)
{
    return (x + unit - 1) / unit * unit;
}

struct gpu_limits gpu_limits_of(const struct gpu_device *d)
{
    struct gpu_limits g = gpu_sm_90;
    g.shared = d->shared * 1024;
    return g;
}

double gpu_occupancy(const struct gpu_limits *g, const struct gpu_kernel *k)
{
    int64_t warps = k->threads > 0 ? (k->threads + 31) / 32 : 1, blocks = g->blocks;
    int64_t by_warps = g->warps / warps;
    /* each quarter of a multiprocessor has a quarter of the registers, for whole warps */
    int64_t per_warp = round_up(32 * (int64_t)k->registers, g->register_unit);
    int64_t shared = round_up(k->shared, g->shared_unit) + SYSTEM_SHARED;
    blocks = blocks < by_warps ? blocks : by_warps;
    if (per_warp > 0 && g->registers / 4 / per_warp * 4 / warps < blocks)
        blocks = g->registers / 4 / per_warp * 4 / warps;
    if (k->shared > 0 && g->shared / shared < blocks)
        blocks = g->shared / shared;
    return (double)(blocks * warps) / g->warps;
}
