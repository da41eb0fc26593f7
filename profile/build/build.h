/* Generated C -> shared object, by the system compiler in a child process, cached by content. */
#ifndef TS_PROFILE_BUILD_H
#define TS_PROFILE_BUILD_H
#include "kernels/base/subprocess.h"
#include "kernels/gen/gen.h"

/* files: a hash of the files that it is made of: path, size, time and inode of the driver (of each
 * word of the command that is a program) and of gcc's cc1.  Two compilers can print one version. */
struct compiler {
    char path[256], name[64], version[128];
    bool is_clang;
    uint64_t files;
};
/* $CC when set (an error when it does not work), else gcc, else clang, else ERR_ENV naming the
 * packages. want (may be NULL) asks for one by name: "gcc", "clang", "gcc-12", a path. */
bool compiler_find(const char *want, struct compiler *out, struct err *e);

struct build { char so_path[512]; char c_path[512]; bool cached; double seconds; };
/* The cache (dir_cache()/objects) holds KEY.c and KEY.so; the key hashes source, flags, the
 * compiler's version and its files, and the stored source is compared, so a collision cannot pass.
 * An object has one builder at a time, and others wait for it; what a compiler ends after its
 * tilescope was killed is taken over.  The cache is trimmed to 512 MiB or $TILESCOPE_CACHE_MIB,
 * oldest first (objcache.h).  openmp adds -fopenmp.  $TILESCOPE_CFLAGS are added too.  On refusal
 * ERR_COMPILE with the compiler's first messages. */
bool build_shared(const struct compiler *cc, const char *c_source, const struct target *t,
                  bool openmp, const struct cancel *c, struct build *out, struct err *e);
/* The same with flags of the caller's behind the others (NULL-terminated; NULL = none). */
bool build_shared_with(const struct compiler *cc, const char *source, const struct target *t,
                       bool openmp, const char *const *more, const struct cancel *c,
                       struct build *out, struct err *e);
/* The work of both; cpu_s: CPU time of the compiler, besides 120 s by the clock (0 = 240).
 * Beyond either, ERR_COMPILE.  ERR_KILLED when somebody else killed the compiler, or it got no
 * memory: twice, or once with several kernels, which the caller may then try alone. */
struct build_job {
    const struct compiler *cc;
    const char *source;
    const struct target *target;
    bool openmp;
    const char *const *more;
    int cpu_s;
    int n_kernels;                       /* in the source; 0 = 1 */
};
bool build_object(const struct build_job *b, const struct cancel *c, struct build *out,
                  struct err *e);
/* Only when the cache has it. */
bool build_cached(const struct build_job *b, struct build *out);
/* The assembly that the compiler makes of it (AT&T syntax on x86), cached like an object. */
bool build_assembly(const struct compiler *cc, const char *c_source, const struct target *t,
                    const struct cancel *c, struct str *out, struct err *e);
/* Intel-syntax assembly of one function (objdump), addresses stripped, jump targets kept as labels.
 * ERR_ENV when objdump is missing. */
bool build_disassemble(const char *so_path, const char *symbol, const struct cancel *c,
                       struct str *out, struct err *e);
#endif
