/* The contract of a program with its caller: the layouts in which inputs arrive and outputs are
 * returned. Constants are not part of it, because they are packed once, before all calls. */
#ifndef TS_PROGRAM_CONTRACT_H
#define TS_PROGRAM_CONTRACT_H
#include "kernels/program/program.h"

/* Whether every input and output is row-major, as the operator defines it. */
bool contract_is_plain(const struct program *p);
/* Appends "Inp NHWI -> ReLU NHWO", or "as the caller has it" when the contract is plain. */
void contract_print(struct str *out, const struct program *p);
/* Appends "; B packed as N/16 K 16n" for constants that are not row-major. */
void contract_print_packed(struct str *out, const struct program *p);
/* Appends how the contract of p differs from that of q: "Inp arrives as NHWI instead of NIHW; ReLU
 * leaves as NHWO instead of NOHW". Returns false, and appends nothing, when both have the same
 * contract or their operators have different tensors. */
bool contract_difference(struct str *out, const struct program *p, const struct program *q);
#endif
