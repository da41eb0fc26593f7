#include "sessions/file/model_path.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/base/file.h"
#include "kernels/ops/source.h"

/* Appends path as an absolute path.  If the folder of path exists, symbolic links in the folder are
 * resolved. */
static void add_absolute(struct str *out, const char *path)
{
    const char *slash = strrchr(path, '/');
    struct str folder = { 0 };
    file_add_folder(&folder, path);
    char *real = realpath(folder.len ? str_text(&folder) : ".", NULL);
    char *cwd = real || *path == '/' ? NULL : getcwd(NULL, 0);
    if (real)
        str_printf(out, "%s/%s", streq(real, "/") ? "" : real, slash ? slash + 1 : path);
    else
        str_printf(out, "%s%s%s", cwd ? cwd : "", cwd ? "/" : "", path);
    free(real);
    free(cwd);
    str_free(&folder);
}

static void to_file(void *ctx, const char *path, struct str *out)
{
    struct str model = { 0 }, session = { 0 }, folder = { 0 };
    add_absolute(&model, path);
    add_absolute(&session, ctx);
    file_add_folder(&folder, str_text(&session));
    bool below = str_starts(str_text(&model), str_text(&folder));
    str_add(out, str_text(&model) + (below ? folder.len : 0));
    str_free(&model);
    str_free(&session);
    str_free(&folder);
}

static void from_file(void *ctx, const char *path, struct str *out)
{
    if (*path != '/')
        file_add_folder(out, ctx);
    str_add(out, path);
}

void model_paths_to_file(struct str *out, const char *spec, const char *session)
{
    spec_map_files(out, spec, to_file, (void *)(uintptr_t)session);
}

void model_paths_from_file(struct str *out, const char *spec, const char *session)
{
    spec_map_files(out, spec, from_file, (void *)(uintptr_t)session);
}

static void no_path(void *ctx, const char *path, struct str *out)
{
    (void)ctx, (void)path, (void)out;
}

bool model_specs_same(const char *a, const char *b)
{
    struct str x = { 0 }, y = { 0 };
    spec_map_files(&x, a, no_path, NULL);
    spec_map_files(&y, b, no_path, NULL);
    bool same = streq(str_text(&x), str_text(&y));
    str_free(&x);
    str_free(&y);
    return same;
}
