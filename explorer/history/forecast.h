/* Predicts how steps change the cache misses of a program, before anything is compiled
 * (profile/measure/predict.h); and proposes steps that reduce conflict misses. */
#ifndef TS_EXPLORER_FORECAST_H
#define TS_EXPLORER_FORECAST_H
#include "explorer/history/history.h"
#include "profile/measure/lens.h"

#define FORECAST_CURES 24

/* A line of the prompt (command.h) and the misses of the program after it. ok: whether the misses
 * are known. They are unknown for a refused step, or when the prediction took too long. */
struct forecast { const char *line; bool ok; struct prediction misses; };

/* Predicts p after each of the n lines alone.  `none` gets the prediction of p itself. */
bool forecast_steps(const struct program *p, const struct predict_opts *o, const struct cancel *c,
                    struct forecast *row, int n, struct forecast *none, struct err *e);
/* Lists steps that may cure the conflicts of a lens: padding, other orders of dimensions and loops,
 * copies to a tile.  The lines are in arena a; returns their number, at most FORECAST_CURES. */
int forecast_cures(const struct program *p, const struct lens *l, struct arena *a,
                   struct forecast *row);
/* Sorts the rows: known misses first, in ascending order. */
void forecast_rank(struct forecast *row, int n);
/* Lists, predicts and ranks the cures for a lens of p, if the lens has conflicts: *n rows, at most
 * FORECAST_CURES. Their lines live as long as l. now: the prediction for p itself. */
bool forecast_lens(const struct program *p, const struct lens *l, const struct target *target,
                   const struct cancel *c, struct forecast *row, int *n, struct forecast *now,
                   struct err *e);
#endif
