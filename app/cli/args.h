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

/* One bit per command; an option has the set of the commands that take it. */
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

/* Reads a command line. The command is the first word that is not an option. Options are written
 * `--name value`, `--name=value`, `-n value` or `-nvalue`; `--` ends them; a lone `-` is a word.
 *
 * If the operand of an option is in brackets, its value may be left out, and is then "". The next
 * argument is its value if it fits: for "[word,word]" a list of these words, for "[NAME.json]" a
 * word with that ending, for any other operand a word that is not an option.
 *
 * ERR_SYNTAX: an unknown option (the fix names the nearest one), an option that the command does
 * not take, or a missing or surplus value. *out must be freed even after an error. */
bool args_parse(int argc, char **argv, struct args *out, struct err *e);
void args_free(struct args *a);

bool args_has(const struct args *a, enum opt o);
const char *args_value(const struct args *a, enum opt o);       /* the last one given, or NULL */
/* Joins all values given for o with commas, in *out; NULL when there are none. */
const char *args_joined(const struct args *a, enum opt o, struct str *out);
/* Reads the number given for option o. Without the option *out keeps its value. ERR_RANGE names the
 * option. */
bool args_int(const struct args *a, enum opt o, int lo, int hi, int *out, struct err *e);
bool args_double(const struct args *a, enum opt o, double lo, double hi, double *out,
                 struct err *e);
/* Reads --seed, at least `least`. */
bool args_seed(const struct args *a, int least, uint64_t *out, struct err *e);
/* Reads --baselines as vendor_parse does; without a value it means all. */
bool args_baselines(const struct args *a, unsigned *out, struct err *e);
/* Reads --threads, --seed, --time, --limit, --cold, --huge-pages, --compiler, and --target or
 * --isa. */
bool args_measure(const struct args *a, struct measure_opts *o, struct err *e);
/* Reads --target, or else --isa, as target_find does; without both *out keeps its value. Refuses a
 * GPU for a command that has no --target. */
bool args_target(const struct args *a, const struct target **out, struct err *e);
#endif
