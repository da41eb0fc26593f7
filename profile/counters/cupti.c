#include "profile/counters/cupti.h"

#include "kernels/base/arena.h"
#include "profile/cuda/library.h"

bool cupti_open(struct cupti *c, struct err *e)
{
    static const struct cuda_library library = {
        .what = "CUPTI", .variable = "TILESCOPE_CUPTI",
        .fix = "install the CUDA toolkit, 13 or later",
        .names = { "libcupti.so.13", "libcupti.so" },
    };
    const struct cuda_symbol symbol[] = {
#define FN(member, name, parameter) { #name, &c->member },
#include "profile/counters/cupti.def"
        { "cuptiGetVersion", &c->version }, { "cuptiGetResultString", &c->result_text },
        { "cuptiActivityRegisterCallbacks", &c->activity_callbacks },
        { "cuptiActivityEnable", &c->activity_enable },
        { "cuptiActivityDisable", &c->activity_disable },
        { "cuptiActivityFlushAll", &c->activity_flush },
        { "cuptiActivityGetNextRecord", &c->activity_next },
    };
    return cuda_library_open(&library, symbol, COUNT_OF(symbol), e);
}

bool cupti_ok(const struct cupti *c, int result, const char *call, struct err *e)
{
    const char *text = NULL;
    if (result == 0)
        return true;
    if (c->result_text(result, &text) != 0 || !text)
        return err_set(e, ERR_ENV, "%s: CUPTI's error %d, which has no name", call, result);
    err_set(e, ERR_ENV, "%s: %.80s", call, text);
    if (result == CUPTI_NO_PRIVILEGE)
        err_fix(e, "run as root, or load the driver with NVreg_RestrictProfilingToAdminUsers=0");
    return false;
}
