/* Text on a character grid: UTF-8, column widths, shortening and wrapping, and the number formats
 * of the screen.
 *
 * Widths come from a small table of our own, not from wcwidth(): the model, its tests and the dumps
 * must give the same answer in every locale. */
#ifndef TS_APP_TEXT_H
#define TS_APP_TEXT_H
#include <stdint.h>
#include "kernels/base/str.h"

int text_utf8_put(char out[5], uint32_t cp);              /* bytes written, NUL-terminated */
int text_char_width(uint32_t cp);                           /* 0 (combining), 1 or 2 columns */
int text_width(const char *s);                       /* columns */
int text_width_n(const char *s, size_t n_bytes);

/* Exactly width columns: shortened with an ellipsis, or filled up with blanks on the right. */
void text_fit(struct str *out, const char *s, int width);
/* The same with the blanks on the left; never shortened. */
void text_right(struct str *out, const char *s, int width);
/* How many bytes of s make a row of at most width columns, broken at a blank where there is one. */
size_t text_break(const char *s, int width);

/* "312 us" with a micro sign, "12.3 ms", "1.24 s": three digits. */
void text_ms(struct str *out, double ms);
/* "48 s", "5:38 min", "2:05 h". */
void text_duration(struct str *out, double s);
/* "950", "12.3k", "1.24M", "3.1G". */
void text_count(struct str *out, int64_t n);
/* A change of 0.1 is "+10 %", -0.42 is "-42 %", 3.0 is "+300 %"; "same" within half a percent. */
void text_change(struct str *out, double change);
/* A bar of `width` columns, `fraction` of it full. */
void text_bar(struct str *out, double fraction, int width);
#endif
