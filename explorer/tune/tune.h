/* The tuner: takes a schedule and returns the fastest one that it finds (ALT, SPEC D and E).
 *
 *     seeds -> joint stage -> loop-only stage -> final: the best few compared with each other
 *
 * The final also times the start (the schedule that was given), unless the start failed or was far
 * slower in the search.  If the final times the start, and no candidate is faster than the start by
 * the 95 % interval of the ratio, the start is the result. */
#ifndef TS_EXPLORER_TUNE_TUNE_H
#define TS_EXPLORER_TUNE_TUNE_H
#include "explorer/tune/kernels.h"

enum { TUNE_FINALISTS = 5 };

struct tune_opts {
    struct kernels_opts kernels;
    int budget;  /* number of measurements, without the measurements of the final */
    int joint;                           /* see struct search_opts */
    uint64_t seed;
    const char *strategy;                /* its name; NULL: see tune_strategy */
    double time_s;                       /* time limit of the search; 0: none */
    double settle_s;                     /* see struct search_opts */
    int rounds, prefilter;               /* see struct search_opts */
    /* libraries to time beside the winner: bits 1 << enum vendor_library */
    unsigned baselines;
    /* whether to measure the winner also after each of its lines; ignored for a GPU, because most
     * programs with only some of the lines bind no loop */
    bool ledger;
    /* Seconds of the first comparison of the final.  < 0: there is no final.  0: up to 2 s; the
     * winner is then also measured alone.  A start that was too slow for the final is then also
     * timed in turns with the winner, unless that takes too long. */
    double compare_s;
    bool cold;                           /* see struct search_opts */
    const char *weights; size_t weights_bytes;  /* weights of agents (agents_load), or NULL */
    struct follow *follow;               /* see struct search_opts */
    /* If cancelled, ends the search early; the best candidates are still compared.  The caller must
     * set stop->whole to tune_open's `cancel`.  NULL: only `cancel` ends the search early, and then
     * nothing is compared. */
    const struct cancel *stop;
};

/* A candidate of the final.  compared.ratio: its time / the time of the first finalist. */
struct tune_finalist { const struct tune_candidate *c; struct compared compared; };

struct tune_result {
    enum search_end end;
    const struct tune_view *view;        /* state at the end of the search */
    const struct tune_candidate *best;   /* the winner; NULL: every candidate failed */
    const struct tune_candidate *start;  /* the first seed; NULL: it was not measured */
    /* lines of the winner, in order, without lines that have no effect */
    int n_lines; const char *const *line;
    bool compared;  /* whether there was a final; if not, `best` is the best of the search */
    int n_finalists; struct tune_finalist finalist[TUNE_FINALISTS + 1];
    int n_rounds;                        /* rounds of the comparison */
    /* whether a start that was too slow for the final was compared with the winner later; gain[0]
     * is then the start, gain[1] the winner */
    bool gained; struct compared gain[2];
    bool measured;                       /* whether m is valid */
    struct measurement m;                /* the winner without other candidates, with baselines */
    struct measurement *ledger;          /* [i]: after i lines of the winner; NULL: not measured */
    double final_s;
    /* sizes of the spaces: number of layouts, number of points in the loop space of the best
     * layout */
    double layouts, points;
    const char *note;                    /* "layouts stay as they are: ..."; "" = no note */
    const struct tune_opts *opts;
    const struct cancel *cancel;
    struct search *search;
    struct kernels *kernels;
    struct arena *mem;
};

/* Returns the name of the strategy: `given`, or if that is NULL, "ppo" with trained agents
 * (weights) and "evo" without.  Untrained agents find no faster schedules than evolution, and take
 * 15 % longer (BENCHMARKS.md). */
const char *tune_strategy(const char *given, bool trained);
extern const char *const search_end_name[];      /* by enum search_end: "budget spent", ... */

/* Runs the tuner.  Fails on bad input, or if the environment lacks something; *out is then
 * unchanged, but sink->measured has received the measurements so far.  After a cancel, returns
 * true, and *out has the results so far. */
bool tune_run(const struct tune_opts *o, const struct search_sink *sink,
              const struct cancel *cancel, struct tune_result **out, struct err *e);
void tune_free(struct tune_result *r);

/* The parts of tune_run, for a search that is continued.  Call tune_open once, tune_go any number
 * of times, and tune_end once.  Each tune_go updates r->end and r->view.  *o must outlive the
 * search.  The caller may raise o->budget and o->time_s before each tune_go, and set o->compare_s
 * before tune_end. */
bool tune_open(const struct tune_opts *o, const struct search_sink *sink,
               const struct cancel *cancel, struct tune_result **out, struct err *e);
bool tune_go(struct tune_result *r, struct err *e);
/* Runs the final, computes the lines of the winner, and measures its ledger. */
bool tune_end(struct tune_result *r, struct err *e);
#endif
