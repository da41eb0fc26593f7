/* How to measure: the threads, the simulated caches, the budget of the simulator, the compiler, the
 * instruction set.  Also the columns of the ledger and the theme, the settings of the user's file,
 * and notes on tiles that do no good. */
#include "app/model/model.h"

#include <math.h>
#include <stdio.h>
#include "kernels/gen/tile_registers.h"
#include "profile/build/build.h"
#include "profile/measure/program_text.h"

/* Stores the version of the compiler in use in m->stands_for; "": there is no such compiler. */
static void note_compiler(struct model *m)
{
    struct compiler found;
    struct err ignored;
    bool ok = compiler_find(m->set.compiler[0] ? m->set.compiler : NULL, &found, &ignored);
    snprintf(m->stands_for.compiler, sizeof m->stands_for.compiler, "%s", ok ? found.version : "");
}

/* Returns the caches that are simulated: the chosen ones, or those of this machine. */
static struct cache_config cache_in_use(const struct model *m)
{
    struct machine here;
    machine_read(&here);
    return cache_config_on(&m->set.cache, &here.l1d, &here.l2, &here.l3);
}

void model_apply_settings(struct model *m, const struct model_opts *o)
{
    const struct app_settings *s = o->settings;
    m->threads = o->threads > 0 ? o->threads : s && s->threads > 0 ? s->threads : 1;
    m->baselines = o->baselines_given || !s ? o->baselines : s->baselines;
    m->baselines_chosen = o->baselines_given || (s && s->given[SETTING_BASELINES].value);
    m->autorun = !o->no_auto && (!s || s->automatic);
    if (!s)
        return;
    m->set = s->set;
    if (m->set.compiler[0] || m->set.target)
        note_compiler(m);
    if (m->set.cache.n_levels > 0)
        m->stands_for.cache = cache_in_use(m);
    m->columns = s->columns;
    key_bindings_add(s->key, s->n_keys);
}

bool model_set_columns(struct model *m, const char *arg)
{
    struct str now = {0};
    struct err e;
    if (!columns_parse(arg[0] ? arg : "auto", &m->columns, &e))
        return model_say_error(m, e.text, e.fix);
    m->data_stamp++;
    columns_print(&m->columns, &now);
    model_info(m, "columns of the steps: %s%s; `columns:` in settings.yaml keeps them",
               str_text(&now), m->columns.n > 1 ? " (the last go first if there is no room)" : "");
    str_free(&now);
    return true;
}

bool model_set_theme(struct model *m, const char *arg)
{
    if (!theme_find(arg, &m->out.theme))
        return model_say_error(m, "there is no such theme", "theme dark, light, mono or auto");
    m->out.theme_chosen = true;
    model_info(m, "`theme: %s` in settings.yaml keeps it", arg);
    return true;
}

static bool is_default(const char *arg)
{
    return streq(arg, "default") || streq(arg, "auto") || streq(arg, "native");
}

/* Shows the value of a setting: the answer to its command without an argument. */
static bool say_value(struct model *m, const char *name, const char *value, bool by_default)
{
    model_info(m, "%s %s%s%s%s", name, value, by_default ? ", the default" : "; `",
               by_default ? "" : name, by_default ? "" : " default` takes it back");
    return true;
}

/* Appends the commands that make these settings, with "; " between them: all five, because those
 * that are the default here need not be the default of another run. */
static void print_commands(const struct model *m, struct str *out)
{
    const struct job_settings *s = &m->set;
    str_printf(out, "threads %d; isa %s; compiler %s; cache ", m->threads,
               s->target ? s->target->isa : "default", s->compiler[0] ? s->compiler : "default");
    if (s->cache.n_levels > 0)
        cache_config_print(out, &s->cache);
    else
        str_add(out, "default");
    if (s->sim_budget > 0)
        str_printf(out, "; sim_budget %.17g", s->sim_budget);
    else
        str_add(out, "; sim_budget default");
}

bool model_autosave(const struct model *m, struct session *s, struct err *e)
{
    struct str text = {0};
    print_commands(m, &text);
    bool fits = text.len < sizeof s->screen;
    strcpy(s->screen, fits ? str_text(&text) : "");
    str_free(&text);
    return session_autosave(s, e);
}

bool model_settings_restore(struct model *m, const char *commands)
{
    struct str now = {0}, then = {0};
    char *rest = NULL;
    print_commands(m, &now);
    bool other = commands[0] && !streq(commands, str_text(&now));
    if (other) {
        str_add(&then, commands);
        for (char *line = strtok_r(then.data, ";", &rest); line; line = strtok_r(NULL, ";", &rest))
            model_run(m, line + strspn(line, " "));
        model_clear_message(m);
    }
    str_free(&now);
    str_free(&then);
    return other;
}

void model_settings(const struct model *m, struct str *out)
{
    const struct job_settings *s = &m->set;
    size_t from = out->len;
    if (s->target)
        str_printf(out, "isa %s", s->target->isa);
    if (s->compiler[0])
        str_printf(out, "%scompiler %s", out->len > from ? ", " : "", basename(s->compiler));
    if (m->threads > 1)
        str_printf(out, "%sthreads %d", out->len > from ? ", " : "", m->threads);
    if (s->cache.n_levels > 0) {
        str_add(out, out->len > from ? ", cache " : "cache ");
        cache_config_print(out, &s->cache);
    }
    if (s->sim_budget > 0)
        str_printf(out, "%ssim_budget %g", out->len > from ? ", " : "", s->sim_budget);
}

/* For every state, shows the measurement that was made with the present instruction set, compiler
 * and threads, if there is one.  Returns whether the current state has one. */
static bool recall_measured(struct model *m)
{
    struct history *h = m->session ? m->session->history : NULL;
    bool has = false;
    for (int i = 0; h && i < history_n_states(h); i++) {
        const struct program *p = history_state(h, i)->program;
        bool so = history_prefer(h, i, program_text_target(p, m->set.target)->isa,
                                 m->stands_for.compiler, m->threads);
        has = has || (so && i == history_current(h)->id);
    }
    return has;
}

/* Returns what is said behind the new value of a setting. had: whether the step was measured with
 * it. */
static const char *what_next(bool had)
{
    return had ? "; this step's time is of it" : "; m measures again";
}

/* Whether the misses of the current step were simulated for the cache in use. */
static bool has_misses(const struct model *m)
{
    const struct measurement *r = m->session ? history_current(m->session->history)->measured
                                             : NULL;
    return r && r->sim.available && cache_config_same(&r->sim.cache, &m->stands_for.cache);
}

/* Writes the new settings into the autosave, if there is one.  Called after the answer to a command
 * because it may report a failure. */
static void keep_settings(struct model *m)
{
    if (model_has_news(m))
        model_keep_safe(m);
}

/* Updates the model after a change of a setting, and says the new value.  Texts of code are made
 * again.  Measurements stay, but are marked as made with other settings.  after: what is said
 * behind the value; NULL: it depends on whether the step was timed with the new value. */
static bool changed(struct model *m, const char *name, const char *value, bool is_the_default,
                    const char *after)
{
    m->data_stamp++;
    bool had = recall_measured(m);
    model_compare_outdate(m);
    for (int i = 0; i < COUNT_OF(m->code); i++)
        m->code[i].have = false;
    model_info(m, "%s %s%s from now on%s", name, value, is_the_default ? ", the default," : "",
               after ? after : what_next(had));
    keep_settings(m);
    return true;
}

bool model_set_threads(struct model *m, const char *arg)
{
    long long n = 1;
    bool by_default = is_default(arg);
    if (!arg[0]) {
        char now[24];
        snprintf(now, sizeof now, "%d", m->threads);
        return say_value(m, "threads", now, m->threads == 1);
    }
    if (!by_default && !str_to_int64(arg, 1, 1024, &n))
        return model_say_error(m, "the number of threads is 1 to 1024", "threads 4");
    m->threads = (int)n;
    m->data_stamp++;
    bool had = recall_measured(m);
    model_compare_outdate(m);
    struct str note = {0};
    model_threads_note(m, &note);
    model_info(m, "measuring with %d thread%s%s from now on%s%s", m->threads, n == 1 ? "" : "s",
               by_default ? ", the default," : "", what_next(had), str_text(&note));
    str_free(&note);
    keep_settings(m);
    if (m->network)
        model_network_update(m);
    return true;
}

static bool say_cache(struct model *m)
{
    struct str now = {0};
    struct cache_config cache = cache_in_use(m);
    cache_config_print(&now, &cache);
    say_value(m, "cache", str_text(&now), m->set.cache.n_levels == 0);
    str_free(&now);
    return true;
}

bool model_set_cache(struct model *m, const char *arg)
{
    struct cache_config cache = {0};
    struct err e;
    if (!arg[0])
        return say_cache(m);
    if (!is_default(arg) && !cache_config_parse(arg, &cache, &e)) {
        m->error_col = e.at.col;
        return model_error(m, &e);
    }
    m->set.cache = (struct cache_config){0};
    struct cache_config own = cache_in_use(m);
    bool by_default = is_default(arg) || cache_config_same(&cache, &own);
    if (!by_default)
        m->set.cache = cache;
    m->stands_for.cache = cache_in_use(m);
    struct str now = {0};
    cache_config_print(&now, &m->stands_for.cache);
    changed(m, "cache", str_text(&now), by_default,
            has_misses(m) ? "; this step's misses are of it" : what_next(false));
    str_free(&now);
    return true;
}

bool model_set_compiler(struct model *m, const char *arg)
{
    struct compiler found = {0};
    struct err e;
    bool by_default = is_default(arg);
    if (strlen(arg) >= sizeof m->set.compiler)
        return model_say_error(m, "that name of a compiler is too long", "");
    const char *name = arg[0] ? arg : m->set.compiler;
    bool ok = compiler_find(by_default || !name[0] ? NULL : name, &found, &e);
    if (ok && !arg[0])
        return say_value(m, "compiler", found.version, !name[0]);
    if (ok || by_default) {
        strcpy(m->set.compiler, by_default ? "" : arg);
        note_compiler(m);
    }
    if (!ok)
        return model_error(m, &e);
    return changed(m, "compiler", by_default ? basename(found.path) : arg, by_default, NULL);
}

bool model_set_isa(struct model *m, const char *arg)
{
    struct err e;
    if (!arg[0])
        return say_value(m, "isa", target_or_host(m->set.target)->isa, !m->set.target);
    const struct target *t = is_default(arg) ? NULL : target_find(arg, &e);
    if (!t && !is_default(arg))
        return model_error(m, &e);
    if (m->session && t == program_text_target(model_program(m), NULL))
        t = NULL;                         /* this target is the default of the program */
    m->set.target = t;
    note_compiler(m);
    m->stamp++;  /* rebuilds the nest, which shows the tiles that do not fit the registers */
    return changed(m, "isa", target_or_host(t)->isa, !t, NULL);
}

/* Returns the target whose registers the tiles of a state should fit: the chosen target, or else
 * the default for the state's program.  If no target is chosen in a session of another machine,
 * returns the target of the state's measurement, or else that of the newest measured state.
 * NULL: the name of the measurement's target is unknown. */
static const struct target *target_of(const struct model *m, const struct state *s)
{
    struct err ignored;
    const struct history *h = m->session->history;
    const struct measurement *r = NULL;
    if (!m->set.target && session_is_elsewhere(m->session)) {
        r = s->measured;
        for (int i = history_n_states(h) - 1; !r && i >= 0; i--)
            r = history_state(h, i)->measured;
    }
    return r ? target_find(r->isa, &ignored) : program_text_target(s->program, m->set.target);
}

/* Returns the name of a tile of a cache_write that keeps no partial sums, so that it does no good.
 * Appends why, and what would make it keep some.  NULL: there is no such tile. */
static const char *idle_tile(const struct func *f, const struct program *p, struct str *out)
{
    const struct stage *s = NULL;
    const char *name = NULL;
    for (int k = 0; k < p->graph->n_nodes && !name; k++) {
        s = p->stage[k];
        if (!s || !s->cache_at || stage_tile_sums(s))
            continue;
        for (int i = f->n_params; i < f->n_buffers; i++)
            if (str_starts(f->buffer[i].name, s->name)
                && streq(f->buffer[i].name + strlen(s->name), "_acc"))
                name = f->buffer[i].name;
    }
    if (!name)
        return NULL;
    int outer = stage_above_sums(s);
    str_printf(out, "keeps no partial sums: no reduction is inside of %s; ", s->cache_at);
    if (outer >= 0)
        str_printf(out, "at=%s keeps them", s->axis[outer].name);
    else
        str_add(out, "reorder one into it");
    return name;
}

const char *model_tile_note(const struct model *m, const struct state *s, const struct func *f,
                            struct str *out)
{
    const struct target *t = target_of(m, s);
    const char *tile = t ? tile_spill_note(f, t, out) : NULL;
    return tile ? tile : idle_tile(f, s->program, out);
}

void model_describe_tile(const struct model *m, const struct state *s, const char *before,
                         struct str *out)
{
    const struct func *f;
    struct err ignored;
    struct str says = {0};
    const char *tile = program_lower(s->program, &f, &ignored) ? model_tile_note(m, s, f, &says)
                                                               : NULL;
    if (tile)
        str_printf(out, "%s%s %s", before, tile, str_text(&says));
    str_free(&says);
}

/* If a tile is in registers in state `than` but not in state s, appends `before`, the tile's name
 * and why it is not. */
static void describe_leaving(const struct model *m, const struct state *s, const struct state *than,
                             const char *before, struct str *out)
{
    const struct func *f, *old;
    struct err ignored;
    const struct target *t = target_of(m, s);
    const char *tile = t && program_lower(s->program, &f, &ignored)
                    && program_lower(than->program, &old, &ignored) ? tile_that_leaves(f, old, t)
                                                                    : NULL;
    if (tile)
        str_printf(out, "%s%s leaves the registers: some loops over it are neither unrolled nor "
                   "vectorized", before, tile);
}

void model_new_tile(const struct model *m, const struct state *s, const struct state *than,
                    const char *before, struct str *out)
{
    struct str now = {0}, then = {0};
    model_describe_tile(m, s, before, &now);
    if (now.len > 0)
        model_describe_tile(m, than, before, &then);
    else
        describe_leaving(m, s, than, before, &now);
    if (!streq(str_text(&now), str_text(&then)))
        str_add(out, str_text(&now));
    str_free(&now);
    str_free(&then);
}

bool model_set_sim_budget(struct model *m, const char *arg)
{
    double n = 0;
    if (!arg[0]) {
        bool chosen = m->set.sim_budget > 0;
        char now[32];
        snprintf(now, sizeof now, "%g", m->set.sim_budget);
        return say_value(m, "sim_budget",
                         chosen ? now : setting_info[SETTING_SIM_BUDGET].fallback, !chosen);
    }
    if (!is_default(arg) && (!str_to_double(arg, &n) || !isfinite(n) || n < 1 || n > 1e15))
        return model_say_error(m, "the budget is the number of accesses above which a sample is "
                               "simulated, 1 to 1e15", "sim_budget 5e9");
    m->set.sim_budget = n;
    return changed(m, "sim_budget", n > 0 ? arg : setting_info[SETTING_SIM_BUDGET].fallback,
                   !(n > 0), what_next(false));
}
