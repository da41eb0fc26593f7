#include "profile/sim/gpu_device.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/arena.h"

static const struct { struct gpu_device device; const char *marketing; } row[] = {
#define GPU(name, marketing, sms, l1, shared, l2, fmas, tensor_fmas, mhz, l2_rate, dram) \
    { { name, sms, l1, shared, l2, fmas, tensor_fmas, mhz, l2_rate, dram, 128, 32, 32, 4, 64, \
        16 }, marketing },
#include "profile/sim/gpu.def"
};

/* The fields that a text can set, each with its bounds. */
static const struct { const char *name; size_t at; int64_t lo, hi; } field[] = {
#define FIELD(name, lo, hi) { #name, offsetof(struct gpu_device, name), lo, hi }
    FIELD(sms, 1, 1024), FIELD(l1, 1, 1 << 20), FIELD(shared, 0, 1 << 20), FIELD(l2, 1, 1 << 24),
    FIELD(fmas, 1, 1 << 20), FIELD(tensor_fmas, 1, 1 << 20), FIELD(mhz, 1, 100000),
    FIELD(l2_rate, 1, 1 << 24), FIELD(dram, 1, 1 << 24), FIELD(line, 32, 4096),
    FIELD(sector, 8, 4096), FIELD(banks, 1, 64),
    FIELD(bank, 1, 64), FIELD(l1_ways, 1, 4096), FIELD(l2_ways, 1, 4096),
};

const struct gpu_device *gpu_device_default(void)
{
    return &row[0].device;
}

bool gpu_device_find(const char *marketing, struct gpu_device *out)
{
    for (int i = 0; i < COUNT_OF(row); i++)
        if (strstr(marketing, row[i].marketing)) {
            *out = row[i].device;
            return true;
        }
    return false;
}

static bool take_name(const char *text, struct gpu_device *d, struct err *e)
{
    const char *name[COUNT_OF(row)];
    size_t n = strcspn(text, ",");
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)(n < 63 ? n : 63), text);
    for (int i = 0; i < COUNT_OF(row); i++) {
        name[i] = row[i].device.name;
        if (strcaseeq(name[i], word)) {
            *d = row[i].device;
            return true;
        }
    }
    const char *near = str_nearest(word, name, COUNT_OF(row));
    err_set(e, ERR_NAME, "no GPU named '%s' is known", word);
    return err_fix(e, "%s", near ? near : "h100, h100-pcie, h200 or a100; fields: h100,sms=114");
}

static bool take_field(const char *text, struct gpu_device *d, struct err *e)
{
    size_t n = strcspn(text, "=,");
    for (int i = 0; i < COUNT_OF(field); i++) {
        char *end;
        if (strlen(field[i].name) != n || strncmp(field[i].name, text, n) != 0 || text[n] != '=')
            continue;
        int64_t v = strtoll(text + n + 1, &end, 10);
        if (end == text + n + 1 || (*end && *end != ',') || v < field[i].lo || v > field[i].hi)
            return err_set(e, ERR_RANGE, "%s of a GPU is a number from %lld to %lld", field[i].name,
                           (long long)field[i].lo, (long long)field[i].hi);
        memcpy((char *)d + field[i].at, &v, sizeof v);
        return true;
    }
    err_set(e, ERR_SYNTAX, "a GPU has no field '%.40s'", text);
    return err_fix(e, "sms= l1= shared= l2= (KiB) fmas= tensor_fmas= mhz= l2_rate= dram= line="
                      " sector= banks= bank= l1_ways= l2_ways=");
}

static bool check(const struct gpu_device *d, struct err *e)
{
    if ((d->line & (d->line - 1)) || (d->sector & (d->sector - 1)) || d->line < d->sector
        || d->line > 4 * d->sector)
        return err_set(e, ERR_RANGE, "a line of %lld bytes is not 1, 2 or 4 sectors of %lld bytes",
                       (long long)d->line, (long long)d->sector);
    if (d->l1 * 1024 < d->l1_ways * d->line || d->l2 * 1024 < d->l2_ways * d->line)
        return err_set(e, ERR_RANGE, "a cache of this GPU is too small: it needs at least one line "
                       "for each way");
    return true;
}

bool gpu_device_parse(const char *text, struct gpu_device *out, struct err *e)
{
    struct gpu_device d;
    if (strlen(text) >= sizeof d.name)
        return err_set(e, ERR_SYNTAX, "\"%.40s...\" is too long for a GPU", text);
    if (!take_name(text, &d, e))
        return false;
    for (const char *at = strchr(text, ','); at; at = strchr(at + 1, ','))
        if (!take_field(at + 1, &d, e))
            return false;
    snprintf(d.name, sizeof d.name, "%s", text);
    if (!check(&d, e))
        return false;
    *out = d;
    return true;
}
