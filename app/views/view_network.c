/* The network screen: the list of kernels, and the details of the selected kernel. While all
 * kernels are tuned, the progress of the tuner replaces the details. */
#include "app/views/network_doc.h"
#include "app/views/view.h"

#include <stdlib.h>
#include <string.h>
#include "kernels/base/arena.h"

static struct network_look look_of(const struct app_network *n, int width)
{
    struct network_look look = { .width = width - 2, .list_first = true,
                                 .chosen = str_text(&n->session->kernels),
                                 .outdated = n->outdated && !n->build_wanted };
    if (n->timed) {
        look.timed = n->timed->net;
        look.m = n->timed->measured;
    }
    return look;
}

/* Returns the time in milliseconds of task t, as measured in a session of the kernel with the same
 * steps; -1: there is no such measurement. */
static double alone_ms(const struct app_network *n, const struct network_task *t)
{
    for (int i = 0; i < n->kernels.len; i++) {
        const struct app_kernel *k = &n->kernels.data[i];
        const struct state *s = history_current(k->session->history);
        size_t spec = strcspn(k->was, "\n");
        bool same = strlen(t->spec) == spec && strncmp(k->was, t->spec, spec) == 0
                 && str_same_lines(s->program->steps, s->program->n_steps, t->program->steps,
                                   t->program->n_steps);
        if (same && s->measured && s->measured->verified && s->measured->latency.runs > 0)
            return s->measured->latency.min_ms;
    }
    return -1;
}

/* Returns the line of the kernel that was left; -1: there is none. */
static int line_of_left(const struct app_network *n, const struct pane_doc *p)
{
    const struct line *l = doc_at(&p->doc, &p->scroll);
    int task = model_kernel_like(n->made->net, n->left, l ? l->id : 0);
    return task >= 0 ? doc_find_id(&p->doc, task) : -1;
}

void view_network_build(struct model *m, struct pane_doc *p, int width)
{
    struct app_network *n = m->network;
    const struct line *l = doc_at(&p->doc, &p->scroll);
    int id = l ? l->id : -1;
    /* When the list gets its first times, it is sorted again. If the user has not moved the cursor
     * yet, the cursor then goes to the slowest kernel. */
    bool first = l && p->scroll.cursor <= p->doc.head && m->network->timed && !m->network->sorted
              && n->kernels.len == 0;     /* an opened kernel counts as a move, too */
    m->network->sorted = m->network->timed != NULL;
    doc_clear(&p->doc);
    if (!n->made) {
        if (n->why.len)
            doc_wrap(&p->doc, STYLE_BAD, str_text(&n->why), width - 2, 0);
        else if (n->outdated && !n->build_wanted && !n->measure_wanted)
            doc_wrap(&p->doc, STYLE_DIM, "The kernels have no schedules yet: m chooses them and "
                     "measures the network.", width - 2, 0);
        else
            doc_line(&p->doc, STYLE_DIM, "choosing the schedules of the kernels ...");
        return;
    }
    struct network_look look = look_of(n, width);
    look.advice = "; m checks every kernel and times the network";
    if (n->measure_wanted)
        look.advice = "; it is being measured, Esc cancels that";
    model_find_roofs(m);
    look.model = m->roofs.model;
    double *alone = xcalloc((size_t)n->made->net->n_tasks + 1, sizeof *alone);
    for (int i = 0; i < n->made->net->n_tasks; i++)
        alone[i] = alone_ms(n, &n->made->net->task[i]);
    look.alone_ms = alone;
    network_doc(&p->doc, n->made->net, &look);
    free(alone);
    int line = n->left ? line_of_left(n, p) : first ? p->doc.head
             : id >= 0 ? doc_find_id(&p->doc, id) : -1;
    n->left = NULL;
    if (line >= 0)
        p->scroll.cursor = line;
}

void view_kernel_build(struct model *m, struct pane_doc *p, int width)
{
    int task = model_kernel(m);
    doc_clear(&p->doc);
    if (m->network && m->network->tune_wanted) {
        struct str text = {0};
        network_live_text(m->network->live, &text);
        doc_source(&p->doc, text.len ? str_text(&text) : "tuning: measuring the network", NULL, 0);
        str_free(&text);
        return;
    }
    if (task >= 0) {
        struct network_look look = look_of(m->network, width);
        network_doc_kernel(&p->doc, m->network->made->net, task, &look);
    }
}

void view_network_hint(const struct model *m, struct str *out)
{
    int task = model_kernel(m);
    if (task < 0)
        return;
    const struct network_task *t = &m->network->made->net->task[task];
    bool timed = m->network->timed && m->network->timed->measured;
    bool several = timed && t->count > 1, algorithm = timed && t->program->n_algorithms > 0;
    str_printf(out, "Enter opens this kernel%s.", several && algorithm ? "" : " with its steps");
    if (several)
        str_printf(out, " sum ms adds up its %d calls%s.", t->count,
                   algorithm ? "; GFLOP/s: direct form" : "");
    else if (algorithm)
        str_add(out, " GFLOP/s counts the direct form.");
    if (t->conversion)
        str_add(out, " It only changes a layout between two kernels.");
}
