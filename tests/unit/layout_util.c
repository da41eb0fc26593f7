#include "tests/unit/layout_util.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

const struct tensor *tensor_from(struct arena *a, const char *text)
{
    struct tensor *t = ARENA_NEW(a, struct tensor);
    char *save, *copy = arena_strdup(a, text);
    t->name = strtok_r(copy, " ", &save);
    t->type = &type_f32;
    t->producer = -1;
    for (char *word; (word = strtok_r(NULL, " ", &save)); t->rank++) {
        char *value = strchr(word, '=');
        *value = '\0';
        t->dim[t->rank] = word;
        t->shape[t->rank] = strtoll(value + 1, NULL, 10);
    }
    return t;
}

static enum prim_kind kind_from(const char *name)
{
    static const char *const names[] = { "split", "reorder", "fuse", "unfold",
                                         "fold",  "pad",     "unpad" };
    for (int i = 0; i < COUNT_OF(names); i++)
        if (streq(name, names[i]))
            return (enum prim_kind)i;
    fail_msg("no primitive called %s", name);
    return PRIM_SPLIT;
}

static void set_option(struct prim *pr, const char *key, int64_t value)
{
    if (streq(key, "tile"))
        pr->tile = value;
    else if (streq(key, "stride"))
        pr->stride = value;
    else if (streq(key, "size"))
        pr->size = value;
    else if (streq(key, "before"))
        pr->before = value;
    else if (streq(key, "after"))
        pr->after = value;
    else
        pr->allow_pad = value != 0;
}

struct prim prim_from(const struct layout *l, const char *text)
{
    char copy[1024], *save;
    assert_true(strlen(text) < sizeof copy);
    strcpy(copy, text);
    struct prim pr = { .kind = kind_from(strtok_r(copy, " ", &save)) };
    int n_dims = 0, n_numbers = 0;
    for (char *word; (word = strtok_r(NULL, " ", &save));) {
        char *value = strchr(word, '=');
        if (value) {
            *value = '\0';
            set_option(&pr, word, strtoll(value + 1, NULL, 10));
        } else if (layout_dim(l, word) >= 0) {
            if (pr.kind == PRIM_REORDER)
                pr.perm[n_dims] = layout_dim(l, word);
            else if (n_dims == 0)
                pr.dim = layout_dim(l, word);
            n_dims++;
        } else {
            pr.factor[n_numbers++] = strtoll(word, NULL, 10);
        }
    }
    if (pr.kind == PRIM_SPLIT)
        pr.n = n_numbers;
    if (pr.kind == PRIM_REORDER || pr.kind == PRIM_FUSE)
        pr.n = n_dims;
    return pr;
}

bool apply_text(struct exprs *p, const struct layout *l, const char *text,
                const struct layout **out, struct err *e)
{
    char *save, *copy = arena_strdup(exprs_arena(p), text);
    for (char *part = strtok_r(copy, ";", &save); part; part = strtok_r(NULL, ";", &save)) {
        const struct prim pr = prim_from(l, part + strspn(part, " "));
        if (!layout_apply(p, l, &pr, &l, e))
            return false;
    }
    *out = l;
    return true;
}

const struct layout *layout_of(struct exprs *p, const char *tensor, const char *text)
{
    const struct tensor *t = tensor_from(exprs_arena(p), tensor);
    const struct layout *l = NULL;
    struct err e;
    if (!apply_text(p, layout_identity(p, t), text, &l, &e))
        fail_msg("%s: %s: %s (%s)", tensor, text, e.text, e.fix);
    return l;
}

const struct layout *layout_noted(struct exprs *p, const char *tensor, const char *notation)
{
    const struct tensor *t = tensor_from(exprs_arena(p), tensor);
    struct prim prims[MAX_NOTATION_PRIMS];
    const struct layout *l = NULL;
    struct err e;
    int n;
    if (!layout_from_notation(p, t, notation, prims, &n, &e)
        || !layout_apply_all(p, t, prims, n, &l, &e))
        fail_msg("%s: %s: %s (%s)", tensor, notation, e.text, e.fix);
    return l;
}

static void print_prims(struct str *out, const struct layout *l)
{
    if (!l->prev)
        return;
    print_prims(out, l->prev);
    str_add(out, l->n_prims > 1 ? "; " : "");
    prim_print(out, l->prev, &l->prims[l->n_prims - 1]);
}

void layout_text(struct str *out, const struct layout *l)
{
    str_printf(out, "\"%s", l->tensor->name);
    for (int k = 0; k < l->tensor->rank; k++)
        str_printf(out, " %s=%lld", l->tensor->dim[k], (long long)l->tensor->shape[k]);
    str_add(out, "\", \"");
    print_prims(out, l);
    str_add(out, "\"");
}

int64_t rho_at(struct exprs *p, const struct layout *l, const int64_t *idx, int64_t *out)
{
    int64_t *env = xcalloc((size_t)exprs_n_vars(p), sizeof *env), flat = 0;
    for (int k = 0; k < l->tensor->rank; k++)
        env[l->logical[k]->var] = idx[k];
    for (int j = 0; j < l->rank; j++) {
        const int64_t at = expr_eval(l->rho[j], env);
        if (out)
            out[j] = at;
        flat = flat * l->shape[j] + at;
    }
    free(env);
    return flat;
}

bool phi_at(struct exprs *p, const struct layout *l, const int64_t *point, int64_t *out)
{
    int64_t *env = xcalloc((size_t)exprs_n_vars(p), sizeof *env);
    for (int j = 0; j < l->rank; j++)
        env[l->phys[j]->var] = point[j];
    const bool held = !l->guard || expr_eval(l->guard, env) != 0;
    for (int k = 0; held && k < l->tensor->rank; k++)
        out[k] = expr_eval(l->phi[k], env);
    free(env);
    return held;
}

bool step_point(int64_t *point, const int64_t *shape, int rank)
{
    for (int k = rank - 1; k >= 0; k--) {
        if (++point[k] < shape[k])
            return true;
        point[k] = 0;
    }
    return false;
}

void assert_shape(const struct layout *l, const char *shape)
{
    struct str s = {0};
    for (int j = 0; j < l->rank; j++)
        str_printf(&s, "%s%lld", j ? "x" : "", (long long)l->shape[j]);
    assert_string_equal(str_text(&s), shape);
    str_free(&s);
}

void assert_dims(const struct layout *l, const char *dims)
{
    struct str s = {0};
    for (int j = 0; j < l->rank; j++)
        str_printf(&s, "%s%s", j ? " " : "", l->dim[j]);
    assert_string_equal(str_text(&s), dims);
    str_free(&s);
}
