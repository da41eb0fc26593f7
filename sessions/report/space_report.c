/* Prints search spaces as text and as JSON. */
#include "sessions/report/space_report.h"

#include "kernels/gen/target.h"
#include "profile/host/machine.h"
#include "profile/measure/program_text.h"
#include "sessions/file/json.h"

/* Whether a line is a loop step.  `loop rfactor` does not count as one, because it changes the
 * graph. */
static bool is_loop_line(const char *line)
{
    return str_starts(line, "loop ") && !str_starts(line, "loop rfactor");
}

bool space_report(struct arena *a, const struct program *p, int threads, struct spaces *out,
                  struct err *e)
{
    const char **settings = ARENA_ARRAY(a, const char *, p->n_steps + 1);
    const char **base = ARENA_ARRAY(a, const char *, p->n_steps + 1);
    struct machine m;
    machine_read(&m);
    struct loop_opts o = { .threads = threads, .last_cache = machine_last_cache(&m),
                           .target = program_text_target(p, NULL) };
    const struct layout_opts layouts = { .pad = true };       /* as in the tuner (kernels.c) */
    int n_settings = 0, n_base = 0;
    for (int i = 0; i < p->n_steps; i++) {
        if (str_starts(p->steps[i], "set "))
            settings[n_settings++] = p->steps[i];
        if (!is_loop_line(p->steps[i]))
            base[n_base++] = p->steps[i];
    }
    *out = (struct spaces){ 0 };
    if (!layout_space_new(a, p->base->spec, settings, n_settings, &layouts, &out->layouts, e) ||
        !loop_space_new(a, p->base->spec, base, n_base, &o, &out->loops, e))
        return false;
    out->layouts_known = layout_space_find(out->layouts, p->steps, p->n_steps, out->factor,
                                           &out->layouts_why);
    out->loops_known = loop_point_from_lines(out->loops, p->steps, p->n_steps, &out->point,
                                             &out->loops_why);
    return true;
}

/* --- Text ------------------------------------------------------------------------------------- */

static void list_numbers(struct str *out, const int64_t *x, int n)
{
    for (int i = 0; i < n; i++)
        str_printf(out, " %lld", (long long)x[i]);
}

static void layout_row(struct str *out, const struct spaces *s, int k)
{
    const struct layout_knob *x = &s->layouts->knob[k];
    str_printf(out, "  %-8s %-6s %6lld  ", x->name, x->tensor, (long long)x->extent);
    if (s->layouts_known)
        str_printf(out, "%6lld  of", (long long)s->factor[k]);
    list_numbers(out, x->divisor, x->n_divisors);
    str_add_char(out, '\n');
}

static void loop_row(struct str *out, const struct spaces *s, int k)
{
    const struct loop_knob *x = &s->loops->knob[k];
    const int64_t *v = s->point.v[k];
    str_printf(out, "  %-16s %6.0f  ", x->name, x->size);
    for (int i = 0; i < x->n_choices; i++)
        str_printf(out, s->loops_known && v[0] == i ? "%s[%s]" : "%s%s", i ? ", " : "",
                   x->choice[i]);
    if (x->parts > 0)
        str_printf(out, "%lld = %s", (long long)x->extent, x->levels);
    if (x->parts > 0 && s->loops_known) {
        str_add(out, ":");
        list_numbers(out, v, x->parts);
    }
    if (x->n_tiles > 0)
        str_printf(out, " (and tiles up to %lld that do not divide)",
                   (long long)x->tile[x->n_tiles - 1]);
    str_add_char(out, '\n');
}

/* Adds the step that a space lacks, and the reason. */
static void add_why(struct str *out, const char *what, const struct point_why *why)
{
    str_printf(out, "%s: %s (%s)\n", what, why->text, why->step);
}

void space_report_text(struct str *out, const struct spaces *s)
{
    str_printf(out, "Layouts: %d factors, %g points\n\n  factor   tensor extent%s\n",
               s->layouts->n, s->layouts->size, s->layouts_known ? "     now" : "");
    for (int k = 0; k < s->layouts->n; k++)
        layout_row(out, s, k);
    str_printf(out, "\nLoops over the session's layouts: %d knobs, %g points\n\n"
               "  knob             values\n", s->loops->n, s->loops->size);
    for (int k = 0; k < s->loops->n; k++)
        loop_row(out, s, k);
    str_printf(out, "\nThe session's layouts are %s of the layout space, its loops are %s.\n",
               s->layouts_known ? "a point" : "not a point",
               s->loops_known ? "a point of the loop space, shown above"
                              : "not a point of the loop space");
    if (!s->layouts_known)
        add_why(out, "layouts", &s->layouts_why);
    if (!s->loops_known)
        add_why(out, "loops", &s->loops_why);
}

/* --- JSON --- */

static json_t *why_json(bool known, const struct point_why *why)
{
    return known ? json_null() : json_make("step", JSON(why->step), "text", JSON(why->text));
}

static json_t *layouts_json(const struct spaces *s)
{
    json_t *knobs = json_array();
    for (int k = 0; k < s->layouts->n; k++) {
        const struct layout_knob *x = &s->layouts->knob[k];
        json_array_append_new(knobs, json_make(
            "name", JSON(x->name), "tensor", JSON(x->tensor), "extent", JSON(x->extent),
            "divisors", json_ints(x->divisor, x->n_divisors),
            "now", JSON_IF(s->layouts_known, s->factor[k])));
    }
    return json_make("size", JSON(s->layouts->size), "known", JSON(s->layouts_known),
                     "why", why_json(s->layouts_known, &s->layouts_why), "knobs", knobs);
}

static json_t *loop_knob_json(const struct spaces *s, int k)
{
    const struct loop_knob *x = &s->loops->knob[k];
    const int64_t *v = s->point.v[k];
    json_t *o = json_make("name", JSON(x->name), "kind", JSON(knob_kind_name[x->kind]),
                          "size", JSON(x->size));
    if (x->parts > 0)
        return json_put(o, "extent", JSON(x->extent), "levels", JSON(x->levels),
                        "tiles", json_ints(x->tile, x->n_tiles),
                        "now", s->loops_known ? json_ints(v, x->parts) : json_null());
    return json_put(o, "choices", json_texts(x->choice, x->n_choices),
                    "now", JSON_IF(s->loops_known, x->choice[v[0]]));
}

void space_report_json(struct str *out, const struct spaces *s, const struct program *p)
{
    json_t *knobs = json_array();
    for (int k = 0; k < s->loops->n; k++)
        json_array_append_new(knobs, loop_knob_json(s, k));
    json_print(out, json_make(
        "operator", JSON(p->base->op), "spec", JSON(p->base->spec), "layouts", layouts_json(s),
        "loops", json_make("size", JSON(s->loops->size), "known", JSON(s->loops_known),
                           "why", why_json(s->loops_known, &s->loops_why), "knobs", knobs)), 12);
}
