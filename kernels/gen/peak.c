/* Generates the loop of the FMA ceiling: so many independent fused multiply-adds on registers that
 * neither latency nor memory matters. */
#include "kernels/gen/gen_impl.h"

void gen_vector(const struct target *t, const struct elem_type *type, struct str *out)
{
    if (t->vector_bytes > 0)
        str_printf(out, "typedef %s vec __attribute__((vector_size(%d)));\n", type->c,
                   t->vector_bytes);
    else
        str_printf(out, "typedef %s vec;\n", type->c);
}

double gen_peak(const struct target *t, const struct elem_type *type, struct str *out)
{
    int lanes = target_lanes(t, type = type->sum);
    const char *c = type->c, *end = type->suffix;
    str_printf(out, "/* %d independent chains of multiply-adds: the FMA ceiling of a core. */\n",
               t->chains);
    gen_vector(t, type, out);
    str_printf(out, "volatile %s ts_seed = 0.999%s;\nvec ts_sink;\n\n"
                    "void ts_entry(%s *const *buffers)\n{\n"
                    "    %s x = ts_seed, y = 1.0%s - ts_seed;\n", c, end, c, c, end);
    const char *splat = lanes > 1 ? " - (vec){0}" : "";
    str_printf(out, "    vec a = x%s, b = y%s;\n    (void)buffers;\n", splat, splat);
    for (int i = 0; i < t->chains; i++)
        str_printf(out, "    vec c%d = a * %d.0%s;\n", i, i + 2, end);
    str_printf(out, "    for (long i = 0; i < %ld; i++) {\n", t->rounds);
    for (int i = 0; i < t->chains; i++)
        str_printf(out, "        c%d = c%d * a + b;\n", i, i);
    str_add(out, "    }\n    ts_sink = c0");
    for (int i = 1; i < t->chains; i++)
        str_printf(out, " + c%d", i);
    str_add(out, ";\n}\n");
    return 2.0 * lanes * t->chains * (double)t->rounds;
}
