#include "profile/build/objcache.h"

#include "kernels/base/file.h"
#include "kernels/base/rng.h"
#include "kernels/base/vec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_OBJECT_BYTES ((size_t)64 << 20)
#define STALE_TEMP_S 3600
#define WAIT_MS 10
#define MOST_WAIT_S 150.0                 /* most seconds to wait for a lock */

/* The checksum at the end of KEY.so. */
struct seal { char magic[8]; uint64_t bytes, hash; };
static const char seal_magic[8] = "tsobj-1";

static uint64_t image_hash(const struct str *image, size_t n)
{
    return hash_bytes(image->data, n, 0x7473u);
}

/* Reads the file, and removes its seal from *image. Returns false if the seal does not match. */
static bool read_sealed(const char *path, struct str *image)
{
    struct seal seal;
    struct err ignored;
    if (!file_read(path, MAX_OBJECT_BYTES, image, &ignored) || image->len <= sizeof seal)
        return false;
    size_t n = image->len - sizeof seal;
    memcpy(&seal, image->data + n, sizeof seal);
    image->len = n;
    image->data[n] = '\0';
    return memcmp(seal.magic, seal_magic, sizeof seal.magic) == 0 && seal.bytes == n
        && seal.hash == image_hash(image, n);
}

static bool is_sealed(const char *path)
{
    struct str image = {0};
    bool ok = read_sealed(path, &image);
    str_free(&image);
    return ok;
}

bool objcache_read(const char *so_path, struct str *out, struct err *e)
{
    str_clear(out);
    return read_sealed(so_path, out) || err_set(e, ERR_IO, "%s is damaged", so_path);
}

static bool add_seal(const char *path, struct err *e)
{
    struct str image = {0};
    if (!file_read(path, MAX_OBJECT_BYTES, &image, e))
        return false;
    struct seal seal = { .bytes = image.len, .hash = image_hash(&image, image.len) };
    memcpy(seal.magic, seal_magic, sizeof seal.magic);
    str_free(&image);
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    bool ok = fd >= 0 && file_put(fd, &seal, sizeof seal);
    int why = errno;
    if (fd >= 0)
        close(fd);
    return ok || err_set(e, ERR_IO, "cannot write %s: %s", path, strerror(why));
}

struct entry { char *name; int64_t bytes; struct timespec when; };
typedef VEC(struct entry) entries;

static int by_age(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->when.tv_sec != y->when.tv_sec)
        return x->when.tv_sec < y->when.tv_sec ? -1 : 1;
    return (x->when.tv_nsec > y->when.tv_nsec) - (x->when.tv_nsec < y->when.tv_nsec);
}

static bool is_ours(const char *name)
{
    return str_ends(name, ".c") || str_ends(name, ".so");
}

static void read_folder(int dir_fd, DIR *dir, entries *out)
{
    struct dirent *d;
    while ((d = readdir(dir)) != NULL) {
        struct stat st;
        bool lock = str_ends(d->d_name, ".lock");
        if ((!lock && !is_ours(d->d_name))
            || fstatat(dir_fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
            continue;
        if (str_starts(d->d_name, "tmp-") && time(NULL) - st.st_mtime > STALE_TEMP_S) {
            unlinkat(dir_fd, d->d_name, 0);
            continue;
        }
        if (lock || str_starts(d->d_name, "tmp-"))  /* a tmp- file is being written */
            continue;
        struct entry x = { xstrdup(d->d_name), st.st_size, st.st_mtim };
        vec_push(out, x);
    }
}

/* Whether `name` is one of the two files of an entry. */
static bool is_of(const struct objcache_slot *slot, const char *name)
{
    return streq(name, strrchr(slot->c_path, '/') + 1)
        || streq(name, strrchr(slot->so_path, '/') + 1);
}

/* Trims the folder. kept: an entry that stays, or NULL. */
static void trim(const char *folder, int64_t max_bytes, const struct objcache_slot *kept)
{
    entries all = {0};
    int64_t total = 0;
    DIR *dir = opendir(folder);
    if (!dir)
        return;
    read_folder(dirfd(dir), dir, &all);
    for (int i = 0; i < all.len; i++)
        total += all.data[i].bytes;
    if (all.len)
        qsort(all.data, (size_t)all.len, sizeof *all.data, by_age);
    for (int i = 0; i < all.len && total > max_bytes; i++)
        if (!(kept && is_of(kept, all.data[i].name))
            && unlinkat(dirfd(dir), all.data[i].name, 0) == 0)
            total -= all.data[i].bytes;
    for (int i = 0; i < all.len; i++)
        free(all.data[i].name);
    vec_free(&all);
    closedir(dir);
}

void objcache_trim(const char *folder, int64_t max_bytes)
{
    trim(folder, max_bytes, NULL);
}

static bool find_folder(struct str *out, struct err *e)
{
    static atomic_flag trimmed = ATOMIC_FLAG_INIT;
    if (!dir_cache(out, e))
        return false;
    str_add(out, "/objects");
    if (!dir_make(str_text(out), e))
        return false;
    if (!atomic_flag_test_and_set(&trimmed))
        objcache_trim(str_text(out), objcache_max_bytes());
    return true;
}

int64_t objcache_max_bytes(void)
{
    const char *text = getenv("TILESCOPE_CACHE_MIB");
    char *end;
    long mib = text ? strtol(text, &end, 10) : 0;
    return mib > 0 && !*end && mib < 1 << 20 ? (int64_t)mib << 20 : OBJCACHE_MAX_BYTES;
}

bool objcache_slot(const struct str *text, struct objcache_slot *out, struct err *e)
{
    struct str dir = {0};
    if (!find_folder(&dir, e)) {
        str_free(&dir);
        return false;
    }
    unsigned long long key[2] = { hash_bytes(text->data, text->len, 1),
                                  hash_bytes(text->data, text->len, 2) };
    const char *d = str_text(&dir);
    struct objcache_slot s;
    bool fits = dir.len + 64 < sizeof s.c_path;
    if (fits) {
        snprintf(s.c_path, sizeof s.c_path, "%.440s/%016llx%016llx.c", d, key[0], key[1]);
        snprintf(s.so_path, sizeof s.so_path, "%.440s/%016llx%016llx.so", d, key[0], key[1]);
        snprintf(s.temp_c, sizeof s.temp_c, "%.440s/tmp-%016llx%016llx.c", d, key[0], key[1]);
        snprintf(s.temp_so, sizeof s.temp_so, "%.440s/tmp-%016llx%016llx.so", d, key[0], key[1]);
        s.lock = OBJCACHE_NO_LOCK;
        *out = s;
    } else {
        err_set(e, ERR_ENV, "the path of the cache folder is too long: %.200s...", d);
    }
    str_free(&dir);
    return fits;
}

static bool is_text(const char *path, const struct str *text)
{
    struct str stored = {0};
    struct err ignored;
    bool same = file_read(path, MAX_OBJECT_BYTES, &stored, &ignored) && stored.len == text->len
             && memcmp(stored.data, text->data, text->len) == 0;
    str_free(&stored);
    return same;
}

/* A hit sets the time of both files to now, because trimming removes the oldest files. */
bool objcache_hit(const struct objcache_slot *slot, const struct str *text)
{
    bool hit = is_text(slot->c_path, text) && is_sealed(slot->so_path);
    if (hit) {
        utimensat(AT_FDCWD, slot->c_path, NULL, 0);
        utimensat(AT_FDCWD, slot->so_path, NULL, 0);
    }
    return hit;
}

/* --- Who makes an object ---------------------------------------------------------------------- */

static void lock_path(const struct objcache_slot *slot, char out[520])
{
    snprintf(out, 520, "%.*s.lock", (int)strlen(slot->temp_c) - 2, slot->temp_c);
}

/* Stores names for temp_c and temp_so that no other process uses. They are needed when files cannot
 * be locked, or when another process does not release the lock. */
static void own_names(struct objcache_slot *slot)
{
    static atomic_uint counter;
    unsigned n = atomic_fetch_add(&counter, 1u);
    int folder = (int)(strrchr(slot->temp_c, '/') - slot->temp_c);
    snprintf(slot->temp_so, sizeof slot->temp_so, "%.*s/tmp-%ld-%u.so", folder, slot->temp_c,
             (long)getpid(), n);
    snprintf(slot->temp_c, sizeof slot->temp_c, "%.*s.c", (int)strlen(slot->temp_so) - 3,
             slot->temp_so);
    slot->lock = OBJCACHE_OWN_NAMES;
}

/* Waits for the lock.  Returns false with errno = ECANCELED, ETIMEDOUT after MOST_WAIT_S, or the
 * reason why the file cannot be locked. */
static bool wait_for(int fd, const struct cancel *c)
{
    const struct timespec nap = { .tv_nsec = WAIT_MS * 1000000L };
    double end = clock_s() + MOST_WAIT_S;
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EINTR)
            continue;
        if (errno != EWOULDBLOCK)
            return false;
        errno = cancelled(c) ? ECANCELED : clock_s() > end ? ETIMEDOUT : 0;
        if (errno)
            return false;
        nanosleep(&nap, NULL);
    }
    return true;
}

/* Locks the entry; tries again when the previous holder of the lock has removed the file. */
bool objcache_lock(struct objcache_slot *slot, const struct cancel *c, struct err *e)
{
    char path[520];
    lock_path(slot, path);
    for (;;) {
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        bool locked = fd >= 0 && wait_for(fd, c);
        int why = errno;
        if (locked && file_is_named(fd, path)) {
            slot->lock = fd;
            return true;
        }
        if (fd >= 0)
            close(fd);
        if (!locked && why == ECANCELED)
            return err_set(e, ERR_CANCEL, "cancelled");
        if (!locked)
            break;
    }
    own_names(slot);                     /* if the folder is missing, objcache_write reports it */
    return true;
}

static void unlock(struct objcache_slot *slot)
{
    char path[520];
    if (slot->lock >= 0) {
        lock_path(slot, path);
        unlink(path);
        close(slot->lock);
    }
    slot->lock = OBJCACHE_NO_LOCK;
}

bool objcache_left(const struct objcache_slot *slot, const struct str *text)
{
    struct stat st;
    return slot->lock >= 0 && fstat(slot->lock, &st) == 0 && st.st_size > 0
        && is_text(slot->temp_c, text) && file_exists(slot->temp_so);
}

/* --- Writing ---------------------------------------------------------------------------------- */

/* Writes temp_c.  file_write_atomic is not needed: an entry need not survive a power cut, and its
 * fsync would delay the compilation. */
bool objcache_write(const struct objcache_slot *slot, const struct str *text, struct err *e)
{
    unlink(slot->temp_so);
    FILE *f = fopen(slot->temp_c, "we");
    bool ok = f && fwrite(str_text(text), 1, text->len, f) == text->len
           && (slot->lock < 0 || ftruncate(slot->lock, 0) == 0);
    int why = errno;
    if (f && fclose(f) != 0) {
        ok = false;
        why = errno;
    }
    if (ok)
        return true;
    unlink(slot->temp_c);
    err_set(e, ERR_ENV, "cannot write %s: %s", slot->temp_c, strerror(why));
    return e->fix[0] ? false : err_fix(e, "set XDG_CACHE_HOME to a folder that can be written");
}

static int64_t file_bytes(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (int64_t)st.st_size : 0;
}

/* Counts the bytes that this process has stored since the last trim, and trims after an eighth of
 * the limit. Keeps the entry that was just stored, which may be larger than the limit: it will be
 * loaded next. Of two threads that reach the eighth together, only one trims. */
static void count_stored(const struct objcache_slot *slot)
{
    static _Atomic int64_t added;
    int64_t bytes = file_bytes(slot->c_path) + file_bytes(slot->so_path);
    int64_t max = objcache_max_bytes(), now = atomic_fetch_add(&added, bytes) + bytes;
    if (now < max / 8 || !atomic_compare_exchange_strong(&added, &now, 0))
        return;
    struct str folder = {0};
    str_add_n(&folder, slot->so_path, (size_t)(strrchr(slot->so_path, '/') - slot->so_path));
    trim(str_text(&folder), max, slot);
    str_free(&folder);
}

bool objcache_store(struct objcache_slot *slot, struct err *e)
{
    if (!is_sealed(slot->temp_so) && !add_seal(slot->temp_so, e))
        return false;
    if (rename(slot->temp_c, slot->c_path) != 0 || rename(slot->temp_so, slot->so_path) != 0)
        return err_set(e, ERR_ENV, "cannot write %s: %s", slot->so_path, strerror(errno));
    unlock(slot);
    count_stored(slot);
    return true;
}

void objcache_drop(struct objcache_slot *slot)
{
    if (slot->lock == OBJCACHE_NO_LOCK)
        return;
    unlink(slot->temp_c);
    unlink(slot->temp_so);
    unlock(slot);
}
