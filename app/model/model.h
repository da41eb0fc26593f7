/* model/ has the state of the screen, what keys and lines do to it, and background jobs.
 *
 * The model needs no terminal.  views/screen.h calls it for events and draws it.  Views write its
 * documents and its frame; the model reads them to know what the cursor is on. */
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

/* Generated C or assembly.  The text of an older state stays until that of a newer one is there. */
struct code_text { struct str text; int tag; bool have, failed; };

/* The machine model of the roofline: read once, or measured by a job while the view is open. */
struct roofs { struct machine_model *model; bool looked, failed; char why[160]; };

/* The auto-tuner on this session (model_tune.c). */
struct tuner {
    struct tune_snapshot *snapshot;      /* of the latest search; NULL: there was none */
    struct tuning_opts opts;
    int number;                          /* counts the searches of this session */
    int state;                           /* the search started from this state of the history, */
    int from;                            /* while the user was at this one */
    const char *branch;                  /* on this branch */
    bool stopped;                        /* it was stopped and can go on */
    int after;                           /* the state of the user when it ended */
    bool out;                            /* its job has not come back */
    bool wanted;                         /* nobody has stopped it */
    bool paused;                         /* the user has paused it */
    bool hold;                           /* it is held, for this or another reason */
    unsigned seen;                       /* the version of the snapshot on the screen */
    bool failed;
    int asked;                           /* 1 + the tag of the state that has_old is about */
    bool has_old; struct tuning_stopped old;     /* the records have a stopped search of it */
    struct str end, note;                /* how it ended; what else there is to say */
};

enum after_ask { AFTER_NOTHING, AFTER_QUIT, AFTER_OPEN };

#define FRAME_WIDE 160                   /* columns for three panes side by side */
#define FRAME_SIDE_BY_SIDE 84            /* for two; below, panes are stacked */
/* Where the parts of the screen are; a pane with h == 0 is not shown.  The first row of a pane is
 * its heading. */
struct frame {
    bool too_small;
    struct rect title, pane[PANE_COUNT], message, bar, overlay;
};
struct hit { struct rect r; int key; };  /* a click there is a press of that key */

/* Requests to whoever runs the model, who clears them. */
struct outbox {
    bool quit, suspend, repaint;
    struct str copy;                     /* text for the clipboard */
    struct str dump;                     /* the file to write the screen to, */
    uint64_t dump_seen;                  /* and the content that it may replace (file_replace) */
};

struct model_opts {
    bool no_auto;                        /* do not measure after every step */
    int threads;                         /* of a measurement; 0 = 1 */
    unsigned baselines;                  /* of a measurement: 1 << enum vendor_library */
};

struct model {
    struct session *session;             /* NULL: the start screen */
    int generation;                      /* counts sessions: results of an old one are dropped */
    unsigned stamp, data_stamp;          /* count changes of the program, of what was measured */
    bool has_expert;                     /* an expert schedule is shipped for the operator */
    struct start_list start;             /* what the start screen lists */

    /* The screen. */
    bool unicode;
    bool letters;                        /* no colours: plots use letters instead */
    int w, h;
    struct pane_doc pane[DOC_COUNT];
    enum pane focus;
    enum pane last_view;                 /* MAIN or SIDE: the one to show where only one fits */
    enum view view[PANE_COUNT];          /* MAIN always shows the nest, SIDE one of the others */
    bool zoom;
    enum overlay overlay;
    struct frame frame;                  /* of the last screen_refresh */
    VEC(struct hit) hits;                /* of the last screen_draw */
    int spin;                            /* ticks, for the spinner */
    char step_stage[64], step_axis[64];  /* the loop of the last step: the nest moves there */

    /* The prompt. */
    struct prompt prompt;
    struct message message;
    struct str search, filter;           /* of the views; of help */
    int search_from;                     /* the line where an incremental search began */
    enum key_context help_chain[KEYS_COUNT];     /* the meaning of keys when help was opened */
    int help_n;                                  /* contexts in it */
    bool help_menu;                      /* help shows only what can be done, not all keys */
    VEC(char *) menu_why;                /* per binding: why the menu refuses it, or NULL */
    char topic[32];                      /* the topic that help shows; "" = the list */
    long count;                          /* typed before a key; 0 = none */
    bool counting;                       /* digits go into the count, not to the views */
    int error_col;                       /* in the last command line, from 1; 0 = unknown */

    /* Questions. */
    enum after_ask then;                 /* what follows the answer, or the save after it */
    bool ask_stop;                       /* the question is about the tuner alone */
    struct session *next;                /* AFTER_OPEN opens this; NULL = the start screen */
    struct str overwrite;                /* the file that Enter overwrites, having been refused */
    uint64_t overwrite_seen;             /* once; if it still has this content */
    bool confirm;                        /* the last line was refused only for that */
    bool autosave_failed;                /* the user was told so */

    /* Measurements. */
    bool autorun;                        /* measure after every step */
    bool measure_wanted;                 /* the current state */
    bool measure_all;                    /* then the rest of the branch */
    bool numbers_asked;                  /* by the user, with m or M: worth saving */
    int threads;
    unsigned baselines;                  /* 1 << enum vendor_library */
    int parallel_said;                   /* 1 + tag where "only 1 thread" was said; 0 = not yet */
    struct code_text code[2];            /* of VIEW_C, VIEW_ASM */
    struct roofs roofs;
    struct tuner tuner;
    struct job_progress progress[LANE_COUNT];

    struct outbox out;
};

struct program;
struct stage;
struct expert_schedule;

/* model.c: the session, and questions about the state. */

/* Takes s; NULL is the start screen. */
struct model *model_new(struct session *s, const struct model_opts *o, bool unicode);
void model_free(struct model *m);
void model_resize(struct model *m, int w, int h);
void model_set_session(struct model *m, struct session *s /* taken; may be NULL */);
void model_changed(struct model *m);             /* the program is another one */
void model_edited(struct model *m);              /* the same, by the user: to be saved */
void model_keep_safe(struct model *m);           /* autosaves; says once if it cannot */
/* A file would gain by being saved: from changes, or from numbers that the user asked for. */
bool model_unsaved(const struct model *m);
bool model_has_news(const struct model *m);      /* the same, or numbers nobody asked for */
void model_discard(struct model *m);             /* drops what is not saved, and its autosave */
const struct program *model_program(const struct model *m);      /* NULL on the start screen */
struct pane_doc *model_focused(struct model *m);                 /* the one that has the keys */
int model_contexts(const struct model *m, enum key_context out[KEYS_COUNT]);
/* The n rows of the ledger, to be freed. */
struct ledger_row *model_ledger(const struct model *m, int *n);
/* The loop under the cursor of the nest: its stage and axis; false on a line that is no loop. */
bool model_loop(const struct model *m, const struct stage **stage, int *axis);
/* Under the cursor of the layout view: the tensor's index in the graph, or -1; of the list of
 * branches, of the start screen: what the line stands for, or NULL. */
int model_tensor(const struct model *m);
const char *model_branch(const struct model *m);
const struct start_entry *model_entry(const struct model *m);
/* Messages. */
void model_echo(struct model *m, const char *line);
void model_info(struct model *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool model_error(struct model *m, const struct err *e);                         /* false ... */
bool model_say_error(struct model *m, const char *text, const char *fix);       /* ... always */
void model_clear_message(struct model *m);

/* model_keys.c: what was typed.  Screen rebuilds the documents before and after. */

void model_key(struct model *m, int key);        /* while help is open: view_help_key instead */
void model_paste(struct model *m, const char *text);
void model_search(struct model *m, int dir, int from);
/* Asks about unsaved changes and about a tuner at work; then, or if there are none, goes on. */
void model_ask_save(struct model *m, enum after_ask then, struct session *next /* taken */);
void model_question(const struct model *m, struct str *out);     /* the text of OVERLAY_ASK */

/* model_action.c: what keys of keys.def do; help and the menu of actions. */

void model_perform(struct model *m, const struct key_binding *b);
void model_save_as(struct model *m);             /* prompts for a file name */
void model_open_help(struct model *m, const char *what /* a topic, or a filter */);
void model_show_topic(struct model *m, const char *name);        /* "": the list of keys */
void model_forget_menu(struct model *m);

/* model_command.c: lines. */

/* Runs a line as the prompt does; false when it was refused (the message says why). */
bool model_command(struct model *m, const char *line);
bool model_run(struct model *m, const char *line);               /* echo, then model_command */
void model_prompt_again(struct model *m, const char *line);      /* the prompt with that line */
/* Writes text to path where it has the content seen; asks before it overwrites anything else. */
bool model_write(struct model *m, const char *path, uint64_t seen, const struct str *text,
                 const char *what);
void model_after(struct model *m);               /* what the question was for */
void model_give_up(struct model *m);             /* forgets that */
void model_show_view(struct model *m, enum view v);
void model_open_entry(struct model *m);          /* the one of model_entry */
void model_discard_entry(struct model *m);
/* model_complete.c: words that may follow; ctx is the model (prompt_complete). */
void model_complete(void *ctx, struct arena *a, const char *line, struct completions *out);

/* model_expert.c: shipped schedules. */

#define EXPERTS_MOST 64
bool model_has_expert(const char *family);       /* reads the shipped files */
/* The max best schedules of the open operator, in arena a. */
bool model_experts(const struct model *m, struct arena *a, int max, struct expert_schedule *out,
                   int *n, struct err *e);
/* The command `expert`: the steps of the arg-th best schedule ("": the first).  They go where the
 * user is if that is the bare operator, else on a branch; a branch that has them is reused. */
bool model_expert(struct model *m, const char *arg);
/* Goes to the end of a branch that has the steps of p, or makes one from the bare operator.  With
 * `here`, the steps go on the current branch if it is at the bare operator.  Nothing happens when
 * the session has no room for them; a refused step leaves the steps before it. */
bool model_enter(struct model *m, const struct program *p, const char *name, bool here,
                 struct err *e);

/* model_work.c: background jobs. */

/* The job that a lane should run now; false when none.  The caller starts model_job() of it unless
 * the lane runs it already (same kind and tag), and cancels a job that is not desired any more. */
struct desired_job { enum job_kind kind; int tag; };
bool model_desired_job(const struct model *m, enum job_lane lane, struct desired_job *out);
struct app_job *model_job(const struct model *m, const struct desired_job *w);
void model_done(struct model *m, struct app_job *j /* kept by the caller */);
void model_tick(struct model *m);                /* a tenth of a second has passed */
int model_tag(const struct model *m);            /* names the current state across sessions */
int model_measuring(const struct model *m);      /* the state being measured; -1 none */
bool model_wants_measuring(const struct model *m);       /* as soon as nothing else runs */
void model_find_roofs(struct model *m);          /* reads the machine model if it is stored */
bool model_wants_roofs(const struct model *m);   /* it should be measured now */
/* The session gets numbers of this machine and drops those of another: of how many steps. */
int model_measured_here(struct model *m);
/* Appends what to know of the current program besides its numbers. */
void model_note(struct model *m, struct str *out);

/* model_tune.c: the tuner. */

bool model_tune(struct model *m, const char *arg);       /* the command `tune` */
/* Notes a new snapshot, and holds the search while something else is measured: call it before
 * model_desired_job. */
void model_tune_look(struct model *m);
bool model_tune_waits(const struct model *m);            /* its thread does nothing now */
bool model_desired_tuning(const struct model *m, struct desired_job *out);
void model_tune_job(const struct model *m, struct app_job *j);   /* fills in j */
void model_tuned(struct model *m, struct app_job *j);            /* takes over its result */
void model_tune_forget(struct model *m);
/* v: the last snapshot, or NULL; waits: model_tune_waits, asked before the snapshot was locked. */
enum tune_phase model_tune_phase(const struct model *m, const struct tune_view *v, bool waits);
void model_tune_note(struct model *m, struct str *out);  /* appends tuner.note, and what t does */
bool model_tune_has_old(struct model *m);                /* looks it up if tuner.asked is stale */
/* Appends "the tuner is at 40 of 1000"; nothing while it does not run. */
void model_tune_place(const struct model *m, struct str *out);
int model_tune_selected(const struct model *m);          /* the trial under the cursor, or -1 */
void model_tune_walk(struct model *m, int by);           /* to a trial measured so much later */
#endif
