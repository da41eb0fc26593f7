#include "sessions/file/shipped.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "kernels/base/arena.h"
#include "kernels/base/file.h"

bool shipped_dir(const char *name, char *out, size_t size)
{
    char exe[512] = "";
    const char *home = getenv("TILESCOPE_HOME"), *prefix = getenv("PREFIX");
    char *slash = file_self(exe, sizeof exe) ? strrchr(exe, '/') : NULL;
    if (slash)
        *slash = 0;
    const struct { const char *root, *rest; } place[] = {
        {home, "/sessions/"}, {home, "/"}, {exe, "/../../sessions/"},
        {exe, "/../share/tilescope/"}, {prefix, "/share/tilescope/"},
        {"/usr/local", "/share/tilescope/"}, {"/usr", "/share/tilescope/"},
    };
    for (int i = home ? 0 : 2; i < COUNT_OF(place); i++) {
        if (!place[i].root || !place[i].root[0])
            continue;
        snprintf(out, size, "%s%s%s", place[i].root, place[i].rest, name);
        if (access(out, R_OK) == 0)
            return true;
    }
    return false;
}

bool shipped_file(const char *path)
{
    static const char *const folder[] = { "examples", "experts", "studies" };
    bool found = false;
    char *file = realpath(path, NULL);
    for (int i = 0; file && i < COUNT_OF(folder) && !found; i++) {
        char dir[1024];
        char *real = shipped_dir(folder[i], dir, sizeof dir) ? realpath(dir, NULL) : NULL;
        size_t n = real ? strlen(real) : 0;
        found = n > 0 && strncmp(file, real, n) == 0 && file[n] == '/';
        free(real);
    }
    free(file);
    return found;
}
