/* Parts of session files and of files beside them: the texts of chosen kernels, places in a file,
 * tables of fields, arrays of numpy. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/file.h"
#include "sessions/file/arrays.h"
#include "sessions/file/field.h"
#include "sessions/file/json.h"
#include "sessions/file/kernels_text.h"
#include "sessions/file/machine_file.h"
#include "sessions/file/session_place.h"
#include "tests/unit/perm.h"
#include "tests/unit/roof_model.h"
#include "tests/unit/temp_dir.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static const char *dir;

/* --- Kernels ---------------------------------------------------------------------------------- */

/* An entry is replaced at the end; one without steps is an entry, too. */
static void kernels_are_put(void **state)
{
    static const char *const one[] = { "loop unroll C K" };
    static const char *const two[] = { "loop parallel C M", "loop unroll C K" };
    struct str text = {0};
    const char *const *line;
    int n;
    (void)state;
    kernels_put(&text, "gmm a", 1, one);
    kernels_put(&text, "gmm b", 0, NULL);
    kernels_put(&text, "gmm c", 2, two);
    assert_string_equal(str_text(&text), "gmm a\nloop unroll C K\n\ngmm b\n\n"
                                         "gmm c\nloop parallel C M\nloop unroll C K\n\n");
    assert_true(kernels_find(str_text(&text), perm, "gmm c", &n, &line));
    assert_true(kernels_same_lines(n, line, 2, two));
    assert_true(kernels_find(str_text(&text), perm, "gmm b", &n, &line) && n == 0);
    assert_false(kernels_find(str_text(&text), perm, "gmm", &n, &line));
    assert_true(n == 0 && line == NULL);
    kernels_put(&text, "gmm a", 2, two);
    kernels_put(&text, "gmm b", -1, NULL);
    kernels_put(&text, "gmm d", -1, NULL);               /* there is none */
    assert_string_equal(str_text(&text), "gmm c\nloop parallel C M\nloop unroll C K\n\n"
                                         "gmm a\nloop parallel C M\nloop unroll C K\n\n");
    str_free(&text);
    assert_false(kernels_same_lines(1, two, 2, two));
    assert_false(kernels_same_lines(1, one, 1, two));
    assert_true(kernels_same_lines(0, one, 0, two));
}

/* Entries in turn, also when the last one does not end with an empty line. */
static void kernels_in_turn(void **state)
{
    const char *at = "gmm a\nx\ny\n\ngmm b\n\ngmm c\nz", *spec;
    const char *const *line;
    int n;
    (void)state;
    assert_true(kernels_next(&at, perm, &spec, &n, &line));
    assert_true(streq(spec, "gmm a") && n == 2 && streq(line[0], "x") && streq(line[1], "y"));
    assert_true(kernels_next(&at, perm, &spec, &n, &line));
    assert_true(streq(spec, "gmm b") && n == 0);
    assert_true(kernels_next(&at, perm, &spec, &n, &line));
    assert_true(streq(spec, "gmm c") && n == 1 && streq(line[0], "z"));
    assert_false(kernels_next(&at, perm, &spec, &n, &line));
}

/* --- Places ----------------------------------------------------------------------------------- */

/* FILE#BRANCH@STEP, where %s is the file; a name that is a file is that file. */
static void places_are_read(void **state)
{
    static const struct { const char *arg, *name, *branch; int step; } row[] = {
        { "%s/a.yaml", "%s/a.yaml", "", -1 }, { "%s/a.yaml@3", "%s/a.yaml", "", 3 },
        { "%s/a.yaml@0", "%s/a.yaml", "", 0 }, { "%s/a.yaml#b", "%s/a.yaml", "b", -1 },
        { "%s/a.yaml#b@12", "%s/a.yaml", "b", 12 },
        { "%s/a.yaml#b@1000000", "%s/a.yaml", "b", 1000000 },
        { "%s/c#d@1", "%s/c#d@1", "", -1 }, { "%s/c#d@1@2", "%s/c#d@1", "", 2 },
        { "%s/c#d@1#x", "%s/c#d@1", "x", -1 }, { "%s/none.yaml@3", "%s/none.yaml@3", "", -1 },
        { "-@2", "-", "", 2 }, { "-#b", "-", "b", -1 },
        { "gmm m=8 k=8 n=8", "gmm m=8 k=8 n=8", "", -1 },
    };
    char arg[400], name[400];
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct session_place p;
        struct err e = {0};
        struct str text = {0}, want = {0};
        bool file = str_starts(row[i].arg, "%s");
        str_printf(&text, "%s%s", file ? dir : "", row[i].arg + (file ? 2 : 0));
        str_printf(&want, "%s%s", file ? dir : "", row[i].name + (file ? 2 : 0));
        snprintf(arg, sizeof arg, "%s", str_text(&text));
        snprintf(name, sizeof name, "%s", str_text(&want));
        if (!session_place_read(arg, &p, &e))
            fail_msg("%s: %s", arg, e.text);
        assert_string_equal(p.name, name);
        assert_string_equal(p.branch, row[i].branch);
        assert_int_equal(p.step, row[i].step);
        session_place_free(&p);
        str_free(&text);
        str_free(&want);
    }
}

static void places_are_refused(void **state)
{
    static const struct { const char *behind, *says, *fix; } row[] = {
        { "@x", "behind @ stands the number of a step, not \"x\"", "@3" },
        { "@-1", "behind @ stands the number of a step, not \"-1\"", "@3" },
        { "@1000001", "behind @ stands the number of a step, not \"1000001\"", "@3" },
        { "#", "behind # stands the name of a branch", "#main" },
        { "#@2", "behind # stands the name of a branch", "#main" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct session_place p;
        struct err e = {0};
        struct str arg = {0}, text = {0}, fix = {0};
        str_printf(&arg, "%s/a.yaml%s", dir, row[i].behind);
        str_printf(&text, "%s: %s", str_text(&arg), row[i].says);
        str_printf(&fix, "%s/a.yaml%s", dir, row[i].fix);
        assert_false(session_place_read(str_text(&arg), &p, &e));
        assert_string_equal(e.text, str_text(&text));
        assert_string_equal(e.fix, str_text(&fix));
        session_place_free(&p);
        str_free(&arg);
        str_free(&text);
        str_free(&fix);
    }
}

/* --- Fields ----------------------------------------------------------------------------------- */

struct filled { bool b; int i; int64_t l; double d; char c[4]; const char *t; };
static const struct fields filled_fields = FIELDS(
    FIELD(filled, b, ZERO_KEPT), FIELD(filled, i, ZERO_KEPT), FIELD(filled, l, ZERO_KEPT),
    FIELD(filled, d, ZERO_KEPT), FIELD(filled, c, ZERO_KEPT), FIELD(filled, t, ZERO_KEPT));

/* A part of a table from one key to another, both included. */
static void tables_have_parts(void **state)
{
    static const struct { const char *from, *to; int n; const char *first; } row[] = {
        { "b", NULL, 6, "b" }, { "l", NULL, 4, "l" }, { "i", "d", 3, "i" }, { "d", "d", 1, "d" },
        { "t", NULL, 1, "t" }, { "b", "b", 1, "b" }, { "x", NULL, 0, NULL },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct fields part = fields_part(filled_fields, row[i].from, row[i].to);
        assert_int_equal(part.n, row[i].n);
        if (row[i].first)
            assert_string_equal(part.at->key, row[i].first);
    }
}

/* A member is zero by its own bytes alone, and copied with nothing around it. */
static void members_are_zero(void **state)
{
    static const struct filled none, empty = { .t = "" };
    static const struct filled full = { true, 1, (int64_t)1 << 40, 0.5, "a", "b" };
    struct filled copy = { .i = 7, .l = 8 };
    (void)state;
    for (int i = 0; i < filled_fields.n; i++) {
        const struct field *f = &filled_fields.at[i];
        assert_true(field_is_zero(f, (const char *)&none + f->offset));
        assert_true(field_is_zero(f, (const char *)&empty + f->offset));
        assert_false(field_is_zero(f, (const char *)&full + f->offset));
    }
    fields_copy(fields_part(filled_fields, "d", NULL), &copy, &full);
    assert_true(!copy.b && copy.i == 7 && copy.l == 8 && copy.d == 0.5);
    assert_true(streq(copy.c, "a") && streq(copy.t, "b"));
}

/* --- JSON ------------------------------------------------------------------------------------- */

/* What is unknown is null; whole numbers are integers as far as a double holds them. */
static void values_as_json(void **state)
{
    const struct { json_t *value; const char *want; } row[] = {
        { json_of_count(0), "0" }, { json_of_count(-3), "-3" }, { json_of_count(2.5), "2.5" },
        { json_of_count(8999999999999999.0), "8999999999999999" },
        { json_of_count(9e15), "9000000000000000.0" },
        { json_of_count(-9e15), "-9000000000000000.0" },
        { json_of_count((double)NAN), "null" }, { json_of_count((double)INFINITY), "null" },
        { json_of_real(2), "2.0" }, { json_of_real(-(double)INFINITY), "null" },
        { json_int_or_null(1), "1" }, { json_int_or_null(0), "null" },
        { json_int_or_null(-1), "null" }, { json_real_or_null(0.5), "0.5" },
        { json_real_or_null(0), "null" }, { json_real_or_null(-1), "null" },
        { json_real_or_null((double)NAN), "null" }, { json_text_or_null(NULL), "null" },
        { json_text_or_null(""), "null" }, { json_text_or_null("a"), "\"a\"" },
        { json_of_uint(INT64_MAX), "9223372036854775807" },
        { json_of_uint((uint64_t)INT64_MAX + 1), "\"9223372036854775808\"" },
        { json_text("a\xff\xfe" "b\xc3"), "\"a??b?\"" },
        { json_ints((const int64_t[]){ 1, -2 }, 2), "[1,-2]" },
        { json_texts((const char *const[]){ "x", "" }, 2), "[\"x\",\"\"]" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        char *text = json_dumps(row[i].value, JSON_COMPACT | JSON_ENCODE_ANY);
        assert_string_equal(text, row[i].want);
        free(text);
        json_decref(row[i].value);
    }
}

/* --- Arrays ----------------------------------------------------------------------------------- */

/* Writes DIR/x.npy in format version 1 or 2, with the header as it is. */
static const char *npy(int version, const char *header, const void *data, size_t n)
{
    const char *path = arena_printf(perm, "%s/x.npy", dir);
    struct str text = {0};
    struct err e;
    size_t len = strlen(header);
    str_add_n(&text, "\x93NUMPY", 6);
    str_add_char(&text, (char)version);
    str_add_n(&text, "\0", 1);
    str_add_char(&text, (char)(len & 0xff));
    str_add_char(&text, (char)(len >> 8));
    if (version > 1)
        str_add_n(&text, "\0\0", 2);
    str_add(&text, header);
    str_add_n(&text, data, n);
    if (!file_write_atomic(path, text.data, text.len, &e))
        fail_msg("%s", e.text);
    str_free(&text);
    return path;
}

#define HEAD(type, shape) "{'descr': '" type "', 'fortran_order': False, 'shape': " shape ", }"

static void arrays_of_every_type(void **state)
{
    static const float f4[] = { 1.5f, -2, 0 };
    static const double f8[] = { 1.5, -2, 0 };
    static const int32_t i4[] = { 70000, -2, 0 };
    static const int64_t i8[] = { 70000, -2, 0 };
    static const signed char i1[] = { 127, -2, 0 };
    static const unsigned char u1[] = { 255, 2, 0 }, b1[] = { 1, 0, 1 };
    static const struct { const char *type; const void *data; size_t n; f32 want[3]; } row[] = {
        { HEAD("<f4", "(3,)"), f4, sizeof f4, { 1.5f, -2, 0 } },
        { HEAD("<f8", "(3,)"), f8, sizeof f8, { 1.5f, -2, 0 } },
        { HEAD("<i4", "(3,)"), i4, sizeof i4, { 70000, -2, 0 } },
        { HEAD("<i8", "(3,)"), i8, sizeof i8, { 70000, -2, 0 } },
        { HEAD("|i1", "(3,)"), i1, sizeof i1, { 127, -2, 0 } },
        { HEAD("|u1", "(3,)"), u1, sizeof u1, { 255, 2, 0 } },
        { HEAD("|b1", "(3,)"), b1, sizeof b1, { 1, 0, 1 } },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++)
        for (int version = 1; version <= 2; version++) {
            const char *path = npy(version, row[i].type, row[i].data, row[i].n);
            struct arrays all;
            struct err e;
            if (!arrays_read(perm, path, "input", &all, &e))
                fail_msg("%s: %s", row[i].type, e.text);
            assert_int_equal(all.n, 1);
            assert_true(all.array->rank == 1 && all.array->shape[0] == 3 && all.array->elems == 3);
            assert_memory_equal(all.array->data, row[i].want, sizeof row[i].want);
        }
}

static void arrays_have_shapes(void **state)
{
    static const float data[6] = { 1, 2, 3, 4, 5, 6 };
    static const struct { const char *header; int rank; int64_t shape[3], elems; } row[] = {
        { HEAD("<f4", "(2, 3)"), 2, { 2, 3, 0 }, 6 }, { HEAD("<f4", "()"), 0, { 0, 0, 0 }, 1 },
        { HEAD("<f4", "(1,2,3)"), 3, { 1, 2, 3 }, 6 }, { HEAD("<f4", "(0, 3)"), 2, { 0, 3, 0 }, 0 },
        { "{'shape': (6,), 'fortran_order': True, 'descr': '<f4'}", 1, { 6, 0, 0 }, 6 },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct arrays all;
        struct err e;
        const char *path = npy(1, row[i].header, data, 4 * (size_t)row[i].elems);
        if (!arrays_read(perm, path, "input", &all, &e))
            fail_msg("%s: %s", row[i].header, e.text);
        assert_int_equal(all.array->rank, row[i].rank);
        assert_int_equal(all.array->elems, row[i].elems);
        for (int d = 0; d < row[i].rank; d++)
            assert_int_equal(all.array->shape[d], row[i].shape[d]);
    }
}

static void arrays_are_refused(void **state)
{
    static const float data[6] = { 0 };
    static const struct { const char *header; size_t n; const char *says; } row[] = {
        { HEAD("<f4", "(2, 3)"), 23, " ends after 23 of 24 bytes of data" },
        { HEAD("<f2", "(2, 3)"), 24, " has the type '<f2', 'fo; float32, float64, int32, int64, "
                                     "int8, uint8 and bool can be read" },
        { "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}", 24,
          " is stored by columns: save numpy.ascontiguousarray of it" },
        { "{'fortran_order': False, 'shape': (2, 3)}", 24,
          ": the header is not one of numpy: {'fortran_order': False, 'shape': (2, 3)}" },
        { HEAD("<f4", "2, 3"), 24, ": the header is not one of numpy: " HEAD("<f4", "2, 3") },
        { HEAD("<f4", "(-2,)"), 24, ": the header is not one of numpy: " HEAD("<f4", "(-2,)") },
        { HEAD("<f4", "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)"), 24, NULL },    /* 17 dims */
        { HEAD("<f4", "(16384, 16385)"), 24, NULL },     /* over 1 GiB */
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        const char *path = npy(1, row[i].header, data, row[i].n);
        struct arrays all;
        struct err e = {0};
        if (arrays_read(perm, path, "input", &all, &e))
            fail_msg("%s is read", row[i].header);
        if (row[i].says)
            assert_string_equal(e.text, arena_printf(perm, "%s%s", path, row[i].says));
        else
            assert_non_null(strstr(e.text, "the header is not one of numpy"));
    }
}

static void files_of_arrays(void **state)
{
    static const char short_file[] = "\x93NUMPY\1\0\0\0";
    const char *path = arena_printf(perm, "%s/x.npy", dir);
    struct arrays all;
    struct err e = {0};
    (void)state;
    assert_true(file_write_atomic(path, short_file, sizeof short_file - 1, &e));
    assert_false(arrays_read(perm, path, "input", &all, &e));
    assert_string_equal(e.text, arena_printf(perm, "%s is not an array of numpy", path));
    assert_false(arrays_read(perm, "x.txt", "output", &all, &e));
    assert_string_equal(e.text, "x.txt: expected FILE.npz, FILE.npy, FILE.pb, or a folder with "
                                "output_0.pb");
    assert_false(arrays_read(perm, dir, "output", &all, &e));
    assert_string_equal(e.text, arena_printf(perm, "there is no %s/output_0.pb", dir));
}

/* An archive with one empty file: its local header, its entry of the directory, and the end. */
static void an_empty_file_is_no_array(void **state)
{
#define NONE4 "\0\0\0\0"
#define EMPTY "\0\0" "\0\0" "\0\0" "\x21\0" NONE4 NONE4 NONE4 "\5\0" "\0\0"
    static const char archive[] =
        "PK\3\4" "\x14\0" EMPTY "x.npy"
        "PK\1\2" "\x14\0" "\x14\0" EMPTY "\0\0" "\0\0" "\0\0" NONE4 NONE4 "x.npy"
        "PK\5\6" "\0\0" "\0\0" "\1\0" "\1\0" "\x33\0\0\0" "\x23\0\0\0" "\0\0";
    const char *path = arena_printf(perm, "%s/x.npz", dir);
    struct arrays all;
    struct err e = {0};
    (void)state;
    assert_true(file_write_atomic(path, archive, sizeof archive - 1, &e));
    assert_false(arrays_read(perm, path, "input", &all, &e));
    assert_string_equal(e.text, arena_printf(perm, "%s: x.npy is not an array of numpy", path));
}

static void arrays_are_found(void **state)
{
    static const struct named_array list[] = { { .name = "a" }, { .name = "b" }, { .name = "b" } };
    static const struct arrays all = { 3, list };
    (void)state;
    assert_ptr_equal(arrays_find(&all, "a"), &list[0]);
    assert_ptr_equal(arrays_find(&all, "b"), &list[1]);
    assert_null(arrays_find(&all, "c"));
}

/* --- The machine's file ----------------------------------------------------------------------- */

/* Numbers at their limits are read, and those beyond are refused with their key. */
static void machine_files_have_limits(void **state)
{
    static const struct { const char *from, *to, *text; } row[] = {
        { "\"cores\": 4", "\"cores\": 1", NULL }, { "\"cores\": 4", "\"cores\": 1048576", NULL },
        { "\"cores\": 4", "\"cores\": 0", "'cores' is not a number that makes sense" },
        { "\"cores\": 4", "\"cores\": 1048577", "'cores' is not a number that makes sense" },
        { "\"format\": 1", "\"format\": 2", "'format' is not a number that makes sense" },
        { "\"seconds\": 3.0", "\"seconds\": 0", NULL },
        { "\"seconds\": 3.0", "\"seconds\": -1", "'seconds' is not a number that makes sense" },
        { "\"vector_floats\": 16", "\"vector_floats\": 1024", NULL },
        { "\"vector_floats\": 16", "\"vector_floats\": 1025",
          "'vector_floats' is not a number that makes sense" },
        { "\"vector_floats\": 16", "\"vector_floats\": 0",
          "'vector_floats' is not a number that makes sense" },
        { "\"runs\": 30", "\"runs\": 1", NULL },
        { "\"runs\": 30", "\"runs\": 0", "'runs' is not a number that makes sense" },
        { "\"best\": 200.0", "\"best\": 0", "'best' is not a number that makes sense" },
        { "\"level\": \"L1\"", "\"level\": \"L2\"", "'level' is not L1" },
        { "\"isa\": \"avx512\"", "\"isa\": 5", "'isa' is not a text" },
        { "\"date\": \"2026-11-21T02:00:00Z\"", "\"date\": null", "'date' is not a text" },
        { "\"gflops\": [", "\"gflops\": [], \"more\": [",
          "'gflops' is not a list of instruction sets" },
        { "\"bandwidth_gb_s\": [", "\"bandwidth_gb_s\": [], \"more\": [",
          "'bandwidth_gb_s' is not a list of four levels" },
    };
    struct machine_model model = roof_model(), found;
    struct str text = {0};
    (void)state;
    machine_file_print(&text, &model);
    for (int i = 0; i < COUNT_OF(row); i++) {
        struct str edited = {0};
        struct err e = {0};
        const char *at = strstr(str_text(&text), row[i].from);
        if (!at)
            fail_msg("no %s in %s", row[i].from, str_text(&text));
        str_add_n(&edited, text.data, (size_t)(at - text.data));
        str_printf(&edited, "%s%s", row[i].to, at + strlen(row[i].from));
        bool ok = machine_file_parse(str_text(&edited), &found, &e);
        if (ok != (row[i].text == NULL))
            fail_msg("%s: %s", row[i].to, ok ? "accepted" : e.text);
        if (!ok)
            assert_string_equal(e.text, row[i].text);
        str_free(&edited);
    }
    str_free(&text);
}

static int set_up(void **state)
{
    static const char *const name[] = { "a.yaml", "c#d@1" };
    struct err e;
    perm_setup(state);
    dir = temp_dir(NULL);
    for (int i = 0; i < COUNT_OF(name); i++)
        if (!file_write_atomic(arena_printf(perm, "%s/%s", dir, name[i]), "x", 1, &e))
            return 1;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_put), cmocka_unit_test(kernels_in_turn),
        cmocka_unit_test(places_are_read), cmocka_unit_test(places_are_refused),
        cmocka_unit_test(tables_have_parts), cmocka_unit_test(members_are_zero),
        cmocka_unit_test(values_as_json), cmocka_unit_test(arrays_of_every_type),
        cmocka_unit_test(arrays_have_shapes),
        cmocka_unit_test(arrays_are_refused), cmocka_unit_test(files_of_arrays),
        cmocka_unit_test(an_empty_file_is_no_array),
        cmocka_unit_test(arrays_are_found), cmocka_unit_test(machine_files_have_limits),
    };
    return cmocka_run_group_tests(tests, set_up, perm_teardown);
}
