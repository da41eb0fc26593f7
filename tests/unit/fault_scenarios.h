/* The scenarios of test_faults.c, which run while system calls fail. */
#ifndef TS_TESTS_FAULT_SCENARIOS_H
#define TS_TESTS_FAULT_SCENARIOS_H
#include "kernels/base/err.h"
#include "kernels/base/str.h"

/* One scenario.  The function run is called with faults, the others without.  run appends what it
 * found out, or fails.  sound fails the test unless what run left is right; ok: its result. */
struct scenario {
    const char *name;
    void (*before)(void);
    bool (*run)(struct str *out, struct err *e);
    void (*sound)(bool ok);
    int most;                             /* of how many calls of a function one may fail */
    /* How many calls of a function there are depends on the machine, or on the time. */
    bool varies;
    bool renames_many;  /* sound is not asked when a rename fails behind others: they stay */
};

/* in: the folder in which all of this happens. */
void fault_scenarios_begin(const char *in);
/* Returns the scenarios, and sets *n to their number; the last one needs valgrind. */
const struct scenario *fault_scenarios(int *n);
void fault_scenarios_end(void);
#endif
