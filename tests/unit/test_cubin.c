/* Tests how cubins are read (profile/build/nvrtc.c): one that is made here by hand, and damaged
 * ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/file.h"
#include "kernels/base/rng.h"
#include "profile/build/nvrtc.h"
#include "tests/unit/fake_libs.h"
#include "tests/unit/temp_dir.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static char path[120], fake[120];

static int open_folder(void **state)
{
    (void)state;
    const char *folder = temp_dir(NULL);
    snprintf(path, sizeof path, "%s/k.cubin", folder);
    fake_lib_build(folder, "nvrtc", fake);
    setenv("TILESCOPE_NVRTC", fake, 1);
    setenv("FAKE_CUBIN", path, 1);
    return 0;
}

/* --- A cubin ---------------------------------------------------------------------------------- */

enum { NUMBERS = 4, SHORT = 3, THREADS = 0x05, FRAME = 0x11, OTHER = 0x12, REGISTERS = 0x2f };
enum section {
    NONE, NAMES, SYMBOL_NAMES, SYMBOLS, INFO, TEXT_A, INFO_A, SHARED_A, TEXT_B, SECTIONS
};
static const char *const section_name[SECTIONS] = {
    "", ".shstrtab", ".strtab", ".symtab", ".nv.info", ".text.a", ".nv.info.a", ".nv.shared.a",
    ".text.b"
};

static void add_attribute(struct str *out, int attribute, int n, const uint32_t *x)
{
    const char head[4] = { NUMBERS, (char)attribute, (char)(4 * n), 0 };
    str_add_n(out, head, sizeof head);
    str_add_n(out, (const char *)x, 4 * (size_t)n);
}

/* A number of a kernel, which is named by its symbol. */
static void add_number(struct str *out, int attribute, uint32_t symbol, uint32_t x)
{
    add_attribute(out, attribute, 2, (uint32_t[]){ symbol, x });
}

static void fill_section(struct str *out, enum section s)
{
    const Elf64_Sym symbol[] = { { .st_name = 0 }, { .st_name = 1 }, { .st_name = 3 } };
    static const char names[] = "\0a\0b", wide[4] = { SHORT, REGISTERS, 99, 0 };
    for (int i = 0; s == NAMES && i < SECTIONS; i++)
        str_add_n(out, section_name[i], strlen(section_name[i]) + 1);
    if (s == SYMBOL_NAMES)
        str_add_n(out, names, sizeof names);
    if (s == SYMBOLS)
        str_add_n(out, (const char *)symbol, sizeof symbol);
    if (s == INFO) {
        add_number(out, REGISTERS, 2, 33);
        str_add_n(out, wide, sizeof wide);                /* this form has no list */
        add_number(out, FRAME, 1, 24);
        add_number(out, OTHER, 1, 77);
        add_number(out, REGISTERS, 1, 40);
        add_number(out, FRAME, 2, 8);
        add_number(out, FRAME, 0, 5);                     /* of no kernel */
    }
    if (s == INFO_A)
        add_attribute(out, THREADS, 3, (uint32_t[]){ 32, 4, 2 });
    if (s == SHARED_A)
        str_repeat(out, 0, 1024 + 512);
}

static void make_cubin(struct str *out)
{
    Elf64_Shdr table[SECTIONS] = { 0 };
    Elf64_Ehdr head = { .e_shentsize = sizeof *table, .e_shnum = SECTIONS, .e_shstrndx = NAMES };
    struct str part = { 0 };
    int name = 0;
    memcpy(head.e_ident, ELFMAG, SELFMAG);
    str_add_n(out, (const char *)&head, sizeof head);
    for (int i = 0; i < SECTIONS; i++) {
        str_clear(&part);
        fill_section(&part, (enum section)i);
        table[i] = (Elf64_Shdr){ .sh_name = (Elf64_Word)name, .sh_offset = out->len,
                                 .sh_size = part.len, .sh_link = SYMBOL_NAMES,
                                 .sh_type = i == SYMBOLS ? SHT_SYMTAB : SHT_PROGBITS };
        str_add_n(out, part.len ? part.data : "", part.len);
        name += (int)strlen(section_name[i]) + 1;
    }
    while (out->len % 8)
        str_add_n(out, "", 1);
    head.e_shoff = out->len;
    memcpy(out->data, &head, sizeof head);
    str_add_n(out, (const char *)table, sizeof table);
    str_free(&part);
}

static bool build(struct arena *a, const char *data, size_t n, struct gpu_build *b, struct err *e)
{
    assert_true(file_write_atomic(path, data, n, e));
    return nvrtc_build(a, "", "sm_90", b, e);
}

/* --- Tests ------------------------------------------------------------------------------------ */

static void numbers_of_kernels(void **state)
{
    (void)state;
    struct str cubin = { 0 };
    struct gpu_build b;
    struct err e = { 0 };
    struct arena *a = arena_new();
    make_cubin(&cubin);
    if (!build(a, cubin.data, cubin.len, &b, &e))
        fail_msg("%s", e.text);
    assert_int_equal(b.n, 2);
    assert_string_equal(b.kernel[0].name, "a");
    assert_int_equal(b.kernel[0].registers, 40);
    assert_int_equal(b.kernel[0].stack, 24);
    assert_int_equal(b.kernel[0].threads, 256);
    assert_int_equal(b.kernel[0].shared, 512);            /* the system's 1 KiB is not counted */
    assert_string_equal(b.kernel[1].name, "b");
    assert_int_equal(b.kernel[1].registers, 33);
    assert_int_equal(b.kernel[1].stack, 8);
    assert_int_equal(b.kernel[1].threads, 0);
    assert_int_equal(b.kernel[1].shared, 0);
    assert_int_equal(b.bytes, cubin.len);
    arena_free(a);
    str_free(&cubin);
}

/* A cubin that is cut off, or in which bytes are wrong, is read within its bounds. */
static void damaged_cubins(void **state)
{
    (void)state;
    struct str cubin = { 0 };
    struct gpu_build b;
    struct err e;
    struct rng r = rng_seed(16);
    make_cubin(&cubin);
    for (size_t n = 0; n < cubin.len; n += n < 200 ? 1 : 37) {
        struct arena *a = arena_new();
        assert_false(build(a, cubin.data, n, &b, &e));
        arena_free(a);
    }
    for (int i = 0; i < 400; i++) {
        struct arena *a = arena_new();
        char *bad = memcpy(xmalloc(cubin.len), cubin.data, cubin.len);
        for (int k = 0; k < 3; k++) {
            size_t at = (size_t)rng_range(&r, 0, (int64_t)cubin.len - 1);
            bad[at] = (char)rng_range(&r, 0, 255);
        }
        if (build(a, bad, cubin.len, &b, &e))
            assert_true(b.n <= SECTIONS);
        else
            assert_string_equal(e.text, "NVRTC's result is no cubin of 64 bits");
        free(bad);
        arena_free(a);
    }
    str_free(&cubin);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_kernels), cmocka_unit_test(damaged_cubins),
    };
    return cmocka_run_group_tests_name("cubin", tests, open_folder, NULL);
}
