#include "tests/unit/miscompile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

void miscompiler(const char *name, const char *only, char *path, size_t n)
{
    char command[700];
    const char *home = getenv("XDG_CACHE_HOME");
    assert_non_null(home);
    snprintf(path, n, "%s/miscompile-%s-%s/gcc", home, name, only);
    snprintf(command, sizeof command, "tests/miscompile.sh make %s '%s/miscompile-%s-%s' '%s'",
             name, home, name, only, only);
    if (system(command) != 0)
        fail_msg("%s", command);
}
