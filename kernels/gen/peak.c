/* The ceiling: as many independent fused multiply-adds as the registers hold, so that neither
 * latency nor memory matters. */
#include "kernels/gen/gen.h"

double gen_peak(const struct target *t, struct str *out)
{
    int lanes = t->lanes;
    str_printf(out, "/* %d independent chains of multiply-adds: the FMA ceiling of a core. */\n",
               t->chains);
    if (lanes > 1)
        str_printf(out, "typedef float vec __attribute__((vector_size(%d)));\n", 4 * lanes);
    else
        str_add(out, "typedef float vec;\n");
    str_add(out, "volatile float ts_seed = 0.999f;\nvec ts_sink;\n\n"
                 "void ts_entry(float *const *buffers)\n{\n"
                 "    float x = ts_seed, y = 1.0f - ts_seed;\n");
    const char *splat = lanes > 1 ? " - (vec){0}" : "";
    str_printf(out, "    vec a = x%s, b = y%s;\n    (void)buffers;\n", splat, splat);
    for (int i = 0; i < t->chains; i++)
        str_printf(out, "    vec c%d = a * %d.0f;\n", i, i + 2);
    str_printf(out, "    for (long i = 0; i < %ld; i++) {\n", t->rounds);
    for (int i = 0; i < t->chains; i++)
        str_printf(out, "        c%d = c%d * a + b;\n", i, i);
    str_add(out, "    }\n    ts_sink = c0");
    for (int i = 1; i < t->chains; i++)
        str_printf(out, " + c%d", i);
    str_add(out, ";\n}\n");
    return 2.0 * lanes * t->chains * (double)t->rounds;
}
