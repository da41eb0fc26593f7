/* Reads expert schedules from YAML. */
#include "sessions/file/expert_file.h"

#include <string.h>
#include "kernels/base/file.h"
#include "kernels/ops/compose_ops.h"
#include "sessions/file/shipped.h"
#include "sessions/file/yaml_load.h"

#define MOST_BYTES (1u << 20)

static bool read_families(struct yaml_load *l, const struct ynode *root, struct expert *x)
{
    const struct ynode *list;
    if (!yaml_load_list(l, root, "for", &list))
        return false;
    const char **family = ARENA_ARRAY(l->a, const char *, list->n);
    for (int i = 0; i < list->n; i++) {
        const char *text;
        if (!yaml_text(&l->doc, list->item[i], "for", 40, false, &text, l->e))
            return false;
        if (!ops_find(text) && !compose_op_known(text, ""))
            return yaml_refuse(&l->doc, list->item[i], l->e, ERR_NAME,
                               "there is no operator \"%s\"", text);
        family[i] = arena_strdup(l->a, text);
    }
    x->n_families = list->n;
    x->family = family;
    return true;
}

/* Reads `let`, a list of mappings with one pair each.  It is a list because the order matters. */
static bool read_lets(struct yaml_load *l, const struct ynode *root, struct expert *x)
{
    const struct ynode *list = yaml_get(root, "let");
    if (!list)
        return true;
    if (!yaml_is(&l->doc, list, YNODE_SEQ, "let", l->e))
        return false;
    struct param_value *let = ARENA_ARRAY(l->a, struct param_value, list->n + 1);
    for (int i = 0; i < list->n; i++) {
        const struct ynode *pair = list->item[i];
        const char *text;
        if (!yaml_is(&l->doc, pair, YNODE_MAP, "let", l->e))
            return false;
        if (pair->n != 1)
            return yaml_refuse(&l->doc, pair, l->e, ERR_SYNTAX,
                               "let: each item must be one {name: expression}");
        if (!yaml_load_id(l, pair->item[0]->text, pair->item[0])
            || !yaml_text(&l->doc, pair->item[1], pair->item[0]->text, 1000, false, &text, l->e))
            return false;
        let[i] = (struct param_value){ arena_strdup(l->a, pair->item[0]->text),
                                       arena_strdup(l->a, text) };
    }
    x->n_lets = list->n;
    x->let = let;
    return true;
}

static bool read_step(struct yaml_load *l, const struct ynode *node, struct expert_step *out)
{
    static const char *const keys[] = { "if", "for", "step", NULL };
    const struct ynode *step = node;
    const char *text, *each = NULL;
    *out = (struct expert_step){0};
    if (node->kind == YNODE_MAP
        && (!yaml_keys(&l->doc, node, "a step", keys, l->e)
            || !yaml_need(&l->doc, node, "step", &step, l->e)
            || !yaml_load_text(l, node, "if", 1000, false, &out->condition)
            || !yaml_load_text(l, node, "for", 40, false, &each)))
        return false;
    if (each && !streq(each, "epilogue") && !streq(each, "fused")) {
        err_set(l->e, ERR_NAME, "for: \"%s\" is not a list", each);
        err_fix(l->e, "for: epilogue or for: fused");
        return yaml_load_at(l, yaml_get(node, "for"));
    }
    if (!yaml_text(&l->doc, step, "step", 4096, false, &text, l->e))
        return false;
    out->each = each;
    out->text = arena_strdup(l->a, text);
    return true;
}

static bool read_steps(struct yaml_load *l, const struct ynode *root, struct expert *x)
{
    const struct ynode *list;
    if (!yaml_load_list(l, root, "steps", &list))
        return false;
    struct expert_step *step = ARENA_ARRAY(l->a, struct expert_step, list->n);
    for (int i = 0; i < list->n; i++)
        if (!read_step(l, list->item[i], &step[i]))
            return false;
    x->n_steps = list->n;
    x->step = step;
    return true;
}

/* Reads `target`, the name of a GPU target. */
static bool read_target(struct yaml_load *l, const struct ynode *root, struct expert *x)
{
    const char *text = NULL;
    if (!yaml_load_text(l, root, "target", 40, false, &text))
        return false;
    const struct target *t = text ? target_named(text) : NULL;
    if (text && (!streq(t->isa, text) || !t->gpu)) {
        err_set(l->e, ERR_NAME, "target: \"%s\" is not a GPU", text);
        err_fix(l->e, "target: cuda; an expert for CPUs has no target");
        return yaml_load_at(l, yaml_get(root, "target"));
    }
    x->target = t ? t->isa : NULL;
    return true;
}

static bool read_root(struct yaml_load *l, struct expert *x)
{
    static const char *const keys[] = { "expert", "title", "note", "for", "target", "when",
                                        "choose", "let", "only", "prefer", "steps", NULL };
    const struct ynode *root = l->doc.root, *version;
    int64_t v;
    if (!root) {
        err_set(l->e, ERR_SYNTAX, "the file is empty");
        return err_fix(l->e, "expert: 1");
    }
    return yaml_keys(&l->doc, root, "an expert", keys, l->e)
        && yaml_need(&l->doc, root, "expert", &version, l->e)
        && yaml_int(&l->doc, version, "expert", 1, 1, &v, l->e)
        && yaml_load_text(l, root, "title", 200, false, &x->title)
        && yaml_load_text(l, root, "note", 4096, true, &x->note)
        && yaml_load_text(l, root, "when", 1000, false, &x->when)
        && yaml_load_text(l, root, "only", 1000, false, &x->only)
        && yaml_load_text(l, root, "prefer", 1000, false, &x->prefer)
        && read_families(l, root, x) && read_target(l, root, x)
        && yaml_load_grid(l, root, "choose", &x->choose)
        && read_lets(l, root, x) && read_steps(l, root, x);
}

/* Returns the id of an expert, "conv2d" for the file "experts/conv2d.yaml". */
static const char *id_of(struct arena *a, const char *name)
{
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
    size_t n = strlen(base), end = strlen(".yaml");
    return arena_printf(a, "%.*s", (int)(str_ends(base, ".yaml") ? n - end : n), base);
}

bool expert_file_parse(struct arena *a, const char *name, const char *text, size_t n,
                       const struct expert **out, struct err *e)
{
    struct yaml_load l = { .a = a, .e = e };
    struct expert *x = ARENA_NEW(a, struct expert);
    *x = (struct expert){ .id = id_of(a, name), .path = arena_strdup(a, name), .title = "" };
    if (!yaml_read(a, x->path, arena_bytes(a, text, n), n, &l.doc, e) || !read_root(&l, x))
        return false;
    *out = x;
    return true;
}

bool expert_file_all(struct arena *a, struct experts *out, struct err *e)
{
    char dir[1024];
    int n;
    *out = (struct experts){0};
    if (!shipped_dir("experts", dir, sizeof dir))
        return err_set(e, ERR_ENV, "the folder of the experts is missing from the installation");
    const char **name = dir_list(a, dir, ".yaml", &n);
    const struct expert **item = ARENA_ARRAY(a, const struct expert *, n + 1);
    bool ok = true;
    for (int i = 0; i < n && ok; i++) {
        const char *path = arena_printf(a, "%s/%s.yaml", dir, name[i]);
        struct str text = {0};
        ok = file_read_regular(path, MOST_BYTES, &text, e)
          && expert_file_parse(a, path, str_text(&text), text.len, &item[i], e);
        str_free(&text);
    }
    *out = (struct experts){ ok ? n : 0, item, 0 };
    return ok;
}
