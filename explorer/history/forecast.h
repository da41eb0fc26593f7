/* Predicts how steps change the cache misses of a program, before anything is compiled
 * (profile/measure/predict.h); and proposes steps that reduce the misses (forecast_cures.c). */
#ifndef TS_EXPLORER_FORECAST_H
#define TS_EXPLORER_FORECAST_H
#include "explorer/history/history.h"
#include "profile/machine/roofline.h"
#include "profile/measure/lens.h"

#define FORECAST_CURES 64

/* The effect of steps on the tiles in registers.  SPILLS: a tile no longer fits into them.  LEAVES:
 * a loop over a tile is neither unrolled nor vectorized, so the tile lies in memory.  Both usually
 * cost more time than misses do.  STAYS: neither, or unknown. */
#define TILE_FATES(X) X(STAYS, "stays") X(SPILLS, "spills") X(LEAVES, "leaves")
enum tile_fate {
#define FATE(id, name) TILE_##id,
    TILE_FATES(FATE)
#undef FATE
    TILE_FATE_COUNT
};
extern const char *const tile_fate_name[TILE_FATE_COUNT];

/* A line of the prompt (command.h), or several with \n between them, and the misses of the program
 * after them.  ok: whether the misses are known; they are not if a line was refused or the
 * prediction failed, for example because it took too long.  held: number of later steps that no
 * longer apply.  other_contract: whether the lines change the layout of an input or output
 * (contract.h).  why: why there is no code whose misses could be predicted ("the unrolled body of
 * Conv has more than 4096 statements"); "": there is code, or a line was refused. */
struct forecast {
    const char *line;
    bool ok, other_contract;
    int held;
    struct prediction misses;
    enum tile_fate tile;
    char why[160];
};

/* Returns the predicted milliseconds of a row on the machine of a model; 0: unknown, also when a
 * tile begins to spill: which of its elements a compiler keeps in registers is not predicted.
 * target: NULL: the host's. */
double forecast_ms(const struct forecast *row, const struct machine_model *model,
                   const struct target *target);
/* Returns the predicted change of the time, such as -0.5, but no gain above what the state lacks of
 * the FMA ceiling.  timed: the measurement of the state; it counts if it is of one thread and of
 * the target's instructions; NULL: there is none.  NAN stays NAN. */
double forecast_bounded(double change, const struct measurement *timed,
                        const struct target *target);
/* Predicts the misses of p after the lines of each of the n rows; each row starts again from p.
 * *none: gets the prediction for p itself.  pr: gets "predicting 3 of 8"; may be NULL. */
bool forecast_steps(const struct program *p, const struct predict_opts *o,
                    const struct progress *pr, const struct cancel *c, struct forecast *row, int n,
                    struct forecast *none, struct err *e);
/* The same for one row whose program after its lines is known, and whose line and `held` the caller
 * sets. */
void forecast_program(const struct program *p, const struct program *after,
                      const struct predict_opts *o, const struct cancel *c, struct forecast *row,
                      struct forecast *none);
/* Lists steps that may reduce the misses which a lens explains: padding, other orders of loops and
 * dimensions, blocked layouts of constants, copies to a tile, joined nests, tiles that fit into L1.
 * Fills the lines of `row`, allocated in a, and returns their number, at most FORECAST_CURES.
 * Proposes nothing against compulsory misses. */
int forecast_cures(const struct program *p, const struct lens *l, struct arena *a,
                   struct forecast *row);
/* Predicts and ranks the cures of a lens.  A cure after which a later step no longer applies gets
 * ok = false.  *now: gets the prediction for p itself. */
bool forecast_lens(const struct program *p, const struct cache_config *cache,
                   const struct target *target, const struct progress *pr, const struct cancel *c,
                   struct forecast *row, int n, struct forecast *now, struct err *e);
/* Sorts the rows into four groups: rows of one line; rows of several lines; rows that spill a tile,
 * take it out of the registers, or take many more cycles than `now`, the program itself; rows with
 * unknown misses.  In each of the first three groups, the fewest misses come first. Of rows whose
 * misses are nearly equal, those that keep the contract come first, and of these the ones that take
 * clearly fewer cycles. */
void forecast_rank(struct forecast *row, int n, const struct forecast *now);
bool forecast_is_long(const struct forecast *row);       /* whether it has several lines */
/* Whether the row has clearly fewer misses than now->misses.  False if either is unknown. */
bool forecast_helps(const struct forecast *row, const struct forecast *now);
/* The outcome of several predicted cures: one helps, or the reason why none does.  COMPULSORY:
 * nearly all misses of the program are compulsory.  NO_CANDIDATE: there are no rows.  NONE_LEGAL:
 * no row has known misses. */
#define CURE_RESULTS(X) \
    X(HELPS, "helps") X(NO_MISSES, "no_misses") X(COMPULSORY, "compulsory") \
    X(NO_CANDIDATE, "no_candidate") X(NONE_LEGAL, "none_legal") X(NONE_BETTER, "none_better")
enum cure_result {
#define RESULT(id, name) CURE_##id,
    CURE_RESULTS(RESULT)
#undef RESULT
    CURE_RESULT_COUNT
};
extern const char *const cure_result_name[CURE_RESULT_COUNT];
enum cure_result forecast_result(const struct lens *l, const struct forecast *now,
                                 const struct forecast *row, int n);
/* Returns the row with the fewest misses; NULL: no misses are known. */
const struct forecast *forecast_least(const struct forecast *row, int n);
#endif
