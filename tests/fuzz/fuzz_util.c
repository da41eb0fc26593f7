#include "tests/fuzz/fuzz.h"

#include <string.h>

char *fuzz_text(const uint8_t *data, size_t n)
{
    char *text = xmalloc(n + 1);
    if (n > 0)
        memcpy(text, data, n);
    text[n] = '\0';
    return text;
}

char *fuzz_line(const uint8_t **data, size_t *n)
{
    if (*n == 0)
        return NULL;
    const uint8_t *end = memchr(*data, '\n', *n);
    size_t len = end ? (size_t)(end - *data) : *n, used = end ? len + 1 : len;
    char *line = fuzz_text(*data, len);
    *data += used;
    *n -= used;
    return line;
}

struct str *fuzz_said;

void fuzz_say(const char *text)
{
    if (fuzz_said)
        str_printf(fuzz_said, "%s\n", text);
}

void fuzz_error(const struct err *e)
{
    struct str out = {0};
    err_print(&out, e);
    FUZZ_CHECK(e->text[0] && out.len > 0, "an error without a text");
    fuzz_say(str_text(&out));
    str_free(&out);
}
