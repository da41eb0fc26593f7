/* Passes over element-wise statements and moves of data: arithmetic with numbers, identities, and
 * functions that exporters write as several statements. */
#include "kernels/module/simplify_impl.h"

#include <math.h>

#include "kernels/ops/reference.h"

/* --- Arithmetic with numbers ------------------------------------------------------------------ */

/* Matches "x OP number" and "number OP x". Returns x; -1: i is neither, or x has another shape
 * than i. *v: the number, which is finite; *first: whether the number is the first operand. */
static int with_number(const struct rewrite *r, int i, double *v, bool *first)
{
    const struct rewrite_stmt *s = rewrite_at(r, i);
    double other;
    if (!rewrite_is_any(r, i, "add sub mul div max min") || s->n_args != 2)
        return -1;
    *first = !rewrite_number(r, s->arg[1], v);
    int x = s->arg[*first];
    if ((*first && !rewrite_number(r, s->arg[0], v)) || rewrite_number(r, x, &other))
        return -1;
    return isfinite(*v) && rewrite_same_shape(r, i, x) ? x : -1;
}

static bool set_affine(struct rewrite *r, int i, int x, double mul, double add)
{
    rewrite_set(r, i, "affine", &x, 1, "mul=%s add=%s", rewrite_text(r, mul),
                rewrite_text(r, add + 0.0));
    return true;
}

static bool set_clip(struct rewrite *r, int i, int x, double min, double max)
{
    const char *lo = isfinite(min) ? arena_printf(r->a, "min=%s", rewrite_text(r, min)) : "";
    const char *hi = isfinite(max) ? arena_printf(r->a, "max=%s", rewrite_text(r, max)) : "";
    rewrite_set(r, i, "clip", &x, 1, "%s%s%s", lo, *lo && *hi ? " " : "", hi);
    return true;
}

static bool number_operand(struct rewrite *r, int i)
{
    double v;
    bool first;
    int x = with_number(r, i, &v, &first);
    if (x < 0)
        return false;
    if (rewrite_is(r, i, "add"))
        return set_affine(r, i, x, 1, v);
    if (rewrite_is(r, i, "sub"))
        return set_affine(r, i, x, first ? -1 : 1, first ? v : -v);
    if (rewrite_is(r, i, "mul"))
        return set_affine(r, i, x, v, 0);
    if (rewrite_is(r, i, "max"))
        return set_clip(r, i, x, v, INFINITY);
    if (rewrite_is(r, i, "min"))
        return set_clip(r, i, x, -INFINITY, v);
    return !first && isfinite(1 / v) && set_affine(r, i, x, 1 / v, 0);
}

/* Whether i computes *mul * x + *add, where x is its argument. */
static bool is_affine(const struct rewrite *r, int i, double *mul, double *add)
{
    *mul = rewrite_is(r, i, "neg") ? -1 : rewrite_float(r, i, "mul", 1);
    *add = rewrite_float(r, i, "add", 0);
    return rewrite_is_any(r, i, "affine neg");
}

/* If i is affine and reads an affine statement, or is a clip and reads a clip, merges the two into
 * i. */
static bool number_chain(struct rewrite *r, int i)
{
    double mul, add, mul2, add2;
    int inner = rewrite_at(r, i)->n_args == 1 ? rewrite_at(r, i)->arg[0] : -1;
    if (inner < 0 || !rewrite_is_inner(r, inner))
        return false;
    int x = rewrite_at(r, inner)->arg[0];
    if (is_affine(r, i, &mul, &add) && is_affine(r, inner, &mul2, &add2))
        return isfinite(mul * mul2) && isfinite(mul * add2 + add) &&
               set_affine(r, i, x, mul * mul2, mul * add2 + add);
    if (!rewrite_is(r, i, "clip") || !rewrite_is(r, inner, "clip"))
        return false;
    double lo = fmax(rewrite_float(r, i, "min", -INFINITY),
                     rewrite_float(r, inner, "min", -INFINITY));
    double hi = fmin(rewrite_float(r, i, "max", INFINITY),
                     rewrite_float(r, inner, "max", INFINITY));
    return lo <= hi && set_clip(r, i, x, lo, hi);
}

bool pass_numbers(struct rewrite *r, int i)
{
    return number_operand(r, i) || number_chain(r, i);
}

/* --- Identities ------------------------------------------------------------------------------- */

static bool is_identity(const struct rewrite *r, int i)
{
    const struct rewrite_stmt *s = rewrite_at(r, i);
    int64_t perm[MAX_RANK];
    double mul, add;
    if (s->n_args != 1)
        return false;
    if (rewrite_is(r, i, "identity") || (is_affine(r, i, &mul, &add) && mul == 1 && add == 0))
        return true;
    if (rewrite_is_any(r, i, "reshape expand pad concat slice"))
        return rewrite_same_shape(r, i, s->arg[0]) && rewrite_int(r, i, "step", 1) > 0;
    if (!rewrite_is(r, i, "transpose") || rewrite_list(r, i, "perm", perm) != s->shape.rank)
        return false;
    for (int d = 0; d < s->shape.rank; d++)
        if (perm[d] != d)
            return false;
    return true;
}

static bool merge_transposes(struct rewrite *r, int i, int inner)
{
    int64_t outer[MAX_RANK], first[MAX_RANK];
    int rank = rewrite_at(r, i)->shape.rank, x = rewrite_at(r, inner)->arg[0];
    if (rewrite_list(r, i, "perm", outer) != rank || rewrite_list(r, inner, "perm", first) != rank)
        return false;
    struct str perm = { 0 };
    for (int d = 0; d < rank; d++)
        str_printf(&perm, "%s%lld", d ? "," : "", (long long)first[outer[d]]);
    rewrite_set(r, i, "transpose", &x, 1, "perm=%s", str_text(&perm));
    str_free(&perm);
    return true;
}

bool pass_identity(struct rewrite *r, int i)
{
    const struct rewrite_stmt *s = rewrite_at(r, i);
    if (is_identity(r, i) && rewrite_replace(r, i, s->arg[0]))
        return true;
    int inner = s->n_args == 1 ? s->arg[0] : -1;
    if (inner < 0)
        return false;
    if (rewrite_is(r, i, "transpose") && rewrite_is(r, inner, "transpose"))
        return merge_transposes(r, i, inner);
    if (!rewrite_is(r, i, "reshape") || !rewrite_is(r, inner, "reshape"))
        return false;
    rewrite_set(r, i, "reshape", rewrite_at(r, inner)->arg, 1, "%s", s->params);
    return true;
}

/* Functions that are written as several statements.  Exporters and their versions write GELU, for
 * example, in many ways, so a function is recognised by its values.  The float64 reference
 * evaluates the statements from a tensor x to statement i at POINTS numbers.  The results are
 * compared with those of each function in known[]. */

enum { MOST = 16, POINTS = 80 };
static const char *const known[] = {
    "relu", "relu6", "sigmoid", "tanh", "gelu", "gelu_tanh", "silu", "hardswish", "softplus",
};

/* The statements that compute statement stmt[0], the root, from tensor x.  Each stands before the
 * statements that it reads. */
struct spelled { int n, stmt[MOST], x; };

static bool is_elementwise(const struct rewrite *r, int i, int root)
{
    double v;
    const struct rewrite_stmt *s = rewrite_at(r, i);
    if (!rewrite_same_shape(r, i, root))
        return false;
    if (rewrite_is_any(r, i, "relu relu6 sigmoid tanh gelu gelu_tanh silu hardswish softplus exp "
                             "log sqrt erf neg abs reciprocal identity clip leaky elu hardsigmoid "
                             "affine"))
        return true;
    if (!rewrite_is_any(r, i, "add sub mul div max min"))
        return false;
    for (int k = 0; k < 2; k++)
        if (!rewrite_same_shape(r, s->arg[k], root) && !rewrite_number(r, s->arg[k], &v))
            return false;
    return true;
}

static void print_arg(const struct rewrite *r, const struct spelled *f, int t, struct str *out)
{
    double v;
    if (t != f->x && rewrite_number(r, t, &v))
        str_printf(out, "c%d", t);
    else if (t == f->x)
        str_add(out, "x");
    else
        str_printf(out, "s%d", t);
}

/* Prints a graph over a vector x: the statements from x to the root, and each function of x. */
static void print_spelled(const struct rewrite *r, const struct spelled *f, struct str *out)
{
    str_printf(out, "x = input m=%d", POINTS);
    for (int n = f->n - 1; n >= 0; n--) {
        const struct rewrite_stmt *s = rewrite_at(r, f->stmt[n]);
        for (int k = 0; k < s->n_args; k++)
            if (s->arg[k] != f->x && rewrite_is(r, s->arg[k], "const") &&
                !strstr(str_text(out), arena_printf(r->a, "c%d =", s->arg[k]))) {
                str_printf(out, "; c%d = const m=1", s->arg[k]);
                source_print(out, rewrite_at(r, s->arg[k])->shape.source);
            }
        str_printf(out, "; s%d = %s(", f->stmt[n], s->op);
        for (int k = 0; k < s->n_args; k++) {
            str_add(out, k ? ", " : "");
            print_arg(r, f, s->arg[k], out);
        }
        str_printf(out, ") %s", s->params);
    }
    for (int k = 0; k < COUNT_OF(known); k++)
        str_printf(out, "; f%d = %s(x)", k, known[k]);
}

/* Returns the number at which the functions are evaluated as point i of POINTS. */
static double point(int i)
{
    static const double far[] = { 9, 12, 17, 25, 40, 90, 250, 600 };
    int n = POINTS - 2 * COUNT_OF(far);
    if (i < n)
        return (i - n / 2) * 0.25 + 0.01;
    return i - n < COUNT_OF(far) ? far[i - n] : -far[i - n - COUNT_OF(far)];
}

static bool agree(const double *x, const double *y)
{
    for (int i = 0; i < POINTS; i++)
        if (!(fabs(x[i] - y[i]) <= 1e-6 * (1 + fabs(y[i]))))
            return false;
    return true;
}

/* Returns the index in `known` of the function of x that the root computes, or -1. */
static int recognise(const struct rewrite *r, const struct spelled *f)
{
    struct arena *a = arena_new();
    struct str text = { 0 };
    struct err e;
    const struct graph *g;
    int found = -1;
    print_spelled(r, f, &text);
    if (graph_from_spec(a, str_text(&text), &g, &e)) {
        double **data = ARENA_ARRAY(a, double *, g->n_tensors);
        for (int t = 0; t < g->n_tensors; t++) {
            const struct tensor *is = &g->tensor[t];
            data[t] = ARENA_ARRAY(a, double, POINTS);
            for (int i = 0; i < POINTS && is->producer < 0; i++)
                data[t][i] = is->source ? (double)is->source->value[0] : point(i);
        }
        if (reference_eval(g, data, NULL, &e)) {
            int root = graph_tensor(g, arena_printf(a, "s%d", f->stmt[0]));
            for (int k = COUNT_OF(known) - 1; k >= 0; k--)
                if (agree(data[root], data[graph_tensor(g, arena_printf(a, "f%d", k))]))
                    found = k;
        }
    }
    str_free(&text);
    arena_free(a);
    return found;
}

/* Adds the arguments of statement i to front[], unless they are numbers. The front is the n tensors
 * that the chosen statements read and do not compute. Returns the new n. */
static int add_front(const struct rewrite *r, int i, int *front, int n)
{
    const struct rewrite_stmt *s = rewrite_at(r, i);
    double v;
    for (int k = 0; k < s->n_args; k++) {
        bool there = rewrite_number(r, s->arg[k], &v);
        for (int m = 0; m < n; m++)
            there = there || front[m] == s->arg[k];
        if (!there)
            front[n++] = s->arg[k];
    }
    return n;
}

/* Moves the statement with the greatest number to the end of the front.  No other statement in the
 * front reads it, as long as statements read only statements with smaller numbers. */
static void last_to_end(int *front, int n)
{
    for (int m = 0; m < n - 1; m++)
        if (front[m] > front[n - 1]) {
            int t = front[m];
            front[m] = front[n - 1];
            front[n - 1] = t;
        }
}

bool pass_functions(struct rewrite *r, int i)
{
    int front[2 * MOST], n, function = -1, x = -1;
    struct spelled f = { .n = 1, .stmt = { i } };
    if (!rewrite_is_any(r, i, "add sub mul div max min clip affine log reciprocal") ||
        !is_elementwise(r, i, i))
        return false;
    n = add_front(r, i, front, 0);
    for (;;) {
        bool whole = f.n > 1 || rewrite_is_any(r, i, "clip max min");
        f.x = front[0];
        int k = n == 1 && whole && rewrite_same_shape(r, i, f.x) ? recognise(r, &f) : -1;
        if (k >= 0) {
            function = k;
            x = f.x;
        }
        if (n == 0 || f.n == MOST)
            break;
        last_to_end(front, n);
        if (!is_elementwise(r, front[n - 1], i))
            break;
        f.stmt[f.n++] = front[--n];
        n = add_front(r, f.stmt[f.n - 1], front, n);
    }
    if (function >= 0)
        rewrite_set(r, i, known[function], &x, 1, "%s", "");
    return function >= 0;
}
