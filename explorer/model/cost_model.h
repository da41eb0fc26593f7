/* Predicts which of several programs is fastest, from their features (SPEC E.4, after Ansor).
 *
 * The score of a program is the sum of the outputs of an XGBoost ensemble for the rows of the
 * program.  The ensemble learns the label y = (fastest time so far) / time; y is 0 for programs
 * that failed.  The error is the squared difference of score and label (pack-sum squared error):
 * each row of program p has gradient w_p (score_p - y_p) and hessian w_p.  The weight w_p is
 * (fastest time so far) / time, but at least WEIGHT_LEAST, so that failures also have an effect.
 *
 * The columns of the code (features.h) contain an estimate of a program's cycles.  If every sample
 * with a time has this estimate, the ensemble learns only a correction of it: the label y is
 * log(cycles / time) minus the weighted mean of this logarithm over the samples, limited to the
 * range from -3 to 3; y is -3 for programs that failed.  The score is then the corrected estimate.
 * A few samples suffice to learn how an operator differs from the estimate, but not what makes a
 * good program.
 *
 * Before the first training, the score is the fraction of the peak speed that the estimate of
 * cycles predicts.  A program without an estimate gets a random score, which depends only on the
 * seed and the features.  Everything is deterministic: the same samples in the same order give the
 * same scores. */
#ifndef TS_EXPLORER_MODEL_COST_MODEL_H
#define TS_EXPLORER_MODEL_COST_MODEL_H
#include "explorer/model/features.h"
#include "kernels/base/str.h"
#include "kernels/base/subprocess.h"

struct cost_model_opts {
    uint64_t seed;
    bool random;  /* whether the model never learns: scores stay as before the first training */
    int rounds;                           /* most trees of an ensemble (0 = 300) */
    int first;                            /* samples needed for the first training (0 = 32) */
    double growth;  /* train again when the number of samples has grown by this factor (0 = 1.2) */
};

/* Creates a model.  ERR_ENV: XGBoost is missing; the fix names the package to install.  A random
 * model does not need XGBoost. */
struct cost_model;
bool cost_model_new(const struct cost_model_opts *o, struct cost_model **out, struct err *e);
void cost_model_free(struct cost_model *m);              /* NULL is allowed */

/* Adds a sample: a measured program.  Copies its features.  A latency that is INFINITY, NAN or not
 * positive means that the program failed.  Returns false and adds nothing if a feature is not
 * finite, or if the sample does not have the columns of earlier samples. */
bool cost_model_add(struct cost_model *m, const struct features *f, double latency_ms);

/* cost_model_train trains if there are enough new samples; else it returns true at once.
 * cost_model_train_now trains on any number of samples from 1 on.  A random model is never trained.
 * After an error, such as ERR_CANCEL, the model predicts as before. */
bool cost_model_train(struct cost_model *m, const struct cancel *c, struct err *e);
bool cost_model_train_now(struct cost_model *m, const struct cancel *c, struct err *e);

/* Predicts the scores of n programs: higher = faster.  The score is -INFINITY if a feature is not
 * finite, if the program does not have the columns of the samples, or if XGBoost fails. */
void cost_model_predict(struct cost_model *m, const struct features *f, int n, double *score);

/* Accuracy of an ensemble's predictions of the last n samples, at most MODEL_WINDOW.  Each
 * prediction was made before its sample was added.  pair_order, recall8 (k = 8): see rank.h.
 * known: false for fewer than 16 predictions, or if all times are equal. */
#define MODEL_WINDOW 64
struct model_accuracy { double pair_order, recall8; int n; bool known; };
struct model_accuracy cost_model_accuracy(const struct cost_model *m);

struct cost_model_stats {
    int samples, failed;                  /* number of samples; number of those that failed */
    int trainings, trees;  /* number of trainings; number of trees of the last one */
    bool learned;                         /* whether scores come from an ensemble */
    double train_s, last_train_s;         /* seconds of all trainings, and of the last one */
    double error;  /* weighted root mean square error of the last training, on its samples */
};
struct cost_model_stats cost_model_stats(const struct cost_model *m);

/* Computes gradient and hessian of each row; public only for tests.  A pack is the rows of one
 * program: pack p has the rows first[p] <= i < first[p + 1], label y[p] and weight w[p].  Returns
 * the weighted root mean square error of the packs. */
double pack_gradient(int packs, const int *first, const double *y, const double *w,
                     const float *predicted, float *gradient, float *hessian);
#endif
