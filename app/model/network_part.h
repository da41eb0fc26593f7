/* A network and its kernels on the screen: a part of model.h, which includes it. */
#ifndef TS_APP_NETWORK_PART_H
#define TS_APP_NETWORK_PART_H
#include "app/model/model_parts.h"

struct model;
struct desired_job;

bool model_shows_network(const struct model *m);
/* Opens the graph of s as a network.  False: s is no network (session_is_network). */
bool model_network_open(struct model *m, struct session *s /* taken if true */);
void model_network_close(struct model *m);  /* frees its session and those of its kernels */
bool model_network(struct model *m, const char *arg);    /* the command `network` */
int model_kernel(const struct model *m);         /* returns the task under the cursor, or -1 */
/* Returns the task with the operator in the first line of spec; of several, the one whose number is
 * nearest to `near`.  -1: there is none. */
int model_kernel_like(const struct network *net, const char *spec, int near);
void model_kernel_open(struct model *m);
/* Opens s, a kernel with the changes that an earlier run has left.  If a kernel is open, s replaces
 * the session of this kernel. */
void model_kernel_recovered(struct model *m, struct session *s /* taken */);
/* Copies the steps of the open kernel into the session of the network. */
void model_kernel_keep(struct model *m);
/* Returns the number of kernels that have branches which only their autosaves keep, and which were
 * not given up.  The network's file keeps only the current branch of each kernel. */
int model_network_branches(const struct model *m);
void model_network_give_up(struct model *m);     /* gives up the other branches of the kernels */
/* Appends a note on branches and measurements of kernels that the network's file lacks. */
void model_network_left_out(const struct model *m, struct str *out);
void model_kernel_leave(struct model *m);  /* shows the network; asks first while a tuner runs */
void model_network_show(struct model *m);        /* shows the network in place of its kernel */
void model_network_update(struct model *m);  /* builds the network again, and stops its search */
/* model_network_steps.c: steps of the network itself. */
bool model_network_takes(const char *line);      /* whether a line is such a step, undo or redo */
bool model_network_step(struct model *m, const char *line);      /* runs such a line */
void model_network_forget_undone(struct app_network *n);         /* frees the undone steps */
bool model_network_measure(struct model *m);
/* The command `tune_all`: tunes all kernels for arg seconds ("": 60). */
bool model_network_tune(struct model *m, const char *arg);
/* Notices a new text of the search of all kernels.  Pauses it while something else is measured. */
void model_network_look(struct model *m);
bool model_network_searches(const struct model *m);  /* whether this search runs unpaused */
bool model_network_cancel(struct model *m);  /* false: nothing to cancel, or a kernel is shown */
bool model_desired_network(const struct model *m, enum job_lane lane, struct desired_job *out);
struct app_job *model_network_job(const struct model *m, const struct desired_job *w);
void model_networked(struct model *m, struct app_job *j);  /* takes over the result of the job */
/* model_network_tuned.c: what a search of all kernels found. */
void model_network_tuned(struct model *m, struct app_job *j);    /* takes it over */
/* Appends to the message, once, which kernels have other steps since then: when the list of kernels
 * is shown and the network is measured. */
void model_network_say_tuned(struct model *m);
/* Whether the chosen steps are those that the last search has left (`before`: those before it). */
bool model_network_at_tuned(const struct app_network *n, bool before);
/* Takes back all steps that the last search has changed, or with `redo` brings them back.  False:
 * the chosen steps are not those that it has left (with redo: those before it). */
bool model_network_swap_tuned(struct app_network *n, bool redo);
/* model_network_export.c: the export to a folder with a C library. */
/* The command `export` in the list of kernels: has the network measured, and then its library
 * written to the folder. */
bool model_network_export(struct model *m, const char *folder);
/* Sets the inputs of the job that measures and exports a network. */
void model_network_export_job(const struct app_network *n, struct app_job *j);
/* Says what became of the export when its job has ended; for other jobs, does nothing. */
void model_network_exported(struct model *m, const struct app_job *j);
#endif
