/* The list of the start screen: unsaved work, recent sessions, shipped examples (sessions and ONNX
 * models), and operators. */
#ifndef TS_APP_START_H
#define TS_APP_START_H
#include "kernels/base/vec.h"
#include "sessions/file/session.h"

enum start_kind { START_AUTOSAVE, START_RECENT, START_OPERATOR, START_EXAMPLE };
struct start_entry {
    enum start_kind kind;
    /* path: of the session or model; AUTOSAVE: of the file that the changes belong to, or "";
     * OPERATOR: "" */
    char path[512], title[256];
    struct autosave autosave;            /* AUTOSAVE */
    int kernels;  /* AUTOSAVE: number of kernels whose changes are in this entry */
    const struct op_family *op;          /* OPERATOR */
    bool expert;                         /* OPERATOR: whether an expert is shipped for it */
};
struct start_list { VEC(struct start_entry *) entry; };       /* grouped by kind */

/* Reads the list again.  Frees the old entries. */
void start_read(struct start_list *s);
void start_free(struct start_list *s);
#endif
