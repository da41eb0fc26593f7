#include "tests/unit/own_runner.h"

#include <stdio.h>
#include <stdlib.h>

#include "profile/build/build.h"
#include "tests/unit/temp_dir.h"

bool own_runner(const char *source, const char *options, char path[OWN_RUNNER_PATH])
{
    char command[1000], text[OWN_RUNNER_PATH];
    const char *folder = temp_dir(NULL);
    struct compiler cc;
    struct err e;
    if (!compiler_find(NULL, &cc, &e))
        return false;
    snprintf(text, sizeof text, "%s/runner.c", folder);
    snprintf(path, OWN_RUNNER_PATH, "%s/runner", folder);
    FILE *f = fopen(text, "w");
    if (!f || fputs(source, f) < 0 || fclose(f) != 0)
        return false;
    snprintf(command, sizeof command, "%.200s -std=gnu17 -O1 -I. %s %s -o %s", cc.path, options,
             text, path);
    return system(command) == 0;
}
