#include "app/views/network_doc.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "app/ui/text.h"
#include "app/views/measurement_doc.h"
#include "app/views/network_head.h"
#include "kernels/nest/tree.h"
#include "sessions/file/kernels_text.h"
#include "sessions/file/session_network.h"
#include "sessions/report/network_report.h"

#define CALLS_NAMED 4                     /* only so many calls of a kernel are named */
#define ROOM_FOR_BOUND 88  /* columns from which the table has the bound in milliseconds */
#define ROOM_FOR_BYTES 96  /* columns from which the table has the bytes */

/* A row of the table: the numbers of all calls of a kernel together. seconds: their time; < 0: not
 * measured. alone: their time if each call took as long as the kernel measured alone; < 0: unknown.
 * misses: their L1 misses; < 0: unknown. is: their work and bound. */
struct kernel_row {
    int task; double seconds, alone, misses; struct kernel_profile is;
    bool chosen;                          /* whether the user or the tuner chose its steps */
};

/* Widths of the columns; 0: not shown. The column `kernel` gets the width that the others leave. */
struct kernel_columns {
    int calls, ms, share, gflops, part, bound, mib, misses, number, kernel, layouts;
};

/* The table as a whole. timed: whether calls were timed; if not, the rows show FLOPs instead of
 * times. whole: the sum of all rows, in seconds or FLOPs. in: the unit of the times or FLOPs that
 * rows show, as a number of seconds or FLOPs. bounded: whether the column `part` is the share of
 * the bound; else it is the share of the peak. counted: whether misses are known. peak: in GFLOP/s;
 * 0: unknown. part_known: whether the time or FLOPs of every row are known; only then are shares of
 * the whole known. */
struct kernel_table {
    bool timed, bounded, counted, part_known; double whole, peak, in;
    struct kernel_columns columns;
};

static bool same_task(const struct network_task *x, const struct network_task *y)
{
    return streq(x->spec, y->spec) && str_same_lines(x->line, x->n_lines, y->line, y->n_lines);
}

/* Returns the seconds of all calls of a task; -1: not measured. Stores in *calls how many calls
 * were timed. The measured network may have this task under another number, and call it more or
 * less often. So the time of each call is taken to be the mean time of the timed calls. */
static double seconds_of(const struct network_task *t, const struct network_look *k, int *calls)
{
    double sum = 0;
    *calls = 0;
    for (int i = 0; k->m && k->m->call_s && i < k->timed->module->n_calls; i++)
        if (same_task(t, &k->timed->task[k->timed->call[i].task])) {
            sum += k->m->call_s[i];
            ++*calls;
        }
    return *calls > 0 ? sum / *calls * t->count : -1;
}

static int by_time(const void *p, const void *q)
{
    const struct kernel_row *x = p, *y = q;
    bool untimed = x->seconds < 0, other = y->seconds < 0;
    if (untimed != other)
        return untimed ? -1 : 1;
    double a = untimed ? x->is.flops : x->seconds, b = untimed ? y->is.flops : y->seconds;
    return a < b ? 1 : a > b ? -1 : x->task - y->task;
}

/* Returns the simulated L1 misses of all calls of a task; -1: unknown. */
static double misses_of(const struct network *net, int task, const struct network_look *k)
{
    const struct sim_result *s = k->m && k->m->kernel && k->timed == net ? &k->m->kernel[task].sim
                                                                         : NULL;
    return s && s->available ? (double)s->l1_misses * net->task[task].count : -1;
}

/* Whether the user or the tuner chose the steps of a task. */
static bool is_chosen(const struct network_task *t, const char *kernels)
{
    struct arena *a = arena_new();
    const char *const *line;
    int n;
    bool is = kernels && !t->conversion && kernels_find(kernels, a, t->spec, &n, &line);
    arena_free(a);
    return is;
}

/* Returns a row for each task, in the order of network_doc; the caller frees the rows. */
static struct kernel_row *rows_of(const struct network *net, const struct network_look *k)
{
    struct kernel_row *row = xcalloc((size_t)net->n_tasks + 1, sizeof *row);
    struct kernel_profile *is = xcalloc((size_t)net->n_tasks + 1, sizeof *is);
    network_profile(k->model, net, k->m ? k->m->threads : 1, k->m ? k->m->isa : "", is);
    for (int i = 0, calls; i < net->n_tasks; i++)
        row[i] = (struct kernel_row){
            .task = i, .seconds = seconds_of(&net->task[i], k, &calls),
            .alone = k->alone_ms ? 1e-3 * k->alone_ms[i] * net->task[i].count : -1,
            .misses = misses_of(net, i, k), .is = is[i],
            .chosen = is_chosen(&net->task[i], k->chosen),
        };
    qsort(row, (size_t)net->n_tasks, sizeof *row, by_time);
    free(is);
    return row;
}

/* Appends the notation of a layout without blanks: "NHWO". Dims named D0 D1 ... become 0 1 ... */
static void put_layout(struct str *out, const struct layout *l)
{
    struct str text = {0};
    if (!layout_notation(l, &text))
        str_add(&text, "(steps)");
    for (const char *p = str_text(&text); *p; p++)
        if (*p != ' ' && !(*p == 'D' && isdigit((unsigned char)p[1])))
            str_add_char(out, *p);
    str_free(&text);
}

/* Parameter i of a kernel's function stands for a tensor of the kernel's operator. Returns this
 * tensor; NULL: the parameter stands for none. */
static const struct tensor *tensor_of(const struct network_task *t, int i)
{
    int base = program_base_tensor(t->program, t->func->buffer[i].tensor);
    return base < 0 ? NULL : &t->program->base->tensor[base];
}

/* Appends the layouts of the first input and of the result of a kernel: "NIHW > NHWO". */
static void put_layouts(struct str *out, const struct network_task *t)
{
    int from = -1, to = -1;
    for (int i = 0; i < t->func->n_params; i++) {
        const struct tensor *x = tensor_of(t, i);
        if (x && x->role == TENSOR_INPUT && from < 0)
            from = i;
        if (x && x->role == TENSOR_OUTPUT)
            to = i;
    }
    if (from >= 0)
        put_layout(out, t->program->layout[t->func->buffer[from].tensor]);
    str_add(out, " > ");
    if (to >= 0)
        put_layout(out, t->program->layout[t->func->buffer[to].tensor]);
}

/* --- The table -------------------------------------------------------------------------------- */

static int digits(int n)
{
    return n < 10 ? 1 : 1 + digits(n / 10);
}

static struct kernel_columns columns_for(const struct network *net, int width,
                                         const struct kernel_table *t)
{
    struct kernel_columns c = { .calls = 5, .ms = 8, .share = 6,
                                .number = 2 + digits(net->n_tasks - 1) };
    struct str text = {0};
    if (t->timed && width >= 56)
        c.gflops = 8;
    if (t->timed && width >= 64 && (t->bounded || t->peak > 0))
        c.part = t->bounded ? 9 : 5;
    if (t->counted && width >= 70)
        c.misses = 8;
    if (t->bounded && width >= ROOM_FOR_BOUND)
        c.bound = 9;
    if (width >= ROOM_FOR_BYTES)
        c.mib = 7;
    c.kernel = width - 3 - c.calls - c.ms - c.share - c.gflops - c.part - c.bound - c.mib
             - c.misses - c.number;
    for (int i = 0; i < net->n_tasks && width >= 66; i++) {
        str_clear(&text);
        put_layouts(&text, &net->task[i]);
        int w = 2 + text_width(str_text(&text));
        c.layouts = w > c.layouts ? w : c.layouts;
    }
    str_free(&text);
    c.layouts = c.layouts > c.kernel * 9 / 20 ? c.kernel * 9 / 20 : c.layouts;
    c.kernel -= c.layouts;
    c.kernel = c.kernel > 4 ? c.kernel : 4;
    return c;
}

static struct kernel_table table_of(const struct network *net, const struct network_look *k,
                                    const struct kernel_row *row)
{
    struct kernel_table t = { .timed = k->m && k->m->call_s, .part_known = true };
    for (int i = 0; i < net->n_tasks; i++) {
        t.whole += !t.timed ? row[i].is.flops : row[i].seconds > 0 ? row[i].seconds : 0;
        t.part_known &= !t.timed || row[i].seconds >= 0;
        t.counted |= row[i].misses >= 0;
        t.bounded |= row[i].is.bound_s > 0;
    }
    t.peak = t.timed ? k->m->peak_gflops : 0;
    t.in = t.timed ? 1e-3 : t.whole >= 1e9 ? 1e9 : 1e6;
    t.columns = columns_for(net, k->width, &t);
    return t;
}

/* Returns the heading of the column `part`: of what it is the share. */
static const char *part_name(const struct kernel_table *t)
{
    return t->bounded ? "of bound" : "peak";
}

static void put_heading(struct doc *d, const struct kernel_table *t)
{
    const struct kernel_columns *c = &t->columns;
    struct { const char *text; int width; } cell[] = {
        { "calls", c->calls }, { t->timed ? "sum ms" : t->in == 1e9 ? "GFLOP" : "MFLOP", c->ms },
        { "share", c->share }, { "GFLOP/s", c->gflops },
        { part_name(t), c->part }, { "bound ms", c->bound }, { "MiB", c->mib },
        { "L1 miss", c->misses }, { "#", c->number },
    };
    for (int i = 0; i < COUNT_OF(cell); i++) {
        struct str text = {0};
        str_add(&text, cell[i].width ? cell[i].text : "");
        doc_right(d, STYLE_DIM, &text, cell[i].width);
    }
    doc_put(d, STYLE_DIM, "  ");
    doc_fit(d, STYLE_DIM, "kernel", c->kernel);
    if (c->layouts)
        doc_put(d, STYLE_DIM, "layouts");
    doc_end(d);
}

/* Appends a text in a column, or "-" if it is empty. width 0: appends nothing. Clears the text. */
static void put_cell(struct doc *d, int width, struct str *text)
{
    bool known = text->len > 0;
    if (!known)
        str_add(text, "-");
    doc_right(d, known ? STYLE_PLAIN : STYLE_DIM, text, width);
}

static void put_number(struct doc *d, int width, bool known, const char *format, double x)
{
    struct str text = {0};
    if (known)
        str_printf(&text, format, x);
    put_cell(d, width, &text);
}

static void put_digits(struct doc *d, int width, bool known, double x)
{
    struct str text = {0};
    if (known)
        text_digits(&text, x);
    put_cell(d, width, &text);
}

/* Returns the share of the bound that a kernel reaches; without bounds, its share of the peak. */
static double part_of(const struct kernel_row *r, const struct kernel_table *table)
{
    return table->bounded ? r->is.bound_s / r->seconds
                          : 1e-9 * r->is.executed / r->seconds / table->peak;
}

/* If kernels execute fewer operations than their definitions have, adds a note: the column GFLOP/s
 * counts the operations of the definitions, the share of the bound or of the peak counts the
 * executed ones. If such a share is above 100 %, adds why this is possible. */
static void put_shares(struct doc *d, const struct network *net, const struct kernel_row *row,
                       const struct kernel_table *t, int width)
{
    struct str text = {0}, label = {0};
    int above = 0, fewer = 0, algorithms = 0;
    str_printf(&label, "%s:", part_name(t));
    for (int i = 0; i < net->n_tasks && t->columns.part > 0; i++) {
        bool over = row[i].seconds > 0 && part_of(&row[i], t) >= 1.005;
        above += over;
        algorithms += over && net->task[row[i].task].program->n_algorithms > 0;
        fewer += t->columns.gflops > 0 && row[i].is.executed < SOME_SKIPPED * row[i].is.flops;
    }
    if (fewer > 0) {
        str_printf(&text, "this column %s; %d kernel%s fewer (padding, Winograd)", t->bounded
                   ? "is the least time for the executed operations over the time; GFLOP/s counts "
                     "the operations of the definition"
                   : "counts the executed operations, GFLOP/s those of the definition",
                   fewer, fewer == 1 ? " executes" : "s execute");
        measurement_doc_row(d, str_text(&label), STYLE_NOTE, 0, &text, width);
    }
    if (above > 0) {
        str_printf(&text, "%d kernel%s above 100 %%: %s%s%s", above, above == 1 ? " is" : "s are",
                   algorithms > 0 ? "additions of Winograd can run beside multiply-adds" : "",
                   algorithms > 0 && algorithms < above ? ", or " : "",
                   algorithms < above ? "the limits were measured while the machine was slower"
                                      : "");
        measurement_doc_row(d, str_text(&label), STYLE_NOTE, 0, &text, width);
    }
    str_free(&label);
}

/* Appends the numbers of a row. calls: the number of calls. */
static void put_numbers(struct doc *d, int calls, const struct kernel_row *r,
                        const struct kernel_table *table)
{
    const struct kernel_columns *c = &table->columns;
    bool sums = r->is.flops > 0;          /* false for a transposition or a conversion */
    bool known = table->timed ? r->seconds >= 0 : sums, bound = r->is.bound_s > 0;
    double amount = table->timed ? r->seconds : r->is.flops;
    double gflops = 1e-9 * r->is.flops / r->seconds;
    struct str text = {0};
    put_number(d, c->calls, true, "%.0f", calls);
    bool alone = table->timed && !known && r->alone > 0;      /* put_row says "measured alone" */
    put_digits(d, c->ms, known || alone, (alone ? r->alone : amount) / table->in);
    double share = 100 * amount / table->whole;
    put_number(d, c->share, known && table->part_known && table->whole > 0,
               share < 99.95 ? "%.1f%%" : "%.0f%%", share);
    put_number(d, c->gflops, known && sums, "%.1f", gflops);
    if (known && (bound || (!table->bounded && sums)))
        text_share(&text, part_of(r, table));
    put_cell(d, c->part, &text);
    put_digits(d, c->bound, bound, 1e3 * r->is.bound_s);
    put_number(d, c->mib, true, "%.2f", r->is.bytes / (1 << 20));
    if (r->misses >= 0)
        text_count(&text, (int64_t)r->misses);
    put_cell(d, c->misses, &text);
    put_number(d, c->number, true, "%.0f", r->task);
}

static void put_row(struct doc *d, const struct network *net, const struct kernel_row *r,
                    const struct kernel_table *table)
{
    const struct kernel_columns *c = &table->columns;
    const struct network_task *t = &net->task[r->task];
    struct str text = {0};
    put_numbers(d, t->count, r, table);
    doc_put(d, STYLE_NOTE, r->chosen ? " *" : "  ");
    network_report_brief(&text, t);
    str_add(&text, t->program->n_algorithms > 0 ? " winograd" : "");
    if (table->timed && r->seconds < 0 && r->alone > 0)
        str_add(&text, ", measured alone");
    doc_fit(d, t->conversion ? STYLE_NOTE : STYLE_PLAIN, str_text(&text), c->kernel - 1);
    doc_put(d, STYLE_PLAIN, " ");
    str_clear(&text);
    put_layouts(&text, t);
    if (c->layouts)
        doc_fit(d, t->conversion ? STYLE_NOTE : STYLE_DIM, str_text(&text), c->layouts);
    doc_end(d)->id = r->task;
    str_free(&text);
}

void network_doc(struct doc *d, const struct network *net, const struct network_look *k)
{
    struct kernel_row *row = rows_of(net, k);
    struct kernel_table table = table_of(net, k, row);
    struct kernel_sums sum = { .s = table.timed ? table.whole : 0 };
    for (int i = 0; i < net->n_tasks; i++) {
        sum.bound_s += row[i].is.bound_s;
        sum.untimed += table.timed && row[i].seconds < 0;
        sum.chosen += row[i].chosen;
    }
    sum.idle = k->chosen ? session_network_idle(net, k->chosen) : 0;
    network_head_doc(d, net, k, &sum);
    if (!k->list_first) {
        network_facts_doc(d, net, k, &sum);
        put_shares(d, net, row, &table, k->width);
    }
    put_heading(d, &table);
    d->head = d->lines.len;
    for (int i = 0; i < net->n_tasks; i++)
        put_row(d, net, &row[i], &table);
    if (k->list_first) {
        doc_line(d, STYLE_PLAIN, "");
        network_facts_doc(d, net, k, &sum);
        put_shares(d, net, row, &table, k->width);
    }
    free(row);
}

/* --- One kernel ------------------------------------------------------------------------------- */

static void put_tensors(struct doc *d, const struct network_task *t, int width)
{
    struct str text = {0};
    for (int i = 0; i < t->func->n_params; i++) {
        int tensor = t->func->buffer[i].tensor;
        if (!tensor_of(t, i))
            continue;
        /* the name that steps use: "Ker_wino" where an algorithm transforms the weights */
        str_printf(&text, "%s%s ", text.len ? ", " : "", t->program->graph->tensor[tensor].name);
        put_layout(&text, t->program->layout[tensor]);
    }
    measurement_doc_row(d, "layouts:", STYLE_PLAIN, 0, &text, width);
}

/* Adds the names of the tensors that the calls of a task compute, at most CALLS_NAMED of them. */
static void put_calls(struct doc *d, const struct network *net, int task, int width)
{
    struct str text = {0};
    int n = 0;
    for (int i = 0; i < net->module->n_calls; i++) {
        const struct network_call *c = &net->call[i];
        if (c->task != task || n++ >= CALLS_NAMED)
            continue;
        str_add(&text, text.len ? ", " : "");
        if (c->part >= 0)
            str_add(&text, net->graph->tensor[net->parts.part[c->part].out].name);
        else
            str_printf(&text, "a conversion before call %d", i + 2);
    }
    if (n > CALLS_NAMED)
        str_printf(&text, ", and %d more", n - CALLS_NAMED);
    measurement_doc_row(d, "makes:", STYLE_PLAIN, 0, &text, width);
}

/* Adds the names of the tensors that are computed and used up inside of one call of a task, for the
 * first CALLS_NAMED calls. These are names of the network; the kernel's operator has other names
 * for the same tensors. */
static void put_inner(struct doc *d, const struct network *net, int task, int width)
{
    struct str text = {0};
    int n = 0;
    for (int i = 0; i < net->module->n_calls && n < CALLS_NAMED; i++) {
        const struct network_call *c = &net->call[i];
        if (c->task != task || c->part < 0 || net->parts.part[c->part].n_inner == 0)
            continue;
        const struct net_part *p = &net->parts.part[c->part];
        for (int t = 0; t < p->n_inner; t++)
            str_printf(&text, "%s%s", t ? ", " : n ? "; " : "",
                       net->graph->tensor[p->inner[t]].name);
        n++;
    }
    if (n > 0 && net->task[task].count > n)
        str_printf(&text, "; and in %d more", net->task[task].count - n);
    if (n > 0)
        measurement_doc_row(d, "inside:", STYLE_PLAIN, 0, &text, width);
}

/* Adds the time of all calls of a task together, as in the list, and the time of one call. Adds
 * nothing for a single call. */
static void put_time(struct doc *d, const struct network_task *t, const struct network_look *k)
{
    struct str text = {0};
    int calls;
    double seconds = seconds_of(t, k, &calls);
    if (calls == 0 || (calls < 2 && t->count < 2))
        return;
    text_ms(&text, 1e3 * seconds);
    str_printf(&text, " in its %d call%s", t->count, t->count == 1 ? "" : "s");
    if (t->count > 1) {
        str_add(&text, ", ");
        text_ms(&text, 1e3 * seconds / t->count);
        str_add(&text, " each");
    }
    if (calls != t->count)
        str_printf(&text, ", estimated from %d measured call%s", calls, calls == 1 ? "" : "s");
    measurement_doc_row(d, "time:", STYLE_PLAIN, 0, &text, k->width);
}

/* If a kernel executes fewer operations than its definition has, adds a note about the list: the
 * GFLOP/s count the operations of the definition, and can then be above the ceiling. */
static void put_speed(struct doc *d, const struct network *net, int task,
                      const struct network_look *k)
{
    const struct network_task *t = &net->task[task];
    struct str text = {0};
    int calls;
    double seconds = seconds_of(t, k, &calls), direct = t->count * t->program->base->flops;
    double executed = t->count * func_needed(t->func, t->program->base->flops);
    if (!(seconds > 0) || !(direct > 0) || executed >= SOME_SKIPPED * direct)
        return;
    bool algorithm = t->program->n_algorithms > 0;
    str_printf(&text, "%.1f GFLOP/s counts the operations of the %s; %s: %.1f GFLOP/s executed%s",
               1e-9 * direct / seconds, algorithm ? "direct form" : "definition",
               algorithm ? "Winograd needs fewer" : "padding is skipped",
               1e-9 * executed / seconds,
               algorithm ? ", and its additions can run beside multiply-adds" : "");
    measurement_doc_row(d, "speed:", STYLE_PLAIN, 0, &text, k->width);
    if (algorithm) {
        str_add(&text, "t times experts with Winograd and searches direct loops, which are seldom "
                       "faster");
        measurement_doc_row(d, "search:", STYLE_PLAIN, 0, &text, k->width);
    }
}

void network_doc_kernel(struct doc *d, const struct network *net, int task,
                        const struct network_look *k)
{
    const struct network_task *t = &net->task[task];
    struct str text = {0};
    int width = k->width;
    str_add(&text, t->spec);
    measurement_doc_row(d, "kernel:", STYLE_PLAIN, 0, &text, width);
    put_time(d, t, k);
    put_speed(d, net, task, k);
    put_tensors(d, t, width);
    put_calls(d, net, task, width);
    put_inner(d, net, task, width);
    if (is_chosen(t, k->chosen)) {
        str_add(&text, "of your choice, by hand or by the tuner, instead of an expert's");
        measurement_doc_row(d, "* steps:", STYLE_NOTE, 0, &text, width);
    }
    for (int i = 0; i < t->n_lines; i++) {
        str_add(&text, t->line[i]);
        measurement_doc_row(d, i == 0 ? "steps:" : "", STYLE_PLAIN, 0, &text, width);
    }
}
