/* JSON texts for tests. */
#ifndef TS_TESTS_JSON_HELP_H
#define TS_TESTS_JSON_HELP_H
#include <jansson.h>

#include "kernels/base/str.h"

/* Reads a text and frees it.  The test fails if it is no JSON or has a key twice. */
json_t *json_must_load(struct str *text);
/* Compares a value with a text without blanks.  Reals have 8 digits. */
void assert_json(const json_t *node, const char *want);
/* The same of a whole text, which is freed. */
void assert_json_text(struct str *text, const char *want);
#endif
