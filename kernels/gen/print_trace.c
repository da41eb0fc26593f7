/* Code as its tracing twin: the same loops and conditions, and instead of each statement the
 * addresses it touches. Records are appended to the caller's buffer; the room for the next
 * ROOM of them is checked once. */
#include "kernels/gen/emit.h"

#define ROOM 64

struct trace {
    struct emit m;
    int room;                             /* records that fit without a further check */
};

static bool term_reads(const struct term *t)
{
    bool reads = t->kind == TERM_LOAD;
    reads = reads || (t->a && term_reads(t->a)) || (t->b && term_reads(t->b));
    for (int i = 0; t->part && i < t->lanes && !reads; i++)
        reads = term_reads(t->part[i]);
    return reads;
}

static bool touches_memory(const struct block *b)
{
    for (int i = 0; i < b->n; i++) {
        const struct code *c = b->item[i];
        if (c->kind == CODE_SET ? c->reg < 0 || term_reads(c->value) : touches_memory(&c->body))
            return true;
    }
    return false;
}

static void print_record(struct trace *t, const struct place *at, int site)
{
    struct emit *m = &t->m;
    if (t->room == 0) {
        emit_line(m, "if (rec > last) {");
        emit_line(m, "    rec = flush(ctx, rec);");
        emit_line(m, "    last = rec + (cap - %d);", ROOM);
        emit_line(m, "}");
        t->room = ROOM;
    }
    t->room--;
    m->touched[at->buffer] = true;
    emit_indent(m);
    str_printf(m->out, "*rec++ = (struct ts_rec){ %s + 4 * (unsigned long long)(",
               m->buffer[at->buffer]);
    emit_index(m, at->base, at->rest, 0);
    str_printf(m->out, "), %d, %d };\n", site, 4 * at->lanes);
}

static void print_reads(struct trace *t, const struct term *v)
{
    switch (v->kind) {
    case TERM_CONST: case TERM_REG:
        return;
    case TERM_LOAD:
        print_record(t, &v->at, v->site);
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
        break;
    default:
        UNREACHABLE();
    }
    const struct term *side[2] = { v->a, v->b };
    for (int i = 0; i < 2; i++) {
        if (!term_reads(side[i]))
            continue;
        emit_indent(&t->m);
        str_add(t->m.out, i ? "if (!(" : "if (");
        emit_index(&t->m, v->cond, 0, 0);
        str_add(t->m.out, i ? ")) {\n" : ") {\n");
        t->m.depth++;
        t->room = 0;
        print_reads(t, side[i]);
        t->m.depth--;
        emit_line(&t->m, "}");
    }
    t->room = 0;
}

static void print_set(struct trace *t, const struct code *c)
{
    print_reads(t, c->value);
    if (c->reg >= 0)
        return;
    if (c->how != STORE_SET)
        print_record(t, &c->at, c->site_load);
    print_record(t, &c->at, c->site_store);
}

static void print_block(struct trace *t, const struct block *b);

static void print_body(struct trace *t, const struct code *c)
{
    t->m.depth++;
    t->room = 0;
    print_block(t, &c->body);
    t->room = 0;
    t->m.depth--;
    emit_line(&t->m, "}");
}

static void print_block(struct trace *t, const struct block *b)
{
    struct emit *m = &t->m;
    for (int i = 0; i < b->n; i++) {
        const struct code *c = b->item[i];
        int mark = names_mark(m->names);
        if (c->kind == CODE_SET) {
            print_set(t, c);
        } else if (c->kind == CODE_NOTE || c->kind == CODE_AGAIN || !touches_memory(&c->body)) {
            continue;
        } else if (c->kind == CODE_FOR) {
            emit_for(m, c);
            print_body(t, c);
        } else if (c->kind == CODE_IF) {
            emit_indent(m);
            str_add(m->out, "if (");
            emit_index(m, c->cond, 0, 0);
            str_add(m->out, ") {\n");
            print_body(t, c);
        } else {
            print_block(t, &c->body);
        }
        names_reset(m->names, mark);
    }
}

static const char prologue[] =
    "struct ts_rec { unsigned long long addr; unsigned site; unsigned bytes; };\n\n";
static const char signature[] =
    "void ts_trace(const unsigned long long *base, struct ts_rec *buf, long cap,\n"
    "              struct ts_rec *(*flush)(void *ctx, struct ts_rec *end), void *ctx)\n{\n";

/* Local buffers need a name that is visible everywhere. */
static void claim_locals(struct emit *m)
{
    const struct func *f = m->u->func;
    for (int i = f->n_params; i < f->n_buffers; i++)
        m->buffer[i] = names_claim(m->names, f->buffer[i].name);
}

void code_print_trace(struct unit *u, struct str *out)
{
    struct trace t = { .room = 0 };
    struct str body = { 0 };
    emit_open(&t.m, u, &body);
    claim_locals(&t.m);
    t.m.depth = 1;
    print_block(&t, &u->body);
    str_add(out, prologue);
    emit_helpers(&t.m, out);
    str_add(out, signature);
    for (int i = 0; i < u->func->n_buffers; i++)
        if (t.m.touched[i])
            str_printf(out, "    const unsigned long long %s = base[%d];\n", t.m.buffer[i], i);
    str_printf(out, "    struct ts_rec *rec = buf, *last = buf + (cap - %d);\n%s", ROOM,
               str_text(&body));
    str_add(out, "    flush(ctx, rec);\n    (void)base;\n    (void)last;\n}\n");
    str_free(&body);
    emit_close(&t.m);
}
