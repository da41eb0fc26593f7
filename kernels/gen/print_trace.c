/* Prints code as the instrumented kernel: the same loops and conditions, and for each statement the
 * addresses that it accesses (ts_trace).  If `counting` is set, the same functions print ts_count.
 * ts_count does not run a loop if no condition or bound inside depends on the loop's variable, but
 * multiplies by the number of its iterations. */
#include "kernels/gen/emit.h"

#include <stdio.h>

struct trace {
    struct emit m;
    int line_bytes;
    bool counting;  /* true: prints ts_count and fills the table; false: prints ts_trace */
    int block, n_blocks;  /* the current block; blocks are numbered in the order of the code */
    const char *times;    /* counting: the C variable that says how often the current code runs */
    bool random;                          /* whether ts_trace draws indices */
    int mark;                             /* number of the enclosing marked loop, or -1 */
    struct marked marked;
    VEC(struct trace_use) uses;
    VEC(int) block_mark;
    VEC(struct trace_mark) marks;
};

/* --- Accesses --------------------------------------------------------------------------------- */

/* Whether the access certainly lies in one cache line: its address is a multiple of its size, and
 * its size is at most that of a line. */
static bool in_one_line(struct trace *t, const struct place *at)
{
    if (place_bytes(t->m.u, at) > t->line_bytes)
        return false;
    return at->lanes == 1 || place_aligned(t->m.u, at);
}

/* Counts one more access at a site in each run of the current block. streamed: see trace_use. */
static void count_use(struct trace *t, int site, int streamed)
{
    for (int i = t->uses.len - 1; i >= 0 && t->uses.data[i].block >= t->block; i--)
        if (t->uses.data[i].block == t->block && t->uses.data[i].site == site
            && t->uses.data[i].streamed == streamed) {
            t->uses.data[i].n++;
            return;
        }
    struct trace_use use = { t->block, site, 1, streamed };
    vec_push(&t->uses, use);
}

static void print_access(struct trace *t, const struct place *at, int site, bool store)
{
    struct emit *m = &t->m;
    if (t->counting) {
        count_use(t, site, 0);
        return;
    }
    m->touched[at->buffer] = true;
    emit_indent(m);
    str_printf(m->out, "%s_%s(ts, front, mask, %s + %d * (unsigned long long)(",
               store ? "store" : "load", in_one_line(t, at) ? "at" : "over",
               m->buffer[at->buffer], m->u->func->buffer[at->buffer].type->bytes);
    emit_index(m, at->base, at->rest, 0);
    str_printf(m->out, "), %d, %d);\n", site, place_bytes(m->u, at));
}

/* Opens a block. Returns the number of the enclosing block, for close_block. */
static int open_block(struct trace *t)
{
    int before = t->block;
    t->block = t->n_blocks++;
    if (t->counting)
        vec_push(&t->block_mark, t->mark);
    return before;
}

static void close_block(struct trace *t, int before)
{
    if (t->counting)
        emit_line(&t->m, "exec[%d] += %s;", t->block, t->times);
    t->block = before;
}

static void print_reads(struct trace *t, const struct code_term *v);

static void print_choice(struct trace *t, const struct code_term *v)
{
    const struct code_term *side[2] = { v->a, v->b };
    for (int i = 0; i < 2; i++) {
        if (code_reads(side[i]) == 0)
            continue;
        emit_indent(&t->m);
        str_add(t->m.out, i ? "if (!(" : "if (");
        emit_index(&t->m, v->cond, 0, 0);
        str_add(t->m.out, i ? ")) {\n" : ") {\n");
        t->m.depth++;
        int before = open_block(t);
        print_reads(t, side[i]);
        close_block(t, before);
        t->m.depth--;
        emit_line(&t->m, "}");
    }
}

static void print_reads(struct trace *t, const struct code_term *v)
{
    switch (v->kind) {
    case TERM_CONST: case TERM_REG:
        return;
    case TERM_LOAD:
        print_access(t, &v->at, v->site, false);
        return;
    case TERM_CALL: case TERM_SHUFFLE:
        print_reads(t, v->a);
        return;
    case TERM_BIN:
        print_reads(t, v->a);
        print_reads(t, v->b);
        return;
    case TERM_GATHER:
        for (int l = 0; l < v->lanes; l++)
            print_reads(t, v->part[l]);
        return;
    case TERM_SELECT:
        print_choice(t, v);
        return;
    default:
        UNREACHABLE();
    }
}

static void print_set(struct trace *t, const struct code *c)
{
    print_reads(t, c->value);
    if (c->reg >= 0)
        return;
    if (c->how != STORE_SET)
        print_access(t, &c->at, c->site_load, false);
    if (!code_streams(t->m.u, c))
        print_access(t, &c->at, c->site_store, true);
    else if (t->counting)
        count_use(t, c->site_store, place_bytes(t->m.u, &c->at));
}

/* Prints the index of a pick.  The instrumented kernel has no data to compute the index from: it is
 * pseudo-random in ts_trace, and 0 in ts_count. */
static void print_pick(struct trace *t, const struct code *c)
{
    struct emit *m = &t->m;
    print_reads(t, c->value);
    names_claim_var(m->names, c->var);
    const char *name = names_var(m->names, c->var);
    if (t->counting)
        emit_line(m, "const long %s = 0;", name);
    else
        emit_line(m, "const long %s = (long)((random = random * 6364136223846793005u + 1) >> 33)"
                     " %% %lld;", name, (long long)c->var->hi + 1);
    emit_line(m, "(void)%s;", name);
    t->random |= !t->counting;
}

/* --- Loops ------------------------------------------------------------------------------------ */

static void print_block(struct trace *t, const struct block *b);

static void print_body(struct trace *t, const struct code *c, int mark)
{
    t->m.depth++;
    int before = open_block(t);
    if (mark >= 0 && t->counting)
        t->marks.data[mark].block = t->block;
    if (mark >= 0 && !t->counting)
        emit_line(&t->m, "if (ts->mark(ts, %d))\n%*scontinue;", mark, 4 * t->m.depth + 4, "");
    print_block(t, &c->body);
    close_block(t, before);
    t->m.depth--;
    emit_line(&t->m, "}");
}

/* Prints for ts_count a loop that does not run: "{ const long times0 = times * trips;" and the
 * body. */
static void print_factor(struct trace *t, const struct code *c)
{
    struct emit *m = &t->m;
    struct str begin = { 0 }, end = { 0 }, *out = m->out;
    m->out = &begin;
    emit_index(m, c->begin, 0, 5);
    m->out = &end;
    emit_index(m, c->end, 0, 4);
    m->out = out;
    const char *outer = t->times;
    t->times = names_claim_numbered(m->names, "times");
    emit_line(m, "{");
    emit_line(m, "    const long %s = %s * (%s > %s ? %s - %s : 0);", t->times, outer,
              str_text(&end), str_text(&begin), str_text(&end), str_text(&begin));
    str_free(&begin);
    str_free(&end);
    print_body(t, c, code_mark_of(&t->marked, c));
    t->times = outer;
}

static void print_loop(struct trace *t, const struct code *c)
{
    int mark = code_mark_of(&t->marked, c), around = t->mark;
    t->mark = mark >= 0 ? mark : around;
    if (t->counting && !block_asks(&c->body, c->var)) {
        print_factor(t, c);
    } else {
        struct bounds bounds = emit_bounds(&t->m, c, false);
        emit_for(&t->m, c, &bounds);
        print_body(t, c, mark);
    }
    if (mark >= 0 && !t->counting)
        emit_line(&t->m, "ts->mark(ts, -1);");
    t->mark = around;
}

static void print_block(struct trace *t, const struct block *b)
{
    struct emit *m = &t->m;
    for (int i = 0; i < b->n; i++) {
        const struct code *c = b->item[i];
        int mark = names_mark(m->names);
        if (c->kind == CODE_PICK) {
            print_pick(t, c);
            continue;                     /* its name is visible in the rest of the block */
        } else if (c->kind == CODE_SET) {
            print_set(t, c);
        } else if (c->kind == CODE_NOTE || c->kind == CODE_AGAIN ||
                   c->kind == CODE_AHEAD || !block_touches(&c->body)) {
            continue;
        } else if (c->kind == CODE_FOR) {
            print_loop(t, c);
        } else if (c->kind == CODE_IF) {
            emit_indent(m);
            str_add(m->out, "if (");
            emit_index(m, c->cond, 0, 0);
            str_add(m->out, ") {\n");
            print_body(t, c, -1);
        } else {
            print_block(t, &c->body);
            continue;                     /* a block without braces, whose names stay visible */
        }
        names_reset(m->names, mark);
    }
}

/* --- The unit --------------------------------------------------------------------------------- */

static const char types[] =
    "struct ts_sim {\n"
    "    const unsigned long long *front;\n"
    "    unsigned long long mask;\n"
    "    void (*touch)(struct ts_sim *, unsigned long long, unsigned, unsigned);\n"
    "    int (*mark)(struct ts_sim *, int);\n"
    "};\n\n";

/* Prints a function that calls ts->touch unless `front` holds the line of the access. over: whether
 * the access can lie in more than one line. */
static void print_filter(struct str *out, const char *name, int shift, bool store, bool over)
{
    str_printf(out,
               "static inline __attribute__((always_inline)) void %s(struct ts_sim *ts,\n"
               "    const unsigned long long *front, unsigned long long mask,\n"
               "    unsigned long long addr, unsigned site, unsigned bytes)\n{\n"
               "    unsigned long long line = addr >> %d, held = front[line & mask];\n",
               name, shift);
    str_printf(out, "    if (__builtin_expect((held ^ (2 * line + %d)) > %d", store ? 3 : 2,
               store ? 0 : 1);
    if (over)
        str_printf(out, " || (addr + bytes - 1) >> %d != line", shift);
    str_add(out, ", 0))\n        ts->touch(ts, addr, site, bytes);\n}\n");
}

static void print_filters(struct str *out, int line_bytes)
{
    static const char *const name[] = { "load_at", "load_over", "store_at", "store_over" };
    for (int i = 0; i < COUNT_OF(name); i++)
        print_filter(out, name[i], __builtin_ctz((unsigned)line_bytes), i >= 2, i & 1);
    str_add(out, "\n");
}

/* Claims the names of local buffers for the whole function: the base address of each is a variable
 * at its top. */
static void claim_locals(struct emit *m)
{
    const struct func *f = m->u->func;
    for (int i = f->n_params; i < f->n_buffers; i++)
        m->buffer[i] = names_claim(m->names, f->buffer[i].name);
}

static void print_walk(struct trace *t, struct str *body, bool counting)
{
    int mark = names_mark(t->m.names);
    t->m.out = body;
    t->m.depth = 1;
    t->counting = counting;
    t->n_blocks = 0;
    t->mark = -1;
    t->times = "times";
    int before = open_block(t);
    print_block(t, &t->m.u->body);
    close_block(t, before);
    names_reset(t->m.names, mark);
}

void code_print_trace(struct unit *u, int line_bytes, struct arena *a, struct str *out,
                      struct trace_table *table)
{
    struct trace t = { .line_bytes = line_bytes };
    struct str trace = { 0 }, count = { 0 };
    emit_open(&t.m, u, &trace);
    claim_locals(&t.m);
    code_find_marks(&u->body, a, &t.marked);
    for (int i = 0; i < t.marked.n; i++)
        vec_push(&t.marks, ((struct trace_mark){ -1, t.marked.axes[i] }));
    print_walk(&t, &trace, false);
    print_walk(&t, &count, true);
    t.m.needs.pick = false;
    str_add(out, types);
    print_filters(out, line_bytes);
    emit_helpers(&t.m, out);
    str_add(out, "void ts_trace(const unsigned long long *base, struct ts_sim *ts)\n{\n");
    for (int i = 0; i < u->func->n_buffers; i++)
        if (t.m.touched[i])
            str_printf(out, "    const unsigned long long %s = base[%d];\n", t.m.buffer[i], i);
    if (t.random)
        str_add(out, "    unsigned long long random = 1;\n");
    str_printf(out, "    const unsigned long long *front = ts->front, mask = ts->mask;\n%s"
                    "    (void)base;\n    (void)front;\n    (void)mask;\n}\n\n", str_text(&trace));
    str_printf(out, "void ts_count(long long *exec)\n{\n    const long times = 1;\n%s}\n",
               str_text(&count));
    *table = (struct trace_table){
        .n_uses = t.uses.len, .use = ARENA_DUP(a, t.uses.data, t.uses.len),
        .n_blocks = t.n_blocks, .block_mark = ARENA_DUP(a, t.block_mark.data, t.block_mark.len),
        .n_marks = t.marks.len, .mark = ARENA_DUP(a, t.marks.data, t.marks.len),
    };
    str_free(&trace);
    str_free(&count);
    vec_free(&t.uses);
    vec_free(&t.block_mark);
    vec_free(&t.marks);
    emit_close(&t.m);
}
