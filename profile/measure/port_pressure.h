/* Finds the loop of a kernel that executes the most instructions. llvm-mca, if it is installed,
 * predicts how the instructions of this loop load the CPU's ports. */
#ifndef TS_PROFILE_PORT_PRESSURE_H
#define TS_PROFILE_PORT_PRESSURE_H
#include "kernels/base/subprocess.h"
#include "kernels/gen/gen.h"
#include "profile/measure/mca_models.h"

/* insns: per loop of *lines, the number of instructions in its own body, without loops inside; the
 * last entry is for instructions outside of all loops. all: number of instructions that one call
 * executes, by the trips of the loops. The caller frees insns. */
struct hot_loops { double *insns, all; };
struct hot_loops hot_loops_find(const char *assembly, const struct code_lines *lines);
/* Returns the share of the executed instructions that are in the body of a loop. */
double hot_loops_share(const struct hot_loops *h, const struct code_lines *lines, int loop);
/* Returns the loop with the largest share, or -1. */
int hot_loops_hottest(const struct hot_loops *h, const struct code_lines *lines);

#define MOST_PORTS 32
/* The cost of one iteration of the hottest loop. least: the cycles that it would take if only the
 * ports and the dispatch width limited it; cycles, ipc: as llvm-mca simulates it; port: the cycles
 * of each port. reason: why the cost is unknown, or "". */
struct port_pressure {
    char reason[160];
    int loop;                             /* index of the loop in the lines; -1: no loop */
    /* model: the CPU model that llvm-mca used; exact: whether it is the model of this CPU */
    char model[24]; bool exact;
    /* the first of the asked models that has fewer FMAs a cycle than this CPU; "": there was none.
     * Equal to `model` if no better model answered. */
    char slow[24];
    double cycles, least, ipc;
    int n; struct { char name[24]; double cycles; } port[MOST_PORTS];
};
/* Finds the hottest loop and asks llvm-mca about it. assembly: a text of program_text_asm_lines.
 * models: the models to ask; NULL: those of this CPU. Always fills *out. */
void port_pressure_read(const char *assembly, const struct code_lines *lines,
                        const struct mca_models *models, const struct cancel *c,
                        struct port_pressure *out);
/* Appends "by llvm-mca's model of znver3: 7.7 cycles an iteration at least, 32.7 predicted, IPC
 * 0.89; Zn3FP01 7.7, ...", the busiest ports first; or the reason. */
void port_pressure_print(struct str *out, const struct port_pressure *p);
#endif
