/* Shows what each step of a schedule contributes: the schedule is timed with each step left out. */
#ifndef TS_EXPLORER_ABLATION_H
#define TS_EXPLORER_ABLATION_H
#include "explorer/history/history.h"

/* The schedule with one step left out.  result.ratio: time without the step / time of the whole
 * schedule. */
struct ablated {
    int step;                             /* number of the step, from 1 */
    const char *text;                     /* the step */
    const char *note;  /* which later steps are then renamed or dropped; "": no step */
    const struct program *program;
    struct compared result;
    bool idle;  /* whether the step is `loop parallel` and one thread was used */
    bool same;  /* whether the generated code is the same without the step; then it is not timed */
};
struct ablation {
    struct history *history;              /* owns programs and texts */
    const struct program *whole;
    int n;
    struct ablated *row;
    struct compared full;
    int threads;                          /* threads of the measurement */
    struct comparison how;  /* how the last group of schedules was timed (measure_compare_each) */
};
/* For each step of p, replays the steps of p without this step (rebase.h).  ERR_RANGE: p has no
 * steps. */
bool ablation_plan(const struct program *p, struct ablation **out, struct err *e);
void ablation_free(struct ablation *a);
/* Times the whole schedule against each schedule of *a that has other code. */
bool ablation_measure(struct ablation *a, const struct measure_opts *o, const struct progress *pr,
                      const struct cancel *c, struct err *e);
/* Appends "1.32x slower (1.30 to 1.34)", "no difference (0.99 to 1.02)", "undecided (0.7 to
 * 1.3)", "nothing: the same code"; "cannot act with one thread" if the step is idle and makes no
 * difference; or why there is no time. */
void ablation_print(struct str *out, const struct ablated *row);

/* The step that changed the time most between two states of one schedule (bisect_steps). */
struct bisection {
    int step;                             /* number of the step found, from 1 */
    const char *text;                     /* allocated in the arena of p */
    struct ratio ratio;                   /* time with the step / time without it */
    struct ratio whole;                   /* time after step `to` / time after step `from` */
    int timings;                          /* how many times states were timed against each other */
};
/* Bisects the steps from + 1 to `to` of p: continues with the half that changes the time more.
 * Does not find differences that cancel each other within a half. */
bool bisect_steps(const struct program *p, int from, int to, const struct measure_opts *o,
                  const struct progress *pr, const struct cancel *c, struct bisection *out,
                  struct err *e);
/* Appends "step 7 `loop ...` makes it 1.80x faster (1.75 to 1.85)"; or that the runs do not show
 * whether it is faster. */
void bisect_print(struct str *out, const struct bisection *b);

/* Numbers all steps that lead to a state, also held ones, from 1.  Returns the number of the k-th
 * applied (not held) step; k counts from 1, too. */
int ablation_step_number(const struct history *h, int state, int k);
#endif
