/* Event sets: which events a meter counts, and which metrics are computed from them.  They are
 * text files like the performance groups of likwid (profile/counters/events; the user may add
 * more in $XDG_CONFIG_HOME/tilescope/events):
 *
 *     SHORT  First-level data cache: loads and the share that missed
 *     METER  perf
 *     CPU    GenuineIntel            optional: raw numbers are valid only for this vendor
 *
 *     EVENTSET
 *     l1d_loads                      one a line: a name that the meter knows,
 *     lines_in raw:0x151             or a new name followed by such a name
 *
 *     METRICS
 *     l1_miss_rate [%] = 100 * l1d_load_misses / l1d_loads
 *
 *     LONG
 *     Prose, up to the end of the file.
 *
 * Lines that begin with # are comments, except in the prose.  A formula can use the counts of the
 * set's events per call of the kernel, time_s (seconds per call), flops and bytes (of the operator)
 * and threads.  A metric is left out when its formula uses an event that was not counted or a value
 * that is unknown, and after an error such as a division by zero. */
#ifndef TS_PROFILE_EVENTSET_H
#define TS_PROFILE_EVENTSET_H
#include "kernels/base/arena.h"
#include "kernels/base/err.h"
#include "profile/counters/counting.h"

#define METRICS_MAX (COUNTS_MAX - EVENTS_MAX)

struct metric { char name[40], unit[12]; const char *formula; };
struct event_set {
    const char *name, *summary, *prose, *meter, *cpu;    /* cpu: "" = any vendor */
    const char *path;                                    /* "" = a built-in set */
    int n, n_metrics;
    struct event event[EVENTS_MAX];
    struct metric metric[METRICS_MAX];
};

/* Parses an event set; the result is allocated in a.  Errors have the file (`path`; `name` if path
 * is ""), the line and the column. */
bool event_set_parse(struct arena *a, const char *name, const char *path, const char *text,
                     const struct event_set **out, struct err *e);

/* Loads all sets: the built-in ones, then those of the user in the order of their names.  A set
 * of the user replaces a built-in one of the same name.  *broken (may be NULL) gets an error
 * message for each file that cannot be parsed. */
struct event_sets { int n; const struct event_set **set; };
struct event_sets event_sets_load(struct arena *a, struct str *broken);

/* Finds a set by name; errors in the files of other sets do not matter.  ERR_NAME when there is no
 * such set; the fix names a similar set if there is one.  Other errors are those of file_read and
 * event_set_parse. */
bool event_set_find(struct arena *a, const char *name, const struct event_set **out,
                    struct err *e);
/* Returns the name of the set that a meter counts by default. */
const char *event_set_default(const char *meter);

/* Whether the set is valid on this CPU.  False when its raw numbers belong to another vendor;
 * *why then has the reason. */
bool event_set_fits(const struct event_set *s, struct counts *why);

/* The values that formulas can use besides the events; 0 = unknown. */
struct known { double time_s, flops, bytes; int threads; };
/* Computes the metrics of the set and adds those that have a value to *c. */
void event_set_derive(const struct event_set *s, const struct known *k, struct counts *c);

/* The text files that are built in, ended by a NULL name (made by the Makefile). */
struct builtin_set { const char *name, *text; };
extern const struct builtin_set builtin_set[];
#endif
