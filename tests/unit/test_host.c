/* What machine this is, read here a second time from where Linux says it; fingerprints, and which
 * of them are of one machine. */
#include <glob.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "kernels/gen/target.h"
#include "profile/host/cgroup.h"
#include "profile/host/machine.h"
#include "profile/machine/machine_model.h"
#include "tests/unit/temp_dir.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* --- Fingerprints ----------------------------------------------------------------------------- */

static void only_the_cores_may_differ(void **state)
{
#define L1D " | L1d 32K/8/64"
    static const struct { const char *a, *b; bool same; } row[] = {
        { "A CPU | avx2 | 2 cores" L1D, "A CPU | avx2 | 2 cores" L1D, true },
        { "A CPU | avx2 | 2 cores" L1D, "A CPU | avx2 | 16 cores" L1D, true },
        { "A CPU | avx2 | 1 core" L1D, "A CPU | avx2 | 16 cores" L1D, true },
        { "A CPU | avx2 | 2 cores" L1D, "B CPU | avx2 | 2 cores" L1D, false },
        { "A CPU | avx2 | 2 cores" L1D, "A CPU 2 | avx2 | 2 cores" L1D, false },
        { "A CPU | avx2 | 2 cores" L1D, "A CPU | avx5 | 2 cores" L1D, false },
        { "A CPU | avx2 | 2 cores" L1D, "A CPU | avx2 | 2 cores | L1d 48K/12/64", false },
        { "A CPU | avx2 | 2 cores" L1D, "A CPU | avx2 | 2 cores" L1D " (assumed)", false },
        { "A 4-core CPU | 512 | 2 cores" L1D, "A 4-core CPU | 512 | 4 cores" L1D, true },
        { "A 4-core CPU | 512 | 2 cores" L1D, "A 4-core CPU | 256 | 2 cores" L1D, false },
        { "A CPU | avx2 | 1 core", "A CPU | avx2 | 16 cores", true },
        { "A CPU | avx2 | 2 cores", "A CPU | avx2 | 2 cores" L1D, false },
        { "a machine", "a machine", true }, { "a machine", "another", false },
        { "a machine", "A CPU | avx2 | 2 cores" L1D, false },
        { "A CPU | avx2 | 2 cores" L1D, "a machine", false },
        { "", "", true },
    };
    static const struct { const char *text, *cores; } parts[] = {
        { "A CPU | avx2 | 2 cores" L1D, "2 cores" }, { "A CPU | avx2 | 1 core" L1D, "1 core" },
        { "A 4-core CPU | 512 | 128 cores" L1D, "128 cores" }, { "a machine", "" }, { "", "" },
        { "A CPU | avx2 | 2 cores", "2 cores" }, { "A CPU | avx2 | 1 core", "1 core" },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++)
        if (machine_is_same(row[i].a, row[i].b) != row[i].same)
            fail_msg("%s and %s", row[i].a, row[i].b);
    for (int i = 0; i < COUNT_OF(parts); i++) {
        struct str out = {0};
        machine_cores_of(&out, parts[i].text);
        assert_string_equal(str_text(&out), parts[i].cores);
        str_free(&out);
    }
}

static void fingerprints_are_texts(void **state)
{
    struct machine m = { .cpu = "A CPU", .isa = "avx2", .cores = 2, .l1d = { 32 << 10, 8, 64 },
                         .l2 = { 1 << 20, 16, 64 }, .l3 = { 32 << 20, 16, 64 } };
    struct str out = {0};
    char hash[32];
    (void)state;
    machine_fingerprint(&out, &m);
    assert_string_equal(str_text(&out), "A CPU | avx2 | 2 cores | L1d 32K/8/64");
    str_clear(&out);
    machine_model_fingerprint(&out, &m);
    snprintf(hash, sizeof hash, " | cpu %016" PRIx64, machine_cpu_hash());
    assert_true(str_starts(str_text(&out), "A CPU | avx2 | 2 cores | L1d 32K/8/64 | L2 1M/16/64 | "
                                           "L3 32M/16/64"));
    assert_string_equal(str_text(&out) + out.len - strlen(hash), hash);
    str_clear(&out);
    m.cores = 1;
    m.l1d_assumed = true;
    machine_fingerprint(&out, &m);
    assert_string_equal(str_text(&out), "A CPU | avx2 | 1 core | L1d 32K/8/64 (assumed)");
    str_clear(&out);
    machine_read(&m);
    machine_fingerprint(&out, &m);
    struct str here = {0};
    machine_fingerprint_here(&here);
    assert_string_equal(str_text(&here), str_text(&out));
    str_free(&here);
    str_free(&out);
}

static void the_last_cache_is_the_outermost(void **state)
{
    struct machine m = { .l1d = { 1000, 1, 1 }, .l2 = { 2000, 1, 1 }, .l3 = { 3000, 1, 1 } };
    (void)state;
    assert_int_equal(machine_last_cache(&m), 3000);
    m.l3.size_bytes = 0;
    assert_int_equal(machine_last_cache(&m), 2000);
    m.l2.size_bytes = 0;
    assert_int_equal(machine_last_cache(&m), 1000);
}

/* --- This machine ----------------------------------------------------------------------------- */

/* Reads the value of the first line of /proc/cpuinfo with this key; "": there is none. */
static void cpuinfo(const char *key, char *out, size_t n)
{
    char line[8192];
    size_t len = strlen(key);
    FILE *f = fopen("/proc/cpuinfo", "r");
    *out = '\0';
    while (f && !*out && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (colon && strncmp(line, key, len) == 0 && (line[len] == '\t' || line[len] == ':'))
            snprintf(out, n, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
    }
    if (f)
        fclose(f);
}

static void the_cpu_has_numbers(void **state)
{
    char vendor[64], family[64], model[64], name[256], own[64] = "x";
    struct machine_cpu cpu;
    struct machine m;
    (void)state;
    cpuinfo("vendor_id", vendor, sizeof vendor);
    cpuinfo("cpu family", family, sizeof family);
    cpuinfo("model", model, sizeof model);
    cpuinfo("model name", name, sizeof name);
    assert_int_equal(machine_cpu_vendor(own, sizeof own), vendor[0] != '\0');
    assert_string_equal(own, vendor);
    machine_cpu_read(&cpu);
    assert_int_equal(strncmp(cpu.vendor, vendor, sizeof cpu.vendor - 1), 0);
    if (vendor[0] && family[0] && model[0])
        assert_true(cpu.family == atoi(family) && cpu.model == atoi(model));
    else
        assert_true(cpu.family == 0 && cpu.model == 0);
    machine_read(&m);
    if (name[0])
        assert_int_equal(strncmp(m.cpu, name, sizeof m.cpu - 1), 0);
    assert_true(machine_cpu_hash() == machine_cpu_hash());
    assert_true(!name[0] || machine_cpu_hash() != 0);
}

/* Reads a number with a unit, "32K", from sysfs; 0: there is no such file. */
static int64_t sysfs(const char *path, int index, const char *name)
{
    char file[200], unit = ' ';
    long long v = 0;
    snprintf(file, sizeof file, "/sys/devices/system/cpu/cpu0/%s%d/%s", path, index, name);
    FILE *f = fopen(file, "r");
    if (!f)
        return 0;
    int n = fscanf(f, "%lld%c", &v, &unit);
    fclose(f);
    return n < 1 ? 0 : unit == 'K' ? v * 1024 : unit == 'M' ? v * 1024 * 1024 : v;
}

static void caches_are_those_of_sysfs(void **state)
{
    struct machine m;
    (void)state;
    machine_read(&m);
    const struct cache_geometry *level[] = { NULL, &m.l1d, &m.l2, &m.l3 };
    for (int i = 0; i < 4; i++) {
        char file[200], type[32] = "";
        int64_t of = sysfs("cache/index", i, "level");
        snprintf(file, sizeof file, "/sys/devices/system/cpu/cpu0/cache/index%d/type", i);
        FILE *f = fopen(file, "r");
        if (!f)
            continue;
        assert_int_equal(fscanf(f, "%31s", type), 1);
        fclose(f);
        struct cache_geometry g = { sysfs("cache/index", i, "size"),
                                    (int)sysfs("cache/index", i, "ways_of_associativity"),
                                    (int)sysfs("cache/index", i, "coherency_line_size") };
        struct err e;
        if (streq(type, "Instruction") || of < 1 || of > 3 || !cache_geometry_check(&g, &e))
            continue;
        assert_true(level[of]->size_bytes == g.size_bytes && level[of]->ways == g.ways);
        assert_true(level[of]->line_bytes == g.line_bytes);
    }
    assert_true(m.l1d.size_bytes > 0);
}

/* sysfs also has the CPUs of a core as the bits of hexadecimal numbers. */
static void threads_share_a_core(void **state)
{
    struct machine m;
    int bits = 0, c;
    (void)state;
    machine_read(&m);
    FILE *f = fopen("/sys/devices/system/cpu/cpu0/topology/thread_siblings", "r");
    while (f && (c = fgetc(f)) != EOF) {
        char digit[2] = { (char)c };
        bits += __builtin_popcountl(strtoul(digit, NULL, 16));
    }
    if (f)
        fclose(f);
    assert_int_equal(m.core_threads, bits > 0 ? bits : 1);
}

static void the_rest_is_of_this_process(void **state)
{
    const struct cgroup_limits limits = cgroup_limits();
    cpu_set_t all, one;
    struct utsname u;
    struct machine m;
    char os[256];
    (void)state;
    machine_read(&m);
    assert_int_equal(uname(&u), 0);
    snprintf(os, sizeof os, "%.40s %.60s %.20s", u.sysname, u.release, u.machine);
    assert_string_equal(m.os, os);
    assert_string_equal(m.isa, target_host()->isa);
    assert_int_equal(m.vector_floats, target_lanes(target_host(), &type_f32));
    int64_t memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    assert_true(m.memory_bytes == (limits.memory_bytes > 0 && limits.memory_bytes < memory
                                       ? limits.memory_bytes : memory));
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    int cpus = CPU_COUNT(&all), first = 0;
    assert_int_equal(m.cores, limits.cpus > 0 && limits.cpus < cpus ? limits.cpus : cpus);
    while (!CPU_ISSET((size_t)first, &all))
        first++;
    CPU_ZERO(&one);
    CPU_SET((size_t)first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    machine_read(&m);
    assert_int_equal(m.cores, 1);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

static void event_sources_are_found(void **state)
{
    static const char *const names[] = { "cpu", "cpu_*", "armv*", "apple_*" };
    bool found = false;
    (void)state;
    for (int i = 0; i < COUNT_OF(names); i++) {
        char pattern[100];
        glob_t g;
        snprintf(pattern, sizeof pattern, "/sys/bus/event_source/devices/%s", names[i]);
        if (glob(pattern, 0, NULL, &g) == 0) {
            found = true;
            globfree(&g);
        }
    }
    struct machine m;
    machine_read(&m);
    assert_int_equal(m.has_pmu, found);
    assert_int_equal(machine_has_pmu(), found);
}

/* A folder lists its sources in any order. */
static void event_sources_of_cpus_have_names(void **state)
{
    static const struct { const char *source[4]; bool found; } row[] = {
        { { "software", "breakpoint", "uncore_imc_0", "cpux" }, false }, { { NULL }, false },
        { { "software", "breakpoint", "msr", "cpu" }, true }, { { "msr", "cpu_core" }, true },
        { { "cpu_atom" }, true }, { { "arm_cmn_0", "armv8_pmuv3_0" }, true },
        { { "apple_icestorm_pmu", "software" }, true }, { { "power", "amd_iommu_0" }, false },
    };
    char folder[160], path[200];
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        snprintf(folder, sizeof folder, "%s", temp_dir(NULL));
        for (int k = 0; k < COUNT_OF(row[i].source) && row[i].source[k]; k++) {
            snprintf(path, sizeof path, "%s/%s", folder, row[i].source[k]);
            assert_int_equal(mkdir(path, 0700), 0);
        }
        if (machine_lists_pmu(folder) != row[i].found)
            fail_msg("row %d", i);
    }
    snprintf(path, sizeof path, "%s/none", folder);
    assert_false(machine_lists_pmu(path));
}

/* Other programs change it meanwhile, but not by a half. */
static void free_memory_is_that_of_linux(void **state)
{
    const int64_t left = cgroup_limits().memory_left;
    char line[200];
    long long kib = 0;
    FILE *f = fopen("/proc/meminfo", "r");
    (void)state;
    while (f && fgets(line, sizeof line, f) && sscanf(line, "MemAvailable: %lld", &kib) != 1)
        ;
    if (f)
        fclose(f);
    double want = 1024.0 * (double)kib;
    want = left > 0 && (want == 0 || (double)left < want) ? (double)left : want;
    double got = (double)machine_memory_available();
    assert_true(got >= 0.6 * want && got <= 1.6 * want);
}

/* Linux computes the load every five seconds. */
static void the_load_is_that_of_linux(void **state)
{
    double before = 0, after = 0;
    (void)state;
    int n = getloadavg(&before, 1);
    double load = machine_load();
    n = n == 1 ? getloadavg(&after, 1) : n;
    if (n != 1)
        skip();
    assert_true(load == (before > 0.01 ? before : 0.01) || load == (after > 0.01 ? after : 0.01));
}

static void dates_are_of_now(void **state)
{
    char date[32];
    struct tm t = {0};
    (void)state;
    machine_date(date, sizeof date);
    assert_int_equal(strlen(date), 20);
    assert_int_equal(sscanf(date, "%d-%d-%dT%d:%d:%dZ", &t.tm_year, &t.tm_mon, &t.tm_mday,
                            &t.tm_hour, &t.tm_min, &t.tm_sec), 6);
    t.tm_year -= 1900;
    t.tm_mon--;
    assert_true(labs((long)(timegm(&t) - time(NULL))) < 600);
    assert_int_equal(date[19], 'Z');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_cores_may_differ), cmocka_unit_test(fingerprints_are_texts),
        cmocka_unit_test(the_last_cache_is_the_outermost), cmocka_unit_test(the_cpu_has_numbers),
        cmocka_unit_test(caches_are_those_of_sysfs), cmocka_unit_test(threads_share_a_core),
        cmocka_unit_test(the_rest_is_of_this_process), cmocka_unit_test(event_sources_are_found),
        cmocka_unit_test(event_sources_of_cpus_have_names),
        cmocka_unit_test(free_memory_is_that_of_linux), cmocka_unit_test(the_load_is_that_of_linux),
        cmocka_unit_test(dates_are_of_now),
    };
    return cmocka_run_group_tests_name("host", tests, NULL, NULL);
}
