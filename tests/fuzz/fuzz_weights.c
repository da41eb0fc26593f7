#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "explorer/agent/agents.h"
#include "kernels/base/rng.h"
#include "tests/fuzz/fuzz.h"

/* Small networks, so that a whole file is a few thousand bytes. */
static struct agents *small_agents(void)
{
    struct agents_opts o = agents_defaults();
    o.ppo.width = o.ppo.hidden = 1;
    return agents_new(1, &o);
}

static void set_checksum(struct str *file)
{
    static const char key[] = "checksum ", empty[] = "\n\n";
    char *at = memmem(file->data, file->len, key, strlen(key)), *end = file->data + file->len;
    char *numbers = at ? memmem(at, (size_t)(end - at), empty, strlen(empty)) : NULL;
    char hash[20];
    if (!numbers || (size_t)(numbers - at) < strlen(key) + 16)
        return;
    numbers += strlen(empty);
    snprintf(hash, sizeof hash, "%016llx",
             (unsigned long long)hash_bytes(numbers, (uint64_t)(end - numbers), 0));
    memcpy(at + strlen(key), hash, 16);
}

/* A sound file with changes, three bytes each: where (behind the last one) and what; a first byte
 * of 'c' makes the checksum right again, of 's' leaves the last bytes out. */
static void edit(struct str *file, const uint8_t *data, size_t n)
{
    size_t at = 0;
    for (size_t i = 1; i + 2 < n; i += 3) {
        at = (at + 256u * data[i] + data[i + 1]) % file->len;
        file->data[at] = (char)data[i + 2];
    }
    if (data[0] == 's')
        file->len -= n % file->len;
    if (data[0] == 'c')
        set_checksum(file);
}

/* Weights that are accepted are saved unchanged, and accepted again. */
static void load(struct agents *g, const char *data, size_t n)
{
    struct str saved = {0}, twice = {0};
    struct err e = {0};
    const char *trained = NULL;
    char *copy = fuzz_text((const uint8_t *)data, n);
    if (agents_load(g, copy, n, &trained, &e)) {
        agents_save(g, trained, &saved);
        FUZZ_CHECK(agents_load(g, saved.data, saved.len, &trained, &e),
                   "what was written is refused: %s", e.text);
        agents_save(g, trained, &twice);
        FUZZ_CHECK(saved.len == twice.len && memcmp(saved.data, twice.data, twice.len) == 0,
                   "written again, the weights are others");
    } else {
        fuzz_error(&e);
    }
    str_free(&saved);
    str_free(&twice);
    free(copy);
}

int fuzz_weights(const uint8_t *data, size_t n)
{
    static struct agents *g;              /* kept: it takes longer to make than to load */
    static struct str sound;
    static int calls;
    struct str file = {0};
    if (calls++ % 10000 == 0) {           /* what they were trained on stays in their memory */
        agents_free(g);
        g = small_agents();
        str_clear(&sound);
        agents_save(g, "a list of workloads, seed 1", &sound);
    }
    load(g, (const char *)data, n);
    str_add_n(&file, sound.data, sound.len);
    if (n > 0)
        edit(&file, data, n);
    load(g, str_text(&file), file.len);
    str_free(&file);
    return 0;
}
