/* Reads settings.yaml, and prints the settings in force. */
#include "app/model/settings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/model/appcmd.h"
#include "kernels/base/file.h"
#include "kernels/gen/target.h"
#include "profile/build/build.h"
#include "profile/vendor/vendor.h"
#include "sessions/file/json.h"

#define MOST_BYTES 100000
#define MOST_KEYS 200
#define MOST_LINE 500                    /* most bytes of the command of a key */

const struct setting_info setting_info[SETTING_COUNT] = {
#define SETTING(id, name, fallback, help) {name, fallback, help},
#include "app/model/settings.def"
};

const struct column_info column_info[COLUMN_COUNT] = {
#define COLUMN(id, name, width, help) {name, width, help},
#include "app/model/column.def"
};

/* --- Columns ---------------------------------------------------------------------------------- */

static bool add_column(struct columns *c, const char *name, struct err *e)
{
    const char *names[COLUMN_COUNT];
    char all[200] = "";                   /* "best median ... ok ", for the fix */
    int id = -1, n = 0;
    for (int i = 0; i < COLUMN_COUNT; i++) {
        names[i] = column_info[i].name;
        n += snprintf(all + n, sizeof all - (size_t)n, "%s ", names[i]);
        id = streq(name, names[i]) ? i : id;
    }
    if (id < 0) {
        err_set(e, ERR_NAME, "there is no column \"%.40s\"", name);
        return err_near(e, name, names, COLUMN_COUNT, "did you mean %s?",
                        "%sor auto", all);
    }
    for (int i = 0; i < c->n; i++)
        if ((int)c->at[i] == id)
            return err_set(e, ERR_NAME, "the column %s is there twice", name);
    c->at[c->n++] = (enum column)id;
    return true;
}

bool columns_parse(const char *text, struct columns *out, struct err *e)
{
    struct columns c = {0};
    char word[40];
    for (int used; sscanf(text, " %39[^ ,]%n", word, &used) == 1; text += strspn(text, " ,"))
        if (text += used, !streq(word, "auto") && !add_column(&c, word, e))
            return false;
    *out = c;
    return true;
}

void columns_print(const struct columns *c, struct str *out)
{
    if (c->n == 0)
        str_add(out, "auto");
    for (int i = 0; i < c->n; i++)
        str_printf(out, "%s%s", i ? ", " : "", column_info[c->at[i]].name);
}

/* --- Values ----------------------------------------------------------------------------------- */

static bool read_columns(struct yaml_load *l, const struct ynode *v, struct app_settings *s)
{
    if (v->kind == YNODE_SCALAR && streq(v->text, "auto"))
        return true;
    if (!yaml_is(&l->doc, v, YNODE_SEQ, "columns", l->e))
        return err_fix(l->e, "columns: [best, change, misses, ok]");
    for (int i = 0; i < v->n; i++) {
        const char *name;
        if (!yaml_text(&l->doc, v->item[i], "columns", 40, false, &name, l->e))
            return false;
        if (!add_column(&s->columns, name, l->e))
            return yaml_load_at(l, v->item[i]);
    }
    return true;
}

static bool read_theme(struct yaml_load *l, const struct ynode *v, struct app_settings *s)
{
    if (v->kind == YNODE_SCALAR && theme_find(v->text, &s->theme))
        return true;
    yaml_refuse(&l->doc, v, l->e, ERR_NAME, "there is no such theme");
    return err_fix(l->e, "theme: dark, light, mono or auto");
}

static bool read_budget(struct yaml_load *l, const struct ynode *v, struct app_settings *s)
{
    if (!yaml_double(&l->doc, v, "sim_budget", &s->set.sim_budget, l->e))
        return false;
    if (s->set.sim_budget >= 1 && s->set.sim_budget <= 1e15)
        return true;
    yaml_refuse(&l->doc, v, l->e, ERR_RANGE, "sim_budget: expected 1 to 1e15 accesses");
    return err_fix(l->e, "sim_budget: 5e9");
}

static bool read_threads(struct yaml_load *l, const struct ynode *v, struct app_settings *s)
{
    int64_t n = 1;
    bool ok = yaml_int(&l->doc, v, "threads", 1, 1024, &n, l->e);
    s->threads = (int)n;
    return ok;
}

/* Reads the cache, isa, baselines or compiler, whose text another part of the program parses. */
static bool read_named(struct yaml_load *l, enum setting id, const struct ynode *v,
                       struct app_settings *s)
{
    const char *text;
    struct compiler found;
    if (!yaml_text(&l->doc, v, setting_info[id].name, sizeof s->set.compiler - 1, false, &text,
                   l->e))
        return false;
    bool ok = id == SETTING_CACHE ? cache_config_parse(text, &s->set.cache, l->e)
            : id == SETTING_ISA   ? (s->set.target = target_find(text, l->e)) != NULL
            : id == SETTING_BASELINES ? vendor_parse(text, &s->baselines, l->e)
                                      : compiler_find(text, &found, l->e);
    if (id == SETTING_COMPILER)
        snprintf(s->set.compiler, sizeof s->set.compiler, "%s", text);
    return ok || yaml_load_at(l, v);
}

static bool read_value(struct yaml_load *l, enum setting id, const struct ynode *v,
                       struct app_settings *s)
{
    const char *name = setting_info[id].name;
    switch ((int)id) {
    case SETTING_THEME:      return read_theme(l, v, s);
    case SETTING_COLUMNS:    return read_columns(l, v, s);
    case SETTING_THREADS:    return read_threads(l, v, s);
    case SETTING_SIM_BUDGET: return read_budget(l, v, s);
    case SETTING_AUTO:       return yaml_bool(&l->doc, v, name, &s->automatic, l->e);
    case SETTING_MOUSE:      return yaml_bool(&l->doc, v, name, &s->mouse, l->e);
    case SETTING_UNICODE:    return yaml_bool(&l->doc, v, name, &s->unicode, l->e);
    default:                 return read_named(l, id, v, s);
    }
}

/* --- Keys ------------------------------------------------------------------------------------- */

/* Returns the shipped binding of a key in a part of the screen, for the command "as KEY".  NULL
 * with *e: the key does nothing there. */
static const struct key_binding *shipped(const char *key, enum key_context context, struct err *e)
{
    const enum key_context chain[] = { context, KEYS_VIEW, KEYS_MOVE, KEYS_WORK, KEYS_ANY };
    const struct key_binding *b = key_binding_find(chain, COUNT_OF(chain), key_parse(key));
    if (!b) {
        err_set(e, ERR_NAME, "\"%.40s\" does nothing here", key);
        err_fix(e, "as j does what j does; keys of a part of the screen stand under its name");
    }
    return b;
}

/* Checks the command of a key: its first word must be that of a step or a command, and its
 * placeholders must exist. */
static bool check_line(const char *line, struct err *e)
{
    struct str near = {0};
    for (const char *p = strchr(line, '%'); p; p = strchr(p + 1, '%'))
        if (!p[1] || !strchr(KEY_BLANKS, p[1])) {
            err_set(e, ERR_SYNTAX, "%%%.1s stands for nothing", p + 1);
            return err_fix(e, "%%T is the stage and %%D the loop under the cursor; "
                           "`tilescope help settings` has all");
        }
    if (appcmd_known(line))
        return true;
    appcmd_nearest(line, &near);
    err_set(e, ERR_NAME, "there is no step or command \"%.*s\"", (int)strcspn(line, " "), line);
    err_fix(e, "%s", str_text(&near));
    str_free(&near);
    return false;
}

static bool check_key(const char *name, struct err *e)
{
    int key = key_parse(name);
    if (key == K_NONE) {
        err_set(e, ERR_NAME, "\"%.40s\" is no key", name);
        return err_fix(e, "z, F5, C-t, Enter, PgDn, S-Up, or a part of the screen: nest, steps");
    }
    if (key != K_ESC && key != K_CTRL('c') && key != ':' && key != '0')
        return true;
    err_set(e, ERR_NAME, "%s keeps its meaning", name);
    return err_fix(e, "Esc, C-c, : and 0 lead out of things, or begin a count");
}

static bool read_keys(struct yaml_load *l, const struct ynode *map, enum key_context context,
                      struct app_settings *s)
{
    for (int i = 0; i < map->n; i++) {
        const struct ynode *key = map->item[2 * i], *v = map->item[2 * i + 1];
        const char *line;
        if (!yaml_key_once(&l->doc, map, i, "keys", l->e))
            return false;
        if (!check_key(key->text, l->e))
            return yaml_load_at(l, key);
        if (!yaml_text(&l->doc, v, key->text, MOST_LINE, false, &line, l->e))
            return false;
        if (s->n_keys == MOST_KEYS)
            return yaml_refuse(&l->doc, key, l->e, ERR_RANGE, "at most %d keys", MOST_KEYS);
        const struct key_binding *as = NULL;
        if (str_starts(line, "as ") ? !(as = shipped(line + 3, context, l->e))
                                    : !check_line(line, l->e))
            return yaml_load_at(l, v);
        bool ask = line[strlen(line) - 1] == ' ';
        s->key_line[s->n_keys] = key->line + 1;
        s->key_text[s->n_keys] = arena_strdup(l->a, line);
        s->key[s->n_keys++] = (struct key_binding){
            .context = context, .keys = arena_strdup(l->a, key->text),
            .action = as ? as->action : ask ? ACTION_ASK : ACTION_RUN,
            .line = as ? as->line : arena_strdup(l->a, line), .label = "",
            .help = arena_printf(l->a, "%s (settings)", as ? as->help : line),
        };
    }
    return true;
}

/* Reads the mapping `keys`.  Its entries are keys that work everywhere, and parts of the screen,
 * each with a mapping of keys for this part. */
static bool read_all_keys(struct yaml_load *l, const struct ynode *map, struct app_settings *s)
{
    struct ynode *everywhere = ARENA_NEW(l->a, struct ynode);
    if (!yaml_is(&l->doc, map, YNODE_MAP, "keys", l->e))
        return false;
    const struct ynode **pair = ARENA_ARRAY(l->a, const struct ynode *, 2 * map->n + 1);
    *everywhere = *map;
    everywhere->n = 0;
    everywhere->item = pair;
    s->key = ARENA_ARRAY(l->a, struct key_binding, MOST_KEYS);
    s->key_line = ARENA_ARRAY(l->a, int, MOST_KEYS);
    s->key_text = ARENA_ARRAY(l->a, const char *, MOST_KEYS);
    for (int i = 0; i < map->n; i++) {
        int context = key_context_find(map->item[2 * i]->text);
        const struct ynode *v = map->item[2 * i + 1];
        if (context < 0) {
            pair[2 * everywhere->n] = map->item[2 * i];
            pair[2 * everywhere->n++ + 1] = v;
        } else if (!yaml_key_once(&l->doc, map, i, "keys", l->e)
                   || !yaml_is(&l->doc, v, YNODE_MAP, map->item[2 * i]->text, l->e)
                   || !read_keys(l, v, (enum key_context)context, s)) {
            return false;
        }
    }
    return read_keys(l, everywhere, KEYS_ANY, s);
}

/* --- The file --------------------------------------------------------------------------------- */

/* Notes the text and the line of a setting, for the command `tilescope settings`. */
static void note_given(struct app_settings *s, enum setting id, const struct ynode *v)
{
    struct str text = {0};
    if (id == SETTING_COLUMNS)
        columns_print(&s->columns, &text);
    else
        str_add(&text, v->text);
    s->given[id] = (struct setting_given){ arena_strdup(s->mem, str_text(&text)), v->line + 1 };
    str_free(&text);
}

static void set_defaults(struct app_settings *s)
{
    s->theme = THEME_AUTO;
    s->columns.n = s->n_keys = 0;
    s->automatic = s->mouse = s->unicode = true;
    s->threads = 0;
    s->baselines = 0;
    s->set = (struct job_settings){0};
    memset(s->given, 0, sizeof s->given);
}

static bool read_root(struct yaml_load *l, struct app_settings *s)
{
    const char *keys[SETTING_COUNT + 2] = { "keys" };
    const struct ynode *root = l->doc.root, *map;
    for (int i = 0; i < SETTING_COUNT; i++)
        keys[i + 1] = setting_info[i].name;
    if (!root)
        return true;
    if (!yaml_keys(&l->doc, root, "settings", keys, l->e))
        return false;
    for (int i = 0; i < SETTING_COUNT; i++) {
        const struct ynode *v = yaml_get(root, setting_info[i].name);
        if (v && !read_value(l, (enum setting)i, v, s))
            return false;
        if (v)
            note_given(s, (enum setting)i, v);
    }
    map = yaml_get(root, "keys");
    return !map || read_all_keys(l, map, s);
}

bool settings_parse(const char *name, const char *text, size_t n, struct app_settings *out,
                    struct err *e)
{
    *out = (struct app_settings){ .mem = arena_new() };
    struct yaml_load l = { .a = out->mem, .e = e };
    out->path = arena_strdup(out->mem, name);
    out->exists = true;
    set_defaults(out);
    bool ok = yaml_read(out->mem, out->path, arena_bytes(out->mem, text, n), n, &l.doc, e)
           && read_root(&l, out);
    if (!ok)
        set_defaults(out);
    return ok;
}

bool settings_path(struct str *out)
{
    bool known = dir_config(out);
    str_add(out, known ? "/settings.yaml" : "settings.yaml");
    return known;
}

bool settings_read(struct app_settings *out, struct err *e)
{
    struct str path = {0}, text = {0};
    bool there = settings_path(&path);
    there = there && file_exists(str_text(&path));
    bool ok = !there || file_read_regular(str_text(&path), MOST_BYTES, &text, e);
    if (!settings_parse(str_text(&path), str_text(&text), ok ? text.len : 0, out, e))
        ok = false;
    out->exists = there;
    str_free(&path);
    str_free(&text);
    return ok;
}

void settings_free(struct app_settings *s)
{
    arena_free(s->mem);
    *s = (struct app_settings){0};
}

/* --- Printing --------------------------------------------------------------------------------- */

void settings_print(const struct app_settings *s, struct str *out)
{
    str_printf(out, "%s%s\n", s->path, s->exists ? "" : " (not there: these are the defaults)");
    for (int i = 0; i < SETTING_COUNT; i++) {
        const struct setting_given *g = &s->given[i];
        str_printf(out, "  %-11s %-24s ", setting_info[i].name,
                   g->value ? g->value : setting_info[i].fallback);
        str_printf(out, g->value ? "line %d\n" : "default\n", g->line);
    }
    for (int i = 0; i < s->n_keys; i++)
        str_printf(out, "%s  %-6s %-8s %s\n", i ? "" : "keys\n", s->key[i].keys,
                   s->key[i].context == KEYS_ANY ? "" : key_context_name[s->key[i].context],
                   s->key_text[i]);
}

void settings_print_json(const struct app_settings *s, struct str *out)
{
    json_t *set = json_array(), *keys = json_array();
    for (int i = 0; i < SETTING_COUNT; i++) {
        const struct setting_given *g = &s->given[i];
        json_array_append_new(set, json_make(
            "name", JSON(setting_info[i].name),
            "value", JSON(g->value ? g->value : setting_info[i].fallback),
            "line", JSON_OR_NULL(g->line)));
    }
    for (int i = 0; i < s->n_keys; i++)
        json_array_append_new(keys, json_make(
            "key", JSON(s->key[i].keys), "where", JSON(key_context_name[s->key[i].context]),
            "command", JSON(s->key_text[i]), "line", JSON(s->key_line[i])));
    json_print(out, json_make("file", JSON(s->path), "exists", JSON(s->exists), "settings", set,
                              "keys", keys), 9);
}
