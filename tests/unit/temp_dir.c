#include "tests/unit/temp_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kernels/base/file.h"
#include "kernels/base/vec.h"

static VEC(char *) made;
static pid_t maker;                       /* the process that made them; its children remove none */

static void remove_all(void)
{
    if (getpid() != maker)
        return;
    for (int i = 0; i < made.len; i++) {
        dir_remove(made.data[i]);
        free(made.data[i]);
    }
    vec_free(&made);
}

const char *temp_dir(const char *variable)
{
    const char *base = getenv("TMPDIR");
    char path[200];
    snprintf(path, sizeof path, "%s/t-XXXXXX", base && *base == '/' ? base : "/tmp");
    if (!mkdtemp(path) || (variable && setenv(variable, path, 1) != 0))
        fail("no temporary folder %s", path);
    if (made.len == 0 && atexit(remove_all) != 0)
        fail("atexit");
    maker = getpid();
    vec_push(&made, xstrdup(path));
    return made.data[made.len - 1];
}
