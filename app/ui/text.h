/* Text on a character grid: UTF-8, column widths, shortening and wrapping, and the number formats
 * of the screen.
 *
 * Widths come from a small table here, not from wcwidth(), so that the model, its tests and the
 * dumps are the same in every locale. */
#ifndef TS_APP_TEXT_H
#define TS_APP_TEXT_H
#include <stdint.h>
#include "kernels/base/str.h"

/* Writes cp and a NUL. Returns the number of bytes without the NUL. */
int text_utf8_put(char out[5], uint32_t cp);
int text_char_width(uint32_t cp);                           /* 0 (combining), 1 or 2 columns */
int text_width(const char *s);                       /* columns */
int text_width_n(const char *s, size_t n_bytes);

/* Appends s in exactly width columns: cut with an ellipsis, or filled up with blanks. */
void text_fit(struct str *out, const char *s, int width);
/* Appends s right-aligned in width columns; never shortens it. */
void text_right(struct str *out, const char *s, int width);
/* Returns how many bytes of s to put into a row of width columns, at least one character.  Breaks s
 * at a blank in the second half of the row if possible, but not within a number "12 345". */
size_t text_break(const char *s, int width);

/* Appends v with three significant digits, but at most four decimals, and whole numbers in full:
 * 0.0124, 0.124, 1.24, 12.4, 124, 1235. */
void text_digits(struct str *out, double v);
/* Appends "256 B", "36.8 KiB" or "3.06 MiB". */
void text_bytes(struct str *out, double bytes);
/* Appends a share of a peak: "83%". A share above 1 occurs if the machine was slower when its peak
 * was measured; from 10 on it is written as "12x". */
void text_share(struct str *out, double x);
/* Appends "312 ns", "312 us" (with a micro sign), "12.3 ms" or "1.24 s", by text_digits. */
void text_ms(struct str *out, double ms);
/* Appends "48 s", "5:38 min" or "2:05 h". */
void text_duration(struct str *out, double s);
/* Appends "9500", "12.3k", "1.24M" or "3.10G". */
void text_count(struct str *out, int64_t n);
/* Appends a relative change: "+10 %" for 0.1, "-42 %" for -0.42, "same" within 0.5 %, and ">9999 %"
 * from 99.995 on. */
void text_change(struct str *out, double change);
/* Appends a predicted change of the time: "-42 %"; below 5 %, "same". */
void text_time_change(struct str *out, double change);
/* Appends "time about -42 %"; below 5 %, "time about the same". */
void text_about_time(struct str *out, double change);
/* Appends a bar of `width` columns that is full up to `fraction`. */
void text_bar(struct str *out, double fraction, int width);
#endif
