/* Reads x86-64 assembly as gcc and clang write it (AT&T syntax), divides it into basic blocks, and
 * makes a copy of the text that counts how often each block runs.
 *
 * A block begins at a label or after a jump, and ends at the next label or jump; a call does not
 * end it.  The padding that `.p2align` puts before a loop is executed too.  It consists of nops.
 * Only the assembler knows how many, so `padded` below tells where each piece of padding lies. */
#ifndef TS_PROFILE_ASMTEXT_H
#define TS_PROFILE_ASMTEXT_H
#include "kernels/base/err.h"
#include "kernels/base/str.h"
#include "kernels/base/vec.h"

/* The kind of an instruction: FMA (of vectors), VECTOR (other vector instructions, also moves and
 * masks), SCALAR (integers, and one float or double at a time), BRANCH (jump, call, return). */
enum insn_kind { INSN_FMA, INSN_VECTOR, INSN_SCALAR, INSN_BRANCH, INSN_KINDS };

/* loads, stores: number of memory accesses. An add to memory is one load and one store; a gather is
 * a load per lane, and a scatter is a store per lane. stack_loads, stack_stores: how many of these
 * accesses go to the stack: their address contains the stack pointer (or the frame pointer, if
 * there is one), or push, pop, call, ret or leave makes them. Spills and accesses to local tiles go
 * to the stack. */
struct insn {
    enum insn_kind kind;
    int loads, stores, stack_loads, stack_stores;
    bool ends;                           /* a jump, return or trap: it ends a block */
    bool stops;                          /* no instruction follows it: jmp, ret, ud2, hlt */
};
/* Reads one instruction; the text must have no label and no comment. frame: whether %rbp is the
 * frame pointer. */
struct insn asm_insn_read(const char *text, size_t len, bool frame);

struct asm_block { int64_t n, kind[INSN_KINDS], loads, stores, stack_loads, stack_stores; };

struct asm_text {
    VEC(struct asm_block) block;
    VEC(int) pad;                        /* for each piece of padding, the index of its block */
    bool repeats;  /* the text has `rep stosq` or the like, whose repetitions are not counted */
    VEC(char *) call;  /* names of the functions that the text calls but does not define */
    /* The text with counters.  It exports `int64_t *ts_blocks(void)`, which returns the number of
     * blocks, then a count for each.  The counters change no register and no flag; they do not
     * work with several threads. */
    struct str counting;
    /* The text without counters.  It exports `int64_t *ts_pads(void)`, which returns the number of
     * pieces of padding, then the address where each begins and the address after its end. */
    struct str padded;
};
void asm_read(const char *text, struct asm_text *out);
void asm_free(struct asm_text *t);
#endif
