#include "tests/unit/golden.h"
#include "tests/unit/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/base/file.h"
#include "kernels/base/subprocess.h"
#undef fail /* ours; cmocka has its own */
#include <cmocka.h>

static void show_diff(const char *path, const char *text)
{
    char fresh[300];
    struct subprocess_result res = { 0 };
    struct err e;
    const char *const argv[] = { "diff", "-u", path, fresh, NULL };
    snprintf(fresh, sizeof fresh, "%s/fresh", temp_dir(NULL));
    if (!file_write_atomic(fresh, text, strlen(text), &e))
        fail_msg("%s differs (and no temporary file could be written)", path);
    if (subprocess_run(argv, 10, NULL, &res, &e))
        print_message("%s", str_text(&res.out));
    str_free(&res.out);
    fail_msg("%s differs; TS_UPDATE_GOLDEN=1 rewrites it", path);
}

void golden_check(const char *path, const char *text)
{
    struct str want = { 0 };
    struct err e;
    if (getenv("TS_UPDATE_GOLDEN")) {
        if (!file_write_atomic(path, text, strlen(text), &e))
            fail_msg("%s", e.text);
        return;
    }
    if (!file_read(path, 1 << 22, &want, &e))
        fail_msg("%s", e.text);
    if (strcmp(str_text(&want), text) != 0)
        show_diff(path, text);
    str_free(&want);
}
