/* Reads a study from YAML: cases and variants. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "kernels/base/file.h"
#include "profile/measure/meters.h"
#include "sessions/file/session_impl.h"
#include "sessions/study/study_loader.h"

/* Checks that the id of a study can be part of a file name, because the report's files are named
 * after it. */
static bool check_file_id(struct study_loader *l, const char *id, const struct ynode *node)
{
    bool ok = isalnum((unsigned char)id[0]);
    for (const char *c = id; *c; c++)
        ok = ok && (isalnum((unsigned char)*c) || strchr("._-", *c));
    if (ok)
        return true;
    err_set(l->y.e, ERR_NAME, "\"%.60s\" cannot name the files of a report", id);
    err_fix(l->y.e, "use letters, digits and . _ -, a letter or digit first");
    return yaml_load_at(&l->y, node);
}

/* Reads a key and substitutes the {parameters} in its text.  When the key is missing, *out keeps
 * its value. */
static bool get_filled(struct study_loader *l, const struct ynode *map, const char *key,
                       const struct param_set *params, const char **out)
{
    const char *text = NULL;
    if (!yaml_load_text(&l->y, map, key, 1000, false, &text))
        return false;
    if (!text || param_expand(l->y.a, text, params, out, l->y.e))
        return true;
    return yaml_at_text(&l->y.doc, yaml_get(map, key), l->y.e);
}

/* Refuses `more` new items if there are too many together with the `have` existing ones.  Call it
 * before reading the new items, because reading compares each id with all others. */
static bool room_for(struct study_loader *l, const struct ynode *map, int64_t more, int have)
{
    if (more <= STUDY_MAX_CELLS - have)
        return true;
    return yaml_refuse(&l->y.doc, yaml_get(map, "for") ? yaml_get(map, "for") : map, l->y.e,
                       ERR_RANGE, "there are more than %d of them", STUDY_MAX_CELLS);
}

/* --- Cases ------------------------------------------------------------------------------------ */

static bool new_case(struct study_loader *l, const struct ynode *map, struct study_case c)
{
    c.title = NULL;
    if (!get_filled(l, map, "id", &c.params, &c.id)
        || !yaml_load_id(&l->y, c.id, yaml_get(map, "id"))
        || !get_filled(l, map, "title", &c.params, &c.title))
        return false;
    c.title = c.title ? c.title : c.id;
    for (int i = 0; i < l->cases.len; i++)
        if (streq(l->cases.data[i].id, c.id)) {
            err_set(l->y.e, ERR_NAME, "there are two cases \"%s\"", c.id);
            err_fix(l->y.e, "name a parameter in it: %s_{x}", c.id);
            return yaml_load_at(&l->y, yaml_get(map, "id"));
        }
    vec_push(&l->cases, c);
    vec_push(&l->case_at, map);
    return true;
}

/* Reads `model:` of a case, the path of a network instead of an operator.  Fails unless all cases
 * of the study have it, or none has. */
static bool read_model(struct study_loader *l, const struct ynode *map, const char **spec)
{
    const struct ynode *model = yaml_get(map, "model"), *other = yaml_get(map, "operator");
    if (l->cases.len == 0)
        l->s->networks = model != NULL;
    if (l->s->networks != (model != NULL) || (model && other))
        return yaml_refuse(&l->y.doc, model ? model : map, l->y.e, ERR_SYNTAX,
                           "`model` and `operator` exclude each other: every case of a study is a"
                           " network, or none");
    return yaml_load_text(&l->y, map, "model", 1000, false, spec);
}

static bool read_case(struct study_loader *l, const struct ynode *map, const char *spec)
{
    static const char *const keys[] = { "id", "title", "operator", "model", "for", "tune", NULL };
    const struct ynode *id;
    struct param_grid grid;
    struct study_tune tune = {0};
    if (!yaml_keys(&l->y.doc, map, "a case", keys, l->y.e)
        || !yaml_need(&l->y.doc, map, "id", &id, l->y.e)
        || !yaml_load_text(&l->y, map, "operator", 65536, true, &spec)
        || !read_model(l, map, &spec)
        || !yaml_load_grid(&l->y, map, "for", &grid) || !study_read_case_tune(l, map, &tune))
        return false;
    if (!room_for(l, map, param_grid_size(&grid), l->cases.len))
        return false;
    for (int64_t i = 0; i < param_grid_size(&grid); i++)
        if (!new_case(l, map, (struct study_case){ .spec = spec, .tune = tune,
                                                   .params = param_grid_at(l->y.a, &grid, i) }))
            return false;
    return true;
}

static bool read_cases(struct study_loader *l, const struct ynode *root)
{
    const struct ynode *list;
    const char *spec = NULL;
    if (!yaml_load_list(&l->y, root, "cases", &list)
        || !yaml_load_text(&l->y, root, "operator", 65536, true, &spec))
        return false;
    for (int i = 0; i < list->n; i++)
        if (!read_case(l, list->item[i], spec))
            return false;
    return true;
}

/* --- Variants --------------------------------------------------------------------------------- */

/* Adds the lines of a list to the steps of v. */
static bool read_steps(struct study_loader *l, const struct ynode *list, struct study_variant *v)
{
    if (!list)
        return true;
    if (!yaml_is(&l->y.doc, list, YNODE_SEQ, "steps", l->y.e))
        return false;
    const char **step = ARENA_ARRAY(l->y.a, const char *, v->n_steps + list->n + 1);
    for (int i = 0; i < v->n_steps; i++)
        step[i] = v->step[i];
    for (int i = 0; i < list->n; i++) {
        const char *text;
        if (!yaml_text(&l->y.doc, list->item[i], "steps", 4096, false, &text, l->y.e))
            return false;
        step[v->n_steps + i] = arena_strdup(l->y.a, text);
    }
    v->n_steps += list->n;
    v->step = step;
    return true;
}

/* Sets the error for a file that is not a session.  Does not quote the file: an untrusted study can
 * name any file of the user. read: the file was read, but is no session. */
static bool no_session(struct study_loader *l, const struct ynode *node,
                       const struct study_variant *v, bool read, const struct err *why)
{
    if (read) {
        char from[64] = "";
        if (why->at.line > 0)
            snprintf(from, sizeof from, ", from line %d, column %d on", why->at.line, why->at.col);
        err_set(l->y.e, why->code,
                "session: %.300s is not a session for this tilescope%s", v->session,
                from);
        err_fix(l->y.e, "`tilescope show FILE` says what is wrong with it");
    } else {
        err_set(l->y.e, why->code, "session: %.300s: %.300s", v->session, why->text);
        err_fix(l->y.e, "%s", why->fix);
    }
    return yaml_load_at(&l->y, node);
}

static bool take_session(struct study_loader *l, const struct ynode *node, struct study_variant *v)
{
    const char *path = yaml_load_path(&l->y, v->session);
    struct session *s;
    struct str text = {0};
    struct err why = {0};
    bool read = file_read_regular(path, SESSION_MAX_BYTES, &text, &why);
    bool ok = read && session_parse_file(path, &text, &s, &why);
    str_free(&text);
    if (!ok)
        return no_session(l, node, v, read, &why);
    const struct program *p = history_current(s->history)->program;
    const char **step = ARENA_ARRAY(l->y.a, const char *, p->n_steps + 1);
    for (int i = 0; i < p->n_steps; i++)
        step[i] = arena_strdup(l->y.a, p->steps[i]);
    v->spec = arena_strdup(l->y.a, p->base->spec);
    v->step = step;
    v->n_steps = p->n_steps;
    session_free(s);
    return true;
}

static bool new_variant(struct study_loader *l, const struct ynode *map, struct study_variant v)
{
    v.title = NULL;
    if (!get_filled(l, map, "id", &v.params, &v.id)
        || !yaml_load_id(&l->y, v.id, yaml_get(map, "id"))
        || !get_filled(l, map, "title", &v.params, &v.title)
        || !get_filled(l, map, "session", &v.params, &v.session)
        || (v.session && !take_session(l, yaml_get(map, "session"), &v)))
        return false;
    v.title = v.title ? v.title : v.id;
    for (int i = 0; i < l->variant.len; i++)
        if (streq(l->variant.data[i].id, v.id)) {
            err_set(l->y.e, ERR_NAME, "there are two variants \"%s\"", v.id);
            err_fix(l->y.e, "name a parameter in it: %s_{x}", v.id);
            return yaml_load_at(&l->y, yaml_get(map, "id"));
        }
    vec_push(&l->variant, v);
    vec_push(&l->variant_at, map);
    return true;
}

static bool read_variant(struct study_loader *l, const struct ynode *map)
{
    static const char *const keys[] = { "id", "title", "for", "steps", "session", "cache",
                                        "search", "tune", NULL };
    const struct ynode *id;
    struct param_grid grid;
    struct study_variant v = { .tune = l->s->tune };
    v.tune.on = false;
    if (!yaml_keys(&l->y.doc, map, "a variant", keys, l->y.e)
        || !yaml_need(&l->y.doc, map, "id", &id, l->y.e)
        || !yaml_load_grid(&l->y, map, "for", &grid)
        || !yaml_load_grid(&l->y, map, "search", &v.search)
        || !read_steps(l, yaml_get(map, "steps"), &v)
        || (!yaml_get(map, "session") && !read_steps(l, yaml_get(l->y.doc.root, "steps"), &v))
        || !yaml_load_text(&l->y, map, "cache", 200, false, &v.cache)
        || !study_read_tune(l, map, &v.tune))
        return false;
    if (v.tune.on && v.search.n)
        return yaml_refuse(&l->y.doc, yaml_get(map, "search"), l->y.e, ERR_SYNTAX,
                           "`search` and `tune` exclude each other: the tuner searches by itself");
    if (yaml_get(map, "session") && (yaml_get(map, "steps") || v.search.n))
        return yaml_refuse(&l->y.doc, yaml_get(map, v.search.n ? "search" : "steps"), l->y.e,
                           ERR_SYNTAX,
                           "`session` and `steps` exclude each other: a session has its own steps");
    if (l->s->networks && (yaml_get(map, "session") || v.n_steps || v.search.n || v.cache))
        return yaml_refuse(&l->y.doc, map, l->y.e, ERR_SYNTAX,
                           "a variant of networks has no steps and no cache: `tune` says what the"
                           " search may change");
    if (!room_for(l, map, param_grid_size(&grid), l->variant.len))
        return false;
    for (int64_t i = 0; i < param_grid_size(&grid); i++) {
        v.params = param_grid_at(l->y.a, &grid, i);
        if (!new_variant(l, map, v))
            return false;
    }
    return true;
}

static bool read_variants(struct study_loader *l, const struct ynode *root)
{
    const struct ynode *list;
    if (!yaml_load_list(&l->y, root, "variants", &list))
        return false;
    for (int i = 0; i < list->n; i++)
        if (!read_variant(l, list->item[i]))
            return false;
    l->s->n_cases = l->cases.len;
    l->s->cases = ARENA_DUP(l->y.a, l->cases.data, l->cases.len);
    l->s->n_variants = l->variant.len;
    l->s->variant = ARENA_DUP(l->y.a, l->variant.data, l->variant.len);
    if ((int64_t)l->cases.len * l->variant.len <= STUDY_MAX_CELLS)
        return true;
    return yaml_refuse(&l->y.doc, list, l->y.e, ERR_RANGE,
                       "%d cases times %d variants are more than %d cells", l->cases.len,
                       l->variant.len, STUDY_MAX_CELLS);
}

/* --- The file --------------------------------------------------------------------------------- */

static bool check_version(struct study_loader *l, const struct ynode *root)
{
    const struct ynode *v = yaml_get(root, "study");
    int64_t version;
    if (!v) {
        err_set(l->y.e, ERR_SYNTAX, "the key \"study\" is missing: this is not a study file");
        err_fix(l->y.e, "a study begins with \"study: 1\"");
        return yaml_load_at(&l->y, root);
    }
    if (!yaml_int(&l->y.doc, v, "study", 1, INT64_MAX, &version, l->y.e))
        return false;
    if (version <= STUDY_VERSION)
        return true;
    err_set(l->y.e, ERR_RANGE, "this study has format %lld; this tilescope reads format %d",
            (long long)version, STUDY_VERSION);
    err_fix(l->y.e, "a newer tilescope wrote it: update this one");
    return yaml_load_at(&l->y, v);
}

static bool read_paper(struct study_loader *l, const struct ynode *root)
{
    static const char *const keys[] = { "title", "item", "machine", NULL };
    const struct ynode *p = yaml_get(root, "paper");
    struct study *s = l->s;
    return !p || (yaml_keys(&l->y.doc, p, "paper", keys, l->y.e)
                  && yaml_load_text(&l->y, p, "title", 500, false, &s->paper)
                  && yaml_load_text(&l->y, p, "item", 100, false, &s->item)
                  && yaml_load_text(&l->y, p, "machine", 200, false, &s->machine));
}

static bool read_root(struct study_loader *l, const struct ynode *root)
{
    static const char *const keys[] = { "study", "id", "title", "paper", "prose", "operator",
                                        "steps", "cases", "variants", "metrics", "findings",
                                        "measure", "scale", "tune", NULL };
    struct study *s = l->s;
    const struct ynode *id;
    if (!yaml_is(&l->y.doc, root, YNODE_MAP, "a study", l->y.e) || !check_version(l, root)
        || !yaml_keys(&l->y.doc, root, "a study", keys, l->y.e)
        || !yaml_need(&l->y.doc, root, "id", &id, l->y.e)
        || !yaml_load_text(&l->y, root, "id", 60, false, &s->id) || !check_file_id(l, s->id, id)
        || !yaml_load_text(&l->y, root, "title", 200, false, &s->title) || !read_paper(l, root)
        || !yaml_load_text(&l->y, root, "prose", 20000, true, &s->prose))
        return false;
    return read_cases(l, root) && study_read_tune(l, root, &s->tune) && read_variants(l, root)
        && study_check_operators(l) && study_read_numbers(l, root) && study_check_cells(l);
}

static bool parse(struct study_loader *l, const char *name, const char *text, size_t n)
{
    if (n > STUDY_MAX_BYTES) {
        err_set(l->y.e, ERR_RANGE,
                "the file has %zu bytes; a study has at most %u", n, STUDY_MAX_BYTES);
        return err_where(l->y.e, name, 0, 0, "");
    }
    if (!yaml_read(l->y.a, name, text, n, &l->y.doc, l->y.e))
        return false;
    if (l->y.doc.root)
        return read_root(l, l->y.doc.root);
    err_set(l->y.e, ERR_SYNTAX, "the file is empty");
    err_fix(l->y.e, "a study begins with \"study: 1\"");
    return err_where(l->y.e, name, 0, 0, "");
}

bool study_parse(const char *name, const char *text, size_t n, struct study **out, struct err *e)
{
    struct arena *a = arena_new();
    struct study *s = ARENA_NEW(a, struct study);
    struct study_loader l = { .y = { .a = a, .e = e }, .s = s };
    *s = (struct study){ .arena = a, .path = arena_strdup(a, name), .threads = 1, .seed = 1,
                         .meters = meters_default() };
    s->tune = (struct study_tune){ .budget = TUNING_BUDGET, .levels = 1, .n_seeds = 1,
                                   .seed = { 1 }, .experts = TUNING_EXPERTS };
    s->id = s->title = s->paper = s->item = s->machine = s->prose = "";
    bool ok = parse(&l, name, text, n);
    vec_free(&l.cases);
    vec_free(&l.variant);
    vec_free(&l.case_at);
    vec_free(&l.variant_at);
    if (ok)
        *out = s;
    else
        arena_free(a);
    return ok;
}

void study_free(struct study *s)
{
    if (s)
        arena_free(s->arena);
}
