#include "explorer/agent/agents_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Weights as bytes:
 *     tilescope agents 1
 *     encoding 0123456789abcdef
 *     trained sessions/pretrain.yaml, 24 workloads, seed 1
 *     numbers 204211
 *     checksum 0123456789abcdef
 *     (empty line)
 *     little-endian doubles
 */
#define MAGIC "tilescope agents 1"
#define NETS (KNOB_KINDS + 2)
#define NORM_NUMBERS 3
#define MOST_LINE 600
#define MOST_TRAINED 500
#define MOST_WEIGHT 1e9

/* --- All numbers in one row ------------------------------------------------------------------- */

static struct mlp *net_of(const struct agents *g, int i)
{
    return i <= LAYOUT_KIND ? g->actor[i]->net : g->critic->net;
}

static int count_numbers(const struct agents *g)
{
    int n = 2 * NORM_NUMBERS;
    for (int i = 0; i < NETS; i++)
        n += net_of(g, i)->n;
    return n;
}

static double *gather(const struct agents *g, double *to)
{
    for (int i = 0; i < NETS; i++) {
        const struct mlp *net = net_of(g, i);
        memcpy(to, net->param, (size_t)net->n * sizeof *to);
        to += net->n;
    }
    const struct value_norm *norm[] = { &g->layout_norm, &g->loop_norm };
    for (int i = 0; i < 2; i++) {
        *to++ = norm[i]->mean;
        *to++ = norm[i]->square;
        *to++ = norm[i]->weight;
    }
    return to;
}

static void scatter(struct agents *g, const double *from)
{
    for (int i = 0; i < NETS; i++) {
        struct mlp *net = net_of(g, i);
        memcpy(net->param, from, (size_t)net->n * sizeof *from);
        from += net->n;
    }
    g->layout_norm = (struct value_norm){ from[0], from[1], from[2] };
    g->loop_norm = (struct value_norm){ from[3], from[4], from[5] };
}

static void put_double(unsigned char *to, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    for (int i = 0; i < 8; i++)
        to[i] = (unsigned char)(bits >> (8 * i));
}

static double get_double(const unsigned char *from)
{
    uint64_t bits = 0;
    double x;
    for (int i = 0; i < 8; i++)
        bits |= (uint64_t)from[i] << (8 * i);
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* --- Writing ---------------------------------------------------------------------------------- */

uint64_t agents_encoding(const struct agents *g)
{
    struct str s = {0};
    str_printf(&s, "version %d, layout %d + %d + %d, loop %d + %d + %d, directions %d, ",
               AGENT_ENCODING, LAYOUT_STATE, OP_FEATURES, LAYOUT_KNOBS, LOOP_STATE, OP_FEATURES,
               LOOP_KNOBS, AGENT_DIRECTIONS);
    str_printf(&s, "%d layers of %d, kinds", g->o.ppo.hidden, g->o.ppo.width);
    for (int k = 0; k < KNOB_KINDS; k++)
        str_printf(&s, " %s", knob_kind_name[k]);
    uint64_t hash = hash_text(str_text(&s));
    str_free(&s);
    return hash;
}

static void put_trained(struct str *out, const char *trained)
{
    for (int i = 0; trained[i] && i < MOST_TRAINED; i++)
        str_add_char(out, trained[i] == '\n' || trained[i] == '\r' ? ' ' : trained[i]);
}

void agents_save(const struct agents *g, const char *trained, struct str *out)
{
    int n = count_numbers(g);
    size_t size = (size_t)n * sizeof(double);
    double *number = xmalloc(size);
    unsigned char *bytes = xmalloc(size);
    gather(g, number);
    for (int i = 0; i < n; i++)
        put_double(bytes + 8 * (size_t)i, number[i]);
    str_printf(out, MAGIC "\nencoding %016llx\ntrained ", (unsigned long long)agents_encoding(g));
    put_trained(out, trained);
    str_printf(out, "\nnumbers %d\nchecksum %016llx\n\n", n,
               (unsigned long long)hash_bytes(bytes, size, 0));
    str_add_n(out, (const char *)bytes, size);
    free(bytes);
    free(number);
}

/* --- Reading ---------------------------------------------------------------------------------- */

struct weights_reader { const char *at, *end; int line; };

/* Reads the next line, which must start with `key`.  Stores the rest of the line in `value`.  If
 * `key` does not end in a blank, the rest must be empty.  ERR_SYNTAX: the line breaks one of these
 * rules. */
static bool read_line(struct weights_reader *r, const char *key, char value[MOST_LINE],
                      struct err *e)
{
    size_t left = (size_t)(r->end - r->at), skip = strlen(key);
    const char *newline = memchr(r->at, '\n', left < MOST_LINE ? left : MOST_LINE);
    r->line++;
    if (!newline || (size_t)(newline - r->at) < skip || memcmp(r->at, key, skip) != 0)
        return err_set(e, ERR_SYNTAX, "not weights of agents: line %d does not start with \"%s\"",
                       r->line, key);
    size_t n = (size_t)(newline - r->at) - skip;
    memcpy(value, r->at + skip, n);
    value[n] = '\0';
    r->at = newline + 1;
    if (n > 0 && !str_ends(key, " "))
        return err_set(e, ERR_SYNTAX, "not weights of agents: line %d is not \"%s\"", r->line, key);
    return true;
}

static bool read_hash(struct weights_reader *r, const char *key, uint64_t *out, struct err *e)
{
    char text[MOST_LINE];
    if (!read_line(r, key, text, e))
        return false;
    if (strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16)
        return err_set(e, ERR_SYNTAX, "weights of agents, line %d: \"%.40s\" is no hash of 16 "
                       "hexadecimal digits", r->line, text);
    *out = strtoull(text, NULL, 16);
    return true;
}

static bool read_encoding(struct weights_reader *r, const struct agents *g, struct err *e)
{
    uint64_t encoding;
    if (!read_hash(r, "encoding ", &encoding, e))
        return false;
    if (encoding == agents_encoding(g))
        return true;
    err_set(e, ERR_TYPE, "these weights are for states encoded as %016llx, this version encodes "
            "them as %016llx", (unsigned long long)encoding,
            (unsigned long long)agents_encoding(g));
    return err_fix(e, "train them again with this version");
}

static bool read_count(struct weights_reader *r, const struct agents *g, struct err *e)
{
    char text[MOST_LINE];
    long long n;
    if (!read_line(r, "numbers ", text, e))
        return false;
    if (!str_to_int64(text, 0, 1 << 30, &n) || n != count_numbers(g))
        return err_set(e, ERR_TYPE,
                       "weights of agents: the file has %.40s numbers, but these networks have %d",
                       text, count_numbers(g));
    return true;
}

static bool read_numbers(const struct weights_reader *r, int n, uint64_t checksum, double *number,
                         struct err *e)
{
    size_t size = (size_t)n * 8, left = (size_t)(r->end - r->at);
    if (left != size)
        return err_set(e, ERR_SYNTAX,
                       "weights of agents: the file has %zu bytes of numbers instead of %zu",
                       left, size);
    if (hash_bytes(r->at, size, 0) != checksum)
        return err_set(e, ERR_SYNTAX, "weights of agents: the checksum does not match, the file "
                       "is damaged");
    for (int i = 0; i < n; i++) {
        number[i] = get_double((const unsigned char *)r->at + 8 * (size_t)i);
        if (!(fabs(number[i]) <= MOST_WEIGHT))
            return err_set(e, ERR_SYNTAX, "weights of agents: number %d is %g, which is not valid",
                           i, number[i]);
    }
    return true;
}

bool agents_load(struct agents *g, const char *data, size_t n, const char **trained, struct err *e)
{
    struct weights_reader r = { data, data + n, 0 };
    char text[MOST_LINE], by[MOST_LINE];
    uint64_t checksum;
    if (!read_line(&r, MAGIC, text, e) || !read_encoding(&r, g, e)
        || !read_line(&r, "trained ", by, e) || !read_count(&r, g, e)
        || !read_hash(&r, "checksum ", &checksum, e) || !read_line(&r, "", text, e))
        return false;
    int count = count_numbers(g);
    double *number = xcalloc((size_t)count, sizeof *number);
    bool ok = read_numbers(&r, count, checksum, number, e);
    if (ok) {
        scatter(g, number);
        agents_forget(g);
    }
    if (ok && trained)
        *trained = arena_strdup(g->a, by);
    free(number);
    return ok;
}
