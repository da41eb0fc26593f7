/* Loop schedules of an operator's main nest as a space of knobs (SPEC D.5), over any program whose
 * layouts are set.
 *
 *     S1 S2 | R1 | S3 | R2 | S4      S: all output loops at that level, R: all reductions
 *
 * An output dim that the layout leaves whole is split into S1 S2 S3 S4, the outer part of a tiled
 * one (and N) into S1 S2, its inner part into S2 S3 S4; a reduction into R1 R2.  An accumulator
 * tile lives inside the last S2 loop, the S3 and S4 loops of it are written out, the last stored
 * dim is vectorized.  Where blocks of an operand, groups, or the phases of a transposed convolution
 * end inside a loop, it is cut there as well, so that accesses stay affine (SPEC B.6); the phases
 * of the output and of the kernel then run outside of what they select, those of the output also
 * just inside the loops over pixels.
 *
 * What a point stands for is step lines as a person types them; nothing else knows about points. */
#ifndef TS_EXPLORER_SPACE_LOOP_SPACE_H
#define TS_EXPLORER_SPACE_LOOP_SPACE_H
#include "kernels/base/rng.h"
#include "kernels/gen/target.h"
#include "kernels/program/program.h"

#define LOOP_KNOBS 32
#define LOOP_PARTS 4
#define LOOP_STATE 128

enum knob_kind {
    KNOB_SPATIAL, KNOB_REDUCE, KNOB_ORDER, KNOB_PARALLEL, KNOB_VECTORIZE, KNOB_UNROLL,
    KNOB_CACHE_WRITE, KNOB_CACHE_READ, KNOB_CONSUMER, KNOB_PAD, KNOB_RFACTOR,
    KNOB_STREAM, KNOB_KINDS
};
extern const char *const knob_kind_name[KNOB_KINDS];        /* "spatial" "reduce" ... */

struct loop_knob {
    enum knob_kind kind;
    const char *name;                     /* "O.1", "KH"; "order", "unroll", ... */
    int64_t extent;                       /* of a split: what is split; else 0 */
    int parts;                            /* of a split: how many factors, outermost first */
    const char *levels;                   /* of a split: "S1 S2 S3 S4" */
    int n_tiles; const int64_t *tile;     /* of a split: innermost factors beside the dividing ones,
                                           * the outermost is then rounded up: 13 = 2 x 7 */
    int n_choices;                        /* of the others */
    const char *const *choice;
    double size;                          /* values that it can take */
};

/* v[k] of knob k: the factors of a split, outermost first, or v[k][0] = the index of a choice. */
struct loop_point { int64_t v[LOOP_KNOBS][LOOP_PARTS]; };

struct loop_opts {
    bool full;                            /* four parts for every output dim */
    bool dividing;                        /* only factors that divide */
    int threads;                          /* 0 and 1: nothing is parallel */
    const struct target *target;          /* of the code; NULL: this machine's best */
    int64_t last_cache;                   /* bytes; a result of a quarter of it or more may be
                                           * stored past the caches; 0: never */
};

struct loop_axis;                         /* loop_space_impl.h */
struct nest_info;

struct loop_space {
    const char *spec;
    int n_base; const char *const *base;  /* the lines that it was made over */
    int n; const struct loop_knob *knob;
    double size;                          /* product of the knobs' sizes */
    struct loop_opts opts;                /* with the target filled in */
    int lanes;                            /* of its vectors */
    const struct nest_info *nest;
};

/* lines: what the program has already (layouts, pinned steps).  A loop line of the main nest keeps
 * the whole nest as it is, unless it only splits: the splits' loops are then what is split on.  All
 * in arena a; opts may be NULL.  Errors as program_replay; ERR_NAME when the main node is no
 * convolution or matrix product. */
bool loop_space_new(struct arena *a, const char *spec, const char *const *line, int n,
                    const struct loop_opts *opts, const struct loop_space **out, struct err *e);

/* What a person would try first: 12 to 28 accumulators of a vector each, the rest outside. */
void loop_point_start(const struct loop_space *s, struct loop_point *p);
/* Any point that is sound; the start when a thousand draws found none. */
void loop_point_random(const struct loop_space *s, struct rng *r, struct loop_point *p);

/* All of s->size points, sound or not, each once; false behind the last. */
void loop_point_first(const struct loop_space *s, struct loop_point *p);
bool loop_point_next(const struct loop_space *s, struct loop_point *p);

/* Directions are 0 .. n-1, 0 stays.  Of a split with k parts, one for each ordered pair (i, j):
 * f_i becomes the next larger divisor of f_i f_j, f_j what remains; then, where there are tiles
 * that do not divide, the next larger and the next smaller tile.  Of a choice the next and the one
 * before, around the end (SPEC E.3). */
int loop_knob_directions(const struct loop_knob *k);
void loop_point_move(const struct loop_space *s, struct loop_point *p, int knob, int direction);
/* A sound neighbour: one to three knobs drawn anew or moved.  *p is sound. */
void loop_point_mutate(const struct loop_space *s, struct rng *r, struct loop_point *p);
/* A sound child of two sound points: each knob of one of them. */
void loop_point_cross(const struct loop_space *s, struct rng *r, const struct loop_point *x,
                      const struct loop_point *y, struct loop_point *child);
bool loop_point_equal(const struct loop_space *s, const struct loop_point *x,
                      const struct loop_point *y);
/* log2 of the factors / 16 and choices in [0, 1], knob by knob, zeros behind. */
void loop_point_state(const struct loop_space *s, const struct loop_point *p,
                      float out[LOOP_STATE]);

/* The cheap filter, microseconds: a body written out of at most 512 statements, and about 4096 with
 * its copies for borders, phases and tails; accumulators that fit into registers when they are
 * written out; vectors of whole registers where the extent allows it; local tiles of at most
 * 128 KiB.  False: *e (may be NULL) says which. */
bool loop_point_sound(const struct loop_space *s, const struct loop_point *p, struct err *e);
/* The same for what a point was lowered to, and now exactly: at most 4096 statements of code.  What
 * is more takes a compiler seconds. */
bool loop_code_sound(const struct loop_space *s, const struct func *f, struct err *e);
/* The loop lines alone, in arena a; they apply behind the base lines.  Reads nothing but the
 * point. */
bool loop_point_lines(const struct loop_space *s, struct arena *a, const struct loop_point *p,
                      const char *const **line, int *n, struct err *e);
/* The point whose nest is that of these lines (those of the base may be among them): the same loops
 * in the same order with the same marks, tiles and attached nodes; loops of one axis that follow
 * each other count as one, parallel and stream marks only where the space has them.  False: there
 * is none. */
bool loop_point_from_lines(const struct loop_space *s, const char *const *line, int n,
                           struct loop_point *p);
#endif
