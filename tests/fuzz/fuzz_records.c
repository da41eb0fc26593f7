#include <stdlib.h>

#include "sessions/records/records.h"
#include "tests/fuzz/fuzz.h"

static int64_t count(struct records *r)
{
    struct record_filter all = { .any_machine = true };
    struct str out = {0};
    struct err e;
    int64_t n = 0;
    if (!records_export(r, &all, &out, &n, &e))
        fail("an export fails: %s", e.text);
    str_free(&out);
    return n;
}

/* What was taken goes out, and in again as nothing new. */
static void check_taken(struct records *r, int64_t records)
{
    struct record_filter all = { .any_machine = true };
    struct records_added again = {0};
    struct str out = {0};
    struct err e = {0};
    int64_t n = 0;
    FUZZ_CHECK(count(r) == records, "%lld were added, %lld are there", (long long)records,
               (long long)count(r));
    FUZZ_CHECK(records_export(r, &all, &out, &n, &e), "%s", e.text);
    if (!records_import(r, "again", str_text(&out), out.len, NULL, &again, &e))
        fail("an export is refused: %s", e.text);
    fuzz_say(str_text(&out));
    FUZZ_CHECK(again.records == 0 && again.known == records, "%lld are new in the same export",
               (long long)again.records);
    str_free(&out);
}

int fuzz_records(const uint8_t *data, size_t n)
{
    static struct records *r;
    struct records_added added = {0};
    struct err e = {0};
    char *text = fuzz_text(data, n);
    if (!r && !records_open(":memory:", &r, &e))
        fail("%s", e.text);
    if (records_import(r, "fuzz", text, n, NULL, &added, &e)) {
        check_taken(r, added.records);
        records_close(r);                /* runs without records would stay */
        r = NULL;
    } else {
        fuzz_error(&e);
        FUZZ_CHECK(count(r) == 0, "half of it was taken");
    }
    free(text);
    return 0;
}
