/* What the auto-tuner would search for a program: its layout space and the loop space over its
 * present layouts, as text and as JSON (sessions/schema.md). */
#ifndef TS_SESSIONS_SPACE_REPORT_H
#define TS_SESSIONS_SPACE_REPORT_H
#include "explorer/space/layout_space.h"
#include "explorer/space/loop_space.h"

struct spaces {
    const struct layout_space *layouts;
    const struct loop_space *loops;
    bool layouts_known, loops_known;      /* the program's own layouts and loops are points: */
    int64_t factor[LAYOUT_KNOBS];
    struct loop_point point;
};

/* All in arena a; settings of the program (`set ...`) stay, and so do its layouts for the loop
 * space.  threads > 1: with parallel loops.  ERR_NAME when its operator has no template. */
bool space_report(struct arena *a, const struct program *p, int threads, struct spaces *out,
                  struct err *e);
void space_report_text(struct str *out, const struct spaces *s);
void space_report_json(struct str *out, const struct spaces *s, const struct program *p);
#endif
