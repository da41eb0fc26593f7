/* An ablation as a document: how much each step of a schedule contributes. For the view `compare`
 * and `tilescope bench --ablate`. */
#ifndef TS_APP_ABLATION_DOC_H
#define TS_APP_ABLATION_DOC_H
#include "app/ui/doc.h"
#include "explorer/history/ablation.h"

void ablation_doc(struct doc *d, const struct ablation *a, int width);
#endif
