/* `tilescope ops`. */
#include "app/cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "kernels/ops/graph.h"
#include "sessions/report/report.h"

/* "i" required, "s=1" with its default, "[kh]" derived when absent. */
static void add_params(struct str *out, const struct op_family *op)
{
    for (int i = 0; i < op->n_params; i++) {
        const struct op_param *p = &op->params[i];
        if (p->def == OP_REQUIRED) {
            str_printf(out, " %s", p->name);
        } else if (p->def == OP_UNSET) {
            str_printf(out, " [%s]", p->name);
        } else {
            str_printf(out, " %s=", p->name);
            op_param_print(out, p, p->def);
        }
    }
}

int cmd_ops(const struct cli *c)
{
    struct str out = {0};
    if (args_has(c->args, OPT_JSON)) {
        report_ops_json(&out);
        cli_put(&out);
        return EXIT_FINE;
    }
    for (int i = 0; i < ops_count(); i++) {
        const struct op_family *op = ops_get(i);
        str_paint(&out, c->color_out, PAINT_BOLD, op->name);
        str_printf(&out, "%*s%s\n", (int)(10 - strlen(op->name)), "", op->title);
        size_t start = out.len;
        str_add(&out, "      parameters");
        add_params(&out, op);
        str_add(&out, "\n");
        cli_wrap(&out, start, 17);
        str_printf(&out, "      example    %s\n", op->example);
    }
    cli_put(&out);
    return EXIT_FINE;
}
