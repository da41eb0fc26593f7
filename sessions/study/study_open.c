/* Opens studies: shipped ones by name, and files. */
#include <stdio.h>
#include <string.h>
#include "kernels/base/file.h"
#include "sessions/file/shipped.h"
#include "sessions/study/study_impl.h"

static bool open_file(const char *path, struct study **out, struct err *e)
{
    struct str text = {0};
    bool ok = file_read(path, STUDY_MAX_BYTES, &text, e)
           && study_parse(streq(path, "-") ? "<stdin>" : path, str_text(&text), text.len, out, e);
    str_free(&text);
    return ok;
}

static bool unknown_name(const char *dir, const char *name, struct err *e)
{
    struct arena *a = arena_new();
    int n;
    const char **list = dir_list(a, dir, ".yaml", &n);
    err_set(e, ERR_NAME, "there is no study \"%.100s\"", name);
    err_near(e, name, list, n, "did you mean %s?",
             "tilescope studies lists them; a file ends in .yaml");
    arena_free(a);
    return false;
}

bool study_open(const char *name, struct study **out, struct err *e)
{
    char dir[600], path[900];
    if (streq(name, "-") || strchr(name, '/') || str_ends(name, ".yaml") || str_ends(name, ".yml"))
        return open_file(name, out, e);
    if (!shipped_dir("studies", dir, sizeof dir)) {
        err_set(e, ERR_ENV, "the folder of the shipped studies is missing");
        return err_fix(e, "set TILESCOPE_HOME to the source tree, or name a file");
    }
    snprintf(path, sizeof path, "%s/%.200s.yaml", dir, name);
    return file_exists(path) ? open_file(path, out, e) : unknown_name(dir, name, e);
}

bool study_list(struct study **out, int max, int *n, struct err *e)
{
    char dir[600], path[900];
    int n_names;
    bool ok = true;
    *n = 0;
    if (!shipped_dir("studies", dir, sizeof dir))
        return true;
    struct arena *a = arena_new();
    const char **name = dir_list(a, dir, ".yaml", &n_names);
    for (int i = 0; ok && i < n_names && *n < max; i++) {
        snprintf(path, sizeof path, "%s/%.200s.yaml", dir, name[i]);
        ok = open_file(path, &out[*n], e);
        *n += ok;
    }
    arena_free(a);
    return ok;
}
