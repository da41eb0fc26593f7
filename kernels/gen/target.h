/* A target is the kind of machine for which code is generated.  It is a row of target.def (a CPU),
 * or the GPU (target.c): data for the passes, for calling compilers, for the ceilings and the
 * tuner, and the printer of its code. */
#ifndef TS_GEN_TARGET_H
#define TS_GEN_TARGET_H
#include "kernels/nest/tree.h"

/* The version of the generated code.  Raise it with every change that changes times, so that stored
 * times of older code are not taken for those of today's code. */
#define GEN_VERSION 2

struct unit;                              /* gen_impl.h: a function during generation */

struct target {
    const char *isa;                      /* the name of the target: "avx512" */
    int vector_bytes;                     /* 0: no vectors, plain C */
    int registers;                        /* vector registers; without vectors, scalar ones */
    unsigned annotations;            /* the kinds of loops that its code can have: 1 << loop_ann */
    unsigned memories;               /* the memories that it can have: bits 1 << memory_scope */
    const char *emulated;            /* the target to generate under valgrind; NULL: this one */
    int chains; long rounds;              /* multiply-adds and iterations of gen_peak's loop */
    const char *const *gcc, *const *clang;         /* compiler flags, NULL-terminated */
    bool (*runs_here)(void);
    bool gpu;  /* whether gen_c makes the host twin of a GPU's kernels; its times mean nothing */
    void (*print)(struct unit *u, struct str *out);        /* prints the text of gen_c */
};

/* The printers of code, for struct target. */
void code_print_c(struct unit *u, struct str *out);
void code_print_twin(struct unit *u, struct str *out);

/* Returns the number of elements of a vector, of the type in which elements are computed; 1 when
 * the target has no vectors. */
int target_lanes(const struct target *t, const struct elem_type *type);

int targets_count(void);
const struct target *target_get(int i);   /* i: row of target.def */
const struct target *target_host(void);   /* the first row that this CPU can run */
const struct target *target_or_host(const struct target *t);       /* t; if NULL, target_host() */
/* Returns the target of this name; for NULL target_host(), for an unknown name the last row. */
const struct target *target_named(const char *isa);
/* Finds a target by name.  Returns NULL with ERR_NAME if there is no such name, or with ERR_ENV if
 * this CPU cannot run its code. */
const struct target *target_find(const char *isa, struct err *e);
const char *const *target_flags(const struct target *t, bool is_clang);
/* Returns a hash of GEN_VERSION and the flags of all targets, which together with the compiler
 * determine the machine code of a nest. Times of code with another hash are out of date. */
uint64_t target_code(void);
/* Whether a flag forbids clang what `set autovectorize on` allows. The caller must then leave the
 * flag out: no later flag undoes it, and clang has no options for single functions. */
bool target_binds(const char *flag);
/* Fails with ERR_STEP at the first loop or buffer of f that code for t cannot have. */
bool target_takes(const struct target *t, const struct func *f, struct err *e);
#endif
