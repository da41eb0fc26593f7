/* A program: an operator, the layouts of its tensors and the schedules of its nodes, as an
 * immutable value.
 *
 *     apply(program, step) -> program | error
 *
 * Everything derived (the graph with its conversions, layouts after propagation, stages) is
 * rebuilt from the steps.  Undo is therefore an index into an array of programs, and a branch
 * shares its prefix.  A program lives in the arena given when it was made, and belongs to one
 * thread; to use it in another thread, pass the spec and the step lines. */
#ifndef TS_PROGRAM_PROGRAM_H
#define TS_PROGRAM_PROGRAM_H
#include "kernels/nest/stage.h"
#include "kernels/program/step.h"

/* How layouts propagate in a graph (ALT 7.2, SPEC C.5).  ALT: as in the paper.  WP: layouts do not
 * propagate to consumers.  OL: the layouts of layout steps have no effect, and the channels of
 * convolutions come last, but not in inputs of the graph.  FP and BP: two complex operators in a
 * row both use the output layout of the first (FP) or the input layout of the second (BP). */
enum variant { VARIANT_ALT, VARIANT_WP, VARIANT_OL, VARIANT_FP, VARIANT_BP };

/* The origin of the layout of a tensor; views show it. */
enum layout_source { LAYOUT_PLAIN, LAYOUT_EXPLICIT, LAYOUT_PROPAGATED };

struct rfactor;
struct algorithm;
struct attached;
struct layout_choice;                     /* defined in program_impl.h */

struct program {
    struct arena *arena;
    struct exprs *pool;
    const struct graph *base;             /* the graph of the spec */
    /* base with the chosen algorithms and the rounding of tf32; gives the error bound */
    const struct graph *form;
    /* form with factored reductions, and with the conversions that the layouts need */
    const struct graph *graph;
    int n_conversions;
    const struct layout *const *layout;   /* layout of each tensor of graph */
    const enum layout_source *source;     /* per tensor of graph: the origin of its layout */
    const int *source_tensor;  /* PROPAGATED: the tensor from which the layout was taken; else -1 */
    /* per node: why its result does not take the layout of its data operand; NULL: it does, or the
     * operand has the plain layout, or there is no operand */
    const char *const *stop;
    const struct stage *const *stage;     /* stage of each node of graph */
    int variant;                          /* a value of enum variant */
    bool propagate;                       /* whether element-wise consumers take their producer's
                                           * layout (SPEC C.2); default on */
    bool output_original;  /* whether outputs keep the caller's layout (SPEC A.8); default off */
    /* whether inputs arrive in the layout of the program, without a conversion; default off */
    bool input_given;
    /* whether the compiler may vectorize and reorder loops; default off: they run as the nest
     * says */
    bool autovectorize;
    int n_choices;                        /* the tensors whose layouts steps have set */
    const struct layout_choice *choice;
    int n_attached;                       /* the constants stored inside others (store_at) */
    const struct attached *attached;
    const int *held_in;  /* per tensor of graph: the tensor whose buffer holds it, or -1 */
    /* the largest relative error that algorithms and tf32 are allowed to have (`set accuracy`);
     * INFINITY: no step has set it */
    double accuracy;
    bool tf32;                            /* whether tensor cores may multiply f32 as tf32 */
    int n_algorithms;                     /* the convolutions whose algorithm a step has chosen */
    const struct algorithm *algorithm;
    int n_rfactors;                       /* the reductions that steps have factored */
    const struct rfactor *rfactor;
    int n_steps;
    const char *const *steps;             /* canonical text of the steps */
    const struct step *const *parsed;     /* the steps, parsed */
    const struct func **lowered;          /* *lowered: the tree; NULL: not lowered yet */
};

bool program_new(struct arena *a, const char *spec, const struct program **out, struct err *e);
/* Makes the program of a graph that lives in a. */
bool program_from_graph(struct arena *a, const struct graph *g, const struct program **out,
                        struct err *e);
/* Applies a step: *out is the new program, and p does not change.  On failure *out keeps its value,
 * and *e says what is wrong, at which word of the step, and mostly what would be legal. */
bool program_apply(const struct program *p, const struct step *s, const struct program **out,
                   struct err *e);
bool program_apply_line(const struct program *p, const char *line, const struct program **out,
                        struct err *e);
/* Builds a program from a spec and n step lines.  On failure *bad is the index of the line that
 * fails; -1: the spec fails.  While all lines apply, a program in between is lowered only if the
 * next line could hide that it cannot be lowered. */
bool program_replay(struct arena *a, const char *spec, const char *const *lines, int n,
                    const struct program **out, int *bad, struct err *e);

/* Lowers p: layouts -> rewritten accesses -> loop nest with the loop primitives applied -> verified
 * tree.  p keeps the tree for later calls.  Does not fail for programs from program_apply and
 * program_replay: they refuse steps after which the program cannot be lowered. */
bool program_lower(const struct program *p, const struct func **out, struct err *e);
/* Whether the program is for a GPU: a loop is bound to blocks or threads, or a tile is shared. */
bool program_is_bound(const struct program *p);

/* Returns the tensor of g that a line "layout VERB TENSOR ..." names; -1 for any other line. */
int program_layout_tensor(const struct graph *g, const char *line);
/* Whether steps may set the layout of a tensor of p->graph. If not, *e says who sets it. */
bool program_layout_is_free(const struct program *p, int tensor, struct err *e);
/* Whether a tensor of p->graph is a constant, as store_at requires. If not, *e says so. */
bool program_is_constant(const struct program *p, int tensor, struct err *e);

/* Returns the tensor of p->base whose data a tensor of p->graph holds; -1 for intermediates.  The
 * tensors of the caller are matched by their order, because conversions give them other names. */
int program_base_tensor(const struct program *p, int tensor);
/* Like program_base_tensor, for a tensor of any graph g that steps derive from base (form,
 * graph). */
int program_given_tensor(const struct graph *base, const struct graph *g, int tensor);

/* Returns the index of the node that computes the tensor `name`; its stage has the same index.  -1:
 * no node computes it. */
int program_stage(const struct program *p, const char *name);

/* Whether a tensor of p->graph is computed wherever it is read, so that it has no memory. */
bool program_is_inlined(const struct program *p, int tensor);

/* Prints which algorithms steps have chosen, and whether products are in tf32: "Conv: winograd m=4,
 * products in tf32".  Prints nothing if neither is so. */
void program_print_algorithms(struct str *out, const struct program *p);

/* Views (text). */
void program_print_nest(struct str *out, const struct program *p);
/* Prints the tensor expression of each node before the layouts (logical), after them (physical),
 * and with the loops of its stage if steps changed these.  Then prints the physical shape and the
 * layout of each tensor, and the bytes of each conversion. */
void program_print_access(struct str *out, const struct program *p);
/* Prints a warning for each output whose layout stores elements more than once, which is legal but
 * rarely intended. */
void program_print_notes(struct str *out, const struct program *p);
/* Draws the layout of a tensor in `width` columns; tensor NULL: those of all tensors. */
void program_print_layouts(struct str *out, const struct program *p, const char *tensor,
                           int width);
#endif
