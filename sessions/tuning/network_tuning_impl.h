/* Private to network_*.c. network_tuning.c has the tuning as a whole, network_layouts.c the layouts
 * of the variants, and network_search.c the searches. */
#ifndef TS_SESSIONS_NETWORK_TUNING_IMPL_H
#define TS_SESSIONS_NETWORK_TUNING_IMPL_H
#include "sessions/tuning/network_time.h"
#include "sessions/tuning/network_tuning.h"

/* budget of a run in the records: so large that the run never ends by itself */
enum { NETWORK_MOST_TRIALS = 1000000 };

struct net_tuner {
    struct arena *a;
    struct session *session;
    const struct network_tuning_opts *o;
    struct cancel *cancel;
    const struct graph *graph;
    const struct network *first;          /* the network with which the result is compared */
    const struct network *net;  /* the network that is searched; its layouts between kernels stay */
    struct network_measurement before;    /* measurement of net */
    double plain_s, checked_s;            /* seconds of a measurement without and with a check */
    double check_s;                       /* seconds of the check alone: measured, or an estimate */
    bool checks;  /* whether results are checked; not if a check takes too much of the limit */
    struct network_time time;
    struct tuned_kernel *kernel;          /* per task of net */
    bool layouts_changed;                 /* whether net differs from first */
    bool chosen;  /* whether choose() has decided which schedules stay */
    int spent;                            /* trials of the joint stage */
    double spent_s;                       /* seconds allotted to the searches of the joint stage */
    double paused_s;                      /* seconds spent in views (network_sink) */
    struct search_sink sink;
};

/* Returns the callbacks that show the searches; NULL: nobody asks for views. */
const struct search_sink *network_sink(struct net_tuner *t);
/* Builds the network with the schedules that the session has now. */
bool network_now(struct net_tuner *t, const struct network **out, struct err *e);
/* Restores the given schedules (kernels_text.h) in the session. */
void network_restore(struct net_tuner *t, const char *kernels);
/* Measures two networks in turns.  If t->checks is set, also checks the network `now` once. *old_ms
 * and *now_ms get the least times of the networks in milliseconds. */
bool network_in_turns(struct net_tuner *t, const struct network *old, const struct network *now,
                      int turns, double *old_ms, double *now_ms, struct err *e);
bool network_measure(struct net_tuner *t, const struct network *net, bool check,
                     struct network_measurement *m, struct err *e);
/* What can be searched of a kernel's schedule: nothing, the experts' schedules of its algorithm (an
 * algorithm has no loop space), or everything. */
enum kernel_space { KERNEL_FIXED, KERNEL_EXPERTS, KERNEL_LOOPS };
enum kernel_space network_space(const struct network_task *task);
/* Returns how many tasks have something to search, but at least 1.  The number does not depend on
 * times, so options computed from it are the same in the next call, which continues the same
 * searches. */
int network_complex(const struct network *net);
/* Opens the kernel of a task as a session with its `set` steps and steps that fix layouts. If
 * `freely` is true, the steps fix only the layouts of inputs other than the main one. Otherwise
 * they fix the layouts between kernels, or all layouts if the variant searches only loops. */
bool network_open_kernel(const struct net_tuner *t, const struct network_task *task, bool freely,
                         struct session **out, struct err *e);

/* Gives every kernel of t->net, except conversions, a plain schedule with row-major activations. */
bool network_row_major(struct net_tuner *t, struct err *e);
/* The joint stage: tunes the kernels in the order of the graph, each with the layouts that earlier
 * kernels chose. A kernel keeps its new layouts if the network is faster with them, conversions
 * included. */
bool network_joint(struct net_tuner *t, struct err *e);

/* Searches, in rounds, the kernels whose `why` is NULL, and puts the best schedules into
 * t->session->kernels, and saves the session.  Returns false if the environment lacks something. */
bool network_search(struct net_tuner *t, struct err *e);
#endif
