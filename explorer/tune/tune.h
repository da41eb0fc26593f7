/* The tuner: hand over a schedule, get it back finished (ALT, SPEC D and E).
 *
 *     seeds -> joint stage -> loop-only stage -> final: the best few head to head
 *
 * The result is never slower than the schedule it started from, as far as the final comparison can
 * tell: where no candidate is shown to be faster (its 95 % interval), the start is the result. */
#ifndef TS_EXPLORER_TUNE_TUNE_H
#define TS_EXPLORER_TUNE_TUNE_H
#include "explorer/tune/kernels.h"

enum { TUNE_FINALISTS = 5 };

struct tune_opts {
    struct kernels_opts kernels;
    int budget;                          /* measurements; what the final takes is not counted */
    uint64_t seed;
    const char *strategy;                /* NULL: tune_default_strategy() */
    double time_s;                       /* of the search; 0: no limit */
    int rounds, prefilter;               /* struct search_opts */
    unsigned baselines;                  /* 1 << enum vendor_library, for the winner */
    bool ledger;                         /* measure the winner after each of its lines, too */
    double compare_s;                    /* of the final comparison; 0: up to 2 */
    bool cold;                           /* struct search_opts */
    const char *weights; size_t weights_bytes;           /* of agents (agents_load), or NULL */
};

/* One that took part in the final; compared.ratio: its time over that of the first. */
struct tune_finalist { const struct tune_candidate *c; struct compared compared; };

struct tune_result {
    enum search_end end;
    const struct tune_view *view;        /* as the search ended */
    const struct tune_candidate *best;   /* the winner; NULL: nothing was right */
    const struct tune_candidate *start;  /* the first seed; NULL: not measured */
    int n_lines; const char *const *line;        /* of the winner, in order, without idle ones */
    bool compared;                       /* there was a final; else best is that of the search */
    int n_finalists; struct tune_finalist finalist[TUNE_FINALISTS + 1];
    int n_rounds;                        /* of the comparison */
    bool measured;                       /* m: the winner by itself, beside the baselines */
    struct measurement m;
    struct measurement *ledger;          /* after each of its lines, [0] bare; NULL: not measured */
    double final_s;
    double layouts, points;              /* sizes of the spaces: layouts; loops of the best one */
    const char *note;                    /* "layouts stay as they are: ..."; "" = nothing to say */
    struct search *search;
    struct kernels *kernels;
    struct arena *mem;
};

const char *tune_default_strategy(void);
extern const char *const search_end_name[];      /* "budget spent", "cancelled", ... */

/* False: bad input, or the environment lacks something; *out is then untouched, and what was
 * measured is what sink->measured was told.  A cancel is no failure: what was found is in *out,
 * without a final. */
bool tune_run(const struct tune_opts *o, const struct search_sink *sink,
              const struct cancel *cancel, struct tune_result **out, struct err *e);
void tune_free(struct tune_result *r);
#endif
