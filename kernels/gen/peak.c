/* The ceiling: as many independent fused multiply-adds as the registers hold, so that neither
 * latency nor memory matters. */
#include "kernels/gen/gen.h"

/* registers: accumulators, leaving room for the two constants.  iterations: 0.2 to 1 ms a call
 * on machines of today. */
struct peak_shape { const char *isa; int registers; long iterations; };

static const struct peak_shape shapes[] = {
    { "avx512", 24, 50000 }, { "avx2", 12, 100000 },  { "neon", 24, 150000 },
    { "sse", 12, 200000 },   { "plain", 12, 400000 },
};

double gen_peak(const struct target *t, struct str *out)
{
    const struct peak_shape *s = &shapes[COUNT_OF(shapes) - 1];
    for (int i = 0; i < COUNT_OF(shapes); i++)
        if (streq(shapes[i].isa, t->isa))
            s = &shapes[i];
    int lanes = t->vector_floats;
    str_printf(out, "/* %d independent chains of multiply-adds: the FMA ceiling of a core. */\n",
               s->registers);
    if (lanes > 1)
        str_printf(out, "typedef float vec __attribute__((vector_size(%d)));\n", 4 * lanes);
    else
        str_add(out, "typedef float vec;\n");
    str_add(out, "volatile float ts_seed = 0.999f;\nvec ts_sink;\n\n"
                 "void ts_entry(float *const *buffers)\n{\n"
                 "    float x = ts_seed, y = 1.0f - ts_seed;\n");
    const char *splat = lanes > 1 ? " - (vec){0}" : "";
    str_printf(out, "    vec a = x%s, b = y%s;\n    (void)buffers;\n", splat, splat);
    for (int i = 0; i < s->registers; i++)
        str_printf(out, "    vec c%d = a * %d.0f;\n", i, i + 2);
    str_printf(out, "    for (long i = 0; i < %ld; i++) {\n", s->iterations);
    for (int i = 0; i < s->registers; i++)
        str_printf(out, "        c%d = c%d * a + b;\n", i, i);
    str_add(out, "    }\n    ts_sink = c0");
    for (int i = 1; i < s->registers; i++)
        str_printf(out, " + c%d", i);
    str_add(out, ";\n}\n");
    return 2.0 * lanes * s->registers * (double)s->iterations;
}
