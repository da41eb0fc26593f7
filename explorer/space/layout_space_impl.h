/* Private to layout_space*.c: the representation of a template. */
#ifndef TS_EXPLORER_SPACE_LAYOUT_SPACE_IMPL_H
#define TS_EXPLORER_SPACE_LAYOUT_SPACE_IMPL_H
#include "explorer/space/layout_space.h"

enum part_level { PART_WHOLE, PART_OUTER, PART_MIDDLE, PART_INNER };

/* The window of an operand axis.  A tile of t[i] elements of the output axis reads tile[i] elements
 * of the operand axis.  What the next tile reads begins stride[i] elements later. */
struct tile_window {
    int64_t size, out;  /* size: extent of the operand axis; out: extent of the output axis */
    int n; const int64_t *t, *tile, *stride;
};

struct template_dim {
    const char *name;                     /* "H" */
    int64_t extent;                       /* extent in the tensor */
    int inner, middle;  /* indices of the knobs of the inner and middle part; -1: no such knob */
    int64_t fixed;                        /* the inner factor if the layout is pinned; else 0 */
    /* for a spatial axis of the operand: what a tile of the output reads; else NULL */
    const struct tile_window *window;
    /* Whether a factor that does not divide the extent makes blocks, of which the last is padded.
     * If not, such a factor leaves the dim whole. */
    bool pads;
};

struct template_tensor {
    const char *name;
    int rank;
    struct template_dim dim[MAX_RANK];
    int n_parts;                          /* parts are in physical order */
    struct template_part { int dim; enum part_level level; } part[MAX_DIMS];
    /* index of the knob whose value 2 swaps the first two outer parts; -1: no such knob */
    int flip;
};

/* tensor: the tensors to which the lines of a point give layouts: out, inp and ker unless pinned,
 * then perhaps Inp_in.  state: the tiled dims of out, inp and ker, also of pinned ones. */
struct layout_template {
    bool set_given;  /* whether the lines start with `set input_layout given` */
    int n_tensors;
    struct template_tensor tensor[4];
    int n_states;
    struct state_dim { struct template_dim dim; } state[3 * MAX_RANK];
};

/* The sizes of the outer, middle and inner part of a dim for these factors.  A dim with a window
 * has the parts of the output axis whose tiles read the window. */
struct dim_parts { int64_t part[3]; };
struct dim_parts template_parts(const struct template_dim *d, const int64_t *factor);

/* layout_space_text.c: prints the layout of a tensor for *factor in the short notation. */
void template_notation(struct str *out, const struct template_tensor *t, const int64_t *factor);
uint64_t template_key(const struct template_tensor *t, const int64_t *factor, uint64_t seed);
#endif
