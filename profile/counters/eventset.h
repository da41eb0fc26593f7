/* Event sets: which events a meter counts, and what follows from them, as text files in the manner
 * of likwid's performance groups (profile/counters/events; more in
 * $XDG_CONFIG_HOME/tilescope/events):
 *
 *     SHORT  First-level data cache: loads and the share that missed
 *     METER  perf
 *     CPU    GenuineIntel            optional: raw numbers mean something on this vendor's only
 *
 *     EVENTSET
 *     l1d_loads                      one a line: a word that the meter knows,
 *     lines_in raw:0x151             or a name of one's own and such a word
 *
 *     METRICS
 *     l1_miss_rate [%] = 100 * l1d_load_misses / l1d_loads
 *
 *     LONG
 *     Prose, up to the end of the file.
 *
 * Lines that begin with # are comments, but not in the prose.  Formulas (formula.h) know the events
 * of the set, per call of the kernel, and time_s (seconds a call), flops and bytes (of the
 * operator) and threads; a metric with something that was not counted, or a division by zero, is
 * absent. */
#ifndef TS_PROFILE_EVENTSET_H
#define TS_PROFILE_EVENTSET_H
#include "kernels/base/arena.h"
#include "kernels/base/err.h"
#include "profile/counters/counting.h"

#define METRICS_MAX (COUNTS_MAX - EVENTS_MAX)

struct metric { char name[40], unit[12]; const char *formula; };
struct event_set {
    const char *name, *summary, *prose, *meter, *cpu;    /* cpu: "" = any */
    const char *path;                                    /* "" = built in */
    int n, n_metrics;
    struct event event[EVENTS_MAX];
    struct metric metric[METRICS_MAX];
};

/* Memory is the arena's.  ERR_SYNTAX, ERR_NAME, ERR_RANGE with file (path, or the name), line,
 * column and the line itself. */
bool event_set_parse(struct arena *a, const char *name, const char *path, const char *text,
                     const struct event_set **out, struct err *e);

/* All sets: the built-in ones, then the user's in the order of their names; one of the user's with
 * the name of another takes its place.  *broken (may be NULL) gets what is wrong with each file
 * that does not parse, as err_print tells it. */
struct event_sets { int n; const struct event_set **set; };
struct event_sets event_sets_load(struct arena *a, struct str *broken);

/* Finds one by name and reads no other.  ERR_NAME with the nearest; what is wrong with its file. */
bool event_set_find(struct arena *a, const char *name, const struct event_set **out,
                    struct err *e);
/* The set that a meter counts unless told otherwise. */
const char *event_set_default(const char *meter);

/* False when the set's raw numbers mean nothing on this CPU; *why then refuses. */
bool event_set_fits(const struct event_set *s, struct counts *why);

/* What is known besides the events. */
struct known { double time_s, flops, bytes; int threads; };
/* Adds the set's metrics to what was counted. */
void event_set_derive(const struct event_set *s, const struct known *k, struct counts *c);

/* The text files that are built in, ended by a NULL name (made by the Makefile). */
struct builtin_set { const char *name, *text; };
extern const struct builtin_set builtin_set[];
#endif
