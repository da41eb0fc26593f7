/* How a network's tuning divides its time limit (network_tuning.c): measuring the network before,
 * searching, the finals of the kernels, and measuring the networks before and after in turns. */
#ifndef TS_SESSIONS_NETWORK_TIME_H
#define TS_SESSIONS_NETWORK_TIME_H

/* The costs in seconds that are known when the searches of the kernels begin, after the joint
 * stage.  spent_s: all time until then, without pauses and without the searches of the joint stage.
 * plain_s: one measurement of the network.  checked_s: one measurement that also checks the
 * results.  build_s: compiling the network, which takes no time if the objects are cached.
 * n_kernels: number of kernels with something to search. */
struct network_costs { double limit_s, spent_s, plain_s, checked_s, build_s; int n_kernels; };

/* The parts of the time limit.  search_s: for all searches.  finals_s: for all finals together: no
 * final begins when the searches ended more than finals_s seconds ago.  compare_s: sampling time in
 * a final; < 0: there are no finals.  turns: how often the networks before and after are measured
 * in turns. */
struct network_time { double search_s, finals_s, compare_s; int turns; };

/* Divides the limit.  Without a limit (0), search_s and finals_s are 0, which means no limit. */
struct network_time network_time_of(const struct network_costs *c);
/* Returns how many seconds measuring the networks before and after takes at the end. */
double network_time_end(const struct network_costs *c, int turns);
#endif
