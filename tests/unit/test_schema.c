/* sessions/schema.md has every field of the tables.  The rows of a measurement's fields are
 * generated, keys and types from the table and meanings from the document itself:
 * TS_UPDATE_GOLDEN=1 writes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "kernels/base/file.h"
#include "sessions/file/measured_fields.h"
#include "sessions/records/records_impl.h"
#include "tests/unit/golden.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define SCHEMA "sessions/schema.md"
#define SECTION "## `tilescope run --json`"

static struct str schema;

static int setup(void **state)
{
    struct err e;
    (void)state;
    return file_read(SCHEMA, 1 << 22, &schema, &e) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    str_free(&schema);
    return 0;
}

/* In JSON these are members of `huge_pages`. */
static bool is_other(const char *key)
{
    return str_starts(key, "huge_") || str_starts(key, "device_");
}

/* Also null: errors where nothing was compared, the seed where nothing was measured. */
static bool may_be_null(const struct field *f)
{
    static const char *const more[] = { "max_rel_err", "error_of_bound", "seed" };
    bool null = f->zero == ZERO_UNKNOWN;
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        null = null || streq(f->key, more[i]);
    return null;
}

static void add_type(struct str *out, const struct field *f)
{
    static const char *const name[] = {
        [FIELD_BOOL] = "truth value", [FIELD_INT] = "integer", [FIELD_INT64] = "integer",
        [FIELD_UINT64] = "integer", [FIELD_DOUBLE] = "number", [FIELD_CHARS] = "text",
        [FIELD_TEXT] = "text",
    };
    str_printf(out, "%s%s%s", name[f->type], may_be_null(f) ? " or null" : "",
               f->type == FIELD_UINT64 ? " (text above 2^63 - 1)" : "");
}

/* The row of a key in the first table of the section, or NULL; *n: its bytes with the newline. */
static const char *row_of(const char *key, size_t *n)
{
    struct str begin = {0};
    const char *row = strstr(str_text(&schema), SECTION), *found = NULL;
    assert_non_null(row);
    row = strstr(row, "\n|---");
    str_printf(&begin, "| `%s` |", key);
    for (row = strchr(row + 1, '\n') + 1; *row == '|' && !found; row += *n) {
        *n = strcspn(row, "\n") + 1;
        found = str_starts(row, str_text(&begin)) ? row : NULL;
    }
    str_free(&begin);
    return found;
}

static const char *meaning_of(const char *row)
{
    const char *type = strstr(row, "` | ") + strlen("` | ");
    return strstr(type, " | ") + strlen(" | ");
}

/* The document with the rows as they should be. */
static void test_measurement(void **state)
{
    (void)state;
    struct str out = {0};
    size_t n, done = 0;
    for (int i = 0; i < measured_fields.n; i++) {
        const struct field *f = &measured_fields.at[i];
        const char *row = is_other(f->key) ? NULL : row_of(f->key, &n);
        if (!row && !is_other(f->key))
            fail_msg("%s: %s has no row `%s`", SCHEMA, SECTION, f->key);
        if (!row)
            continue;
        const char *meaning = meaning_of(row);
        struct str fresh = {0};
        str_printf(&fresh, "| `%s` | ", f->key);
        add_type(&fresh, f);
        str_add(&fresh, " | ");
        str_add_n(&fresh, meaning, (size_t)(row + n - meaning));
        assert_true((size_t)(row + n - meaning) > strlen("x |\n"));
        /* rows may stand in another order than the fields */
        str_clear(&out);
        str_add_n(&out, schema.data, (size_t)(row - schema.data));
        str_add(&out, str_text(&fresh));
        str_add(&out, row + n);
        str_free(&fresh);
        str_clear(&schema);
        str_add(&schema, str_text(&out));
        done++;
    }
    golden_check(SCHEMA, str_text(&schema));
    assert_true(done > 15);
    str_free(&out);
}

static void check_told(struct fields f)
{
    for (int i = 0; i < f.n; i++) {
        struct str key = {0};
        str_printf(&key, "`%s`", f.at[i].key);
        if (!strstr(str_text(&schema), str_text(&key)))
            fail_msg("%s does not tell of %s", SCHEMA, str_text(&key));
        str_free(&key);
    }
}

static void test_told(void **state)
{
    (void)state;
    check_told(measured_latency_fields);
    check_told(measured_baseline_fields);
    check_told(fields_part(measured_sim_fields, "available", "streamed_bytes"));
    check_told(measured_level_fields);
    check_told(measured_tensor_fields);
    check_told(fields_part(measured_site_fields, "accesses", NULL));
    check_told(measured_geometry_fields);
    check_told(measured_counts_fields);
    check_told(fields_part(records_fields, "run", "reason"));
    check_told(fields_part(records_fields, "spread", NULL));
    check_told(records_run_fields);
    check_told(records_task_fields);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_measurement),
        cmocka_unit_test(test_told),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
