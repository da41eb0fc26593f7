/* The parts of the model that belong to one feature each: recovery, texts of code, roofs, the
 * tuner, the marked state, the network, the preview, the cache lens and forecasts. */
#ifndef TS_APP_MODEL_PARTS_H
#define TS_APP_MODEL_PARTS_H
#include "app/model/job.h"
#include "app/model/tune_snapshot.h"
#include "app/ui/doc.h"
#include "sessions/file/session.h"
#include "sessions/report/compare.h"

/* Unsaved changes of the open document that an earlier run has left.  own: whether `found` is an
 * autosave of the document itself.  kernel[n]: autosaves of kernels of the open network. */
enum { RECOVER_KERNELS = 16 };
struct unsaved_work {
    bool own;
    struct autosave found;
    int n;
    struct autosave kernel[RECOVER_KERNELS];
};

/* The text of a view of code (VIEW_C, VIEW_ASM, VIEW_SASS).  It stays until the next text arrives.
 * have: false if the text must be made.  failed: whether it says why there is no code.  The kinds
 * have the order of their jobs in job.h (ORDER CODE). */
enum code_kind { CODE_C, CODE_ASM, CODE_SASS, CODE_COUNT };
struct code_text {
    struct str text;
    int tag;                             /* model_tag of the state whose code it is */
    bool have, failed;
    unsigned made;                       /* how many texts were made, this one included */
    struct arena *mem;                   /* memory of lines; NULL until there are lines */
    struct code_lines lines;             /* the loops to which the lines of text belong */
    bool *used;                          /* per loop of lines: whether a line is in it */
    struct port_pressure ports;          /* port pressure of the hottest loop, in assembly */
};

/* The machine model of the roofline.  model: NULL: there is none yet.  looked: whether a stored
 * model was looked for.  wanted: whether a view wants a measurement if no model is stored.  failed:
 * whether the measurement failed; `why` has the reason.  stopped: whether the user cancelled it,
 * and has not asked for the view again since. */
struct roofs { struct machine_model *model; bool looked, wanted, failed, stopped; char why[160]; };

/* The auto-tuner on this session (model_tune.c). */
struct tuner {
    struct tune_snapshot *snapshot;      /* snapshot of the latest search; NULL: no search yet */
    struct tuning_opts opts;
    int number;                          /* number of the search in this session */
    int state;                           /* the search started from this state of the history */
    int from;                            /* the user's current state when the search started */
    const char *branch;                  /* the user's current branch when the search started */
    bool stopped;                        /* whether it ended before its budget: it can be resumed */
    bool settled;                        /* whether it ended because little was left to gain */
    int after;                           /* the user's current state when the search ended */
    bool out;                            /* whether its job has not returned yet */
    bool wanted;                         /* whether it should run; `ending` does not change this */
    /* whether the user has ended the search before its budget; its best candidates are still
     * compared */
    bool ending;
    bool paused;                         /* whether the user has paused it */
    bool hold;  /* whether it must pause: the user has paused it, or something else is measured */
    unsigned seen;                       /* the version of the snapshot on the screen */
    bool failed;                         /* whether it ended with an error */
    bool ask;                            /* whether has_old is wanted for the current state */
    int asked;                           /* has_old is for the state with tag asked - 1; 0: none */
    bool has_old; struct tuning_stopped old;  /* old: a stopped search in the records, if has_old */
    /* end: how the search ended.  place: which branch has the best schedule.  back: the command
     * that takes the user back from there; it is right only in state `after` of branch
     * after_branch.  note: further remarks. */
    struct str end, place, back, note;
    const char *after_branch;            /* the user's current branch when the search ended */
    struct tune_winner winner;
    double start_before_ms;              /* time of the start, measured before; 0: unknown */
};

/* The marked state, and its comparisons with other states (model_compare.c). */
enum { MARKING_ABLATION = COMPARE_OF_COUNT };
struct marking {
    int state;                           /* the marked state; -1: none */
    const char *branch;  /* the branch whose current step was marked; NULL: a step was marked */
    int what;  /* what the view shows: an enum compare_of, or MARKING_ABLATION */
    bool wanted;                         /* whether a job of kind `job` runs or is due */
    enum job_kind job;
    int number;                          /* number of the latest of these jobs */
    int from, to;                        /* the states of this job; JOB_ABLATE: only `to` */
    struct job_pair *pair;               /* comparison of the two states pair_of; NULL: none */
    int pair_of[2];
    struct str found;                    /* result of the last bisection; "": none */
    int found_of[2];                     /* the first and last state of the bisected steps */
    struct ablation *ablation;           /* result of the last ablation; NULL: none */
    int ablated;                         /* the state whose steps were left out */
};

/* A kernel of the network that was opened.  was: its operator, and the steps that its session began
 * with (none if the session was recovered), in the form of network_order.chosen.  conversion:
 * whether it converts layouts.  chosen: whether the user or the tuner chose these steps; else they
 * are an instant schedule (instant.h).  tuner: its last search, while the kernel is not open. */
struct app_kernel {
    struct session *session;
    char *was;
    bool conversion, chosen;
    struct tuner tuner;
};

/* The open network (model_network.c).  The screen shows it while m->session is NULL. */
struct app_network {
    struct session *session;  /* the session of the whole graph, with the steps of its kernels */
    struct network_made *made;           /* the built network; NULL: not built yet */
    struct network_made *timed;  /* the last measured network, perhaps `made` itself; NULL: none */
    bool sorted;                         /* whether the list on the screen is sorted by times */
    VEC(struct app_kernel) kernels;
    bool gave_up;                        /* whether the user gave up the kernels' other branches */
    struct scroll at;                    /* place in the list of kernels before one was opened */
    const char *left;  /* `was` of the kernel that was left, until the cursor is on it; or NULL */
    struct str opened;  /* the open kernel at its opening, in the form of app_kernel.was */
    int tag;  /* tag of the jobs that build and measure it; changes with the network */
    bool build_wanted, measure_wanted;   /* whether to build it; to measure it */
    struct str export;  /* the folder to export to once it is measured; "": it is not exported */
    bool outdated;  /* whether a cancelled build left `made` without the latest steps */
    struct network_live *live;           /* the last search of all kernels; NULL: none */
    bool tune_wanted;                    /* whether a search of tune_s seconds should run */
    double tune_s;
    int tune_tag, tune_of;               /* tag of the search's job; `tag` at its start */
    /* the chosen schedules before and after the last search that changed them; "": none did */
    struct str tuned_from, tuned_to;
    bool tuned_untold;  /* whether to say which kernels these are when the network is measured */
    unsigned live_seen;                  /* version of the search's text on the screen */
    struct str why;                      /* why the last build or measurement failed; or "" */
    VEC(char *) undone;                  /* undone steps of the network, the last undone one last */
};

/* The preview of the step on the prompt (model_preview.c).  line: the prompt's line for which the
 * preview was made.  stamp: model.stamp of the program for which it was made.  slow: whether trying
 * a step on this program takes too long.  late: whether `line` was therefore not tried. */
struct preview {
    struct history *copy;                /* a copy of the branch; it owns `program` */
    const struct program *program;       /* the program after the step; NULL: no preview */
    struct str line;
    struct str note;                     /* what the step does to later steps and tiles; or "" */
    unsigned stamp, version;             /* version: number of previews so far */
    bool slow, late;
};

/* The cache lens (model_lens.c). */
struct lensing {
    bool have;                           /* whether a lens was made, or `why` says why not */
    int tag;                             /* model_tag of the state of the lens */
    struct cache_config cache;           /* cache, target: the settings with which it was made */
    const struct target *target;
    /* first iteration of a window of the playback (lens_opts.from).  from: of the window that the
     * user wants; asked: of the window that `lens` has */
    int64_t from, asked;
    struct lens *lens;                   /* NULL: there is no lens */
    /* cure[n_cures]: possible cures; their lines are in the arena of `lens`.  now: the misses
     * without a cure.  predicted: whether the job that predicts these misses, and ranks the cures,
     * has ended */
    struct forecast *cure, now;
    int n_cures;
    bool predicted;
    bool stopped; int stopped_tag;  /* whether the user cancelled the lens; tag of its state */
    unsigned number;                     /* number of the lens in this run of the program */
    struct str why;
    /* at: the touch that the playback shows; loop: the loop that the playback follows, or -1 */
    int at, loop;
    bool to_playback;                    /* whether the next drawing scrolls to the playback */
};

/* Predicted misses (model_forecast.c).  now: misses in state `state` of the history.  after: misses
 * when the step `line` is applied to that state; if line is "", the same as `now`.  tries: number
 * of tries to predict them.  foreseeing.stamp: model.stamp of the program of all rows. */
struct foreseen { int state; char *line; struct forecast after, now; int tries; };
struct foreseeing { unsigned stamp; VEC(struct foreseen) rows; };
#endif
