/* One measurement of a network, for measure_network.c and network_compare.c.  Callers must call the
 * functions in the order in which they stand here. */
#ifndef TS_PROFILE_MEASURE_NETWORK_IMPL_H
#define TS_PROFILE_MEASURE_NETWORK_IMPL_H
#include "profile/measure/job.h"
#include "profile/measure/measure_network.h"
#include "profile/measure/network_values.h"

/* The caller fills in net, opts, cancel, progress, arena and m before network_run_start. */
struct net_run {
    const struct network *net;
    const struct network_opts *opts;
    const struct cancel *cancel;
    const struct progress *progress;
    struct arena *arena;                  /* for the times of the calls; NULL: they are not taken */
    struct network_measurement *m;
    const struct module *module;
    struct measure_job job;  /* the job of the network: options with defaults, compiler, objects */
    struct measure_many work;             /* what job.many points to */
    /* data of constants and inputs, and of the outputs of the checked run */
    struct network_values values;
    struct network_whole whole;           /* outputs of the whole graph; n == 0: not evaluated */
    bool apart;                           /* every tensor has a buffer of its own in the runner */
    struct runner *runner;
};

/* Starts the job of the network; its times will be stored in *single. */
bool network_run_start(struct net_run *r, struct measurement *single, struct err *e);
/* Builds the network and checks its results. */
bool network_run_check(struct net_run *r, struct err *e);
/* Opens the runner that times the network, with intermediates that share memory. Runs the network
 * once, and compares the outputs with those of the check. */
bool network_run_open(struct net_run *r, struct err *e);
/* Closes the runner and frees the data.  keep: the values are stored in *opts->values and not
 * freed, unless opts->values is NULL. */
void network_run_end(struct net_run *r, bool keep);
#endif
