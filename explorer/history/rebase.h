/* Changes the past of a branch: edits, drops, moves or inserts a step, and replays the steps after
 * it.
 *
 * A replayed step names loops and dimensions, which the change may have split or joined: O is now
 * O.0 and O.1, or the other way round.  If exactly one line with new names applies, it replaces the
 * step.  Else a step that no longer applies is held: it stays in the list with the reason, has no
 * effect, and is tried again when a step before it changes.  A step that applies gets a note if its
 * names now mean other loops (N.1 was the innermost part and is now the middle one of three), or if
 * its split now divides nothing. */
#ifndef TS_EXPLORER_REBASE_H
#define TS_EXPLORER_REBASE_H
#include "explorer/history/history.h"

enum rebase_kind { REBASE_EDIT, REBASE_DROP, REBASE_MOVE, REBASE_INSERT };
/* `at`: number of the step on the current branch, from 1; for INSERT: the number that the new step
 * gets.  `to`: for MOVE: the new number of the step; for EDIT: its new number if it moves up, else
 * 0.  `line`: for EDIT and INSERT: the new step. */
struct rebase { enum rebase_kind kind; int at, to; const char *line; };

/* Makes the change.  Fails and changes nothing if a number is out of range, if an edited or
 * inserted step would not apply at its place, if after a move an applied step would no longer
 * apply, or if a move would redo or undo a step.  An edited layout step that applies only above
 * loop steps moves above them.  A history_undo right after the change takes it back. */
bool history_rebase(struct history *h, const struct rebase *r, struct err *e);
/* For a step that does not apply to the current state: inserts it before an applied step, at the
 * latest place where it is legal, but after `set accuracy`.  Returns false if there is no such
 * place; *e still says why the step does not apply to the current state. */
bool history_insert_earlier(struct history *h, const char *line, struct err *e);
/* Appends a sentence on the last change: "2 later steps replayed, 1 renamed; ..." */
void history_rebased_print(const struct history *h, struct str *out);
/* Applies a step to the current state, or appends it as a held step if it does not apply.  origin:
 * the text of the step before it was renamed, or NULL. */
bool history_apply_held(struct history *h, const char *line, const char *origin, struct err *e);
#endif
