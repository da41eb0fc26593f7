#include "profile/measure/instructions.h"

#include "profile/build/asmtext.h"
#include "profile/measure/once.h"

#include <stdio.h>
#include <string.h>

void instructions_probe(struct counts *out)
{
    struct compiler cc;
    struct err e;
#if !defined __x86_64__
    counts_refuse(out, "reads the assembly of x86-64 only");
    return;
#endif
    out->available = compiler_find(NULL, &cc, &e);
    if (!out->available)
        counts_refuse(out, "%.255s", e.text);
}

struct in_run {
    struct once once;
    struct asm_text text;
    struct build counting, padded;
};

/* Compiles the kernel to assembly, and assembles two copies: with counters, and with marked
 * padding. */
static bool build_copies(struct in_run *r, const struct measure_job *j, struct err *e)
{
    const struct gen_opts o = { .target = j->target };
    struct str text = {0}, assembly = {0};
    bool ok = module_c(j->module, &o, &text, e)
           && build_assembly(&j->cc, str_text(&text), o.target, j->cancel, &assembly, e);
    /* The flags precede the file.  Without --no-as-needed the linker would drop libm, since it has
     * not read a use of libm yet. */
    const char *math = gen_calls_libm(str_text(&text)) ? "-Wl,--no-as-needed,-lm" : NULL;
    const char *const more[] = { "-x", "assembler", math, NULL };
    if (ok)
        asm_read(str_text(&assembly), &r->text);
    str_free(&text);
    str_free(&assembly);
    return ok
        && build_shared_with(&j->cc, str_text(&r->text.counting), o.target, false, more,
                             j->cancel, &r->counting, e)
        && build_shared_with(&j->cc, str_text(&r->text.padded), o.target, false, more, j->cancel,
                             &r->padded, e);
}

/* Compares the result of the counting copy with that of the kernel bit by bit, because both come
 * from the same code and data. A kernel with OpenMP was compiled differently, so the result of its
 * copy is only compared with the reference. */
static bool same_result(const struct in_run *r, struct measure_job *j, struct err *e)
{
    const struct func *f = j->func;
    bool same_code = !module_is_parallel(j->module);
    if (!measure_is_right(j, r->once.data, e))
        return false;
    for (int i = 0; i < f->n_params && same_code; i++)
        if (f->buffer[i].written
            && memcmp(r->once.data[i], runner_data(j->runner, i),
                      (size_t)buffer_bytes(&f->buffer[i])))
            return err_set(e, ERR_WRONG, "the counting kernel computed another %s",
                           f->buffer[i].name);
    return true;
}

/* --- Sums ------------------------------------------------------------------------------------- */

static bool sum_up(const struct asm_text *t, const int64_t *count, const int64_t *nops,
                   struct asm_block *sum, struct err *e)
{
    for (int i = 0; i < t->block.len; i++) {
        const struct asm_block *b = &t->block.data[i];
        sum->n += count[i] * b->n;
        for (int k = 0; k < INSN_KINDS; k++)
            sum->kind[k] += count[i] * b->kind[k];
        sum->loads += count[i] * b->loads;
        sum->stores += count[i] * b->stores;
        sum->stack_loads += count[i] * b->stack_loads;
        sum->stack_stores += count[i] * b->stack_stores;
    }
    for (int i = 0; i < t->pad.len; i++) {
        int64_t times = count[t->pad.data[i]];
        if (times > 0 && nops[i] < 0)
            return err_set(e, ERR_BUG, "the padding before a loop is not a nop");
        sum->n += times > 0 ? times * nops[i] : 0;
        sum->kind[INSN_SCALAR] += times > 0 ? times * nops[i] : 0;
    }
    return true;
}

static void add_share(struct counts *out, const char *name, int64_t part, int64_t whole)
{
    if (whole > 0 && counts_add(out, name, 100.0 * (double)part / (double)whole)) {
        struct count *c = &out->count[out->n - 1];
        snprintf(c->unit, sizeof c->unit, "%%");
        c->derived = true;
    }
}

static void take_sums(const struct asm_block *s, struct counts *out)
{
    const struct { const char *name; int64_t value; } row[] = {
        { "instructions", s->n }, { "loads", s->loads }, { "stores", s->stores },
        { "fma", s->kind[INSN_FMA] }, { "vector", s->kind[INSN_VECTOR] },
        { "scalar", s->kind[INSN_SCALAR] }, { "branches", s->kind[INSN_BRANCH] },
        { "stack_loads", s->stack_loads }, { "stack_stores", s->stack_stores },
    };
    for (int i = 0; i < COUNT_OF(row); i++)
        counts_add(out, row[i].name, (double)row[i].value);
    add_share(out, "fma_share", s->kind[INSN_FMA], s->n);
    add_share(out, "vector_share", s->kind[INSN_VECTOR], s->n);
    add_share(out, "scalar_share", s->kind[INSN_SCALAR], s->n);
    add_share(out, "branch_share", s->kind[INSN_BRANCH], s->n);
}

static bool read_sums(const struct in_run *r, struct counts *out, struct err *e)
{
    const struct asm_text *t = &r->text;
    struct asm_block sum = { .n = 0 };
    struct str bytes = {0};
    size_t n = (size_t)t->block.len + (size_t)t->pad.len;
    bool ok = once_output(&r->once, &bytes, e);
    if (ok && bytes.len != n * sizeof(int64_t))
        ok = err_set(e, ERR_BUG, "the counts of %d blocks are incomplete", t->block.len);
    if (ok) {
        int64_t *count = xmalloc(n * sizeof *count);
        memcpy(count, bytes.data, n * sizeof *count);
        ok = sum_up(t, count, count + t->block.len, &sum, e);
        free(count);
    }
    str_free(&bytes);
    if (ok)
        take_sums(&sum, out);
    return ok;
}

/* Stores how the instructions were counted: the compiler with the last word of its version, the
 * instruction set, and the called functions that are not counted. */
static void say_source(const struct in_run *r, const struct measure_job *j, struct counts *out)
{
    const char *last = strrchr(j->cc.version, ' ');
    struct str s = {0};
    str_printf(&s, "counted blocks of the compiled code, %s %s, %s",
               j->cc.is_clang ? "clang" : "gcc", last ? last + 1 : "", j->target->isa);
    for (int i = 0; i < r->text.call.len; i++)
        str_printf(&s, "%s%s", i ? ", " : "; without ", r->text.call.data[i]);
    if (r->text.repeats)
        str_add(&s, "; rep counts once");
    snprintf(out->source, sizeof out->source, "%.*s", (int)sizeof out->source - 1, str_text(&s));
    str_free(&s);
}

bool instructions_count(struct measure_job *j, struct counts *out, struct err *e)
{
    struct in_run r = { .once = { .data_fd = -1, .out_fd = -1 } };
    bool ok = build_copies(&r, j, e) && once_open(&r.once, j, 0, e);
    struct once_call call = { .so_path = r.counting.so_path, .padding = r.padded.so_path };
    ok = ok && once_run(&r.once, NULL, &call, e) && same_result(&r, j, e)
      && read_sums(&r, out, e);
    once_close(&r.once);
    if (ok)
        say_source(&r, j, out);
    asm_free(&r.text);
    return ok;
}
