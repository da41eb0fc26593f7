/* The state of single features in the model: texts of code, roofs, the tuner, the marked state, the
 * network, the preview, the cache lens and forecasts.  One file named model_*.c changes each. */
#ifndef TS_APP_MODEL_PARTS_H
#define TS_APP_MODEL_PARTS_H
#include "app/model/job.h"
#include "app/model/tune_snapshot.h"
#include "app/ui/doc.h"
#include "sessions/file/session.h"
#include "sessions/report/compare.h"

/* Unsaved changes that an earlier run left of what is open: those of the session itself (`found`,
 * if `own`), and those of n kernels of a network. */
enum { RECOVER_KERNELS = 16 };
struct unsaved_work {
    bool own;
    struct autosave found;
    int n;
    struct autosave kernel[RECOVER_KERNELS];
};

/* Generated code: one text for each of VIEW_C, VIEW_ASM and VIEW_SASS, in the order of their jobs
 * (ORDER CODE).  The text of an older state stays until the new text arrives. */
enum code_kind { CODE_C, CODE_ASM, CODE_SASS, CODE_COUNT };
struct code_text {
    struct str text;
    int tag;
    bool have, failed;
    struct arena *mem;                   /* memory of lines; NULL until there are lines */
    struct code_lines lines;             /* the loops to which the lines of text belong */
    struct port_pressure ports;          /* port pressure of the hottest loop, in assembly */
};

/* The machine model of the roofline: read once, or measured by a job that the view begins. */
struct roofs { struct machine_model *model; bool looked, wanted, failed; char why[160]; };

/* The auto-tuner on this session (model_tune.c). */
struct tuner {
    struct tune_snapshot *snapshot;      /* snapshot of the latest search; NULL: no search yet */
    struct tuning_opts opts;
    int number;                          /* number of the search in this session */
    int state;                           /* the search started from this state of the history */
    int from;                            /* the user's current state at that time */
    const char *branch;                  /* the user's branch at that time */
    bool stopped;                        /* whether it was stopped and can be resumed */
    int after;                           /* the user's current state when it ended */
    bool out;                            /* whether its job has not returned yet */
    bool wanted;                         /* whether it should run; false once it was stopped */
    /* whether the search was ended before its budget: the best candidates are still compared */
    bool ending;
    bool paused;                         /* whether the user has paused it */
    bool hold;  /* whether it is paused, by the user or for a measurement */
    unsigned seen;                       /* the version of the snapshot on the screen */
    bool failed;
    bool ask;                            /* whether has_old is wanted for the current state */
    int asked;                           /* has_old is valid for the state with tag asked - 1 */
    bool has_old; struct tuning_stopped old;  /* old: the stopped search, if has_old */
    /* end: how the search ended.  place: which branch has the best.  back: how to go back from
     * there; it applies in the state `after` of branch after_branch.  note: further remarks. */
    struct str end, place, back, note;
    const char *after_branch;            /* the user's current branch when it ended */
    struct tune_winner winner;
    double start_before_ms;              /* the start's time before the search; 0: unknown */
};

/* The marked state, and the comparisons of it with other states (model_compare.c). */
enum { MARKING_ABLATION = COMPARE_OF_COUNT };
struct marking {
    int state;                           /* the marked state; -1: none */
    const char *branch;  /* the branch whose current step was marked; NULL: a step was marked */
    int what;  /* what is shown: an enum compare_of, or MARKING_ABLATION */
    bool wanted;                         /* whether job `job` runs or is due */
    enum job_kind job;
    int number;                          /* number of the latest job */
    int from, to;                        /* the states that the job compares */
    struct job_pair *pair;               /* comparison of the states pair_of; NULL: none */
    int pair_of[2];
    struct str found;                    /* result of the last bisection; "": none */
    int found_of[2];                     /* the states that it bisected between, earlier first */
    struct ablation *ablation;           /* result of the ablation; NULL: none */
    int ablated;                         /* the state that the ablation is of */
};

/* A kernel of the network that was opened.  was: its text, and the steps that the session began
 * with, in the form of network_order.chosen.  chosen: whether the user or the tuner chose these
 * steps; else they are an instant schedule. */
struct app_kernel { struct session *session; char *was; bool conversion, chosen; };

/* The open network (model_network.c).  It is on the screen while no session is. */
struct app_network {
    struct session *session;  /* the session of the whole graph, with the steps of kernels */
    struct network_made *made;           /* the built network; NULL: not built yet */
    struct network_made *timed;  /* the last network with measurements, perhaps `made`; or NULL */
    bool sorted;                         /* whether the list on the screen is sorted by times */
    VEC(struct app_kernel) kernels;
    bool gave_up;                        /* whether the user gave up the kernels' other branches */
    struct scroll at;                    /* the place in the list, kept while a kernel is shown */
    struct str opened;  /* the open kernel as it was when it opened, in the form of `was` above */
    int tag;                             /* tag of its jobs; changes with the network */
    bool build_wanted, measure_wanted;
    bool outdated;  /* whether a cancelled build left `made` without the latest steps */
    struct network_live *live;           /* search of all kernels; NULL: there was none */
    bool tune_wanted;                    /* whether a search of tune_s seconds should run */
    double tune_s;
    int tune_tag, tune_of;               /* tag of the search's job; `tag` when the search began */
    unsigned live_seen;                  /* the version of its text on the screen */
    struct str why;                      /* why the network could not be built; "": it could be */
    VEC(char *) undone;  /* undone steps of the network; redo takes the last one first */
};

/* The program after the step on the prompt (model_preview.c); NULL: none.  It belongs to `line` and
 * to the program with this stamp.  slow: trying a step in this state takes too long.  late: this
 * line was not tried for that reason. */
struct preview {
    struct history *copy;                /* the copy of the branch that has the program */
    const struct program *program;
    struct str line;
    struct str note;                     /* what the step does to the steps after it; "": nothing */
    unsigned stamp, version;
    bool slow, late;
};

/* The cache lens of the state `tag`, made with the settings cache, target and asked (model_lens.c).
 * lens NULL: `why` has the reason. */
struct lensing {
    bool have;
    int tag;
    struct cache_config cache;
    const struct target *target;
    /* where a window begins (struct lens_opts): from: the wanted window; asked: that of `lens` */
    int64_t from, asked;
    struct lens *lens;
    /* cure: its lines are in the arena of lens; ranked when predicted.  now: without a cure */
    struct forecast *cure, now;
    int n_cures;
    bool predicted;                      /* whether the job that predicts cure and now has ended */
    /* whether the user cancelled the lens of the state stopped_tag */
    bool stopped; int stopped_tag;
    unsigned number;                     /* number of the lens: counts the lenses of this session */
    struct str why;
    int at, loop;                        /* the touch that the playback shows; the chosen loop */
    bool to_playback;                    /* whether the view scrolls to the playback */
};

/* Predicted misses (model_forecast.c): `after` applying `line` in a state of the history, and
 * `now`, in that state itself; line "": both are those of the state.  The rows are for the program
 * with this stamp. */
struct foreseen { int state; char *line; struct forecast after, now; int tries; };
struct foreseeing { unsigned stamp; VEC(struct foreseen) rows; };
#endif
