/* The words of the command line: commands and options, from args.def. */
#ifndef TS_APP_ARGS_H
#define TS_APP_ARGS_H
#include "kernels/base/err.h"
#include "kernels/base/vec.h"
#include "kernels/gen/target.h"

/* CMD_SCREEN, with no name of its own, is `tilescope`, `tilescope c2d ...` and `tilescope FILE`. */
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

/* Which commands take an option. */
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
    VEC(struct given) given;                               /* options, in order */
};

/* The command is the first word that is not an option.  `--name value`, `--name=value`, `-n value`,
 * `-nvalue`; `--` ends the options; a lone `-` is a word.  An operand in brackets may be left out
 * ("" then); of "[word,word]" the next argument is the value only when it is a list of these words,
 * of "[NAME.json]" when it ends so.
 * Unknown or misplaced options, missing and surplus values are ERR_SYNTAX, with the nearest option
 * as the fix.  *out is filled in every case (free it), as far as the line could be read. */
bool args_parse(int argc, char **argv, struct args *out, struct err *e);
void args_free(struct args *a);

bool args_has(const struct args *a, enum opt o);
const char *args_value(const struct args *a, enum opt o);       /* the last one given, or NULL */
/* The number given for o, else *out stays as it is.  ERR_RANGE names the option. */
bool args_int(const struct args *a, enum opt o, long long lo, long long hi, long long *out,
              struct err *e);
bool args_double(const struct args *a, enum opt o, double lo, double hi, double *out,
                 struct err *e);
/* --isa: as target_find; without it *out stays as it is. */
bool args_target(const struct args *a, const struct target **out, struct err *e);
#endif
