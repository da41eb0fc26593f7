/* The commands and options of the command line (args.def), and its parser. */
#ifndef TS_APP_ARGS_H
#define TS_APP_ARGS_H
#include "kernels/base/err.h"
#include "kernels/base/str.h"
#include "kernels/base/vec.h"
#include "kernels/gen/target.h"
#include "profile/measure/measurement.h"

/* CMD_SCREEN has no word: it is `tilescope`, `tilescope c2d ...` and `tilescope FILE`. */
enum cmd {
    CMD_SCREEN,
#define COMMAND(id, name, operands, summary, detail) CMD_##id,
#include "app/cli/args.def"
    CMD_COUNT
};

enum opt {
#define OPTION(id, name, letter, operand, commands, help) OPT_##id,
#include "app/cli/args.def"
    OPT_COUNT
};

/* One bit per command. opt_info.commands is the set of the commands that take the option. */
enum {
    IN_SCREEN = 1 << CMD_SCREEN,
#define COMMAND(id, name, operands, summary, detail) IN_##id = 1 << CMD_##id,
#include "app/cli/args.def"
    IN_ALL = (1 << CMD_COUNT) - 1
};

struct cmd_info { const char *name, *operands, *summary, *detail; };
struct opt_info {
    const char *name; char letter; const char *operand; int commands; const char *help;
};
extern const struct cmd_info args_cmd[CMD_COUNT];
extern const struct opt_info args_opt[OPT_COUNT];

/* One command line.  The strings belong to argv. */
struct given { enum opt opt; const char *value; };         /* a flag's value is "" */
struct args {
    enum cmd cmd;
    VEC(const char *) word;                                /* operands, in order */
    VEC(struct given) given;                               /* options in the order given */
};

/* Reads a command line. The command is the first word that is not an option, if this word names a
 * command and stands before `--`; else it is CMD_SCREEN. Options are written `--name value`,
 * `--name=value`, `-n value` or `-nvalue`, and several flags together as `-CM`. `--` ends the
 * options. A lone `-` is a word.
 *
 * An option whose operand is in brackets may be given without a value; the value is then "". The
 * argument after such an option is its value only if it fits the operand: "[word,word]" takes a
 * list of these words, "[NAME.json]" takes a word with that ending, and any other operand takes a
 * word that is not an option.
 *
 * ERR_SYNTAX: an unknown option (the fix names a similar one), an option that the command does not
 * take, or a missing or surplus value. The caller frees *out, even after an error. */
bool args_parse(int argc, char **argv, struct args *out, struct err *e);
void args_free(struct args *a);

bool args_has(const struct args *a, enum opt o);
const char *args_value(const struct args *a, enum opt o);       /* the last one given, or NULL */
/* Joins all values given for o with commas in *out, which must be empty. Returns the text of *out;
 * NULL: no value is given. */
const char *args_joined(const struct args *a, enum opt o, struct str *out);
/* Reads the number given for option o. Without the option *out keeps its value. ERR_RANGE: the
 * value is not a number from lo to hi. */
bool args_int(const struct args *a, enum opt o, int lo, int hi, int *out, struct err *e);
bool args_double(const struct args *a, enum opt o, double lo, double hi, double *out,
                 struct err *e);
/* Reads --seed, a whole number that is at least `least`, in the same way as args_int. */
bool args_seed(const struct args *a, int least, uint64_t *out, struct err *e);
/* Reads --baselines as vendor_parse does; --baselines without a value means all. Without the option
 * *out keeps its value. */
bool args_baselines(const struct args *a, unsigned *out, struct err *e);
/* Reads --threads (default 1), --seed (default 1), --time, --limit, --cold, --huge-pages,
 * --compiler, and --target or --isa. */
bool args_measure(const struct args *a, struct measure_opts *o, struct err *e);
/* Reads --target as target_find does; if it is not given, --isa. If neither is given, *out keeps
 * its value. Refuses a GPU for a command that has no --target. */
bool args_target(const struct args *a, const struct target **out, struct err *e);
#endif
