/* What code is generated for.  A target is a row of target.def: data that the passes, the callers
 * of compilers, the ceilings and the tuner read, and the printer of its code. */
#ifndef TS_GEN_TARGET_H
#define TS_GEN_TARGET_H
#include "kernels/nest/tree.h"

struct unit;                              /* gen_impl.h: a function on its way to text */

struct target {
    const char *isa;                      /* its name: "avx512" */
    int vector_bytes;                     /* 0: no vectors, plain C */
    int registers;                        /* of vectors; of scalars where there are none */
    unsigned annotations;                 /* 1 << enum loop_ann: what its loops can be */
    unsigned memories;                    /* 1 << enum memory_scope: where its buffers can be */
    const char *emulated;                 /* what valgrind runs in its place; NULL: itself */
    int chains; long rounds;              /* of the FMA ceiling's loop (gen_peak) */
    const char *const *gcc, *const *clang;         /* compiler flags, NULL-terminated */
    bool (*runs_here)(void);
    void (*print)(struct unit *u, struct str *out);        /* the text of gen_c */
};

/* The printers: print_c.c. */
void code_print_c(struct unit *u, struct str *out);

/* Elements of a vector; 1: there are none. */
int target_lanes(const struct target *t, const struct elem_type *type);

int targets_count(void);
const struct target *target_get(int i);   /* in the order of target.def */
const struct target *target_host(void);   /* the best that this machine's CPU can run */
const struct target *target_or_host(const struct target *t);       /* t, NULL: target_host() */
/* NULL: target_host(); the last one when there is no such name. */
const struct target *target_named(const char *isa);
/* By name, and this CPU can run it.  NULL with ERR_NAME and the nearest name, or ERR_ENV. */
const struct target *target_find(const char *isa, struct err *e);
const char *const *target_flags(const struct target *t, bool is_clang);
/* ERR_STEP with the first loop or buffer of f that code for t cannot have. */
bool target_takes(const struct target *t, const struct func *f, struct err *e);
#endif
