/* The loop schedules of the main nest of an operator as a space of knobs (SPEC D.5), for any
 * program whose layouts are set.
 *
 *     S1 S2 | R1 | S3 | R2 | S4      S: all output loops of a level, R: all reductions of a level
 *
 * An output dim that the layout does not divide is split into S1 S2 S3 S4.  Of a dim that the
 * layout tiles, the outer parts (and N of a convolution) are split into S1 S2, the inner part into
 * S2 S3 S4.  A reduction is split into R1 R2.  Knobs choose whether an accumulator tile is placed
 * inside the last S2 loop, how far its S3 and S4 loops and reductions are unrolled, and whether the
 * last stored dim is vectorized.
 *
 * If a block of an operand, a group, or a phase of a transposed convolution ends inside a loop, the
 * loop is also cut there if its factors allow it, so that accesses remain affine (SPEC B.6).  The
 * loops over phases of the output and of the kernel then enclose the loops that they select; phases
 * of the output may also be just inside the loops over pixels.
 *
 * For a GPU, whose threads share tiles of the operands, there is another space (gpu_space.h).
 *
 * A point is written as step lines like those that a person types, so that programs know nothing of
 * points. */
#ifndef TS_EXPLORER_SPACE_LOOP_SPACE_H
#define TS_EXPLORER_SPACE_LOOP_SPACE_H
#include "explorer/space/point_why.h"
#include "kernels/base/rng.h"
#include "kernels/gen/target.h"
#include "kernels/program/program.h"

#define LOOP_KNOBS 32
#define LOOP_PARTS 4
#define LOOP_STATE 128

enum knob_kind {
    KNOB_SPATIAL, KNOB_REDUCE, KNOB_ORDER, KNOB_PARALLEL, KNOB_VECTORIZE, KNOB_UNROLL,
    KNOB_CACHE_WRITE, KNOB_CACHE_READ, KNOB_CONSUMER, KNOB_PAD, KNOB_RFACTOR,
    KNOB_STREAM, KNOB_PREFETCH, KNOB_KINDS
};
/* names of enum knob_kind: "spatial" "reduce" ... */
extern const char *const knob_kind_name[KNOB_KINDS];

struct loop_knob {
    enum knob_kind kind;
    const char *name;                     /* "O.1", "KH"; "order", "unroll", ... */
    int64_t extent;  /* split: the extent that is split; other knobs: 0 */
    int parts;                            /* split: number of factors, outermost first */
    const char *levels;                   /* split: "S1 S2 S3 S4" */
    /* split: inner factors that do not divide the extent.  The outermost factor is then rounded up:
     * 2 x 7 for 13. */
    int n_tiles; const int64_t *tile;
    int n_choices;                        /* other knobs: number of choices */
    const char *const *choice;
    double size;                          /* number of values that the knob can take */
};

/* v[k] is the value of knob k: the factors of a split, outermost first, or v[k][0] = the index of a
 * choice. */
struct loop_point { int64_t v[LOOP_KNOBS][LOOP_PARTS]; };

struct loop_opts {
    bool full;                            /* whether every output dim is split into four parts */
    bool dividing;                        /* whether factors must divide the extent */
    int threads;                          /* 0 and 1: no loop is parallel */
    const struct target *target;          /* target of the code; NULL: the best of this machine */
    /* bytes of the outermost cache, of which a result must have at least a quarter to be streamed;
     * 0: no result is streamed */
    int64_t last_cache;
    /* bytes of shared memory that a block may have, at most SHARED_MOST; 0: SHARED_MOST */
    int64_t shared;
};

struct loop_axis;                         /* loop_space_impl.h */
struct nest_info;
struct gpu_nest;                          /* gpu_space.h */

struct loop_space {
    const char *spec;
    int n_base; const char *const *base;  /* lines of the program for which the space was made */
    int n; const struct loop_knob *knob;
    double size;                          /* number of points: product of the knobs' sizes */
    struct loop_opts opts;                /* options; target is not NULL here */
    int lanes;                            /* elements of a vector of the target */
    const struct nest_info *nest;         /* NULL: for a GPU */
    const struct gpu_nest *gpu;           /* NULL: for a CPU */
};

/* Makes the space, in arena a; opts may be NULL.  line: the n lines that the program already has
 * (layouts, pinned steps).  A line that schedules the loops of the main nest pins the nest: all its
 * loops stay as the lines make them.  Lines that only split loops do not pin it; the space splits
 * these loops further.  Fails like program_replay; ERR_NAME: the main node is not a convolution or
 * matrix product, or the lines choose an algorithm; ERR_RANK: the nest has too many loops;
 * ERR_STEP: for a GPU, the lines schedule the main nest. */
bool loop_space_new(struct arena *a, const char *spec, const char *const *line, int n,
                    const struct loop_opts *opts, const struct loop_space **out, struct err *e);

/* Sets the start point, the best guess of loop_point_starts. */
void loop_point_start(const struct loop_space *s, struct loop_point *p);
/* Sets up to `most` >= 1 start points, best guess first, and returns their number, at least 1.  The
 * first point normally has a tile of accumulators, which leaves at least 4 vector registers free;
 * all other loops are outside the tile.  The later points copy the padding, unroll less, or have
 * other tiles: only a measurement tells which point is best.  A GPU's space has one start point. */
#define LOOP_STARTS 6
int loop_point_starts(const struct loop_space *s, struct loop_point *p, int most);
/* Draws a random sound point.  After a thousand failed draws, takes the start point. */
void loop_point_random(const struct loop_space *s, struct rng *r, struct loop_point *p);

/* loop_point_first sets *p to the first of all s->size points, sound or not; loop_point_next sets
 * it to the next one, or returns false after the last. */
void loop_point_first(const struct loop_space *s, struct loop_point *p);
bool loop_point_next(const struct loop_space *s, struct loop_point *p);

/* Returns the number of directions in which a knob can move; direction 0 does not move it.  A split
 * with k parts has a direction for each ordered pair (i, j) of parts: f_i becomes the next larger
 * divisor of f_i f_j, and f_j the rest.  A split with tiles that do not divide the extent has two
 * more: to the next larger and to the next smaller tile.  A choice moves to the next or to the
 * previous one, cyclically (SPEC E.3). */
int loop_knob_directions(const struct loop_knob *k);
void loop_point_move(const struct loop_space *s, struct loop_point *p, int knob, int direction);
/* Moves *p, which must be sound, to a sound neighbour: draws one to three knobs anew or moves them.
 * Leaves *p as it is if no try makes a sound point. */
void loop_point_mutate(const struct loop_space *s, struct rng *r, struct loop_point *p);
/* Makes a sound child of two sound points: takes each knob from one of them.  The child is a copy
 * of *x if no try makes a sound point. */
void loop_point_cross(const struct loop_space *s, struct rng *r, const struct loop_point *x,
                      const struct loop_point *y, struct loop_point *child);
/* Returns the number of knobs in which two points differ. */
int loop_point_apart(const struct loop_space *s, const struct loop_point *x,
                     const struct loop_point *y);
bool loop_point_equal(const struct loop_space *s, const struct loop_point *x,
                      const struct loop_point *y);
/* Stores the state for the agents, knob by knob: log2(f) / 16 for each factor f, or the choice
 * scaled to [0, 1].  Then zeros. */
void loop_point_state(const struct loop_space *s, const struct loop_point *p,
                      float out[LOOP_STATE]);

/* Whether a point is sound; the check takes microseconds.  For a CPU: its unrolled body has at most
 * 512 statements, and about 4096 with its copies for borders, phases and tails; accumulators fit
 * into registers when they are unrolled; a vector fills whole registers, or a power of two lanes of
 * one register, where the extent allows it; local tiles have at most 32768 elements.  For a GPU,
 * see gpu_sound.c.  If the point is not sound, *e (may be NULL) says which rule fails. */
bool loop_point_sound(const struct loop_space *s, const struct loop_point *p, struct err *e);
/* Whether the code of a lowered point has at most 4096 statements; compiling more would take
 * seconds. */
bool loop_code_sound(const struct loop_space *s, const struct func *f, struct err *e);
/* Writes the loop lines of a point, in arena a.  They apply after the base lines, which are not
 * written.  Fails if the point is not sound. */
bool loop_point_lines(const struct loop_space *s, struct arena *a, const struct loop_point *p,
                      const char *const **line, int *n, struct err *e);
/* Finds the point with the same nest as these lines (which may include base lines): the same loops
 * in the same order with the same annotations, tiles and attached nodes.  Adjacent loops of one
 * axis count as one; parallel and stream annotations count only where the space has them.  False:
 * there is no such point, and *why (may be NULL) names the step that the space lacks.  For a GPU,
 * finds the point with the same sizes, whatever the order of the loops. */
bool loop_point_from_lines(const struct loop_space *s, const char *const *line, int n,
                           struct loop_point *p, struct point_why *why);
#endif
