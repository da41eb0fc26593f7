/* Facts about the graph of a program, for the view `graph` and `show --what graph`: the memory of
 * every tensor, the loop nest that computes it, the least time of each nest, and what a step
 * changed. */
#ifndef TS_SESSIONS_GRAPH_REPORT_H
#define TS_SESSIONS_GRAPH_REPORT_H
#include "kernels/program/program.h"
#include "profile/machine/machine_model.h"
#include "profile/measure/measure.h"

/* What a step changed. LAYOUT: the layout of the tensor; LOOPS: the loops that compute it. */
enum graph_change { GRAPH_SAME, GRAPH_NEW, GRAPH_LAYOUT, GRAPH_LOOPS };
extern const char *const graph_change_name[];            /* "" "new" "layout" "loops" */

/* A tensor and the node that computes it. `node`: -1: the caller provides the tensor.  `nest`: the
 * node whose loops compute the tensor: `node` itself, or the node that it is attached to or inlined
 * into; -1: the caller provides the tensor. `bytes`: size of the stored tensor; 0: the program
 * stores only tiles of the tensor, or nothing.
 *
 * `flops`, `moved` and `bound_s` are set only if `nest` is `node`, and count all nodes in the
 * nest. `flops`: without work that the program skips in paddings.  `moved`: bytes of the tensors
 * that the nest reads and writes, each counted once.  `bound_s`: least time in seconds, by the
 * roofline of `moved` and `flops`; 0: unknown. */
struct graph_row {
    int tensor, node, nest;
    double bytes, flops, moved, bound_s;
    enum graph_change change;
};
struct graph_rows { int n; struct graph_row *row; double bound_s; };

/* Describes the tensors of p in arena a: first those that the caller provides, then the results of
 * the nodes in their order.  before: the program before the last step; NULL: no changes are shown.
 * model: NULL: no bounds are computed.  m: the measurement whose ISA and number of threads the
 * bounds are for; may be NULL. */
struct graph_rows graph_rows(struct arena *a, const struct program *p, const struct program *before,
                             const struct machine_model *model, const struct measurement *m);

/* Prints where the layout of a tensor comes from: "set by a step", "fixed by variant ol", "from
 * Conv"; nothing for a plain layout. */
void graph_layout_origin(struct str *out, const struct program *p, int tensor);
/* Prints the notation of a tensor's layout; if the layout has none, its dims and extents. */
void graph_layout_text(struct str *out, const struct program *p, int tensor);

/* Prints `tilescope show SESSION --what graph --json` (sessions/schema.md). */
void graph_report_json(struct str *out, const struct program *p, const struct graph_rows *rows,
                       const struct measurement *m);
#endif
