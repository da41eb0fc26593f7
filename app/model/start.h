/* The list of the start screen: unsaved work, recent sessions, operators, and shipped examples,
 * which are sessions and ONNX models. */
#ifndef TS_APP_START_H
#define TS_APP_START_H
#include "kernels/base/vec.h"
#include "sessions/file/session.h"

enum start_kind { START_AUTOSAVE, START_RECENT, START_OPERATOR, START_EXAMPLE };
struct start_entry {
    enum start_kind kind;
    char path[512], title[256];
    struct autosave autosave;
    int kernels;  /* of a network: number of its kernels with unsaved changes */
    const struct op_family *op;
    bool expert;                         /* whether an expert schedule is shipped for op */
};
struct start_list { VEC(struct start_entry *) entry; };       /* in the order of the kinds */

/* Replaces the list by the entries that exist now. */
void start_read(struct start_list *s);
void start_free(struct start_list *s);
#endif
