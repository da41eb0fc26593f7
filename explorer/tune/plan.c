/* Budgets and batches. */
#include "explorer/tune/plan.h"

const char *const stage_name[STAGE_COUNT] = {
    [STAGE_SEEDS] = "seeds", [STAGE_JOINT] = "joint", [STAGE_LOOPS] = "loops",
    [STAGE_FINAL] = "final", [STAGE_DONE] = "done",
};

struct plan plan_of(int budget, bool layouts_fixed)
{
    int joint = layouts_fixed ? 0 : (int)((3LL * budget + 5) / 10);
    return (struct plan){ budget, joint, budget - joint };
}

struct plan plan_with(int budget, int joint)
{
    int of_it = joint < budget ? joint : budget;
    return (struct plan){ budget, of_it, budget - of_it };
}

int plan_batch(int left)
{
    return left < TUNE_TOP ? left : TUNE_TOP;
}

int plan_batches(int stage_budget)
{
    return (stage_budget + TUNE_TOP - 1) / TUNE_TOP;
}

int plan_layouts(int joint, int rounds, int *rest)
{
    int each = rounds * TUNE_TOP;
    *rest = joint % each;
    return joint / each;
}

int plan_layouts_from(void)
{
    int budget = 1, rest;
    while (plan_layouts(plan_of(budget, false).joint, TUNE_ROUNDS, &rest) < TUNE_FEW_LAYOUTS)
        budget++;
    return budget;
}
