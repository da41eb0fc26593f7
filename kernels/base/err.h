/* Errors as values.  A function that can fail returns false and fills *e; it then leaves its
 * outputs untouched, unless its comment says otherwise.  Bad input and a poor environment are
 * reported this way; a broken invariant calls fail() (arena.h). */
#ifndef TS_BASE_ERR_H
#define TS_BASE_ERR_H
#include <stdbool.h>
#include <stdarg.h>
struct str;

enum err_code {
#define ERR(id, name, meaning) ERR_##id,
#include "kernels/base/err.def"
#undef ERR
    ERR_COUNT
};

/* line and col start at 1; 0 means unknown.  len is the number of bytes to mark from col on; 0
 * means 1. */
struct where { char file[256]; int line, col, len; };

struct err {
    enum err_code code;
    struct where at;
    char text[768];      /* what is wrong: one sentence, without a newline */
    char fix[384];       /* how to correct it, or "" */
    char source[256];    /* the line of user text with the error, for the caret; or "" */
};

/* The functions that set a part of *e return false, so that `return err_set(...)` is one line.
 * err_set clears fix, at and source.  When the text of an ERR_ENV or ERR_IO names a limit of the
 * system ("Too many open files"), err_set adds the fix for it. */
bool err_set(struct err *e, enum err_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Returns the place in text that names a limit of the system, or NULL if it names none. */
const char *err_lack(const char *text);
bool err_fix(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Puts a prefix ("call 3: ") before the text of *e.  Keeps code and fix; clears at and source. */
bool err_prefix(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Sets the fix for an unknown name.  If one of the n names of the list is similar, the fix is
 * `meant`, a format with %s for that name; otherwise it is `fmt`.  If fmt is NULL, the old
 * fix stays. */
bool err_near(struct err *e, const char *name, const char *const *list, int n, const char *meant,
              const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* Sets column (from 1) and width, in bytes, of the wrong word in a one-line user text. */
bool err_at(struct err *e, int col, int len);
/* Sets the place in a file (NULL: no file), and copies the source line. */
bool err_where(struct err *e, const char *file, int line, int col, const char *source_line);

const char *err_name(enum err_code code);               /* "E_DIM" */
const char *err_meaning(enum err_code code);
/* Prints "FILE:LINE:COL: error: TEXT [E_X]\n  SOURCE\n  ^~~\n  fix: FIX\n".  Unknown parts are
 * left out. */
void err_print(struct str *out, const struct err *e);
#endif
