/* The steps of the network itself, `module cut` and `module join`, with undo and redo. */
#include "app/model/model.h"

#include <stdlib.h>
#include <string.h>

#include "sessions/file/session_network.h"

/* If the first word of a line is `word`, returns what follows it; else NULL. */
static const char *after_word(const char *line, const char *word)
{
    size_t n = strlen(word);
    bool is = str_starts(line, word) && (line[n] == ' ' || !line[n]);
    return is ? line + n + strspn(line + n, " ") : NULL;
}

void model_network_forget_undone(struct app_network *n)
{
    for (int i = 0; i < n->undone.len; i++)
        free(n->undone.data[i]);
    vec_clear(&n->undone);
}

bool model_network_takes(const char *line)
{
    return after_word(line, "module") || after_word(line, "undo") || after_word(line, "redo");
}

static bool network_changed(struct model *m)
{
    model_network_update(m);
    model_keep_safe(m);
    return true;
}

/* Refuses to change steps that the last search has chosen while another search runs: its result
 * would be lost. */
static bool refuse_while_tuned(struct model *m, bool redo)
{
    return m->network->tune_wanted && model_network_at_tuned(m->network, redo)
        && !model_say_error(m, "the kernels are being tuned", "Esc in their list ends that");
}

static bool undo_steps(struct model *m, long long n)
{
    struct app_network *net = m->network;
    bool tuned = false;
    int undone = 0;
    if (refuse_while_tuned(m, false))
        return false;
    for (; n > 0; n--, undone++) {
        bool swapped = model_network_swap_tuned(net, false);
        char *last = swapped ? NULL : session_network_undo(net->session);
        if (!swapped && !last)
            break;
        if (last)
            vec_push(&net->undone, last);
        tuned = tuned || swapped;
    }
    if (undone == 0)
        return model_say_error(m, "the network itself has no step to undo",
                               "Enter opens a kernel; u there undoes its steps");
    if (tuned)
        model_info(m, "the schedules of the search are taken back; C-r brings them again");
    return network_changed(m);
}

static bool redo_steps(struct model *m, long long n)
{
    struct app_network *net = m->network;
    struct err e;
    if (refuse_while_tuned(m, true))
        return false;
    if (net->undone.len == 0 && !model_network_at_tuned(net, true))
        return model_say_error(m, "no step of the network was undone", "");
    for (; n > 0; n--) {
        if (model_network_swap_tuned(net, true)) {
            model_info(m, "the schedules of the search are back");
            continue;
        }
        if (net->undone.len == 0)
            break;
        char *line = net->undone.data[net->undone.len - 1];
        if (!session_network_step(net->session, line, &e)) {
            network_changed(m);           /* the earlier steps stay redone */
            return model_error(m, &e);
        }
        net->undone.len--;
        free(line);
    }
    return network_changed(m);
}

bool model_network_step(struct model *m, const char *line)
{
    const char *undo = after_word(line, "undo"), *redo = after_word(line, "redo");
    const char *count = undo ? undo : redo;
    long long n = 1;
    struct err e;
    if (count && *count && !str_to_int64(count, 1, 10000, &n))
        return model_say_error(m, "the number of steps is 1 to 10000", "undo 3");
    if (undo)
        return undo_steps(m, n);
    if (redo)
        return redo_steps(m, n);
    struct app_network *net = m->network;
    bool taken_back = model_network_at_tuned(net, true);
    if (!session_network_step(net->session, line, &e))
        return model_error(m, &e);
    model_network_forget_undone(net);
    if (taken_back) {                     /* a new step: the search is not redone any more */
        str_clear(&net->tuned_from);
        str_clear(&net->tuned_to);
    }
    return network_changed(m);
}
