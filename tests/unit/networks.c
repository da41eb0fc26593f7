#include "tests/unit/networks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "explorer/expert/instant.h"
#include "sessions/file/expert_file.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

const struct graph *graph_must(struct arena *a, const char *text)
{
    const struct graph *g;
    struct err e = {0};
    if (!graph_from_spec(a, text, &g, &e))
        fail_msg("%s: %s", text, e.text);
    return g;
}

const struct network *network_must(struct arena *a, const struct graph *g)
{
    static struct experts all;
    struct err e = {0};
    const struct network *net;
    if (!all.n && !expert_file_all(a, &all, &e))
        fail_msg("%s", e.text);
    struct instant x = { &all, NULL, 1 };
    if (!network_build(a, g, 0, NULL, instant_choose, &x, &net, &e))
        fail_msg("%s", e.text);
    return net;
}
