/* The folder of objects: names, locks, what a killed process left, and what is deleted when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "kernels/base/arena.h"
#include "kernels/base/file.h"
#include "profile/build/objcache.h"
#include "tests/unit/temp_dir.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static char folder[200];                  /* of the objects */

static const char *in_folder(const char *name)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* A file of that many bytes; when: its time, 0: now. */
static void put(const char *path, size_t bytes, time_t when, long nanoseconds)
{
    const struct timespec t[2] = { { when, nanoseconds }, { when, nanoseconds } };
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0 || (when && futimens(fd, t) != 0))
        fail_msg("%s", path);
    close(fd);
}

static struct objcache_slot slot_of(const char *source, struct str *text)
{
    struct objcache_slot slot;
    struct err e;
    str_clear(text);
    str_add(text, source);
    if (!objcache_slot(text, &slot, &e))
        fail_msg("%s", e.text);
    return slot;
}

/* The first object that a process asks for trims what earlier ones left. */
static void the_first_slot_trims(void **state)
{
    struct str text = {0};
    struct err e;
    (void)state;
    assert_true(dir_make(folder, &e));
    put(in_folder("old.so"), 2 << 20, 1000000, 0);
    setenv("TILESCOPE_CACHE_MIB", "1", 1);
    struct objcache_slot slot = slot_of("int first;\n", &text);
    assert_false(file_exists(in_folder("old.so")));
    put(in_folder("old.so"), 2 << 20, 1000000, 0);
    slot = slot_of("int first;\n", &text);
    assert_true(file_exists(in_folder("old.so")));
    assert_int_equal(unlink(in_folder("old.so")), 0);
    unsetenv("TILESCOPE_CACHE_MIB");
    assert_int_equal(slot.lock, OBJCACHE_NO_LOCK);
    str_free(&text);
}

static void the_limit_is_a_number(void **state)
{
    static const struct { const char *mib; int64_t bytes; } row[] = {
        { "1", 1 << 20 }, { "1048575", (int64_t)1048575 << 20 },
        { "1048576", OBJCACHE_MAX_BYTES }, { "0", OBJCACHE_MAX_BYTES },
        { "-1", OBJCACHE_MAX_BYTES }, { "", OBJCACHE_MAX_BYTES }, { "1x", OBJCACHE_MAX_BYTES },
        { "x", OBJCACHE_MAX_BYTES },
    };
    (void)state;
    for (int i = 0; i < COUNT_OF(row); i++) {
        setenv("TILESCOPE_CACHE_MIB", row[i].mib, 1);
        assert_int_equal(objcache_max_bytes(), row[i].bytes);
    }
    unsetenv("TILESCOPE_CACHE_MIB");
    assert_int_equal(objcache_max_bytes(), OBJCACHE_MAX_BYTES);
}

/* The four names share a key of 32 digits, which only the text decides. */
static void names_come_from_the_text(void **state)
{
    struct str text = {0};
    char want[600];
    (void)state;
    struct objcache_slot a = slot_of("int a;\n", &text), again = slot_of("int a;\n", &text);
    struct objcache_slot b = slot_of("int b;\n", &text);
    const char *key = a.c_path + strlen(folder) + 1;
    assert_int_equal(strspn(key, "0123456789abcdef"), 32);
    assert_string_equal(key + 32, ".c");
    snprintf(want, sizeof want, "%s/%.32s.so", folder, key);
    assert_string_equal(a.so_path, want);
    snprintf(want, sizeof want, "%s/tmp-%.32s.c", folder, key);
    assert_string_equal(a.temp_c, want);
    snprintf(want, sizeof want, "%s/tmp-%.32s.so", folder, key);
    assert_string_equal(a.temp_so, want);
    assert_string_equal(again.c_path, a.c_path);
    for (int half = 0; half < 32; half += 16)            /* two hashes of the text */
        assert_memory_not_equal(key + half, b.c_path + strlen(folder) + 1 + half, 16);
    assert_memory_not_equal(key, key + 16, 16);
    str_free(&text);
}

/* From a miss to a hit, with the object of a compiler whose tilescope was killed in between. */
static void an_object_is_stored_once(void **state)
{
    struct str text = {0}, other = {0}, object = {0};
    struct stat st;
    struct err e;
    char lock[600];
    (void)state;
    struct objcache_slot slot = slot_of("int stored;\n", &text);
    str_add(&other, "int stores;\n");
    assert_false(objcache_hit(&slot, &text));
    objcache_drop(&slot);                                /* nothing is locked: nothing happens */
    assert_true(objcache_lock(&slot, NULL, &e));
    assert_true(slot.lock >= 0);
    snprintf(lock, sizeof lock, "%.*s.lock", (int)strlen(slot.temp_c) - 2, slot.temp_c);
    assert_true(file_exists(lock));
    assert_true(objcache_write(&slot, &text, &e));
    put(slot.temp_so, 0, 0, 0);
    assert_true(file_write_quick(slot.temp_so, "object", 6, &e));
    assert_false(objcache_left(&slot, &text));           /* its compiler did not say that it is */
    assert_int_equal(write(slot.lock, "built\n", 6), 6);
    assert_true(objcache_left(&slot, &text));
    assert_false(objcache_left(&slot, &other));
    assert_true(objcache_store(&slot, &e));
    assert_int_equal(slot.lock, OBJCACHE_NO_LOCK);
    assert_false(objcache_left(&slot, &text));
    assert_false(file_exists(lock) || file_exists(slot.temp_c) || file_exists(slot.temp_so));
    put(slot.c_path, 0, 0, 0);
    assert_false(objcache_hit(&slot, &text));
    assert_true(file_write_quick(slot.c_path, text.data, text.len, &e));
    assert_false(objcache_hit(&slot, &other));
    const struct timespec old[2] = { { 1000000, 0 }, { 1000000, 0 } };
    assert_int_equal(utimensat(AT_FDCWD, slot.c_path, old, 0), 0);
    assert_int_equal(utimensat(AT_FDCWD, slot.so_path, old, 0), 0);
    assert_true(objcache_hit(&slot, &text));             /* it is used, so it is not old */
    assert_true(stat(slot.c_path, &st) == 0 && st.st_mtime > 1000000);
    assert_true(stat(slot.so_path, &st) == 0 && st.st_mtime > 1000000);
    assert_true(objcache_read(slot.so_path, &object, &e));
    assert_string_equal(str_text(&object), "object");
    assert_int_equal(object.len, 6);
    assert_true(file_write_quick(slot.so_path, "object", 6, &e));
    assert_false(objcache_read(slot.so_path, &object, &e));
    assert_int_equal(e.code, ERR_IO);
    assert_true(str_starts(e.text, slot.so_path) && str_ends(e.text, ".so is damaged"));
    assert_false(objcache_hit(&slot, &text));
    str_free(&text);
    str_free(&other);
    str_free(&object);
}

/* What was begun and not finished is removed, with its lock. */
static void a_dropped_slot_leaves_nothing(void **state)
{
    struct str text = {0};
    struct err e;
    (void)state;
    struct objcache_slot slot = slot_of("int dropped;\n", &text), later = slot;
    assert_true(objcache_lock(&slot, NULL, &e));
    assert_true(objcache_write(&slot, &text, &e));
    assert_true(file_write_quick(slot.temp_so, "half", 4, &e));
    objcache_drop(&slot);
    assert_int_equal(slot.lock, OBJCACHE_NO_LOCK);
    assert_false(file_exists(slot.temp_c) || file_exists(slot.temp_so));
    /* the object of an earlier compiler is not taken for one of this text */
    assert_true(objcache_lock(&later, NULL, &e));
    assert_true(file_write_quick(later.temp_so, "half", 4, &e));
    assert_int_equal(write(later.lock, "built\n", 6), 6);
    assert_true(objcache_write(&later, &text, &e));
    assert_false(file_exists(later.temp_so));
    assert_false(objcache_left(&later, &text));
    assert_true(file_write_quick(later.temp_so, "half", 4, &e));
    assert_false(objcache_left(&later, &text));
    objcache_drop(&later);
    str_free(&text);
}

static void waiting_can_be_cancelled(void **state)
{
    struct str text = {0};
    struct cancel c = {0};
    struct err e;
    (void)state;
    struct objcache_slot first = slot_of("int locked;\n", &text), second = first;
    assert_true(objcache_lock(&first, &c, &e));
    atomic_store(&c.raised, 1);
    assert_false(objcache_lock(&second, &c, &e));
    assert_int_equal(e.code, ERR_CANCEL);
    assert_string_equal(e.text, "cancelled");
    assert_int_equal(second.lock, OBJCACHE_NO_LOCK);
    objcache_drop(&first);
    assert_true(objcache_lock(&second, &c, &e));
    assert_true(second.lock >= 0);
    objcache_drop(&second);
    str_free(&text);
}

/* Without a lock, the temporary files have names of their own; without a folder, that is said. */
static void a_slot_without_a_lock_has_own_names(void **state)
{
    struct str text = {0};
    struct err e;
    char stem[600];
    (void)state;
    struct objcache_slot slot = slot_of("int alone;\n", &text), other = slot;
    dir_remove(folder);
    for (int i = 0; i < 2; i++) {
        struct objcache_slot *s = i ? &other : &slot;
        assert_true(objcache_lock(s, NULL, &e));
        assert_int_equal(s->lock, OBJCACHE_OWN_NAMES);
        snprintf(stem, sizeof stem, "%s/tmp-%ld-%d.so", folder, (long)getpid(), i);
        assert_string_equal(s->temp_so, stem);
        strcpy(stem + strlen(stem) - 2, "c");
        assert_string_equal(s->temp_c, stem);
    }
    assert_false(objcache_write(&slot, &text, &e));
    assert_int_equal(e.code, ERR_ENV);
    assert_true(str_starts(e.text, "cannot write ")
                && str_ends(e.text, ".c: No such file or directory"));
    assert_string_equal(e.fix, "set XDG_CACHE_HOME to a folder that can be written");
    assert_true(dir_make(folder, &e));
    assert_true(objcache_write(&slot, &text, &e));
    assert_true(file_write_quick(slot.temp_so, "object", 6, &e));
    assert_true(objcache_store(&slot, &e));
    assert_true(objcache_hit(&slot, &text));
    objcache_drop(&other);
    str_free(&text);
}

/* --- Trimming --------------------------------------------------------------------------------- */

/* Oldest first, down to the limit; temporary files go after an hour; nothing else counts. */
static void only_old_objects_are_trimmed(void **state)
{
    static const char *const kept[] = { "c.so", "tmp-new.so", "tmp-new.lock", "x.txt", "d.so" };
    static const char *const gone[] = { "tmp-old.c", "tmp-old.lock", "b.so" };
    time_t now = time(NULL);
    struct err e;
    (void)state;
    dir_remove(folder);
    assert_true(dir_make(in_folder("d.so"), &e));        /* a folder is no object */
    put(in_folder("a.c"), 10, 1000001, 0);
    put(in_folder("b.so"), 10, 1000000, 100);
    put(in_folder("c.so"), 10, 1000000, 200);
    put(in_folder("x.txt"), 100, 1000000, 0);
    put(in_folder("tmp-old.c"), 100, now - 3700, 0);
    put(in_folder("tmp-old.lock"), 100, now - 3700, 0);
    put(in_folder("tmp-new.so"), 100, now - 3000, 0);
    put(in_folder("tmp-new.lock"), 100, now - 3000, 0);
    objcache_trim(folder, 30);
    assert_true(file_exists(in_folder("b.so")));
    objcache_trim(folder, 29);
    for (int i = 0; i < COUNT_OF(kept); i++)
        if (!file_exists(in_folder(kept[i])))
            fail_msg("%s is gone", kept[i]);
    for (int i = 0; i < COUNT_OF(gone); i++)
        if (file_exists(in_folder(gone[i])))
            fail_msg("%s is there", gone[i]);
    objcache_trim(folder, 19);
    assert_false(file_exists(in_folder("c.so")));
    assert_true(file_exists(in_folder("a.c")));
    objcache_trim(folder, 0);
    assert_false(file_exists(in_folder("a.c")));
    assert_true(file_exists(in_folder("x.txt")));
}

static void store(const char *source, size_t bytes)
{
    struct str text = {0};
    struct err e;
    struct objcache_slot slot = slot_of(source, &text);
    assert_true(objcache_lock(&slot, NULL, &e) && objcache_write(&slot, &text, &e));
    put(slot.temp_so, bytes, 0, 0);
    if (!objcache_store(&slot, &e))
        fail_msg("%s", e.text);
    assert_true(objcache_hit(&slot, &text));
    str_free(&text);
}

/* A limit of 1 MiB: each time that 128 KiB were stored. */
static void an_eighth_of_the_limit_trims(void **state)
{
    (void)state;
    setenv("TILESCOPE_CACHE_MIB", "1", 1);
    put(in_folder("old.so"), 2 << 20, 1000000, 0);
    store("int small;\n", 50 << 10);
    assert_true(file_exists(in_folder("old.so")));
    store("int large;\n", 100 << 10);
    assert_false(file_exists(in_folder("old.so")));
    put(in_folder("old.so"), 2 << 20, 1000000, 0);
    store("int third;\n", 100 << 10);
    assert_true(file_exists(in_folder("old.so")));
    unsetenv("TILESCOPE_CACHE_MIB");
}

static void a_long_folder_is_refused(void **state)
{
    struct str text = {0}, home = {0};
    struct objcache_slot slot;
    struct err e;
    char *usual = xstrdup(getenv("XDG_CACHE_HOME"));
    (void)state;
    str_add(&text, "int far;\n");
    str_add(&home, usual);
    for (int i = 0; i < 3; i++) {
        str_add_char(&home, '/');
        str_repeat(&home, 'f', 150);
    }
    setenv("XDG_CACHE_HOME", str_text(&home), 1);
    assert_false(objcache_slot(&text, &slot, &e));
    assert_int_equal(e.code, ERR_ENV);
    assert_true(str_starts(e.text, "the path of the cache folder is too long: /"));
    assert_true(str_ends(e.text, "..."));
    assert_int_equal(strlen(e.text), strlen("the path of the cache folder is too long: ") + 203);
    setenv("XDG_CACHE_HOME", usual, 1);
    free(usual);
    str_free(&home);
    str_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_slot_trims),
        cmocka_unit_test(the_limit_is_a_number),
        cmocka_unit_test(names_come_from_the_text),
        cmocka_unit_test(an_object_is_stored_once),
        cmocka_unit_test(a_dropped_slot_leaves_nothing),
        cmocka_unit_test(waiting_can_be_cancelled),
        cmocka_unit_test(a_slot_without_a_lock_has_own_names),
        cmocka_unit_test(only_old_objects_are_trimmed),
        cmocka_unit_test(an_eighth_of_the_limit_trims),
        cmocka_unit_test(a_long_folder_is_refused),
    };
    unsetenv("TILESCOPE_CACHE_MIB");
    snprintf(folder, sizeof folder, "%s/tilescope/objects", temp_dir("XDG_CACHE_HOME"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
