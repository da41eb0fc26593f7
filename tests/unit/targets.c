#include "tests/unit/targets.h"

const struct target *target_with(int lanes, int registers)
{
    static struct target made[16];
    static int n;
    for (int i = 0; i < n; i++)
        if (made[i].lanes == lanes && made[i].registers == registers)
            return &made[i];
    if (n == COUNT_OF(made))
        fail("more than %d made-up targets", n);
    made[n] = *target_host();
    made[n].lanes = lanes;
    made[n].registers = registers;
    return &made[n++];
}
