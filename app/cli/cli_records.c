/* `tilescope records`: the command, and its verbs that move, check or delete records. */
#include "app/cli/cli_records.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explorer/history/command.h"
#include "kernels/base/file.h"
#include "sessions/file/json.h"

#define IMPORT_MAX_BYTES ((size_t)1 << 30)
#define ROWS 20

/* --- Moving records between files ------------------------------------------------------------- */

static bool do_export(struct ask *k, struct err *e)
{
    const char *to = args_value(k->args, OPT_OUTPUT);
    int64_t n;
    if (!cli_records_filter(k, true, e) || !records_export(k->r, &k->f, &k->out, &n, e))
        return false;
    if (!to || streq(to, "-"))
        return true;
    if (!file_write_atomic(to, str_text(&k->out), k->out.len, e))
        return false;
    str_clear(&k->out);
    if (k->json) {
        str_printf(&k->out, "{\"format\": 1, \"records\": %lld}\n", (long long)n);
        return true;
    }
    str_add(&k->out, "wrote ");
    cli_records_plural(&k->out, n, "record");
    str_printf(&k->out, " to %s\n", to);
    return true;
}

static void add_added(struct ask *k, const struct records_added *added)
{
    if (k->json) {
        str_printf(&k->out, "{\"format\": 1, \"runs\": %lld, \"records\": %lld,"
                            " \"known\": %lld}\n", (long long)added->runs,
                   (long long)added->records, (long long)added->known);
        return;
    }
    str_add(&k->out, "added ");
    cli_records_plural(&k->out, added->records, "record");
    str_add(&k->out, " in ");
    cli_records_plural(&k->out, added->runs, "new run");
    if (added->known > 0) {
        str_add(&k->out, "; ");
        str_count(&k->out, added->known);
        str_add(&k->out, added->known == 1 ? " was there already" : " were there already");
    }
    str_add(&k->out, "\n");
}

static bool one_file(struct ask *k, const char *example, struct err *e)
{
    if (k->args->word.len == 2)
        return true;
    err_set(e, ERR_SYNTAX, "records %s takes one file", k->args->word.data[0]);
    return err_fix(e, "tilescope records %s %s", k->args->word.data[0], example);
}

static bool do_import(struct ask *k, struct err *e)
{
    struct records_added added;
    struct str text = {0};
    bool ok = one_file(k, "FILE.jsonl", e);
    const char *from = ok ? k->args->word.data[1] : NULL;
    ok = ok && file_read(from, IMPORT_MAX_BYTES, &text, e)
      && records_import(k->r, streq(from, "-") ? "<stdin>" : from, str_text(&text), text.len,
                        k->c->cancel, &added, e);
    if (ok)
        add_added(k, &added);
    str_free(&text);
    return ok;
}

static bool do_merge(struct ask *k, struct err *e)
{
    struct records_added added;
    if (!one_file(k, "OTHER.db", e)
        || !records_merge(k->r, k->args->word.data[1], k->c->cancel, &added, e))
        return false;
    add_added(k, &added);
    return true;
}

/* --- Checking and deleting -------------------------------------------------------------------- */

static bool do_prune(struct ask *k, struct err *e)
{
    int keep = 0;
    struct records_pruned gone;
    bool dry = !args_has(k->args, OPT_YES);
    if (!cli_records_filter(k, false, e) || !args_int(k->args, OPT_KEEP, 1, INT32_MAX, &keep, e))
        return false;
    bool chosen = cli_records_operand(k) || keep || k->f.run || k->f.failed || k->f.before
               || k->f.outcome || k->f.isa || k->f.threads || args_has(k->args, OPT_MACHINE);
    if (!chosen) {
        err_set(e, ERR_SYNTAX,
                "prune needs a filter: without one it would delete every record of this machine");
        return err_fix(e, "TASK, --failed, --outcome, --before, --run, --machine, --threads, "
                          "--isa, or --keep 100: all but the 100 fastest of each task");
    }
    if (!records_prune(k->r, &k->f, keep, dry, &gone, e))
        return false;
    if (k->json) {
        str_printf(&k->out, "{\"format\": 1, \"records\": %lld, \"runs\": %lld, \"deleted\": %s}\n",
                   (long long)gone.records, (long long)gone.runs, dry ? "false" : "true");
        return true;
    }
    str_add(&k->out, dry ? "would delete " : "deleted ");
    cli_records_plural(&k->out, gone.records, "record");
    str_add(&k->out, " and ");
    cli_records_plural(&k->out, gone.runs, "run");
    str_add(&k->out, dry ? "; --yes does it\n" : "\n");
    return true;
}

struct checked { int64_t n; struct arena *a; struct err *e; bool ok; };

/* Checks only the syntax of a record's steps; `tune` and `best -o` check that the steps fit the
 * operator. */
static bool check_one(void *ctx, const struct record *rec)
{
    struct checked *k = ctx;
    int n;
    const char *const *line = records_lines(k->a, rec->steps, &n);
    const struct step *step;
    struct err why;
    for (int i = 0; i < n && k->ok; i++) {
        k->ok = step_parse(k->a, line[i], &step, &why);
        if (!k->ok) {
            err_set(k->e, ERR_SYNTAX,
                    "the file is intact, but trial %d of run %s is not: \"%.100s\": %.200s",
                    rec->trial, rec->run, line[i], why.text);
            err_fix(k->e, "tilescope records prune --run %s --yes deletes that run", rec->run);
        }
    }
    if (++k->n % 256 == 0) {
        arena_free(k->a);
        k->a = arena_new();
    }
    return k->ok;
}

static bool do_check(struct ask *k, struct err *e)
{
    struct record_filter all = { .any_machine = true };
    struct checked c = { .a = arena_new(), .e = e, .ok = true };
    bool ok = records_check(k->r, e) && records_each(k->r, &all, check_one, &c, e) && c.ok;
    arena_free(c.a);
    if (!ok)
        return false;
    if (k->json) {
        records_head_json(&k->out, k->r);
        str_printf(&k->out, ", \"records\": %lld, \"sound\": true}\n", (long long)c.n);
        return true;
    }
    str_printf(&k->out, "%s: ", records_file(k->r));
    cli_records_plural(&k->out, c.n, "record");
    str_add(&k->out, ", sound\n");
    return true;
}

/* Moves the records file away. Without --yes, refuses to move a file that is intact. */
static int set_aside(const struct cli *c)
{
    struct str moved = {0};
    struct err e = {0};
    if ((!args_has(c->args, OPT_YES) && !records_damaged(NULL, &e)) ||
        !records_set_aside(NULL, &moved, &e))
        return cli_fail(c, &e);
    struct str out = {0};
    if (args_has(c->args, OPT_JSON)) {
        str_add(&out, "{\"format\": 1, \"moved\": ");
        json_text_put(&out, str_text(&moved));
        str_add(&out, "}\n");
    } else {
        str_printf(&out, "moved to %s; the next run starts a new file\n", str_text(&moved));
    }
    cli_put(&out);
    str_free(&moved);
    return EXIT_FINE;
}

/* --- The command ------------------------------------------------------------------------------ */

/* Sets of options: initialisers of an array of flags, indexed by enum opt. */
#define HAS(id) [OPT_##id] = true
#define OF_TASK HAS(THREADS), HAS(ISA), HAS(MACHINE)
#define OF_RUN OF_TASK, HAS(RUN), HAS(BEFORE)
#define OF_RECORD OF_RUN, HAS(OUTCOME), HAS(FAILED)

static const struct verb {
    const char *name;
    bool writes, alone;  /* writes: changes the records file; alone: takes no operand */
    bool takes[OPT_COUNT];               /* its options, besides those that all verbs take */
    bool (*run)(struct ask *k, struct err *e);
} verbs[] = {
    { "list", false, false, { OF_RECORD }, cli_records_list },
    { "show", false, false, { OF_RECORD, HAS(COUNT_ROWS) }, cli_records_show },
    { "best", false, false, { OF_RUN, HAS(COUNT_ROWS), HAS(OUTPUT) }, cli_records_best },
    { "runs", false, false, { OF_RUN, HAS(COUNT_ROWS) }, cli_records_runs },
    { "export", false, false, { OF_RECORD, HAS(OUTPUT) }, do_export },
    { "import", true, false, { false }, do_import },
    { "merge", true, false, { false }, do_merge },
    { "prune", true, false, { OF_RECORD, HAS(KEEP), HAS(YES) }, do_prune },
    { "check", false, true, { false }, do_check },
    { "aside", true, true, { HAS(YES) }, NULL },
};
#undef HAS

static const struct verb *find_verb(const char *name, struct err *e)
{
    const char *all[COUNT_OF(verbs)];
    for (int i = 0; i < COUNT_OF(verbs); i++) {
        all[i] = verbs[i].name;
        if (streq(name, verbs[i].name))
            return &verbs[i];
    }
    err_set(e, ERR_NAME, "records has no command '%s'", name);
    err_near(e, name, all, COUNT_OF(all), "tilescope records %s",
             "use list, show, best, runs, export, import, merge, prune, check or aside");
    return NULL;
}

/* Refuses options that the verb would ignore. Also refuses an operand after a verb that takes none,
 * because the user may have meant a records file by it. */
static bool takes(const struct verb *v, const struct args *args, struct err *e)
{
    for (int i = 0; i < args->given.len; i++) {
        enum opt o = args->given.data[i].opt;
        if (args_opt[o].commands != IN_ALL && o != OPT_JSON && !v->takes[o])
            return err_set(e, ERR_SYNTAX, "records %s takes no --%s", v->name, args_opt[o].name);
    }
    if (!v->alone || args->word.len == 1)
        return true;
    err_set(e, ERR_SYNTAX, "records %s takes no operand", v->name);
    return err_fix(e, "TILESCOPE_RECORDS=%.200s tilescope records %s", args->word.data[1], v->name);
}

int cli_records(const struct cli *c)
{
    struct ask k = { .c = c, .args = c->args, .rows = ROWS };
    struct err e = {0};
    const struct verb *v = find_verb(c->args->word.len ? c->args->word.data[0] : "list", &e);
    if (!v || !takes(v, c->args, &e))
        return cli_fail(c, &e);
    if (!v->run)
        return set_aside(c);
    k.a = arena_new();
    bool ok = (v->writes ? records_open : records_open_reading)(NULL, &k.r, &e)
           && cli_records_options(&k, &e) && v->run(&k, &e);
    records_close(k.r);
    if (ok)
        cli_put(&k.out);
    str_free(&k.out);
    arena_free(k.a);
    return ok ? EXIT_FINE : cli_fail(c, &e);
}
