#include "kernels/base/err.h"

#include <stdio.h>
#include <string.h>
#include "kernels/base/arena.h"
#include "kernels/base/str.h"

static const struct { const char *name, *meaning; } codes[] = {
#define ERR(id, name, meaning) [ERR_##id] = { name, meaning },
#include "kernels/base/err.def"
#undef ERR
};

const char *err_name(enum err_code code)
{
    return code < ERR_COUNT ? codes[code].name : "E_?";
}

const char *err_meaning(enum err_code code)
{
    return code < ERR_COUNT ? codes[code].meaning : "unknown error";
}

#define TOO_MANY "too many processes or threads: end others, or raise `ulimit -u`"

/* The texts by which errors name a limit of the system, and the fix for each.  starts: the limit
 * is met when a process or thread is started.  An ERR_IO does not get such a fix, because EAGAIN
 * has another cause when a file is read or written. */
static const struct { const char *said, *fix; bool starts; } lacks[] = {
    { "Too many open files in system", "end other programs, or raise fs.file-max", false },
    { "Too many open files", "raise `ulimit -n`, the number of files that a process may have open",
      false },
    { "Resource temporarily unavailable", TOO_MANY, true },
    { "Cannot fork", TOO_MANY, true },
    { "Cannot allocate memory", "free some memory, or raise `ulimit -v`", false },
    { "No space left on device", "free some space there", false },
    { "Disk quota exceeded", "free some space there", false },
    { "File too large", "raise `ulimit -f`", false },
};

static const char *find_lack(const char *text, enum err_code code, const char **fix)
{
    const char *at = NULL;
    for (int i = 0; i < COUNT_OF(lacks) && !at; i++) {
        at = lacks[i].starts && code == ERR_IO ? NULL : strstr(text, lacks[i].said);
        *fix = lacks[i].fix;
    }
    return at;
}

const char *err_lack(const char *text)
{
    const char *fix;
    return find_lack(text, ERR_ENV, &fix);
}

bool err_set(struct err *e, enum err_code code, const char *fmt, ...)
{
    struct err fresh = { .code = code };
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(fresh.text, sizeof fresh.text, fmt, ap);
    va_end(ap);
    *e = fresh;
    const char *lack;
    if ((code == ERR_ENV || code == ERR_IO) && find_lack(e->text, code, &lack))
        err_fix(e, "%s", lack);
    return false;
}

bool err_fix(struct err *e, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(e->fix, sizeof e->fix, fmt, ap);
    va_end(ap);
    return false;
}

bool err_prefix(struct err *e, const char *fmt, ...)
{
    struct err was = *e;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    size_t n = strlen(e->text);
    snprintf(e->text + n, sizeof e->text - n, "%.*s", (int)(sizeof e->text - n - 1), was.text);
    e->at = (struct where){0};
    e->source[0] = '\0';
    return false;
}

bool err_near(struct err *e, const char *name, const char *const *list, int n, const char *meant,
              const char *fmt, ...)
{
    const char *near = str_nearest(name, list, n);
    va_list ap;
    va_start(ap, fmt);
    if (near)
        snprintf(e->fix, sizeof e->fix, meant, near);
    else if (fmt)
        vsnprintf(e->fix, sizeof e->fix, fmt, ap);
    va_end(ap);
    return false;
}

bool err_at(struct err *e, int col, int len)
{
    e->at.col = col;
    e->at.len = len;
    return false;
}

bool err_where(struct err *e, const char *file, int line, int col, const char *source_line)
{
    snprintf(e->at.file, sizeof e->at.file, "%s", file ? file : "");
    e->at.line = line;
    e->at.col = col;
    size_t n = source_line ? strcspn(source_line, "\r\n") : 0;
    if (n >= sizeof e->source)
        n = sizeof e->source - 1;
    if (n)
        memcpy(e->source, source_line, n);
    e->source[n] = '\0';
    return false;
}

/* Appends s for a terminal: invalid UTF-8 and control characters except tabs become '?'. */
static void add_clean(struct str *out, const char *s)
{
    str_add_shown(out, s, strlen(s), "\t");
}

/* Appends the caret line.  Tabs remain tabs and a multi-byte character counts once, so that the
 * caret stands below its column.  A column outside of the (perhaps cut) line gets no caret. */
static void add_caret(struct str *out, const struct err *e)
{
    size_t size = strlen(e->source), start = (size_t)e->at.col - 1;
    if (e->at.col < 1 || start > size)
        return;
    size_t end = start + (size_t)(e->at.len > 1 ? e->at.len : 1);
    str_add(out, "  ");
    bool ignored;
    for (size_t i = 0; i < start;) {
        str_add_char(out, e->source[i] == '\t' ? '\t' : ' ');
        i += i < size ? utf8_char(e->source + i, size - i, &ignored) : 1;
    }
    str_add_char(out, '^');
    for (size_t i = start; i < size && i < end;) {
        i += utf8_char(e->source + i, size - i, &ignored);
        if (i < size && i < end)
            str_add_char(out, '~');
    }
    str_add_char(out, '\n');
}

void err_print(struct str *out, const struct err *e)
{
    if (e->at.file[0]) {
        add_clean(out, e->at.file);
        if (e->at.line > 0)
            str_printf(out, ":%d", e->at.line);
        if (e->at.line > 0 && e->at.col > 0)
            str_printf(out, ":%d", e->at.col);
        str_add(out, ": ");
    }
    str_add(out, "error: ");
    add_clean(out, e->text);
    str_printf(out, " [%s]\n", err_name(e->code));
    if (e->source[0]) {
        str_add(out, "  ");
        add_clean(out, e->source);
        str_add_char(out, '\n');
        add_caret(out, e);
    }
    if (e->fix[0]) {
        str_add(out, "  fix: ");
        add_clean(out, e->fix);
        str_add_char(out, '\n');
    }
}
