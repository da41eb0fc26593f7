/* How busy other programs keep the machine while something is timed.  They share caches, memory and
 * often a core with it, which the FMA ceiling beside a kernel may not feel. */
#ifndef TS_PROFILE_BUSY_H
#define TS_PROFILE_BUSY_H
#include <sys/types.h>

#define BUSY_MUCH 0.1                    /* share of other programs from which times are doubtful */

/* CPU seconds of all programs and of the own ones, and when they were read; NAN: unknown. */
struct busy { double all_s, own_s, at_s; };

/* own: n processes of the measurement, 0 = none; a process that has ended counts as having used
 * nothing. */
struct busy busy_now(const pid_t *own, int n);
/* Returns the share of all CPUs that programs other than the own ones used between the two; NAN:
 * unknown, or too little time passed for the ticks in which Linux counts (1/100 s). */
double busy_others(const struct busy *from, const struct busy *to);
#endif
