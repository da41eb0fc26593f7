#include "app/cli/args.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/str.h"

const struct cmd_info args_cmd[CMD_COUNT] = {
    [CMD_SCREEN] = {"", "[OPERATOR | SESSION]", "open the screen", ""},
#define COMMAND(id, name, operands, summary, detail) \
    [CMD_##id] = {name, operands, summary, detail},
#include "app/cli/args.def"
};

const struct opt_info args_opt[OPT_COUNT] = {
#define OPTION(id, name, letter, operand, commands, help) \
    [OPT_##id] = {name, letter, operand, commands, help},
#include "app/cli/args.def"
};

static enum cmd find_cmd(const char *word)
{
    for (int i = CMD_SCREEN + 1; i < CMD_COUNT; i++)
        if (streq(args_cmd[i].name, word))
            return (enum cmd)i;
    return CMD_SCREEN;
}

static enum opt find_long(const char *name, size_t n)
{
    for (int i = 0; i < OPT_COUNT; i++)
        if (strlen(args_opt[i].name) == n && memcmp(args_opt[i].name, name, n) == 0)
            return (enum opt)i;
    return OPT_COUNT;
}

static enum opt find_letter(char letter)
{
    for (int i = 0; i < OPT_COUNT; i++)
        if (args_opt[i].letter == letter)
            return (enum opt)i;
    return OPT_COUNT;
}

static const char *cmd_title(enum cmd cmd)
{
    return cmd == CMD_SCREEN ? "the screen" : args_cmd[cmd].name;
}

/* Refuses an unknown option, the first n bytes of `word`; suggests a similar option of cmd. */
static bool unknown_option(enum cmd cmd, const char *word, size_t n, struct err *e)
{
    const char *candidate[OPT_COUNT];
    int count = 0;
    for (int i = 0; i < OPT_COUNT; i++)
        if (args_opt[i].commands & (1 << cmd))
            candidate[count++] = args_opt[i].name;
    char name[64];
    size_t dashes = strspn(word, "-");
    size_t keep = n - dashes < sizeof name - 1 ? n - dashes : sizeof name - 1;
    memcpy(name, word + dashes, keep);
    name[keep] = '\0';
    err_set(e, ERR_SYNTAX, "unknown option %.*s", (int)n, word);
    return err_near(e, name, candidate, count, "--%s", NULL);
}

static bool give(struct args *a, enum opt o, const char *value)
{
    vec_push(&a->given, (struct given){o, value});
    return true;
}

/* Whether `word` is a list of parts that all occur in the operand "[word,word,...]". */
static bool is_listed(const char *operand, const char *word)
{
    bool all = *word != '\0';
    for (; all && *word; word += *word == ',') {
        size_t n = strcspn(word, ",");
        const char *at = operand;
        bool found = false;
        while (*at && !found) {
            at += strspn(at, "[,]");
            size_t len = strcspn(at, ",]");
            found = n > 0 && len == n && memcmp(at, word, n) == 0;
            at += len;
        }
        all = found;
        word += n;
    }
    return all;
}

/* Whether `next` is the value of an option whose value is optional (operand in brackets). The
 * operand "[NAME.json]" takes words with that ending, "[word,word]" takes the listed words, and any
 * other operand takes a word that is not an option. */
static bool takes_next(const char *operand, const char *next)
{
    if (str_ends(operand, ".json]"))
        return str_ends(next, ".json");
    return strchr(operand, ',') ? is_listed(operand, next) : next[0] != '-';
}

/* Parses --name, --name=value and --name value. */
static bool parse_long(struct args *a, char **argv, int argc, int *i, struct err *e)
{
    const char *word = argv[*i], *equals = strchr(word, '=');
    size_t n = equals ? (size_t)(equals - word) : strlen(word);
    enum opt o = find_long(word + 2, n - 2);
    if (o == OPT_COUNT)
        return unknown_option(a->cmd, word, n, e);
    if (!args_opt[o].operand)
        return equals ? err_set(e, ERR_SYNTAX, "--%s takes no value", args_opt[o].name)
                      : give(a, o, "");
    if (equals)
        return give(a, o, equals + 1);
    if (args_opt[o].operand[0] == '[') {
        bool value = *i + 1 < argc && takes_next(args_opt[o].operand, argv[*i + 1]);
        *i += value;
        return give(a, o, value ? argv[*i] : "");
    }
    if (++*i == argc)
        return err_set(e, ERR_SYNTAX, "--%s needs a value: --%s %s", args_opt[o].name,
                       args_opt[o].name, args_opt[o].operand);
    return give(a, o, argv[*i]);
}

/* Parses -o FILE, -oFILE, -o=FILE and -CM (several flags). */
static bool parse_letters(struct args *a, char **argv, int argc, int *i, struct err *e)
{
    const char *word = argv[*i];
    for (const char *c = word + 1; *c; c++) {
        enum opt o = find_letter(*c);
        if (o == OPT_COUNT)
            return unknown_option(a->cmd, word, strlen(word), e);
        if (!args_opt[o].operand) {
            give(a, o, "");
            continue;
        }
        if (c[1])
            return give(a, o, c[1] == '=' ? c + 2 : c + 1);
        if (args_opt[o].operand[0] == '['
            && (*i + 1 == argc || !takes_next(args_opt[o].operand, argv[*i + 1])))
            return give(a, o, "");
        if (++*i == argc)
            return err_set(e, ERR_SYNTAX, "-%c needs a value: -%c %s", *c, *c,
                           args_opt[o].operand);
        return give(a, o, argv[*i]);
    }
    return true;
}

static void add_word(struct args *a, const char *word, bool options_over)
{
    if (a->cmd == CMD_SCREEN && a->word.len == 0 && !options_over) {
        a->cmd = find_cmd(word);
        if (a->cmd != CMD_SCREEN)
            return;
    }
    vec_push(&a->word, word);
}

static bool check_taken(const struct args *a, struct err *e)
{
    for (int i = 0; i < a->given.len; i++) {
        const struct opt_info *o = &args_opt[a->given.data[i].opt];
        if (!(o->commands & (1 << a->cmd)))
            return err_set(e, ERR_SYNTAX, "%s takes no --%s", cmd_title(a->cmd), o->name);
    }
    return true;
}

bool args_parse(int argc, char **argv, struct args *out, struct err *e)
{
    memset(out, 0, sizeof *out);
    bool options_over = false;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        bool ok = true;
        if (options_over || word[0] != '-' || !word[1])
            add_word(out, word, options_over);
        else if (streq(word, "--"))
            options_over = true;
        else if (word[1] == '-')
            ok = parse_long(out, argv, argc, &i, e);
        else
            ok = parse_letters(out, argv, argc, &i, e);
        if (!ok)
            return false;
    }
    return check_taken(out, e);
}

void args_free(struct args *a)
{
    vec_free(&a->word);
    vec_free(&a->given);
}

const char *args_joined(const struct args *a, enum opt o, struct str *out)
{
    for (int i = 0; i < a->given.len; i++)
        if (a->given.data[i].opt == o)
            str_printf(out, "%s%s", out->len ? "," : "", a->given.data[i].value);
    return out->len ? str_text(out) : NULL;
}

const char *args_value(const struct args *a, enum opt o)
{
    for (int i = a->given.len - 1; i >= 0; i--)
        if (a->given.data[i].opt == o)
            return a->given.data[i].value;
    return NULL;
}

bool args_has(const struct args *a, enum opt o)
{
    return args_value(a, o) != NULL;
}

static bool whole(const struct args *a, enum opt o, int64_t lo, int64_t hi, long long *out,
                  struct err *e)
{
    const char *text = args_value(a, o);
    return !text || str_to_int64(text, lo, hi, out)
        || err_set(e, ERR_RANGE, "--%s %s: expected a whole number from %lld to %lld",
                   args_opt[o].name, text, (long long)lo, (long long)hi);
}

bool args_int(const struct args *a, enum opt o, int lo, int hi, int *out, struct err *e)
{
    long long v = *out;
    bool ok = whole(a, o, lo, hi, &v, e);
    *out = (int)v;
    return ok;
}

bool args_seed(const struct args *a, int least, uint64_t *out, struct err *e)
{
    long long v = (long long)*out;
    bool ok = whole(a, OPT_SEED, least, INT64_MAX, &v, e);
    *out = (uint64_t)v;
    return ok;
}

bool args_baselines(const struct args *a, unsigned *out, struct err *e)
{
    const char *list = args_value(a, OPT_BASELINES);
    return !list || vendor_parse(list[0] ? list : "all", out, e);
}

bool args_double(const struct args *a, enum opt o, double lo, double hi, double *out,
                 struct err *e)
{
    const char *text = args_value(a, o);
    if (!text)
        return true;
    double v;
    if (!str_to_double(text, &v) || !isfinite(v) || v < lo || v > hi)
        return err_set(e, ERR_RANGE, "--%s %s: expected a number from %g to %g",
                       args_opt[o].name, text, lo, hi);
    *out = v;
    return true;
}

bool args_target(const struct args *a, const struct target **out, struct err *e)
{
    enum opt opt = args_has(a, OPT_TARGET) ? OPT_TARGET : OPT_ISA;
    if (!args_has(a, opt))
        return true;
    *out = target_find(args_value(a, opt), e);
    if (!*out || !(*out)->gpu || args_opt[OPT_TARGET].commands & 1 << a->cmd)
        return *out != NULL;
    err_set(e, ERR_ENV, "%s takes no target cuda yet", cmd_title(a->cmd));
    return err_fix(e, "tilescope run checks its kernels, and times them where a GPU is");
}

bool args_measure(const struct args *a, struct measure_opts *o, struct err *e)
{
    o->threads = 1;
    o->seed = 1;
    o->cold = args_has(a, OPT_COLD);
    o->huge_pages = args_has(a, OPT_HUGE_PAGES);
    o->compiler = args_value(a, OPT_COMPILER);
    return args_int(a, OPT_THREADS, 1, 1024, &o->threads, e) && args_seed(a, 0, &o->seed, e)
        && args_double(a, OPT_TIME, 0.001, 600, &o->time_s, e)
        && args_double(a, OPT_LIMIT, 0.01, 86400, &o->limit_s, e)
        && args_target(a, &o->target, e);
}
