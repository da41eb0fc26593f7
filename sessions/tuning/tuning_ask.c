/* Makes the inquiry of a tuning: target and objective, seeds, pins, and the options that records
 * keep. */
#include "sessions/tuning/tuning.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/gen/gen.h"
#include "profile/build/build.h"
#include "profile/child/device.h"
#include "profile/measure/program_text.h"
#include "sessions/file/expert_file.h"
#include "sessions/file/json.h"
#include "sessions/tuning/tuning_impl.h"

/* Returns the steps up to the current state of the session. */
static struct tune_lines session_lines(struct arena *a, const struct session *s)
{
    const struct program *p = history_current(s->history)->program;
    const char **line = ARENA_ARRAY(a, const char *, p->n_steps + 1);
    for (int i = 0; i < p->n_steps; i++)
        line[i] = arena_strdup(a, p->steps[i]);
    return (struct tune_lines){ "session", p->n_steps, line };
}

static bool add_pin(struct inquiry *q, const char *text, struct err *e)
{
    const struct step *step;
    if (!step_parse(q->mem, text, &step, e))
        return false;
    if (str_starts(step->text, "loop ")) {
        err_set(e, ERR_STEP, "--pin \"%.100s\": a loop step cannot be pinned", text);
        return err_fix(e, "use `layout`, `all-layouts`, or a layout, set or algorithm step");
    }
    q->pin[q->n_pins++] = step->text;
    return true;
}

static bool has_line(const struct tune_lines *l, const char *line)
{
    bool there = false;
    for (int i = 0; i < l->n; i++)
        there = there || streq(l->line[i], line);
    return there;
}

static bool read_pins(struct inquiry *q, const struct tuning_opts *o, struct err *e)
{
    const struct tune_lines *start = &q->schedule[0];
    q->fixed = o->loop_only;
    q->pin = ARENA_ARRAY(q->mem, const char *, o->n_pins * (start->n + 1) + 1);
    for (int i = 0; i < o->n_pins; i++) {
        bool all = streq(o->pin[i], "layout");
        q->fixed = q->fixed || streq(o->pin[i], "all-layouts");
        for (int k = 0; all && k < start->n; k++)
            if (!str_starts(start->line[k], "loop "))
                q->pin[q->n_pins++] = start->line[k];
        if (!all && !streq(o->pin[i], "all-layouts") && !add_pin(q, o->pin[i], e))
            return false;
    }
    for (int i = 0; q->fixed && i < q->n_pins; i++)
        if (!has_line(start, q->pin[i])) {
            err_set(e, ERR_STEP,
                    "the layouts of the session are fixed, but \"%.100s\" is not one of its steps",
                    q->pin[i]);
            return err_fix(e, "apply it to the session first, or pin it without --loop-only and"
                              " all-layouts");
        }
    return true;
}

static bool has_parallel(const struct expert_schedule *s)
{
    for (int i = 0; i < s->n; i++)
        if (str_starts(s->step[i], "loop parallel "))
            return true;
    return false;
}

static struct tune_lines without_parallel(struct arena *a, const struct expert_schedule *s)
{
    struct tune_lines l = { "expert", 0, NULL };
    const char **line = ARENA_ARRAY(a, const char *, s->n + 1);
    for (int i = 0; i < s->n; i++)
        if (!str_starts(s->step[i], "loop parallel "))
            line[l.n++] = s->step[i];
    l.line = line;
    return l;
}

/* Adds expert schedules as seeds.  A parallel schedule is followed by a copy without its parallel
 * loops, because starting threads may take longer than a small operator. */
static void take_experts(struct inquiry *q, const struct expert_schedule *list, int n, int most)
{
    for (int i = 0; i < n && q->n_schedules <= most; i++) {
        struct tune_lines as_is = { "expert", list[i].n, list[i].step };
        q->schedule[q->n_schedules++] = as_is;
        if (has_parallel(&list[i]) && q->n_schedules <= most)
            q->schedule[q->n_schedules++] = without_parallel(q->mem, &list[i]);
    }
}

/* Adds the experts' schedules of this operator as seeds. It is no error if there are none. */
static bool add_experts(struct inquiry *q, const struct tuning_opts *o, struct err *e)
{
    struct experts all;
    struct expert_schedule list[TUNING_MOST_EXPERTS];
    int most = o->experts > 0 ? o->experts : o->experts < 0 ? 0 : TUNING_EXPERTS, n = 0;
    if (most > TUNING_MOST_EXPERTS)
        most = TUNING_MOST_EXPERTS;
    if (most == 0)
        return true;
    if (!expert_file_all(q->mem, &all, e))
        return false;
    all.accuracy = q->accuracy;
    struct err none;
    if (!expert_schedules(q->mem, &all, q->spec, q->target, q->threads, most, list, &n, &none))
        return true;
    take_experts(q, list, n, most);
    return true;
}

const struct gpu_device *tuning_gpu(const struct tuning_opts *o)
{
    return o->measure.gpu ? o->measure.gpu : gpu_device_default();
}

/* Returns the options that change which schedules are searched or how fast they are, as JSON.
 * Seed, strategy and budget are members of the run instead.  A run can answer or be resumed only if
 * it has the same text. */
static const char *options_text(struct inquiry *q, const struct tuning_opts *o)
{
    struct str compiler = {0};
    compiler_print(&compiler, o->measure.compiler);
    json_t *j = json_make("start", json_texts(q->schedule[0].line, q->schedule[0].n),
                          "pins", json_texts(q->pin, q->n_pins), "fixed", JSON(q->fixed),
                          "levels", JSON(o->levels == 2 ? 2 : 1),
                          "experts", JSON(q->n_schedules - 1),
                          "compiler", JSON(str_text(&compiler)));
    str_free(&compiler);
    if (o->cold)
        json_put(j, "cold", json_true());
    struct cuda_info device;
    struct err none;
    if (o->simulated)
        json_put(j, "objective", json_string("simulated"), "gpu", JSON(tuning_gpu(o)->name));
    else if (q->target->gpu && device_this(o->measure.runner_path, &device, &none))
        json_put(j, "gpu", json_string(device.name));
    if (o->joint > 0)
        json_put(j, "joint", JSON(o->joint));
    if (q->accuracy > 0)
        json_put(j, "accuracy", JSON(q->accuracy));
    if (o->weights)
        json_put(j, "weights", json_sprintf("%016llx", (unsigned long long)
                                            hash_bytes(o->weights, o->weights_bytes, 0)));
    char *text = json_dumps(j, JSON_COMPACT | JSON_SORT_KEYS);
    const char *copy = arena_strdup(q->mem, text);
    free(text);
    json_decref(j);
    return copy;
}

bool tuning_for_gpu(const struct session *s, const struct tuning_opts *o)
{
    return program_text_target(history_current(s->history)->program, o->measure.target)->gpu;
}

/* Refuses options that do not fit the target. */
static bool objective_fits(const struct tuning_opts *o, const struct target *target, struct err *e)
{
    if (o->simulated && !target->gpu) {
        err_set(e, ERR_STEP, "--objective simulated is for a GPU: a CPU's simulator counts misses,"
                " which are not converted to a time");
        return err_fix(e, "leave it out, and candidates are timed; or --target cuda");
    }
    if (target->gpu && o->levels == 2)
        return err_set(e, ERR_STEP, "--levels is for the layout templates of CPUs");
    return true;
}

bool tuning_ask(struct inquiry *q, const struct session *s, const struct tuning_opts *o,
                struct err *e)
{
    q->spec = arena_strdup(q->mem, history_spec(s->history));
    q->accuracy = fmax(0, s->accuracy);
    q->opts.measure.target = tuning_for_gpu(s, o) ? target_named("cuda") : o->measure.target;
    q->target = target_or_host(q->opts.measure.target);
    if (!objective_fits(o, q->target, e))
        return false;
    q->threads = o->measure.threads > 0 ? o->measure.threads : 1;
    q->schedule[q->n_schedules++] = session_lines(q->mem, s);
    if (!read_pins(q, o, e) || !add_experts(q, o, e))
        return false;
    q->options = options_text(q, o);
    return true;
}
