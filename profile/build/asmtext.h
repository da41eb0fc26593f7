/* x86-64 assembly as gcc and clang write it (AT&T syntax), in basic blocks: what each holds, and a
 * twin of the text that counts how often each runs.
 *
 * A block is what runs whenever its first instruction does: it begins at a label or behind a jump
 * and ends with the next of either; a call does not end it.  The padding that `.p2align` puts in
 * front of a loop runs too, as nops whose number only the assembler knows: see `padded`. */
#ifndef TS_PROFILE_ASMTEXT_H
#define TS_PROFILE_ASMTEXT_H
#include "kernels/base/err.h"
#include "kernels/base/str.h"
#include "kernels/base/vec.h"

/* Every instruction is one of FMA (of vectors), VECTOR (moves and masks too), SCALAR (integers and
 * single floats), BRANCH (jump, call, return). */
enum insn_kind { INSN_FMA, INSN_VECTOR, INSN_SCALAR, INSN_BRANCH, INSN_KINDS };

/* loads, stores: operands in memory; add to memory is both.  stack_...: those of them that go
 * through the stack pointer (or the frame pointer, where there is one), push, pop, call and ret
 * included: spills and local tiles. */
struct insn {
    enum insn_kind kind;
    int loads, stores, stack_loads, stack_stores;
    bool ends;                           /* a jump or return: a block ends */
    bool stops;                          /* what is behind it is not reached from here */
};
/* One instruction, without label and comment.  frame: %rbp is the frame pointer. */
struct insn insn_read(const char *text, size_t len, bool frame);

struct asm_block { int64_t n, kind[INSN_KINDS], loads, stores, stack_loads, stack_stores; };

struct asm_text {
    VEC(struct asm_block) block;
    VEC(int) pad;                        /* the block that each piece of padding belongs to */
    bool repeats;                        /* has `rep stosq` or the like, each counted once */
    VEC(char *) call;                    /* what is called and not in the text, once each */
    /* The text with counters, which exports `int64_t *ts_blocks(void)`: how many, then a count per
     * block.  The counters leave registers and flags alone; they are not for several threads. */
    struct str counting;
    /* The text as it was, which exports `int64_t *ts_pads(void)`: how many, then first and last
     * address of each piece of padding. */
    struct str padded;
};
void asm_read(const char *text, struct asm_text *out);
void asm_free(struct asm_text *t);
#endif
