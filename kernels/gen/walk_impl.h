/* The nodes that walks run: private to walk.c and walk_block.c. */
#ifndef TS_GEN_WALK_IMPL_H
#define TS_GEN_WALK_IMPL_H
#include "kernels/gen/gen_impl.h"
#include "kernels/gen/walk.h"

#define CLOCK_EVERY 8192                  /* iterations between two looks at the clock */

/* STREAM: a non-temporal store, which is counted, but reaches no cache. */
enum walk_kind { WALK_LOOP, WALK_IF, WALK_ACCESS, WALK_STREAM, WALK_PICK };

/* A product in an address: coef * other. var: the number of the variable if `other` is one, else
 * -1. varies: whether the value differs between the threads of a block. */
struct product { int var; int64_t coef; const struct expr *other; bool varies; };

struct walk_node {
    enum walk_kind kind;
    int loop;                             /* LOOP: its number */
    bool asks;                            /* LOOP: whether a condition or bound inside uses var */
    const struct expr *var, *begin, *end; /* LOOP; PICK: var */
    const struct expr *cond;              /* IF: the body runs where cond has the value `holds` */
    bool holds;
    enum loop_ann ann;                    /* LOOP */
    bool varies;  /* LOOP: whether var or a bound differs between threads; IF: whether cond does */
    int n;                                /* LOOP, IF: nodes of the body; ACCESS: products */
    const struct walk_node *body;
    /* ACCESS: base[buffer] + rest + the sum of the products, in bytes */
    const struct product *product;
    int64_t rest;
    int buffer;
    unsigned site, bytes;
    struct swizzle swizzle;               /* ACCESS: applies to the offset in bytes */
};

/* A kernel of a GPU: the nodes root[first, first + n). extent: the numbers of blocks in x y z, then
 * of threads in x y z. thread: the variable with the number of a thread in its block; it decides
 * which part of a tile the thread fills. */
struct walk_kernel { int first, n; int64_t extent[6]; const struct expr *thread; };

/* The accesses at a site that are directly inside of `loop`.  If several loops have such accesses,
 * `loop` is the one in which they run most often, `times` times. access: the first of the accesses;
 * span: the members `rest` and `bytes` of the node of each access. */
struct site_span { int64_t rest, bytes; };
struct site_use {
    int loop;
    double times;
    const struct walk_node *access;
    VEC(struct site_span) span;
};

struct walk {
    struct unit unit;
    struct gen_opts opts;
    struct arena *arena;
    struct marked marked;
    VEC(struct walk_loop) loops;
    VEC(struct walk_kernel) kernels;
    /* while nodes are added: the visible variables that differ between threads */
    VEC(const struct expr *) varying;
    struct site_use *use;                 /* per site; access NULL: never accessed */
    const struct walk_node *root;
    int n_root;
    int64_t *value;                       /* per variable of the pool */
    const unsigned long long *base;
    const struct walk_calls *calls;
    unsigned long long random;
    double deadline;
    const struct cancel *cancel;
    int until_clock;
    bool stopped;
};

static inline void walk_look_at_clock(struct walk *w)
{
    if (--w->until_clock > 0)
        return;
    w->until_clock = CLOCK_EVERY;
    if (cancelled(w->cancel) || (w->deadline > 0 && clock_s() > w->deadline))
        w->stopped = true;
}
#endif
