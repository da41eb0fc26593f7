/* Private to program*.c: a program under construction, and the functions that apply steps. */
#ifndef TS_PROGRAM_PROGRAM_IMPL_H
#define TS_PROGRAM_PROGRAM_IMPL_H
#include "kernels/nest/lower.h"
#include "kernels/program/program.h"

#define MAX_PRIMS 64

/* The primitives that steps gave a tensor, starting from the identity. */
struct layout_choice { const char *tensor; int n; const struct prim *prims; };

/* src is stored in the buffer of dst, in the slice that primitive `at` of dst's layout made. */
struct attached { const char *src, *dst; int at; };
struct algorithm { const char *tensor; int m; };
struct rfactor { const char *tensor, *dim; int64_t factor; };

int program_operand_node(const struct graph *g, const char *name);
const struct layout_choice *program_choice(const struct program *p, const char *tensor);
/* Gives the tensor a layout of its own: n primitives.  prims NULL takes it away. */
void program_set_choice(struct program *draft, const char *tensor, const struct prim *prims, int n);
bool program_attach_step(struct program *draft, const struct step *s, struct err *e);
/* Detaches the tensors stored inside dst, because the layout sequence of dst starts anew. */
void program_detach_from(struct program *draft, const char *dst);

/* Fails with ERR_STEP under variant ol, in which tensors do not have the layouts that steps gave
 * them. */
bool program_own_layouts(const struct program *p, const struct step *s, struct err *e);

/* Sets the position of the error to a word of the step. */
bool blame_word(struct err *e, const struct step_word *w);
bool blame_target(struct err *e, const struct step *s);
/* Sets the error for a word that is not a factor: not a whole number, or too large. */
bool blame_factor(struct err *e, const struct step_word *w);

/* Each function applies a step to the draft, a shallow copy of the program before the step.  It
 * returns false with *e when it refuses the step. */
bool program_layout_step(struct program *draft, const struct step *s, struct err *e);
bool program_loop_step(struct program *draft, const struct step *s, struct err *e);
bool program_rfactor_step(struct program *draft, const struct step *s, struct err *e);

bool program_algorithm_step(struct program *draft, const struct step *s, struct err *e);
/* Lets tensor cores multiply f32 as tf32, or not; the form then rounds its factors. */
void program_set_tf32(struct program *draft, bool on);
/* Whether every algorithm of the draft is as accurate as `set accuracy` demands. */
bool program_accurate(const struct program *draft, struct err *e);

/* Derives graph, layouts and fresh stages of the draft from base, choices and settings. */
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
