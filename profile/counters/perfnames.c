/* The names of perf events, as they appear in event sets and in results. */
#include "profile/counters/perfevent.h"

#include "kernels/base/arena.h"
#include "kernels/base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct { const char *name; struct perf_name is; } plain[] = {
#define PERF_NAME(name, type, config, always, what) { name, { PERF_##type, config, always } },
#include "profile/counters/perf_event.def"
};

/* config = cache | access << 8 | outcome << 16. The names stand in the order of their numbers in
 * perf_event_open(2). */
static const char *const cache_name[] = { "l1d", "l1i", "llc", "dtlb", "itlb", "bpu", "node" };
static const struct { const char *all, *missed; } access_name[] = {
    { "loads", "load_misses" }, { "stores", "store_misses" }, { "prefetches", "prefetch_misses" },
};

enum { N_ACCESS = 2 * COUNT_OF(access_name), N_CACHE = COUNT_OF(cache_name) * N_ACCESS };

static struct perf_name cache_event(int i)
{
    uint64_t cache = (uint64_t)(i / N_ACCESS), way = (uint64_t)(i % N_ACCESS);
    return (struct perf_name){ PERF_CACHE, cache | way / 2 << 8 | way % 2 << 16, false };
}

bool perf_name_at(int i, char out[PERF_NAME_BYTES])
{
    int cache = i - COUNT_OF(plain), way = cache % N_ACCESS;
    if (i < 0 || cache >= N_CACHE)
        return false;
    if (cache < 0)
        snprintf(out, PERF_NAME_BYTES, "%s", plain[i].name);
    else
        snprintf(out, PERF_NAME_BYTES, "%s_%s", cache_name[cache / N_ACCESS],
                 way % 2 ? access_name[way / 2].missed : access_name[way / 2].all);
    return true;
}

static bool find_raw(const char *text, struct perf_name *out)
{
    char *end;
    if (!str_starts(text, "raw:0x") || !text[6] || text[6] == '-' || text[6] == '+')
        return false;
    errno = 0;
    unsigned long long config = strtoull(text + 6, &end, 16);
    if (*end || errno)
        return false;
    *out = (struct perf_name){ PERF_RAW, config, false };
    return true;
}

bool perf_find(const char *text, struct perf_name *out)
{
    char name[PERF_NAME_BYTES];
    for (int i = 0; perf_name_at(i, name); i++)
        if (streq(name, text)) {
            *out = i < COUNT_OF(plain) ? plain[i].is : cache_event(i - COUNT_OF(plain));
            return true;
        }
    return find_raw(text, out);
}
