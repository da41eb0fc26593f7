/* What the writers of JSON share.  Text may come from elsewhere (a compiler's message cut in the
 * middle, a file's name): what is no UTF-8 becomes '?', since JSON has no other text and jansson
 * returns NULL. */
#ifndef TS_SESSIONS_JSON_TEXT_H
#define TS_SESSIONS_JSON_TEXT_H
#include <jansson.h>
#include "kernels/base/str.h"

json_t *json_text(const char *text);
json_t *json_text_or_null(const char *text);             /* NULL and "" are null */
void json_text_put(struct str *out, const char *text);   /* in its quotes */
json_t *json_text_real(double x);                        /* null unless it is finite */
/* Indented, with a newline at the end; digits: significant ones of numbers.  Frees root. */
void json_text_print(struct str *out, json_t *root, int digits);
#endif
