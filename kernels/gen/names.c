/* Names of the C text: unique among all that are visible at a place.  A claim lasts until
 * names_reset to a mark taken before it, so neighbouring blocks can use the same short names.
 *
 * The search for a free name always ends.  All names shuffle0, shuffle1, ... are taken, but the
 * search tries at most one of them.  Of all other names, only finitely many are taken. */
#include "kernels/gen/names.h"

#include <stdlib.h>
#include <string.h>
#include "kernels/base/rng.h"
#include "kernels/base/vec.h"
#include "kernels/ir/type.h"
#include "kernels/ir/val.h"

#define N_BUCKETS 512

/* A stem of names. The names of this stem with the numbers 2 .. next - 1 are all taken. */
struct number { const char *stem; int next; struct number *chain; };
/* A claimed name. The name "acc_12" consists of the stem "acc_" (member `of`) and the number 12
 * (member `value`). A name without a number has no stem: `of` is NULL. bucket: index of its
 * bucket. */
struct name { const char *text; int bucket, value; struct number *of; struct name *next; };
/* The name of a loop variable. at: how many names had been claimed before it. */
struct var_name { const struct expr *var; const char *text; int at; };

struct names {
    struct arena *arena;
    struct name *bucket[N_BUCKETS];
    struct number *numbers[N_BUCKETS];
    VEC(struct name *) stack;
    VEC(struct var_name) vars;
};

/* Reserved names: words of C and C++, helpers and types of the unit, names that the entry and the
 * trace use, and names of the reference. */
static const char *const reserved[] = {
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else",
    "enum", "extern", "float", "for", "goto", "if", "inline", "int", "long", "register",
    "restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef",
    "union", "unsigned", "void", "volatile", "while", "asm", "typeof", "linux", "unix", "i386",
    "alignas", "alignof", "bool", "constexpr", "false", "nullptr", "static_assert",
    "thread_local", "true", "typeof_unqual",
    "main", "random", "buffers", "base", "buf", "cap", "flush", "ctx", "rec", "last", "ROLLED",
    "ROLLED_PAIR", "again", "seconds", "since", "ts_apart", "ts_timed", "ts_now", "ts_lap",
    "clock_gettime",
    "floor_div", "floor_mod", "min_index", "max_index", "maxf", "minf", "lef", "keepf", "pick",
    "ref_pick", "ts_entry", "ts_trace",
    "ts_count", "ts_sim", "ts", "front", "mask", "exec", "load_at", "load_over", "store_at",
    "store_over", "times", "prefetch", "stream_done", "ref_max", "ref_min", "ref_floor_div",
    "ref_floor_mod", "ref_min_index", "ref_max_index",
    /* words of CUDA, which is C++ */
    "and", "catch", "class", "delete", "explicit", "export", "friend", "mutable", "namespace",
    "new", "not", "operator", "or", "private", "protected", "public", "template", "this", "throw",
    "try", "typename", "using", "virtual", "xor",
    "threadIdx", "blockIdx", "blockDim", "gridDim", "uint4",
    "__int_as_float", "__longlong_as_double",
    "ts_read", "ts_write", "ts_copy", "ts_commit", "ts_wait_copies", "ts_meet", "swizzle",
    "copy_async4", "copy_async8", "copy_async16", "tf32",
    "fragment_rows", "fragment_columns", "fragment_pair", "fragment_both", "mma",
    "store_pair", "extern_C",
    /* macros of the headers that the host twin includes before its kernels (twin.c) */
    "NULL", "EOF", "stdin", "stdout", "stderr", "BUFSIZ", "SEEK_SET", "SEEK_CUR", "SEEK_END",
    "FILENAME_MAX", "FOPEN_MAX", "TMP_MAX", "L_tmpnam", "L_ctermid", "P_tmpdir", "RAND_MAX",
    "MB_CUR_MAX", "EXIT_SUCCESS", "EXIT_FAILURE", "WNOHANG", "WUNTRACED", "WSTOPPED", "WEXITED",
    "WCONTINUED", "WNOWAIT", "FD_SETSIZE", "NFDBITS", "NGREG", "BYTE_ORDER", "LITTLE_ENDIAN",
    "BIG_ENDIAN", "PDP_ENDIAN",
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_letter(char c)
{
    return is_upper(c) || (c >= 'a' && c <= 'z');
}

/* Whether text has the form of a shuffle helper's name. All such names are reserved, because the
 * number of helpers is known only at the end. */
static bool is_shuffle(const char *text)
{
    static const char stem[] = "shuffle";
    size_t n = strlen(stem);
    return str_starts(text, stem) && is_digit(text[n])
        && strspn(text + n, "0123456789") == strlen(text + n);
}

static struct name **bucket_of(struct names *n, const char *text)
{
    return &n->bucket[hash_text(text) % N_BUCKETS];
}

static bool taken(struct names *n, const char *text)
{
    if (is_shuffle(text))
        return true;
    for (const struct name *x = *bucket_of(n, text); x; x = x->next)
        if (streq(x->text, text))
            return true;
    return false;
}

static struct number *number_of(struct names *n, const char *stem)
{
    struct number **slot = &n->numbers[hash_text(stem) % N_BUCKETS], *k = *slot;
    while (k && !streq(k->stem, stem))
        k = k->chain;
    if (!k) {
        k = ARENA_NEW(n->arena, struct number);
        *k = (struct number){ stem, 2, *slot };
        *slot = k;
    }
    return k;
}

static const char *add(struct names *n, const char *text)
{
    struct name **slot = bucket_of(n, text), *x = ARENA_NEW(n->arena, struct name);
    size_t digits = strlen(text);
    *x = (struct name){ .text = text, .bucket = (int)(slot - n->bucket), .next = *slot };
    while (digits > 0 && is_digit(text[digits - 1]))
        digits--;
    if (text[digits] && strlen(text + digits) < 9) {
        x->of = number_of(n, arena_strndup(n->arena, text, digits));
        x->value = atoi(text + digits);
    }
    *slot = x;
    vec_push(&n->stack, x);
    return text;
}

/* Reserves the names of the narrow types and of their helpers (narrow.c, emit.c). */
static void add_narrow(struct names *n)
{
    static const char *const of_lanes[] = { "load", "store", "stream", "pack" };
    for (int t = 0; t < TYPE_COUNT; t++) {
        const char *type = type_get(t)->name;
        if (!type_is_narrow(type_get(t)))
            continue;
        add(n, arena_strdup(n->arena, type));
        add(n, arena_printf(n->arena, "from_%s", type));
        add(n, arena_printf(n->arena, "to_%s", type));
        add(n, arena_printf(n->arena, "%s_again", type));
        add(n, arena_printf(n->arena, "%s_prefetch", type));
        for (int lanes = 2; lanes <= GEN_MAX_LANES; lanes *= 2)
            for (int i = 0; i < COUNT_OF(of_lanes); i++)
                add(n, arena_printf(n->arena, "%s_%s%d", type, of_lanes[i], lanes));
    }
}

struct names *names_new(struct arena *a)
{
    struct names *n = ARENA_NEW(a, struct names);
    n->arena = a;
    for (int i = 0; i < COUNT_OF(reserved); i++)
        add(n, reserved[i]);
    for (int k = 0; k < VAL_KIND_COUNT; k++)             /* CUDA C calls them by these names */
        if (val_is_function((enum val_kind)k)) {
            add(n, val_name((enum val_kind)k));
            add(n, arena_printf(a, "%sf", val_name((enum val_kind)k)));
        }
    for (int lanes = 2; lanes <= GEN_MAX_LANES; lanes *= 2) {
        add(n, arena_printf(a, "v%d", lanes));
        add(n, arena_printf(a, "u%d", lanes));
        add(n, arena_printf(a, "i%d", lanes));
        add(n, arena_printf(a, "load%d", lanes));
        add(n, arena_printf(a, "copy%d", lanes));
        add(n, arena_printf(a, "store%d", lanes));
        add(n, arena_printf(a, "stream%d", lanes));
        add(n, arena_printf(a, "splat%d", lanes));
        add(n, arena_printf(a, "max%d", lanes));
        add(n, arena_printf(a, "min%d", lanes));
        add(n, arena_printf(a, "pick%d", lanes));
        add(n, arena_printf(a, "exp_parts%d", lanes));
        add(n, arena_printf(a, "sum_lanes%d", lanes));
        add(n, arena_printf(a, "max_lanes%d", lanes));
        add(n, arena_printf(a, "le%d", lanes));
        add(n, arena_printf(a, "keep%d", lanes));
        for (int k = 0; k < VAL_KIND_COUNT; k++)
            if (val_is_function((enum val_kind)k))
                add(n, arena_printf(a, "%s_v%d", val_name((enum val_kind)k), lanes));
    }
    add_narrow(n);
    return n;
}

void names_free(struct names *n)
{
    vec_free(&n->stack);
    vec_free(&n->vars);
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
        if (x->of && x->value >= 2 && x->value < x->of->next)
            x->of->next = x->value;
    }
    while (n->vars.len > 0 && n->vars.data[n->vars.len - 1].at >= mark)
        (void)vec_pop(&n->vars);
}

/* Makes an identifier: letters, digits and underscores, not starting with a digit.  A name that
 * starts with an underscore is changed, since it may belong to the compiler (__asm__, _Bool). */
static const char *identifier(struct arena *a, const char *want)
{
    want += want[0] == '@';               /* '@' marks the variable of a pick */
    const char *before = is_letter(want[0]) ? "" : want[0] == '_' ? "x" : "_";
    char *s = arena_printf(a, "%s%s", before, want);
    for (char *c = s; *c; c++)
        if (!is_letter(*c) && !is_digit(*c))
            *c = '_';
    return s;
}

/* Claims and returns the first free name among `stem` with the number first, first + 1, ... */
static const char *add_numbered(struct names *n, const char *stem, int first)
{
    struct number *number = number_of(n, stem);
    for (int k = first; k < 2; k++) {
        const char *text = arena_printf(n->arena, "%s%d", stem, k);
        if (!taken(n, text))
            return add(n, text);
    }
    const char *text;
    do
        text = arena_printf(n->arena, "%s%d", stem, number->next++);
    while (taken(n, text));
    return add(n, text);
}

const char *names_claim(struct names *n, const char *want)
{
    const char *text = identifier(n->arena, want);
    if (taken(n, text))
        return add_numbered(n, arena_printf(n->arena, "%s_", text), 2);
    return add(n, text);
}

const char *names_claim_numbered(struct names *n, const char *stem)
{
    const char *text = identifier(n->arena, stem);
    if (is_shuffle(arena_printf(n->arena, "%s0", text)))
        text = arena_printf(n->arena, "%s_", text);
    return add_numbered(n, text, 0);
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
