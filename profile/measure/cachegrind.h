/* The cachegrind meter: valgrind runs the kernel once, with cold caches, and counts its
 * instructions, accesses and misses.  Valgrind shares no code with the simulator and so gives a
 * second opinion on the simulator's counts.
 *
 * The kernel is compiled as a variant without OpenMP, without AVX-512 (valgrind does not support
 * it; AVX2 is used instead), and with memset and memcpy written out, so that the variant's own
 * functions do all the work.  Only these functions are counted.  The buffers have the addresses of
 * the simulator, and L1 is that of the simulator. */
#ifndef TS_PROFILE_CACHEGRIND_H
#define TS_PROFILE_CACHEGRIND_H
#include "profile/measure/job.h"

/* Sets out->available when valgrind is installed; else out->reason says what to install. */
void cachegrind_probe(struct counts *out);
/* Counts instructions, loads, stores, d1_load_misses, d1_store_misses, d1_misses, ll_misses of
 * one call, and seconds, the time of the call under valgrind.  False with *e when valgrind cannot
 * simulate the cache or hold the buffers, and when valgrind or the variant fails. */
bool cachegrind_count(struct measure_job *j, struct counts *out, struct err *e);

/* Sums the counts of all functions of one source file. text: an output file of cachegrind; the
 * events in *out have the order of its `events:` line. Returns the number of events. 0: the text is
 * not such a file, or it has no function of the source file. */
#define CACHEGRIND_EVENTS 16
struct cachegrind_sums { int n; char event[CACHEGRIND_EVENTS][8]; double sum[CACHEGRIND_EVENTS]; };
int cachegrind_sum(const char *text, const char *source_file, struct cachegrind_sums *out);

/* Checks that cachegrind can simulate a cache: a valid geometry, a power of two of sets, and lines
 * of 32 bytes or more.  ERR_RANGE. */
bool cachegrind_geometry(const struct cache_geometry *g, struct err *e);
#endif
