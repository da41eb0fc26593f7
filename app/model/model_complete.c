/* Completion of lines on the prompt. */
#include "app/model/model.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "app/model/appcmd.h"
#include "app/model/help.h"
#include "explorer/tune/strategies.h"
#include "explorer/expert/expert.h"
#include "kernels/base/file.h"

#define EXPERTS_OFFERED 9

struct word_list {
    struct arena *a;
    const char *prefix;
    VEC(struct completion) found;
};

static void offer(struct word_list *w, const char *word, const char *help)
{
    if (str_starts(word, w->prefix))
        vec_push(&w->found, (struct completion){arena_strdup(w->a, word), help});
}

static int by_word(const void *x, const void *y)
{
    const struct completion *a = x, *b = y;
    return strcmp(a->word, b->word);
}

/* Whether the screen may open a file of this name. */
static bool opens(const char *name)
{
    return str_ends(name, ".yaml") || str_ends(name, ".yml") || str_ends(name, ".onnx");
}

/* Leaves only the folders and the files that the screen may open, if there are any. */
static void keep_sessions(struct word_list *w)
{
    int n = 0;
    for (int i = 0; i < w->found.len; i++)
        if (str_ends(w->found.data[i].word, "/") || opens(w->found.data[i].word))
            w->found.data[n++] = w->found.data[i];
    w->found.len = n > 0 ? n : w->found.len;
}

/* Offers the files and folders that continue the prefix, sorted by name.  Leaves out hidden ones
 * unless a dot was typed. */
static void offer_files(struct word_list *w)
{
    const char *slash = strrchr(w->prefix, '/');
    const char *dir = slash ? arena_strndup(w->a, w->prefix, (size_t)(slash - w->prefix) + 1) : "";
    const char *start = slash ? slash + 1 : w->prefix;
    struct str folder_path = {0};
    file_add_typed(&folder_path, dir[0] ? dir : ".");
    DIR *d = opendir(str_text(&folder_path));
    str_free(&folder_path);
    if (!d)
        return;
    for (struct dirent *f = readdir(d); f; f = readdir(d)) {
        if (!str_starts(f->d_name, start) || (f->d_name[0] == '.' && start[0] != '.'))
            continue;
        struct stat st;
        bool known = f->d_type != DT_LNK && f->d_type != DT_UNKNOWN;
        bool folder = known ? f->d_type == DT_DIR
                    : fstatat(dirfd(d), f->d_name, &st, 0) == 0 && S_ISDIR(st.st_mode);
        const char *path = arena_printf(w->a, "%s%s%s", dir, f->d_name, folder ? "/" : "");
        offer(w, path, folder ? "folder" : "");
    }
    closedir(d);
    if (w->found.len > 0)
        qsort(w->found.data, (size_t)w->found.len, sizeof *w->found.data, by_word);
}

static void offer_each(struct word_list *w, const char *const *word, int n)
{
    for (int i = 0; i < n; i++)
        offer(w, word[i], "");
}

/* Offers operators.  If the line `before` has an operator already, offers the parameters of this
 * operator that the line does not have. */
static void offer_operator(struct word_list *w, const char *before)
{
    char name[64] = "";
    size_t n = strcspn(before, " ");
    if (n > 0 && n < sizeof name && before[n] == ' ')
        memcpy(name, before, n);
    const struct op_family *f = name[0] ? ops_find(name) : NULL;
    for (int i = 0; !name[0] && i < ops_count(); i++)
        offer(w, ops_get(i)->name, ops_get(i)->title);
    for (int i = 0; f && i < f->n_params; i++) {
        const char *param = arena_printf(w->a, "%s=", f->params[i].name);
        const char *given = strstr(before, arena_printf(w->a, " %s", param));
        if (!given || given + 1 + strlen(param) > before + strlen(before) - strlen(w->prefix))
            offer(w, param, f->params[i].help);
    }
}

static void offer_experts(struct word_list *w, const struct model *m)
{
    struct expert_schedule s[EXPERTS_OFFERED];
    struct err ignored;
    int n;
    if (!m->session || !model_experts(m, w->a, COUNT_OF(s), s, &n, &ignored))
        return;
    for (int i = 0; i < n; i++)
        offer(w, arena_printf(w->a, "%d", i + 1),
              arena_printf(w->a, "%s, %s", s[i].expert->id, expert_chosen_text(w->a, &s[i])));
}

static void offer_tune(struct word_list *w)
{
    static const char *const word[] = { "pause", "stop", "open", "fresh", "budget=", "time=",
                                        "seed=", "levels=2", "pin=layout", "pin=all-layouts" };
    offer_each(w, word, COUNT_OF(word));
    for (int i = 0; i < strategy_count(); i++)
        offer(w, arena_printf(w->a, "strategy=%s", strategy_get(i)->name), strategy_get(i)->what);
}

/* Returns the part of the network that reads tensor t, if only one does; else -1. */
static int only_reader(const struct network *net, int t)
{
    int reader = -1, n = 0;
    for (int i = 0; i < net->parts.n; i++)
        for (int k = 0; k < net->parts.part[i].n_operands; k++)
            if (net->parts.part[i].operand[k].tensor == t && (n == 0 || reader != i)) {
                reader = i;
                n++;
            }
    return n == 1 ? reader : -1;
}

/* Offers the tensors at which kernels can be cut, which are those inside a kernel.  The tensors of
 * the selected kernel come first. */
static void offer_inner(struct word_list *w, const struct model *m, const struct network *net)
{
    int selected = model_kernel(m);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < net->module->n_calls; i++) {
            const struct network_call *c = &net->call[i];
            if (c->part < 0 || (c->task == selected) != (pass == 0))
                continue;
            const struct net_part *p = &net->parts.part[c->part];
            const char *help = arena_printf(w->a, "inside kernel %d, which makes %s", c->task,
                                            net->graph->tensor[p->out].name);
            for (int k = 0; k < p->n_inner; k++)
                offer(w, net->graph->tensor[p->inner[k]].name, help);
        }
}

/* Offers the operands of `module join A B`.  For A (`first` is NULL), offers the result of each
 * kernel that can be joined with a second kernel, which alone reads this result.  For B, offers the
 * result of the kernel that reads `first`. */
static void offer_joined(struct word_list *w, const struct network *net, const char *first)
{
    for (int i = 0; i < net->parts.n; i++) {
        const struct net_part *p = &net->parts.part[i];
        const struct tensor *t = &net->graph->tensor[p->out];
        int by = t->role == TENSOR_OUTPUT ? -1 : only_reader(net, p->out);
        if (by < 0 || net->parts.part[by].constant != p->constant
            || (first && !streq(first, t->name)))
            continue;
        const char *reader = net->graph->tensor[net->parts.part[by].out].name;
        offer(w, first ? reader : t->name,
              arena_printf(w->a, first ? "reads %s" : "read by the kernel of %s alone",
                           first ? t->name : reader));
    }
}

/* Completes the argument of `module`, as in `module cut T` and `module join A B`.  before: the
 * argument so far. */
static void offer_module(struct word_list *w, const struct model *m, const char *before)
{
    const struct network_made *made = model_shows_network(m) ? m->network->made : NULL;
    char verb[8] = "", first[128] = "", second[2] = "";
    int n = sscanf(before, "%7s %127s %1s", verb, first, second);
    n = n > 0 && *w->prefix ? n - 1 : n;  /* number of words before the one to complete */
    if (made && n < 1) {
        offer(w, "cut", "end a kernel at a tensor inside it");
        offer(w, "join", "make one kernel of two, of which the second alone reads the first");
    } else if (made && n == 1 && streq(verb, "cut")) {
        offer_inner(w, m, made->net);
    } else if (made && n < 3 && streq(verb, "join")) {
        offer_joined(w, made->net, n > 1 ? first : NULL);
    }
}

/* Offers the app's own commands that can run now.  In the list of a network, also offers the
 * commands of the history that a network takes. */
static void offer_commands(struct word_list *w, const struct model *m)
{
    for (int i = 0; i < appcmd_rows() && model_shows_network(m); i++) {
        struct command_row row = appcmd_row(i);
        /* own: the loop below offers the row, because it is one of the app's own commands */
        bool own = appcmd_find(row.name, strlen(row.name)) >= 0;
        if (!own && (model_network_takes(row.name) || streq(row.name, "measure")))
            offer(w, row.name, row.help);
    }
    for (int i = 0; i < APP_COUNT; i++) {
        bool opens = m->network && i == APP_TUNE;        /* a kernel first */
        bool other = i == APP_MODULE && !model_shows_network(m);
        if ((opens || model_command_fits(m, i)) && !other)
            offer(w, appcmd_info((enum app_command)i)->name,
                  appcmd_info((enum app_command)i)->help);
    }
}

static void offer_isas(struct word_list *w)
{
    for (int i = 0; i < targets_count(); i++)
        if (target_get(i)->runs_here())
            offer(w, target_get(i)->isa, "");
    offer(w, "cuda", "GPU kernels in CUDA C");
    offer(w, "default", "the best that this machine has");
}

static void offer_caches(struct word_list *w)
{
    for (int i = 0; i < cache_preset_count; i++)
        offer(w, cache_preset[i].name, cache_preset[i].what);
    offer(w, "default", "that of this machine");
}

static void offer_argument(struct word_list *w, const struct model *m, enum app_command id,
                           const char *before)
{
    static const char *const focus[] = {"next", "prev", "steps", "view"};
    static const char *const lens[] = { "next", "prev", "forward", "back", "conflict", "loop",
                                        "from", "apply" };
    static const char *const compare[] = { "nest", "c", "asm", "ablation", "next", "difference",
                                           "back" };
    static const char *const onoff[] = {"on", "off"};
    static const char *const compiler[] = { "gcc", "clang", "default" };
    switch ((int)id) {
    case APP_OPEN:
        offer_files(w);
        keep_sessions(w);
        break;
    case APP_WRITE: case APP_WRITE_QUIT: case APP_EXPORT: case APP_DUMP: case APP_SNAPSHOT:
    case APP_SOURCE:
        offer_files(w);
        break;
    case APP_NEW:
        offer_operator(w, before);
        break;
    case APP_VIEW:
        for (int i = 0; i < VIEW_COUNT; i++)
            offer(w, model_view[i].name, "");
        break;
    case APP_COMPARE:
        offer_each(w, compare, COUNT_OF(compare));
        break;
    case APP_LENS:
        offer_each(w, lens, COUNT_OF(lens));
        break;
    case APP_MARK:
        for (int i = 0; m->session && i < history_n_branches(m->session->history); i++)
            offer(w, history_branch(m->session->history, i)->name, "branch");
        break;
    case APP_HELP:
        for (int i = 0; help_topic_name(i); i++)
            offer(w, help_topic_name(i), help_topic_summary(i));
        break;
    case APP_MODULE:
        offer_module(w, m, before);
        break;
    case APP_EXPERT:
        offer_experts(w, m);
        break;
    case APP_TUNE:
        offer_tune(w);
        break;
    case APP_FOCUS:
        offer_each(w, focus, COUNT_OF(focus));
        break;
    case APP_COLUMNS:
        for (int i = 0; i < COLUMN_COUNT; i++)
            offer(w, column_info[i].name, column_info[i].help);
        offer(w, "auto", "what has numbers and fits");
        break;
    case APP_THEME:
        offer_each(w, theme_name, THEME_COUNT);
        break;
    case APP_ISA:
        offer_isas(w);
        break;
    case APP_CACHE:
        offer_caches(w);
        break;
    case APP_COMPILER:
        offer_each(w, compiler, COUNT_OF(compiler));
        break;
    case APP_THREADS:
    case APP_SIM_BUDGET:
        offer(w, "default", "");
        break;
    case APP_AUTO:
        offer_each(w, onoff, COUNT_OF(onoff));
        break;
    default:
        break;
    }
}

/* Adds the help of the app's own commands: command_complete knows only their names. */
static void add_help(struct completions *c)
{
    for (int i = 0; i < c->n; i++) {
        int id = appcmd_find(c->item[i].word, strlen(c->item[i].word));
        if (id >= 0 && (!c->item[i].help || !c->item[i].help[0]))
            c->item[i].help = appcmd_info((enum app_command)id)->help;
    }
}

/* Completes a step or a command of the history.  If the step lacks its group, completes the line as
 * if it had the group.  names: names of the app's own commands, which can begin the line, too. */
static void complete_step(const struct model *m, struct arena *a, const char *line,
                          const char *const *names, struct completions *out)
{
    const char *group = model_group_completed(m, line);
    int at = group ? model_step_at(line) : 0;
    if (group)
        line = arena_printf(a, "%.*s%s %s", at, line, group, line + at);
    command_complete(a, m->session->history, line, names, out);
    if (group)
        out->replace_from -= (int)strlen(group) + 1;
    add_help(out);
}

static void put_words(struct word_list *w, int from, struct completions *out)
{
    out->n = w->found.len;
    out->item = w->found.len > 0 ? ARENA_DUP(w->a, w->found.data, w->found.len) : NULL;
    out->replace_from = from;
    vec_free(&w->found);
}

void model_complete(void *ctx, struct arena *a, const char *line, struct completions *out)
{
    struct model *m = ctx;
    const char *start = line + strspn(line, " ");
    const char *blank = strrchr(line, ' '), *word = blank ? blank + 1 : line;
    const char *names[APP_COUNT + 1] = {0};
    size_t n = strcspn(start, " ");
    int id = start[n] == ' ' ? appcmd_find(start, n) : -1;
    for (int i = 0, k = 0; i < APP_COUNT; i++)
        if (i != APP_MODULE)              /* `module` is only for the list of a network */
            names[k++] = appcmd_info((enum app_command)i)->name;
    if (m->prompt.mark == PROMPT_SAVE) {
        struct word_list files = {.a = a, .prefix = line};
        offer_files(&files);
        put_words(&files, 0, out);
        return;
    }
    if (m->prompt.mark != ':')
        return;
    if (id < 0 && m->session) {
        complete_step(m, a, line, names, out);
        return;
    }
    struct word_list w = {.a = a, .prefix = word};
    if (id >= 0)
        offer_argument(&w, m, (enum app_command)id, start + n + 1);
    else if (start[n] == 0)
        offer_commands(&w, m);
    put_words(&w, (int)(word - line), out);
}
