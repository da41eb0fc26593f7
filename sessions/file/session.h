/* The session file: a history with its measurements, as strict YAML.
 *
 *     tilescope: 1
 *     title: R18 first convolution, channels last
 *     note: free text
 *     operator: c2d n=1 i=3 h=224 w=224 o=64 k=7 s=2 p=3 bias=1 relu=1
 *     branch: main                      # the current one; default: the first
 *     branches:
 *       main:
 *         steps:
 *           - layout set Conv "N H W O"
 *           - loop parallel Conv N
 *         at: 2                         # optional: steps after this one are undone (redo)
 *       tiled: {from: main, after: 1, steps: [...]}
 *     measured:                         # optional, written by the program
 *       - {branch: main, step: 2, key: 1f2e..., outcome: ok, latency_ms: {median: 0.3, ...}, ...}
 *     accuracy: 1e-05                   # optional: error that algorithms of experts may have
 *     names: {input_2: input}           # optional: names that tensors have in the model
 *     machine: AMD EPYC | avx512 | ...  # where it was measured
 *
 * A network also has `kernels:` and `module:` (kernels_text.h).
 *
 * A session with one branch may write `steps:` at the top level instead of branches.
 *
 * The loader refuses unknown or duplicate keys, wrong types, bad values, anchors, aliases, nesting
 * deeper than 16, bad UTF-8 and steps that do not apply, except those written as {held: STEP}.  An
 * error at a place of the file has file, line, column, the text of the line and a caret.  After an
 * error there is no session, not even a part of one. */
#ifndef TS_SESSIONS_SESSION_H
#define TS_SESSIONS_SESSION_H
#include "explorer/history/command.h"
#include "kernels/base/vec.h"
#include "explorer/history/history.h"

/* Limits of one file; a step that branches share counts once.  The loader refuses files beyond
 * these limits, so session_run and saving also respect them. */
enum { SESSION_MAX_STEPS = 2000, SESSION_MAX_BRANCHES = 256 };

/* A tensor of the operator; value: its name in the ONNX model. */
struct session_port { char *tensor, *value; };

struct session {
    char path[512];                     /* "" = the session has no file */
    char title[256];
    struct str note;
    struct history *history;
    bool of_model;  /* opened from ONNX, or the session file has `kernels:` or `module:` */
    char model[512];  /* ONNX file of this session, or of its network; "" = none or unknown */
    char screen[512];  /* settings of the screen, only for the autosave: commands, with ; between */
    char machine[256];  /* fingerprint of the machine that measured the states; "" = none known */
    bool dirty;  /* steps or texts have changed since the last load or save */
    bool numbers;  /* measurements were made since the last load or save */
    uint64_t saved_texts;  /* hash of title, note, kernels and network at session_settled */
    uint64_t on_disk;  /* hash of the file's content when it was loaded or saved; 0 = unknown */
    uint64_t kernel_of;  /* hash that identifies the network of this kernel; 0: it is no kernel */
    bool network;  /* whether the file gets `kernels:` or `module:`, even without entries */
    /* The largest relative error of an algorithm (such as Winograd's) that experts are allowed to
     * choose; negative: they must choose none.  0: the file does not say; experts then use
     * EXPERT_ACCURACY in a network, and no such algorithm for a single operator. */
    double accuracy;
    struct str kernels;                 /* schedules chosen for kernels (kernels_text.h) */
    VEC(struct session_port) ports;     /* inputs and outputs of the model */
};

bool session_new(const char *spec, struct session **out, struct err *e);
void session_free(struct session *s);
/* Notes that steps and texts are now those of the file, or of a new session; clears `dirty`. */
void session_settled(struct session *s);
/* Whether steps and texts are as they were at the last session_settled, for example after an undo.
 * Closing such a session without saving loses only undone steps and measurements. */
bool session_is_settled(const struct session *s);
void session_add_port(struct session *s, const char *tensor, const char *value);
/* Returns the name of an input or output in the model; without a model, the tensor's own name. */
const char *session_port_name(const struct session *s, const char *tensor);
/* Loads a session. path "-" reads standard input.  The session's path is "" unless path is a
 * regular file. */
bool session_load(const char *path, struct session **out, struct err *e);
bool session_parse(const char *name, const char *text, size_t n, struct session **out,
                   struct err *e);
/* Like command_run, but fails with ERR_RANGE when the result could exceed the limits of a file. */
bool session_run(struct session *s, const char *line, enum command_effect *effect, struct err *e);
/* Fails with ERR_RANGE unless `steps` more steps fit into a file, and one more branch if `branch`
 * is set. */
bool session_room(const struct session *s, int steps, bool branch, struct err *e);
/* Fails when yaml, which session_yaml_in wrote, exceeds a limit of the loader: with ERR_SYNTAX if
 * it has too many values, else with ERR_RANGE. */
bool session_fits(const struct session *s, const struct str *yaml, struct err *e);
/* Saves atomically, sets s->path, and clears the flags `dirty` and `numbers`.  Fails with
 * ERR_CHANGED when path is the session's own file, and somebody changed it since the last load or
 * save.  On errors the file stays as it is. */
bool session_save(struct session *s, const char *path, struct err *e);
/* Like session_save, but fails with ERR_CHANGED when the file has changed since it was in state
 * `seen` (file_seen). */
bool session_save_over(struct session *s, const char *path, uint64_t seen, struct err *e);
/* Returns s->on_disk if path leads to the session's own file, perhaps by another name; else
 * FILE_ANYTHING. */
uint64_t session_saw(const struct session *s, const char *path);
/* Saves beside path, under the first free name ("dir/a-2.yaml" for "dir/a.yaml"). Sets s->path. */
bool session_save_beside(struct session *s, const char *path, struct err *e);
/* Whether the session's measurements are of another machine. */
bool session_is_elsewhere(const struct session *s);
/* Sets s->machine to this machine.  A file names only one machine, so measurements of another
 * machine are deleted.  Returns the number of states that lost a measurement. */
int session_measured_here(struct session *s);
/* Appends "the other numbers are of 2 cores of this machine, and this process has 1 core" if the
 * session has measurements made with another number of cores (they are kept).  Call this before
 * session_measured_here. */
void session_cores_note(const struct session *s, struct str *out);
/* Appends the text of s for the file `path`, with paths of models for that file (model_path.h).
 * path NULL: with paths as they are in memory. */
void session_yaml_in(const struct session *s, const char *path, struct str *out);
/* Opens an ONNX file as a session.  dims: sizes of its open dimensions, "batch=1,sequence=128", or
 * NULL.  If the model has unsupported nodes, ERR_ENV names the first ones and *nodes lists all
 * nodes (nodes may be NULL). */
bool session_from_onnx(const char *path, const char *dims, struct str *nodes,
                       struct session **out, struct err *e);
/* Opens a SESSION argument of the command line: a YAML file, an ONNX model whose nodes are all
 * supported (dims: as above), or an operator ("c2d n=1 ..."). */
bool session_open(const char *arg, const char *dims, struct session **out, struct err *e);

/* Writes dir_state()/autosave/NAME-HASH.yaml.  session_autosave_drop and saving delete this file.
 * A process that is killed leaves its autosaves behind: the newest few of each file (or title) are
 * kept for 90 days, the newest one for ever. */
bool session_autosave(struct session *s, struct err *e);
void session_autosave_drop(struct session *s);
/* An autosave. `original` and the three hashes (on_disk, network, kernel) come from the head of
 * the file (autosave.c). */
struct autosave {
    char path[512], title[256], original[512], model[512], screen[512];
    uint64_t on_disk, network, kernel;  /* kernel: 0 if it is not an autosave of a kernel */
    bool numbers;  /* only measurements are new: session_autosave_of does not find it */
    double age_s;
};
/* Lists the autosaves of dead processes, newest first, for recovery on the start screen.  Returns
 * their number, at most max. */
int session_autosaves(struct autosave *out, int max);
/* Finds the newest autosave of this session with changed steps or texts, from a process that was
 * killed or quit at once.  A kernel is identified by its operator and its network; any other
 * session by its file; without a file, by its model; without a model, by its operator or graph.
 * Returns false when there is no such autosave. */
bool session_autosave_of(const struct session *s, struct autosave *out);
/* Like session_autosave_of, for the kernels of a network: finds the newest autosave of each kernel,
 * at most `most` in all.  Returns their number. */
int session_autosave_kernels(const struct session *network, struct autosave *out, int most);
/* Whether `other` is an autosave of the network of `kernel`, or of another kernel of that
 * network. */
bool session_autosave_together(const struct autosave *kernel, const struct autosave *other);
/* Deletes an autosave.  kernels: also those of the kernels that belong together with it. */
void session_autosave_delete(const struct autosave *a, bool kernels);
/* Marks s as a kernel of a network, so that its autosave names the network. */
void session_make_kernel(struct session *s, const struct session *network);
/* Appends the path of the network to which a kernel's autosave belongs: the network's file if it is
 * among the recent files, else the model that the network was opened from.  Returns false when
 * there is neither. */
bool session_autosave_network(const struct autosave *kernel, struct str *out);
/* Loads an autosave as a session, whose path is from->original.  Sets the session's flag `dirty`,
 * or `numbers` if only measurements are new.  Writes a new autosave of *out, then deletes the old
 * one. */
bool session_recover(const struct autosave *from, struct session **out, struct err *e);
/* Recent files, newest first.  Saving a session adds its file to the list; call session_remember
 * for a file or model that somebody opens to work on.  The path "" is ignored, and so are errors:
 * the list is only a convenience. */
void session_remember(const char *path);
int session_recent(char (*out)[512], int max);
#endif
