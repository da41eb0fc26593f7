/* The placeholders in the lines of keys (keys.def), which are filled in from the cursor, or from
 * the count typed before the key. */
#ifndef TS_APP_MODEL_BLANK_H
#define TS_APP_MODEL_BLANK_H
#include "app/model/model.h"

/* Appends the line with its placeholders filled in.  Returns false with a message if nothing under
 * the cursor fits a placeholder. */
bool model_fill_in(struct model *m, const char *line, struct str *out);
/* Appends the path of the session's file; of a shipped file, only its name.  If the session has no
 * file, appends a proposal: "resnet18.yaml" for a model, "c2d.yaml" for an operator, "graph.yaml"
 * for another graph. */
void model_put_file(const struct model *m, struct str *out);
/* `line` annotates a loop.  If the loop under the cursor has this annotation already, returns the
 * line that removes it; otherwise returns `line`. */
const char *model_toggled(const struct model *m, const char *line);
/* Whether the held step of s splits a loop that is divided in the same way already. */
bool model_held_is_made(const struct state *s);
/* Copies the program into arena a, so that trying a step leaves nothing in the session's arena. */
const struct program *model_try_on(struct arena *a, const struct program *p);
/* Appends the line that a key stands for.  If `here` is true, fills in the placeholders from the
 * cursor.  If it is false, or if nothing under the cursor fits, replaces placeholders by names such
 * as STAGE and LOOP. */
void model_key_line(const struct model *m, const struct key_binding *b, bool here,
                    struct str *out);
#endif
