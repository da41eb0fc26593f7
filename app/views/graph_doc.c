#include "app/views/graph_doc.h"

#include <string.h>

#include "app/ui/text.h"
#include "kernels/program/contract.h"

#define LEAST_LAYOUT 10                   /* least columns for the layout */
#define MOST_NAME 24
#define LEAST_CALL 13

/* Widths of the columns; 0: the column is not shown. */
struct graph_columns { int name, call, layout, bytes, nest, bound, share; };

static const char *result_of(const struct program *p, int node)
{
    return p->graph->tensor[p->graph->node[node].out].name;
}

/* Appends what computes a tensor: "conv2d(Inp, Ker)". If the caller provides the tensor, appends
 * its role instead: "input". */
static void put_call(struct str *out, const struct program *p, const struct graph_row *row)
{
    const struct graph *g = p->graph;
    bool first = true;
    if (row->node < 0) {
        str_add(out, tensor_role_name[g->tensor[row->tensor].role]);
        return;
    }
    str_printf(out, "%s(", g->node[row->node].op);
    for (int t = 0; t < g->n_tensors; t++)
        if (graph_reads(g, row->node, t)) {
            str_printf(out, "%s%s", first ? "" : ", ", g->tensor[t].name);
            first = false;
        }
    str_add_char(out, ')');
}

/* Appends "N H W O  (from Conv), x1.25 memory". */
static void put_layout(struct str *out, const struct program *p, int tensor)
{
    struct str origin = {0};
    graph_layout_text(out, p, tensor);
    graph_layout_origin(&origin, p, tensor);
    if (origin.len)
        str_printf(out, "  (%s)", str_text(&origin));
    if (p->layout[tensor]->expansion > 1)
        str_printf(out, ", x%.2f memory", p->layout[tensor]->expansion);
    str_free(&origin);
}

static bool has_own_nest(const struct graph_row *row)
{
    return row->node >= 0 && row->nest == row->node;
}

static void put_bound(struct str *out, const struct graph_row *row)
{
    if (has_own_nest(row) && row->bound_s > 0)
        text_ms(out, 1e3 * row->bound_s);
}

static int most(int a, int b)
{
    return a > b ? a : b;
}

/* Returns the number of columns that remain for `call` and `layout` together. */
static int room(const struct graph_columns *c, int width)
{
    int between = 2 * (4 + (c->nest > 0));  /* the mark, and the blanks between the columns */
    return width - between - c->name - c->bytes - c->nest - c->bound - c->share;
}

static struct graph_columns columns_of(const struct program *p, const struct graph_rows *rows,
                                       int width)
{
    struct graph_columns c = { .name = 6, .call = 11, .layout = LEAST_LAYOUT, .bytes = 9,
                               .nest = 7, .bound = rows->bound_s > 0 ? 8 : 0,
                               .share = rows->bound_s > 0 ? 6 : 0 };
    for (int i = 0; i < rows->n; i++) {
        struct str call = {0}, layout = {0}, bound = {0};
        const struct graph_row *row = &rows->row[i];
        put_bound(&bound, row);
        put_call(&call, p, row);
        put_layout(&layout, p, row->tensor);
        c.name = most(c.name, text_width(p->graph->tensor[row->tensor].name));
        c.call = most(c.call, text_width(str_text(&call)));
        c.layout = most(c.layout, text_width(str_text(&layout)));
        if (row->node >= 0)
            c.nest = most(c.nest, text_width(result_of(p, row->nest)));
        if (c.bound > 0)
            c.bound = most(c.bound, text_width(str_text(&bound)) + 1);
        str_free(&call);
        str_free(&layout);
        str_free(&bound);
    }
    c.name = c.name > MOST_NAME ? MOST_NAME : c.name;
    c.nest = c.nest > MOST_NAME ? MOST_NAME : c.nest;
    int *const optional[] = { &c.share, &c.nest, &c.bound };
    for (int i = 0; i < COUNT_OF(optional) && room(&c, width) < LEAST_LAYOUT + LEAST_CALL; i++)
        *optional[i] = 0;
    int left = most(room(&c, width), LEAST_LAYOUT + LEAST_CALL);
    int layout = c.layout < left / 2 ? c.layout : most(left - c.call, most(left / 2, LEAST_LAYOUT));
    c.layout = layout < c.layout ? layout : c.layout;
    c.call = left - c.layout < c.call ? left - c.layout : c.call;
    return c;
}

static void cell(struct doc *d, enum style s, const char *text, int width)
{
    if (width == 0)
        return;
    doc_fit(d, s, text, width);
    doc_put(d, STYLE_PLAIN, "  ");
}

static void put_head(struct doc *d, const struct graph_columns *c)
{
    const struct { const char *name; int width; } right[] = {
        { "bytes", c->bytes }, { "bound", c->bound }, { "share", c->share },
    };
    doc_put(d, STYLE_DIM, "  ");
    cell(d, STYLE_DIM, "tensor", c->name);
    cell(d, STYLE_DIM, "computed by", c->call);
    cell(d, STYLE_DIM, "layout", c->layout);
    for (int i = 0; i < COUNT_OF(right); i++) {
        struct str text = {0};
        str_add(&text, right[i].name);
        doc_right(d, STYLE_DIM, &text, right[i].width);
        if (i == 0 && c->nest)
            doc_put(d, STYLE_DIM, "  ");
        if (i == 0)
            doc_fit(d, STYLE_DIM, "nest", c->nest);
    }
    doc_end(d);
}

static void put_row(struct doc *d, const struct program *p, const struct graph_row *row,
                    double whole, const struct graph_columns *c)
{
    const char *name = p->graph->tensor[row->tensor].name;
    struct str call = {0}, layout = {0}, bytes = {0}, bound = {0}, share = {0};
    bool own = has_own_nest(row);
    put_call(&call, p, row);
    put_layout(&layout, p, row->tensor);
    if (row->bytes > 0)
        text_bytes(&bytes, row->bytes);
    else
        str_add(&bytes, "-");
    put_bound(&bound, row);
    if (own && whole > 0)
        str_printf(&share, "%.0f%%", 100 * row->bound_s / whole);
    doc_put(d, STYLE_NOTE, row->change == GRAPH_SAME ? "  " : "* ");
    cell(d, own ? STYLE_STRONG : STYLE_PLAIN, name, c->name);
    cell(d, row->node < 0 ? STYLE_DIM : STYLE_PLAIN, str_text(&call), c->call);
    cell(d, row->change == GRAPH_LAYOUT ? STYLE_NOTE : STYLE_PLAIN, str_text(&layout), c->layout);
    doc_right(d, STYLE_PLAIN, &bytes, c->bytes);
    if (c->nest) {
        enum style s = row->change == GRAPH_LOOPS ? STYLE_NOTE : own ? STYLE_PLAIN : STYLE_DIM;
        doc_put(d, STYLE_PLAIN, "  ");
        doc_fit(d, s, row->node < 0 ? "" : own ? "its own" : result_of(p, row->nest), c->nest);
    }
    doc_right(d, STYLE_PLAIN, &bound, c->bound);
    doc_right(d, STYLE_PLAIN, &share, c->share);
    struct line *l = doc_end(d);
    int len = text_width(name) < c->name ? text_width(name) : c->name;
    struct doc_item item = { .name = name, .col = 2, .len = len };
    l->id = row->tensor;
    l->stage = row->node < 0 ? name : result_of(p, row->nest);
    l->item = ARENA_DUP(d->arena, &item, 1);
    l->n_items = 1;
    str_free(&call);
    str_free(&layout);
}

/* Adds the lines under a row: how many bytes a conversion moves, and why a layout is not propagated
 * further. */
static void put_remarks(struct doc *d, const struct program *p, const struct graph_row *row,
                        int width)
{
    const struct graph *g = p->graph;
    struct str text = {0};
    if (row->node < 0)
        return;
    const struct node *n = &g->node[row->node];
    if (streq(n->op, "convert"))
        str_printf(&text, "conversion: %lld bytes read, %lld written at every call",
                   (long long)layout_bytes(p->layout[n->data_in]),
                   (long long)layout_bytes(p->layout[n->out]));
    if (p->stop[row->node])
        str_printf(&text, "%sthe layout of %s stops here: %s", text.len ? "; " : "",
                   g->tensor[n->data_in].name, p->stop[row->node]);
    if (text.len) {
        doc_put(d, STYLE_DIM, "    ");
        doc_wrap(d, STYLE_DIM, str_text(&text), width, 6);
    }
    str_free(&text);
}

/* Adds the contract, the measured time, and the sum of the bounds of all nests. */
static void put_facts(struct doc *d, const struct program *p, const struct graph_rows *rows,
                      const struct measurement *m, int width)
{
    struct str text = {0};
    str_add(&text, "contract: ");
    contract_print(&text, p);
    doc_wrap(d, STYLE_PLAIN, str_text(&text), width, 4);
    str_clear(&text);
    if (m && m->latency.runs > 0) {
        text_ms(&text, m->latency.min_ms);
        str_add(&text, " measured");
    }
    if (rows->bound_s > 0) {
        str_add(&text, text.len ? "; the bounds of the nests are " : "not measured; the bounds of "
                "the nests are ");
        text_ms(&text, 1e3 * rows->bound_s);
    }
    if (text.len)
        doc_wrap(d, STYLE_PLAIN, str_text(&text), width, 4);
    str_free(&text);
}

void graph_doc(struct doc *d, const struct program *p, const struct graph_rows *rows,
               const struct measurement *m, int width)
{
    /* names by enum variant (ORDER variant) */
    static const char *const variant[] = { "alt", "wp", "ol", "fp", "bp" };
    struct graph_columns c = columns_of(p, rows, width);
    bool changed = false;
    put_facts(d, p, rows, m, width);
    put_head(d, &c);
    d->head = d->lines.len;
    for (int i = 0; i < rows->n; i++) {
        put_row(d, p, &rows->row[i], rows->bound_s, &c);
        put_remarks(d, p, &rows->row[i], width);
        changed = changed || rows->row[i].change != GRAPH_SAME;
    }
    if (changed)
        doc_line(d, STYLE_NOTE, "* changed by the last step");
    doc_printf(d, STYLE_PLAIN, "%d conversion%s, variant %s", p->n_conversions,
               p->n_conversions == 1 ? "" : "s", variant[p->variant]);
    doc_end(d);
}

void graph_doc_hint(struct str *out, const struct program *p, int tensor)
{
    const struct graph *g = p->graph;
    int node = g->tensor[tensor].producer, n = 0;
    str_printf(out, "%s is read by", g->tensor[tensor].name);
    for (int k = 0; k < g->n_nodes; k++)
        if (graph_reads(g, k, tensor))
            str_printf(out, "%s %s", n++ ? "," : "", result_of(p, k));
    if (n == 0)
        str_add(out, g->tensor[tensor].role == TENSOR_OUTPUT ? " the caller" : " nobody");
    str_add(out, node < 0 ? ". Enter shows its layout."
                          : ". Enter goes to the loops that compute it.");
}
