#include "profile/child/runner.h"

bool runner_open(const struct runner_kind *kind, const struct runner_opts *o, struct runner **out,
                 struct err *e)
{
    return kind->open(o, out, e);
}

void runner_close(struct runner *r)
{
    if (r)
        r->kind->close(r);
}

bool runner_renew(struct runner **r, const struct runner_opts *o, struct err *e)
{
    const struct runner_kind *kind = (*r)->kind;
    if (kind->renew)
        return kind->renew(*r, o, e);
    kind->close(*r);
    *r = NULL;
    return kind->open(o, r, e);
}

int64_t runner_bytes(const struct runner *r)
{
    return r->kind->bytes(r);
}

void *runner_data(struct runner *r, int buffer)
{
    return r->kind->data(r, buffer);
}

static bool cannot(const struct runner *r, const char *what, struct err *e)
{
    return err_set(e, ERR_ENV, "the runner \"%s\" cannot %s", r->kind->name, what);
}

bool runner_load(struct runner *r, enum slot slot, const char *so_path, const char *entry,
                 struct err *e)
{
    return slot == SLOT_TRACE && !r->kind->simulate ? cannot(r, "simulate", e)
                                                    : r->kind->load(r, slot, so_path, entry, e);
}

bool runner_load_ceiling(struct runner *r, const char *so_path, struct err *e)
{
    return r->kind->load_ceiling ? r->kind->load_ceiling(r, so_path, e)
                                 : cannot(r, "sample the FMA ceiling", e);
}

bool runner_load_vendor(struct runner *r, int contender, const char *plugin,
                        enum vendor_library library, const struct vendor_problem *problem,
                        struct vendor_choice *out, struct err *e)
{
    return r->kind->load_vendor
         ? r->kind->load_vendor(r, contender, plugin, library, problem, out, e)
         : cannot(r, "load a vendor library", e);
}

bool runner_run(struct runner *r, int contender, double *seconds, struct err *e)
{
    return r->kind->run(r, contender, seconds, e);
}

bool runner_time(struct runner *r, const struct sampled *what, struct samples *out, struct err *e)
{
    return r->kind->time ? r->kind->time(r, what, out, e) : cannot(r, "time a kernel", e);
}

bool runner_count(struct runner *r, int meter, const struct event *event, int n,
                  struct counts *out, double *seconds, struct err *e)
{
    return r->kind->count ? r->kind->count(r, meter, event, n, out, seconds, e)
                          : cannot(r, "count events", e);
}

bool runner_simulate(struct runner *r, const struct simulated *what, struct simulation *out,
                     struct err *e)
{
    return r->kind->simulate ? r->kind->simulate(r, what, out, e) : cannot(r, "simulate", e);
}
