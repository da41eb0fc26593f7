/* Makes the tuning problem for kernels, with layouts as its arms. */
#include "explorer/tune/kernels_impl.h"

#include <math.h>
#include <string.h>

#include "kernels/gen/gen.h"
#include "profile/host/machine.h"

bool kernels_is_layout(const char *line)
{
    return !str_starts(line, "loop ");
}

struct loop_opts kernels_loop_opts(const struct kernels *k)
{
    return (struct loop_opts){
        .target = k->o.measure.target, .threads = k->o.measure.threads, .last_cache = k->last_cache,
        .shared = k->shared,
    };
}

static bool open_space(struct kernels *k, struct kernels_arm *arm, struct err *e)
{
    struct loop_opts o = kernels_loop_opts(k);
    arm->mem = arena_new();
    if (loop_space_new(arm->mem, k->o.spec, arm->line, arm->n, &o, &arm->space, e))
        return true;
    arena_free(arm->mem);
    arm->mem = NULL;
    arm->space = NULL;
    return false;
}

static const char *const *copy_lines(struct arena *a, const char *const *line, int n)
{
    const char **copy = ARENA_ARRAY(a, const char *, n + 1);
    for (int i = 0; i < n; i++)
        copy[i] = arena_strdup(a, line[i]);
    return copy;
}

int kernels_add_arm(struct kernels *k, const char *const *line, int n, uint64_t key,
                    const char *family)
{
    struct err e = {0};
    struct kernels_arm arm = { .n = n, .key = key, .family = family };
    arm.line = copy_lines(k->keep, line, n);
    if (!open_space(k, &arm, &e))
        return -1;
    vec_push(&k->arm, arm);
    return k->arm.len - 1;
}

int kernels_add_closed(struct kernels *k, const char *const *line, int n, const char *family)
{
    struct kernels_arm arm = { .n = n, .line = copy_lines(k->keep, line, n), .family = family };
    vec_push(&k->arm, arm);
    return k->arm.len - 1;
}


static void layout_decode(void *ctx, const double *action, int n_done, int64_t *factor)
{
    const struct kernels *k = ctx;
    memset(factor, 0, (size_t)k->layouts->n * sizeof *factor);
    for (int i = 0; i < n_done; i++)
        factor[i] = layout_factor(k->layouts, i, factor, action[i]);
}

static bool layout_next(void *ctx, int64_t *factor, bool first)
{
    const struct kernels *k = ctx;
    if (!first)
        return layout_space_next(k->layouts, factor);
    layout_space_first(k->layouts, factor);
    return true;
}

static bool layout_start(void *ctx, int which, int64_t *factor)
{
    const struct kernels *k = ctx;
    return layout_space_start(k->layouts, (enum start_layout)which, k->lanes, factor);
}

static void layout_state(void *ctx, const int64_t *factor, float out[TUNE_LAYOUT_STATE])
{
    layout_space_state(((struct kernels *)ctx)->layouts, factor, out);
}

/* Returns the arm of a layout: an existing arm with a memory-equal layout, or a new one that has
 * the pinned lines and the lines of the template.  -1: the layout is not valid or has no loop
 * space. */
static int arm_open(void *ctx, const int64_t *factor)
{
    struct kernels *k = ctx;
    struct arena *a = arena_new();
    const char *const *line;
    struct err e = {0};
    uint64_t key;
    int n, found = -1;
    if (!layout_space_lines(k->layouts, a, factor, &line, &n, &key, &e)) {
        arena_free(a);
        return -1;
    }
    for (int i = 0; i < k->arm.len && found < 0; i++)
        if (k->arm.data[i].key == key)
            found = i;
    if (found < 0) {
        const char **all = ARENA_ARRAY(a, const char *, k->o.n_pins + n);
        for (int i = 0; i < k->o.n_pins; i++)
            all[i] = k->o.pin[i];
        for (int i = 0; i < n; i++)
            all[k->o.n_pins + i] = line[i];
        found = kernels_add_arm(k, all, k->o.n_pins + n, key,
                                layout_space_family(k->layouts, k->keep, factor));
    } else if (!k->arm.data[found].mem && !open_space(k, &k->arm.data[found], &e)) {
        found = -1;
    }
    arena_free(a);
    return found;
}

static void arm_close(void *ctx, int arm)
{
    struct kernels_arm *x = &((struct kernels *)ctx)->arm.data[arm];
    arena_free(x->mem);
    x->mem = NULL;
    x->space = NULL;
}

static int n_arms(void *ctx)
{
    return ((struct kernels *)ctx)->arm.len;
}

static const char *arm_family(void *ctx, int arm)
{
    return ((struct kernels *)ctx)->arm.data[arm].family;
}

static const float *op_features(void *ctx)
{
    const struct kernels *k = ctx;
    return k->layouts ? k->layouts->op : NULL;
}

/* --- Making and freeing ------------------------------------------------------------------- */

static void fill_problem(struct kernels *k)
{
    struct tune_problem *p = &k->problem;
    p->ctx = k;
    p->n_actions = k->layouts ? k->layouts->n : 0;
    p->layout_decode = layout_decode;
    p->layout_next = layout_next;
    p->layout_start = layout_start;
    p->n_starts = START_LAYOUTS;
    p->layout_state = layout_state;
    p->arm_open = arm_open;
    p->arm_close = arm_close;
    p->n_arms = n_arms;
    p->arm_family = arm_family;
    p->features = op_features;
    kernels_point_problem(p);
    kernels_measure_problem(p);
    if (kernels_for_gpu(k))
        p->measure = kernels_gpu_measure;
}

/* Makes the layout space.  There is none if k->o.fixed is set, for a GPU, without a template, or if
 * all tensors of the template are pinned. */
static bool open_layouts(struct kernels *k, const char **note, struct err *e)
{
    const struct program *pinned;
    int bad;
    if (!program_replay(k->keep, k->o.spec, k->o.pin, k->o.n_pins, &pinned, &bad, e))
        return false;
    k->lanes = target_lanes(target_or_host(k->o.measure.target), pinned->graph->type);
    if (k->o.fixed)
        return true;
    if (kernels_for_gpu(k)) {             /* the templates have blocks for a CPU's vectors */
        if (note)
            *note = "layouts are those of the session and of the experts";
        return true;
    }
    k->o.layouts.pad = true;
    if (!layout_space_new(k->keep, k->o.spec, k->o.pin, k->o.n_pins, &k->o.layouts, &k->layouts,
                          e)) {
        if (e->code != ERR_NAME)
            return false;
        if (note)
            *note = arena_printf(k->keep, "layouts stay as they are: %s", e->text);
    }
    if (k->layouts && k->layouts->n == 0)
        k->layouts = NULL;
    k->o.fixed = !k->layouts && k->o.n_pins == 0;        /* pins may replace layouts of seeds */
    return true;
}

/* Opens the model.  Without XGBoost, all scores are estimates from the code, and the search works
 * less well. */
static bool open_model(struct kernels *k, const char **note, struct err *e)
{
    struct cost_model_opts o = { .seed = k->o.seed };
    if (cost_model_new(&o, &k->model, e))
        return true;
    if (e->code != ERR_ENV)
        return false;
    if (note)
        *note = arena_printf(k->keep, "no cost model: %s", e->text);
    o.random = true;
    return cost_model_new(&o, &k->model, e);
}

bool kernels_new(const struct kernels_opts *o, struct kernels **out, const char **note,
                 struct err *e)
{
    struct kernels *k = xcalloc(1, sizeof *k);
    struct machine machine;
    machine_read(&machine);
    k->o = *o;
    k->keep = arena_new();
    k->best_ms = INFINITY;
    k->last_cache = machine_last_cache(&machine);
    k->n_threads = o->jobs > 0 ? o->jobs : machine.cores;
    if (k->n_threads > COUNT_OF(k->scratch))
        k->n_threads = COUNT_OF(k->scratch);
    for (int i = 0; i < k->n_threads; i++)
        k->scratch[i] = arena_new();
    if ((kernels_for_gpu(k) && !kernels_gpu_ready(k, e)) || !open_layouts(k, note, e) ||
        !open_model(k, note, e) || !kernels_add_seeds(k, e)) {
        kernels_free(k);
        return false;
    }
    fill_problem(k);
    *out = k;
    return true;
}

void kernels_free(struct kernels *k)
{
    if (!k)
        return;
    batch_free(k->batch);
    cost_model_free(k->model);
    for (int i = 0; i < k->arm.len; i++)
        arena_free(k->arm.data[i].mem);
    vec_free(&k->arm);
    vec_free(&k->seed);
    for (int i = 0; i < k->n_threads; i++)
        arena_free(k->scratch[i]);
    arena_free(k->keep);
    free(k);
}

const struct tune_problem *kernels_problem(const struct kernels *k)
{
    return &k->problem;
}

const struct tune_seed *kernels_seeds(const struct kernels *k, int *n)
{
    *n = k->seed.len;
    return k->seed.data;
}

double kernels_layouts(const struct kernels *k)
{
    return k->layouts ? k->layouts->size : 1;
}

double kernels_points(struct kernels *k, int arm)
{
    const struct loop_space *space = k->arm.data[arm].space;
    return space ? space->size : 0;
}
