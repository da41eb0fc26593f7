/* Functions of vectors in C.  The four functions of float below are polynomials without branches,
 * so that every lane costs the same and no lane calls the mathematical library.  All others are
 * applied lane by lane, which may call the library.
 *
 * $ stands for the number of lanes.  Each result is within 2 ulp of the exact one, tanh within 3
 * (test_functions.c measures them all); the oracle allows 4 (reference_error.c).  NaN stays NaN.
 *
 *   exp   exp(x) = 2^k exp(r), |r| <= log(2) / 2.  The constant log(2) is in two parts (Cody and
 *         Waite).  The polynomial for exp(r) is that of Cephes' expf (Moshier 1989).  The code
 *         multiplies by 2^k as two factors, so that tiny results are rounded once.
 *   log   log(x) = k log(2) + log(m), m in [sqrt(1/2), sqrt(2)).  The polynomial is that of Cephes'
 *         logf.
 *   tanh  e / (2 - e), e = 1 - exp(-2|x|).  The code computes e as -expm1(-2|x|), which does not
 *         cancel near 0.
 *   erf   1 - exp(-t p(t)), t = min(|x|, 4), also by -expm1.  p, of degree 8, is a weighted
 *         least-squares fit to -log(erfc(t)) / t, with which the relative error of erf is 4e-9
 *         before rounding.  The code has p - 1, whose constant is more exact. */
#include "kernels/gen/emit.h"

static const char pick_text[] =
    "/* The lanes of a where take is set, else those of b. */\n"
    "static inline v$ pick$(i$ take, v$ a, v$ b)\n"
    "{\n"
    "    return (v$)(((i$)a & take) | ((i$)b & ~take));\n"
    "}\n";

static const char parts_text[] =
    "/* exp(x) = 2^k (1 + the result). */\n"
    "static inline v$ exp_parts$(v$ x, i$ *k)\n"
    "{\n"
    "    v$ n = x * 1.44269504f + 12582912.0f;    /* rounds: the last bits are the integer */\n"
    "    *k = (i$)n - 0x4b400000;\n"
    "    n -= 12582912.0f;\n"
    "    v$ r = x - n * 0.693359375f + n * 2.12194440e-4f;\n"
    "    v$ s = r * r, p = 1.9875691500e-4f * r + 1.3981999507e-3f;\n"
    "    p = p * s + (8.3334519073e-3f * r + 4.1665795894e-2f);\n"
    "    p = p * s + (1.6666665459e-1f * r + 5.0000001201e-1f);\n"
    "    return p * s + r;\n"
    "}\n";

static const char exp_text[] =
    "static inline v$ exp_v$(v$ x)\n"
    "{\n"
    "    i$ k;\n"
    "    x = pick$(x > 89.0f, 89.0f - (v$){0}, x);\n"
    "    x = pick$(x < -105.0f, -105.0f - (v$){0}, x);\n"
    "    v$ p = exp_parts$(x, &k) + 1.0f;\n"
    "    return p * (v$)(((k >> 1) + 127) << 23) * (v$)((k - (k >> 1) + 127) << 23);\n"
    "}\n";

static const char log_text[] =
    "static inline v$ log_v$(v$ x)\n"
    "{\n"
    "    i$ tiny = x < 1.17549435e-38f;\n"
    "    v$ m = pick$(tiny, x * 8388608.0f, x);\n"
    "    i$ k = (((i$)m >> 23) & 255) - 126 - (tiny & 23);\n"
    "    m = (v$)(((i$)m & 0x7fffff) | 0x3f000000);    /* in [1/2, 1) */\n"
    "    i$ low = m < 0.707106781f;\n"
    "    k += low;                                     /* less 1 */\n"
    "    m = m - 1.0f + (v$)((i$)m & low);\n"
    "    v$ n = __builtin_convertvector(k, v$), s = m * m;\n"
    "    v$ p = 7.0376836292e-2f * m - 1.1514610310e-1f;\n"
    "    p = p * m + 1.1676998740e-1f;\n"
    "    p = p * m - 1.2420140846e-1f;\n"
    "    p = p * m + 1.4249322787e-1f;\n"
    "    p = p * m - 1.6668057665e-1f;\n"
    "    p = p * m + 2.0000714765e-1f;\n"
    "    p = p * m - 2.4999993993e-1f;\n"
    "    p = p * m + 3.3333331174e-1f;\n"
    "    p = p * m * s - n * 2.12194440e-4f - 0.5f * s;\n"
    "    p = m + p + n * 0.693359375f;\n"
    "    p = pick$(x > 3.40282347e+38f, x, p);\n"
    "    p = pick$(x == 0.0f, -__builtin_inff() - (v$){0}, p);\n"
    "    return pick$(x >= 0.0f, p, __builtin_nanf(\"\") - (v$){0});\n"
    "}\n";

static const char tanh_text[] =
    "static inline v$ tanh_v$(v$ x)\n"
    "{\n"
    "    i$ k;\n"
    "    v$ t = (v$)((i$)x & 0x7fffffff);\n"
    "    t = pick$(t > 20.0f, 20.0f - (v$){0}, t);\n"
    "    v$ p = exp_parts$(-2.0f * t, &k), s = (v$)((k + 127) << 23);\n"
    "    p = 1.0f - s - p * s;                         /* 1 - 2^k (1 + p) */\n"
    "    p = p / (2.0f - p);\n"
    "    return (v$)((i$)p | ((i$)x & ~0x7fffffff));\n"
    "}\n";

static const char erf_text[] =
    "static inline v$ erf_v$(v$ x)\n"
    "{\n"
    "    i$ k;\n"
    "    v$ t = (v$)((i$)x & 0x7fffffff);\n"
    "    t = pick$(t > 4.0f, 4.0f - (v$){0}, t);\n"
    "    v$ y = t * t, p = -9.255815712e-6f * y + (1.176370788e-4f * t - 6.328211748e-4f);\n"
    "    p = p * y + (1.666997210e-3f * t - 1.603637647e-4f);\n"
    "    p = p * y + (-1.915308274e-2f * t + 1.027778387e-1f);\n"
    "    p = p * y + (6.366193891e-1f * t + 1.283791671e-1f);\n"
    "    p = exp_parts$(-t * p - t, &k);\n"
    "    v$ s = (v$)((k + 127) << 23);\n"
    "    p = 1.0f - s - p * s;                         /* 1 - 2^k (1 + p) */\n"
    "    return (v$)((i$)p | ((i$)x & ~0x7fffffff));\n"
    "}\n";

static const char *const text_of[VAL_KIND_COUNT] = {
    [VAL_EXP] = exp_text, [VAL_LOG] = log_text, [VAL_TANH] = tanh_text, [VAL_ERF] = erf_text,
};

static bool has_text(const struct elem_type *type, enum val_kind k)
{
    return streq(type->c, "float") && text_of[k];
}

static void put_text(struct str *out, const char *text, int lanes)
{
    for (; *text; text++)
        if (*text == '$')
            str_printf(out, "%d", lanes);
        else
            str_add_char(out, *text);
}

bool functions_need_masks(const struct elem_type *type, const struct needs *n, int lanes)
{
    for (int k = 0; k < VAL_KIND_COUNT; k++)
        if (n->call[k][lanes] && has_text(type, (enum val_kind)k))
            return true;
    return false;
}

/* Emits a helper that applies a scalar function to each lane. Compilers replace its loop by a
 * vector instruction where the CPU has one (sqrt). */
static void lane_by_lane(struct str *out, const struct elem_type *type, const char *name, int lanes)
{
    str_printf(out, "static inline v%d %s_v%d(v%d x)\n{\n    for (int l = 0; l < %d; l++)\n"
                    "        x[l] = __builtin_%s%s(x[l]);\n    return x;\n}\n",
               lanes, name, lanes, lanes, lanes, name, type->suffix);
}

void functions_emit(struct str *out, const struct elem_type *type, const struct needs *n,
                    int lanes)
{
    if (functions_need_masks(type, n, lanes)) {
        put_text(out, pick_text, lanes);
        if (n->call[VAL_EXP][lanes] || n->call[VAL_TANH][lanes] || n->call[VAL_ERF][lanes])
            put_text(out, parts_text, lanes);
    }
    for (int k = 0; k < VAL_KIND_COUNT; k++) {
        bool text = has_text(type, (enum val_kind)k);
        if (text && n->call[k][lanes])
            put_text(out, text_of[k], lanes);
        else if (!text && n->call[k][lanes] && val_is_function((enum val_kind)k))
            lane_by_lane(out, type, val_name((enum val_kind)k), lanes);
    }
}
