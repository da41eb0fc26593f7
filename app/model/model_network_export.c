/* The export of a network to a folder with a C library. */
#include "app/model/model.h"

#include <string.h>

bool model_network_export(struct model *m, const char *folder)
{
    struct app_network *n = m->network;
    if (!folder[0] || str_ends(folder, ".c"))
        return model_say_error(m, "a network becomes a folder with a C library",
                               "export FOLDER; Enter opens a kernel, and there `export FILE.c` "
                               "writes it alone");
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/')
        length--;
    str_clear(&n->export);
    str_add_n(&n->export, folder, length);
    n->tag = ++m->network_jobs;           /* a measurement under way would not export */
    model_info(m, "the network is measured and checked, then its C library is written to %s",
               folder);
    return model_network_measure(m);
}

void model_network_export_job(const struct app_network *n, struct app_job *j)
{
    const struct session *s = n->session;
    j->other = xstrdup(str_text(&n->export));
    j->session = xcalloc(1, sizeof *j->session);
    for (int i = 0; i < s->ports.len; i++)
        session_add_port(j->session, s->ports.data[i].tensor, s->ports.data[i].value);
}

void model_network_exported(struct model *m, const struct app_job *j)
{
    if (j->kind != JOB_NETWORK_RUN || !j->other)
        return;
    str_clear(&m->network->export);
    if (j->text.len == 0) {
        model_error(m, &j->e);
        return;
    }
    model_info(m, "%s", str_text(&j->text));
    m->message.stays = true;
}
