/* Hardware and software counters through perf_event_open, honest about what is not there. */
#ifndef TS_PROFILE_PERFEVENT_H
#define TS_PROFILE_PERFEVENT_H
#include <stdint.h>

#include "profile/counts.h"

/* Opens, counts a little work, closes.  Hardware events: available only if a counter really
 * counted. The reason tells no PMU in this VM (no cpu event source, ENOENT), paranoid level
 * (EACCES), or not Linux apart. */
void perf_probe(struct counts *hardware, struct counts *software);

/* An open group on the calling thread.  Hardware: cycles, instructions, L1d loads, L1d load
 * misses. */
struct perf;
struct perf *perf_open(bool hardware, struct counts *why_not);     /* NULL with the reason */
void perf_start(struct perf *p);
void perf_stop(struct perf *p);
void perf_read(struct perf *p, struct counts *out);                /* sums since open */
void perf_close(struct perf *p);
#endif
