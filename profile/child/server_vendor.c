/* COMMAND_LOAD_VENDOR: a contender that is a primitive of a vendor library. */
#include "profile/child/server_impl.h"

#include "kernels/base/subprocess.h"

#include <stdio.h>

/* Loads a vendor primitive.  The plugin keeps the addresses of its buffers, which therefore stay at
 * the start of their pages. */
bool server_load_vendor(struct server *r, const struct request *q, struct err *e)
{
    const struct vendor_plugin *plugin = NULL;
    char why[400] = "no reason given";
    if (q->slot >= (uint32_t)r->shared->n_contenders
        || r->shared->contender[q->slot].n != q->problem.n_tensors)
        return err_set(e, ERR_BUG, "contender %u does not have one buffer for each tensor of the "
                       "problem", q->slot);
    int i = (int)q->slot;
    /* loads the plugin while all CPUs are allowed, so that its OpenMP library counts all of them;
     * vendor_load below reports errors */
    (void)server_open_library(r, q->path);
    if (!vendor_load(q->path, &plugin, e) || !server_place(r, i, false, e))
        return false;
    r->problem[i] = q->problem;
    struct vendor_handle *h = plugin->open(&r->problem[i], (enum vendor_library)q->library,
                                           r->shared->threads, server_buffers(r, i), why,
                                           sizeof why);
    if (!h)
        return err_set(e, ERR_ENV, "%.399s", why);
    r->plugin[i] = plugin;
    r->vendor[i] = h;
    snprintf(r->reply.text, sizeof r->reply.text, "%s", plugin->implementation(h));
    snprintf(r->reply.layout, sizeof r->reply.layout, "%s", plugin->layout(h));
    return true;
}

bool server_check_vendor(struct server *r, int i, struct err *e)
{
    const struct vendor_plugin *plugin = r->plugin[i];
    double start = clock_s();
    if (r->device && !server_device_run(r, i, 1, &r->reply.seconds, e))
        return false;
    bool ok = r->device || plugin->run(r->vendor[i]);
    if (!r->device)
        r->reply.seconds = clock_s() - start;
    if (!ok || !plugin->output(r->vendor[i]))
        return err_set(e, ERR_ENV, "the library's primitive failed");
    return true;
}
