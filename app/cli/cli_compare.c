/* `tilescope show --what compare A B`: two states side by side. */
#include "app/cli/cli.h"

#include <stdlib.h>
#include "app/views/compare_doc.h"
#include "profile/measure/meters.h"
#include "profile/measure/program_text.h"
#include "kernels/base/file.h"
#include "sessions/file/session_place.h"

struct compare_call {
    const struct cli *cli;
    enum compare_of of;
    struct session *session[2];
    struct str text[2];
    struct measurement m[2];
    struct compare_side side[2];
};

static bool read_of(struct compare_call *x, struct err *e)
{
    const char *of = args_value(x->cli->args, OPT_OF);
    for (int i = 0; of && i < COMPARE_OF_COUNT; i++)
        if (streq(of, compare_of_name[i])) {
            x->of = (enum compare_of)i;
            return true;
        }
    return !of || err_set(e, ERR_SYNTAX, "--of %.40s: expected nest, c or asm", of);
}

static bool open_side(struct compare_call *x, int i, struct err *e)
{
    const struct args *a = x->cli->args;
    struct str list = {0};
    const struct target *target = NULL;
    bool ok = session_place_open(a->word.data[i], args_joined(a, OPT_DIM, &list), &x->session[i],
                                 e);
    str_free(&list);
    if (!ok || !args_target(a, &target, e))
        return false;
    const struct program *p = history_current(x->session[i]->history)->program;
    struct arena *mem = arena_new();
    struct code_lines lines;
    if (x->of == COMPARE_NEST)
        program_print_nest(&x->text[i], p);
    else if (x->of == COMPARE_C)
        ok = program_text_source(mem, p, target, &x->text[i], &lines, e);
    else
        ok = program_text_machine(mem, p, target, args_value(a, OPT_COMPILER), x->cli->cancel,
                                  &x->text[i], &lines, e);
    arena_free(mem);
    x->side[i] = (struct compare_side){ .name = a->word.data[i], .text = str_text(&x->text[i]),
                                        .program = p };
    return ok;
}

/* Simulates the cache misses of one side. If its program is wrong or cannot run, returns true, but
 * the side has no misses (sim->available is false). */
static bool simulate(struct compare_call *x, int i, struct err *e)
{
    struct measure_opts o = { .meters = METER_SIM, .seed = 1 };
    struct progress pr = cli_progress(x->cli);
    o.compiler = args_value(x->cli->args, OPT_COMPILER);
    if (!args_target(x->cli->args, &o.target, e)
        || !measure_program(x->side[i].program, &o, &pr, x->cli->cancel, &x->m[i], e))
        return false;
    if (x->m[i].outcome == OUTCOME_CANCEL)
        return err_set(e, ERR_CANCEL, "cancelled");
    x->side[i].sim = &x->m[i].sim;
    return true;
}

static void print(struct compare_call *x, struct str *out)
{
    struct doc d;
    const char *path = args_value(x->cli->args, OPT_OUTPUT);
    int width = cli_columns(100);
    if (args_has(x->cli->args, OPT_JSON)) {
        compare_json(out, x->side, x->of);
        return;
    }
    doc_open(&d);
    compare_doc_head(&d, x->side, NULL, width);
    doc_line(&d, STYLE_PLAIN, "");
    compare_doc_lines(&d, x->side, x->of, x->of == COMPARE_NEST, width);
    compare_doc_misses(&d, x->side, width);
    if (path && str_ends(path, ".svg"))
        cli_doc_svg(&d, cli_has_unicode(x->cli), out);
    else
        cli_add_doc(out, x->cli, &d);
    doc_close(&d);
}

int cli_compare(const struct cli *c)
{
    struct compare_call *x = xcalloc(1, sizeof *x);
    const char *path = args_value(c->args, OPT_OUTPUT);
    static const enum opt other[] = { OPT_BRANCH, OPT_STEP, OPT_STEPS, OPT_TENSOR, OPT_THREADS,
                                      OPT_CACHE };
    struct str out = {0};
    struct err e = {0};
    for (int i = 0; i < COUNT_OF(other); i++)
        if (args_has(c->args, other[i])) {
            free(x);
            return cli_usage(c, "--what compare takes no --%s: name each state as"
                             " FILE#BRANCH@STEP", args_opt[other[i]].name);
        }
    x->cli = c;
    bool ok = c->args->word.len == 2 || err_set(&e, ERR_SYNTAX, "--what compare takes two sessions"
                                                " (FILE#BRANCH@STEP, or operators in quotes)");
    ok = ok && cli_check_picture(path, &e) && read_of(x, &e) && open_side(x, 0, &e)
      && open_side(x, 1, &e) && simulate(x, 0, &e) && simulate(x, 1, &e);
    cli_progress_clear(c);
    if (ok)
        print(x, &out);
    if (ok && path && !streq(path, "-"))
        ok = file_write_atomic(path, str_text(&out), out.len, &e);
    else if (ok)
        cli_put(&out);
    for (int i = 0; i < 2; i++) {
        session_free(x->session[i]);
        str_free(&x->text[i]);
    }
    str_free(&out);
    free(x);
    return ok ? EXIT_FINE : cli_fail(c, &e);
}
