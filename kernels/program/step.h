/* A step as text and as a value.  The same text is typed at the prompt, stored in YAML, logged
 * and printed in errors. */
#ifndef TS_PROGRAM_STEP_H
#define TS_PROGRAM_STEP_H
#include "kernels/base/arena.h"
#include "kernels/base/err.h"
#include <stdint.h>

enum step_kind {
#define STEP(id, room, verb, syntax, help) STEP_##id,
#include "kernels/program/step.def"
#undef STEP
    STEP_KIND_COUNT
};
struct step_info { const char *id, *room, *verb, *syntax, *help; };
const struct step_info *step_info(enum step_kind k);

/* A word of a step line; col is 1-based. */
struct step_word { const char *text; int col, len; bool quoted; };

struct step {
    enum step_kind kind;
    const char *text;                /* canonical: single blanks, the notation in double quotes */
    const char *target;              /* the tensor T, or KEY of `set` */
    /* the positional words after the target, as written: names, numbers, a notation */
    int n_args;
    const struct step_word *arg;
    /* the words key=value. text: the value as written; value: the value as a number, or 0 if the
     * option takes a word; col, len: position and length of the whole word */
    int n_opts;
    const struct step_opt { const char *key; int64_t value; const char *text; int col, len; } *opt;
    int target_col;                  /* column of the target, from 1 */
};

/* Splits a line into words (double quotes group, # starts a comment outside quotes). Fails with
 * ERR_SYNTAX at a misplaced quote or a control character, and if the line is too long. */
bool step_words(struct arena *a, const char *line, const struct step_word **out, int *n,
                struct err *e);
/* Parses a line.  Only the syntax is checked; program_apply resolves names.  The error of an
 * unknown verb suggests a similar one, if there is one.  All errors have column and source. */
bool step_parse(struct arena *a, const char *line, const struct step **out, struct err *e);
#endif
