/* The graph of a program as a document, for the view `graph` and `show --what graph`. A row per
 * tensor shows what computes it, its layout, its bytes, and its nest with that nest's bound. */
#ifndef TS_APP_GRAPH_DOC_H
#define TS_APP_GRAPH_DOC_H
#include "app/ui/doc.h"
#include "sessions/report/graph_report.h"

/* m: a measurement of the program; NULL: none.  The id of a row is its tensor.  Lines under a row
 * tell why its layout stops there, and what a conversion moves. */
void graph_doc(struct doc *d, const struct program *p, const struct graph_rows *rows,
               const struct measurement *m, int width);
/* Appends one line about a tensor: what reads it, and where Enter goes. */
void graph_doc_hint(struct str *out, const struct program *p, int tensor);
#endif
