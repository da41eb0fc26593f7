#include <stdlib.h>
#include <string.h>
#include "kernels/base/arena.h"
#include "sessions/file/json_text.h"

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
