#include "sessions/file/yaml_load.h"

#include <string.h>
#include "kernels/base/file.h"
#include "kernels/base/str.h"

#define MOST_COMBINATIONS 100000
#define MOST_ID 40

bool yaml_load_at(struct yaml_load *l, const struct ynode *node)
{
    return yaml_at(&l->doc, node, l->e);
}

bool yaml_load_list(struct yaml_load *l, const struct ynode *map, const char *key,
                    const struct ynode **out)
{
    if (!yaml_need(&l->doc, map, key, out, l->e) || !yaml_is(&l->doc, *out, YNODE_SEQ, key, l->e))
        return false;
    if ((*out)->n > 0)
        return true;
    return yaml_refuse(&l->doc, *out, l->e, ERR_SYNTAX, "%s: the list must not be empty", key);
}

bool yaml_load_text(struct yaml_load *l, const struct ynode *map, const char *key, size_t max,
                    bool lines, const char **out)
{
    const struct ynode *v = yaml_get(map, key);
    const char *text;
    if (!v)
        return true;
    if (!yaml_text(&l->doc, v, key, max, lines, &text, l->e))
        return false;
    *out = arena_strdup(l->a, text);
    return true;
}

bool yaml_load_int(struct yaml_load *l, const struct ynode *map, const char *key, int lo, int hi,
                   int *out)
{
    const struct ynode *v = yaml_get(map, key);
    int64_t value = *out;
    bool ok = !v || yaml_int(&l->doc, v, key, lo, hi, &value, l->e);
    *out = (int)value;
    return ok;
}

bool yaml_load_id(struct yaml_load *l, const char *id, const struct ynode *node)
{
    if (formula_is_word(id) && strlen(id) <= MOST_ID)
        return true;
    err_set(l->e, ERR_NAME, "\"%.60s\" cannot be used as a name in expressions", id);
    err_fix(l->e, "use at most %d letters, digits and _, a letter first", MOST_ID);
    return yaml_load_at(l, node);
}

static bool read_axis(struct yaml_load *l, const char *key, const struct ynode *v,
                      struct param_axis *out)
{
    bool one = v->kind == YNODE_SCALAR;
    const char **value = ARENA_ARRAY(l->a, const char *, one ? 1 : v->n);
    if (!one && !yaml_is(&l->doc, v, YNODE_SEQ, key, l->e))
        return false;
    *out = (struct param_axis){ arena_strdup(l->a, key), one ? 1 : v->n, value };
    if (out->n == 0)
        return yaml_refuse(&l->doc, v, l->e, ERR_RANGE,
                           "%s: the list is empty, so nothing would be measured", key);
    for (int i = 0; i < out->n; i++) {
        const char *text;
        if (!yaml_text(&l->doc, one ? v : v->item[i], key, 200, false, &text, l->e))
            return false;
        value[i] = arena_strdup(l->a, text);
    }
    return true;
}

bool yaml_load_grid(struct yaml_load *l, const struct ynode *map, const char *key,
                    struct param_grid *out)
{
    const struct ynode *g = yaml_get(map, key);
    *out = (struct param_grid){0};
    if (!g)
        return true;
    if (!yaml_is(&l->doc, g, YNODE_MAP, key, l->e))
        return false;
    struct param_axis *axis = ARENA_ARRAY(l->a, struct param_axis, g->n + 1);
    for (int i = 0; i < g->n; i++)
        if (!yaml_key_once(&l->doc, g, i, key, l->e)
            || !yaml_load_id(l, g->item[2 * i]->text, g->item[2 * i])
            || !read_axis(l, g->item[2 * i]->text, g->item[2 * i + 1], &axis[i]))
            return false;
    *out = (struct param_grid){ g->n, axis };
    if (param_grid_size(out) <= MOST_COMBINATIONS)
        return true;
    return yaml_refuse(&l->doc, g, l->e, ERR_RANGE, "%s: more than %d combinations", key,
                       MOST_COMBINATIONS);
}

const char *yaml_load_path(struct yaml_load *l, const char *path)
{
    return path_beside(l->a, l->doc.name, path);
}
