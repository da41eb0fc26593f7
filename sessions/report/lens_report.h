/* Prints the cache lens as JSON, which sessions/schema.md documents. */
#ifndef TS_SESSIONS_LENS_REPORT_H
#define TS_SESSIONS_LENS_REPORT_H
#include "explorer/history/forecast.h"

void lens_report_json(struct str *out, const struct lens *l, const struct forecast *now,
                      const struct forecast *cure, int n_cures);
#endif
