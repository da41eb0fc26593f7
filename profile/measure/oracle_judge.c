/* Judges an output; oracle.h says which deviations are allowed. */
#include "profile/measure/oracle_impl.h"

#include "kernels/base/arena.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SINGLE_SLACK 8.0  /* multiple of the deviation of plain float32 that is allowed (SPEC
                           * L.2) */
#define SINGLE_MOST 0.1                   /* largest rel_err that the second opinion allows */
#define MOVED_SLACK 64.0  /* multiple of `moved` that a rounding of the inputs explains */
enum { READ_AT_ONCE = 512 };               /* elements that are converted to double in one call */
#define HOPELESS 1024.0                   /* multiple of its error bound beyond which an element can
                                           * be certainly wrong (is_hopeless) */

/* One output that is judged. */
struct judged {
    const struct tensor *tensor;
    const char *stored;                   /* elements as the kernel left them */
    const double *ref, *error;            /* reference, and the error that its type explains */
    const double *single, *moved;         /* second opinions; NULL = not computed yet */
    int64_t n;
    double rms, tolerance;
    double single_of_bound;               /* largest (deviation of `single`) / bound */
};

enum opinion { GOOD, ILL, WRONG };

static bool is_poison(const struct judged *j, int64_t i)
{
    const uint16_t poison = (uint16_t)BUFFER_POISON;      /* each half of a poisoned word */
    const int bytes = j->tensor->type->bytes;
    bool same = true;
    for (int at = 0; at < bytes && same; at += (int)sizeof poison)
        same = memcmp(j->stored + i * bytes + at, &poison, sizeof poison) == 0;
    return same;
}

/* Writes the name of an element, "Conv[0][3][17][5]". */
static void name_element(const struct tensor *t, int64_t flat, char *out, size_t n)
{
    int64_t index[MAX_RANK];
    for (int d = t->rank - 1; d >= 0; d--) {
        index[d] = flat % t->shape[d];
        flat /= t->shape[d];
    }
    int len = snprintf(out, n, "%.60s", t->name);
    for (int d = 0; d < t->rank && len < (int)n; d++)
        len += snprintf(out + len, n - (size_t)len, "[%lld]", (long long)index[d]);
}

static double scale_at(const struct judged *j, int64_t i)
{
    double floor = fmax(j->rms, j->tensor->type->normal);
    return fabs(j->ref[i]) > floor ? fabs(j->ref[i]) : floor;
}

/* Whether the reference is larger than its type can hold, or not a number. */
static bool beyond_type(const struct judged *j, int64_t i)
{
    return !(fabs(j->ref[i]) <= j->tensor->type->largest);
}

double oracle_tolerance(const struct program *p)
{
    double narrow = ORACLE_ROUNDINGS * fmax(p->base->type->roundoff, p->tf32 ? TF32_ROUNDOFF : 0);
    return fmax(p->n_algorithms ? ORACLE_FORM_TOLERANCE : ORACLE_TOLERANCE, narrow);
}

static double bound_at(const struct judged *j, int64_t i)
{
    return fmin(j->error[i], j->tolerance * scale_at(j, i));
}

static double got_at(const struct judged *j, int64_t i)
{
    double got;
    j->tensor->type->read(j->stored + i * j->tensor->type->bytes, 1, &got);
    return got;
}

static double off_by(double got, double ref)
{
    return isfinite(got) ? fabs(got - ref) : INFINITY;
}

/* Returns off / of, at most ORACLE_INFINITE; 0 / 0 is 0: the bound of an exact copy is 0. */
static double part_of(double off, double of)
{
    double part = off == 0 ? 0 : off / of;
    return part < ORACLE_INFINITE ? part : ORACLE_INFINITE;
}

/* --- The first opinion ------------------------------------------------------------------------ */

/* Returns the number of elements beyond their bound. Merges the deviations of all elements into
 * *worst. */
static int64_t count_off(const struct judged *j, struct deviation *worst)
{
    int64_t n = 0;
    double got[READ_AT_ONCE];
    for (int64_t i = 0; i < j->n; i++) {
        int64_t k = i % READ_AT_ONCE, left = j->n - i;
        if (k == 0)
            j->tensor->type->read(j->stored + i * j->tensor->type->bytes,
                                  left < READ_AT_ONCE ? left : READ_AT_ONCE, got);
        double off = beyond_type(j, i) ? INFINITY : off_by(got[k], j->ref[i]);
        double rel = part_of(off, scale_at(j, i)), of_bound = part_of(off, bound_at(j, i));
        worst->rel_err = rel > worst->rel_err ? rel : worst->rel_err;
        worst->of_bound = of_bound > worst->of_bound ? of_bound : worst->of_bound;
        n += of_bound > 1;
    }
    return n;
}

/* --- The second one --------------------------------------------------------------------------- */

/* Whether an element is certainly wrong: neither the propagated error nor a change of the inputs
 * explains it. */
static bool is_hopeless(const struct judged *j, int64_t i)
{
    double off = off_by(got_at(j, i), j->ref[i]);
    return !beyond_type(j, i) && off > HOPELESS * j->error[i]
        && off > MOVED_SLACK * j->moved[i];
}

/* Judges one element. j->single is missing only when some element is certainly wrong; every element
 * beyond its bound then counts as wrong, unless its reference is beyond the type. */
static enum opinion judge(const struct judged *j, int64_t i)
{
    double off = off_by(got_at(j, i), j->ref[i]);
    if (is_poison(j, i))
        return WRONG;
    if (beyond_type(j, i))
        return ILL;
    if (off <= bound_at(j, i))
        return GOOD;
    if (!j->single)
        return WRONG;
    if (off <= SINGLE_SLACK * j->single_of_bound * bound_at(j, i)
        && off <= SINGLE_MOST * scale_at(j, i))
        return GOOD;
    double own = off_by(j->single[i], j->ref[i]);
    bool explained = off <= j->error[i] || off <= MOVED_SLACK * j->moved[i]
                  || off <= SINGLE_SLACK * own;
    return explained ? ILL : WRONG;
}

/* Replaces each value of `moved` by the larger of two distances from the reference: its own
 * distance, and the distance of `again`. */
static void take_moved(const struct graph *g, double **moved, double *const *again,
                       double *const *ref)
{
    for (int t = 0; t < g->n_tensors; t++)
        for (int64_t i = 0; moved[t] && i < tensor_elems(&g->tensor[t]); i++) {
            double a = off_by(moved[t][i], ref[t][i]), b = off_by(again[t][i], ref[t][i]);
            moved[t][i] = a > b ? a : b;
        }
}

/* Makes the moved results, unless they exist. Callers of have_moved and have_single must hold the
 * lock of o. */
static bool have_moved(struct oracle *o, const struct graph *g, const struct cancel *c,
                       struct err *e)
{
    double **first, **second;
    if (o->moved)
        return true;
    if (!oracle_evaluate(o, g, ORACLE_MOVED, c, &first, NULL, e))
        return false;
    bool ok = oracle_evaluate(o, g, ORACLE_MOVED_AGAIN, c, &second, NULL, e);
    if (ok) {
        take_moved(g, first, second, o->data);
        oracle_free_tensors(second, g->n_tensors);
        o->moved = first;
    } else {
        oracle_free_tensors(first, g->n_tensors);
    }
    return ok;
}

static bool have_single(struct oracle *o, const struct graph *g, const struct cancel *c,
                        struct err *e)
{
    return o->single || oracle_evaluate(o, g, ORACLE_SINGLE, c, &o->single, NULL, e);
}

static double worst_single(const struct judged *j)
{
    double worst = 0;
    for (int64_t i = 0; i < j->n; i++) {
        double own = off_by(j->single[i], j->ref[i]);
        double part = isfinite(own) ? part_of(own, bound_at(j, i)) : 0;
        worst = part > worst ? part : worst;
    }
    return worst;
}

/* Computes the second opinions for judge(). Computes j->single only if the verdict depends on
 * it. */
static bool ask_again(struct judged *j, const struct oracle *o, const struct graph *g, int tensor,
                      const struct cancel *c, struct err *e)
{
    struct oracle *own = (struct oracle *)(uintptr_t)o;
    pthread_mutex_lock(&own->lock);
    bool ok = have_moved(own, g, c, e), hopeless = false;
    if (ok) {
        j->moved = o->moved[tensor];
        for (int64_t i = 0; i < j->n && !hopeless; i++)
            hopeless = is_hopeless(j, i);
    }
    if (ok && !hopeless) {
        ok = have_single(own, g, c, e);
        if (ok) {
            j->single = o->single[tensor];
            j->single_of_bound = worst_single(j);
        }
    }
    pthread_mutex_unlock(&own->lock);
    return ok;
}


static void say_share(int64_t n, int64_t of, char *out, size_t size)
{
    if (100 * n >= of)
        snprintf(out, size, "%.0f %% of elements", 100 * (double)n / (double)of);
    else
        snprintf(out, size, "%lld of %lld elements", (long long)n, (long long)of);
}

static bool blame(const struct judged *j, int64_t first, int64_t n, const struct deviation *worst,
                  struct err *e)
{
    char where[200], what[64], share[64], size[64] = "";
    name_element(j->tensor, first, where, sizeof where);
    if (is_poison(j, first))
        snprintf(what, sizeof what, "was never written");
    else
        snprintf(what, sizeof what, "is %.6g", got_at(j, first));
    say_share(n, j->n, share, sizeof share);
    if (worst->rel_err < ORACLE_INFINITE)
        snprintf(size, sizeof size, "max rel err %.2g, ", worst->rel_err);
    return err_set(e, ERR_WRONG, "%s %s, reference %.6g (%s%s)", where, what, j->ref[first], size,
                   share);
}

static bool cannot_say(const struct judged *j, int64_t first, int64_t n, struct err *e)
{
    char where[200], share[64], why[120];
    const char *type = j->tensor->type->title;
    name_element(j->tensor, first, where, sizeof where);
    say_share(n, j->n, share, sizeof share);
    if (isnan(j->ref[first]))
        snprintf(why, sizeof why, "its reference is no number");
    else if (beyond_type(j, first))
        snprintf(why, sizeof why, "its reference %.6g is beyond %s", j->ref[first], type);
    else if (!isfinite(j->single[first]))
        snprintf(why, sizeof why, "%s overflows on the way to its reference %.6g", type,
                 j->ref[first]);
    else
        snprintf(why, sizeof why, "it is %.6g, reference %.6g, and plain %s gives %.6g",
                 got_at(j, first), j->ref[first], type, j->single[first]);
    return err_set(e, ERR_ILL, "%s cannot be checked with this data: %s (%s)", where, why, share);
}

static bool conclude(const struct judged *j, const struct deviation *worst, struct err *e)
{
    int64_t n[WRONG + 1] = { 0 }, first[WRONG + 1] = { 0 };
    for (int64_t i = 0; i < j->n; i++) {
        enum opinion v = judge(j, i);
        if (n[v]++ == 0)
            first[v] = i;
    }
    if (n[WRONG])
        return blame(j, first[WRONG], n[WRONG], worst, e);
    return n[ILL] == 0 || cannot_say(j, first[ILL], n[ILL], e);
}

bool oracle_compare(const struct oracle *o, const struct program *p, int tensor,
                    const void *physical, const struct cancel *c, struct deviation *worst,
                    struct err *e)
{
    int b = program_base_tensor(p, tensor);
    const struct tensor *t = &p->base->tensor[b];
    double *const *error;
    if (!oracle_error(o, p, c, &error, e))
        return false;
    struct judged j = { .tensor = t, .ref = o->data[b], .error = error[b],
                        .n = tensor_elems(t), .rms = o->rms[b],
                        .tolerance = oracle_tolerance(p) };
    char *stored = xmalloc_elems((size_t)j.n, (size_t)t->type->bytes);
    layout_unpack(p->layout[tensor], physical, stored);
    j.stored = stored;
    bool ok = count_off(&j, worst) == 0
           || (ask_again(&j, o, p->base, b, c, e) && conclude(&j, worst, e));
    free(stored);
    return ok;
}
