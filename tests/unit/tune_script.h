/* A made-up search to look at: trials of a few layouts whose latencies fall, with failures.  All
 * of it follows from the seed; latencies are multiples of a microsecond. */
#ifndef TS_TESTS_TUNE_SCRIPT_H
#define TS_TESTS_TUNE_SCRIPT_H
#include "explorer/tune/view.h"
#include "kernels/base/vec.h"

enum { SCRIPT_ARMS = 9 };

struct tune_script {
    struct tune_view view;               /* as after so many trials */
    struct arena *mem;
    struct tune_arm arm[SCRIPT_ARMS];
    VEC(const struct tune_candidate *) trial;
};
/* n trials of a budget; the joint stage ends at three tenths of it. */
struct tune_script *script_new(uint64_t seed, int n, int budget);
void script_free(struct tune_script *s);
#endif
