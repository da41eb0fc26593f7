/* The cachegrind meter: valgrind runs the kernel once, cold, and counts its instructions, accesses
 * and misses: an opinion on the simulator's numbers that shares no code with it.
 *
 * What it runs is a twin of the kernel: without OpenMP, without AVX-512 (valgrind has none: AVX2
 * then), and with memset and memcpy written out, so that all that it does is in its own functions.
 * Only those count.  Buffers lie where the simulator has them, the L1 is the simulator's. */
#ifndef TS_PROFILE_CACHEGRIND_H
#define TS_PROFILE_CACHEGRIND_H
#include "profile/measure/job.h"

/* Available when valgrind is installed; else what to install. */
void cachegrind_probe(struct counts *out);
/* instructions, loads, stores, d1_load_misses, d1_store_misses, d1_misses, ll_misses of one call,
 * and seconds, what the call took under valgrind.  False only on a cancel. */
bool cachegrind_count(struct measure_job *j, struct counts *out, struct err *e);

/* The sums over the functions of one source file in the text of a cachegrind output file, event by
 * event in the order of its `events:` line; how many events there are, 0 when the file is none or
 * has no such function. */
#define CACHEGRIND_EVENTS 16
struct cachegrind_sums { int n; char event[CACHEGRIND_EVENTS][8]; double sum[CACHEGRIND_EVENTS]; };
int cachegrind_sum(const char *text, const char *source_file, struct cachegrind_sums *out);

/* What cachegrind can be: a power of two of sets, lines of 32 bytes or more.  ERR_RANGE. */
bool cachegrind_geometry(const struct cache_geometry *g, struct err *e);
#endif
