#include "tests/unit/targets.h"

const struct target *target_with(int lanes, int registers)
{
    static struct target made[16];
    static int n;
    int bytes = lanes > 1 ? lanes * type_f32.bytes : 0;
    for (int i = 0; i < n; i++)
        if (made[i].vector_bytes == bytes && made[i].registers == registers)
            return &made[i];
    if (n == COUNT_OF(made))
        fail("more than %d made-up targets", n);
    made[n] = *target_host();
    made[n].vector_bytes = bytes;
    made[n].registers = registers;
    return &made[n++];
}
