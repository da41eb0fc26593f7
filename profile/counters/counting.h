/* Counting on several threads with a limited number of counters, above whatever has the counters:
 * the kernel's perf events, PAPI, or a script in the tests.  What they have in common: which
 * events share a group, what the values of all threads add up to, what was extrapolated, and what
 * must not be shown because it never counted. */
#ifndef TS_PROFILE_COUNTING_H
#define TS_PROFILE_COUNTING_H
#include <stdint.h>

#include "profile/counters/counts.h"

#define EVENTS_MAX 16                    /* of one event set */
#define GROUP_MAX 8                      /* of one group: read together */

/* name: what the result is called.  text: what it is, in the source's own words ("l1d_loads",
 * "raw:0x151", "PAPI_L1_DCM"). */
struct event { char name[40], text[64]; };

/* A group since it was opened: the values in the order of opening, for how long it was meant to
 * count, and for how long it did (less when groups take turns).  A thread that did not run has
 * enabled_ns 0. */
struct reading { uint64_t enabled_ns, running_ns, value[GROUP_MAX]; };

#define COUNTER_GONE (-100000)           /* open: the thread has ended; nothing is missed */
#define COUNTER_NOT_OPEN (-100001)       /* on_threads did not reach the thread */

/* Where counters come from.  Functions return a code below 0 when they fail; ctx is the source's
 * own. */
struct counter_source {
    /* A stopped counter of ev in one thread, in the group that handle `leader` leads (-1: leading a
     * group of its own): a handle, 0 or more. */
    int (*open)(void *ctx, int thread, const struct event *ev, int leader);
    int (*start)(void *ctx, int leader);
    int (*stop)(void *ctx, int leader);
    int (*read)(void *ctx, int leader, int n, struct reading *out);
    void (*close)(void *ctx, int handle);            /* leaders last */
    /* One sentence: why a function failed with this code for ev, and what would help. */
    void (*explain)(void *ctx, const struct event *ev, int code, char *out, size_t n);
    /* Does ev count in whatever code?  Then a 0 says that the counters stand still. */
    bool (*always)(void *ctx, const struct event *ev);
    /* Calls part(arg, t) once for each thread t, on that thread; NULL: anyone may do it. */
    void (*on_threads)(void *ctx, void (*part)(void *arg, int thread), void *arg);
    bool one_group;                      /* only one group of a thread can run at a time */
};

/* Opens the events in as few groups of at most group_max as the source allows, alike in every
 * thread.  An event that fails in one thread is missing altogether, since a sum without that thread
 * would look whole.  NULL with the reason when none is left. */
struct counting;
struct counting *counting_open(const struct counter_source *s, void *ctx, int threads,
                               const struct event *event, int n, int group_max,
                               struct counts *why_not);
/* How often the work must be done for every group to have seen it: 1, or the number of groups. */
int counting_passes(const struct counting *c);
int counting_groups(const struct counting *c);
void counting_start(struct counting *c, int pass);
/* calls: of the kernel in this pass; values are per call. */
void counting_stop(struct counting *c, int pass, int calls);
/* After every pass: sums over threads.  A refusal when nothing counted; then also why.  source says
 * how many threads ran. */
void counting_result(struct counting *c, struct counts *out);
/* A group of several events never got its turn (they need more counters than there are, or someone
 * else holds one): worth opening again with group_max 1. */
bool counting_starved(const struct counting *c);
void counting_close(struct counting *c);             /* NULL is fine */
#endif
