#include "tests/unit/digest.h"

#include <stdio.h>
#include <stdlib.h>
#include "kernels/base/file.h"
#include "kernels/base/rng.h"
#include "tests/unit/golden.h"

static void write_text(const char *name, const char *part, const struct str *text)
{
    char path[600];
    struct err e;
    const char *folder = getenv("TS_DIGESTS");
    if (!folder)
        return;
    snprintf(path, sizeof path, "%s/%s.%s", folder, name, part);
    if (!file_write_atomic(path, str_text(text), text->len, &e))
        fprintf(stderr, "%s\n", e.text);
}

void digest_add(struct digests *d, const char *name, const char *const *part, struct str *text,
                int n)
{
    str_add(&d->lines, name);
    for (int i = 0; i < n; i++) {
        write_text(name, part[i], &text[i]);
        str_printf(&d->lines, " %08x",
                   (unsigned)(hash_bytes(str_text(&text[i]), text[i].len, 1) >> 32));
        str_free(&text[i]);
    }
    str_add_char(&d->lines, '\n');
}

void digest_check(struct digests *d, const char *path)
{
    golden_check(path, str_text(&d->lines));
    str_free(&d->lines);
}
