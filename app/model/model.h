/* The state of the screen without a terminal: what is open, where the cursor is, what the prompt
 * says, which background job is needed, and what keys and command lines do to all that.
 *
 * views/screen.h turns events into calls of this and draws the state.  Views fill the documents
 * and the frame; the model only reads them. */
#ifndef TS_APP_MODEL_H
#define TS_APP_MODEL_H
#include "app/model/job.h"
#include "app/model/start.h"
#include "app/model/tune_snapshot.h"
#include "app/ui/doc.h"
#include "app/ui/key.h"
#include "app/ui/prompt.h"
#include "sessions/file/session.h"

enum view {
#define VIEW(id, name, tab, context, moves, rebuilt, build, hint) VIEW_##id,
#include "app/model/view.def"
    VIEW_COUNT
};
enum view_moves { MOVES_ITEMS, MOVES_LIST, MOVES_PAGER };
enum view_rebuilt { REBUILT_STATE, REBUILT_DATA, REBUILT_PANE };
struct model_view {
    const char *name, *tab;
    enum key_context context;
    enum view_moves moves;
    enum view_rebuilt rebuilt;
};
extern const struct model_view model_view[VIEW_COUNT];           /* the rows of view.def */

/* Every pane and list is a document; the views come first. */
enum doc_id { DOC_LEDGER = VIEW_COUNT, DOC_START, DOC_DETAIL, DOC_BRANCHES, DOC_HELP, DOC_COUNT };
enum pane { PANE_LEDGER, PANE_MAIN, PANE_SIDE, PANE_COUNT };
enum overlay { OVERLAY_NONE, OVERLAY_HELP, OVERLAY_BRANCHES, OVERLAY_ASK };

struct pane_doc {
    struct doc doc;
    struct scroll scroll;
    unsigned stamp;                      /* of the state it was built from; 0 = never */
    int width, height;
};

enum message_kind { MESSAGE_NONE, MESSAGE_ECHO, MESSAGE_INFO, MESSAGE_ERROR };
struct message { enum message_kind kind; struct str echo, text, fix; };

/* C or assembly, from a job; shown until the text of a newer state replaces it. */
struct code_text { struct str text; int tag; bool have, failed; };

/* This machine's model: read once, or measured by a job while the roofline is shown. */
struct roofs { struct machine_model *model; bool looked, failed; char why[160]; };

/* The auto-tuner on this session (model_tune.c). */
struct tuner {
    struct tune_snapshot *snapshot;            /* of the latest run; NULL: none so far */
    struct tuning_opts opts;
    int number;                          /* the how manieth run of this session */
    int state, from;                     /* it started from; the user was at, then */
    const char *branch;                  /* and on; of the history */
    bool stopped; int after;             /* it can go on; where the user was when it ended */
    bool out;                            /* it was asked for and has not come back */
    bool wanted;                         /* not told to stop */
    bool paused, hold;                   /* told to pause; told to wait, for whatever reason */
    unsigned seen;                       /* of the snapshot: what the screen shows */
    bool failed;
    int asked; bool has_old; struct tuning_stopped old;  /* 1 + tag of the state it is about */
    struct str end, note;                /* how it ended, and what there is to say besides */
};

enum after_ask { AFTER_NOTHING, AFTER_QUIT, AFTER_OPEN };

#define FRAME_WIDE 160                   /* columns for three panes side by side */
#define FRAME_SIDE_BY_SIDE 84            /* for two; below, panes are stacked */
/* One frame's geometry; a pane with h == 0 is not on the screen. */
struct frame {
    bool too_small;
    /* a pane's first row is its heading */
    struct rect title, pane[PANE_COUNT], message, bar, overlay;
};
struct hit { struct rect r; int key; };  /* clicking there is pressing that key */

/* What the model wants from whoever runs it; cleared by the runner. */
struct outbox {
    bool quit, suspend, repaint;
    struct str copy;                     /* for the clipboard */
    struct str dump;                     /* a file for the screen as text, ... */
    uint64_t dump_seen;                  /* ... which may replace this content: file_replace */
};

struct model_opts {
    bool no_auto;                        /* do not measure after every step */
    int threads;                         /* of a measurement; 0 = 1 */
    unsigned baselines;                  /* of a measurement: 1 << enum vendor_library */
};

struct model {
    bool unicode;
    int w, h;
    struct session *session;             /* NULL: the start screen */
    struct pane_doc pane[DOC_COUNT];
    enum pane focus;
    enum pane last_view;                 /* MAIN or SIDE: the one to show where only one fits */
    enum view view[PANE_COUNT];          /* MAIN always shows the nest, SIDE one of the others */
    bool zoom;
    bool has_expert;                     /* a shipped schedule is for the open operator */
    enum overlay overlay;
    struct frame frame;
    VEC(struct hit) hits;
    int generation;          /* counts sessions, so that late results of an old one are not taken */
    unsigned stamp, data_stamp;       /* count changes of the program state, of what was measured */
    const struct func *func;             /* the current state, lowered; valid for func_tag */
    int func_tag;

    struct prompt prompt;
    struct message message;
    struct str search, filter;           /* of the views, of the help overlay */
    int search_from;                     /* where an incremental search began */
    /* what the keys meant when help was opened */
    enum key_context help_chain[KEYS_COUNT]; int help_n; bool help_menu;
    VEC(char *) menu_why;                /* of the menu: per binding why not to run it, or NULL */
    char topic[32];                      /* the topic that help shows; "" = the list */
    char step_stage[64], step_axis[64];  /* what the nest should go to: a step typed a moment ago */
    long count;                          /* typed before a key; 0 = none */
    bool counting;                       /* digits go into the count, not to the views */
    int error_col;                       /* in the last command line, from 1; 0 = unknown */

    enum after_ask then;                 /* what the question, or the save it led to, was for */
    bool ask_stop;                       /* the question is about the tuner alone */
    struct session *next;                /* OPEN: what is opened then; NULL = the start screen */
    struct str overwrite;                /* a file that was refused once: Enter again writes it */
    uint64_t overwrite_seen;             /* if it still holds what it held then */
    bool confirm;                        /* the last line was refused only for that */

    bool autosave_failed;                /* said so once already */
    bool autorun;                        /* measure after every step */
    bool measure_wanted;                 /* of the current state */
    bool measure_all;                    /* then of the rest of the branch */
    bool numbers_asked;                  /* m or M: numbers that did not just come by themselves */
    int threads;
    unsigned baselines;                  /* of a measurement: 1 << enum vendor_library */
    int parallel_said;                   /* 1 + tag where "only 1 thread" was said; 0 = not yet */
    struct code_text code[2];            /* of VIEW_C, VIEW_ASM */
    struct roofs roofs;
    struct tuner tuner;
    bool letters;                        /* no colours: letters instead, where they tell apart */
    struct job_progress progress[LANE_COUNT];
    int spin;
    struct start start;                  /* what the start screen lists */
    struct outbox out;
};

struct model *model_new(struct session *s /* taken; NULL = start screen */,
                        const struct model_opts *o, bool unicode);
void model_free(struct model *m);

/* Input (model_keys.c).  Screen rebuilds the documents before and after. */
void model_resize(struct model *m, int w, int h);
void model_key(struct model *m, int key);       /* while help is open, view_help_key instead */
void model_paste(struct model *m, const char *text);

/* Background work (model_work.c): the job that a lane should run now; false when none.  The caller
 * starts model_job() of it unless the lane runs it already (same kind and tag), and cancels a job
 * that is not desired any more. */
struct desired_job { enum job_kind kind; int tag; };
bool model_desired_job(const struct model *m, enum job_lane lane, struct desired_job *out);
struct app_job *model_job(const struct model *m, const struct desired_job *w);
void model_done(struct model *m, struct app_job *j /* kept by the caller */);
void model_tick(struct model *m);                     /* a tenth of a second has passed: spinners */
/* Notes the tuner's new snapshot, and holds the search while something else is measured: call it
 * before model_desired_job. */
void model_tune_look(struct model *m);
bool model_tune_waits(const struct model *m);         /* the tuner's thread does nothing now */

/* What the cursor is on, in the pane that shows it. */
struct stage;
struct start_entry;
/* The loop of the nest: its stage and axis; false on a line that is no loop. */
bool model_loop(const struct model *m, const struct stage **stage, int *axis);
int model_tensor(const struct model *m);     /* of the layout view: its index in the graph, or -1 */
const char *model_branch(const struct model *m);              /* of the list of branches; or NULL */
const struct start_entry *model_entry(const struct model *m); /* of the start screen; or NULL */
int model_tune_selected(const struct model *m);               /* the trial; or -1 */

/* Queries and deeds. */
struct program;
struct expert_schedule;
const struct program *model_program(const struct model *m);  /* current; NULL on the start screen */
struct pane_doc *model_focused(struct model *m);                /* the document that has the keys */
int model_contexts(const struct model *m, enum key_context out[KEYS_COUNT]);
void model_set_session(struct model *m, struct session *s /* taken; may be NULL */);
void model_changed(struct model *m);                                 /* the program state changed */
void model_edited(struct model *m);                     /* that, by the user: kept safe on disk */
void model_keep_safe(struct model *m);              /* in the autosave; says once if it cannot */
/* The session gets numbers of this machine, in place of another's: of how many steps. */
int model_measured_here(struct model *m);
/* A file would gain by being saved: changes, or numbers that the user asked for and it lacks. */
bool model_unsaved(const struct model *m);
bool model_has_news(const struct model *m);             /* also numbers that nobody asked for */
void model_discard(struct model *m);                    /* what is not saved, and its autosave */
/* The rows of the ledger, all of them; to be freed. */
struct ledger_row *model_ledger(const struct model *m, int *n);
void model_find_roofs(struct model *m);               /* reads the machine model, if it is there */
bool model_wants_roofs(const struct model *m);           /* it should be measured now */
int model_measuring(const struct model *m);              /* the state being measured; -1 none */
int model_tag(const struct model *m);                  /* names the current state across sessions */
const struct func *model_func(struct model *m, struct err *e);           /* lowered; NULL with *e */
/* What to know of the current program besides its numbers, behind what out says already. */
void model_note(struct model *m, struct str *out);
void model_echo(struct model *m, const char *line);
void model_info(struct model *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void model_clear_message(struct model *m);
void model_error(struct model *m, const struct err *e);
void model_say_error(struct model *m, const char *text, const char *fix);
/* Runs a line as the prompt does; false when it was refused (the message says why). */
bool model_command(struct model *m, const char *line);
bool model_run(struct model *m, const char *line);                    /* echo, then model_command */
void model_prompt_again(struct model *m, const char *line);    /* the prompt with a refused line */
/* Writes text to path over content seen and says so; asks before it overwrites anything else. */
bool model_write(struct model *m, const char *path, uint64_t seen, const struct str *text,
                 const char *what);
void model_show_view(struct model *m, enum view v);
void model_open_entry(struct model *m);                          /* the one under the cursor ... */
void model_discard_entry(struct model *m);                       /* ... of the start screen */
/* Asks about unsaved changes if there are any, and about a tuner at work; then goes on. */
void model_ask_save(struct model *m, enum after_ask then, struct session *next /* taken */);
void model_question(const struct model *m, struct str *out);             /* what OVERLAY_ASK asks */
void model_save_as(struct model *m);                                    /* prompt for a file name */
void model_after(struct model *m);                              /* does what the question was for */
void model_give_up(struct model *m);                                     /* forgets it */
void model_open_help(struct model *m, const char *what /* a topic, or a filter */);
void model_show_topic(struct model *m, const char *name);       /* in help; "": the list of keys */
void model_forget_menu(struct model *m);
void model_perform(struct model *m, const struct key_binding *b);     /* model_action.c */
/* The command `expert` (model_expert.c): the arg-th best schedule as steps, where the bare operator
 * is the current state, else on a branch from it; one that is there is gone to.  "" is 1. */
bool model_expert(struct model *m, const char *arg);
/* Goes to the end of a branch that has the steps of p, or makes one from the bare operator; where
 * that is the current state and `here` is set, on this branch.  Where the session has no room for
 * them, nothing happens; a refused step leaves what came before it. */
bool model_enter(struct model *m, const struct program *p, const char *name, bool here,
                 struct err *e);
/* The command `tune`, the tuner's wish, its job, and what came of it (model_tune.c). */
bool model_tune(struct model *m, const char *arg);
bool model_desired_tuning(const struct model *m, struct desired_job *out);
void model_tune_job(const struct model *m, struct app_job *j);
void model_tuned(struct model *m, struct app_job *j);
void model_tune_forget(struct model *m);
/* Of the search whose last snapshot is v (NULL: none); waits: model_tune_waits, asked before the
 * snapshot was locked. */
enum tune_phase model_tune_phase(const struct model *m, const struct tune_view *v, bool waits);
void model_tune_note(struct model *m, struct str *out);  /* what there is to say besides its end */
/* A search that was stopped starts where the session is: tuner.old has it. */
bool model_tune_has_old(struct model *m);
/* "the tuner is at 40 of 1000"; nothing while it does not run. */
void model_tune_place(const struct model *m, struct str *out);
void model_tune_walk(struct model *m, int by);        /* to one measured earlier or later */
bool model_wants_measuring(const struct model *m);    /* something, as soon as nothing else runs */
#define EXPERTS_MOST 64
/* The max best schedules of the open operator, in arena a. */
bool model_experts(const struct model *m, struct arena *a, int max, struct expert_schedule *out,
                   int *n, struct err *e);
bool model_has_expert(const char *family);            /* reads the shipped files */
void model_complete(void *ctx, struct arena *a, const char *line, struct completions *out);
void model_search(struct model *m, int dir, int from);
#endif
