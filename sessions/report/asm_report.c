/* The assembly of a kernel, its hottest loop and the ports of the CPU, as JSON. */
#include "sessions/report/report.h"

#include <stdlib.h>
#include "profile/measure/port_pressure.h"
#include "sessions/file/json.h"

static json_t *ports_json(const struct port_pressure *p)
{
    json_t *list = json_array();
    if (p->reason[0]) {
        json_decref(list);
        return json_null();
    }
    for (int i = 0; i < p->n; i++)
        json_array_append_new(list, json_make("port", JSON((const char *)p->port[i].name),
                                              "cycles", JSON(p->port[i].cycles)));
    return json_make("model", JSON((const char *)p->model), "exact", JSON(p->exact),
                     "cycles", JSON(p->cycles), "least", JSON(p->least), "ipc", JSON(p->ipc),
                     "pressure", list);
}

void report_asm_json(struct str *out, const struct program *p, const char *assembly,
                     const struct code_lines *lines, const struct port_pressure *ports)
{
    struct hot_loops hot = hot_loops_find(assembly, lines);
    json_t *hottest = json_null();
    const struct code_loop *l = ports->loop >= 0 ? &lines->loop[ports->loop] : NULL;
    if (l && l->node >= 0 && l->node < p->graph->n_nodes)
        hottest = json_make("stage", JSON(p->stage[l->node]->name), "loop", JSON(l->axis),
                            "share", JSON(hot_loops_share(&hot, lines, ports->loop)));
    json_print(out, json_make("format", JSON(1), "assembly", JSON(assembly), "hottest", hottest,
                              "ports", ports_json(ports),
                              "reason", JSON_OR_NULL((const char *)ports->reason)), 8);
    free(hot.insns);
}
