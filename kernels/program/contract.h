/* The contract of a program with its caller: the layouts in which inputs arrive and outputs leave.
 * Constants are not part of the contract, because they are packed once, before all calls. */
#ifndef TS_PROGRAM_CONTRACT_H
#define TS_PROGRAM_CONTRACT_H
#include "kernels/program/program.h"

/* Whether every input and output has the row-major layout of the operator's definition. */
bool contract_is_plain(const struct program *p);
/* Appends "Inp NHWI -> ReLU NHWO", or "as the caller has it" when the contract is plain. */
void contract_print(struct str *out, const struct program *p);
/* Appends "; B packed as N/16 K 16n" for constants that are not row-major. */
void contract_print_packed(struct str *out, const struct program *p);
/* Appends how the contract of p differs from that of q: "Inp arrives as NHWI instead of NIHW; ReLU
 * leaves as NHWO instead of NOHW". Tensors that only one of the two operators has are not compared.
 * Returns false, and appends nothing, when no layout differs. */
bool contract_difference(struct str *out, const struct program *p, const struct program *q);
#endif
