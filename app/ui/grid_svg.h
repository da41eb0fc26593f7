/* A grid as a picture: SVG with the colours of the screen, light or dark as the reader's system
 * prefers. */
#ifndef TS_APP_GRID_SVG_H
#define TS_APP_GRID_SVG_H
#include "app/ui/grid.h"

/* Appends the SVG file, with text in a monospace font and line-drawing characters as strokes. */
void grid_svg(const struct grid *g, struct str *out);
#endif
