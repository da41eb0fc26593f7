/* Hardware and software counters through perf_event_open, honest about what is not there. */
#ifndef TS_PROFILE_PERFEVENT_H
#define TS_PROFILE_PERFEVENT_H
#include <stdbool.h>
#include <stdint.h>

#define PERF_MAX_EVENTS 8
/* scaled: the counters were multiplexed and the value is extrapolated. */
struct perf_count { char name[32]; int64_t value; bool scaled; };
struct perf_result {
    bool available;
    char reason[256];                    /* why not, and what would make it so; "" when available */
    int n;
    struct perf_count count[PERF_MAX_EVENTS];
};
/* Opens, counts a little work, closes.  Hardware events: available only if a counter really
 * counted. The reason tells no PMU in this VM (no cpu event source, ENOENT), paranoid level
 * (EACCES), or not Linux apart. */
void perf_probe(struct perf_result *hardware, struct perf_result *software);

/* An open group on the calling thread.  Hardware: cycles, instructions, L1d loads, L1d load
 * misses. */
struct perf;
struct perf *perf_open(bool hardware, struct perf_result *why_not);     /* NULL with the reason */
void perf_start(struct perf *p);
void perf_stop(struct perf *p);
void perf_read(struct perf *p, struct perf_result *out);                /* sums since open */
void perf_close(struct perf *p);
#endif
