/* Handles spatial axes: canonical parameters, sizes, and the data with their padding. */
#include "kernels/ops/window.h"

#include <stdio.h>

/* The axes, outermost first (ORDER AXES). */
static const struct window axes[MAX_AXES] = {
    { .dim = "D", .k_dim = "KD", .letter = "d", .size = "depth", .what = "planes" },
    { .dim = "H", .k_dim = "KH", .letter = "h", .size = "h", .what = "rows" },
    { .dim = "W", .k_dim = "KW", .letter = "w", .size = "w", .what = "columns" },
};

/* Returns the row of a parameter, whose name is `what`, the letter of the axis and the suffix
 * joined ("ph0"), or -1 if the family has none. */
static int part_row(const struct op_family *f, const char *what, const struct window *w,
                    const char *suffix)
{
    char name[16];
    snprintf(name, sizeof name, "%s%s%s", what, w->letter, suffix);
    return param_row(f, name);
}

int window_row(const struct op_family *f, const int64_t *v, const char *what,
               const struct window *w)
{
    int part = part_row(f, what, w, "");
    return part >= 0 && param_is_set(v[part]) ? part : param_row(f, what);
}

static int64_t axis_value(const struct op_family *f, const int64_t *v, const char *what,
                          const struct window *w, int64_t otherwise)
{
    int row = window_row(f, v, what, w);
    return row >= 0 && param_is_set(v[row]) ? v[row] : otherwise;
}

/* Replaces equal ph0= and ph1= by ph= (in a family with one axis, by p=), and likewise for the
 * other axes.  Sets *apart if the two differ on some axis. */
static bool collapse_sides(const struct op_family *f, int64_t *v, bool *apart, struct err *e)
{
    for (int i = 0; i < MAX_AXES; i++) {
        int part[] = { part_row(f, "p", &axes[i], "0"), part_row(f, "p", &axes[i], "1") };
        int both = part_row(f, "p", &axes[i], ""), all = param_row(f, "p");
        if (part[0] < 0)
            continue;
        if (!param_collapse(f, v, &(struct param_group){ both < 0 ? all : both, 2, part, false },
                            e))
            return false;
        int left = param_is_set(v[part[0]]) ? part[0] : part[1];
        *apart = *apart || param_is_set(v[left]);
        if (param_is_set(v[left]) && v[all] != f->params[all].def) {
            param_clash(f, v, left, all, e);
            return err_fix(e, "give either %s= or the sides one by one", f->params[all].name);
        }
    }
    return true;
}

static bool collapse_axes(const struct op_family *f, int64_t *v, const char *what, bool apart,
                          struct err *e)
{
    struct param_group group = { .all = param_row(f, what), .apart = apart };
    int part[MAX_AXES];
    for (int i = 0; i < MAX_AXES; i++) {
        part[group.n] = part_row(f, what, &axes[i], "");
        group.n += part[group.n] >= 0;
    }
    group.part = part;
    return group.all < 0 || group.n == 0 || param_collapse(f, v, &group, e);
}

bool window_canonical(const struct op_family *f, int64_t *v, struct err *e)
{
    static const char *const groups[] = { "k", "s", "p", "op", "d" };
    int h = param_row(f, "h"), w = param_row(f, "w");
    bool apart = false;
    if (param_row(f, "s") < 0)            /* a family without s= has no windows */
        return true;
    if (h >= 0 && v[w] == OP_UNSET && param_is_set(v[h]))
        v[w] = v[h];
    if (!collapse_sides(f, v, &apart, e))
        return false;
    for (int i = 0; i < COUNT_OF(groups); i++)
        if (!collapse_axes(f, v, groups[i], apart && streq(groups[i], "p"), e))
            return false;
    return true;
}

int windows_read(const struct op_family *f, const int64_t *v, struct window *w)
{
    int n_axes = 0;
    while (f->data_params[2 + n_axes])    /* the dims after the batch and the channels */
        n_axes++;
    for (int i = 0; i < n_axes; i++) {
        w[i] = axes[MAX_AXES - n_axes + i];
        int before = part_row(f, "p", &w[i], "0"), after = part_row(f, "p", &w[i], "1");
        bool sides = param_is_set(v[before]) || param_is_set(v[after]);
        int64_t p = axis_value(f, v, "p", &w[i], 0);
        w[i].in = param_value(f, v, w[i].size, 1);
        w[i].k = axis_value(f, v, "k", &w[i], 1);
        w[i].stride = axis_value(f, v, "s", &w[i], 1);
        w[i].dilation = axis_value(f, v, "d", &w[i], 1);
        w[i].before = !sides ? p : param_is_set(v[before]) ? v[before] : 0;
        w[i].after = !sides ? p : param_is_set(v[after]) ? v[after] : 0;
        w[i].zeros[0] = w[i].before;
        w[i].zeros[1] = w[i].after;
    }
    return n_axes;
}

/* Prints the padded input: "h=6 + 2*1" or "h=6 + 1 + 2". */
static void print_room(struct str *out, const struct window *w)
{
    str_printf(out, "%s=%lld + ", w->size, (long long)w->in);
    if (w->before == w->after)
        str_printf(out, "2*%lld", (long long)w->before);
    else
        str_printf(out, "%lld + %lld", (long long)w->before, (long long)w->after);
}

static bool too_large(const struct op_family *f, const int64_t *v, const struct window *w,
                      int64_t room, int64_t span, struct err *e)
{
    bool dilated = w->k <= room;          /* whether the kernel would fit without dilation */
    const char *name = f->params[window_row(f, v, dilated ? "d" : "k", w)].name;
    int64_t fits = dilated ? (room - 1) / (w->k - 1) : (room - 1) / w->dilation + 1;
    int after = part_row(f, "p", w, "1"), pad = window_row(f, v, "p", w);
    int64_t more = (w->before + w->after + span - room + 1) / 2;
    if (w->before != w->after) {
        pad = after;
        more = w->after + span - room;
    }
    struct str sum = {0};
    print_room(&sum, w);
    err_set(e, ERR_RANGE,
            "%s=%lld makes the kernel span %lld %s, but the padded input has %lld (%s)", name,
            (long long)(dilated ? w->dilation : w->k), (long long)span, w->what, (long long)room,
            str_text(&sum));
    str_free(&sum);
    return err_fix(e, "use at most %s=%lld, or a larger padding: %s=%lld", name,
                   (long long)fits, f->params[pad].name, (long long)more);
}

bool windows_fit(const struct op_family *f, const int64_t *v, int n_axes, struct window *w,
                 struct err *e)
{
    for (int i = 0; i < n_axes; i++) {
        int64_t room = w[i].in + w[i].before + w[i].after;
        int64_t span = w[i].dilation * (w[i].k - 1) + 1;
        if (span > room)
            return too_large(f, v, &w[i], room, span, e);
        w[i].out = (room - span) / w[i].stride + 1;
    }
    return true;
}

const struct expr *window_at(struct graph *g, const struct window *w, const struct expr *x,
                             const struct expr *k)
{
    return expr_add(g->pool, expr_mulc(g->pool, x, w->stride), expr_mulc(g->pool, k, w->dilation));
}

void windows_note(struct node *n, int n_axes, const struct window *w)
{
    for (int i = 0; i < n_axes; i++) {
        n->params.stride[i] = w[i].stride;
        n->params.dilation[i] = w[i].dilation;
    }
}

int window_input(struct graph *g, const struct op_family *f, const int64_t *v, int n_axes,
                 const struct window *w, double value)
{
    bool c = param_row(f, "c") >= 0, padded = false;
    const char *dims[MAX_RANK] = { "N", c ? "C" : "I" };
    int64_t shape[MAX_RANK] = { param_value(f, v, "n", 1), param_value(f, v, c ? "c" : "i", 1) };
    int64_t first[MAX_RANK] = { 0 }, last[MAX_RANK] = { 0 };
    for (int i = 0; i < n_axes; i++) {
        dims[2 + i] = w[i].dim;
        shape[2 + i] = w[i].in;
        first[2 + i] = w[i].zeros[0];
        last[2 + i] = w[i].zeros[1];
        padded = padded || w[i].zeros[0] || w[i].zeros[1];
    }
    int in = graph_add_tensor(g, &(struct tensor_def){ padded ? "Inp_in" : "Inp", 2 + n_axes,
                                                       dims, shape, TENSOR_INPUT });
    return padded ? pad_node(g, in, "Inp", first, last, value) : in;
}
