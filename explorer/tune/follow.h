/* Follows one schedule during a search that does not know the schedule.  Records when the search
 * tries its layout, what the cost model predicts for it, and whether the search proposes it.  If a
 * search does not find a schedule that a person wrote, this record shows why: the space lacks it,
 * the model misjudges it, or the strategy never comes to it. */
#ifndef TS_EXPLORER_TUNE_FOLLOW_H
#define TS_EXPLORER_TUNE_FOLLOW_H
#include <stdbool.h>

#include "explorer/space/point_why.h"
#include "kernels/base/vec.h"

/* One round of the search.  The followed schedule was scored like the candidates of the round. */
struct follow_round {
    int trials;                          /* number of trials measured before this round */
    /* open: whether the layout of the schedule is open and the schedule is a point there; refused:
     * whether the schedule is no valid program, or its code is too large */
    bool open, refused;
    /* learned: whether `score` can rank the schedule; it is a prediction, or an estimate from the
     * code */
    bool learned;
    double score;                        /* about best latency / latency of the schedule */
    /* pool: number of scored candidates of the round; better: how many of them have a better score
     * than the schedule */
    int better, pool;
    /* number of knobs in which the schedule differs from the nearest measured point of its layout;
     * -1: no point of this layout was measured */
    int apart;
};

struct follow {
    int n_lines; const char *const *line;               /* the schedule */
    /* The members below are filled in by the search. */
    struct point_why why;  /* why the schedule is no point in the space of its layout */
    /* opened: number of trials before the first round in which the layout was open; proposed:
     * number of trials before the first round in which the schedule was proposed; trial: number of
     * the schedule's own trial; each is -1 until then */
    int opened, proposed, trial;
    double ms;                           /* latency of the schedule; valid once trial >= 0 */
    VEC(struct follow_round) round;
};
#endif
