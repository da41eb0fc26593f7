#include "profile/build/build.h"

#include "kernels/base/arena.h"
#include "kernels/base/file.h"
#include "kernels/base/rng.h"
#include "kernels/base/vec.h"
#include "profile/host/machine.h"
#include "profile/build/objcache.h"

#include <ctype.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define COMPILE_LIMIT_S 120.0
#define LITTLE_BYTES ((rlim_t)1 << 30)
#define MAX_DIAGNOSTICS 3

/* --- Finding a compiler ----------------------------------------------------------------------- */

#define ASK_LIMIT_S 10.0
#define ASK_CC1_LIMIT_S 2.0  /* seconds; a compiler that is a script may hang on the option */
/* A command fits in compiler.path, so this is the most words that it can have. */
enum { MOST_WORDS = sizeof ((struct compiler *)0)->path / 2 };

/* A compiler that was examined.  Processes must be started to find its version and the path of cc1,
 * so both are kept until a file of the compiler changes. */
struct build_known { struct compiler cc; char cc1[512]; };
static struct build_known known[8];
static int n_known;
static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;

/* Splits a command into at most MOST_WORDS words: "ccache gcc" is two words, but the file "/opt/my
 * tools/gcc" is one. */
static int command_words(const char *command, struct str *buf, const char **argv)
{
    int n = 0;
    str_clear(buf);
    str_add(buf, command);
    if (file_exists(command)) {
        argv[n++] = buf->data;
        return n;
    }
    char *save = NULL;
    char *w = strtok_r(buf->data, " \t", &save);
    for (; w && n < MOST_WORDS; w = strtok_r(NULL, " \t", &save))
        argv[n++] = w;
    return n;
}

/* Finds the file of a word of a command. */
static bool resolve(const char *word, struct str *path)
{
    if (!strchr(word, '/'))
        return subprocess_find(word, path);
    str_clear(path);
    str_add(path, word);
    return access(word, X_OK) == 0;
}

/* Appends the path, size, modification time and inode of a file. They tell files apart, and change
 * when the file changes. */
static void add_file(struct str *out, const char *path)
{
    char *real = realpath(path, NULL);
    struct stat st;
    if (real && stat(real, &st) == 0)
        str_printf(out, "%s %lld %lld.%09ld %llu\n", real, (long long)st.st_size,
                   (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec,
                   (unsigned long long)st.st_ino);
    free(real);
}

/* Computes the hash of the files of a compiler ("ccache gcc" is two programs).  Returns false when
 * the first word of the command is not a program. cc1: path of gcc's cc1; "" = unknown. */
static bool hash_files(const char *command, const char *cc1, uint64_t *out)
{
    struct str buf = {0}, path = {0}, text = {0};
    const char *word[MOST_WORDS];
    int n = command_words(command, &buf, word);
    bool found = n > 0 && resolve(word[0], &path);
    for (int i = 0; i < n && found; i++)
        if (word[i][0] != '-' && resolve(word[i], &path))
            add_file(&text, str_text(&path));
    add_file(&text, cc1);
    *out = hash_bytes(str_text(&text), text.len, 3);
    str_free(&text);
    str_free(&path);
    str_free(&buf);
    return found;
}

static bool recall(const char *command, struct compiler *out)
{
    bool found = false;
    uint64_t files;
    pthread_mutex_lock(&known_lock);
    for (int i = 0; i < n_known && !found; i++) {
        found = streq(known[i].cc.path, command) && hash_files(command, known[i].cc1, &files)
             && files == known[i].cc.files;
        if (found)
            *out = known[i].cc;
    }
    pthread_mutex_unlock(&known_lock);
    return found;
}

static void remember(const struct compiler *cc, const char *cc1)
{
    pthread_mutex_lock(&known_lock);
    int at = n_known < COUNT_OF(known) ? n_known++ : 0;
    known[at] = (struct build_known){ .cc = *cc };
    snprintf(known[at].cc1, sizeof known[at].cc1, "%s", cc1);
    pthread_mutex_unlock(&known_lock);
}

static bool ask(const char *command, const char *option, double limit_s,
                struct subprocess_result *res, struct err *e)
{
    struct str buf = {0};
    const char *argv[MOST_WORDS + 2];
    int n = command_words(command, &buf, argv);
    argv[n++] = option;
    argv[n] = NULL;
    bool ok = subprocess_run(argv, limit_s, NULL, res, e);
    str_free(&buf);
    return ok;
}

/* Asks gcc for the path of cc1, the program that gcc starts to compile C.  Stores "" if the
 * compiler names no such program. */
static void ask_cc1(const char *command, char *out, size_t n)
{
    struct subprocess_result res;
    struct err ignored;
    *out = '\0';
    if (!ask(command, "-print-prog-name=cc1", ASK_CC1_LIMIT_S, &res, &ignored))
        return;
    size_t len = strcspn(str_text(&res.out), "\r\n");
    if (res.exit_code == 0 && str_text(&res.out)[0] == '/' && len < n)
        snprintf(out, n, "%.*s", (int)len, str_text(&res.out));
    str_free(&res.out);
}

/* Runs "COMMAND --version" and takes its first line as the version. */
static bool ask_version(const char *command, struct compiler *out, struct err *e)
{
    struct subprocess_result res;
    if (!ask(command, "--version", ASK_LIMIT_S, &res, e))
        return false;
    size_t len = strcspn(str_text(&res.out), "\r\n");
    bool ok = res.exit_code == 0 && len > 0;
    if (ok) {
        snprintf(out->version, sizeof out->version, "%.*s", (int)len, str_text(&res.out));
        out->is_clang = strstr(out->version, "clang") != NULL;
    } else {
        err_set(e, ERR_ENV, "%s does not work: %.*s", command, len ? (int)len : 9,
                len ? str_text(&res.out) : "no output");
    }
    str_free(&res.out);
    return ok;
}

/* Examines a command: a name in PATH, a path, or several words. */
static bool examine(const char *command, struct compiler *out, struct err *e)
{
    struct compiler cc = {0};
    char cc1[sizeof known[0].cc1] = "";
    if (strlen(command) >= sizeof cc.path || !hash_files(command, "", &cc.files))
        return err_set(e, ERR_ENV, "there is no compiler %.200s", command);
    if (!recall(command, &cc)) {
        const char *slash = strrchr(command, '/');
        snprintf(cc.path, sizeof cc.path, "%s", command);
        snprintf(cc.name, sizeof cc.name, "%.63s", slash ? slash + 1 : command);
        if (!ask_version(command, &cc, e))
            return false;
        if (!cc.is_clang)
            ask_cc1(command, cc1, sizeof cc1);
        hash_files(command, cc1, &cc.files);
        remember(&cc, cc1);
    }
    *out = cc;
    return true;
}

bool compiler_find(const char *want, struct compiler *out, struct err *e)
{
    const char *cc = getenv("CC");
    if (want && *want) {
        if (examine(want, out, e))
            return true;
        return err_fix(e, "install it, or use gcc or clang");
    }
    if (cc && cc[strspn(cc, " \t")]) {
        if (examine(cc, out, e))
            return true;
        return err_fix(e, "the variable CC asks for it: unset it or name a compiler that works");
    }
    static const char *const usual[] = { "gcc", "clang" };
    struct err why = {0};
    for (int i = 0; i < COUNT_OF(usual); i++) {
        if (examine(usual[i], out, e))
            return true;
        if (!why.code && subprocess_find(usual[i], NULL))
            why = *e;                                    /* the compiler exists but does not work */
    }
    if (why.code) {
        *e = why;
        return e->fix[0] ? false : err_fix(e, "repair it, or set CC to one that works");
    }
    err_set(e, ERR_ENV, "there is no C compiler: neither gcc nor clang is in PATH");
    return err_fix(e, "apt install gcc libc6-dev");
}

void compiler_print(struct str *out, const char *want)
{
    const char *flags = getenv("TILESCOPE_CFLAGS");
    struct compiler cc;
    struct err ignored;
    if (!compiler_find(want, &cc, &ignored))
        return;
    str_printf(out, "%s, code %016llx%s%s", cc.version, (unsigned long long)target_code(),
               flags && *flags ? " " : "", flags ? flags : "");
}

/* --- Compiling -------------------------------------------------------------------------------- */

/* extra: the memory of the words of $TILESCOPE_CFLAGS. */
struct flags { VEC(const char *) arg; const char *link, *math; struct str extra; };

static void flags_free(struct flags *f)
{
    vec_free(&f->arg);
    str_free(&f->extra);
}

/* Collects the flags.  Without OpenMP the object is linked without libraries, which makes a build a
 * quarter faster: most kernels need only memcpy and memset, which the runner has.  Two libraries
 * remain: libgcc, which is static and costs no time, and libm for a source that calls it. */
static void collect_flags(struct flags *f, const struct compiler *cc, const struct target *t,
                          bool openmp, const char *source, const char *const *more)
{
    bool math = gen_calls_libm(source);
    const char *extra = getenv("TILESCOPE_CFLAGS");
    *f = (struct flags){ .link = openmp ? NULL : "-lgcc", .math = math ? "-lm" : NULL };
    bool is_free = gen_autovectorizes(source);
    for (const char *const *p = target_flags(t, cc->is_clang); *p; p++)
        if (!is_free || !target_binds(*p))
            vec_push(&f->arg, *p);
    vec_push(&f->arg, "-shared");
    /* a kernel must call its own functions, whatever their names are */
    vec_push(&f->arg, "-Wl,-Bsymbolic");
    vec_push(&f->arg, "-fPIC");
    vec_push(&f->arg, openmp ? "-fopenmp" : "-nostdlib");
    str_add(&f->extra, extra ? extra : "");
    char *save = NULL, *w = f->extra.data ? strtok_r(f->extra.data, " \t\n", &save) : NULL;
    for (; w; w = strtok_r(NULL, " \t\n", &save))
        vec_push(&f->arg, w);
    for (; more && *more; more++)
        vec_push(&f->arg, *more);
}

static uint64_t this_cpu;
static void hash_this_cpu(void)
{
    this_cpu = machine_cpu_hash();
}

/* Builds the text from which the key is computed: the source and everything else that the object
 * depends on. This CPU is a part of the text, because -march=native means this CPU and the cache
 * may be on a shared disk. All but the source is in a C comment. In the comment, every `*` is
 * written as %2a, so that nothing can close the comment early, and every % as %25, so that
 * different flags have different keys. */
static void key_text(struct str *out, const char *source, const struct compiler *cc,
                     const struct flags *f)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct str tail = {0};
    pthread_once(&once, hash_this_cpu);
    str_printf(&tail, "%s, files %016llx, cpu %016llx,", cc->version,
               (unsigned long long)cc->files, (unsigned long long)this_cpu);
    for (int i = 0; i < f->arg.len; i++)
        str_printf(&tail, " %s", f->arg.data[i]);
    str_add(out, source);
    str_add(out, "\n/* built by ");
    for (const char *p = str_text(&tail); *p; p++)
        if (*p == '*' || *p == '%' || (unsigned char)*p < ' ')
            str_printf(out, "%%%02x", (unsigned)(unsigned char)*p);
        else
            str_add_char(out, *p);
    str_add(out, " */\n");
    str_free(&tail);
}

/* Returns where the message begins in a line of the log that reports an error in the file c_path or
 * a crash of the compiler. Returns NULL for any other line. */
static const char *find_message(const char *line, size_t len, const char *c_path)
{
    const char *message = memmem(line, len, "internal compiler error", 23);
    size_t n = strlen(c_path);
    if (!message && strncmp(line, c_path, n) == 0 && line[n] == ':')
        message = memmem(line, len, "error: ", 7);
    return message;
}

/* Appends the first MAX_DIAGNOSTICS messages of the log as "line 12: error: ...". Returns how many
 * messages the whole log has. */
static int add_diagnostics(struct str *out, const char *log, const char *c_path)
{
    int n = 0;
    for (const char *line = log; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t len = strcspn(line, "\n");
        const char *message = find_message(line, len, c_path);
        if (!message || n++ >= MAX_DIAGNOSTICS)
            continue;
        str_add(out, n > 1 ? "; " : "");
        if (str_starts(line, c_path))
            str_printf(out, "line %d: ", atoi(line + strlen(c_path) + 1));
        str_add_n(out, message, (size_t)(line + len - message));
    }
    if (n > MAX_DIAGNOSTICS)
        str_printf(out, "; and %d more", n - MAX_DIAGNOSTICS);
    return n;
}

/* Whether the log says that a program of the compiler crashed, as happens if the code is too large.
 */
static bool compiler_crashed(const char *log)
{
    return strstr(log, "terminated program") || strstr(log, "frontend command failed");
}

/* Returns the line of the log that names a missing resource, else the first error, else the log. */
static const char *telling_part(const char *log)
{
    const char *lack = err_lack(log), *error = strstr(log, "error: ");
    while (lack && lack > log && lack[-1] != '\n')
        lack--;
    return lack ? lack : error ? error + 7 : log;
}

/* Sets the error, and returns false. ERR_COMPILE, the kernel's fault: the compiler complained about
 * the generated text, or crashed. ERR_ENV, the environment's fault: everything else, such as a
 * missing assembler or libgomp, a bad extra flag, a full disk. */
static bool refuse(const struct compiler *cc, const char *c_path, const char *log, struct err *e)
{
    struct str text = {0};
    if (add_diagnostics(&text, log, c_path) > 0) {
        err_set(e, ERR_COMPILE, "%s refused the generated code: %.600s", cc->name, str_text(&text));
        str_free(&text);
        return false;
    }
    const char *from = telling_part(log);
    if (!*from)
        from = "it ended without a message";
    int len = (int)strcspn(from, "\n");
    err_set(e, compiler_crashed(log) ? ERR_COMPILE : ERR_ENV, "%s cannot build this kernel: %.*s",
            cc->name, len > 400 ? 400 : len, from);
    if (strstr(log, "-lomp") || strstr(log, "-lgomp") || strstr(log, "libgomp.spec"))
        return err_fix(e, "apt install %s", cc->is_clang ? "libomp-dev" : "gcc");
    if (e->fix[0])
        return false;
    return err_fix(e, "check that \"%.200s\" builds a shared object from a C file here", cc->path);
}

/* Writes the words in front of the compiler command: a shell and a script that runs the command.
 * The script limits the CPU time of each process, sets the language of messages to English, and
 * after success writes to the lock file (descriptor 3), which marks the object as complete.  CPU
 * time is limited because it does not depend on other load, and because this limit also ends a
 * compiler whose tilescope was killed. */
static int start_words(const char **argv, char *cpu, size_t size, int cpu_s)
{
    static const char script[] = "LC_ALL=C; export LC_ALL; ulimit -S -t $0 2> /dev/null;"
                                 " \"$@\" 3>&- && { echo built >&3 || :; } 2> /dev/null";
    static const char *const words[] = { "/bin/sh", "-c", script };
    snprintf(cpu, size, "%d", cpu_s > 0 ? cpu_s : (int)(2 * COMPILE_LIMIT_S));
    memcpy(argv, words, sizeof words);
    argv[COUNT_OF(words)] = cpu;
    return COUNT_OF(words) + 1;
}

/* Whether signal `sig` ended the compiler, or a program that the compiler started. `name` is how
 * the log calls the signal. */
static bool ended_by(const struct subprocess_result *res, int sig, const char *name)
{
    char gcc[64], clang[64], collect2[64];
    const char *log = str_text(&res->out);
    if (res->signal == sig || res->exit_code == 128 + sig)
        return true;
    snprintf(gcc, sizeof gcc, "%s signal terminated program", name);
    snprintf(clang, sizeof clang, "unable to execute command: %s", name);
    snprintf(collect2, sizeof collect2, "terminated with signal %d [%s", sig, name);
    return res->exit_code != 0 && (strstr(log, gcc) || strstr(log, clang) || strstr(log, collect2));
}

/* Whether the compiler lacked memory: the log says so, or the limit of address space (`ulimit -v`)
 * is low and the compiler crashed or could not be loaded. */
static bool lacks_memory(const char *log)
{
    struct rlimit l;
    bool little = getrlimit(RLIMIT_AS, &l) == 0 && l.rlim_cur < LITTLE_BYTES;
    return strstr(log, "memory exhausted") || strstr(log, "out of memory")
        || (little && (strstr(log, "failed to map segment") || compiler_crashed(log)));
}

/* Returns false and sets ERR_KILLED if another process killed the compiler or memory was
 * exhausted. */
static bool was_spared(const struct compiler *cc, const struct subprocess_result *res,
                       struct err *e)
{
    static const struct { int sig; const char *name, *why; } outside[] = {
        { SIGKILL, "Killed", ": out of memory?" }, { SIGTERM, "Terminated", "" },
        { SIGHUP, "Hangup", "" }, { SIGINT, "Interrupt", "" },
    };
    const char *log = str_text(&res->out);
    if (res->exit_code != 0 && lacks_memory(log)) {
        err_set(e, ERR_KILLED, "the compiler %s ran out of memory", cc->name);
        return err_fix(e, "free some memory, or raise `ulimit -v`");
    }
    for (int i = 0; i < COUNT_OF(outside); i++) {
        if (!ended_by(res, outside[i].sig, outside[i].name))
            continue;
        err_set(e, ERR_KILLED, "the compiler %s was killed (signal %d%s)", cc->name,
                outside[i].sig, outside[i].why);
        return err_fix(e, "`dmesg` may say why; free some memory if that was the reason");
    }
    return true;
}

static bool explain(const struct compiler *cc, int cpu_s, const struct objcache_slot *slot,
                    const struct subprocess_result *res, struct err *e)
{
    if (res->timed_out) {
        err_set(e, ERR_COMPILE, "%s did not finish within %.0f s", cc->name, COMPILE_LIMIT_S);
        return err_fix(e, "unroll less");
    }
    if (cpu_s > 0 && ended_by(res, SIGXCPU, "CPU time limit exceeded")) {
        err_set(e, ERR_COMPILE, "%s did not finish within %d s of CPU time", cc->name, cpu_s);
        return err_fix(e, "unroll less");
    }
    if (ended_by(res, SIGXFSZ, "File size limit exceeded")) {
        err_set(e, ERR_ENV, "%s must write a file for this kernel that is larger than the "
                "file size limit", cc->name);
        return err_fix(e, "raise `ulimit -f`");
    }
    if (!was_spared(cc, res, e))
        return false;
    if (res->exit_code != 0)
        return refuse(cc, slot->temp_c, str_text(&res->out), e);
    if (file_exists(slot->temp_so))
        return true;
    err_set(e, ERR_ENV, "\"%.200s\" succeeded but wrote no object: it is not a compiler", cc->path);
    return err_fix(e, "use --compiler gcc or --compiler clang");
}

static bool compile(const struct compiler *cc, const struct flags *f, int cpu_s,
                    const struct objcache_slot *slot, const struct cancel *c, struct err *e)
{
    struct str words = {0};
    struct subprocess_result res;
    const char **argv = xcalloc((size_t)f->arg.len + MOST_WORDS + 16, sizeof *argv);
    char cpu[16];
    int n = start_words(argv, cpu, sizeof cpu, cpu_s);
    n += command_words(cc->path, &words, argv + n);
    for (int i = 0; i < f->arg.len; i++)
        argv[n++] = f->arg.data[i];
    argv[n++] = "-o";
    argv[n++] = slot->temp_so;
    argv[n++] = slot->temp_c;
    if (f->math)
        argv[n++] = f->math;
    argv[n++] = f->link;
    argv[n] = NULL;
    bool ok = subprocess_run_keeping(slot->lock, argv, COMPILE_LIMIT_S, c, &res, e);
    str_free(&words);
    free(argv);
    if (!ok)
        return false;
    ok = explain(cc, cpu_s, slot, &res, e);
    str_free(&res.out);
    return ok;
}

static void took(const struct objcache_slot *slot, bool hit, double start, struct build *out)
{
    *out = (struct build){ .cached = hit, .seconds = clock_s() - start };
    memcpy(out->so_path, slot->so_path, sizeof out->so_path);
    memcpy(out->c_path, slot->c_path, sizeof out->c_path);
}

static void open_job(const struct build_job *b, struct flags *flags, struct str *text)
{
    collect_flags(flags, b->cc, b->target, b->openmp, b->source, b->more);
    key_text(text, b->source, b->cc, flags);
}

bool build_cached(const struct build_job *b, struct build *out)
{
    double start = clock_s();
    struct str text = {0};
    struct flags flags;
    struct objcache_slot slot;
    struct err ignored;
    open_job(b, &flags, &text);
    bool hit = objcache_slot(&text, &slot, &ignored) && objcache_hit(&slot, &text);
    if (hit)
        took(&slot, true, start, out);
    str_free(&text);
    flags_free(&flags);
    return hit;
}

/* Takes the object from the cache (*hit = true) or compiles it. The cache is asked again after the
 * lock is taken: another process, or the compiler of a killed tilescope, may have made the object
 * meanwhile. */
static bool make_object(const struct build_job *b, const struct flags *flags,
                        const struct str *text, struct objcache_slot *slot, bool *hit,
                        const struct cancel *c, struct err *e)
{
    if (!objcache_slot(text, slot, e))
        return false;
    *hit = objcache_hit(slot, text);
    if (*hit)
        return true;
    if (!objcache_lock(slot, c, e))
        return false;
    *hit = objcache_hit(slot, text);
    if (*hit)
        return true;
    *hit = objcache_left(slot, text);
    return (*hit || (objcache_write(slot, text, e)
                     && compile(b->cc, flags, b->cpu_s, slot, c, e)))
        && objcache_store(slot, e);
}

/* A source of one kernel is built a second time if the compiler was killed, or if temp_c is gone
 * because the cache folder was removed during the build. */
bool build_object(const struct build_job *b, const struct cancel *c, struct build *out,
                  struct err *e)
{
    double start = clock_s();
    struct str text = {0};
    struct flags flags;
    bool hit = false, ok = false, again = true;
    open_job(b, &flags, &text);
    for (int tries = b->n_kernels > 1 ? 1 : 2; again && tries > 0; tries--) {
        struct objcache_slot slot = { .lock = OBJCACHE_NO_LOCK };
        ok = make_object(b, &flags, &text, &slot, &hit, c, e);
        again = !ok && e->code != ERR_CANCEL
             && (e->code == ERR_KILLED || !file_exists(slot.temp_c));
        if (ok)
            took(&slot, hit, start, out);
        objcache_drop(&slot);
    }
    str_free(&text);
    flags_free(&flags);
    return ok;
}

bool build_shared_with(const struct compiler *cc, const char *source, const struct target *t,
                       bool openmp, const char *const *more, const struct cancel *c,
                       struct build *out, struct err *e)
{
    struct build_job b = { .cc = cc, .source = source, .target = t, .openmp = openmp,
                           .more = more };
    return build_object(&b, c, out, e);
}

bool build_shared(const struct compiler *cc, const char *c_source, const struct target *t,
                  bool openmp, const struct cancel *c, struct build *out, struct err *e)
{
    return build_shared_with(cc, c_source, t, openmp, NULL, c, out, e);
}

bool build_assembly(const struct compiler *cc, const char *c_source, const struct target *t,
                    const struct cancel *c, struct str *out, struct err *e)
{
    static const char *const more[] = { "-S", NULL };
    struct build b;
    return build_shared_with(cc, c_source, t, false, more, c, &b, e)
        && objcache_read(b.so_path, out, e);
}
