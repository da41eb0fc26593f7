/* The views: each is one row of a table and one file.  Adding a view is adding both (and its key in
 * keys.def). */
#ifndef TS_APP_VIEW_H
#define TS_APP_VIEW_H
#include "app/model/model.h"

struct view_ops {
    const char *name;                    /* what `view NAME` takes, and the tab says */
    const char *tab;                     /* what it says where there is little room */
    enum key_context context;            /* of its keys, before those of every view */
    bool data;                 /* shows measurements or generated code: rebuilt when those change */
    bool fits;                 /* made to the height of its pane: rebuilt when that changes */
    /* Writes the document for the current state; width columns are visible. Never called on the
     * start screen. */
    void (*build)(struct model *m, struct pane_doc *p, int width);
    /* One line about what the cursor is on, for the message row; may be NULL. */
    void (*hint)(const struct model *m, struct str *out);
};
extern const struct view_ops view_ops[VIEW_COUNT];
int view_find(const char *name);                         /* enum view, or -1 */

void view_nest_build(struct model *m, struct pane_doc *p, int width);
void view_nest_hint(const struct model *m, struct str *out);
void view_access_build(struct model *m, struct pane_doc *p, int width);
void view_layout_build(struct model *m, struct pane_doc *p, int width);
void view_layout_hint(const struct model *m, struct str *out);
void view_c_build(struct model *m, struct pane_doc *p, int width);
void view_asm_build(struct model *m, struct pane_doc *p, int width);
void view_profile_build(struct model *m, struct pane_doc *p, int width);
void view_graph_build(struct model *m, struct pane_doc *p, int width);
void view_roofline_build(struct model *m, struct pane_doc *p, int width);
void view_tune_build(struct model *m, struct pane_doc *p, int width);    /* model_tune.c */
void view_tune_about(const struct model *m, struct str *out);

/* Behind the table of tensors of the profile: what else the simulator tells. */
void view_sim_put(struct doc *d, const struct sim_result *s, int width);

/* The lists. */
void view_ledger_build(struct model *m, struct pane_doc *p, int width);
void view_ledger_heading(const struct model *m, struct grid *g, struct rect r, bool focused);
void view_ledger_hint(const struct model *m, struct str *out);
void view_start_build(struct model *m, struct pane_doc *p, int width);
void view_detail_build(struct model *m, struct pane_doc *p, int width);
void view_start_read(struct model *m);                   /* looks up what there is to open */
void view_start_free(struct model *m);
void view_start_open(struct model *m);                   /* Enter and d on the start screen */
void view_start_hint(const struct model *m, struct str *out);
void view_start_discard(struct model *m);
void view_branches_build(struct model *m, struct pane_doc *p, int width);
int view_branches_row(int branch);                       /* its line in the list */
const char *view_branches_name(const struct model *m);   /* the selected branch; NULL when none */
void view_help_build(struct model *m, struct pane_doc *p, int width);
int view_help_rows(const struct model *m);               /* of the menu of actions */
void view_help_title(const struct model *m, struct str *out);
void view_help_hint(const struct model *m, struct str *out);     /* the selected row in full */
void view_help_key(struct model *m, int key);
/* The rows of command_help(), taken apart: "loop split" of "loop split T D F1 [F2 ...]", and what
 * it does. */
struct command_row { char name[64], left[160], help[256]; };
bool command_row_next(const char **text, struct command_row *row);
/* "did you mean undo?", or where to look, for a line that begins with no command. */
void command_nearest(const char *line, struct str *out);
/* Syntax and help of the command that line begins with; nothing when there is none. */
void command_hint(const char *line, struct str *out);

/* The loop under the cursor of the nest view: its stage and axis. False on a line that is no
 * loop. */
bool nest_loop(const struct model *m, const struct stage **stage, int *axis);
/* The tensor under the cursor of the layout view: its index in the graph, -1 if none. */
int layout_tensor(const struct model *m);

/* Colours of source lines (doc_colour). */
void colour_nest(const char *text, unsigned char *style, int *state);
void colour_c(const char *text, unsigned char *style, int *state);
void colour_asm(const char *text, unsigned char *style, int *state);
#endif
