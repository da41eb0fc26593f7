/* Tunes a graph with several convolutions or products part by part (SPEC C.5).  A part is one of
 * these operators, with the nodes that belong to it, as a program of its own.  The steps that its
 * search finds are then applied to the same tensors in the graph.
 *
 * The variant decides who chooses the layout of a tensor between two parts.  With alt and wp the
 * search of each part chooses a layout, and the graph converts between the two layouts.  With fp
 * only the search of the first part chooses, with bp only the search of the second part; the search
 * that does not choose must keep the chosen layout as a pin. */
#include <math.h>
#include <string.h>

#include "kernels/module/partition.h"
#include "sessions/study/study_tune.h"

enum { PART_NAMES = 12 };

/* The names of a tensor: `here` in a part, `graph` in steps of the graph.  If the tensor is the
 * result of another part, `from` is the index of that part, and `operand` is the tensor's name in
 * layout steps of the graph, like "c2.Inp".  Otherwise `from` is -1 and `operand` is NULL. */
struct part_name { const char *here, *graph, *operand; int from; };

struct study_part {
    const struct net_part *net;
    const struct program *program;
    int n_names; struct part_name name[PART_NAMES];
    int n_lines; const char *const *line;              /* lines of the fastest schedule */
};

struct study_parts {
    struct arena *a;
    const struct graph *graph;
    enum variant variant;
    int n; struct study_part *part;
};

static int count_complex(const struct graph *g)
{
    int n = 0;
    for (int i = 0; i < g->n_nodes; i++)
        n += g->node[i].complex;
    return n;
}

bool study_has_parts(struct arena *a, const char *spec)
{
    const struct program *p;
    struct err none;
    return program_new(a, spec, &p, &none) && count_complex(p->base) > 1;
}

/* --- Names ----------------------------------------------------------------------------------- */

static void add_name(struct study_parts *x, struct study_part *p, const char *here,
                     const char *result)
{
    const struct graph *g = x->graph;
    struct part_name name = { .here = here, .from = -1 };
    int t = p->net->out;
    bool is_operand = false;
    for (int i = 0; i < p->net->n_operands; i++)
        if (streq(p->net->operand[i].name, here)) {
            t = p->net->operand[i].tensor;
            is_operand = true;
        }
    name.graph = g->tensor[t].name;
    if (!is_operand && !streq(here, p->net->result))
        name.graph = arena_printf(x->a, "%s_%s", result, here);
    for (int i = 0; is_operand && i < x->n; i++)
        if (x->part[i].net->out == t)
            name.from = i;
    if (name.from >= 0) {
        name.operand = arena_printf(x->a, "%s.%s", result, here);
        if (x->variant == VARIANT_ALT || x->variant == VARIANT_WP)
            name.graph = arena_printf(x->a, "%s_%s", result, here);
    }
    p->name[p->n_names++] = name;
}

static bool name_tensors(struct study_parts *x, struct study_part *p, struct err *e)
{
    const struct graph *g = p->program->base;
    if (g->n_tensors > PART_NAMES)
        return err_set(e, ERR_RANGE, "%s has too many tensors to be tuned as a part", g->spec);
    for (int t = 0; t < g->n_tensors; t++)
        add_name(x, p, g->tensor[t].name, x->graph->tensor[p->net->out].name);
    return true;
}

static const struct part_name *find_name(const struct study_part *p, const char *word, size_t n,
                                         bool to_graph)
{
    for (int i = 0; i < p->n_names; i++) {
        const struct part_name *x = &p->name[i];
        const char *name = to_graph ? x->here : x->operand ? x->operand : x->graph;
        if (strlen(name) == n && memcmp(name, word, n) == 0)
            return x;
    }
    return NULL;
}

static const struct tensor *tensor_named(const struct graph *g, const char *name)
{
    return &g->tensor[graph_tensor(g, name)];
}

/* Appends the n bytes of text with the dimension names of tensor `from` replaced by those of `to`,
 * which has the same number of dimensions.  "N O/16 H W 16o" can become "N I/16 H W 16i". */
static void add_renamed(struct str *out, const char *text, size_t n, const struct tensor *from,
                        const struct tensor *to)
{
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        bool lower = c >= 'a';
        for (int d = 0; d < from->rank; d++)
            if (!from->dim[d][1] && !to->dim[d][1]
                && c == (lower ? from->dim[d][0] + ('a' - 'A') : from->dim[d][0])) {
                c = (char)(lower ? to->dim[d][0] + ('a' - 'A') : to->dim[d][0]);
                break;
            }
        str_add_char(out, c);
    }
}

/* Translates a step of a part into a step of the graph (to_graph), or a step of the graph into one
 * of the part.  Returns NULL when the step's tensor is not a tensor of the part. */
static const char *translate(struct study_parts *x, const struct study_part *p, const char *line,
                             bool to_graph)
{
    struct str s = {0};
    const struct part_name *target = NULL;
    bool layout = str_starts(line, "layout ");
    for (const char *w = line; *w;) {
        size_t n = strcspn(w, " "), space = strspn(w + n, " ");
        const struct part_name *name = find_name(p, w, n, to_graph);
        if (name) {
            str_add(&s, !to_graph ? name->here
                        : layout && name->operand ? name->operand : name->graph);
        } else if (layout && target && target->operand) {
            const struct tensor *here = tensor_named(p->program->base, target->here),
                                *there = &x->graph->tensor[x->part[target->from].net->out];
            add_renamed(&s, w, n, to_graph ? here : there, to_graph ? there : here);
        } else {
            str_add_n(&s, w, n);
        }
        str_add_n(&s, w + n, space);
        target = target ? target : name;
        w += n + space;
    }
    const char *text = target ? arena_strdup(x->a, str_text(&s)) : NULL;
    str_free(&s);
    return text;
}

/* --- Layouts between two parts ---------------------------------------------------------------- */

/* Sets *line to the step that gives tensor `to` of part p the layout of tensor `from` of a tuned
 * part. */
static bool same_layout(struct study_parts *x, const struct study_part *tuned, const char *from,
                        const struct study_part *p, const char *to, const char **line,
                        struct err *e)
{
    const struct program *done;
    struct str text = {0}, renamed = {0};
    int bad;
    if (!program_replay(x->a, tuned->net->spec, tuned->line, tuned->n_lines, &done, &bad, e))
        return false;
    bool ok = layout_notation(done->layout[graph_tensor(done->graph, from)], &text)
        || err_set(e, ERR_STEP, "the layout of %s cannot be shared", from);
    if (ok) {
        add_renamed(&renamed, str_text(&text), text.len, tensor_named(done->base, from),
                    tensor_named(p->program->base, to));
        *line = arena_printf(x->a, "layout set %s \"%s\"", to, str_text(&renamed));
    }
    str_free(&renamed);
    str_free(&text);
    return ok;
}

/* Appends lines for part k: "set input_layout given" for each operand from another part; with fp
 * and bp also steps that set the layouts which earlier searches have fixed. */
static bool fixed_layouts(struct study_parts *x, int k, const char **line, int *n, struct err *e)
{
    struct study_part *p = &x->part[k];
    for (int i = 0; i < p->n_names; i++) {
        const struct part_name *o = &p->name[i];
        if (o->from < 0)
            continue;
        const struct study_part *first = &x->part[o->from];
        line[(*n)++] = "set input_layout given";     /* conversions do not belong to this part */
        if (x->variant != VARIANT_FP)
            continue;
        if (!same_layout(x, first, first->net->result, p, o->here, &line[(*n)++], e))
            return false;
    }
    for (int i = k + 1; x->variant == VARIANT_BP && i < x->n; i++)
        for (int j = 0; j < x->part[i].n_names; j++) {
            const struct part_name *o = &x->part[i].name[j];
            if (o->from == k
                && !same_layout(x, &x->part[i], o->here, p, p->net->result, &line[(*n)++], e))
                return false;
        }
    return true;
}

/* --- One search per part ---------------------------------------------------------------------- */

static bool open_parts(struct study_parts *x, const char *spec, const char *const *step, int n,
                       struct err *e)
{
    const struct program *p;
    int bad;
    if (!program_replay(x->a, spec, step, n, &p, &bad, e))
        return false;
    x->graph = p->base;
    x->variant = (enum variant)p->variant;
    struct partition parts;
    if (!partition(x->a, p->base, 0, NULL, &parts, e))
        return false;
    x->part = ARENA_ARRAY(x->a, struct study_part, parts.n);
    for (int i = 0; i < parts.n; i++) {
        struct study_part *part = &x->part[x->n];
        part->net = &parts.part[i];
        if (!program_new(x->a, part->net->spec, &part->program, e))
            return false;
        x->n += part->program->base->node[part->program->base->main_node].complex;
    }
    bool ok = true;
    for (int i = 0; ok && i < x->n; i++)
        ok = name_tensors(x, &x->part[i], e);
    return ok;
}

/* Adds the result of a part's search to that of the graph, whose time is the sum over the parts. */
static void add_search(struct study_search *sum, const struct study_search *s, int budget)
{
    sum->run = s->run;
    sum->answered = s->answered;
    sum->stopped = s->stopped;
    sum->trials += s->trials;
    sum->failed += s->failed;
    sum->seconds += s->seconds;
    sum->start_ms += s->start_ms;
    if (s->n_lines < 0)
        sum->n_lines = -1;
    struct study_point *end = (struct study_point *)sum->curve;
    end->ms += study_search_at(s, budget);
}

static bool search_part(struct study_parts *x, int k, const struct study_part_search *how,
                        struct study_search *sum, struct err *e)
{
    static const char *const all_layouts[] = { "layout" };
    struct study_part *p = &x->part[k];
    struct tuning_opts o = *how->opts;
    struct study_search found = {0};
    /* fixed_layouts adds up to two lines per name of this part, and one per name of a later part */
    int most = how->n_steps + (2 + x->n) * PART_NAMES, n = 0;
    const char **line = ARENA_ARRAY(x->a, const char *, most);
    if (!fixed_layouts(x, k, line, &n, e))
        return false;
    for (int i = 0; i < how->n_steps; i++) {
        const char *own = translate(x, p, how->step[i], false);
        if (own)
            line[n++] = own;
    }
    o.budget = how->opts->budget / x->n > 0 ? how->opts->budget / x->n : 1;
    o.pin = all_layouts;
    o.n_pins = n > 0 && !o.loop_only;
    if (!how->tune(how->ctx, x->a, p->net->spec, line, n, &o, how->view, how->cancel, &found, e))
        return false;
    p->line = found.line;
    p->n_lines = found.n_lines;
    add_search(sum, &found, o.budget);
    return true;
}

/* Appends the loop steps of all parts if `loops` is set, else their other steps, without
 * settings. */
static void graph_lines(struct study_parts *x, bool loops, const char **line, int *n)
{
    for (int k = 0; k < x->n; k++)
        for (int i = 0; i < x->part[k].n_lines; i++) {
            const char *own = x->part[k].line[i];
            if (str_starts(own, "loop ") == loops && !str_starts(own, "set "))
                line[(*n)++] = translate(x, &x->part[k], own, true);
        }
}

/* Joins the settings of the variant and the steps of all parts: layouts, then loops. */
static void join_lines(struct study_parts *x, const struct study_part_search *how,
                       struct study_search *out)
{
    int most = how->n_steps + 1, n = 0;
    for (int k = 0; k < x->n; k++)
        most += x->part[k].n_lines;
    const char **line = ARENA_ARRAY(x->a, const char *, most);
    for (int i = 0; i < how->n_steps; i++)
        if (str_starts(how->step[i], "set "))
            line[n++] = how->step[i];
    for (int i = 0; i < x->part[0].n_lines; i++)
        if (str_starts(x->part[0].line[i], "set input_layout"))
            line[n++] = x->part[0].line[i];
    graph_lines(x, false, line, &n);
    graph_lines(x, true, line, &n);
    out->line = line;
    out->n_lines = n;
}

bool study_search_parts(struct arena *a, const char *spec, const struct study_part_search *how,
                        struct study_search *out, struct err *e)
{
    struct study_parts x = { .a = a };
    struct study_point *end = ARENA_NEW(a, struct study_point);
    *out = (struct study_search){ .n_curve = 1, .curve = end };
    end->trial = how->opts->budget;
    if (!open_parts(&x, spec, how->step, how->n_steps, e))
        return false;
    for (int i = 0; i < x.n && out->n_lines >= 0 && !out->stopped; i++)
        if (!search_part(&x, x.variant == VARIANT_BP ? x.n - 1 - i : i, how, out, e))
            return false;
    if (out->n_lines >= 0 && !out->stopped)
        join_lines(&x, how, out);
    return true;
}
