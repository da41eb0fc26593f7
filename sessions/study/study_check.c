/* Checks the cells of a study before anything is measured (study_check_cells). */
#include <string.h>
#include "sessions/study/study_loader.h"

/* Adds the place of a template to an error that was found in the filled text of the template.  Also
 * quotes the filled text, because its columns differ from those of the template. */
static bool at_template(struct study_loader *l, const struct ynode *scalar, const char *filled,
                        int c)
{
    if (!strchr(scalar->text, '{'))
        return yaml_at_text(&l->y.doc, scalar, l->y.e);
    struct err why = *l->y.e;
    err_set(l->y.e, why.code, "%.400s (in case %s: %.200s)", why.text, l->s->cases[c].id, filled);
    err_fix(l->y.e, "%s", why.fix);
    return yaml_load_at(&l->y, scalar);
}

/* Adds to the error the place of a mistake in the study file, for case c under variant v.  bad:
 * index of the wrong step; -1: the operator; -2: the cache.  If the variant has a session, a wrong
 * step or operator is reported at `session`.  filled: whether *code has the substituted texts. */
static bool at_code(struct study_loader *l, int c, int v, int bad, const struct study_code *code,
                    bool filled)
{
    const struct ynode *map = l->variant_at.data[v], *k = l->case_at.data[c], *node;
    if (bad >= 0 && l->s->variant[v].session)
        return yaml_load_at(&l->y, yaml_get(map, "session"));
    const struct ynode *own = yaml_get(map, "steps");
    int n_own = own ? own->n : 0;
    node = bad >= n_own ? yaml_get(l->y.doc.root, "steps")->item[bad - n_own]
         : bad >= 0 ? own->item[bad]
         : bad == -2 ? (yaml_get(map, "cache") ? yaml_get(map, "cache")
                        : yaml_get(yaml_get(l->y.doc.root, "measure"), "cache"))
         : l->s->variant[v].session ? yaml_get(map, "session")
         : yaml_get(k, "operator") ? yaml_get(k, "operator") : yaml_get(l->y.doc.root, "operator");
    if (!filled)
        return yaml_at_text(&l->y.doc, node, l->y.e);
    if (node->line != node->end_line)
        return yaml_load_at(&l->y, node);
    return at_template(l, node, bad >= 0 ? code->step[bad] : bad == -2 ? code->cache : code->spec,
                       c);
}

static bool same_operator(struct study_loader *l, struct arena *pass, int c, int v)
{
    const struct program *mine, *of_case;
    const struct study_variant *var = &l->s->variant[v];
    const char *spec;
    struct err e = {0};
    if (!var->spec || !l->s->cases[c].spec
        || !param_expand(pass, l->s->cases[c].spec, &l->s->cases[c].params, &spec, &e)
        || !program_new(pass, spec, &of_case, &e) || !program_new(pass, var->spec, &mine, &e)
        || streq(mine->base->spec, of_case->base->spec))
        return true;
    err_set(l->y.e, ERR_NAME,
            "session: its operator differs from that of case %s", l->s->cases[c].id);
    err_fix(l->y.e, "the session has %.150s, the case %.150s", mine->base->spec,
            of_case->base->spec);
    return yaml_load_at(&l->y, yaml_get(l->variant_at.data[v], "session"));
}

static bool check_cache(struct study_loader *l, int c, int v, const struct study_code *code)
{
    struct measure_opts ignored = {0};
    if (!code->cache || cache_config_parse(code->cache, &ignored.cache, l->y.e))
        return true;
    return at_code(l, c, v, -2, code, true);
}

/* Checks a cell, with combination i of its search if it has one. */
static bool check_cell(struct study_loader *l, struct arena *pass, int c, int v, int64_t i)
{
    const struct study_variant *var = &l->s->variant[v];
    struct param_set more = param_grid_at(pass, &var->search, i);
    struct study_code code;
    const struct program *p;
    int bad;
    if (!study_code(pass, l->s, c, v, &more, &code, &bad, l->y.e))
        return at_code(l, c, v, bad, &code, false);
    if (!check_cache(l, c, v, &code))
        return false;
    return program_replay(pass, code.spec, code.step, code.n, &p, &bad, l->y.e)
        || at_code(l, c, v, bad, &code, true);
}

/* Checks that one of the first 1000 combinations of a search is legal. */
static bool check_search(struct study_loader *l, struct arena *pass, int c, int v)
{
    int64_t n = param_grid_size(&l->s->variant[v].search);
    for (int64_t i = 0; i < n && i < 1000; i++) {
        if (check_cell(l, pass, c, v, i))
            return true;
        if (l->y.e->code == ERR_NAME || l->y.e->code == ERR_SYNTAX)
            return false;
        arena_reset(pass);
    }
    return false;
}

bool study_check_operators(struct study_loader *l)
{
    for (int v = 0; v < l->s->n_variants; v++)
        for (int c = 0; c < l->s->n_cases; c++)
            if (!l->s->variant[v].spec && !l->s->cases[c].spec)
                return yaml_refuse(&l->y.doc, l->case_at.data[c], l->y.e, ERR_SYNTAX,
                                   "the key \"operator\" or \"model\" is missing");
    return true;
}

bool study_check_cells(struct study_loader *l)
{
    struct arena *pass = arena_new();
    bool ok = true;
    for (int v = 0; ok && !l->s->networks && v < l->s->n_variants; v++)
        for (int c = 0; ok && c < l->s->n_cases; c++) {
            const struct study_variant *var = &l->s->variant[v];
            arena_reset(pass);
            if (var->search.n)
                ok = c > 0 || check_search(l, pass, c, v);
            else
                ok = same_operator(l, pass, c, v) && check_cell(l, pass, c, v, 0);
        }
    arena_free(pass);
    return ok;
}
