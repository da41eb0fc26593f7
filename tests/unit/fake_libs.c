#include "tests/unit/fake_libs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "kernels/base/str.h"
#include "kernels/base/subprocess.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

void fake_lib_build(const char *folder, const char *name, char so[120])
{
    char c[80];
    struct subprocess_result res = {0};
    struct err e = {0};
    snprintf(so, 120, "%s/lib%s.so", folder, name);
    snprintf(c, sizeof c, "tests/fake/%s.c", name);
    const char *const argv[] = { "gcc", "-std=gnu17", "-D_GNU_SOURCE", "-Wall", "-Wextra",
                                 "-Werror", "-O1", "-I.", "-shared", "-fPIC", "-o", so, c, NULL };
    if (!subprocess_run(argv, 60, NULL, &res, &e) || res.exit_code != 0)
        fail_msg("%s %s", e.text, str_text(&res.out));
    str_free(&res.out);
}
