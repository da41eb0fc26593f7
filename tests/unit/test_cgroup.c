/* Limits of control groups, in trees of files like those of /sys/fs/cgroup. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "kernels/base/arena.h"
#include "kernels/base/file.h"
#include "profile/host/cgroup.h"
#include "tests/unit/temp_dir.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define MOST_FILES 8

struct tree {
    const char *name, *list;              /* of /proc/self/cgroup */
    struct { const char *path, *text; } file[MOST_FILES];
    struct cgroup_limits want;
};

static const struct tree tree[] = {
    { "no groups", "", { { NULL, NULL } }, { 0, 0, 0 } },
    { "version 2, nothing is limited", "0::/user/shell\n",
      { { "user/shell/memory.max", "max\n" }, { "user/shell/memory.current", "5000\n" },
        { "user/shell/cpu.max", "max 100000\n" } },
      { 0, 0, 0 } },
    { "version 2, what is used and what is only cached", "0::/box\n",
      { { "box/memory.max", "10000\n" }, { "box/memory.current", "7000\n" },
        { "box/memory.stat", "anon 2000\nactive_file 1500\ninactive_file 2500\n" },
        { "box/cpu.max", "150000 100000\n" } },
      { 2, 10000, 7000 } },
    { "a group above has less", "0::/box/inner\n",
      { { "box/inner/memory.max", "max\n" }, { "box/inner/memory.current", "10\n" },
        { "box/memory.max", "9000\n" }, { "box/memory.current", "8000\n" },
        { "box/inner/cpu.max", "400000 100000\n" }, { "box/cpu.max", "100000 100000\n" } },
      { 1, 9000, 1000 } },
    { "a group above has more, and less of it left", "0::/box/inner\n",
      { { "box/inner/memory.max", "5000\n" }, { "box/inner/memory.current", "100\n" },
        { "box/memory.max", "9000\n" }, { "box/memory.current", "8500\n" } },
      { 0, 5000, 500 } },
    { "nothing is left", "0::/box\n",
      { { "box/memory.max", "5000\n" }, { "box/memory.current", "6000\n" } },
      { 0, 5000, 1 } },
    { "version 1 counts what is below", "7:cpu,cpuacct:/a\n4:memory:/a\n1:cpuset:/\n",
      { { "memory/a/memory.limit_in_bytes", "8000\n" },
        { "memory/a/memory.usage_in_bytes", "6000\n" },
        { "memory/a/memory.stat",
          "inactive_file 1\nactive_file 1\ntotal_inactive_file 500\ntotal_active_file 1500\n" },
        { "memory/memory.limit_in_bytes", "9223372036854771712\n" },
        { "cpu/a/cpu.cfs_quota_us", "250000\n" }, { "cpu/a/cpu.cfs_period_us", "100000\n" },
        { "cpu/cpu.cfs_quota_us", "-1\n" } },
      { 3, 8000, 4000 } },
    { "another controller's path is not one's own", "3:cpuset:/b\n4:memory:/\n",
      { { "cpu/b/cpu.cfs_quota_us", "100000\n" }, { "cpu/b/cpu.cfs_period_us", "100000\n" },
        { "memory/b/memory.limit_in_bytes", "8000\n" } },
      { 0, 0, 0 } },
    { "all is used, and one microsecond more than two CPUs", "0::/box\n",
      { { "box/memory.max", "5000\n" }, { "box/memory.current", "5000\n" },
        { "box/cpu.max", "200001 100000\n" } },
      { 3, 5000, 1 } },
    { "more is cached than used", "0::/box\n",
      { { "box/memory.max", "5000\n" }, { "box/memory.current", "300\n" },
        { "box/memory.stat", "active_file_huge 70\nactive_file 200\ninactive_file 200" },
        { "box/cpu.max", "200000 100000\n" } },
      { 2, 5000, 5000 } },
    { "a group above has as much", "0::/box/inner\n",
      { { "box/inner/memory.max", "5000\n" }, { "box/inner/memory.current", "100\n" },
        { "box/memory.max", "5000\n" }, { "box/memory.current", "100\n" },
        { "box/inner/cpu.max", "200000 100000\n" }, { "box/cpu.max", "300000 100000\n" } },
      { 2, 5000, 4900 } },
    { "controllers in other places of the list; lines that are none",
      "nonsense\n0:half\n7:cpuacct,cpu:/a\n4:hugetlb,memory:/a\n",
      { { "memory/a/memory.limit_in_bytes", "4611686018427387902\n" },
        { "memory/a/memory.usage_in_bytes", "4611686018427387000\n" },
        { "cpu/a/cpu.cfs_quota_us", "50000\n" }, { "cpu/a/cpu.cfs_period_us", "100000\n" } },
      { 1, 4611686018427387902, 902 } },
    { "half of the largest number is no limit; a quota without a period is none",
      "7:cpu:/a\n4:memory:/a\n",
      { { "memory/a/memory.limit_in_bytes", "4611686018427387903\n" },
        { "memory/a/memory.usage_in_bytes", "5\n" },
        { "cpu/a/cpu.cfs_quota_us", "50000\n" } },
      { 0, 0, 0 } },
};

static void put(const char *root, const char *path, const char *text)
{
    char at[300];
    struct err e;
    snprintf(at, sizeof at, "%s/%s", root, path);
    for (char *p = at + strlen(root) + 1; (p = strchr(p, '/')) != NULL; p++) {
        *p = '\0';
        mkdir(at, 0777);
        *p = '/';
    }
    if (!file_write_atomic(at, text, strlen(text), &e))
        fail_msg("%s: %s", at, e.text);
}

static void trees(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(tree); i++) {
        const struct tree *t = &tree[i];
        const char *root = temp_dir(NULL);
        char list[300];
        put(root, "list", t->list);
        for (int k = 0; k < MOST_FILES && t->file[k].path; k++)
            put(root, t->file[k].path, t->file[k].text);
        snprintf(list, sizeof list, "%s/list", root);
        struct cgroup_limits got = cgroup_limits_in(list, root);
        if (got.cpus != t->want.cpus || got.memory_bytes != t->want.memory_bytes
            || got.memory_left != t->want.memory_left)
            fail_msg("%s: %d cpus, %lld bytes, %lld left", t->name, got.cpus,
                     (long long)got.memory_bytes, (long long)got.memory_left);
    }
}

/* Whatever there is here can be true. */
static void here(void **state)
{
    (void)state;
    struct cgroup_limits l = cgroup_limits();
    assert_true(l.cpus >= 0 && l.memory_bytes >= 0);
    assert_true(l.memory_bytes > 0 ? l.memory_left > 0 : l.memory_left == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(trees), cmocka_unit_test(here) };
    return cmocka_run_group_tests_name("cgroup", tests, NULL, NULL);
}
