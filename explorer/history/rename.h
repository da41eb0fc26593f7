/* Renames the loops and dimensions in a step if they were split or joined since it was typed. */
#ifndef TS_EXPLORER_RENAME_H
#define TS_EXPLORER_RENAME_H
#include "kernels/program/program.h"

#define RENAMES_MAX 16

/* For a step that does not apply to p: lists what it may have meant, as lines with present names.
 * If O was split, O becomes O.0 in one line and O.1 in another; a step with a list of names
 * (reorder, fuse) gets all parts in one line.  If O is whole again, O.1 becomes O.  Stores only
 * lines that apply, at most RENAMES_MAX, allocated in a; returns their number.  *why: gets the
 * error of the last new line that does not apply; unchanged if there is no such line. */
int rename_step(struct arena *a, const struct program *p, const struct step *s,
                const char *line[RENAMES_MAX], struct err *why);
/* Appends "N.1 is now another loop (extent 4, was 24)" for each loop name in the step that means
 * another part of a split loop in `now` than in `was`.  Returns whether there is such a name. */
bool rename_other_loops(struct arena *a, const struct program *was, const struct program *now,
                        const struct step *s, struct str *out);
/* How a reason of rename_why_gone goes on if a layout or a split has divided the loop. */
#define RENAME_DIVIDED ": it is divided already, into "
/* Explains *own, the error with which p refused a loop step, if a loop that the step names was
 * split or fused: "Conv has no loop O: it is divided already, into O.0 (4), O.1 (16)" (only for a
 * split step), or "Conv has no loop H: it is fused into H_W (784)". NULL: the error has another
 * reason. */
const char *rename_why_gone(struct arena *a, const struct program *p, const struct step *s,
                            const struct err *own);
#endif
