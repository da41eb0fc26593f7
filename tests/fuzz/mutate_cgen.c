/* Mutations of graphs and their steps that mean something: a word gets another name everywhere, or
 * a line is added that completion offers.  A third of the mutations are libFuzzer's own. */
#include <stdlib.h>
#include <string.h>
#include "explorer/history/history.h"
#include "tests/fuzz/mutate_lines.h"

static const char *const names[] = {
    "FP_a", "FP_NAN", "CLOCK_x", "CLOCKS_PER_SEC", "shuffle", "shuffle0", "shuffle12", "Shuffle1",
    "INT_MAX", "long", "__asm__", "_Bool", "sum", "ref_max", "v8", "load16", "exp_v8", "kernel",
    "buffers", "EOF", "M_PI", "acc", "acc0", "a_of_thread", "a", "a_2", "a_rf", "a_acc", "a_tile",
    "Inp", "inp", "at", "smaller", "linux", "times", "ts", "n", "m_end", "n_begin", "x_again",
};

static bool is_word(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* [*from, *end): the word that holds data[at], if one does. */
static bool word_at(const uint8_t *data, size_t n, size_t at, size_t *from, size_t *end)
{
    for (*from = at; *from > 0 && is_word(data[*from - 1]);)
        --*from;
    for (*end = at; *end < n && is_word(data[*end]);)
        ++*end;
    return is_word(data[at]);
}

static size_t rename_word(uint8_t *data, size_t n, size_t max, struct rng *r)
{
    size_t from, end;
    if (!word_at(data, n, (size_t)rng_range(r, 0, (int64_t)n - 1), &from, &end))
        return n;
    const char *to = names[rng_range(r, 0, COUNT_OF(names) - 1)];
    size_t len = end - from;
    char *word = fuzz_text(data + from, len);
    struct str out = {0};
    for (size_t i = 0; i < n; i = end) {
        bool is = word_at(data, n, i, &from, &end);
        end = is ? end : i + 1;
        if (is && end - i == len && memcmp(data + i, word, len) == 0)
            str_add(&out, to);
        else
            str_add_n(&out, (const char *)data + i, end - i);
    }
    if (out.len <= max) {
        memcpy(data, out.data, out.len);
        n = out.len;
    }
    str_free(&out);
    free(word);
    return n;
}

static size_t add_line(uint8_t *data, size_t n, size_t max, struct rng *r)
{
    const uint8_t *end = memmem(data, n, "\n\n", 2);
    struct history *h;
    struct err e;
    if (!end)
        return LLVMFuzzerMutate(data, n, max);
    size_t steps = (size_t)(end - data) + 2;
    char *graph = fuzz_text(data, steps);
    if (history_new(graph, &h, &e)) {
        n = mutate_lines(h, data, n, max, steps, r);
        history_free(h);
    }
    free(graph);
    return n;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t max, unsigned seed)
{
    struct rng r = rng_seed(seed);
    int64_t how = rng_range(&r, 0, 2);
    if (n < 2 || how == 0)
        return LLVMFuzzerMutate(data, n, max);
    return how == 1 ? rename_word(data, n, max, &r) : add_line(data, n, max, &r);
}
