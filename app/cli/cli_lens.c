/* `tilescope show --what lens`: which accesses miss, why, and which steps help. */
#include "app/cli/cli.h"

#include <stdlib.h>
#include "app/views/lens_doc.h"
#include "profile/measure/program_text.h"
#include "sessions/file/machine_file.h"
#include "sessions/report/lens_report.h"

#define LENS_ROWS 16

static void print(struct str *out, const struct cli *c, const struct lens *l,
                  const struct lens_look *k)
{
    struct doc d;
    doc_open(&d);
    lens_doc(&d, l, k);
    cli_add_doc(out, c, &d);
    doc_close(&d);
}

bool cli_lens(const struct cli *c, struct opened *o, struct str *out, struct err *e)
{
    const struct program *p = history_current(o->session->history)->program;
    const char *cache = args_value(c->args, OPT_CACHE);
    struct lens_opts opts = { .from = -1 };
    struct lens *l;
    struct forecast cure[FORECAST_CURES], now;
    int threads = 1;
    if (!args_target(c->args, &opts.target, e)
        || !args_int(c->args, OPT_THREADS, 1, 1024, &threads, e)
        || (cache && !cache_config_parse(cache, &opts.cache, e)))
        return false;
    if (!lens_open(p, &opts, c->cancel, &l, e))
        return program_text_is_gpu(p, opts.target)
             ? err_fix(e, "run SESSION --meters sim simulates the memory of the GPU") : false;
    struct progress pr = cli_progress(c);
    int n = forecast_cures(p, l, l->arena, cure);
    bool ok = forecast_lens(p, &l->cache, opts.target, &pr, c->cancel, cure, n, &now, e);
    cli_progress_clear(c);
    struct machine here;
    struct machine_model model;
    struct err none;
    machine_read(&here);
    /* Times are predicted for one thread on the caches of this machine. */
    bool timed = !cache && threads == 1 && machine_file_load(&here, &model, &none);
    struct lens_look look = { .width = cli_columns(100), .rows = LENS_ROWS, .loop = -1,
                              .at = lens_first_conflict(l, 0), .cure = cure, .now = &now,
                              .n_cures = n, .predicted = true, .counted = -1,
                              .timed = history_current(o->session->history)->measured,
                              .model = timed ? &model : NULL, .target = opts.target };
    look.at = look.at < 0 ? 0 : look.at;
    if (ok && args_has(c->args, OPT_JSON))
        lens_report_json(out, l, &now, cure, n);
    else if (ok)
        print(out, c, l, &look);
    lens_free(l);
    return ok;
}
