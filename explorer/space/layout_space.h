/* Layout templates (SPEC D.2 to D.4, ALT 5.1): the layouts of the output, the input and the weights
 * of an operator's main node as functions of a few split factors.
 *
 *     out  N H/h_t W/w_t O/o_t  h_t w_t o_t
 *     inp  N H/h_t W/w_t I/i_t  B_h B_w i_t        overlapping tiles (unfold): each holds all that
 *                                                  a tile of the output reads (B: SPEC A.4, D.3)
 *     ker  O/o_t' I/i_t' KH KW  i_t' o_t'
 *
 * and likewise for c1d, c3d, grp, dep, dil, t2d, t3d, gmm, bmm.  With two levels each tiled dim has
 * a middle part (h_m).  A channel block of grp is a part of a group or several whole groups.  For
 * inp and ker SPEC D.3 allows only parts of a group; whole groups are allowed here because small
 * groups must share a vector.  The space of a graph is that of its main node.
 *
 * The operand can be an input of the caller, or such an input (Inp_in) with padding.  In both cases
 * the template assumes that the caller provides the input in the layout that the program wants
 * (`set input_layout given`), unless pinned lines set input_layout.  Inp_in then gets channel
 * blocks of i_t, so that the padding can be inlined. */
#ifndef TS_EXPLORER_SPACE_LAYOUT_SPACE_H
#define TS_EXPLORER_SPACE_LAYOUT_SPACE_H
#include "explorer/space/factor.h"
#include "explorer/space/point_why.h"
#include "kernels/base/rng.h"
#include "kernels/program/program.h"

#define LAYOUT_KNOBS 20
#define LAYOUT_STATE 64
#define OP_FEATURES 12

struct layout_knob {
    const char *name;                     /* "h_t" "o_t'"; the middle part of two levels: "h_m" */
    const char *tensor;                   /* tensor whose layout the knob changes */
    int64_t extent;                       /* every factor divides this, unless the knob pads */
    int64_t multiple;  /* every factor is the extent, or a multiple of this (t2d: of the stride) */
    bool pads;  /* whether factors need not divide extent; the last block is then padded */
    int64_t group;  /* GRP: every factor divides this or is a multiple of it; 0: no such rule */
    /* for a middle part: index of the knob of the inner part; every factor divides extent /
     * factor[inner].  -1: the knob is not for a middle part */
    int inner;
    int n_divisors;  /* number of legal factors */
    /* the legal factors, ascending; for a middle part, those that some inner factor allows */
    const int64_t *divisor;
};

struct layout_opts {
    int levels;                           /* levels of tiles: 1 (0 means 1) or 2 */
    /* gmm: whether A and B have a factor of K each, and a knob chooses the order of B's tiles */
    bool split_k;
    /* Whether blocks of weights need not divide the output channels; for a product: whether panels
     * of A and B need not divide M and N.  Has an effect only with one level.  Example: with 8
     * lanes, a block of 24 of 200 channels is 3 vectors, which with 4 rows keep 12 accumulators
     * busy; but no divisor of 200 between 8 and 40 is a multiple of 8. */
    bool pad;
};

struct layout_template;                   /* layout_space_impl.h */

struct layout_space {
    const char *spec;
    int n; const struct layout_knob *knob;
    double size;                          /* number of points, memory-equal ones included */
    /* Describes the operator to the agents: log2 of N, I, O, H, W, KH, KW, stride, dilation and
     * groups, then two zeros.  The agents replace the first zero by the stage of the episode. */
    float op[OP_FEATURES];
    const struct layout_template *t;
};

/* Makes the space in arena a; opts may be NULL.  pinned: step lines that every point keeps; a
 * tensor whose layout they set has no knobs.  ERR_NAME: the operator has no template.  Fails like
 * program_replay when spec or lines are wrong. */
bool layout_space_new(struct arena *a, const char *spec, const char *const *pinned, int n_pinned,
                      const struct layout_opts *opts, const struct layout_space **out,
                      struct err *e);

/* Returns the legal factor of knob k that is nearest to extent * action (R of SPEC D.1); action is
 * in (0, 1).  For a middle part, the extent is what the inner part leaves: extent /
 * factor[inner]. */
int64_t layout_factor(const struct layout_space *s, int k, const int64_t *factor, double action);
/* Start points: the layouts that a person would try first.  LAST: channels last (a product: plain
 * rows of A and C), with weights in blocks of 32 channels.  BLOCKS: channels in blocks of one
 * vector. PLANES: channels as planes, so that the lanes of a vector are pixels; only for groups
 * with fewer channels than a vector has lanes.  A product has only LAST. */
enum start_layout { START_LAST, START_BLOCKS, START_PLANES, START_LAYOUTS };
/* Sets the factors of a start point.  Returns false if the operator does not have this start
 * point. */
bool layout_space_start(const struct layout_space *s, enum start_layout which, int lanes,
                        int64_t *factor);
void layout_space_random(const struct layout_space *s, struct rng *r, int64_t *factor);
/* layout_space_first sets the factors to those of the first point, layout_space_next to those of
 * the next one (the last knob changes fastest), or returns false after the last point. */
void layout_space_first(const struct layout_space *s, int64_t *factor);
bool layout_space_next(const struct layout_space *s, int64_t *factor);

/* Writes the step lines of a point in arena a; they are applied after the pinned ones.  *key (may
 * be NULL): a hash of the layouts.  Two points have the same hash if each tensor that the lines lay
 * out has memory-equal layouts in both (SPEC A.0, D.2).  ERR_FACTOR names the knob and its
 * divisors. */
bool layout_space_lines(const struct layout_space *s, struct arena *a, const int64_t *factor,
                        const char *const **line, int *n, uint64_t *key, struct err *e);
/* Finds factors that give each tensor of the template the layout that these lines give it, or a
 * memory-equal one; inlined tensors do not count.  Returns false if there are no such factors, if
 * too many were tried, or if the lines are wrong.  *factor is then undefined, and *why (may be
 * NULL) names the first tensor for which no factors were found; *why has no text if the lines are
 * wrong. */
bool layout_space_find(const struct layout_space *s, const char *const *line, int n,
                       int64_t *factor, struct point_why *why);
/* Returns the layout of the output as text, "N H/4 W/16 O/16 4h 16w 16o", which identifies a family
 * of layouts.  If the output is pinned, returns the layout of the first tensor that is not pinned;
 * "" if all tensors are pinned. */
const char *layout_space_family(const struct layout_space *s, struct arena *a,
                                const int64_t *factor);

/* Stores the state for the agents (SPEC E.3): log2(x)/16 of the parts x of every tiled dim, in the
 * order out h w o, inp h w i, ker i o; then zeros.  A dim whose factor is 0 (not chosen yet) counts
 * as [1, extent]. */
void layout_space_state(const struct layout_space *s, const int64_t *factor,
                        float out[LAYOUT_STATE]);
#endif
