/* `tune --follow FILE`: reports what happened to one schedule during a search. */
#include "app/cli/cli_follow.h"

#include <math.h>

#include "sessions/file/model_path.h"
#include "sessions/file/session_place.h"

#define MOST_ROWS 16                      /* most rounds to print; if there are more, a sample */

bool cli_follow_open(const struct args *a, const struct session *tuned, struct follow *f,
                     struct session **of, struct err *e)
{
    const char *name = args_value(a, OPT_FOLLOW);
    *f = (struct follow){ .opened = -1, .proposed = -1, .trial = -1, .ms = INFINITY };
    if (!name)
        return true;
    if (!session_place_open(name, NULL, of, e))
        return false;
    if (!model_specs_same(history_spec((*of)->history), history_spec(tuned->history))) {
        err_set(e, ERR_SYNTAX, "--follow: %s is a session of %s, not of the operator to tune", name,
                history_spec((*of)->history));
        return err_fix(e, "make it of this operator: tilescope expert OPERATOR -o FILE.yaml");
    }
    const struct program *p = history_current((*of)->history)->program;
    f->n_lines = p->n_steps;
    f->line = p->steps;
    return true;
}

void cli_follow_close(struct follow *f, struct session *of)
{
    vec_free(&f->round);
    session_free(of);
}

/* Adds one sentence that says what the search did with the followed schedule. */
static void add_fate(struct str *out, const struct follow *f)
{
    if (f->why.step && f->why.step[0])
        str_printf(out, "the search cannot find this schedule, because it is not in the search "
                   "space: %s (%s)\n", f->why.text, f->why.step);
    else if (f->opened < 0)
        str_add(out, "its layout was never tried\n");
    else if (f->trial >= 0 && isfinite(f->ms))
        str_printf(out, "layout tried from trial %d on, measured as trial %d: %.4g ms\n",
                   f->opened + 1, f->trial + 1, f->ms);
    else if (f->proposed >= 0)
        str_printf(out, "layout tried from trial %d on, proposed at trial %d, not measured\n",
                   f->opened + 1, f->proposed + 1);
    else
        str_printf(out, "layout tried from trial %d on, never proposed\n", f->opened + 1);
}

static void add_round(struct str *out, const struct follow_round *r)
{
    str_printf(out, "           %5d  ", r->trials);
    if (!r->open)
        str_add(out, "its layout is not open");
    else if (r->refused)
        str_add(out, "refused: its code is too large for a candidate");
    else if (!r->learned)
        str_add(out, "      -                   -");
    else
        str_printf(out, "%7.3f       %5d of %4d", r->score, r->better, r->pool);
    if (r->open && !r->refused && r->apart >= 0)
        str_printf(out, "    %13d", r->apart);
    str_add_char(out, '\n');
}

void cli_follow_text(struct str *out, const struct follow *f)
{
    int n = f->round.len, rows = n < MOST_ROWS ? n : MOST_ROWS;
    str_add(out, "followed: ");
    add_fate(out, f);
    str_add(out, "           after  predicted  better in round    knobs apart\n");
    for (int i = 0; i < rows; i++)
        add_round(out, &f->round.data[rows < 2 ? 0 : (int64_t)i * (n - 1) / (rows - 1)]);
}
