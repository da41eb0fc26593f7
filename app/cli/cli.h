/* cli/ is the command line: its options (args.h), the commands, and what they share.
 *
 * A command is a function that returns the exit code. */
#ifndef TS_APP_CLI_H
#define TS_APP_CLI_H
#include "app/cli/args.h"
#include "kernels/base/str.h"
#include "kernels/base/subprocess.h"
#include "kernels/base/version.h"
#include "sessions/file/session.h"

/* Exit codes (`tilescope run --help` explains them). EXIT_CANCELLED is the shell's 128 + SIGINT. */
enum exit_code {
    EXIT_FINE = 0, EXIT_CHECK = 1, EXIT_USAGE = 2, EXIT_LACKS = 3, EXIT_BUG = 70,
    EXIT_CANCELLED = 130
};

struct cli {
    const struct args *args;
    bool color_out, color_err;          /* whether to print colours on stdout and on stderr */
    bool progress;                      /* whether stderr is a terminal */
    struct cancel *cancel;              /* raised by signals, and by a search that stops itself */
    const struct cancel *signalled;     /* raised only by signals */
};

/* A session as a command uses it, after --branch, --steps and --step were applied. */
struct opened {
    struct session *session;
    VEC(int) marked;  /* ids of the states at which --steps has a `measure` line */
    int home_branch, home_at;  /* branch and step to which cli_go_home goes back, or -1 */
};
/* One line of a script. file: the name of the script, for messages; "<stdin>" for "-". */
struct cli_line { const char *file; int number; const char *text; };
/* Calls `run` for each line of the file at path, in order, until a call returns false.  Refuses a
 * session file, and a file with NUL bytes. */
bool cli_each_line(const char *path, bool (*run)(void *of, const struct cli_line *l, struct err *e),
                   void *of, struct err *e);

/* Opens the operands of the command line as one session: a file, or an operator in one or several
 * words.  Returns EXIT_FINE; on failure prints the error and returns its exit code. */
int cli_open(const struct cli *c, struct opened *out);
/* Like cli_open, but if an ONNX model has unsupported nodes, prints the list of all its nodes, sets
 * out->session to NULL, and returns EXIT_FINE for `show` and EXIT_LACKS for other commands. */
int cli_open_or_list(const struct cli *c, struct opened *out);
/* If --kernel is given, opens the kernel that --kernel names as a session of its own, frees the
 * network *s, and stores the kernel's session in *s. */
bool cli_open_kernel(const struct cli *c, struct session **s, struct err *e);
/* Refuses options that only networks take if s is no network, and options that networks do not take
 * if it is one. */
bool cli_takes(const struct cli *c, const struct session *s, struct err *e);
struct target;
/* Refuses t, the target of --isa or --target, if the program has loops or tiles that t does not
 * support.  t NULL: no target is given, and nothing is refused.  name: the session, for messages.
 * Call this before anything is built. */
bool cli_target_fits(const struct program *p, const char *name, const struct target *t,
                     struct err *e);
/* Goes back to the branch and step from before --branch and --step, because these options must not
 * change the branch and step that the file stores.  Call this before the session is saved. */
bool cli_go_home(struct opened *o, struct err *e);
void cli_close(struct opened *o);

/* The file to which a session is saved. path NULL: it is not saved. seen: the state of the file
 * before measuring (file_seen). */
struct goal { const char *path; uint64_t seen; };
/* Checks that path can be written (path NULL: checks nothing), and fills *out. Call this before
 * measuring, so that hours of measurements are not lost. */
bool cli_goal(const struct session *s, const char *path, struct goal *out, struct err *e);
/* Saves the session. If another program has changed the file since cli_goal, saves to a new file
 * beside it and returns false; *e names the new file. */
bool cli_save(struct session *s, const struct goal *to, struct err *e);
/* Sets *e: path was changed by another program, so the session is in the file `where`. Returns
 * false. */
bool cli_says_beside(const char *path, const char *where, struct err *e);

int cli_main(int argc, char **argv);
int cli_run(const struct cli *c);
int cli_bench(const struct cli *c);
int cli_show(const struct cli *c);
int cli_compare(const struct cli *c);    /* show --what compare */
int cli_snapshot(const struct cli *c);
int cli_export(const struct cli *c);
int cli_import(const struct cli *c);
int cli_ops(const struct cli *c);
int cli_meters(const struct cli *c);
int cli_settings(const struct cli *c);
int cli_machine(const struct cli *c);
int cli_expert(const struct cli *c);
int cli_study(const struct cli *c);
int cli_studies(const struct cli *c);
int cli_records(const struct cli *c);
int cli_tune(const struct cli *c);
int cli_pretrain(const struct cli *c);
int cli_help(const struct cli *c);

/* cli_profile.c: --what profile. */
bool cli_profile(const struct cli *c, struct opened *o, struct str *out, struct err *e);
/* cli_lens.c: --what lens. */
bool cli_lens(const struct cli *c, struct opened *o, struct str *out, struct err *e);
/* Refuses a path with the ending of a picture that is no SVG, such as ".png". path NULL: refuses
 * nothing. */
bool cli_check_picture(const char *path, struct err *e);
/* Appends the view `what` of `show` as SVG. If the screen has this view, draws it as the screen
 * does, wrapped at `width` columns; if not, draws `text`. Takes ownership of o->session. */
void cli_view_svg(const struct cli *c, struct opened *o, const char *what, int width,
                  const struct str *text, struct str *out);

/* Prints `nodes`, the list of the nodes of a model that cannot be opened, and empties it. If there
 * is no list (`nodes` is NULL or empty), prints the error. Returns the exit code. */
int cli_onnx_fail(const struct cli *c, struct str *nodes, const struct err *e);

/* Appends the overview: the commands, and where to find more help. */
void cli_help_usage(struct str *out);
/* Appends what `CMD --help` prints: synopsis, description and options. */
void cli_help_command(struct str *out, enum cmd cmd);
/* Appends the help of a topic, a command, an operator or a line of the prompt; topic NULL: appends
 * a list of the commands, topics and operators. ERR_NAME: there is no help on `topic`; the fix
 * suggests a similar name. */
bool cli_help_topic(struct str *out, const char *topic, struct err *e);

/* Prints the error on stderr and returns its exit code.  After a signal, prints "cancelled" and
 * returns EXIT_CANCELLED. */
int cli_fail(const struct cli *c, const struct err *e);
/* Prints an error about wrong usage and where to find help.  Returns EXIT_USAGE. */
int cli_usage(const struct cli *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Returns the width of the terminal on stdout; else $COLUMNS, else `otherwise`. */
int cli_columns(int otherwise);
/* Wraps the lines of out that begin at byte `from` or later, at blanks, to the width of the
 * terminal or 80 columns; continuation rows are indented by hang. */
void cli_wrap(struct str *out, size_t from, int hang);
struct doc;
/* Appends the lines of a document: with colours if stdout has them (color_out), and with ASCII
 * drawings if cli_has_unicode is false. */
void cli_add_doc(struct str *out, const struct cli *c, const struct doc *d);
void cli_doc_svg(const struct doc *d, bool unicode, struct str *out);    /* appends d as SVG */
/* whether the locale has Unicode and --no-unicode is not given */
bool cli_has_unicode(const struct cli *c);
/* cli_put writes `out` to stdout, cli_note to stderr; both empty `out`. Of escape sequences they
 * print only those of cli_paint. */
void cli_put(struct str *out);
void cli_note(struct str *out);
/* If a tile of the program needs more registers than target t has, prints a note about that tile on
 * stderr.  t NULL: the target that program_text_target chooses. */
void cli_note_spill(const struct program *p, const struct target *t);

/* cli_asserts_check checks the syntax of every --assert. cli_asserts_named checks that every name
 * in them occurs in `json`, the report of a result without values, and frees `json`. Both are
 * called before anything is measured. cli_asserts evaluates every --assert over `json`, the report
 * of the result, prints the failed ones on stderr and returns the exit code. good false: the
 * measurement has failed, so an --assert over missing numbers is not an error. */
bool cli_asserts_check(const struct args *a, struct err *e);
bool cli_asserts_named(const struct args *a, struct str *json, struct err *e);
int cli_asserts(const struct cli *c, const struct str *json, bool good);

struct machine_model;
/* Appends a measurement of the session's current state as text. model: the model of this machine;
 * NULL: there is none. */
void cli_text_measurement(struct str *out, const struct cli *c, const struct session *s,
                          const struct measurement *m, unsigned meters,
                          const struct machine_model *model);
/* Appends a line about st, the state at this position of the branch, which was checked with result
 * m: "   4  ok  err 1.2e-06  loop ...". */
void cli_text_check_line(struct str *out, const struct cli *c, int position, const struct state *st,
                         const struct measurement *m);
#define PAINT_GOOD "32"
#define PAINT_BAD "1;31"
#define PAINT_DIM "2"
#define PAINT_BOLD "1"
/* Appends text in the colour `sgr` (SGR parameters); on false: without colour. */
void cli_paint(struct str *out, bool on, const char *sgr, const char *text);

/* Returns a progress that prints "compiling  40 %" on stderr, always in the same line; it prints
 * nothing if stderr is no terminal. */
struct progress cli_progress(const struct cli *c);
void cli_progress_clear(const struct cli *c);
#endif
