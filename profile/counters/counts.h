/* What a meter counted for one call of the kernel, or why it could not count.  Every meter except
 * the clock and the simulator returns this. */
#ifndef TS_PROFILE_COUNTS_H
#define TS_PROFILE_COUNTS_H
#include <stdbool.h>
#include <stddef.h>

enum meter_id {
#define METER(id, name, on, what) METER_ID_##id,
#include "profile/counters/meters.def"
    METER_COUNT
};
enum meter_mask {
#define METER(id, name, on, what) METER_##id = 1 << METER_ID_##id,
#include "profile/counters/meters.def"
};
extern const char *const meter_name[METER_COUNT];          /* the words of the option --meters */

#define COUNTS_MAX 32

/* scaled: the counter was multiplexed, so its value is extrapolated from the share `running` of
 * the time (0 = unknown). derived: a formula of the event set computed the value from other counts.
 * unit: "" for plain counts. */
struct count { char name[40]; double value; char unit[12]; bool scaled, derived; double running; };

struct counts {
    bool available;
    char reason[256];  /* why nothing was counted, and the fix; "" when available */
    /* requested events that were not counted, with the reason: "llc_loads: why" */
    char missing[256];
    char source[128];                    /* how it was counted: "event set l1, 2 threads" */
    int n;
    struct count count[COUNTS_MAX];
};

/* Stores the value called `name`; false when it does not exist. */
bool counts_get(const struct counts *c, const char *name, double *value);
/* Adds a count; false when there is no room. */
bool counts_add(struct counts *c, const char *name, double value);
/* Clears *c and sets the reason why there are no counts. */
void counts_refuse(struct counts *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#endif
