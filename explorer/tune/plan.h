/* Budgets (SPEC E.1).  A budget counts measurements, including failed ones.  By default the joint
 * stage gets three tenths of it, and the loop-only stage the rest.  A stage measures batches of 8
 * or fewer; its last batch takes what is left: 1000 = (37 * 8 + 4) + (87 * 8 + 4). */
#ifndef TS_EXPLORER_TUNE_PLAN_H
#define TS_EXPLORER_TUNE_PLAN_H
#include <stdbool.h>

enum {
    /* number of steps of an episode, and about the number of points of a round */
    TUNE_BATCH = 128,
    TUNE_TOP = 8,                       /* most points of a round that are measured */
    TUNE_ROUNDS = 2,                    /* rounds for each layout of the joint stage (GAP-14) */
    TUNE_PREFILTER = 8,                 /* layouts drawn for each layout that is tried */
    TUNE_PREFILTER_POINTS = 32          /* points of each drawn layout that the model scores */
};

enum tune_stage { STAGE_SEEDS, STAGE_JOINT, STAGE_LOOPS, STAGE_FINAL, STAGE_DONE, STAGE_COUNT };
extern const char *const stage_name[STAGE_COUNT];       /* "seeds" "joint" "loops" ... */

struct plan { int total, joint, loops; };
/* Divides a budget (>= 1) among the stages. With fixed layouts there is no joint stage. */
struct plan plan_of(int budget, bool layouts_fixed);
/* Divides a budget: the joint stage gets `joint` measurements (at most all), the loop-only stage
 * the rest. */
struct plan plan_with(int budget, int joint);
/* Returns the size of the next batch of a stage that has `left` measurements to go; 0: the stage
 * ends. */
int plan_batch(int left);
int plan_batches(int stage_budget);
/* Returns for how many layouts `joint` measurements suffice.  *rest: the measurements that remain
 * for the best layout.  For example, of 300 measurements 18 layouts get 16 each, and 12 remain. */
int plan_layouts(int joint, int rounds, int *rest);
enum { TUNE_FEW_LAYOUTS = 3 };  /* with fewer layouts, the layout space counts as not searched */
/* Returns the smallest budget that suffices for TUNE_FEW_LAYOUTS layouts. */
int plan_layouts_from(void);
#endif
