/* A grid as a picture: SVG with the colours of the screen, light or dark as its reader prefers. */
#ifndef TS_APP_GRID_SVG_H
#define TS_APP_GRID_SVG_H
#include "app/ui/grid.h"

/* Appends the file: text elements in a monospace font, one for each run of a style. */
void grid_svg(const struct grid *g, struct str *out);
#endif
