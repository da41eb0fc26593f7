/* What a vendor plugin offers: a shared object that links one library, so that tilescope-runner
 * stays small and runs without it.  It exports one table. */
#ifndef TS_PROFILE_PLUGIN_H
#define TS_PROFILE_PLUGIN_H
#include "profile/vendor/vendor.h"

#define VENDOR_PLUGIN_ABI 1
#define VENDOR_PLUGIN_SYMBOL "tilescope_vendor_plugin"

struct vendor_handle;
struct vendor_plugin {
    uint32_t abi, problem_bytes;          /* VENDOR_PLUGIN_ABI; sizeof(struct vendor_problem) */
    /* buffers[i]: the data of problem->tensor[i] in row-major order; they must outlive the handle.
     * Copies inputs into the library's layouts, creates the primitive and warms it up; where there
     * are several layouts to choose from, times each briefly and keeps the fastest.  NULL with a
     * sentence in why. */
    struct vendor_handle *(*open)(const struct vendor_problem *p, enum vendor_library library,
                                  int threads, float *const *buffers, char *why, size_t why_bytes);
    /* One execution; allocates nothing.  On the thread that called open. */
    bool (*run)(struct vendor_handle *h);
    /* Writes the result of a run into the row-major buffer of the output; runs once more where a
     * run accumulates into the result. */
    bool (*output)(struct vendor_handle *h);
    /* "oneDNN 2.6.3 brgconv:avx512_core"; "nhwc".  Valid until close. */
    const char *(*implementation)(const struct vendor_handle *h);
    const char *(*layout)(const struct vendor_handle *h);
    void (*close)(struct vendor_handle *h);                          /* NULL is fine */
};
#endif
