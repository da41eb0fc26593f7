/* A network as a document, for the screen and for `tilescope show --what network`: its time and
 * memory, and a row per kernel. */
#ifndef TS_APP_NETWORK_DOC_H
#define TS_APP_NETWORK_DOC_H
#include "app/views/network_head.h"

/* Writes the document. The id of a kernel's line is the number of its task. Kernels without a time
 * come first, sorted by their work; then the timed ones, the slowest first. A star marks kernels
 * whose steps were chosen by hand or by the tuner. */
void network_doc(struct doc *d, const struct network *net, const struct network_look *k);
/* Writes the document of one kernel: its operator, its time, its layouts, its calls and its
 * steps. */
void network_doc_kernel(struct doc *d, const struct network *net, int task,
                        const struct network_look *k);
#endif
