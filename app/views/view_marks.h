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

/* Sets what is marked in a view: the loop under the cursor of the nest wherever its variable
 * occurs; the tensor of an access wherever its name occurs, in the C also its pointer and what is
 * loaded of it (Ker, ker, ker0), in machine code the instructions of those lines; and the lines of
 * code that belong to the loop. */
void view_marks(const struct model *m, enum view v, struct view_marks *own, struct doc_look *look);
#endif
