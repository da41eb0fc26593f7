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
 *         at: 2                         # optional: steps behind this one are undone (redo)
 *       tiled: {from: main, after: 1, steps: [...]}
 *     measured:                         # optional, written by the program
 *       - {branch: main, step: 2, key: 1f2e..., outcome: ok, latency_ms: {median: 0.3, ...}, ...}
 *     machine: AMD EPYC | avx512 | ...  # where it was measured
 *
 * A session with one branch may write `steps:` at the top level instead of branches.
 *
 * Strict: unknown or duplicate keys, wrong types, bad values, anchors and aliases, nesting deeper
 * than 16, bad UTF-8 and steps that do not apply are errors with file, line, column, the line and a
 * caret; nothing is half applied. */
#ifndef TS_SESSIONS_SESSION_H
#define TS_SESSIONS_SESSION_H
#include "explorer/history/command.h"
#include "explorer/history/history.h"

/* What a file may hold, every step counted once.  The loader takes no more, so no more is made
 * (session_run) or written. */
enum { SESSION_MAX_STEPS = 2000, SESSION_MAX_BRANCHES = 256 };

struct session {
    char path[512];                     /* "" = never saved */
    char title[256];
    struct str note;
    struct history *history;
    char machine[256];                  /* fingerprint of the stored measurements; "" = none */
    bool dirty;                         /* changed since load or save */
    bool numbers;                       /* measured since then, whether changed or not */
    uint64_t on_disk;                   /* file_content when loaded or saved; 0 = unknown */
};

bool session_new(const char *spec, struct session **out, struct err *e);
void session_free(struct session *s);
/* path "-" reads standard input.  What does not come from a file (a pipe, a device) has no path. */
bool session_load(const char *path, struct session **out, struct err *e);
bool session_parse(const char *name, const char *text, size_t n, struct session **out,
                   struct err *e);
/* As command_run; ERR_RANGE when what the line makes would not fit into a file. */
bool session_run(struct session *s, const char *line, enum command_effect *effect, struct err *e);
/* ERR_RANGE unless so many more steps, and one more branch, fit into a file. */
bool session_room(const struct session *s, int steps, bool branch, struct err *e);
/* ERR_RANGE when the loader would refuse what session_yaml_in wrote, because there is too much. */
bool session_fits(const struct session *s, const struct str *yaml, struct err *e);
/* Atomic; sets path, dirty and numbers.  What does not fit leaves the file as it is, and so does,
 * with ERR_CHANGED, the session's own file when it is no longer what was loaded or saved last. */
bool session_save(struct session *s, const char *path, struct err *e);
/* The same where path holds what was seen there (file_seen). */
bool session_save_over(struct session *s, const char *path, uint64_t seen, struct err *e);
/* The state in which s saw path, when that is its own file under any name; else FILE_ANYTHING. */
uint64_t session_saw(const struct session *s, const char *path);
/* As file_write_beside; s->path says where it is. */
bool session_save_beside(struct session *s, const char *path, struct err *e);
/* What is measured from now on is of this machine.  A file names one machine, so what another one
 * measured is forgotten; returns of how many states. */
int session_measured_here(struct session *s);
/* The text of s as it stands in the file `path`: models beside it are named as from there
 * (model_path.h).  NULL: as from the current directory. */
void session_yaml_in(const struct session *s, const char *path, struct str *out);
/* An ONNX file as a session; ERR_ENV names the nodes that are not supported, and all nodes are then
 * listed in *nodes (NULL is fine). */
bool session_from_onnx(const char *path, struct str *nodes, struct session **out, struct err *e);
/* What the command line takes where SESSION.yaml stands: a file (YAML, or an ONNX model whose
 * nodes are all supported), or an operator ("c2d n=1 ..."). */
bool session_open(const char *arg, struct session **out, struct err *e);

/* Autosave: dir_state()/autosave/NAME-HASH.yaml, written after every change and measurement,
 * removed on a clean save or discard.  Of what kills leave, the newest few of a file stay (without
 * a file: of a title), and for 90 days but for the newest. */
bool session_autosave(struct session *s, struct err *e);
void session_autosave_drop(struct session *s);
/* Autosaves that outlived their process, newest first: crash recovery on the start screen. */
struct autosave { char path[512], title[256], original[512]; uint64_t on_disk; double age_s; };
int session_autosaves(struct autosave *out, int max);
/* Loads one; path becomes the original's, dirty is set, the autosave is now this session's own. */
bool session_recover(const struct autosave *from, struct session **out, struct err *e);
/* Recent session files, newest first: those that were saved, and those that session_remember was
 * told of because somebody opened them to work on. */
void session_remember(const struct session *s);
int session_recent(char (*out)[512], int max);
#endif
