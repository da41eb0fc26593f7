/* Parses step lines by the table step.def. Its syntax column says which words and options a verb
 * takes, so a new step needs a row in that table and no code here.
 *
 * Only the form is checked here.  Whether a word is a tensor, a dimension or a legal factor is
 * checked by the program to which the step is applied. Words keep their columns, so that the errors
 * of the program can point at them. */
#include "kernels/program/step.h"

#include <ctype.h>
#include <string.h>
#include "kernels/base/str.h"

#define LINE_MAX_BYTES 4096
#define SYNTAX_MAX 16                     /* most words in a syntax column */

static const struct step_info infos[] = {
#define STEP(id, room, verb, syntax, help) [STEP_##id] = { #id, room, verb, syntax, help },
#include "kernels/program/step.def"
#undef STEP
};

const struct step_info *step_info(enum step_kind k)
{
    return &infos[k];
}

/* --- Words of a step -------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool source_error(struct err *e, const char *line, int col, int len)
{
    err_where(e, NULL, 0, col, line);
    return err_at(e, col, len);
}

/* Returns the length of a line without its line end and trailing blanks. */
static int text_end(const char *line)
{
    int n = (int)strlen(line);
    while (n > 0 && (is_blank(line[n - 1]) || line[n - 1] == '\n' || line[n - 1] == '\r'))
        n--;
    return n;
}

/* Returns the end of the word that starts at i, or -1 with *e set. */
static int word_end(const char *line, int i, int end, struct err *e)
{
    if (line[i] == '"') {
        const char *close = memchr(line + i + 1, '"', (size_t)(end - i - 1));
        if (!close) {
            err_set(e, ERR_SYNTAX, "the closing quote is missing");
            source_error(e, line, i + 1, end - i);
            return -1;
        }
        int after = (int)(close - line) + 1;
        if (after < end && !is_blank(line[after]) && line[after] != '#') {
            err_set(e, ERR_SYNTAX, line[after] == '"' ? "one quote too many"
                                   : "a blank is missing after the closing quote");
            source_error(e, line, after + 1, 1);
            return -1;
        }
        return after;
    }
    int at = i;
    while (at < end && !is_blank(line[at]) && line[at] != '#' && line[at] != '"')
        at++;
    if (at < end && line[at] == '"') {
        err_set(e, ERR_SYNTAX, "there is a quote in the middle of a word");
        err_fix(e, "put a blank before it, or quote the whole word");
        source_error(e, line, at + 1, 1);
        return -1;
    }
    return at;
}

static bool check_line(const char *line, int end, struct err *e)
{
    if (end > LINE_MAX_BYTES) {
        err_set(e, ERR_SYNTAX, "the line has %d bytes; at most %d are allowed", end,
                LINE_MAX_BYTES);
        return source_error(e, line, 1, 1);
    }
    for (int i = 0; i < end; i++) {
        unsigned char c = (unsigned char)line[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f) {
            err_set(e, ERR_SYNTAX, c == '\n' || c == '\r'
                                       ? "the step contains a line break"
                                       : "the line contains a control character (0x%02x)", c);
            return source_error(e, line, i + 1, 1);
        }
    }
    return true;
}

static struct step_word word_of(struct arena *a, const char *line, int from, int to)
{
    bool quoted = line[from] == '"';
    int strip = quoted ? 1 : 0;
    return (struct step_word){
        .text = arena_strndup(a, line + from + strip, (size_t)(to - from - 2 * strip)),
        .col = from + 1, .len = to - from, .quoted = quoted,
    };
}

bool step_words(struct arena *a, const char *line, const struct step_word **out, int *n,
                struct err *e)
{
    int end = text_end(line), count = 0;
    if (!check_line(line, end, e))
        return false;
    struct step_word *word = ARENA_ARRAY(a, struct step_word, end / 2 + 1);
    for (int i = 0; i < end;) {
        if (is_blank(line[i])) {
            i++;
            continue;
        }
        if (line[i] == '#')
            break;
        int to = word_end(line, i, end, e);
        if (to < 0)
            return false;
        word[count++] = word_of(a, line, i, to);
        i = to;
    }
    *out = word;
    *n = count;
    return true;
}

/* --- The syntax column of step.def ------------------------------------------------------------ */

/* A parsed syntax column, for example "T D F1 F2 ... [allow_pad=1]": the positional words after T,
 * and the options. */
struct syntax {
    int n_min, n_max;  /* fewest and most positional words after the target; n_max -1: no limit */
    const char *names[SYNTAX_MAX];        /* names of the positional words, for errors */
    int n_names;
    /* is_name: whether the value is a word and not a number. choices: the allowed words, as in
     * "local|shared"; NULL: any value */
    struct { const char *key, *choices; bool needed, is_name; } opt[SYNTAX_MAX];
    int n_opts;
};

static void syntax_word(struct arena *a, struct syntax *s, const char *word, bool optional)
{
    const char *eq = strchr(word, '=');
    if (eq) {
        s->opt[s->n_opts].key = arena_strndup(a, word, (size_t)(eq - word));
        s->opt[s->n_opts].needed = !optional;
        bool word_list = islower((unsigned char)eq[1]);
        s->opt[s->n_opts].choices = word_list ? arena_strdup(a, eq + 1) : NULL;
        s->opt[s->n_opts++].is_name = word_list || streq(eq + 1, "D");
    } else if (streq(word, "...")) {
        s->n_max = -1;
        if (!optional && s->names[s->n_names - 1][0] == 'F')
            s->n_min--;  /* a single factor F is allowed: it means the factors N/F and F */
    } else {
        s->names[s->n_names++] = word;
        s->n_min += !optional;
        s->n_max += s->n_max >= 0;
    }
}

static struct syntax syntax_of(struct arena *a, enum step_kind kind)
{
    struct syntax s = {0};
    bool optional = false;
    char *text = arena_strdup(a, infos[kind].syntax), *rest = NULL;
    strtok_r(text, " ", &rest);           /* skips the target */
    for (char *w = strtok_r(NULL, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
        if (*w == '[') {
            optional = true;
            w++;
        }
        size_t len = strlen(w);
        bool closes = w[len - 1] == ']';
        if (closes)
            w[len - 1] = '\0';
        syntax_word(a, &s, w, optional);
        if (closes)
            optional = false;
    }
    return s;
}

/* --- Parsing ---------------------------------------------------------------------------------- */

struct parser {
    struct arena *a;
    const char *line;
    const struct step_word *word;
    int n;
    struct err *e;
};

static bool fails_at_word(const struct parser *p, int i)
{
    return source_error(p->e, p->line, p->word[i].col, p->word[i].len);
}

/* Sets the position of the error to the place after the last word. Returns false. */
static bool fails_at_end(const struct parser *p)
{
    const struct step_word *last = &p->word[p->n - 1];
    return source_error(p->e, p->line, last->col + last->len, 1);
}

static void fix_usage(const struct parser *p, enum step_kind kind)
{
    const struct step_info *i = &infos[kind];
    bool has_verb = i->verb[0] != '\0';
    err_fix(p->e, "%s%s%s %s%s%s", i->room, has_verb ? " " : "", i->verb, i->syntax,
            has_verb ? "" : ": ", has_verb ? "" : i->help);
}

static void list_verbs(struct str *out, const char *room)
{
    for (int k = 0; k < STEP_KIND_COUNT; k++)
        if (streq(infos[k].room, room))
            str_printf(out, "%s%s", out->len ? ", " : "", infos[k].verb);
}

static bool unknown_verb(const struct parser *p, const char *room)
{
    const char *verbs[STEP_KIND_COUNT];
    int n = 0;
    for (int k = 0; k < STEP_KIND_COUNT; k++)
        if (streq(infos[k].room, room))
            verbs[n++] = infos[k].verb;
    struct str list = {0};
    list_verbs(&list, room);
    if (p->n < 2) {
        err_set(p->e, ERR_SYNTAX, "\"%s\" is not a whole step: the verb is missing", room);
        err_fix(p->e, "%s %s", room, str_text(&list));
        str_free(&list);
        return fails_at_end(p);
    }
    const char *near = str_nearest(p->word[1].text, verbs, n);
    err_set(p->e, ERR_NAME, "there is no %s step \"%s\"", room, p->word[1].text);
    if (near)
        err_fix(p->e, "did you mean \"%s %s\"? There are: %s", room, near, str_text(&list));
    else
        err_fix(p->e, "there are: %s", str_text(&list));
    str_free(&list);
    return fails_at_word(p, 1);
}

/* Sets the error for a first word that is not "layout", "loop", "algorithm" or "set".  If the word
 * is a verb ("split Conv O 4"), the fix has the missing first word. Returns false. */
static bool unknown_room(const struct parser *p)
{
    static const char *const rooms[] = { "layout", "loop", "algorithm", "set" };
    const char *word = p->word[0].text;
    struct str fix = {0};
    err_set(p->e, ERR_NAME, "there is no step \"%s\"", word);
    for (int k = 0; k < STEP_KIND_COUNT; k++)
        if (infos[k].verb[0] && streq(infos[k].verb, word))
            str_printf(&fix, "%s\"%s %s\"", fix.len ? " or " : "did you mean ",
                       infos[k].room, word);
    const char *near = str_nearest(word, rooms, COUNT_OF(rooms));
    if (!fix.len && near)
        str_printf(&fix, "did you mean \"%s\"", near);
    if (fix.len)
        str_add(&fix, "? ");
    str_add(&fix, "A step begins with layout, loop, algorithm or set");
    err_fix(p->e, "%s", str_text(&fix));
    str_free(&fix);
    return fails_at_word(p, 0);
}

static bool find_kind(const struct parser *p, enum step_kind *out)
{
    bool room = false;
    const char *first = p->word[0].text, *second = p->n > 1 ? p->word[1].text : "";
    for (int k = 0; k < STEP_KIND_COUNT; k++) {
        if (!streq(infos[k].room, first))
            continue;
        room = true;
        if (infos[k].verb[0] == '\0' || streq(infos[k].verb, second)) {
            *out = (enum step_kind)k;
            return true;
        }
    }
    return room ? unknown_verb(p, first) : unknown_room(p);
}

static int find_key(const struct syntax *sy, const char *key)
{
    for (int i = 0; i < sy->n_opts; i++)
        if (streq(sy->opt[i].key, key))
            return i;
    return -1;
}

static bool unknown_key(const struct parser *p, const struct syntax *sy, enum step_kind kind, int i,
                        const char *key)
{
    const char *keys[SYNTAX_MAX];
    for (int j = 0; j < sy->n_opts; j++)
        keys[j] = sy->opt[j].key;
    const char *near = str_nearest(key, keys, sy->n_opts);
    err_set(p->e, ERR_NAME, "%s%s%s has no option \"%s\"", infos[kind].room,
            infos[kind].verb[0] ? " " : "", infos[kind].verb, key);
    if (near)
        err_fix(p->e, "did you mean \"%s=\"?", near);
    else
        fix_usage(p, kind);
    return source_error(p->e, p->line, p->word[i].col, (int)strlen(key));
}

/* Whether value is one of "local|shared". */
static bool is_choice(const char *choices, const char *value)
{
    size_t n = strlen(value);
    for (const char *c = choices; c; c = strchr(c, '|'), c = c ? c + 1 : NULL)
        if (strncmp(c, value, n) == 0 && (c[n] == '\0' || c[n] == '|'))
            return true;
    return false;
}

/* Parses "key=value" at word i. */
static bool parse_option(const struct parser *p, const struct syntax *sy, struct step *s,
                         struct step_opt *opt, int i)
{
    const struct step_word *w = &p->word[i];
    const char *eq = strchr(w->text, '=');
    int key_len = (int)(eq - w->text), value_col = w->col + key_len + 1;
    char *key = arena_strndup(p->a, w->text, (size_t)key_len);
    int known = find_key(sy, key);
    if (known < 0)
        return unknown_key(p, sy, s->kind, i, key);
    for (int j = 0; j < s->n_opts; j++)
        if (streq(opt[j].key, key)) {
            err_set(p->e, ERR_SYNTAX, "\"%s=\" is given twice", key);
            return fails_at_word(p, i);
        }
    long long value = 0;
    if (eq[1] == '\0') {
        err_set(p->e, ERR_SYNTAX, "\"%s=\" has no value", key);
        fix_usage(p, s->kind);
        return source_error(p->e, p->line, value_col, 1);
    }
    if (!sy->opt[known].is_name && !str_to_int64(eq + 1, INT64_MIN, INT64_MAX, &value)) {
        bool whole = str_is_whole(eq + 1);
        err_set(p->e, whole ? ERR_RANGE : ERR_TYPE, whole ? "\"%s\" is not between -2^63 and 2^63"
                                                          : "\"%s\" is not an integer", eq + 1);
        fix_usage(p, s->kind);
        return source_error(p->e, p->line, value_col, w->len - key_len - 1);
    }
    if (sy->opt[known].choices && !is_choice(sy->opt[known].choices, eq + 1)) {
        err_set(p->e, ERR_NAME, "%s=%s: there is no such %s", key, eq + 1, key);
        err_fix(p->e, "%s=%s", key, sy->opt[known].choices);
        return source_error(p->e, p->line, value_col, w->len - key_len - 1);
    }
    opt[s->n_opts++] = (struct step_opt){
        .key = key, .value = value, .text = arena_strdup(p->a, eq + 1),
        .col = w->col, .len = w->len,
    };
    return true;
}

/* Parses the notation as one argument: all words after the target, with or without quotes. */
static bool parse_notation(const struct parser *p, struct step *s, struct step_word *arg, int first)
{
    const struct step_word *from = &p->word[first], *to = &p->word[p->n - 1];
    for (int i = first; i < p->n; i++)
        if (p->word[i].quoted && p->n > first + 1) {
            err_set(p->e, ERR_SYNTAX, "quotes must enclose the whole notation, or be left out");
            fix_usage(p, s->kind);
            return fails_at_word(p, i == first ? first + 1 : i);
        }
    arg[0] = *from;
    if (!from->quoted) {
        arg[0].len = to->col + to->len - from->col;
        arg[0].text = arena_strndup(p->a, p->line + from->col - 1, (size_t)arg[0].len);
    }
    s->n_args = 1;
    return true;
}

static bool parse_words(const struct parser *p, const struct syntax *sy, struct step *s,
                        struct step_word *arg, struct step_opt *opt, int first)
{
    for (int i = first; i < p->n; i++) {
        if (p->word[i].quoted) {
            err_set(p->e, ERR_SYNTAX, "only the notation of \"layout set\" is quoted");
            if (s->kind == STEP_SET)
                err_fix(p->e, "layout %s", p->line + strspn(p->line, " "));
            return fails_at_word(p, i);
        }
        if (strchr(p->word[i].text, '=')) {
            if (!parse_option(p, sy, s, opt, i))
                return false;
            continue;
        }
        if (sy->n_max >= 0 && s->n_args == sy->n_max) {
            err_set(p->e, ERR_SYNTAX, "one word too many: \"%s\"", p->word[i].text);
            size_t n;                     /* the help of `set` names all settings */
            if (s->kind == STEP_SET && !str_find_name(infos[STEP_SET].help, s->target, "", &n))
                err_fix(p->e, "there is no setting %s; a layout is set by: layout set %s \"%s\"",
                        s->target, s->target, p->line + p->word[first].col - 1);
            else
                fix_usage(p, s->kind);
            return fails_at_word(p, i);
        }
        arg[s->n_args++] = p->word[i];
    }
    return true;
}

/* Returns the meaning of a word in the syntax column of step *i, for errors: "a factor" for F1. */
static const char *noun_of(const struct step_info *i, const char *name)
{
    bool loop = streq(i->room, "loop");
    if (streq(name, "D2"))
        return loop ? "the name of another loop" : "the name of another dimension";
    if (name[0] == 'D')
        return loop ? "the name of a loop" : "the name of a dimension";
    return name[0] == 'F' ? "a factor" : name[0] == 'T' ? "the name of a tensor" : name;
}

static bool check_complete(const struct parser *p, const struct syntax *sy, const struct step *s)
{
    if (s->n_args < sy->n_min) {
        err_set(p->e, ERR_SYNTAX, "%s is missing", noun_of(&infos[s->kind], sy->names[s->n_args]));
        fix_usage(p, s->kind);
        return fails_at_end(p);
    }
    for (int i = 0; i < sy->n_opts; i++) {
        bool given = false;
        for (int j = 0; j < s->n_opts; j++)
            given |= streq(s->opt[j].key, sy->opt[i].key);
        if (sy->opt[i].needed && !given) {
            err_set(p->e, ERR_SYNTAX, "%s= is missing", sy->opt[i].key);
            fix_usage(p, s->kind);
            return fails_at_end(p);
        }
    }
    return true;
}

/* --- Printing --------------------------------------------------------------------------------- */

static void add_collapsed(struct str *out, const char *text)
{
    bool gap = false, any = false;
    for (const char *c = text; *c; c++) {
        if (is_blank(*c)) {
            gap = any;
            continue;
        }
        if (gap)
            str_add_char(out, ' ');
        str_add_char(out, *c);
        gap = false;
        any = true;
    }
}

static void add_option(struct str *out, const struct step_opt *o, bool is_name)
{
    if (is_name)
        str_printf(out, " %s=%s", o->key, o->text);
    else
        str_printf(out, " %s=%lld", o->key, (long long)o->value);
}

/* Returns the canonical text: positional words as typed, then the options in the order of the
 * syntax column. */
static const char *canonical(struct arena *a, const struct step *s, const struct syntax *sy)
{
    struct str out = {0};
    const struct step_info *info = &infos[s->kind];
    str_printf(&out, "%s%s%s %s", info->room, info->verb[0] ? " " : "", info->verb, s->target);
    for (int i = 0; i < s->n_args; i++) {
        bool notation = s->kind == STEP_LAYOUT_SET;
        str_add(&out, notation ? " \"" : " ");
        add_collapsed(&out, s->arg[i].text);
        str_add(&out, notation ? "\"" : "");
    }
    for (int i = 0; i < sy->n_opts; i++)
        for (int j = 0; j < s->n_opts; j++)
            if (streq(s->opt[j].key, sy->opt[i].key))
                add_option(&out, &s->opt[j], sy->opt[i].is_name);
    const char *text = arena_strdup(a, str_text(&out));
    str_free(&out);
    return text;
}

static bool parse_target(const struct parser *p, struct step *s, int first)
{
    bool is_set = s->kind == STEP_SET;
    if (p->n <= first) {
        err_set(p->e, ERR_SYNTAX, "%s is missing", is_set ? "KEY" : "the tensor T");
        fix_usage(p, s->kind);
        return fails_at_end(p);
    }
    const struct step_word *w = &p->word[first];
    if (w->quoted || strchr(w->text, '=')) {
        err_set(p->e, ERR_SYNTAX, "%s expected, not \"%s\"",
                is_set ? "a key" : "the name of a tensor", w->text);
        fix_usage(p, s->kind);
        return fails_at_word(p, first);
    }
    s->target = w->text;
    s->target_col = w->col;
    return true;
}

bool step_parse(struct arena *a, const char *line, const struct step **out, struct err *e)
{
    struct parser p = { .a = a, .line = line, .e = e };
    if (!step_words(a, line, &p.word, &p.n, e))
        return false;
    if (p.n == 0) {
        err_set(e, ERR_SYNTAX, "the step is empty");
        return source_error(e, line, 1, 1);
    }
    struct step *s = ARENA_NEW(a, struct step);
    if (!find_kind(&p, &s->kind))
        return false;
    int first = infos[s->kind].verb[0] ? 2 : 1;
    if (!parse_target(&p, s, first))
        return false;
    struct syntax sy = syntax_of(a, s->kind);
    struct step_word *arg = ARENA_ARRAY(a, struct step_word, p.n);
    struct step_opt *opt = ARENA_ARRAY(a, struct step_opt, p.n);
    s->arg = arg;
    s->opt = opt;
    bool notation = s->kind == STEP_LAYOUT_SET && p.n > first + 1;
    bool ok = notation ? parse_notation(&p, s, arg, first + 1)
                       : parse_words(&p, &sy, s, arg, opt, first + 1);
    if (!ok || !check_complete(&p, &sy, s))
        return false;
    s->text = canonical(a, s, &sy);
    *out = s;
    return true;
}
