/* Follows one schedule during a search that does not know the schedule.  Records when its layout is
 * tried, what the cost model predicts for it, and whether the search proposes it.  When a search
 * does not find a schedule that a person wrote, this shows whether space, model or walk is to
 * blame. */
#ifndef TS_EXPLORER_TUNE_FOLLOW_H
#define TS_EXPLORER_TUNE_FOLLOW_H
#include <stdbool.h>

#include "explorer/space/point_why.h"
#include "kernels/base/vec.h"

/* A round, in which the followed schedule was scored like the candidates of the round. */
struct follow_round {
    int trials;                          /* number of trials measured before this round */
    /* open: the search has opened its layout; refused: the schedule is no valid program, or its
     * code is too large */
    bool open, refused;
    bool learned;                        /* whether score is a prediction of the model */
    double score;                        /* predicted: about best latency / its latency */
    /* how many candidates of the round have better scores, and how many there are */
    int better, pool;
    int apart;  /* in how many knobs the nearest measured point of its layout differs; -1: none */
};

struct follow {
    int n_lines; const char *const *line;               /* the schedule */
    /* The members below are filled in by the search. */
    struct point_why why;                /* why it is no point in the space of its opened layout */
    /* number of trials before its layout was opened, and before the search proposed it; trial: the
     * number of its own trial; -1: never */
    int opened, proposed, trial;
    double ms;                           /* its latency, once it was measured */
    VEC(struct follow_round) round;
};
#endif
