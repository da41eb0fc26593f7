/* A made-up problem for the search: layouts of three factors, in each a space of small knobs, and a
 * latency that is a function of both, with one best point, some that fail and some that are no
 * program.  Everything follows from the seed. */
#ifndef TS_TESTS_TUNE_LANDSCAPE_H
#define TS_TESTS_TUNE_LANDSCAPE_H
#include "explorer/tune/search.h"
#include "kernels/base/vec.h"

enum { LAND_KNOBS = 5, LAND_LAYOUT = 3, LAND_MAX_BATCHES = 4096 };

struct land_point { int v[LAND_KNOBS]; };
struct landscape {
    uint64_t seed;
    int values;                          /* of each knob */
    int64_t extent;                      /* of each layout factor; its divisors are the choices */
    bool fixed;                          /* one arm, no layouts */
    bool model, failures;
    int learn_after;                     /* the model ranks from so many measurements on */
    double noise;                        /* of the model's scores */
    struct tune_problem problem;
    struct { int64_t factor[LAND_LAYOUT]; } arm[4096];
    int n_arms;
    int killed_each;                     /* each so-many-th is not measured; 0: all are */
    int n_learned, n_measured, n_batches;
    int n_alike;                         /* so many factors do nothing: layouts with equal others
                                          * are one arm */
    struct land_point watched;           /* a point of... */
    int watched_arm, n_foreign;          /* ...this arm (0: of none): mutated for another */
    int batch[LAND_MAX_BATCHES];         /* sizes, in order */
    int cancel_after;                    /* raise cancel at that measurement; 0: never */
    int lack_after;                      /* the environment fails there; 0: never */
    struct cancel cancel;
};
/* Fills l->problem; the other fields as set before. */
void landscape_open(struct landscape *l);
double landscape_ms(const struct landscape *l, int arm, const struct land_point *p);
/* The fastest of all points of all layouts: as it was made, and by looking at each. */
double landscape_best(struct landscape *l);
double landscape_best_of_all(struct landscape *l);
#endif
