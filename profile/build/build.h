/* Compiles generated C to a shared object with the system compiler, in a child process.  Objects
 * are cached by content. */
#ifndef TS_PROFILE_BUILD_H
#define TS_PROFILE_BUILD_H
#include "kernels/base/subprocess.h"
#include "kernels/gen/gen.h"

/* A compiler. path: its command. files: a hash of the path, size, modification time and inode of
 * each of the compiler's programs: the words of the command that name a program, and gcc's cc1. The
 * hash is needed because two different compilers can print the same version. */
struct compiler {
    char path[256], name[64], version[128];
    bool is_clang;
    uint64_t files;
};
/* Finds a compiler: `want` if it is not NULL or empty ("gcc", "clang", "gcc-12", a path), else $CC
 * if it is set, else gcc, else clang.  Fails with ERR_ENV and a fix if no compiler works; if `want`
 * or $CC names a compiler, no other one is tried. */
bool compiler_find(const char *want, struct compiler *out, struct err *e);

/* Prints the version of the compiler, the hash target_code and the variable TILESCOPE_CFLAGS.  A
 * nest's machine code depends on these besides its source and target, so a stored time is valid
 * only while this text is the same.  Prints nothing if there is no compiler that works. */
void compiler_print(struct str *out, const char *want);

struct build { char so_path[512]; char c_path[512]; bool cached; double seconds; };
/* Compiles c_source, or takes the object from the cache (dir_cache()/objects), which holds KEY.c
 * and KEY.so.  The key is a hash of the source, the flags, this CPU, and the version and files of
 * the compiler.  The text in KEY.c is compared too, so that a collision of hashes does no harm.
 *
 * Processes that want the same object wait, at most 150 s, for the one that compiles it.  If a
 * compiler finishes after its tilescope was killed, the next tilescope uses its object.  The cache
 * is trimmed to 512 MiB or $TILESCOPE_CACHE_MIB, oldest entries first (objcache.h). openmp: whether
 * to add -fopenmp.  The flags in $TILESCOPE_CFLAGS are always added.  The errors are those of
 * build_object. */
bool build_shared(const struct compiler *cc, const char *c_source, const struct target *t,
                  bool openmp, const struct cancel *c, struct build *out, struct err *e);
/* Like build_shared, with additional flags after the usual ones.  more: the flags, ended by NULL;
 * more = NULL: no additional flags. */
bool build_shared_with(const struct compiler *cc, const char *source, const struct target *t,
                       bool openmp, const char *const *more, const struct cancel *c,
                       struct build *out, struct err *e);
/* The input of build_object. cpu_s: limit of CPU time in seconds for each process of the compiler
 * (0 = 240). more: NULL, or additional flags as in build_shared_with. */
struct build_job {
    const struct compiler *cc;
    const char *source;
    const struct target *target;
    bool openmp;
    const char *const *more;
    int cpu_s;
    int n_kernels;                       /* number of kernels in the source; 0 = 1 */
};
/* Does what build_shared does.  The wall clock time of the compiler is limited to 120 s.
 * ERR_COMPILE: the compiler refused the source (the text has its first messages), crashed, or
 * exceeded a limit of time.  ERR_KILLED: another process killed the compiler, or the compiler got
 * no memory.  ERR_ENV: the compiler or the cache does not work.  The source of a single kernel is
 * compiled once more before ERR_KILLED is returned.  The source of several kernels is not, because
 * the caller can build each kernel on its own. */
bool build_object(const struct build_job *b, const struct cancel *c, struct build *out,
                  struct err *e);
/* Looks the object up in the cache, and fills *out. Returns false if the cache does not have it. */
bool build_cached(const struct build_job *b, struct build *out);
/* Compiles the source to assembly (AT&T syntax on x86) and stores its text in *out.  The assembly
 * is cached like an object. */
bool build_assembly(const struct compiler *cc, const char *c_source, const struct target *t,
                    const struct cancel *c, struct str *out, struct err *e);
/* For each line of a disassembled text, its line of the source (from 1); 0: unknown. */
struct c_lines { int *data; int len, cap; };
/* Disassembles one function by objdump, and also those parts of it that the compiler made functions
 * of their own.  Appends the text: Intel syntax on x86, no addresses, labels as jump targets.  A
 * part that *out already has is not repeated.
 * c_lines: NULL, or where to append the source lines; only an object with a line table (-g1) has
 * source lines. ERR_ENV: objdump is missing or failed. ERR_NAME: there is no such function. */
bool build_disassemble(const char *so_path, const char *symbol, const struct cancel *c,
                       struct str *out, struct c_lines *c_lines, struct err *e);
#endif
