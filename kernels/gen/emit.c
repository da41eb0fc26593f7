/* Prints the text around statements, for all printers: names, lines, loops, helpers. */
#include "kernels/gen/emit.h"

#include <stdio.h>
#include <string.h>

#define MAX_BOUNDS (MAX_COLUMNS - 45)     /* most columns of the bounds in the line of a loop */

void emit_open(struct emit *m, struct unit *u, struct str *out)
{
    const struct func *f = u->func;
    *m = (struct emit){ .u = u, .out = out, .names = names_new(u->arena), .prefix = "",
                        .index = "long" };
    m->buffer = ARENA_ARRAY(u->arena, const char *, f->n_buffers + 1);
    m->touched = ARENA_ARRAY(u->arena, bool, f->n_buffers + 1);
    m->streamed = ARENA_ARRAY(u->arena, bool, f->n_buffers + 1);
    m->of_thread = ARENA_ARRAY(u->arena, const char *, f->n_buffers + 1);
    m->has_memory = ARENA_ARRAY(u->arena, bool, f->n_buffers + 1);
    m->again = ARENA_ARRAY(u->arena, const char *, u->n_again + 1);
    if (u->narrow)
        names_claim(m->names, u->narrow->name);
    for (int i = 0; i < f->n_params; i++)
        m->buffer[i] = names_claim(m->names, f->buffer[i].name);
}

void emit_close(struct emit *m)
{
    names_free(m->names);
    vec_free(&m->pointers);
    vec_free(&m->shuffles);
}

void emit_indent(struct emit *m)
{
    str_repeat(m->out, ' ', 4 * m->depth);
}

void emit_signature(struct emit *m, const char *name, const char *const *type)
{
    struct str *out = m->out;
    int n = m->u->func->n_params;
    size_t line = out->len;
    str_printf(out, "void %s(", name);
    int indent = (int)(out->len - line);
    for (int i = 0; i < n; i++) {
        str_add(out, i ? "," : "");
        if (i && out->len - line + strlen(type[i]) + strlen(m->buffer[i]) > MAX_COLUMNS - 3) {
            str_add_char(out, '\n');
            line = out->len;
            str_repeat(out, ' ', indent);
        } else if (i) {
            str_add_char(out, ' ');
        }
        str_printf(out, "%s%s", type[i], m->buffer[i]);
    }
    str_add(out, n ? ")\n" : "void)\n");
}

void emit_line(struct emit *m, const char *fmt, ...)
{
    va_list ap;
    emit_indent(m);
    va_start(ap, fmt);
    str_vprintf(m->out, fmt, ap);
    va_end(ap);
    str_add_char(m->out, '\n');
}

/* Emits "const long kh_end = min_index(...);" and returns the name, "kh_end". */
static const char *name_bound(struct emit *m, const struct code *c, const char *which,
                              const char *text)
{
    const char *stem = arena_printf(m->u->arena, "%s_%s", c->var->name, which);
    const char *name = names_claim(m->names, stem);
    emit_line(m, "const %s %s = %s;", m->index, name, text);
    return name;
}

static const char *bound_text(struct emit *m, const struct expr *e, int min_prec)
{
    struct str text = { 0 }, *out = m->out;
    m->out = &text;
    emit_index(m, e, 0, min_prec);
    m->out = out;
    const char *copy = arena_strdup(m->u->arena, str_text(&text));
    str_free(&text);
    return copy;
}

struct bounds emit_bounds(struct emit *m, const struct code *c, bool named)
{
    struct bounds b = { bound_text(m, c->begin, 0), bound_text(m, c->end, 4) };
    if (!named || 4 * m->depth + (int)(strlen(b.begin) + strlen(b.end)) <= MAX_BOUNDS)
        return b;
    if (c->begin->kind != EXPR_CONST)
        b.begin = name_bound(m, c, "begin", b.begin);
    if (c->end->kind != EXPR_CONST)
        b.end = name_bound(m, c, "end", b.end);
    return b;
}

void emit_for(struct emit *m, const struct code *c, const struct bounds *b)
{
    names_claim_var(m->names, c->var);
    const char *v = names_var(m->names, c->var);
    size_t start = m->out->len;
    emit_indent(m);
    str_printf(m->out, "for (%s %s = %s; %s < %s; %s++) {", m->index, v, b->begin, v, b->end, v);
    if (c->axis && !strcaseeq(c->axis, v)
        && m->out->len - start + strlen(c->axis) <= MAX_COLUMNS - 10)
        str_printf(m->out, "    /* %s */", c->axis);
    str_add_char(m->out, '\n');
}

static void helper_index(struct str *out, const char *prefix, const char *name, const char *body)
{
    str_printf(out, "static inline long %s%s(long a, long b) { return %s; }\n", prefix, name, body);
}

static void helper_extremum(struct str *out, const struct elem_type *type, const char *name,
                            char op, int lanes)
{
    if (lanes == 1) {
        str_printf(out, "static inline %s %sf(%s a, %s b) { return a %c b ? a : b; }\n", type->c,
                   name, type->c, type->c, op);
        return;
    }
    str_printf(out, "static inline v%d %s%d(v%d a, v%d b)\n{\n    i%d take_a = a %c b;\n"
                    "    return (v%d)(((i%d)a & take_a) | ((i%d)b & ~take_a));\n}\n",
               lanes, name, lanes, lanes, lanes, lanes, op, lanes, lanes, lanes);
}

/* Emits the helper le, which returns 1 where a <= b, or the helper keep, which returns b where a >=
 * 1.  Elsewhere they return 0.  Both choose between values and not between loads, because gcc 12
 * wrongly vectorizes `c[i] == 1 ? x[i] : y[i]` in groups of 6. */
static void helper_mask(struct str *out, const struct elem_type *type, bool keep, int lanes)
{
    const char *name = keep ? "keep" : "le", *c = type->c;
    if (lanes == 1) {
        str_printf(out, "static inline %s %sf(%s a, %s b) { return %s; }\n", c, name, c, c,
                   keep ? "a >= 1 ? b : 0" : "a <= b");
        return;
    }
    str_printf(out, "static inline v%d %s%d(v%d a, v%d b)\n{\n    v%d one = 1 - (v%d){0};\n", lanes,
               name, lanes, lanes, lanes, lanes, lanes);
    str_printf(out, "    return (v%d)((i%d)(%s) & (i%d)%s);\n}\n", lanes, lanes,
               keep ? "a >= one" : "a <= b", lanes, keep ? "b" : "one");
}

/* Emits a shuffle: lane l of the result is lane pick[l] of x. GCC 12 and clang have the builtin. */
static void helper_shuffle(struct str *out, int number, const struct code_term *t)
{
    str_printf(out, "static inline v%d shuffle%d(v%d x)\n{\n    return "
                    "__builtin_shufflevector(x, x", t->lanes, number, t->lanes);
    for (int l = 0; l < t->lanes; l++)
        str_printf(out, "%s%d", l % 16 ? ", " : ",\n        ", t->pick[l]);
    str_add(out, ");\n}\n");
}

/* Emits a function that combines all lanes to one: each step combines one half with the other. */
static void helper_fold(struct str *out, const struct elem_type *type, bool sum, int lanes)
{
    str_printf(out, "static inline %s %s_lanes%d(v%d x)\n{\n", type->c, sum ? "sum" : "max", lanes,
               lanes);
    for (int half = lanes / 2; half > 0; half /= 2) {
        str_printf(out, sum ? "    x += " : "    x = max%d(x, ", lanes);
        str_add(out, "__builtin_shufflevector(x, x");
        for (int l = 0; l < lanes; l++)
            str_printf(out, "%s%d", l % 16 ? ", " : ",\n        ", l ^ half);
        str_add(out, sum ? ");\n" : "));\n");
    }
    str_add(out, "    return x[0];\n}\n");
}

/* Emits a non-temporal store. GCC has a builtin per width, clang one for all widths. */
static void helper_stream(struct str *out, const struct elem_type *type, int lanes)
{
    static const struct { int bytes; const char *macro, *suffix; } of[] = {
        { 16, "__SSE__", "" }, { 32, "__AVX__", "256" }, { 64, "__AVX512F__", "512" },
    };
    str_printf(out, "/* Past the caches, to an address that is a multiple of %d. */\n"
                    "static inline void stream%d(%s *p, v%d x)\n{\n"
                    "#if defined __clang__\n    __builtin_nontemporal_store(x, (v%d *)p);\n",
               type->bytes * lanes, lanes, type->c, lanes, lanes);
    for (int i = 0; i < COUNT_OF(of); i++)
        if (of[i].bytes == type->bytes * lanes)
            str_printf(out, "#elif defined %s\n    __builtin_ia32_movnt%s%s(p, x);\n", of[i].macro,
                       type->packed, of[i].suffix);
    str_printf(out, "#else\n    *(u%d *)p = x;\n#endif\n}\n", lanes);
}

static const char stream_done_helper[] =
    "/* Makes streamed stores visible before any later store. */\n"
    "static inline void stream_done(void)\n{\n"
    "#if defined __SSE__\n    __builtin_ia32_sfence();\n#endif\n}\n";

static void helper_vectors(struct str *out, const struct elem_type *type, const struct needs *n,
                           int lanes)
{
    if (n->load[lanes])
        str_printf(out, "static inline v%d load%d(const %s *p) { return *(const u%d *)p; }\n",
                   lanes, lanes, type->c, lanes);
    if (n->store[lanes])
        str_printf(out, "static inline void store%d(%s *p, v%d x) { *(u%d *)p = x; }\n", lanes,
                   type->c, lanes, lanes);
    if (n->stream[lanes])
        helper_stream(out, type, lanes);
    if (n->splat[lanes])
        str_printf(out, "static inline v%d splat%d(%s x) { return x - (v%d){0}; }\n", lanes,
                   lanes, type->c, lanes);
    functions_emit(out, type, n, lanes);
    if (n->max[lanes])
        helper_extremum(out, type, "max", '>', lanes);
    if (n->min[lanes])
        helper_extremum(out, type, "min", '<', lanes);
    if (n->call[VAL_ADD][lanes])
        helper_fold(out, type, true, lanes);
    if (n->call[VAL_MAX][lanes])
        helper_fold(out, type, false, lanes);
    if (n->le[lanes])
        helper_mask(out, type, false, lanes);
    if (n->keep[lanes])
        helper_mask(out, type, true, lanes);
}

/* Hides the origin of a pointer from the compiler.  Loads and stores keep their order. */
static const char again_helper[] =
    "/* Returns p, but the compiler does not know that: it loads again instead of spilling. */\n"
    "static inline const %s *%sagain(const %s *p)\n"
    "{\n    __asm__ volatile(\"\" : \"+r\"(p) : : \"memory\");\n    return p;\n}\n";
static const char prefetch_helper[] =    /* a format for a prefix, a type and its size */
    "/* Asks for the line of p[by], which may lie outside of the array: a hint never faults. */\n"
    "static inline void %sprefetch(const %s *p, long by)\n"
    "{\n    __builtin_prefetch((const void *)((__UINTPTR_TYPE__)p + %d * (__UINTPTR_TYPE__)by));\n"
    "}\n";
static const char rolled_macro[] =       /* a format for a reason, a name and gcc's pragma */
    "/* %s */\n#if defined __clang__\n#define %s _Pragma(\"clang loop unroll(disable)\")\n"
    "#else\n#define %s%s\n#endif\n";

static void add_rolled_macro(struct str *out, bool pair)
{
    const char *name = pair ? "ROLLED_PAIR" : "ROLLED";
    str_printf(out, rolled_macro,
               pair ? "Stays a loop of two: gcc -O2 unrolls it because of \"unroll 1\", and not "
                      "without."
                    : "Stays a loop: unrolled, it would need more registers than there are.",
               name, name, pair ? "" : " _Pragma(\"GCC unroll 1\")");
}

/* Emits a function that copies 16 bytes as one element of a CUDA vector type.  The host twin does
 * not have this type, and copies element by element. */
static void helper_copy(struct str *out, const struct elem_type *type, int lanes, bool twin)
{
    str_printf(out, "/* Copies %d elements, %lld aligned bytes. */\n"
                    "static inline void copy%d(%s *to, const %s *from)\n{\n", lanes,
               (long long)(lanes * type->bytes), lanes, type->c, type->c);
    if (twin)
        str_printf(out, "    for (int i = 0; i < %d; i++)\n        to[i] = from[i];\n}\n", lanes);
    else
        str_add(out, "    *(uint4 *)to = *(const uint4 *)from;\n}\n");
}

/* Emits the helpers that compute with indices. */
static void index_helpers(const struct emit *m, struct str *out)
{
    const struct needs *n = &m->needs;
    if (n->floor_div)
        helper_index(out, m->prefix, "floor_div", "(a >= 0 ? a : a - b + 1) / b");
    if (n->floor_mod)
        helper_index(out, m->prefix, "floor_mod", "(a % b + b) % b");
    if (n->min_index)
        helper_index(out, m->prefix, "min_index", "a < b ? a : b");
    if (n->max_index)
        helper_index(out, m->prefix, "max_index", "a > b ? a : b");
    if (n->swizzle)
        str_printf(out, "/* Where element i of a tile lies: its row is XORed into its column. */\n"
                        "static inline %s swizzle(%s i, int shift, %s mask)\n"
                        "{\n    return i ^ (i >> shift & mask);\n}\n", m->index, m->index,
                   m->index);
}

void emit_helpers(struct emit *m, struct str *out)
{
    const struct needs *n = &m->needs;
    const struct elem_type *type = m->u->type;
    size_t start = out->len;
    bool stream = false;
    for (int l = 2; l <= GEN_MAX_LANES; l *= 2) {
        bool select = n->max[l] || n->min[l] || n->le[l] || n->keep[l];
        bool memory = n->load[l] || n->store[l] || n->stream[l];
        stream |= n->stream[l] || n->narrow.stream[l];
        if (n->type[l] || n->splat[l] || select || memory)
            str_printf(out, "typedef %s v%d __attribute__((vector_size(%d)));\n", type->c, l,
                       type->bytes * l);
        if (memory)
            str_printf(out, "typedef %s u%d __attribute__((vector_size(%d), aligned(%d), "
                            "may_alias));\n", type->c, l, type->bytes * l, type->bytes);
        if (select || functions_need_masks(type, n, l))
            str_printf(out, "typedef %s i%d __attribute__((vector_size(%d)));\n", type->mask, l,
                       type->bytes * l);
    }
    narrow_helpers(m, out);
    for (int l = 2; l <= GEN_MAX_LANES; l *= 2)
        helper_vectors(out, type, n, l);
    for (int l = 2; l <= GEN_MAX_LANES; l *= 2)
        for (int i = 0; i < 2; i++)
            if (n->copy[i][l])
                helper_copy(out, i ? m->u->narrow : type, l, m->twin);
    tensor_helpers(m, out);
    async_helpers(m, out);
    if (stream)
        str_add(out, stream_done_helper);
    for (int i = 0; i < m->shuffles.len; i++)
        helper_shuffle(out, i, m->shuffles.data[i]);
    if (n->max[1])
        helper_extremum(out, type, "max", '>', 1);
    if (n->min[1])
        helper_extremum(out, type, "min", '<', 1);
    if (n->le[1])
        helper_mask(out, type, false, 1);
    if (n->keep[1])
        helper_mask(out, type, true, 1);
    if (n->pick)
        str_printf(out, "/* The index in [0, hi] that x means: below 0 it counts from the end. */\n"
                        "static inline long pick(%s x, long hi)\n" PICK_BODY, type->c);
    index_helpers(m, out);
    for (int i = 0; i < 2; i++) {
        const struct elem_type *of = i ? m->u->narrow : type;
        const char *prefix = of ? narrow_type_prefix(m, of) : "";
        if (n->again[i])
            str_printf(out, again_helper, of->c, prefix, of->c);
        if (n->prefetch[i])
            str_printf(out, prefetch_helper, prefix, of->c, of->bytes);
    }
    if (n->rolled)
        add_rolled_macro(out, false);
    if (n->rolled_pair)
        add_rolled_macro(out, true);
    if (out->len > start)
        str_add_char(out, '\n');
}

bool gen_calls_libm(const char *source)
{
    for (int k = 0; k < VAL_KIND_COUNT; k++) {
        char call[32];
        int n = snprintf(call, sizeof call, "__builtin_%s", val_name((enum val_kind)k));
        const char *at = val_is_function((enum val_kind)k) ? strstr(source, call) : NULL;
        for (; at; at = strstr(at + n, call))  /* __builtin_expect is no function of libm */
            if (at[n + (at[n] == 'f')] == '(')
                return true;
    }
    return false;
}

void emit_comment(struct str *out, const char *text)
{
    if (str_starts(text, "/*") && strstr(text + 2, "*/") == text + strlen(text) - 2) {
        str_printf(out, "%s\n", text);
        return;
    }
    str_add(out, "/* ");
    for (const char *c = text; *c; c++) {
        if (*c == '\n' && c[1])
            str_add(out, "\n * ");
        else if (*c != '\n')
            str_add_char(out, *c);
        if (*c == '*' && c[1] == '/')
            str_add_char(out, ' ');
    }
    str_add(out, " */\n");
}

/* Returns the index of the blank in s[0, room] at which a line is to be broken.  Only blanks after
 * an operator or a comma are possible.  The best ones are inside the fewest brackets, and the last
 * of these is returned. Returns 0 if no blank is possible. */
static size_t find_break(const char *s, size_t n, size_t room)
{
    size_t best = 0;
    int depth = 0, best_depth = 0;
    for (size_t i = 1; i < n && i <= room; i++) {
        depth += (strchr("([{", s[i]) != NULL) - (strchr(")]}", s[i]) != NULL);
        if (s[i] == ' ' && strchr(",+-*/?:=&", s[i - 1]) && (!best || depth <= best_depth)) {
            best = i;
            best_depth = depth;
        }
    }
    return best;
}

static void wrap_line(struct str *out, const char *line, size_t n)
{
    size_t indent = strspn(line, " "), margin = indent, at;
    const char *s = line + indent, *end = line + n;
    bool statement = indent > 0 && *s != '/' && *s != '#';
    while (statement && margin + (size_t)(end - s) > MAX_COLUMNS &&
           (at = find_break(s, (size_t)(end - s), MAX_COLUMNS - margin)) > 0) {
        str_repeat(out, ' ', (int)margin);
        str_add_n(out, s, at);
        str_add_char(out, '\n');
        s += at + 1;
        margin = indent + 8;
    }
    str_repeat(out, ' ', (int)margin);
    str_add_n(out, s, (size_t)(end - s));
}

void emit_wrapped(struct str *out, const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        wrap_line(out, text, n);
        text += n;
        if (*text) {
            str_add_char(out, '\n');
            text++;
        }
    }
}
