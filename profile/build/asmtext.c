#include "profile/build/asmtext.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define MAX_OPERANDS 6

/* --- One instruction -------------------------------------------------------------------------- */

struct asm_operand { const char *at; size_t len; };
struct parts { char name[24]; bool rep; int n; struct asm_operand op[MAX_OPERANDS]; };

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static struct asm_operand trimmed(const char *from, const char *to)
{
    while (from < to && is_blank(*from))
        from++;
    while (to > from && is_blank(to[-1]))
        to--;
    return (struct asm_operand){ from, (size_t)(to - from) };
}

static bool is_prefix(const char *name)
{
    static const char *const word[] = { "rep", "repz", "repe", "repnz", "repne", "lock", "notrack",
                                        "bnd", "data16" };
    for (int i = 0; i < COUNT_OF(word); i++)
        if (streq(name, word[i]))
            return true;
    return false;
}

/* Splits an instruction into prefixes, name and operands.  A prefix is a word before the name; a
 * blank or a semicolon follows it. */
static void split_parts(const char *text, size_t len, struct parts *out)
{
    const char *p = text, *end = text + len, *from;
    *out = (struct parts){ .n = 0 };
    do {
        while (p < end && (is_blank(*p) || *p == ';'))
            p++;
        from = p;
        while (p < end && !is_blank(*p) && *p != ';')
            p++;
        snprintf(out->name, sizeof out->name, "%.*s", (int)(p - from), from);
        out->rep = out->rep || str_starts(out->name, "rep");
    } while (p < end && is_prefix(out->name));
    int depth = 0;
    for (from = p; p < end && out->n < MAX_OPERANDS; p++) {
        depth += *p == '(' ? 1 : *p == ')' ? -1 : 0;
        if (*p != ',' || depth > 0)
            continue;
        out->op[out->n++] = trimmed(from, p);
        from = p + 1;
    }
    struct asm_operand last = trimmed(from, end);
    if (last.len > 0 && out->n < MAX_OPERANDS)
        out->op[out->n++] = last;
}

/* Whether an operand is in memory: not a constant, not a register (%st(1) is one), not a rounding
 * mode.  `*` marks the target of an indirect jump. */
static bool in_memory(const struct asm_operand *o)
{
    const char *p = o->at + (o->at[0] == '*');
    if (str_starts(p, "%st"))
        return false;
    return memchr(o->at, '(', o->len) || memchr(o->at, ':', o->len)
        || (*p != '$' && *p != '%' && *p != '{');
}

static bool has(const struct asm_operand *o, const char *word)
{
    return memmem(o->at, o->len, word, strlen(word)) != NULL;
}

static bool on_stack(const struct asm_operand *o, bool frame)
{
    return has(o, "(%rsp") || (frame && has(o, "(%rbp"));
}

static bool starts_with(const char *name, const char *const *word, int n)
{
    for (int i = 0; i < n; i++)
        if (str_starts(name, word[i]))
            return true;
    return false;
}
#define STARTS(name, list) starts_with(name, list, COUNT_OF(list))

/* Whether the name is `word`, with or without a size suffix. */
static bool is_name(const char *name, const char *word)
{
    size_t n = strlen(word);
    return strncmp(name, word, n) == 0
        && (name[n] == '\0' || (strchr("lqw", name[n]) && name[n + 1] == '\0'));
}

/* Whether the instruction computes the address of its memory operand, but neither loads nor stores
 * there. */
static bool is_address_only(const char *name)
{
    static const char *const word[] = { "lea", "prefetch", "nop", "clflush", "clwb" };
    return STARTS(name, word);
}

/* Whether the instruction writes its last operand without reading it. */
static bool is_pure_store(const char *name)
{
    static const char *const word[] = { "set", "vextract", "vpextr", "pextr", "extract",
                                        "vcvtps2ph", "vcompress", "vpcompress", "vscatter",
                                        "vpscatter", "fst", "fist", "stmxcsr", "vstmxcsr", "fnst",
                                        "stos" };
    return strstr(name, "mov") != NULL || is_name(name, "pop") || STARTS(name, word);
}

/* Whether the instruction only reads its last operand. */
static bool is_pure_load(const char *name)
{
    static const char *const word[] = { "cmp", "test", "mul", "imul", "div", "idiv", "push", "fld",
                                        "fild", "fadd", "fmul", "fsub", "fdiv", "fcom", "ldmxcsr",
                                        "vldmxcsr", "call", "jmp" };
    return !str_starts(name, "cmpxchg") && (STARTS(name, word) || streq(name, "bt")
                                            || streq(name, "btl") || streq(name, "btq"));
}

/* Returns how many accesses the instruction makes through its memory operand.  For a gather, this
 * is the number of lanes of the last operand; for a scatter, of the first operand; else 1. */
static int lanes_of(const struct parts *x)
{
    bool gather = strstr(x->name, "gather") != NULL, scatter = strstr(x->name, "scatter") != NULL;
    if ((!gather && !scatter) || x->n < 2)
        return 1;
    const struct asm_operand *o = &x->op[gather ? x->n - 1 : 0];
    int bytes = has(o, "%zmm") ? 64 : has(o, "%ymm") ? 32 : 16;
    char element = x->name[strlen(x->name) - 1];    /* the name ends in ps, pd, dd, qd, dq or qq */
    bool single = str_ends(x->name, "ps") || (element == 'd' && !str_ends(x->name, "pd"));
    return bytes / (single ? 4 : 8);
}

static void count_memory(const struct parts *x, bool frame, struct insn *out)
{
    int lanes = lanes_of(x);
    for (int i = 0; i < x->n && !is_address_only(x->name); i++) {
        if (!in_memory(&x->op[i]))
            continue;
        bool last = i == x->n - 1, stack = on_stack(&x->op[i], frame);
        bool stores = last && !is_pure_load(x->name);
        bool loads = !last || !is_pure_store(x->name);
        out->loads += loads ? lanes : 0;
        out->stores += stores ? lanes : 0;
        out->stack_loads += loads && stack ? lanes : 0;
        out->stack_stores += stores && stack ? lanes : 0;
    }
}

/* Counts the accesses of push, pop, call, ret and leave to the stack, which no operand shows. */
static void count_stack(const char *name, struct insn *out)
{
    bool store = is_name(name, "push") || is_name(name, "call");
    bool load = is_name(name, "pop") || is_name(name, "ret") || is_name(name, "leave");
    out->stores += store;
    out->stack_stores += store;
    out->loads += load;
    out->stack_loads += load;
}

static bool has_vector_register(const struct parts *x)
{
    for (int i = 0; i < x->n; i++)
        if (has(&x->op[i], "%xmm") || has(&x->op[i], "%ymm") || has(&x->op[i], "%zmm")
            || (x->op[i].at[0] == '%' && x->op[i].at[1] == 'k'))
            return true;
    return false;
}

/* Whether the instruction works on only one float or double in a vector register: addss,
 * vfmadd231ss, cvtsi2sdl, vcvttss2si.  vpmaxsd does not: it works on a vector of integers. */
static bool is_single_float(const char *name)
{
    static const char *const whole[] = { "vbroadcast", "p", "vp" };
    if (STARTS(name, whole))
        return false;
    return str_ends(name, "ss") || str_ends(name, "sd") || strstr(name, "ss2")
        || strstr(name, "sd2") || strstr(name, "2ss") || strstr(name, "2sd");
}

static bool is_fma(const char *name)
{
    return str_starts(name, "vfmadd") || str_starts(name, "vfmsub") || str_starts(name, "vfnmadd")
        || str_starts(name, "vfnmsub");
}

static bool is_branch(const char *name)
{
    return name[0] == 'j' || is_name(name, "call") || is_name(name, "ret")
        || str_starts(name, "loop");
}

struct insn asm_insn_read(const char *text, size_t len, bool frame)
{
    struct parts x;
    split_parts(text, len, &x);
    struct insn out = { .kind = INSN_SCALAR };
    bool branch = is_branch(x.name), call = is_name(x.name, "call");
    if (branch)
        out.kind = INSN_BRANCH;
    else if (str_starts(x.name, "vzero"))
        out.kind = INSN_VECTOR;
    else if (has_vector_register(&x) && !is_single_float(x.name))
        out.kind = is_fma(x.name) ? INSN_FMA : INSN_VECTOR;
    /* the label of a direct jump or call is not a memory operand */
    if (!branch || (x.n > 0 && x.op[0].at[0] == '*'))
        count_memory(&x, frame, &out);
    count_stack(x.name, &out);
    out.ends = branch && !call;
    out.stops = is_name(x.name, "jmp") || is_name(x.name, "ret") || str_starts(x.name, "ud2")
             || str_starts(x.name, "hlt");
    out.ends = out.ends || out.stops;
    return out;
}

/* --- The text --------------------------------------------------------------------------------- */

struct asm_reading {
    struct asm_text *out;
    bool code;                           /* the current section contains code */
    bool live;                           /* control can fall through to the next instruction */
    bool open;                           /* a block is open */
    bool frame;                          /* %rbp is the frame pointer */
};

static void copy_line(struct asm_text *t, const char *line, size_t len)
{
    str_add_n(&t->counting, line, len);
    str_add_char(&t->counting, '\n');
    str_add_n(&t->padded, line, len);
    str_add_char(&t->padded, '\n');
}

/* Opens a block, unless one is open.  The counter uses mov and lea, which do not change the flags.
 * It saves %rax in .Lts_saved and not on the stack, because the kernel can have data in the red
 * zone below the stack pointer. */
static void open_block(struct asm_reading *r)
{
    struct asm_text *t = r->out;
    int at = 8 * (1 + t->block.len);                      /* the number of blocks comes first */
    if (r->open)
        return;
    str_printf(&t->counting,
               "\tmovq\t%%rax, .Lts_saved(%%rip)\n\tmovq\t.Lts_blocks+%d(%%rip), %%rax\n"
               "\tleaq\t1(%%rax), %%rax\n\tmovq\t%%rax, .Lts_blocks+%d(%%rip)\n"
               "\tmovq\t.Lts_saved(%%rip), %%rax\n", at, at);
    struct asm_block none = { .n = 0 };
    vec_push(&t->block, none);
    r->open = true;
}

static void add_padding(struct asm_reading *r, const char *line, size_t len)
{
    struct asm_text *t = r->out;
    open_block(r);
    str_printf(&t->padded, ".Lts_a%d:\n", t->pad.len);
    copy_line(t, line, len);
    str_printf(&t->padded, ".Lts_b%d:\n", t->pad.len);
    vec_push(&t->pad, t->block.len - 1);
}

/* Adds the name of the function that the instruction calls or jumps to, if it names one: "call
 * memset@PLT", "call *expf@GOTPCREL(%rip)".  Also sets t->repeats for a rep prefix. */
static void add_call(struct asm_text *t, const char *text, size_t len)
{
    struct parts x;
    split_parts(text, len, &x);
    t->repeats = t->repeats || x.rep;
    if (!(is_name(x.name, "call") || is_name(x.name, "jmp")) || x.n == 0)
        return;
    const char *name = x.op[0].at + (x.op[0].at[0] == '*');
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
    if (n == 0 || name[0] == '.' || isdigit((unsigned char)name[0]))
        return;
    for (int i = 0; i < t->call.len; i++)
        if (strlen(t->call.data[i]) == n && strncmp(t->call.data[i], name, n) == 0)
            return;
    char *copy = xmalloc(n + 1);
    memcpy(copy, name, n);
    copy[n] = '\0';
    vec_push(&t->call, copy);
}

static void add_insn(struct asm_reading *r, const char *line, size_t len)
{
    struct asm_text *t = r->out;
    open_block(r);
    copy_line(t, line, len);
    struct insn x = asm_insn_read(line, len, r->frame);
    struct asm_block *b = &t->block.data[t->block.len - 1];
    b->n++;
    b->kind[x.kind]++;
    b->loads += x.loads;
    b->stores += x.stores;
    b->stack_loads += x.stack_loads;
    b->stack_stores += x.stack_stores;
    add_call(t, line, len);
    if (memmem(line, len, "movq\t%rsp, %rbp", 15))
        r->frame = true;
    r->open = r->open && !x.ends;
    r->live = !x.stops;
}

static bool is_word(const char *line, size_t len, const char *word)
{
    size_t n = strlen(word);
    return len >= n && strncmp(line, word, n) == 0 && (len == n || is_blank(line[n]));
}

/* If the line begins a section, notes whether it contains code. */
static void note_section(struct asm_reading *r, const char *line, size_t len)
{
    struct asm_operand name;
    if (is_word(line, len, ".text")) {
        r->code = true;
    } else if (is_word(line, len, ".data") || is_word(line, len, ".bss")) {
        r->code = false;
    } else if (is_word(line, len, ".section")) {
        name = trimmed(line + 8, line + len);
        r->code = name.len >= 5 && strncmp(name.at, ".text", 5) == 0;
    }
}

static bool is_alignment(const char *line, size_t len)
{
    return is_word(line, len, ".p2align") || is_word(line, len, ".align")
        || is_word(line, len, ".balign");
}

/* Whether the line is a label, "name:" at its start. */
static bool is_label(const char *line, size_t len)
{
    return len > 1 && line[len - 1] == ':' && !memchr(line, ' ', len) && !memchr(line, '\t', len)
        && !memchr(line, '"', len);
}

/* Reads a line. A label of the debug information also begins a block, although no jump goes to it;
 * that costs only one more counter. */
static void read_line(struct asm_reading *r, const char *line, size_t len)
{
    struct asm_text *t = r->out;
    struct asm_operand x = trimmed(line, line + len);
    /* gcc writes the name of a temporary file into .file, which differs each time */
    if (x.len == 0 || is_word(x.at, x.len, ".file"))
        return;
    if (is_label(x.at, x.len)) {
        copy_line(t, line, len);
        r->open = false;
        r->live = r->code;
        if (r->code && x.at[0] != '.')
            r->frame = false;
    } else if (r->code && is_alignment(x.at, x.len) && r->live) {
        add_padding(r, line, len);
    } else if (x.at[0] == '.' || !r->code) {
        note_section(r, x.at, x.len);
        copy_line(t, line, len);
        r->live = r->live && r->code;
    } else {
        add_insn(r, line, len);
    }
}

/* Returns the length of the line before its comment. A # in quoted text begins no comment. */
static size_t code_length(const char *line, size_t len)
{
    bool quoted = false;
    for (size_t i = 0; i < len; i++) {
        if (line[i] == '"' && (i == 0 || line[i - 1] != '\\'))
            quoted = !quoted;
        if (line[i] == '#' && !quoted)
            return i;
    }
    return len;
}

static void add_tables(struct asm_text *t)
{
    str_printf(&t->counting,
               "\n\t.text\n\t.globl\tts_blocks\n\t.type\tts_blocks, @function\nts_blocks:\n"
               "\tleaq\t.Lts_blocks(%%rip), %%rax\n\tret\n\t.data\n\t.balign\t8\n"
               ".Lts_saved:\n\t.quad\t0\n.Lts_blocks:\n\t.quad\t%d\n\t.zero\t%d\n",
               t->block.len, 8 * (t->block.len + 1));
    str_printf(&t->padded,
               "\n\t.text\n\t.globl\tts_pads\n\t.type\tts_pads, @function\nts_pads:\n"
               "\tleaq\t.Lts_pads(%%rip), %%rax\n\tret\n\t.data\n\t.balign\t8\n"
               ".Lts_pads:\n\t.quad\t%d\n", t->pad.len);
    for (int i = 0; i < t->pad.len; i++)
        str_printf(&t->padded, "\t.quad\t.Lts_a%d, .Lts_b%d\n", i, i);
}

/* Removes from t->call the functions that the text itself defines: their instructions are counted
 * already. */
static void drop_own_calls(struct asm_text *t)
{
    int kept = 0;
    for (int i = 0; i < t->call.len; i++) {
        struct str label = {0};
        str_printf(&label, "\n%s:\n", t->call.data[i]);
        if (strstr(str_text(&t->padded), str_text(&label)))
            free(t->call.data[i]);
        else
            t->call.data[kept++] = t->call.data[i];
        str_free(&label);
    }
    t->call.len = kept;
}

void asm_read(const char *text, struct asm_text *out)
{
    struct asm_reading r = { .out = out, .code = true };
    *out = (struct asm_text){ .block = {0} };
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t len = strcspn(line, "\n");
        struct asm_operand x = trimmed(line, line + code_length(line, len));
        read_line(&r, x.at, x.len);
    }
    add_tables(out);
    drop_own_calls(out);
}

void asm_free(struct asm_text *t)
{
    for (int i = 0; i < t->call.len; i++)
        free(t->call.data[i]);
    vec_free(&t->call);
    vec_free(&t->block);
    vec_free(&t->pad);
    str_free(&t->counting);
    str_free(&t->padded);
}
