#include "app/model/tune_words.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "explorer/tune/strategies.h"

#define MOST_TRIALS 10000000
#define MOST_SECONDS 10000000
#define EXAMPLE "tune 300 time=60 strategy=evo seed=2 levels=2 pin=layout fresh"

static bool read_number(const char *word, const char *value, long long lo, long long hi,
                        long long *n, struct err *e)
{
    if (str_to_int64(value, lo, hi, n))
        return true;
    err_set(e, ERR_RANGE, "tune %.40s: expected a whole number from %lld to %lld", word, lo, hi);
    return err_fix(e, EXAMPLE);
}

/* The job reads the texts on its own thread, when the line is gone. */
static bool read_pin(struct tuning_opts *o, const char *value, struct err *e)
{
    static const char *const pins[] = { "layout", "all-layouts" };
    for (int i = 0; i < COUNT_OF(pins); i++)
        if (streq(pins[i], value)) {
            o->pin = &pins[i];
            o->n_pins = 1;
            return true;
        }
    err_set(e, ERR_RANGE, "pin is layout or all-layouts");
    return err_fix(e, "single steps only with `tilescope tune --pin`");
}

static bool read_strategy(struct tuning_opts *o, const char *value, struct err *e)
{
    const struct strategy *s = strategy_find(value, e);
    if (s)
        o->strategy = s->name;
    return s != NULL;
}

static bool read_choice(struct tuning_opts *o, const char *word, const char *value, struct err *e)
{
    long long n = 0;
    bool ok = true;
    if (str_starts(word, "seed=")) {
        ok = read_number(word, value, 0, INT64_MAX, &n, e);
        o->seed_given = true;
        o->seed = (uint64_t)n;
    } else if (str_starts(word, "levels=")) {
        ok = read_number(word, value, 1, 2, &n, e);
        o->levels = (int)n;
    } else if (str_starts(word, "time=")) {
        ok = read_number(word, value, 1, MOST_SECONDS, &n, e);
        o->time_s = (double)n;
    } else if (str_starts(word, "strategy=")) {
        ok = read_strategy(o, value, e);
    } else if (str_starts(word, "pin=")) {
        ok = read_pin(o, value, e);
    } else {
        err_set(e, ERR_RANGE, "tune does not know \"%.40s\"", word);
        ok = err_fix(e, EXAMPLE);
    }
    return ok;
}

static bool read_word(struct tuning_opts *o, const char *word, struct err *e)
{
    const char *value = strchr(word, '=');
    bool sign = word[0] == '-' || word[0] == '+';
    if (isdigit((unsigned char)word[sign ? 1 : 0])) {
        long long n = 0;
        bool ok = read_number(word, word, 1, MOST_TRIALS, &n, e);
        o->budget = (int)n;
        return ok;
    }
    if (streq(word, "fresh")) {
        o->fresh = true;
        o->resume = false;
        return true;
    }
    return read_choice(o, word, value ? value + 1 : "", e);
}

bool tune_words(const char *arg, struct tuning_opts *o, struct err *e)
{
    char copy[256], *rest = copy;
    snprintf(copy, sizeof copy, "%s", arg);
    for (char *word = strsep(&rest, " "); word; word = strsep(&rest, " "))
        if (word[0] && !read_word(o, word, e))
            return false;
    return true;
}
