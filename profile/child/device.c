#include "profile/child/device.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/subprocess.h"
#include "profile/child/child.h"

#define LIMIT_S 30.0                      /* the first use of a driver can take seconds */

/* Reads what the process printed. If the process failed, sets the error to the reason. */
static bool read_answer(const struct subprocess_result *res, double limit_s,
                        struct cuda_info *out, struct err *e)
{
    const char *said = str_text(&res->out);
    if (res->timed_out)
        return err_set(e, ERR_ENV, "the CUDA driver did not answer within %.3g s", limit_s);
    if (res->signal)
        return err_set(e, ERR_ENV, "the CUDA driver crashed (signal %d) when it was asked for its"
                       " device", res->signal);
    if (res->exit_code == 0)
        return cuda_info_read(said, out, e);
    return err_set(e, ERR_ENV, "%.*s", (int)strcspn(said, "\n"),
                   said[0] && said[0] != '\n' ? said : "the CUDA driver ended its process");
}

bool device_ask(const char *runner, double limit_s, struct cuda_info *out, struct err *e)
{
    char path[600];
    struct subprocess_result res = {0};
    if (!child_find_runner(runner, path, sizeof path, e))
        return false;
    const char *const argv[] = { path, "--describe-device", NULL };
    bool ok = subprocess_run(argv, limit_s, NULL, &res, e) && read_answer(&res, limit_s, out, e);
    str_free(&res.out);
    return ok;
}

/* The last answer of device_ask. of: the value of $TILESCOPE_CUDA at that call. */
static struct { bool asked, ok; char of[512]; struct cuda_info info; struct err why; } known;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool device_this(const char *runner, struct cuda_info *out, struct err *e)
{
    const char *of = getenv("TILESCOPE_CUDA");
    pthread_mutex_lock(&lock);
    if (!known.asked || strcmp(known.of, of ? of : "") != 0) {
        known.asked = true;
        snprintf(known.of, sizeof known.of, "%s", of ? of : "");
        known.ok = device_ask(runner, LIMIT_S, &known.info, &known.why);
    }
    bool ok = known.ok;
    *out = known.info;
    if (!ok)
        *e = known.why;
    pthread_mutex_unlock(&lock);
    return ok;
}
