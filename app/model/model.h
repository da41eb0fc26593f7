/* The state of the user interface without a terminal: what is open, where the cursor is, what the
 * prompt says, what should be running in the background.  Keys come in as integers, the screen goes
 * out as a grid, background work goes out as wishes (model_wish) and comes back as results
 * (model_done).  tui.c connects this to a terminal and to threads; tests connect it to nothing. */
#ifndef TS_APP_MODEL_H
#define TS_APP_MODEL_H
#include "app/ui/doc.h"
#include "app/model/job.h"
#include "app/ui/key.h"
#include "app/ui/prompt.h"
#include "app/views/tui.h"
#include "sessions/file/session.h"

/* ORDER VIEW: keys 1..9 and the tabs. */
enum view {
    VIEW_NEST, VIEW_ACCESS, VIEW_LAYOUT, VIEW_C, VIEW_ASM, VIEW_PROFILE, VIEW_GRAPH, VIEW_ROOFLINE,
    VIEW_TUNE, VIEW_COUNT
};
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
    struct tune_board *board;            /* of the latest run; NULL: none so far */
    struct tuning_opts opts;
    int number;                          /* the how manieth run of this session */
    int state, from;                     /* it started from; the user was at, then */
    const char *branch;                  /* and on; of the history */
    bool stopped; int after;             /* it can go on; where the user was when it ended */
    bool out;                            /* it was asked for and has not come back */
    bool wanted;                         /* not told to stop */
    bool paused, hold;                   /* told to pause; told to wait, for whatever reason */
    unsigned seen;                       /* of the board: what the screen shows */
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

struct mouse { int x, y; bool press, double_click; int wheel; };        /* wheel: -1 up, 1 down */

/* What the model wants from whoever runs it; cleared by the runner. */
struct outbox { bool quit, suspend, repaint; struct str copy; };

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
    VEC(struct start_entry *) start;     /* the lines of the start screen (view_start.c) */
    struct outbox out;
};

struct model *model_new(struct session *s /* taken; NULL = start screen */,
                        const struct tui_opts *o, bool unicode);
void model_free(struct model *m);

/* Events. */
void model_resize(struct model *m, int w, int h);
void model_key(struct model *m, int key);
void model_paste(struct model *m, const char *text);
void model_mouse(struct model *m, const struct mouse *e);
/* Runs a line as the prompt does; false when it was refused (the message says why). */
bool model_command(struct model *m, const char *line);
void model_draw(struct model *m, struct grid *g);

/* Background work: what a lane should be doing now; false when nothing.  The caller starts
 * model_job() of it unless the lane is at it already (same kind and tag), and cancels what is not
 * wished for any more. */
struct wish { enum job_kind kind; int tag; };
bool model_wish(const struct model *m, enum job_lane lane, struct wish *out);
struct job *model_job(const struct model *m, const struct wish *w);
void model_done(struct model *m, struct job *j /* kept by the caller */);
void model_tick(struct model *m);                     /* a tenth of a second has passed: spinners */
/* Looks at what the tuner put up, and lets it wait while something else is measured: call it before
 * asking for wishes. */
void model_tune_look(struct model *m);
bool model_tune_waits(const struct model *m);         /* the tuner's thread does nothing now */

/* For the files of the model only. */
struct program;
struct expert_schedule;
const struct program *model_program(const struct model *m);  /* current; NULL on the start screen */
struct pane_doc *model_focused(struct model *m);                /* the document that has the keys */
int model_contexts(const struct model *m, enum key_context out[KEYS_COUNT]);
void model_set_session(struct model *m, struct session *s /* taken; may be NULL */);
void model_refresh(struct model *m);                    /* screen.c: rebuilds what is out of date */
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
void model_error(struct model *m, const struct err *e);
void model_say_error(struct model *m, const char *text, const char *fix);
bool model_run(struct model *m, const char *line);                    /* echo, then model_command */
/* Asks about unsaved changes if there are any, and about a tuner at work; then goes on. */
void model_ask_save(struct model *m, enum after_ask then, struct session *next /* taken */);
void model_question(const struct model *m, struct str *out);             /* what OVERLAY_ASK asks */
void model_save_as(struct model *m);                                    /* prompt for a file name */
void model_after(struct model *m);                              /* does what the question was for */
void model_give_up(struct model *m);                                     /* forgets it */
void model_open_help(struct model *m, const char *what /* a topic, or a filter */);
void model_forget_menu(struct model *m);
void model_perform(struct model *m, const struct binding *b);        /* action.c: what a key does */
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
bool model_tune_wish(const struct model *m, struct wish *out);
void model_tune_job(const struct model *m, struct job *j);
void model_tuned(struct model *m, struct job *j);
void model_tune_forget(struct model *m);
void model_tune_status(const struct model *m, struct str *out);  /* "" while it does not run */
/* "the tuner is at 40 of 1000"; nothing while it does not run. */
void model_tune_place(const struct model *m, struct str *out);
int model_tune_selected(const struct model *m);       /* the trial under the cursor, or -1 */
void model_tune_walk(struct model *m, int by);        /* to one measured earlier or later */
bool model_wants_measuring(const struct model *m);    /* something, as soon as nothing else runs */
#define EXPERTS_MOST 64
/* The max best schedules of the open operator, in arena a. */
bool model_experts(const struct model *m, struct arena *a, int max, struct expert_schedule *out,
                   int *n, struct err *e);
bool model_has_expert(const char *family);            /* reads the shipped files */
bool model_app_command(struct model *m, const char *line, bool *known);  /* appcmd.c */
void model_complete(void *ctx, struct arena *a, const char *line, struct completions *out);
void model_search(struct model *m, int dir, int from);
void frame_layout(const struct model *m, struct frame *out);             /* screen.c */
#endif
