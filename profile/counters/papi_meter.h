/* Counters by PAPI, whose event names papers use (PAPI_L1_DCM).  The library is loaded only when
 * this meter is asked for; without the library the meter is refused with a reason.
 *
 * Not every machine lets PAPI attach to other threads, or count the threads that a thread starts.
 * Each thread of the kernel's OpenMP team therefore has its own event sets, which are opened,
 * started and stopped on this thread and count nothing else.  Threads that a kernel starts without
 * OpenMP are not counted. */
#ifndef TS_PROFILE_PAPI_METER_H
#define TS_PROFILE_PAPI_METER_H
#include "profile/counters/counting.h"

/* Loads PAPI; returns NULL, with the reason, when that fails. kernel: the dlopen handle of a
 * kernel, through which its OpenMP library is found.  If `kernel` is NULL or has no parallel loops,
 * only the calling thread is counted. */
struct papi;
struct papi *papi_open(void *kernel, int threads, struct counts *why_not);
void papi_close(struct papi *p);
int papi_threads(const struct papi *p);

/* The source of counters; ctx is the struct papi.  To find out whether an event exists, the source
 * adds and starts it, because queries of PAPI also accept events that never count.  Groups are
 * counted in passes; nothing is multiplexed. */
extern const struct counter_source papi_source;

/* Tries PAPI: it is available when one of its most basic presets counts. */
void papi_probe(struct counts *out);
#endif
