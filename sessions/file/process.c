#include "sessions/file/process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* Reads fields 3 (state) and 22 (start time) of /proc/PID/stat, counted from the last ')' because
 * the process name may contain any character.  Returns the start time; 0 = unknown. */
static unsigned long long read_stat(long pid, char *state)
{
    char path[64], line[1024];
    *state = 0;
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return 0;
    bool got = fgets(line, sizeof line, f) != NULL;
    fclose(f);
    char *rest = NULL, *behind = got ? strrchr(line, ')') : NULL;
    char *field = behind ? strtok_r(behind + 1, " ", &rest) : NULL;
    *state = field ? field[0] : 0;
    for (int i = 3; field && i < 22; i++)
        field = strtok_r(NULL, " ", &rest);
    return field ? strtoull(field, NULL, 10) : 0;
}

unsigned long long process_started(void)
{
    static _Thread_local struct { pid_t pid; unsigned long long started; } own;
    char ignored;
    if (own.pid != getpid() || own.started == 0) {
        own.pid = getpid();
        own.started = read_stat(own.pid, &ignored);
    }
    return own.started;
}

/* A zombie, which has ended but was not waited for, counts as dead. */
bool process_alive(long pid, unsigned long long started)
{
    char state;
    if (pid <= 0 || (kill((pid_t)pid, 0) != 0 && errno == ESRCH))
        return false;
    unsigned long long now = read_stat(pid, &state);
    return state != 'Z' && state != 'X' && (now == 0 || started == 0 || now == started);
}
