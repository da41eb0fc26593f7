/* Reads `tune:` of a study, of a variant and of a case from YAML. */
#include <string.h>

#include "explorer/tune/strategies.h"
#include "sessions/study/study_loader.h"
#include "sessions/study/study_tune.h"

static bool read_seeds(struct study_loader *l, const struct ynode *map, struct study_tune *t)
{
    const struct ynode *list = yaml_get(map, "seeds");
    int64_t seed;
    if (!list)
        return true;
    if (!yaml_is(&l->y.doc, list, YNODE_SEQ, "seeds", l->y.e))
        return false;
    if (list->n < 1 || list->n > STUDY_MAX_SEEDS)
        return yaml_refuse(&l->y.doc, list, l->y.e, ERR_RANGE,
                           "seeds: there are %d; 1 to %d are possible", list->n, STUDY_MAX_SEEDS);
    for (int i = 0; i < list->n; i++) {
        if (!yaml_int(&l->y.doc, list->item[i], "seeds", 0, INT64_MAX, &seed, l->y.e))
            return false;
        for (int k = 0; k < i; k++)
            if (t->seed[k] == (uint64_t)seed)
                return yaml_refuse(&l->y.doc, list->item[i], l->y.e, ERR_NAME,
                                   "seeds: %lld is given twice", (long long)seed);
        t->seed[i] = (uint64_t)seed;
    }
    t->n_seeds = list->n;
    return true;
}

static bool read_strategy(struct study_loader *l, const struct ynode *map, struct study_tune *t)
{
    const struct ynode *node = yaml_get(map, "strategy");
    if (!yaml_load_text(&l->y, map, "strategy", 40, false, &t->strategy))
        return false;
    return !node || strategy_find(t->strategy, l->y.e) || yaml_load_at(&l->y, node);
}

/* Reads the path of the weights, which is relative to the study's folder.  The file itself is read
 * only when needed. */
static bool read_weights(struct study_loader *l, const struct ynode *map, struct study_tune *t)
{
    const char *text = NULL;
    if (!yaml_load_text(&l->y, map, "weights", 1000, false, &text))
        return false;
    t->weights = text ? yaml_load_path(&l->y, text) : t->weights;
    return true;
}

/* Reads `variant`, which says what the search of a network can change. */
static bool read_variant(struct study_loader *l, const struct ynode *map, struct study_tune *t)
{
    const struct ynode *node = yaml_get(map, "variant");
    const char *name = NULL;
    if (!node)
        return true;
    if (!l->s->networks)
        return yaml_refuse(&l->y.doc, node, l->y.e, ERR_SYNTAX,
                           "variant: only a case with a `model` has variants");
    return yaml_load_text(&l->y, map, "variant", 40, false, &name)
        && (network_variant_find(name, &t->variant, l->y.e) || yaml_load_at(&l->y, node));
}

static bool read_keys(struct study_loader *l, const struct ynode *map, const char *what,
                      const char *const *keys, struct study_tune *t)
{
    const struct ynode *loop_only = yaml_get(map, "loop_only"), *cold = yaml_get(map, "cold");
    return yaml_keys(&l->y.doc, map, what, keys, l->y.e)
        && yaml_load_int(&l->y, map, "budget", 1, 10000000, &t->budget)
        && yaml_load_int(&l->y, map, "experts", 0, 64, &t->experts)
        && yaml_load_int(&l->y, map, "levels", 1, 2, &t->levels)
        && (!loop_only || yaml_bool(&l->y.doc, loop_only, "loop_only", &t->loop_only, l->y.e))
        && (!cold || yaml_bool(&l->y.doc, cold, "cold", &t->cold, l->y.e))
        && read_strategy(l, map, t) && read_weights(l, map, t) && read_seeds(l, map, t)
        && read_variant(l, map, t);
}

/* Changes only those members of *out whose keys exist.  A variant thus keeps the study's values for
 * keys that it does not have. */
bool study_read_tune(struct study_loader *l, const struct ynode *map, struct study_tune *out)
{
    static const char *const keys[] = { "budget", "strategy", "loop_only", "cold", "experts",
                                        "levels", "seeds", "weights", "variant", NULL };
    const struct ynode *t = yaml_get(map, "tune");
    if (!t)
        return true;
    if (!read_keys(l, t, "tune", keys, out))
        return false;
    out->on = true;
    return true;
}

/* A case can set only the budget and the seeds.  They hold for all tuned variants. */
bool study_read_case_tune(struct study_loader *l, const struct ynode *map, struct study_tune *out)
{
    static const char *const keys[] = { "budget", "seeds", NULL };
    const struct ynode *t = yaml_get(map, "tune");
    if (!t)
        return true;
    out->on = true;
    return read_keys(l, t, "tune of a case", keys, out);
}

bool study_is_tuned(const struct study *s)
{
    bool any = false;
    for (int v = 0; v < s->n_variants; v++)
        any = any || s->variant[v].tune.on;
    return any;
}

struct study_tune study_tune_of(const struct study *s, int c, int v)
{
    struct study_tune t = s->variant[v].tune;
    const struct study_tune *own = &s->cases[c].tune;
    if (own->budget > 0)
        t.budget = own->budget;
    if (own->n_seeds > 0) {
        t.n_seeds = own->n_seeds;
        memcpy(t.seed, own->seed, sizeof t.seed);
    }
    return t;
}
