/* Two states side by side: their texts line by line, and the cache misses of both. */
#ifndef TS_SESSIONS_COMPARE_H
#define TS_SESSIONS_COMPARE_H
#include "kernels/program/program.h"
#include "kernels/base/vec.h"
#include "profile/sim/sim_result.h"

enum compare_of { COMPARE_NEST, COMPARE_C, COMPARE_ASM, COMPARE_OF_COUNT };
extern const char *const compare_of_name[];              /* "nest", "c", "asm" */

/* name: as on the command line, or branch and step.  text: nest, C or assembly.  sim: the simulated
 * misses; NULL: unknown. */
struct compare_side {
    const char *name, *text;
    const struct program *program;
    const struct sim_result *sim;
};

/* A row: a line of A, of B, or of both. same: the two lines have no significant difference. */
struct compare_line { const char *text[2]; bool same; };
struct compare_lines { struct arena *arena; VEC(struct compare_line) row; int differences; };
/* Aligns the texts of both sides.  In assembly all registers of one kind count as equal, and so do
 * all labels: only other instructions, addresses and constants are differences. */
void compare_lines(const struct compare_side side[2], enum compare_of of,
                   struct compare_lines *out);
void compare_lines_free(struct compare_lines *x);

/* Misses of a tensor, or of an access of the operator, in A and in B; -1: it does not exist there.
 * name: the tensor, or the access as it is in A (in B, if A lacks it); now: as it is in B, NULL:
 * the same.  n: the number of places of an access in the nest, which is 2 if there is a remainder;
 * the place with most misses is named. */
struct compare_misses {
    const char *name, *now;
    bool store;
    int n[2];
    int64_t l1[2], l2[2];
    const struct sim_site *site[2];  /* the named access in A, in B; NULL: a tensor, or absent */
};
enum { COMPARE_MOST_MISSES = 2 * (MEASURE_MAX_TENSORS + MEASURE_MAX_SITES) };
/* Lists tensors, or accesses, in descending order of L1 misses. The sides own the names. */
int compare_tensors(const struct compare_side side[2],
                    struct compare_misses out[COMPARE_MOST_MISSES]);
int compare_sites(const struct compare_side side[2],
                  struct compare_misses out[COMPARE_MOST_MISSES]);

/* Sets ns to the simulated least times of a GPU's programs, in nanoseconds. Returns false unless
 * both sides have one. */
bool compare_simulated(const struct compare_side side[2], double ns[2]);

/* Prints `tilescope show --what compare A B --json`. */
void compare_json(struct str *out, const struct compare_side side[2], enum compare_of of);
#endif
