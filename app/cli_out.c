/* What every command prints the same way: errors, colours, progress, numbers. */
#include "app/cli.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Everything else is something the user wrote: usage. */
static enum exit_code exit_of(enum err_code code)
{
    static const struct { enum err_code code; enum exit_code exit; } other[] = {
        {ERR_NONE, EXIT_FINE}, {ERR_ENV, EXIT_LACKS}, {ERR_CANCEL, EXIT_CANCELLED},
        {ERR_BUG, EXIT_BUG}, {ERR_COMPILE, EXIT_CHECK}, {ERR_CRASH, EXIT_CHECK},
        {ERR_TIMEOUT, EXIT_CHECK}, {ERR_WRONG, EXIT_CHECK},
    };
    for (int i = 0; i < COUNT_OF(other); i++)
        if (other[i].code == code)
            return other[i].exit;
    return EXIT_USAGE;
}

int cli_fail(const struct cli *c, const struct err *e)
{
    cli_progress_clear(c);
    fflush(stdout);
    if (e->code == ERR_CANCEL) {
        fputs("cancelled\n", stderr);
        return EXIT_CANCELLED;
    }
    struct str text = {0}, out = {0};
    err_print(&text, e);
    const char *tag = strstr(str_text(&text), "error:");
    if (tag && c->color_err) {
        str_add_n(&out, text.data, (size_t)(tag - text.data));
        str_paint(&out, true, PAINT_BAD, "error:");
        str_add(&out, tag + strlen("error:"));
    } else {
        str_add(&out, str_text(&text));
    }
    fputs(str_text(&out), stderr);
    str_free(&text);
    str_free(&out);
    return exit_of(e->code);
}

int cli_usage(const struct cli *c, const char *fmt, ...)
{
    struct err e = {0};
    va_list ap;
    va_start(ap, fmt);
    char text[512];
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    err_set(&e, ERR_SYNTAX, "%s", text);
    err_fix(&e, "tilescope %s --help", cmd_info[c->args->cmd].name);
    return cli_fail(c, &e);
}

int cli_not_yet(const char *what)
{
    fprintf(stderr, "tilescope: %s is not in this version\n", what);
    return EXIT_LACKS;
}

void cli_put(struct str *out)
{
    fwrite(str_text(out), 1, out->len, stdout);
    str_free(out);
}

void str_paint(struct str *out, bool on, const char *sgr, const char *text)
{
    if (on)
        str_printf(out, "\033[%sm%s\033[0m", sgr, text);
    else
        str_add(out, text);
}

enum { PROGRESS_WIDTH = 32 };

static void show_progress(void *ctx, const char *what, double fraction)
{
    static double last;
    const struct cli *c = ctx;
    double now = clock_s();
    if (!c->progress || (now - last < 0.05 && fraction < 1))
        return;
    last = now;
    char text[96];
    int n = snprintf(text, sizeof text, "%.60s", what);
    if (fraction >= 0)
        n += snprintf(text + n, sizeof text - (size_t)n, " %3.0f %%", 100 * fmin(fraction, 1));
    fprintf(stderr, "\r%-*s\r%.*s", PROGRESS_WIDTH, "", n < (int)sizeof text ? n : 0, text);
}

struct progress cli_progress(const struct cli *c)
{
    return (struct progress){.report = show_progress, .ctx = (void *)(uintptr_t)c};
}

void cli_progress_clear(const struct cli *c)
{
    if (c->progress)
        fprintf(stderr, "\r%-*s\r", PROGRESS_WIDTH, "");
}

/* Groups of three, so that millions and billions are told apart at a glance. */
void str_count(struct str *out, int64_t n)
{
    char digits[32];
    int len = snprintf(digits, sizeof digits, "%lld", (long long)n);
    for (int i = 0; i < len; i++) {
        str_add_char(out, digits[i]);
        int left = len - 1 - i;
        if (left > 0 && left % 3 == 0 && digits[i] != '-')
            str_add_char(out, ' ');
    }
}

/* A count as above; what is no whole number with four significant digits. */
void str_quantity(struct str *out, double v)
{
    if (fabs(v) >= 1000 || v == floor(v))
        str_count(out, llround(v));
    else
        str_printf(out, "%.4g", v);
}

/* Four significant digits in the unit that fits. */
void str_ms(struct str *out, double ms)
{
    double v = ms >= 1000 ? ms / 1000 : ms >= 0.1 ? ms : ms * 1000;
    int decimals = v >= 100 ? 1 : v >= 10 ? 2 : 3;
    str_printf(out, "%.*f %s", decimals, v, ms >= 1000 ? "s" : ms >= 0.1 ? "ms" : "us");
}
