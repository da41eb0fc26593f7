/* Records as JSON: what is not known is null, and several runs are told apart. */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/records_help.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static const char *dir;
static char path[300];
static struct arena *a;

static int setup(void **state)
{
    (void)state;
    dir = temp_dir(NULL);
    snprintf(path, sizeof path, "%s/records.db", dir);
    a = arena_new();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_free(a);
    return 0;
}

static json_t *parsed(const struct str *text)
{
    json_error_t why;
    json_t *o = json_loads(str_text(text), JSON_REJECT_DUPLICATES, &why);
    if (!o)
        fail_msg("%s: %s", why.text, str_text(text));
    return o;
}

static json_t *value(json_t *o, const char *list, size_t i, const char *key)
{
    json_t *v = json_object_get(json_array_get(json_object_get(o, list), i), key);
    if (!v)
        fail_msg("no %s[%zu].%s", list, i, key);
    return v;
}

/* A run whose only record failed has no best, nor has its task: null, which is not 0 ms. */
static void what_is_not_known_is_null(void **state)
{
    struct record_filter all = { .any_machine = true };
    const struct record_task *task;
    const struct record_run *run;
    struct records *r = records_must_open(path);
    struct str out = {0};
    struct err e = {0};
    char id[RUN_ID];
    int n;
    (void)state;
    records_must_start(r, 1, id);
    for (int trial = 3; trial <= 4; trial++) {           /* the third fails, the fourth does not */
        struct record rec = record_make(a, id, trial);
        bool known = trial == 4;
        records_must_add(r, &rec);
        assert_true(records_tasks(r, &all, a, &task, &n, &e) && n == 1);
        str_clear(&out);
        records_tasks_json(&out, r, task, n);
        json_t *o = parsed(&out);
        assert_int_equal(json_is_null(value(o, "tasks", 0, "best_ms")), !known);
        assert_int_equal(json_is_null(value(o, "tasks", 0, "best_gflops")), !known);
        assert_int_equal(json_integer_value(value(o, "tasks", 0, "right")), known);
        json_decref(o);
        assert_true(records_runs(r, &all, a, &run, &n, &e) && n == 1);
        str_clear(&out);
        records_runs_json(&out, r, run, n);
        o = parsed(&out);
        assert_int_equal(json_is_null(value(o, "runs", 0, "best_ms")), !known);
        if (known)
            assert_true(json_real_value(value(o, "runs", 0, "best_ms")) == rec.min_ms);
        json_decref(o);
        str_clear(&out);
        records_list_json(&out, r, &rec, 1);
        o = parsed(&out);
        static const char *const maybe[] = { "latency_ms", "gflops", "max_rel_err", "measure_s",
                                             "features" };
        for (int i = 0; i < COUNT_OF(maybe); i++)
            assert_int_equal(json_is_null(value(o, "records", 0, maybe[i])), !known);
        json_decref(o);
    }
    records_close(r);
    str_free(&out);
}

/* Each run once, before the first of its records, however the records of two lie in the file. */
static void runs_stand_before_their_records(void **state)
{
    struct records *r = records_must_open(path);
    struct str out = {0};
    char id[2][RUN_ID];
    int runs[2] = {0}, records[2] = {0};
    (void)state;
    for (int i = 0; i < 2; i++)
        records_must_start(r, (uint64_t)i, id[i]);
    for (int trial = 1; trial <= 5; trial++)
        for (int i = 0; i < 2; i++) {
            struct record rec = record_make(a, id[i], trial);
            records_must_add(r, &rec);
        }
    records_must_export(r, &out);
    for (char *line = strtok(out.data, "\n"); line; line = strtok(NULL, "\n")) {
        json_t *o = json_loads(line, 0, NULL);
        const char *kind = json_string_value(json_object_get(o, "kind"));
        const char *of = json_string_value(json_object_get(o, "run"));
        assert_non_null(of);
        int i = strcmp(of, id[1]) == 0;
        assert_string_equal(of, id[i]);
        if (strcmp(kind, "run") == 0) {
            assert_int_equal(json_integer_value(json_object_get(o, "seed")), i);
            runs[i]++;
        } else {
            assert_int_equal(json_integer_value(json_object_get(o, "trial")), ++records[i]);
        }
        assert_int_equal(runs[i], 1);
        json_decref(o);
    }
    for (int i = 0; i < 2; i++)
        assert_true(runs[i] == 1 && records[i] == 5);
    records_close(r);
    str_free(&out);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(what_is_not_known_is_null), T(runs_stand_before_their_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
