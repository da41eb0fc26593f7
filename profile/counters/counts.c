#include "profile/counters/counts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *const meter_name[METER_COUNT] = {
#define METER(id, name, on, what) [METER_ID_##id] = name,
#include "profile/counters/meters.def"
};

bool counts_get(const struct counts *c, const char *name, double *value)
{
    for (int i = 0; i < c->n; i++)
        if (strcmp(c->count[i].name, name) == 0) {
            *value = c->count[i].value;
            return true;
        }
    return false;
}

bool counts_add(struct counts *c, const char *name, double value)
{
    if (c->n == COUNTS_MAX)
        return false;
    struct count *to = &c->count[c->n++];
    *to = (struct count){ .value = value };
    snprintf(to->name, sizeof to->name, "%s", name);
    return true;
}

void counts_refuse(struct counts *c, const char *fmt, ...)
{
    va_list ap;
    *c = (struct counts){ .n = 0 };
    va_start(ap, fmt);
    vsnprintf(c->reason, sizeof c->reason, fmt, ap);
    va_end(ap);
}
