#include "sessions/process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Field 22 of /proc/PID/stat, counted behind the last ')' because the name may contain anything. */
unsigned long long process_started(long pid)
{
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *f = fopen(path, "r");
    if (!f)
        return 0;
    bool got = fgets(line, sizeof line, f) != NULL;
    fclose(f);
    char *rest = NULL, *behind = got ? strrchr(line, ')') : NULL;
    char *field = behind ? strtok_r(behind + 1, " ", &rest) : NULL;
    for (int i = 3; field && i < 22; i++)
        field = strtok_r(NULL, " ", &rest);
    return field ? strtoull(field, NULL, 10) : 0;
}

bool process_alive(long pid, unsigned long long started)
{
    if (pid <= 0 || (kill((pid_t)pid, 0) != 0 && errno == ESRCH))
        return false;
    unsigned long long now = process_started(pid);
    return now == 0 || started == 0 || now == started;
}
