/* Marks of the object under the cursor, in every view that shows it. */
#ifndef TS_APP_VIEW_MARKS_H
#define TS_APP_VIEW_MARKS_H
#include "app/model/model.h"

/* Owns what a doc_look of a view points to. */
struct view_marks {
    const struct model *m;
    enum view v;
    char word[64], local[64];
};

/* Sets what is marked in a view. For a loop under the cursor of the nest: its variable wherever it
 * occurs, and the lines of code that belong to the loop. For an access or a tensor: the tensor's
 * name wherever it occurs; in the C also its pointer and what is loaded of it (Ker, ker, ker0); in
 * machine code the instructions of those lines. */
void view_marks(const struct model *m, enum view v, struct view_marks *own, struct doc_look *look);
#endif
