/* Disassembles a cubin: the machine code of a GPU ("SASS"), by NVIDIA's nvdisasm or cuobjdump. */
#ifndef TS_BUILD_SASS_H
#define TS_BUILD_SASS_H
#include "profile/build/build.h"
#include "profile/build/nvrtc.h"

#define SASS_LIMIT_S 20.0

/* Finds the disassembler: nvdisasm, else cuobjdump. Each is looked for in PATH, then in the folder
 * `bin` of the CUDA toolkit that NVRTC is loaded from.  The text of ERR_ENV names these places. */
bool sass_tool_find(struct str *path, struct err *e);

/* Appends the machine code of the kernels of a build, in the order of the source: an offset, the
 * predicate and the instruction on each line, with labels as jump targets.  Encodings and padding
 * are left out. If the dump is cut after 1 MiB, the text says so. lines: NULL, or where to append
 * the source lines. Only a build with a line table has source lines, and only nvdisasm prints
 * them. limit_s: time limit of the disassembler. ERR_ENV: there is no disassembler, or it
 * failed. */
bool sass_disassemble(const struct gpu_build *b, double limit_s, const struct cancel *c,
                      struct str *out, struct c_lines *lines, struct err *e);
#endif
