/* The views. Each view has a row in model/view.def and a function here, which writes a document
 * from the state of the model.  screen.c decides when, and draws the document. */
#ifndef TS_APP_VIEW_H
#define TS_APP_VIEW_H
#include "app/model/model.h"

/* Writes the document of a view for the current state, for a pane of `width` columns.  The views of
 * view.def are built only while a session is open. */
typedef void view_build(struct model *m, struct pane_doc *p, int width);
/* Appends one line about the object under the cursor, for the message row. */
typedef void view_hint(const struct model *m, struct str *out);

#define VIEW(id, name, tab, context, moves, rebuilt, build, hint) view_build build;
#include "app/model/view.def"
view_hint view_nest_hint, view_layout_hint, view_tune_hint, view_graph_hint;

/* The preview, the lists, the start screen, the network screen and help. */
view_build view_preview_build, view_ledger_build, view_start_build, view_detail_build,
    view_network_build, view_kernel_build, view_branches_build, view_help_build;
view_hint view_ledger_hint, view_branches_hint, view_start_hint, view_network_hint, view_help_hint;
/* Whether the hint of the ledger says what is wrong with the step under the cursor, or what a star
 * in its row means. Such a hint must be shown in full. */
bool view_ledger_explains(const struct model *m);
/* If the current state was measured with other settings than the present ones, appends those of the
 * measurement: "; with isa avx2, gcc 12; with 2 threads". */
void view_ledger_settings(const struct model *m, struct str *out);
/* Returns the pane that shows the preview of the step on the prompt; -1: there is none. */
int view_preview_pane(const struct model *m);
void view_ledger_heading(const struct model *m, struct grid *g, struct rect r, bool focused);
int view_help_rows(const struct model *m);  /* returns the number of rows of the menu of actions */
/* returns the number of columns that the menu of actions needs, at least 70 */
int view_help_columns(const struct model *m);
void view_help_title(const struct model *m, struct str *out);
/* Whether a row of the menu of actions is a step, whose effect can be predicted. */
bool view_menu_predicts(const struct model *m);
void view_help_key(struct model *m, int key);

/* Appends the state of the tuner for the title row: "tuning: joint 184/1000, best 1.23 ms"; appends
 * nothing if no search runs. */
void view_tune_status(const struct model *m, struct str *out);

/* Colours a line of the nest, or of the accesses. */
doc_colour view_colour_nest;
#endif
