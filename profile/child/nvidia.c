#include "profile/child/nvidia.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "kernels/base/subprocess.h"
#include "profile/build/nvrtc.h"
#include "profile/child/child.h"
#include "profile/counters/cupti.h"
#include "profile/cuda/driver.h"
#include "profile/cuda/library.h"
#include "profile/vendor/gpu_vendor.h"

#define MOST_DEVICES 16                   /* most devices that are listed */

static const struct { const char *name, *what; } row[NVIDIA_COUNT] = {
#define NVIDIA(id, name, what) { name, what },
#include "profile/child/nvidia.def"
};

/* --- In the child ----------------------------------------------------------------------------- */

static void add_device(const struct cuda_driver *d, int i, struct str *out)
{
    char name[100] = "a device without a name";
    CUdevice device;
    int major = 0, minor = 0, sms = 0;
    size_t bytes = 0;
    if (d->cuDeviceGet(&device, i) != 0)
        return;
    d->cuDeviceGetName(name, sizeof name, device);
    d->cuDeviceGetAttribute(&major, CUDA_ATTRIBUTE_MAJOR, device);
    d->cuDeviceGetAttribute(&minor, CUDA_ATTRIBUTE_MINOR, device);
    d->cuDeviceGetAttribute(&sms, CUDA_ATTRIBUTE_MULTIPROCESSORS, device);
    d->cuDeviceTotalMem_v2(&bytes, device);
    name[sizeof name - 1] = '\0';
    str_printf(out, "%s%s, sm_%d%d, %d multiprocessors, %.0f GiB", i ? "; " : "", name, major,
               minor, sms, (double)bytes / (1 << 30));
}

static bool ask_driver(struct nvidia_info *out, struct err *e)
{
    struct cuda_driver d;
    const void *function;
    struct str devices = {0};
    int version = 0, n = 0;
    if (!cuda_driver_open(&d, e))
        return false;
    memcpy(&function, &d.cuLaunchKernel, sizeof function);
    cuda_library_file(function, out->path, sizeof out->path);
    if (!cuda_ok(&d, d.cuDriverGetVersion(&version), "cuDriverGetVersion", e)
        || !cuda_ok(&d, d.cuDeviceGetCount(&n), "cuDeviceGetCount", e))
        return false;
    snprintf(out->version, sizeof out->version, "%d.%d", version / 1000, version % 1000 / 10);
    if (n < 1)
        return err_set(e, ERR_ENV, "there is a driver, but no GPU");
    for (int i = 0; i < n && i < MOST_DEVICES; i++)
        add_device(&d, i, &devices);
    snprintf(out->detail, sizeof out->detail, "%s", str_text(&devices));
    str_free(&devices);
    return true;
}

static bool ask_cupti(struct nvidia_info *out, struct err *e)
{
    struct cupti c;
    const void *function;
    uint32_t version = 0;
    if (!cupti_open(&c, e) || !cupti_ok(&c, c.version(&version), "cuptiGetVersion", e))
        return false;
    memcpy(&function, &c.version, sizeof function);
    cuda_library_file(function, out->path, sizeof out->path);
    snprintf(out->version, sizeof out->version, "%u.%u", version / 10000, version / 100 % 100);
    return true;
}

static bool ask_version(bool (*there)(char *, size_t, const void **, struct err *),
                        struct nvidia_info *out, struct err *e)
{
    const void *function;
    if (!there(out->version, sizeof out->version, &function, e))
        return false;
    cuda_library_file(function, out->path, sizeof out->path);
    return true;
}

static bool ask(enum nvidia_part part, struct nvidia_info *out, struct err *e)
{
    switch (part) {
    case NVIDIA_DRIVER: return ask_driver(out, e);
    case NVIDIA_NVRTC: return ask_version(nvrtc_find, out, e);
    case NVIDIA_CUPTI: return ask_cupti(out, e);
    case NVIDIA_CUBLAS: return ask_version(cublas_there, out, e);
    case NVIDIA_CUDNN: return ask_version(cudnn_there, out, e);
    case NVIDIA_COUNT: break;
    }
    return false;
}

/* Prints one text per line: whether the part is available, version, path, detail, reason, fix.  A
 * library may print lines of its own before these. */
int nvidia_answer(int argc, char **argv)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 0; argc > 0 && i < NVIDIA_COUNT; i++) {
        struct nvidia_info x = { .name = row[i].name };
        struct err e = { .code = ERR_NONE };
        if (!streq(argv[0], row[i].name))
            continue;
        bool ok = ask((enum nvidia_part)i, &x, &e);
        printf("\nnvidia %s\n%s\n%s\n%s\n%s\n%s\n", ok ? "yes" : "no", x.version, x.path, x.detail,
               e.text, e.fix);
        return fflush(stdout) == 0 ? 0 : 1;
    }
    fprintf(stderr, "tilescope-runner --nvidia: there is no such part\n");
    return 2;
}

/* --- In the parent ---------------------------------------------------------------------------- */

/* Reads a line without its unprintable characters, and advances *at past the line. */
static bool take(const char **at, char *out, size_t size)
{
    size_t n = strcspn(*at, "\n"), len = 0;
    if ((*at)[n] != '\n')
        return false;
    for (size_t i = 0; i < n && len + 1 < size; i++)
        if ((unsigned char)(*at)[i] >= ' ' && (unsigned char)(*at)[i] < 127)
            out[len++] = (*at)[i];
    out[len] = '\0';
    *at += n + 1;
    return true;
}

static bool read_answer(const char *text, struct nvidia_info *out)
{
    char there[8];
    const char *at = strstr(text, "\nnvidia ");
    if (!at)
        return false;
    at += strlen("\nnvidia ");
    bool ok = take(&at, there, sizeof there) && take(&at, out->version, sizeof out->version)
           && take(&at, out->path, sizeof out->path) && take(&at, out->detail, sizeof out->detail)
           && take(&at, out->reason, sizeof out->reason) && take(&at, out->fix, sizeof out->fix);
    out->available = ok && streq(there, "yes");
    return ok && (out->available || out->reason[0]);
}

/* Sets the reason why the process gave no answer. */
static void give_up(const struct subprocess_result *r, double limit_s, struct nvidia_info *out)
{
    *out = (struct nvidia_info){ .name = out->name, .what = out->what };
    if (r->timed_out)
        snprintf(out->reason, sizeof out->reason, "it did not answer within %.3g s", limit_s);
    else if (r->signal)
        snprintf(out->reason, sizeof out->reason, "it crashed when it was asked: %s",
                 strsignal(r->signal));
    else
        snprintf(out->reason, sizeof out->reason, "it ended the process that asked it (code %d)",
                 r->exit_code);
    snprintf(out->fix, sizeof out->fix, "check it with nvidia-smi, or install it again");
}

void nvidia_ask(enum nvidia_part part, double limit_s, struct nvidia_info *out)
{
    char runner[600];
    const char *argv[] = { runner, "--nvidia", row[part].name, NULL };
    struct subprocess_result r = { .exit_code = -1 };
    struct err e;
    *out = (struct nvidia_info){ .name = row[part].name, .what = row[part].what };
    if (!child_find_runner(NULL, runner, sizeof runner, &e)
        || !subprocess_run(argv, limit_s, NULL, &r, &e)) {
        snprintf(out->reason, sizeof out->reason, "%.399s", e.text);
        snprintf(out->fix, sizeof out->fix, "%.255s", e.fix);
        return;
    }
    if (r.exit_code != 0 || !read_answer(str_text(&r.out), out))
        give_up(&r, limit_s, out);
    str_free(&r.out);
}
