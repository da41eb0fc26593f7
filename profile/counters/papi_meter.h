/* Counters through PAPI, the interface by which papers report them (PAPI_L1_DCM...).  The library
 * is loaded when it is asked for: nobody else pays for it, and a machine without it gets a reason.
 *
 * PAPI counts the thread that owns an event set, and can neither inherit nor attach on every
 * machine, so each thread of the kernel's OpenMP team has event sets of its own, opened, started
 * and stopped on the team itself.  Threads that a kernel starts by other means are not counted. */
#ifndef TS_PROFILE_PAPI_METER_H
#define TS_PROFILE_PAPI_METER_H
#include "profile/counters/counting.h"

/* kernel: the dlopen handle of a kernel, through which its OpenMP library is found (NULL, or one
 * without parallel loops: the calling thread alone counts).  NULL with the reason when PAPI cannot
 * be loaded. */
struct papi;
struct papi *papi_open(void *kernel, int threads, struct counts *why_not);
void papi_close(struct papi *p);
int papi_threads(const struct papi *p);

/* ctx is the struct papi.  An event is there when it can be added and started: PAPI's queries say
 * yes to events that never count.  Groups are counted in passes; nothing is multiplexed. */
extern const struct counter_source papi_source;

/* Available when one of the most basic presets counts. */
void papi_probe(struct counts *out);
#endif
