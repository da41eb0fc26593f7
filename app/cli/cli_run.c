/* `tilescope run`: checks, times and counts the kernel of a session's current step. */
#include "app/cli/cli_network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/file.h"
#include "profile/measure/meters.h"
#include "profile/measure/program_text.h"
#include "sessions/file/machine_file.h"
#include "sessions/file/session_network.h"
#include "sessions/report/report.h"

struct run_call {
    const struct cli *cli;
    struct measure_opts opts;
    bool json, check, save;
    struct gpu_device gpu;              /* the GPU of --gpu */
    struct goal to;                     /* the file of --save or -o */
    struct history *history;
    struct str machine;                 /* fingerprint of this machine */
    struct str loss;  /* text about the numbers in the file that saving would overwrite */
    unsigned lost;                      /* METER_ bits of these numbers */
    bool cut;                           /* whether a limit ended this measurement early */
    bool has_model;
    struct machine_model model;         /* this machine's stored model, if any */
    int n_checked, n_bad;
    struct arena *sets;                 /* owns the event sets of --events */
};

/* Adds the meters that options such as --cache need. If `explicitly` is set (--meters is given),
 * adds no meter, but refuses an option whose meter is missing. */
static bool add_needed_meters(struct run_call *r, bool explicitly, struct err *e)
{
    static const struct { enum opt opt; unsigned meters, add; } need[] = {
        { OPT_CACHE, METER_SIM | METER_CACHEGRIND, METER_SIM },
        { OPT_GPU, METER_SIM, METER_SIM },
        { OPT_SIM_BUDGET, METER_SIM, METER_SIM },
        { OPT_SIM_DETAIL, METER_SIM, METER_SIM },
        { OPT_COLD, METER_CLOCK, METER_CLOCK },
        { OPT_BASELINES, METER_CLOCK, METER_CLOCK },
    };
    for (int i = 0; i < COUNT_OF(need); i++) {
        enum opt o = need[i].opt;
        if (!args_has(r->cli->args, o) || r->opts.meters & need[i].meters
            || (o == OPT_BASELINES && !r->opts.baselines))
            continue;
        if (!explicitly) {
            r->opts.meters |= need[i].add;
            continue;
        }
        const char *given = args_value(r->cli->args, OPT_METERS);
        const char *meter = need[i].add == METER_SIM ? "sim" : "clock";
        err_set(e, ERR_SYNTAX, "--%s needs the meter %s%s, but --meters %s leaves it out",
                args_opt[o].name, meter, o == OPT_CACHE ? " or cachegrind" : "", given);
        return streq(given, "none") ? err_fix(e, "--meters %s", meter)
                                    : err_fix(e, "--meters %s,%s", given, meter);
    }
    return true;
}

/* Refuses an --assert over numbers that this call does not measure. */
static bool check_asserts(const struct run_call *r, struct err *e)
{
    const struct args *a = r->cli->args;
    for (int i = 0; i < a->given.len; i++)
        if (a->given.data[i].opt == OPT_ASSERT
            && !report_assert_asked(a->given.data[i].value, &r->opts, e))
            return false;
    return true;
}

static bool read_events(struct run_call *r, const char *events, struct err *e)
{
    if (!events)
        return true;
    if (events[0])
        return meters_events(r->sets, events, &r->opts, e);
    err_set(e, ERR_SYNTAX, "--events needs an event set here: --events l1, --events sw,papi-sw");
    return err_fix(e, "tilescope meters --events explains the sets there are");
}

static bool read_options(struct run_call *r, struct err *e)
{
    const struct args *a = r->cli->args;
    const char *cache = args_value(a, OPT_CACHE), *meters = args_value(a, OPT_METERS);
    const char *events = args_value(a, OPT_EVENTS), *gpu = args_value(a, OPT_GPU);
    r->opts.gpu = gpu ? &r->gpu : NULL;
    r->json = args_has(a, OPT_JSON);
    r->check = args_has(a, OPT_CHECK);
    r->save = args_has(a, OPT_SAVE);
    bool only_check = r->check && !args_has(a, OPT_ASSERT);
    r->opts.meters = only_check ? 0 : meters_default();
    return args_measure(a, &r->opts, e)
        && args_double(a, OPT_SIM_BUDGET, 1, 1e15, &r->opts.sim_budget, e)
        && cli_asserts_check(a, e) && (!meters || meters_parse(meters, &r->opts.meters, e))
        && read_events(r, events, e) && args_baselines(a, &r->opts.baselines, e)
        && (!cache || cache_config_parse(cache, &r->opts.cache, e))
        && (!gpu || gpu_device_parse(gpu, &r->gpu, e))
        && add_needed_meters(r, meters != NULL, e) && check_asserts(r, e);
}

static bool is_good(const struct measurement *m)
{
    return m->verified && m->outcome == OUTCOME_OK;
}

static bool measure(struct run_call *r, const struct state *st, unsigned meters,
                    struct measurement *m, struct err *e)
{
    struct progress pr = cli_progress(r->cli);
    struct measure_opts o = r->opts;
    o.meters = meters;
    bool ok = measure_program(st->program, &o, &pr, r->cli->cancel, m, e);
    cli_progress_clear(r->cli);
    return ok;
}

/* Returns the METER_ bits of the meters whose numbers a measurement has. */
static unsigned sections_of(const struct measurement *m)
{
    unsigned has = (m->latency.runs > 0 ? METER_CLOCK : 0) | (m->sim.available ? METER_SIM : 0);
    for (int i = METER_ID_PERF; i < METER_COUNT; i++)
        has |= m->counts[i].available ? 1u << i : 0;
    return has;
}

static void add_meters(struct str *out, unsigned meters)
{
    const char *comma = "";
    for (int i = 0; i < METER_COUNT; i++)
        if (meters & 1u << i) {
            str_printf(out, "%s%s", comma, meter_name[i]);
            comma = ",";
        }
}

static void add_how(struct str *out, const struct measurement *m)
{
    str_printf(out, "%d thread%s, %s, %s%s%s", m->threads, m->threads == 1 ? "" : "s", m->isa,
               m->compiler, m->code[0] ? ", code " : "", m->code);
}

static bool is_here(const struct run_call *r, const struct session *s)
{
    return !s->machine[0] || machine_is_same(s->machine, str_text(&r->machine));
}

/* Stores the result m of state st in the session. If the kernel was built and run in the same way
 * as for the old result, keeps a faster old time, and old numbers that this run did not measure
 * (measurement_merge). If it was built or run in another way, or a limit has cut this run short,
 * notes in r->loss which old numbers saving would overwrite; `save` then refuses. The old numbers
 * of a kernel that is wrong or crashes now are dropped without a note. */
static void put_result(struct run_call *r, const struct session *s, const struct state *st,
                       unsigned meters, const struct measurement *m)
{
    const struct measurement *old = st->measured;
    struct measurement *both = xmalloc(sizeof *both);
    bool done = m->outcome == OUTCOME_OK;
    bool cut = m->outcome == OUTCOME_TIMEOUT || m->outcome == OUTCOME_LIMIT;
    unsigned kept = old && (done || cut) ? sections_of(old) & ~(done ? meters : 0) : 0;
    bool here = is_here(r, s);
    *both = *m;
    if (done && old && here && measurement_same_way(old, m)) {
        if (measurement_merge(both, old, args_has(r->cli->args, OPT_FRESH)))
            fprintf(stderr, "note: the file keeps the faster time of step %d, %.4g ms "
                    "(--fresh replaces it)\n", st->program->n_steps, both->latency.min_ms);
    } else if (kept && !r->lost) {
        r->lost = kept;
        r->cut = cut;
        add_meters(&r->loss, kept);
        str_add(&r->loss, " (");
        add_how(&r->loss, old);
        str_printf(&r->loss, "%s), but this run ", here ? "" : ", another machine");
        str_printf(&r->loss, cut ? "ended in \"%s\"" : "used ", outcome_name[m->outcome]);
        if (!cut)
            add_how(&r->loss, m);
    }
    history_set_measured(r->history, st->id, both);
    if (st->held)                         /* the state before it has the same program */
        history_add_measured(r->history, st->parent, both, false);
    free(both);
}

/* Prints a line about a single step; with --json on stderr. */
static void say(const struct run_call *r, struct str *line)
{
    if (!r->json)
        cli_put(line);
    else
        cli_note(line);
    fflush(r->json ? stderr : stdout);
}

static bool is_marked(const struct opened *o, int state)
{
    for (int i = 0; i < o->marked.len; i++)
        if (o->marked.data[i] == state)
            return true;
    return false;
}

/* Checks a state. If the script has a `measure` line at it, also measures it. */
static bool run_one(struct run_call *r, const struct opened *o, const struct state *st,
                    struct err *e)
{
    bool marked = is_marked(o, st->id);
    struct measurement m = {0};
    if (!measure(r, st, marked ? r->opts.meters : 0, &m, e))
        return false;
    if (marked)
        put_result(r, o->session, st, r->opts.meters, &m);
    r->n_checked++;
    r->n_bad += !is_good(&m);
    struct str line = {0};
    cli_text_check_line(&line, r->cli, st->program->n_steps, st, &m);
    say(r, &line);
    return true;
}

/* Runs the states before the current one: all of them with --check, else only those at which the
 * script has a `measure` line. Then runs the states with a `measure` line that are not on the path
 * to the current state. */
static bool run_prefixes(struct run_call *r, const struct opened *o, struct err *e)
{
    int n, at;
    const int *path = history_path(r->history, history_branch_index(r->history), &n, &at);
    bool ok = true;
    for (int i = 0; ok && i < at; i++)
        if (r->check || is_marked(o, path[i]))
            ok = run_one(r, o, history_state(r->history, path[i]), e);
    for (int i = 0; ok && i < o->marked.len; i++) {
        bool had = false;
        for (int k = 0; k <= at; k++)
            had = had || path[k] == o->marked.data[i];
        for (int k = 0; k < i; k++)
            had = had || o->marked.data[k] == o->marked.data[i];
        ok = had || run_one(r, o, history_state(r->history, o->marked.data[i]), e);
    }
    return ok;
}

static void print_result(struct run_call *r, const struct opened *o, const struct measurement *m,
                         const struct str *json)
{
    struct str out = {0};
    if (r->check) {
        int n, at;
        history_path(r->history, history_branch_index(r->history), &n, &at);
        struct str line = {0};
        cli_text_check_line(&line, r->cli, at, history_current(r->history), m);
        str_printf(&line, "checked %d programs, %d wrong\n\n", r->n_checked + 1,
                   r->n_bad + !is_good(m));
        say(r, &line);
    }
    if (r->json)
        str_add(&out, str_text(json));
    else
        cli_text_measurement(&out, r->cli, o->session, m, r->opts.meters,
                             r->has_model ? &r->model : NULL);
    cli_put(&out);
}

/* Returns the number of states whose measurement is of another machine; states that this run has
 * measured are not counted. If `forget` is set, deletes these measurements. */
static int forget_others(const struct run_call *r, const struct opened *o, bool forget)
{
    int n = 0, current = history_current(r->history)->id;
    for (int i = 0; !is_here(r, o->session) && i < history_n_states(r->history); i++) {
        if (!history_state(r->history, i)->measured || i == current || is_marked(o, i))
            continue;
        if (forget)
            history_forget_measured(r->history, i);
        n++;
    }
    return n;
}

static bool refuse_loss(const struct run_call *r, const char *path, struct err *e)
{
    struct str meters = {0};
    err_set(e, ERR_RANGE, "nothing was saved, because that would overwrite numbers: %.200s holds "
            "numbers of %s", path, str_text(&r->loss));
    add_meters(&meters, r->opts.meters | r->lost);
    if (r->cut)
        err_fix(e, "--limit SECONDS allows more time; -o FILE.yaml writes a new file");
    else
        err_fix(e, "--meters %s measures all of it again; -o FILE.yaml writes a new file",
                str_text(&meters));
    str_free(&meters);
    return false;
}

/* Stores m at the current state and saves the session.  The saved file keeps its own current state
 * (cli_go_home). */
static bool save(struct run_call *r, struct opened *o, const struct measurement *m, struct err *e)
{
    struct session *s = o->session;
    const char *path = r->to.path;
    bool own = file_same(path, s->path);
    struct str cores = {0};
    session_cores_note(s, &cores);
    if (cores.len > 0)
        fprintf(stderr, "note: %s: %s\n", path, str_text(&cores));
    str_free(&cores);
    put_result(r, s, history_current(r->history), r->opts.meters, m);
    int others = forget_others(r, o, false);
    if (others > 0 && own) {
        err_set(e, ERR_RANGE,
                "%.200s has measurements of another machine for %d other step%s, and a file can "
                "hold only one machine: nothing was saved", path, others, others == 1 ? "" : "s");
        return err_fix(e, "-o FILE.yaml writes a new file without them");
    }
    if (r->lost && own)
        return refuse_loss(r, path, e);
    if (forget_others(r, o, true) > 0)
        fprintf(stderr, "note: %s is saved without the numbers that another machine measured\n",
                path);
    snprintf(s->machine, sizeof s->machine, "%s", str_text(&r->machine));
    return cli_go_home(o, e) && cli_save(s, &r->to, e);
}

/* Returns the exit code.  `asserted`: the exit code of the --asserts.  If even an operator without
 * steps exceeds a limit, the code is EXIT_LACKS, because the machine is too small for it. */
static int exit_code(const struct run_call *r, const struct measurement *m, int asserted)
{
    bool bare = history_current(r->history)->program->n_steps == 0;
    if (m->outcome == OUTCOME_LIMIT && bare)
        return EXIT_LACKS;
    return is_good(m) && r->n_bad == 0 ? asserted : EXIT_CHECK;
}

/* Whether an option is given that applies only to single programs. A graph is then measured as one
 * program, unless it is a model or a network file. */
static bool wants_program(const struct run_call *r, const struct session *s)
{
    static const enum opt own[] = { OPT_METERS, OPT_EVENTS, OPT_CHECK, OPT_CACHE, OPT_GPU,
                                    OPT_SIM_BUDGET, OPT_SIM_DETAIL, OPT_SAVE, OPT_COLD,
                                    OPT_BASELINES };
    bool any = false;
    for (int i = 0; i < COUNT_OF(own); i++)
        any |= args_has(r->cli->args, own[i])
            && (own[i] != OPT_METERS || (r->opts.meters & ~(unsigned)METER_CLOCK) != 0);
    return any && !s->of_model && !s->network;
}

/* Refuses a target that does not support the program, and --gpu if the target is no GPU. */
static bool target_fits(const struct run_call *r, struct err *e)
{
    const struct program *p = history_current(r->history)->program;
    if (!cli_target_fits(p, r->cli->args->word.data[0], r->opts.target, e))
        return false;
    if (!r->opts.gpu || program_text_target(p, r->opts.target)->gpu)
        return true;
    err_set(e, ERR_SYNTAX, "--gpu: no loop is bound to blocks or threads, so this is for a CPU");
    return err_fix(e, "--target cuda --gpu %s", r->gpu.name);
}

/* Checks the names in every --assert before anything is measured. */
static bool check_names(const struct run_call *r, const struct session *s, struct err *e)
{
    const struct program *p = history_current(r->history)->program;
    struct measurement empty = report_empty(program_text_target(p, r->opts.target)->isa);
    struct str json = {0};
    const struct machine *here = machine_this();
    empty.sim.available = !target_named(empty.isa)->gpu;
    empty.sim.cache = cache_config_on(&r->opts.cache, &here->l1d, &here->l2, &here->l3);
    report_run_json(&json, s, &empty, r->opts.meters, str_text(&r->machine),
                    r->has_model ? &r->model : NULL);
    return cli_asserts_named(r->cli->args, &json, e);
}

static int run_opened(struct run_call *r, struct opened *o)
{
    struct err e = {0};
    struct measurement m = {0};
    r->history = o->session->history;
    if (session_opens_as_network(o->session) && !wants_program(r, o->session))
        return cli_network_run(r->cli, o, &r->opts, r->has_model ? &r->model : NULL, &r->to);
    if (!target_fits(r, &e) || !check_names(r, o->session, &e) || !run_prefixes(r, o, &e) ||
        !measure(r, history_current(r->history), r->opts.meters, &m, &e))
        return cli_fail(r->cli, &e);
    struct str json = {0};
    report_run_json(&json, o->session, &m, r->opts.meters, str_text(&r->machine),
                    r->has_model ? &r->model : NULL);
    print_result(r, o, &m, &json);
    cli_note_spill(history_current(r->history)->program, r->opts.target);
    bool good = is_good(&m) && r->n_bad == 0;
    int code = cli_asserts(r->cli, &json, good);
    str_free(&json);
    if (r->to.path && !save(r, o, &m, &e))
        return cli_fail(r->cli, &e);
    return exit_code(r, &m, code);
}

static int run_as_told(struct run_call *r)
{
    const struct cli *c = r->cli;
    struct err e = {0};
    if (!read_options(r, &e))
        return cli_fail(c, &e);
    struct opened o;
    int code = cli_open(c, &o);
    if (code != EXIT_FINE)
        return code;
    struct machine machine;
    machine_read(&machine);
    machine_fingerprint(&r->machine, &machine);
    r->has_model = machine_file_load(&machine, &r->model, &e);
    r->opts.detail = args_has(c->args, OPT_SIM_DETAIL) ? xcalloc(1, sizeof *r->opts.detail) : NULL;
    const char *to = args_value(c->args, OPT_OUTPUT);
    if (r->save && !to)
        to = o.session->path;
    if (to && !to[0])
        code = cli_usage(c, "--save needs a session file; -o FILE.yaml writes a new one");
    else
        code = cli_goal(o.session, to, &r->to, &e) ? run_opened(r, &o) : cli_fail(c, &e);
    str_free(&r->machine);
    str_free(&r->loss);
    free(r->opts.detail);
    cli_close(&o);
    return code;
}

int cli_run(const struct cli *c)
{
    struct run_call r = {.cli = c, .sets = arena_new()};
    int code = run_as_told(&r);
    arena_free(r.sets);
    return code;
}
