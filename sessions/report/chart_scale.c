/* Scales, their ticks, and how wide texts are. */
#include "sessions/report/chart_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SLACK 1e-9

static void add_tick(struct scale *s, double value, bool minor)
{
    double reach = SLACK * (fabs(s->hi) + fabs(s->lo));
    if (s->n < CHART_TICKS && value >= s->lo - reach && value <= s->hi + reach)
        s->tick[s->n++] = (struct tick){ value, minor };
}

/* The smallest of 1, 2, 5, 10 times a power of ten that is at least v. */
static double round_up(double v)
{
    double power = pow(10, floor(log10(v))), digit = v / power;
    return power * (digit <= 1 + SLACK ? 1 : digit <= 2 + SLACK ? 2 : digit <= 5 + SLACK ? 5 : 10);
}

static void linear_ticks(struct scale *s, bool fixed, int most)
{
    double step = round_up((s->hi - s->lo) / most);
    if (!fixed) {
        s->lo = step * floor(s->lo / step + SLACK);
        s->hi = step * ceil(s->hi / step - SLACK);
    }
    for (double i = ceil(s->lo / step - SLACK); i * step <= s->hi + SLACK * step; i++) {
        if (s->n == CHART_TICKS)
            break;
        add_tick(s, i * step, false);
    }
}

/* The nearest of 1, 2, 5 times a power of ten at or below v (dir -1), at or above it (1). */
static double notch(double v, int dir)
{
    if (dir > 0)
        return round_up(v);
    double power = pow(10, floor(log10(v) + SLACK)), digit = v / power;
    return power * (digit >= 5 - SLACK ? 5 : digit >= 2 - SLACK ? 2 : 1);
}

/* Few decades have numbers at 1, 2 and 5; more only at 1; many only at every other one. */
static void log_ticks(struct scale *s, bool fixed, int most)
{
    if (!fixed) {
        s->lo = notch(s->lo, -1);
        s->hi = notch(s->hi, 1);
    }
    double decades = log10(s->hi) - log10(s->lo);     /* their quotient may be infinite */
    int first = (int)floor(log10(s->lo) + SLACK), last = (int)ceil(log10(s->hi) - SLACK);
    int stride = 1;
    while (decades / stride > most)
        stride++;
    bool fine = 3 * decades <= most + 1, minors = 3 * (last - first + 1) <= CHART_TICKS;
    for (int k = first; k <= last; k++) {
        double power = pow(10, k);
        add_tick(s, power, k % stride != 0);
        for (int digit = 2; minors && digit <= 5; digit += 3)
            add_tick(s, digit * power, !fine);
    }
}

void chart_scale_init(struct scale *s, bool log, double lo, double hi, bool fixed, int most)
{
    s->log = log;
    s->n = 0;
    if (!(hi > lo)) {                    /* one value: room on both sides of it */
        double v = lo;
        lo = log ? v / 2 : v > 0 ? 0 : v - 1;
        hi = log ? v * 2 : v > 0 ? v : v < 0 ? 0 : 1;
    }
    s->lo = lo;
    s->hi = hi;
    if (log)
        log_ticks(s, fixed, most);
    else
        linear_ticks(s, fixed, most);
}

double chart_scale_at(const struct scale *s, double v)
{
    if (!isfinite(v) || (s->log && v <= 0))
        return NAN;
    double part = s->log ? log(v / s->lo) / log(s->hi / s->lo) : (v - s->lo) / (s->hi - s->lo);
    return s->from + part * (s->to - s->from);
}

/* Liang and Barsky: the segment is p0 + t (p1 - p0); each edge narrows the range of t. */
static bool narrow(double p, double d, double lo, double hi, double *t0, double *t1)
{
    if (fabs(d) < SLACK)
        return p >= lo - SLACK && p <= hi + SLACK;
    double a = (lo - p) / d, b = (hi - p) / d;
    double enter = d > 0 ? a : b, leave = d > 0 ? b : a;
    *t0 = enter > *t0 ? enter : *t0;
    *t1 = leave < *t1 ? leave : *t1;
    return *t0 <= *t1;
}

bool chart_scale_clip(const struct scale *x, const struct scale *y, double p[4])
{
    double dx = p[2] - p[0], dy = p[3] - p[1], t0 = 0, t1 = 1;
    if (!isfinite(p[0] + p[1] + p[2] + p[3])
        || !narrow(p[0], dx, fmin(x->from, x->to), fmax(x->from, x->to), &t0, &t1)
        || !narrow(p[1], dy, fmin(y->from, y->to), fmax(y->from, y->to), &t0, &t1))
        return false;
    double q[4] = { p[0] + t0 * dx, p[1] + t0 * dy, p[0] + t1 * dx, p[1] + t1 * dy };
    memcpy(p, q, sizeof q);
    return true;
}

void chart_number(struct str *out, double v)
{
    static const struct { double unit; const char *suffix; } row[] = {
        { 1e12, "T" }, { 1e9, "G" }, { 1e6, "M" }, { 1e4, "k" },
    };
    for (int i = 0; i < (int)(sizeof row / sizeof row[0]); i++)
        if (fabs(v) >= row[i].unit * (1 - SLACK)) {
            double unit = row[i].unit < 1e6 ? 1e3 : row[i].unit;
            str_printf(out, "%.4g%s", v / unit, row[i].suffix);
            return;
        }
    str_printf(out, "%.4g", fabs(v) < 1e-12 ? 0 : v);
}

/* In thousandths of the font size, after DejaVu Sans: a narrower font leaves some room. */
double chart_text_width(const char *text, double size)
{
    double w = 0;
    for (const char *p = text; *p; p++) {
        if (((unsigned char)*p & 0xC0) == 0x80)
            continue;                    /* the rest of a character */
        bool narrow_one = strchr("iljtfrI.,:;'|()[]/! ", *p) != NULL;
        bool wide_one = strchr("mwMW%@", *p) != NULL;
        bool capital = *p >= 'A' && *p <= 'Z';
        w += narrow_one ? 350 : wide_one ? 950 : capital ? 690 : 615;
    }
    return w * size / 1000;
}

void chart_escape(struct str *out, const char *text)
{
    size_t bad, n = strlen(text);
    bool sound = utf8_valid(text, n, &bad);
    for (const char *p = text; *p; p++) {
        unsigned char ch = (unsigned char)*p;
        if (sound && (str_starts(p, "\xEF\xBF\xBE") || str_starts(p, "\xEF\xBF\xBF")))
            p += 2;                      /* U+FFFE and U+FFFF */
        else if (ch == '&')
            str_add(out, "&amp;");
        else if (ch == '<')
            str_add(out, "&lt;");
        else if (ch == '>')
            str_add(out, "&gt;");
        else if (ch == '"')
            str_add(out, "&quot;");
        else if (ch >= 0x80 && !sound)
            str_add_char(out, '?');
        else if (ch >= 0x20 || ch == '\n' || ch == '\t')
            str_add_char(out, *p);
    }
}
