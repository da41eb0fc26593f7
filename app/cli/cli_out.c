/* Output that all commands share: errors, colours, progress, numbers. */
#include "app/cli/cli.h"

#include <langinfo.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <unistd.h>

#include "app/ui/doc.h"
#include "kernels/base/formula.h"
#include "kernels/gen/tile_registers.h"
#include "profile/measure/program_text.h"
#include "sessions/report/report.h"

/* --- Colours and control characters ----------------------------------------------------------- */

#define PAINT "\033["

/* Returns a random key. cli_paint writes colours as "\033[KEY;31m"; put_shown removes the key, and
 * replaces all other escapes. Texts from files, models and compilers cannot contain the key, so
 * their escapes never reach the terminal. */
static const char *paint_key(void)
{
    static char key[24];
    unsigned long long random;
    if (key[0])
        return key;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random)
        random = (unsigned long long)(clock_s() * 1e9) ^ (uintptr_t)&random;
    snprintf(key, sizeof key, "%llu;", random);
    return key;
}

/* Prints text with the colours of cli_paint; other control characters and malformed UTF-8 become
 * '?'. */
static void put_shown(FILE *to, const char *text, size_t n)
{
    const char *key = paint_key(), *end = text + n;
    struct str out = {0}, mark = {0};
    str_printf(&mark, PAINT "%s", key);
    for (const char *paint; text < end; text = paint) {
        paint = memmem(text, (size_t)(end - text), mark.data, mark.len);
        str_add_shown(&out, text, (size_t)((paint ? paint : end) - text), "\n\t");
        if (!paint)
            break;
        str_add(&out, PAINT);
        text = paint + mark.len;
        paint = memchr(text, 'm', (size_t)(end - text));
        paint = paint ? paint + 1 : end;
        str_add_n(&out, text, (size_t)(paint - text));
    }
    fwrite(str_text(&out), 1, out.len, to);
    str_free(&mark);
    str_free(&out);
}

void cli_put(struct str *out)
{
    put_shown(stdout, str_text(out), out->len);
    str_free(out);
}

void cli_note(struct str *out)
{
    put_shown(stderr, str_text(out), out->len);
    str_free(out);
}

void cli_note_spill(const struct program *p, const struct target *t)
{
    const struct func *f;
    struct str says = {0}, note = {0};
    struct err ignored;
    t = program_text_target(p, t);
    const char *tile = program_lower(p, &f, &ignored) ? tile_spill_note(f, t, &says) : NULL;
    if (tile)
        str_printf(&note, "note: the tile %s %s (%s); `tilescope expert` prints a schedule that "
                   "fits\n", tile, str_text(&says), t->isa);
    cli_note(&note);
    str_free(&says);
    str_free(&note);
}

void cli_paint(struct str *out, bool on, const char *sgr, const char *text)
{
    if (on)
        str_printf(out, PAINT "%s%sm%s" PAINT "%s0m", paint_key(), sgr, text, paint_key());
    else
        str_add(out, text);
}

/* --- Errors ----------------------------------------------------------------------------------- */

/* Returns the exit code of an error. Error codes that are not in the table are errors of the user's
 * input. */
static enum exit_code exit_of(enum err_code code)
{
    static const struct { enum err_code code; enum exit_code exit; } other[] = {
        {ERR_NONE, EXIT_FINE}, {ERR_ENV, EXIT_LACKS}, {ERR_KILLED, EXIT_LACKS},
        {ERR_CANCEL, EXIT_CANCELLED},
        {ERR_BUG, EXIT_BUG}, {ERR_COMPILE, EXIT_CHECK}, {ERR_CRASH, EXIT_CHECK},
        {ERR_TIMEOUT, EXIT_CHECK}, {ERR_WRONG, EXIT_CHECK}, {ERR_ILL, EXIT_CHECK},
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
    if (e->code == ERR_CANCEL || cancelled(c->signalled)) {  /* a signal can cause any error */
        fputs("cancelled\n", stderr);
        return EXIT_CANCELLED;
    }
    struct str text = {0}, out = {0};
    err_print(&text, e);
    const char *tag = strstr(str_text(&text), "error:");
    if (tag && c->color_err) {
        str_add_n(&out, text.data, (size_t)(tag - text.data));
        cli_paint(&out, true, PAINT_BAD, "error:");
        str_add(&out, tag + strlen("error:"));
    } else {
        str_add(&out, str_text(&text));
    }
    cli_note(&out);
    str_free(&text);
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
    err_fix(&e, "tilescope %s --help", args_cmd[c->args->cmd].name);
    return cli_fail(c, &e);
}

int cli_columns(int otherwise)
{
    struct winsize ws;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) == 0 && ws.ws_col >= 20)
        return ws.ws_col;
    const char *said = getenv("COLUMNS");
    long long columns;
    return said && str_to_int64(said, 20, 10000, &columns) ? (int)columns : otherwise;
}

void cli_wrap(struct str *out, size_t from, int hang)
{
    char *text = xstrdup(str_text(out) + from);
    out->len = from;
    str_wrap(out, text, cli_columns(80), hang);
    free(text);
}

bool cli_has_unicode(const struct cli *c)
{
    return !args_has(c->args, OPT_NO_UNICODE) && streq(nl_langinfo(CODESET), "UTF-8");
}

/* Adds the character at *p. If `unicode` is false, characters of drawings become ASCII; letters in
 * names and all other characters stay as they are. */
static void add_char(struct str *out, const char **p, bool unicode)
{
    const char *start = *p;
    uint32_t ch = utf8_next(p);
    if (!unicode && ch >= 0x80 && grid_ascii(ch) != '?')
        str_add_char(out, grid_ascii(ch));
    else
        str_add_n(out, start, (size_t)(*p - start));
}

void cli_add_doc(struct str *out, const struct cli *c, const struct doc *d)
{
    static const char *const sgr[STYLE_COUNT] = { [STYLE_DIM] = PAINT_DIM,
        [STYLE_STRONG] = PAINT_BOLD, [STYLE_GOOD] = PAINT_GOOD, [STYLE_BAD] = PAINT_BAD };
    bool unicode = cli_has_unicode(c);
    struct str run = {0};
    for (int i = 0; i < d->lines.len; i++) {
        const struct line *l = &d->lines.data[i];
        const char *p = l->text, *end = p + strlen(p);
        while (end > p && end[-1] == ' ')
            end--;
        while (p < end) {
            unsigned char style = l->style[p - l->text], look = style & (STYLE_REVERSE - 1);
            str_clear(&run);
            while (p < end && l->style[p - l->text] == style)
                add_char(&run, &p, unicode);
            cli_paint(out, c->color_out && sgr[look], sgr[look], str_text(&run));
        }
        str_add(out, "\n");
    }
    str_free(&run);
}

static void show_progress(void *ctx, const char *what, double fraction)
{
    static double last;
    const struct cli *c = ctx;
    double now = clock_s();
    if (!c->progress || (now - last < 0.05 && fraction < 1))
        return;
    last = now;
    struct str text = {0};
    str_add_shown(&text, what, strnlen(what, 60), "");
    if (fraction >= 0)
        str_printf(&text, " %3.0f %%", 100 * fmin(fraction, 1));
    fprintf(stderr, "\r\033[K%s", str_text(&text));
    str_free(&text);
}

struct progress cli_progress(const struct cli *c)
{
    return (struct progress){.report = show_progress, .ctx = (void *)(uintptr_t)c};
}

void cli_progress_clear(const struct cli *c)
{
    if (c->progress)
        fputs("\r\033[K", stderr);
}

/* --- --assert --------------------------------------------------------------------------------- */

bool cli_asserts_check(const struct args *a, struct err *e)
{
    for (int i = 0; i < a->given.len; i++)
        if (a->given.data[i].opt == OPT_ASSERT
            && !formula_check(a->given.data[i].value, NULL, NULL, e))
            return false;
    return true;
}

bool cli_asserts_named(const struct args *a, struct str *json, struct err *e)
{
    bool ok = true;
    for (int i = 0; i < a->given.len && ok; i++)
        ok = a->given.data[i].opt != OPT_ASSERT
          || report_assert_named(str_text(json), a->given.data[i].value, e);
    str_free(json);
    return ok;
}

int cli_asserts(const struct cli *c, const struct str *json, bool good)
{
    int code = EXIT_FINE;
    const struct args *a = c->args;
    for (int i = 0; i < a->given.len; i++) {
        if (a->given.data[i].opt != OPT_ASSERT)
            continue;
        bool holds = false;
        struct err e = {0};
        struct str values = {0};
        const char *expr = a->given.data[i].value;
        bool ok = report_assert(str_text(json), expr, &holds, &values, &e);
        if (ok && !holds) {
            struct str said = {0};
            str_printf(&said, "assertion failed: %s", expr);
            str_printf(&said, values.len ? " (%s)\n" : "%s\n", str_text(&values));
            cli_note(&said);
            code = EXIT_CHECK;
        }
        str_free(&values);
        if (!ok && good)
            return cli_fail(c, &e);
    }
    return code;
}
