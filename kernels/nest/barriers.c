/* Barriers.  Where the threads of a block share a tile, they wait for each other in two places:
 * between the write of an element and its read by another thread, and before an element is
 * overwritten that another thread may still read (SPEC N).
 *
 * A walk in program order notes which tiles were written and which were read since the last
 * barrier, and puts a barrier before the statement that would collide:
 *
 *     for k.0 in range(64):
 *         barrier                                  A_tile is read by the iteration before
 *         for m, k in threads(64, 8): A_tile[m][k] = A[...]
 *         barrier                                  other threads read what this one wrote
 *         for k.1 in range(8): ... A_tile[...] ...
 *
 * The accesses of an iteration of a loop may also collide with those of the iteration before it.  A
 * barrier stands only where all threads of the block come equally often: on the
 * path to a loop over threads (tree_shares).
 *
 * In the pipelined loop, the stages of a tile are written and read in turns.  The barrier of the
 * loop keeps writes and reads apart (pipeline.c).  Outside of the loop, the stages are a tile like
 * any other. */
#include "kernels/nest/lower_impl.h"

#include <string.h>

struct barriers {
    struct exprs *p;
    const struct buffer *buffer;
    int n;
    bool *written, *read;  /* per tile: whether it was written or read since the last barrier */
    bool *writes, *reads;  /* per tile: whether the tree of find_use stores or loads it */
    bool *staged;                         /* per tile: whether the walk is in its pipelined loop */
};

bool tree_shares(const struct tree *t)
{
    bool found = t->kind == TREE_LOOP && t->ann == LOOP_THREADS;
    for (int i = 0; t->kind != TREE_STORE && i < t->n_kids && !found; i++)
        found = tree_shares(t->kid[i]);
    return found;
}

/* Returns the first buffer with the name of this one: tiles in the pieces of a cut loop share one
 * array. */
static int array_of(const struct barriers *b, int buffer)
{
    int first = 0;
    while (b->buffer[first].memory != MEMORY_SHARED
           || !streq(b->buffer[first].name, b->buffer[buffer].name))
        first++;
    return first;
}

static void note_load(void *ctx, const struct val *load)
{
    struct barriers *b = ctx;
    if (b->buffer[load->source].memory == MEMORY_SHARED)
        b->reads[array_of(b, load->source)] = true;
}

/* Notes which tiles t writes and reads. */
static void add_use(struct barriers *b, const struct tree *t)
{
    if (t->kind == TREE_STORE) {
        if (b->buffer[t->buffer].memory == MEMORY_SHARED)
            b->writes[array_of(b, t->buffer)] = true;
        val_each_load(t->value, note_load, b);
        return;
    }
    for (int i = 0; i < t->n_kids; i++)
        add_use(b, t->kid[i]);
}

static void find_use(struct barriers *b, const struct tree *t)
{
    memset(b->writes, 0, sizeof *b->writes * (size_t)b->n);
    memset(b->reads, 0, sizeof *b->reads * (size_t)b->n);
    add_use(b, t);
}

/* Whether a barrier must stand before t. No barrier can stand inside t. Notes the tiles that t
 * uses. */
static bool collides(struct barriers *b, const struct tree *t)
{
    bool clash = false;
    find_use(b, t);
    for (int i = 0; i < b->n; i++)
        clash |= !b->staged[i] && ((b->writes[i] && (b->read[i] || b->written[i]))
                                   || (b->reads[i] && b->written[i]));
    for (int i = 0; i < b->n; i++) {
        b->written[i] = (b->written[i] && !clash) || b->writes[i];
        /* a thread that fills an element reads only its own elements of the tile */
        b->read[i] = (b->read[i] && !clash) || (b->reads[i] && !b->writes[i]);
    }
    return clash;
}

static const struct tree *place(struct barriers *b, const struct tree *t);

static const struct tree *place_kids(struct barriers *b, const struct tree *t)
{
    struct kids kids = { 0 };
    for (int i = 0; i < t->n_kids; i++)
        vec_push(&kids, place(b, t->kid[i]));
    const struct tree *copy = low_with_kids(b->p, t, &kids);
    vec_free(&kids);
    return copy;
}

static void forget(struct barriers *b)
{
    memset(b->written, 0, sizeof *b->written * (size_t)b->n);
    memset(b->read, 0, sizeof *b->read * (size_t)b->n);
}

/* Notes the tiles that loop t uses: when an iteration begins, the one before it has used them. */
static void note_iteration(struct barriers *b, const struct tree *t)
{
    find_use(b, t);
    for (int i = 0; i < b->n; i++) {
        b->written[i] |= b->writes[i] && !b->staged[i];
        b->read[i] |= b->reads[i] && !b->staged[i];
    }
}

/* Returns t with its barriers. t is a pipelined loop, or the loop of the first copies of one. */
static const struct tree *place_pipelined(struct barriers *b, const struct tree *t)
{
    struct tree *copy = ARENA_DUP(exprs_arena(b->p), t, 1);
    bool clash = false;
    find_use(b, t);
    for (int i = 0; i < b->n; i++) {
        b->staged[i] = b->buffer[i].stages > 0 && b->writes[i];
        clash |= b->staged[i] && !b->reads[i] && (b->read[i] || b->written[i]);
    }
    copy->barrier = clash;
    if (clash)
        forget(b);
    if (t->extent > 1)
        note_iteration(b, t);
    const struct tree *out = place_kids(b, copy);
    memset(b->staged, 0, sizeof *b->staged * (size_t)b->n);
    note_iteration(b, t);
    return out;
}

/* Returns t with its barriers. */
static const struct tree *place(struct barriers *b, const struct tree *t)
{
    if (t->barrier)
        forget(b);
    if (t->pipelined)
        return place_pipelined(b, t);
    if (!tree_shares(t) || (t->kind == TREE_LOOP && t->ann == LOOP_THREADS)) {
        if (!collides(b, t))
            return t;
        struct tree *copy = ARENA_DUP(exprs_arena(b->p), t, 1);
        copy->barrier = true;
        return copy;
    }
    if (t->kind == TREE_LOOP && !loop_is_bound(t->ann) && t->extent > 1)
        note_iteration(b, t);
    return place_kids(b, t);
}

const struct tree *tree_barriers(struct exprs *p, const struct buffer *buffer, int n_buffers,
                                 const struct tree *t)
{
    struct arena *a = exprs_arena(p);
    struct barriers b = { .p = p, .buffer = buffer, .n = n_buffers };
    if (!tree_shares(t))
        return t;
    b.written = ARENA_ARRAY(a, bool, n_buffers);
    b.read = ARENA_ARRAY(a, bool, n_buffers);
    b.writes = ARENA_ARRAY(a, bool, n_buffers);
    b.reads = ARENA_ARRAY(a, bool, n_buffers);
    b.staged = ARENA_ARRAY(a, bool, n_buffers);
    return place(&b, t);
}
