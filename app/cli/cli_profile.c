/* `tilescope show --what profile`: prints the stored measurement of a session's current step. */
#include "app/cli/cli.h"

#include "app/views/measurement_doc.h"
#include "sessions/file/machine_file.h"
#include "sessions/report/report.h"

bool cli_profile(const struct cli *c, struct opened *o, struct str *out, struct err *e)
{
    const struct history *h = o->session->history;
    const struct state *s = history_current(h);
    const struct measurement *m = s->measured;
    struct machine here;
    struct machine_model model;
    struct err none;
    struct doc d;
    if (!m) {
        err_set(e, ERR_RANGE, "this step of %s was not measured",
                o->session->path[0] ? o->session->path : "the session");
        return err_fix(e, "`tilescope run FILE.yaml --save` measures it and keeps the numbers");
    }
    machine_read(&here);
    bool known = machine_file_load(&here, &model, &none);
    if (args_has(c->args, OPT_JSON)) {
        report_run_json(out, o->session, m, ~0u, o->session->machine, known ? &model : NULL);
        return true;
    }
    struct measurement_look look = { .width = cli_columns(100), .meters = ~0u,
                                     .program = s->program, .model = known ? &model : NULL,
                                     .before = measurement_before(h, &m->sim) };
    doc_open(&d);
    measurement_doc(&d, m, &look);
    cli_add_doc(out, c, &d);
    doc_close(&d);
    return true;
}
