/* Reports the search spaces of the auto-tuner for a program: its layout space, and the loop space
 * over its present layouts.  Prints them as text and as JSON (sessions/schema.md). */
#ifndef TS_SESSIONS_SPACE_REPORT_H
#define TS_SESSIONS_SPACE_REPORT_H
#include "explorer/space/layout_space.h"
#include "explorer/space/loop_space.h"

struct spaces {
    const struct layout_space *layouts;
    const struct loop_space *loops;
    /* layouts_known: whether the layout space contains the program's layouts.  loops_known: whether
     * the loop space contains the program's loops.  layouts_why, loops_why: the reason if not. */
    bool layouts_known, loops_known;
    struct point_why layouts_why, loops_why;
    int64_t factor[LAYOUT_KNOBS];         /* if layouts_known: the point of the program's layouts */
    struct loop_point point;              /* if loops_known: the point of the program's loops */
};

/* Builds both spaces in arena a.  The points of the layout space keep the `set` steps of p; those
 * of the loop space keep all steps of p except loop steps.  threads > 1 allows parallel loops.
 * ERR_NAME: the operator has no template. */
bool space_report(struct arena *a, const struct program *p, int threads, struct spaces *out,
                  struct err *e);
void space_report_text(struct str *out, const struct spaces *s);
void space_report_json(struct str *out, const struct spaces *s, const struct program *p);
#endif
