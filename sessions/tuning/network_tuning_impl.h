/* Private to network_tuning.c, which has the whole, network_layouts.c, which has the layouts of the
 * variants, and network_search.c, which has the searches. */
#ifndef TS_SESSIONS_NETWORK_TUNING_IMPL_H
#define TS_SESSIONS_NETWORK_TUNING_IMPL_H
#include "sessions/tuning/network_time.h"
#include "sessions/tuning/network_tuning.h"

enum { NETWORK_MOST_TRIALS = 1000000 };  /* of a run in the records: it never ends by itself */

struct net_tuner {
    struct arena *a;
    struct session *session;
    const struct network_tuning_opts *o;
    struct cancel *cancel;
    const struct graph *graph;
    const struct network *first;          /* that the result is compared with */
    const struct network *net;            /* with the layouts that are frozen */
    struct network_measurement before;    /* of net */
    double plain_s, checked_s;            /* that it takes without and with a check */
    double check_s;                       /* of these, the check: measured, or an estimate */
    bool checks;                          /* whether the time limit has room for checks */
    struct network_time time;
    struct tuned_kernel *kernel;          /* per task of net */
    bool layouts_changed;                 /* net is not first */
    bool chosen;                          /* kernels have what was measured in the network */
    int spent; double spent_s;            /* trials and time of the joint stage */
    double paused_s;                      /* in views (network_sink) */
    struct search_sink sink;
};

/* Returns the views of the searches; NULL: nobody asks for them. */
const struct search_sink *network_sink(struct net_tuner *t);
/* Builds the network with the schedules that the session has now. */
bool network_now(struct net_tuner *t, const struct network **out, struct err *e);
/* Gives the session these schedules (kernels_text.h) again. */
void network_restore(struct net_tuner *t, const char *kernels);
/* Measures two networks in turns, and checks `now` once if t->checks: the least milliseconds of
 * both. */
bool network_in_turns(struct net_tuner *t, const struct network *old, const struct network *now,
                      int turns, double *old_ms, double *now_ms, struct err *e);
bool network_measure(struct net_tuner *t, const struct network *net, bool check,
                     struct network_measurement *m, struct err *e);
/* The part of a kernel's schedule that can be searched: nothing, the experts' schedules of its
 * algorithm (there is no loop space around one), or everything. */
enum kernel_space { KERNEL_FIXED, KERNEL_EXPERTS, KERNEL_LOOPS };
enum kernel_space network_space(const struct network_task *task);
/* Returns how many tasks have something to search, whatever their times are: what depends on this
 * number is the same in the next call, which goes on with the same searches. */
int network_complex(const struct network *net);
/* Opens the kernel as a session with the steps that fix its layouts: with `freely` only those of
 * other operands than the main one; else those between kernels, or all when the variant searches
 * loops only. */
bool network_open_kernel(const struct net_tuner *t, const struct network_task *task, bool freely,
                         struct session **out, struct err *e);

/* Gives every kernel of t->net a plain schedule with row-major activations. */
bool network_row_major(struct net_tuner *t, struct err *e);
/* The joint stage: the kernels in the order of the graph, each with the layouts of earlier ones;
 * a kernel's layouts stay when the network is faster with them, conversions included. */
bool network_joint(struct net_tuner *t, struct err *e);

/* Searches the kernels without a reason against it in rounds, and puts what is found into
 * t->session->kernels.  False: the environment lacks something. */
bool network_search(struct net_tuner *t, struct err *e);
#endif
