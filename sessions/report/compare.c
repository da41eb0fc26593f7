#include "sessions/report/compare.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/base/diff.h"
#include "kernels/program/contract.h"
#include "profile/measure/gpu_memory.h"
#include "sessions/file/json.h"
#include "sessions/report/compare_nest.h"

const char *const compare_of_name[] = { "nest", "c", "asm" };

/* --- Texts ------------------------------------------------------------------------------------ */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

static bool all_digits(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isdigit((unsigned char)s[i]))
            return false;
    return n > 0;
}

/* Returns the kind of a register or label: "zmm", "r64", ".L" ...; NULL: the word is neither. */
static const char *register_kind(const char *w, size_t n)
{
    static const char *const legacy = " ax bx cx dx si di bp sp ";
    static const char *const vector[] = { "xmm", "ymm", "zmm" };
    char name[6] = "";
    for (int i = 0; i < COUNT_OF(vector); i++)
        if (n > 3 && strncmp(w, vector[i], 3) == 0 && all_digits(w + 3, n - 3))
            return vector[i];
    if (n == 2 && w[0] == 'k' && isdigit((unsigned char)w[1]))
        return "k";
    if (n > 2 && w[0] == '.' && w[1] == 'L')
        return ".L";
    if (n >= 2 && w[0] == 'r' && isdigit((unsigned char)w[1]))
        return w[n - 1] == 'd' ? "r32" : w[n - 1] == 'w' ? "r16" : w[n - 1] == 'b' ? "r8" : "r64";
    if (n == 3 && (w[0] == 'r' || w[0] == 'e')) {
        snprintf(name, sizeof name, " %.2s ", w + 1);
        return strstr(legacy, name) ? w[0] == 'r' ? "r64" : "r32" : NULL;
    }
    return NULL;
}

/* Appends a line of assembly without its comment, and with every register and label replaced by its
 * kind. */
static void asm_key(struct str *out, const char *line)
{
    size_t len = strcspn(line, "#");
    for (size_t i = 0; i < len;) {
        size_t n = 0;
        while (i + n < len && is_word(line[i + n]))
            n++;
        const char *kind = n > 0 ? register_kind(line + i, n) : NULL;
        if (kind)
            str_add(out, kind);
        else
            str_add_n(out, line + i, n > 0 ? n : 1);
        i += n > 0 ? n : 1;
    }
}

/* A text cut into lines.  key: for each line, the text that is compared in its place. */
struct cut_text { VEC(const char *) line; VEC(const char *) key; };

static void cut(struct arena *a, const char *text, enum compare_of of, struct cut_text *out)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        const char *line = arena_strndup(a, text, n);
        struct str key = {0};
        if (of == COMPARE_ASM)
            asm_key(&key, line);
        else
            str_add(&key, line);
        while (key.len > 0 && key.data[key.len - 1] == ' ')
            key.data[--key.len] = '\0';
        vec_push(&out->line, line);
        vec_push(&out->key, arena_strdup(a, str_text(&key)));
        str_free(&key);
        text += n + (text[n] == '\n');
    }
}

/* Appends a difference: n lines of A and m of B, with line i of A and line i of B in one row.  If
 * the row before is also different, both are parts of one difference. */
static void put_difference(struct compare_lines *out, const char *const *a, int n,
                           const char *const *b, int m)
{
    bool more = out->row.len > 0 && !out->row.data[out->row.len - 1].same;
    for (int i = 0; i < n || i < m; i++)
        vec_push(&out->row, (struct compare_line){ { i < n ? a[i] : NULL, i < m ? b[i] : NULL },
                                                   false });
    out->differences += (n > 0 || m > 0) && !more;
}

void compare_lines(const struct compare_side side[2], enum compare_of of,
                   struct compare_lines *out)
{
    struct cut_text t[2] = { { { 0 }, { 0 } } };
    struct diff_row *row;
    *out = (struct compare_lines){ .arena = arena_new() };
    for (int i = 0; i < 2; i++)
        cut(out->arena, side[i].text, of, &t[i]);
    int n = (of == COMPARE_NEST ? compare_nest_rows : diff_lines)
            (t[0].key.data, t[0].key.len, t[1].key.data, t[1].key.len, &row);
    for (int i = 0; i < n;) {
        int a = 0, b = 0;
        if (row[i].a >= 0 && row[i].b >= 0) {
            const char *x = t[0].line.data[row[i].a], *y = t[1].line.data[row[i].b];
            vec_push(&out->row, (struct compare_line){ { x, y }, true });
            i++;
            continue;
        }
        while (i + a < n && row[i + a].b < 0)
            a++;
        while (i + a + b < n && row[i + a + b].a < 0)
            b++;
        put_difference(out, a ? &t[0].line.data[row[i].a] : NULL, a,
                       b ? &t[1].line.data[row[i + a].b] : NULL, b);
        i += a + b;
    }
    free(row);
    for (int i = 0; i < 2; i++) {
        vec_free(&t[i].line);
        vec_free(&t[i].key);
    }
}

void compare_lines_free(struct compare_lines *x)
{
    vec_free(&x->row);
    arena_free(x->arena);
}

/* --- Misses ----------------------------------------------------------------------------------- */

static void add_cost(struct compare_misses *row, int side, const struct access_cost *c)
{
    row->n[side]++;
    row->l1[side] = (row->l1[side] < 0 ? 0 : row->l1[side]) + c->l1_misses;
    row->l2[side] = (row->l2[side] < 0 ? 0 : row->l2[side]) + c->l2_misses;
}

static int by_misses(const void *x, const void *y)
{
    const struct compare_misses *a = x, *b = y;
    int64_t p = a->l1[0] > a->l1[1] ? a->l1[0] : a->l1[1];
    int64_t q = b->l1[0] > b->l1[1] ? b->l1[0] : b->l1[1];
    return p != q ? (p < q ? 1 : -1) : strcmp(a->name, b->name);
}

int compare_tensors(const struct compare_side side[2],
                    struct compare_misses out[COMPARE_MOST_MISSES])
{
    int n = 0;
    for (int k = 0; k < 2; k++)
        for (int i = 0; side[k].sim && i < side[k].sim->n; i++) {
            const struct tensor_count *t = &side[k].sim->by_tensor[i];
            int at = 0;
            while (at < n && !streq(out[at].name, t->tensor))
                at++;
            if (at == n)
                out[n++] = (struct compare_misses){ .name = t->tensor, .l1 = { -1, -1 },
                                                    .l2 = { -1, -1 } };
            add_cost(&out[at], k, &t->cost);
        }
    qsort(out, (size_t)n, sizeof *out, by_misses);
    return n;
}

/* Whether two sites come from one access of the operator, and to one buffer.  Older measurements
 * have only the texts of sites, which must then be equal. */
static bool same_access(const struct sim_site *a, const struct sim_site *b)
{
    size_t n = strcspn(a->text, "["), m = strcspn(b->text, "[");
    if (!a->into[0] || !b->into[0])
        return a->is_store == b->is_store && streq(a->text, b->text);
    return a->is_store == b->is_store && streq(a->into, b->into) && a->operand == b->operand
        && n == m && strncmp(a->text, b->text, n) == 0;
}

/* Whether two sites, a of A and b of B, come from one access to a tensor; one of them may access a
 * tile of the tensor. */
static bool same_tensor(const struct compare_side side[2], const struct sim_site *a,
                        const struct sim_site *b)
{
    const struct sim_result *x = side[0].sim, *y = side[1].sim;
    return a->is_store == b->is_store && a->into[0] && streq(a->into, b->into)
        && a->operand == b->operand && a->tensor < x->n && b->tensor < y->n
        && streq(x->by_tensor[a->tensor].tensor, y->by_tensor[b->tensor].tensor);
}

/* Joins each row that only A has with a later row that only B has, if both are accesses to the same
 * tensor. Returns the number of rows left. */
static int join_tiles(const struct compare_side side[2], struct compare_misses *row, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n && !row[i].site[1]; j++) {
            if (row[j].site[0] || !same_tensor(side, row[i].site[0], row[j].site[1]))
                continue;
            row[i].site[1] = row[j].site[1];
            row[i].n[1] = row[j].n[1];
            row[i].l1[1] = row[j].l1[1];
            row[i].l2[1] = row[j].l2[1];
            memmove(row + j, row + j + 1, sizeof *row * (size_t)(--n - j));
        }
    return n;
}

int compare_sites(const struct compare_side side[2],
                  struct compare_misses out[COMPARE_MOST_MISSES])
{
    int n = 0;
    for (int k = 0; k < 2; k++)
        for (int i = 0; side[k].sim && i < side[k].sim->n_sites; i++) {
            const struct sim_site *s = &side[k].sim->site[i];
            int at = 0;
            while (at < n && !(out[at].site[0] && same_access(out[at].site[0], s))
                   && !(out[at].site[1] && same_access(out[at].site[1], s)))
                at++;
            if (at == n)
                out[n++] = (struct compare_misses){ .store = s->is_store, .l1 = { -1, -1 },
                                                    .l2 = { -1, -1 } };
            if (!out[at].site[k])
                out[at].site[k] = s;
            add_cost(&out[at], k, &s->cost);
        }
    n = join_tiles(side, out, n);
    for (int i = 0; i < n; i++) {
        const struct sim_site *const *s = out[i].site;
        out[i].name = s[0] ? s[0]->text : s[1]->text;
        out[i].now = s[0] && s[1] && !streq(s[0]->text, s[1]->text) ? s[1]->text : NULL;
    }
    qsort(out, (size_t)n, sizeof *out, by_misses);
    return n;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static json_t *side_json(const struct compare_side *s)
{
    struct str contract = {0};
    contract_print(&contract, s->program);
    json_t *o = json_make("name", JSON(s->name), "spec", JSON(s->program->base->spec), "steps",
                          json_texts(s->program->steps, s->program->n_steps),
                          "contract", json_text(str_text(&contract)));
    str_free(&contract);
    return o;
}

static json_t *misses_json(const struct compare_misses *m, int n, bool sites)
{
    json_t *list = json_array();
    for (int i = 0; i < n; i++) {
        json_t *o = json_make(sites ? "site" : "tensor", JSON(m[i].name));
        if (sites)
            json_put(o, "site_b", JSON_IF(m[i].now, m[i].now), "store", JSON(m[i].store),
                     "places_a", JSON(m[i].n[0]), "places_b", JSON(m[i].n[1]));
        json_put(o, "l1_misses_a", JSON_IF(m[i].l1[0] >= 0, m[i].l1[0]),
                 "l1_misses_b", JSON_IF(m[i].l1[1] >= 0, m[i].l1[1]),
                 "l2_misses_a", JSON_IF(m[i].l2[0] >= 0, m[i].l2[0]),
                 "l2_misses_b", JSON_IF(m[i].l2[1] >= 0, m[i].l2[1]));
        json_array_append_new(list, o);
    }
    return list;
}

bool compare_simulated(const struct compare_side side[2], double ns[2])
{
    for (int i = 0; i < 2; i++) {
        if (!side[i].sim || !side[i].sim->available || !side[i].sim->gpu[0])
            return false;
        ns[i] = gpu_memory_cost(side[i].sim).ns;
    }
    return ns[0] > 0;
}

void compare_json(struct str *out, const struct compare_side side[2], enum compare_of of)
{
    struct compare_misses m[COMPARE_MOST_MISSES];
    struct compare_lines x;
    struct str other = {0};
    json_t *lines = json_array();
    compare_lines(side, of, &x);
    for (int i = 0; i < x.row.len; i++) {
        const struct compare_line *l = &x.row.data[i];
        json_array_append_new(lines, json_make("a", JSON_IF(l->text[0], l->text[0]),
                                               "b", JSON_IF(l->text[1], l->text[1]),
                                               "same", JSON(l->same)));
    }
    contract_difference(&other, side[1].program, side[0].program);
    json_t *o = json_make("format", JSON(1), "a", side_json(&side[0]), "b", side_json(&side[1]),
                          "other_contract", JSON_OR_NULL(str_text(&other)),
                          "of", JSON(compare_of_name[of]), "differences", JSON(x.differences),
                          "lines", lines);
    int n = compare_tensors(side, m);
    json_put(o, "tensors", misses_json(m, n, false));
    n = compare_sites(side, m);
    json_put(o, "sites", misses_json(m, n, true));
    double ns[2];
    if (compare_simulated(side, ns))
        json_put(o, "simulated", json_make("gpu", json_string(side[0].sim->gpu),
                                           "ns", json_pack("[f, f]", ns[0], ns[1]),
                                           "ratio", JSON(ns[1] / ns[0])));
    json_print(out, o, 8);
    str_free(&other);
    compare_lines_free(&x);
}
