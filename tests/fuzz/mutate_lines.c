/* Mutations of step lines, shared by the targets command and cgen. */
#include <stdlib.h>
#include <string.h>
#include "explorer/history/command.h"
#include "tests/fuzz/mutate_lines.h"

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

/* Types some of the lines from `first` on; returns where the next one begins. */
static size_t type_lines(struct history *h, const uint8_t *data, size_t n, size_t first,
                         int64_t lines)
{
    const uint8_t *rest = data + first;
    size_t left = n - first;
    char *line;
    for (; lines > 0 && (line = fuzz_line(&rest, &left)) != NULL; lines--) {
        enum command_effect effect;
        struct err e;
        command_run(h, line, &effect, &e);
        free(line);
    }
    return n - left;
}

size_t mutate_lines(struct history *h, uint8_t *data, size_t n, size_t max, size_t first,
                    struct rng *r)
{
    struct str line = {0};
    size_t at = type_lines(h, data, n, first, rng_range(r, 0, 12));
    if (at > first && data[at - 1] != '\n')
        str_add_char(&line, '\n');
    offer(h, r, &line);
    if (n + line.len <= max) {
        memmove(data + at + line.len, data + at, n - at);
        memcpy(data + at, line.data, line.len);
        n += line.len;
    }
    str_free(&line);
    return n;
}
