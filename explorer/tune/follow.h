/* One schedule watched during a search that does not know it: when its layout is tried, what the
 * model predicts for it, and whether it is proposed.  It says whether space, model or walk is to
 * blame when a search does not find a schedule that a person wrote. */
#ifndef TS_EXPLORER_TUNE_FOLLOW_H
#define TS_EXPLORER_TUNE_FOLLOW_H
#include <stdbool.h>

#include "explorer/space/point_why.h"
#include "kernels/base/vec.h"

/* A round after which the schedule was scored like the candidates of that round. */
struct follow_round {
    int trials;                          /* measured before this round */
    bool open, refused;  /* the search opened its layout; its code is too large */
    bool learned;                        /* whether score is a prediction of the model */
    double score;                        /* predicted: about best latency / its latency */
    int better, pool;                    /* candidates of the round with better scores, and all */
    int apart;  /* knobs in which the nearest measured point of its layout differs; -1: none */
};

struct follow {
    int n_lines; const char *const *line;               /* the schedule */
    /* Filled in by the search: */
    struct point_why why;                /* why it is no point of the layout that was opened */
    int opened, proposed, trial;         /* trials before; trial: its own number; -1: never */
    double ms;                           /* its latency, once it was measured */
    VEC(struct follow_round) round;
};
#endif
