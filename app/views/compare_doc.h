/* Two states side by side, as a document: for the view `compare` and `show --what compare`. */
#ifndef TS_APP_COMPARE_DOC_H
#define TS_APP_COMPARE_DOC_H
#include "app/ui/doc.h"
#include "profile/measure/measure.h"
#include "sessions/report/compare.h"

#define COMPARE_SIDE_BY_SIDE 88           /* least columns for A beside B; a narrower document has
                                           * A above B */

/* Adds the names and contracts of both sides, and their times with the ratio. time NULL: the sides
 * were not timed. */
void compare_doc_head(struct doc *d, const struct compare_side side[2],
                      const struct compared time[2], int width);
/* Adds the lines of both texts, aligned. all: also adds the equal lines that are far from a
 * difference. The first line of each difference gets its number, from 0, as id. */
void compare_doc_lines(struct doc *d, const struct compare_side side[2], enum compare_of of,
                       bool all, int width);
/* Adds the misses of the tensors, and of the access sites with the most L1 misses. If a side was
 * not simulated, adds a remark instead. */
void compare_doc_misses(struct doc *d, const struct compare_side side[2], int width);
#endif
