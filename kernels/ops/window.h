/* The spatial axes of convolutions and pools: rows of their parameter tables, sizes, padding.
 * Only kernels/ops includes this.
 *
 * The parameters, of which a family may lack some; those in parentheses are for one axis:
 *
 *     depth, h, w            sizes of the axes
 *     k (kd, kh, kw)         kernel
 *     s (sd, sh, sw)         stride
 *     p (pd, ph, pw)         zeros on every side
 *     pd0, ph0, pw0          zeros before an axis
 *     pd1, ph1, pw1          zeros after an axis
 *     d (dd, dh, dw)         dilation
 *     op (opd, oph, opw)     output padding
 *
 * A family with one axis has only w, k, s, p, d, pw0 and pw1. */
#ifndef TS_OPS_WINDOW_H
#define TS_OPS_WINDOW_H
#include "kernels/ops/params.h"

#define MAX_AXES MAX_SPATIAL

/* One spatial axis of a window. */
struct window {
    const char *dim, *k_dim;  /* names of its dim and of its loop over the kernel: "H" "KH" */
    /* letter: of the axis in parameters ("h"); size: the parameter of its size; what: word for
     * messages ("rows") */
    const char *letter, *size, *what;
    /* before, after: the padding that the parameters say */
    int64_t in, k, stride, dilation, before, after, out;
    /* number of elements that a pad node adds before and after the input: `before` and `after`; for
     * transposed convolutions, what the gather form needs (conv.h) */
    int64_t zeros[2];
};

/* Brings the parameter w and the groups k, s, p, op and d to canonical form.  For a family without
 * windows, does nothing. */
bool window_canonical(const struct op_family *f, int64_t *v, struct err *e);
/* Sets w[] from canonical values, except for `out`.  Returns the number of windows n, which belong
 * to the last n of the axes D H W. */
int windows_read(const struct op_family *f, const int64_t *v, struct window *w);
/* Computes out = floor((in + before + after - span) / stride) + 1, where span is
 * dilation*(k - 1) + 1.
 * Fails with ERR_RANGE when a window is larger than the padded input. */
bool windows_fit(const struct op_family *f, const int64_t *v, int n_axes, struct window *w,
                 struct err *e);
/* Returns the row with the value of a parameter ("k", "s") for an axis: the axis's own row if it is
 * set, else the common one. */
int window_row(const struct op_family *f, const int64_t *v, const char *what,
               const struct window *w);

/* Returns stride*x + dilation*k. */
const struct expr *window_at(struct graph *g, const struct window *w, const struct expr *x,
                             const struct expr *k);
/* Notes strides and dilations of the windows in n->params. */
void windows_note(struct node *n, int n_axes, const struct window *w);
/* Adds the caller's input (N C or N I, then the sizes), with zeros[] elements of `value` around
 * each axis. The input is called Inp.  If there are such elements, it is called Inp_in instead, and
 * a pad node writes Inp. */
int window_input(struct graph *g, const struct op_family *f, const int64_t *v, int n_axes,
                 const struct window *w, double value);

/* Rows of the parameter tables of these families. */
#define ROW_STEP(name, def, least, text) { name, def, least, MAX_STEP, text, NULL }
#define ROW_N { "n", OP_UNSET, 1, MAX_SIZE, "batch, 1 unless given", NULL }
#define ROW_W ROW_PART_OF("w", "input columns, before padding; h unless given")
#define ROWS_HW ROW_SIZE("h", "input rows, before padding"), ROW_W
#define ROWS_DHW ROW_SIZE("depth", "input planes, before padding"), ROWS_HW

#define ROW_KW ROW_PART_OF("kw", "kernel columns")
#define ROW_KH ROW_PART_OF("kh", "kernel rows")
#define ROWS_K1 ROW_SIZE("k", "kernel size")
#define ROWS_K2 ROW_SIZE("k", "kernel size, both kh and kw"), ROW_KH, ROW_KW
#define ROWS_K3 \
    ROW_SIZE("k", "kernel size, all of kd, kh and kw"), ROW_PART_OF("kd", "kernel planes"), \
    ROW_KH, ROW_KW

#define ROW_SW ROW_STEP("sw", OP_UNSET, 1, "stride over columns")
#define ROW_SH ROW_STEP("sh", OP_UNSET, 1, "stride over rows")
#define ROWS_S1(def) ROW_STEP("s", def, 1, "stride")
#define ROWS_S2(def) ROW_STEP("s", def, 1, "stride, both sh and sw"), ROW_SH, ROW_SW
#define ROWS_S3(def) \
    ROW_STEP("s", def, 1, "stride, all of sd, sh and sw"), \
    ROW_STEP("sd", OP_UNSET, 1, "stride over planes"), ROW_SH, ROW_SW

#define ROWS_PW01 \
    ROW_STEP("pw0", OP_UNSET, 0, "zero columns on the left"), \
    ROW_STEP("pw1", OP_UNSET, 0, "zero columns on the right")
#define ROWS_PH01 \
    ROW_STEP("ph0", OP_UNSET, 0, "zero rows above"), \
    ROW_STEP("ph1", OP_UNSET, 0, "zero rows below")
#define ROWS_PHW \
    ROW_STEP("ph", OP_UNSET, 0, "zero rows above and below"), \
    ROW_STEP("pw", OP_UNSET, 0, "zero columns left and right")
#define ROWS_P1 ROW_STEP("p", 0, 0, "zeros on both sides"), ROWS_PW01
#define ROWS_P2 \
    ROW_STEP("p", 0, 0, "zeros on every side, both ph and pw"), ROWS_PHW, ROWS_PH01, ROWS_PW01
#define ROWS_P3 \
    ROW_STEP("p", 0, 0, "zeros on every side, all of pd, ph and pw"), \
    ROW_STEP("pd", OP_UNSET, 0, "zero planes in front and behind"), ROWS_PHW, \
    ROW_STEP("pd0", OP_UNSET, 0, "zero planes in front"), \
    ROW_STEP("pd1", OP_UNSET, 0, "zero planes behind"), ROWS_PH01, ROWS_PW01

#define ROW_DW ROW_STEP("dw", OP_UNSET, 1, "dilation over columns")
#define ROW_DH ROW_STEP("dh", OP_UNSET, 1, "dilation over rows")
#define ROWS_D1(def) ROW_STEP("d", def, 1, "dilation")
#define ROWS_D2(def) ROW_STEP("d", def, 1, "dilation, both dh and dw"), ROW_DH, ROW_DW
#define ROWS_D3(def) \
    ROW_STEP("d", def, 1, "dilation, all of dd, dh and dw"), \
    ROW_STEP("dd", OP_UNSET, 1, "dilation over planes"), ROW_DH, ROW_DW
#endif
