/* Names of the C text: unique among all that are visible at a place.  A claim lasts until
 * names_reset to a mark taken before it, so neighbouring blocks can use the same short names. */
#include "kernels/gen/code.h"

#include <ctype.h>
#include "kernels/base/rng.h"

#define N_BUCKETS 512

struct name { const char *text; int bucket; struct name *next; };
struct var_name { const struct expr *var; const char *text; int at; };
struct number { const char *stem; int next; };

struct names {
    struct arena *arena;
    struct name *bucket[N_BUCKETS];
    VEC(struct name *) stack;
    VEC(struct var_name) vars;            /* at: their position in the stack */
    VEC(struct number) numbers;           /* all smaller numbers of the stem are taken */
};

/* Not only C's own words: the helpers and types of the generated unit, and what the entry and
 * the trace use. */
static const char *const reserved[] = {
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else",
    "enum", "extern", "float", "for", "goto", "if", "inline", "int", "long", "register",
    "restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef",
    "union", "unsigned", "void", "volatile", "while", "asm", "typeof", "linux", "unix", "i386",
    "alignas", "alignof", "bool", "constexpr", "false", "nullptr", "static_assert",
    "thread_local", "true", "typeof_unqual",
    "main", "buffers", "base", "buf", "cap", "flush", "ctx", "rec", "last", "ROLLED", "again",
    "floor_div", "floor_mod", "min_index", "max_index", "maxf", "minf", "ts_entry", "ts_trace",
    "ts_count", "ts_sim", "ts", "front", "mask", "exec", "load_at", "load_over", "store_at",
    "store_over", "times", "prefetch", "stream_done",
};

/* An exported file includes math.h, stdint.h, stdio.h, stdlib.h, string.h and time.h: their macros
 * that are no functions, as glibc defines them (is_limit has the rest). */
static const char *const macros[] = {
    "BIG_ENDIAN", "BUFSIZ", "BYTE_ORDER", "EOF", "EXIT_FAILURE", "EXIT_SUCCESS", "FD_SETSIZE",
    "FILENAME_MAX", "FOPEN_MAX", "HUGE_VAL", "HUGE_VALF", "HUGE_VALL", "INFINITY", "LITTLE_ENDIAN",
    "L_ctermid", "L_tmpnam", "MATH_ERREXCEPT", "MATH_ERRNO", "MB_CUR_MAX", "M_1_PI", "M_2_PI",
    "M_2_SQRTPI", "M_E", "M_LN10", "M_LN2", "M_LOG10E", "M_LOG2E", "M_PI", "M_PI_2", "M_PI_4",
    "M_SQRT1_2", "M_SQRT2", "NAN", "NFDBITS", "NULL", "PDP_ENDIAN", "P_tmpdir", "RAND_MAX",
    "SEEK_CUR", "SEEK_END", "SEEK_SET", "TIMER_ABSTIME", "TIME_UTC", "TMP_MAX", "WCONTINUED",
    "WEXITED", "WNOHANG", "WNOWAIT", "WSTOPPED", "WUNTRACED", "math_errhandling", "stderr", "stdin",
    "stdout",
};

/* INT8_MAX, UINT_FAST16_WIDTH, SIZE_MAX, FP_NAN, CLOCK_REALTIME...: families of macros. */
static bool is_limit(const char *text)
{
    static const char *const kind[] = { "INT", "UINT", "PTRDIFF", "SIG_ATOMIC", "SIZE", "WCHAR",
                                        "WINT" };
    if (str_starts(text, "FP_") || str_starts(text, "CLOCK_") || str_starts(text, "CLOCKS_"))
        return true;
    for (int i = 0; i < COUNT_OF(kind); i++)
        if (str_starts(text, kind[i]))
            return str_ends(text, "_MAX") || str_ends(text, "_MIN") || str_ends(text, "_WIDTH");
    return false;
}

static struct name **bucket_of(struct names *n, const char *text)
{
    return &n->bucket[hash_text(text) % N_BUCKETS];
}

static bool taken(struct names *n, const char *text)
{
    if (str_starts(text, "shuffle") && isdigit((unsigned char)text[strlen("shuffle")]))
        return true;                      /* helpers, as many as there are patterns */
    if (is_limit(text))
        return true;
    for (const struct name *x = *bucket_of(n, text); x; x = x->next)
        if (streq(x->text, text))
            return true;
    return false;
}

static struct name *add(struct names *n, const char *text)
{
    struct name **slot = bucket_of(n, text), *x = ARENA_NEW(n->arena, struct name);
    *x = (struct name){ text, (int)(slot - n->bucket), *slot };
    *slot = x;
    vec_push(&n->stack, x);
    return x;
}

struct names *names_new(struct arena *a)
{
    struct names *n = ARENA_NEW(a, struct names);
    n->arena = a;
    for (int i = 0; i < COUNT_OF(reserved); i++)
        add(n, reserved[i]);
    for (int i = 0; i < COUNT_OF(macros); i++)
        add(n, macros[i]);
    for (int lanes = 2; lanes <= GEN_MAX_LANES; lanes *= 2) {
        add(n, arena_printf(a, "v%d", lanes));
        add(n, arena_printf(a, "u%d", lanes));
        add(n, arena_printf(a, "i%d", lanes));
        add(n, arena_printf(a, "load%d", lanes));
        add(n, arena_printf(a, "store%d", lanes));
        add(n, arena_printf(a, "stream%d", lanes));
        add(n, arena_printf(a, "splat%d", lanes));
        add(n, arena_printf(a, "max%d", lanes));
        add(n, arena_printf(a, "min%d", lanes));
        for (int k = 0; k < VAL_KIND_COUNT; k++)
            if (val_is_function((enum val_kind)k))
                add(n, arena_printf(a, "%s_v%d", val_name((enum val_kind)k), lanes));
    }
    return n;
}

void names_free(struct names *n)
{
    vec_free(&n->stack);
    vec_free(&n->vars);
    vec_free(&n->numbers);
}

int names_mark(const struct names *n)
{
    return n->stack.len;
}

void names_reset(struct names *n, int mark)
{
    while (n->stack.len > mark) {
        struct name *x = vec_pop(&n->stack);
        n->bucket[x->bucket] = x->next;
    }
    while (n->vars.len > 0 && n->vars.data[n->vars.len - 1].at >= mark)
        (void)vec_pop(&n->vars);
    vec_clear(&n->numbers);
}

/* Letters, digits and underscores, not starting with a digit. */
static const char *identifier(struct arena *a, const char *want)
{
    bool bare = isalpha((unsigned char)want[0]) || want[0] == '_';
    char *s = arena_printf(a, "%s%s", bare ? "" : "_", want);
    for (char *c = s; *c; c++)
        if (!isalnum((unsigned char)*c))
            *c = '_';
    return s;
}

const char *names_claim(struct names *n, const char *want)
{
    const char *text = identifier(n->arena, want);
    for (int i = 2; taken(n, text); i++)
        text = identifier(n->arena, arena_printf(n->arena, "%s_%d", want, i));
    return add(n, text)->text;
}

const char *names_claim_numbered(struct names *n, const char *stem)
{
    int i = 0;
    while (i < n->numbers.len && !streq(n->numbers.data[i].stem, stem))
        i++;
    if (i == n->numbers.len)
        vec_push(&n->numbers, (struct number){ stem, 0 });
    struct number *number = &n->numbers.data[i];
    const char *text;
    do
        text = identifier(n->arena, arena_printf(n->arena, "%s%d", stem, number->next++));
    while (taken(n, text));
    return add(n, text)->text;
}

void names_claim_var(struct names *n, const struct expr *var)
{
    const char *text = names_claim(n, var->name);
    vec_push(&n->vars, (struct var_name){ var, text, n->stack.len - 1 });
}

const char *names_var(const struct names *n, const struct expr *var)
{
    for (int i = n->vars.len - 1; i >= 0; i--)
        if (n->vars.data[i].var == var)
            return n->vars.data[i].text;
    fail("the loop variable %s is used outside of its loop", var->name);
}
