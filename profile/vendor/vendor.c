/* The libraries: which operators they have, what they need, and their plugins. */
#include "profile/vendor/vendor.h"

#include "kernels/base/file.h"
#include "profile/vendor/vendor_impl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const plugin_file[] = {
#define VENDOR(id, name, title, plugin) plugin,
#include "profile/vendor/vendor.def"
#undef VENDOR
};
static const char *const title[] = {
#define VENDOR(id, name, title, plugin) title,
#include "profile/vendor/vendor.def"
#undef VENDOR
};
static const struct vendor_plugin *const built_in[VENDOR_COUNT] = {
    [VENDOR_CUBLAS] = &cublas_plugin, [VENDOR_CUDNN] = &cudnn_plugin,
};

bool vendor_on_gpu(enum vendor_library library)
{
    return built_in[library] != NULL;
}

/* Whether cuDNN can compute the problem: a convolution, perhaps with a bias, whose only
 * post-operation may be relu. */
static bool is_convolution(const struct vendor_problem *p)
{
    return (p->kind == VENDOR_CONV || p->kind == VENDOR_TCONV)
        && (p->n_posts == 0 || (p->n_posts == 1 && p->post[0].tensor < 0
                                && p->post[0].function == UNARY_RELU));
}

bool vendor_offers(enum vendor_library library, const struct vendor_problem *p, struct err *why)
{
    bool only_product = p->kind == VENDOR_MATMUL && p->n_posts == 0 && p->n_tensors == 3;
    bool products = library == VENDOR_OPENBLAS || library == VENDOR_CUBLAS;
    if (p->type != TYPE_ROW_f32 && !vendor_on_gpu(library))
        return err_set(why, ERR_NAME, "%s is timed only for %s, and the tensors here are %s",
                       title[library], type_f32.title, type_get(p->type)->title);
    if (library == VENDOR_CUDNN ? is_convolution(p) : !products || only_product)
        return true;
    if (products && p->kind == VENDOR_MATMUL)
        return err_set(why, ERR_NAME, "%s multiplies matrices without post-operations (%s)",
                       title[library], p->text);
    return err_set(why, ERR_NAME, "%s has no operator for %s", title[library], p->text);
}

/* bytes for the library, its code for this operator, and scratch memory */
#define CODE_BYTES ((int64_t)768 << 20)
#define THREAD_BYTES ((int64_t)96 << 20)  /* bytes for the stack and buffers of each thread */
#define COPIES 5  /* most copies of the data, in the padded layouts of two candidates */

int64_t vendor_bytes(const struct vendor_problem *p, int threads)
{
    int64_t bytes = CODE_BYTES + threads * THREAD_BYTES;
    for (int i = 0; i < p->n_tensors; i++)
        bytes += COPIES * type_get(p->type)->bytes * p->tensor[i].elems;
    return bytes;
}

bool vendor_parse(const char *text, unsigned *bits, struct err *e)
{
    unsigned set = 0;
    for (const char *p = text;; p++) {
        char word[32];
        size_t n = strcspn(p, ",");
        snprintf(word, sizeof word, "%.*s", (int)n, p);
        unsigned bit = streq(word, "all") ? VENDOR_ALL : 0;
        for (int i = 0; i < VENDOR_COUNT; i++)
            bit |= streq(word, vendor_name[i]) ? 1u << i : 0;
        if (!bit && !streq(word, "none")) {
            const char *near = str_nearest(word, vendor_name, VENDOR_COUNT);
            struct str all = {0};
            for (int i = 0; i < VENDOR_COUNT; i++)
                str_printf(&all, "%s, ", vendor_name[i]);
            err_set(e, ERR_NAME, "no baseline named '%s'", word);
            err_fix(e, near ? "--baselines %s" : "any of %sor all, or none",
                    near ? near : str_text(&all));
            str_free(&all);
            return false;
        }
        set |= bit;
        p += n;
        if (!*p)
            break;
    }
    *bits = set;
    return true;
}

bool vendor_find(const char *runner, enum vendor_library library, char *path, size_t n,
                 struct err *e)
{
    const char *file = plugin_file[library];
    char folder[400] = "";
    if (built_in[library]) {
        snprintf(path, n, "%s", vendor_name[library]);
        return true;
    }
    if (!runner)
        file_self(folder, sizeof folder);
    else if (strlen(runner) < sizeof folder)
        strcpy(folder, runner);
    for (int up = 0; up < 2; up++) {           /* tests run from a separate folder */
        char *slash = strrchr(folder, '/');
        if (!slash)
            break;
        *slash = '\0';
        snprintf(path, n, "%s/%s", folder, file);
        if (file_exists(path))
            return true;
    }
    err_set(e, ERR_ENV, "%s was not built, because its library was missing", file);
    return err_fix(e, "apt-get install libdnnl-dev libopenblas-dev, then make");
}

bool vendor_load(const char *path, const struct vendor_plugin **out, struct err *e)
{
    for (int i = 0; i < VENDOR_COUNT; i++)
        if (built_in[i] && streq(path, vendor_name[i])) {
            *out = built_in[i];
            return true;
        }
    void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!h)
        return err_set(e, ERR_ENV, "the plugin cannot be loaded: %.400s", dlerror());
    const struct vendor_plugin *p = dlsym(h, VENDOR_PLUGIN_SYMBOL);
    if (p && p->abi == VENDOR_PLUGIN_ABI && p->problem_bytes == sizeof(struct vendor_problem)) {
        *out = p;
        return true;
    }
    dlclose(h);
    return err_set(e, ERR_ENV, "%.400s belongs to another version of tilescope", path);
}
