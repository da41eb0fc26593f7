/* Generates the code of a program, to measure it and to show it as text. */
#ifndef TS_PROFILE_PROGRAM_TEXT_H
#define TS_PROFILE_PROGRAM_TEXT_H
#include "kernels/base/subprocess.h"
#include "kernels/module/module.h"
#include "kernels/program/program.h"
#include "profile/build/nvrtc.h"

/* Lowers p to its module, as measure_lower does, so that the shown code is the measured code. */
bool program_text_module(const struct program *p, const struct module **out, struct err *e);

/* Generates the C that is compiled when p is measured. *openmp: whether the C needs -fopenmp. work:
 * NULL, or where to store what the code executes. */
bool program_text_code(const struct program *p, const struct target *t, struct str *text,
                       bool *openmp, struct gen_work *work, struct err *e);

/* Returns t; for NULL the target that the loops of p ask for: CUDA if they are bound to a GPU, else
 * the best target of this CPU. */
const struct target *program_text_target(const struct program *p, const struct target *t);

/* Appends the CUDA C of a program, with its steps in a comment at the top, and at the end the
 * resources of its kernels as compiled by NVRTC, or why it was not compiled. */
bool program_text_cuda(const struct program *p, struct str *out, struct err *e);
/* Compiles the CUDA C of a program for sm_90, into arena a. ERR_ENV without NVRTC. */
bool program_build_cuda(struct arena *a, const struct program *p, struct gpu_build *out,
                        struct err *e);
/* Appends the PTX of a program for sm_90.  ERR_ENV without NVRTC. */
bool program_text_ptx(const struct program *p, struct str *out, struct err *e);
/* Appends the machine code (SASS) of a program for sm_90.  Stores in *lines, in arena a, the loop
 * of each line.  ERR_ENV without NVRTC or without a disassembler (profile/build/sass.h). */
bool program_text_sass(struct arena *a, const struct program *p, const struct cancel *c,
                       struct str *out, struct code_lines *lines, struct err *e);
/* Append the C of a program, or its assembly as compiled with the flags of a measurement, for t
 * (NULL: the best target of this CPU). A comment at the head of the C lists these flags. Vector
 * helpers in the C are macros, so that other flags cause no warning. */
bool program_text_c(const struct program *p, const struct target *t, struct str *out,
                    struct err *e);
bool program_text_asm(const struct program *p, const struct target *t, const char *compiler,
                      const struct cancel *c, struct str *out, struct err *e);
/* Like program_text_asm. Also stores in *lines, in arena a, the loop of each instruction, found by
 * the compiler's line table and the control flow (asm_loops.h). */
bool program_text_asm_lines(struct arena *a, const struct program *p, const struct target *t,
                            const char *compiler, const struct cancel *c, struct str *out,
                            struct code_lines *lines, struct err *e);

/* Append the code that the screen shows, and store in *lines, in arena a, the loop of each line.
 * Source is C, or CUDA C for a GPU. Machine code is assembly, or PTX for a GPU; for PTX, *lines is
 * empty. A program is for a GPU if t is a GPU or if its loops are bound to one. */
bool program_text_is_gpu(const struct program *p, const struct target *t);
bool program_text_source(struct arena *a, const struct program *p, const struct target *t,
                         struct str *out, struct code_lines *lines, struct err *e);
bool program_text_machine(struct arena *a, const struct program *p, const struct target *t,
                          const char *compiler, const struct cancel *c, struct str *out,
                          struct code_lines *lines, struct err *e);
#endif
