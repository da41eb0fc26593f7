/* The search: stages, exact budgets, cross-exploration (SPEC E.1, E.2), over any tune_problem and
 * with any strategy.
 *
 *     seeds -> joint: { layout; TUNE_ROUNDS rounds in its space; reward }... -> loops of the best
 *
 * A round looks at 128 points, ranks them by the model and measures the best 8; each measurement is
 * one of the budget, failed or not.  Same seed and same measurements give the same trajectory,
 * whether they are measured or replayed (sink.known), so a run that was killed resumes by starting
 * again.  Cancelling at any point keeps everything. */
#ifndef TS_EXPLORER_TUNE_SEARCH_H
#define TS_EXPLORER_TUNE_SEARCH_H
#include "explorer/tune/strategy.h"
#include "explorer/tune/view.h"
#include "kernels/base/str.h"

struct tune_seed {
    int arm;                             /* that its layout is; the problem has it from the start */
    const void *point;                   /* NULL: no point of that space */
    int n_lines; const char *const *line;
};

struct search_opts {
    int budget;                          /* >= 1 */
    uint64_t seed;
    const struct strategy *strategy;     /* strategies.h */
    double time_s;                       /* stop looking after that; 0: never */
    int rounds, prefilter;               /* 0: TUNE_ROUNDS, TUNE_PREFILTER */
    bool cold;                           /* the usual layout and loops are not tried first */
    double epsilon;                      /* share measured at random; < 0: none; 0: 0.05 */
    const char *weights; size_t weights_bytes;   /* of agents (agents_load), or NULL */
    double entropy;                      /* its weight while agents learn; 0: SPEC E.3's 0.01 */
    struct str *weights_out;             /* what they are at the end (agents_save), or NULL */
};

/* Callbacks of the one who asked, all on the searching thread; each may be NULL. */
struct search_sink {
    void *ctx;
    /* As soon as a candidate was measured: write it down now.  replayed ones too. */
    void (*measured)(void *ctx, const struct tune_candidate *c);
    /* Was it measured before?  Then outcome, ms, spread and reason are filled (text that lives). */
    bool (*known)(void *ctx, struct tune_candidate *c);
    /* Something changed.  May wait: that pauses the search. */
    void (*view)(void *ctx, const struct tune_view *v);
};

enum search_end { SEARCH_BUDGET, SEARCH_EXHAUSTED, SEARCH_TIME, SEARCH_CANCELLED, SEARCH_FAILED };

struct search;
struct search *search_new(const struct tune_problem *p, const struct search_opts *o,
                          const struct tune_seed *seed, int n_seeds,
                          const struct search_sink *sink, const struct cancel *cancel);
void search_free(struct search *s);
/* Until the budget, the time or the space is spent, or a cancel.  SEARCH_FAILED: the environment
 * lacks something, *e says what; what was measured by then is still there. */
enum search_end search_run(struct search *s, struct err *e);

const char *search_text(struct arena *a, const char *const *line, int n);  /* identity of lines */
const struct tune_view *search_view(struct search *s);   /* good until s changes */
/* The fastest distinct candidates, best first; returns how many there are, at most max. */
int search_best(const struct search *s, const struct tune_candidate **out, int max);
#endif
