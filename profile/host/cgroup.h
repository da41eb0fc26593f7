/* The limits that control groups (version 2 or 1) set for this process.  All enclosing groups
 * count: a group that says "max" may lie inside a limited group. */
#ifndef TS_PROFILE_CGROUP_H
#define TS_PROFILE_CGROUP_H
#include <stdint.h>

struct cgroup_limits {
    int cpus;                            /* limit of CPU time, in CPUs; 0 = no limit */
    int64_t memory_bytes;                /* limit of memory; 0 = no limit */
    /* Memory that the limits still leave; cached files count as unused.  At least 1 where there is
     * a limit; 0 = no limit. */
    int64_t memory_left;
};
struct cgroup_limits cgroup_limits(void);
/* Like cgroup_limits, for tests: `list` replaces the file /proc/self/cgroup, and `mount` replaces
 * the folder /sys/fs/cgroup. */
struct cgroup_limits cgroup_limits_in(const char *list, const char *mount);
#endif
