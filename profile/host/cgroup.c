#include "profile/host/cgroup.h"

#include "kernels/base/arena.h"
#include "kernels/base/file.h"
#include "kernels/base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES 65536                  /* a longer file is not read */

static bool read_in(const char *dir, const char *file, struct str *out)
{
    struct str path = {0};
    struct err ignored;
    str_printf(&path, "%s/%s", dir, file);
    bool ok = file_read(str_text(&path), MOST_BYTES, out, &ignored);
    str_free(&path);
    return ok;
}

/* Returns the number in a file; 0: the file is missing or contains "max". */
static int64_t number_in(const char *dir, const char *file)
{
    struct str text = {0};
    int64_t n = read_in(dir, file, &text) ? (int64_t)atoll(str_text(&text)) : 0;
    str_free(&text);
    return n;
}

/* Returns the number of a "KEY NUMBER" line; 0: no such line. */
static int64_t field(const char *text, const char *key)
{
    const size_t n = strlen(key);
    for (const char *p = text; p; p = strchr(p, '\n')) {
        p += *p == '\n';
        if (strncmp(p, key, n) == 0 && p[n] == ' ')
            return (int64_t)atoll(p + n);
    }
    return 0;
}

static int64_t least(int64_t a, int64_t b)
{
    return a == 0 || (b > 0 && b < a) ? b : a;
}

/* Returns the bytes of cached files of a group and the groups below it.  In version 1 the names of
 * such sums begin with "total_". */
static int64_t cached_files(const char *dir)
{
    struct str stat = {0};
    int64_t bytes = 0;
    if (read_in(dir, "memory.stat", &stat)) {
        const char *t = str_text(&stat);
        bool below = strstr(t, "total_inactive_file") != NULL;
        bytes = field(t, below ? "total_inactive_file" : "inactive_file")
              + field(t, below ? "total_active_file" : "active_file");
    }
    str_free(&stat);
    return bytes;
}

static void take_memory(struct cgroup_limits *l, const char *dir)
{
    int64_t two = number_in(dir, "memory.max");
    int64_t limit = two > 0 ? two : number_in(dir, "memory.limit_in_bytes");
    if (limit <= 0 || limit >= INT64_MAX / 2)  /* version 1 uses a huge number for "no limit" */
        return;
    int64_t used = number_in(dir, two > 0 ? "memory.current" : "memory.usage_in_bytes");
    int64_t cached = cached_files(dir), held = used > cached ? used - cached : 0;
    l->memory_bytes = least(l->memory_bytes, limit);
    l->memory_left = least(l->memory_left, held < limit ? limit - held : 1);
}

static void take_cpus(struct cgroup_limits *l, const char *dir)
{
    struct str text = {0};
    double quota, period;
    if (!read_in(dir, "cpu.max", &text)
        || sscanf(str_text(&text), "%lf %lf", &quota, &period) != 2) {
        quota = (double)number_in(dir, "cpu.cfs_quota_us");
        period = (double)number_in(dir, "cpu.cfs_period_us");
    }
    str_free(&text);
    if (quota > 0 && period > 0)
        l->cpus = (int)least(l->cpus, (int64_t)((quota + period - 1) / period));
}

/* Calls `take` for a group and all groups above it. */
static void climb(struct cgroup_limits *l, const char *mount, const char *path,
                  void (*take)(struct cgroup_limits *l, const char *dir))
{
    struct str dir = {0};
    str_printf(&dir, "%s%s", mount, path);
    for (;;) {
        take(l, dir.data);
        char *slash = strrchr(dir.data + strlen(mount), '/');
        if (!slash)
            break;
        *slash = '\0';
    }
    str_free(&dir);
}

/* Whether `word` is in a list that is separated by commas. */
static bool lists(const char *list, const char *word)
{
    const size_t n = strlen(word);
    for (const char *p = list; p; p = strchr(p, ',')) {
        p += *p == ',';
        if (strncmp(p, word, n) == 0 && (p[n] == ',' || p[n] == '\0'))
            return true;
    }
    return false;
}

/* Takes the limits of the group in a line "ID:CONTROLLERS:PATH". A line without controllers names
 * the group of version 2, in which both limits are looked for. */
static void take_line(struct cgroup_limits *l, const char *mount, char *line)
{
    static const struct {
        const char *controller;
        void (*take)(struct cgroup_limits *l, const char *dir);
    } rows[] = { { "memory", take_memory }, { "cpu", take_cpus } };
    char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
    if (!path)
        return;
    *path++ = '\0';
    list++;
    for (int i = 0; i < COUNT_OF(rows); i++) {
        struct str at = {0};
        bool unified = *list == '\0';
        str_printf(&at, "%s%s%s", mount, unified ? "" : "/", unified ? "" : rows[i].controller);
        if (unified || lists(list, rows[i].controller))
            climb(l, str_text(&at), path, rows[i].take);
        str_free(&at);
    }
}

struct cgroup_limits cgroup_limits_in(const char *list, const char *mount)
{
    struct cgroup_limits l = {0};
    struct str text = {0};
    struct err ignored;
    char *save = NULL, *line = NULL;
    if (file_read(list, MOST_BYTES, &text, &ignored) && text.len > 0)
        line = strtok_r(text.data, "\n", &save);
    for (; line; line = strtok_r(NULL, "\n", &save))
        take_line(&l, mount, line);
    str_free(&text);
    return l;
}

struct cgroup_limits cgroup_limits(void)
{
    return cgroup_limits_in("/proc/self/cgroup", "/sys/fs/cgroup");
}
