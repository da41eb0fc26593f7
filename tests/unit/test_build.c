/* The build with scripts in place of the compiler: they succeed, complain, crash, are killed or
 * lack something. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/base/arena.h"
#include "kernels/base/file.h"
#include "profile/build/build.h"
#include "profile/build/objcache.h"
#include "tests/unit/temp_dir.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

static char folder[120];                  /* of the scripts */

static const char *path_of(const char *name)
{
    static char path[160];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_script(const char *name, const char *text)
{
    struct err e;
    if (!file_write_atomic(path_of(name), text, strlen(text), &e)
        || chmod(path_of(name), 0755) != 0)
        fail_msg("%s", e.text);
}

/* A compiler of this version line.  It appends its arguments to NAME.log and then does as it is
 * told, with the source in $c and the object in $so. */
static void write_compiler(const char *name, const char *version, const char *body)
{
    char text[2000];
    snprintf(text, sizeof text,
             "#!/bin/sh\ncase $1 in --version) echo '%s'; echo more; exit ;;"
             " -print-prog-name=cc1) exit ;; esac\n"
             "echo \"$LC_ALL $*\" >> '%s.log'\n"
             "for a; do case $a in *.c) c=$a ;; *.so) so=$a ;; esac; done\n%s\n",
             version, path_of(name), body);
    write_script(name, text);
}

static struct compiler found(const char *want)
{
    struct compiler cc;
    struct err e;
    if (!compiler_find(want, &cc, &e))
        fail_msg("%s", e.text);
    return cc;
}

static int lines_of_log(void)
{
    struct str log = {0};
    struct err e;
    int n = 0;
    if (file_read(path_of("fakecc.log"), 1 << 16, &log, &e))
        for (size_t i = 0; i < log.len; i++)
            n += log.data[i] == '\n';
    str_free(&log);
    unlink(path_of("fakecc.log"));
    return n;
}

/* --- Failures --------------------------------------------------------------------------------- */

/* n: how often the compiler is called; %s in a fix is its path. */
static const struct bad {
    const char *body; enum err_code code; int n; const char *text, *fix;
} bad[] = {
    { "for i in 3 5 7 9 11; do echo \"$c:$i:2: error: bad $i\"; done; echo 'o.c:1: error: no'\n"
      "exit 1", ERR_COMPILE, 1, "fakecc refused the generated code: line 3: error: bad 3;"
      " line 5: error: bad 5; line 7: error: bad 7; and 2 more", "" },
    { "for i in 3 5 70; do echo \"$c:$i:2: error: bad $i\"; done; echo \"$c:9: note: no\"; exit 1",
      ERR_COMPILE, 1, "fakecc refused the generated code: line 3: error: bad 3;"
      " line 5: error: bad 5; line 70: error: bad 70", "" },
    { "echo 'cc1: internal compiler error: in f'; exit 4", ERR_COMPILE, 1,
      "fakecc refused the generated code: internal compiler error: in f", "" },
    { "echo 'cc: fatal error: Segmentation fault signal terminated program cc1'; exit 1",
      ERR_COMPILE, 1, "fakecc cannot build this kernel: Segmentation fault signal terminated"
      " program cc1", "check that \"%s\" builds a shared object from a C file here" },
    { "echo 'cc: error: clang frontend command failed with exit code 70'; echo x; exit 70",
      ERR_COMPILE, 1, "fakecc cannot build this kernel: clang frontend command failed with exit"
      " code 70", "check that \"%s\" builds a shared object from a C file here" },
    { "echo 'ld: cannot find -lgomp'; exit 1", ERR_ENV, 1,
      "fakecc cannot build this kernel: ld: cannot find -lgomp", "apt install gcc" },
    { "echo 'cc: fatal error: cannot read libgomp.spec'; exit 1", ERR_ENV, 1,
      "fakecc cannot build this kernel: cannot read libgomp.spec", "apt install gcc" },
    { "echo 'cc: error: x'; echo 'as: x.o: No space left on device'; echo y; exit 1", ERR_ENV, 1,
      "fakecc cannot build this kernel: as: x.o: No space left on device",
      "free some space there" },
    { "exit 1", ERR_ENV, 1, "fakecc cannot build this kernel: it ended without a message",
      "check that \"%s\" builds a shared object from a C file here" },
    { "exit 0", ERR_ENV, 1, "\"%s\" succeeded but wrote no object: it is not a compiler",
      "use --compiler gcc or --compiler clang" },
    { "kill -KILL $$", ERR_KILLED, 2,
      "the compiler fakecc was killed (signal 9: out of memory?)",
      "`dmesg` may say why; free some memory if that was the reason" },
    { "kill -TERM $$", ERR_KILLED, 2, "the compiler fakecc was killed (signal 15)",
      "`dmesg` may say why; free some memory if that was the reason" },
    { "echo 'cc: fatal error: Killed signal terminated program cc1'; exit 1", ERR_KILLED, 2,
      "the compiler fakecc was killed (signal 9: out of memory?)", "`dmesg`" },
    { "echo 'cc: error: unable to execute command: Terminated'; exit 1", ERR_KILLED, 2,
      "the compiler fakecc was killed (signal 15)", "`dmesg`" },
    { "echo 'collect2: fatal error: ld terminated with signal 1 [Hangup]'; exit 1", ERR_KILLED, 2,
      "the compiler fakecc was killed (signal 1)", "`dmesg`" },
    { "echo 'cc1: out of memory allocating 65536 bytes'; exit 1", ERR_KILLED, 2,
      "the compiler fakecc ran out of memory", "free some memory, or raise `ulimit -v`" },
    { "echo 'virtual memory exhausted'; exit 1", ERR_KILLED, 2,
      "the compiler fakecc ran out of memory", "free some memory, or raise `ulimit -v`" },
    { "ulimit -c 0; kill -XCPU $$", ERR_COMPILE, 1,
      "fakecc did not finish within 7 s of CPU time", "unroll less" },
    { "ulimit -c 0; kill -XFSZ $$", ERR_ENV, 1,
      "fakecc must write a file for this kernel that is larger than the file size limit",
      "raise `ulimit -f`" },
};

static void failures_are_explained(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(bad); i++) {
        struct str text = {0}, fix = {0};
        struct build b;
        struct err e = {0};
        const char *hole = strstr(bad[i].text, "%s");
        write_compiler("fakecc", "fakecc 1.0", bad[i].body);
        struct compiler cc = found(path_of("fakecc"));
        struct build_job job = { .cc = &cc, .source = "int bad;\n", .target = target_host(),
                                 .cpu_s = 7 };
        if (build_object(&job, NULL, &b, &e))
            fail_msg("%s: it was built", bad[i].body);
        str_printf(&text, "%.*s%s%s", hole ? (int)(hole - bad[i].text) : 0, bad[i].text,
                   hole ? cc.path : "", hole ? hole + 2 : bad[i].text);
        hole = strstr(bad[i].fix, "%s");
        str_printf(&fix, "%.*s%s%s", hole ? (int)(hole - bad[i].fix) : 0, bad[i].fix,
                   hole ? cc.path : "", hole ? hole + 2 : bad[i].fix);
        assert_string_equal(e.text, str_text(&text));
        if (!str_starts(e.fix, str_text(&fix)) || (e.fix[0] && !fix.len))
            fail_msg("%s: fix \"%s\"", bad[i].body, e.fix);
        assert_int_equal(e.code, bad[i].code);
        assert_int_equal(lines_of_log(), bad[i].n);
        str_free(&text);
        str_free(&fix);
    }
}

/* Several kernels in a source are not built again, since each can be built alone. */
static void a_killed_compiler_gets_a_second_try(void **state)
{
    struct build b;
    struct err e;
    (void)state;
    write_compiler("fakecc", "fakecc 1.0", "kill -KILL $$");
    struct compiler cc = found(path_of("fakecc"));
    struct build_job job = { .cc = &cc, .source = "int many;\n", .target = target_host(),
                             .n_kernels = 2 };
    assert_false(build_object(&job, NULL, &b, &e));
    assert_int_equal(e.code, ERR_KILLED);
    assert_int_equal(lines_of_log(), 1);
    job.n_kernels = 1;
    assert_false(build_object(&job, NULL, &b, &e));
    assert_int_equal(lines_of_log(), 2);
    write_compiler("fakecc", "fakecc 1.0",
                   "[ -e \"$0.again\" ] || { : > \"$0.again\"; kill -KILL $$; }\n"
                   "echo ok > \"$so\"");
    cc = found(path_of("fakecc"));
    assert_true(build_object(&job, NULL, &b, &e));
    assert_false(b.cached);
    assert_int_equal(lines_of_log(), 2);
}

/* --- Success ---------------------------------------------------------------------------------- */

/* The last line of the log without its newline, from `from` on. */
static void assert_called(const char *from, const char *want)
{
    struct str log = {0};
    struct err e;
    assert_true(file_read(path_of("fakecc.log"), 1 << 16, &log, &e));
    assert_true(str_starts(str_text(&log), "C "));
    char *at = strstr(log.data, from), *so = at ? strstr(at, " -o ") : NULL;
    char *end = so ? strstr(so, ".c") : NULL;
    if (!end)
        fail_msg("%s", str_text(&log));
    memmove(so + 4, end, strlen(end) + 1);               /* the names of the files change */
    at[strcspn(at, "\n")] = '\0';
    assert_string_equal(at, want);
    str_free(&log);
    unlink(path_of("fakecc.log"));
}

static void flags_are_in_their_order(void **state)
{
    static const char *const more[] = { "-DC", NULL };
    struct build b;
    struct err e;
    (void)state;
    write_compiler("fakecc", "fakecc 1.0", "echo object > \"$so\"");
    struct compiler cc = found(path_of("fakecc"));
    struct build_job job = { .cc = &cc, .source = "int flags;\n", .target = target_host() };
    assert_false(build_cached(&job, &b));
    assert_true(build_object(&job, NULL, &b, &e));
    assert_called("-shared", "-shared -Wl,-Bsymbolic -fPIC -nostdlib -o .c -lgcc");
    assert_false(b.cached);
    struct build again = {0};
    assert_true(build_cached(&job, &again));
    assert_true(again.cached && again.seconds >= 0);
    assert_string_equal(again.so_path, b.so_path);
    assert_string_equal(again.c_path, b.c_path);
    setenv("TILESCOPE_CFLAGS", " -DA\t-DB ", 1);
    job.more = more;
    job.source = "float f(float x) { return __builtin_expf(x); }\n";
    assert_true(build_object(&job, NULL, &b, &e));
    assert_called("-shared", "-shared -Wl,-Bsymbolic -fPIC -nostdlib -DA -DB -DC -o .c -lm -lgcc");
    job.openmp = true;
    job.more = NULL;
    unsetenv("TILESCOPE_CFLAGS");
    assert_true(build_object(&job, NULL, &b, &e));
    assert_called("-shared", "-shared -Wl,-Bsymbolic -fPIC -fopenmp -o .c -lm");
    struct str text = {0};
    assert_true(objcache_read(b.so_path, &text, &e));
    assert_string_equal(str_text(&text), "object\n");
    str_free(&text);
    assert_true(build_assembly(&cc, "int s;\n", target_host(), NULL, &text, &e));
    assert_called("-shared", "-shared -Wl,-Bsymbolic -fPIC -nostdlib -S -o .c -lgcc");
    assert_string_equal(str_text(&text), "object\n");
    str_free(&text);
}

/* --- Finding one ------------------------------------------------------------------------------ */

static void refused(const char *want, const char *text, const char *fix)
{
    struct compiler cc;
    struct err e = {0};
    assert_false(compiler_find(want, &cc, &e));
    assert_int_equal(e.code, ERR_ENV);
    assert_string_equal(e.text, text);
    assert_string_equal(e.fix, fix);
}

static void a_compiler_that_does_not_work_is_named(void **state)
{
    static const char install[] = "install it, or use gcc or clang";
    char name[301], text[400];
    struct err e;
    (void)state;
    write_script("dumb", "#!/bin/sh\nexit 0\n");
    write_script("broken", "#!/bin/sh\necho out of order; echo more; exit 1\n");
    refused("no-such-cc", "there is no compiler no-such-cc", install);
    snprintf(text, sizeof text, "%s does not work: no output", path_of("dumb"));
    refused(path_of("dumb"), text, install);
    snprintf(text, sizeof text, "%s does not work: out of order", path_of("broken"));
    refused(path_of("broken"), text, install);
    memset(name, 'n', 300);
    name[300] = '\0';
    snprintf(text, sizeof text, "there is no compiler %.200s", name);
    refused(name, text, install);
    setenv("CC", "no-such-cc", 1);
    refused(NULL, "there is no compiler no-such-cc",
            "the variable CC asks for it: unset it or name a compiler that works");
    unsetenv("CC");
    /* a name with a blank is a file, if there is such a file */
    write_compiler("my cc", "clang version 9.9", "");
    struct compiler cc = found(path_of("my cc"));
    assert_string_equal(cc.name, "my cc");
    assert_string_equal(cc.path, path_of("my cc"));
    assert_string_equal(cc.version, "clang version 9.9");
    assert_true(cc.is_clang);
    assert_int_equal(unlink(path_of("my cc")), 0);
    assert_false(compiler_find(path_of("my cc"), &cc, &e));
}

/* gcc before clang; a broken one is named only if no other works. */
static void usual_names_are_tried_in_order(void **state)
{
    char *path = xstrdup(getenv("PATH"));
    (void)state;
    setenv("PATH", folder, 1);
    setenv("CC", " \t", 1);                              /* as if it were not set */
    refused(NULL, "there is no C compiler: neither gcc nor clang is in PATH",
            "apt install gcc libc6-dev");
    unsetenv("CC");
    write_script("gcc", "#!/bin/sh\necho out of order; exit 1\n");
    refused(NULL, "gcc does not work: out of order", "repair it, or set CC to one that works");
    refused("", "gcc does not work: out of order", "repair it, or set CC to one that works");
    write_compiler("clang", "fake clang version 9", "");
    struct compiler cc = found(NULL);
    assert_string_equal(cc.name, "clang");
    assert_true(cc.is_clang);
    write_compiler("gcc", "gcc (fake) 9", "");
    cc = found(NULL);
    assert_string_equal(cc.name, "gcc");
    assert_false(cc.is_clang);
    assert_string_equal(cc.version, "gcc (fake) 9");
    setenv("CC", "clang", 1);
    cc = found(NULL);
    assert_string_equal(cc.name, "clang");
    unsetenv("CC");
    unlink(path_of("gcc"));
    unlink(path_of("clang"));
    setenv("PATH", path, 1);
    free(path);
}

/* More compilers than are remembered: each keeps its own version. */
static void many_compilers_are_told_apart(void **state)
{
    (void)state;
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 10; i++) {
            char name[24], version[24];
            snprintf(name, sizeof name, "cc-%d", i);
            snprintf(version, sizeof version, "version %d", i);
            if (round == 0)
                write_compiler(name, version, "");
            struct compiler cc = found(path_of(name));
            assert_string_equal(cc.version, version);
            assert_string_equal(cc.name, name);
        }
}

static void the_text_of_stored_times_has_the_flags(void **state)
{
    struct str out = {0};
    char want[100];
    (void)state;
    write_compiler("fakecc", "fakecc 1.0", "");
    snprintf(want, sizeof want, "fakecc 1.0, code %016llx", (unsigned long long)target_code());
    compiler_print(&out, path_of("fakecc"));
    assert_string_equal(str_text(&out), want);
    str_clear(&out);
    setenv("TILESCOPE_CFLAGS", "-O1 -g", 1);
    strcat(want, " -O1 -g");
    compiler_print(&out, path_of("fakecc"));
    assert_string_equal(str_text(&out), want);
    unsetenv("TILESCOPE_CFLAGS");
    str_clear(&out);
    compiler_print(&out, "no-such-cc");
    assert_int_equal(out.len, 0);
    str_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failures_are_explained),
        cmocka_unit_test(a_killed_compiler_gets_a_second_try),
        cmocka_unit_test(flags_are_in_their_order),
        cmocka_unit_test(a_compiler_that_does_not_work_is_named),
        cmocka_unit_test(usual_names_are_tried_in_order),
        cmocka_unit_test(many_compilers_are_told_apart),
        cmocka_unit_test(the_text_of_stored_times_has_the_flags),
    };
    unsetenv("CC");
    unsetenv("TILESCOPE_CFLAGS");
    snprintf(folder, sizeof folder, "%s", temp_dir(NULL));
    temp_dir("XDG_CACHE_HOME");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
