#include "tests/unit/temp_dir.h"

#include <stdlib.h>

#include "kernels/base/str.h"
#include "kernels/base/subprocess.h"

bool temp_dir_make(char *dir, const char *variable)
{
    return mkdtemp(dir) && (!variable || setenv(variable, dir, 1) == 0);
}

bool temp_dir_remove(const char *dir)
{
    const char *const argv[] = { "rm", "-rf", dir, NULL };
    struct subprocess_result res = {0};
    struct err e;
    bool ok = subprocess_run(argv, 10, NULL, &res, &e);
    str_free(&res.out);
    return ok;
}
