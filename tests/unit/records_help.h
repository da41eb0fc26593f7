/* Records for tests: a file in a folder of its own, and records that differ in every field. */
#ifndef TS_TESTS_RECORDS_HELP_H
#define TS_TESTS_RECORDS_HELP_H
#include "sessions/records/records.h"
#include "tests/unit/temp_dir.h"

#define RECORD_SPEC "gmm m=32 k=16 n=32"

struct records *records_must_open(const char *path);
/* A run of RECORD_SPEC on one thread with avx2. */
void records_must_start(struct records *r, uint64_t seed, char id[RUN_ID]);
/* Trial n of a run.  Every fourth one is a failure; the texts live in a. */
struct record record_make(struct arena *a, const char *run, int n);
void records_must_add(struct records *r, const struct record *rec);
/* Everything as JSON lines. */
void records_must_export(struct records *r, struct str *out);
int records_count(struct records *r);
#endif
