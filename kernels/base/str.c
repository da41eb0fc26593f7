#include "kernels/base/str.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "kernels/base/arena.h"

void str_free(struct str *s)
{
    free(s->data);
    *s = (struct str){0};
}

void str_clear(struct str *s)
{
    s->len = 0;
    if (s->data)
        s->data[0] = '\0';
}

void str_reserve(struct str *s, size_t more)
{
    size_t need = s->len + more + 1;
    if (need <= s->cap)
        return;
    size_t cap = s->cap ? 2 * s->cap : 64;
    s->cap = cap < need ? need : cap;
    s->data = xrealloc(s->data, s->cap);
    s->data[s->len] = '\0';
}

void str_add_n(struct str *s, const char *text, size_t n)
{
    str_reserve(s, n);
    if (n)
        memcpy(s->data + s->len, text, n);
    s->len += n;
    s->data[s->len] = '\0';
}

void str_add(struct str *s, const char *text)
{
    str_add_n(s, text, strlen(text));
}

void str_add_char(struct str *s, char c)
{
    str_add_n(s, &c, 1);
}

void str_repeat(struct str *s, char c, int n)
{
    if (n <= 0)
        return;
    str_reserve(s, (size_t)n);
    memset(s->data + s->len, c, (size_t)n);
    s->len += (size_t)n;
    s->data[s->len] = '\0';
}

void str_vprintf(struct str *s, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    str_reserve(s, 64);
    size_t room = s->cap - s->len;
    int n = vsnprintf(s->data + s->len, room, fmt, ap);
    if (n < 0)
        fail("vsnprintf refused \"%s\"", fmt);
    if ((size_t)n >= room) {
        str_reserve(s, (size_t)n);
        vsnprintf(s->data + s->len, (size_t)n + 1, fmt, again);
    }
    va_end(again);
    s->len += (size_t)n;
}

void str_printf(struct str *s, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    str_vprintf(s, fmt, ap);
    va_end(ap);
}

const char *str_text(const struct str *s)
{
    return s->data ? s->data : "";
}

bool streq(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

bool strcaseeq(const char *a, const char *b)
{
    return strcasecmp(a, b) == 0;
}

bool str_starts(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_begins(const char *s, const char *words)
{
    size_t n = strlen(words);
    return n > 0 && str_starts(s, words) && (s[n] == ' ' || s[n] == 0);
}

bool str_ends(const char *s, const char *suffix)
{
    size_t n = strlen(s), m = strlen(suffix);
    return n >= m && strcmp(s + n - m, suffix) == 0;
}

bool str_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

const char *str_find_name(const char *text, const char *name, const char *tail, size_t *n)
{
    for (const char *p = strstr(text, name); p; p = strstr(p + 1, name)) {
        *n = strlen(name) + strspn(p + strlen(name), tail);
        if ((p == text || !str_name_char(p[-1])) && !str_name_char(p[*n]))
            return p;
    }
    return NULL;
}

bool str_same_lines(const char *const *a, int n, const char *const *b, int m)
{
    bool same = n == m;
    for (int i = 0; same && i < n; i++)
        same = streq(a[i], b[i]);
    return same;
}

static int fold(char c, bool ignore_case)
{
    return ignore_case ? tolower((unsigned char)c) : (unsigned char)c;
}

static int min3(int a, int b, int c)
{
    int m = a < b ? a : b;
    return m < c ? m : c;
}

/* Computes the optimal string alignment with three rolling rows of the dynamic-programming table.
 * Row i has the distances of the first i bytes of a to every prefix of b. */
static int distance(const char *a, const char *b, bool ignore_case)
{
    int n = (int)strlen(a), m = (int)strlen(b);
    size_t width = (size_t)m + 1;
    int *rows = xcalloc(3 * width, sizeof *rows);
    int *before = rows, *last = rows + width, *row = rows + 2 * width;
    for (int j = 0; j <= m; j++)
        last[j] = j;
    for (int i = 1; i <= n; i++) {
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            int ca = fold(a[i - 1], ignore_case), cb = fold(b[j - 1], ignore_case);
            row[j] = min3(last[j] + 1, row[j - 1] + 1, last[j - 1] + (ca != cb));
            bool swapped = i > 1 && j > 1 && ca == fold(b[j - 2], ignore_case)
                        && cb == fold(a[i - 2], ignore_case);
            if (swapped && before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
        int *oldest = before;
        before = last;
        last = row;
        row = oldest;
    }
    int d = last[m];
    free(rows);
    return d;
}

int str_distance(const char *a, const char *b)
{
    return distance(a, b, false);
}

/* A candidate is near enough when at most a third of the word is wrong (one letter in short words),
 * ignoring case. An abbreviation of at least three letters is near enough, too. */
const char *str_nearest(const char *word, const char *const *candidates, int n)
{
    int len = (int)strlen(word);
    int limit = len / 3 > 1 ? len / 3 : 1;
    int best = limit + 1;
    const char *found = NULL;
    if (len > 256)
        return NULL;
    for (int i = 0; i < n; i++) {
        int d = distance(word, candidates[i], true);
        if (len >= 3 && d > 1 && strncasecmp(word, candidates[i], (size_t)len) == 0)
            d = 1;
        if (d < best && (d == 0 || d < len)) {
            best = d;
            found = candidates[i];
        }
    }
    return found;
}

void str_count(struct str *s, int64_t n)
{
    char digits[32];
    int len = snprintf(digits, sizeof digits, "%lld", (long long)n);
    for (int i = 0; i < len; i++) {
        str_add_char(s, digits[i]);
        int left = len - 1 - i;
        if (left > 0 && left % 3 == 0 && digits[i] != '-')
            str_add_char(s, ' ');
    }
}

void str_quantity(struct str *s, double v)
{
    if (fabs(v) < 1e15 && (fabs(v) >= 1000 || v == floor(v)))
        str_count(s, llround(v));
    else
        str_printf(s, "%.4g", v);
}

/* Chooses the unit and the number of decimals so that about four digits are printed. */
void str_ms(struct str *s, double ms)
{
    static const struct { double from, per_ms; const char *unit; } scale[] = {
        { 1000, 1e-3, "s" }, { 0.1, 1, "ms" }, { 1e-3, 1e3, "us" }, { 0, 1e6, "ns" },
    };
    int i = 0;
    while (ms < scale[i].from && i < COUNT_OF(scale) - 1)
        i++;
    double v = ms * scale[i].per_ms;
    /* Nanoseconds have one decimal: the mean of many calls is no more exact than that. */
    int decimals = v >= 100 ? 1 : v >= 10 ? 2 : 3;
    str_printf(s, "%.*f %s", streq(scale[i].unit, "ns") ? 1 : decimals, v, scale[i].unit);
}

/* Returns how many of the n bytes of text fit in its first row, of `room` columns. */
static size_t row_bytes(const char *text, size_t n, int room)
{
    size_t blank = 0, bar = 0;
    int width = 0;
    for (size_t at = 0; at < n; at++) {
        if (text[at] == '\033')
            at += strcspn(text + at, "m");
        else if (((unsigned char)text[at] & 0xc0) != 0x80)
            width++;
        if (text[at] == ' ' && at > 0 && text[at - 1] != ' ')
            blank = at;
        if (width > room && (blank > 0 || bar > 0))
            return blank > 0 ? blank : bar;
        if (text[at] == '|')
            bar = at + 1;
    }
    return n;
}

void str_wrap(struct str *s, const char *text, int width, int hang)
{
    for (int column = 0; *text;) {
        size_t n = strcspn(text, "\n"), row = row_bytes(text, n, width - column);
        str_repeat(s, ' ', column);
        str_add_n(s, text, row);
        str_add_char(s, '\n');
        text += row;
        text += row < n ? strspn(text, " ") : 0;
        column = *text == '\n' ? 0 : hang;
        text += *text == '\n';
    }
}

bool str_is_whole(const char *s)
{
    s += *s == '-';
    return *s && s[strspn(s, "0123456789")] == '\0';
}

bool str_to_int64(const char *s, long long lo, long long hi, long long *out)
{
    const char *digits = s + (*s == '-');
    if (!isdigit((unsigned char)*digits))
        return false;
    char *end;
    errno = 0;
    long long v = strtoll(s, &end, 10);
    if (errno || *end != '\0' || v < lo || v > hi)
        return false;
    *out = v;
    return true;
}

bool str_to_double(const char *s, double *out)
{
    static const char digits[] = "0123456789";
    const char *c = s + (s[0] == '-');
    size_t whole = strspn(c, digits), part = 0;
    c += whole;
    if (*c == '.') {
        part = strspn(c + 1, digits);
        c += 1 + part;
    }
    if (whole + part > 0 && (*c == 'e' || *c == 'E')) {
        c += 1 + (c[1] == '+' || c[1] == '-');
        size_t power = strspn(c, digits);
        if (power == 0)
            return false;
        c += power;
    }
    if (whole + part == 0 || *c != '\0')
        return false;
    *out = strtod(s, NULL);
    return true;
}

/* Returns the length of the well-formed UTF-8 sequence at s (n > 0 bytes left), or 0, by the table
 * of Unicode, section 3.9, D92 (no overlong forms, no surrogates, nothing above U+10FFFF). */
static size_t sequence_len(const unsigned char *s, size_t n)
{
    unsigned char c = s[0];
    if (c < 0x80)
        return 1;
    size_t len = c >= 0xc2 && c <= 0xdf ? 2
               : (c & 0xf0) == 0xe0 ? 3
               : c >= 0xf0 && c <= 0xf4 ? 4 : 0;
    if (len == 0 || len > n)
        return 0;
    unsigned char lo = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    unsigned char hi = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    if (s[1] < lo || s[1] > hi)
        return 0;
    for (size_t i = 2; i < len; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    return len;
}

bool utf8_valid(const char *s, size_t n, size_t *bad)
{
    size_t i = 0;
    while (i < n) {
        size_t len = sequence_len((const unsigned char *)s + i, n - i);
        if (len == 0) {
            if (bad)
                *bad = i;
            return false;
        }
        i += len;
    }
    return true;
}

uint32_t utf8_next(const char **s)
{
    const unsigned char *c = (const unsigned char *)*s;
    if (!*c)
        return 0;
    size_t len = sequence_len(c, strnlen(*s, 4));
    *s += len > 0 ? len : 1;
    if (len <= 1)
        return len > 0 ? *c : 0xFFFD;
    uint32_t cp = *c & (0x7Fu >> len);
    for (size_t i = 1; i < len; i++)
        cp = cp << 6 | (c[i] & 0x3Fu);
    return cp;
}

size_t utf8_char(const char *s, size_t n, bool *shown)
{
    const unsigned char *c = (const unsigned char *)s;
    size_t len = sequence_len(c, n);
    *shown = len > 0 && c[0] >= 0x20 && c[0] != 0x7f && !(c[0] == 0xc2 && c[1] < 0xa0);
    return len > 0 ? len : 1;
}

void str_add_shown(struct str *out, const char *text, size_t n, const char *keep)
{
    for (size_t at = 0, len; at < n; at += len) {
        bool shown;
        len = utf8_char(text + at, n - at, &shown);
        if (shown || (text[at] && strchr(keep, text[at])))
            str_add_n(out, text + at, len);
        else
            str_add_char(out, '?');
    }
}

size_t utf8_fit(const char *s, size_t max)
{
    size_t n = strnlen(s, max + 1);
    if (n <= max)
        return n;
    for (n = max; n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80; n--)
        ;
    return n;
}
