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
    /* open: whether the search has opened its layout; refused: whether the schedule is no valid
     * program, or its code is too large */
    bool open, refused;
    bool learned;  /* whether `score` can rank: a prediction, or an estimate from the code */
    double score;                        /* about best latency / its latency */
    /* how many scored candidates of the round have better scores, and how many there are */
    int better, pool;
    int apart;  /* in how many knobs the nearest measured point of its layout differs; -1: none */
};

struct follow {
    int n_lines; const char *const *line;               /* the schedule */
    /* The members below are filled in by the search. */
    struct point_why why;                /* why it is no point in the space of its layout */
    /* `opened`, `proposed`: number of trials before the first round in which its layout was open,
     * and in which it was proposed; -1: not yet.  `trial`: the number of its own trial; -1: not
     * measured yet */
    int opened, proposed, trial;
    double ms;                           /* its latency; valid once trial >= 0 */
    VEC(struct follow_round) round;
};
#endif
