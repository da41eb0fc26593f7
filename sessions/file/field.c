#include "sessions/file/field.h"

#include <string.h>
#include "kernels/base/str.h"

bool field_is_zero(const struct field *f, const void *at)
{
    static const char zeros[8];
    const char *text = f->type == FIELD_TEXT ? *(const char *const *)at : at;
    if (f->type == FIELD_CHARS || f->type == FIELD_TEXT)
        return !text || *text == '\0';
    return memcmp(at, zeros, f->size) == 0;
}

void fields_copy(struct fields f, void *to, const void *from)
{
    for (int i = 0; i < f.n; i++)
        memcpy((char *)to + f.at[i].offset, (const char *)from + f.at[i].offset, f.at[i].size);
}

struct fields fields_part(struct fields f, const char *from, const char *to)
{
    for (; f.n > 0 && !streq(f.at->key, from); f.at++)
        f.n--;
    while (to && f.n > 0 && !streq(f.at[f.n - 1].key, to))
        f.n--;
    return f;
}
