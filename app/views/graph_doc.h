/* The graph of a program as a document, for the view `graph` and `show --what graph`. The row of a
 * tensor shows what computes the tensor, its layout, its bytes, its nest and the bound of the
 * nest. */
#ifndef TS_APP_GRAPH_DOC_H
#define TS_APP_GRAPH_DOC_H
#include "app/ui/doc.h"
#include "sessions/report/graph_report.h"

/* Writes the document. m: a measurement of the program; NULL: there is none. The id of a row is its
 * tensor. Lines under a row say how many bytes a conversion moves, and why a layout is not
 * propagated further. */
void graph_doc(struct doc *d, const struct program *p, const struct graph_rows *rows,
               const struct measurement *m, int width);
/* Appends one line about a tensor: what reads it, and where Enter goes. */
void graph_doc_hint(struct str *out, const struct program *p, int tensor);
#endif
