/* Why a schedule is no point of a space. */
#ifndef TS_EXPLORER_SPACE_POINT_WHY_H
#define TS_EXPLORER_SPACE_POINT_WHY_H

struct point_why {
    /* The step that the space lacks: "prefetch", "reorder", "split", ...; "limit": the space has
     * all steps, but the rules for sound points exclude the schedule; "": the schedule is a
     * point. */
    const char *step;
    char text[160];                       /* which loop or tensor, and what the space has instead */
};
#endif
