/* The search: stages, exact budgets and cross-exploration (SPEC E.1, E.2), for any tune_problem and
 * strategy.
 *
 *     seeds -> joint: { layout; TUNE_ROUNDS rounds in its space; reward }... -> loops of the best
 *
 * A round generates about 128 points, ranks them by the model and measures the best 8.  Each
 * measurement counts for the budget, even if it failed, but not if the environment prevented it.
 * Without time_s and settle_s, the same seed and measurements give the same trajectory, whether
 * candidates are measured or replayed (sink.known).  Therefore a killed run is resumed by starting
 * it again.  A cancel keeps everything that was measured. */
#ifndef TS_EXPLORER_TUNE_SEARCH_H
#define TS_EXPLORER_TUNE_SEARCH_H
#include "explorer/tune/strategy.h"
#include "explorer/tune/view.h"
#include "kernels/base/str.h"

enum { SETTLE_TRIALS = 200 };
#define SETTLE_GAIN 0.02

struct tune_seed {
    int arm;                             /* the arm of its layout, which exists from the start */
    const void *point;  /* its point in the space of the arm; NULL: it is no point */
    int n_lines; const char *const *line;
};

struct search_opts {
    int budget;                          /* >= 1 */
    int joint;  /* measurements for the joint stage; 0: as in plan_of */
    uint64_t seed;
    const struct strategy *strategy;     /* strategies.h */
    double time_s;                       /* time limit of the search; 0: none */
    /* Seconds after which the search ends as soon as the loop stage gains little: its last
     * SETTLE_TRIALS trials have made the best time less than SETTLE_GAIN shorter.  0: the search
     * does not end for this reason */
    double settle_s;
    /* 0: the defaults, TUNE_ROUNDS and TUNE_PREFILTER; prefilter is limited to TUNE_PREFILTER */
    int rounds, prefilter;
    /* whether to leave out the start layouts and start points, which are otherwise tried first */
    bool cold;
    double epsilon;  /* share of ranked measurements chosen at random; 0: 0.05; < 0: no share */
    const char *weights; size_t weights_bytes;   /* weights of agents (agents_load), or NULL */
    double entropy;                      /* weight of the entropy bonus; 0: the 0.01 of SPEC E.3 */
    struct follow *follow;               /* a schedule to watch (follow.h), or NULL */
    const struct cancel *stop;           /* used instead of search_new's `cancel`, if not NULL */
    struct str *weights_out;  /* receives the agents' weights at the end (agents_save), or NULL */
};

/* Callbacks, all on the searching thread. Each may be NULL. */
struct search_sink {
    void *ctx;
    /* Called as soon as a candidate was measured or replayed, so that it can be stored. */
    void (*measured)(void *ctx, const struct tune_candidate *c);
    /* Returns whether the candidate was measured before.  If so, fills in `outcome`, `ms`, `spread`
     * and `reason` (BORROWS). */
    bool (*known)(void *ctx, struct tune_candidate *c);
    /* Called when something has changed. It may block, which pauses the search. */
    void (*view)(void *ctx, const struct tune_view *v);
};

enum search_end { SEARCH_BUDGET, SEARCH_EXHAUSTED, SEARCH_TIME, SEARCH_SETTLED, SEARCH_CANCELLED,
                  SEARCH_FAILED };

struct search;
/* Opens a search; search_run runs it. */
struct search *search_new(const struct tune_problem *p, const struct search_opts *o,
                          const struct tune_seed *seed, int n_seeds,
                          const struct search_sink *sink, const struct cancel *cancel);
void search_free(struct search *s);
/* Runs until the budget, the time or the space is used up, until the search has settled
 * (search_opts.settle_s), or until a cancel.  SEARCH_FAILED: the environment lacks something, and
 * *e says what; earlier measurements are kept. */
enum search_end search_run(struct search *s, struct err *e);
/* Raises the budget and sets a time limit from now on (0: none).  The joint stage keeps its budget.
 * The next search_run continues as if the search had begun with this budget, under three
 * conditions: the first budget sufficed for the seeds and the joint stage, all budgets are
 * multiples of TUNE_TOP, and the strategy ignores the budget (sa does not).  A joint stage that a
 * time limit ended is not continued.  Returns false and changes nothing if the strategy is ordered,
 * layouts are not fixed, and something was measured: such a search must begin again. */
bool search_extend(struct search *s, int budget, double time_s);

/* Returns the text that identifies step lines: each line and a newline, in arena a. */
const char *search_text(struct arena *a, const char *const *line, int n);
const struct tune_view *search_view(struct search *s);   /* valid until s changes */
/* Shows the search to its sink.  doing: what it does now, a text that lives as long as s. */
void search_show(struct search *s, const char *doing);
/* Stores the fastest candidates with outcome ok, best first; returns their number, at most max. */
int search_best(const struct search *s, const struct tune_candidate **out, int max);
#endif
