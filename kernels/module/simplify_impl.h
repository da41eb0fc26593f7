/* The statements of a graph as a list that passes rewrite.  Only kernels/module/simplify*.c include
 * this.
 *
 * Statements are numbered.  A statement that is rewritten in place keeps its number, name and
 * shape, so its readers need no change.  Statements that are added come last in the list, and are
 * printed before their readers. */
#ifndef TS_MODULE_SIMPLIFY_IMPL_H
#define TS_MODULE_SIMPLIFY_IMPL_H
#include "kernels/base/vec.h"
#include "kernels/module/simplify.h"

/* A statement, a declaration (op is "input" or "const"), or an inner tensor (op is "").  Statement
 * arg[0] computes the inner tensor on the way to its own result.  An inner tensor is in the list
 * because it is an output of the graph, or an argument of another statement. */
struct rewrite_stmt {
    const char *name, *op, *params;
    int n_args, *arg;                     /* numbers of statements */
    struct tensor shape;                  /* only rank, shape and source are used */
    bool family;  /* whether op means a family, and an operator for any rank has the same name */
    bool constant;                        /* whether it is computed from constants alone */
    bool output, fixed;  /* fixed: passes must keep it, because of the names of its inner tensors */
    bool live;                            /* whether it is an input, or an output needs it */
    int n_readers;                        /* how many arguments of live statements name this one */
};

struct rewrite {
    struct arena *a;
    const struct graph *g;
    VEC(struct rewrite_stmt) stmt;
};

void rewrite_read(struct rewrite *r, struct arena *a, const struct graph *g);
void rewrite_free(struct rewrite *r);
/* Prints the live statements, and the line "output A, B". */
void rewrite_print(struct rewrite *r, struct str *out);
void rewrite_refresh(struct rewrite *r);  /* sets live and n_readers */

static inline const struct rewrite_stmt *rewrite_at(const struct rewrite *r, int i)
{
    return &r->stmt.data[i];
}

/* Whether the operator of statement i is `op`.  If both a family and an operator for any rank have
 * this name: whether it is the operator for any rank. */
bool rewrite_is(const struct rewrite *r, int i, const char *op);
/* Whether rewrite_is holds for one of `ops`, a list of names separated by blanks. */
bool rewrite_is_any(const struct rewrite *r, int i, const char *ops);
/* Whether i is a statement that has arguments, is neither an output nor fixed, and is read by one
 * argument of one live statement. A pass can then merge i into this reader. */
bool rewrite_is_inner(const struct rewrite *r, int i);
bool rewrite_same_shape(const struct rewrite *r, int i, int j);
/* Whether statement i is a constant whose elements are all the same number, *v. */
bool rewrite_number(const struct rewrite *r, int i, double *v);
/* Whether the params have a word NAME=... */
bool rewrite_has(const struct rewrite *r, int i, const char *name);
/* Return the value of the word NAME=..., or `otherwise` if there is none. rewrite_list stores a
 * list of numbers in out[MAX_RANK] and returns how many there are. */
double rewrite_float(const struct rewrite *r, int i, const char *name, double otherwise);
int64_t rewrite_int(const struct rewrite *r, int i, const char *name, int64_t otherwise);
int rewrite_list(const struct rewrite *r, int i, const char *name, int64_t *out);

/* Rewrites statement i in place. */
void rewrite_set(struct rewrite *r, int i, const char *op, const int *arg, int n_args,
                 const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* Adds a statement of this shape and returns its number. The new statement is called like statement
 * `by`, with "_SUFFIX" appended, and with more "_" if that name is taken. */
int rewrite_add(struct rewrite *r, int by, const char *suffix, const struct tensor *shape,
                const char *op, const int *arg, int n_args, const char *fmt, ...)
    __attribute__((format(printf, 8, 9)));
/* Makes all readers of statement i read statement j instead. If i must stay, returns false and
 * changes nothing. */
bool rewrite_replace(struct rewrite *r, int i, int j);
/* Sets `fixed` for the statement of this name, and for the statements that can have an inner tensor
 * of this name. Returns whether one of these statements has arguments and was not yet fixed. */
bool rewrite_fix(struct rewrite *r, const char *name);
/* Returns v as text. Reading the text as a double gives v. If v is a float, the text can be
 * shorter: then reading it as a float gives v. */
const char *rewrite_text(struct rewrite *r, double v);

/* The passes. Each tries to rewrite statement i, and returns whether it has. */
bool pass_identity(struct rewrite *r, int i);
bool pass_numbers(struct rewrite *r, int i);
bool pass_functions(struct rewrite *r, int i);
bool pass_softmax(struct rewrite *r, int i);
bool pass_layernorm(struct rewrite *r, int i);
bool pass_channels(struct rewrite *r, int i);
bool pass_pad(struct rewrite *r, int i);
bool pass_gemm(struct rewrite *r, int i);
bool pass_scale(struct rewrite *r, int i);
bool pass_act(struct rewrite *r, int i);
bool pass_projections(struct rewrite *r, int i);
#endif
