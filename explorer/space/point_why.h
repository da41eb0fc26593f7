/* Why a schedule is no point of a space. */
#ifndef TS_EXPLORER_SPACE_POINT_WHY_H
#define TS_EXPLORER_SPACE_POINT_WHY_H

struct point_why {
    /* the step for which the space has no value: "prefetch", "reorder", "split", ...; "limit": the
     * space has it, but its rules for sound points refuse it; "": it is a point */
    const char *step;
    char text[160];                       /* which loop or tensor, and what the space has instead */
};
#endif
