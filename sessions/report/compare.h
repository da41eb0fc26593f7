/* Two states side by side: their texts line by line, and the cache misses of both. */
#ifndef TS_SESSIONS_COMPARE_H
#define TS_SESSIONS_COMPARE_H
#include "kernels/program/program.h"
#include "kernels/base/vec.h"
#include "profile/sim/sim_result.h"

enum compare_of { COMPARE_NEST, COMPARE_C, COMPARE_ASM, COMPARE_OF_COUNT };
extern const char *const compare_of_name[];              /* "nest", "c", "asm" */

/* One of the two states, A or B.  `name`: as on the command line, or branch and step.  `text`: its
 * nest, C or assembly.  `sim`: its simulated misses; NULL: unknown. */
struct compare_side {
    const char *name, *text;
    const struct program *program;
    const struct sim_result *sim;
};

/* A row: a line of A, of B, or of both.  same: whether the two lines have no significant
 * difference. */
struct compare_line { const char *text[2]; bool same; };
struct compare_lines { struct arena *arena; VEC(struct compare_line) row; int differences; };
/* Aligns the texts of both sides.  In assembly, comments do not count, and registers of one kind
 * count as equal, as do labels: only instructions, addresses and constants can differ. */
void compare_lines(const struct compare_side side[2], enum compare_of of,
                   struct compare_lines *out);
void compare_lines_free(struct compare_lines *x);

/* Misses of a tensor, or of an access of the operator, in A and in B. `name`: the tensor, or the
 * text of the access in A (in B, if A lacks it).  `now`: the text of the access in B; NULL: the
 * text is the same as in A, or one side lacks the access.  `n`: in how many places of each nest the
 * access is, for example 2 if a loop has a remainder; the texts are those of the place with most
 * misses.  `l1`, `l2`: misses; -1: that side lacks the tensor or access.  `site`: the access in A
 * and in B; NULL: that side lacks it, or the row is a tensor. */
struct compare_misses {
    const char *name, *now;
    bool store;
    int n[2];
    int64_t l1[2], l2[2];
    const struct sim_site *site[2];
};
enum { COMPARE_MOST_MISSES = 2 * (MEASURE_MAX_TENSORS + MEASURE_MAX_SITES) };
/* List the tensors, or the accesses, of both sides in descending order of L1 misses; return their
 * number.  The sides own the names. */
int compare_tensors(const struct compare_side side[2],
                    struct compare_misses out[COMPARE_MOST_MISSES]);
int compare_sites(const struct compare_side side[2],
                  struct compare_misses out[COMPARE_MOST_MISSES]);

/* Sets ns[0] and ns[1] to the simulated least times of A and B on a GPU, in nanoseconds.  Returns
 * false unless both were simulated on a GPU. */
bool compare_simulated(const struct compare_side side[2], double ns[2]);

/* Prints `tilescope show --what compare A B --json`. */
void compare_json(struct str *out, const struct compare_side side[2], enum compare_of of);
#endif
