/* Marks of the object under the cursor, in every view that shows it. */
#ifndef TS_APP_VIEW_MARKS_H
#define TS_APP_VIEW_MARKS_H
#include "app/model/model.h"

/* The marks of a view. Owns the names to which its doc_look points. */
struct view_marks {
    const struct model *m;
    enum view v;
    char word[64], local[64];
};

/* Sets in *look what view v marks. *look points into *own.
 *     cursor on a loop: the variable of the loop; the lines of code that belong to the loop
 *     cursor on an access or a tensor: the name of the tensor; in C also its pointer and the values
 *       that are loaded through it (Ker, ker, ker0); in machine code the instructions from lines of
 *       C that name the tensor or its pointer
 *     view graph: the operands and consumers of the tensor under the graph's cursor */
void view_marks(const struct model *m, enum view v, struct view_marks *own, struct doc_look *look);
#endif
