#include "profile/sim/cache_config.h"

#include "kernels/base/arena.h"
#include "kernels/base/number.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define MAX_LINES ((int64_t)1 << 26)
#define MAX_SIZE ((int64_t)1 << 40)
#define MAX_CONFIRM 16
#define PLRU_MOST_WAYS 64                 /* the bits of a tree are one uint64_t */

const char *const cache_replace_name[REPLACE_COUNT] = { "lru", "plru", "random" };
const char *const cache_prefetch_name[PREFETCH_COUNT] = { "none", "next", "lines", "stride" };
const struct cache_preset cache_preset[] = {
#define PRESET(name, text, what) { name, text, what },
#include "profile/sim/presets.def"
};
const int cache_preset_count = COUNT_OF(cache_preset);

/* --- One level -------------------------------------------------------------------------------- */

bool cache_geometry_check(const struct cache_geometry *g, struct err *e)
{
    if (!is_power_of_two(g->line_bytes) || g->line_bytes < 4 || g->line_bytes > 4096)
        return err_set(e, ERR_RANGE,
                       "a cache line of %d bytes is not possible: it must be a power of two from "
                       "4 to 4096",
                       g->line_bytes);
    if (g->ways < 1)
        return err_set(e, ERR_RANGE, "a cache cannot have %d ways; it needs at least 1", g->ways);
    if (g->size_bytes < 1)
        return err_set(e, ERR_RANGE, "a cache cannot have %lld bytes", (long long)g->size_bytes);
    int64_t set_bytes = (int64_t)g->ways * g->line_bytes;
    if (g->size_bytes % set_bytes != 0) {
        err_set(e, ERR_RANGE,
                "a cache of %lld bytes cannot be divided into sets of %d ways x %d bytes",
                (long long)g->size_bytes, g->ways, g->line_bytes);
        int64_t near = g->size_bytes / set_bytes * set_bytes;
        return err_fix(e, "use a size that is a multiple of %lld, like %lld", (long long)set_bytes,
                       (long long)(near > 0 ? near : set_bytes));
    }
    if (g->size_bytes / g->line_bytes > MAX_LINES)
        return err_set(e, ERR_RANGE, "a cache of %lld lines is more than can be simulated (%lld)",
                       (long long)(g->size_bytes / g->line_bytes), (long long)MAX_LINES);
    return true;
}

/* Reads a number and returns the text after it; NULL: there is no number, or it is too large.
 * units: whether a K, M or G may follow. */
static const char *take_number(const char *p, bool units, int64_t *out)
{
    static const char letters[] = "kmg";
    int64_t n = 0, most = MAX_SIZE;
    if (!isdigit((unsigned char)*p))
        return NULL;
    for (; isdigit((unsigned char)*p); p++) {
        n = 10 * n + (*p - '0');
        if (n > most)
            return NULL;
    }
    const char *unit = units && *p ? strchr(letters, tolower((unsigned char)*p)) : NULL;
    int shift = unit ? 10 * (int)(unit - letters + 1) : 0;
    if (n > most >> shift)
        return NULL;
    *out = n << shift;
    return p + (unit != NULL);
}

/* Reads SIZE/WAYS/LINE at the beginning of text. Returns the text after it, or NULL. */
static const char *take_geometry(const char *text, struct cache_geometry *g)
{
    int64_t part[3] = {0};
    const char *p = text;
    for (int i = 0; p && i < 3; i++) {
        p = take_number(p, i == 0, &part[i]);
        if (p && i < 2)
            p = *p == '/' ? p + 1 : NULL;
    }
    if (!p || part[1] > INT32_MAX || part[2] > INT32_MAX)
        return NULL;
    *g = (struct cache_geometry){ part[0], (int)part[1], (int)part[2] };
    return p;
}

bool cache_geometry_parse(const char *text, struct cache_geometry *out, struct err *e)
{
    struct cache_geometry g;
    const char *end = take_geometry(text, &g);
    if (!end || *end) {
        err_set(e, ERR_SYNTAX, "\"%.64s\" is not a cache geometry", text);
        return err_fix(e, "write SIZE/WAYS/LINE, like 32K/8/64");
    }
    if (!cache_geometry_check(&g, e))
        return false;
    *out = g;
    return true;
}

void cache_geometry_print(struct str *out, const struct cache_geometry *g)
{
    static const char unit[] = "KMG";
    int64_t size = g->size_bytes;
    int u = -1;
    while (u < 2 && size > 0 && size % 1024 == 0) {
        size /= 1024;
        u++;
    }
    str_printf(out, "%lld", (long long)size);
    if (u >= 0)
        str_add_char(out, unit[u]);
    str_printf(out, "/%d/%d", g->ways, g->line_bytes);
}

/* --- The whole -------------------------------------------------------------------------------- */

bool cache_config_check(const struct cache_config *c, struct err *e)
{
    if (c->n_levels < 1 || c->n_levels > CACHE_LEVELS)
        return err_set(e, ERR_RANGE, "%d cache levels cannot be simulated; 1 to %d can",
                       c->n_levels,
                       CACHE_LEVELS);
    for (int i = 0; i < c->n_levels; i++) {
        const struct cache_level *v = &c->level[i];
        if (!cache_geometry_check(&v->geometry, e))
            return false;
        bool tree = is_power_of_two(v->geometry.ways) && v->geometry.ways <= PLRU_MOST_WAYS;
        if (v->replace == REPLACE_PLRU && !tree) {
            err_set(e, ERR_RANGE, "L%d has %d ways: tree-PLRU needs a power of two, at most %d",
                    i + 1, v->geometry.ways, PLRU_MOST_WAYS);
            return err_fix(e, "use lru, or another number of ways");
        }
        if (v->geometry.line_bytes != c->level[0].geometry.line_bytes)
            return err_set(e, ERR_RANGE,
                           "L%d has lines of %d bytes, but L1 has lines of %d: they must be equal",
                           i + 1, v->geometry.line_bytes,
                           c->level[0].geometry.line_bytes);
        if (i > 0 && v->inclusive
            && v->geometry.size_bytes < c->level[i - 1].geometry.size_bytes)
            return err_set(e, ERR_RANGE, "L%d is inclusive, but smaller than L%d", i + 1, i);
    }
    return true;
}

struct cache_parse {
    const char *text;                      /* the whole text */
    char word[64];
    int col;                               /* column of the word, from 1 */
    struct cache_config c;
    struct err *e;
};

static bool wrong(struct cache_parse *p, enum err_code code, const char *what, const char *fix)
{
    err_set(p->e, code, "\"%s\" (column %d of the cache) %s", p->word, p->col, what);
    err_at(p->e, p->col, (int)strlen(p->word));
    return err_fix(p->e, "%s", fix);
}

/* Returns the index of a word in the table, or -1. */
static int index_of(const char *word, const char *const *table, int n)
{
    for (int i = 0; i < n; i++)
        if (strcaseeq(word, table[i]))
            return i;
    return -1;
}

static bool parse_level(struct cache_parse *p)
{
    struct cache_level v = { .replace = REPLACE_LRU };
    const char *at = take_geometry(p->word, &v.geometry);
    if (!at)
        return wrong(p, ERR_SYNTAX, "is no cache level",
                     "SIZE/WAYS/LINE, like 32K/8/64 or 1M/16/64/plru/inclusive; or a preset");
    while (*at == '/') {
        char flag[16];
        size_t n = strcspn(++at, "/");
        snprintf(flag, sizeof flag, "%.*s", (int)(n < 15 ? n : 15), at);
        at += n;
        int replace = index_of(flag, cache_replace_name, REPLACE_COUNT);
        if (replace >= 0)
            v.replace = (enum cache_replace)replace;
        else if (strcaseeq(flag, "inclusive"))
            v.inclusive = true;
        else
            return wrong(p, ERR_SYNTAX, "ends in an unknown word",
                         "lru, plru, random or inclusive");
    }
    if (*at)
        return wrong(p, ERR_SYNTAX, "is no cache level", "write SIZE/WAYS/LINE, like 32K/8/64");
    if (p->c.n_levels == CACHE_LEVELS)
        return wrong(p, ERR_RANGE, "is one level too many", "at most three: L1,L2,L3");
    if (!cache_geometry_check(&v.geometry, p->e))
        return err_at(p->e, p->col, (int)strlen(p->word));
    p->c.level[p->c.n_levels++] = v;
    return true;
}

static bool take_int(const char *text, const char **end, long long lo, long long hi, int *out)
{
    int64_t n;
    const char *p = take_number(text, false, &n);
    if (!p || n < lo || n > hi)
        return false;
    *end = p;
    *out = (int)n;
    return true;
}

static bool parse_prefetch(struct cache_parse *p, const char *value)
{
    static const char fix[] = "prefetch=none, next, lines:N (2 to 64), stride[:DEGREE[:CONFIRM]]";
    struct cache_config *c = &p->c;
    char kind[16];
    size_t n = strcspn(value, ":");
    snprintf(kind, sizeof kind, "%.*s", (int)(n < 15 ? n : 15), value);
    int which = index_of(kind, cache_prefetch_name, PREFETCH_COUNT);
    const char *at = value + n;
    bool ok = which >= 0;
    c->degree = which == PREFETCH_STRIDE ? 1 : 0;
    c->confirm = which == PREFETCH_STRIDE ? 2 : 0;
    if (ok && which == PREFETCH_LINES)
        ok = *at == ':' && take_int(at + 1, &at, 2, CACHE_MAX_DEGREE, &c->degree);
    if (ok && which == PREFETCH_STRIDE && *at == ':')
        ok = take_int(at + 1, &at, 1, CACHE_MAX_DEGREE, &c->degree);
    if (ok && which == PREFETCH_STRIDE && *at == ':')
        ok = take_int(at + 1, &at, 1, MAX_CONFIRM, &c->confirm);
    if (!ok || *at)
        return wrong(p, ERR_SYNTAX, "is no prefetcher", fix);
    c->prefetch = (enum cache_prefetch)which;
    return true;
}

static bool parse_option(struct cache_parse *p, const char *value)
{
    struct cache_config *c = &p->c;
    const char *end = value;
    int n = 0;
    if (str_starts(p->word, "prefetch="))
        return parse_prefetch(p, value);
    if (str_starts(p->word, "replace=")) {
        n = index_of(value, cache_replace_name, REPLACE_COUNT);
        if (n < 0)
            return wrong(p, ERR_SYNTAX, "is no replacement", "replace=lru, plru or random");
        for (int i = 0; i < CACHE_LEVELS; i++)
            c->level[i].replace = (enum cache_replace)n;
        return true;
    }
    if (str_starts(p->word, "levels=")) {
        int have = c->n_levels ? c->n_levels : CACHE_LEVELS;
        if (!take_int(value, &end, 1, have, &n) || *end)
            return wrong(p, ERR_RANGE, "is not the number of a cache level", "levels=1, 2 or 3");
        if (c->n_levels)
            c->n_levels = n;
        else
            c->most_levels = n;
        return true;
    }
    if (str_starts(p->word, "seed=")) {
        if (!take_int(value, &end, 0, INT32_MAX, &n) || *end)
            return wrong(p, ERR_RANGE, "is no seed", "seed=0 to 2147483647");
        c->seed = (uint64_t)n;
        return true;
    }
    return wrong(p, ERR_NAME, "is no option of a cache", "prefetch=, replace=, levels= or seed=");
}

static bool next_word(struct cache_parse *p, const char **at)
{
    const char *from = *at;
    size_t n = strcspn(from, ",");
    if (n >= sizeof p->word)
        return err_set(p->e, ERR_SYNTAX, "\"%.60s...\" is not a part of a cache", from);
    snprintf(p->word, sizeof p->word, "%.*s", (int)n, from);
    p->col = (int)(from - p->text) + 1;
    *at = from[n] ? from + n + 1 : NULL;
    return true;
}

static const struct cache_preset *find_preset(const char *name)
{
    for (int i = 0; i < cache_preset_count; i++)
        if (strcaseeq(cache_preset[i].name, name))
            return &cache_preset[i];
    return NULL;
}

static bool unknown_preset(struct cache_parse *p)
{
    const char *name[16];
    struct str fix = {0};
    int n = 0;
    for (; n < cache_preset_count && n < COUNT_OF(name); n++) {
        name[n] = cache_preset[n].name;
        str_printf(&fix, "%s%s", n ? ", " : "", name[n]);
    }
    const char *near = str_nearest(p->word, name, n);
    wrong(p, ERR_NAME, "is no preset", near ? near : str_text(&fix));
    str_free(&fix);
    return false;
}

/* Parses the words. The text of a preset must parse, else fail() is called. */
static bool parse_words(struct cache_parse *p, const char *text)
{
    const char *at = text;
    bool options = false, preset = false;
    for (bool first = true; at; first = false) {
        if (!next_word(p, &at))
            return false;
        const char *equals = strchr(p->word, '=');
        const struct cache_preset *named = first ? find_preset(p->word) : NULL;
        if (named) {
            struct err ignored;
            preset = true;
            if (*named->text && !cache_config_parse(named->text, &p->c, &ignored))
                fail("the preset %s: %s", named->name, ignored.text);
        } else if (equals) {
            options = true;
            if (!parse_option(p, equals + 1))
                return false;
        } else if (first && p->word[0] && !isdigit((unsigned char)p->word[0])
                   && !strchr(p->word, '/')) {
            return unknown_preset(p);
        } else if (options || preset) {
            return wrong(p, ERR_SYNTAX, "is out of place",
                         "levels first, then options; a preset stands alone");
        } else if (!parse_level(p)) {
            return false;
        }
    }
    return true;
}

bool cache_config_parse(const char *text, struct cache_config *out, struct err *e)
{
    struct cache_parse p = { .text = text, .e = e };
    if (!parse_words(&p, text) || (p.c.n_levels && !cache_config_check(&p.c, e)))
        return false;
    for (int i = p.c.n_levels; p.c.n_levels && i < CACHE_LEVELS; i++)
        p.c.level[i] = (struct cache_level){0};
    *out = p.c;
    return true;
}

static void print_prefetch(struct str *out, const struct cache_config *c)
{
    str_printf(out, ",prefetch=%s", cache_prefetch_name[c->prefetch]);
    if (c->prefetch == PREFETCH_LINES)
        str_printf(out, ":%d", c->degree);
    if (c->prefetch == PREFETCH_STRIDE)
        str_printf(out, ":%d:%d", c->degree, c->confirm);
}

void cache_config_print(struct str *out, const struct cache_config *c)
{
    if (c->n_levels == 0)
        str_add(out, "host");
    for (int i = 0; i < c->n_levels; i++) {
        const struct cache_level *v = &c->level[i];
        str_add(out, i ? "," : "");
        cache_geometry_print(out, &v->geometry);
        if (v->replace != REPLACE_LRU)
            str_printf(out, "/%s", cache_replace_name[v->replace]);
        str_add(out, v->inclusive ? "/inclusive" : "");
    }
    if (c->n_levels == 0 && c->level[0].replace != REPLACE_LRU)
        str_printf(out, ",replace=%s", cache_replace_name[c->level[0].replace]);
    if (c->prefetch != PREFETCH_NONE)
        print_prefetch(out, c);
    if (c->n_levels == 0 && c->most_levels)
        str_printf(out, ",levels=%d", c->most_levels);
    if (c->seed)
        str_printf(out, ",seed=%llu", (unsigned long long)c->seed);
}

struct cache_config cache_config_on(const struct cache_config *c, const struct cache_geometry *l1,
                                    const struct cache_geometry *l2,
                                    const struct cache_geometry *l3)
{
    const struct cache_geometry *level[] = { l1, l2, l3 };
    struct cache_config on = *c;
    if (c->n_levels > 0)
        return on;
    int most = c->most_levels ? c->most_levels : CACHE_LEVELS;
    for (; on.n_levels < most && level[on.n_levels]->size_bytes > 0
           && level[on.n_levels]->line_bytes == l1->line_bytes; on.n_levels++)
        on.level[on.n_levels].geometry = *level[on.n_levels];
    for (int i = on.n_levels; i < CACHE_LEVELS; i++)
        on.level[i] = (struct cache_level){0};
    return on;
}

bool cache_config_same(const struct cache_config *a, const struct cache_config *b)
{
    struct str x = {0}, y = {0};
    cache_config_print(&x, a);
    cache_config_print(&y, b);
    bool same = streq(str_text(&x), str_text(&y));
    str_free(&x);
    str_free(&y);
    return same;
}

/* Removes all levels except the first n. Returns whether no removed level was inclusive: the
 * removed levels then had no influence on those that stay. */
static bool cut_levels(struct cache_config *c, int n)
{
    bool idle = true;
    for (int i = n; i < c->n_levels; i++) {
        idle = idle && !c->level[i].inclusive;
        c->level[i] = (struct cache_level){0};
    }
    c->n_levels = n;
    return idle;
}

bool cache_config_same_l1(const struct cache_config *a, const struct cache_config *b)
{
    struct cache_config x = *a, y = *b;
    int n = a->n_levels < b->n_levels ? a->n_levels : b->n_levels;
    if (n == 0)
        return cache_config_same(a, b);
    return cut_levels(&x, n) && cut_levels(&y, n) && cache_config_same(&x, &y);
}
