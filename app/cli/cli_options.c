/* What options mean for a network: --kernel opens one of its kernels, and some options are
 * refused. */
#include "app/cli/cli.h"

#include "kernels/base/arena.h"
#include "kernels/base/file.h"
#include "kernels/gen/target.h"
#include "sessions/file/session_network.h"
#include "sessions/report/network_kernel.h"

#define IN_STEPPED (IN_RUN | IN_SHOW | IN_EXPORT | IN_TUNE)

/* Options that networks do not take in these commands. fix: what the user can do instead. */
static const struct { enum opt opt; int commands; const char *why, *fix; } refused[] = {
    { OPT_STEP, IN_STEPPED, "a network has no steps of its own", "--kernel K --step N" },
    { OPT_BRANCH, IN_STEPPED, "a network has no branches",
      "--kernel K has the steps of one kernel" },
    { OPT_BASELINES, IN_RUN | IN_TUNE, "vendor libraries compute single operators",
      "--kernel K --baselines compares one kernel" },
    { OPT_GPU, IN_RUN, "networks run on the CPU", "--kernel K --target cuda --gpu" },
    { OPT_SIM_DETAIL, IN_RUN, "causes of misses are of one kernel", "--kernel K --sim-detail" },
    { OPT_COLD, IN_RUN | IN_BENCH, "cold caches are for one kernel", "--kernel K --cold" },
    { OPT_HUGE_PAGES, IN_RUN | IN_BENCH,
      "buffers of networks are in huge pages where that is possible", "leave it out" },
    { OPT_SAVE, IN_RUN, "a session of a network keeps no numbers",
      "--json prints them; -o FILE.yaml writes the session" },
    { OPT_PIN, IN_TUNE, "the layouts between kernels always stay as they are",
      "--kernel K --pin STEP" },
    { OPT_FOLLOW, IN_TUNE, "a schedule is followed in the search of one kernel",
      "--kernel K --follow FILE" },
};

/* Options that only networks take in these commands. */
static const struct { enum opt opt; int commands; } only[] = {
    { OPT_INPUTS, IN_RUN | IN_EXPORT }, { OPT_EXPECT, IN_RUN | IN_EXPORT },
    { OPT_THREADS, IN_EXPORT }, { OPT_SEED, IN_EXPORT },
};

bool cli_takes(const struct cli *c, const struct session *s, struct err *e)
{
    const struct args *a = c->args;
    /* with --steps, a network is measured as one program */
    bool opens = session_opens_as_network(s), network = opens && !args_has(a, OPT_STEPS);
    int command = 1 << a->cmd;
    if (network && a->cmd == CMD_EXPERT) {
        err_set(e, ERR_SYNTAX, "expert works on one operator, but this is a network, whose "
                "kernels already have expert schedules");
        return err_fix(e, "--kernel K prints the schedule of one kernel");
    }
    for (int i = 0; i < COUNT_OF(refused) && network; i++) {
        const char *value = args_value(a, refused[i].opt);
        if (!value || !(refused[i].commands & command) || streq(value, "none"))
            continue;
        err_set(e, ERR_SYNTAX, "--%s: %s", args_opt[refused[i].opt].name, refused[i].why);
        return err_fix(e, "%s", refused[i].fix);
    }
    for (int i = 0; i < COUNT_OF(only) && !opens; i++)
        if (args_has(a, only[i].opt) && only[i].commands & command)
            return err_set(e, ERR_SYNTAX, "--%s of %s is only for networks, and this is one "
                           "program", args_opt[only[i].opt].name, args_cmd[a->cmd].name);
    return true;
}

bool cli_target_fits(const struct program *p, const char *name, const struct target *t,
                     struct err *e)
{
    const struct func *f;
    struct err why = {0};
    if (!t || !program_lower(p, &f, &why) || target_takes(t, f, &why))
        return true;  /* an error of the program itself is reported when it is measured */
    err_set(e, ERR_STEP, "%.200s cannot be built for target %s: %.300s", name, t->isa, why.text);
    return err_fix(e, "leave out --isa or --target%s", why.fix[0] ? ", or use --target cuda" : "");
}

bool cli_open_kernel(const struct cli *c, struct session **s, struct err *e)
{
    const struct args *args = c->args;
    const char *name = args_value(args, OPT_KERNEL), *to = args_value(args, OPT_OUTPUT);
    const struct target *target = NULL;
    const struct network *net;
    struct session *kernel = NULL;
    int threads = 1, task;
    if (!name)
        return true;
    if (!session_is_network(*s))
        return err_set(e, ERR_RANGE, "--kernel %.100s: %.200s is no network", name, (*s)->title);
    if (to && file_same(to, (*s)->path))
        return err_set(e, ERR_SYNTAX, "-o %.300s would replace the network by one of its kernels",
                       to);
    struct arena *a = arena_new();
    const struct graph *g = history_current((*s)->history)->program->base;
    bool ok = args_int(args, OPT_THREADS, 1, 1024, &threads, e) && args_target(args, &target, e)
           && network_of_graph(a, g, str_text(&(*s)->kernels), (*s)->accuracy, target,
                               threads, &net, e)
           && network_kernel_find(net, name, &task, e)
           && network_kernel_open(&net->task[task], (*s)->title, &kernel, e);
    arena_free(a);
    if (ok) {
        session_free(*s);
        *s = kernel;
    }
    return ok;
}
