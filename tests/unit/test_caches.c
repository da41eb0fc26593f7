/* The caches of this machine, against what the kernel says of its first core. */
#include <stdio.h>
#include <string.h>

#include "profile/host/machine.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* One word of /sys/devices/system/cpu/cpu0/cache/indexI/NAME; false: there is none. */
static bool word_of(int i, const char *name, char out[32])
{
    char path[128];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", i, name);
    FILE *f = fopen(path, "r");
    bool ok = f && fscanf(f, "%31s", out) == 1;
    if (f)
        fclose(f);
    return ok;
}

/* Only caches of data count: an instruction cache is left out. */
static void data_caches_are_those_of_the_kernel(void **state)
{
    struct machine m;
    const struct cache_geometry *level[] = { &m.l1d, &m.l2, &m.l3 };
    char type[32], number[32], size[32];
    int seen = 0;
    (void)state;
    machine_read(&m);
    for (int i = 0; i < 8; i++) {
        int l, kib;
        if (!word_of(i, "type", type) || !word_of(i, "level", number) || !word_of(i, "size", size)
            || strcmp(type, "Instruction") == 0 || sscanf(number, "%d", &l) != 1 || l < 1 || l > 3
            || sscanf(size, "%dK", &kib) != 1)
            continue;
        assert_int_equal(level[l - 1]->size_bytes, (int64_t)kib << 10);
        seen++;
    }
    if (seen == 0)
        skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(data_caches_are_those_of_the_kernel) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
