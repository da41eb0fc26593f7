#include "tests/unit/svg_check.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/str.h"
#undef fail /* ours; cmocka has its own */
#include <cmocka.h>

#define DEEPEST 16
#define MOST_ATTRIBUTES 24

struct xml { const char *text, *at; char open[DEEPEST][32]; int depth; };

static void bad(const struct xml *x, const char *why)
{
    fail_msg("%s at byte %d: %.60s\n%s", why, (int)(x->at - x->text), x->at, x->text);
}

static size_t name_length(const char *s)
{
    size_t n = 0;
    while (isalnum((unsigned char)s[n]) || (s[n] && strchr("-_:", s[n])))
        n++;
    return n;
}

static void entity(struct xml *x)
{
    static const char *const known[] = { "&amp;", "&lt;", "&gt;", "&quot;" };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (str_starts(x->at, known[i])) {
            x->at += strlen(known[i]);
            return;
        }
    bad(x, "unknown entity");
}

/* Text up to one of the characters of `end`. */
static void character_data(struct xml *x, const char *end)
{
    while (*x->at && !strchr(end, *x->at)) {
        if (*x->at == '&')
            entity(x);
        else if (*x->at == '<' || ((unsigned char)*x->at < 0x20 && !isspace((unsigned char)*x->at)))
            bad(x, "a character that text cannot have");
        else
            x->at++;
    }
}

static void attribute(struct xml *x, char seen[][32], int n)
{
    size_t len = name_length(x->at);
    size_t equals = len + strspn(x->at + len, " "), quote = equals + 1;
    if (len == 0 || len > 31 || n == MOST_ATTRIBUTES || x->at[equals] != '=')
        bad(x, "no attribute");
    quote += strspn(x->at + quote, " ");
    const char end[] = { x->at[quote], '\0' };
    if (end[0] != '"' && end[0] != '\'')
        bad(x, "an attribute without quotes");
    snprintf(seen[n], 32, "%.*s", (int)len, x->at);
    for (int i = 0; i < n; i++)
        if (streq(seen[i], seen[n]))
            bad(x, "an attribute twice");
    x->at += quote + 1;
    const char *value = x->at;
    character_data(x, end);
    size_t n_value = (size_t)(x->at - value);
    for (size_t i = 0; i + 3 <= n_value; i++)
        if (!strncmp(value + i, "nan", 3) || !strncmp(value + i, "inf", 3))
            bad(x, "a number that is none, before");
    if (*x->at++ != end[0])
        bad(x, "an attribute without end");
}

static void open_tag(struct xml *x)
{
    char seen[MOST_ATTRIBUTES][32];
    size_t len = name_length(x->at);
    if (len == 0 || len > 31 || x->depth == DEEPEST)
        bad(x, "no element");
    snprintf(x->open[x->depth++], 32, "%.*s", (int)len, x->at);
    x->at += len;
    for (int n = 0; isspace((unsigned char)*x->at); n++) {
        x->at += strspn(x->at, " \t\n");
        if (*x->at == '>' || *x->at == '/')
            break;
        attribute(x, seen, n);
    }
    if (x->at[0] == '/' && x->at[1] == '>') {
        x->depth--;
        x->at++;
    }
    if (*x->at++ != '>')
        bad(x, "a tag without end");
}

static void close_tag(struct xml *x)
{
    size_t len = name_length(x->at);
    if (x->depth == 0 || strlen(x->open[x->depth - 1]) != len
        || strncmp(x->open[x->depth - 1], x->at, len) != 0 || x->at[len] != '>')
        bad(x, "this does not close what is open");
    x->depth--;
    x->at += len + 1;
}

void svg_check(const char *text)
{
    struct xml x = { .text = text, .at = text };
    size_t offset;
    if (!utf8_valid(text, strlen(text), &offset))
        fail_msg("byte %d is no UTF-8", (int)offset);
    if (str_starts(text, "<?xml ") && strstr(text, "?>"))
        x.at = strstr(text, "?>") + 2;
    x.at += strspn(x.at, " \n");
    if (!str_starts(x.at, "<svg") || !strstr(x.at, "xmlns=\"http://www.w3.org/2000/svg\""))
        bad(&x, "no svg element");
    text = x.at;
    while (*x.at) {
        if (x.depth == 0 && x.at != text && !isspace((unsigned char)*x.at))
            bad(&x, "something behind the end");
        if (*x.at != '<') {
            character_data(&x, "<");
            continue;
        }
        x.at++;
        if (*x.at == '/') {
            x.at++;
            close_tag(&x);
        } else {
            open_tag(&x);
        }
    }
    if (x.depth != 0)
        bad(&x, "an element is not closed");
}
