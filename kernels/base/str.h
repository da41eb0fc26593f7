/* The string builder: a growable, always NUL-terminated byte string. */
#ifndef TS_BASE_STR_H
#define TS_BASE_STR_H
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialise it: struct str s = {0}; data may be NULL while len is 0. */
struct str { char *data; size_t len, cap; };

void str_free(struct str *s);
void str_reserve(struct str *s, size_t more);            /* makes room for `more` bytes */
void str_clear(struct str *s);                       /* keeps the memory */
void str_add(struct str *s, const char *text);
void str_add_n(struct str *s, const char *text, size_t n);
void str_add_char(struct str *s, char c);
void str_repeat(struct str *s, char c, int n);
void str_printf(struct str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void str_vprintf(struct str *s, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
const char *str_text(const struct str *s);  /* "" when empty; valid until the string changes */

/* Append numbers for people.  str_count: "11 203 112".  str_quantity: the same, but fractions below
 * 1000 and numbers from 10^15 on have four significant digits ("12.35", "1.5e+16").
 * str_ms: "0.310 ms", "31.20 us", "1.235 s". */
void str_count(struct str *s, int64_t n);
void str_quantity(struct str *s, double v);
void str_ms(struct str *s, double ms);
/* Appends the lines of text.  A line wider than `width` is broken at a blank, and its rest starts
 * at column `hang`.  A word that is too wide is broken after a '|', or stays whole.  Colours (ESC
 * [ ... m) have no width. */
void str_wrap(struct str *s, const char *text, int width, int hang);

/* Compare strings. */
bool streq(const char *a, const char *b);
bool strcaseeq(const char *a, const char *b);
bool str_starts(const char *s, const char *prefix);
/* Whether s begins with `words`, followed by a blank or the end of s.  False if `words` is
 * empty. */
bool str_begins(const char *s, const char *words);
bool str_ends(const char *s, const char *suffix);
/* Whether c can stand in the name of a loop or tensor: a letter, a digit, _, or a dot ("O.1"). */
bool str_name_char(char c);
/* Finds `name` as a whole word in text.  Characters of `tail` that follow the name belong to the
 * word.  Returns the word and sets *n to its length, or returns NULL.  name must not be empty. */
const char *str_find_name(const char *text, const char *name, const char *tail, size_t *n);
/* Whether the n lines of a equal the m lines of b. */
bool str_same_lines(const char *const *a, int n, const char *const *b, int m);

/* Returns the edit distance (insert, delete, replace, swap), for "did you mean" hints. */
int str_distance(const char *a, const char *b);
/* Returns the nearest of n candidates if it is near enough to be worth suggesting, else NULL. */
const char *str_nearest(const char *word, const char *const *candidates, int n);

/* Whether s is digits, perhaps after a minus.  The number can be too large for any type. */
bool str_is_whole(const char *s);
/* Parses all of s as an integer in [lo, hi], without leading blanks.  On failure returns false
 * and leaves *out alone. */
bool str_to_int64(const char *s, long long lo, long long hi, long long *out);
/* Parses all of s as a number: [-] digits [. digits] [e [+-] digits].  The digits on one side of
 * the point may be missing.  Blanks, hexadecimals and nan are refused; a number that is too large
 * becomes INFINITY. */
bool str_to_double(const char *s, double *out);
/* Whether the n bytes are well-formed UTF-8. If not, sets *bad (bad may be NULL) to the offset of
 * the first bad byte. */
bool utf8_valid(const char *s, size_t n, size_t *bad);
/* Returns the code point at *s and moves *s behind it.  Returns 0 at the end, and U+FFFD for a
 * malformed byte. */
uint32_t utf8_next(const char **s);
/* Returns the number of bytes of the character at s, where n > 0 bytes are left.  *shown: whether
 * the character may be sent to a terminal; false for control characters (C0, DEL, C1) and for
 * malformed UTF-8, which counts as one byte. */
size_t utf8_char(const char *s, size_t n, bool *shown);
/* Appends n bytes of text for a terminal.  Characters that must not reach a terminal become '?',
 * except those in `keep`. */
void str_add_shown(struct str *out, const char *text, size_t n, const char *keep);
/* Returns where to cut s (valid UTF-8): after at most max bytes, and between two characters. */
size_t utf8_fit(const char *s, size_t max);
#endif
