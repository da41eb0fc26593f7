/* Compiles generated C to a shared object with the system compiler, in a child process.  Objects
 * are cached by content. */
#ifndef TS_PROFILE_BUILD_H
#define TS_PROFILE_BUILD_H
#include "kernels/base/subprocess.h"
#include "kernels/gen/gen.h"

/* A compiler. files: a hash of path, size, time and inode of each word of the command that is a
 * program, and of gcc's cc1, because two different compilers can print the same version. */
struct compiler {
    char path[256], name[64], version[128];
    bool is_clang;
    uint64_t files;
};
/* Finds a compiler: $CC when set (an error if it does not work), else gcc, else clang; ERR_ENV
 * names the packages. want (may be NULL) asks for one by name: "gcc", "clang", "gcc-12", a path. */
bool compiler_find(const char *want, struct compiler *out, struct err *e);

/* Prints everything that determines the machine code of a nest: the version of the compiler, the
 * variable TILESCOPE_CFLAGS and target_code.  Stored times are valid only where this text is the
 * same. Prints nothing for a compiler that does not work. */
void compiler_print(struct str *out, const char *want);

struct build { char so_path[512]; char c_path[512]; bool cached; double seconds; };
/* Compiles c_source, or takes the object from the cache (dir_cache()/objects), which holds KEY.c
 * and KEY.so.  The key is a hash of the source, the flags, and the version and files of the
 * compiler.  The stored source is compared too, so that a collision does no harm.
 *
 * Only one process builds an object at a time; others wait for it.  If a compiler finishes after
 * its tilescope was killed, the next one uses its object.  The cache is trimmed to 512 MiB or
 * $TILESCOPE_CACHE_MIB, oldest entries first (objcache.h). openmp adds -fopenmp, and
 * $TILESCOPE_CFLAGS are added too.  ERR_COMPILE has the first messages of the compiler. */
bool build_shared(const struct compiler *cc, const char *c_source, const struct target *t,
                  bool openmp, const struct cancel *c, struct build *out, struct err *e);
/* Like build_shared, with additional flags after the others (NULL-terminated; NULL: none). */
bool build_shared_with(const struct compiler *cc, const char *source, const struct target *t,
                       bool openmp, const char *const *more, const struct cancel *c,
                       struct build *out, struct err *e);
/* The input of build_object, which the functions above use. cpu_s: limit of the compiler's CPU time
 * in seconds (0 = 240); its wall clock time may be 120 s longer.  ERR_COMPILE: a limit was
 * exceeded.  ERR_KILLED: twice, another process killed the compiler or it got no memory; with
 * several kernels once is enough, because the caller may then try them one by one. */
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
/* Disassembles one function by objdump: Intel syntax, without addresses, jump targets as labels.
 * ERR_ENV when objdump is missing. c_lines: NULL, or where to append the C source line (from 1) of
 * each line of the text; 0: unknown. The object needs a line table for that (-g1). */
struct c_lines { int *data; int len, cap; };
bool build_disassemble(const char *so_path, const char *symbol, const struct cancel *c,
                       struct str *out, struct c_lines *c_lines, struct err *e);
#endif
