/* Private to program*.c: a program under construction, and the functions that apply steps. */
#ifndef TS_PROGRAM_PROGRAM_IMPL_H
#define TS_PROGRAM_PROGRAM_IMPL_H
#include "kernels/nest/lower.h"
#include "kernels/program/program.h"

#define MAX_PRIMS 64

/* The layout that steps gave a tensor: n primitives, applied to the plain layout. tensor: its name,
 * or "c2.Inp" for the data operand of node c2. */
struct layout_choice { const char *tensor; int n; const struct prim *prims; };

/* Constant src is stored in the buffer of constant dst: in the slice that primitive number `at` of
 * the layout of dst adds. */
struct attached { const char *src, *dst; int at; };
/* The convolution that computes `tensor` is computed by Winograd's algorithm with tiles of m. */
struct algorithm { const char *tensor; int m; };
/* The reduction `dim` of the node that computes `tensor` is split into `factor` partial results. */
struct rfactor { const char *tensor, *dim; int64_t factor; };

/* Returns the node whose data operand is called `name`, for example node c2 for "c2.Inp".  -1: the
 * name is not of this form, no such node exists, or the node has no data operand. */
int program_operand_node(const struct graph *g, const char *name);
/* Returns the layout that steps gave the tensor, or NULL. */
const struct layout_choice *program_choice(const struct program *p, const char *tensor);
/* Gives the tensor a layout of n primitives.  If prims is NULL, removes the layout that
 * steps gave it. */
void program_set_choice(struct program *draft, const char *tensor, const struct prim *prims, int n);
/* Applies store_at or decouple_at. */
bool program_attach_step(struct program *draft, const struct step *s, struct err *e);
/* Detaches the constants that are stored inside dst.  The caller replaces the layout of dst, and
 * with it their slices. */
void program_detach_from(struct program *draft, const char *dst);

/* Fails with ERR_STEP under variant ol, in which the layouts that steps gave tensors have no
 * effect. */
bool program_own_layouts(const struct program *p, const struct step *s, struct err *e);

/* Set the position of the error to a word of the step, or to its target.  Return false. */
bool blame_word(struct err *e, const struct step_word *w);
bool blame_target(struct err *e, const struct step *s);
/* Sets the error for a word that is no factor: not a whole number, negative, or too large.  Returns
 * false. */
bool blame_factor(struct err *e, const struct step_word *w);

/* Each of these functions applies a step to the draft, a shallow copy of the program before the
 * step.  It returns false with *e when it refuses the step. */
bool program_layout_step(struct program *draft, const struct step *s, struct err *e);
bool program_loop_step(struct program *draft, const struct step *s, struct err *e);
bool program_rfactor_step(struct program *draft, const struct step *s, struct err *e);

bool program_algorithm_step(struct program *draft, const struct step *s, struct err *e);
/* Allows tensor cores to multiply f32 as tf32, or forbids it (on = false).  If it is allowed, the
 * products of draft->form have factors with the rounding error of tf32. */
void program_set_tf32(struct program *draft, bool on);
/* Whether every algorithm of the draft, and tf32 if allowed, is as accurate as `set accuracy`
 * demands. */
bool program_accurate(const struct program *draft, struct err *e);

/* Derives graph, layouts and fresh stages of the draft from its form, choices and settings. */
bool program_derive(struct program *draft, struct err *e);

static inline struct lowering program_lowering(const struct program *p)
{
    return (struct lowering){ .pool = p->pool, .graph = p->graph, .layout = p->layout,
            .stage = p->stage, .held_in = p->held_in, .autovectorize = p->autovectorize };
}
static inline bool step_is_loop(const struct step *s)
{
    return s->kind >= STEP_LOOP_SPLIT && s->kind <= STEP_LOOP_COMPUTE_ROOT;   /* ORDER STEP */
}
static inline bool step_is_layout(const struct step *s)
{
    return s->kind <= STEP_LAYOUT_RESET;
}
#endif
