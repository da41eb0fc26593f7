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

/* DESIGN section 5; EXIT_CANCELLED is the shell's 128 + SIGINT. */
enum exit_code {
    EXIT_FINE = 0, EXIT_CHECK = 1, EXIT_USAGE = 2, EXIT_LACKS = 3, EXIT_BUG = 70,
    EXIT_CANCELLED = 130
};

struct cli {
    const struct args *args;
    bool color_out, color_err;          /* a terminal, and nobody said no */
    bool progress;                      /* stderr is a terminal */
    struct cancel *cancel;              /* raised by SIGINT */
    const struct cancel *signalled;     /* raised by signals alone */
};

/* A session as a command sees it: after --branch, --steps and --step. */
struct opened {
    struct session *session;
    VEC(int) marked;                    /* states at a `measure` line of --steps */
    int home_branch, home_at;           /* before --branch and --step; -1 = still there */
};
/* Opens the operands of the command line as one session (a file, or an operator in one word or
 * several).  On failure prints why and returns the exit code; else EXIT_FINE. */
int cli_open(const struct cli *c, struct opened *out);
/* The same; of an ONNX model with nodes that are not supported all nodes are listed instead.  There
 * is no session then, whatever the exit code. */
int cli_open_or_list(const struct cli *c, struct opened *out);
/* Back to where the file stood, before it is saved. */
bool cli_go_home(struct opened *o, struct err *e);
void cli_close(struct opened *o);

/* Where a session goes, and what was there before anything was measured; path NULL: nowhere. */
struct goal { const char *path; uint64_t seen; };
/* Before hours of measuring, not after: whether it can be written. */
bool cli_goal(const struct session *s, const char *path, struct goal *out, struct err *e);
/* When somebody else wrote the file meanwhile, the session goes beside it, and *e says where. */
bool cli_save(struct session *s, const struct goal *to, struct err *e);
bool cli_says_beside(const char *path, const char *where, struct err *e);

int cli_main(int argc, char **argv);
int cli_run(const struct cli *c);
int cli_bench(const struct cli *c);
int cli_show(const struct cli *c);
int cli_export(const struct cli *c);
int cli_import(const struct cli *c);
int cli_ops(const struct cli *c);
int cli_meters(const struct cli *c);
int cli_machine(const struct cli *c);
int cli_expert(const struct cli *c);
int cli_study(const struct cli *c);
int cli_studies(const struct cli *c);
int cli_records(const struct cli *c);
int cli_tune(const struct cli *c);
int cli_pretrain(const struct cli *c);
int cli_help(const struct cli *c);

/* Prints the nodes of a model that cannot be opened where they were listed, or else the error. */
int cli_onnx_fail(const struct cli *c, struct str *nodes, const struct err *e);

/* The first screen of help: the commands, and how to go on. */
void cli_help_usage(struct str *out);
/* What `CMD --help` prints: synopsis, what the command does, its options. */
void cli_help_command(struct str *out, enum cmd cmd);
/* A topic, a command or an operator; NULL is the list of them.  ERR_NAME suggests the nearest. */
bool cli_help_topic(struct str *out, const char *topic, struct err *e);

/* Prints the error on stderr; the exit code that belongs to it. */
int cli_fail(const struct cli *c, const struct err *e);
/* The same for wrong usage: the sentence, and where to read on. */
int cli_usage(const struct cli *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The width of the terminal on stdout; else $COLUMNS, else this. */
int cli_columns(int otherwise);
/* Breaks the lines of out behind `from`, all of them ended, at blanks so that they fit the
 * terminal, or 80 columns; what follows is indented by hang. */
void cli_wrap(struct str *out, size_t from, int hang);
/* Writes to stdout, or stderr, and empties out.  Of escapes only those of cli_paint are printed. */
void cli_put(struct str *out);
void cli_note(struct str *out);

/* Every --assert: its syntax, since a typing mistake must not cost a measurement; and whether it
 * holds for the JSON, with what does not on stderr.  good false: exit 1 already, so that numbers
 * which are not there are no error. */
bool cli_asserts_check(const struct args *a, struct err *e);
int cli_asserts(const struct cli *c, const struct str *json, bool good);

/* The text form of a measurement of the session's current state; model may be NULL. */
struct machine_model;
void cli_text_measurement(struct str *out, const struct cli *c, const struct session *s,
                          const struct measurement *m, unsigned meters,
                          const struct machine_model *model);
/* One line about the state at this position of the branch: "   4  ok   1.2e-06  loop ...". */
void cli_text_check_line(struct str *out, const struct cli *c, int position, const struct state *st,
                         const struct measurement *m);
/* A heading of a table; a count right-aligned in width columns. */
void cli_text_head(struct str *out, const struct cli *c, const char *text);
void cli_text_count(struct str *out, int width, int64_t n);
/* What --sim-detail adds. */
void cli_text_detail(struct str *out, const struct cli *c, const struct sim_result *s);

/* Colours: SGR parameters, nothing when on is false. */
#define PAINT_GOOD "32"
#define PAINT_BAD "1;31"
#define PAINT_DIM "2"
#define PAINT_BOLD "1"
void cli_paint(struct str *out, bool on, const char *sgr, const char *text);

/* One line on stderr that overwrites itself: "compiling  40 %".  Ctx is a struct cli. */
struct progress cli_progress(const struct cli *c);
void cli_progress_clear(const struct cli *c);
#endif
