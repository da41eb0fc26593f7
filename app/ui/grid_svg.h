/* A grid as a picture: SVG with the colours of the screen, light or dark as the reader's system
 * prefers. */
#ifndef TS_APP_GRID_SVG_H
#define TS_APP_GRID_SVG_H
#include "app/ui/grid.h"

/* Appends the SVG file: text elements in a monospace font, one for each run of equal style. */
void grid_svg(const struct grid *g, struct str *out);
#endif
