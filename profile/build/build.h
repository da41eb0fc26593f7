/* Compiles generated C to a shared object with the system compiler, in a child process.  Objects
 * are cached by content. */
#ifndef TS_PROFILE_BUILD_H
#define TS_PROFILE_BUILD_H
#include "kernels/base/subprocess.h"
#include "kernels/gen/gen.h"

/* A compiler. files: a hash of the path, size, time and inode of its programs: each word of the
 * command that is a program, and gcc's cc1. The version is not enough, because two different
 * compilers can print the same one. */
struct compiler {
    char path[256], name[64], version[128];
    bool is_clang;
    uint64_t files;
};
/* Finds a compiler: `want` if it is not NULL or empty ("gcc", "clang", "gcc-12", a path), else $CC
 * if it is set, else gcc, else clang.  ERR_ENV with a fix: there is none, or the one asked for does
 * not work. */
bool compiler_find(const char *want, struct compiler *out, struct err *e);

/* Prints everything that determines the machine code of a nest: the version of the compiler, the
 * variable TILESCOPE_CFLAGS and target_code.  Stored times are valid only where this text is the
 * same. Prints nothing if there is no compiler that works. */
void compiler_print(struct str *out, const char *want);

struct build { char so_path[512]; char c_path[512]; bool cached; double seconds; };
/* Compiles c_source, or takes the object from the cache (dir_cache()/objects), which holds KEY.c
 * and KEY.so.  The key is a hash of the source, the flags, this CPU, and the version and files of
 * the compiler.  The stored source is compared too, so that a collision does no harm.
 *
 * Only one process builds an object at a time; others wait for it.  If a compiler finishes after
 * its tilescope was killed, the next tilescope uses its object.  The cache is trimmed to 512 MiB or
 * $TILESCOPE_CACHE_MIB, oldest entries first (objcache.h). openmp: adds -fopenmp.  The flags in
 * $TILESCOPE_CFLAGS are always added.  ERR_COMPILE has the first messages of the compiler. */
bool build_shared(const struct compiler *cc, const char *c_source, const struct target *t,
                  bool openmp, const struct cancel *c, struct build *out, struct err *e);
/* Like build_shared, with additional flags after the others (NULL-terminated; NULL: none). */
bool build_shared_with(const struct compiler *cc, const char *source, const struct target *t,
                       bool openmp, const char *const *more, const struct cancel *c,
                       struct build *out, struct err *e);
/* The input of build_object, which the functions above use. cpu_s: limit of CPU time in seconds for
 * each process of the compiler (0 = 240).  The wall clock time is always limited to 120 s.
 * ERR_COMPILE: a limit was exceeded.  ERR_KILLED: another process killed the compiler, or it got no
 * memory.  A single kernel is then tried once more before this error; for several kernels, the
 * caller may try them one by one. */
struct build_job {
    const struct compiler *cc;
    const char *source;
    const struct target *target;
    bool openmp;
    const char *const *more;
    int cpu_s;
    int n_kernels;                       /* number of kernels in the source; 0 = 1 */
};
bool build_object(const struct build_job *b, const struct cancel *c, struct build *out,
                  struct err *e);
/* Finds the object in the cache; false when it is not there. */
bool build_cached(const struct build_job *b, struct build *out);
/* Compiles the source to assembly (AT&T syntax on x86) and stores its text in *out.  The assembly
 * is cached like an object. */
bool build_assembly(const struct compiler *cc, const char *c_source, const struct target *t,
                    const struct cancel *c, struct str *out, struct err *e);
/* For each line of a disassembled text, its line of the source (from 1); 0: unknown. */
struct c_lines { int *data; int len, cap; };
/* Disassembles one function by objdump: Intel syntax, without addresses, jump targets as labels.
 * ERR_ENV when objdump is missing. c_lines: NULL, or where to append the source lines, which only
 * an object with a line table (-g1) has. */
bool build_disassemble(const char *so_path, const char *symbol, const struct cancel *c,
                       struct str *out, struct c_lines *c_lines, struct err *e);
#endif
