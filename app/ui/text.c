#include "app/ui/text.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "kernels/base/arena.h"

#define SAME_TIME 0.05  /* predictions of the time are not exact enough to tell less */

int text_utf8_put(char out[5], uint32_t cp)
{
    int n = cp < 0x80 ? 1 : cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (int i = n - 1; i > 0; i--) {
        out[i] = (char)(0x80u | (cp & 0x3Fu));
        cp >>= 6;
    }
    out[0] = (char)(lead[n == 1 ? 0 : n] | cp);
    out[n] = 0;
    return n;
}

struct cp_range { uint32_t lo, hi; };

static bool in_ranges(uint32_t cp, const struct cp_range *r, int n)
{
    for (int i = 0; i < n; i++)
        if (cp >= r[i].lo && cp <= r[i].hi)
            return true;
    return false;
}

int text_char_width(uint32_t cp)
{
    static const struct cp_range none[] = {{0x0300, 0x036F}, {0x200B, 0x200F}, {0x20D0, 0x20FF},
                                        {0xFE00, 0xFE0F}};
    static const struct cp_range wide[] = {
        {0x1100, 0x115F}, {0x2E80, 0x303E}, {0x3041, 0xA4CF}, {0xAC00, 0xD7A3}, {0xF900, 0xFAFF},
        {0xFE30, 0xFE6F}, {0xFF00, 0xFF60}, {0xFFE0, 0xFFE6}, {0x1F300, 0x1FAFF},
        {0x20000, 0x3FFFD},
    };
    if (cp < 0x300)
        return 1;
    if (in_ranges(cp, none, 4))
        return 0;
    return in_ranges(cp, wide, 10) ? 2 : 1;
}

int text_width_n(const char *s, size_t n_bytes)
{
    const char *end = s + n_bytes;
    int w = 0;
    while (s < end) {
        uint32_t cp = utf8_next(&s);
        if (cp == 0)
            break;
        w += text_char_width(cp);
    }
    return w;
}

int text_width(const char *s)
{
    return text_width_n(s, strlen(s));
}

/* Returns the number of bytes of the longest prefix of s that fits into width columns. */
static size_t prefix_bytes(const char *s, int width)
{
    const char *p = s;
    for (int w = 0; *p;) {
        const char *next = p;
        w += text_char_width(utf8_next(&next));
        if (w > width)
            break;
        p = next;
    }
    return (size_t)(p - s);
}

void text_fit(struct str *out, const char *s, int width)
{
    if (width <= 0)
        return;
    int w = text_width(s);
    if (w > width) {
        size_t n = prefix_bytes(s, width - 1);
        str_add_n(out, s, n);
        w = text_width_n(s, n) + 1;
        str_add(out, "…");
    } else {
        str_add(out, s);
    }
    str_repeat(out, ' ', width - w);
}

void text_right(struct str *out, const char *s, int width)
{
    int w = text_width(s);
    if (w < width)
        str_repeat(out, ' ', width - w);
    str_add(out, s);
}

/* Whether the blank before s[i] separates groups of three digits of one number. */
static bool in_number(const char *s, size_t i)
{
    return i > 1 && isdigit((unsigned char)s[i - 2]) && isdigit((unsigned char)s[i])
        && isdigit((unsigned char)s[i + 1]) && isdigit((unsigned char)s[i + 2])
        && !isdigit((unsigned char)s[i + 3]);
}

size_t text_break(const char *s, int width)
{
    size_t n = prefix_bytes(s, width > 1 ? width : 1);
    if (s[n] == 0 || (s[n] == ' ' && !in_number(s, n + 1)))
        return n;
    for (size_t i = n; i > n / 2; i--)
        if (s[i - 1] == ' ' && !in_number(s, i))
            return i;
    if (n == 0) {
        const char *p = s;
        utf8_next(&p);
        n = (size_t)(p - s);
    }
    return n;
}

void text_digits(struct str *out, double v)
{
    int decimals = fabs(v) < 99.95 ? 1 : 0;
    int most = decimals == 0 ? 0 : v != 0 ? 4 : 2;
    for (double limit = 9.995; decimals < most && fabs(v) < limit; limit /= 10)
        decimals++;
    str_printf(out, "%.*f", decimals, v);
}

void text_bytes(struct str *out, double bytes)
{
    static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    int u = 0;
    for (; bytes >= 1000 && u + 1 < COUNT_OF(unit); u++)
        bytes /= 1024;
    if (u == 0)
        str_printf(out, "%.0f", bytes);
    else
        text_digits(out, bytes);
    str_printf(out, " %s", unit[u]);
}

void text_share(struct str *out, double x)
{
    if (x < 9.995)
        str_printf(out, "%.0f%%", 100 * x);
    else
        str_printf(out, "%.0fx", x);
}

void text_ms(struct str *out, double ms)
{
    if (ms < 0.9995e-3) {
        text_digits(out, ms * 1e6);
        str_add(out, " ns");
    } else if (ms < 0.9995) {
        text_digits(out, ms * 1e3);
        str_add(out, " µs");
    } else if (ms < 999.5) {
        text_digits(out, ms);
        str_add(out, " ms");
    } else {
        text_digits(out, ms / 1e3);
        str_add(out, " s");
    }
}

void text_duration(struct str *out, double s)
{
    long whole = lround(s);
    if (whole < 90)
        str_printf(out, "%ld s", whole);
    else if (whole < 90 * 60)
        str_printf(out, "%ld:%02ld min", whole / 60, whole % 60);
    else
        str_printf(out, "%ld:%02ld h", whole / 3600, whole / 60 % 60);
}

void text_count(struct str *out, int64_t n)
{
    static const struct { double unit; const char *suffix; } scale[] = {
        {1e9, "G"}, {1e6, "M"}, {1e3, "k"},
    };
    double v = (double)n;
    if (fabs(v) < 9999.5) {
        str_printf(out, "%lld", (long long)n);
        return;
    }
    for (int i = 0; i < 3; i++) {
        if (fabs(v) < scale[i].unit * 0.9995)
            continue;
        text_digits(out, v / scale[i].unit);
        str_add(out, scale[i].suffix);
        return;
    }
}

void text_change(struct str *out, double change)
{
    if (fabs(change) < 0.005)
        str_add(out, "same");
    else if (change >= 99.995)
        str_add(out, ">9999 %");
    else
        str_printf(out, change < -0.985 ? "%+.1f %%" : "%+.0f %%", change * 100);
}

void text_time_change(struct str *out, double change)
{
    text_change(out, fabs(change) < SAME_TIME ? 0 : change);
}

void text_about_time(struct str *out, double change)
{
    str_add(out, fabs(change) < SAME_TIME ? "time about the " : "time about ");
    text_time_change(out, change);
}

void text_bar(struct str *out, double fraction, int width)
{
    if (!(fraction > 0))
        fraction = 0;
    if (fraction > 1)
        fraction = 1;
    int halves = (int)lround(fraction * 2 * width);
    if (halves == 0 && fraction > 0)
        halves = 1;
    for (int i = 0; i < width; i++)
        str_add(out, halves >= 2 * i + 2 ? "█" : halves == 2 * i + 1 ? "▌" : "·");
}
