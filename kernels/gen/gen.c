/* Runs the passes from a lowered program to text. */
#include "kernels/gen/gen_impl.h"

#include <stdatomic.h>

static atomic_long calls;

/* Finds the type of all computations (u->type) and the type of the narrow buffers (u->narrow).
 * Fails if the buffers need several types of computations or have several narrow types. */
static bool find_types(struct unit *u, const struct func *f, struct err *e)
{
    const struct elem_type *first = f->n_buffers > 0 ? f->buffer[0].type : &type_f32;
    u->type = first->sum;
    for (int i = 0; i < f->n_buffers; i++) {
        const struct elem_type *type = f->buffer[i].type;
        bool narrow = type_is_narrow(type);
        if (type->sum != u->type || (narrow && u->narrow && type != u->narrow))
            return err_set(e, ERR_STEP, "%s has elements of type %s, but %s has type %s: a kernel "
                           "computes in one type", f->buffer[0].name, first->name,
                           f->buffer[i].name, type->name);
        u->narrow = narrow ? type : u->narrow;
    }
    return true;
}

bool unit_open(struct unit *u, const struct func *f, const struct gen_opts *o, struct err *e)
{
    *u = (struct unit){ .arena = arena_new(), .func = f, .opts = o };
    if (!target_takes(o->target, f, e) || !find_types(u, f, e))
        return false;
    u->lanes = target_lanes(o->target, u->type);
    if (o->target->gpu)
        code_share_threads(u);
    if (!code_build(u, e))
        return false;
    if (o->target->gpu && !code_has_kernels(u, e))
        return false;
    code_tidy(u);
    code_promote(u);
    if (!code_tensors_in_registers(u, e))
        return false;
    code_hoist(u);
    code_combine(u);
    code_drop_dead(u);
    code_share(u);
    if (o->target->gpu)
        code_pair_stores(u);
    else
        code_prefetch(u);
    code_declare(u);
    return true;
}

void unit_close(struct unit *u)
{
    vec_free(&u->regs);
    vec_free(&u->fragments);
    vec_free(&u->sites);
    arena_free(u->arena);
}

static int count(const char *text, const char *part)
{
    int n = 0;
    for (; (text = strstr(text, part)) != NULL; text++)
        n++;
    return n;
}

bool gen_autovectorizes(const char *source)
{
    int joined = count(source, "\nvoid ts_entry_");
    return count(source, GEN_FREE) == (joined > 0 ? joined : 1);
}

long gen_calls(void)
{
    return atomic_load(&calls);
}

bool gen_c(const struct func *f, const struct gen_opts *o, struct str *out, struct err *e)
{
    atomic_fetch_add(&calls, 1);
    struct unit u;
    bool ok = unit_open(&u, f, o, e);
    if (ok && f->autovectorize)
        str_add(out, GEN_FREE);
    if (ok && o->work)
        code_count_work(&u, o->work);
    if (ok)
        o->target->print(&u, out);
    unit_close(&u);
    return ok;
}

bool gen_cuda(const struct func *f, const struct gen_opts *o, struct str *out,
              struct gen_launches *launches, struct err *e)
{
    struct unit u;
    bool ok = unit_open(&u, f, o, e);
    if (ok)
        code_print_cuda(&u, exprs_arena(f->pool), out, launches);
    unit_close(&u);
    return ok;
}

bool gen_trace(const struct func *f, const struct gen_opts *o, int line_bytes, struct str *out,
               struct trace_table *table, struct err *e)
{
    struct unit u;
    bool ok = unit_open(&u, f, o, e);
    if (ok) {
        code_print_trace(&u, line_bytes, exprs_arena(f->pool), out, table);
        table->site = ARENA_DUP(exprs_arena(f->pool), u.sites.data, u.sites.len);
        table->n_sites = u.sites.len;
    }
    unit_close(&u);
    return ok;
}
