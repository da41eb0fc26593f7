/* The placeholders in the lines of keys (keys.def), which are filled in from the cursor. */
#ifndef TS_APP_MODEL_BLANK_H
#define TS_APP_MODEL_BLANK_H
#include "app/model/model.h"

/* Fills in the placeholders of line. Returns false with a message when nothing under the cursor
 * fits. */
bool model_fill_in(struct model *m, const char *line, struct str *out);
/* Appends a file name: the session's, or else "resnet18.yaml" of a model, "c2d.yaml" of an
 * operator, "graph.yaml" of another graph. */
void model_put_file(const struct model *m, struct str *out);
/* Returns line, which annotates the loop under the cursor; or if the loop has this annotation
 * already, the line that removes it. */
const char *model_toggled(const struct model *m, const char *line);
/* Copies the program into arena a, so that trying a step leaves nothing in the session's arena. */
const struct program *model_try_on(struct arena *a, const struct program *p);
/* Appends the line that a key stands for. With `here`, placeholders are filled in from the cursor.
 * Without it, or if nothing there fits, names such as STAGE and LOOP stand for them. */
void model_key_line(const struct model *m, const struct key_binding *b, bool here,
                    struct str *out);
#endif
