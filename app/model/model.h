/* model/ has the state of the screen, the effects of keys and lines on it, and background jobs.
 *
 * The model needs no terminal.  views/screen.h passes events to it and draws it.  Views write its
 * documents and its frame; the model reads them to find the object under the cursor. */
#ifndef TS_APP_MODEL_H
#define TS_APP_MODEL_H
#include "app/model/job.h"
#include "app/model/settings.h"
#include "app/model/start.h"
#include "app/model/tune_snapshot.h"
#include "app/ui/doc.h"
#include "app/ui/key.h"
#include "app/ui/prompt.h"
#include "sessions/file/session.h"
#include "sessions/report/compare.h"

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

/* The documents on the screen, one per pane or list; the views come first. */
enum doc_id {
    DOC_PREVIEW = VIEW_COUNT, DOC_LEDGER, DOC_START, DOC_NETWORK, DOC_DETAIL, DOC_BRANCHES,
    DOC_HELP, DOC_COUNT
};
enum pane { PANE_LEDGER, PANE_MAIN, PANE_SIDE, PANE_COUNT };
enum overlay { OVERLAY_NONE, OVERLAY_HELP, OVERLAY_BRANCHES, OVERLAY_ASK };

struct pane_doc {
    struct doc doc;
    struct scroll scroll;
    unsigned stamp;                      /* stamp of the state it was built from; 0 = not built */
    int width, height;
};

enum message_kind { MESSAGE_NONE, MESSAGE_ECHO, MESSAGE_INFO, MESSAGE_ERROR };
/* stays: results of measurements do not replace it, so that it can be read. */
struct message { enum message_kind kind; bool stays; struct str echo, text, fix; };

/* Generated C or assembly.  The text of an older state stays until the new text arrives. */
struct code_text {
    struct str text;
    int tag;
    bool have, failed;
    struct arena *mem;                   /* of lines; NULL until there are any */
    struct code_lines lines;             /* the loops of the lines of text */
    struct port_pressure ports;          /* of the hottest of them, in assembly */
};

/* The machine model of the roofline: read once, or measured by a job while the view is open. */
struct roofs { struct machine_model *model; bool looked, failed; char why[160]; };

/* The auto-tuner on this session (model_tune.c). */
struct tuner {
    struct tune_snapshot *snapshot;      /* of the latest search; NULL: no search yet */
    struct tuning_opts opts;
    int number;                          /* counts the searches of this session */
    int state;                           /* the search started from this state of the history */
    int from;                            /* the user's current state at that time */
    const char *branch;                  /* the user's branch at that time */
    bool stopped;                        /* it was stopped and can be resumed */
    int after;                           /* the user's current state when it ended */
    bool out;                            /* its job has not returned yet */
    bool wanted;                         /* false once it was stopped */
    bool paused;                         /* the user has paused it */
    bool hold;                           /* it is paused, by the user or for a measurement */
    unsigned seen;                       /* the version of the snapshot on the screen */
    bool failed;
    bool ask;                            /* has_old is desired for the current state */
    int asked;                           /* has_old is valid for the state with tag asked - 1 */
    bool has_old; struct tuning_stopped old;     /* a stopped search of that state is recorded */
    struct str end, note;                /* how it ended; more remarks */
};

/* The marked state, and the comparisons of it with other states (model_compare.c). */
enum { MARKING_ABLATION = COMPARE_OF_COUNT };
struct marking {
    int state;                           /* the marked one; -1: none */
    int what;                            /* shown: an enum compare_of, or MARKING_ABLATION */
    bool wanted;                         /* a job of this kind runs or is due: */
    enum job_kind job;
    int number;                          /* counts the jobs */
    int from, to;                        /* the states that the job is about */
    struct job_pair *pair;               /* comparison of the states pair_of; NULL: none */
    int pair_of[2];
    struct str found;                    /* result of the last bisection; "": none */
    struct ablation *ablation;           /* NULL: none */
    int ablated;                         /* the state that it is of */
};

/* A kernel of the network that was opened.  was: its text and the steps that the session began
 * with (session_network.h); chosen: these were not the instant ones. */
struct app_kernel { struct session *session; char *was; bool conversion, chosen; };

/* The network that is open (model_network.c).  It is on the screen while no session is. */
struct app_network {
    struct session *session;             /* the whole graph, with the steps of kernels */
    struct network_made *made;           /* NULL: not yet */
    struct network_made *timed;  /* the last one with measurements; may be `made`; or NULL */
    bool sorted;                         /* the list on the screen is sorted by times */
    VEC(struct app_kernel) kernels;
    struct scroll at;                    /* position in the list, while a kernel is shown */
    struct str opened;                   /* what was opened, in the form of network_order */
    int tag;                             /* marks its jobs; changes with the network */
    bool build_wanted, measure_wanted;
    struct network_live *live;           /* search of all kernels; NULL: there was none */
    bool tune_wanted;                    /* a search of tune_s seconds should run */
    double tune_s;
    int tune_tag, tune_of;               /* tag of the search's job; of the network it began on */
    unsigned live_seen;                  /* the version of its text on the screen */
    struct str why;                      /* why it could not be built; "": no failure */
    VEC(char *) undone;  /* undone steps of the network, the one that redo takes last */
};

/* The program after the step on the prompt (model_preview.c). It belongs to the line on the prompt
 * and to the state with that stamp; NULL: none. slow: trying a step of this state takes too long.
 * late: this line was not tried, because it would take too long. */
struct preview {
    struct history *copy;                /* has the program */
    const struct program *program;
    struct str line;
    struct str note;                     /* what becomes of the steps after it; "": nothing new */
    unsigned stamp, version;
    bool slow, late;
};

/* The cache lens of the state `tag`, with the settings cache, target and asked (model_lens.c).
 * lens NULL: `why` says why there is none. */
struct lensing {
    bool have;
    int tag;
    struct cache_config cache;
    const struct target *target;
    int64_t from, asked;                 /* the window that is wanted; that of the lens */
    struct lens *lens;
    struct forecast *cure, now;          /* ranked */
    int n_cures;
    struct str why;
    int at, loop;                        /* the playback's touch and chosen loop */
};

/* Predicted misses (model_forecast.c) after `line` from a state of the history, or with "" of that
 * state, as of the program with that stamp. */
struct foreseen { int state; char *line; struct forecast after, now; int tries; };
struct foreseeing { unsigned stamp; VEC(struct foreseen) rows; };

/* What the cursor is on.  SUBJECT_LOOP: model_loop says which.  An access has its tensor and its
 * text, as in the nest; a tensor has only its name. */
struct cursor_subject {
    enum { SUBJECT_NONE, SUBJECT_LOOP, SUBJECT_ACCESS, SUBJECT_TENSOR } kind;
    const char *tensor, *access;
};

/* Where Enter left a view for the subject of its line in another one (model_cursor.c). */
enum { JUMPS_MOST = 8 };
struct jump { enum view from, to; struct scroll at; };

enum after_ask { AFTER_NOTHING, AFTER_QUIT, AFTER_OPEN };

#define FRAME_WIDE 160                   /* columns from which three panes are side by side */
#define FRAME_SIDE_BY_SIDE 84            /* the same for two; narrower screens stack panes */
/* Where the parts of the screen are; a pane with h == 0 is not shown.  The first row of a pane is
 * its heading. */
struct frame {
    bool too_small;
    struct rect title, pane[PANE_COUNT], tour, message, bar, overlay;
};
struct hit { struct rect r; int key; };  /* a click in r acts as this key */

/* Requests to the owner of the model, who fulfils and clears them. */
struct outbox {
    bool quit, suspend, repaint;
    struct str copy;                     /* text for the clipboard */
    struct str dump;                     /* the file to write the screen to */
    uint64_t dump_seen;  /* hash of the file's content, which may be replaced (file_replace) */
};

struct model_opts {
    bool no_auto;                        /* do not measure after every step */
    int threads;  /* threads of a measurement; 0 = as in the settings, or 1 */
    unsigned baselines;                  /* of a measurement, as bits 1 << enum vendor_library */
    const struct app_settings *settings; /* the user's, or NULL */
    const struct err *settings_error;    /* why they are the defaults, or NULL */
    bool tour;                           /* begin the guided tour */
    const char *open;                    /* an ONNX file to open at once; NULL: none */
};

struct model {
    struct session *session;             /* NULL: the network, or else the start screen */
    struct app_network *network;         /* NULL: none is open */
    int network_jobs;                    /* counts the tags of struct app_network */
    int generation;                      /* counts sessions; results for older ones are dropped */
    unsigned stamp, data_stamp;          /* count changes of the program and of measurements */
    bool has_expert;                     /* an expert schedule is shipped for the operator */
    struct start_list start;             /* the rows of the start screen */

    /* The screen. */
    bool unicode;
    bool letters;                        /* plots use letters, because there are no colours */
    int w, h;
    struct pane_doc pane[DOC_COUNT];
    enum pane focus;
    enum pane last_view;  /* MAIN or SIDE: the one that is shown when only one fits */
    enum view view[PANE_COUNT];          /* MAIN always shows the nest, SIDE one of the others */
    bool zoom;
    struct columns columns;              /* the chosen columns of the ledger */
    int wider, split;                    /* columns added to Steps, to the nest of three panes */
    enum overlay overlay;
    struct frame frame;                  /* of the last screen_refresh */
    VEC(struct hit) hits;                /* of the last screen_draw */
    int spin;                            /* ticks, for the spinner */
    char step_stage[64], step_axis[64];  /* the loop of the last step; the nest scrolls to it */
    char step_access[256];               /* or this access, of the tensor step_axis; or "" */
    bool to_misses;                      /* the profile scrolls to the access of the nest */
    bool to_loop;                        /* also when it is of the stage under the cursor */
    char to_tensor[64];                  /* the layout view goes there; "": nowhere */
    int n_jumps; struct jump jump[JUMPS_MOST];       /* that Esc takes back, the last one first */
    unsigned jump_stamp;                 /* of the program that they were made in */

    /* The prompt. */
    struct prompt prompt;
    struct message message;
    struct str search, filter;           /* search text of the views, filter of help */
    int search_from;                     /* the line where an incremental search began */
    int hot;                             /* where the assembly of the hottest loop begins; -1 */
    bool to_hot;                         /* scroll to it when it is known */
    char lit[136];                       /* the loop that C and assembly were scrolled to */
    enum key_context help_chain[KEYS_COUNT];     /* the key contexts when help was opened */
    int help_n;                                  /* contexts in help_chain */
    bool help_menu;                      /* help lists only the possible actions, not all keys */
    VEC(char *) menu_why;                /* per binding: why the menu refuses it, or NULL */
    VEC(char *) menu_line;               /* per binding: the step that it runs, or NULL */
    bool menu_ranked;                    /* the best predicted first (model_forecast_before) */
    struct str pasted;                   /* several lines, run from pasted_from on; or "" */
    struct str pasted_of;                /* the file that has them; "": a paste */
    size_t pasted_from;
    int pasted_line;                     /* the number of the last one that was run */
    struct str refused;                  /* that line, while it is in the prompt */
    char topic[32];                      /* the topic that help shows; "" = the list */
    long count;                          /* typed before a key; 0 = none */
    bool counting;                       /* digits extend the count instead of choosing views */
    int error_col;                       /* column in the last command line, from 1; 0 = unknown */

    /* Questions. */
    enum after_ask then;                 /* the action after the answer, or after the save */
    bool ask_stop;                       /* the question is only whether to stop the tuner */
    struct session *next;                /* AFTER_OPEN opens this; NULL = the start screen */
    struct autosave *recover;            /* offered instead of the open file; or NULL */
    struct str opening;                  /* the ONNX file that is being read; "": none */
    int openings;                        /* counts them: tags of their jobs */
    struct str overwrite;                /* refused once; a second Enter overwrites this file */
    uint64_t overwrite_seen;             /* if it still has this content */
    bool confirm;                        /* the last line was refused until the user confirms it */
    bool autosave_failed;                /* a failure of the autosave was reported */

    /* Measurements. */
    bool autorun;                        /* measure after every step */
    bool measure_wanted;                 /* measure the current state */
    bool measure_all;                    /* then measure the rest of the branch */
    bool numbers_asked;                  /* the user measured with m or M: worth saving */
    bool newest;                         /* keep the next measurement even if it is slower */
    int threads;
    unsigned baselines;                  /* 1 << enum vendor_library */
    struct job_settings set;
    int at;                              /* the state of the last model_changed */
    VEC(int) late;                       /* states that were left before they were measured */
    int parallel_said;                   /* 1 + tag of the state with the note on threads; or 0 */
    struct code_text code[2];            /* texts of VIEW_C and VIEW_ASM */
    struct roofs roofs;
    struct tuner tuner;
    struct marking marking;
    struct lensing lensing;
    struct foreseeing foreseen;
    struct job_progress progress[LANE_COUNT];
    struct preview preview;
    int tour;                            /* the step of the tour, from 1; 0: none */

    struct outbox out;
};

struct program;
struct stage;
struct tree_lines;
struct expert_schedule;

/* model.c: the session, and questions about the state. */

/* Takes ownership of s; NULL opens the start screen. */
struct model *model_new(struct session *s, const struct model_opts *o, bool unicode);
void model_free(struct model *m);
void model_resize(struct model *m, int w, int h);
/* Closes what is open. Then opens s; an ONNX model of several kernels opens as a network. */
void model_set_session(struct model *m, struct session *s /* taken; may be NULL */);
/* Shows s instead of the session that is open; frees neither. */
void model_show_session(struct model *m, struct session *s);
/* Returns the session that `w` writes: the open one, or the network's. NULL on the start screen. */
struct session *model_document(const struct model *m);
void model_changed(struct model *m);             /* call when the program has changed */
void model_edited(struct model *m);              /* call when the user has changed it */
void model_keep_safe(struct model *m);           /* autosaves; reports only the first failure */
/* Whether the session has unsaved changes, or unsaved numbers that the user asked for. */
bool model_unsaved(const struct model *m);
bool model_has_news(const struct model *m);      /* the same, or any unsaved numbers */
void model_discard(struct model *m);             /* drops unsaved changes and the autosave */
const struct program *model_program(const struct model *m);      /* NULL on the start screen */
struct pane_doc *model_focused(struct model *m);                 /* the pane that gets keys */
int model_contexts(const struct model *m, enum key_context out[KEYS_COUNT]);
/* Returns the n rows of the ledger; the caller frees them. */
struct ledger_row *model_ledger(const struct model *m, int *n);
/* Finds stage and axis of the loop under the cursor of the nest; false when no loop is there. */
bool model_loop(const struct model *m, const struct stage **stage, int *axis);
/* Returns the subject of the views: what the cursor of the focused pane is on, else that of the
 * nest. */
struct cursor_subject model_subject(const struct model *m);
/* Whether line i of the C or the assembly belongs to the loop under the cursor of the nest; or
 * where the code has no such loop (vector lanes, written out), to the next one around it. */
bool model_lit(const struct model *m, enum view v, int i);
/* Return the object under the cursor: in the layout view the tensor's index in the graph, or -1; in
 * the list of branches and on the start screen the entry, or NULL. */
int model_tensor(const struct model *m);
const char *model_branch(const struct model *m);
const struct start_entry *model_entry(const struct model *m);
/* Goes back to where Enter has jumped from, if its view is still shown; else returns false. */
bool model_jump_back(struct model *m);
/* Messages. */
void model_echo(struct model *m, const char *line);
void model_info(struct model *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool model_error(struct model *m, const struct err *e);                         /* false ... */
bool model_say_error(struct model *m, const char *text, const char *fix);       /* ... always */
void model_clear_message(struct model *m);

/* model_keys.c: typed keys.  The screen rebuilds the documents before and after. */

void model_key(struct model *m, int key);        /* while help is open: view_help_key instead */
void model_paste(struct model *m, const char *text);
/* The command `source`: runs the lines of a file as if they were pasted. */
bool model_source(struct model *m, const char *path);
/* Runs what is left of a paste or a file line by line, until one is refused: that one is on the
 * prompt then, and the rest runs after it. */
void model_run_pasted(struct model *m);
bool model_search(struct model *m, int dir, int from);            /* false: not found */
/* Asks about unsaved changes and a running search, if any; then does `then`. */
void model_ask_save(struct model *m, enum after_ask then, struct session *next /* taken */);
void model_question(const struct model *m, struct str *out);     /* the text of OVERLAY_ASK */

/* Returns the name of a tile of f, the nest of state s, that the vector registers of its target
 * cannot hold, and appends "spills: needs 56 of 16 vector registers".  NULL: none. */
const char *model_spill(const struct model *m, const struct state *s, const struct func *f,
                        struct str *out);

/* model_tour.c: the guided tour. */

bool model_tour(struct model *m, const char *arg);       /* the command `tour` */
void model_tour_update(struct model *m);                 /* goes on when its step is done */
void model_tour_title(const struct model *m, struct str *out);
bool model_tour_over(const struct model *m);             /* all steps are done */
void model_tour_text(const struct model *m, struct str *out);

/* model_preview.c: what the step on the prompt would do. */

void model_preview_update(struct model *m);
void model_preview_free(struct model *m);

/* model_recover.c: unsaved changes that an earlier run has left of what is open. */

void model_recover_offer(struct model *m);
void model_recover_question(const struct model *m, struct str *out);
void model_recover_answer(struct model *m, bool open, bool forget);

/* model_action.c: the actions of keys.def; help and the menu of actions. */

void model_perform(struct model *m, const struct key_binding *b);
void model_save_as(struct model *m);             /* prompts for a file name */
void model_open_help(struct model *m, const char *what /* a topic, or a filter */);
void model_show_topic(struct model *m, const char *name);        /* "": the list of keys */
void model_forget_menu(struct model *m);
/* Appends the line that a key stands for: with `here` as it would run at the cursor, else, or if
 * nothing fits there, with names like STAGE and LOOP for what is filled in. */
void model_key_line(const struct model *m, const struct key_binding *b, bool here,
                    struct str *out);

/* model_command.c: command lines. */

/* Runs a line as the prompt does; false when it was refused (the message has the reason). */
bool model_command(struct model *m, const char *line);
bool model_run(struct model *m, const char *line);               /* echo, then model_command */
void model_prompt_again(struct model *m, const char *line);  /* opens the prompt with that line */
void model_show_view(struct model *m, enum view v);

/* model_file.c: files that are opened and written.  False: refused, with a message. */

bool model_save(struct model *m, const char *path);              /* "": as the file that it has */
bool model_save_quit(struct model *m, const char *path);
bool model_quit_now(struct model *m);            /* quits and discards unsaved changes */
bool model_export(struct model *m, const char *path);
bool model_dump(struct model *m, const char *path);              /* asks the drawing code for it */
/* Checks a file name that the user typed. */
bool model_file_named(struct model *m, const char *path, const char *usage);
/* Writes text to path if the file still has the content `seen`; asks before overwriting another. */
bool model_write(struct model *m, const char *path, uint64_t seen, const struct str *text,
                 const char *what);
void model_after(struct model *m);               /* does m->then, after the answer */
void model_give_up(struct model *m);             /* forgets m->then */
bool model_new_session(struct model *m, const char *spec, int at);  /* at: its column in a line */
bool model_open_file(struct model *m, const char *path);
void model_open_onnx(struct model *m, const char *path);         /* reads it in the background */
void model_opened(struct model *m, struct app_job *j);           /* opens what was read */
void model_open_entry(struct model *m);          /* opens the entry of model_entry */
void model_discard_entry(struct model *m);

/* model_complete.c: completes the line on the prompt; ctx is the model (prompt_complete). */
void model_complete(void *ctx, struct arena *a, const char *line, struct completions *out);

/* model_expert.c: shipped schedules. */

#define EXPERTS_MOST 64
bool model_has_expert(const struct model *m, const char *family);    /* reads the shipped files */
/* Lists the best schedules of the open operator, at most max, in arena a. */
bool model_experts(const struct model *m, struct arena *a, int max, struct expert_schedule *out,
                   int *n, struct err *e);
/* The command `expert`: applies the steps of the arg-th best schedule ("": the first) here if the
 * current state is the operator without steps, else on a branch; reuses a branch that has them. */
bool model_expert(struct model *m, const char *arg);
/* Goes to the end of a branch that has the steps of p, or makes such a branch from the operator
 * without steps. With `here`, uses the current branch if the current state has no steps. Fails
 * without a change when the session has no room for the steps; if a step is refused, the steps
 * before it remain. */
bool model_enter(struct model *m, const struct program *p, const char *name, bool here,
                 struct err *e);

/* model_work.c: background jobs. */

/* Sets *out to the job that a lane should run now; false: none.  The caller starts its model_job()
 * unless the lane runs it already (same kind and tag), and cancels a job that is not desired. */
struct desired_job { enum job_kind kind; int tag; };
bool model_desired_job(const struct model *m, enum job_lane lane, struct desired_job *out);
struct app_job *model_job(const struct model *m, const struct desired_job *w);
void model_done(struct model *m, struct app_job *j /* kept by the caller */);
void model_tick(struct model *m);                /* call ten times a second */
int model_tag(const struct model *m);            /* names the current state across sessions */
int model_measuring(const struct model *m);      /* the state being measured; -1: none */
bool model_wants_measuring(const struct model *m);       /* a measurement runs or is due */
void model_find_roofs(struct model *m);          /* reads the machine model if it is stored */
bool model_wants_roofs(const struct model *m);   /* the machine model should be measured now */
/* Makes this machine the session's. Returns the number of steps whose measurements, made on another
 * machine, were deleted. */
int model_measured_here(struct model *m);
/* Appends "other contract: Inp arrives as ..." when p asks the caller for other layouts. */
void model_contract_note(const struct program *p, const struct program *than, struct str *out);
/* Appends "; 64 threads take turns on 1 core" and the like, where more threads gain nothing. */
void model_threads_note(const struct model *m, struct str *out);
/* Appends remarks on the current program: overlapping tiles and the like. */
void model_note(struct model *m, struct str *out);

/* model_settings.c: the commands cache, compiler, isa, sim_budget and columns; settings. */

void model_apply_settings(struct model *m, const struct model_opts *o);
bool model_set_columns(struct model *m, const char *arg);
bool model_set_cache(struct model *m, const char *arg);
bool model_set_compiler(struct model *m, const char *arg);
bool model_set_isa(struct model *m, const char *arg);
bool model_set_sim_budget(struct model *m, const char *arg);
void model_settings(const struct model *m, struct str *out);     /* appends what is not default */

/* model_network.c: a network and its kernels. */

bool model_shows_network(const struct model *m);
/* Opens the network of a graph without steps; false when s is none, or has only one kernel. */
bool model_network_open(struct model *m, struct session *s /* taken if true */);
void model_network_close(struct model *m);               /* frees its sessions */
bool model_network(struct model *m, const char *arg);    /* the command `network` */
int model_kernel(const struct model *m);         /* the task under the cursor; -1 */
void model_kernel_open(struct model *m);
/* Opens a kernel with changes that an earlier run has left; in the place of the open one if m shows
 * that. */
void model_kernel_recovered(struct model *m, struct session *s /* taken */);
/* Copies the steps of the open kernel into the session of the network. */
void model_kernel_keep(struct model *m);
/* Returns how many kernels have several branches and no file: the network's has one of each. */
int model_network_branches(const struct model *m);
/* Appends what the file of the network leaves out of the kernels that were opened; or nothing. */
void model_network_left_out(const struct model *m, struct str *out);
void model_kernel_leave(struct model *m);        /* shows the network; a running tuner asks */
void model_network_show(struct model *m);        /* instead of its kernel */
void model_network_update(struct model *m);      /* builds it again, and stops its search */
/* Whether a line is a step of the network itself or undoes one; and a function that runs such a
 * line. */
bool model_network_takes(const char *line);
bool model_network_step(struct model *m, const char *line);
bool model_network_measure(struct model *m);
/* The command `tune_all`: tunes all kernels for that many seconds ("": 60). */
bool model_network_tune(struct model *m, const char *arg);
/* Notes new text of the search, and holds it while something else is measured. */
void model_network_look(struct model *m);
bool model_network_searches(const struct model *m);      /* the search runs, and does not wait */
bool model_network_cancel(struct model *m);      /* false when it is neither measured nor tuned */
bool model_desired_network(const struct model *m, enum job_lane lane, struct desired_job *out);
struct app_job *model_network_job(const struct model *m, const struct desired_job *w);
/* Takes over what a search of all kernels found (model_network_tuned.c). */
void model_network_tuned(struct model *m, struct app_job *j);
void model_networked(struct model *m, struct app_job *j);        /* takes over its result */

/* model_compare.c: the marked state. */

bool model_mark(struct model *m, const char *arg);       /* the commands mark, compare, ... */
bool model_compare(struct model *m, const char *arg);
bool model_bisect(struct model *m);
bool model_ablate(struct model *m);
bool model_pair_fits(const struct model *m);     /* marking.pair is of the mark and this state */
bool model_compare_cancel(struct model *m);      /* false when nothing is being compared */
void model_compare_forget(struct model *m);
void model_compare_outdate(struct model *m);     /* forgets the measurements, keeps the mark */
void model_compare_job(const struct model *m, struct app_job *j);    /* fills in j */
void model_compared(struct model *m, struct app_job *j, int number);     /* takes its result */

/* model_cursor.c: the object under the cursor. */

bool model_blame(struct model *m, const char *arg);      /* the command `blame` */

bool model_loop_of(struct model *m);             /* the command `loop_of` */
bool model_access_of(struct model *m);           /* the command `access_of` */
bool model_misses_of(struct model *m);           /* the command `misses_of` */
/* Returns the next access to memory in a text, such as Inp[n][h + kh]; NULL if there is none. Sets
 * the lengths of its name and of the whole access. */
const char *model_next_access(const char *text, size_t *name, size_t *all);
bool model_has_accesses(const struct tree_lines *lines, int i);  /* line i is a statement */

/* model_lens.c: the cache lens. */

bool model_lens(struct model *m, const char *arg);       /* the command `lens` */
bool model_lens_fits(const struct model *m);     /* lensing is of this state and its settings */
bool model_lens_on_cure(const struct model *m);  /* the cursor is on a step that Enter applies */
void model_lens_forget(struct model *m);
void model_lensed(struct model *m, struct app_job *j);   /* takes over its result */

/* model_forecast.c: predicted misses. */

/* Whether forecasts are wanted but missing. *state: the state that they start from. */
bool model_desired_forecast(const struct model *m, int *state);
void model_forecast_job(const struct model *m, struct app_job *j);   /* fills in j */
void model_forecast(struct model *m, const struct app_job *j, int state); /* takes its result */
void model_forecast_forget(struct model *m);
/* Whether forecasts have times: with a machine model, for one thread of a CPU. */
bool model_forecast_has_time(const struct model *m);
/* Compares two lines for sorting after the current state (NULL: none): by predicted time, which
 * ranks schedules far better than misses do. Without times, or with equal ones, compares misses; a
 * line with a prediction comes before one without. */
bool model_forecast_before(const struct model *m, const char *line, const char *other);
/* Appends "≥ 198 µs, misses -94 %", the least time and the predicted change of the misses;
 * "misses …" while they are being predicted, "not predicted" when that takes too long. */
void model_forecast_brief(const struct model *m, const char *line, struct str *out);
/* Appends "predicted 1.05M L1 misses, -94 %; at least 0.26 ms (now at least 2.1 ms)" for a line, or
 * for the step under the cursor if the line is ""; "predicted …" while the prediction is being
 * made. The times are what loads, stores and FLOPs take on one thread; they need the machine
 * model. */
void model_forecast_print(const struct model *m, const char *line, struct str *out);

/* model_tune.c: the tuner. */

bool model_tune(struct model *m, const char *arg);       /* the command `tune` */
/* Notes a new snapshot, and pauses the search while something else is measured.  Call it before
 * model_desired_job. */
void model_tune_look(struct model *m);
bool model_tune_waits(const struct model *m);            /* the search is paused and idle */
bool model_desired_tuning(const struct model *m, struct desired_job *out);
void model_tune_job(const struct model *m, struct app_job *j);   /* fills in j */
void model_tuned(struct model *m, struct app_job *j);            /* takes over its result */
void model_tune_forget(struct model *m);
/* v: the last snapshot, or NULL; waits: model_tune_waits from before the snapshot was locked. */
enum tune_phase model_tune_phase(const struct model *m, const struct tune_view *v, bool waits);
void model_tune_note(struct model *m, struct str *out);  /* appends tuner.note, and what t does */
/* Whether the records have a stopped search of the current state. A job finds that out; the result
 * is false until it has. */
bool model_tune_has_old(struct model *m);
bool model_tune_asks(const struct model *m);             /* that job is desired */
void model_stopped_job(const struct model *m, struct app_job *j);      /* fills in j */
void model_stopped(struct model *m, const struct app_job *j);    /* takes over its result */
/* Appends "the tuner is at 40 of 1000" while a search runs. */
void model_tune_place(const struct model *m, struct str *out);
int model_tune_selected(const struct model *m);          /* the trial under the cursor, or -1 */
void model_tune_walk(struct model *m, int by);           /* moves the cursor `by` trials in time */
#endif
