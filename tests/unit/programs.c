#include "tests/unit/programs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

const char *const nine[NINE] = {
    "c2d n=1 i=4 h=9 w=9 o=8 k=3 p=1 bias=1 relu=1", "c1d n=2 i=4 w=19 o=6 k=3 s=2 p=1",
    "c3d n=1 i=3 depth=4 h=5 w=5 o=4 k=3 p=1", "grp n=1 i=8 h=7 w=7 o=8 k=3 p=1 g=2",
    "dep n=1 c=6 h=9 w=9 k=3 p=1", "dil n=1 i=4 h=9 w=9 o=4 k=3 p=2 d=2",
    "t2d n=1 i=4 h=5 w=5 o=6 k=3 s=2 p=1", "t3d n=1 i=2 depth=3 h=4 w=4 o=4 k=3 s=2 p=1",
    "gmm m=33 k=20 n=17",
};

const struct program *program_with(struct arena *a, const char *spec, const char *const *line,
                                   int n)
{
    const struct program *p;
    struct err e = {0};
    int bad;
    if (!program_replay(a, spec, line, n, &p, &bad, &e))
        fail_msg("%s: %s: %s", spec, bad >= 0 ? line[bad] : "", e.text);
    return p;
}

const struct program *program_bare(struct arena *a, const char *spec)
{
    return program_with(a, spec, NULL, 0);
}

void program_refuses(const struct program *p, int row, const char *const *step, int most,
                     const char *text, const char *fix)
{
    struct err e = {0};
    int k = 0, last = 0;
    while (last + 1 < most && step[last + 1])
        last++;
    while (k <= last && program_apply_line(p, step[k], &p, &e))
        k++;
    if (k != last)
        fail_msg("row %d: not refused at the last step, %s", row, k < last ? e.text : "but taken");
    if (!strstr(e.text, text) || !strstr(e.fix, fix))
        fail_msg("row %d: %s; fix: %s", row, e.text, e.fix);
}

void program_say(const struct program *p)
{
    print_message("%s\n", p->base->spec);
    for (int i = 0; i < p->n_steps; i++)
        print_message("%s\n", p->steps[i]);
}
