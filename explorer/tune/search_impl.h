/* Inside the search: what its files and the strategies share. */
#ifndef TS_EXPLORER_TUNE_SEARCH_IMPL_H
#define TS_EXPLORER_TUNE_SEARCH_IMPL_H
#include "explorer/tune/search.h"
#include "explorer/tune/text_set.h"
#include "kernels/base/vec.h"

/* What the search knows of an arm; pub is what views see. */
struct arm_state {
    bool visited;                        /* had its rounds in the joint stage */
    bool begun;                          /* its usual point was proposed */
    bool exhausted;                      /* no new point was found in it */
    const int64_t *factor;               /* the layout that opened it; NULL: a seed's */
    VEC(struct tune_candidate *) tried;  /* in order of measuring */
};

struct search {
    const struct tune_problem *p;
    struct search_opts o;
    struct search_sink sink;
    const struct cancel *cancel;
    const struct strategy *strategy;
    void *state;                         /* the strategy's */
    struct rng rng;
    struct plan plan;
    const struct tune_seed *seed;
    int n_seeds, n_seed_arms;

    struct arena *keep, *round;          /* measured candidates; the pool, reset every round */
    VEC(struct tune_candidate *) pool;   /* new candidates of this round, in order of adding */
    struct text_set in_pool, measured;
    VEC(struct tune_candidate *) trial;
    VEC(struct arm_state) arm;
    VEC(struct tune_arm) arm_view;

    enum tune_stage stage;
    int stage_budget, stage_done;
    int best;                            /* trial, or -1 */
    double best_ms;
    double l_ref;                        /* latency of reward 0; 0: not known yet */
    bool usual_done;                     /* the templates' usual layout was tried */
    int layouts_tried, replayed;
    int missing;                         /* of this batch, not measured for no fault of theirs */
    int64_t illegal;
    int failed[TUNE_OUTCOMES];
    struct tune_accuracy accuracy;
    double began_s, model_s, measure_wall_s;
    double limit_from_s;                 /* what o.time_s counts from */
    const char *doing;
    struct tune_view view;
    bool stop_env;                       /* measuring is not possible; *e of search_run */
};

/* search_pool.c */
void search_pool_reset(struct search *s);
/* The candidate of a point: a new one of the pool, or the one that is in the pool or was measured
 * already; NULL: it is no program. */
struct tune_candidate *search_add(struct search *s, int arm, const void *point);
/* Points of an arm at random until the pool has n, or no new ones turn up. */
void search_add_random(struct search *s, int arm, int n);
/* Scores those that have none yet. */
void search_score(struct search *s, struct tune_candidate *const *c, int n);
/* The best of the pool by score, with some at random; in order for an ordered strategy. */
int search_pick(struct search *s, int want, struct tune_candidate **out);

/* search_measure.c: counts them, tells the strategy, the model and the sink.  False: stop. */
bool search_measure(struct search *s, struct tune_candidate **c, int n, struct err *e);
bool search_should_stop(const struct search *s);
void search_show(struct search *s, const char *doing);

/* search_layout.c: the arm to visit next in the joint stage, -1: there is none left. */
int search_next_arm(struct search *s);
int search_best_arm(const struct search *s);     /* that can be searched; -1: none */
void search_arms_grow(struct search *s);         /* after the problem opened arms */
/* 1 - ms / l_ref, clipped (SPEC E.3); INFINITY gives -4. */
double search_reward(const struct search *s, double ms);
/* What a score means as a latency: scores are about best / own. */
double search_latency(const struct search *s, double score);
#endif
