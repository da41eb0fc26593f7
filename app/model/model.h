/* The model: the state of the screen, the effects of keys and lines on it, and background jobs.
 *
 * The model needs no terminal.  views/screen.h passes events to it and draws it.  Views fill its
 * documents and its frame.  The model finds the object under the cursor in the documents. */
#ifndef TS_APP_MODEL_H
#define TS_APP_MODEL_H
#include "app/model/model_parts.h"
#include "app/model/settings.h"
#include "app/model/start.h"
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

/* The documents on the screen, one per view, pane or list.  A view's document has the view's id. */
enum doc_id {
    DOC_PREVIEW = VIEW_COUNT, DOC_LEDGER, DOC_START, DOC_NETWORK, DOC_DETAIL, DOC_BRANCHES,
    DOC_HELP, DOC_COUNT
};
enum pane { PANE_LEDGER, PANE_MAIN, PANE_SIDE, PANE_COUNT };
enum overlay { OVERLAY_NONE, OVERLAY_HELP, OVERLAY_BRANCHES, OVERLAY_ASK };

struct pane_doc {
    struct doc doc;
    struct scroll scroll;
    unsigned stamp;  /* identifies the state that doc shows (screen.c); 0: doc must be built */
    int width, height;
};

enum message_kind { MESSAGE_NONE, MESSAGE_ECHO, MESSAGE_INFO, MESSAGE_ERROR };
enum { FADE_TICKS = 50 };                /* 5 s */
/* stays: whether the result of a successful measurement is added to the message, and does not
 * replace it.  own: the length of the text without such a result; 0: it has none.
 * of_change: whether it tells of a changed past step, which made the last change of the current
 * state (struct model, came).  fades: number of ticks until the message is cleared; 0: it does not
 * fade. */
struct message {
    enum message_kind kind;
    bool stays, of_change;
    size_t own;
    int fades;
    struct str echo, text, fix;
};

/* The object under the cursor.  tensor: name of the tensor of SUBJECT_ACCESS or SUBJECT_TENSOR.
 * access: text of SUBJECT_ACCESS, as in the nest.  model_loop returns the loop of SUBJECT_LOOP. */
struct cursor_subject {
    enum { SUBJECT_NONE, SUBJECT_LOOP, SUBJECT_ACCESS, SUBJECT_TENSOR } kind;
    const char *tensor, *access;
};

/* A jump by Enter: from an object in view `from` to the same object in view `to` (model_cursor.c).
 * at: the scroll position of `from` before the jump. */
enum { JUMPS_MOST = 8 };
struct jump { enum view from, to; struct scroll at; };

/* A row of the menu of actions, for one key binding.  The row is empty if the menu does not have
 * the key.  why: why the key cannot run here; NULL: it can.  fix: what to do if it cannot.  line:
 * the complete step that the key runs; NULL: it runs no complete step. */
struct menu_row { char *why, *fix, *line; };

enum after_ask { AFTER_NOTHING, AFTER_QUIT, AFTER_OPEN };

#define FRAME_WIDE 160         /* least columns of a screen with three panes side by side */
#define FRAME_SIDE_BY_SIDE 84  /* least columns of a screen with two; below, panes are stacked */
/* The places of the parts of the screen; a pane with h == 0 is not shown.  The first row of a pane
 * is its heading. */
struct frame {
    bool too_small;
    struct rect title, pane[PANE_COUNT], tour, message, bar, overlay;
};
struct hit { struct rect r; int key; };  /* a click in rectangle r acts as this key */

/* Requests to the owner of the model, who carries them out and clears them. */
struct outbox {
    bool quit, suspend, repaint, theme_chosen;
    enum theme theme;                    /* if theme_chosen */
    struct str copy;                     /* text to copy to the clipboard */
    struct str dump;                     /* path of a file to which the screen is to be written */
    uint64_t dump_seen;                  /* the state that this file must have (file_replace) */
};

struct model_opts {
    bool no_auto;                        /* whether not to measure after every step */
    int threads;  /* threads of a measurement; 0: as many as the settings say, else 1 */
    /* baselines: 1 << enum vendor_library.  If they are not given, those of the settings apply. */
    bool baselines_given; unsigned baselines;
    const struct app_settings *settings; /* the user's settings, or NULL */
    const struct err *settings_error;    /* why settings are the defaults, or NULL */
    bool tour;                           /* whether to begin the guided tour */
    const char *open;                    /* an ONNX file to open at once; NULL: none */
};

struct model {
    /* the open session; NULL: the network is shown, or else the start screen */
    struct session *session;
    struct app_network *network;         /* the open network; NULL: none */
    int network_jobs;                    /* the last tag that was given to a job of a network */
    int generation;  /* number of the shown session; results of jobs for earlier ones are dropped */
    /* stamp: number of changes of the program; data_stamp: of all other shown data */
    unsigned stamp, data_stamp;
    bool has_expert;  /* whether an expert schedule is shipped for the operator */
    struct start_list start;             /* the rows of the start screen */

    /* State of the screen. */
    bool unicode;
    bool letters;  /* whether plots use letters, because the screen has no colours */
    int w, h;
    struct pane_doc pane[DOC_COUNT];
    enum pane focus;
    enum pane last_view;  /* MAIN or SIDE: the one to show when there is room for only one */
    enum view view[PANE_COUNT];          /* MAIN always shows the nest, SIDE one of the others */
    /* the state to restore when a view without a number closes (model_covers) */
    struct covered { enum pane focus, last_view; enum view view; } under;
    bool zoom;
    struct columns columns;              /* the chosen columns of the ledger */
    /* columns added: wider: to the steps (in stacked panes, 4 add a row); split: to the nest */
    int wider, split;
    enum overlay overlay;
    bool list_behind;  /* a key of the list of branches opened the prompt; Esc goes back there */
    struct frame frame;                  /* places of the last screen_refresh */
    VEC(struct hit) hits;                /* places of the last screen_draw */
    int spin;                            /* number of ticks, for the spinner */
    char step_stage[64], step_axis[64];  /* loop of the last step or jump; the nest scrolls to it */
    /* if not "": the nest scrolls to this access and not to a loop; step_axis is its tensor */
    char step_access[256];
    int step_number;  /* if not 0: step_axis is the loop with this number (struct tree) */
    bool to_misses;  /* whether the profile scrolls to the access under the nest's cursor */
    bool to_loop;  /* whether the nest scrolls to step_axis even if the cursor is in step_stage */
    char to_tensor[64];                  /* tensor to which the layout view scrolls; "": none */
    char opened_at[96];  /* the access or tensor at which the layout view opened last, or "" */
    int n_jumps; struct jump jump[JUMPS_MOST];  /* oldest first; Esc takes back the last */
    unsigned jump_stamp;                 /* the stamp when the jumps were made */

    /* State of the prompt. */
    struct prompt prompt;
    struct message message;
    /* search: the words searched for in the focused document.  filter: the words that rows of the
     * list of help must have.  covered: `search` before help was opened.  manual: the texts of all
     * topics, each ended by '\f', once one was searched; some take a while to make. */
    struct str search, filter, covered, manual;
    struct scroll search_from; int search_jumps;  /* place and n_jumps when a search began */
    /* The last match.  cursor: the cursor's line after the search; in a list, it can differ. */
    struct found { const struct pane_doc *in; int line, cursor; } found;
    int hot;  /* the line where the assembly of the hottest loop begins; -1: unknown */
    bool to_hot;  /* whether to scroll to line `hot` as soon as it is known */
    int waiting;  /* the key that waits until the focused view has its code; 0: none */
    int lit_number;  /* number of the loop to which a view of current code scrolled last */
    char lit[192];  /* the loop or stage to which a view scrolled last, and this view, as a text */
    bool stays;  /* whether the view of code that a jump came back to keeps its place */
    enum key_context help_chain[KEYS_COUNT];     /* the key contexts when help was opened */
    int help_n;                                  /* number of contexts in help_chain */
    /* help_menu: help shows the menu of actions; help_of_list: help was opened in the branches */
    bool help_menu, help_of_list;
    VEC(struct menu_row) menu;           /* per key binding */
    bool menu_ranked;  /* whether the menu is sorted by predictions (model_forecast_before) */
    struct str pasted;                   /* lines to run; the bytes before pasted_from are done */
    struct str pasted_of;                /* the file that has these lines; "": they were pasted */
    size_t pasted_from;
    int pasted_line;                     /* number of the line that was run last */
    struct str refused;  /* the refused line on the prompt, if lines of `pasted` follow it */
    char topic[32];                      /* the topic that help shows; "" = the list */
    long count;                          /* the count typed before a key; 0 = none */
    bool counting;  /* whether a count is being typed: digits extend it and choose no views */
    int error_col;  /* column of an error in the last command line, from 1; 0 = unknown */
    bool error_before;  /* whether the error is a missing word before that column */

    /* State of questions. */
    enum after_ask then;                 /* the action after the answer, or after the save */
    /* whether the question is about stopping the tuner or losing branches; false: about saving */
    bool ask_stop;
    struct session *next;  /* the session that AFTER_OPEN opens; NULL = the start screen */
    /* unsaved changes that the question offers to open; NULL: no such question is open */
    struct unsaved_work *recover;
    bool recover_yes;  /* whether to open the next session's unsaved changes without a question */
    struct str opening;                  /* the ONNX file that is being read; "": none */
    int openings;                        /* number of ONNX files opened so far: the job's tag */
    /* the file that a second Enter overwrites, or the autosave that a second d deletes; "": none */
    struct str overwrite;
    uint64_t overwrite_seen;  /* state of the file at the first Enter (file_seen) */
    bool confirm;  /* whether the last line was refused because a second Enter must confirm it */
    bool autosave_failed;  /* whether a failure of the autosave was already reported */

    /* State of measuring. */
    bool autorun;                        /* whether to measure after every step */
    bool measure_wanted;                 /* whether to measure the current state */
    bool measure_all;                    /* whether to measure every state of the branch */
    bool numbers_asked;  /* whether the user asked for numbers (m, M): they are worth saving */
    bool newest;  /* whether to keep the next measurement of the current state even if slower */
    int threads, cores;                  /* cores: how many this process may run on */
    bool baselines_chosen;               /* whether the user chose the baselines, maybe none */
    unsigned baselines;                  /* 1 << enum vendor_library */
    struct job_settings set;
    /* The settings as a measurement names them.  compiler: its version; "": neither compiler nor
     * target was ever chosen, or the compiler is missing.  cache: the simulated caches; 0 levels:
     * they were never chosen. */
    struct { char compiler[128]; struct cache_config cache; } stands_for;
    /* the last change of the current state: from which state to which; -1: there was none */
    struct { int from, to; } came;
    int at;                              /* the current state at the last call of model_changed */
    VEC(int) late;                       /* states that the user left before they were measured */
    int parallel_said;  /* 1 + tag of the state for which the note on threads was shown; 0: never */
    struct code_text code[CODE_COUNT];
    struct roofs roofs;
    struct tuner tuner;
    struct marking marking;
    struct lensing lensing;
    struct foreseeing foreseen;
    struct job_progress progress[LANE_COUNT];
    struct preview preview;
    int tour;                            /* number of the tour's step, from 1; 0: no tour */

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
/* Closes the open session and network.  Then opens s (NULL: the start screen), as a network if
 * session_opens_as_network(s). */
void model_set_session(struct model *m, struct session *s /* taken */);
/* Shows s instead of the open session; frees neither. */
void model_show_session(struct model *m, struct session *s);
/* Returns the session on the screen: the open one, or in the list of kernels the network's.  NULL
 * on the start screen. */
struct session *model_document(const struct model *m);
void model_changed(struct model *m);  /* must be called when the program has changed */
void model_edited(struct model *m);  /* must be called instead when the user has changed it */
void model_undone(struct model *m);  /* must be called after undo and redo */
void model_keep_safe(struct model *m);  /* writes the autosave; reports only the first failure */
/* Whether the session or the network has unsaved changes, or the session has a file that lacks
 * numbers that the user asked for. */
bool model_unsaved(const struct model *m);
/* whether the session has unsaved changes, or any unsaved numbers */
bool model_has_news(const struct model *m);
void model_discard(struct model *m);             /* drops unsaved changes and the autosave */
const struct program *model_program(const struct model *m);      /* NULL: no session is open */
struct pane_doc *model_focused(struct model *m);  /* returns the document that gets keys */
/* Stores the contexts whose keys work now, the most special one first.  Returns their number. */
int model_contexts(const struct model *m, enum key_context out[KEYS_COUNT]);
/* Returns the n rows of the ledger; the caller frees them. */
struct ledger_row *model_ledger(const struct model *m, int *n);
/* Finds stage and axis of the loop under the cursor of the nest. Returns false when no loop is
 * there. */
bool model_loop(const struct model *m, const struct stage **stage, int *axis);
/* Like model_loop, but where an access or a tile is under the cursor, finds the innermost loop
 * around it.  *number: this loop in the lowered program (struct tree); 0: the nest on the screen is
 * of an earlier state. */
bool model_loop_around(const struct model *m, const struct stage **stage, int *axis, int *number);
/* Returns the subject of the views: the tensor of the row under the cursor if the profile or the
 * layout view has the focus, else the object under the cursor of the nest. */
struct cursor_subject model_subject(const struct model *m);
/* Returns the enum code_kind that a view shows; -1: none. */
int model_code(enum view v);
/* Whether a view shows no code, or the code of the current state, and none is still being made. */
bool model_code_is_current(const struct model *m, enum view v);
/* Whether to highlight line i of a view.  A view of code highlights the loop under or around the
 * cursor of the nest: of a loop that is cut into copies, this copy, if nest and code are of the
 * current state.  If the code lacks this loop (vector lanes, unrolled, one iteration), it
 * highlights the next enclosing loop of the stage, or else the next inner one.  The view of the
 * graph highlights the operands and consumers of the tensor under the cursor. */
bool model_lit(const struct model *m, enum view v, int i);
/* Whether the key bar leaves out a key that would be refused here: it needs a loop, an access or a
 * cure and the line has none, a loop that is not too long, a search that runs, a mark, or a layout
 * that can be chosen. */
bool model_key_refused(const struct model *m, const struct key_binding *b);
/* Return the object under a cursor; -1 or NULL: no object.  model_tensor: in the layout view.
 * model_branch: in the list of branches.  model_entry: on the start screen.  model_held_step: the
 * state of the held step under the cursor. */
int model_tensor(const struct model *m);
const char *model_branch(const struct model *m);
const struct state *model_held_step(const struct model *m);
const struct start_entry *model_entry(const struct model *m);
/* Takes back the last jump.  False: there is none, or focus or program have changed since. */
bool model_jump_back(struct model *m);
void model_echo(struct model *m, const char *line);
void model_info(struct model *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool model_error(struct model *m, const struct err *e);  /* returns false; shows the error */
bool model_say_error(struct model *m, const char *text, const char *fix);  /* returns false */
void model_clear_message(struct model *m);

/* model_keys.c: typed keys.  The screen rebuilds the documents before and after. */

/* while help is open without a prompt, the screen calls view_help_key instead */
void model_key(struct model *m, int key);
/* Performs the waiting key if the focused view has its code now; drops it if the cursor is no
 * longer in a view of code.  Returns whether it was performed. */
bool model_wake(struct model *m);
void model_paste(struct model *m, const char *text);
/* The command `source`: runs the lines of a file as if they were pasted. */
bool model_source(struct model *m, const char *path);
/* Runs the remaining lines of a paste or a file, up to a line that opens a prompt or a question or
 * is refused.  The prompt then has the refused line: Enter runs or skips it and runs the rest. */
void model_run_pasted(struct model *m);
/* Searches after line `from`, down (dir 1) or up (-1), wrapping around.  False: nothing found. */
bool model_search(struct model *m, int dir, int from);
/* Carries out `then`.  First asks if changes, branches or a running search would be lost. */
void model_ask_save(struct model *m, enum after_ask then, struct session *next /* taken */);
void model_question(const struct model *m, struct str *out);     /* the text of OVERLAY_ASK */

/* model_settings.c: notes on tiles that do no good. */

/* Returns the name of a tile that does no good, and appends why: "spills: needs 56 of 16 vector
 * registers", or that it keeps no partial sums.  NULL: there is no such tile.  f: the nest of s. */
const char *model_tile_note(const struct model *m, const struct state *s, const struct func *f,
                            struct str *out);
/* If state s has a tile that does no good, appends `before`, the tile's name and why. */
void model_describe_tile(const struct model *m, const struct state *s, const char *before,
                         struct str *out);
/* Like model_describe_tile, but appends nothing if state `than` has the same tile with the same
 * reason.  If s has no such tile, names a tile that is in registers in `than` but not in s. */
void model_new_tile(const struct model *m, const struct state *s, const struct state *than,
                    const char *before, struct str *out);

/* model_tour.c: the guided tour. */

bool model_tour(struct model *m, const char *arg);       /* the command `tour` */
void model_tour_update(struct model *m);  /* goes on to the next step that is not done */
void model_tour_title(const struct model *m, struct str *out);
bool model_tour_over(const struct model *m);             /* whether all steps are done */
void model_tour_text(const struct model *m, struct str *out);

/* model_preview.c: the effect that the step on the prompt would have. */

void model_preview_update(struct model *m);
void model_preview_free(struct model *m);

/* model_recover.c: unsaved changes of the open document, which an earlier run has left. */

void model_recover_offer(struct model *m);  /* opens them if recover_yes, else asks */
void model_recover_question(const struct model *m, struct str *out);
void model_recover_answer(struct model *m, bool open, bool forget);  /* forget: deletes them */
/* Shows a recovered session, which the model then owns, with the settings of its autosave.
 * with_kernels: also takes over the autosaves of its kernels, if it is a network. */
void model_open_recovered(struct model *m, struct session *s, bool with_kernels);

/* model_action.c: the actions of keys.def; help and the menu of actions. */

void model_perform(struct model *m, const struct key_binding *b);
void model_save_as(struct model *m);             /* prompts for a file name */
void model_close_overlay(struct model *m);
void model_open_help(struct model *m, const char *what /* what: a topic, or a filter */);
void model_show_topic(struct model *m, const char *name);        /* name "": the list of keys */
void model_forget_menu(struct model *m);

/* model_group.c: steps that are typed without their group, `loop` or `layout`. */

/* Returns the index in a line where its step begins: after `edit N ` or `insert N `, else 0. */
int model_step_at(const char *line);
/* whether a group has a step whose name begins the line, as `loop` has vectorize */
bool model_group_has(const char *group, const char *line);
/* whether the step of a line lacks its group, as in `vectorize C N` */
bool model_lacks_group(const struct model *m, const char *line);
/* Returns the group with which to complete a line that lacks its group.  If both groups have the
 * step, returns `loop`.  NULL: the line lacks no group. */
const char *model_group_completed(const struct model *m, const char *line);
/* Appends the line with the group that its step lacks: the only group with such a step; if both
 * have it, the only group in which it is legal; if it is legal in both, `loop`.  Returns false if
 * the line lacks no group, or if the step is legal in neither group; only then sets *why. */
bool model_with_group(const struct model *m, const char *line, struct str *out, struct err *why);

/* model_command.c: command lines. */

/* Runs a line as the prompt does.  False: it was refused, and the message has the reason. */
bool model_command(struct model *m, const char *line);
bool model_run(struct model *m, const char *line);  /* shows the line, then runs model_command */
/* Whether an app_command can run now: many need an open session. */
bool model_command_fits(const struct model *m, int id);
/* Sets what the key C-u leaves of the line on the prompt: `edit 3 ` of `edit 3 ...`, `loop reorder
 * C ` of a step that a key began, or `layout set C ""` with the cursor between the quotes. */
void model_keep_head(struct model *m);
void model_prompt_again(struct model *m, const char *line);  /* opens the prompt with this line */
void model_show_view(struct model *m, enum view v);
/* model_covers: whether a view without a number (comparison, lens, SASS) has the focus.
 * model_uncover: closes that view and shows again what was there before; false: it cannot. */
bool model_covers(const struct model *m);
bool model_uncover(struct model *m);

/* model_file.c: opens and writes files.  False: refused, and the message has the reason. */

/* Saves to path.  "" saves to the session's own file, or asks for a name if there is none; in a
 * kernel, "" saves the network, which must have a file.  A name without ending gets .yaml. */
bool model_save(struct model *m, const char *path);
bool model_save_quit(struct model *m, const char *path);
bool model_quit_now(struct model *m);            /* quits and discards unsaved changes */
bool model_export(struct model *m, const char *path);
bool model_dump(struct model *m, const char *path);  /* requests it (struct outbox) */
/* Checks a file name that the user typed.  usage: an example of the command. */
bool model_file_named(struct model *m, const char *path, const char *usage);
/* Writes text to path if the file does not exist or is still in the state `seen` (file_seen); if
 * not, asks for a second Enter.  what: what was written, for the message. */
bool model_write(struct model *m, const char *path, uint64_t seen, const struct str *text,
                 const char *what);
void model_after(struct model *m);               /* carries out m->then, after the answer */
void model_give_up(struct model *m);             /* drops m->then */
/* Opens a session on an operator.  After an error, m->error_col is a column of spec. */
bool model_new_session(struct model *m, const char *spec);
bool model_open_file(struct model *m, const char *path);
void model_open_onnx(struct model *m, const char *path);  /* reads the file in the background */
void model_opened(struct model *m, struct app_job *j);  /* opens the file that the job has read */
void model_open_entry(struct model *m);  /* opens the entry under the start screen's cursor */
void model_discard_entry(struct model *m);

/* model_complete.c: completes the line on the prompt; ctx is the model (prompt_complete). */
void model_complete(void *ctx, struct arena *a, const char *line, struct completions *out);

/* model_expert.c: shipped schedules. */

#define EXPERTS_MOST 64
bool model_has_expert(const struct model *m, const char *family);    /* reads the shipped files */
/* Lists the best schedules of the open operator, at most max, in arena a. */
bool model_experts(const struct model *m, struct arena *a, int max, struct expert_schedule *out,
                   int *n, struct err *e);
/* The command `expert`: applies the steps of the schedule with number arg (1 or "": the best).  If
 * a branch has these steps already, goes there.  Otherwise applies them on the current branch if
 * the current state is the operator without steps, or else on a new branch. */
bool model_expert(struct model *m, const char *arg);
/* Goes to the state of a branch that has the steps of p.  If there is none, makes a branch `name`
 * from the operator without steps and applies the steps.  If `here` is true and the current state
 * has no steps, applies them on the current branch instead.  If the session has no room for the
 * steps, fails without a change; if a step is refused, the steps before it remain. */
bool model_enter(struct model *m, const struct program *p, const char *name, bool here,
                 struct err *e);

/* model_work.c: background jobs. */

/* Sets *out to the job that a lane should run now; false: no job.  Unless the lane already runs
 * this job (same kind and tag), the caller starts model_job(m, out).  The caller also cancels a
 * running job that is not desired. */
struct desired_job { enum job_kind kind; int tag; };
bool model_desired_job(const struct model *m, enum job_lane lane, struct desired_job *out);
struct app_job *model_job(const struct model *m, const struct desired_job *w);
void model_done(struct model *m, struct app_job *j /* the caller keeps j */);
void model_tick(struct model *m);                /* must be called ten times a second */
int model_tag(const struct model *m);  /* identifies session and current state; -1: no session */
int model_measuring(const struct model *m);  /* the state that is being measured; -1: none */
/* whether a measurement runs or is due; one of a state in m->late does not count */
bool model_wants_measuring(const struct model *m);
void model_find_roofs(struct model *m);  /* reads the stored machine model, if there is one */
bool model_wants_roofs(const struct model *m);  /* whether to measure the machine model now */
/* Makes this machine the machine of the session, and deletes measurements of another machine.
 * Returns the number of states whose measurements were deleted. */
int model_measured_here(struct model *m);
/* Appends "other contract: Inp arrives as ..." if p expects other layouts from its caller than
 * program `than` does. */
void model_contract_note(const struct program *p, const struct program *than, struct str *out);
/* Like model_contract_note, but first notes lanes of a vector of p that lie apart in memory. */
void model_change_note(const struct program *p, const struct program *than, struct str *out);
/* Appends notes such as "; 64 threads take turns on 1 core", if some threads gain nothing. */
void model_threads_note(const struct model *m, struct str *out);
/* Appends a note on each step that has no effect because a later step annotates the same loop
 * again, if one of these two steps is step `by`. */
void model_note_replaced(const struct model *m, int by, struct str *out);
/* `step` leads from program `before` to p.  Appends a note if it has changed nothing (layouts,
 * loops, code), or if it reset a tensor, which now takes another tensor's layout. */
void model_note_no_change(const struct program *p, const struct program *before, const char *step,
                          struct str *out);
/* Appends remarks on the current program, such as overlapping tiles, and how its contract differs
 * from that of the state that the user left for it.  Returns whether one of them must be read, so
 * that the message stays. */
bool model_note(struct model *m, struct str *out);
/* Appends those of these notes that model_new_tile and model_change_note do not make. */
void model_rebased_note(struct model *m, struct str *out);

/* model_settings.c: settings, and the commands that change them. */

void model_apply_settings(struct model *m, const struct model_opts *o);
bool model_set_columns(struct model *m, const char *arg);
bool model_set_theme(struct model *m, const char *arg);
bool model_set_threads(struct model *m, const char *arg);
bool model_set_cache(struct model *m, const char *arg);
bool model_set_compiler(struct model *m, const char *arg);
bool model_set_isa(struct model *m, const char *arg);
bool model_set_sim_budget(struct model *m, const char *arg);
void model_settings(const struct model *m, struct str *out);  /* appends "isa avx2, threads 4" */
/* Writes the autosave of a session, with the present settings of the screen. */
bool model_autosave(const struct model *m, struct session *s, struct err *e);
/* Makes the settings that an autosave has (struct session, screen).  Returns whether the settings
 * were others; "" changes nothing. */
bool model_settings_restore(struct model *m, const char *commands);

#include "app/model/network_part.h"

/* model_compare.c: the marked state. */

bool model_mark(struct model *m, const char *arg);       /* the command `mark` */
/* Appends the place of a state: "tiled, step 3 of 7".  If several branches have the state, prefers
 * the marked branch if `marked` is true and there is one, else the current branch. */
void model_state_name(const struct model *m, int state, bool marked, struct str *out);
bool model_compare(struct model *m, const char *arg);
bool model_bisect(struct model *m, const char *arg);
bool model_ablate(struct model *m);
bool model_pair_fits(const struct model *m);  /* whether pair_of is mark and current state */
bool model_compare_cancel(struct model *m);      /* returns false when nothing is being compared */
bool model_compare_shown(const struct model *m);         /* whether the comparison has the focus */
/* Returns what the key bar says of a key: its own label, or what it does in the present state:
 * "unzoom", "close", "back" (to the network) or "quit" for q. */
const char *model_key_label(const struct model *m, const struct key_binding *b);
void model_compare_forget(struct model *m);
void model_compare_outdate(struct model *m);     /* drops the comparisons, keeps the mark */
void model_compare_job(const struct model *m, struct app_job *j);    /* fills in the inputs of j */
void model_compared(struct model *m, struct app_job *j, int number);     /* takes over the result */

/* model_cursor.c: the object under the cursor. */

bool model_blame(struct model *m, const char *arg);      /* the command `blame` */
bool model_loop_of(struct model *m);             /* the command `loop_of` */
bool model_access_of(struct model *m);           /* the command `access_of` */
bool model_misses_of(struct model *m);           /* the command `misses_of` */
/* Returns the first access to memory in a text, such as Inp[n][h + kh]; NULL: there is none.  Sets
 * *name and *all to the lengths of its name and of the whole access. */
const char *model_next_access(const char *text, size_t *name, size_t *all);
bool model_has_accesses(const struct tree_lines *lines, int i);  /* whether line i can have one */

/* model_lens.c: the cache lens. */

bool model_lens(struct model *m, const char *arg);       /* the command `lens` */
/* whether m->lensing is of the current state with the present settings */
bool model_lens_fits(const struct model *m);
bool model_lens_is_due(const struct model *m);  /* whether a lens or predictions are to be made */
bool model_lens_stopped(const struct model *m);  /* whether the user cancelled this state's lens */
bool model_lens_cancel(struct model *m);  /* cancels the jobs of the lens; false: there are none */
void model_cures_job(const struct model *m, struct app_job *j);
void model_cured(struct model *m, struct app_job *j);    /* takes over the predictions */
bool model_lens_on_cure(const struct model *m);  /* whether Enter would apply a cure */
void model_lens_forget(struct model *m);
void model_lensed(struct model *m, struct app_job *j);   /* takes over the result of the job */

/* model_forecast.c: predicted misses and times. */

/* Whether forecasts are wanted but missing. *state: where the steps would be applied. */
bool model_desired_forecast(const struct model *m, int *state);
void model_forecast_job(const struct model *m, struct app_job *j);   /* fills in the inputs of j */
void model_forecast(struct model *m, const struct app_job *j, int state);  /* takes the result */
void model_forecast_forget(struct model *m);
/* Whether forecasts have times: with a machine model, for a program on one thread of a CPU. */
bool model_forecast_has_time(const struct model *m);
/* Whether step `line` (NULL: none) comes before step `other` in a list, the best one first.
 * Compares predicted times, then misses.  Steps without a prediction come last. */
bool model_forecast_before(const struct model *m, const char *line, const char *other);
/* Appends the changes that are predicted for a step: "time -91 %, misses -94 %", without the time
 * if it is unknown.  If only the misses after the step are known, appends their number; "misses …"
 * until there is a prediction; "not predicted" if it failed. */
void model_forecast_brief(const struct model *m, const char *line, struct str *out);
/* Appends the prediction for a step: "predicted 1.05M L1 misses, -94 %; time -91 %".  line "" means
 * the state under the cursor of the steps: "predicted 1.05M L1 misses; at least 0.26 ms".  Appends
 * nothing if that state needs no prediction, "predicted …" until there is one, "not predicted: ..."
 * if it failed.  Times are of loads, stores and FLOPs on one thread, by the machine model. */
void model_forecast_print(const struct model *m, const char *line, struct str *out);

/* model_tune.c: the tuner. */

bool model_tune(struct model *m, const char *arg);       /* the command `tune` */
/* Notices a new snapshot, and pauses the searches while something else is measured.  Must be called
 * before model_desired_job. */
void model_tune_look(struct model *m);
bool model_tune_continues(const struct model *m);  /* whether `tune` resumes a stopped search */
bool model_tune_waits(const struct model *m);            /* whether the search is paused and idle */
bool model_desired_tuning(const struct model *m, struct desired_job *out);
void model_tune_job(const struct model *m, struct app_job *j);   /* fills in the inputs of j */
void model_tuned(struct model *m, struct app_job *j);  /* takes over the result (model_tuned.c) */
void model_tune_forget(struct model *m);
void model_tuner_free(struct tuner *t);
/* Returns the phase of the search.  v: the last snapshot, or NULL.  waits: model_tune_waits(m). */
enum tune_phase model_tune_phase(const struct model *m, const struct tune_view *v, bool waits);
void model_tune_note(struct model *m, struct str *out);  /* appends remarks, and how to resume */
/* Whether the records have a stopped search of the current state.  Requests a job that looks for
 * one; returns false until the job has ended. */
bool model_tune_has_old(struct model *m);
bool model_tune_asks(const struct model *m);             /* whether that job should run */
void model_stopped_job(const struct model *m, struct app_job *j);  /* fills in the inputs of j */
void model_stopped(struct model *m, const struct app_job *j);    /* takes over the result */
/* While a search runs, appends "the tuner is at 40 of 1000", or "the tuner is preparing". */
void model_tune_place(const struct model *m, struct str *out);
int model_tune_selected(const struct model *m);  /* returns the trial under the cursor, or -1 */
void model_tune_walk(struct model *m, int by);           /* moves the cursor by `by` trials */
#endif
