#include "tests/unit/spoil.h"

#include <ctype.h>
#include <string.h>
#include "kernels/base/arena.h"

/* Replaces n bytes at `at` by `with`. */
static void replace(struct str *text, size_t at, size_t n, const char *with)
{
    struct str out = {0};
    str_add_n(&out, str_text(text), at);
    str_add(&out, with);
    str_add_n(&out, str_text(text) + at + n, text->len - at - n);
    str_free(text);
    *text = out;
}

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '-';
}

/* A word at or after a random place: its place and length, 0 if there is none. */
static size_t some_word(const struct str *text, struct rng *r, bool number, size_t *n)
{
    const char *s = str_text(text);
    size_t at = (size_t)rng_range(r, 0, (int64_t)text->len);
    while (at > 0 && in_word(s[at - 1]))
        at--;
    while (at < text->len && (!in_word(s[at]) || (number && !isdigit((unsigned char)s[at]))))
        at++;
    for (*n = 0; at + *n < text->len && in_word(s[at + *n]); )
        ++*n;
    return at;
}

static void spoil_word(struct str *text, struct rng *r)
{
    size_t n, m, at = some_word(text, r, false, &n), from = some_word(text, r, false, &m);
    char word[64] = "";
    memcpy(word, str_text(text) + from, m < sizeof word ? m : sizeof word - 1);
    replace(text, at, n, word);
}

static void spoil_number(struct str *text, struct rng *r)
{
    static const char *const numbers[] = {
        "0", "1", "2", "3", "5", "8", "-1", "64", "1000", "1e9", "99999999999999999999", "0.5",
        "nan", "x", "", "007", "true",
    };
    size_t n, at = some_word(text, r, true, &n);
    replace(text, at, n, numbers[rng_range(r, 0, COUNT_OF(numbers) - 1)]);
}

static void spoil_character(struct str *text, struct rng *r)
{
    static const char *const characters[] = {
        ":", "{", "}", "[", "]", "\"", "'", "#", "\\", "\t", "\xff", "&a ", "*a", "- ", "\n", " ",
        ",", "=", ";", "~", "/", "|", "%", "\xc3\xa4",
    };
    size_t at = (size_t)rng_range(r, 0, (int64_t)text->len);
    bool instead = at < text->len && rng_range(r, 0, 1);
    replace(text, at, instead, rng_range(r, 0, 4) == 0
            ? "" : characters[rng_range(r, 0, COUNT_OF(characters) - 1)]);
}

static size_t line_length(const char *s)
{
    size_t n = strcspn(s, "\n");
    return n + (s[n] == '\n');
}

/* Drops a line, doubles it, or exchanges it with the next. */
static void spoil_line(struct str *text, struct rng *r)
{
    const char *s = str_text(text);
    size_t at = (size_t)rng_range(r, 0, (int64_t)text->len);
    struct str line = {0};
    while (at > 0 && s[at - 1] != '\n')
        at--;
    size_t n = line_length(s + at);
    int64_t how = rng_range(r, 0, 3);
    if (how > 0) {
        size_t next = how == 3 ? 0 : line_length(s + at + n);
        str_add_n(&line, s + at + n, next);
        str_add_n(&line, s + at, n);
        if (how == 3)
            str_add_n(&line, s + at, n);
        n += next;
    }
    replace(text, at, n, str_text(&line));
    str_free(&line);
}

void spoil(struct str *text, struct rng *r)
{
    switch (rng_range(r, 0, 9)) {
    case 0: case 1: spoil_line(text, r); break;
    case 2: case 3: case 4: spoil_word(text, r); break;
    case 5: case 6: case 7: spoil_number(text, r); break;
    case 8: spoil_character(text, r); break;
    default: {
        size_t at = (size_t)rng_range(r, 0, (int64_t)text->len);
        replace(text, at, text->len - at, "");
    }
    }
}

void spoil_bytes(struct str *data, struct rng *r)
{
    for (int64_t k = rng_range(r, 1, 4); k > 0 && data->len > 0; k--) {
        size_t at = (size_t)rng_range(r, 0, (int64_t)data->len - 1);
        int64_t how = rng_range(r, 0, 3);
        data->data[at] = (char)(how == 0 ? rng_range(r, 0, 255) : how == 1 ? data->data[at] + 1
                                : how == 2 ? data->data[at] ^ 1 << rng_range(r, 0, 7)
                                : data->data[(size_t)rng_range(r, 0, (int64_t)data->len - 1)]);
    }
    if (rng_range(r, 0, 9) == 0)
        data->len = (size_t)rng_range(r, 0, (int64_t)data->len);
}
