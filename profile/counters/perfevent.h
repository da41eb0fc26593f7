/* Hardware and software counters by perf_event_open, and reasons why a counter is missing. */
#ifndef TS_PROFILE_PERFEVENT_H
#define TS_PROFILE_PERFEVENT_H
#include "profile/counters/counting.h"

/* The type and config of an event for perf_event_open(2). */
enum perf_type { PERF_HARDWARE = 0, PERF_SOFTWARE = 1, PERF_CACHE = 3, PERF_RAW = 4 };
struct perf_name { enum perf_type type; uint64_t config; bool always; };

/* Finds an event by name: "cycles", "l1d_load_misses", "page_faults", "raw:0x151". False: it does
 * not exist. */
bool perf_find(const char *text, struct perf_name *out);
/* Stores the i-th name, for suggestions; false after the last. */
#define PERF_NAME_BYTES 32
bool perf_name_at(int i, char out[PERF_NAME_BYTES]);

/* The threads of this process as a source of counters.  Hardware events are counted in user space
 * only, so interrupts do not count.  Software events happen in the kernel of Linux, and are also
 * counted there if this process has the right to do so.  Without this right (no_kernel), context
 * switches and migrations are refused, since their counts would be 0. */
struct perf_threads { int n, *tid; bool no_kernel; };
extern const struct counter_source perf_source;
void perf_threads_find(struct perf_threads *out);    /* finds all threads that exist now */
void perf_threads_free(struct perf_threads *t);

/* Opens two counters, counts a little work and closes them.  The counts are available only if the
 * counters really counted.  Reasons for a failure: no PMU in this VM (no cpu event source, ENOENT),
 * paranoid level (EACCES), a policy (EPERM), too many descriptors (EMFILE), not Linux, others. */
void perf_probe(bool hardware, struct counts *out);
#endif
