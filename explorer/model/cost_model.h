/* Predicts which of several programs is fastest, from their features (SPEC E.4, after Ansor).
 *
 * A program's score is the sum over its rows of what an XGBoost ensemble says of each; the ensemble
 * learns y = (fastest time so far) / time, 0 for what failed.  Row i of program p has gradient
 * w_p (sum of p - y_p) and hessian w_p (pack-sum squared error), w_p = y_p but at least
 * WEIGHT_LEAST, so that failures teach as well.
 *
 * Until enough is measured scores are random, by seed and features alone.  Everything is
 * deterministic: the same samples in the same order give the same scores. */
#ifndef TS_EXPLORER_MODEL_COST_MODEL_H
#define TS_EXPLORER_MODEL_COST_MODEL_H
#include "explorer/model/features.h"
#include "kernels/base/str.h"
#include "kernels/base/subprocess.h"

struct cost_model_opts {
    uint64_t seed;
    bool random;                          /* never learn: all scores stay random */
    int rounds;                           /* at most so many trees (0 = 300) */
    int first;                            /* samples before the first training (0 = 32) */
    double growth;                        /* train again at so many times the samples (0 = 1.2) */
};

/* ERR_ENV, with what to install, when XGBoost is not there; a random model needs nothing. */
struct cost_model;
bool cost_model_new(const struct cost_model_opts *o, struct cost_model **out, struct err *e);
void cost_model_free(struct cost_model *m);              /* NULL is fine */

/* A measured program; INFINITY (and what is no positive time) = it failed.  Copies.  False, and not
 * taken, when a feature is not finite or the columns are not those of the samples before. */
bool cost_model_add(struct cost_model *m, const struct features *f, double latency_ms);

/* Trains when that is due; quick when it is not.  On ERR_CANCEL and other errors the model stays as
 * it was. */
bool cost_model_train(struct cost_model *m, const struct cancel *c, struct err *e);
bool cost_model_train_now(struct cost_model *m, const struct cancel *c, struct err *e);

/* Higher = faster; -INFINITY where a feature is not finite or the columns are others. */
void cost_model_predict(struct cost_model *m, const struct features *f, int n, double *score);

/* Of the last samples (up to MODEL_WINDOW), each predicted before it was measured, by the model of
 * that time.  recall8: rank.h; not known below 16 samples. */
#define MODEL_WINDOW 64
struct model_accuracy { double pair_order, recall8; int n; bool known; };
struct model_accuracy cost_model_accuracy(const struct cost_model *m);

struct cost_model_stats {
    int samples, failed;
    int trainings, trees;                 /* of the last one */
    bool learned;                         /* scores are not random */
    double train_s, last_train_s;
    double error;                         /* weighted root mean square of y, on the samples */
};
struct cost_model_stats cost_model_stats(const struct cost_model *m);

/* The ensemble without the samples, as bytes.  Saving one that learned nothing is ERR_STEP.  What
 * is loaded predicts at once, until samples of its own replace it; damaged bytes are ERR_SYNTAX and
 * leave the model as it was. */
bool cost_model_save(const struct cost_model *m, struct str *out, struct err *e);
bool cost_model_load(struct cost_model *m, const void *data, size_t n, struct err *e);

/* The objective, for tests.  Pack p has the rows first[p] <= i < first[p + 1].  Returns the
 * weighted root mean square of the packs' errors. */
double pack_gradient(int packs, const int *first, const double *y, const double *w,
                     const float *predicted, float *gradient, float *hessian);
#endif
