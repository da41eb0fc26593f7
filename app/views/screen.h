/* views/ has the views, their plots, and the screen, which puts them together.
 *
 * The screen hands events to the model, brings documents and frame up to date, and draws them on a
 * grid.  tui.c connects it to a terminal and to background jobs; tests need neither. */
#ifndef TS_APP_SCREEN_H
#define TS_APP_SCREEN_H
#include "app/model/model.h"

/* Handle events, and refresh the screen afterwards.  screen_key and screen_mouse also refresh the
 * screen before the event.  screen_mouse does nothing while the prompt or a question is open. */
void screen_key(struct model *m, int key);
void screen_paste(struct model *m, const char *text);
void screen_mouse(struct model *m, const struct mouse_event *e);

/* Computes the frame and rebuilds the documents that are out of date. Call this after model_resize,
 * model_done and model_tune_look, and before model_desired_job. */
void screen_refresh(struct model *m);
/* Draws the state of the last refresh. */
void screen_draw(struct model *m, struct grid *g);
#endif
