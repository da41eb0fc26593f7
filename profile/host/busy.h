/* How busy other programs keep the machine while something is timed. They share caches, memory and
 * often a core with the timed kernel, and the FMA ceiling beside the kernel may not show this. */
#ifndef TS_PROFILE_BUSY_H
#define TS_PROFILE_BUSY_H
#include <sys/types.h>

#define BUSY_MUCH 0.1  /* busy_share from which on times are doubtful */

/* all_s: CPU seconds of all programs; NAN = unknown.  own_s: CPU seconds of the processes of the
 * measurement.  at_s: the time at which they were read (clock_s). */
struct busy { double all_s, own_s, at_s; };
/* Sums over several intervals: CPU seconds of all programs, CPU seconds of the other programs, and
 * seconds of the clock. */
struct busy_sum { double all_s, others_s, clock_s; };

/* Reads the CPU seconds used so far. own: n processes of the measurement.  A pid of 0 is skipped; a
 * process that has ended counts as having used nothing. */
struct busy busy_now(const pid_t *own, int n);
/* Adds the interval between two readings to *s. */
void busy_add(struct busy_sum *s, const struct busy *from, const struct busy *to);
/* Returns the share of all CPUs that other programs, and other machines on the same host, used.
 * NAN: unknown, or too little time passed for the ticks in which Linux counts (1/100 s). */
double busy_share(const struct busy_sum *s);
#endif
