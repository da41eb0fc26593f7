/* Shared by the files of the search and the strategies. */
#ifndef TS_EXPLORER_TUNE_SEARCH_IMPL_H
#define TS_EXPLORER_TUNE_SEARCH_IMPL_H
#include "explorer/tune/search.h"
#include "explorer/tune/text_set.h"
#include "kernels/base/vec.h"

/* State of an arm in the search.  Views see struct tune_arm instead. */
struct arm_state {
    bool visited;                        /* whether its rounds in the joint stage are done */
    bool begun;                          /* whether its start points were proposed */
    bool exhausted;                      /* whether a round of it found no new point */
    const int64_t *factor;  /* factors of its layout, if a strategy drew the layout; else NULL */
    VEC(struct tune_candidate *) tried;  /* candidates in order of measuring */
};

struct search {
    const struct tune_problem *p;
    struct search_opts o;
    struct search_sink sink;
    const struct cancel *cancel;
    const struct strategy *strategy;
    void *state;                         /* state of the strategy */
    /* buffers of the strategy for one point each; between two calls of the strategy, only `point`
     * keeps its value */
    void *point, *next;
    struct rng rng;
    struct plan plan;
    const struct tune_seed *seed;
    int n_seeds, n_seed_arms;

    struct arena *keep, *round;  /* keep: lives as long as the search; round: as long as the pool */
    VEC(struct tune_candidate *) pool;   /* new candidates of this round, in order of adding */
    struct text_set in_pool, measured;
    VEC(struct tune_candidate *) trial;
    VEC(struct arm_state) arm;
    VEC(struct tune_arm) arm_view;

    enum tune_stage stage;
    enum tune_stage at;                  /* the stage in which search_run continues */
    /* seed_at: index of the next seed; loops_from: number of trials before the loop stage */
    int seed_at, loops_from;
    int loop_round;                      /* rounds of the loop stage so far */
    int stage_budget, stage_done;
    int best;                            /* index of the best trial; -1: none is ok */
    double best_ms;
    double l_ref;                        /* the latency whose reward is 0; 0: not known yet */
    int starts;                          /* number of the next start layout of the template */
    int layouts_tried, replayed;
    /* number of candidates of this batch that were reported as not measured: cancelled, or
     * prevented by the environment */
    int missing;
    int64_t illegal;
    int failed[TUNE_OUTCOMES];
    struct tune_accuracy accuracy;
    double began_s, model_s, measure_wall_s;
    double limit_from_s;                 /* start of the time limit o.time_s */
    double ended_s;                      /* end of the last search_run; 0: none yet */
    const char *doing;
    struct tune_view view;
    bool stop_env;  /* whether measuring has become impossible; *e of search_run has the reason */
};

/* search_pool.c: empties the pool. */
void search_pool_reset(struct search *s);
/* Adds the candidate of a point to the pool and returns it.  If the pool already has this
 * candidate, or if it was measured, returns the existing one.  NULL: the point is not a valid
 * program. */
struct tune_candidate *search_add(struct search *s, int arm, const void *point);
/* Adds random points of an arm until the pool has n, or 4 n points were drawn. */
void search_add_random(struct search *s, int arm, int n);
/* Scores the candidates that are neither scored yet nor illegal. */
void search_score(struct search *s, struct tune_candidate *const *c, int n);
/* Picks up to `want` new candidates from the pool and returns their number: start points first,
 * then those with the best scores, and sometimes one at random.  If nothing ranks candidates, picks
 * any after the start points.  For an ordered strategy, picks the first ones of the pool. */
int search_pick(struct search *s, int want, struct tune_candidate **out);

/* search_measure.c: measures candidates, counts them, and reports them to the strategy, the model
 * and the sink.  Returns false if the search must stop. */
bool search_measure(struct search *s, struct tune_candidate **c, int n, struct err *e);
bool search_should_stop(const struct search *s);
/* Whether the search may end because it gains little (search_opts.settle_s). */
bool search_settled(const struct search *s);

/* search_follow.c.  search_follow: notes the score and rank of the followed schedule in this round;
 * must be called before the picked candidates are measured.  Returns the index of the schedule
 * among the picked candidates; -1: it was not picked.  search_follow_measured: notes the number and
 * the latency of the schedule's trial, if `picked`, which is the schedule, was measured. */
int search_follow(struct search *s, struct tune_candidate *const *picked, int n);
void search_follow_measured(struct search *s, const struct tune_candidate *picked);

/* search_layout.c: returns the next arm to visit in the joint stage; -1: none is left. */
int search_next_arm(struct search *s);
void search_tell_layout(struct search *s, const int64_t *factor, double reward, bool measured);
int search_best_arm(const struct search *s);     /* best searchable arm; -1: no arm */
/* Returns the arm with the given rank (0: the best) if its time is at most `near` times that of the
 * best arm; else the best arm.  -1: there is none. */
int search_good_arm(const struct search *s, int rank, double near);
void search_arms_grow(struct search *s);  /* must be called after the problem has opened arms */
/* Returns the reward 1 - ms / l_ref, clipped to [-4, 1] (SPEC E.3); -4 if ms is INFINITY.  While
 * l_ref is not known, the best latency takes its place; -4 if no latency is known. */
double search_reward(const struct search *s, double ms);
/* Converts a score, which is about best latency / own latency, to a latency; INFINITY: unknown. */
double search_latency(const struct search *s, double score);
#endif
