#include "sessions/file/json_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/base/arena.h"

json_t *json_text(const char *text)
{
    char *clean = xstrdup(text);
    size_t n = strlen(clean);
    for (size_t from = 0, bad; !utf8_valid(clean + from, n - from, &bad); from += bad)
        clean[from + bad] = '?';
    json_t *v = json_stringn(clean, n);
    free(clean);
    return v;
}

json_t *json_text_or_null(const char *text)
{
    return text && text[0] ? json_text(text) : json_null();
}

void json_text_put(struct str *out, const char *text)
{
    json_t *v = json_text(text);
    char *quoted = json_dumps(v, JSON_ENCODE_ANY);
    str_add(out, quoted ? quoted : "\"\"");
    free(quoted);
    json_decref(v);
}

json_t *json_text_real(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

void json_text_print(struct str *out, json_t *root, int digits)
{
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(digits));
    if (!text)
        fail("a result cannot be written as JSON");
    str_printf(out, "%s\n", text);
    free(text);
    json_decref(root);
}
