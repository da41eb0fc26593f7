/* What the control groups grant to this process, of version 2 or 1, and everything above them: a
 * group inside a limited one says "max" and has less. */
#ifndef TS_PROFILE_CGROUP_H
#define TS_PROFILE_CGROUP_H
#include <stdint.h>

struct cgroup_limits {
    int cpus;                            /* CPUs' worth of time; 0 = no limit */
    int64_t memory_bytes;                /* 0 = no limit */
    /* Of that, what nobody in the group uses; files that were read count as unused.  At least 1
     * where there is a limit. */
    int64_t memory_left;
};
struct cgroup_limits cgroup_limits(void);
/* The same from another /proc/self/cgroup and /sys/fs/cgroup. */
struct cgroup_limits cgroup_limits_in(const char *list, const char *mount);
#endif
