/* Walks through the memory accesses of a lowered program without compiling it: an interpreter of
 * the code that the instrumented kernel is printed from.  Both make the same accesses in the same
 * order.  An access takes a few nanoseconds, so a walk suits samples and windows of a run. */
#ifndef TS_GEN_WALK_H
#define TS_GEN_WALK_H
#include "kernels/base/subprocess.h"
#include "kernels/gen/gen.h"

/* A loop of the code. trips: the largest number of iterations; parent: the loop around it, or -1;
 * mark: its number among the marked loops (gen.h, struct trace_mark), or -1. */
struct walk_loop { const char *axis; int node; int64_t trips; int parent, mark; };

/* access: called for every access. mark: as in struct ts_sim. iteration: called at the head of each
 * iteration that `mark` does not skip; may be NULL. */
struct walk_calls {
    void *ctx;
    void (*access)(void *ctx, unsigned long long addr, unsigned site, unsigned bytes);
    int (*mark)(void *ctx, int mark);
    void (*iteration)(void *ctx, int loop, int64_t value);
};

struct walk;
/* f must outlive the walk, which uses its pool of expressions.  Like gen_c, adds the work of the
 * code to o->work. */
bool walk_open(const struct func *f, const struct gen_opts *o, struct walk **out, struct err *e);
void walk_close(struct walk *w);
const struct site *walk_sites(const struct walk *w, int *n);
const struct walk_loop *walk_loops(const struct walk *w, int *n);
int walk_n_marks(const struct walk *w);
const char *walk_along(const struct walk *w);  /* axes of the first marked loop, or "" */
/* Returns the innermost loop around the access at a site, or -1.  A site can be in several loops,
 * for example in the pieces of a loop that a split does not divide.  The result is then the loop in
 * which the access runs most often. */
int walk_site_loop(const struct walk *w, int site);
/* Stores how much memory one iteration of the loop walk_site_loop(w, site) accesses at the site.
 * *bytes: from the first byte to the last one.  *lines: cache lines, if the first byte begins a
 * line. */
void walk_site_reach(const struct walk *w, int site, int line_bytes, int64_t *bytes,
                     int64_t *lines);
/* How a loop moves the address of an access.  A way of one part moves the address by `stride` bytes
 * in each of `trips` iterations.  A way can have several parts, which act like nested loops, the
 * innermost first.  For example, 64*(i % 2) + 4096*(i / 2) has the parts {64, 2} and {4096, n}: the
 * second part moves the address by 4096 bytes every two iterations. */
#define WALK_MOST_PARTS 4
struct walk_part { int64_t stride, trips; };
struct walk_way { int n; struct walk_part part[WALK_MOST_PARTS]; };
/* Returns how `loop` moves the access at a site; the only part is {0, trips} if the loop does not
 * move it.  If WALK_MOST_PARTS parts do not suffice, or a part is very long, the last part goes on
 * as it began. */
struct walk_way walk_way(const struct walk *w, int site, int loop);
/* Makes walks end early when clock_s() is later than `deadline` (0: no deadline), or when c is
 * raised. */
void walk_limit(struct walk *w, double deadline, const struct cancel *c);
void walk_stop(struct walk *w);                /* ends the walk; for use in a callback */
bool walk_ended_early(const struct walk *w);   /* whether the last walk ended early */
/* Counts for each marked loop its iterations, and the accesses that all of them make together.
 * *all: the accesses of the whole run.  Where no condition or bound inside a loop depends on its
 * variable, multiplies by the number of iterations and does not walk them.  Returns false when the
 * walk ended early. */
bool walk_count(struct walk *w, double *iterations, double *accesses, double *all);
/* Makes the accesses of one run. base[b]: the address of buffer b. */
void walk_run(struct walk *w, const unsigned long long *base, const struct walk_calls *calls);

/* Walks of code for a GPU, whose threads run in warps of 32.
 *
 * All warps of a block make an access before any warp makes the next one, so barriers hold.  The
 * threads of a warp make an access together if they make it in the same iteration.  Iterations are
 * counted from the first one of each thread, as the hardware runs them.  A thread does not take
 * part where a condition does not hold for it, or after its loop has ended. */
#define WALK_WARP 32
#define WALK_MOST_THREADS 1024
int walk_n_kernels(const struct walk *w);
/* Returns the launch of a kernel: the numbers of blocks in x y z, then of threads in x y z. */
const int64_t *walk_launch(const struct walk *w, int kernel);
/* An access of a warp: bit t of active says whether thread t accesses addr[t]. */
typedef void walk_warp_fn(void *ctx, int warp, uint32_t active, const unsigned long long *addr,
                          unsigned site, unsigned bytes);
/* Makes the accesses of block number `block`.  Blocks are numbered with x fastest. Does nothing
 * when a callback has ended the walk. */
void walk_block(struct walk *w, int kernel, int64_t block, const unsigned long long *base,
                walk_warp_fn *access, void *ctx);
#endif
