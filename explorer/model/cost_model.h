/* Predicts which of several programs is fastest, from their features (SPEC E.4, after Ansor).
 *
 * The score of a program is the sum of the outputs of an XGBoost ensemble for its rows.  The
 * ensemble learns y = (fastest time so far) / time; y is 0 for programs that failed.  The error is
 * the squared difference of score and label (pack-sum squared error): each row of program p has
 * gradient w_p (score_p - y_p) and hessian w_p. The weight w_p is y_p, but at least WEIGHT_LEAST,
 * so that failures also have an effect.
 *
 * When all samples have the columns of the code (features.h), the score starts from the estimate of
 * cycles in these columns.  The ensemble then learns only a correction: y = log(cycles / time),
 * relative to the mean of the samples.  A few samples suffice to learn how an operator differs from
 * the estimate, but not what makes a good program.
 *
 * Until there are enough samples, the score is the fraction of the peak speed according to the
 * estimate of cycles.  Programs without an estimate get random numbers that depend only on seed and
 * features.  Everything is deterministic: the same samples in the same order give the same
 * scores. */
#ifndef TS_EXPLORER_MODEL_COST_MODEL_H
#define TS_EXPLORER_MODEL_COST_MODEL_H
#include "explorer/model/features.h"
#include "kernels/base/str.h"
#include "kernels/base/subprocess.h"

struct cost_model_opts {
    uint64_t seed;
    bool random;                          /* the model never learns: scores stay as at the start */
    int rounds;                           /* most trees (0 = 300) */
    int first;                            /* samples before the first training (0 = 32) */
    double growth;  /* train again when the number of samples has grown by this factor (0 = 1.2) */
};

/* Creates a model.  ERR_ENV, with what to install, when XGBoost is missing; a random model does
 * not need it. */
struct cost_model;
bool cost_model_new(const struct cost_model_opts *o, struct cost_model **out, struct err *e);
void cost_model_free(struct cost_model *m);              /* NULL is allowed */

/* Adds a measured program and copies its features.  A latency that is INFINITY or not positive
 * means that the program failed.  Returns false and adds nothing when a feature is not finite or
 * the columns differ from earlier samples. */
bool cost_model_add(struct cost_model *m, const struct features *f, double latency_ms);

/* Trains if there are enough new samples; else returns true at once.  On ERR_CANCEL and other
 * errors the model does not change. */
bool cost_model_train(struct cost_model *m, const struct cancel *c, struct err *e);
bool cost_model_train_now(struct cost_model *m, const struct cancel *c, struct err *e);

/* Predicts scores: higher = faster; -INFINITY when a feature is not finite or the columns differ.
 */
void cost_model_predict(struct cost_model *m, const struct features *f, int n, double *score);

/* Accuracy on the last samples (up to MODEL_WINDOW).  Each score is a prediction that the model
 * made before the sample was added.  recall8: see rank.h.  known: false for fewer than 16 samples,
 * or if all times are equal. */
#define MODEL_WINDOW 64
struct model_accuracy { double pair_order, recall8; int n; bool known; };
struct model_accuracy cost_model_accuracy(const struct cost_model *m);

struct cost_model_stats {
    int samples, failed;
    int trainings, trees;                 /* numbers of trainings, and of trees in the last one */
    bool learned;  /* whether there is an ensemble, which then makes the scores */
    double train_s, last_train_s;
    double error;                         /* weighted root mean square error of y on the samples */
};
struct cost_model_stats cost_model_stats(const struct cost_model *m);

/* Computes gradient and hessian of each row; public only for tests.  Pack p (the rows of one
 * program) has the rows first[p] <= i < first[p + 1].  Returns the weighted root mean square of the
 * errors of the packs. */
double pack_gradient(int packs, const int *first, const double *y, const double *w,
                     const float *predicted, float *gradient, float *hessian);
#endif
