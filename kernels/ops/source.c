/* Reads and prints the data of constants as words: values, or a tensor of a file. */
#include "kernels/ops/source.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/rng.h"

static const char *const words[] = { "value", "file", "tensor", "hash" };

bool source_is_word(const char *name)
{
    for (int i = 0; i < COUNT_OF(words); i++)
        if (streq(words[i], name))
            return true;
    return false;
}

uint64_t tensor_hash(const f32 *data, int64_t n)
{
    return hash_bytes(data, (uint64_t)n * sizeof *data, 0);
}

/* --- Values of parameters --------------------------------------------------------------------- */

/* Reads a float.  Refuses spellings that this program never prints, and numbers too large for
 * float32. */
static bool read_value(const char *text, f32 *out, struct err *e)
{
    char *end;
    const char *digits = text + (*text == '-');
    if (streq(digits, "inf") || streq(text, "nan")) {
        *out = *text == 'n' ? NAN : *text == '-' ? -INFINITY : INFINITY;
        return true;
    }
    *out = strtof(text, &end);
    if (!*text || *end || text[strspn(text, "0123456789+-.eE")]) {
        err_set(e, ERR_TYPE, "\"%.60s\" is not a number", text);
        return err_fix(e, "value= takes numbers separated by commas: value=8, value=0.5,-1e-5,inf");
    }
    if (isinf(*out))
        return err_set(e, ERR_RANGE, "%.60s is too large for a float32 (at most 3.40282347e+38)",
                       text);
    return true;
}

static bool take_values(struct arena *a, struct tensor_source *s, const char *text, size_t n,
                        struct err *e)
{
    char *copy = arena_strndup(a, text, n);
    int64_t count = 1;
    for (const char *c = copy; *c; c++)
        count += *c == ',';
    f32 *value = ARENA_ARRAY(a, f32, count);
    for (int64_t i = 0; i < count; i++) {
        char *end = copy + strcspn(copy, ",");
        *end = '\0';
        if (!read_value(copy, &value[i], e))
            return false;
        copy = end + 1;
    }
    s->value = value;
    s->n = count;
    return true;
}

/* Prints v with the fewest digits, from six to nine, that read back to the same float. */
static void print_value(struct str *out, f32 v)
{
    char text[32];
    int digits = 6;
    if (!isfinite(v)) {
        str_add(out, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
        return;
    }
    do
        snprintf(text, sizeof text, "%.*g", digits, (double)v);
    while (strtof(text, NULL) != v && digits++ < 9);
    str_add(out, text);
}

bool source_short(const f32 *data, int64_t n, struct tensor_source *out)
{
    bool alike = true;
    for (int64_t i = 1; i < n && alike; i++)
        alike = memcmp(&data[i], &data[0], sizeof *data) == 0;
    *out = (struct tensor_source){ .n = alike ? 1 : n, .value = data };
    return alike || n <= SOURCE_MAX_SHORT;
}

/* --- Names ------------------------------------------------------------------------------------ */

static int hex_digit(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Returns the n bytes at text with each %XX decoded.  Returns NULL when the name is empty, or a %
 * is followed by anything else or by 00. */
static char *decoded(struct arena *a, const char *text, size_t n)
{
    char *name = arena_strndup(a, text, n), *to = name;
    for (size_t i = 0; i < n; i++) {
        int hi = 0, lo = text[i];
        if (text[i] == '%') {
            hi = i + 2 < n ? hex_digit(text[i + 1]) : -1;
            lo = i + 2 < n ? hex_digit(text[i + 2]) : -1;
            i += 2;
            if (hi < 0 || lo < 0 || hi + lo == 0)
                return NULL;
        }
        *to++ = (char)(16 * hi + lo);
    }
    *to = '\0';
    return to > name ? name : NULL;
}

static void print_name(struct str *out, const char *name)
{
    for (; *name; name++)
        if (isascii((unsigned char)*name) && (isalnum((unsigned char)*name) ||
                                              strchr("_-./+@:,", *name)))
            str_add_char(out, *name);
        else
            str_printf(out, "%%%02x", (unsigned)(unsigned char)*name);
}

/* --- Words of a statement --------------------------------------------------------------------- */

static bool take_name(struct arena *a, const char **out, const char *word, const char *text,
                      size_t n, struct err *e)
{
    *out = decoded(a, text, n);
    if (*out)
        return true;
    err_set(e, ERR_SYNTAX, "%s= is empty, or has a %% without two hexadecimal digits after it",
            word);
    return err_fix(e, "write %%25 for %% itself, and %%20 for a blank");
}

static bool take_hash(struct source_words *w, const char *text, size_t n, struct err *e)
{
    w->has_hash = n == 16;
    w->s.hash = 0;
    for (size_t i = 0; i < n && w->has_hash; i++) {
        w->has_hash = hex_digit(text[i]) >= 0;
        w->s.hash = w->s.hash << 4 | (uint64_t)(hex_digit(text[i]) & 15);
    }
    if (w->has_hash)
        return true;
    err_set(e, ERR_SYNTAX, "hash= takes 16 hexadecimal digits");
    return err_fix(e, "let tilescope import write the constants of a model");
}

bool source_take(struct arena *a, struct source_words *w, const char *name, const char *value,
                 size_t n, struct err *e)
{
    bool have[] = { w->s.n > 0, w->s.file, w->s.tensor, w->has_hash };
    for (int i = 0; i < COUNT_OF(words); i++)
        if (have[i] && streq(words[i], name))
            return err_set(e, ERR_SYNTAX, "%s= is given twice", name);
    if (streq(name, "value"))
        return take_values(a, &w->s, value, n, e);
    if (streq(name, "hash"))
        return take_hash(w, value, n, e);
    return take_name(a, streq(name, "file") ? &w->s.file : &w->s.tensor, name, value, n, e);
}

bool source_finish(struct arena *a, const struct source_words *w, const char *name, int64_t elems,
                   const struct tensor_source **out, struct err *e)
{
    int in_file = !!w->s.file + !!w->s.tensor + w->has_hash;
    if (w->s.n > 0 && in_file > 0)
        return err_set(e, ERR_SYNTAX, "%s has both value= and file=; only one can give its data",
                       name);
    if (in_file % 3 != 0) {
        err_set(e, ERR_SYNTAX, "%s: file=, tensor= and hash= go together; %s= is missing", name,
                !w->s.file ? "file" : !w->s.tensor ? "tensor" : "hash");
        return err_fix(e, "let tilescope import write the constants of a model");
    }
    if (w->s.n > 1 && w->s.n != elems) {
        err_set(e, ERR_RANGE, "%s has %lld elements, but value= has %lld numbers", name,
                (long long)elems, (long long)w->s.n);
        return err_fix(e, "give one number for all elements, or one for each");
    }
    *out = w->s.n > 0 || in_file > 0 ? arena_copy(a, &w->s, sizeof w->s) : NULL;
    return true;
}

void source_print(struct str *out, const struct tensor_source *s)
{
    for (int64_t i = 0; i < s->n; i++) {
        str_add(out, i ? "," : " value=");
        print_value(out, s->value[i]);
    }
    if (s->n > 0)
        return;
    str_add(out, " file=");
    print_name(out, s->file);
    str_add(out, " tensor=");
    print_name(out, s->tensor);
    str_printf(out, " hash=%016llx", (unsigned long long)s->hash);
}

/* --- Text of an operator ---------------------------------------------------------------------- */

/* Whether s begins with "NAME = const ". */
static bool is_const(const char *s)
{
    s += strspn(s, " \t\r");
    while (isalnum((unsigned char)*s) || *s == '_')
        s++;
    s += strspn(s, " \t");
    if (*s != '=')
        return false;
    s += 1 + strspn(s + 1, " \t");
    return strncasecmp(s, "const", 5) == 0 && (s[5] == ' ' || s[5] == '\t');
}

static void map_word(struct str *out, const char *word, size_t n, source_map_fn *map, void *ctx)
{
    struct arena *a = arena_new();
    struct str path = { 0 };
    const char *name = n > 5 && str_starts(word, "file=") ? decoded(a, word + 5, n - 5) : NULL;
    if (name) {
        map(ctx, name, &path);
        str_add(out, "file=");
        print_name(out, str_text(&path));
    } else {
        str_add_n(out, word, n);
    }
    str_free(&path);
    arena_free(a);
}

/* Copies the `const` statement in the n bytes at s, and replaces the path after file=. */
static void map_statement(struct str *out, const char *s, size_t n, source_map_fn *map, void *ctx)
{
    const char *end = s + n;
    while (s < end) {
        size_t blank = strspn(s, " \t\r"), word = strcspn(s + blank, " \t\r;\n");
        str_add_n(out, s, blank);
        map_word(out, s + blank, word, map, ctx);
        s += blank + word;
    }
}

void spec_map_files(struct str *out, const char *spec, source_map_fn *map, void *ctx)
{
    while (*spec) {
        size_t n = strcspn(spec, ";\n");
        if (is_const(spec))
            map_statement(out, spec, n, map, ctx);
        else
            str_add_n(out, spec, n);
        spec += n;
        if (*spec)
            str_add_char(out, *spec++);
    }
}

static int count_statements(const char *spec)
{
    int n = 1;
    for (const char *s = spec; (s = strstr(s, "; ")); s++)
        n++;
    return n;
}

/* Prints a statement.  Of a constant it leaves out tensor= and hash=, and all but the first few
 * values. */
static void print_brief(struct str *out, const char *s, size_t n)
{
    enum { FEW = 40 };
    const char *end = s + n;
    bool is_data = is_const(s);
    while (s < end) {
        size_t blank = strspn(s, " "), word = strcspn(s + blank, " ;");
        const char *at = s + blank;
        bool cut = is_data && str_starts(at, "value=") && word > FEW;
        if (!is_data || !(str_starts(at, "tensor=") || str_starts(at, "hash="))) {
            str_add_n(out, s, blank + (cut ? FEW : word));
            str_add(out, cut ? "..." : "");
        }
        s = at + word;
    }
}

void spec_print_brief(struct str *out, const char *spec)
{
    enum { HEAD = 6, TAIL = 2 };
    int n = count_statements(spec);
    for (int i = 0; *spec; i++) {
        size_t len = strcspn(spec, ";");
        bool shown = n <= HEAD + TAIL + 1 || i < HEAD || i >= n - TAIL;
        str_add(out, shown && i ? "; " : "");
        if (shown)
            print_brief(out, spec + strspn(spec, " "), len - strspn(spec, " "));
        else if (i == HEAD)
            str_printf(out, "; ... (%d more)", n - HEAD - TAIL);
        spec += len + (spec[len] == ';');
    }
}
