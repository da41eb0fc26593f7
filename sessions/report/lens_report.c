#include "sessions/report/lens_report.h"

#include <math.h>

#include "sessions/file/json.h"

#define GRID_ROWS 32
#define GRID_COLUMNS 64

static json_t *prediction_json(const struct prediction *p)
{
    return json_make("l1_misses", JSON(p->l1_misses),
                     "conflict_misses", JSON_IF(p->conflicts >= 0, p->conflicts),
                     "fraction", JSON(p->fraction), "error", JSON(p->error),
                     "cycles", JSON_IF(p->cycles.whole > 0, p->cycles.whole));
}

static json_t *line_json(const struct lens *l, int32_t line)
{
    const struct lens_buffer *b = &l->buffer[lens_buffer_of(l, line)];
    return json_make("tensor", JSON(b->name), "line", JSON((int)(line - b->first)));
}

static json_t *pair_json(const struct lens *l, const struct lens_pair *p)
{
    json_t *o = json_make("site", JSON(l->site[p->site].text), "by", JSON(l->site[p->by].text),
                          "misses", JSON(p->count), "line", line_json(l, p->line),
                          "other", line_json(l, p->other), "set", JSON(p->set),
                          "ways_held", JSON(p->held));
    return json_put(o, "loop", JSON_IF(p->loop >= 0, l->loop[p->loop].axis),
                    "stride_bytes", JSON_IF(p->loop >= 0, p->stride),
                    "stride_every", JSON_IF(p->loop >= 0, p->every),
                    "iterations", JSON_IF(p->loop >= 0, p->trips),
                    "sets", JSON_IF(p->loop >= 0, p->sets));
}

static json_t *cause_json(const struct lens *l, const struct lens_cause *c)
{
    const struct lens_site *s = &l->site[c->site];
    double capacity = c->misses - c->compulsory - c->conflict;
    json_t *o = json_make("site", JSON(s->text), "tensor", JSON(l->buffer[s->buffer].name),
                          "store", JSON(s->is_store), "level", JSON("L1"),
                          "misses", JSON((int64_t)llround(c->misses)),
                          "compulsory_misses", JSON((int64_t)llround(c->compulsory)),
                          "capacity_misses", JSON((int64_t)llround(capacity)),
                          "conflict_misses", JSON((int64_t)llround(c->conflict)));
    return json_put(o, "kind", JSON(miss_kind_name[lens_kind(c)]),
                    "loop", JSON_IF(c->moves >= 0, l->loop[c->moves].axis),
                    "stride_bytes", JSON_IF(c->moves >= 0, c->stride),
                    "stride_every", JSON_IF(c->moves >= 0, c->moves_every),
                    "again", JSON_IF(c->again >= 0, l->loop[c->again].axis),
                    "again_after", JSON_IF(c->again >= 0, c->again_after),
                    "lines_again", JSON_IF(c->again >= 0, c->lines),
                    "lines_between", JSON_IF(c->again >= 0, c->touched));
}

static json_t *causes_json(const struct lens *l)
{
    json_t *list = json_array();
    for (int i = 0; i < l->n_sites; i++)
        if (l->cause[i].misses > 0)
            json_array_append_new(list, cause_json(l, &l->cause[i]));
    return list;
}

/* Returns a list of rows, one for each group of sets; a row has the misses in each part of the
 * time. whole: whether the time is the whole run; if not, it is the part that the lens shows. */
static json_t *grid_json(const struct lens *l, bool whole)
{
    int rows = l->n_sets < GRID_ROWS ? l->n_sets : GRID_ROWS, most = GRID_COLUMNS;
    int limit = whole ? l->n_columns : l->n_touches, columns = limit < most ? limit : most;
    double cell[GRID_ROWS * GRID_COLUMNS];
    json_t *grid = json_array();
    lens_grid(l, whole, rows, columns, cell);
    for (int y = 0; y < rows; y++) {
        json_t *row = json_array();
        for (int x = 0; x < columns; x++)
            json_array_append_new(row, JSON((int64_t)llround(cell[y * columns + x])));
        json_array_append_new(grid, row);
    }
    return grid;
}

void lens_report_json(struct str *out, const struct lens *l, const struct forecast *now,
                      const struct forecast *cure, int n_cures)
{
    struct str cache = {0};
    json_t *pairs = json_array(), *cures = json_array();
    cache_config_print(&cache, &l->cache);
    for (int i = 0; i < l->n_pairs; i++)
        json_array_append_new(pairs, pair_json(l, &l->pair[i]));
    for (int i = 0; i < n_cures; i++)
        if (cure[i].ok)
            json_array_append_new(cures, json_put(prediction_json(&cure[i].misses),
                                  "step", JSON(cure[i].line),
                                  "helps", JSON(forecast_helps(&cure[i], now)),
                                  "other_contract", JSON(cure[i].other_contract),
                                  "tile", JSON(tile_fate_name[cure[i].tile])));
    json_t *o = json_make("format", JSON(1), "cache", JSON(str_text(&cache)),
                          "sets", JSON(l->n_sets), "ways", JSON(l->ways),
                          "along", JSON(l->along), "iterations", JSON(l->iterations),
                          "from", JSON(l->from), "touches", JSON(l->n_touches),
                          "misses", JSON(l->misses), "conflict_misses", JSON(l->conflicts));
    json_put(o, "accesses", causes_json(l), "sets_over_time", grid_json(l, false),
             "sets_over_run", l->n_columns > 0 ? grid_json(l, true) : json_null(),
             "run_simulated", JSON_IF(l->n_columns > 0, l->simulated), "conflicts", pairs,
             "predicted", now->ok ? prediction_json(&now->misses) : json_null(), "cures", cures,
             "result", JSON(cure_result_name[forecast_result(l, now, cure, n_cures)]));
    json_print(out, o, 8);
    str_free(&cache);
}
