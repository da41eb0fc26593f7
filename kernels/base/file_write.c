/* Writes files that other processes may read and write at the same time.
 *
 * This works as in git.  A process that replaces FILE first creates FILE.tilescope-lock, writes the
 * new content into it and renames it to FILE.  Under the lock, the process compares FILE with the
 * state that it read before, so that two writers cannot both find FILE unchanged.
 *
 * The creator of a lock file also locks it with flock; the system releases this lock when the
 * process ends, however it ends.  A lock file that nobody has locked counts as left by a
 * killed process, and is removed.  If its creator had just not locked it yet, the creator tries
 * again (take_lock). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "kernels/base/file.h"
#include "kernels/base/cleanup.h"
#include "kernels/base/rng.h"

#define LOCK_ENDING ".tilescope-lock"
#define LOCK_WAIT_MS 5000
#define LOCK_NAP_MS 5
#define COMPARED_MAX_BYTES ((size_t)1 << 30)


uint64_t file_content(const char *data, size_t n)
{
    uint64_t hash = hash_bytes(n > 0 ? data : "", n, 1);
    return hash > FILE_ABSENT ? hash : FILE_ABSENT + 1;
}

uint64_t file_seen(const char *path)
{
    struct str text = {0};
    struct err ignored;
    struct stat st;
    if (stat(path, &st) != 0)
        return errno == ENOENT ? FILE_ABSENT : FILE_ANYTHING;
    bool read = file_read_regular(path, COMPARED_MAX_BYTES, &text, &ignored);
    uint64_t seen = read ? file_content(str_text(&text), text.len) : FILE_ANYTHING;
    str_free(&text);
    return seen;
}

/* Whether the file may be replaced: it is in the state `seen`, or `seen` is FILE_ANYTHING, or the
 * file was deleted in the meantime, so that the write can lose nothing. */
static bool is_as_seen(const char *path, uint64_t seen, struct err *e)
{
    uint64_t now = seen == FILE_ANYTHING ? seen : file_seen(path);
    if (now == seen || now == FILE_ABSENT)
        return true;
    err_set(e, ERR_CHANGED, seen == FILE_ABSENT ? "%s already exists, so nothing was written"
            : now == FILE_ANYTHING ? "%s cannot be read any more, so nothing was written"
            : "%s changed since it was read, so nothing was written", path);
    return err_fix(e, seen == FILE_ABSENT || now == FILE_ANYTHING ? "write to another name"
                   : "write to another name, or open the file again and repeat the change");
}

/* Finds the file to write: path itself, or the file that path links to, so that a link remains a
 * link.  Refuses dangling links and everything but regular files. */
static bool find_target(const char *path, struct str *target, struct err *e)
{
    struct stat st;
    str_add(target, path);
    if (lstat(path, &st) != 0)
        return errno == ENOENT || err_set(e, ERR_IO, "cannot write %s: %s", path, strerror(errno));
    if (S_ISLNK(st.st_mode)) {
        char *real = realpath(path, NULL);
        if (!real || stat(real, &st) != 0) {
            free(real);
            return err_set(e, ERR_IO,
                           "cannot write %s: it is a symbolic link to a file that does not exist",
                           path);
        }
        str_clear(target);
        str_add(target, real);
        free(real);
    }
    return S_ISREG(st.st_mode)
        || err_set(e, ERR_IO, "cannot write %s: it is not a regular file", path);
}

void file_add_folder(struct str *out, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash)
        str_add_n(out, path, (size_t)(slash - path) + 1);
}

/* --- The lock --------------------------------------------------------------------------------- */

/* Appends the name of the lock file.  A long name is cut, so some files share a lock. */
static void add_lock_name(struct str *out, const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    file_add_folder(out, path);
    str_printf(out, "%.*s%s", (int)(NAME_MAX - strlen(LOCK_ENDING)), base, LOCK_ENDING);
}

bool file_is_named(int fd, const char *path)
{
    struct stat a, b;
    return fstat(fd, &a) == 0 && lstat(path, &b) == 0 && a.st_dev == b.st_dev
        && a.st_ino == b.st_ino;
}

static void remove_left_over(const char *lock)
{
    int fd = open(lock, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && file_is_named(fd, lock))
        unlink(lock);
    close(fd);
}

void file_tidy(const char *dir)
{
    struct str path = {0};
    DIR *d = opendir(dir);
    for (struct dirent *entry; d && (entry = readdir(d)) != NULL;)
        if (str_ends(entry->d_name, LOCK_ENDING)) {
            str_clear(&path);
            str_printf(&path, "%s/%s", dir, entry->d_name);
            remove_left_over(str_text(&path));
        }
    if (d)
        closedir(d);
    str_free(&path);
}

/* Creates and locks the lock file; on a file system without locks, only creates it.  Before the
 * file is locked, another process may remove it as a leftover; this process then tries again, for
 * LOCK_WAIT_MS.  Returns a descriptor, or -1 with errno, which is EEXIST if another process has the
 * lock. */
static int take_lock(const char *lock)
{
    for (int ms = 0; ms <= LOCK_WAIT_MS; ms += LOCK_NAP_MS) {
        int fd = open(lock, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (fd < 0 && errno != EEXIST)
            return -1;
        if (fd < 0) {
            remove_left_over(lock);
        } else {
            bool locked = flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
            if (locked && file_is_named(fd, lock))
                return fd;
            close(fd);
        }
        nanosleep(&(struct timespec){ .tv_nsec = LOCK_NAP_MS * 1000000 }, NULL);
    }
    errno = EEXIST;
    return -1;
}

static bool no_lock(const char *path, const char *lock, struct err *e)
{
    if (errno != EEXIST)
        return err_set(e, ERR_IO, "cannot write %s: %s", path, strerror(errno));
    err_set(e, ERR_IO, "cannot write %s: another process is writing it", path);
    return err_fix(e, "try again; if no such process runs, delete %.300s", lock);
}

/* --- Writing ---------------------------------------------------------------------------------- */

bool file_put(int fd, const void *data, size_t n)
{
    for (const char *at = data; n > 0;) {
        ssize_t k = write(fd, at, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return false;
        at += k;
        n -= (size_t)k;
    }
    return true;
}

/* Makes the rename durable. A file system that cannot do so is not an error. */
static void sync_folder(const char *path)
{
    struct str dir = {0};
    file_add_folder(&dir, path);
    int fd = open(dir.len > 0 ? str_text(&dir) : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    str_free(&dir);
    if (fd < 0)
        return;
    (void)fsync(fd);
    close(fd);
}

/* Copies owner, group and permissions of the replaced file as far as allowed.  If owner and group
 * cannot both be kept, drops set-id bits.  If the group cannot be kept, gives the group no more
 * rights than others have. */
static bool keep_owner(int fd, const struct stat *old)
{
    struct stat st;
    mode_t mode = old->st_mode & 07777;
    if (fstat(fd, &st) != 0)
        return false;
    bool same = st.st_uid == old->st_uid && st.st_gid == old->st_gid;
    if (!same && fchown(fd, old->st_uid, old->st_gid) != 0) {
        mode &= 0777;
        if (st.st_gid != old->st_gid && fchown(fd, (uid_t)-1, old->st_gid) != 0)
            mode &= 0707 | (mode & 07) << 3;
    }
    return fchmod(fd, mode) == 0;
}

/* Takes the lock file off the list of cleanup.h.  After the file was renamed or removed, its name
 * may belong to another process, whose file a signal handler must not delete. */
static void forget(int *slot)
{
    cleanup_forget(*slot);
    *slot = -1;
}

/* A write of n bytes of data to target, if target is in the state `seen`.  quick: without fsync. */
struct write { const char *target; uint64_t seen; const char *data; size_t n; bool quick; };

/* A write that is not finished: the new file is the lock file of the target. */
struct file_pending { struct str target, lock; int fd, slot; bool quick; };

static bool write_locked(struct file_pending *p, const struct write *w, struct err *e)
{
    struct stat old;
    bool ok = (stat(w->target, &old) != 0 || keep_owner(p->fd, &old))
           && file_put(p->fd, w->data, w->n) && (w->quick || fsync(p->fd) == 0);
    return ok || err_set(e, ERR_IO, "cannot write %s: %s", w->target, strerror(errno));
}

static bool finish(struct file_pending *p, bool keep, struct err *e)
{
    const char *target = str_text(&p->target), *lock = str_text(&p->lock);
    forget(&p->slot);
    bool kept = keep && rename(lock, target) == 0;
    if (keep && !kept)
        err_set(e, ERR_IO, "cannot write %s: %s", target, strerror(errno));
    if (p->fd >= 0 && !kept)
        unlink(lock);
    if (kept && !p->quick)
        sync_folder(target);
    if (p->fd >= 0)
        close(p->fd);
    str_free(&p->target);
    str_free(&p->lock);
    return kept || !keep;
}

static bool begin(struct file_pending *p, const struct write *w, struct err *e)
{
    *p = (struct file_pending){ .slot = -1, .quick = w->quick };
    str_add(&p->target, w->target);
    add_lock_name(&p->lock, w->target);
    p->fd = take_lock(str_text(&p->lock));
    bool ok = p->fd >= 0 || no_lock(w->target, str_text(&p->lock), e);
    p->slot = ok ? cleanup_note_file(str_text(&p->lock)) : -1;
    ok = ok && is_as_seen(w->target, w->seen, e) && write_locked(p, w, e);
    if (!ok)
        finish(p, false, NULL);
    return ok;
}

static bool replace(const struct write *w, struct err *e)
{
    struct file_pending p;
    return begin(&p, w, e) && finish(&p, true, e);
}

bool file_begin(const char *path, const char *data, size_t n, struct file_pending **out,
                struct err *e)
{
    struct str target = {0};
    struct file_pending *p = xmalloc(sizeof *p);
    bool ok = find_target(path, &target, e)
           && begin(p, &(struct write){ str_text(&target), FILE_ANYTHING, data, n, false }, e);
    str_free(&target);
    if (ok)
        *out = p;
    else
        free(p);
    return ok;
}

bool file_finish(struct file_pending *p, bool keep, struct err *e)
{
    bool ok = finish(p, keep, e);
    free(p);
    return ok;
}

/* Whether path is a pipe or a device, which is written to directly. */
static bool is_stream(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && (S_ISCHR(st.st_mode) || S_ISFIFO(st.st_mode));
}

static bool write_stream(const char *path, const char *data, size_t n, struct err *e)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    bool ok = fd >= 0 && file_put(fd, data, n);
    int why = errno;
    if (fd >= 0)
        close(fd);
    return ok || err_set(e, ERR_IO, "cannot write %s: %s", path, strerror(why));
}

bool file_replace(const char *path, uint64_t seen, const char *data, size_t n, struct err *e)
{
    struct str target = {0};
    if (is_stream(path))
        return write_stream(path, data, n, e);
    struct write w = { .seen = seen, .data = data, .n = n };
    bool ok = find_target(path, &target, e);
    w.target = str_text(&target);
    ok = ok && replace(&w, e);
    str_free(&target);
    return ok;
}

bool file_write_quick(const char *path, const char *data, size_t n, struct err *e)
{
    return replace(&(struct write){ path, FILE_ANYTHING, data, n, true }, e);
}

bool file_write_atomic(const char *path, const char *data, size_t n, struct err *e)
{
    return file_replace(path, FILE_ANYTHING, data, n, e);
}

static bool may_write_beside(const char *target, struct err *e)
{
    struct str dir = {0};
    file_add_folder(&dir, target);
    bool ok = access(dir.len > 0 ? str_text(&dir) : ".", W_OK | X_OK) == 0;
    if (!ok)
        err_set(e, ERR_IO, "cannot write %s: %s", target, strerror(errno));
    str_free(&dir);
    return ok;
}

bool file_may_write(const char *path, struct err *e)
{
    struct str target = {0};
    if (is_stream(path))
        return access(path, W_OK) == 0 ||
               err_set(e, ERR_IO, "cannot write %s: %s", path, strerror(errno));
    bool ok = find_target(path, &target, e) && may_write_beside(str_text(&target), e);
    str_free(&target);
    return ok;
}

/* --- Names ------------------------------------------------------------------------------------ */

bool file_same(const char *a, const char *b)
{
    struct stat s, t;
    return streq(a, b) || (stat(a, &s) == 0 && stat(b, &t) == 0 && s.st_dev == t.st_dev
                           && s.st_ino == t.st_ino);
}

/* Appends the numbered name "dir/a-2.yaml" for dir/a.yaml and i = 2. */
static void add_numbered(struct str *out, const char *path, int i)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    size_t n = dot && dot > (slash ? slash + 1 : path) ? (size_t)(dot - path) : strlen(path);
    str_printf(out, "%.*s-%d%s", (int)n, path, i, path + n);
}

bool file_write_beside(const char *path, const char *data, size_t n, struct str *where,
                       struct err *e)
{
    bool ok = false;
    for (int i = 2; !ok && i < 1000; i++) {
        str_clear(where);
        add_numbered(where, path, i);
        ok = file_replace(str_text(where), FILE_ABSENT, data, n, e);
        if (!ok && e->code != ERR_CHANGED)
            break;
    }
    return ok;
}
