/* Studies by name: those that are shipped, and files. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/base/file.h"
#include "kernels/base/vec.h"
#include "sessions/file/shipped.h"
#include "sessions/study/study_impl.h"

typedef VEC(char *) name_list;

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names of DIR/NAME.yaml, sorted. */
static void list_names(const char *dir, name_list *out)
{
    DIR *d = opendir(dir);
    for (struct dirent *f = d ? readdir(d) : NULL; f; f = readdir(d))
        if (str_ends(f->d_name, ".yaml")) {
            char *name = xstrdup(f->d_name);
            name[strlen(name) - strlen(".yaml")] = '\0';
            vec_push(out, name);
        }
    if (d)
        closedir(d);
    if (out->len > 0)
        qsort(out->data, (size_t)out->len, sizeof *out->data, by_name);
}

static void free_names(name_list *names)
{
    for (int i = 0; i < names->len; i++)
        free(names->data[i]);
    vec_free(names);
}

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
    name_list names = {0};
    list_names(dir, &names);
    const char *near = str_nearest(name, (const char *const *)names.data, names.len);
    err_set(e, ERR_NAME, "there is no study \"%.100s\"", name);
    if (near)
        err_fix(e, "did you mean %s?", near);
    else
        err_fix(e, "tilescope studies lists them; a file ends in .yaml");
    free_names(&names);
    return false;
}

bool study_open(const char *name, struct study **out, struct err *e)
{
    char dir[600], path[900];
    if (streq(name, "-") || strchr(name, '/') || str_ends(name, ".yaml") || str_ends(name, ".yml"))
        return open_file(name, out, e);
    if (!shipped_dir("studies", dir, sizeof dir)) {
        err_set(e, ERR_ENV, "the folder of the shipped studies is not there");
        return err_fix(e, "set TILESCOPE_HOME to the source tree, or name a file");
    }
    snprintf(path, sizeof path, "%s/%.200s.yaml", dir, name);
    return file_exists(path) ? open_file(path, out, e) : unknown_name(dir, name, e);
}

bool studies_list(struct study **out, int max, int *n, struct err *e)
{
    char dir[600], path[900];
    name_list names = {0};
    bool ok = true;
    *n = 0;
    if (!shipped_dir("studies", dir, sizeof dir))
        return true;
    list_names(dir, &names);
    for (int i = 0; ok && i < names.len && *n < max; i++) {
        snprintf(path, sizeof path, "%s/%.200s.yaml", dir, names.data[i]);
        ok = open_file(path, &out[*n], e);
        *n += ok;
    }
    free_names(&names);
    return ok;
}
