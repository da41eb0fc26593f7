/* The fields of records, runs and tasks: reads them from query columns, binds them for INSERT. */
#include <math.h>

#include "sessions/records/records_impl.h"

#define RECORD(member, zero) FIELD(record, member, ZERO_##zero)
const struct fields records_fields = FIELDS(
    RECORD(run, KEPT), RECORD(trial, KEPT), RECORD(strategy, KEPT), RECORD(seed, KEPT),
    RECORD(spec, KEPT), RECORD(threads, KEPT), RECORD(isa, KEPT), RECORD(machine, KEPT),
    RECORD(steps, KEPT), RECORD(reason, UNKNOWN), RECORD(median_ms, LEFT_OUT),
    RECORD(min_ms, LEFT_OUT), RECORD(spread, LEFT_OUT), RECORD(runs, KEPT),
    RECORD(gflops, UNKNOWN), RECORD(verified, KEPT), RECORD(max_rel_err, KEPT),
    RECORD(compile_s, KEPT), RECORD(measure_s, KEPT), RECORD(features, UNKNOWN),
    RECORD(simulated_ms, UNKNOWN), RECORD(version, KEPT), RECORD(date, KEPT));

#define RUN(key, member, zero) FIELD_AS(key, record_run, member, ZERO_##zero)
const struct fields records_run_fields = FIELDS(
    RUN("run", id, KEPT), RUN("spec", spec, KEPT), RUN("threads", threads, KEPT),
    RUN("isa", isa, KEPT), RUN("machine", machine, KEPT), RUN("strategy", strategy, KEPT),
    RUN("seed", seed, KEPT), RUN("budget", budget, KEPT), RUN("options", options, UNKNOWN),
    RUN("started", started, KEPT), RUN("ended", ended, UNKNOWN), RUN("task", task, KEPT),
    RUN("records", n_records, KEPT), RUN("best_ms", best_ms, UNKNOWN));

#define TASK(key, member, zero) FIELD_AS(key, record_task, member, ZERO_##zero)
const struct fields records_task_fields = FIELDS(
    TASK("task", task, KEPT), TASK("spec", spec, KEPT), TASK("threads", threads, KEPT),
    TASK("isa", isa, KEPT), TASK("machine", machine, KEPT), TASK("records", n_records, KEPT),
    TASK("right", n_good, KEPT), TASK("runs", n_runs, KEPT), TASK("best_ms", best_ms, UNKNOWN),
    TASK("best_gflops", best_gflops, UNKNOWN), TASK("last", last, KEPT));

void records_fields_read(sqlite3_stmt *s, struct fields f, void *out)
{
    for (int i = 0; i < f.n; i++) {
        void *to = (char *)out + f.at[i].offset;
        double none = f.at[i].zero == ZERO_KEPT ? (double)NAN : 0;
        switch (f.at[i].type) {
        case FIELD_BOOL:   *(bool *)to = sqlite3_column_int(s, i) != 0; break;
        case FIELD_INT:    *(int *)to = sqlite3_column_int(s, i); break;
        case FIELD_INT64:
        case FIELD_UINT64: *(int64_t *)to = sqlite3_column_int64(s, i); break;
        case FIELD_DOUBLE: *(double *)to = records_number(s, i, none); break;
        case FIELD_TEXT:   *(const char **)to = records_text(s, i); break;
        case FIELD_CHARS:  UNREACHABLE();
        }
    }
}

void records_fields_copy(struct arena *a, struct fields f, void *base)
{
    for (int i = 0; i < f.n; i++) {
        const char **text = (const char **)((char *)base + f.at[i].offset);
        if (f.at[i].type == FIELD_TEXT)
            *text = arena_strdup(a, *text);
    }
}

static void bind(sqlite3_stmt *s, int at, const struct field *f, const void *from)
{
#define AS(type) (*(const type *)from)
    if (f->zero == ZERO_UNKNOWN && field_is_zero(f, from)) {
        sqlite3_bind_null(s, at);
        return;
    }
    switch (f->type) {
    case FIELD_BOOL:   sqlite3_bind_int(s, at, AS(bool)); return;
    case FIELD_INT:    sqlite3_bind_int(s, at, AS(int)); return;
    case FIELD_INT64:
    case FIELD_UINT64: sqlite3_bind_int64(s, at, AS(int64_t)); return;
    case FIELD_DOUBLE:                   /* SQLite stores NAN as NULL */
        sqlite3_bind_double(s, at, isfinite(AS(double)) ? AS(double) : (double)NAN);
        return;
    case FIELD_TEXT:   sqlite3_bind_text(s, at, AS(char *), -1, SQLITE_TRANSIENT); return;
    case FIELD_CHARS:  break;
    }
    UNREACHABLE();
}

int records_fields_bind(sqlite3_stmt *s, int at, struct fields f, const void *base)
{
    for (int i = 0; i < f.n; i++)
        bind(s, at++, &f.at[i], (const char *)base + f.at[i].offset);
    return at;
}
