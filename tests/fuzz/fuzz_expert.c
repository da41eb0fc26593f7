#include <stdlib.h>
#include "sessions/file/expert_file.h"
#include "tests/fuzz/fuzz.h"

#define MOST_BYTES ((size_t)4 << 20)     /* of an expert, and ... */
#define BYTES_PER_BYTE 2000              /* ... for each byte of its text */
#define MOST_COMBINATIONS 16

/* Every combination is an operator that is built and scheduled. */
static int64_t combinations(const struct expert *x)
{
    int64_t n = 1;
    for (int i = 0; i < x->choose.n && n <= MOST_COMBINATIONS; i++)
        n *= x->choose.axis[i].n;
    return n;
}

static void schedule(struct arena *a, const struct expert *x)
{
    struct experts all = { 1, &x, 1e-5 };
    struct expert_schedule s[2];
    struct err e = {0};
    int n = 0;
    if (x->n_families == 0 || combinations(x) > MOST_COMBINATIONS)
        return;
    const char *spec = arena_printf(a, "%s", x->family[0]);
    if (!expert_schedules(a, &all, spec, target_named("avx2"), 2, COUNT_OF(s), s, &n, &e))
        fuzz_error(&e);
    for (int i = 0; i < n; i++) {
        const char *chosen = expert_chosen_text(a, &s[i]);
        FUZZ_CHECK(chosen != NULL, "a schedule without a choice");
        fuzz_say(chosen);
        for (int k = 0; k < s[i].n; k++)
            fuzz_say(s[i].step[k]);
    }
}

int fuzz_expert(const uint8_t *data, size_t n)
{
    struct arena *a = arena_new();
    const struct expert *x = NULL;
    struct err e = {0};
    char *text = fuzz_text(data, n);
    bool ok = expert_file_parse(a, "fuzz.yaml", text, n, &x, &e);
    FUZZ_CHECK(arena_used_bytes(a) <= MOST_BYTES + BYTES_PER_BYTE * n, "%zu bytes of text took %zu",
               n, arena_used_bytes(a));
    if (ok)
        schedule(a, x);
    else
        fuzz_error(&e);
    free(text);
    arena_free(a);
    return 0;
}
