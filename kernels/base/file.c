#include "kernels/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads fd to its end into buf. */
static bool read_all(int fd, const char *path, size_t max_bytes, struct str *buf, struct err *e)
{
    char chunk[16384];
    for (;;) {
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(e, ERR_IO, "cannot read %s: %s", path, strerror(errno));
        if (n == 0)
            return true;
        if ((size_t)n > max_bytes - buf->len)
            return err_set(e, ERR_IO, "%s is larger than %zu bytes", path, max_bytes);
        str_add_n(buf, chunk, (size_t)n);
    }
}

static int open_readable(const char *path, size_t max_bytes, struct err *e)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        err_set(e, ERR_IO, "cannot open %s: %s", path, strerror(errno));
    } else if (S_ISDIR(st.st_mode)) {
        err_set(e, ERR_IO, "%s is a directory", path);
    } else if (S_ISREG(st.st_mode) && (unsigned long long)st.st_size > max_bytes) {
        err_set(e, ERR_IO, "%s is larger than %zu bytes", path, max_bytes);
    } else {
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

bool file_read(const char *path, size_t max_bytes, struct str *out, struct err *e)
{
    bool is_stdin = streq(path, "-");
    struct str buf = {0};
    int fd = is_stdin ? STDIN_FILENO : open_readable(path, max_bytes, e);
    if (fd < 0)
        return false;
    bool ok = read_all(fd, is_stdin ? "standard input" : path, max_bytes, &buf, e);
    if (!is_stdin)
        close(fd);
    if (!ok) {
        str_free(&buf);
        return false;
    }
    str_free(out);
    *out = buf;
    return true;
}

bool file_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

/* Where the data must really go: path itself, or what it links to when that is a regular file,
 * so that a link stays a link.  Directories and dangling links are refused.
 * *mode gets the permissions of the existing file, or -1. */
static bool resolve_target(const char *path, struct str *target, int *mode, struct err *e)
{
    struct stat st;
    *mode = -1;
    str_add(target, path);
    if (lstat(path, &st) != 0)
        return errno == ENOENT || err_set(e, ERR_IO, "cannot write %s: %s", path, strerror(errno));
    if (S_ISLNK(st.st_mode)) {
        char *real = realpath(path, NULL);
        if (!real || stat(real, &st) != 0) {
            free(real);
            return err_set(e, ERR_IO, "cannot write %s: it is a link to nowhere", path);
        }
        str_clear(target);
        str_add(target, real);
        free(real);
    }
    if (!S_ISREG(st.st_mode))
        return err_set(e, ERR_IO, "cannot write %s: it is not a regular file", path);
    *mode = (int)(st.st_mode & 07777);
    return true;
}

/* A new file in the folder dir.  Not mkstemp: the umask applies to it as to any other new file. */
static int open_temp(const char *dir, struct str *name)
{
    static atomic_uint counter;
    for (int tries = 0; tries < 1000; tries++) {
        str_clear(name);
        unsigned n = atomic_fetch_add(&counter, 1u);
        str_printf(name, "%s.tilescope-%ld-%u", dir, (long)getpid(), n);
        int fd = open(str_text(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

static bool write_all(int fd, const char *data, size_t n)
{
    while (n > 0) {
        ssize_t k = write(fd, data, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return false;
        data += k;
        n -= (size_t)k;
    }
    return true;
}

/* "a/b/" for "a/b/c", "" for "c". */
static void add_folder(struct str *out, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash)
        str_add_n(out, path, (size_t)(slash - path) + 1);
}

/* Makes the rename itself durable; a file system that cannot is no reason to fail. */
static void sync_folder(const char *dir)
{
    int fd = open(*dir ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)fsync(fd);
    close(fd);
}

static bool write_beside(const char *target, int mode, const char *data, size_t n, struct err *e)
{
    struct str dir = {0}, temp = {0};
    add_folder(&dir, target);
    int fd = open_temp(str_text(&dir), &temp);
    bool ok = fd >= 0 && (mode < 0 || fchmod(fd, (mode_t)mode) == 0)
           && write_all(fd, data, n) && fsync(fd) == 0;
    int why = errno;
    if (fd >= 0 && close(fd) != 0 && ok) {
        ok = false;
        why = errno;
    }
    if (ok && rename(str_text(&temp), target) != 0) {
        ok = false;
        why = errno;
    }
    if (ok)
        sync_folder(str_text(&dir));
    else if (fd >= 0)
        unlink(str_text(&temp));
    str_free(&dir);
    str_free(&temp);
    return ok || err_set(e, ERR_IO, "cannot write %s: %s", target, strerror(why));
}

/* What can only be written to as it is. */
static bool is_stream(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && (S_ISCHR(st.st_mode) || S_ISFIFO(st.st_mode));
}

static bool write_stream(const char *path, const char *data, size_t n, struct err *e)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    bool ok = fd >= 0 && write_all(fd, data, n);
    int why = errno;
    if (fd >= 0 && close(fd) != 0 && ok) {
        ok = false;
        why = errno;
    }
    return ok || err_set(e, ERR_IO, "cannot write %s: %s", path, strerror(why));
}

bool file_write_atomic(const char *path, const char *data, size_t n, struct err *e)
{
    struct str target = {0};
    int mode;
    if (is_stream(path))
        return write_stream(path, data, n, e);
    bool ok = resolve_target(path, &target, &mode, e)
           && write_beside(str_text(&target), mode, data, n, e);
    str_free(&target);
    return ok;
}

static bool may_write_beside(const char *target, struct err *e)
{
    struct str dir = {0};
    const char *slash = strrchr(target, '/');
    if (slash)
        str_add_n(&dir, target, (size_t)(slash - target) + 1);
    bool ok = access(dir.len > 0 ? str_text(&dir) : ".", W_OK | X_OK) == 0;
    if (!ok)
        err_set(e, ERR_IO, "cannot write %s: %s", target, strerror(errno));
    str_free(&dir);
    return ok;
}

bool file_may_write(const char *path, struct err *e)
{
    struct str target = {0};
    int mode;
    if (is_stream(path))
        return access(path, W_OK) == 0 ||
               err_set(e, ERR_IO, "cannot write %s: %s", path, strerror(errno));
    bool ok = resolve_target(path, &target, &mode, e) && may_write_beside(str_text(&target), e);
    str_free(&target);
    return ok;
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
    return err_set(e, ERR_IO, "cannot make the folder %s: %s", path,
                   why == EEXIST ? "a file of that name exists" : strerror(why));
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

/* A folder in /tmp that somebody else made first is a trap: it must be ours, and a folder. */
static bool dir_in_tmp(struct str *out, struct err *e)
{
    struct stat st;
    str_clear(out);
    str_printf(out, "/tmp/tilescope-%ld", (long)getuid());
    if (!make_one(str_text(out), 0700, e))
        return false;
    if (lstat(str_text(out), &st) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != getuid())
        return err_set(e, ERR_IO, "%s belongs to someone else", str_text(out));
    return true;
}

/* XDG base directories: a relative value counts as unset; without a usable home, /tmp. */
static bool dir_xdg(const char *variable, const char *in_home, struct str *out, struct err *e)
{
    const char *base = getenv(variable), *home = getenv("HOME");
    str_clear(out);
    if (base && base[0] == '/') {
        str_printf(out, "%s/tilescope", base);
        return dir_make(str_text(out), e);
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
