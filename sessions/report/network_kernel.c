#include "sessions/report/network_kernel.h"

#include <stdio.h>

#include "sessions/report/network_report.h"

/* Whether a task has this name, which is not a number. */
static bool has_name(const struct network *net, int task, const char *name)
{
    struct str brief = {0};
    network_report_brief(&brief, &net->task[task]);
    bool has = streq(net->task[task].spec, name) || streq(str_text(&brief), name);
    for (int i = 0; i < net->module->n_calls && !has; i++) {
        const struct network_call *c = &net->call[i];
        has = c->task == task && c->part >= 0
           && streq(net->graph->tensor[net->parts.part[c->part].out].name, name);
    }
    str_free(&brief);
    return has;
}

bool network_kernel_find(const struct network *net, const char *name, int *task, struct err *e)
{
    long long number;
    *task = -1;
    if (str_to_int64(name, 0, net->n_tasks - 1, &number)) {
        *task = (int)number;
        return true;
    }
    for (int i = 0; i < net->n_tasks; i++) {
        if (!has_name(net, i, name))
            continue;
        if (*task >= 0) {
            err_set(e, ERR_NAME, "kernels %d and %d of the network are both called %.200s", *task,
                    i, name);
            *task = -1;
            return err_fix(e, "give the number");
        }
        *task = i;
    }
    if (*task >= 0)
        return true;
    err_set(e, ERR_NAME, "the network has kernels 0 to %d, and none is called %.200s",
            net->n_tasks - 1, name);
    return err_fix(e, "tilescope show NETWORK --what network lists them");
}

bool network_kernel_open(const struct network_task *t, const char *network, struct session **out,
                         struct err *e)
{
    struct str title = {0};
    if (!session_new(t->spec, out, e))
        return false;
    for (int i = 0; i < t->n_lines; i++)
        if (!history_apply((*out)->history, t->line[i], e)) {
            session_free(*out);
            *out = NULL;
            return false;
        }
    if (network[0])
        str_printf(&title, "%.100s: ", network);
    network_report_brief(&title, t);
    snprintf((*out)->title, sizeof (*out)->title, "%.*s", (int)utf8_fit(str_text(&title), 200),
             str_text(&title));
    str_free(&title);
    return true;
}
