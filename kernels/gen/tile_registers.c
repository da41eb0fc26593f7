#include "kernels/gen/tile_registers.h"
#include "kernels/gen/gen.h"

#define OPERANDS 2                        /* registers that every loop needs for its operands */
#define DEEPEST 64                        /* most rolled loops around a store */
#define LARGEST (1 << 14)                 /* elements; larger tiles never become registers */

struct tile_walk {
    int buffer, lanes;                    /* lanes: 2 if a store to the tile is a vector, else 1 */
    /* inside: whether the walk is in the scope of the tile. known: whether no store so far has an
     * index that depends on a rolled loop */
    bool inside, known;
    const struct expr *rolled[DEEPEST];   /* variables of loops that remain loops */
    int n_rolled;
    const struct expr *lane;              /* variable of the enclosing loop over lanes, or NULL */
};

static void look_at_store(struct tile_walk *w, const struct tree *t)
{
    if (t->buffer != w->buffer)
        return;
    for (int d = 0; d < t->rank; d++) {
        for (int i = 0; i < w->n_rolled; i++)
            w->known = w->known && !expr_uses(t->idx[d], w->rolled[i]);
        if (w->lane && expr_uses(t->idx[d], w->lane))
            w->lanes = 2;
    }
}

static void walk_tile(struct tile_walk *w, const struct tree *t)
{
    if (t->kind == TREE_STORE) {
        look_at_store(w, t);
        return;
    }
    bool was_inside = w->inside;
    const struct expr *lane = w->lane;
    int n = w->n_rolled;
    if (t->kind == TREE_SCOPE)
        w->inside = w->inside || t->buffer == w->buffer;
    else if (t->ann == LOOP_VECTORIZE)
        w->lane = t->var;
    else if (t->ann != LOOP_UNROLL && w->inside && t->extent > 1 && n < DEEPEST)
        w->rolled[w->n_rolled++] = t->var;
    for (int i = 0; i < t->n_kids; i++)
        walk_tile(w, t->kid[i]);
    w->inside = was_inside;
    w->lane = lane;
    w->n_rolled = n;
}

int64_t tile_registers(const struct func *f, int buffer, const struct target *t)
{
    const struct buffer *b = &f->buffer[buffer];
    struct tile_walk w = { .buffer = buffer, .lanes = 1, .known = true };
    if (b->memory != MEMORY_LOCAL || t->gpu || b->elems > LARGEST)
        return 0;
    for (int i = 0; i < f->n_roots; i++)
        walk_tile(&w, f->root[i]);
    if (!w.known)
        return 0;
    if (b->rank == 0)
        return 1;
    int64_t lanes = w.lanes > 1 ? target_lanes(t, b->type) : 1, row = b->shape[b->rank - 1];
    return b->elems / row * ((row + lanes - 1) / lanes);
}

/* Generates the code only to count its work; tile: struct gen_work, asked. */
static struct gen_work work_of(const struct func *f, const struct target *t, int tile)
{
    struct gen_work work = { .asked = tile };
    const struct gen_opts o = { .target = t, .work = &work };
    struct str text = {0};
    struct err ignored;
    bool ok = gen_c(f, &o, &text, &ignored);
    str_free(&text);
    return ok ? work : (struct gen_work){0};
}

/* Whether more registers than t has are live in the straight line of code that takes most cycles.
 * Then *out is the tile that takes most registers of that line. */
static bool hot_tile_spills(const struct func *f, const struct target *t, struct tile_spill *out)
{
    struct gen_work work = work_of(f, t, 0);
    if (!work.tile || work.pressure <= t->registers)
        return false;
    *out = (struct tile_spill){ work.tile, (int64_t)work.tile_registers,
                                (int64_t)(work.pressure - work.tile_registers) };
    return true;
}

static bool is_local(const struct func *f, int buffer)
{
    return f->buffer[buffer].memory == MEMORY_LOCAL;
}

bool tile_that_spills(const struct func *f, const struct target *t, struct tile_spill *out)
{
    int64_t all = 0;
    bool in_part = false;                 /* whether a part of a tile may be in registers */
    for (int i = f->n_params; i < f->n_buffers && !t->gpu; i++) {
        int64_t n = tile_registers(f, i, t);
        all += n;
        in_part = in_part || (n == 0 && is_local(f, i));
        if (n > t->registers) {
            *out = (struct tile_spill){ i, n, 0 };
            return true;
        }
    }
    /* If more than OPERANDS registers are left beside the tiles, no tile spills: code_share keeps
     * only as many loads as fit into the registers that are left. */
    return (in_part || all + OPERANDS >= t->registers) && hot_tile_spills(f, t, out);
}

const char *tile_spill_note(const struct func *f, const struct target *t, struct str *out)
{
    struct tile_spill s;
    if (!tile_that_spills(f, t, &s))
        return NULL;
    str_printf(out, "spills: takes %lld of %d vector registers", (long long)s.registers,
               t->registers);
    if (s.operands)
        str_printf(out, ", and operands need %lld", (long long)s.operands);
    return f->buffer[s.tile].name;
}

const char *tile_that_leaves(const struct func *f, const struct func *than,
                             const struct target *t)
{
    for (int i = than->n_params; i < than->n_buffers; i++) {
        int64_t n = tile_registers(than, i, t);
        for (int k = f->n_params; n > 0 && n <= t->registers && k < f->n_buffers; k++) {
            if (streq(f->buffer[k].name, than->buffer[i].name) && tile_registers(f, k, t) == 0
                && work_of(f, t, k).asked_registers == 0)
                return f->buffer[k].name;
        }
    }
    return NULL;
}
