#include "sessions/file/shipped.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "kernels/base/arena.h"
#include "kernels/base/file.h"

enum { PLACES = 7 };

/* Sets `out` to the path of the folder or file `name` at place number i of the search.  Returns
 * false when the file is not there or not readable. */
static bool place(int i, const char *name, char *out, size_t size)
{
    char exe[512] = "";
    const char *home = getenv("TILESCOPE_HOME"), *prefix = getenv("PREFIX");
    char *slash = file_self(exe, sizeof exe) ? strrchr(exe, '/') : NULL;
    if (slash)
        *slash = 0;
    const struct { const char *root, *rest; } all[PLACES] = {
        {home, "/sessions/"}, {home, "/"}, {exe, "/../../sessions/"},
        {exe, "/../share/tilescope/"}, {prefix, "/share/tilescope/"},
        {"/usr/local", "/share/tilescope/"}, {"/usr", "/share/tilescope/"},
    };
    if (!all[i].root || !all[i].root[0])
        return false;
    snprintf(out, size, "%s%s%s", all[i].root, all[i].rest, name);
    return access(out, R_OK) == 0;
}

bool shipped_dir(const char *name, char *out, size_t size)
{
    for (int i = 0; i < PLACES; i++)
        if (place(i, name, out, size))
            return true;
    return false;
}

/* Checks every place, because a build tree and an installed copy can both exist. */
bool shipped_file(const char *path)
{
    static const char *const folder[] = { "examples", "experts", "studies" };
    bool found = false;
    char *file = realpath(path, NULL);
    for (int i = 0; file && i < PLACES * COUNT_OF(folder) && !found; i++) {
        char dir[1024];
        bool there = place(i % PLACES, folder[i / PLACES], dir, sizeof dir);
        char *real = there ? realpath(dir, NULL) : NULL;
        size_t n = real ? strlen(real) : 0;
        found = n > 0 && strncmp(file, real, n) == 0 && file[n] == '/';
        free(real);
    }
    free(file);
    return found;
}
