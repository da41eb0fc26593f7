#include "profile/host/busy.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "kernels/base/file.h"
#include "kernels/base/subprocess.h"

#define LEAST_S 0.1  /* shortest time for a share: ten ticks of Linux */

/* Returns the sum of the busy columns in the first line of /proc/stat.  The columns are "user nice
 * system idle iowait irq softirq steal"; all except idle and iowait are busy.  NAN: the file cannot
 * be read. */
static double all_ticks(void)
{
    unsigned long long user, nice, system, idle, wait, irq, soft, steal;
    FILE *in = fopen("/proc/stat", "re");
    int n = in ? fscanf(in, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system,
                        &idle, &wait, &irq, &soft, &steal) : 0;
    if (in)
        fclose(in);
    return n == 8 ? (double)(user + nice + system + irq + soft + steal) : NAN;
}

/* Returns the ticks of all threads of a process; 0 when the process is gone. */
static double own_ticks(pid_t pid)
{
    char path[64], text[1024];
    unsigned long long user, system;
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    file_head(path, text, sizeof text);
    const char *name_end = strrchr(text, ')');            /* the name may have blanks */
    int fields = !name_end ? 0
               : sscanf(name_end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu",
                        &user, &system);
    return fields == 2 ? (double)(user + system) : 0;
}

struct busy busy_now(const pid_t *own, int n)
{
    double tick_s = 1 / (double)sysconf(_SC_CLK_TCK);
    struct busy b = { .all_s = tick_s * all_ticks(), .at_s = clock_s() };
    for (int i = 0; i < n; i++)
        b.own_s += own[i] > 0 ? tick_s * own_ticks(own[i]) : 0;
    return b;
}

void busy_add(struct busy_sum *s, const struct busy *from, const struct busy *to)
{
    double all_s = to->all_s - from->all_s;
    s->all_s += all_s;
    s->others_s += all_s - (to->own_s - from->own_s);
    s->clock_s += to->at_s - from->at_s;
}

double busy_share(const struct busy_sum *s)
{
    bool counted = s->all_s > 0;  /* all_s is NAN or 0 where /proc/stat does not count */
    if (!counted || s->clock_s < LEAST_S)
        return NAN;
    double cpus = (double)sysconf(_SC_NPROCESSORS_ONLN);
    return s->others_s > 0 ? s->others_s / (cpus * s->clock_s) : 0;
}
