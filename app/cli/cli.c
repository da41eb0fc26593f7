#include "app/cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/model/appcmd.h"
#include "app/model/model.h"
#include "app/ui/signals.h"
#include "app/ui/term.h"
#include "app/views/tui.h"
#include "kernels/base/file.h"
#include "kernels/ops/graph.h"
#include "explorer/history/command.h"
#include "explorer/history/rebase.h"
#include "sessions/file/session_network.h"
#include "sessions/file/session_place.h"

enum { SCRIPT_MAX_BYTES = 4 << 20 };

static struct cancel interrupted;        /* raised by signals, and by a search that stops itself */
static struct cancel signalled;

static void on_signal(int sig)
{
    (void)sig;
    atomic_store(&signalled.raised, 1);
    atomic_store(&interrupted.raised, 1);
}

static void say_cancelled(void)
{
    static const char text[] = "cancelled\n";
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0)
        return;
}

/* Catches the signals that end a command. SIGHUP, which comes when the terminal closes, ends the
 * command cleanly; under nohup it stays ignored. */
static void catch_interrupts(void)
{
    signals_catch(&(struct signals){ .caught = on_signal, .last = say_cancelled,
                                     .late = EXIT_CANCELLED, .keep_hup = true });
}

/* Joins the operands with blanks to the name of the session, because an operator without quotes is
 * several words. */
static bool session_name(const struct args *a, struct str *out, struct err *e)
{
    if (a->word.len == 0)
        return err_set(e, ERR_SYNTAX, "no session is given: name a file, or an operator in quotes");
    for (int i = 0; i < a->word.len; i++)
        str_printf(out, "%s%s", i ? " " : "", a->word.data[i]);
    if (a->word.len < 2 || ops_find(a->word.data[0]))
        return true;
    err_set(e, ERR_SYNTAX, "only one session can be given, not both %s and %s", a->word.data[0],
            a->word.data[1]);
    if (args_has(a, OPT_BASELINES))
        return err_fix(e, "--baselines takes any of %s",
                       args_opt[OPT_BASELINES].operand);
    return err_fix(e, "tilescope bench compares sessions");
}

/* Refuses a line whose first word is neither a step nor a command of the history. */
static bool no_such_step(const char *line, struct err *e)
{
    char word[40];
    const char *first = line + strspn(line, " \t");
    int len = (int)strcspn(first, " \t#\"");
    snprintf(word, sizeof word, "%.*s", len, first);
    if (appcmd_find(word, strlen(word)) >= 0) {
        err_set(e, ERR_SYNTAX, "this is a command of the screen and cannot be used in a script");
        return err_at(e, 1 + (int)(first - line), len);
    }
    const char *near = command_meant(word);
    err_set(e, ERR_NAME, "there is no step \"%s\"", word);
    if (near)
        err_fix(e, "did you mean %s?", near);
    else
        err_fix(e, "tilescope help steps");
    return err_at(e, 1 + (int)(first - line), len);
}

/* The session that the lines of a script change. rebases: whether a line has changed a past
 * step. */
struct script { struct opened *o; bool rebases; };

static bool script_line(void *of, const struct cli_line *l, struct err *e)
{
    struct script *s = of;
    struct opened *o = s->o;
    enum command_effect effect = EFFECT_NONE;
    if (str_begins(l->text + strspn(l->text, " \t"), "module")) {
        if (session_network_step(o->session, l->text, e))
            return true;
    } else if (session_run(o->session, l->text, &effect, e)) {
        if (effect == EFFECT_MEASURE)
            vec_push(&o->marked, history_current(o->session->history)->id);
        s->rebases |= effect == EFFECT_REBASED;
        if (effect != EFFECT_APP)
            return true;
        no_such_step(l->text, e);
    }
    struct where at = e->at;
    err_where(e, l->file, l->number, at.col > 0 ? at.col : 1, l->text);
    e->at.len = at.len;
    return false;
}

/* Whether text is a session (YAML) instead of a script (lines of steps). */
static bool is_session(const char *text)
{
    for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
        if (*text != '#' && text[strspn(text, " \t\r")] != '\n' && !str_starts(text, "---"))
            return str_starts(text, "tilescope:");
    return false;
}

/* Refuses a script that leaves a step held (without effect), because the author of a script expects
 * every step to apply. */
static bool check_none_held(const struct history *h, const char *script, struct err *e)
{
    int n, at;
    const int *path = history_path(h, history_branch_index(h), &n, &at);
    for (int i = 1; i <= at; i++) {
        const struct state *s = history_state(h, path[i]);
        if (!s->held)
            continue;
        err_set(e, ERR_STEP, "%.200s leaves step %d `%.150s` without effect: %.300s", script, i,
                s->step, s->held);
        return err_fix(e, "change that step as well: `edit %d STEP` or `drop %d`", i, i);
    }
    return true;
}

static const char *script_name(const char *path)
{
    return streq(path, "-") ? "<stdin>" : path;
}

bool cli_each_line(const char *path, bool (*run)(void *of, const struct cli_line *l, struct err *e),
                   void *of, struct err *e)
{
    struct str text = {0};
    struct cli_line l = { .file = script_name(path), .number = 1 };
    bool ok = file_read(path, SCRIPT_MAX_BYTES, &text, e);
    if (ok && memchr(str_text(&text), '\0', text.len))
        ok = err_set(e, ERR_SYNTAX, "%.200s contains NUL bytes, so it is not a text file", l.file);
    if (ok && is_session(str_text(&text))) {
        ok = err_set(e, ERR_SYNTAX, "%.200s is a session file, not a file of lines", l.file);
        err_fix(e, "run it as `tilescope run %s`", path);
    }
    char *line = text.data;
    for (; ok && line && line < text.data + text.len; l.number++) {
        size_t len = strcspn(line, "\n");
        char *next = line + len + 1;
        line[len] = '\0';
        if (len > 0 && line[len - 1] == '\r')
            line[len - 1] = '\0';
        l.text = line;
        ok = run(of, &l, e);
        line = next;
    }
    str_free(&text);
    return ok;
}

static bool run_script(struct opened *o, const char *path, struct err *e)
{
    struct script s = { .o = o };
    return cli_each_line(path, script_line, &s, e)
        && (!s.rebases || check_none_held(o->session->history, script_name(path), e));
}

static int position(const struct history *h)
{
    int n, at;
    history_path(h, history_branch_index(h), &n, &at);
    return at;
}

/* Applies --branch, --steps and --step, in this order. --steps changes which state is current in a
 * saved file. The other two do not: cli_go_home undoes them. With --steps, --branch is not undone,
 * because the new steps are on that branch. */
static bool move(const struct args *a, const struct session_place *place, struct opened *o,
                 struct err *e)
{
    struct history *h = o->session->history;
    const char *steps = args_value(a, OPT_STEPS), *branch = args_value(a, OPT_BRANCH);
    int step = place->step;
    if ((branch && place->branch[0]) || (args_has(a, OPT_STEP) && step >= 0))
        return err_set(e, ERR_SYNTAX, "the %s is given twice: as %s and as %s",
                       branch && place->branch[0] ? "branch" : "step", "FILE#BRANCH@STEP",
                       branch && place->branch[0] ? "--branch" : "--step");
    if (!args_int(a, OPT_STEP, 0, 1000000, &step, e))
        return false;
    if (place->branch[0])
        branch = place->branch;
    if (branch) {
        o->home_branch = steps ? -1 : history_branch_index(h);
        if (!history_branch_switch(h, branch, e))
            return false;
    }
    if (steps && !run_script(o, steps, e))
        return false;
    if (step < 0)
        return true;
    o->home_at = position(h);
    return history_goto(h, step, e);
}

bool cli_go_home(struct opened *o, struct err *e)
{
    struct history *h = o->session->history;
    return (o->home_at < 0 || history_goto(h, o->home_at, e)) &&
           (o->home_branch < 0 ||
            history_branch_switch(h, history_branch(h, o->home_branch)->name, e));
}

static bool read_accuracy(const struct args *a, struct session *s, struct err *e)
{
    double x = 0;
    if (!args_double(a, OPT_ACCURACY, 0, 1, &x, e))
        return false;
    if (args_has(a, OPT_ACCURACY))
        s->accuracy = x == 0 ? -1 : x;
    return true;
}

/* Opens the session that the operands name, and applies the options that choose its accuracy,
 * kernel and state. nodes: receives the nodes of an unsupported model (session_from_onnx); may be
 * NULL. */
static bool open_all(const struct cli *c, struct opened *out, struct str *nodes, struct err *e)
{
    const struct args *a = c->args;
    struct str name = {0}, list = {0};
    const char *steps = args_value(a, OPT_STEPS);
    bool ok = session_name(a, &name, e);
    if (ok && steps && streq(steps, "-") && streq(str_text(&name), "-"))
        ok = err_set(e, ERR_SYNTAX, "session and steps cannot both come from standard input");
    const char *dims = args_joined(a, OPT_DIM, &list);
    bool model = nodes && a->word.len == 1 && str_ends(str_text(&name), ".onnx");
    struct session_place place = { 0 };
    ok = ok && session_place_read(str_text(&name), &place, e)
      && (model ? session_from_onnx(place.name, dims, nodes, &out->session, e)
                : session_open(place.name, dims, &out->session, e))
      && read_accuracy(a, out->session, e) && cli_open_kernel(c, &out->session, e)
      && cli_takes(c, out->session, e) && move(a, &place, out, e);
    session_place_free(&place);
    str_free(&name);
    str_free(&list);
    return ok;
}

/* Prints a note if a killed run has left unsaved changes of this session. (The screen asks instead:
 * model_recover.c.) */
static void note_unsaved(const struct cli *c, const struct session *s)
{
    struct autosave left;
    const char *path = s->path;
    if (c->args->cmd != CMD_SCREEN && path[0]
        && (session_autosave_of(s, &left) || session_autosave_kernels(s, &left, 1) > 0))
        fprintf(stderr, "note: an earlier run left unsaved changes of %s; `tilescope %s` offers "
                "them\n", path, path);
}

static int open_session(const struct cli *c, struct opened *out, struct str *nodes)
{
    struct err e = {0};
    *out = (struct opened){.home_branch = -1, .home_at = -1};
    if (open_all(c, out, nodes, &e)) {
        note_unsaved(c, out->session);
        return EXIT_FINE;
    }
    cli_close(out);
    return cli_onnx_fail(c, nodes, &e);
}

int cli_open(const struct cli *c, struct opened *out)
{
    return open_session(c, out, NULL);
}

int cli_open_or_list(const struct cli *c, struct opened *out)
{
    struct str nodes = {0};
    int code = open_session(c, out, &nodes);
    str_free(&nodes);
    return code;
}

void cli_close(struct opened *o)
{
    session_free(o->session);
    vec_free(&o->marked);
    o->session = NULL;
}

bool cli_goal(const struct session *s, const char *path, struct goal *out, struct err *e)
{
    *out = (struct goal){ .path = path };
    if (!path)
        return true;
    if (streq(path, "-"))
        return err_set(e, ERR_IO, "-o -: a session can only be written to a file");
    if (strlen(path) >= sizeof s->path)
        return err_set(e, ERR_IO, "-o: the name has %zu bytes; at most %zu are allowed",
                       strlen(path),
                       sizeof s->path - 1);
    out->seen = session_saw(s, path);
    if (out->seen == FILE_ANYTHING)
        out->seen = file_seen(path);
    return file_may_write(path, e);
}

bool cli_says_beside(const char *path, const char *where, struct err *e)
{
    err_set(e, ERR_CHANGED,
            "another program changed %.300s in the meantime, so it was not overwritten: this "
            "session is in %.300s", path, where);
    return err_fix(e, "nothing is lost: compare the two files and keep the one that you want");
}

/* Saves the session. If the file cannot be written, saves an autosave, which the start screen
 * offers. */
bool cli_save(struct session *s, const struct goal *to, struct err *e)
{
    struct err ignored;
    char path[sizeof s->path];           /* to->path may be s->path, which is about to change */
    snprintf(path, sizeof path, "%s", to->path);
    if (session_save_over(s, to->path, to->seen, e))
        return true;
    if (e->code != ERR_CHANGED) {
        if (session_autosave(s, &ignored) && !e->fix[0])
            err_fix(e, "nothing is lost: the start screen of tilescope has this session");
        return false;
    }
    if (!session_save_beside(s, path, e))
        return false;
    return cli_says_beside(path, s->path, e);
}

/* Returns the operand if it is an ONNX file that the screen can read in the background; else
 * NULL. */
static const char *onnx_operand(const struct args *a)
{
    bool plain = a->word.len == 1 && !args_has(a, OPT_STEPS) && !args_has(a, OPT_BRANCH)
              && !args_has(a, OPT_DIM) && !args_has(a, OPT_ACCURACY);
    return plain && str_ends(a->word.data[0], ".onnx") && file_exists(a->word.data[0])
               ? a->word.data[0] : NULL;
}

#define TOUR_OPERATOR "c2d n=1 i=3 h=224 w=224 o=64 k=7 s=2 p=3 bias=1 relu=1"

/* Runs the screen: `tilescope`, `tilescope c2d n=1 ...`, `tilescope FILE`, `tilescope tour`. */
static int open_screen(const struct cli *c, bool tour)
{
    struct opened o = {0};
    int threads = 0;
    struct err e = {0}, bad;
    unsigned baselines = 0;
    if (!args_int(c->args, OPT_THREADS, 1, 1024, &threads, &e)
        || !args_baselines(c->args, &baselines, &e))
        return cli_fail(c, &e);
    bool terminal = isatty(STDOUT_FILENO) && isatty(STDIN_FILENO);
    const char *onnx = terminal ? onnx_operand(c->args) : NULL;
    int code = c->args->word.len && !onnx ? cli_open_or_list(c, &o) : EXIT_FINE;
    if (code != EXIT_FINE)
        return code;
    if (tour && !session_new(TOUR_OPERATOR, &o.session, &e))
        return cli_fail(c, &e);
    if (!terminal) {
        struct str out = {0};
        cli_help_usage(&out);
        str_add(&out, "\nThe screen needs a terminal; `run` and `show` work without one.\n");
        fputs(str_text(&out), stderr);
        str_free(&out);
        cli_close(&o);
        return EXIT_USAGE;
    }
    struct app_settings set;
    bool right = settings_read(&set, &bad);
    if (!right)
        cli_fail(c, &bad);  /* the terminal shows this error again when the screen closes */
    struct term_opts look = {
        .no_color = !c->color_out,
        .no_unicode = args_has(c->args, OPT_NO_UNICODE) || !set.unicode,
        .no_mouse = args_has(c->args, OPT_NO_MOUSE) || !set.mouse,
        .theme = set.theme,
    };
    struct model_opts opts = {
        .no_auto = tour || args_has(c->args, OPT_NO_AUTO),
        .tour = tour,
        .threads = threads,
        .baselines_given = args_has(c->args, OPT_BASELINES),
        .baselines = baselines,
        .open = onnx,
        .settings = &set,
        .settings_error = right ? NULL : &bad,
    };
    struct session *s = o.session;
    o.session = NULL;
    if (s)
        session_remember(s->path);
    if (s && args_has(c->args, OPT_STEPS)) {
        s->dirty = true;
        /* The screen reports later failures; this one is ignored. */
        session_autosave(s, &e);
    }
    cli_close(&o);
    code = tui_run(s, &look, &opts);
    key_bindings_add(NULL, 0);
    settings_free(&set);
    return code;
}

/* Refuses a first word that is not a command, file or operator; suggests a similar command or
 * operator. */
static int unknown_word(const struct cli *c, const char *word)
{
    const char *candidate[CMD_COUNT + 64];
    int n = 0;
    for (int i = CMD_SCREEN + 1; i < CMD_COUNT; i++)
        candidate[n++] = args_cmd[i].name;
    for (int i = 0; i < ops_count() && n < COUNT_OF(candidate); i++)
        candidate[n++] = ops_get(i)->name;
    struct err e = {0};
    err_set(&e, ERR_NAME, "no command, operator or file named '%s'", word);
    err_near(&e, word, candidate, n, "tilescope %s ...", "tilescope help");
    return cli_fail(c, &e);
}

static int dispatch(const struct cli *c)
{
    const struct args *a = c->args;
    bool operands = args_cmd[a->cmd].operands[0] != '\0';
    if (a->cmd == CMD_OPS && a->word.len && ops_find(a->word.data[0])) {
        struct err e = {0};
        err_set(&e, ERR_SYNTAX, "ops takes no operand, but '%s' is given", a->word.data[0]);
        err_fix(&e, "tilescope help %s", a->word.data[0]);
        return cli_fail(c, &e);
    }
    if (!operands && a->word.len)
        return cli_usage(c, "%s takes no operand, but '%s' is given", args_cmd[a->cmd].name,
                         a->word.data[0]);
    switch (a->cmd) {
    case CMD_SCREEN: {
        const char *w = a->word.len ? a->word.data[0] : "";
        if (a->word.len && !strpbrk(w, " /.") && !ops_find(w) && !streq(w, "-") && !file_exists(w))
            return unknown_word(c, w);
        return open_screen(c, false);
    }
    case CMD_RUN: return cli_run(c);
    case CMD_BENCH: return cli_bench(c);
    case CMD_SHOW: return cli_show(c);
    case CMD_SNAPSHOT: return cli_snapshot(c);
    case CMD_TOUR: return open_screen(c, true);
    case CMD_EXPORT: return cli_export(c);
    case CMD_OPS: return cli_ops(c);
    case CMD_METERS: return cli_meters(c);
    case CMD_MACHINE: return cli_machine(c);
    case CMD_STUDIES: return cli_studies(c);
    case CMD_TUNE: return cli_tune(c);
    case CMD_PRETRAIN: return cli_pretrain(c);
    case CMD_EXPERT: return cli_expert(c);
    case CMD_STUDY: return cli_study(c);
    case CMD_IMPORT: return cli_import(c);
    case CMD_RECORDS: return cli_records(c);
    case CMD_SETTINGS: return cli_settings(c);
    case CMD_HELP: return cli_help(c);
    case CMD_COUNT: break;
    }
    UNREACHABLE();
}

/* Checks that the file of -o can be written, before any long work.  `study` and an exported network
 * write folders; they check these themselves. */
static bool output_is_writable(const struct args *a, struct err *e)
{
    const char *to = args_value(a, OPT_OUTPUT);
    bool folder = a->cmd == CMD_STUDY
               || (a->cmd == CMD_EXPORT && to && !str_ends(to, ".c") && !str_ends(to, ".cu"));
    return !to || !to[0] || streq(to, "-") || folder || file_may_write(to, e);
}

static int start(struct cli *c, bool parsed, const struct err *e)
{
    const struct args *a = c->args;
    struct str out = {0};
    if (args_has(a, OPT_HELP)) {
        cli_help_command(&out, a->cmd);
        cli_put(&out);
        return EXIT_FINE;
    }
    if (!parsed) {
        int code = cli_fail(c, e);
        fprintf(stderr, "Try `tilescope %s%s--help`.\n", args_cmd[a->cmd].name,
                a->cmd == CMD_SCREEN ? "" : " ");
        return code;
    }
    if (args_has(a, OPT_VERSION)) {
        puts("tilescope " TILESCOPE_VERSION);
        return EXIT_FINE;
    }
    struct err bad = {0};
    if (!output_is_writable(a, &bad))
        return cli_fail(c, &bad);
    if (a->cmd != CMD_SCREEN)
        catch_interrupts();
    return dispatch(c);
}

/* Returns `code`. But if `code` is EXIT_FINE and stdout could not be written, prints an error and
 * returns EXIT_USAGE. A closed pipe is not an error. */
static int finish(int code)
{
    if ((fflush(stdout) == 0 && !ferror(stdout)) || errno == EPIPE || code != EXIT_FINE)
        return code;
    fprintf(stderr, "error: cannot write the output: %s\n", strerror(errno));
    return EXIT_USAGE;
}

int cli_main(int argc, char **argv)
{
    struct args args;
    struct err e = {0};
    bool parsed = args_parse(argc, argv, &args, &e);
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    bool color = !args_has(&args, OPT_NO_COLOR) && !(no_color && *no_color)
                 && !(term && streq(term, "dumb"));
    struct cli c = {
        .args = &args,
        .color_out = color && isatty(STDOUT_FILENO),
        .color_err = color && isatty(STDERR_FILENO),
        .progress = isatty(STDERR_FILENO),
        .cancel = &interrupted,
        .signalled = &signalled,
    };
    int code = finish(start(&c, parsed, &e));
    args_free(&args);
    return code;
}
