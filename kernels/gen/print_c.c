/* Prints code as C: one function with named vectors and restrict pointers, and no headers.  It is
 * written so that compilers keep the intended vectors and registers (PERF.md). */
#include "kernels/gen/emit.h"

#include <string.h>

#define STACK_BYTES (256 << 10)           /* most bytes of one array on the stack */
#define STACK_TOTAL (1 << 20)             /* most bytes of all arrays on the stack */

void code_print_shape(struct str *out, const struct buffer *b)
{
    for (int d = 0; d < b->rank; d++)
        str_printf(out, "[%lld]", (long long)b->shape[d]);
}

static void print_type(struct emit *m, int lanes)
{
    if (lanes > 1) {
        m->needs.type[lanes] = true;
        str_printf(m->out, "v%d ", lanes);
    } else {
        str_printf(m->out, "%s ", m->u->type->c);
    }
}

/* Returns the zero that initialises a register: {0} or 0.0f. */
static const char *zero_of(const struct emit *m, int lanes)
{
    return lanes > 1 ? "{0}" : arena_printf(m->u->arena, "0.0%s", m->u->type->suffix);
}

static void claim_register(struct emit *m, int reg)
{
    struct reg *r = &m->u->regs.data[reg];
    r->name = r->suffix ?
                  names_claim(m->names, arena_printf(m->u->arena, "%s%s", r->stem, r->suffix)) :
                  names_claim_numbered(m->names, r->stem);
}

/* Declares the registers of b that no statement declares. */
static void print_late_registers(struct emit *m, const struct block *b)
{
    for (int i = 0; i < m->u->regs.len; i++) {
        const struct reg *r = &m->u->regs.data[i];
        if (r->scope != b)
            continue;
        claim_register(m, i);
        emit_indent(m);
        print_type(m, r->lanes);
        str_printf(m->out, "%s = %s;\n", r->name, zero_of(m, r->lanes));
    }
}

/* Prints "x += value;", "x = value;" or "x = max(x, value);", where x is `name`.  The caller must
 * have printed the indentation, and the type where the statement declares x. */
static void print_update(struct emit *m, const char *name, enum store_how how,
                         const struct code_term *value, int lanes)
{
    bool plain = lanes == value->lanes || how == STORE_ADD;
    str_printf(m->out, "%s %s ", name, how == STORE_ADD ? "+=" : "=");
    if (how == STORE_MAX) {
        m->needs.max[lanes] = true;
        if (lanes > 1)
            str_printf(m->out, "max%d(%s, ", lanes, name);
        else
            str_printf(m->out, "maxf(%s, ", name);
    }
    emit_value(m, value, plain ? value->lanes : lanes);
    str_add(m->out, how == STORE_MAX ? ");\n" : ";\n");
}

static bool is_zero(const struct code_term *t)
{
    return t->kind == TERM_CONST && t->value == 0;
}

/* Whether c declares a register and sets it to zero. */
static bool zeroes(const struct emit *m, const struct code *c)
{
    return c->kind == CODE_SET && c->reg >= 0 && m->u->regs.data[c->reg].decl == c &&
           is_zero(c->value);
}

/* Prints "v16 acc0_0 = {0}, acc0_1 = {0};" for item i of b and the items after it that also set a
 * register of the same type to zero and have no note.  Returns the number of items printed. */
static int print_zeroes(struct emit *m, const struct block *b, int i)
{
    int lanes = m->u->regs.data[b->item[i]->reg].lanes, n = 0;
    emit_indent(m);
    size_t start = m->out->len;
    print_type(m, lanes);
    for (; i < b->n && zeroes(m, b->item[i]) && m->out->len - start < 70; i++, n++) {
        struct reg *r = &m->u->regs.data[b->item[i]->reg];
        if (r->lanes != lanes || (n && b->item[i]->note))
            break;
        claim_register(m, b->item[i]->reg);
        str_printf(m->out, "%s%s = %s", n ? ", " : "", r->name, zero_of(m, lanes));
    }
    str_add(m->out, ";\n");
    return n;
}

static void print_set_register(struct emit *m, const struct code *c)
{
    struct reg *r = &m->u->regs.data[c->reg];
    emit_indent(m);
    if (r->decl == c) {
        claim_register(m, c->reg);
        print_type(m, r->lanes);
    }
    if (c->lane >= 0)
        print_update(m, arena_printf(m->u->arena, "%s[%d]", r->name, c->lane), c->how, c->value, 1);
    else
        print_update(m, r->name, c->how, c->value, r->lanes);
}

/* Prints "copy4(&A_tile[m], &A[k]);". */
static void print_copy(struct emit *m, const struct code *c)
{
    m->needs.copy[emit_converts(m, c->at.buffer)][c->at.lanes] = true;
    emit_indent(m);
    str_printf(m->out, "copy%d(", c->at.lanes);
    emit_address(m, &c->at, true);
    str_add(m->out, ", ");
    emit_address(m, &c->value->at, false);
    str_add(m->out, ");\n");
}

/* Prints "store_pair(&C[2*n], x, y);". */
static void print_pair(struct emit *m, const struct code *c)
{
    m->needs.store_pair = m->needs.narrow.put = true;
    emit_indent(m);
    str_add(m->out, "store_pair(");
    emit_address(m, &c->at, true);
    for (int i = 0; i < 2; i++) {
        str_add(m->out, ", ");
        emit_value(m, c->value->part[i], 1);
    }
    str_add(m->out, ");\n");
}

/* Prints a store of a vector or of a converted element: "store16(&C[n], load16(&C[n]) + value);" or
 * "C[n] = to_bf16(from_bf16(C[n]) + value);". */
static void print_store(struct emit *m, const struct code *c)
{
    int lanes = c->at.lanes;
    bool converts = emit_converts(m, c->at.buffer);
    struct code_term old = { .kind = TERM_LOAD, .lanes = lanes, .at = c->at, .reg = -1,
                             .lane = -1 };
    struct code_term both = { .kind = TERM_BIN,
                              .lanes = lanes,
                              .op = c->how == STORE_ADD ? VAL_ADD : VAL_MAX,
                              .a = &old,
                              .b = c->value,
                              .reg = -1,
                              .lane = -1 };
    bool stream = code_streams(m->u, c);
    emit_indent(m);
    if (lanes == 1) {
        m->needs.narrow.put = true;
        emit_place(m, &c->at, true);
        str_printf(m->out, " = to_%s(", m->u->narrow->name);
    } else {
        (converts ? stream ? m->needs.narrow.stream : m->needs.narrow.store
                  : stream ? m->needs.stream : m->needs.store)[lanes] = true;
        m->needs.type[lanes] |= converts;
        m->streamed[c->at.buffer] |= stream;
        str_printf(m->out, "%s%s%d(", narrow_prefix(m, c->at.buffer),
                   stream ? "stream" : "store", lanes);
        emit_address(m, &c->at, true);
        str_add(m->out, ", ");
    }
    emit_value(m, c->how == STORE_SET ? c->value : &both, lanes);
    str_add(m->out, ");\n");
}

static void print_set(struct emit *m, const struct code *c)
{
    if (c->reg >= 0) {
        print_set_register(m, c);
        return;
    }
    if (c->async) {
        code_print_async(m, c);
        return;
    }
    if (c->at.lanes > 1 && m->gpu) {
        (c->value->kind == TERM_GATHER ? print_pair : print_copy)(m, c);
        return;
    }
    if (c->at.lanes > 1 || emit_converts(m, c->at.buffer)) {
        print_store(m, c);
        return;
    }
    struct str place = { 0 }, *out = m->out;
    m->out = &place;
    emit_place(m, &c->at, true);
    m->out = out;
    emit_indent(m);
    print_update(m, str_text(&place), c->how, c->value, 1);
    str_free(&place);
}

/* Whether the body b of a loop updates vectors that live longer than an iteration.  If a compiler
 * unrolls such a loop, its iterations share inputs, and the compiler spills accumulators to keep
 * these inputs. */
static bool accumulates(const struct emit *m, const struct block *b)
{
    for (int i = 0; i < b->n; i++) {
        const struct code *c = b->item[i];
        if (c->kind == CODE_SET ?
                c->reg >= 0 && c->how != STORE_SET && m->u->regs.data[c->reg].lanes > 1 :
                accumulates(m, &c->body))
            return true;
    }
    return false;
}

/* mark_begin prints the mark where a loop begins, mark_end the mark where it ends, if
 * gen_opts.marks is set. */
static void mark_begin(struct emit *m, const struct code *c)
{
    if (m->u->opts->marks)
        str_printf(m->out, "%c%d %d %.0f %s\n", GEN_MARK, c->node, c->number, code_trips(c),
                   c->axis ? c->axis : "");
}

static void mark_end(struct emit *m)
{
    if (m->u->opts->marks)
        str_printf(m->out, "%c\n", GEN_MARK);
}

/* Prints a bound loop, whose variable is an index of the block or thread.  Its statements stand in
 * braces. alone: whether the loop is alone in its block and needs no braces. */
static void print_bound(struct emit *m, const struct code *c, bool alone)
{
    int mark = names_mark(m->names);
    const char *name = loop_ann_name[c->ann];
    mark_begin(m, c);
    if (!alone)
        emit_line(m, "{");
    m->depth += !alone;
    names_claim_var(m->names, c->var);
    emit_line(m, "const %s %s = %sIdx.%c;    /* %s: 0 .. %lld */", m->index,
              names_var(m->names, c->var), c->ann < LOOP_THREAD_X ? "block" : "thread",
              name[strlen(name) - 1], c->axis, (long long)c->end->value - 1);
    code_print_block(m, &c->body);
    m->depth -= !alone;
    if (!alone)
        emit_line(m, "}");
    mark_end(m);
    emit_leave(m, mark);
}

/* Prints a pragma that keeps a loop from being unrolled.  For gcc, "unroll 1" allows one iteration
 * beside the first, so with this pragma gcc unrolls a loop of two iterations completely, however
 * large the code gets.  Such a loop gets no pragma for gcc: without one, gcc -O2 unrolls no loop
 * whose code would grow. */
static void print_rolled(struct emit *m, const struct code *c)
{
    bool pair = code_trips(c) == 2;
    *(pair ? &m->needs.rolled_pair : &m->needs.rolled) = true;
    emit_line(m, pair ? "ROLLED_PAIR" : "ROLLED");
}

static void print_for(struct emit *m, const struct code *c)
{
    bool share = m->u->opts->openmp && c->ann == LOOP_PARALLEL && !m->in_parallel;
    struct bounds bounds = emit_bounds(m, c, c->ann != LOOP_PARALLEL);
    int mark = names_mark(m->names);
    mark_begin(m, c);
    if (c->note)
        emit_line(m, "/* %s */", c->note);
    if (share) {
        emit_indent(m);
        code_team(c, m->out);
        m->in_parallel = true;
    }
    if (c->reduce && accumulates(m, &c->body))
        print_rolled(m, c);
    emit_for(m, c, &bounds);
    m->depth++;
    code_print_block(m, &c->body);
    m->depth--;
    emit_line(m, "}");
    mark_end(m);
    m->in_parallel &= !share;
    emit_leave(m, mark);
}

static void print_if(struct emit *m, const struct code *c)
{
    int mark = names_mark(m->names);
    emit_indent(m);
    str_add(m->out, "if (");
    emit_index(m, c->cond, 0, 0);
    str_add(m->out, ") {\n");
    m->depth++;
    code_print_block(m, &c->body);
    m->depth--;
    emit_line(m, "}");
    emit_leave(m, mark);
}

/* Declares a pointer to a large array that each thread has once, and that a function returns.  The
 * copies of a scope (in an unrolled or cut loop) use the array one after the other.  The compiler
 * must not inline the function: the call for thread-local storage would then stand in a loop, and
 * clang 14 keeps vectors in registers across this call, which can overwrite them. */
static void print_thread_array(struct emit *m, int buffer)
{
    const struct buffer *b = &m->u->func->buffer[buffer];
    const char *of_thread = m->of_thread[buffer], *c = b->type->c;
    str_printf(m->out, "%s *%s = %s();    /* ", c, m->buffer[buffer], of_thread);
    if (m->has_memory[buffer])
        return;
    m->has_memory[buffer] = true;
    str_printf(&m->statics, "static __attribute__((noinline)) %s *%s(void)\n{\n", c, of_thread);
    str_printf(&m->statics, "    static _Thread_local %s memory[%lld] ", c, (long long)b->elems);
    str_printf(&m->statics, "__attribute__((aligned(64)));\n    %s *p = memory;\n"
                            "    __asm__ volatile(\"\" : \"+r\"(p));\n    return p;\n}\n\n", c);
}

/* Declares the array of a scope.  A small array, or any array of a GPU's thread, is on the stack.
 * A large array, or one for which the stack has no room, is in static memory of the thread that
 * runs the declaration, so that kernels are reentrant.  If the scope contains a parallel loop, the
 * threads of this loop share the array. */
static void print_array(struct emit *m, const struct code *scope)
{
    const struct buffer *b = &m->u->func->buffer[scope->buffer];
    int64_t bytes = buffer_bytes(b);
    bool large = !m->gpu && (bytes > STACK_BYTES || m->on_stack + bytes > STACK_TOTAL);
    const char *name = m->buffer[scope->buffer] = names_claim(m->names, b->name);
    m->on_stack += large ? 0 : bytes;
    m->most_on_stack = m->on_stack > m->most_on_stack ? m->on_stack : m->most_on_stack;
    emit_indent(m);
    if (large)
        print_thread_array(m, scope->buffer);
    else
        str_printf(m->out, "%s %s[%lld]%s;    /* ", b->type->c, name, (long long)b->elems,
                   m->gpu ? "" : " __attribute__((aligned(64)))");
    code_print_shape(m->out, b);
    str_add(m->out, " */\n");
}

/* Prints a scope.  Shared arrays are not declared here, but at the head of the kernel. alone:
 * whether the scope is alone in its block and needs no braces; note: a comment, or NULL. */
static void print_scope(struct emit *m, const struct code *c, bool alone, const char *note)
{
    int mark = names_mark(m->names);
    int64_t on_stack = m->on_stack;
    bool shared = c->buffer >= 0 && m->u->func->buffer[c->buffer].memory == MEMORY_SHARED;
    if (!alone) {
        emit_line(m, note ? "{    /* %s */" : "{", note);
        m->depth++;
    }
    if (c->buffer >= 0 && !shared)
        print_array(m, c);
    code_print_block(m, &c->body);
    if (!alone) {
        m->depth--;
        emit_line(m, "}");
    }
    m->on_stack = on_stack;
    emit_leave(m, mark);
}

static void print_again(struct emit *m, const struct code *c)
{
    const char *from = m->buffer[c->buffer];
    if (m->gpu)
        return;
    m->needs.again[emit_converts(m, c->buffer)] = true;
    if (pointers_again(m, c->buffer))
        return;
    m->touched[c->buffer] = true;
    m->again[c->again] = names_claim(m->names, arena_printf(m->u->arena, "%s_again", from));
    emit_line(m, "const %s *%s = %sagain(%s);", m->u->func->buffer[c->buffer].type->c,
              m->again[c->again], narrow_prefix(m, c->buffer), from);
}

static void print_ahead(struct emit *m, const struct code *c)
{
    m->needs.prefetch[emit_converts(m, c->at.buffer)] = true;
    emit_indent(m);
    str_printf(m->out, "%sprefetch(", narrow_prefix(m, c->at.buffer));
    emit_address(m, &c->at, false);
    str_add(m->out, ", ");
    emit_index(m, c->by, 0, 0);
    str_add(m->out, ");\n");
}

static void print_pick(struct emit *m, const struct code *c)
{
    m->needs.pick = true;
    names_claim_var(m->names, c->var);
    emit_indent(m);
    str_printf(m->out, "const long %s = pick(", names_var(m->names, c->var));
    emit_value(m, c->value, 1);
    str_printf(m->out, ", %lld);\n", (long long)c->var->hi);
}

/* Returns the index after the straight line (block_line_end) that starts at item i, including
 * copies of pointers and prefetches. */
static int straight_end(const struct block *b, int i)
{
    while (i < b->n && (b->item[i]->kind == CODE_AGAIN || b->item[i]->kind == CODE_AHEAD ||
                        block_line_end(b, i) > i))
        i++;
    return i;
}

void code_print_block(struct emit *m, const struct block *b)
{
    int line_end = -1;
    print_late_registers(m, b);
    for (int i = 0; i < b->n; i++) {
        const struct code *c = b->item[i];
        if (i >= line_end && c->kind != CODE_NOTE && !zeroes(m, c)) {
            line_end = straight_end(b, i);
            pointers_declare(m, b, i, line_end);
        }
        if (c->note && c->kind != CODE_NOTE && c->kind != CODE_FOR && c->kind != CODE_SCOPE)
            emit_line(m, "/* %s */", c->note);
        switch (c->kind) {
        case CODE_NOTE:
            if (i + 1 < b->n && b->item[i + 1]->kind == CODE_SCOPE)
                print_scope(m, b->item[++i], false, c->note);
            else
                emit_line(m, "/* %s */", c->note);
            break;
        case CODE_FOR:
            if (m->gpu && loop_is_bound(c->ann))
                print_bound(m, c, b->n == 1);
            else
                print_for(m, c);
            break;
        case CODE_IF:
            print_if(m, c);
            break;
        case CODE_SCOPE:
            print_scope(m, c, b->n == 1, c->note);
            break;
        case CODE_SET:
            if (zeroes(m, c))
                i += print_zeroes(m, b, i) - 1;
            else
                print_set(m, c);
            break;
        case CODE_AGAIN:
            print_again(m, c);
            break;
        case CODE_AHEAD:
            print_ahead(m, c);
            break;
        case CODE_PICK:
            print_pick(m, c);
            break;
        case CODE_BARRIER:
            code_print_sync(m, c);
            break;
        case CODE_FRAGMENT:
            code_print_fragment(m, c);
            break;
        case CODE_TENSOR:
            code_print_tensor(m, c);
            break;
        default:
            UNREACHABLE();
        }
    }
}

static void print_notation(struct str *out, const struct buffer *b)
{
    struct str text = { 0 };
    if (b->layout && layout_notation(b->layout, &text))
        str_printf(out, "%s, ", str_text(&text));
    str_free(&text);
}

/* Prints the lines of `text` (buffer.holds): the constants that are stored inside a parameter. */
static void print_held(struct str *out, const char *text)
{
    for (const char *line = text; line && *line; line += *line == '\n') {
        size_t n = strcspn(line, "\n");
        str_printf(out, " *            %.*s\n", (int)n, line);
        line += n;
    }
}

/* Prints the shape and the layout of each parameter: " * Inp [1][58][58][64] N H W I,". */
static void print_shapes(struct emit *m, const char *name)
{
    const struct func *f = m->u->func;
    str_printf(m->out, "/* %s\n", name);
    for (int i = 0; i < f->n_params; i++) {
        const struct buffer *b = &f->buffer[i];
        str_printf(m->out, " *   %-8s ", m->buffer[i]);
        code_print_shape(m->out, b);
        str_add(m->out, "  ");
        print_notation(m->out, b);
        str_add(m->out, !b->written    ? "read\n" :
                        b->read        ? "written and read\n" :
                        m->streamed[i] ? "written past the caches: aligned to its vectors\n" :
                                         "written\n");
        print_held(m->out, b->holds);
    }
    str_add(m->out, " */\n");
}

static void print_signature(struct emit *m, const char *name)
{
    const struct func *f = m->u->func;
    const char **type = ARENA_ARRAY(m->u->arena, const char *, f->n_params + 1);
    for (int i = 0; i < f->n_params; i++)
        type[i] = arena_printf(m->u->arena, "%s%s *restrict ", f->buffer[i].written ? "" : "const ",
                               f->buffer[i].type->c);
    emit_signature(m, name, type);
}

static bool streams(const struct emit *m)
{
    for (int i = 0; i < m->u->func->n_buffers; i++)
        if (m->streamed[i])
            return true;
    return false;
}

static void print_entry(struct emit *m, const char *name)
{
    if (m->u->func->autovectorize)
        str_add(m->out, GEN_BOUND);
    str_printf(m->out, "\nvoid ts_entry(%s *const *buffers)\n{\n", emit_entry_type(m->u));
    str_printf(m->out, "    %s(", name);
    for (int i = 0; i < m->u->func->n_params; i++)
        str_printf(m->out, "%sbuffers[%d]", i ? ", " : "", i);
    str_add(m->out, m->u->func->n_params ? ");\n}\n" : ");\n    (void)buffers;\n}\n");
}

/* Claims the names of the functions for large local arrays, so that no name inside the kernel
 * hides them. */
static void claim_functions(struct emit *m)
{
    const struct func *f = m->u->func;
    for (int i = f->n_params; i < f->n_buffers; i++)
        m->of_thread[i] = names_claim(m->names, arena_printf(m->u->arena, "%s_of_thread",
                                                             f->buffer[i].name));
}

void code_print_c(struct unit *u, struct str *out)
{
    struct emit m;
    struct str body = { 0 };
    const char *name = u->opts->name ? u->opts->name : "kernel";
    emit_open(&m, u, &body);
    claim_functions(&m);
    m.depth = 1;
    code_print_block(&m, &u->body);
    m.out = out;
    if (u->opts->header)
        emit_comment(out, u->opts->header);
    emit_helpers(&m, out);
    str_add(out, str_text(&m.statics));
    print_shapes(&m, name);
    print_signature(&m, name);
    str_add(out, "{\n");
    for (int i = 0; i < u->func->n_params; i++)
        if (!m.touched[i])
            str_printf(out, "    (void)%s;\n", m.buffer[i]);
    emit_wrapped(out, str_text(&body));
    if (streams(&m))
        str_add(out, "    stream_done();\n");
    str_add(out, "}\n");
    print_entry(&m, name);
    str_free(&body);
    str_free(&m.statics);
    emit_close(&m);
}
