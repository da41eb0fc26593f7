#include "sessions/tuning/pretrain.h"

#include <limits.h>
#include <string.h>

#include "explorer/space/layout_space.h"
#include "kernels/base/file.h"
#include "sessions/file/shipped.h"
#include "sessions/file/yaml_load.h"

#define MOST_BYTES (1 << 20)
#define MOST_WEIGHT_BYTES (64 << 20)
#define MOST_SPEC 4096

static bool check_workload(struct yaml_load *l, const struct ynode *node, const char *spec)
{
    struct arena *scratch = arena_new();
    const struct layout_space *space;
    bool ok = layout_space_new(scratch, spec, NULL, 0, NULL, &space, l->e);
    arena_free(scratch);
    return ok || (l->e->at.col > 0 ? yaml_at_text(&l->doc, node, l->e) : yaml_load_at(l, node));
}

static bool read_workloads(struct yaml_load *l, const struct ynode *root, struct pretrain *p)
{
    const struct ynode *list;
    if (!yaml_need(&l->doc, root, "workloads", &list, l->e)
        || !yaml_is(&l->doc, list, YNODE_SEQ, "workloads", l->e))
        return false;
    if (list->n < 1 || list->n > PRETRAIN_MAX_WORKLOADS)
        return yaml_refuse(&l->doc, list, l->e, ERR_RANGE,
                           "workloads: there are %d; 1 to %d are possible", list->n,
                           PRETRAIN_MAX_WORKLOADS);
    const char **workload = ARENA_ARRAY(l->a, const char *, list->n);
    for (int i = 0; i < list->n; i++) {
        const struct ynode *node = list->item[i];
        if (!yaml_text(&l->doc, node, "workloads", MOST_SPEC, false, &workload[i], l->e)
            || !check_workload(l, node, workload[i]))
            return false;
        workload[i] = arena_strdup(l->a, workload[i]);
        for (int j = 0; j < i; j++)
            if (streq(workload[i], workload[j]))
                return yaml_refuse(&l->doc, node, l->e, ERR_NAME,
                                   "workloads: \"%s\" is given twice", workload[i]);
    }
    p->n = list->n;
    p->workload = workload;
    return true;
}

static bool get_share(struct yaml_load *l, const struct ynode *root, const char *key, double *out)
{
    const struct ynode *v = yaml_get(root, key);
    if (!v)
        return true;
    if (!yaml_double(&l->doc, v, key, out, l->e))
        return false;
    if (*out > 0 && *out <= 1)
        return true;
    return yaml_refuse(&l->doc, v, l->e, ERR_RANGE, "%s: %g is not greater than 0 and at most 1",
                       key, *out);
}

static bool read_root(struct yaml_load *l, struct pretrain *p)
{
    static const char *const keys[] = { "pretrain", "title", "note", "seed", "passes", "budget",
                                        "measured", "entropy", "workloads", NULL };
    const struct ynode *root = l->doc.root, *version, *budget, *seed;
    int64_t v, drawn = 1, n;
    p->passes = 1;
    p->measured = INT_MAX;
    if (!root) {
        err_set(l->e, ERR_SYNTAX, "the file is empty");
        return err_fix(l->e, "pretrain: 1");
    }
    if (!yaml_keys(&l->doc, root, "a pretrain file", keys, l->e)
        || !yaml_need(&l->doc, root, "pretrain", &version, l->e)
        || !yaml_int(&l->doc, version, "pretrain", 1, 1, &v, l->e)
        || !yaml_load_text(l, root, "title", 4096, false, &p->title)
        || !yaml_load_text(l, root, "note", 4096, true, &p->note)
        || ((seed = yaml_get(root, "seed"))
            && !yaml_int(&l->doc, seed, "seed", 0, INT64_MAX, &drawn, l->e))
        || !yaml_load_int(l, root, "passes", 1, 1000, &p->passes)
        || !yaml_need(&l->doc, root, "budget", &budget, l->e)
        || !yaml_int(&l->doc, budget, "budget", 1, 1000000, &n, l->e)
        || !yaml_load_int(l, root, "measured", PRETRAIN_LEAST_MEASURED, 1000000, &p->measured)
        || !get_share(l, root, "entropy", &p->entropy) || !read_workloads(l, root, p))
        return false;
    p->seed = (uint64_t)drawn;
    p->budget = (int)n;
    p->measured = p->measured < p->budget ? p->measured : p->budget;
    return true;
}

bool pretrain_parse(struct arena *a, const char *name, const char *text, size_t n,
                    const struct pretrain **out, struct err *e)
{
    struct yaml_load l = { .a = a, .e = e };
    struct pretrain *p = ARENA_NEW(a, struct pretrain);
    p->path = arena_strdup(a, name);
    p->title = p->note = "";
    if (!yaml_read(a, p->path, arena_bytes(a, text, n), n, &l.doc, e) || !read_root(&l, p))
        return false;
    *out = p;
    return true;
}

static bool shipped(const char *name, char *path, size_t size, struct err *e)
{
    if (shipped_dir(name, path, size))
        return true;
    return err_set(e, ERR_ENV, "%s is missing from the installation", name);
}

bool pretrain_read(struct arena *a, const char *path, const struct pretrain **out, struct err *e)
{
    char place[1024];
    struct str text = {0};
    if (!path && !shipped("pretrain.yaml", place, sizeof place, e))
        return false;
    path = path ? path : place;
    bool ok = file_read(path, MOST_BYTES, &text, e)
           && pretrain_parse(a, path, str_text(&text), text.len, out, e);
    str_free(&text);
    return ok;
}

/* Hashes the entropy and the workloads, for pretrain_summary. */
static uint64_t content_of(const struct pretrain *p)
{
    uint64_t h = hash_bytes(&p->entropy, sizeof p->entropy, 0);
    for (int i = 0; i < p->n; i++)
        h = hash_bytes(p->workload[i], strlen(p->workload[i]) + 1, h);
    return h;
}

const char *pretrain_summary(struct arena *a, const struct pretrain *p)
{
    const char *slash = strrchr(p->path, '/');
    const char *measured = p->measured < p->budget ? arena_printf(a, " (%d measured)", p->measured)
                                                   : "";
    return arena_printf(a, "%s, %d workloads, %d passes of %d%s, seed %llu, content %08llx",
                        slash ? slash + 1 : p->path, p->n, p->passes, p->budget, measured,
                        (unsigned long long)p->seed,
                        (unsigned long long)content_of(p) & 0xffffffff);
}

bool pretrain_weights_read(struct agents *g, const char *path, const char **trained, struct err *e)
{
    char place[1024];
    struct str data = {0};
    if (!path && !shipped("agents.weights", place, sizeof place, e))
        return false;
    path = path ? path : place;
    bool read = file_read(path, MOST_WEIGHT_BYTES, &data, e);
    bool ok = read && agents_load(g, str_text(&data), data.len, trained, e);
    str_free(&data);
    return ok || (read ? err_where(e, path, 0, 0, "") : false);
}

bool pretrain_weights_write(const struct agents *g, const char *path, uint64_t *seen,
                            const char *trained, struct err *e)
{
    struct str data = {0};
    agents_save(g, trained, &data);
    bool ok = file_replace(path, *seen, str_text(&data), data.len, e);
    if (ok)
        *seen = file_content(str_text(&data), data.len);
    str_free(&data);
    return ok;
}

bool pretrain_weights_bytes(struct arena *a, const char *path, bool typed, struct str *out,
                            const char **trained, struct err *e)
{
    char place[1024];
    if (!path && !shipped("agents.weights", place, sizeof place, e))
        return false;
    path = path ? path : place;
    if (!(typed ? file_read : file_read_regular)(path, MOST_WEIGHT_BYTES, out, e))
        return false;
    struct agents *g = agents_new(1, NULL);
    const char *by;
    bool ok = agents_load(g, str_text(out), out->len, &by, e) || err_where(e, path, 0, 0, "");
    if (ok && trained)
        *trained = arena_strdup(a, by);
    agents_free(g);
    return ok;
}
