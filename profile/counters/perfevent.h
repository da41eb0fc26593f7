/* Hardware and software counters through perf_event_open, honest about what is not there. */
#ifndef TS_PROFILE_PERFEVENT_H
#define TS_PROFILE_PERFEVENT_H
#include "profile/counters/counting.h"

/* What perf_event_open(2) takes. */
enum perf_type { PERF_HARDWARE = 0, PERF_SOFTWARE = 1, PERF_CACHE = 3, PERF_RAW = 4 };
struct perf_name { enum perf_type type; uint64_t config; bool always; };

/* "cycles", "l1d_load_misses", "page_faults", "raw:0x151".  False: no such event. */
bool perf_find(const char *text, struct perf_name *out);
/* The i-th name, for suggestions; false behind the last. */
#define PERF_NAME_BYTES 32
bool perf_name_at(int i, char out[PERF_NAME_BYTES]);

/* The threads of this process, as a source of counters.  Hardware events are counted in user space:
 * what interrupts a kernel is not its own.  Software events happen in the system, so they are
 * counted there too where that is allowed; without that right, context switches and migrations are
 * refused, since they would read 0. */
struct perf_threads { int n, *tid; bool no_kernel; };
extern const struct counter_source perf_source;
void perf_threads_find(struct perf_threads *out);    /* all there are by now */
void perf_threads_free(struct perf_threads *t);

/* Opens, counts a little work, closes.  Available only if a counter really counted. The reason
 * tells no PMU in this VM (no cpu event source, ENOENT), paranoid level (EACCES), a policy (EPERM),
 * too many descriptors (EMFILE), or not Linux apart. */
void perf_probe(bool hardware, struct counts *out);
#endif
