#include "profile/host/machine.h"

#include "kernels/base/file.h"
#include "kernels/base/rng.h"
#include "kernels/gen/target.h"
#include "profile/host/cgroup.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* Reads the text of a small file without its last newline; false when that fails. */
static bool read_small(const char *path, struct str *out)
{
    struct err ignored;
    if (!file_read(path, 1 << 20, out, &ignored))
        return false;
    while (out->len > 0 && out->data[out->len - 1] == '\n')
        out->data[--out->len] = '\0';
    return true;
}

#define CPU_TEXT_BYTES 65536              /* more than the lines of one CPU in /proc/cpuinfo */

bool machine_cpu_text(const char *path, struct str *out)
{
    char text[CPU_TEXT_BYTES];
    size_t n = file_head(path, text, sizeof text);
    str_clear(out);
    str_add_n(out, text, n);
    return n > 0;
}

/* Stores the VALUE of the first line "KEY: VALUE" (/proc/meminfo) or "KEY\t: VALUE"
 * (/proc/cpuinfo); false when no line has this key. */
static bool find_field(const char *text, const char *key, char *out, size_t n)
{
    size_t key_len = strlen(key);
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        if (strncmp(line, key, key_len) != 0)
            continue;
        const char *p = line + key_len + strspn(line + key_len, " \t");
        if (*p++ != ':')
            continue;
        p += strspn(p, " \t");
        snprintf(out, n, "%.*s", (int)strcspn(p, "\n"), p);
        return true;
    }
    return false;
}

/* Reads the name of the CPU. On many Arm machines /proc/cpuinfo has only numbers. */
static void read_cpu_name(struct machine *m)
{
    struct str text = {0};
    char implementer[32], part[32];
    struct utsname u;
    bool known = machine_cpu_text("/proc/cpuinfo", &text)
              && (find_field(str_text(&text), "model name", m->cpu, sizeof m->cpu)
                  || find_field(str_text(&text), "Model", m->cpu, sizeof m->cpu));
    if (!known && find_field(str_text(&text), "CPU implementer", implementer, sizeof implementer)
        && find_field(str_text(&text), "CPU part", part, sizeof part))
        snprintf(m->cpu, sizeof m->cpu, "Arm implementer %s part %s", implementer, part);
    else if (!known)
        snprintf(m->cpu, sizeof m->cpu, "%.100s", uname(&u) == 0 ? u.machine : "unknown CPU");
    str_free(&text);
}

bool machine_cpu_vendor(char *out, size_t n)
{
    struct str text = {0};
    *out = '\0';
    bool ok = machine_cpu_text("/proc/cpuinfo", &text)
           && find_field(str_text(&text), "vendor_id", out, n);
    str_free(&text);
    return ok;
}

void machine_cpu_read(struct machine_cpu *cpu)
{
    struct str text = {0};
    char family[16], model[16];
    *cpu = (struct machine_cpu){0};
    if (machine_cpu_vendor(cpu->vendor, sizeof cpu->vendor)
        && machine_cpu_text("/proc/cpuinfo", &text)
        && find_field(str_text(&text), "cpu family", family, sizeof family)
        && find_field(str_text(&text), "model", model, sizeof model)) {
        cpu->family = atoi(family);
        cpu->model = atoi(model);
    }
    str_free(&text);
}

uint64_t machine_cpu_hash(void)
{
    struct str text = {0};
    uint64_t hash = 0;
    static const char *const field[] = { "model name", "flags", "CPU part", "Features" };
    if (machine_cpu_text("/proc/cpuinfo", &text))
        for (int i = 0; i < COUNT_OF(field); i++) {
            char value[8192];
            if (find_field(str_text(&text), field[i], value, sizeof value))
                hash = hash_bytes(value, strlen(value), hash + 1);
        }
    str_free(&text);
    return hash;
}

/* --- Caches ---------------------------------------------------------------------------------- */

static bool read_index(int index, const char *name, struct str *out)
{
    char path[128];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, name);
    return read_small(path, out);
}

/* Converts "32K" or "8M" to bytes; a number with another suffix or none is taken as bytes. 0: there
 * is no number, or it is too large. */
static int64_t size_bytes(const char *text)
{
    char *end;
    long long n = strtoll(text, &end, 10);
    int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : 0;
    return n > 0 && n < (1LL << 40) ? n << shift : 0;
}

/* Reads a cache of this level from sysfs. A cache with 0 ways in sysfs is fully associative. */
static void read_cache(struct machine *m, int index, int level)
{
    struct str text = {0};
    struct cache_geometry g = {0};
    struct err ignored;
    bool data = read_index(index, "type", &text) && !streq(str_text(&text), "Instruction");
    if (read_index(index, "size", &text))
        g.size_bytes = size_bytes(str_text(&text));
    if (read_index(index, "coherency_line_size", &text))
        g.line_bytes = atoi(str_text(&text));
    if (read_index(index, "ways_of_associativity", &text))
        g.ways = atoi(str_text(&text));
    if (g.ways == 0 && g.line_bytes > 0)
        g.ways = (int)(g.size_bytes / g.line_bytes);
    struct cache_geometry *to = level == 1 ? &m->l1d : level == 2 ? &m->l2 : &m->l3;
    if (data && level >= 1 && level <= 3 && cache_geometry_check(&g, &ignored))
        *to = g;
    str_free(&text);
}

/* Sets a cache that sysfs does not describe. sysconf returns 0 or -1 for unknown values, which
 * cache_geometry_check refuses. */
static void ask_sysconf(struct cache_geometry *g, int size, int ways, int line)
{
    struct cache_geometry c = { sysconf(size), (int)sysconf(ways), (int)sysconf(line) };
    struct err ignored;
    if (g->size_bytes == 0 && cache_geometry_check(&c, &ignored))
        *g = c;
}

static void read_caches(struct machine *m)
{
    struct str text = {0};
    for (int i = 0; i < 8 && read_index(i, "level", &text); i++)
        read_cache(m, i, atoi(str_text(&text)));
    str_free(&text);
#ifdef _SC_LEVEL1_DCACHE_SIZE
    ask_sysconf(&m->l1d, _SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL1_DCACHE_ASSOC,
                _SC_LEVEL1_DCACHE_LINESIZE);
    ask_sysconf(&m->l2, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL2_CACHE_ASSOC, _SC_LEVEL2_CACHE_LINESIZE);
    ask_sysconf(&m->l3, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL3_CACHE_ASSOC, _SC_LEVEL3_CACHE_LINESIZE);
#endif
    m->l1d_assumed = m->l1d.size_bytes == 0;
    if (m->l1d_assumed)
        m->l1d = (struct cache_geometry){ 32 << 10, 8, 64 };
}


/* Returns the number of CPUs that this process may use. granted: limit of its cgroups in CPUs; 0 =
 * no limit. */
static int usable_cores(int granted)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                        : (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (granted > 0 && granted < n)
        n = granted;
    return n > 0 ? n : 1;
}

/* Returns how many CPUs share the core of CPU 0; sysfs lists them as "0-1" or "0,64". */
static int read_core_threads(void)
{
    struct str text = {0};
    int n = 0, first, last;
    read_small("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", &text);
    for (const char *at = str_text(&text); sscanf(at, "%d", &first) == 1;) {
        n += sscanf(at, "%d-%d", &first, &last) == 2 ? last - first + 1 : 1;
        at += strcspn(at, ",");
        at += *at == ',';
    }
    str_free(&text);
    return n > 0 ? n : 1;
}

static int64_t usable_memory(int64_t limit)
{
    int64_t bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    return limit > 0 && limit < bytes ? limit : bytes;
}

int64_t machine_memory_available(void)
{
    struct str text = {0};
    char kib[32] = "";
    int64_t bytes = 0, left = cgroup_limits().memory_left;
    if (read_small("/proc/meminfo", &text)
        && find_field(str_text(&text), "MemAvailable", kib, sizeof kib))
        bytes = (int64_t)atoll(kib) << 10;
    str_free(&text);
    return left > 0 && (bytes == 0 || left < bytes) ? left : bytes;
}

bool machine_lists_pmu(const char *sources)
{
    bool found = false;
    DIR *dir = opendir(sources);
    struct dirent *d;
    while (dir && !found && (d = readdir(dir)) != NULL)
        found = streq(d->d_name, "cpu") || str_starts(d->d_name, "cpu_")
             || str_starts(d->d_name, "armv") || str_starts(d->d_name, "apple_");
    if (dir)
        closedir(dir);
    return found;
}

bool machine_has_pmu(void)
{
    return machine_lists_pmu("/sys/bus/event_source/devices");
}

void machine_read(struct machine *m)
{
    const struct target *t = target_host();
    struct cgroup_limits granted = cgroup_limits();
    struct utsname u;
    *m = (struct machine){0};
    read_cpu_name(m);
    snprintf(m->isa, sizeof m->isa, "%s", t->isa);
    m->vector_floats = target_lanes(t, &type_f32);
    m->cores = usable_cores(granted.cpus);
    m->core_threads = read_core_threads();
    read_caches(m);
    m->memory_bytes = usable_memory(granted.memory_bytes);
    if (uname(&u) == 0)
        snprintf(m->os, sizeof m->os, "%.40s %.60s %.20s", u.sysname, u.release, u.machine);
    m->has_pmu = machine_has_pmu();
}

static struct machine this_machine;

static void read_this_machine(void)
{
    machine_read(&this_machine);
}

const struct machine *machine_this(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_this_machine);
    return &this_machine;
}

int64_t machine_last_cache(const struct machine *m)
{
    return m->l3.size_bytes > 0 ? m->l3.size_bytes
           : m->l2.size_bytes > 0 ? m->l2.size_bytes : m->l1d.size_bytes;
}

double machine_load(void)
{
    double load;
    return getloadavg(&load, 1) < 1 ? 0 : load > 0.01 ? load : 0.01;
}

void machine_date(char *out, size_t n)
{
    time_t now = time(NULL);
    struct tm utc;
    out[0] = 0;
    if (gmtime_r(&now, &utc))
        strftime(out, n, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

/* Returns the part "2 cores" of a fingerprint, and its length in *n; NULL: there is no such
 * part. */
static const char *cores_part(const char *text, size_t *n)
{
    for (const char *p = strstr(text, " | "); p; p = strstr(p + 1, " | ")) {
        size_t digits = strspn(p + 3, "0123456789");
        const char *unit = p + 3 + digits;
        if (digits == 0 || !str_starts(unit, " core"))
            continue;
        const char *end = strstr(unit, " | ");
        *n = end ? (size_t)(end - p) - 3 : strlen(p + 3);
        return p + 3;
    }
    return NULL;
}

bool machine_is_same(const char *a, const char *b)
{
    size_t n = 0, k = 0;
    const char *x = cores_part(a, &n), *y = cores_part(b, &k);
    if (!x || !y)
        return streq(a, b);
    return x - a == y - b && strncmp(a, b, (size_t)(x - a)) == 0 && streq(x + n, y + k);
}

void machine_cores_of(struct str *out, const char *fingerprint)
{
    size_t n = 0;
    const char *cores = cores_part(fingerprint, &n);
    if (cores)
        str_add_n(out, cores, n);
}

void machine_fingerprint(struct str *out, const struct machine *m)
{
    str_printf(out, "%s | %s | %d core%s | L1d ", m->cpu, m->isa, m->cores,
               m->cores == 1 ? "" : "s");
    cache_geometry_print(out, &m->l1d);
    str_add(out, m->l1d_assumed ? " (assumed)" : "");
}

void machine_fingerprint_here(struct str *out)
{
    struct machine machine;
    machine_read(&machine);
    machine_fingerprint(out, &machine);
}
