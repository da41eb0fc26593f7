#include "kernels/base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/base/cleanup.h"
#include "kernels/base/vec.h"

#define MOST_OPEN 16                      /* folders that nftw keeps open, at most */

/* Reads all of fd into buf. */
static bool read_all(int fd, const char *path, size_t max_bytes, struct str *buf, struct err *e)
{
    char chunk[16384];
    struct stat st;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (size_t)st.st_size <= max_bytes)
        str_reserve(buf, (size_t)st.st_size);
    for (;;) {
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            return err_set(e, ERR_CANCEL, "a signal interrupted the reading of %s", path);
        if (n < 0)
            return err_set(e, ERR_IO, "cannot read %s: %s", path, strerror(errno));
        if (n == 0)
            return true;
        if ((size_t)n > max_bytes - buf->len)
            return err_set(e, ERR_IO, "%s is larger than %zu bytes", path, max_bytes);
        str_add_n(buf, chunk, (size_t)n);
    }
}

/* Opens path for reading. regular: refuses pipes and devices, because reading them may block. */
static int open_readable(const char *path, bool regular, size_t max_bytes, struct err *e)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | (regular ? O_NONBLOCK | O_NOCTTY : 0));
    if (fd < 0 || fstat(fd, &st) != 0) {
        err_set(e, ERR_IO, "cannot open %s: %s", path, strerror(errno));
    } else if (S_ISDIR(st.st_mode)) {
        err_set(e, ERR_IO, "%s is a directory", path);
    } else if (regular && !S_ISREG(st.st_mode)) {
        err_set(e, ERR_IO, "%s is a pipe or a device, not a file", path);
    } else if (S_ISREG(st.st_mode) && (unsigned long long)st.st_size > max_bytes) {
        err_set(e, ERR_IO, "%s is larger than %zu bytes", path, max_bytes);
    } else {
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

static bool read_open(int fd, const char *name, size_t max_bytes, struct str *out, struct err *e)
{
    struct str buf = {0};
    if (!read_all(fd, name, max_bytes, &buf, e)) {
        str_free(&buf);
        return false;
    }
    str_free(out);
    *out = buf;
    return true;
}

static bool read_path(const char *path, bool regular, size_t max_bytes, struct str *out,
                      struct err *e)
{
    int fd = open_readable(path, regular, max_bytes, e);
    bool ok = fd >= 0 && read_open(fd, path, max_bytes, out, e);
    if (fd >= 0)
        close(fd);
    return ok;
}

bool file_read(const char *path, size_t max_bytes, struct str *out, struct err *e)
{
    return streq(path, "-") ? read_open(STDIN_FILENO, "standard input", max_bytes, out, e)
                            : read_path(path, false, max_bytes, out, e);
}

bool file_read_regular(const char *path, size_t max_bytes, struct str *out, struct err *e)
{
    return read_path(path, true, max_bytes, out, e);
}

size_t file_head(const char *path, char *out, size_t n)
{
    FILE *f = fopen(path, "rbe");
    size_t len = f ? fread(out, 1, n - 1, f) : 0;
    if (f)
        fclose(f);
    out[len] = '\0';
    return len;
}

bool file_self(char *path, size_t n)
{
    ssize_t len = readlink("/proc/self/exe", path, n - 1);
    path[len > 0 ? len : 0] = '\0';
    const char *started = len > 0 ? NULL : (const char *)getauxval(AT_EXECFN);
    char *found = started && *started ? realpath(started, NULL) : NULL;
    if (found && strlen(found) < n)
        strcpy(path, found);
    free(found);
    return path[0] != '\0';
}

void file_add_typed(struct str *out, const char *path)
{
    const char *home = path[0] == '~' && path[1] == '/' ? getenv("HOME") : NULL;
    str_printf(out, "%s%s", home ? home : "", home ? path + 1 : path);
}

bool file_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

static bool is_dir(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool make_one(const char *path, mode_t mode, struct err *e)
{
    if (mkdir(path, mode) == 0)
        return true;
    int why = errno;
    if (is_dir(path))
        return true;
    return err_set(e, ERR_IO, "cannot create the folder %s: %s", path,
                   why == EEXIST ? "a file of that name exists" : strerror(why));
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    (void)remove(path);                   /* a failure does not keep the rest from being removed */
    return 0;
}

void dir_remove(const char *path)
{
    nftw(path, remove_one, MOST_OPEN, FTW_DEPTH | FTW_PHYS);
}

bool dir_make(const char *path, struct err *e)
{
    struct str part = {0};
    bool ok = true;
    for (const char *p = path; ok && *p;) {
        size_t n = strspn(p, "/");
        n += strcspn(p + n, "/");
        str_add_n(&part, p, n);
        p += n;
        bool is_root = str_text(&part)[strspn(str_text(&part), "/")] == '\0';
        ok = is_root || make_one(str_text(&part), 0777, e);
    }
    str_free(&part);
    return ok;
}

/* Makes a folder in /tmp.  Fails unless it is a folder that belongs to this user: another user may
 * have created it as a trap. */
static bool dir_in_tmp(struct str *out, struct err *e)
{
    struct stat st;
    str_clear(out);
    str_printf(out, "/tmp/tilescope-%ld", (long)getuid());
    if (!make_one(str_text(out), 0700, e))
        return false;
    if (lstat(str_text(out), &st) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != getuid())
        return err_set(e, ERR_IO, "%s belongs to another user", str_text(out));
    return true;
}

/* XDG base directories: a relative value counts as unset; without a usable home, /tmp is used. */
static bool dir_xdg(const char *variable, const char *in_home, struct str *out, struct err *e)
{
    const char *base = getenv(variable), *home = getenv("HOME");
    str_clear(out);
    if (base && base[0] == '/') {
        str_printf(out, "%s/tilescope", base);
        return dir_make(str_text(out), e)
            || (!e->fix[0] && err_fix(e, "set %s to a folder that can be written", variable));
    }
    if (home && home[0] == '/') {
        str_printf(out, "%s/%s/tilescope", home, in_home);
        if (dir_make(str_text(out), e))
            return true;
    }
    return dir_in_tmp(out, e);
}

bool dir_cache(struct str *out, struct err *e)
{
    return dir_xdg("XDG_CACHE_HOME", ".cache", out, e);
}

bool dir_state(struct str *out, struct err *e)
{
    return dir_xdg("XDG_STATE_HOME", ".local/state", out, e);
}

bool dir_data(struct str *out, struct err *e)
{
    return dir_xdg("XDG_DATA_HOME", ".local/share", out, e);
}

bool dir_config(struct str *out)
{
    const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    size_t from = out->len;
    if (base && base[0] == '/')
        str_printf(out, "%s/tilescope", base);
    else if (home && home[0] == '/')
        str_printf(out, "%s/.config/tilescope", home);
    return out->len > from;
}

const char *path_beside(struct arena *a, const char *other, const char *path)
{
    const char *slash = strrchr(other, '/');
    if (path[0] == '/' || !slash)
        return path;
    return arena_printf(a, "%.*s/%s", (int)(slash - other), other, path);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char **dir_list(struct arena *a, const char *dir, const char *suffix, int *n)
{
    VEC(const char *) name = {0};
    DIR *d = opendir(dir);
    for (struct dirent *f = d ? readdir(d) : NULL; f; f = readdir(d))
        if (str_ends(f->d_name, suffix) && f->d_name[0] != '.')
            vec_push(&name, arena_strndup(a, f->d_name, strlen(f->d_name) - strlen(suffix)));
    if (d)
        closedir(d);
    if (name.len > 0)
        qsort(name.data, (size_t)name.len, sizeof *name.data, by_name);
    *n = name.len;
    const char **list = ARENA_DUP(a, name.data, name.len);
    vec_free(&name);
    return list;
}
