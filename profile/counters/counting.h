/* Counts events on several threads with a limited number of counters, for any source of counters:
 * Linux perf events, PAPI, or a script in the tests.  This unit decides which events share a group,
 * adds the values of all threads, notes which values were extrapolated, and drops counters that
 * never counted. */
#ifndef TS_PROFILE_COUNTING_H
#define TS_PROFILE_COUNTING_H
#include <stdint.h>

#include "profile/counters/counts.h"

#define EVENTS_MAX 16                    /* most events of an event set */
#define GROUP_MAX 8                      /* most events of one group, which are read together */

/* An event. name: name of the count. text: how the source calls the event ("l1d_loads",
 * "raw:0x151", "PAPI_L1_DCM"). */
struct event { char name[40], text[64]; };

/* The reading of a group in one thread. enabled_ns: how long the group was enabled; 0: the thread
 * did not run, which PAPI does not report. running_ns: how long the group counted, which is shorter
 * when groups take turns. value: in the order in which the events of the group were opened. */
struct reading { uint64_t enabled_ns, running_ns, value[GROUP_MAX]; };

#define COUNTER_GONE (-100000)  /* returned by open: the thread has ended and needs no counter */
#define COUNTER_NOT_OPEN (-100001)  /* a handle whose counter nothing has tried to open yet */

/* A source of counters.  The functions that return an int return a code below 0 when they fail.
 * ctx belongs to the source. */
struct counter_source {
    /* Opens a stopped counter of ev in one thread.  It joins the group that the counter with the
     * handle `leader` leads; -1: it leads a new group.  Returns a handle, 0 or more. */
    int (*open)(void *ctx, int thread, const struct event *ev, int leader);
    /* Start, stop and read the group of a leader; n: number of its events. */
    int (*start)(void *ctx, int leader);
    int (*stop)(void *ctx, int leader);
    int (*read)(void *ctx, int leader, int n, struct reading *out);
    void (*close)(void *ctx, int handle);  /* closes a counter; the caller closes leaders last */
    /* Writes a sentence with the reason why a function failed with this code for ev, and the
     * fix. */
    void (*explain)(void *ctx, const struct event *ev, int code, char *out, size_t n);
    /* Whether ev happens in all code. If so, a count of 0 shows that the counter does not work. */
    bool (*always)(void *ctx, const struct event *ev);
    /* Calls part(arg, t) on each thread t that the source can reach.  NULL: the calling thread may
     * make the calls for all threads. */
    void (*on_threads)(void *ctx, void (*part)(void *arg, int thread), void *arg);
    bool one_group;                      /* only one group per thread can run at a time */
};

/* Opens the events in order.  An event joins the last group if that has fewer than group_max events
 * and the source allows it; else it begins a new group.  All threads have the same groups.  An
 * event that cannot be opened in some thread is dropped, since a sum without this thread would look
 * complete.  Threads that have ended are ignored.  Returns NULL, with the reason, when no event is
 * left. */
struct counting;
struct counting *counting_open(const struct counter_source *s, void *ctx, int threads,
                               const struct event *event, int n, int group_max,
                               struct counts *why_not);
/* Returns how often the work must run so that every group counts it: 1, or the number of groups. */
int counting_passes(const struct counting *c);
int counting_groups(const struct counting *c);
void counting_start(struct counting *c, int pass);
/* Stops the counters of a pass. calls: number of kernel calls in the pass, by which its counts are
 * divided. */
void counting_stop(struct counting *c, int pass, int calls);
/* Stores the sums over all threads and passes.  When nothing was counted, or a counter stands
 * still, *out has the reason.  out->source says how many threads ran. */
void counting_result(struct counting *c, struct counts *out);
/* Whether a group of several events never ran in some thread.  Such a group may need more counters
 * than are free.  Opening the events again with group_max 1 can help. */
bool counting_starved(const struct counting *c);
void counting_close(struct counting *c);             /* NULL is allowed */
#endif
