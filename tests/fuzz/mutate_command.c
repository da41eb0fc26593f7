/* Mutations of command inputs that mean something: a line made of what completion offers at that
 * place in the history.  Half of the mutations are libFuzzer's own. */
#include <stdlib.h>
#include <string.h>
#include "explorer/command.h"
#include "kernels/base/rng.h"
#include "tests/fuzz/fuzz.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t n, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t max, unsigned seed);

/* Words are appended while completion has some, else numbers. */
static void offer(struct history *h, struct rng *r, struct str *line)
{
    static const char *const numbers[] = { "1", "2", "3", "4", "8", "16" };
    for (int64_t words = rng_range(r, 3, 6); words > 0; words--) {
        struct arena *a = arena_new();
        struct completions c = {0};
        command_complete(a, h, str_text(line), NULL, &c);
        if (c.n > 0 && (size_t)c.replace_from <= line->len) {
            const char *word = c.item[rng_range(r, 0, c.n - 1)].word;
            line->len = (size_t)c.replace_from;
            str_add(line, word);
            words += word[strlen(word) - 1] == '=';
        }
        if (c.n == 0 || str_ends(str_text(line), "="))
            str_add(line, numbers[rng_range(r, 0, COUNT_OF(numbers) - 1)]);
        str_add_char(line, ' ');
        arena_free(a);
    }
    str_add_char(line, '\n');
}

/* Types the first lines; returns where the next one begins. */
static size_t type_lines(struct history *h, const uint8_t *data, size_t n, int64_t lines)
{
    const uint8_t *rest = data + 1;
    size_t left = n - 1;
    char *line;
    for (; lines > 0 && (line = fuzz_line(&rest, &left)) != NULL; lines--) {
        enum command_effect effect;
        struct err e;
        command_run(h, line, &effect, &e);
        free(line);
    }
    return n - left;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t max, unsigned seed)
{
    struct rng r = rng_seed(seed);
    struct history *h;
    struct str line = {0};
    if (n < 2 || rng_range(&r, 0, 1))
        return LLVMFuzzerMutate(data, n, max);
    h = fuzz_command_history(data[0]);
    size_t at = type_lines(h, data, n, rng_range(&r, 0, 12));
    if (data[at - 1] != '\n' && at > 1)
        str_add_char(&line, '\n');
    offer(h, &r, &line);
    history_free(h);
    if (n + line.len <= max) {
        memmove(data + at + line.len, data + at, n - at);
        memcpy(data + at, line.data, line.len);
        n += line.len;
    }
    str_free(&line);
    return n;
}
