/* A lens shows how the simulated L1 works. For the whole run, it has the misses by sets and time.
 * For a window of the run, it has every touch of a line, with the line that was evicted for this
 * touch and the values of the loops around the touch. It also has the pairs of accesses of which
 * one evicts lines of the other by conflicts. For each access, it has the misses by kind and the
 * loops that cause these misses (lens_cause.c). */
#ifndef TS_PROFILE_LENS_H
#define TS_PROFILE_LENS_H
#include "kernels/gen/walk.h"
#include "profile/measure/predict.h"

#define LENS_TOUCHES (1 << 16)            /* most touches of a window */
#define LENS_PAIRS 6
#define LENS_CULPRITS 3                   /* most accesses that are blamed for the misses */
#define LENS_SHARE 0.1                    /* a blamed access has at least this share of misses */
#define LENS_DEEPEST 64                   /* most loops around a touch */
#define LENS_PREFETCH 0xffffu             /* the site of a line that a prefetcher brought */

/* from: number of the iteration of the marked loops (gen.h) at which the window begins. The
 * iterations of all nests are numbered together. -1: the window begins in the middle of the nest
 * with the most accesses. The iterations just before the window warm the cache; earlier ones are
 * skipped. touches: the length of the window, at most LENS_TOUCHES; 0: LENS_TOUCHES. */
struct lens_opts {
    struct cache_config cache;           /* as in struct predict_opts */
    const struct target *target;
    int64_t from;
    int touches;
};

/* A touch of a line. line: the number of the line, counted from the first line of the first buffer;
 * evicted: the number of the line that was evicted for this touch; -1: no line. conflict: a miss
 * that a fully associative cache of the same size would not have. */
struct lens_touch { int32_t line, evicted; uint16_t site; bool missed, conflict; };
/* An iteration of `loop`, with this value, begins before touch `at`. */
struct lens_turn { int32_t at, loop; int64_t value; };
struct lens_buffer {
    const char *name, *notation;          /* notation of the layout; "": the layout has none */
    int tensor;                           /* index in the graph */
    int32_t first, lines;                 /* first: its first line; lines: its number of lines */
    int32_t per_row;  /* lines in a row of its picture; 0: a row is not a whole number of lines */
    bool is_tile;                         /* a local copy or accumulator: it has no layout */
};
/* An access in the code. loop: the innermost loop around it, or -1. In one iteration of that loop,
 * the access touches `pieces` pieces of `bytes` bytes; no two pieces share a line. apart: the
 * distance in bytes from each piece to the next, as between lanes that are rows of a matrix; 0:
 * there is one piece, or the distances differ. */
struct lens_site {
    const char *text;
    int buffer, node, loop;
    int64_t bytes, pieces, apart;
    bool is_store;
};
struct lens_loop { const char *axis; int node, parent; int64_t trips; };

/* Conflict misses of site `site` in the window, on lines that an access at site `by` had evicted.
 * line: the line of the latest such miss. other: the line for which `line` had been evicted. Both
 * lines are in set number `set`. held: how many ways of this set held lines of the buffer of
 * `other` at a recent miss of the pair. loop: the loop whose iterations bring `by` back to few
 * sets; -1: unknown. Every `every` iterations, this loop moves `by` by `stride` bytes. After
 * `trips` such positions the moves start again. These positions lie in `sets` sets. every 0: the
 * positions are the lanes of `by`, all in one iteration. */
struct lens_pair {
    int site, by;
    int64_t count;
    int32_t line, other;
    int set, held;
    int loop, sets;
    int64_t stride, every, trips;
};

/* The kinds of misses, as in Hill's model: the first touch of a line; a miss that a fully
 * associative LRU cache of the same size has as well; any other miss. */
enum miss_kind { MISS_COMPULSORY, MISS_CAPACITY, MISS_CONFLICT };
extern const char *const miss_kind_name[3];

/* The misses of `site` in the whole run, estimated unless everything was simulated. Misses that are
 * neither compulsory nor conflict misses are capacity misses.
 *
 * moves: the innermost loop that moves the access to another line, by `stride` bytes every
 * `moves_every` iterations; -1: no such loop. again: the innermost loop that accesses the same
 * lines again after `again_after` iterations, when L1 does not hold them any more; -1: no such
 * loop. These iterations touch `touched` lines; this access touches `lines` of them. before:
 * whether code before this nest touches the same buffer. */
struct lens_cause {
    int site;
    double misses, compulsory, conflict;
    int moves, again;
    int64_t stride, moves_every, again_after, lines, touched;
    bool before;
};
struct lens_site_count;                   /* defined in lens_whole.h */

struct lens {
    struct arena *arena;
    struct cache_config cache;
    int n_sets, first_set, ways, line_bytes;              /* first_set: the set of line 0 */
    double accesses;                      /* accesses of the whole run */
    /* iterations: number of marked iterations of the run; from: the first one in the window */
    int64_t iterations, from;
    int n_marks;                          /* number of marked loops; most nests have one */
    const char *along;                    /* axes of the first marked loop; "": no loop is marked */
    int64_t misses, conflicts;            /* in the window */
    /* The misses of the whole run: cell[set * n_columns + column]. All columns have the same number
     * of accesses. n_columns 0: simulating the whole run took too long, or it has no accesses.
     * simulated: the share of the accesses that was simulated and counted. */
    int n_columns; const double *cell; double simulated;
    int64_t n_lines; const bool *resident;  /* per line: in L1 when the window begins */
    int n_buffers; const struct lens_buffer *buffer;
    int n_sites; const struct lens_site *site;
    int n_loops; const struct lens_loop *loop;
    const struct walk_way *way;  /* how each loop moves each access; lens_way reads it */
    const struct lens_cause *cause;       /* one per site, the most misses first */
    struct { double misses, compulsory, conflict; } all;  /* sums of the causes */
    int n_touches; const struct lens_touch *touch;
    int n_turns; const struct lens_turn *turn;
    int n_pairs; struct lens_pair pair[LENS_PAIRS];      /* the most misses first */
};

/* Makes the lens of a program. The caller frees it with lens_free. ERR_CANCEL, ERR_RANGE, or an
 * error of lowering. */
bool lens_open(const struct program *p, const struct lens_opts *o, const struct cancel *c,
               struct lens **out, struct err *e);
void lens_free(struct lens *l);
/* Returns how a loop moves an access. */
const struct walk_way *lens_way(const struct lens *l, int site, int loop);
/* Like lens_way, but for the innermost loop, also counts the pieces of the access as iterations if
 * the loop goes on where the last piece ends: a loop of 4 times 64 lanes has 256 iterations. */
struct walk_way lens_steps(const struct lens *l, int site, int loop);
/* Returns by how many bytes the second iteration of a loop moves an access. If lens_way has only
 * one part, every iteration moves the access by this distance. */
int64_t lens_stride(const struct lens *l, int site, int loop);
/* Returns how many lines an access touches in n iterations of the loop `around` (-1: in the whole
 * run), computed from lens_way. 0: the access is not inside this loop. trips[i]: number of
 * iterations to assume for loop i; trips NULL: the actual numbers. */
int64_t lens_lines(const struct lens *l, int site, int around, int64_t n, const int64_t *trips);
/* Like lens_lines, for all accesses together. Of each buffer, only the access that touches the most
 * lines counts. */
int64_t lens_touched(const struct lens *l, int around, int64_t n, const int64_t *trips);
/* Returns how many sets an access reaches at most in a loop that moves it by `stride` bytes per
 * iteration. */
int64_t lens_sets(const struct lens *l, int64_t stride);
/* Returns the most frequent kind of the misses of c. */
enum miss_kind lens_kind(const struct lens_cause *c);
/* Returns n, where the first n causes are worth naming. */
int lens_n_culprits(const struct lens *l);
/* Estimates the misses of the whole run from those of the window: adds each miss of the window to
 * of[site], scaled from the touches of the window to the accesses of the run. */
void lens_scale_window(const struct lens *l, struct lens_site_count *of);
/* For lens.c: sets l->cause and l->all. count: one entry per site. exact: whether count[].first is
 * known. */
void lens_find_causes(struct lens *l, const struct lens_site_count *count, bool exact);
int lens_set_of(const struct lens *l, int32_t line);
/* Returns the buffer that a line belongs to, or -1. */
int lens_buffer_of(const struct lens *l, int32_t line);
/* Counts misses by sets and time: cell[row * columns + column]. Counts the misses of the whole run
 * if `whole` is true, else those of the window. For the whole run, `columns` must be at most
 * l->n_columns, since a column of l->cell cannot be divided. */
void lens_grid(const struct lens *l, bool whole, int rows, int columns, double *cell);
/* Sets held[line] for each line: whether L1 holds it after touch `at`. */
void lens_held(const struct lens *l, int at, bool *held);
/* Finds the next iteration of `loop` that begins after touch `at`; with dir -1, the previous one,
 * which begins before this touch. Returns the touch at which the iteration begins; -1: the window
 * has no such iteration. */
int lens_next(const struct lens *l, int loop, int at, int dir);
/* Returns the first conflict miss from touch `at` on; -1: none. */
int lens_first_conflict(const struct lens *l, int at);
/* Stores the loops around touch `at`, the outermost first. Returns their number. */
int lens_around(const struct lens *l, int at, int loop[LENS_DEEPEST]);
/* Returns the value of a loop at touch `at`; -1: the window has no value of the loop up to `at`. */
int64_t lens_value(const struct lens *l, int loop, int at);
#endif
