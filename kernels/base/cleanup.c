#include "kernels/base/cleanup.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define GRACE_MS 20                       /* time in which compilers delete their temporary files */

enum { FREE, FILLING, A_FILE, A_PROGRAM };

/* path: the file to delete, or the folder of a program's temporary files.  leader: the leader of
 * the program's process group; 0 while the program does not run.  Signal handlers read a slot only
 * after `state` says what is in it. */
static struct slot { atomic_int state, leader; char path[PATH_MAX]; } slots[CLEANUP_SLOTS];

static int take(void)
{
    for (int i = 0; i < CLEANUP_SLOTS; i++) {
        int unused = FREE;
        if (atomic_compare_exchange_strong(&slots[i].state, &unused, FILLING))
            return i;
    }
    return -1;
}

static int note_path(const char *path, int state)
{
    size_t n = strlen(path) + 1;
    int i = n <= PATH_MAX ? take() : -1;
    if (i >= 0) {
        memcpy(slots[i].path, path, n);
        atomic_store(&slots[i].leader, 0);
        atomic_store(&slots[i].state, state);
    }
    return i;
}

int cleanup_note_file(const char *path)
{
    return note_path(path, A_FILE);
}

int cleanup_note_program(const char *folder)
{
    return note_path(folder, A_PROGRAM);
}

void cleanup_set_leader(int slot, pid_t leader)
{
    if (slot >= 0)
        atomic_store(&slots[slot].leader, leader);
}

void cleanup_forget(int slot)
{
    if (slot >= 0)
        atomic_store(&slots[slot].state, FREE);
}

static int kill_groups(int sig)
{
    int n = 0;
    for (int i = 0; i < CLEANUP_SLOTS; i++) {
        int leader = atomic_load(&slots[i].state) == A_PROGRAM ? atomic_load(&slots[i].leader) : 0;
        if (leader > 0) {
            kill(-leader, sig);
            n++;
        }
    }
    return n;
}

void cleanup_now(void)
{
    int programs = kill_groups(SIGTERM);
    for (int i = 0; i < CLEANUP_SLOTS; i++)
        if (atomic_load(&slots[i].state) == A_FILE)
            unlink(slots[i].path);
    if (programs > 0) {
        poll(NULL, 0, GRACE_MS);
        kill_groups(SIGKILL);
    }
    for (int i = 0; i < CLEANUP_SLOTS; i++)
        if (atomic_load(&slots[i].state) == A_PROGRAM)
            rmdir(slots[i].path);
}
